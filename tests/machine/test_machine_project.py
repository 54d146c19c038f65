# SPDX-License-Identifier: BSD-2-Clause
"""The example repository, measured by its worldwise.toml: a baseline, a slower line, one that is missing, a limit."""

import shutil
from pathlib import Path

import pytest

from machines import Tool
from worldwise.base import paths

pytestmark = pytest.mark.machine

EXAMPLE = paths.REPOSITORY / "docs" / "examples" / "repository"


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_slower_line_is_exit_status_3_with_its_function(tool: Tool) -> None:
    """If this fails, a change that costs something passes, or nobody is told which function it is of."""
    folder = tool.directory / "repository"
    shutil.copytree(EXAMPLE, folder)
    settings = folder / "worldwise.toml"
    # Opening a session loads the TA, which is most of what is followed: twice says what five times do.
    replaced(settings, 'client = "host"\n', 'client = "host"\nrepeat = 2\n')
    words = ("run", "./repository")
    made = tool.run(*words, "--save-baseline", "main", timeout=900)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "Limits: all 6 are kept" in made.stdout
    text = (folder / "baselines" / "main.toml").read_text(encoding="utf-8")
    for case in ("own/ta/TEEC_InvokeCommand.0", "own/bench/crc32", "own/m4/crc32"):
        assert f'case = "{case}"' in text
    assert '"crc32 (program)" = ' in text

    # The same sources: the same counts, to the digit.
    again = tool.run(*words, "--save-baseline", "again", timeout=900)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Gate: passed" in again.stdout
    other = (folder / "baselines" / "again.toml").read_text(encoding="utf-8")
    assert other.splitlines()[1:] == text.splitlines()[1:]

    replaced(folder / "ta" / "crc32.c", "bit < 8", "bit < 9")
    slower = tool.run(*words, timeout=900)
    assert slower.returncode == 3, slower.stdout + slower.stderr
    assert "Gate: FAILED" in slower.stdout
    assert "Which functions moved it, in the median call" in slower.stdout
    assert "crc32 (bench)" in slower.stdout
    assert "crc32 (program)" in slower.stdout
    # The line of the loop that has become longer, in all three.
    assert slower.stdout.count("ta/crc32.c:11") == 3

    # A limit alone, without a baseline, names the function too.
    firmware = settings.read_text(encoding="utf-8").partition("# Firmware of a Cortex-M4.")[2]
    settings.write_text(f'format = 1\nbaseline = "other"\n{firmware}', encoding="utf-8")
    missing = tool.run(*words, timeout=900)
    assert missing.returncode == 1
    assert "there is no baseline 'other'" in missing.stderr
    replaced(settings, 'baseline = "other"\n', "")
    replaced(settings, "instructions = 15_000", "instructions = 10_000")
    over = tool.run(*words, timeout=900)
    assert over.returncode == 3, over.stdout + over.stderr
    assert "EXCEEDED" in over.stdout
    assert "Where the median call of own/m4/crc32 goes: crc32 (program) 100.0 %" in over.stdout
    assert "worldwise.toml:" in over.stdout
