# SPDX-License-Identifier: BSD-2-Clause
"""An echo server in a machine, measured from the host through the emulator's user network.

The host's clock measures an emulator: the times include the emulator's speed on this host, its network code and the
host's other work. They do not repeat, are no counts, and are kept in a file of their own.
"""

import contextlib
import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldwise.base.errors import WorldwiseError
from worldwise.families.echo.host_times import (
    HOST_FILE,
    STREAM_MESSAGES,
    HostEnd,
    HostSample,
    HostStart,
    read_host_times,
)
from worldwise.lab.sandbox.lent_folders import end_of
from worldwise.lab.sandbox.limits import MIB
from worldwise.plan.case import Case

# As in guest/apps/echo: the port of both sides, the card's address, and the address of the host's listener.
PORT = 7
CARD = "10.0.2.15"
HOST = "10.0.2.100"
_LOOPBACK = "127.0.0.1"
# The record that the measured program writes when its server is ready.
_READY = b'"result":"ready"'

# Seconds: until the machine must be ready, until a message must arrive, between two checks whether to stop.
_START_LIMIT = 90.0
_MESSAGE_LIMIT = 60.0
_LOOK = 0.1


@dataclass(frozen=True)
class EchoClient:
    """The host's end of a case `echo-host`: see machine.HostProgram."""

    case: Case

    @contextlib.contextmanager
    def running(self, directory: Path, live: Path) -> Iterator[str]:
        """The client, from before the machine starts until it has ended; gives the forwarding for QEMU's user network.

        Nothing listens on an address of the host but 127.0.0.1, and the machine reaches nothing but this client. Raises
        WorldwiseError at the end if the client could not measure.
        """
        with contextlib.closing(socket.socket()) as listener:
            listener.bind((_LOOPBACK, 0))
            port = listener.getsockname()[1]
            if dict(self.case.parameters)["server"] == "socket":
                # The TA can only connect. QEMU connects for it, at its start, to the listener here.
                listener.listen(1)
                forward = f"guestfwd=tcp:{HOST}:{PORT}-tcp:{_LOOPBACK}:{port}"
                client = _Client(self.case, directory, live, listener, None)
            else:
                listener.close()
                forward = f"hostfwd=tcp:{_LOOPBACK}:{port}-{CARD}:{PORT}"
                client = _Client(self.case, directory, live, None, port)
            client.start()
            try:
                yield forward
            finally:
                client.finish()
        if client.problem:
            raise WorldwiseError(f"case {self.case.id}: the client on the host: {client.problem}")
        read_host_times(directory / HOST_FILE)


class _Client(threading.Thread):
    """Measures while the machine runs."""

    def __init__(
        self, case: Case, directory: Path, live: Path, listener: socket.socket | None, port: int | None
    ) -> None:
        super().__init__(name="echo-client", daemon=True)
        self.problem = ""
        self._case = case
        self._directory = directory
        self._live = live
        self._listener = listener
        self._port = port
        self._over = threading.Event()

    def finish(self) -> None:
        """The machine has ended: stop waiting for messages."""
        self._over.set()
        self.join()

    def run(self) -> None:
        """Measure the whole case; afterwards `problem` has the error, if any."""
        path = self._directory / HOST_FILE
        try:
            with path.open("w", encoding="ascii") as file:
                # QEMU itself connects before the server is ready.
                early = self._accept() if self._listener else None
                with contextlib.closing(early or self._connect()) as connection:
                    if early:
                        self._wait_for_server()
                    for record in self._measure(connection):
                        file.write(json.dumps(record.model_dump(), separators=(",", ":")) + "\n")
                        file.flush()  # Growth counts as a sign of life.
        except (OSError, _Problem) as error:
            self.problem = str(error)

    def _patience(self, seconds: float) -> Iterator[None]:
        """Yields while waiting; raises _Problem if that takes too long or the machine has ended."""
        until = time.monotonic() + seconds
        while True:
            if self._over.is_set():
                raise _Problem("the machine ended before all was measured")
            if time.monotonic() > until:
                raise _Problem(f"nothing came for {seconds:.0f} s")
            yield

    def _accept(self) -> socket.socket:
        assert self._listener
        self._listener.settimeout(_LOOK)
        for _ in self._patience(_START_LIMIT):
            with contextlib.suppress(TimeoutError):
                return self._listener.accept()[0]
        raise AssertionError("unreachable")

    def _connect(self) -> socket.socket:
        self._wait_for_server()
        return socket.create_connection((_LOOPBACK, self._port), timeout=_MESSAGE_LIMIT)

    def _wait_for_server(self) -> None:
        for _ in self._patience(_START_LIMIT):
            if _READY in end_of(self._live / "records.jsonl", MIB):
                return
            self._over.wait(_LOOK)

    def _measure(self, connection: socket.socket) -> Iterator[HostStart | HostSample | HostEnd]:
        case = self._case
        assert case.size is not None
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        yield HostStart(
            type="start",
            format=1,
            case=case.id,
            size=case.size,
            stream_messages=STREAM_MESSAGES,
            warmup=case.warmup,
            samples=case.samples,
            clock="perf_counter",
            unit="nanoseconds",
            processors=os.cpu_count() or 0,
            load=round(os.getloadavg()[0], 2),
        )
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            for index in range(case.calls):
                phase: Literal["first", "warmup", "sample"] = (
                    "first" if index == 0 else "warmup" if index <= case.warmup else "sample"
                )
                for measure, messages in (("round-trip", 1), ("stream", STREAM_MESSAGES)):
                    data = os.urandom(case.size * messages)
                    began = time.perf_counter_ns()
                    answer = self._exchange(connection, selector, data, case.size)
                    took = time.perf_counter_ns() - began
                    if answer != data:
                        raise _Problem(f"{measure} {index}: the answer differs from the message sent")
                    yield HostSample(
                        type="sample",
                        measure="stream" if measure == "stream" else "round-trip",
                        index=index,
                        phase=phase,
                        nanoseconds=took,
                    )
        yield HostEnd(type="end")

    def _exchange(
        self, connection: socket.socket, selector: selectors.BaseSelector, data: bytes, size: int
    ) -> bytearray:
        """Sends messages of `size` bytes as there is room, and receives until everything has come back."""
        view = memoryview(data)
        answer = bytearray()
        sent = 0
        waited = 0.0
        while len(answer) < len(data):
            if sent < len(data):
                with contextlib.suppress(BlockingIOError):
                    sent += connection.send(view[sent : sent + size - sent % size])
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if sent < len(data) else 0)
                selector.modify(connection, wanted)
            if not selector.select(_LOOK):
                waited += _LOOK
                if self._over.is_set():
                    raise _Problem("the machine ended before all was measured")
                if waited > _MESSAGE_LIMIT:
                    raise _Problem(f"nothing came for {_MESSAGE_LIMIT:.0f} s")
                continue
            waited = 0.0
            with contextlib.suppress(BlockingIOError):
                part = connection.recv(len(data) - len(answer))
                if not part:
                    raise _Problem("the server closed the connection")
                answer += part
        return answer


class _Problem(Exception):
    """Why the client gave up."""
