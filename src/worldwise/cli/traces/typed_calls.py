# SPDX-License-Identifier: BSD-2-Clause
"""What was typed after `explain`, `diff`, `vary` and `predict`: what to follow, how, and how to show it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click

from worldwise.base.units import parse_frequency
from worldwise.cli.common.options import TypedCall, TypedRecord, number_option
from worldwise.cli.traces.plugin_runs import (
    Session,
    cases_of_run,
    is_case,
    measures_of,
    open_named,
    outermost,
    with_own,
)
from worldwise.explain.explanation import Explanation
from worldwise.explain.layers import Rules
from worldwise.explain.owners import Explainer
from worldwise.plan.case import Case, parse_case
from worldwise.plan.suite_file.tables import MAX_SAMPLES, MAX_WARMUP
from worldwise.predict import cores as known
from worldwise.records.models import Sample
from worldwise.report.predictions import CLOCK
from worldwise.run.folder.rundir import Run

EXPLAIN_FORMATS = ("table", "markdown", "json", "folded", "speedscope", "callgrind", "chrome", "flame")
PREDICT_FORMATS = ("text", "markdown", "csv", "json", "flame")
DIFFERENCE_FORMATS = ("table", "markdown", "json", "flame")
VARY_FORMATS = ("table", "markdown", "json")
# These formats show any number of regions.
DOCUMENTS = ("table", "markdown")
# Where the first screen alone is printed.
MORE = "All tables: the same command with --full."
# These show times of stretches.
_TIMED = (*DOCUMENTS, "json")
# These say which functions take the cycles, whatever is asked for.
_BY_FUNCTION = ("markdown", "json", "flame")
# Functions of a table, unless --top says.
_TOP = 15
_Command = TypeVar("_Command", bound=Callable[..., Any])

# The rare options of `followed_options`, as `--help-all` lists them.
RARE_FOLLOWED = ("samples", "warmup", "fresh", "runs", "locked")


def case_option(command: _Command) -> _Command:
    """`--case PATTERN`, of a run."""
    words = "Only the cases of the run that match."
    return click.option("--case", "wanted", multiple=True, metavar="PATTERN", help=words)(command)


def implementation_option(words: str) -> Callable[[_Command], _Command]:
    """`--implementation DIR`."""
    path = click.Path(path_type=Path)
    return click.option("--implementation", "directories", multiple=True, metavar="DIR", type=path, help=words)


def region_options(command: _Command) -> _Command:
    """`--measure`, `--place` and `--index`: the fields of ExplainedRegion."""
    for option in (
        click.option("--index", type=click.IntRange(0), metavar="N", help="This sample.  [default: the median one]"),
        click.option(
            "--place", metavar="NAME", help="Where it is measured: ta, client, linux, mcu.  [default: the outermost]"
        ),
        click.option("--measure", metavar="NAME", help="Only this measure, such as sign.  [default: all]"),
    ):
        command = option(command)
    return command


def followed_options(command: _Command) -> _Command:
    """`--samples`, `--warmup`, `--inline` and `--fresh`: which calls the plugin follows, and how."""
    for option in (
        click.option("--fresh", is_flag=True, help="Run it again, even if the cache keeps an equal trace."),
        click.option(
            "--inline", is_flag=True, help="Show functions that the compiler put into others, where DWARF has them."
        ),
        number_option("--warmup", click.IntRange(0, MAX_WARMUP), 1, "Warm-up calls of a CASE."),
        number_option("--samples", click.IntRange(1, MAX_SAMPLES), 3, "Samples of a CASE."),
    ):
        command = option(command)
    return command


def shown_options(command: _Command) -> _Command:
    """`--full` and `--top`: how much is shown."""
    for option in (
        click.option("--top", type=click.IntRange(1), metavar="N", help="Functions shown, of all tables; else 15."),
        click.option("--full", is_flag=True, help="Print all tables, not the first screen alone."),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Chosen(TypedRecord):
    """Which cases of a run, which calls of a case, and the folders of the user's own libraries."""

    wanted: tuple[str, ...]
    directories: tuple[Path, ...]
    samples: int
    warmup: int
    runs: Path

    def case(self, text: str) -> Case:
        """A case that was typed, with the calls that were. Raises WorldwiseError."""
        return parse_case(text, self.samples, self.warmup)


