# SPDX-License-Identifier: BSD-2-Clause
"""A board behind a GDB server: how it is loaded, how its records come, and what is said when something fails."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from gdb_board import CALL, FIRMWARE, FLASH, FLASH_SIZE, ROUND, FakeBoard, packet
from gdb_run import MACHINE, NAME, WORDS, Target, Tool, records
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.machine.board import gdbboard, gdbserver
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.board.gdbserver import Address, GdbServer, parse_address
from worldwise.machine.machine import CONSOLE, RECORDS
from worldwise.read.compared.gate import compare_runs
from worldwise.read.run_counts import read_run
from worldwise.report.report import sections, to_csv
from worldwise.run import ways
from worldwise.run.folder.run_plan import RunPlan

LINES = b"".join(b'{"type":"line","number":%d}\n' % number for number in range(4))

Make = Callable[..., FakeBoard]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes boards, which are ended with the test."""
    made: list[FakeBoard] = []

    def new(**what: Any) -> FakeBoard:
        made.append(FakeBoard(**{"records": lambda words: LINES if words == " ".join(WORDS) else b"", **what}))
        return made[-1]

    monkeypatch.setattr(gdbboard, "read_firmware", lambda _path: FIRMWARE)
    # A reply that does not come is not waited for as long as that of a slow probe.
    monkeypatch.setattr(gdbserver, "REPLY", 0.5)
    yield new
    for one in made:
        one.close()


def measurer(board: FakeBoard | Address, tmp_path: Path, silence: float = 5) -> GdbBoard:
    address = board if isinstance(board, Address) else board.address
    lab = Lab(load_lock(), tmp_path / "cache")
    return GdbBoard(address, boards()[NAME], NAME, lab, silence_limit=silence)


def run(board: FakeBoard | Address, tmp_path: Path, silence: float = 5) -> bytes:
    """The records of a program on a board."""
    directory = tmp_path / "case"
    directory.mkdir(exist_ok=True)
    ended = measurer(board, tmp_path, silence).run(MACHINE, WORDS, directory)
    assert (ended.status, ended.command) == (0, ("gdb", *WORDS))
    return (directory / RECORDS).read_bytes()


# --- what goes well ---


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize("served", [True, False])
@pytest.mark.parametrize("binary", [True, False])
def test_records_come_however_the_server_serves(
    served: bool, emulated: bool, binary: bool, make: Make, tmp_path: Path
) -> None:
    """If this fails, a kind of server's boards leave no records, or the program does not begin as after a reset."""
    board = make(served=served, emulated=emulated, binary=binary)
    assert run(board, tmp_path) == LINES
    assert board.begun == [(1 << 24, FIRMWARE.stack, FIRMWARE.entry)]
    # It asked for a file of the host.
    assert board.refused == ["-1,d,C".removesuffix(",C") if served else "ffffffff"]


def test_flash_is_written_once(make: Make, tmp_path: Path) -> None:
    """If this fails, every case wears the flash out."""
    board = make()
    assert run(board, tmp_path) == run(board, tmp_path) == LINES
    erased = [one for one in board.commands if one.startswith("vFlashErase")]
    assert erased == [f"vFlashErase:{FLASH:x},800", f"vFlashErase:{FLASH + 0x1000:x},800"]
    assert board.commands.count("vFlashDone") == 1


