# SPDX-License-Identifier: BSD-2-Clause
"""What stands on a page: the parts of a run, ready for the template."""

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from worldwise.base.errors import WorldwiseError
from worldwise.base.output.safe_text import visible
from worldwise.base.tables import Section, Table, count, factor, ratio, section_name, spread
from worldwise.explain.explanation import Explanation
from worldwise.plan.case import Case
from worldwise.plan.suite import Suite, parse_suite
from worldwise.read.contests import Match, fullest, matches
from worldwise.read.models import Reading, Row
from worldwise.read.rows import differ, in_reading_order, whole_calls
from worldwise.read.run_counts import Samples
from worldwise.records.models import Sample
from worldwise.report.citation.components import UNIT, Component, included, libraries, samples_said, tools
from worldwise.report.contests import names
from worldwise.report.sections.counts import label
from worldwise.report.sections.tasks import contest, task_text, way_text
from worldwise.report.tables import task_of
from worldwise.run.folder.own_entries import libraries_of, stack_of
from worldwise.run.folder.rundir import Run

# The first screen shows the best and the worst of so many questions.
_MOST_CARDS = 4
# A row says the counts of its samples one by one if there are no more different ones.
_MOST_COUNTS = 8
# Samples this much over the median are named: as a share of it.
_FAR = 0.05
_MOST_FAR = 5
# The most columns that a table of variants side by side has on paper.
_MOST_VARIANTS = 12


@dataclass(frozen=True)
class Card:
    """The best and the worst of what several variants did: a card of the first screen."""

    title: str
    match: Match

    @property
    def best(self) -> Row:
        """A row with the fewest instructions."""
        return self.match.least()[0]

    @property
    def worst(self) -> Row:
        """A row with the most."""
        return self.match.most()[0]

    @property
    def best_name(self) -> str:
        """Who has the fewest, and how many equal it."""
        return names(self.match.least(), self._name)

    @property
    def worst_name(self) -> str:
        """Who has the most, and how many equal it."""
        return names(self.match.most(), self._name)

    def _name(self, row: Row) -> str:
        return way_text(row, self.match.rows)

    @property
    def times(self) -> str:
        """How many times the best's instructions the worst takes."""
        return ratio(self.match.times)


@dataclass(frozen=True)
class Traced:
    """A case of which the cache keeps a trace: an explanation of each measure, its tables, its flame graph as SVG."""

    explanation: Explanation
    sections: Sequence[Section]
    graph: str

    @property
    def height(self) -> int:
        """Of the graph, in pixels."""
        found = re.search(r'^<svg[^>]* height="(\d+)"', self.graph)
        return int(found[1]) if found else 600

    @property
    def name(self) -> str:
        """Its anchor."""
        return section_name("trace", self.explanation.case.id, self.explanation.measure)


@dataclass(frozen=True)
class Measurement:
    """A row of the table of all measurements, and its samples in words."""

    row: Row
    name: str
    best: str
    words: Sequence[str]
    counts: Sequence[int]

    @property
    def steps(self) -> list[int]:
        """The counts for the page's script: the least, then by how much each is more than the one before."""
        return [one - before for before, one in zip([0, *self.counts], self.counts, strict=False)]


def cards(reading: Reading) -> list[Card]:
    """The best and the worst, at the outermost place, of what most variants did; the widest first."""
    groups = matches(reading.rows, lambda row: (row.board or row.target, row.operation, row.measure, row.parameters))
    outermost = {id(row) for group in groups for row in whole_calls(group.rows)}
    found = matches((row for row in reading.rows if id(row) in outermost), contest)
    # What makes no difference has no best.
    several = [match for match in found if len(match.rows) > 1 and differ(match.rows)]
    # One of each operation and curve, of the size that most have: others are in the tables.
    several = fullest(several, _asked)
    several.sort(key=lambda match: (-len(match.rows), -match.most()[0].median))
    return [Card(_card_title(match.first), match) for match in several[:_MOST_CARDS]]