@dataclass(frozen=True)
class NamedCases(Chosen):
    """The case, or the run or suite whose cases are meant."""

    what: str

    def cases(self) -> list[tuple[Case, Run | None]]:
        """The case that is named, or those of the run, each with the run. Raises WorldwiseError."""
        if is_case(self.what):
            return [(self.case(self.what), None)]
        run = open_named(self.what, self.runs)
        with_own(run, self.directories)
        return cases_of_run(run, self.wanted)


@dataclass(frozen=True)
class TwoSides(Chosen):
    """Two cases, or two runs."""

    before: str
    after: str


@dataclass(frozen=True)
class ExplainedRegion(TypedRecord):
    """Which region of a case: all measures, the outermost place and the median sample, unless they are named."""

    measure: str | None
    place: str | None
    index: int | None

    def samples(self, explainer: Explainer) -> list[Sample]:
        """One of each measure that is asked for. Raises WorldwiseError for one that the case lacks."""
        return [
            explainer.sample(name, self.place or outermost(places), self.index)
            for name, places in measures_of(explainer.case, self.measure).items()
        ]

    def explanations(self, explainer: Explainer) -> list[Explanation]:
        """One of each measure that is asked for. Raises WorldwiseError as `samples` does."""
        return [explainer.explain(sample) for sample in self.samples(explainer)]


@dataclass(frozen=True)
class Following(TypedRecord):
    """How the plugin follows a case."""

    fresh: bool
    inline: bool

    def session(self, rules: Rules) -> Session:
        """The tools that follow it so."""
        return Session(rules, self.fresh, self.inline)


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
class TracesShown(TypedRecord):
    """How what traces say is shown."""

    form: str
    output: Path | None
    full: bool
    top: int | None

    @property
    def functions(self) -> int:
        """The most functions of a table."""
        return self.top or _TOP

    @property
    def first_alone(self) -> bool:
        """Whether to print the first screen alone: what asks for more than it has prints all."""
        return self.form == "table" and not (self.full or self.top or self.output)


@dataclass(frozen=True)
class ExplainShown(TracesShown):
    """How explanations are shown."""

    path: bool
    why: str | None

    @property
    def first_alone(self) -> bool:
        """As of TracesShown; the path of a call is not on the first screen."""
        return super().first_alone and not self.path


@dataclass(frozen=True)
class ExplainCall(TypedCall):
    """All that was typed after `worldwise explain`."""

    named: NamedCases
    region: ExplainedRegion
    following: Following
    source: SourceWanted
    times: MaskedTimes
    shown: ExplainShown

    def check(self) -> None:
        """Raises click.UsageError for options that do not go with one another."""
        source, form, why = self.source, self.shown.form, self.shown.why
        if source.annotate and (why or form not in DOCUMENTS):
            words = " and ".join(DOCUMENTS)
            raise click.UsageError(f"--annotate excludes --why; its formats: {words}")
        if (source.instructions or source.sources) and not source.annotate:
            raise click.UsageError("--instructions and --source are for --annotate")
        if self.times.clock and not self.times.cores:
            raise click.UsageError("--clock is for --core")
        if self.times.cores and (why or source.annotate or form not in _TIMED):
            raise click.UsageError(f"--core excludes --why and --annotate; its formats: {', '.join(_TIMED)}")


@dataclass(frozen=True)
class DiffCall(TypedCall):
    """All that was typed after `worldwise diff`."""

    sides: TwoSides
    region: ExplainedRegion
    following: Following
    shown: TracesShown


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
