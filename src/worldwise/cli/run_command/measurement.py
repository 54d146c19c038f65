# SPDX-License-Identifier: BSD-2-Clause
"""Measuring for `worldwise run`: the lab, the builds, the run's folder, and the result."""

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.cli.common.progress import Display
from worldwise.cli.report import Wanted, show
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries.own_library import own_libraries
from worldwise.libraries.own_library.own_libraries import Brought
from worldwise.plan.budget import Budget
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.costs import costs_of
from worldwise.plan.suite import Suite
from worldwise.read.models import Reading
from worldwise.read.run_counts import read_run
from worldwise.report.sections.tasks import Times, case_lines, leading
from worldwise.run.folder import reproduction as compare
from worldwise.run.folder.manifests import ShardEntry
from worldwise.run.folder.own_entries import entry_of
from worldwise.run.folder.run_plan import RunPlan
from worldwise.run.folder.rundir import Run
from worldwise.run.folder.writer import RunWriter
from worldwise.run.measure import Bench
from worldwise.run.options import MeasureOptions
from worldwise.run.workers import task
from worldwise.run.workers.cluster import Place, require_dask
from worldwise.run.workers.dispatch import Workers, workers_at


@dataclass(frozen=True)
class Away:
    """Workers that measure in place of this machine.

    Attributes:
        place: where they are.
        costs: what each case is expected to cost, by its id.
        cross_check: how many cases two workers measure; None for the default.
        wait: for how many seconds there may be no worker; None for the default.
    """

    place: Place
    costs: Mapping[str, int]
    cross_check: int | None
    wait: int | None


@dataclass(frozen=True)
class RunOrder:
    """What to measure.

    Attributes:
        suite: the suite, with the user's own libraries.
        cases: those of its cases that were chosen, in their order.
        unavailable: the chosen cases that are unavailable.
        samples: the number of samples that replaces the suite's own.
        budget: the budget that judges the run.
        brought: the user's own libraries.
        runs: the folder of the runs.
        old: the run to resume; None for a new one.
        verify: measure everything twice and compare.
        cores: those that each case is predicted on, with their tables.
        shard: the shard that the cases are; None for a whole run.
        away: the workers that measure; None for this machine alone.
    """

    suite: Suite
    cases: Sequence[Case]
    unavailable: Sequence[Unavailable]
    samples: int | None
    budget: Budget | None
    brought: Sequence[Brought]
    runs: Path
    old: Run | None
    verify: bool
    cores: Mapping[str, str] = field(default_factory=dict)
    shard: ShardEntry | None = None
    away: Away | None = None


def measure(
    order: RunOrder, options: MeasureOptions, wanted: Wanted, screen: Callable[[Run, Wanted], int] = show
) -> int:
    """Measure and print, by `screen`. Returns the exit status. Raises WorldwiseError."""
    if order.away:
        require_dask()
    times = 2 if order.verify else 1
    display = Display(order.away.costs if order.away else costs_of(order.cases, {}), times)
    own_libraries.announce(order.brought, display.note)
    lab = open_lab(display.console)
    lab.ensure()
    lab.require_entry()
    # Workers may be many, and a board is not emulated.
    alone = not (order.away or options.remote or order.cores)
    ahead = TimesAhead(order.budget, display) if alone and order.suite.recommended else None
    with _workers(lab, order, options, display) as workers:
        made = _measured(Bench(lab, display, options, workers, ahead), order, times, display)
    if order.cores:
        # It takes long to load.
        from worldwise.cli.traces.further_predictions import predict_run

        predict_run(made[0], order.cores, display, options.machines)
    elif not options.remote:
        done = ahead.done if ahead else frozenset()
        wanted = replace(wanted, times=lambda reading: _first_times(made[0], reading, display, done))
    status = screen(made[0], wanted)
    if order.verify:
        _verify(made[0], made[1], display)
    return status