def _asked(row: Row) -> tuple[object, ...]:
    task = task_of(row)
    what = (task.action, task.curve) if task else (row.operation, row.measure, row.curve)
    return (row.board or row.target, row.place, *what)


def _card_title(row: Row) -> str:
    task = task_of(row)
    return f"{task_text(task) if task else label(row).replace(',', ', ')}, {row.board or row.target}, at {row.place}"


def measurements(reading: Reading, samples: Samples) -> list[Measurement]:
    """Every row, in reading order."""
    rivals = {id(row): match for match in matches(reading.rows, contest) for row in match.rows}
    found = []
    for row in in_reading_order(reading.rows):
        series = samples.get((row.case, row.measure, row.place), ())
        match = rivals[id(row)]
        # A row alone is the best of nothing.
        times = row.median / least if len(match.rows) > 1 and (least := match.least()[0].median) else None
        found.append(Measurement(row, label(row), ratio(times), _words(row, series), _counts(series)))
    return found


def _counts(series: Iterable[Sample]) -> list[int]:
    """The counts of the samples, the least first."""
    return sorted(one.count for one in series if one.phase == "sample")


def _words(row: Row, series: Sequence[Sample]) -> list[str]:
    """A row's samples in sentences: the first call, how the counts lie, which are far off and why."""
    first = f"The first call took {count(row.counts.first)}"
    if row.median:
        first += f", {factor(row.counts.first / row.median)} times the median"
    words = [f"{first}. Then came {row.counts.warmup:,} warm-up calls." if row.counts.warmup else f"{first}."]
    counts = list(Counter(_counts(series)).items())
    if not counts:
        return words
    if len(counts) == 1:
        words.append(f"Every sample took {count(counts[0][0])} instructions.")
    elif len(counts) <= _MOST_COUNTS:
        words.append(f"Counts: {'; '.join(f'{value:,} ({times:,} ×)' for value, times in counts)}.")
    else:
        words.append(f"{len(counts):,} different counts.")
    far = sorted(
        (one for one in series if one.phase == "sample" and one.count > (1 + _FAR) * row.median),
        key=lambda one: (-one.count, one.index),
    )
    usual = Counter(one.spans for one in series).most_common(1)[0][0] if series else None
    for one in far[:_MOST_FAR]:
        words.append(
            f"Sample {one.index} took {one.count:,}, {100 * (one.count / row.median - 1):.1f} % over the median: "
            + (
                f"it passed the measured region {one.spans} times, most samples {usual} times."
                if None not in (usual, one.spans) and one.spans != usual
                else "the records give no reason; `explain` with that index may find one."
            )
        )
    if len(far) > _MOST_FAR:
        words.append(f"{len(far) - _MOST_FAR:,} more samples are over the median by more than {100 * _FAR:g} %.")
    return words


def side_by_side(reading: Reading) -> list[Section]:
    """Medians with a column for each variant: a table for each target that has a few of them."""
    found = []
    for target in dict.fromkeys(row.target for row in in_reading_order(reading.rows)):
        rows = [row for row in in_reading_order(reading.rows) if row.target == target]
        variants = list(dict.fromkeys(row.variant for row in rows))
        lines: dict[tuple[str, str], dict[str, str]] = {}
        for row in rows:
            lines.setdefault((label(row), row.place), {})[row.variant] = count(row.median)
        if 1 < len(variants) <= _MOST_VARIANTS:
            cells = [[*key, *(medians.get(name, "-") for name in variants)] for key, medians in lines.items()]
            table = Table(["measure", "place", *(f"{name}\ninstr" for name in variants)], cells, 2)
            found.append(Section(f"Medians on {target}", table, name=section_name("variants", target)))
    return found


def includes_of(reading: Reading) -> list[str]:
    """What counts include, each text once."""
    return [visible(text) for text in dict.fromkeys(row.counts.includes for row in reading.rows)]


def rows_data(reading: Reading, measured: Iterable[Measurement]) -> list[list[Any]]:
    """The rows for the page's script: what to compare, and which of `includes_of` each includes."""
    texts = includes_of(reading)
    return [
        [
            visible(one.row.target),
            visible(one.row.variant),
            visible(one.name),
            one.row.place,
            one.row.median,
            one.row.counts.first,
            texts.index(visible(one.row.counts.includes)),
        ]
        for one in measured
    ]


