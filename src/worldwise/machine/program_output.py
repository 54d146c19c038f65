# SPDX-License-Identifier: BSD-2-Clause
"""What another program says, on this host or behind it, heard without end and kept within bounds.

A host, a probe's server or a farm's client may say more than anybody reads, on purpose too. A thread takes it from a
pipe, so that the program never waits for a reader, and keeps so much of it: neither memory nor disk grows beyond that.
"""

import contextlib
import os
import select
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import IO, BinaryIO, Protocol

_PIECE = 64 * 1024
# Seconds between two looks at whether it is still to be listened.
_LOOK = 0.2


class Keeper(Protocol):
    """Keeps what comes."""

    def take(self, data: bytes) -> None:
        """Keep some of it. Raises OSError if that cannot be written."""


class Tail:
    """Keeps the end of what comes; `said` is that.

    Args:
        keep: bytes of it.
        most: bytes in all after which `flooded` is called, once; None: never.
    """

    def __init__(self, keep: int, most: int | None = None, flooded: Callable[[], None] = lambda: None) -> None:
        self.said = b""
        self.full = False
        self._keep, self._most, self._flooded = keep, most, flooded
        self._size = 0

    def take(self, data: bytes) -> None:
        self.said = (self.said + data)[-self._keep :]
        self._size += len(data)
        if self._most is not None and self._size > self._most and not self.full:
            self.full = True
            self._flooded()


class Whole:
    """Writes what comes to a file, up to `most` bytes; at the first that is too much it calls `flooded`, once."""

    def __init__(self, file: BinaryIO, most: int, flooded: Callable[[], None]) -> None:
        self.full = False
        self._file, self._left, self._flooded = file, most, flooded

    def take(self, data: bytes) -> None:
        self._file.write(data[: self._left])
        self._file.flush()
        if len(data) > self._left and not self.full:
            self.full = True
            self._flooded()
        self._left = max(0, self._left - len(data))


class Log:
    """Writes what comes to a file that begins anew, with its end so far, when it has `most` bytes."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most = file, most
        self._tail = Tail(most // 2)
        self._size = 0

    def take(self, data: bytes) -> None:
        self._tail.take(data)
        if self._size + len(data) > self._most:
            self._file.seek(0)
            self._file.truncate()
            data, self._size = self._tail.said, 0
        self._file.write(data)
        self._file.flush()
        self._size += len(data)


class Listener:
    """Gives what comes over a pipe to a keeper, until the pipe's other end is closed everywhere or `stop`.

    Attributes:
        problem: why the keeper could not keep what came; None if it could. What comes after is dropped.
    """

    def __init__(self, pipe: IO[bytes], keeper: Keeper) -> None:
        self.problem: OSError | None = None
        self._pipe, self._keeper = pipe, keeper
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def stop(self, seconds: float = 0.0) -> None:
        """Wait so long for the end of the output, then close it: a program that still writes gets an error."""
        self._thread.join(seconds)
        self._stopped.set()
        self._thread.join()

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        with self._pipe:
            while not self._stopped.is_set():
                if not poll.poll(_LOOK * 1000):
                    continue
                data = os.read(self._pipe.fileno(), _PIECE)
                if not data:
                    return
                if self.problem is None:
                    try:
                        self._keeper.take(data)
                    except OSError as error:
                        self.problem = error


def answer(command: Sequence[str], seconds: float, most: int) -> tuple[int, bytes]:
    """The status of a program that asks nothing, and the first bytes that it says, on either output.

    It is ended when it says more than `most` bytes. Ctrl-C does not reach it. Raises subprocess.TimeoutExpired, with
    the program ended, and OSError if it cannot be started.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout
    first = _First(most, process.kill)
    listener = Listener(process.stdout, first)
    try:
        status = process.wait(seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        listener.stop(1.0)
    return status, first.said


class _First:
    """Keeps the beginning of what comes; at the first byte that is too much it calls `flooded`."""

    def __init__(self, most: int, flooded: Callable[[], None]) -> None:
        self.said = b""
        self._most, self._flooded = most, flooded

    def take(self, data: bytes) -> None:
        if len(self.said) + len(data) > self._most:
            self._flooded()
        self.said = (self.said + data)[: self._most]
