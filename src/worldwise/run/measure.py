# SPDX-License-Identifier: BSD-2-Clause
"""Measuring: builds images for cases, runs machines, and writes the records into a run's directory."""

import contextlib
import functools
import hashlib
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from worldwise.base.disk import require_space
from worldwise.base.errors import DoesNotFitError, HostError, WorldwiseError
from worldwise.base.progress_notes import FAILED, REUSED, CaseEnd
from worldwise.base.units import Unit
from worldwise.lab.host.facts import host_facts, revision
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, Machine
from worldwise.machine.measurer import MachineEnd, Measurer
from worldwise.plan.case import Case
from worldwise.plan.costs import costs_of
from worldwise.plan.inputs import others
from worldwise.records.check import CheckedRecords
from worldwise.run import records_beside
from worldwise.run.case_check import check_run, found_words
from worldwise.run.folder import reproduction as compare
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome, Counting, RunPlan, RunProvenance
from worldwise.run.folder.rundir import Run
from worldwise.run.folder.writer import RunWriter
from worldwise.run.measurers import board_of, require_same
from worldwise.run.options import Elsewhere, MeasureOptions, Progress, WhileLastCases
from worldwise.run.results import Result, ResultStore
from worldwise.run.ways import CaseRun, EmulatedWay, MeasuringWay, case_digest, way_of
from worldwise.run.work import Work, by_variant, compile_order
from worldwise.targets.all_targets import Target

# Bytes that must be free on the disk after a case; with less, its records may be cut off.
RECORD_SPACE = 65_536
# Seconds. A result that took longer to measure is not checked by measuring it again.
AUDIT_SECONDS = 8.0


# The machines of a group's cases, and the cases that are too large for theirs.
_Prepared = tuple[dict[str, Machine], list[tuple[Case, WorldwiseError]]]


class _BuildError(Exception):
    """A build has failed. What was built before is still measured; then `reason` ends the run."""

    def __init__(self, reason: WorldwiseError) -> None:
        super().__init__(reason.message)
        self.reason = reason


