# SPDX-License-Identifier: BSD-2-Clause
"""How the tool ends in an orderly way: by a signal, by several, and with its terminal gone."""

import contextlib
import io
import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

from worldwise.base.outgoing import GONE

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds that an orderly end may take before a further signal cuts it short.
_PATIENCE = 30.0


class Signals:
    """Makes the first of Ctrl-C, SIGTERM and SIGHUP a KeyboardInterrupt, and takes no notice of those that follow.

    An end that takes longer than 30 seconds can be cut short by one more.
    """

    def __init__(self) -> None:
        self._deaf_until = 0.0

    def listen(self) -> None:
        """Handle the signals from now on."""
        for one in _SIGNALS:
            # `nohup`, and a shell that starts a job in the background, ignore a signal: so it stays.
            if one == signal.SIGTERM or signal.getsignal(one) != signal.SIG_IGN:
                signal.signal(one, self._handle)

    def end(self) -> None:
        """The exit status stands: no signal can change it any more, nor Python by giving up its handlers."""
        for one in _SIGNALS:
            signal.signal(one, signal.SIG_IGN)

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now >= self._deaf_until:
            self._deaf_until = now + _PATIENCE
            raise KeyboardInterrupt


class _Lasting(io.FileIO):
    """A terminal or pipe that may go away: what is written after that is dropped."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if error.errno not in GONE:
                raise
            return memoryview(data).nbytes


def outlast_terminal() -> None:
    """Messages (standard error) are never a reason to fail: without a terminal they are dropped."""
    messages = sys.stderr
    # Whoever has put something else there handles it.
    if messages is sys.__stderr__ and messages is not None:
        messages.flush()
        raw = io.BufferedWriter(_Lasting(messages.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, messages.encoding, messages.errors, line_buffering=True)


def drop_results() -> None:
    """Nobody reads standard output any more: Python must not complain about that at its exit."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        with contextlib.suppress(OSError):
            sys.stdout.flush()