def made(reading: Reading) -> list[str]:
    """How each number was made, in sentences."""
    lines = [f"{UNIT}. The same lab gives the same digits on every machine."]
    if reading.rows:
        lines.append(f"Statistics are over {samples_said(reading.rows)}.")
    lines += [f"{text}." for text in included(reading.rows)]
    return [*lines, *filter(None, (reading.assumption, reading.published_reason))]


def software(reading: Reading) -> Sequence[Component]:
    """What was measured, and what measured it."""
    return [*libraries(reading), *tools(reading)]


def command(run: Run) -> str:
    """The command that measures the same again, from the run's own copy of the suite."""
    words = ["./worldwise", "run", run.manifest.suite]
    chosen, wanted = _filters(run)
    for option, wanted_names in chosen:
        for name in wanted_names:
            words += [option, name]
    for own in libraries_of(run):
        words += ["--implementation", f"FOLDER-OF-{own.name.upper()}"]
    if stack_of(run):
        words += ["--stack", "FILE"]
    if run.manifest.samples:
        words += ["--samples", str(run.manifest.samples)]
    if run.manifest.budget:
        budget = run.manifest.budget
        words += ["--budget", f"{budget.limit}@{budget.clock}".replace(" ", "")]
    text = " ".join(map(shlex.quote, words))
    return text if wanted else f"{text}  # and of its cases those listed below"


def _filters(run: Run) -> tuple[list[tuple[str, list[str]]], bool]:
    """The options that choose the run's cases from its suite, and whether they choose just these."""
    try:
        suite: Suite = parse_suite(run.suite_text(), str(run.path / "suite.toml"))
    except WorldwiseError:
        # A suite with a library of the user's own can be read only where that library is.
        return [], not run.manifest.own
    wanted = set(run.manifest.cases)
    if {case.id for case in suite.cases} == wanted:
        return [], True
    cases: list[Case] = [case for case in suite.cases if case.id in wanted]
    kinds = ("target", "variant", "operation", "curve")
    found = []
    for number in range(1, len(kinds) + 1):
        for chosen in itertools.combinations(kinds, number):
            names = {kind: list(dict.fromkeys(getattr(case, kind) for case in cases)) for kind in chosen}
            kept = {case.id for case in suite.cases if all(getattr(case, kind) in names[kind] for kind in chosen)}
            if kept == wanted and all(map(all, names.values())):
                found.append([(f"--{kind}", listed) for kind, listed in names.items()])
    # The one with the fewest words.
    shortest = min(found, key=lambda options: sum(len(names) for _, names in options), default=None)
    return shortest or [], shortest is not None


def machines(run: Run) -> Table:
    """How each case went."""
    rows = []
    for case_id in run.manifest.cases:
        case = run.case(case_id)
        if case is None:
            rows.append([case_id, "not measured", "", "", "", ""])
            continue
        rows.append(
            [
                case_id,
                case.state,
                case.start,
                case.reused_from or "measured in this run",
                f"{case.wall_seconds:.1f}",
                case.digest[:16],
            ]
        )
    return Table(["case", "state", "machine from", "result", "host's time\ns", "digest"], rows, 4, (5,))


def commands(run: Run) -> list[tuple[str, str]]:
    """The emulator's command lines: each with the first case that it was used for."""
    found: dict[str, str] = {}
    for case in run.complete_cases():
        found.setdefault(shlex.join(case.command), case.id)
    return [(case_id, line) for line, case_id in found.items()]


def statistics(row: Row) -> Sequence[tuple[str, str]]:
    """The figures of a row: header -> cell."""
    return (
        ("median\ninstr", count(row.median)),
        ("first call\ninstr", count(row.counts.first)),
        ("min\ninstr", count(row.counts.min)),
        ("max\ninstr", count(row.counts.max)),
        ("stdev\ninstr", spread(row.counts.stdev)),
        ("n", count(row.counts.n)),
    )