@dataclass
class Bench:
    """What measuring needs, shared by the runs of one call of the tool.

    With `elsewhere`, workers measure; this machine builds nothing and measures nothing but what failed there. `beside`
    begins when everything is built and the cases that go first are measured.
    Raises WorldwiseError from its methods; `stop` (from another thread) makes them raise soon.
    """

    lab: Lab
    progress: Progress
    options: MeasureOptions
    elsewhere: Elsewhere | None = None
    beside: WhileLastCases | None = None
    images: ImageStore = field(init=False)
    local: EmulatedWay = field(init=False)
    way: MeasuringWay = field(init=False)
    results: ResultStore = field(init=False)
    jobs: int = field(init=False)

    def __post_init__(self) -> None:
        self.images = ImageStore(self.lab, self.progress.note)
        note, limit = self.progress.note, self.options.silence_limit
        self.local = EmulatedWay(Emulator(self.lab, note, silence_limit=limit), self.images)
        self.results = ResultStore(self.lab.cache, note)
        board = board_of(self.options.remote, self.lab, self.images, note, limit)
        self.way = way_of(board, self.local, self.lab, self.results)
        self.jobs = 1 if self.away else self.elsewhere.jobs if self.elsewhere else self.options.machines
        # Of what workers leave to this machine, no more at a time than it can do.
        self.here = threading.Semaphore(self.options.machines)
        # One thread more than machines: it builds the next images. See Work.
        self.pool = ThreadPoolExecutor(self.jobs + 1, "bench")

    @property
    def emulator(self) -> Emulator:
        """The emulator here."""
        return self.local.emulator

    @emulator.setter
    def emulator(self, other: Emulator) -> None:
        self.local.emulator = other

    @property
    def away(self) -> bool:
        """Whether a board or host is measured itself."""
        return self.way is not self.local

    @property
    def measurer(self) -> Measurer:
        """What measures the cases."""
        return self.way.measurer

    @property
    def unit(self) -> Unit:
        """What is counted. Raises WorldwiseError if the board does not say."""
        return self.measurer.describe().unit

    def target(self, name: str) -> Target:
        """The target of a name, whose programs count the unit."""
        return self.way.target(name)

    def new_run(self, runs: Path, plan: RunPlan) -> RunWriter:
        """A run's directory with its provenance, nothing measured yet. Raises WorldwiseError."""
        lab, remote = self.lab, self.options.remote
        made = RunProvenance(host_facts(), revision(), lab.digest, lab.lock.versions(), lab.differing)
        counting = Counting(
            unit=self.unit,
            via=remote.via if remote else "",
            chip_clock=remote.chip_clock if remote else None,
            measured_on=self.measurer.describe().facts,
            seeds=self.options.seeds,
        )
        return RunWriter.create(runs, plan, made, counting)

    def build(self, cases: Sequence[Case]) -> None:
        """Build what the cases need before the run starts, for code that may not compile. Raises WorldwiseError.

        A program that is too large for its board is no error here: it is a result of the run.
        """
        for case in cases:
            with contextlib.suppress(DoesNotFitError):
                self.target(case.target).machine(case, self.images)

    def resume_run(self, run: Run) -> RunWriter:
        """Resume a run that was interrupted. Refuses a run that was begun with another lab."""
        if run.manifest.lab != self.lab.digest:
            raise WorldwiseError(
                f"run {run.id} was begun with lab {run.manifest.lab[:12]}, this is {self.lab.digest[:12]}: "
                "one run must not mix their counts",
                "start a new run",
            )
        require_same(run.id, run.manifest, self.options.remote, self.measurer.describe())
        return RunWriter.resume(run)

    def measure(self, writer: RunWriter, cases: Sequence[Case], first: Collection[str] = ()) -> Run:
        """Measure the pending cases and finish the run. `first` has the ids of those that are built before all others.

        A failed case is recorded as failed, the others are still measured, and the run is then `failed`. An error of
        the host ends the run. A failed build ends it too, after what was built before is measured. If the tool is
        interrupted, the run is `interrupted` and keeps all complete cases.
        """
        # This session prepares all cases of a variant together; only an earlier session can have measured some of them.
        done: dict[str, list[CaseManifest]] = {}
        for manifest in writer.run.complete_cases():
            done.setdefault(manifest.case().variant, []).append(manifest)
        pending = set(writer.run.manifest.cases) - {manifest.id for one in done.values() for manifest in one}
        todo = [case for case in cases if case.id in pending]
        session = _Session(self, writer, done, costs_of(todo, {}))
        try:
            urgent = [[case] for name in first for case in todo if case.id == name]
            rest = [case for case in todo if case.id not in first]
            session.run([*urgent, *by_variant(compile_order(rest))], len(urgent), first)
            with writer.guard():
                self._audit(session.reused)
        except BaseException as error:
            self.stop()
            writer.finish("failed" if isinstance(error, WorldwiseError) else "interrupted")
            raise
        return writer.finish("failed" if session.failed else "complete")

    def stop(self) -> None:
        """End every machine and build, and drop the cases being measured."""
        if self.elsewhere:
            self.elsewhere.stop()
        self.lab.stop()
        self.emulator.stop()
        if self.away:
            self.measurer.stop()
        if self.beside:
            self.beside.stop()
        self.pool.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """End what was started for the runs and not for a case of them: a board's server, a host's connection."""
        self.way.close()

    def measure_case(self, writer: RunWriter, case: Case, machine: Machine) -> Result | None:
        """Measure one case, or take it from the results. Returns the result if it was taken."""
        digest = self._digest(machine, case)
        directory = writer.case_directory(case.id)
        inputs = CaseInputs("snapshot", machine.images, digest, machine.footprint)
        stored = self.results.get(digest) if self.options.reuse else None
        if stored:
            self._take(writer, case, inputs, stored, stored.run)
            self.progress.case_done(case, REUSED)
            return stored
        self.progress.case_started(case)
        if self.elsewhere and (measured := self.elsewhere.measure(writer.run.id, case, digest, self.results)):
            self._take(writer, case, inputs, measured.result, measured.run, measured.seconds)
            self.progress.case_done(case, measured.how)
            return measured.result if measured.run else None
        with writer.guard(), self.here:
            outcome, checked = self.run(case, machine, directory)
            self._beside(case, directory)
        seconds = round(outcome.wall_seconds, 2)
        writer.complete_case(case, replace(inputs, start=self.options.start), CaseOutcome(outcome.command, seconds))
        if self.options.start == "snapshot":
            self._keep(case, digest, directory, writer.run.id, seconds, outcome.command)
        self.progress.case_done(case, CaseEnd(f"{seconds:.1f} s{found_words(case, checked)}"))
        return None

    def run(self, case: Case, machine: Machine, directory: Path) -> tuple[MachineEnd, CheckedRecords]:
        """Run a case here and check its records, which appear in the directory. Raises WorldwiseError."""
        ended = self._run(case, machine, directory)
        # A guest that cannot write its record can only stop; the host finds the reason here.
        require_space(directory, RECORD_SPACE, "the records")
        return ended, check_run(case, directory, self.measurer, machine, self.unit)

    def _beside(self, case: Case, directory: Path) -> None:
        """Put what the run has of a case besides its own records beside them: other draws, its own path."""
        for name, other in others(case, self.options.seeds):
            machine = self.target(other.target).machine(other, self.images)
            run = functools.partial(self._measured_beside, other, machine)
            records_beside.bring(self.results, self._digest(machine, other), directory, name, run)

    def _measured_beside(self, case: Case, machine: Machine, directory: Path) -> MachineEnd:
        return self.run(case, machine, directory)[0]

    def _take(
        self, writer: RunWriter, case: Case, inputs: CaseInputs, result: Result, run: str, seconds: float = 0.0
    ) -> None:
        """Put a result of the store into the run. `run`: that which it is of; empty for this one, with the seconds."""
        directory = writer.run.case_directory(case.id)
        with writer.guard():
            result.copy_to(directory)
            self._beside(case, directory)
        writer.complete_case(case, inputs, CaseOutcome(result.command, seconds, run))

    def _run(self, case: Case, machine: Machine, directory: Path) -> MachineEnd:
        """Run a case; its records appear in the directory."""

        def progress(size: int) -> None:
            self.progress.case_progress(case, size)

        return self.way.run(CaseRun(case, machine, directory, self.options.start, progress))

    def _digest(self, machine: Machine, case: Case) -> str:
        """The address of a case's result; that of a board's own is no emulator's."""
        digest = case_digest(self.lab, machine, case)
        remote = self.options.remote
        at = f" at {remote.clock}" if remote and remote.clock else ""
        return hashlib.sha256(f"{digest} by {remote.via}{at}".encode()).hexdigest() if remote else digest

    def _keep(
        self, case: Case, digest: str, directory: Path, run: str, seconds: float, command: tuple[str, ...]
    ) -> None:
        """Put a result into the store, for later runs."""
        try:
            self.results.put(digest, directory, run, seconds, command)
        except OSError as error:
            # This run has the case; only the next run must measure it again.
            self.progress.note(f"{case.id}: its result cannot be kept in the cache: {error}")

    def case_failed(self, writer: RunWriter, case: Case, machine: Machine | None, error: WorldwiseError) -> None:
        self.progress.case_done(case, FAILED)
        made = (machine.images, self._digest(machine, case)) if machine else ()
        words = "\n".join(part for part in (error.message, error.details) if part)
        writer.complete_case(case, CaseInputs(self.options.start, *made), CaseOutcome(error=words))

    def _audit(self, reused: Sequence[tuple[Case, Machine, Result]]) -> None:
        """Measure one of the reused results again: the one with the oldest check.

        Raises WorldwiseError if a digit differs, naming the first sample that does.
        """
        quick = [entry for entry in reused if entry[2].wall_seconds <= AUDIT_SECONDS]
        if not quick:
            return
        case, machine, result = min(quick, key=lambda entry: entry[2].checked)
        with tempfile.TemporaryDirectory(prefix="ww-audit-") as work:
            directory = Path(work)
            self.local.run(CaseRun(case, machine, directory))
            difference = compare.compare_records(case.id, result.directory / RECORDS, directory / RECORDS)
        if difference:
            raise WorldwiseError(
                f"a stored result differs when it is measured again: {difference.describe()}",
                "this is a serious defect: keep the cache and report it; `run --fresh` measures everything again",
            )
        self.results.mark_checked(result)
        self.progress.note(f"{len(reused)} cases reused; {case.id} measured again as a check: identical")


