# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns: what the other tests show with a few cases, with as many as the documents cite. They take hours.

They use the user's cache, as the commands do: a campaign that was cut short goes on where it was, but for the suites.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import screens
from machines import Tool
from worldwise.base import paths
from worldwise.families.keycache.power_cut import GOOD, LOST
from worldwise.read.run_counts import read_run
from worldwise.run.folder.rundir import open_run

_MUTATED = Path(__file__).parents[1] / "fuzz" / "mutated.py"
_HOUR = 3600
_LIMIT = 12 * _HOUR
# Above what the command itself is given, so that its words are seen.
pytestmark = [pytest.mark.machine, pytest.mark.timeout(_LIMIT + _HOUR)]

SUITES = sorted(path.stem for path in paths.SUITES.glob("*.toml"))


def attempts(tool: Tool, suite: str, operation: str) -> list[dict[str, Any]]:
    """What the campaigns of a suite came to, one by one."""
    done = tool.run("run", suite, "--operation", operation, "--format", "json", timeout=_LIMIT)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["attempts"]
    return found


def test_two_hundred_power_cuts_leave_the_old_object_or_the_new_one(tool: Tool) -> None:
    """In each storage; and so does every state that the storage goes through."""
    found = attempts(tool, "storage", "power-cut")
    cuts = [each for each in found if each["what"] == "cut" and "points=200" in each["parameters"]]
    for storage in ("ree", "ree-rpmb", "rpmb"):
        of_it = [each["result"] for each in cuts if f"storage={storage}," in each["parameters"] + ","]
        assert len(of_it) == 200
        assert set(of_it) == {"old", "new"}
        # Once it is the new one it stays so.
        assert of_it == sorted(of_it, key=["old", "new"].index)


def test_two_hundred_power_cuts_lose_no_confirmed_key(tool: Tool) -> None:
    """But of a server that confirms before it stores."""
    found = attempts(tool, "keycache", "keycache-cut")
    relaxed = [each["result"] for each in found if "durability=relaxed" in each["parameters"]]
    strict = [each["result"] for each in found if "durability=relaxed" not in each["parameters"]]
    assert len(strict) == 2 * 200
    assert set(strict) <= set(GOOD)
    assert LOST in relaxed


@pytest.mark.parametrize("reader", ["bundle", "object", "folder", "elf"])
def test_ten_thousand_mutated_inputs_find_nothing(reader: str, tmp_path: Path) -> None:
    """Archives, stores and ELF files: no traceback, no hang, little memory, little disk."""
    command = [sys.executable, "-P", str(_MUTATED), reader, "--inputs", "10000"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=_HOUR, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ten_million_inputs_find_nothing(tool: Tool) -> None:
    """By as many processes as there are processors."""
    jobs = str(len(os.sched_getaffinity(0)))
    done = tool.run("keycache", "fuzz", "--runs", "10000000", "--jobs", jobs, timeout=_LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("suite", SUITES)
def test_a_whole_suite_is_the_same_twice(tool: Tool, suite: str) -> None:
    """Every case, with all its samples: to the byte. And its screen says what its rows say."""
    done = tool.run("run", suite, "--verify", timeout=_LIMIT)
    assert done.returncode == 0, done.stderr
    assert "measured twice, every record the same" in done.stderr
    (run,) = list((tool.directory / "runs").iterdir())
    assert screens.problems(read_run(open_run(run, run.parent))) == []