def fill(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Have the program fill so much of the flash, all kinds of bytes that a packet escapes among them."""
    whole = bytearray(number % 251 for number in range(size))
    for address, content in FIRMWARE.segments:
        if FLASH <= address < FLASH + size:
            whole[address - FLASH : address - FLASH + len(content)] = content
    elsewhere = [one for one in FIRMWARE.segments if not FLASH <= one[0] < FLASH + size]
    large = replace(FIRMWARE, segments=((FLASH, bytes(whole)), *elsewhere))
    monkeypatch.setattr(gdbboard, "read_firmware", lambda _path: large)


def test_a_program_may_fill_the_flash(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a program is cut off where a packet, a block or the flash ends."""
    fill(monkeypatch, FLASH_SIZE)
    board = make()
    assert run(board, tmp_path) == LINES
    assert [one for one in board.commands if one.startswith("vFlashErase")] == [f"vFlashErase:{FLASH:x},{FLASH_SIZE:x}"]
    assert board.take(FLASH + FLASH_SIZE - 1, 1) == bytes([(FLASH_SIZE - 1) % 251])


def test_a_program_larger_than_the_flash_is_told(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a smaller chip of the same family is measured with half a program."""
    fill(monkeypatch, FLASH_SIZE + 1)
    with pytest.raises(HostError, match=r"write the flash \(vFlashWrite\)"):
        run(make(), tmp_path)


def test_what_is_there_is_described(make: Make, tmp_path: Path) -> None:
    """If this fails, cycles of a chip count as instructions."""
    assert measurer(make(), tmp_path).describe().unit == "cycles"
    assert measurer(make(emulated=True), tmp_path).describe().unit == "instructions"


def test_a_status_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, a program that ended with an error counts as one that ended well."""
    board = make(ends=1)
    (tmp_path / "case").mkdir()
    assert measurer(board, tmp_path).run(MACHINE, WORDS, tmp_path / "case").status == 1


def test_what_the_server_prints_is_kept(make: Make, tmp_path: Path) -> None:
    """If this fails, a word of the server ends the case."""
    said = b"+" + packet("O" + b"hello\n".hex()) + packet("W00")
    with pytest.raises(WorldwiseError, match="sent no record") as caught:
        run(make(answers={"c": said}), tmp_path)
    assert (tmp_path / "case" / CONSOLE).read_text() == "hello\n"
    assert "arm semihosting disable" in caught.value.hint
    assert "hello" in caught.value.details


# --- what fails ---


def refusal(board: FakeBoard | Address, tmp_path: Path) -> HostError:
    with pytest.raises(HostError) as caught:
        run(board, tmp_path)
    return caught.value


def test_no_server_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, a user who forgot to start OpenOCD gets a traceback."""
    board = make()
    board.close()
    error = refusal(board, tmp_path)
    assert error.message == f"{board.address}: no GDB server can be reached there: Connection refused."
    assert "docs/use/board.md" in error.hint


@pytest.mark.parametrize("served", [True, False])
def test_a_server_that_goes_away_is_told(served: bool, make: Make, tmp_path: Path) -> None:
    """If this fails, a killed server or a lost link hangs the run, or counts as the program's end."""
    board = make(drops=2, served=served)
    error = refusal(board, tmp_path)
    assert "the GDB server has gone away" in error.message
    assert f"worldwise run --resume --via {board.address}" in error.hint


@pytest.mark.parametrize("command", ["qSupported", "?", "m", "vFlashErase", "vFlashWrite", "qRcmd", "P", "Z1", "c"])
def test_a_server_may_go_away_at_any_time(command: str, make: Make, tmp_path: Path) -> None:
    """If this fails, there is a command at which a lost link is a traceback."""
    assert "has gone away" in refusal(make(answers={command: None}), tmp_path).message


@pytest.mark.parametrize("command", ["qSupported", "m", "qRcmd", "p"])
def test_a_server_that_does_not_answer_is_told(
    command: str, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a server that hangs hangs the run."""
    monkeypatch.setattr(gdbserver, "REPLY", 0.1)
    monkeypatch.setattr(gdbserver, "ERASING", 0.1)
    assert "does not answer" in refusal(make(answers={command: b"+"}), tmp_path).message


@pytest.mark.parametrize("garbage", [b"SSH-2.0-OpenSSH_9.2\r\n", b"$T05#00" * 3, b"\xff" * 300, b"login: "])
def test_garbage_is_told(garbage: bytes, make: Make, tmp_path: Path) -> None:
    """If this fails, the port of another program gives a traceback, or is waited for."""
    error = refusal(make(answers={"qSupported": garbage}), tmp_path)
    assert "does not speak GDB's protocol" in error.message
    assert "port" in error.hint


def test_garbage_in_the_middle_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, noise on the link is taken for an answer."""
    assert "does not speak" in refusal(make(answers={"c": b"+\x80\x81" * 200}), tmp_path).message


@pytest.mark.parametrize("answer", ["zz", "E01", "", "0011223344"])
def test_an_impossible_answer_is_told(answer: str, make: Make, tmp_path: Path) -> None:
    """If this fails, memory that cannot be read is taken for the program's."""
    assert "cannot read memory at 0xe000ed00" in refusal(make(answers={"me000ed00": answer}), tmp_path).message


def test_the_wrong_core_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, a Cortex-M3 is measured as the Cortex-M4 of another board."""
    error = refusal(make(cpuid=0x412FC231), tmp_path)
    assert "part number 0xc23" in error.message
    assert "Cortex-M4, which is 0xc24" in error.message
    assert "--target" in error.hint


def test_the_wrong_chip_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, another chip with the same core is measured under a board's name."""
    assert "is 0x413, but that of nucleo-f446re is 0x421" in refusal(make(idcode=0x10006413), tmp_path).message
    # QEMU's machine has another chip.
    assert run(make(idcode=0, emulated=True), tmp_path) == LINES


def test_a_server_for_another_architecture_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, registers of another core are set by their numbers."""
    answers = {"qXfer:features": 'l<reg name="x0"/><reg name="pc"/>'}
    assert "not a Cortex-M: it has no register" in refusal(make(answers=answers), tmp_path).message


def test_flash_that_is_not_written_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, the program that was there before is measured."""
    assert "memory at 0x08000000 does not hold it" in refusal(make(has_map=False), tmp_path).message


@pytest.mark.parametrize("command", ["vFlashErase", "vFlashDone", "Z1", "qRcmd", "P2a"])
def test_a_server_that_cannot_is_told(command: str, make: Make, tmp_path: Path) -> None:
    """If this fails, a case goes on without what the server refused."""
    message = refusal(make(answers={command: "E0e"}), tmp_path).message
    assert "the GDB server cannot" in message


@pytest.mark.parametrize("line", [0, 2])
def test_a_board_that_hangs_is_halted_and_told(line: int, make: Make, tmp_path: Path) -> None:
    """If this fails, a board that hangs hangs the run; the next case is measured then."""
    board = make(stays=line)
    with pytest.raises(
        WorldwiseError, match=f"hangs: no record for 0 s; its core was halted at {ROUND:#010x}"
    ) as caught:
        run(board, tmp_path, silence=0.2)
    assert not isinstance(caught.value, HostError)
    assert "--silence" in caught.value.hint
    board.stays = None
    assert run(board, tmp_path) == LINES


def test_a_board_that_does_not_halt_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, a core that nobody can halt is waited for."""
    board = make(stays=1, halts=False)
    with pytest.raises(HostError, match="its core does not halt") as caught:
        run(board, tmp_path, silence=0.2)
    assert "power" in caught.value.hint


def test_a_halt_that_nobody_asked_for_is_told(make: Make, tmp_path: Path) -> None:
    """If this fails, a core that locked up is let run on for ever."""
    board = make(answers={"c": "T0b"})
    with pytest.raises(WorldwiseError, match=r"stopped unasked \(T0b\); its core was halted at"):
        run(board, tmp_path)


def test_a_run_that_is_stopped_leaves_the_board(make: Make, tmp_path: Path) -> None:
    """If this fails, Ctrl-C waits until a hanging board is given up."""
    here = measurer(make(stays=1), tmp_path, silence=60)
    (tmp_path / "case").mkdir()
    with pytest.raises(WorldwiseError, match=r"^stopped$"):
        here.run(MACHINE, WORDS, tmp_path / "case", progress=lambda _: here.stop())


@pytest.mark.parametrize(
    "text",
    [
        "localhost:3333",
        "gdb://localhost",
        "gdb://:3333",
        "gdb://a:b",
        "gdb://a:3333/x",
        "tcp://a:1",
        "gdb://a:99999",
        "",
    ],
)
def test_an_impossible_address_is_told(text: str) -> None:
    """If this fails, a typing error becomes a host that cannot be reached."""
    with pytest.raises(WorldwiseError, match="is not the address of a GDB server") as caught:
        parse_address(text)
    assert "gdb://localhost:3333" in caught.value.hint


def test_an_address_is_read() -> None:
    """If this fails, an address with a colon in it cannot be named."""
    assert parse_address("gdb://localhost:3333") == Address("localhost", 3333)
    assert str(parse_address("gdb://[::1]:3333")) == "gdb://[::1]:3333"


def test_registers_are_called_by_the_servers_numbers(make: Make) -> None:
    """If this fails, xPSR is set in the place of another register."""
    board = make()
    with GdbServer(board.address) as server:
        server.set_register("xpsr", 7)
        assert board.registers[42] == 7
        assert server.register("pc") == board.registers[15]
    assert CALL > FLASH


# --- a run ---


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setattr(ways, "EMULATED", {NAME: Target()})
    monkeypatch.setattr(ways, "BoardTarget", lambda *_: Target())
    return Tool(tmp_path)


def test_a_run_measures_a_board(tool: Tool, make: Make) -> None:
    """If this fails, `--via` measures nothing, or its result is taken for an emulated one."""
    board = make(records=records("cycles", "dwt_cyccnt"))
    run = tool.measure(board)
    assert (run.state, run.manifest.unit, run.manifest.via) == ("complete", "cycles", "gdb")
    assert [one.command[:2] for one in run.complete_cases()] == [["gdb", "keygen"], ["gdb", "ecdh"]]
    assert str(board.address.port) not in (run.path / "run.json").read_text()
    assert not (tool.root / "cache" / "results").exists()
    reading = read_run(run)
    assert {row.counts.unit for row in reading.rows} == {reading.unit} == {"cycles"}
    headers = [header for part in sections(reading) if part.table for header in part.table.headers]
    assert "median\ncycles" in headers
    assert not any("instr" in header.split() for header in headers)
    notes = " ".join(note for part in sections(reading) for note in part.notes)
    assert "cycles, counted by the chip itself" in notes
    # What holds under emulation alone.
    assert not any(word in notes for word in ("QEMU", "one instruction per cycle", "which is subtracted"))
    assert "median_cycles" in to_csv(reading).splitlines()[0]
    with pytest.raises(WorldwiseError, match="counts cycles of a chip: a comparison is for instructions alone"):
        compare_runs(run, run)


def test_one_run_has_one_unit(tool: Tool, make: Make) -> None:
    """If this fails, cycles stand in a column of instructions."""
    # The chip is there, and its program says that it counts something else.
    run = tool.measure(make(records=records()))
    assert run.state == "failed"
    failed = run.case(run.manifest.cases[0])
    assert failed
    assert "unit is 'instructions', the case has 'cycles'" in failed.error
    with pytest.raises(WorldwiseError, match="counts cycles, but the board or host counts instructions now"):
        tool.resume(make(emulated=True, records=records()))
    with pytest.raises(WorldwiseError, match="measures a board by its GDB server, and none is named") as caught:
        tool.resume(None)
    assert "--via" in caught.value.hint


@pytest.mark.parametrize(
    "spoilt",
    [{"drops": 3}, {"answers": {"vFlashDone": b"\xff" * 300}}, {"cpuid": 0x412FC231}, {"stays": 3, "halts": False}],
)
def test_a_run_is_resumed_after_the_board_was_lost(spoilt: dict[str, Any], tool: Tool, make: Make) -> None:
    """If this fails, a probe that was unplugged costs the cases before, or the rest is recorded as failed."""
    said = records("cycles", "systick")
    board = make(records=said)
    bench = tool.bench(board, 0.3)
    assert bench.unit == "cycles"
    with (
        bench.new_run(tool.root / "runs", RunPlan(tool.suite, tool.suite.cases)) as writer,
        pytest.raises(HostError),
    ):
        for name, value in spoilt.items():
            setattr(board, name, value)
        bench.measure(writer, tool.suite.cases)
    assert tool.latest().state == "failed"
    assert not list((tool.latest().path / "cases").rglob("case.json"))
    board.close()
    assert tool.resume(make(records=said)).state == "complete"


def test_a_program_that_goes_wrong_fails_its_case_alone(tool: Tool, make: Make) -> None:
    """If this fails, one library that stops ends the whole run."""
    said = records("cycles")
    board = make(records=lambda words: said(words)[: -30 if words.startswith("keygen") else None])
    run = tool.measure(board, 1)
    assert run.state == "failed"
    assert [one.operation for one in run.complete_cases()] == ["ecdh"]
    assert tool.resume(make(records=said)).state == "complete"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mcu", "--via", "localhost:3333"), "is not the address of a GDB server"),
        (("mcu", "--via", "gdb://localhost:3333"), "the chosen cases are for nucleo-f103rb, nucleo-f446re"),
        (("quick", "--via", "gdb://localhost:3333"), "one board is there"),
        (("tz-m", "--target", "tz-m33", "--via", "gdb://localhost:1"), "tz-m33 has two programs"),
        (("mcu", "--target", NAME, "--via", "gdb://localhost:1", "--jobs", "2"), "does not accept --jobs"),
        (("mcu", "--target", NAME, "--via", "gdb://localhost:1", "--clock", "1GHz"), "has no such clock"),
        (("mcu", "--target", NAME, "--clock", "180MHz"), "--clock is for a board itself"),
        (("--resume", "--clock", "180MHz"), "does not accept --clock"),
        (
            ("mcu", "--target", NAME, "--via", "gdb://localhost:1", "--predict", "cortex-m4"),
            "does not accept --predict",
        ),
    ],
)
def test_a_call_that_cannot_be_is_refused(arguments: Sequence[str], said: str, call: Call) -> None:
    """If this fails, the lab is built before a typing error is told."""
    answer = call("run", *arguments)
    assert answer.status in (1, 2)
    assert said in answer.told
