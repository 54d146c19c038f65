# SPDX-License-Identifier: BSD-2-Clause
"""What other programs say is kept within bounds, and they never wait for a reader."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from worldwise.machine.program_output import Keeper, Listener, Log, Tail, Whole, answer


class Full(io.RawIOBase):
    """A file on a disk that is full."""

    def write(self, _data: object) -> int:
        raise OSError(28, "No space left on device")


def heard(keeper: Keeper, content: bytes) -> Listener:
    """Have a keeper hear some content to its end."""
    reading, writing = os.pipe()
    listener = Listener(os.fdopen(reading, "rb"), keeper)
    with os.fdopen(writing, "wb") as file:
        file.write(content)
    listener.stop(10)
    return listener


def test_the_end_is_kept_and_a_flood_is_told_once() -> None:
    told: list[int] = []
    tail = Tail(10, 100_000, lambda: told.append(1))
    heard(tail, b"x" * 99_995 + b"12345")
    assert (tail.said, tail.full, told) == (b"xxxxx12345", False, [])
    heard(tail, b"x" * 1_000_000)
    assert (tail.full, told) == (True, [1])


def test_a_file_has_the_beginning_and_a_log_the_end(tmp_path: Path) -> None:
    told: list[int] = []
    with (tmp_path / "whole").open("wb") as file:
        heard(Whole(file, 200_000, lambda: told.append(1)), bytes(range(250)) * 4000)
    assert (tmp_path / "whole").read_bytes() == bytes(range(250)) * 800
    assert told == [1]
    with (tmp_path / "log").open("wb") as file:
        heard(Log(file, 200_000), bytes(range(250)) * 4000)
    log = (tmp_path / "log").read_bytes()
    assert 50_000 < len(log) <= 200_000
    assert (bytes(range(250)) * 4000).endswith(log)


def test_a_full_disk_stops_nobody() -> None:
    """If this fails, a thread ends with a traceback, and the program that is heard waits for ever."""
    full: BinaryIO = Full()  # type: ignore[assignment]
    listener = heard(Whole(full, 10**9, lambda: None), b"x" * 1_000_000)
    assert listener.problem and listener.problem.strerror == "No space left on device"


def test_an_answer_has_its_bounds() -> None:
    """If this fails, a client that talks fills the memory: of farms, the other end decides what it says."""
    status, said = answer([sys.executable, "-c", "while True: print('more and more')"], 60, 1000)
    assert (status, said[:14], len(said)) == (-9, b"more and more\n", 1000)
    assert answer(["sh", "-c", "echo a; echo b >&2; exit 3"], 60, 1000) == (3, b"a\nb\n")
    with pytest.raises(subprocess.TimeoutExpired):
        answer(["sleep", "60"], 0.1, 1000)
