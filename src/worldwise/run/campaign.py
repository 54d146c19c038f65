# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns: cases that take many machines; each machine does one step and ends.

The output of all machines becomes the records of one case. The operation's family defines the steps in its file
`campaign.py`: see worldwise.base.family_stages.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.base.family_stages import declared
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import CONSOLE, EMULATOR_LOG, RECORDS, SECURE_CONSOLE, Machine
from worldwise.machine.measurer import MachineEnd, StartFrom
from worldwise.machine.plugin import Plugin, cut_plugin
from worldwise.plan.case import Case
from worldwise.plan.catalogue import family_of
from worldwise.plan.spec import OWN
from worldwise.records.globalplatform import name_codes
from worldwise.records.models import CLOCK, End, Failure, Outcome
from worldwise.records.parse import Record, read_records
from worldwise.run.code.region_counts import run_case as run_own_case

# Increase this number when a campaign changes what it does: results of the old campaign are then not reused.
_METHOD = 2
# The program that does a step on the machine.
PROGRAM = "/bin/linux-bench"
_CONSOLES = (CONSOLE, SECURE_CONSOLE, EMULATOR_LOG)


@dataclass
class Trial:
    """One case of a campaign while it runs: its machines, one after the other, and their outcomes.

    Attributes:
        emulator: runs the machines.
        images: has the images that they need.
        machine: the machine that does every step.
        case: what is tried.
        directory: the case's folder; records and consoles of all machines appear there.
        progress: called with the size of the records so far, in bytes.
        left: further files that a machine leaves, beside those that every machine leaves.
        command: the first machine's command line.
        seconds: how long all machines took.
    """

    emulator: Emulator
    images: ImageStore
    machine: Machine
    case: Case
    directory: Path
    progress: Callable[[int], None]
    left: tuple[str, ...]
    command: tuple[str, ...] = ()
    seconds: float = 0.0
    _idle: int = field(default=0, init=False)

    def begin(self) -> None:
        """Write the first record."""
        case = self.case
        self._write(
            {
                "type": "start",
                "format": 2,
                "program": "optee-campaign",
                "operation": case.operation,
                "implementation": "optee",
                "clock": CLOCK,
                "unit": "instructions",
                "warmup": case.warmup,
                "samples": case.samples,
                "parameters": " ".join(case.arguments),
            }
        )

    def end(self) -> None:
        """Write the last record."""
        self._write({"type": "end", "status": 0, "idle": self._idle})

    @contextmanager
    def step(
        self,
        *arguments: str,
        files: Mapping[str, bytes] | None = None,
        plugin: Plugin | None = None,
        prepared: Path | None = None,
        whole: bool = True,
    ) -> Iterator[Path]:
        """One machine that does one step; yields its folder, which is removed afterwards.

        Args:
            arguments: the step's, on the program's command line.
            files: the files that the machine finds in its folder: name -> content.
            plugin: the plugin to attach to the emulator.
            prepared: the state from Emulator.prepare to start from; None for the machine's own saved state.
            whole: whether the step must end well.

        Raises WorldwiseError as Emulator.run does, and if the step does not end as it must.
        """
        with tempfile.TemporaryDirectory(prefix="ww-campaign-") as temporary:
            work = Path(temporary)
            for name, content in (files or {}).items():
                (work / name).write_bytes(content)
            try:
                ran = self.emulator.run(
                    self.machine, [PROGRAM, *arguments], work, plugin=plugin, prepared=prepared, left=self.left
                )
                self.seconds += ran.wall_seconds
                self.command = self.command or ran.command
                if whole:
                    self._check(work, arguments)
                yield work
            finally:
                self._keep_consoles(work, arguments)

    def said(self, work: Path) -> Outcome:
        """The one outcome of a step. Raises WorldwiseError if the step has none or several."""
        found = outcomes(read_records(work / RECORDS))
        if len(found) != 1:
            raise WorldwiseError(f"{self.case.id}: a machine reported {len(found)} outcomes instead of one")
        return found[0]

    def outcome(self, what: str, said: Outcome, at: int | None = None, more: str = "") -> None:
        """Write an outcome: what was tried, at which instruction if any, and the result that a machine reported.

        `more` stands before the machine's detail.
        """
        record: dict[str, str | int] = {
            "type": "outcome",
            "what": what,
            "result": name_codes(said.result),
            "detail": "; ".join(filter(None, (more, name_codes(said.detail)))),
        }
        if at is not None:
            record["at"] = at
        self._write(record)

    def _check(self, work: Path, arguments: Sequence[str]) -> None:
        records = read_records(work / RECORDS)
        for record in records:
            if isinstance(record, Failure):
                raise WorldwiseError(
                    f"{self.case.id}: {' '.join(arguments)}: {name_codes(record.message)}",
                    details=self.emulator.diagnosis(work, self.machine),
                )
        last = records[-1]
        if not isinstance(last, End) or last.status:
            raise WorldwiseError(
                f"{self.case.id}: {' '.join(arguments)}: the machine did not finish its work",
                details=self.emulator.diagnosis(work, self.machine),
            )
        self._idle += last.idle

    def _keep_consoles(self, work: Path, arguments: Sequence[str]) -> None:
        """Append a machine's output to that of the machines before it."""
        for name in _CONSOLES:
            text = (work / name).read_bytes() if (work / name).exists() else b""
            with (self.directory / name).open("ab") as file:
                if text.strip():
                    file.write(f"== {' '.join(arguments)}\n".encode() + text)

    def _write(self, record: Mapping[str, str | int]) -> None:
        with (self.directory / RECORDS).open("a", encoding="ascii") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            self.progress(file.tell())


