# SPDX-License-Identifier: BSD-2-Clause
"""Records over a serial line: a pseudo-terminal stands for it, which loses bytes, doubles them, and goes away."""

import contextlib
import itertools
import os
import shutil
import subprocess
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gdb_board import FIRMWARE, FakeBoard, framed
from gdb_run import MACHINE, NAME, WORDS, Target, Tool, records
from worldwise.base import paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.machine.board import gdbboard, gdbserver, serialline
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.board.serialline import Frames, SerialAddress, SerialLine, parse_serial
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import parse_case
from worldwise.run import ways
from worldwise.run.measurers import remote_of
from worldwise.targets.board import BoardTarget, serial_macros

RECORD = [b'{"type":"line","number":%d}' % number for number in range(4)]
SENT = [framed(number, record) for number, record in enumerate(RECORD)]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

# --- frames ---


def taken(*parts: bytes, sent: int = 4) -> list[bytes]:
    frames = Frames()
    found = [record for part in parts for record in frames.take(part)]
    frames.finish(sent)
    return found


def refused(*parts: bytes, sent: int = 4) -> WorldwiseError:
    with pytest.raises(WorldwiseError) as caught:
        taken(*parts, sent=sent)
    return caught.value


def test_records_come_in_any_pieces() -> None:
    """If this fails, what a read of the line gives decides what a record is."""
    whole = b"".join(SENT)
    for size in (1, 7, 1000):
        assert taken(*(whole[at : at + size] for at in range(0, len(whole), size))) == RECORD


@pytest.mark.parametrize(
    "noise", [b"", b"\x00\xff\xfe", b"Hello from the program before\r\n", b"~00 half of a frame\n"]
)
def test_what_came_before_is_passed_over(noise: bytes) -> None:
    """If this fails, the noise of a reset is the end of a case."""
    assert taken(noise + b"".join(SENT)) == RECORD


def test_every_lost_byte_is_seen() -> None:
    """If this fails, a count with a digit less is believed."""
    whole = b"".join(SENT)
    for at in range(len(whole)):
        refused(whole[:at] + whole[at + 1 :])


def test_every_doubled_byte_is_seen() -> None:
    """If this fails, a count with a digit more is believed."""
    whole = b"".join(SENT)
    # Of the first frame's mark, doubled, the one is noise before the other.
    for at in range(2, len(whole)):
        refused(whole[:at] + whole[at - 1 :])


def test_every_changed_bit_is_seen() -> None:
    """If this fails, a count with another digit is believed."""
    whole = b"".join(SENT[:2])
    for at, bit in itertools.product(range(len(whole)), range(8)):
        refused(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :], sent=2)


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ((0, 2, 3), "record 1 was lost: record 2 came next; the last whole one before is 0 (line)"),
        ((0, 3), "records 1 to 2 were lost: record 3 came next"),
        ((0, 1), "records 2 to 3 were lost: the program sent 4; the last whole one before is 1 (line)"),
        ((0, 1, 1, 2, 3), "record 1 came twice"),
        ((0, 1, 2, 3, 0), "record 0 came twice"),
    ],
)
def test_lost_and_doubled_records_are_named(order: tuple[int, ...], says: str) -> None:
    """If this fails, a sample that was lost is not missed, or nobody knows which."""
    error = refused(*(SENT[number] for number in order))
    assert says in error.message
    assert "--resume" in error.hint
    assert not isinstance(error, HostError)


def test_a_damaged_record_is_named() -> None:
    """If this fails, the user does not learn where the line failed."""
    error = refused(SENT[0], SENT[1][:20] + SENT[1][22:], *SENT[2:])
    assert "record 1 is damaged, by bytes that were lost, doubled or changed: ~00000001" in error.message


@pytest.mark.parametrize(
    ("come", "says"),
    [(b"", "nothing came"), (b"\xfe\x80\x00" * 10, "only garbage came"), (b"\xff" * 9999, "only garbage")],
)
def test_a_line_without_records_is_told(come: bytes, says: str) -> None:
    """If this fails, a wrong rate is a program that says nothing."""
    error = refused(come)
    assert says in error.message
    assert "rate" in error.hint
    assert isinstance(error, HostError)


PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __wrap_semihost_record(const char *line, size_t length);

uint32_t status, bytes[4096];
size_t used;

uint32_t *next_byte(void)
{
	return bytes + used++;
}

