# SPDX-License-Identifier: BSD-2-Clause
"""What was typed after `worldwise explain` and `worldwise predict`: what to follow, how, and how to show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import click

from worldwise.base.units import parse_frequency
from worldwise.cli.common.options import TypedCall, TypedRecord
from worldwise.cli.traces.plugin_runs import Session
from worldwise.explain.layers import Rules
from worldwise.plan.case import Case, parse_case
from worldwise.predict import cores as known
from worldwise.report.predictions import CLOCK

EXPLAIN_FORMATS = ("table", "markdown", "json", "folded", "speedscope", "callgrind", "chrome", "flame")
PREDICT_FORMATS = ("text", "markdown", "csv", "json", "flame")
DIFFERENCE_FORMATS = ("table", "markdown", "json", "flame")
# These formats show any number of regions.
DOCUMENTS = ("table", "markdown")
# These show times of stretches.
_TIMED = (*DOCUMENTS, "json")
# These say which functions take the cycles, whatever is asked for.
_BY_FUNCTION = ("markdown", "json", "flame")
# Functions of a table, unless --top says.
_TOP = 15
# Instructions between two comparisons with the stack in memory.
_WITNESS = 10_000


@dataclass(frozen=True)
class NamedCases(TypedRecord):
    """The case, or the cases of a run or a suite, with the folders of the user's own libraries."""

    what: str
    wanted: tuple[str, ...]
    directories: tuple[Path, ...]
    samples: int
    warmup: int
    runs: Path

    def case(self, text: str) -> Case:
        """A case that was typed, with the calls that were. Raises WorldwiseError."""
        return parse_case(text, self.samples, self.warmup)


@dataclass(frozen=True)
class ExplainedRegion(TypedRecord):
    """Which region of a case: all measures, the outermost place and the median sample, unless they are named."""

    measure: str | None
    place: str | None
    index: int | None


@dataclass(frozen=True)
class Following(TypedRecord):
    """How the plugin follows a case."""

    fresh: bool
    inline: bool
    witness: bool

    def session(self, rules: Rules) -> Session:
        """The tools that follow it so."""
        return Session(rules, self.fresh, self.inline, _WITNESS if self.witness else 0)


@dataclass(frozen=True)
class InPlace(TypedRecord):
    """Questions that are answered in place of the tables."""

    diff: str | None
    why: str | None
    slow_down: bool
    vary: str | None


@dataclass(frozen=True)
class SourceWanted(TypedRecord):
    """The source of a function, with the count of each line."""

    annotate: str | None
    instructions: bool
    sources: tuple[Path, ...]


@dataclass(frozen=True)
class MaskedTimes(TypedRecord):
    """Predicted times of the stretches with interrupts masked."""

    cores: tuple[str, ...]
    clock: str | None

    def tables(self) -> Mapping[str, str]:
        """The tables of the cores. Raises WorldwiseError."""
        return known.tables(self.cores) if self.cores else {}

    def hertz(self) -> Fraction:
        """The clock of the times. Raises WorldwiseError."""
        return parse_frequency(self.clock) if self.clock else CLOCK


@dataclass(frozen=True)
class ExplainShown(TypedRecord):
    """How explanations are shown."""

    form: str
    output: Path | None
    full: bool
    top: int | None
    path: bool

    @property
    def functions(self) -> int:
        """The most functions of a table."""
        return self.top or _TOP


@dataclass(frozen=True)
class ExplainCall(TypedCall):
    """All that was typed after `worldwise explain`."""

    named: NamedCases
    region: ExplainedRegion
    following: Following
    instead: InPlace
    source: SourceWanted
    times: MaskedTimes
    shown: ExplainShown

    @property
    def first_alone(self) -> bool:
        """Whether to print the first screen alone: what asks for more than it has prints all."""
        shown = self.shown
        more = (shown.full, shown.top, shown.path, self.following.witness, shown.output)
        return shown.form == "table" and not any(more)

    def check(self) -> None:
        """Raises click.UsageError for options that do not go with one another."""
        instead, source, form = self.instead, self.source, self.shown.form
        if instead.vary:
            self._check_vary()
            return
        others = instead.diff or instead.why or instead.slow_down
        if source.annotate and (others or form not in DOCUMENTS):
            words = " and ".join(DOCUMENTS)
            raise click.UsageError(f"--annotate takes none of --diff, --why, --slow-down; its formats: {words}")
        if (source.instructions or source.sources) and not source.annotate:
            raise click.UsageError("--instructions and --source are for --annotate")
        if self.times.clock and not self.times.cores:
            raise click.UsageError("--clock is for --core")
        if self.times.cores and (others or source.annotate or form not in _TIMED):
            raise click.UsageError(
                f"--core takes none of --diff, --why, --annotate, --slow-down; its formats: {', '.join(_TIMED)}"
            )

    def _check_vary(self) -> None:
        region, following = self.region, self.following
        others = (
            *(self.instead.diff, self.instead.why, self.named.wanted, region.measure, region.place, self.times.cores),
            *(self.shown.path, following.inline, following.witness, region.index is not None),
        )
        if any(others):
            raise click.UsageError(
                "--vary takes a CASE, and of the options only --implementation, --top, --slow-down, --format, --output"
            )

    def check_difference_format(self) -> None:
        """Raises click.UsageError for a format that shows no difference, if one is asked for."""
        if self.instead.diff and self.shown.form not in DIFFERENCE_FORMATS:
            raise click.UsageError(
                f"--diff can be printed as {' or '.join(DIFFERENCE_FORMATS)}, not as {self.shown.form}"
            )


@dataclass(frozen=True)
class PredictedRegion(TypedRecord):
    """Which regions of a case: all of them, unless a measure or a place is named."""

    measure: str | None
    place: str | None


@dataclass(frozen=True)
class ModelOptions(TypedRecord):
    """What the models run through, on which cores, and what the cycles are judged by."""

    cores: tuple[str, ...]
    clock: str | None
    budget: str | None
    seeds: int
    whole: bool
    fresh: bool


@dataclass(frozen=True)
class BoardMemory(TypedRecord):
    """The memory of a board's code, in place of its own flash."""

    wait_states: int | None
    flash: str | None
    store_waits: int
    code_in: str | None

    def named(self) -> known.Flash | None:
        """The memory that was named; None for the board's flash at its clock. Raises click.UsageError."""
        if self.code_in == known.RAM:
            if self.flash is not None or self.wait_states is not None:
                raise click.UsageError(f"--memory {known.RAM} has neither --flash nor --wait-states: RAM never waits")
            return known.Flash(known.RAM, stores=self.store_waits)
        if self.flash is None and self.wait_states is None and self.code_in is None and not self.store_waits:
            return None
        return known.Flash(self.flash or "", self.wait_states, self.store_waits)


@dataclass(frozen=True)
class PredictShown(TypedRecord):
    """How predictions are shown."""

    form: str
    output: Path | None
    full: bool
    top: int

    @property
    def functions(self) -> bool:
        """Whether the functions that take the cycles are shown."""
        return self.full or self.form in _BY_FUNCTION


@dataclass(frozen=True)
class PredictCall(TypedCall):
    """All that was typed after `worldwise predict`."""

    named: NamedCases
    region: PredictedRegion
    model: ModelOptions
    memory: BoardMemory
    shown: PredictShown
