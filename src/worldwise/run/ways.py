# SPDX-License-Identifier: BSD-2-Clause
"""The ways in which a case is measured: emulated here, on a board behind a GDB server, on a Linux host by ssh."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from worldwise.base.units import CYCLES, INSTRUCTIONS
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.emulator import Emulator
from worldwise.machine.linux_host.sshhost import SshHost
from worldwise.machine.machine import Machine
from worldwise.machine.measurer import MachineEnd, Measurer, StartFrom
from worldwise.plan.case import Case
from worldwise.run import campaign
from worldwise.run.records_beside import count_again
from worldwise.run.results import ResultStore
from worldwise.targets.all_targets import EMULATED, Target
from worldwise.targets.board import BoardTarget
from worldwise.targets.silicon import silicon


@dataclass(frozen=True)
class CaseRun:
    """A case that is to be run: its machine, the directory for its records, and whom to tell of their size."""

    case: Case
    machine: Machine
    directory: Path
    start: StartFrom = "snapshot"
    progress: Callable[[int], None] = lambda _: None


class MeasuringWay(Protocol):
    """One way to measure. A new kind of place is one more class."""

    @property
    def measurer(self) -> Measurer:
        """What runs the programs."""

    def target(self, name: str) -> Target:
        """The target of a name, whose programs count what the measurer counts. Raises WorldwiseError."""

    def run(self, one: CaseRun) -> MachineEnd:
        """Run a case; its records appear in the directory. Raises WorldwiseError."""

    def close(self) -> None:
        """Give back what the measurer holds."""


@dataclass
class EmulatedWay:
    """Machines that QEMU emulates here; a campaign runs many for one case."""

    emulator: Emulator
    images: ImageStore

    @property
    def measurer(self) -> Measurer:
        """The emulator."""
        return self.emulator

    def target(self, name: str) -> Target:
        """The emulated target."""
        return EMULATED[name]

    def run(self, one: CaseRun) -> MachineEnd:
        """Run a case on an emulated machine, or its campaign."""
        program = EMULATED[one.case.target].program(one.case)
        return campaign.run_case(
            self.emulator, self.images, one.machine, one.case, program, one.directory, one.start, one.progress
        )

    def close(self) -> None:
        """Machines end with their cases."""


@dataclass
class BoardWay:
    """A board behind a GDB server: its own program, where it counts something else or sends records by a line."""

    board: GdbBoard

    @property
    def measurer(self) -> Measurer:
        """The board."""
        return self.board

    def target(self, name: str) -> Target:
        """The board's target; QEMU in its place counts as the emulated one does."""
        unit, line = self.board.describe().unit, self.board.serial is not None
        return BoardTarget(name, self.board.board, unit, line) if unit != INSTRUCTIONS or line else EMULATED[name]

    def run(self, one: CaseRun) -> MachineEnd:
        """Load and run a case's program."""
        program = self.target(one.case.target).program(one.case)
        return self.board.run(one.machine, program, one.directory, one.start, one.progress)

    def close(self) -> None:
        """End the connection."""
        self.board.close()


@dataclass
class HostWay:
    """A Linux host by ssh; where it counts cycles, the emulator counts the instructions of the same program again."""

    host: SshHost
    emulated: EmulatedWay
    lab: Lab
    results: ResultStore

    @property
    def measurer(self) -> Measurer:
        """The host."""
        return self.host

    def target(self, name: str) -> Target:
        """The target whose programs run on a host."""
        return silicon(name)

    def run(self, one: CaseRun) -> MachineEnd:
        """Bring and run a case's program; then count it again."""
        case, target = one.case, silicon(one.case.target)
        ended = self.host.run(one.machine, target.on_host(case), one.directory, one.start, one.progress)
        if self.host.describe().unit == CYCLES and target.counts_when_emulated:
            digest = case_digest(self.lab, one.machine, case)
            program = target.program(case)
            count_again(self.emulated.emulator, self.results, digest, one.machine, case, program, one.directory)
        return ended

    def close(self) -> None:
        """End the connection."""
        self.host.close()


def way_of(board: GdbBoard | SshHost | None, local: EmulatedWay, lab: Lab, results: ResultStore) -> MeasuringWay:
    """The way of a run: by its board or host; without one the emulator here."""
    if board is None:
        return local
    return HostWay(board, local, lab, results) if isinstance(board, SshHost) else BoardWay(board)


def case_digest(lab: Lab, machine: Machine, case: Case) -> str:
    """The address of a case's result: SHA-256 over the machine and the program's command line."""
    return hashlib.sha256(
        json.dumps(
            [machine.digest(lab), list(EMULATED[case.target].program(case)), *campaign.method_digest(lab, case)]
        ).encode()
    ).hexdigest()