class _Session:
    """One call of Bench.measure: what is built, measured and failed so far.

    Attributes:
        reused: cases whose results were taken from the store, with their machines.
        failed: whether a case has failed.
    """

    def __init__(
        self,
        bench: Bench,
        writer: RunWriter,
        done: Mapping[str, Sequence[CaseManifest]],
        costs: Mapping[str, int],
    ) -> None:
        self.reused: list[tuple[Case, Machine, Result]] = []
        self.failed = False
        self._bench = bench
        self._writer = writer
        # The cases measured before, by variant.
        self._done = done
        self._costs = costs
        self._machines: dict[str, Machine] = {}

    def run(self, groups: Sequence[Sequence[Case]], alone: int, first: Collection[str]) -> None:
        """Build and measure groups of cases, each of one variant; `alone` of them with no other build beside.

        When all groups are built and the cases `first` have ended, what is done beside begins.
        Raises WorldwiseError, a build's at the end.
        """
        work = Work(self._bench.jobs, groups, self._prepare, self._measure, self._cost, alone)
        broken: WorldwiseError | None = None
        beside = self._bench.beside
        waiting = {case.id for group in groups for case in group} & set(first)
        for ended in work.ended(self._bench.pool):
            try:
                if ended.build:
                    work.add(self._built(ended.cases, ended.build))
                elif ended.measurement:
                    self._measured(ended.cases[0], ended.measurement)
            except _BuildError as error:
                if broken is None:
                    broken = error.reason
                    work.build_no_more()
            waiting -= {case.id for case in ended.cases if ended.measurement}
            if beside and not broken and work.is_built and not waiting:
                work.begin_beside(partial(beside.begin, self._writer.run))
                beside = None
        if broken:
            raise broken

    def _cost(self, case: Case) -> int:
        """What goes first has the highest: the dearest case, so that no processor waits long at the end."""
        if self._bench.away:
            # One case after the other, in the suite's order, where neighbours share a program.
            return 0
        if elsewhere := self._bench.elsewhere:
            return elsewhere.cost(case)
        return -self._costs[case.id] if self._bench.options.reverse else self._costs[case.id]

    def _measure(self, case: Case) -> Result | None:
        return self._bench.measure_case(self._writer, case, self._machines[case.id])

    def _built(self, group: Sequence[Case], future: "Future[_Prepared]") -> list[Case]:
        """Record what was built for a group. Returns the cases that can be measured."""
        with self._writer.guard():
            try:
                made, refused = future.result()
            except HostError:
                raise
            except WorldwiseError as error:
                raise _BuildError(error) from error
        self._machines |= made
        for case, reason in refused:
            self.failed = True
            self._writer.case_directory(case.id)
            self._bench.case_failed(self._writer, case, None, reason)
        fitting = [case for case in group if case.id in self._machines]
        for manifest in self._done.get(group[0].variant, ()):
            self._refuse_other_images(manifest, fitting)
        return fitting

    def _measured(self, case: Case, future: "Future[Result | None]") -> None:
        """Record the result of a case."""
        machine = self._machines[case.id]
        try:
            result = future.result()
        except HostError:
            # Every other case would fail in the same way.
            raise
        except WorldwiseError as error:
            self.failed = True
            self._bench.case_failed(self._writer, case, machine, error)
            return
        if result:
            self.reused.append((case, machine, result))

    def _prepare(self, group: Sequence[Case]) -> _Prepared:
        """The machines of a variant's cases, and the cases that are too large for theirs."""
        machines: dict[str, Machine] = {}
        refused: list[tuple[Case, WorldwiseError]] = []
        elsewhere = self._bench.elsewhere
        if elsewhere:
            elsewhere.build(group)
        with self._bench.here if elsewhere else contextlib.nullcontext():
            for case in group:
                try:
                    machines[case.id] = self._bench.target(case.target).machine(case, self._bench.images)
                except DoesNotFitError as error:
                    refused.append((case, error))
        return machines, refused

    def _refuse_other_images(self, done: CaseManifest, group: Sequence[Case]) -> None:
        """Raises WorldwiseError if a complete case of the variant was measured with other images: a run has one set."""
        for case in group:
            now = self._machines[case.id].images
            # A case that needs another firmware has an image of another name.
            if any(done.images[name] != now[name] for name in done.images.keys() & now.keys()):
                raise WorldwiseError(
                    f"run {self._writer.run.id} has measured {done.id} with other images of {case.variant} "
                    "than are built now: one run must not mix their counts",
                    "start a new run",
                )
