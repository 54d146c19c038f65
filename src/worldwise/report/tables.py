# SPDX-License-Identifier: BSD-2-Clause
"""A family's part of reports: its sections, its answer on one screen, its CSV columns, its figures."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base import stages
from worldwise.base.tables import Section, Table
from worldwise.read.models import Reading, Row
from worldwise.report.drawing.figures import Choice, Plot
from worldwise.report.drawing.vega import Chart

# The most lines in the table of an answer.
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
class Answer:
    """A run's answer, on one screen, to the question of its suite.

    Attributes:
        title: what was asked, in a few words.
        table: the figures that answer it, in at most ANSWER_LINES lines; None if the verdict is the whole answer.
        verdict: the conclusion, in a sentence; empty if there is nothing to decide. It does not say whether the run
            meets its budget: one line says so for all families.
        surprises: sentences on surprising figures: spread, failures, a difference from published figures.
        sections: names of sections with more, for `report --section`; names that the report lacks are left out.
    """

    title: str
    table: Table | None
    verdict: str = ""
    surprises: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.table and len(self.table.rows) > ANSWER_LINES:
            raise ValueError(f"answer '{self.title}' has {len(self.table.rows)} lines, of {ANSWER_LINES} at most")


def _no_answer(_reading: Reading) -> Answer | None:
    return None


def _no_legend(_rows: Sequence[Row]) -> list[str]:
    return []


@dataclass(frozen=True)
class Tables:
    """What families/<name>/tables.py declares as TABLES.

    Attributes:
        groups: the sections of the report, in one or several places of it.
        answer: the family's answer on one screen; None if the run has no case of the family.
        operations: names of its operations in reports: operation -> words for people.
        own: the operations whose figures stand only in the family's own sections, and not in the tables of medians
            that all other operations share.
        columns: further columns of the CSV.
        figures: makes figures of boards, of some kinds, from the chosen rows of a reading; raises WorldwiseError if
            the run lacks what is asked for. None if the family draws none.
        charts: makes figures beside those that the rows of every family give (drawing/charts.py). None if the family
            draws none.
        drawn: the operations whose counts against the size of the message these figures have.
        legend: makes lines for `How to read this` from the rows of the TEE and of its Linux.
    """

    groups: tuple[Group, ...] = ()
    answer: Callable[[Reading], Answer | None] = _no_answer
    operations: Mapping[str, str] = field(default_factory=dict)
    own: Collection[str] = ()
    columns: tuple[Columns, ...] = ()
    figures: Callable[[Reading, Collection[str], Choice], list[Plot]] | None = None
    charts: Callable[[Reading], list[Chart]] | None = None
    drawn: Collection[str] = ()
    legend: Callable[[Sequence[Row]], list[str]] = _no_legend


def declared_tables() -> Mapping[str, Tables]:
    """Each family's TABLES, by family, in the order of the families."""
    return stages.declared("tables", Tables)


def operation_name(operation: str) -> str:
    """An operation in words; its own name if no family has words for it."""
    for tables in declared_tables().values():
        if operation in tables.operations:
            return tables.operations[operation]
    return operation


def named_sections(sections: Iterable[Section], name: str) -> list[Section]:
    """The sections of this name, and those whose names begin with it and a dash: `echo` finds `echo-host-time` too."""
    listed = list(sections)
    exact = [section for section in listed if section.name == name]
    return exact or [section for section in listed if section.name.startswith(f"{name}-")]
