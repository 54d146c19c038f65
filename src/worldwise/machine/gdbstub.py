# SPDX-License-Identifier: BSD-2-Clause
"""The part of the GDB remote protocol that is needed to stop a machine at an instruction and to write its memory.

Source: GDB manual, appendix "GDB Remote Serial Protocol".
"""

import contextlib
import re
import socket
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Self

from worldwise.base.errors import WorldwiseError
from worldwise.lab.sandbox.lent_folders import socket_of

# A packet that is damaged again and again, and one longer than any that is asked for, is garbage.
_TRIES = 3
# Seconds after which a machine that runs is looked at again.
_LOOK_EVERY = 1.0
_LONGEST = 2**20
_LONGEST_DESCRIPTION = 2**14
# Bytes in front of a packet that are neither acknowledgements nor a notification.
_MOST_NOISE = 256
_NOTIFICATION = re.compile(rb"%[^#$]*#[0-9a-fA-F]{2}")


class GarbageError(Exception):
    """What came over the connection is no packet of the protocol; `str` is the beginning of it."""


def escaped(data: bytes) -> bytes:
    """Binary data as it stands in a packet."""
    return re.sub(rb"[#$}*]", lambda match: b"}" + bytes([match[0][0] ^ 0x20]), data)


def _plain(data: bytes) -> bytes:
    """A packet's content: run lengths repeated, escapes undone."""
    repeated = re.sub(rb"([^}])\*([ -~])", lambda match: match[1] * (match[2][0] - 28), data, flags=re.DOTALL)
    return re.sub(rb"}(.)", lambda match: bytes([match[1][0] ^ 0x20]), repeated, flags=re.DOTALL)


