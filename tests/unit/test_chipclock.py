# SPDX-License-Identifier: BSD-2-Clause
"""A chip's clock, as the tool sets it through a debugger and looks at it; and what a run says of it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gdb_board import FIRMWARE, FakeBoard
from gdb_run import MACHINE, NAME, WORDS, Target, Tool, records
from worldwise.base import paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards, load_board
from worldwise.machine.board import chipclock, gdbboard
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.machine import RECORDS
from worldwise.plan.suite import parse_suite
from worldwise.read.run_counts import read_run
from worldwise.report.report import sections, to_csv
from worldwise.run import ways
from worldwise.run.measurers import remote_of

LINE = b'{"type":"line"}\n'
BOARD = boards()[NAME]
RCC_CR, RCC_PLLCFGR, RCC_CFGR = 0x40023800, 0x40023804, 0x40023808
PWR_CR, PWR_CSR, FLASH_ACR = 0x40007000, 0x40007004, 0x40023C00

Make = Callable[..., FakeBoard]


def f446(board: FakeBoard) -> None:
    """What an STM32F446 makes of its registers: flags follow switches, and its clock follows them all."""

    def word(address: int) -> int:
        return int.from_bytes(board.take(address, 4), "little")

    def put(address: int, value: int) -> None:
        board.put(address, value.to_bytes(4, "little"))

    control, power, factors = word(RCC_CR), word(PWR_CR), word(RCC_PLLCFGR)
    ready = control >> 24 & 1
    put(RCC_CR, control & ~(1 << 25) | ready << 25)
    put(PWR_CSR, power & 0x30000)
    if word(RCC_CFGR) & 3 == 2 and ready:
        put(RCC_CFGR, word(RCC_CFGR) | 8)
        # A core that is faster than its flash does not run at all.
        assert word(FLASH_ACR) & 7 == 5
        board.hertz = 16_000_000 // (factors & 0x3F) * (factors >> 6 & 0x1FF) // (2 * (factors >> 16 & 3) + 2)


def after_reset(board: FakeBoard) -> None:
    board.put(RCC_PLLCFGR, (0x24003010).to_bytes(4, "little"))


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes boards. A second is over whenever the time is looked at."""
    made: list[FakeBoard] = []
    seconds = iter(range(10**6))

    def new(**what: Any) -> FakeBoard:
        made.append(FakeBoard(**{"records": lambda _: LINE, "chip": f446, **what}))
        after_reset(made[-1])
        return made[-1]

    class Time:
        monotonic = staticmethod(lambda: float(next(seconds)))

    monkeypatch.setattr(gdbboard, "read_firmware", lambda _path: FIRMWARE)
    monkeypatch.setattr(chipclock, "time", Time)
    monkeypatch.setattr(chipclock, "RUNS", 0.05)
    yield new
    for one in made:
        one.close()


def run(board: FakeBoard, clock: str, folder: Path, times: int = 1) -> GdbBoard:
    here = GdbBoard(board.address, BOARD, NAME, Lab(load_lock(), folder / "cache"), silence_limit=5, clock=clock)
    for number in range(times):
        directory = folder / str(number)
        directory.mkdir()
        here.run(MACHINE, WORDS, directory)
        assert (directory / RECORDS).read_bytes() == LINE
    return here


def test_a_clock_is_set_in_every_case_and_checked_once(make: Make, tmp_path: Path) -> None:
    """If this fails, a case is measured at the clock after reset under another one's name."""
    board = make()
    run(board, "180MHz", tmp_path, times=2)
    assert board.hertz == 180_000_000
    assert int.from_bytes(board.take(FLASH_ACR, 4), "little") == 0x705
    assert int.from_bytes(board.take(RCC_PLLCFGR, 4), "little") == 0x24005A10
    resets = [one for one in board.commands if one == "qRcmd," + b"reset halt".hex()]
    # One more for the look at the clock, after which all is set again.
    assert len(resets) == 3
    assert len(board.begun) == 2
    assert board.begun[0] == (1 << 24, FIRMWARE.stack, FIRMWARE.entry)


@pytest.mark.parametrize(
    ("clock", "access"),
    [("180MHz-bare", 0x005), ("180MHz-no-cache", 0x105), ("180MHz-no-prefetch", 0x605), ("16MHz", 0)],
)
def test_the_flash_is_set_as_the_name_says(clock: str, access: int, make: Make, tmp_path: Path) -> None:
    """If this fails, a table says that caches are off while they are on."""
    board = make()
    run(board, clock, tmp_path)
    assert int.from_bytes(board.take(FLASH_ACR, 4), "little") == access


@pytest.mark.parametrize("hertz", [16_000_000, 84_000_000, 168_000_000, 400_000_000])
def test_a_wrong_clock_is_told(hertz: int, make: Make, tmp_path: Path) -> None:
    """If this fails, times and wait states of a clock are shown that the chip never had."""

    def wrong(board: FakeBoard) -> None:
        f446(board)
        board.hertz = hertz

    with pytest.raises(HostError, match=f"{NAME}: clock 180MHz: the core runs at about [0-9.]+ MHz") as caught:
        run(make(chip=wrong), "180MHz", tmp_path)
    assert "and not at 180 MHz" in caught.value.message
    assert "--clock" in caught.value.hint


