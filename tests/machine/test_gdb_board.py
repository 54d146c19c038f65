# SPDX-License-Identifier: BSD-2-Clause
"""A board behind a GDB server, where QEMU is both; and the program that counts a chip's cycles."""

import contextlib
import json
import os
import re
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gdb_board import FLASH, RAM
from machines import LOOPBACK, listening
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.base.units import CYCLES, INSTRUCTIONS
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.machine.board.chipclock import ChipClock
from worldwise.machine.board.firmware import Firmware
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.board.gdbprocess import StartedServer, start_of
from worldwise.machine.board.gdbserver import Address, GdbServer
from worldwise.machine.board.serialline import SerialAddress
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import CONSOLE, RECORDS
from worldwise.plan.case import parse_case
from worldwise.run.case_check import check_run
from worldwise.targets.board import BoardTarget

pytestmark = [pytest.mark.machine, pytest.mark.timeout(600)]

# The quickest signature; that of an M4's machine, whose flash is none for QEMU to write.
CASE = parse_case("nucleo-f446re/monocypher-Os/sign,curve=ed25519,size=32B", samples=2, warmup=0)
BOARD = boards()[CASE.target]
_QEMU = "qemu-system-aarch64"


COUNTED = ("-icount", "shift=10,align=off,sleep=off", "-rtc", "clock=vm")


def emulator_command(lab: Lab, port: str, *more: str) -> list[str]:
    """QEMU as docs/use/board.md starts it, with its GDB server on a port."""
    arguments = [
        *(_QEMU, "-nodefaults", "-display", "none", "-M", BOARD.emulated.machine, "-nic", "none"),
        *("-S", "-gdb", f"tcp:127.0.0.1:{port}", "-semihosting-config", "enable=on,target=gdb", *more),
    ]
    return lab.command(arguments, network=True)


@contextlib.contextmanager
def server(lab: Lab, *more: str) -> Iterator[tuple[Address, "subprocess.Popen[bytes]"]]:
    """QEMU on a port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = Address("127.0.0.1", free.getsockname()[1])
    process = subprocess.Popen(emulator_command(lab, str(address.port), *more), stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while LOOPBACK not in listening(address.port):
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
    with server(lab, *COUNTED) as (address, process):
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


@contextlib.contextmanager
def wire(spoilt: Callable[[bytes], bytes]) -> Iterator[tuple[int, str]]:
    """From a port, on which a machine's serial line arrives, to a pseudo-terminal, through what spoils it."""
    end, far = os.openpty()

    def pump() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                os.write(end, spoilt(data))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=pump, daemon=True).start()
        try:
            yield listener.getsockname()[1], os.ttyname(far)
        finally:
            os.close(end)
            os.close(far)


def test_records_over_a_serial_line_are_the_same(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a board's serial line changes a count, or `--via openocd` does not reach a real core."""
    plain, framed = (BoardTarget(CASE.target, BOARD, serial=serial) for serial in (False, True))
    (tmp_path / "plain").mkdir()
    emulator.run(plain.machine(CASE, images), plain.program(CASE), tmp_path / "plain")
    spoiling = threading.Event()

    passed = 0

    def spoilt(data: bytes) -> bytes:
        """A byte of the first record has another bit, however the line's bytes arrive."""
        nonlocal passed
        if not spoiling.is_set():
            return data
        before, passed = passed, passed + len(data)
        return bytes(byte ^ (before + at == 40) for at, byte in enumerate(data))

    machine, program = framed.machine(CASE, images), framed.program(CASE)
    with wire(spoilt) as (port, device):
        command = shlex.join(
            emulator_command(lab, "PORT", *COUNTED, "-serial", "null", "-serial", f"tcp:127.0.0.1:{port}")
        )
        (tmp_path / "openocd").write_text(f"#!/bin/sh\nexec {command.replace('PORT', '${2#gdb_port }')}\n")
        (tmp_path / "openocd").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        started = StartedServer(start_of("openocd", CASE.target, BOARD), tmp_path / "logs")
        board = GdbBoard(started, BOARD, CASE.target, lab, serial=SerialAddress(device))
        try:
            assert board.describe().words.startswith("nucleo-f446re at openocd: QEMU stands for it")
            for name in ("first", "spoilt", "again"):
                (tmp_path / name).mkdir()
                if name == "spoilt":
                    spoiling.set()
                    with pytest.raises(WorldwiseError, match=r"the serial line: record [0-9]+ is damaged"):
                        board.run(machine, program, tmp_path / name)
                    spoiling.clear()
                    continue
                board.run(machine, program, tmp_path / name)
                check_run(CASE, tmp_path / name, board, machine)
                assert records(tmp_path / name) == records(tmp_path / "plain")
        finally:
            board.close()
    assert not (tmp_path / "first" / CONSOLE).read_bytes()


def test_the_loop_by_which_a_clock_is_checked_runs(lab: Lab) -> None:
    """If this fails, no board's clock passes, or every one does: QEMU's core, in real time, has 168 MHz."""
    firmware = Firmware((), FLASH, RAM + 0x8000, FLASH, 0, 0)
    with server(lab) as (address, _), GdbServer(address) as core:
        core.set_register("xpsr", 1 << 24)
        core.set_register("sp", firmware.stack)
        with pytest.raises(HostError, match="the core runs at about") as caught:
            ChipClock(CASE.target, BOARD, "16MHz").check(core, firmware)
    # Not how fast: only that it is the clock of this core, and neither the board's nor no number at all.
    found = re.search(r"about ([0-9.]+) MHz", caught.value.message)
    assert found
    assert 168 / 4 < float(found[1]) < 168 * 4


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
