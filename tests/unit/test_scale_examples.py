# SPDX-License-Identifier: BSD-2-Clause
"""The scripts for many machines, with stand-ins for what they call: a task of a SLURM array, and how a run scales."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldwise import cli
from worldwise.base import paths
from worldwise.plan.suite import load_suite

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
    assert "variant 'mbedtls nist' is not in suite" in str(refused.exception)


def test_without_an_array_it_says_so(place: Path) -> None:
    done = task(place, "8", "tee")
    assert done.returncode != 0
    assert "sbatch --array=1-8" in done.stderr
    assert not (place / "words").exists()


# --- the script that shows how a run scales ---

# Leaves a run of one case; SECOND is its count on two workers.
MEASURES = """#!/bin/sh
for word in "$@"; do last=$word; done
cases="$last/20260102T030405Z-scaling/cases"
mkdir -p "$cases"
case "$*" in *local:2*) count=$SECOND ;; *) count=7 ;; esac
printf '{\\n  "count": %s,\\n  "wall_seconds": %s\\n}\\n' "$count" "$$" >"$cases/case.json"
cp "$2" suite.toml
turn=0
while [ "$turn" -lt 200000 ]; do turn=$((turn + 1)); done
"""


@pytest.mark.parametrize(("second", "same"), [("7", True), ("8", False)])
def test_how_a_run_scales_is_shown(second: str, same: bool, tmp_path: Path) -> None:
    """If this fails, the one line that measures it on an idle machine fails there, or misses a byte that differs."""
    program = tmp_path / "worldwise"
    program.write_text(MEASURES)
    program.chmod(0o755)
    done = subprocess.run(
        ["sh", SCRIPT.parents[1] / "scaling.sh", "41"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "SECOND": second, "WAYS": "--jobs 2\n--on local:2"},
        check=False,
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == same, done.stderr
    assert ("the same bytes in all 2 runs" in done.stdout) == same
    assert re.search(
        r"^--jobs 2: 60 cases in \d+ s; processor time, user and system: (?!0m0\.0+s 0m0\.0+s)", done.stdout
    )
    assert ("case.json" in done.stdout) != same
    # What the script says of the number is so: twenty cases a size, rounded up. The suite mcu has all their images.
    suite = load_suite(str(tmp_path / "suite.toml"))
    assert Counter(case.size for case in suite.cases) == {1: 20, 2: 20, 3: 20}
    assert {(case.target, case.variant) for case in suite.cases} <= {
        (case.target, case.variant) for case in load_suite("mcu").cases
    }
