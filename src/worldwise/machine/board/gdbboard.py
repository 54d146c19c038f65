# SPDX-License-Identifier: BSD-2-Clause
"""A board behind a GDB server, as a measurer: it loads a case's program, and takes its records by semihosting.

Either the server serves semihosting by GDB's File-I/O, or it leaves the calls to this client, which finds the core
halted at them: both come to the same. The program may append to its records and print, and nothing else of the host.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from worldwise.base import files
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.base.units import CYCLES, INSTRUCTIONS
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import Board, load_core
from worldwise.machine.board.chipclock import ChipClock, take_steps
from worldwise.machine.board.farm import FarmServer
from worldwise.machine.board.firmware import SEMIHOSTING, Firmware, read_firmware
from worldwise.machine.board.gdbprocess import StartedServer
from worldwise.machine.board.gdbserver import CPUID, Address, GdbServer
from worldwise.machine.board.serialline import SerialAddress, SerialLine
from worldwise.machine.diagnosis import diagnosis
from worldwise.machine.elf_files.program_addresses import address_name
from worldwise.machine.machine import CONSOLE, EMULATOR_LOG, MOST_RECORDS, RECORDS, SECURE_CONSOLE, Machine
from worldwise.machine.measurer import Description, MachineEnd, StartFrom

# Semihosting, by the numbers of Arm's specification, and what GDB's File-I/O calls its errors.
_OPEN, _WRITE, _EXIT, _EXIT_EXTENDED = 0x01, 0x05, 0x18, 0x20
_APPEND = 8
_RECORDS_HANDLE = 3
_REFUSED, _UNKNOWN = "-1,d", "-1,58"
_FAILED = 0xFFFFFFFF
# Bytes of one call: a record is much shorter.
_MOST_WRITTEN = 64 * 1024
# Seconds between looks at the serial line.
LOOK = 0.05
_HEX = re.compile("([0-9a-fA-F]{2})+")


class GdbBoard:
    """A board behind a GDB server.

    Args:
        server: where it listens, or the one to start.
        board: the board that must be there.
        name: the board's name.
        lab: names addresses in a diagnosis.
        notify: called with a line of text when the flash is written.
        silence_limit: seconds without a record after which a board counts as hanging.
        time_limit: seconds after which a case is stopped even if records still come.
        clock: the board's clock to set; without one the chip stays as its reset leaves it.
        serial: where the board's serial line ends, if the records come over that.
    """

    def __init__(
        self,
        server: Address | StartedServer | FarmServer,
        board: Board,
        name: str,
        lab: Lab,
        notify: Callable[[str], None] = lambda _: None,
        silence_limit: float = 120,
        time_limit: float = 4 * 3600,
        clock: str = "",
        serial: SerialAddress | None = None,
    ) -> None:
        self._server = server
        self.board = board
        self._name = name
        self._lab = lab
        self._clock = ChipClock(name, board, clock) if clock else None
        self._clock_checked = False
        self.serial = serial
        self._line_steps = (
            board.serial.steps_at(serial.baud, board.clocks.get(clock)) if serial and board.serial else ()
        )
        self._notify = notify
        self._silence_limit = silence_limit
        self._time_limit = time_limit
        self._description: Description | None = None
        self._running: GdbServer | None = None
        self._stopping = False

    def describe(self) -> Description:
        """Whether a board is there or QEMU stands for one. Raises HostError if it is not there or another."""
        if self._description is None:
            with self._connected() as server:
                self._require_board(server)
                emulated, address = server.emulated, server.address
            if emulated and self._clock:
                raise HostError(
                    f"{address}: QEMU stands for {self._name}, and its clock cannot be set.", "leave --clock out"
                )
            if emulated and self.serial and self.board.real_script:
                raise HostError(
                    f"{address}: QEMU stands for {self._name}, and QEMU has no serial line at the board's address.",
                    "leave --serial out",
                )
            self._description = Description(
                unit=INSTRUCTIONS if emulated else CYCLES,
                words=f"{self._name} at {address}: "
                + ("QEMU stands for it, and counts instructions" if emulated else "the chip counts its cycles"),
            )
        return self._description

    def run(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        start: StartFrom = "boot",
        progress: Callable[[int], None] = lambda _: None,
    ) -> MachineEnd:
        """Load, reset and run: see Measurer."""
        if start != "boot":
            raise ValueError("a board has no snapshot")
        began = time.monotonic()
        elf = machine.files["program.elf"]
        firmware = read_firmware(elf)
        for name in (EMULATOR_LOG, CONSOLE, SECURE_CONSOLE):
            (directory / name).touch()
        try:
            with (
                self._connected() as server,
                (directory / RECORDS).open("wb") as records,
                (directory / CONSOLE).open("wb") as console,
                SerialLine(self.serial) if self.serial else contextlib.nullcontext() as line,
            ):
                self._running = server
                self._require_board(server)
                if server.load(firmware):
                    self._notify(f"{self._name}: wrote {machine.name}'s program")
                self._reset(server, firmware)
                case = _Case(server, firmware, " ".join(program), records, console, progress, line)
                status = case.run(began + self._time_limit, self._silence_limit)
        except _Hangs as hangs:
            said = address_name(elf, hangs.pc)
            where = f" at {hangs.pc:#010x}{f' ({said})' if said else ''}"
            raise WorldwiseError(
                f"{self._name}: {hangs.problem}; its core was halted{where}.",
                "`--silence` gives it more time; the next case resets the board",
                self.diagnosis(directory, machine),
            ) from None
        except HostError:
            if self._stopping:
                raise WorldwiseError("stopped") from None
            raise
        finally:
            self._running = None
        if not (directory / RECORDS).stat().st_size:
            raise WorldwiseError(
                f"{self._name}: the program ended with status {status}, and sent no record.",
                "does the server keep semihosting to itself? Switch that off (OpenOCD: `arm semihosting disable`), or "
                "have it served by GDB (OpenOCD: `arm semihosting_fileio enable`)",
                self.diagnosis(directory, machine),
            )
        return MachineEnd(status, ("gdb", *program), time.monotonic() - began)

    def diagnosis(self, directory: Path, machine: Machine) -> str:
        """What the program printed."""
        return diagnosis(directory, machine, self._lab)

    def stop(self) -> None:
        """Leave the board; `run` then raises."""
        self._stopping = True
        if running := self._running:
            running.client.close()
        self.close()

    def close(self) -> None:
        """End the server, if this one started it, or give back the place of a farm that it is at."""
        if not isinstance(self._server, Address):
            self._server.stop()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[GdbServer]:
        """A connection to the server. Raises HostError, with the log of a server that was started here."""
        if isinstance(self._server, Address):
            with GdbServer(self._server) as server:
                yield server
            return
        try:
            with self._server.connect() as server:
                yield server
        except HostError as error:
            raise error if self._stopping else self._server.explained(error) from None

    def _reset(self, server: GdbServer, firmware: Firmware) -> None:
        """Reset the chip, and set its clock and its serial line; the first time the clock is looked at too."""
        server.reset(firmware)
        if self._clock:
            self._clock.set(server)
            if not self._clock_checked:
                self._clock.check(server, firmware)
                self._clock_checked = True
                self._reset(server, firmware)
                return
        otherwise = "without --serial the records come through the debugger"
        take_steps(f"{self._name}: the serial line", server, self._line_steps, otherwise)

    def _require_board(self, server: GdbServer) -> None:
        """Raise HostError if the chip is not the board's."""
        core, at = load_core(self.board.core), server.address
        part = server.read_word(CPUID) >> 4 & 0xFFF
        if part != core.part:
            raise HostError(
                f"{at}: the core there has the part number {part:#05x} in its CPUID, but {self._name} has a "
                f"{core.title}, which is {core.part:#05x}.",
                "name the board that is there: --target; `worldwise suites mcu` lists them",
            )
        known = self.board.id
        if known and not server.emulated:
            found = server.read_word(known.address) & known.mask
            if found != known.value:
                raise HostError(
                    f"{at}: {known.name} there is {found:#x}, but that of {self._name} is {known.value:#x}.",
                    "another chip with the same core is there: name its board with --target, or add it: "
                    "docs/add/add-board.md",
                )


