# SPDX-License-Identifier: BSD-2-Clause
"""The count lens: reads a run, checks it again, and computes its figures. Starts nothing, writes nothing."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median, stdev

from worldwise.base.units import NANOSECONDS
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.budget import Budget
from worldwise.plan.catalogue import family_of
from worldwise.read.family_fields import Footprint, Part, Recommended, TaSize
from worldwise.read.models import (
    CLOCK_ASSUMPTION,
    CLOCKS,
    FORMAT,
    Attempt,
    BudgetResult,
    Drawn,
    FailedCase,
    HostCase,
    Interrupted,
    NotAvailable,
    PublishedFigure,
    Reading,
    References,
    Row,
    RowCounts,
    RunSummary,
    Verdict,
    fields_of,
)
from worldwise.read.published import Published, Subject
from worldwise.read.readings import Seen, declared_readings, includes, readings_of
from worldwise.read.row_details import board_ranks
from worldwise.read.row_details.board_ranks import board_times, with_ranks
from worldwise.read.row_details.draws_and_interrupts import drawn_rows, interrupted_rows
from worldwise.read.row_details.factors import factors, with_ratios
from worldwise.read.row_details.linux_hosts import host_cases
from worldwise.read.rows import in_reading_order
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.evidence import owed_by
from worldwise.records.models import Memory, Outcome, Sample
from worldwise.records.parse import parse_records
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.own_entries import stack_words
from worldwise.run.folder.predictions import load
from worldwise.run.folder.rundir import Run

_CLOCKS = {f"{clock} GHz": clock * 1000 for clock in CLOCKS}


def read_run(run: Run, budget: Budget | None = None) -> Reading:
    """Reads every complete case of a run. `budget` takes the place of the run's own.

    Every record is checked and every signature verified again. Raises WorldwiseError naming file and line.
    """
    manifests = {case_id: run.case(case_id) for case_id in run.manifest.cases}
    done = [manifest for manifest in manifests.values() if manifest and manifest.state == "complete"]
    if budget is None and run.manifest.budget is not None:
        budget = run.manifest.budget.budget()
    # Both are in instructions, or in cycles at a clock.
    timed = run.manifest.unit == NANOSECONDS
    budget = None if timed else budget
    published = Published("" if timed else run.manifest.published)
    rows: list[Row] = []
    hosted: list[HostCase] = []
    drawn: list[Drawn] = []
    interrupted: list[Interrupted] = []
    for manifest in done:
        checked = checked_records(run, manifest)
        rows += _case_rows(run, manifest, checked, published, budget)
        hosted += host_cases(run, manifest, checked)
        drawn += drawn_rows(run, manifest, checked)
        interrupted += interrupted_rows(run, manifest, checked)
    rows = with_ranks(with_ratios(rows))
    failed = [manifest for manifest in manifests.values() if manifest and manifest.state == "failed"]
    missing = tuple(case_id for case_id, manifest in manifests.items() if manifest is None)
    return Reading(
        format=FORMAT,
        run=RunSummary(
            id=run.id,
            suite=run.manifest.suite,
            title=run.manifest.title,
            state=run.state,
            started=run.manifest.started,
            worldwise=run.manifest.worldwise,
            git=run.manifest.git,
            lab=run.manifest.lab,
            packages=run.manifest.packages,
            drift=tuple(run.manifest.drift),
            stack=stack_words(run),
            seed=run.manifest.seed or 0,
            as_shipped=run.manifest.as_shipped,
            chip_clock=run.manifest.chip_clock.words if run.manifest.chip_clock else "",
        ),
        rows=tuple(rows),
        # Plain Linux has its own tables of what options and levels give.
        factors=tuple(factors(in_reading_order(row for row in rows if row.target not in PLAIN_TARGETS))),
        attempts=tuple(attempt for manifest in done for attempt in _attempts(run, manifest)),
        assumption=CLOCK_ASSUMPTION,
        published_reason=published.reason
        if published.table or any(row.against.published or row.against.published_gap for row in rows)
        else "",
        published_table=published.table,
        budget=budget_result(rows, budget, whole=not failed and not missing)
        # A shard may have none of the cases that the whole run's budget judges.
        if budget and (not run.manifest.shard or any(row.against.verdict for row in rows))
        else None,
        failed=tuple(FailedCase(case=manifest.id, error=manifest.error) for manifest in failed),
        missing=missing,
        unavailable=tuple(NotAvailable(**entry.model_dump()) for entry in run.manifest.unavailable),
        parts=_parts(Seen(run, done, rows, published)),
        predictions=load(run),
        hosted=tuple(hosted),
        measured_on=run.manifest.measured_on,
        inputs=tuple(drawn),
        interrupts=tuple(interrupted),
    )


def checked_records(run: Run, manifest: CaseManifest) -> CheckedRecords:
    """The records of a complete case. Raises WorldwiseError naming file and line."""
    path = str(run.records_path(manifest.id))
    records = parse_records(run.case_file(manifest.id, manifest=manifest), path)
    return check_records(records, manifest.case(), path, unit=run.manifest.unit)


def _case_rows(
    run: Run, manifest: CaseManifest, checked: CheckedRecords, published: Published, budget: Budget | None
) -> Iterable[Row]:
    case = manifest.case()
    clocks = board_ranks.clocks(case, run.manifest) or _CLOCKS
    # What is time already is not divided by a clock, nor are a host's cycles, of which it has its own number a second.
    clocks = {} if run.manifest.unit == NANOSECONDS or run.manifest.via == "ssh" else clocks
    own = (_ta_size(manifest), board_ranks.on_board(case, run.manifest))
    sums = readings_of(case).sums(case, checked.samples)
    for (measure, place), series in (*checked.samples.items(), *sums):
        counts = [sample.count for sample in series if sample.phase == "sample"]
        worst = max(sample.count for sample in series)
        middle = float(median(counts))
        average = float(mean(counts))
        what = Subject(case.operation, measure, place, case.implementation, case.board, case.curve, case.size)
        yield Row(
            **fields_of(case),
            measure=measure,
            place=place,
            counts=RowCounts(
                unit=checked.start.unit,
                includes=includes()[measure, place],
                n=len(counts),
                warmup=case.warmup,
                first=series[0].count,
                median=middle,
                mean=average,
                stdev=float(stdev(counts)) if len(counts) > 1 else None,
                min=min(counts),
                max=max(counts),
                worst=worst,
            ),
            against=References(
                ratio_to_linux=None,
                microseconds={name: middle / mhz for name, mhz in clocks.items()},
                published=published_figures(published, what, average),
                published_gap=published.gap(what),
                verdict=verdict_of(budget, measure, place, worst),
                samples=tuple(counts) if published.has_runs(what) else (),
            ),
            core=str(run.manifest.measured_on.get("core", "")),
            parts=_given((_footprint(manifest, checked.memory.get(measure), place), *own)),
        )


def published_figures(published: Published, what: Subject, average: float) -> tuple[PublishedFigure, ...]:
    """What others published of a subject, beside an average in instructions."""
    return tuple(
        PublishedFigure(
            source=beside.figure.source,
            value=beside.figure.value,
            unit=beside.figure.unit,
            instructions=beside.instructions,
            statistic=beside.figure.statistic,
            conditions=beside.figure.conditions,
            note=beside.figure.note,
            ratio=average / beside.instructions,
        )
        for beside in published.beside(what)
    )


def verdict_of(budget: Budget | None, measure: str, place: str, worst: int) -> Verdict | None:
    """Whether the worst count, in instructions, fits the budget; None of what the budget does not judge."""
    if not budget or measure not in budget.measures or place != budget.place:
        return None
    return Verdict(worst=worst, limit=budget.instructions, fits=worst <= budget.instructions)


def _footprint(manifest: CaseManifest, memory: Memory | None, place: str) -> Footprint:
    found = manifest.footprint or {}
    here = memory if memory and memory.place == place else None
    return Footprint(
        stack=here.stack if here else None,
        heap=here.heap if here else None,
        flash=found.get("flash"),
        ram=found.get("ram"),
    )


def _ta_size(manifest: CaseManifest) -> TaSize:
    found = manifest.footprint or {}
    return TaSize(ta_loaded=found.get("ta_loaded"), ta_file=found.get("ta_file"))


def _parts(seen: Seen) -> tuple[Part, ...]:
    measured = {family_of(manifest.case()) for manifest in seen.done}
    own = (part for family, one in declared_readings().items() if family in measured and (part := one.whole(seen)))
    return _given((Recommended(recommended=seen.run.manifest.recommended), board_times(seen.rows), *own))


def _given(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts that are not empty."""
    return tuple(part for part in parts if part != type(part)())


