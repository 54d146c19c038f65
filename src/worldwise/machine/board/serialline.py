# SPDX-License-Identifier: BSD-2-Clause
"""Records that come over a board's serial line: framed as guest/board-serial/serial.c says, and none lost unseen."""

import contextlib
import errno
import fcntl
import os
import re
import select
import termios
import time
import tty
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from worldwise.base import files
from worldwise.base.errors import HostError, WorldwiseError

BAUD = 115_200
_ADDRESS = re.compile(r"(/[^@\0]+)(?:@([0-9]{1,8}))?")
_FRAME = re.compile(rb"~([0-9a-f]{8}) ([0-9a-f]{8}) (\{.*\})\r?")
_FIRST = b"~00000000 "
# Bytes before the first frame, which a reset or a program before it may have sent; and of one frame, more than the
# guest's longest record.
_MOST_NOISE, _LONGEST = 4096, 4096
# Seconds without a byte after which nothing more comes of a program that has ended.
QUIET = 1.0


@dataclass(frozen=True)
class SerialAddress:
    """Where a board's serial line ends on the host, and how fast it is."""

    device: str
    baud: int = BAUD

    def __str__(self) -> str:
        return f"{self.device}@{self.baud}"


def parse_serial(text: str) -> SerialAddress:
    """The line in `DEVICE[@BAUD]`. Raises WorldwiseError."""
    match = _ADDRESS.fullmatch(text)
    if not match:
        raise WorldwiseError(
            f"--serial {files.quoted(text)}: is not a serial line.",
            f"write DEVICE or DEVICE@BAUD, such as /dev/ttyACM0@{BAUD}",
        )
    baud = int(match[2] or BAUD)
    if not hasattr(termios, f"B{baud}") or not baud:
        known = sorted(int(name[1:]) for name in dir(termios) if re.fullmatch("B[0-9]{4,}", name))
        raise WorldwiseError(
            f"--serial {files.quoted(text)}: {baud} is not a baud rate that this machine supports.",
            f"rates: {', '.join(map(str, known))}",
        )
    return SerialAddress(match[1], baud)


class Frames:
    """Takes the records out of what comes over a line. Raises WorldwiseError naming the record that is wrong."""

    def __init__(self) -> None:
        self.come = 0
        self._waiting = b""
        self._last = "none"

    def take(self, data: bytes) -> Iterator[bytes]:
        """The records that are whole now, each without its newline."""
        self._waiting += data
        if not self.come and not self._waiting.startswith(_FIRST):
            begin = self._waiting.find(_FIRST)
            if begin < 0:
                if len(self._waiting) > _MOST_NOISE:
                    self._garbage()
                return
            self._waiting = self._waiting[begin:]
        while b"\n" in self._waiting:
            line, _, self._waiting = self._waiting.partition(b"\n")
            yield self._record(line)
        if len(self._waiting) > _LONGEST:
            self._damaged(self._waiting)

    def finish(self, sent: int) -> None:
        """Raise unless all that the program sent has come."""
        if not self.come and sent:
            self._garbage()
        if self._waiting:
            self._damaged(self._waiting)
        if self.come < sent:
            self._lost(self.come, sent - 1, f"the program sent {sent}")

    def _record(self, line: bytes) -> bytes:
        match = _FRAME.fullmatch(line)
        if not match or int(match[2], 16) != zlib.crc32(match[1] + b" " + match[3]):
            self._damaged(line)
        number = int(match[1], 16)
        if number > self.come:
            self._lost(self.come, number - 1, f"record {number} came next")
        if number < self.come:
            raise WorldwiseError(f"the serial line: record {number} came twice.", _AGAIN)
        self.come += 1
        found = re.match(rb'\{"type":"([a-z_]{1,20})"', match[3])
        self._last = f"{number} ({found[1].decode() if found else '?'})"
        return match[3]

    def _lost(self, first: int, last: int, why: str) -> NoReturn:
        which = f"record {first} was" if first == last else f"records {first} to {last} were"
        raise WorldwiseError(
            f"the serial line: {which} lost: {why}; the last whole one before is {self._last}.", _AGAIN
        )

    def _damaged(self, line: bytes) -> NoReturn:
        raise WorldwiseError(
            f"the serial line: record {self.come} is damaged, by bytes that were lost, doubled or changed: "
            f"{files.quoted(line, 60)}; the last whole one before is {self._last}.",
            _AGAIN,
        )

    def _garbage(self) -> NoReturn:
        said = f"only garbage came: {files.quoted(self._waiting, 40)}" if self._waiting else "nothing came"
        raise HostError(
            f"the serial line: {said}.",
            "is it the board's line, with the rate of --serial? The board's file says which pins it has ([serial])",
        )


_AGAIN = "`run --resume` measures the case again; if it happens again: a slower rate, a shorter cable, no hub between"


class SerialLine:
    """A serial line, open, whose records are taken.

    Raises HostError if it is not there, is another's, or goes away.
    """

    def __init__(self, address: SerialAddress) -> None:
        self._address = address
        self._frames = Frames()
        self.heard = time.monotonic()
        try:
            self._file = os.open(address.device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise HostError(f"{address.device}: cannot be opened: {error.strerror}.", _way_out(error)) from None
        try:
            self._set_up()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            os.close(self._file)

    def take(self) -> Iterator[bytes]:
        """The records that have come, without waiting."""
        while data := self._read(0):
            yield from self._frames.take(data)

    def rest(self, sent: int) -> Iterator[bytes]:
        """The records that are still on the way of a program that has ended, and has sent so many."""
        while self._frames.come < sent and (data := self._read(QUIET)):
            yield from self._frames.take(data)
        self._frames.finish(sent)

    def _read(self, seconds: float) -> bytes:
        """What has come; empty if nothing does in time."""
        if not select.select([self._file], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self._file, 65536)
        except OSError as error:
            self._gone(error.strerror or str(error))
        if not data:
            self._gone("it was closed")
        self.heard = time.monotonic()
        return data

    def _gone(self, why: str) -> NoReturn:
        raise HostError(
            f"{self._address.device}: the serial line has gone away: {why}.",
            "connect it again; then: worldwise run --resume --via ... --serial ...",
        )

    def _set_up(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            tty.setraw(self._file)
            settings = termios.tcgetattr(self._file)
            settings[2] |= termios.CLOCAL | termios.CREAD
            settings[4] = settings[5] = getattr(termios, f"B{self._address.baud}")
            termios.tcsetattr(self._file, termios.TCSANOW, settings)
            termios.tcflush(self._file, termios.TCIFLUSH)
        except BlockingIOError:
            raise HostError(f"{self._address.device}: another program has it.", "end that program") from None
        except (termios.error, OSError) as error:
            raise HostError(f"{self._address.device}: is not a serial line: {error}.", _way_out(error)) from None


def _way_out(error: Exception) -> str:
    if getattr(error, "errno", None) in (errno.EACCES, errno.EPERM):
        return "let your user open it: on Debian it must be in the group dialout, and log in again"
    there = sorted(str(path) for kind in ("ttyACM*", "ttyUSB*") for path in Path("/dev").glob(kind))
    return f"serial lines of this machine: {', '.join(there) or 'none; is the cable plugged in?'}"
