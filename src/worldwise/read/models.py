# SPDX-License-Identifier: BSD-2-Clause
"""The parts of a reading: rows, factors, verdicts, and the cases that were not measured."""

from typing import Any, ClassVar, Literal

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from worldwise.base.units import INSTRUCTIONS, Unit
from worldwise.lab import lock_differences
from worldwise.plan.case import Case, parameters_of
from worldwise.read.family_fields import Footprint, Nested, Result, WithParts, without_empty
from worldwise.read.published import Figure
from worldwise.records.model_predictions import Predicted

FORMAT: Literal[4] = 4

# Clocks in GHz at which counts are shown as time, as if a core finished one instruction in each cycle.
CLOCKS = (1.0, 1.5, 1.8, 2.0, 2.5)
CLOCK_ASSUMPTION = (
    "Times assume one instruction per cycle on a Cortex-A72 at the named clock. They are not measured: a "
    "real core does more than one, or less, and caches and memory have their say."
)

FactorKind = Literal["nist-optim", "crypto-extension", "world", "optimisation"]


class PublishedFigure(Result):
    """Someone else's figure beside a row. `ratio` is our mean divided by it."""

    source: str
    value: float
    unit: str
    instructions: float
    statistic: str
    conditions: str
    note: str
    ratio: float


class Verdict(Result):
    """A row against the budget: its worst call, the first one included."""

    worst: int
    limit: int
    fits: bool


class CaseFields(Result):
    """What a row says of its case."""

    case: str
    target: str
    board: str
    implementation: str
    optimisation: str
    variant: str
    operation: str
    parameters: str
    curve: str
    size: int | None
    chunk: int | None
    calls: int

    @property
    def given(self) -> dict[str, str]:
        """The parameters by key."""
        return parameters_of(self.parameters)


def fields_of(case: Case) -> dict[str, Any]:
    """The CaseFields of a case."""
    others = {"case": case.id, "parameters": case.parameter_text, "calls": case.spans}
    return {name: others[name] if name in others else getattr(case, name) for name in CaseFields.model_fields}


class RowCounts(Nested):
    """The figures of a row, and what they include.

    `stdev` is None of one sample, which has no spread: that is not the same as a spread of 0. `worst` is the greatest
    of all calls, the first included.
    """

    unit: Unit
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


class References(Nested):
    """What a row's counts stand against: the same in plain Linux, clocks, other people's figures, the budget."""

    ratio_to_linux: float | None
    microseconds: dict[str, float]
    published: tuple[PublishedFigure, ...]
    published_gap: str
    verdict: Verdict | None
    samples: tuple[int, ...] = ()


class Row(CaseFields, WithParts):
    """One measure of one case at one place. Counts are in `unit`; statistics are over the n samples.

    `parameters` are those of the case as its id has them, `size` and `chunk` of them in bytes; `calls` is how many
    calls of the TA a message takes. `board` is a board's name, `curve` the case's parameter; both are empty elsewhere.
    `published_gap` is the text that a published table has in place of a figure.

    `microseconds` are by clock: the clocks of CLOCKS, or the board's own. `samples` are the counts of all n, in order;
    it is set only where a published table has single runs of the same. `core` is that of a Linux host which was
    measured, in words. `parts` are the fields that single families add.
    """

    OF: ClassVar = "of_row"
    KEYS: ClassVar = (
        *("case", "target", "board", "implementation", "optimisation", "variant", "operation", "parameters", "curve"),
        *("size", "chunk", "calls", "runs", "measure", "place", "unit", "includes", "n", "warmup", "first", "median"),
        *("mean", "stdev", "min", "max", "worst", "ratio_to_linux", "rank", "stack", "heap", "flash", "ram"),
        *("ta_loaded", "ta_file", "clock_mhz", "microseconds", "published", "published_gap", "verdict", "samples"),
    )

    measure: str
    place: str
    counts: RowCounts
    against: References
    core: str = Field(default="", exclude=True)

    @property
    def median(self) -> float:
        """The median of its counts, which most tables are made of."""
        return self.counts.median

    @property
    def footprint(self) -> Footprint:
        """The memory that it takes."""
        return self.part(Footprint)


class Factor(Result):
    """How many times as many instructions one side takes as the other, by their medians; `board` as in a row."""

    kind: FactorKind
    board: str
    operation: str
    parameters: str
    measure: str
    place: str
    implementation: str
    optimisation: str
    numerator: str
    denominator: str
    value: float


class BudgetResult(Result):
    """The whole budget: `fits` is None when nothing exceeds it but not all of it was measured."""

    limit: str
    clock: str
    instructions: int
    measures: tuple[str, ...]
    place: str
    judged: int
    exceeded: int
    fits: bool | None


class Attempt(Result):
    """One attempt of a campaign, as observed: `outcome` in docs/how/format.md. `at` is in instructions."""

    case: str
    operation: str
    parameters: str
    what: str
    result: str
    detail: str
    at: int | None

    @property
    def given(self) -> dict[str, str]:
        """The parameters by key."""
        return parameters_of(self.parameters)


