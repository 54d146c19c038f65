# SPDX-License-Identifier: BSD-2-Clause
"""A GDB server that the tool starts and ends itself: OpenOCD or pyOCD, for a board that is reached by its own probe."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab.sandbox.lent_folders import end_of
from worldwise.libraries.boards import Board
from worldwise.machine.board.gdbserver import Address, GdbServer
from worldwise.machine.program_output import Listener, Log

# Seconds within which it must listen, and within which it must end when asked.
LISTENS, ENDS = 30.0, 3.0
# And for the last words of one that has ended by itself.
_LAST_WORDS = 0.5
# The status of what could not be executed, as a shell has it, and setpriv.
_NOT_EXECUTED = (126, 127)
# Of its log: bytes that are read, lines that an error shows.
_LOG_BYTES, _LOG_LINES = 64 * 1024, 15
# And bytes that it may have: a server that is left alone with a loose cable says the same for hours.
MOST_LOG = 16 * 1024 * 1024

_RULES = (
    "udev rules let your user open it (Debian's package openocd brings some, for the user at the console and "
    "the group plugdev; then plug it in again)"
)
_PROBE = f"connect the board by its probe's USB socket, with a cable that carries data; if `lsusb` shows it, {_RULES}"


@dataclass(frozen=True)
class ServerKind:
    """A program that is a GDB server.

    Attributes:
        title: its name as its makers write it.
        program: the executable.
        package: what brings it, in words.
        arguments: its command line, for what it calls the board, its port, and another port that is free.
        hints: what its log says -> the way out; the first that fits counts.
    """

    title: str
    program: str
    package: str
    arguments: Callable[[str, int, int], Sequence[str]]
    hints: Sequence[tuple[str, str]]


KINDS = {
    kind.program: kind
    for kind in (
        ServerKind(
            "OpenOCD",
            "openocd",
            "your distribution's package openocd has it: sudo apt install openocd",
            lambda name, port, _: (
                *("-c", f"gdb_port {port}", "-c", "tcl_port disabled", "-c", "telnet_port disabled"),
                *("-f", name),
            ),
            (
                (r"LIBUSB_ERROR_ACCESS", f"your user may not use the probe: {_RULES}"),
                (r"(?i)can't find .*\.cfg", "this OpenOCD does not know the board: take version 0.12 or a newer one"),
                (
                    r"(?i)target voltage|unable to connect to the target|cannot read IDR|connecting DP",
                    "the probe works, but no chip answers: check the board's power, and that its jumpers "
                    "are in their default places",
                ),
                (r"(?i)open failed|unable to open|no .*device", _PROBE),
            ),
        ),
        ServerKind(
            "pyOCD",
            "pyocd",
            "the Python package pyocd has it: pipx install pyocd",
            # It would end after its first client, and wait for a probe for ever. The project is the empty folder that
            # it starts in: pyOCD executes a project's pyocd_user.py, and the environment can name another project.
            lambda name, port, other: (
                *("gdbserver", "--target", name, "--port", str(port), "--telnet-port", str(other)),
                *("--persist", "--no-wait", "--project", "."),
            ),
            (
                (r"not recognized", "`pyocd pack install NAME` installs the chip's description, NAME as above"),
                (r"(?i)permission|access denied|udev", f"your user may not use the probe: {_RULES}"),
                (r"(?i)no connected debug probe|no probe", _PROBE),
            ),
        ),
    )
}


@dataclass(frozen=True)
class ServerStart:
    """How a server is started: which, and what it calls the board."""

    kind: ServerKind
    name: str


def start_of(program: str, name: str, board: Board) -> ServerStart:
    """How a program of KINDS is started for a board. Raises WorldwiseError if the board or the host has none."""
    kind = KINDS[program]
    if shutil.which(program) is None:
        raise WorldwiseError(f"--via {program}: there is no program {program} in PATH.", kind.package)
    known = getattr(board.servers, program)
    if known is None:
        raise WorldwiseError(
            f"--via {program}: boards/{name}.toml does not say what {kind.title} calls the board ([servers]).",
            "start the server yourself and say where it listens: --via gdb://localhost:3333; or add it: "
            "docs/add/add-board.md",
        )
    return ServerStart(kind, known.value)


class StartedServer:
    """A server that runs from the first connection until `stop`; one that has ended is started again.

    Args:
        start: which.
        folder: where its log is kept.
    """

    def __init__(self, start: ServerStart, folder: Path) -> None:
        self._start = start
        self.log = folder / f"{start.kind.program}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: Listener | None = None
        self._ends = contextlib.ExitStack()
        self.address = Address("127.0.0.1", 0, start.kind.program)

    def connect(self) -> GdbServer:
        """A connection to it. Raises HostError if it does not serve; `explained` tells why."""
        while True:
            begun = self._process is None or self._process.poll() is not None
            if begun:
                self._begin()
            if connection := self._connection():
                return GdbServer(self.address, connection)
            # An old one may have been ending when it was looked at: then a new one is started in its place.
            if begun or self._process is None or self._process.poll() is None:
                break
        raise HostError(f"{self.address}: {self._start.kind.title} does not serve GDB.")

    def _connection(self) -> socket.socket | None:
        """A connection to the port; None if the server ends, or does not listen in time."""
        process, deadline = self._process, time.monotonic() + LISTENS
        while process is not None and process.poll() is None and time.monotonic() < deadline:
            try:
                return socket.create_connection((self.address.host, self.address.port), 1)
            except OSError:
                time.sleep(0.05)
        return None

    def explained(self, error: HostError) -> HostError:
        """The error of a connection, with what became of the server and the end of its log."""
        if self._process is None:
            return error
        kind, said = self._start.kind, self._said()
        message, hint = error.message, f"when the board answers again: worldwise run --resume --via {kind.program}"
        status = self._process.poll()
        if status is not None:
            message += f" {kind.title} has ended with status {status}."
            hint = next((way for pattern, way in kind.hints if re.search(pattern, said)), hint)
            hint = kind.package if status in _NOT_EXECUTED else hint
        tail = [f"{kind.title} was started for {self._start.name}; the end of {self.log}:", *said.splitlines()]
        shown = "\n".join((tail[0], *tail[1:][-_LOG_LINES:]))
        return HostError(message, hint, f"{error.details}\n{shown}".strip())

    def stop(self) -> None:
        """End it, and whatever it started."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        self._ends.close()

    def _begin(self) -> None:
        kind = self._start.kind
        self.stop()
        port, other = _free_ports()
        program = shutil.which(kind.program) or kind.program
        self.address = Address(self.address.host, port, kind.program)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        # Another tool's server may still write the one of this name.
        self.log.unlink(missing_ok=True)
        log = self._ends.enter_context(self.log.open("wb"))
        # Both read scripts from the folder that they start in before those of their packages, so that one is empty.
        empty = tempfile.mkdtemp(prefix="ww-server-")
        self._ends.callback(shutil.rmtree, empty, ignore_errors=True)
        try:
            process = subprocess.Popen(
                [*mortal(), program, *kind.arguments(self._start.name, port, other)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=empty,
                # Ctrl-C reaches the tool alone, which still halts the board and then ends the server.
                start_new_session=True,
            )
        except OSError as error:
            self._ends.close()
            raise HostError(
                f"--via {kind.program}: {kind.program} cannot be started: {error.strerror}.", kind.package
            ) from None
        assert process.stdout
        self._process, self._listener = process, Listener(process.stdout, Log(log, MOST_LOG))
        self._ends.callback(self._listener.stop, ENDS)

    def _said(self) -> str:
        if self._listener and self._process and self._process.poll() is not None:
            # What it said last may still be on the way to its log.
            self._listener.stop(_LAST_WORDS)
        return end_of(self.log, _LOG_BYTES).decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server, and whatever it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDS)


def mortal() -> list[str]:
    """What makes a program end with this one even if nobody is left to end it; nothing if the host lacks it."""
    return ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []


def _free_ports() -> tuple[int, int]:
    """Two ports of this host that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]
