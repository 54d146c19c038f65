# SPDX-License-Identifier: BSD-2-Clause
"""A family's part of reports: its sections, its answer on one screen, its CSV columns, its figures."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from worldwise.base import family_stages
from worldwise.base.tables import Section, Table
from worldwise.plan.catalogue import SPECS, Measured, family_of, family_of_operation
from worldwise.read.models import Reading, Row
from worldwise.read.readings import Readings, declared_readings
from worldwise.report.drawing.figures import Choice
from worldwise.report.drawing.vega import Chart

if TYPE_CHECKING:
    # It asks the families' tables.
    from worldwise.report.citation.components import Component

# The width of a screen.
SCREEN_COLUMNS = 100
# The most lines that a screen, or the first part of a page, shows of one answer.
ANSWER_LINES = 12

# (reading, whether everything is wanted) -> sections of a report.
Sections = Callable[[Reading, bool], list[Section]]


@dataclass(frozen=True)
class Group:
    """Sections that stand together in a report.

    Attributes:
        rank: groups of a lower rank come first; groups of equal rank come in the order of the families.
        sections: makes them from a reading; makes none if the run has no rows for them.
    """

    rank: int
    sections: Sections


@dataclass(frozen=True)
class Columns:
    """Columns of the CSV that stand together.

    Attributes:
        rank: their place, as in Group.
        columns: makes them from a reading: header -> value of a row; empty if the run has no values for them.
    """

    rank: int
    columns: Callable[[Reading], Mapping[str, Callable[[Row], object]]]


@dataclass(frozen=True)
class Task:
    """What a caller of a TEE has done, whatever the operation is called that does it: rows of several families may do
    the same.

    Attributes:
        action: the operation in plain words of the field: sign, verify, keygen, ecdh, digest.
        curve: as parameters name it; empty for none.
        size: of the message, in bytes; None where there is none.
        ways: the parameters that are the caller's choice of how to have it done, such as the kind of shared memory.
    """

    action: str
    curve: str
    size: int | None
    ways: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class ScreenAnswer:
    """A run's answer, on one screen, to the question of its suite.

    Attributes:
        title: what was asked, in a few words.
        table: the figures that answer it: all lines, for a screen shows as many as it has room for. None if the verdict
            is the whole answer.
        verdict: the conclusion, in a sentence; empty if there is nothing to decide. It does not say whether the run
            meets its budget: one line says so for all families.
        surprises: sentences on surprising figures: spread, failures, a difference from published figures.
        sections: names of sections with more, for `report --section`; names that the report lacks are left out. The
            first one has every figure of the table, so that a screen can name it for the lines that it leaves out.
        importance: a number for each line of the table, the most important has the least; a screen leaves out those
            with the greatest. Empty if the lines stand in this order.
        optional: columns that a screen may leave out if the table is wider than it, the first one first; the first
            section has them.
        rank: its place among all answers of a run, the least first: what a suite asks comes before what it has besides.
            Of equals in the order of the families.
    """

    title: str
    table: Table | None
    verdict: str = ""
    surprises: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    importance: tuple[int, ...] = ()
    optional: tuple[int, ...] = ()
    rank: int = 100

    def shown(self, most: int) -> Table | None:
        """The table's most important lines, at most so many, in its own order; None if it has no such lines.

        It has no columns that a screen is too narrow for, as far as those may be left out.
        """
        if self.table is None or not most:
            return None
        ranks = self.importance or range(len(self.table.rows))
        kept = sorted(sorted(range(len(self.table.rows)), key=lambda number: ranks[number])[:most])
        whole = Table(self.table.headers, [self.table.rows[number] for number in kept], self.table.left)
        narrower = (whole.without(self.optional[:number]) for number in range(len(self.optional) + 1))
        return next((table for table in narrower if table.width <= SCREEN_COLUMNS), whole.without(self.optional))

    def left(self, most: int) -> int:
        """How many lines `shown` leaves out."""
        return max(0, len(self.table.rows) - most) if self.table else 0


def _no_answers(_reading: Reading) -> list[ScreenAnswer]:
    return []


def _no_task(_row: Row) -> Task | None:
    return None


def _not_cited(_name: str) -> None:
    return None


def _no_legend(_rows: Sequence[Row]) -> list[str]:
    return []


@dataclass(frozen=True)
class Tables:
    """What families/<name>/tables.py declares as TABLES.

    Attributes:
        groups: the sections of the report, in one or several places of it.
        answers: the family's answers on one screen; none if the run has no case of the family.
        task: what a row of the family does for a caller of the TEE, or for one in its Linux; None for what only this
            family does, and for disturbed machines.
        operations: names of its operations in reports: operation -> words for people.
        own: the operations whose figures stand only in the family's own sections, and not in the tables of medians
            that all other operations share.
        columns: further columns of the CSV.
        figures: makes figures of boards, of some kinds, from the chosen rows of a reading; raises WorldwiseError if
            the run lacks what is asked for. None if the family draws none.
        charts: makes figures beside those that the rows of every family give (drawing/charts.py). None if the family
            draws none.
        drawn: the operations whose counts against the size of the message these figures have.
        cited: makes a component of a library that only this family measures, from its name; None for any other.
        legend: makes lines for `How to read this` from its rows of the TEE and of its Linux.
    """

    groups: tuple[Group, ...] = ()
    answers: Callable[[Reading], list[ScreenAnswer]] = _no_answers
    task: Callable[[Row], Task | None] = _no_task
    operations: Mapping[str, str] = field(default_factory=dict)
    own: Collection[str] = ()
    columns: tuple[Columns, ...] = ()
    figures: Callable[[Reading, Collection[str], Choice], list[Chart]] | None = None
    charts: Callable[[Reading], list[Chart]] | None = None
    drawn: Collection[str] = ()
    cited: "Callable[[str], Component | None]" = _not_cited
    legend: Callable[[Sequence[Row]], list[str]] = _no_legend


def declared_tables() -> Mapping[str, Tables]:
    """Each family's TABLES, by family, in the order of the families."""
    return family_stages.declared("tables", Tables)


def tables_of(one: Measured) -> Tables:
    """The TABLES of the family of a row or of a case; empty if it has none."""
    return declared_tables().get(family_of(one), Tables())


def tables_in(reading: Reading) -> list[Tables]:
    """The TABLES of the families that a reading has anything of, in the order of the families. No other is asked."""
    there = {
        *map(family_of, reading.rows),
        *map(family_of, reading.unavailable),
        *(family_of_operation(one.case.partition("/")[0], one.operation) for one in reading.attempts),
        *(family for family, one in declared_readings().items() if _has_part(reading, one)),
    }
    # Own code is of no spec.
    also = {family: spec.also for family, spec in SPECS.items()}
    declared = declared_tables()
    return [declared[family] for family in declared if there & {family, *also.get(family, ())}]


def _has_part(reading: Reading, declared: Readings) -> bool:
    kind = declared.of_reading
    return kind is not None and reading.part(kind) != kind()


def task_of(row: Row) -> Task | None:
    """What a row does, as its family says; None if that says nothing."""
    return tables_of(row).task(row)


def operation_name(one: Measured) -> str:
    """The operation of a row or of a case in words; its own name if its family has no words for it."""
    return tables_of(one).operations.get(one.operation, one.operation)


def named_sections(sections: Iterable[Section], name: str) -> list[Section]:
    """The sections of this name, and those whose names begin with it and a dash: `echo` finds `echo-host-time` too."""
    listed = list(sections)
    exact = [section for section in listed if section.name == name]
    return exact or [section for section in listed if section.name.startswith(f"{name}-")]
