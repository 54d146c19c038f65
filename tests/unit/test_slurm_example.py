# SPDX-License-Identifier: BSD-2-Clause
"""The script for a SLURM array: a task of it, with stand-ins for srun and worldwise, is a shard that can be run."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldwise import cli
from worldwise.base import paths

SCRIPT = paths.REPOSITORY / "docs" / "examples" / "slurm" / "shards.sh"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with an srun that does what it is told, and a worldwise that notes it."""
    (tmp_path / "bin").mkdir()
    for name, text in {"bin/srun": 'exec "$@"', "worldwise": "printf '%s\\n' \"$@\" >words"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def task(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{place}/bin:/usr/bin:/bin", **variables}
    return subprocess.run(
        ["sh", SCRIPT, *words], cwd=place, env=environment, check=False, timeout=60, capture_output=True, text=True
    )


def test_a_task_measures_its_shard(place: Path) -> None:
    """If this fails, an array ends at a typing error of ours. Task 3 alone is still the third of eight."""
    done = task(
        place,
        *("8", "tee", "--variant", "mbedtls nist"),
        SLURM_ARRAY_TASK_ID="3",
        SLURM_CPUS_PER_TASK="4",
        SHARED="/shared/ww",
    )
    assert done.returncode == 0, done.stderr
    words = (place / "words").read_text().splitlines()
    assert words[:4] == ["run", "tee", "--variant", "mbedtls nist"]
    options = dict(zip(words[4::2], words[5::2], strict=True))
    assert options == {"--shard": "3/8", "--jobs": "4", "--runs": "runs", "--cache": "/shared/ww"}
    # The tool knows every option: it gets as far as the variant.
    refused = CliRunner().invoke(cli.cli, [*words[:-2], "--cache", str(place)])
    assert "variant 'mbedtls nist' is in no case" in str(refused.exception)


def test_without_an_array_it_says_so(place: Path) -> None:
    done = task(place, "8", "tee")
    assert done.returncode != 0
    assert "sbatch --array=1-8" in done.stderr
    assert not (place / "words").exists()
