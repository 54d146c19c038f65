# SPDX-License-Identifier: BSD-2-Clause
"""What a family says to reports: its sections, its answer on one screen, its columns of the CSV, its figures."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base import stages
from worldwise.base.tables import Section, Table
from worldwise.read.models import Reading, Row
from worldwise.report.drawing.figures import Choice, Plot

# How many lines the table of an answer has at most.
ANSWER_LINES = 12

# Of a reading, and whether everything is wanted, the sections of a report.
Sections = Callable[[Reading, bool], list[Section]]


@dataclass(frozen=True)
class Group:
    """Sections that stand together in a report.

    Attributes:
        rank: where they stand: groups of a lower rank come first; of equal ranks the order of the families decides.
        sections: makes them from a reading; none of them if the run has nothing to say there.
    """

    rank: int
    sections: Sections


@dataclass(frozen=True)
class Columns:
    """Columns of the CSV that stand together.

    Attributes:
        rank: where they stand, as of a Group.
        columns: makes them from a reading: header -> value of a row; empty if the run has nothing to put there.
    """

    rank: int
    columns: Callable[[Reading], Mapping[str, Callable[[Row], object]]]


@dataclass(frozen=True)
class Answer:
    """What a run says on one screen about the question of its suite.

    Attributes:
        title: what was asked, in a few words.
        table: the figures that answer it, in at most ANSWER_LINES lines; None if the verdict says all.
        verdict: what follows from the figures, in a sentence; empty if there is nothing to decide. Whether the run's
            budget is met is not repeated here: it is told for all families together.
        surprises: sentences on what one would not expect: spread, failures, a difference from published figures.
        sections: names of sections that say more, for `report --section`; those that the run has not are left out.
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
        answer: what the family says on one screen; None if the run has nothing of the family.
        operations: how its operations are called in reports: operation -> words for people.
        own: those of its operations whose figures stand in its own sections alone, and not in the tables of medians
            that every other operation has.
        columns: what the CSV has besides.
        figures: makes figures of a reading, of some kinds and of what was chosen; raises WorldwiseError if it has not
            what is asked for. None if the family draws nothing.
        legend: of the rows of the TEE and of its Linux, what has to be said of them in `How to read this`.
    """

    groups: tuple[Group, ...] = ()
    answer: Callable[[Reading], Answer | None] = _no_answer
    operations: Mapping[str, str] = field(default_factory=dict)
    own: Collection[str] = ()
    columns: tuple[Columns, ...] = ()
    figures: Callable[[Reading, Collection[str], Choice], list[Plot]] | None = None
    legend: Callable[[Sequence[Row]], list[str]] = _no_legend


def declared_tables() -> Mapping[str, Tables]:
    """What each family says: family -> its TABLES, in the order of the families."""
    return stages.declared("tables", Tables)


def operation_name(operation: str) -> str:
    """An operation in words; its own name if no family has words for it."""
    for tables in declared_tables().values():
        if operation in tables.operations:
            return tables.operations[operation]
    return operation


def named_sections(sections: Iterable[Section], name: str) -> list[Section]:
    """The sections of a name, or all whose names begin with it and a dash: `echo` stands for `echo-host-time` too."""
    listed = list(sections)
    exact = [section for section in listed if section.name == name]
    return exact or [section for section in listed if section.name.startswith(f"{name}-")]
