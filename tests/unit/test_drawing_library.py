# SPDX-License-Identifier: BSD-2-Clause
"""What draws: no run needs it, and the first command that does installs it."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.report.drawing import library
from worldwise.run.folder.rundir import Run

# A Python without what draws, as the launcher makes it for a first run.
_WITHOUT = """
import sys
sys.path[:0] = sys.argv[1].split(":")
sys.modules["vl_convert"] = None
sys.argv = ["worldwise", *sys.argv[2:]]
from worldwise import cli
cli.main()
"""


@pytest.mark.parametrize("words", [("report",), ("report", "--format", "latex")])
def test_a_run_is_shown_without_what_draws(words: tuple[str, ...], whole_run: Run) -> None:
    """If this fails, a first run waits for a plot library, or ends without one."""
    command = [sys.executable, "-c", _WITHOUT, ":".join(sys.path), words[0], str(whole_run.path), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that lacks what draws, until something is installed."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(library, "is_missing", lambda: not (tmp_path / "installed").exists())
    return tmp_path


def test_the_first_figure_installs_what_draws(
    environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If this fails, a figure ends in a traceback, or gets packages whose digests nobody checked."""
    called: list[list[str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        called.append(command)
        assert "installing what draws" in capsys.readouterr().err
        (environment / "installed").touch()
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(library, "find_spec", lambda name: name)
    monkeypatch.setattr(subprocess, "run", run)
    (environment / "complete").touch()
    for _ in range(2):
        library.require.__wrapped__()
    (command,) = called
    assert command[:4] == [sys.executable, "-I", "-m", "pip"]
    assert "--require-hashes" in command and command[-1] == str(paths.REQUIREMENTS / "run.txt")


def test_what_cannot_be_installed_is_told(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a user without a network reads a traceback; or packages go into an environment of the user's."""
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    with pytest.raises(WorldwiseError, match="which is not there") as caught:
        library.require.__wrapped__()
    assert "pip install --require-hashes" in caught.value.hint
    (environment / "complete").touch()
    with pytest.raises(WorldwiseError, match="could not be installed"):
        library.require.__wrapped__()