const uint32_t *ready(void)
{
	status ^= 0x80;
	return &status;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (__wrap_semihost_record(argv[i], strlen(argv[i])))
			return 1;
	for (size_t i = 0; i < used; i++)
		putchar((int)bytes[i]);
	return 0;
}
"""


@pytest.mark.skipif(not COMPILER, reason="no C compiler for the host")
def test_the_guest_frames_as_the_host_reads(tmp_path: Path) -> None:
    """If this fails, no board's records are understood."""
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "fake.h").write_text("#include <stdint.h>\nuint32_t *next_byte(void);\nconst uint32_t *ready(void);\n")
    macros = {"SERIAL_STATUS": "ready()", "SERIAL_MASK": "0x80", "SERIAL_READY": "0x80", "SERIAL_DATA": "next_byte()"}
    subprocess.run(
        [
            *(str(COMPILER), "-std=c11", "-Wall", "-Wextra", "-Werror", "-include", tmp_path / "fake.h"),
            *(f"-D{name}={value}" for name, value in macros.items()),
            *(paths.GUEST / "board-serial" / "serial.c", tmp_path / "main.c", "-o", tmp_path / "main"),
        ],
        check=True,
    )
    lines = [record.decode() + "\n" for record in RECORD]
    answer = subprocess.run([tmp_path / "main", *lines], capture_output=True, check=True)
    assert answer.stdout == b"".join(SENT)


# --- a line ---


class Wire:
    """A pseudo-terminal: what is put in at one end comes out at the other, as `spoilt` makes it."""

    def __init__(self) -> None:
        self.end, self._far = os.openpty()
        self.device = os.ttyname(self._far)
        self.spoilt: Callable[[bytes], bytes] = lambda data: data

    def put(self, data: bytes) -> None:
        os.write(self.end, self.spoilt(data))

    def close(self) -> None:
        for one in (self.end, self._far):
            with contextlib.suppress(OSError):
                os.close(one)


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    monkeypatch.setattr(gdbboard, "read_firmware", lambda _path: FIRMWARE)
    monkeypatch.setattr(gdbserver, "REPLY", 0.5)
    monkeypatch.setattr(gdbboard, "LOOK", 0.01)
    monkeypatch.setattr(serialline, "QUIET", 0.1)
    made = Wire()
    yield made
    made.close()


@pytest.fixture
def make() -> Iterator[Callable[..., FakeBoard]]:
    made: list[FakeBoard] = []

    def new(**what: Any) -> FakeBoard:
        made.append(FakeBoard(**what))
        return made[-1]

    yield new
    for one in made:
        one.close()


def run(board: FakeBoard, wire: Wire, folder: Path) -> bytes:
    """The records of a program whose board has a serial line."""
    (folder / "case").mkdir()
    lab = Lab(load_lock(), folder / "cache")
    here = GdbBoard(
        board.address, boards()[NAME], NAME, lab, silence_limit=5, serial=SerialAddress(wire.device, 115_200)
    )
    assert here.run(MACHINE, WORDS, folder / "case").status == 0
    return (folder / "case" / RECORDS).read_bytes()


LINES = b"".join(record + b"\n" for record in RECORD)


def test_records_come_over_the_line(make: Callable[..., FakeBoard], wire: Wire, tmp_path: Path) -> None:
    """If this fails, `--serial` measures nothing, or the board's line is never switched on."""
    board = make(records=lambda _: LINES, line=wire.put)
    assert run(board, wire, tmp_path) == LINES
    # Port and line have their clocks, the pin is the line's, 16 MHz are 139 times 115,200, and it sends.
    registers = {0x40023830: 1, 0x40023840: 0x20000, 0x40020020: 0x700, 0x40020000: 0x20, 0x40004408: 139}
    for address, value in {**registers, 0x4000440C: 0x2008}.items():
        assert int.from_bytes(board.take(address, 4), "little") == value, hex(address)


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        (lambda data: data.replace(b"number", b"numer") if data == SENT[2] else data, "record 2 is damaged"),
        (lambda data: data.replace(b'"line"', b'"lline"') if data == SENT[1] else data, "record 1 is damaged"),
        (lambda data: b"" if data == SENT[1] else data, "record 1 was lost: record 2 came next"),
        (lambda data: b"" if data == SENT[3] else data, "record 3 was lost: the program sent 4"),
        (lambda data: data * 2 if data == SENT[3] else data, "record 3 came twice"),
        (lambda data: data[:-4] if data == SENT[3] else data, "record 3 is damaged"),
    ],
)
def test_a_line_that_spoils_is_told(
    spoilt: Callable[[bytes], bytes], says: str, make: Callable[..., FakeBoard], wire: Wire, tmp_path: Path
) -> None:
    """If this fails, what a bad cable leaves of a run is believed."""
    wire.spoilt = spoilt
    with pytest.raises(WorldwiseError, match=says) as caught:
        run(make(records=lambda _: LINES, line=wire.put), wire, tmp_path)
    assert not isinstance(caught.value, HostError)