class _Hangs(Exception):
    """The board was stopped, at `pc`."""

    def __init__(self, problem: str, pc: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.pc = pc


class _Case:
    """A program that runs on a board, from its reset to its end."""

    def __init__(
        self,
        server: GdbServer,
        firmware: Firmware,
        words: str,
        records: BinaryIO,
        console: BinaryIO,
        progress: Callable[[int], None],
        line: SerialLine | None,
    ) -> None:
        self._server = server
        self._line = line
        self._firmware = firmware
        self._words = words.encode("ascii") + b"\0"
        self._records = records
        self._console = console
        self._progress = progress
        self._written = 0

    def run(self, deadline: float, silence: float) -> int:
        """Run until the program ends; returns its status. Raises _Hangs if it is silent for too long, or runs on."""
        server, firmware = self._server, self._firmware
        server.break_at(firmware.words_at)
        server.break_at(firmware.ends_at)
        server.send("c")
        while True:
            said = self._wait(deadline, silence)
            if said is None:
                self._halt(silence, deadline)
            elif said.startswith("F"):
                self._answer(self._file_io(said[1:].split(",")))
            elif said.startswith("O"):
                self._print(said[1:])
            elif said.startswith(("W", "X")):
                return int(said[1:3], 16) if _HEX.fullmatch(said[1:3]) else 1
            elif said.startswith(("S", "T")):
                status = self._halted(said)
                if status is not None:
                    server.break_no_more(firmware.ends_at)
                    if self._line:
                        self._keep(self._line.rest(server.read_word(firmware.sent_at)))
                    return status
                server.send("c")
            else:
                server.refused("run the program", said)

    def _wait(self, deadline: float, silence: float) -> str | None:
        """What the server says next; None if neither it says anything nor a record comes for too long."""
        if self._line is None:
            return self._server.wait(min(silence, max(deadline - time.monotonic(), 0)))
        self._line.heard = time.monotonic()
        while time.monotonic() < min(deadline, self._line.heard + silence):
            said = self._server.wait(LOOK)
            self._keep(self._line.take())
            if said is not None:
                return said
        return None

    def _keep(self, records: Iterable[bytes]) -> None:
        """Keep records that came over the serial line."""
        for record in records:
            self._written += len(record) + 1
            if self._written > MOST_RECORDS:
                raise WorldwiseError("the serial line: more records came than any program sends")
            self._records.write(record + b"\n")
        self._records.flush()
        self._progress(self._records.tell())

    def _answer(self, result: str) -> None:
        """Answer a call that the server passed on; the program then runs on."""
        server = self._server
        if not server.emulated:
            server.send(f"F{result}")
            return
        # QEMU 10 tells of no halt after a call from which it goes on by itself. As if the user had pressed Ctrl-C, it
        # halts behind the call instead.
        said = server.ask(f"F{result if ',' in result else f'{result},0'},C")
        if not said.startswith("T02"):
            server.refused("halt behind a call", said)
        server.send("c")

    def _halt(self, silence: float, deadline: float) -> None:
        """Raises _Hangs, with the core halted."""
        late = time.monotonic() >= deadline
        if not self._server.interrupt():
            raise HostError(
                f"{self._server.address}: the board hangs and its core does not halt.",
                "switch its power off for a moment, start the GDB server again, then: "
                f"worldwise run --resume --via {self._server.address}",
            )
        problem = "the program did not end in time" if late else f"hangs: no record for {silence:.0f} s"
        raise _Hangs(problem, self._server.register("pc"))

    def _halted(self, said: str) -> int | None:
        """Do what a halted core waits for. Returns the program's status if it has ended."""
        server, firmware = self._server, self._firmware
        pc = server.register("pc") & ~1
        if pc == firmware.ends_at:
            return server.register("r0") & 0xFF
        if pc == firmware.words_at:
            self._give_words()
            server.break_no_more(pc)
            return None
        if server.read(pc, 2) == SEMIHOSTING:
            return self._call(pc)
        raise _Hangs(f"the core stopped unasked ({files.quoted(said, 40)})", pc)

    def _give_words(self) -> None:
        """Put the command line where the program asked for it: r1 still has the address of its question."""
        server = self._server
        buffer = server.read_word(server.register("r1"))
        reply = server.write(buffer, self._words)
        if reply != "OK":
            server.refused("write the program's command line", reply)
        server.set_register("r0", 0)

    def _call(self, pc: int) -> int | None:
        """Carry out a semihosting call that the server does not. Returns the program's status if that ended it."""
        server = self._server
        call, block = server.register("r0"), server.register("r1")
        result = _FAILED
        if call in (_EXIT, _EXIT_EXTENDED):
            return server.read_word(block + 4) & 0xFF if call == _EXIT_EXTENDED else 0
        if call in (_OPEN, _WRITE):
            first, second, third = (server.read_word(block + 4 * number) for number in range(3))
            if call == _OPEN and second == _APPEND and self._is_records(first, third):
                result = _RECORDS_HANDLE
            elif call == _WRITE and self._take(first, second, third):
                result = 0
        server.set_register("r0", result)
        server.set_register("pc", pc + 2)
        return None

    def _file_io(self, words: Sequence[str]) -> str:
        """What a call that the server passes on comes to: its result, and an error if it failed."""
        try:
            name, numbers = words[0], [[int(part, 16) for part in word.split("/")] for word in words[1:]]
            if name == "open":
                opened = self._is_records(numbers[0][0], numbers[0][1] - 1)
                return f"{_RECORDS_HANDLE:x}" if opened else _REFUSED
            if name == "write":
                (handle,), (address,), (size,) = numbers[:3]
                return f"{size:x}" if self._take(handle, address, size) else _REFUSED
        except (ValueError, IndexError):
            self._server.refused("pass on a call of the program", "F" + ",".join(words))
        return _UNKNOWN

    def _is_records(self, name: int, size: int) -> bool:
        return size == len(RECORDS) and self._server.read(name, size) == RECORDS.encode()

    def _take(self, handle: int, address: int, size: int) -> bool:
        """Take what the program writes. Returns whether it may."""
        if handle not in (1, 2, _RECORDS_HANDLE) or size > _MOST_WRITTEN:
            return False
        content = self._server.read(address, size) if size else b""
        if self._written + size > MOST_RECORDS:
            return False
        self._written += size
        file = self._records if handle == _RECORDS_HANDLE else self._console
        file.write(content)
        file.flush()
        self._progress(self._records.tell())
        return True

    def _print(self, digits: str) -> None:
        """Keep what the server prints for the program."""
        if _HEX.fullmatch(digits) and self._written + len(digits) < MOST_RECORDS:
            self._written += len(digits)
            self._console.write(bytes.fromhex(digits))
