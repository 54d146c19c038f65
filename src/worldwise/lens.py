# SPDX-License-Identifier: BSD-2-Clause
"""The count lens: reads a run, checks it again, says what its figures are. Starts nothing, writes nothing."""

from collections.abc import Iterable
from statistics import mean, median, stdev
from typing import Literal

from pydantic import BaseModel, ConfigDict

from worldwise.published import Published
from worldwise.record import check_records, read_records
from worldwise.rundir import CaseManifest, Run
from worldwise.suite import IMPLEMENTATIONS, OPTIMISATIONS, PLACES, Budget

FORMAT: Literal[1] = 1
UNIT: Literal["instructions"] = "instructions"

# Clocks in GHz at which counts are shown as time, as if a core finished one instruction in each cycle.
CLOCKS = (1.0, 1.5, 1.8, 2.0, 2.5)
CLOCK_ASSUMPTION = (
    "Times assume one instruction per cycle on a Cortex-A72 at the named clock. They are not measured: a "
    "real core does more than one, or less, and caches and memory have their say."
)

# What a count takes in: (measure, place) -> text. Interrupts in a region count; they are part of the call.
_CLIENT_CALL = (
    "the client's whole TEEC_InvokeCommand: libteec, Linux, the secure monitor, OP-TEE's core, the TA, and the way back"
)
_IN_TA = "inside the TA, with the work of OP-TEE's core; not the way there and back"
_IN_LINUX = "by the library's own calls in a Linux process"
_INCLUDES = {
    ("keygen", "ta"): f"TEE_GenerateKey, {_IN_TA}",
    ("keygen", "client"): _CLIENT_CALL,
    ("keygen", "linux"): f"a key pair made, {_IN_LINUX}",
    ("sign", "ta"): f"SHA-256 of the input and the signature, {_IN_TA}",
    ("sign", "client"): _CLIENT_CALL,
    ("sign", "linux"): f"SHA-256 of the input and the signature, {_IN_LINUX}",
    ("verify", "ta"): f"SHA-256 of the input and the verification, {_IN_TA}",
    ("verify", "client"): _CLIENT_CALL,
    ("verify", "linux"): f"SHA-256 of the input and the verification, {_IN_LINUX}",
    ("invoke", "client"): f"{_CLIENT_CALL}; the TA does nothing and has no parameters",
    ("open", "client"): "the client's whole TEEC_OpenSession, with the TA already loaded",
    (
        "load",
        "client",
    ): "the client's whole TEEC_OpenSession, with the TA loaded and its signature checked anew",
}


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedFigure(_Result):
    """Someone else's figure beside a row. `ratio` is our mean divided by it."""

    source: str
    value: float
    unit: str
    instructions: float
    statistic: str
    conditions: str
    note: str
    ratio: float


class Verdict(_Result):
    """A row against the budget: its worst call, the first one included."""

    worst: int
    limit: int
    fits: bool


class Row(_Result):
    """One measure of one case at one place. Counts are instructions; statistics are over the n samples."""

    case: str
    target: str
    implementation: str
    optimisation: str
    variant: str
    operation: str
    measure: str
    place: str
    unit: Literal["instructions"]
    includes: str
    n: int
    warmup: int
    first: int
    median: float
    mean: float
    stdev: float | None
    min: int
    max: int
    worst: int
    ratio_to_linux: float | None
    microseconds: dict[str, float]
    published: tuple[PublishedFigure, ...]
    verdict: Verdict | None


class Factor(_Result):
    """How many times as many instructions one side takes as the other, by their medians."""

    kind: Literal["nist-optim", "world", "optimisation"]
    operation: str
    measure: str
    place: str
    implementation: str
    optimisation: str
    numerator: str
    denominator: str
    value: float


class BudgetResult(_Result):
    """The whole budget: `fits` is None when nothing exceeds it but not all of it was measured."""

    limit: str
    clock: str
    instructions: int
    measures: tuple[str, ...]
    place: str
    judged: int
    exceeded: int
    fits: bool | None


class FailedCase(_Result):
    """A case that ended with an error."""

    case: str
    error: str


class RunSummary(_Result):
    """Which run was read, and what it was made with."""

    id: str
    suite: str
    title: str
    state: str
    started: str
    worldwise: str
    git: str
    lab: str
    packages: dict[str, str]


class Reading(_Result):
    """All that the lens sees in a run; every report is made from this."""

    format: Literal[1]
    run: RunSummary
    rows: tuple[Row, ...]
    factors: tuple[Factor, ...]
    assumption: str
    published_reason: str
    budget: BudgetResult | None
    failed: tuple[FailedCase, ...]
    missing: tuple[str, ...]


