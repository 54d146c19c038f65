# SPDX-License-Identifier: BSD-2-Clause
"""How a process of the tool begins, and how it ends in an orderly way: after signals, and without its terminal."""

import contextlib
import gc
import io
import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

from worldwise.base.output.safe_text import GONE

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Exit statuses. 2 is click's: the command line was not understood.
EXIT_ERROR, EXIT_EXCEEDED = 1, 3
# As shells report a program ended by Ctrl-C.
EXIT_INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds that an orderly end may take before a further signal cuts it short.
_PATIENCE = 30.0


class Signals:
    """Makes the first of Ctrl-C, SIGTERM and SIGHUP a KeyboardInterrupt, and ignores those that follow.

    If the end takes longer than 30 seconds, one more signal cuts it short.
    """

    def __init__(self) -> None:
        self._deaf_until = 0.0

    def listen(self) -> None:
        """Handle the signals from now on."""
        for one in _SIGNALS:
            # `nohup`, and a shell that starts a background job, let the tool ignore a signal: it stays ignored.
            if one == signal.SIGTERM or signal.getsignal(one) != signal.SIG_IGN:
                signal.signal(one, self._handle)

    def end(self) -> None:
        """Fix the exit status: from now on no signal can change it, not even while Python removes its handlers."""
        for one in _SIGNALS:
            signal.signal(one, signal.SIG_IGN)

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now >= self._deaf_until:
            self._deaf_until = now + _PATIENCE
            raise KeyboardInterrupt


class _Lasting(io.FileIO):
    """A terminal or pipe that may go away: text written after that is dropped."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if error.errno not in GONE:
                raise
            return memoryview(data).nbytes


def outlast_terminal() -> None:
    """Let messages (standard error) never fail the tool: without a terminal they are dropped."""
    messages = sys.stderr
    # Whoever replaced sys.stderr handles its errors.
    if messages is sys.__stderr__ and messages is not None:
        messages.flush()
        raw = io.BufferedWriter(_Lasting(messages.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, messages.encoding, messages.errors, line_buffering=True)


def drop_results() -> None:
    """Drop further output after its reader is gone, so that Python does not complain at its exit."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        with contextlib.suppress(OSError):
            sys.stdout.flush()


# So many new objects begin a collection, so many collections one of older objects, so many of these one of all.
_THRESHOLDS = (100_000, 20, 100)


def collect_seldom() -> None:
    """Call it once, when a process begins.

    A trace has a million rows, all of which stay: by Python's own thresholds the collector goes through them again and
    again, which took a third of the time of reading and attributing one.
    """
    gc.set_threshold(*_THRESHOLDS)