def _attempts(run: Run, manifest: CaseManifest) -> Iterable[Attempt]:
    case = manifest.case()
    if case.measures and not owed_by(case).outcomes:
        return
    for record in parse_records(run.case_file(case.id), str(run.records_path(case.id))):
        if isinstance(record, Outcome):
            yield Attempt(
                case=case.id,
                operation=case.operation,
                parameters=case.parameter_text,
                what=record.what,
                result=record.result,
                detail=record.detail,
                at=record.at,
            )


def budget_result(rows: list[Row], budget: Budget, whole: bool) -> BudgetResult:
    """What rows' verdicts come to; they fit only if they are of a whole run."""
    verdicts = [row.against.verdict for row in rows if row.against.verdict]
    exceeded = sum(not verdict.fits for verdict in verdicts)
    fits = False if exceeded else True if verdicts and whole else None
    return BudgetResult(
        limit=budget.limit_text,
        clock=budget.clock_text,
        instructions=budget.instructions,
        measures=budget.measures,
        place=budget.place,
        judged=len(verdicts),
        exceeded=exceeded,
        fits=fits,
    )


# (case, measure, place) -> its samples in the order of the calls, the first and the warm-up ones included.
Samples = Mapping[tuple[str, str, str], Sequence[Sample]]


def samples_of(run: Run) -> Samples:
    """The samples behind each row of a reading, those that families sum up included.

    `read_run` has checked the records; nothing is checked again here.
    """
    return {
        (manifest.id, measure, place): series
        for manifest in run.complete_cases()
        for (measure, place), series in _of_case(run, manifest).items()
    }


def _of_case(run: Run, manifest: CaseManifest) -> dict[tuple[str, str], Sequence[Sample]]:
    found: dict[tuple[str, str], list[Sample]] = {}
    for record in parse_records(run.case_file(manifest.id), str(run.records_path(manifest.id))):
        if isinstance(record, Sample):
            found.setdefault((record.measure, record.place), []).append(record)
    ordered = {key: tuple(sorted(series, key=lambda one: one.index)) for key, series in found.items()}
    case = manifest.case()
    return {**ordered, **dict(readings_of(case).sums(case, ordered))}
