# SPDX-License-Identifier: BSD-2-Clause
"""The debugger's side of stopping a machine, against a server that says what QEMU would."""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.machine.gdbstub import GdbStub

ADDRESS = 0x4011D8
STOPPED = "T05thread:p01.01;"
HAPPY = {"Z0,4011d8,4": "OK", "c": STOPPED, "z0,4011d8,4": "OK"}

_PACKET = re.compile(rb"\$([^#]*)#(..)")


class Server:
    """Answers each command as `answers` says: with a text, with bytes as they are, or (None) by hanging up.

    A command that is not in `answers` is left without an answer.
    """

    def __init__(self, path: Path, answers: Mapping[str, str | bytes | None]) -> None:
        self.commands: list[str] = []
        self.acknowledged = 0
        self.problems: list[str] = []
        self._answers = answers
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, contextlib.suppress(OSError):
            waiting = b""
            while data := connection.recv(1000):
                waiting += data
                while match := _PACKET.search(waiting):
                    self.acknowledged += waiting[: match.start()].count(b"+")
                    waiting = waiting[match.end() :]
                    if int(match[2], 16) != sum(match[1]) % 256:
                        self.problems.append(f"checksum of {match[0]!r}")
                    command = match[1].decode("ascii")
                    self.commands.append(command)
                    answer = self._answers.get(command, b"")
                    if answer is None:
                        return
                    if isinstance(answer, str):
                        answer = b"+$" + answer.encode() + b"#%02x" % (sum(answer.encode()) % 256)
                    # In pieces, as a stream may deliver them.
                    for byte in range(len(answer)):
                        connection.sendall(answer[byte : byte + 1])
            self.acknowledged += waiting.count(b"+")

    def close(self) -> None:
        self._listener.close()
        self._thread.join(5)
        assert not self._thread.is_alive()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gdb"


@contextlib.contextmanager
def serving(path: Path, answers: Mapping[str, str | bytes | None]) -> Iterator[Server]:
    server = Server(path, answers)
    yield server
    server.close()


def test_the_machine_is_run_to_an_instruction(path: Path) -> None:
    """If this fails, machines are not stopped at one and the same instruction."""
    with serving(path, HAPPY) as server, GdbStub(path, 5) as stub:
        stub.run_to(ADDRESS)
    assert server.commands == ["Z0,4011d8,4", "c", "z0,4011d8,4"]
    assert server.problems == []
    # A server that is not told sends its reply again.
    assert server.acknowledged == 3


def test_the_older_form_of_a_stop_is_understood(path: Path) -> None:
    """If this fails, a server that answers S05 counts as a machine that stopped early."""
    with serving(path, HAPPY | {"c": "S05"}) as server, GdbStub(path, 5) as stub:
        stub.run_to(ADDRESS)
    assert server.commands[-1] == "z0,4011d8,4"


@pytest.mark.parametrize("reply", ["W00", "X09", "T0bthread:p01.01;", "E01"])
def test_a_stop_before_the_instruction_is_an_error(reply: str, path: Path) -> None:
    """If this fails, a machine that panicked during its boot is saved and measured."""
    with (
        serving(path, HAPPY | {"c": reply}) as server,
        GdbStub(path, 5) as stub,
        pytest.raises(WorldwiseError, match=f"stopped before it was ready .*{reply}"),
    ):
        stub.run_to(ADDRESS)
    assert server.commands == ["Z0,4011d8,4", "c"]


def test_a_refused_breakpoint_is_an_error(path: Path) -> None:
    """If this fails, the machine runs on past the point where it must be saved."""
    with (
        serving(path, HAPPY | {"Z0,4011d8,4": "E22"}) as server,
        GdbStub(path, 5) as stub,
        pytest.raises(WorldwiseError, match="answered 'E22' to 'Z0,4011d8,4'"),
    ):
        stub.run_to(ADDRESS)
    assert "c" not in server.commands


@pytest.mark.parametrize("command", list(HAPPY))
def test_an_emulator_that_ends_is_told(command: str, path: Path) -> None:
    """If this fails, QEMU dying during a boot is a traceback, or a wait without end."""
    with (
        serving(path, HAPPY | {command: None}),
        GdbStub(path, 5) as stub,
        pytest.raises(WorldwiseError, match="the emulator ended before the machine was ready"),
    ):
        stub.run_to(ADDRESS)


def test_a_reply_cut_off_is_told(path: Path) -> None:
    """If this fails, half a reply is taken for a whole one."""
    with (
        serving(path, HAPPY | {"c": b"+$T05thr"}),
        GdbStub(path, 0.3) as stub,
        pytest.raises(WorldwiseError, match="was not ready after"),
    ):
        stub.run_to(ADDRESS)


def test_a_machine_that_never_gets_there_is_given_up(path: Path) -> None:
    """If this fails, a machine that hangs while it boots hangs the tool."""
    began = time.monotonic()
    with (
        serving(path, {"Z0,4011d8,4": "OK", "c": b"+"}),
        GdbStub(path, 0.3) as stub,
        pytest.raises(WorldwiseError, match="the machine was not ready after 0 s"),
    ):
        stub.run_to(ADDRESS)
    assert time.monotonic() - began > 0.2


def test_a_socket_that_never_appears_is_told(path: Path) -> None:
    """If this fails, QEMU not starting at all hangs the tool."""
    with pytest.raises(WorldwiseError, match="did not open its debug socket"):
        GdbStub(path, 0.1)


def test_a_socket_may_appear_late(path: Path) -> None:
    """If this fails, a slow host's QEMU is given up before it has begun."""
    servers: list[Server] = []
    timer = threading.Timer(0.2, lambda: servers.append(Server(path, HAPPY)))
    timer.start()
    with GdbStub(path, 5) as stub:
        stub.run_to(ADDRESS)
    timer.join()
    servers[0].close()


def test_memory_is_written_and_read(path: Path) -> None:
    """If this fails, calls get other inputs than were chosen for them."""
    answers = {"M20000000,2:00ff": "OK", "m20000000,2": "00ff", "m0,2": "E14", "p1": "04030201", "s": STOPPED}
    with serving(path, answers) as server, GdbStub(path, 5) as stub:
        stub.write(0x20000000, b"\0\xff")
        assert stub.read(0x20000000, 2) == b"\0\xff"
        assert stub.read(0, 2) == b""
        assert stub.register(1) == 0x01020304
        stub.step()
    assert server.problems == []


@pytest.mark.parametrize(
    ("answers", "said"),
    [({"M0,1:00": "E14"}, "answered 'E14' to 'M0,1:00'"), ({"M0,1:00": "OK", "s": "W00"}, "one instruction .*W00")],
)
def test_memory_that_is_not_there_is_told(answers: Mapping[str, str], said: str, path: Path) -> None:
    """If this fails, a call that kept its own inputs counts as one with those that were chosen."""
    with serving(path, answers), GdbStub(path, 5) as stub, pytest.raises(WorldwiseError, match=said):
        stub.write(0, b"\0")
        stub.step()


def test_a_machine_that_will_never_get_there_is_not_waited_for(path: Path) -> None:
    """If this fails, each case of an OP-TEE whose core panics at boot takes three minutes to fail."""
    looked = []

    def hopeless() -> bool:
        looked.append(time.monotonic())
        return len(looked) == 2

    with (
        serving(path, {"Z0,4011d8,4": "OK"}),
        GdbStub(path, 100) as stub,
        pytest.raises(WorldwiseError, match="will not get ready"),
    ):
        stub.run_to(ADDRESS, hopeless)
    assert len(looked) == 2
