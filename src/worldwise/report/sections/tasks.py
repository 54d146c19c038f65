# SPDX-License-Identifier: BSD-2-Clause
"""What a client of the TEE waits for, by what it has done: all families' ways of doing the same stand in one table."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from worldwise.base.tables import Section, Table, count
from worldwise.base.units import FREQUENCIES, parse_duration, quantity_text, size_text
from worldwise.plan.catalogue import parameters
from worldwise.read.contests import Match, alike, matches
from worldwise.read.family_fields import Recommended
from worldwise.read.models import BudgetResult, Reading, Row
from worldwise.report.predictions import lines_of
from worldwise.report.row_words import claim, is_permissive, licence_text
from worldwise.report.sections.counts import tee_rows
from worldwise.report.surprises import (
    clock_text,
    cold_surprises,
    milliseconds,
    published_surprises,
    spread_surprises,
)
from worldwise.report.tables import Group, ScreenAnswer, Task, task_of

SECTION = "ways"
_CURVES = {"secp256r1": "P-256", "ed25519": "Ed25519", "x25519": "X25519"}
# The order of tasks: what a suite recommends comes first, then what is done most often.
_ACTIONS = ("sign", "verify", "keygen", "ecdh", "digest")
_WORDS = {"digest": "SHA-256", "ecdh": "ECDH"}
_PLACE = "client"


@dataclass(frozen=True)
class TaskWay:
    """One way of having a task done, as the client sees it.

    Attributes:
        task: what is done.
        row: its figures.
        rank: its place among all ways of the task by the median; equals share the better one.
        of: how many ways the run has.
        recommended: whether the suite recommends it.
        leading: whether it has the fewest instructions, or the fewest of those under a permissive licence.
    """

    task: Task
    row: Row
    rank: int
    of: int
    recommended: bool
    leading: bool

    def text(self, beside: Sequence["TaskWay"]) -> str:
        """The way in words; `beside` has the other ways of its task."""
        return way_text(self.row, [way.row for way in beside if way.task == self.task])


def contest(row: Row) -> Hashable:
    """What rows must have in common to be compared: the task at one place of one target, if a family knows the task."""
    task = task_of(row)
    return (task, row.target, row.place) if task else alike()(row)


def ways(reading: Reading) -> list[TaskWay]:
    """All ways of all tasks of the run at the client, by task, the fewest instructions first."""
    rows = [row for row in tee_rows(reading) if row.place == _PLACE]
    tasks = {id(row): task for row in rows if (task := task_of(row))}
    named = reading.part(Recommended).recommended
    first = next((tasks[id(row)] for row in rows if row.case == named and id(row) in tasks), None)
    found = matches((row for row in rows if id(row) in tasks), lambda row: tasks[id(row)])
    found.sort(key=lambda match: _order(tasks[id(match.first)], first))
    return [way for match in found for way in _ways(match, tasks, named)]


def _ways(match: Match, tasks: Mapping[int, Task], named: str) -> list[TaskWay]:
    ranked = match.ranked()
    permissive = [row for row in ranked if is_permissive(row.implementation, row.curve)]
    leading = [*match.least(), *(Match(tuple(permissive)).least() if permissive else ())]
    return [
        TaskWay(
            tasks[id(row)],
            row,
            1 + sum(other.median < row.median for other in ranked),
            len(ranked),
            row.case == named,
            any(row is other for other in leading),
        )
        for row in ranked
    ]


def _order(task: Task, first: Task | None) -> tuple[object, ...]:
    action = _ACTIONS.index(task.action) if task.action in _ACTIONS else len(_ACTIONS)
    return (task != first, task.curve != "secp256r1", task.curve, -(task.size or 0), action)


@dataclass(frozen=True)
class Time:
    """A predicted time of a warm call: cycles on a core, with the interval, at a clock in Hz."""

    core: str
    hertz: Fraction
    cycles: int
    low: int
    high: int

    @property
    def text(self) -> str:
        """`0.16 (0.13-0.31)`: milliseconds, and the interval."""
        typical, low, high = (float(1000 * cycles / self.hertz) for cycles in (self.cycles, self.low, self.high))
        return f"{typical:,.2f} ({low:,.2f}-{high:,.2f})"


# By case and measure.
Times = Mapping[tuple[str, str], Time]


def leading(reading: Reading) -> list[Row]:
    """The rows for which a screen has predicted times: the recommended way and the leading ones of each task.

    None if the suite recommends nothing: predicting takes seconds, and only such a suite asks what a product takes.
    """
    found = ways(reading)
    if not any(way.recommended for way in found):
        return []
    return [way.row for way in found if way.recommended or way.leading]


def kept_times(reading: Reading) -> Times:
    """The times that the run itself keeps, of `run --predict`."""
    return {
        (line.case.id, one.sample.measure): Time(one.core, line.hertz, one.cycles, one.whole.low, one.whole.high)
        for line in lines_of(reading)
        if (one := line.estimate).state == "warm" and one.sample.place == _PLACE
    }


def answers(reading: Reading, times: Times) -> list[ScreenAnswer]:
    """The answer, in a list; none if no client was measured. `times` are of some of its rows."""
    found = ways(reading)
    if not found:
        return []
    curves = {way.task.curve for way in found}
    cells = [_cells(way, found, len(curves) > 1, reading, times) for way in found]
    headers = ["task", "way", "\nrank", "licence", "median\ninstr", f"worst, ms\nat {clock_text(reading)}"]
    headers += ["predicted\nms"] if times else []
    name = _CURVES.get(next(iter(curves)), "") if len(curves) == 1 else ""
    rows = [way.row for way in found]
    return [
        ScreenAnswer(
            "What a client of the TEE waits for" + (f": {name}" if name else ""),
            Table(headers, cells, 2),
            _verdict(found, times, reading.budget),
            (*cold_surprises(rows), *spread_surprises(rows), *published_surprises(tee_rows(reading))),
            (SECTION,),
            importance(found),
            # The section has them.
            optional=(2, 5, 3),
            rank=20,
        )
    ]


def case_lines(reading: Reading, case: str) -> list[str]:
    """What a client waits for by a case, a line for each task: the median, the worst call and the verdict on it."""
    found = ways(reading)
    lines = []
    for way in (way for way in found if way.row.case == case):
        row = way.row
        words = f"{task_text(way.task)} by {way.text(found)}: a client waits for {count(row.median)} {row.counts.unit}"
        words += f", at worst {milliseconds(row.counts.worst, reading)} ms at {clock_text(reading)}"
        if row.against.verdict and reading.budget:
            words += f": {'fits' if row.against.verdict.fits else 'exceeds'} {reading.budget.limit}"
        lines.append(words)
    return lines


def _cells(way: TaskWay, found: Sequence[TaskWay], several: bool, reading: Reading, times: Times) -> list[str]:
    row = way.row
    time = times.get((row.case, row.measure))
    return [
        task_text(way.task, several),
        way.text(found) + (" *" if way.recommended else ""),
        f"{way.rank}/{way.of}",
        licence_text(row.implementation, row.curve),
        count(row.median),
        milliseconds(row.counts.worst, reading),
        *([time.text if time else "-"] if times else []),
    ]


def _verdict(found: Sequence[TaskWay], times: Times, budget: BudgetResult | None) -> str:
    words = []
    if named := next((way.row for way in found if way.recommended), None):
        words.append(f"* recommended: {named.case.partition('/')[2]}.")
    if one := next(iter(times.values()), None):
        clock = quantity_text(one.hertz, FREQUENCIES)
        words.append(
            f"Predicted: a warm call on a {one.core} at {clock} by a model of the core, in brackets its interval."
        )
        if budget:
            words.append(_predicted_verdict(found, times, budget))
    return " ".join(words)


def _predicted_verdict(found: Sequence[TaskWay], times: Times, budget: BudgetResult) -> str:
    """What fits by prediction: with its whole interval, with none of it, or undecided."""
    verdicts: dict[str, list[str]] = {}
    for way in found:
        if time := times.get((way.row.case, way.row.measure)):
            limit = time.hertz * parse_duration(budget.limit)
            said = "fits" if time.high <= limit else "does not fit" if time.low > limit else "undecided"
            verdicts.setdefault(said, []).append(f"{task_text(way.task, False)} by {way.text(found)}")
    return (
        f"Of {budget.limit} by prediction: "
        + "; ".join(f"{said}: {', '.join(of)}" for said, of in verdicts.items())
        + "."
    )


def importance(found: Sequence[TaskWay]) -> tuple[int, ...]:
    """First the recommended way and the leading ones of each task, then the other ways of the first task."""
    first = found[0].task

    def tier(way: TaskWay) -> int:
        return 0 if way.recommended or way.leading else 1 if way.task == first else 2

    order = sorted(range(len(found)), key=lambda number: (tier(found[number]), number))
    ranks = [0] * len(found)
    for rank, number in enumerate(order):
        ranks[number] = rank
    return tuple(ranks)


def task_text(task: Task, curve: bool = True) -> str:
    """A task in words: `P-256 sign 48B`; without its curve: `sign 48B`."""
    name = _CURVES.get(task.curve, task.curve) if curve else ""
    return " ".join(
        filter(None, (name, _WORDS.get(task.action, task.action), "" if task.size is None else size_text(task.size)))
    )


def way_text(row: Row, beside: Iterable[Row]) -> str:
    """A way in words: the variant, and the choices of its caller that tell it from others of that variant: such as
    `wolfssl-sp-O2, allocated`."""
    task, given = task_of(row), row.given
    words = [row.variant]
    apart = [other for other in beside if other.variant == row.variant and other is not row]
    for key in task.ways if task else ():
        left = [other for other in apart if other.given.get(key) == given.get(key)]
        if len(left) < len(apart):
            words.append(_choice(key, given.get(key, parameters()[key].default)))
            apart = left
    return ", ".join(words)


def _choice(key: str, value: str) -> str:
    """A choice of a caller: most values say by themselves what they are."""
    return f"random={value}" if key == "random" else value or f"default {key}"


def sections(reading: Reading, _full: bool) -> list[Section]:
    """Every way of every task, in one table; none if no client was measured."""
    found = ways(reading)
    if not found:
        return []
    cells = []
    for way in found:
        row = way.row
        word, _, _ = claim(row.implementation, row.curve)
        name = way.text(found) + (" *" if way.recommended else "")
        line = [task_text(way.task), row.operation, name, f"{way.rank}/{way.of}"]
        line += [word, licence_text(row.implementation, row.curve)]
        cells.append([*line, count(row.counts.n), count(row.median), milliseconds(row.counts.worst, reading)])
    headers = ["task", "operation", "way", "rank", "constant\ntime", "licence", "\nn", "median\ninstr"]
    return [
        Section(
            "What a client waits for, by task: all ways",
            Table([*headers, f"worst, ms\nat {clock_text(reading)}"], cells, 6),
            [
                "task: what is done, by whichever operation of the suite; a way is a variant, with the choices of its "
                "caller that tell it from another one (docs/results/table.md). rank: by the median, at any level of "
                "optimisation; equals share the better rank. *: what the suite recommends. worst: of all calls, the "
                "first included; ms if each instruction took one cycle. licence: where there is a choice, the "
                "permissive one.",
            ],
            SECTION,
        )
    ]


GROUP = Group(95, sections)