def test_a_wrong_rate_is_told(make: Callable[..., FakeBoard], wire: Wire, tmp_path: Path) -> None:
    """If this fails, each case of a run fails for itself."""
    wire.spoilt = lambda data: bytes(byte | 0x80 for byte in data)
    with pytest.raises(HostError, match="only garbage came"):
        run(make(records=lambda _: LINES, line=wire.put), wire, tmp_path)


def test_a_line_that_goes_away_is_told(make: Callable[..., FakeBoard], wire: Wire, tmp_path: Path) -> None:
    """If this fails, a cable that is pulled out is a traceback."""

    def pulled(data: bytes) -> None:
        wire.put(data)
        wire.close()

    with pytest.raises(HostError, match=r"the serial line has gone away|record 1|nothing came"):
        run(make(records=lambda _: LINES[: len(RECORD[0]) + 1], line=pulled), wire, tmp_path)
        raise HostError("nothing came")


def test_a_line_is_opened_for_one(wire: Wire, tmp_path: Path) -> None:
    """If this fails, two programs share a line, and each loses what the other has read."""
    address = SerialAddress(wire.device, 9600)
    with SerialLine(address):
        with pytest.raises(HostError, match="another program has it"):
            SerialLine(address)
        settings = termios.tcgetattr(wire.end)
        assert settings[4] == termios.B9600
        assert not settings[3] & (termios.ICANON | termios.ECHO)
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match="is not a serial line"):
        SerialLine(SerialAddress(str(tmp_path / "file"), 9600))
    with pytest.raises(HostError, match="cannot be opened: No such file") as caught:
        SerialLine(SerialAddress(str(tmp_path / "ttyACM0"), 9600))
    assert "serial lines of this machine" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ttyACM0", "is not a serial line"),
        ("", "is not a serial line"),
        ("/dev/ttyACM0@fast", "is not a serial line"),
        ("/dev/ttyACM0@115201", "115201 is not a baud rate"),
        ("/dev/ttyACM0@0", "0 is not a baud rate"),
    ],
)
def test_an_impossible_line_is_told(text: str, says: str) -> None:
    """If this fails, a typing error becomes a line that says nothing."""
    with pytest.raises(WorldwiseError, match=says):
        parse_serial(text)
    assert parse_serial("/dev/ttyACM0") == SerialAddress("/dev/ttyACM0", 115_200)
    assert str(parse_serial("/dev/serial/by-id/usb-ST@9600")) == "/dev/serial/by-id/usb-ST@9600"


# --- a run ---


def test_a_run_is_resumed_after_the_line_failed(
    make: Callable[..., FakeBoard], wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a lost byte costs a run."""
    monkeypatch.setattr(ways, "EMULATED", {NAME: Target()})
    monkeypatch.setattr(ways, "BoardTarget", lambda *_: Target())
    said = records("cycles")
    first = itertools.count()
    wire.spoilt = lambda data: data[1:] if next(first) == 2 else data
    tool = Tool(tmp_path, serial=SerialAddress(wire.device))
    done = tool.measure(make(records=said, line=wire.put))
    assert (done.state, done.manifest.via) == ("failed", "gdb+serial")
    errors = [one.error for name in done.manifest.cases if (one := done.case(name)) and one.error]
    assert len(errors) == 1
    assert "the serial line: record 2 is damaged" in errors[0]
    with pytest.raises(WorldwiseError, match="was begun with --serial"):
        Tool(tmp_path).resume(make(records=said))
    assert tool.resume(make(records=said, line=wire.put)).state == "complete"


def test_a_line_changes_no_other_program() -> None:
    """If this fails, programs without a line have been compiled otherwise, and every count must be looked at again."""
    board = boards()[NAME]
    assert BoardTarget(NAME, board) == BoardTarget(NAME, board, serial=False)
    assert serial_macros(board) == {
        "SERIAL_STATUS": 0x40004400,
        "SERIAL_MASK": 0x80,
        "SERIAL_READY": 0x80,
        "SERIAL_DATA": 0x40004404,
    }


def test_a_board_without_a_line_is_told() -> None:
    """If this fails, a program writes to registers that are not there."""
    cases = [parse_case("olimex-stm32-h405/monocypher-Os/sign,curve=ed25519,size=32B", samples=1, warmup=0)]
    with pytest.raises(WorldwiseError, match=r"olimex-stm32-h405\.toml does not say which registers") as caught:
        remote_of("gdb://localhost:1", cases, serial="/dev/ttyACM0")
    assert "leave --serial out" in caught.value.hint
