# SPDX-License-Identifier: BSD-2-Clause
"""The end of the tool by signals, and with its terminal gone. tests/machine/test_failures.py does it to real runs."""

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from worldwise.base import paths

# A command that works in a temporary folder, says so, and takes a moment to end in an orderly way.
_TOOL = """
import sys, tempfile, time
from pathlib import Path
from worldwise import cli
from worldwise.base.output import safe_text

@cli.cli.command()
def work():
    with tempfile.TemporaryDirectory(prefix="ww-"):
        try:
            Path("began").write_text("")
            for _ in range(600):
                time.sleep(0.1)
                safe_text.echo("a message", err=True)
                if Path("enough").exists():
                    return 0
        finally:
            for _ in range(10):
                time.sleep(0.1)
                safe_text.console(stderr=True).print("ending")
            Path("ended").write_text("")

cli.main()
"""


class Work:
    """The command at work in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.folders = directory / "tmp"
        self.folders.mkdir()

    @contextlib.contextmanager
    def begun(self, terminal: int | None = None, ignored: bool = False) -> Iterator[subprocess.Popen[bytes]]:
        """The command, begun: without a terminal, or with one that it is the first process of."""

        def prepare() -> None:
            if terminal is not None:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if ignored:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _TOOL, "work"],
            cwd=self.directory,
            env=os.environ | {"PYTHONPATH": str(paths.REPOSITORY / "src"), "TMPDIR": str(self.folders)},
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=subprocess.PIPE if terminal is None else terminal,
            stderr=subprocess.PIPE if terminal is None else terminal,
            start_new_session=True,
            preexec_fn=prepare,
        )
        try:
            deadline = time.monotonic() + 60
            while not (self.directory / "began").exists():
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.02)
            yield process
        finally:
            process.kill()
            process.communicate()

    def ended_well(self) -> bool:
        """Whether its own end was reached, and nothing of it is left."""
        return (self.directory / "ended").exists() and not list(self.folders.iterdir())


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """The command, not begun."""
    return Work(tmp_path)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_an_orderly_end(work: Work, kind: signal.Signals) -> None:
    """Status 130, and no folder is left."""
    with work.begun() as process:
        process.send_signal(kind)
        error = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert error.endswith(b"worldwise: interrupted\n")
    assert b"Traceback" not in error
    assert work.ended_well()


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_more_signals_do_not_break_the_orderly_end(work: Work, kind: signal.Signals) -> None:
    """Impatience: all through the end, and into Python's own."""
    with work.begun() as process:
        while process.poll() is None:
            process.send_signal(kind)
            time.sleep(0.005)
        error = process.communicate()[1]
    assert process.returncode == 130, error
    assert b"Traceback" not in error
    assert work.ended_well()


def test_a_closed_terminal_is_an_orderly_end(work: Work) -> None:
    """The kernel sends SIGHUP, and what is written then fails."""
    master, slave = pty.openpty()
    with work.begun(slave) as process:
        os.close(slave)
        os.close(master)
        process.wait(timeout=60)
    assert process.returncode == 130
    assert work.ended_well()


def test_nohup_stays_nohup(work: Work) -> None:
    """SIGHUP was ignored when the tool began: so it goes on, and its messages into nothing."""
    master, slave = pty.openpty()
    with work.begun(slave, ignored=True) as process:
        os.close(slave)
        os.close(master)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert process.poll() is None
        (work.directory / "enough").write_text("")
        process.wait(timeout=60)
    assert process.returncode == 0
    assert work.ended_well()


def test_results_for_nobody_are_no_traceback(tmp_path: Path) -> None:
    """A closed terminal gives EIO, not the EPIPE of a pipe."""
    master, slave = pty.openpty()
    os.close(master)
    with (tmp_path / "errors").open("wb") as errors:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "worldwise", "suites"],
            env=os.environ | {"PYTHONPATH": str(paths.REPOSITORY / "src")},
            stdout=slave,
            stderr=errors,
            timeout=60,
            check=False,
        )
    os.close(slave)
    assert ended.returncode == 1
    assert (tmp_path / "errors").read_text() == ""