@dataclass(frozen=True)
class Campaign:
    """The campaigns of a family.

    Attributes:
        tries: operation -> the function that does the steps of a case and writes its outcomes.
        left: further files that one of its machines may leave, beside those that every machine leaves.
    """

    tries: Mapping[str, Callable[[Trial], None]]
    left: tuple[str, ...]


def method_digest(lab: Lab, case: Case) -> tuple[str, ...]:
    """What a campaign's result depends on beside its machine and its parameters; empty for other cases."""
    if not _campaign_of(case):
        return ()
    return (f"campaign {_METHOD}", cut_plugin().digest(lab))


def run_case(
    emulator: Emulator,
    images: ImageStore,
    machine: Machine,
    case: Case,
    program: Sequence[str],
    directory: Path,
    start: StartFrom = "snapshot",
    progress: Callable[[int], None] = lambda _: None,
) -> MachineEnd:
    """Run a case on one machine, or as a campaign of many; its records appear in `directory`.

    Raises WorldwiseError as Emulator.run does, and if a machine of a campaign does not do its step.
    """
    if case.target == OWN:
        return run_own_case(emulator, images, machine, case, directory, start, progress)
    campaign = _campaign_of(case)
    if campaign is None:
        return emulator.run(machine, program, directory, start, progress)
    if start != "snapshot":
        raise WorldwiseError(
            f"{case.id}: a campaign starts its machines from the saved state, never from power-on",
            "run it without `--cold`",
        )
    trial = Trial(emulator, images, machine, case, directory, progress, campaign.left)
    trial.begin()
    campaign.tries[case.operation](trial)
    trial.end()
    return MachineEnd(0, trial.command, trial.seconds)


def outcomes(records: Sequence[Record]) -> list[Outcome]:
    """The outcomes among records."""
    return [record for record in records if isinstance(record, Outcome)]


def _campaign_of(case: Case) -> Campaign | None:
    """The campaigns of the case's family; None if the case is not one of them."""
    campaign = declared("campaign", Campaign).get(family_of(case))
    return campaign if campaign and case.operation in campaign.tries else None