@dataclass
class TimesAhead:
    """Predicts the rows that lead a run so far while its last cases are measured: the screen then waits for less.

    Attributes:
        budget: the run's.
        display: hears of the machines.
        done: the cases whose predictions are kept.
    """

    budget: Budget | None
    display: Display
    done: frozenset[str] = frozenset()
    _stops: list[Callable[[], None]] = field(default_factory=list)
    _stopped: bool = False

    def begin(self, run: Run) -> None:
        """Predict, one case at a time. What goes wrong is said when the screen asks again."""
        with contextlib.suppress(WorldwiseError):
            reading = read_run(run, self.budget)
            if self._stopped or not leading(reading):
                return
            from worldwise.cli.traces.first_screen import predict_ahead

            self.done = predict_ahead(run, reading, self.display, self._began)

    def _began(self, stop: Callable[[], None]) -> None:
        self._stops.append(stop)
        if self._stopped:
            stop()

    def stop(self) -> None:
        """End its machines and builds."""
        self._stopped = True
        for stop in self._stops:
            stop()


def _first_times(run: Run, reading: Reading, display: Display, done: Collection[str]) -> Times:
    # It takes long to load, and most suites have no such rows.
    if not leading(reading):
        return {}
    from worldwise.cli.traces.first_screen import first_times

    return first_times(run, reading, display, done)


def _workers(
    lab: Lab, order: RunOrder, options: MeasureOptions, display: Display
) -> contextlib.AbstractContextManager[Workers | None]:
    """The workers that measure; none if this machine does."""
    if not order.away:
        return contextlib.nullcontext()
    away, tasks = order.away, task.TaskOrder.of(lab, options, order.brought)
    return workers_at(away.place, tasks, display.note, away.costs, away.cross_check, away.wait)


def _measured(bench: Bench, order: RunOrder, times: int, display: Display) -> list[Run]:
    """The runs of an order, so many times the same."""
    names = [each.name for each in order.brought]
    made: list[Run] = []
    remote = bench.options.remote
    try:
        with display.bar:
            if remote:
                display.note(bench.measurer.describe().words)
                for reason, number in remote.left.items():
                    display.note(f"{number} of the chosen cases are left out: {reason}")
            # A library that does not compile is reported before a run is made.
            bench.build([case for case in order.cases if case.implementation in names])
            for _ in range(times):
                with _writer(bench, order) as writer:
                    display.note(f"run {writer.run.path}")
                    display.figures = partial(_first_figures, writer.run, order)
                    made.append(bench.measure(writer, order.cases, order.suite.first))
    except KeyboardInterrupt:
        bench.stop()
        display.note("interrupted; complete cases are kept: resume with `worldwise run --resume`")
        raise
    finally:
        bench.close()
    return made


def _first_figures(run: Run, order: RunOrder, case: Case) -> list[str]:
    """The figures of a case that the suite wants printed at once; none of another case."""
    if case.id not in order.suite.first:
        return []
    return case_lines(read_run(run, order.budget), case.id)


def _writer(bench: Bench, order: RunOrder) -> RunWriter:
    if order.old:
        return bench.resume_run(order.old)
    own = [entry_of(each) for each in order.brought]
    return bench.new_run(
        order.runs,
        RunPlan(order.suite, order.cases, order.budget, order.samples, order.unavailable, own, order.shard),
    )


def _verify(first: Run, second: Run, display: Display) -> None:
    """Say that two runs are the same. Raises WorldwiseError naming the first sample that differs."""
    difference = compare.first_difference(first, second)
    if difference:
        raise WorldwiseError(
            f"runs {first.id} and {second.id} are not the same: {difference.describe()}",
            "this is a serious defect: keep both runs and report it",
        )
    twice = len(first.complete_cases())
    failed = len(first.manifest.cases) - twice
    but = f"; {failed} failed twice and are not verified" if failed else ""
    display.note(f"verified: {twice} cases measured twice, every record the same{but}")