def read_run(run: Run, budget: Budget | None = None) -> Reading:
    """Reads every complete case of a run. `budget` takes the place of the run's own.

    Every record is checked and every signature verified again. Raises WorldwiseError naming file and line.
    """
    manifests = {case_id: run.case(case_id) for case_id in run.manifest.cases}
    done = [manifest for manifest in manifests.values() if manifest and manifest.state == "complete"]
    if budget is None and run.manifest.budget is not None:
        budget = run.manifest.budget.budget()
    published = Published(run.manifest.published)
    rows = [row for manifest in done for row in _case_rows(run, manifest, published, budget)]
    rows = _with_ratios(rows)
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
        ),
        rows=tuple(rows),
        factors=tuple(_factors(in_reading_order(rows))),
        assumption=CLOCK_ASSUMPTION,
        published_reason=published.reason if any(row.published for row in rows) else "",
        budget=_budget_result(rows, budget, whole=not failed and not missing) if budget else None,
        failed=tuple(FailedCase(case=manifest.id, error=manifest.error) for manifest in failed),
        missing=missing,
    )


def _case_rows(run: Run, manifest: CaseManifest, published: Published, budget: Budget | None) -> Iterable[Row]:
    case = manifest.case()
    path = run.records_path(case.id)
    checked = check_records(read_records(path), case, str(path))
    for (measure, place), series in checked.samples.items():
        counts = [sample.count for sample in series if sample.phase == "sample"]
        worst = max(sample.count for sample in series)
        middle = float(median(counts))
        average = float(mean(counts))
        judged = budget is not None and measure in budget.measures and place == budget.place
        yield Row(
            case=case.id,
            target=case.target,
            implementation=case.implementation,
            optimisation=case.optimisation,
            variant=case.variant,
            operation=case.operation,
            measure=measure,
            place=place,
            unit=UNIT,
            includes=_INCLUDES[measure, place],
            n=len(counts),
            warmup=case.warmup,
            first=series[0].count,
            median=middle,
            mean=average,
            # One sample has no spread, which is not a spread of 0.
            stdev=float(stdev(counts)) if len(counts) > 1 else None,
            min=min(counts),
            max=max(counts),
            worst=worst,
            ratio_to_linux=None,
            microseconds={f"{clock} GHz": middle / (clock * 1000) for clock in CLOCKS},
            published=tuple(
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
                for beside in published.beside(case.operation, measure, place, case.implementation)
            ),
            verdict=Verdict(worst=worst, limit=budget.instructions, fits=worst <= budget.instructions)
            if judged and budget
            else None,
        )


def _with_ratios(rows: list[Row]) -> list[Row]:
    linux = {(row.variant, row.operation, row.measure): row.median for row in rows if row.place == "linux"}
    return [
        row
        if row.place == "linux" or (row.variant, row.operation, row.measure) not in linux
        else row.model_copy(update={"ratio_to_linux": row.median / linux[row.variant, row.operation, row.measure]})
        for row in rows
    ]


def _factors(rows: Iterable[Row]) -> Iterable[Factor]:
    medians = {
        (row.operation, row.measure, row.place, row.implementation, row.optimisation): row.median for row in rows
    }
    # Each kind changes one part of the key and keeps the rest.
    worlds = [("place", place, "linux") for place in ("ta", "client")]
    kinds: list[tuple[Literal["nist-optim", "world", "optimisation"], list[tuple[str, str, str]]]] = [
        ("nist-optim", [("implementation", "mbedtls", "mbedtls-nist")]),
        ("world", worlds),
        ("optimisation", [("optimisation", "Os", "O2")]),
    ]
    parts = ("operation", "measure", "place", "implementation", "optimisation")
    for kind, pairs in kinds:
        for part, numerator, denominator in pairs:
            at = parts.index(part)
            for key, value in medians.items():
                other = (*key[:at], denominator, *key[at + 1 :])
                if key[at] == numerator and other in medians:
                    yield Factor(
                        kind=kind,
                        operation=key[0],
                        measure=key[1],
                        place=key[2],
                        implementation=key[3],
                        optimisation=key[4],
                        numerator=numerator,
                        denominator=denominator,
                        value=value / medians[other],
                    )


def _budget_result(rows: list[Row], budget: Budget, whole: bool) -> BudgetResult:
    verdicts = [row.verdict for row in rows if row.verdict]
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


def in_reading_order(rows: Iterable[Row]) -> list[Row]:
    """Rows as people compare them: by operation and measure, then by variant, then by place."""
    listed = list(rows)
    operations = _ranks(row.operation for row in listed)
    measures = _ranks(row.measure for row in listed)

    def rank(row: Row) -> tuple[int, ...]:
        return (
            operations[row.operation],
            measures[row.measure],
            IMPLEMENTATIONS.index(row.implementation),
            OPTIMISATIONS.index(row.optimisation),
            PLACES.index(row.place),
        )

    return sorted(listed, key=rank)


def _ranks(names: Iterable[str]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(dict.fromkeys(names))}
