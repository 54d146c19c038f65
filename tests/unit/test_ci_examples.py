# SPDX-License-Identifier: BSD-2-Clause
"""The workflows of docs/ci.md: their steps run, with a stand-in for worldwise, and call it as it can be called."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from worldwise import cli
from worldwise.base import paths
from worldwise.cli.lab import lab

CI = paths.REPOSITORY / "docs" / "examples" / "ci"
# Notes its arguments, and leaves what worldwise would leave. Merging says that a case failed.
STAND_IN = """#!/bin/sh
set -eu
(IFS='\x1f'; printf '%s\\n' "$*") >>"$CALLS"
for word in "$@"; do last=$word; done
case $1 in
run) mkdir -p "$last/20260102T030405Z-mcu-shard-1-of-2"; exit 1 ;;
merge) mkdir -p "$last/20260102T030406Z-mcu"; exit 1 ;;
compare) for word in "$@"; do case $word in *=*) echo it >"${word#*=}" ;; esac; done; exit 1 ;;
site) mkdir -p "$2" ;;
esac
"""
COLLECT = '#!/bin/sh\nmkdir "$1" && echo >"$1/implementation.toml"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the checkouts of a library and the stand-in."""
    for side in ("baseline", "proposed"):
        (tmp_path / side / "worldwise").mkdir(parents=True)
        (tmp_path / side / "worldwise" / "collect.sh").write_text(COLLECT)
        (tmp_path / side / "worldwise" / "collect.sh").chmod(0o755)
    (tmp_path / "worldwise").mkdir()
    (tmp_path / "worldwise" / "worldwise").write_text(STAND_IN)
    (tmp_path / "worldwise" / "worldwise").chmod(0o755)
    # A name that the shell would put in the pattern's place.
    (tmp_path / "my-library-x").touch()
    return tmp_path


def step(place: Path, *words: str) -> int:
    choice = "--target nucleo-f446re --variant my-library-*"
    environment = {"PATH": "/usr/bin:/bin", "CALLS": str(place / "calls"), "SUITE": "mcu", "CHOICE": choice}
    return subprocess.run([CI / "ci.sh", *words], cwd=place, env=environment, check=False, timeout=60).returncode


def test_the_steps_run_and_worldwise_knows_their_words(place: Path) -> None:
    """If this fails, a maintainer's first pipeline ends at a typing error of ours."""
    for shard in ("1/2", "2/2"):
        for side in ("baseline", "proposed"):
            # A failed case is for the comparison to tell.
            assert step(place, "measure", side, shard) == 0
            assert (place / f"{side}-library" / "implementation.toml").is_file()
    assert step(place, "gate") == 1
    assert (place / "summary.md").is_file()
    assert (place / "gate.xml").is_file()
    assert step(place, "history", "history") == 0
    assert [path.name for path in (place / "history" / "runs").iterdir()] == ["20260102T030406Z-mcu"]
    calls = [line.split("\x1f") for line in (place / "calls").read_text().splitlines()]
    assert [words[0] for words in calls] == ["run"] * 4 + ["merge"] * 2 + ["compare", "site"]
    assert "my-library-*" in calls[0]
    assert calls[4][1:] == ["baseline-runs/20260102T030405Z-mcu-shard-1-of-2", "--runs", "baseline-merged"]
    for words in calls:
        command = cli.cli.get_command(None, words[0])  # type: ignore[arg-type] # a name alone is looked up
        assert command
        # A word that the command does not know raises here. Below the tool's own context, since click keeps the names
        # of a command's help option from the first one.
        above = click.Context(cli.cli, **cli.cli.context_settings)
        command.make_context(words[0], words[1:], parent=above)
    assert step(place, "measure-all") == 2


@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
def test_the_workflows_call_steps_that_there_are(name: str) -> None:
    text = (CI / name).read_text(encoding="utf-8")
    called = re.findall(r"worldwise/docs/examples/ci/ci\.sh (\w+)", text)
    assert called == ["measure", "measure", "gate", "history"]
    known = re.findall(r"^(\w+)\)$", (CI / "ci.sh").read_text(encoding="utf-8"), re.MULTILINE)
    assert known == ["measure", "gate", "history"]
    assert {"REVISION", "WORLDWISE_REPOSITORY"} <= set(re.findall(r"\w+", text))
    for path in re.findall(r"'worldwise/([\w./*-]+)'|worldwise/(lab/[\w.-]+) /etc", text):
        assert list(paths.REPOSITORY.glob(next(filter(None, path)))), path


@pytest.mark.parametrize("path", sorted(CI.glob("*.yml")), ids=lambda path: path.name)
def test_the_workflows_are_what_their_services_take(path: Path) -> None:
    """By the services' own JSON schemas, which check-jsonschema brings, and by yamllint. A typing error in a key."""
    schema = f"vendor.{'gitlab-ci' if 'gitlab' in path.name else 'github-workflows'}"
    rules = "{extends: default, rules: {line-length: {max: 160}}}"
    for command in (["check_jsonschema", "--builtin-schema", schema], ["yamllint", "--strict", "-d", rules]):
        answer = subprocess.run(
            [sys.executable, "-P", "-m", *command, path], capture_output=True, text=True, check=False, timeout=60
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("name", ["mirrors.yml", "mirrors-gitlab.yml"])
def test_the_scheduled_jobs_call_a_command_that_there_is(name: str) -> None:
    text = (CI / name).read_text(encoding="utf-8")
    assert re.findall(r" worldwise/worldwise (.*)$", text, re.MULTILINE) == ["lab mirrors"]
    assert "mirrors" in lab.commands
    assert {"REVISION", "WORLDWISE_REPOSITORY"} <= set(re.findall(r"\w+", text))