def test_a_clock_that_does_not_come_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, a PLL that does not lock is waited for, for ever."""
    with pytest.raises(
        HostError, match=r"clock 180MHz: RCC_CR\.PLLRDY at 0x40023800 does not become 0x2000000"
    ) as caught:
        run(make(chip=lambda _: None), "180MHz", tmp_path)
    assert "stm32f446xx.h" in caught.value.hint


def test_a_core_that_stops_at_a_clock_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, flash without its wait states counts as a slow clock."""
    with pytest.raises(HostError, match="does not run a loop of four instructions"):
        run(make(answers={"c": "T0b"}), "180MHz", tmp_path)


def test_qemu_has_no_clock_to_set(make: Make, tmp_path: Path) -> None:
    """If this fails, registers of another chip are written, and instructions are shown at a clock."""
    board = make(emulated=True)
    here = GdbBoard(board.address, BOARD, NAME, Lab(load_lock(), tmp_path / "cache"), clock="180MHz")
    with pytest.raises(HostError, match="its clock cannot be set") as caught:
        here.describe()
    assert caught.value.hint == "leave --clock out"
    assert not [one for one in board.commands if one[:1] in "XM"]


def test_every_clock_of_the_repository_ends_with_a_look() -> None:
    """If this fails, a clock's steps leave it open whether the chip took them."""
    for name, board in boards().items():
        for clock, found in board.clocks.items():
            steps = board.steps(clock)
            assert not steps or any(step.wait for step in steps), (name, clock)
            assert all(step.source for step in steps)
            # The name says the clock, in MHz.
            assert clock.startswith(f"{found.clock / 10**6:g}MHz")


CLOCK = """
[clocks.one]
title = "one"
clock = "1 MHz"
flash_wait_states = 0
steps = [{ name = "a", address = 4, mask = 1, value = 1, source = "a document" }]
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("value = 1,", "value = 2,", "the value has bits that the mask lacks"),
        ("address = 4", "address = 5", "address"),
        ("mask = 1", "mask = 0", "mask"),
        ('source = "a document"', 'sauce = "a document"', "sauce"),
        ('"1 MHz"', '"1 GHz"', "must be a clock such as"),
        ("clocks.one", "clocks.'o n e'", "clocks"),
        ("flash_wait_states = 0", 'flash_wait_states = 0\nafter = "two"', "there is no clock 'two'"),
        (
            "flash_wait_states = 0",
            'flash_wait_states = 0\nafter = "one"',
            "there is no clock 'one' that comes after none",
        ),
    ],
)
def test_wrong_clocks_are_refused(old: str, new: str, says: str, tmp_path: Path) -> None:
    """If this fails, a typing error sets other bits of a chip."""
    text = (paths.BOARDS / f"{NAME}.toml").read_text() + CLOCK
    (tmp_path / BOARD.script).touch()
    path = tmp_path / "a-board.toml"
    path.write_text(text)
    assert load_board(path).clocks["one"].clock == 10**6
    assert old in CLOCK
    path.write_text(text.replace(CLOCK, CLOCK.replace(old, new)))
    with pytest.raises(WorldwiseError, match=says) as caught:
        load_board(path)
    assert caught.value.message.startswith(str(path))


# --- a run ---


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setattr(ways, "EMULATED", {NAME: Target()})
    monkeypatch.setattr(ways, "BoardTarget", lambda *_: Target())
    return Tool(tmp_path, "16MHz")


def test_times_are_at_the_clock_that_was_set(tool: Tool, make: Make) -> None:
    """If this fails, cycles at 16 MHz, without wait states, are divided by 180 MHz, or a table does not say which."""
    run = tool.measure(make(records=records("cycles", "dwt_cyccnt")))
    assert run.state == "complete"
    assert run.manifest.chip_clock
    assert (run.manifest.chip_clock.name, run.manifest.chip_clock.hertz) == ("16MHz", 16_000_000)
    reading = read_run(run)
    row = reading.rows[0]
    assert row.against.microseconds == {"16 MHz": row.median / 16}
    assert ",16.0," in to_csv(reading).splitlines()[1]
    notes = " ".join(note for part in sections(reading) for note in part.notes)
    assert "counted by the chip itself, at 16 MHz, 0 wait states: as its reset leaves it" in notes
    assert "the median divided by the clock that was set" in notes
    assert "full clock" not in notes


def test_a_resumed_run_keeps_its_clock(tool: Tool, make: Make) -> None:
    """If this fails, one run has cases at two clocks."""
    said = records("cycles")
    board = make(records=lambda words: said(words)[: -30 if words.startswith("keygen") else None])
    assert tool.measure(board).state == "failed"
    with pytest.raises(WorldwiseError, match=r"was begun at a clock that boards/nucleo-f446re\.toml gives otherwise"):
        Tool(tool.root).resume(board)
    assert tool.resume(make(records=said)).state == "complete"


def test_a_clock_that_the_board_has_not_is_told() -> None:
    """If this fails, a typing error measures at the clock after reset."""
    suite = (paths.SUITES / "mcu.toml").read_text()
    cases: Sequence[Any] = [case for case in parse_suite(suite, "mcu.toml").cases if case.target == NAME]
    with pytest.raises(WorldwiseError, match=r"--clock 1GHz: boards/nucleo-f446re\.toml has no such clock") as caught:
        remote_of("gdb://localhost:1", cases, "1GHz")
    assert "180MHz, 180MHz-no-prefetch" in caught.value.hint