class FailedCase(Result):
    """A case that ended with an error."""

    case: str
    error: str


class NotAvailable(Result):
    """What was asked of a board and is unavailable, and why, for every optimisation and size.

    `target` is the board; `curve` is empty for an operation that needs none.
    """

    target: str
    implementation: str
    curve: str
    operation: str
    reason: str


class HostCase(Result):
    """A measure of a case on a Linux host, besides its counts.

    Of its `calls`, the first and the warm-up included, in `switched` another task had the processor, `migrated` ended
    on another processor, and in `clocked` the processor's clock changed. `instructions` is the median of the samples by
    the processor's own counter, `emulated` that of the same program on QEMU, and `differing` says in how many of the
    samples the two are not equal; they are None where nothing counts them.
    """

    case: str
    measure: str
    calls: int
    switched: int
    migrated: int
    clocked: int
    instructions: float | None
    emulated: float | None
    differing: int | None


class Drawn(Result):
    """How far a row's median depends on what was drawn: the least and the most of so many draws' medians."""

    case: str
    measure: str
    place: str
    draws: int
    median: float
    least: float
    most: float


class Interrupted(Result):
    """A row of a machine as it is shipped: the median of its own path, and what was executed beside it in each call.

    `added` and `most` are the median and the most of the calls: the count as it is shipped less the own path of the
    same call. `own_first` is the own path of the first call.
    """

    case: str
    measure: str
    place: str
    own_first: int
    own: float
    added: float
    most: int


class RunSummary(Result):
    """The run that was read, and the versions that made it; `chip_clock` is how its board's clock was set, in words.

    `drift` is what its lab has for what the lock names, `linux 6.12.57 for 6.12.48`, and `stack` what the user's own
    stack has for the lab's, `OP-TEE CFG_NUM_THREADS=4`; JSON has them if there are any.
    """

    id: str
    suite: str
    title: str
    state: str
    started: str
    worldwise: str
    git: str
    lab: str
    packages: dict[str, str]
    chip_clock: str = Field(default="", exclude=True)
    drift: tuple[str, ...] = ()
    stack: tuple[str, ...] = ()
    seed: int = Field(default=0, exclude=True)
    as_shipped: bool = Field(default=False, exclude=True)

    @property
    def settings(self) -> str:
        """What differs from a run without options, in sentences; empty if nothing does."""
        words = [self.stacked] if self.stack else []
        words += [f"Inputs of seed {self.seed}."] if self.seed else []
        words += ["The machine is as it is shipped: with interrupts, and with Linux's random stack offset."] * (
            self.as_shipped
        )
        return " ".join(words)

    @property
    def stacked(self) -> str:
        """What the user's own stack has for the lab's, as a sentence; empty for the lab's."""
        return f"The stack is not the lab's: {', '.join(self.stack)}." if self.stack else ""

    @property
    def differs(self) -> str:
        """That its lab differs from the lock, and in what, without a full stop; empty if it does not."""
        return lock_differences.sentence(self.drift)

    @model_serializer(mode="wrap")
    def _without_no_drift(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_empty(handler(self), "drift", "stack")


class Reading(WithParts):
    """Everything that the lens reads in a run; every report is made from this.

    `published_table` are all figures of the suite's source, if they stand in tables of their own shape. `parts` are the
    readings of single families. `predictions` are the run's, one of each core, as it keeps them; reports say what they
    are worth. `hosted` and `measured_on` are of a run that measured a Linux host: its cases, and what it is.
    """

    OF: ClassVar = "of_reading"
    KEYS: ClassVar = (
        *("format", "run", "rows", "factors", "hashing", "attempts", "host", "clocks", "assumption"),
        *("board_assumption", "published_reason", "published_table", "budget", "failed", "missing", "unavailable"),
        "recommended",
    )

    format: Literal[4]
    run: RunSummary
    rows: tuple[Row, ...]
    factors: tuple[Factor, ...]
    attempts: tuple[Attempt, ...]
    assumption: str
    published_reason: str
    published_table: tuple[Figure, ...] = ()
    budget: BudgetResult | None
    failed: tuple[FailedCase, ...]
    missing: tuple[str, ...]
    unavailable: tuple[NotAvailable, ...]
    predictions: tuple[Predicted, ...] = Field(default=(), exclude=True)
    hosted: tuple[HostCase, ...] = Field(default=(), exclude=True)
    measured_on: dict[str, JsonValue] = Field(default={}, exclude=True)
    inputs: tuple[Drawn, ...] = Field(default=(), exclude=True)
    interrupts: tuple[Interrupted, ...] = Field(default=(), exclude=True)

    @property
    def unit(self) -> Unit:
        """What the run counts: all its rows the same."""
        return self.rows[0].counts.unit if self.rows else INSTRUCTIONS
