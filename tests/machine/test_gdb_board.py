# SPDX-License-Identifier: BSD-2-Clause
"""A board behind a GDB server, where QEMU is both; and the program that counts a chip's cycles."""

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from worldwise.base.counted import CYCLES, INSTRUCTIONS
from worldwise.base.errors import HostError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.machine.emulator import Emulator
from worldwise.machine.gdbboard import GdbBoard
from worldwise.machine.gdbserver import Address
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import parse_case
from worldwise.run.measure import check_run
from worldwise.targets.board import BoardTarget

pytestmark = [pytest.mark.machine, pytest.mark.timeout(600)]

# The quickest signature; that of an M4's machine, whose flash is none for QEMU to write.
CASE = parse_case("nucleo-f446re/monocypher-Os/sign,curve=ed25519,size=32B", samples=2, warmup=0)
BOARD = boards()[CASE.target]
_QEMU = "qemu-system-aarch64"


@contextlib.contextmanager
def server(lab: Lab) -> Iterator[tuple[Address, "subprocess.Popen[bytes]"]]:
    """QEMU as docs/board.md starts it, on a port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = Address("127.0.0.1", free.getsockname()[1])
    arguments = [
        *(_QEMU, "-nodefaults", "-display", "none", "-M", BOARD.emulated.machine, "-nic", "none"),
        *("-icount", "shift=10,align=off,sleep=off", "-rtc", "clock=vm"),
        *("-S", "-gdb", f"tcp:{address.host}:{address.port}", "-semihosting-config", "enable=on,target=gdb"),
    ]
    process = subprocess.Popen(lab.command(arguments, network=True), stderr=subprocess.DEVNULL)
    try:
        listening = f"0100007F:{address.port:04X} 00000000:0000 0A"
        deadline = time.monotonic() + 60
        while listening not in Path("/proc/net/tcp").read_text():
            assert process.poll() is None and time.monotonic() < deadline, "QEMU does not listen"
            time.sleep(0.02)
        yield address, process
    finally:
        process.kill()
        process.wait()


def records(directory: Path, kind: str = "") -> list[dict[str, Any]]:
    """The records, or those of a kind, but for where in the machine's time a sample was."""
    lines = map(json.loads, (directory / RECORDS).read_text().splitlines())
    return [
        {key: value for key, value in line.items() if key not in ("begin", "end")}
        for line in lines
        if line["type"] == kind or not kind
    ]


def test_counts_are_the_same_through_a_gdb_server(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """If this fails, what a board's way of measuring counts differs from what was counted without it."""
    target = BoardTarget(CASE.target, BOARD)
    machine, program = target.machine(CASE, images), target.program(CASE)
    plain, first, again, lost = (tmp_path / name for name in ("plain", "first", "again", "lost"))
    for directory in (plain, first, again, lost):
        directory.mkdir()
    emulator.run(machine, program, plain)
    written: list[str] = []
    with server(lab) as (address, process):
        board = GdbBoard(address, BOARD, CASE.target, lab, written.append)
        assert board.describe().unit == INSTRUCTIONS
        for directory in (first, again):
            board.run(machine, program, directory)
            check_run(CASE, directory, board, machine)
            assert records(directory) == records(plain)
        # The program was still there.
        assert len(written) == 1
        with pytest.raises(HostError, match="the GDB server has gone away"):
            board.run(machine, program, lost, progress=lambda size: process.kill() if size > 500 else None)


def test_a_chips_program_counts_ticks(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """If this fails, SysTick as a counter of cycles loses rounds; with instructions of a known length it shows."""
    found = []
    for unit in (INSTRUCTIONS, CYCLES):
        target = BoardTarget(CASE.target, BOARD, unit)
        machine = target.machine(CASE, images)
        (tmp_path / unit).mkdir()
        emulator.run(machine, target.program(CASE), tmp_path / unit)
        check_run(CASE, tmp_path / unit, emulator, machine, unit)
        found.append([one["count"] for one in records(tmp_path / unit, "sample")])
    assert [one["clock"] for one in records(tmp_path / CYCLES, "start")] == ["systick"]
    # An instruction takes 1,024 ns, and the interrupt of a round 5 instructions, which stay in.
    length = BOARD.emulated.clock * 1024 / 10**9
    for instructions, ticks in zip(*found, strict=True):
        rounds = ticks / 2**24
        assert rounds > 5
        assert ticks / length == pytest.approx(instructions + 5 * round(rounds), abs=5.5)
