# SPDX-License-Identifier: BSD-2-Clause
"""The one builder of tables: who shows something declares columns, each with its header and what its cells say.

A line of a table is made from an item: a row, two rows beside each other, a contest, whatever the columns read. No
items, no table: then there is no section and no answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from worldwise.base.tables import Section, Table, count, whole
from worldwise.read.line_fit import FittedLine
from worldwise.read.models import Row
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import ScreenAnswer

T = TypeVar("T")


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column of a table.

    Attributes:
        header: what stands above it.
        cell: what stands in the line of an item.
        name: whether it holds names, and not numbers.
        spare: 0 for what every screen needs; of the others a narrow screen leaves out that with the least number first.
    """

    header: str
    cell: Callable[[T], str]
    name: bool = False
    spare: int = 0


def name(header: str, cell: Callable[[T], str]) -> Column[T]:
    """A column of names."""
    return Column(header, cell, name=True)


def number(header: str, cell: Callable[[T], str], spare: int = 0) -> Column[T]:
    """A column of numbers."""
    return Column(header, cell, spare=spare)


def median_text(row: Row) -> str:
    """What a cell says of a row unless its column says otherwise."""
    return count(row.median)


def per_side(
    headers: Mapping[str, str], text: Callable[[Row], str] = median_text, spare: int = 0
) -> list[Column[Mapping[str, Row]]]:
    """A column of each side of lines that have rows side by side: side -> header. `-` where a line lacks the side."""

    def column(side: str, header: str) -> Column[Mapping[str, Row]]:
        return number(header, lambda line: text(line[side]) if side in line else "-", spare)

    return [column(side, header) for side, header in headers.items()]


def any_of(line: Mapping[str, Row]) -> Row:
    """One of the rows that stand side by side in a line, for what they have in common."""
    return next(iter(line.values()))


def table(items: Iterable[T], columns: Sequence[Column[T]]) -> Table:
    """The table of some items: first the columns of names that it begins with, then the others."""
    left = next((at for at, column in enumerate(columns) if not column.name), len(columns))
    names = tuple(at for at, column in enumerate(columns) if column.name and at >= left)
    cells = [[column.cell(item) for column in columns] for item in items]
    return Table([column.header for column in columns], cells, left, names)


def section(
    title: str, at: str, items: Sequence[T], columns: Sequence[Column[T]], notes: Iterable[str] = ()
) -> Section | None:
    """A section of this name; None without items."""
    return Section(title, table(items, columns), [*notes], at) if items else None


def answer(
    title: str,
    items: Sequence[T],
    columns: Sequence[Column[T]],
    sections: Iterable[str],
    *,
    rows: Iterable[Row] = (),
    surprises: Iterable[str] | None = None,
    verdict: str = "",
    tiers: Sequence[object] = (),
    rank: int = 100,
) -> list[ScreenAnswer]:
    """An answer on one screen, in a list; none without items. See Answer.

    Args:
        title: what was asked.
        items: a line each.
        columns: of the table.
        sections: names of sections with more.
        rows: those whose samples a sentence says to differ, if they do.
        surprises: sentences in place of that one.
        verdict: the conclusion.
        tiers: how important each item is, the most important has the least; of equals the one that comes first. Empty
            if the items stand in this order.
        rank: the answer's place among all.
    """
    if not items:
        return []
    spare = sorted((column.spare, at) for at, column in enumerate(columns) if column.spare)
    return [
        ScreenAnswer(
            title,
            table(items, columns),
            verdict,
            tuple(spread_surprises(rows) if surprises is None else surprises),
            tuple(sections),
            importance(tiers),
            tuple(at for _, at in spare),
            rank,
        )
    ]


def importance(tiers: Sequence[object]) -> tuple[int, ...]:
    """A place for each line, from how important it is: of equals the one that comes first."""
    places = sorted(range(len(tiers)), key=lambda at: (tiers[at], at))
    return tuple(places.index(at) for at in range(len(tiers)))


def line_cells(
    names: Sequence[str], line: FittedLine, named: Callable[[int], str], full: bool, unit: str = "{:,.4f}"
) -> Iterator[list[str]]:
    """The table lines of one fit: `names`, points, fixed cost, cost per unit, and a residual with its x and share.

    `named` is the text of an x, `unit` the format of the cost per unit. Unless `full`, only the greatest residual.
    """
    for x in sorted(line.residuals) if full else [line.worst]:
        yield [
            *names,
            str(len(line.residuals)),
            whole(line.fixed),
            unit.format(line.slope),
            named(x),
            whole(line.residuals[x]),
            f"{100 * line.relative[x]:,.2f}",
        ]
