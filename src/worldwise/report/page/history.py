# SPDX-License-Identifier: BSD-2-Clause
"""What became of a case's counts from run to run: exact steps, each with what changed between the two runs."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base.tables import Section, Table, count, factor, signed
from worldwise.explain.differences import function_changes
from worldwise.explain.explanation import Explanation
from worldwise.read.models import Reading, Row
from worldwise.report.drawing.vega import Chart
from worldwise.report.page.charts import over_runs

# Figures that are drawn: those with the largest steps.
_MOST_FIGURES = 8
# Functions that a step names.
_MOST_FUNCTIONS = 3


@dataclass(frozen=True)
class HistoryRun:
    """A run as history sees it.

    Attributes:
        reading: what was read of it.
        own: the SHA-256 of the files of each library of the user's own.
        explanations: those of kept traces, by case and measure.
    """

    reading: Reading
    own: Mapping[str, str] = field(default_factory=dict)
    explanations: Mapping[tuple[str, str], Explanation] = field(default_factory=dict)


@dataclass(frozen=True)
class HistoryStep:
    """Two runs, one after the other, that counted otherwise."""

    before: HistoryRun
    after: HistoryRun
    old: Row
    new: Row

    @property
    def changed(self) -> str:
        """What differs between the two runs."""
        first, second = self.before.reading.run, self.after.reading.run
        name = self.new.implementation
        pairs = (
            ("library", self.before.own.get(name, "")[:12], self.after.own.get(name, "")[:12]),
            ("lab", first.lab[:12], second.lab[:12]),
            ("worldwise", _revision(self.before), _revision(self.after)),
        )
        found = [f"{what} {old or '-'} -> {new or '-'}" for what, old, new in pairs if old != new]
        return "; ".join(found) or "nothing that a run records"

    @property
    def functions(self) -> str:
        """The functions that caused it, if both runs have a trace of the case."""
        key = (self.new.case, self.new.measure)
        old, new = self.before.explanations.get(key), self.after.explanations.get(key)
        if old is None or new is None:
            return "no traces of both"
        changes = [one for one in function_changes(old, new) if one.difference][:_MOST_FUNCTIONS]
        return "; ".join(f"{one.name} {one.difference:+,}" for one in changes) or "none in these samples"


def sections(runs: Sequence[HistoryRun]) -> list[Section]:
    """The history of every figure that two runs or more have, the oldest run first: steps, then first and last."""
    series = {key: found for key, found in _series(runs).items() if len(found) > 1}
    if not series:
        return []
    steps = [step for found in series.values() for step in _steps(found)]
    headers = ["case", "measure", "place", "from run", "to run", "before\ninstr", "after\ninstr", "change\ninstr"]
    headers += ["what changed", "functions"]
    cells = [
        [
            *(step.new.case, step.new.measure, step.new.place),
            *(step.before.reading.run.id, step.after.reading.run.id),
            *(count(step.old.median), count(step.new.median), signed(step.new.median - step.old.median)),
            *(step.changed, step.functions),
        ]
        for step in steps
    ]
    table = Table(headers, cells, 5, (8, 9)) if cells else None
    words = f"{len(steps):,} steps in {len(series):,} figures. Counts have no noise: every difference has a cause."
    return [
        Section("Steps", table, [words], "steps"),
        Section("First and last", _ends(series), [], "ends"),
    ]


Key = tuple[str, str, str, int, int]
Series = Mapping[Key, Sequence[tuple[HistoryRun, Row]]]


def _series(runs: Iterable[HistoryRun]) -> Series:
    """The rows of each case, measure, place and number of calls, in the order of the runs.

    Runs of other numbers of samples have other statistics of the same counts.
    """
    found: dict[Key, list[tuple[HistoryRun, Row]]] = {}
    for run in runs:
        for row in run.reading.rows:
            found.setdefault((row.case, row.measure, row.place, row.counts.n, row.counts.warmup), []).append((run, row))
    return found


def _steps(found: Sequence[tuple[HistoryRun, Row]]) -> Iterable[HistoryStep]:
    for (before, old), (after, new) in itertools.pairwise(found):
        if _figures(old) != _figures(new):
            yield HistoryStep(before, after, old, new)


def _figures(row: Row) -> tuple[float, ...]:
    return row.counts.first, row.median, row.counts.mean, row.counts.min, row.counts.max


def _ends(series: Series) -> Table:
    cells = []
    for (case, measure, place, n, _), found in series.items():
        first, last = found[0][1].median, found[-1][1].median
        cells.append(
            [
                *(case, measure, place, count(n), str(len(found)), count(first), count(last)),
                factor(last / first) if first else "-",
                str(len(list(_steps(found)))),
            ]
        )
    headers = ["case", "measure", "place", "n", "runs", "first\ninstr", "last\ninstr", "last /\nfirst", "steps"]
    return Table(headers, cells, 3)


def figures(runs: Sequence[HistoryRun]) -> list[Chart]:
    """The medians over the runs, of the figures with the largest steps."""
    moved = [(key, found) for key, found in _series(runs).items() if list(_steps(found))]
    moved.sort(key=lambda item: -max(_size(step) for step in _steps(item[1])))
    return [
        over_runs(
            f"{case}: {measure} at {place}",
            [(run.reading.run.id, _revision(run), row.median) for run, row in found],
            [step.after.reading.run.id for step in _steps(found)],
        )
        for (case, measure, place, _, _), found in moved[:_MOST_FIGURES]
    ]


def _size(step: HistoryStep) -> float:
    return abs(step.new.median - step.old.median) / max(step.old.median, 1)


def _revision(run: HistoryRun) -> str:
    return run.reading.run.git[:13] or run.reading.run.worldwise