class GdbClient:
    """A connection to a GDB server.

    Its methods raise TimeoutError if no whole packet comes in time, another OSError if the connection is lost, and
    GarbageError if what comes is no packet.

    Args:
        connection: the socket, connected.
        timeout: seconds to wait for each reply.
    """

    def __init__(self, connection: socket.socket, timeout: float) -> None:
        self._socket = connection
        self._timeout = timeout
        self._waiting = b""
        self._sent = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; what waits for a packet of it then raises."""
        with contextlib.suppress(OSError):
            # A thread that waits for a byte is not woken by close() alone.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def request(self, command: str | bytes, timeout: float | None = None) -> str:
        """Send a command and return the reply, which is empty if the server does not know the command."""
        self.send(command)
        return self.reply(timeout)

    def send(self, command: str | bytes) -> None:
        """Send a command that has no reply yet."""
        data = command.encode("ascii") if isinstance(command, str) else command
        self._sent = b"$" + data + b"#%02x" % (sum(data) % 256)
        self._socket.settimeout(self._timeout)
        self._socket.sendall(self._sent)

    def interrupt(self) -> None:
        """Ask for a running machine to be stopped; the reply says that it has."""
        self._socket.settimeout(self._timeout)
        self._socket.sendall(b"\x03")

    def reply(self, timeout: float | None = None) -> str:
        """The next packet of the server."""
        return self.reply_bytes(timeout).decode("latin-1")

    def reply_bytes(self, timeout: float | None = None) -> bytes:
        """The next packet of the server, which may have binary data."""
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        damaged = 0
        while True:
            packet, sum_digits = self._packet(deadline)
            if sum_digits.lower() == b"%02x" % (sum(packet) % 256):
                self._socket.sendall(b"+")
                return _plain(packet)
            damaged += 1
            if damaged == _TRIES:
                raise GarbageError(f"{packet[:40]!r} with checksum {sum_digits!r}")
            self._socket.sendall(b"-")

    def _packet(self, deadline: float) -> tuple[bytes, bytes]:
        """The next packet's content and the digits of its checksum."""
        while True:
            waiting = _NOTIFICATION.sub(b"", self._waiting).lstrip(b"+-")
            if b"-" in self._waiting[: len(self._waiting) - len(waiting)] and self._sent:
                self._socket.sendall(self._sent)
            self._waiting = waiting
            before, _, rest = waiting.partition(b"$")
            if len(before) > _MOST_NOISE or len(rest) > _LONGEST:
                raise GarbageError(repr((before or rest)[:40]))
            content, end, after = rest.partition(b"#")
            if end and len(after) >= 2:
                self._waiting = after[2:]
                return content, after[:2]
            self._receive(deadline)

    def _receive(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            if self._waiting and not self._waiting.startswith(b"$"):
                raise GarbageError(repr(self._waiting[:40]))
            raise TimeoutError
        self._socket.settimeout(left)
        with contextlib.suppress(TimeoutError):
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionError("connection closed")
            self._waiting += data


class GdbStub(GdbClient):
    """A connection to an emulator's GDB server on a Unix socket. The machine must be stopped while connecting.

    Args:
        path: the socket.
        timeout: seconds to wait for the socket to appear, and for each reply.
        alive: whether the emulator still runs; called until the socket appears.
    """

    def __init__(self, path: Path, timeout: float, alive: Callable[[], bool] = lambda: True) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        super().__init__(connection, timeout)
        deadline = time.monotonic() + timeout
        while True:
            try:
                with socket_of(path) as place:
                    connection.connect(place)
                return
            except OSError:
                if not alive() or time.monotonic() > deadline:
                    raise WorldwiseError("the emulator did not open its debug socket") from None
                time.sleep(0.01)

    def run_to(
        self, address: int, hopeless: Callable[[], bool] = lambda: False, others: Collection[int] = frozenset()
    ) -> None:
        """Let the machine run, and stop it just before the instruction at a virtual address, or at one of `others`.

        Raises WorldwiseError if it does not get there in time, or ends before, or `hopeless` says that it never will.
        """
        places = {address, *others}
        for place in places:
            self._request(f"Z0,{place:x},4", "OK")
        reply = self._request("c", hopeless=hopeless)
        if not reply.startswith(("T05", "S05")):
            raise WorldwiseError(f"the machine stopped before it was ready (debugger says {reply[:40]!r})")
        for place in places:
            self._request(f"z0,{place:x},4", "OK")

    def step(self) -> None:
        """Let a stopped machine execute one instruction. Raises WorldwiseError as `run_to` does."""
        reply = self._request("s")
        if not reply.startswith(("T05", "S05")):
            raise WorldwiseError(f"the machine did not execute one instruction (debugger says {reply[:40]!r})")

    def write(self, address: int, content: bytes) -> None:
        """Write a stopped machine's memory, at a virtual address of what it executes. Raises WorldwiseError."""
        self._request(f"M{address:x},{len(content):x}:{content.hex()}", "OK")

    def read(self, address: int, length: int) -> bytes:
        """A stopped machine's memory, at a virtual address of what it executes; empty if nothing is there."""
        reply = self._request(f"m{address:x},{length:x}")
        return b"" if reply.startswith("E") else bytes.fromhex(reply)

    def register(self, number: int) -> int:
        """A register of a stopped little-endian machine, by its number in the protocol. Raises WorldwiseError."""
        reply = self._request(f"p{number:x}")
        if reply.startswith("E"):
            raise WorldwiseError(f"the emulator's debugger has no register {number}: {reply!r}")
        return int.from_bytes(bytes.fromhex(reply), "little")

    def register_named(self, name: str, described: str) -> int | None:
        """A register by its name, which one of the machine's descriptions numbers; None if that has no such register.

        Raises WorldwiseError as `register` does.
        """
        text = self._request(f"qXfer:features:read:{described}:0,{_LONGEST_DESCRIPTION:x}")
        for one in re.findall(r"<reg [^>]*>", text):
            words = dict(re.findall(r"(\w+)=['\"]([^'\"]*)['\"]", one))
            if words.get("name") == name and words.get("regnum", "").isdecimal():
                return self.register(int(words["regnum"]))
        return None

    def go(self) -> None:
        """Let a stopped machine run on. The connection must stay open until it ends."""
        self._socket.sendall(b"$c#63")

    def _request(self, command: str, expected: str = "", hopeless: Callable[[], bool] = lambda: False) -> str:
        deadline = time.monotonic() + self._timeout
        try:
            self.send(command)
            while (reply := self._reply_within(min(_LOOK_EVERY, deadline - time.monotonic()))) is None:
                if hopeless():
                    raise WorldwiseError("the machine will not get ready")
                if time.monotonic() > deadline:
                    raise TimeoutError
        except TimeoutError:
            raise WorldwiseError(f"the machine was not ready after {self._timeout:.0f} s") from None
        except (OSError, GarbageError) as error:
            raise WorldwiseError("the emulator ended before the machine was ready", details=str(error)) from None
        if expected and reply != expected:
            raise WorldwiseError(f"the emulator's debugger answered {reply!r} to {command!r}")
        return reply

    def _reply_within(self, seconds: float) -> str | None:
        """The next packet of the server; None if it has not come whole in time."""
        try:
            return self.reply(seconds)
        except TimeoutError:
            return None
