# SPDX-License-Identifier: BSD-2-Clause
"""The part of the GDB remote protocol that is needed to stop a machine at an instruction and to write its memory.

Source: GDB manual, appendix "GDB Remote Serial Protocol".
"""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from worldwise.base.errors import WorldwiseError
from worldwise.lab.sandbox.lending import socket_of


class GdbStub:
    """A connection to an emulator's GDB server on a Unix socket. The machine must be stopped while connecting.

    Args:
        path: the socket.
        timeout: seconds to wait for the socket to appear, and for each reply.
        alive: whether the emulator still runs; called until the socket appears.
    """

    def __init__(self, path: Path, timeout: float, alive: Callable[[], bool] = lambda: True) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._timeout = timeout
        deadline = time.monotonic() + timeout
        while True:
            try:
                with socket_of(path) as place:
                    self._socket.connect(place)
                return
            except OSError:
                if not alive() or time.monotonic() > deadline:
                    raise WorldwiseError("the emulator did not open its debug socket") from None
                time.sleep(0.01)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def run_to(self, address: int) -> None:
        """Let the machine run, and stop it just before the instruction at a virtual address.

        Raises WorldwiseError if it does not get there in time, or ends before.
        """
        self._request(f"Z0,{address:x},4", "OK")
        reply = self._request("c")
        if not reply.startswith(("T05", "S05")):
            raise WorldwiseError(f"the machine stopped before it was ready (debugger says {reply[:40]!r})")
        self._request(f"z0,{address:x},4", "OK")

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

    def go(self) -> None:
        """Let a stopped machine run on. The connection must stay open until it ends."""
        self._socket.sendall(b"$c#63")

    def _request(self, command: str, expected: str = "") -> str:
        data = command.encode("ascii")
        try:
            self._socket.sendall(b"$" + data + b"#%02x" % (sum(data) % 256))
            reply = self._reply()
        except TimeoutError:
            raise WorldwiseError(f"the machine was not ready after {self._timeout:.0f} s") from None
        except OSError as error:
            raise WorldwiseError("the emulator ended before the machine was ready", details=str(error)) from None
        if expected and reply != expected:
            raise WorldwiseError(f"the emulator's debugger answered {reply!r} to {command!r}")
        return reply

    def _reply(self) -> str:
        packet: bytes | None = None
        while True:
            byte = self._socket.recv(1)
            if not byte:
                raise ConnectionError("connection closed")
            if byte == b"$":
                packet = b""
            elif byte == b"#" and packet is not None:
                for _ in range(2):  # the checksum's digits, which may come one by one
                    self._socket.recv(1)
                self._socket.sendall(b"+")
                return packet.decode("ascii", "replace")
            elif packet is not None:
                packet += byte
