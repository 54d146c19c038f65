# SPDX-License-Identifier: BSD-2-Clause
"""The script of a proposal, in the lab as ci.sh starts it: it reaches no token, no file of the runner and no run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.lab.lab import Lab

pytestmark = pytest.mark.lab

CI = paths.REPOSITORY / "docs" / "examples" / "ci" / "ci.sh"
# What enters the lab is the tool itself; what measures is not tried here.
TOOL = """#!/bin/sh
case $1 in
lab) exec "$PYTHON" -P -m worldwise "$@" ;;
run) for word in "$@"; do last=$word; done; mkdir -p "$last/measured" ;;
esac
"""
# Each line tries one thing, and notes what it saw. What writes names no place but the test's own: in the lab `..` is
# /work, and if the lab is missing, the test fails and leaves nothing on the machine.
COLLECT = """#!/bin/sh
mkdir library
{
	env
	cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'
	ls -a / /work /work/* .. ../..
	cat "$OUTSIDE/secret" ../secret ../../secret /work/secret
	test "$(cd .. && pwd)" != /work || echo "the folder above is the lab's"
	for place in .. ../.. "$OUTSIDE" ../proposed-runs; do
		mkdir -p "$place/baseline-runs/forged-shard-1-of-1"
		echo 'echo owned' >"$place/worldwise/worldwise"
		rm -rf "$place/baseline-runs/measured"
	done
} >library/seen 2>&1
exit 0
"""


def test_a_proposals_script_reaches_nothing_of_its_runner(lab: Lab, tmp_path: Path) -> None:
    """If this fails, who opens a pull request reads the job's token, or writes the figures that the gate compares."""
    tmp_path.chmod(0o755)
    tool = tmp_path / "worldwise" / "worldwise"
    script = tmp_path / "proposed" / "worldwise" / "collect.sh"
    for path, text in ((tool, TOOL), (script, COLLECT.replace("$OUTSIDE", str(tmp_path)))):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "secret").write_text("a key of the runner\n")
    (tmp_path / "secret").chmod(0o644)
    (tmp_path / "baseline-runs" / "measured").mkdir(parents=True)
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    environment = os.environ | {
        "PYTHON": sys.executable,
        "PYTHONPATH": str(paths.REPOSITORY / "src"),
        "WORLDWISE_CACHE": str(lab.cache),
        "ACTIONS_RUNTIME_TOKEN": "a token",
        "GH_TOKEN": "a token",
    }
    done = subprocess.run(
        [CI, "measure", "proposed", "1/1"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    seen = (tmp_path / "proposed-collected" / "library" / "seen").read_text()
    assert "PATH=" in seen
    assert "the folder above is the lab's" in seen
    assert "a token" not in seen
    assert "a key of the runner" not in seen
    assert tool.read_text() == TOOL
    collected = tmp_path / "proposed-collected"
    after = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if not path.is_relative_to(collected)}
    assert sorted(after) == sorted({*before, Path("proposed-runs"), Path("proposed-runs/measured")})
