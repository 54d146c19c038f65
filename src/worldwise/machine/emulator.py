# SPDX-License-Identifier: BSD-2-Clause
"""The emulator: it runs a case's program on a machine, and the program sends back its records.

An emulated machine is booted once, stopped at a fixed instruction, and its state saved. Every case starts from that
state, so neither the order of the cases nor the host can change a digit.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from worldwise.base.units import INSTRUCTIONS
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.limits import EMULATOR, Limits
from worldwise.machine.diagnosis import diagnosis, judge
from worldwise.machine.gdbstub import GdbStub
from worldwise.machine.machine import RECORDS, SAID, TRACE, Machine
from worldwise.machine.measurer import Description, MachineEnd, StartFrom
from worldwise.machine.plugin import Plugin
from worldwise.machine.qemu import Qemu, Session
from worldwise.machine.snapshot import ATTEMPTS, RESTORED, Snapshots, command_line, state_of, stopped_well


def _semihosting(program: Sequence[str], machine: Machine) -> list[str]:
    """QEMU's options for a program that asks the emulator for its command line."""
    words = "".join(f",arg={word.replace(',', ',,')}" for word in program)
    console = f",chardev={SAID}" if machine.as_it_is else ""
    return ["-semihosting-config", f"enable=on,target=native{console}{words}"]


class Emulator:
    """Boots machines, keeps their snapshots, and runs cases on them. Safe for threads.

    Args:
        lab: holds QEMU.
        notify: called with a line of text when a machine is booted.
        boot_limit: seconds a machine may take to get ready.
        silence_limit: seconds without a new record after which a machine counts as hanging.
        time_limit: seconds after which a machine is stopped even if records still come.
        limits: what a machine may use of the host.
    """

    def __init__(
        self,
        lab: Lab,
        notify: Callable[[str], None] = lambda _: None,
        boot_limit: float = 180,
        silence_limit: float = 120,
        time_limit: float = 4 * 3600,
        limits: Limits = EMULATOR,
    ) -> None:
        self.lab = lab
        self.notify = notify
        self._qemu = Qemu(lab, limits, silence_limit, time_limit)
        self._snapshots = Snapshots(self._qemu, notify, boot_limit)
        self.directory = self._snapshots.directory

    def describe(self) -> Description:
        """What it is: see Measurer."""
        return Description(INSTRUCTIONS, "emulated by QEMU")

    def snapshot(self, machine: Machine) -> Path:
        """The folder of the machine's saved state, which is made if missing or damaged.

        Raises WorldwiseError if the machine does not get ready; the consoles' ends are in the details.
        """
        return self._snapshots.get(machine)

    def prepare(
        self, machine: Machine, program: Sequence[str], address: int, directory: Path, left: Sequence[str] = ()
    ) -> Path:
        """Run a program up to an instruction and save the machine's state for `run`. Returns the state's folder.

        Args:
            machine: what to run on.
            program: its command line on the machine. At `address` no host file may be open: the state cannot keep one.
            address: the instruction's virtual address; no other program of the machine may have code there.
            directory: an empty folder for the program's files and the state.
            left: names of files that the program leaves besides those of every machine.

        Raises WorldwiseError if the program does not get there.
        """
        return self._snapshots.prepare(machine, program, address, directory, left)

    def run(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        start: StartFrom = "snapshot",
        progress: Callable[[int], None] = lambda _: None,
        plugin: Plugin | None = None,
        prepared: Path | None = None,
        left: Sequence[str] = (),
    ) -> MachineEnd:
        """Run one program on the machine; records and consoles appear in `directory` as they are written.

        Args:
            machine: what to run on.
            program: its command line on the machine.
            directory: an empty folder.
            start: from the saved state, or from a cold boot.
            progress: called now and then with the size of the records so far, in bytes.
            plugin: attached to the emulator of a restored machine.
            prepared: the folder that `prepare` returned: the program resumes there instead of starting.
            left: names of files that the machine leaves besides those of every machine.

        Raises WorldwiseError if the machine hangs, QEMU cannot start, or the tool is being stopped.
        """
        began = time.monotonic()
        if plugin:
            left = (*left, TRACE)
        if machine.ready is None:
            with self._qemu.session(machine, directory, left, progress) as session:
                status, command = self._at_once(session, program, plugin)
        elif start == "snapshot":
            state = state_of(prepared or self.snapshot(machine))
            with (
                command_line(program, directory),
                self._session(machine, directory, left, progress) as session,
            ):
                status, command = self._qemu.to_the_end(session, RESTORED, [state], plugin)
        elif plugin:
            raise ValueError("a plugin watches restored machines")
        else:
            status, command = self._from_power_on(machine, program, directory, left, progress)
        judge(status, directory, machine, self.lab, self._qemu.limits)
        return MachineEnd(status, tuple(self._qemu.plain(command)), time.monotonic() - began)

    def steered(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        plugin: Plugin | None,
        steer: Callable[[GdbStub], None],
    ) -> MachineEnd:
        """Run one program under a debugger, which stops it and writes its memory, and otherwise as `run` does.

        Args:
            machine: what to run on.
            program: its command line on the machine.
            directory: an empty folder.
            plugin: attached to the emulator, if any.
            steer: called with the debugger before the first instruction; when it returns, the program runs to its end.

        Raises WorldwiseError as `run` does, and if `steer` does.
        """
        began = time.monotonic()
        flat = machine.ready is None
        extra = _semihosting(program, machine) if flat else []
        line = contextlib.nullcontext() if flat else command_line(program, directory)
        with line, self._qemu.session(machine, directory, (TRACE,) if plugin else ()) as session:
            status, command = self._snapshots.steered(session, extra, plugin, steer)
        judge(status, directory, machine, self.lab, self._qemu.limits)
        return MachineEnd(status, tuple(self._qemu.plain(command)), time.monotonic() - began)

    def _at_once(self, session: Session, program: Sequence[str], plugin: Plugin | None) -> tuple[int, list[str]]:
        """Run a machine whose program gets its command line from the emulator."""
        return self._qemu.to_the_end(session, _semihosting(program, session.machine), [], plugin)

    def _from_power_on(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        left: Sequence[str],
        progress: Callable[[int], None],
    ) -> tuple[int, list[str]]:
        for attempt in range(1, ATTEMPTS + 1):
            with command_line(program, directory):
                with (
                    self._session(machine, directory, left, progress) as session,
                    self._qemu.sockets() as sockets,
                    self._snapshots.booted(session, sockets) as (process, debugger, command),
                ):
                    debugger.go()
                    self._qemu.watch(process, session)
                good = stopped_well(directory, machine.least_skip)
            if good:
                break
            self._snapshots.not_stopped_well(machine, attempt)
            (directory / RECORDS).unlink(missing_ok=True)
        return process.returncode, command

    @contextlib.contextmanager
    def _session(
        self, machine: Machine, directory: Path, left: Sequence[str], progress: Callable[[int], None]
    ) -> Iterator[Session]:
        """A session of a machine and of the host program that runs beside it."""
        with self._qemu.session(machine, directory, left, progress) as session:
            beside = machine.beside.running(directory, session.room) if machine.beside else contextlib.nullcontext("")
            with beside as forward:
                yield replace(session, forward=forward)

    def diagnosis(self, directory: Path, machine: Machine) -> str:
        """The ends of the consoles in a case's directory, for a person to read.

        A backtrace of the secure world gets its functions and source lines.
        """
        return diagnosis(directory, machine, self.lab)

    def stop(self) -> None:
        """End every emulator this object started; `run` and `snapshot` then raise."""
        self._qemu.stop()
