# SPDX-License-Identifier: BSD-2-Clause
"""The key cache's own CI job: which parts it asks `make` for, and that it fails with the first that fails."""

import subprocess
from pathlib import Path

import pytest

from worldwise.base import paths

JOB = paths.KEYCACHE / ".ci/run"
PARTS = {"tests": "check", "sanitized": "check-server", "fuzz": "fuzz", "fuzz-ta": "fuzz-ta", "tidy": "tidy"}


def _ended(tmp_path: Path, status_of: str = "", tidy: str = "true") -> tuple[int, str, list[list[str]]]:
    """Status, words and calls of `make` of the job, with one that fails for the goal `status_of`."""
    (tmp_path / "make").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >>{tmp_path}/calls\ncase " $* " in *" {status_of} "*) exit 2 ;; esac\n'
    )
    (tmp_path / "make").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "O": "/out", "CLANG_TIDY": tidy}
    done = subprocess.run([JOB], env=environment, capture_output=True, text=True)
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    return done.returncode, done.stdout, calls


def test_it_asks_for_every_part_each_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """If this fails, whoever takes the folder alone tests less than worldwise does."""
    status, told, calls = _ended(tmp_path)
    assert status == 0
    assert told.splitlines()[-1] == f"passed: {', '.join(PARTS)}"
    assert [(words[1], words[2]) for words in calls] == [(f"O=/out/{name}", goal) for name, goal in PARTS.items()]
    makefile = (paths.KEYCACHE / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{goal}:" in makefile for goal in PARTS.values())


def test_without_clang_tidy_it_says_so(tmp_path: Path) -> None:
    status, told, calls = _ended(tmp_path, tidy="no-such-program")
    assert (status, len(calls)) == (0, len(PARTS) - 1)
    assert "clang-tidy is left out" in told and "tidy" not in told.splitlines()[-1]


@pytest.mark.parametrize("goal", list(PARTS.values()))
def test_it_ends_at_the_first_part_that_fails(tmp_path: Path, goal: str) -> None:
    status, told, calls = _ended(tmp_path, goal)
    assert status == 2
    assert goal in calls[-1] and "passed" not in told
