# SPDX-License-Identifier: BSD-2-Clause
"""The parts of a report: sections, tables, and how numbers are written in them."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Headers and cells, ready to show. The first `left` columns and those of `names` are names, the others numbers."""

    headers: list[str]
    rows: list[list[str]]
    left: int
    names: tuple[int, ...] = ()

    def is_name(self, column: int) -> bool:
        """Whether a column holds names, not numbers."""
        return column < self.left or column in self.names

    @property
    def width(self) -> int:
        """The columns of a terminal that it takes, two between any of its own."""
        heads = (max(map(len, header.split("\n"))) for header in self.headers)
        each = [max([head, *(len(row[at]) for row in self.rows)]) for at, head in enumerate(heads)]
        return sum(each) + 2 * (len(each) - 1)

    def without(self, columns: Collection[int]) -> "Table":
        """The table without some of its columns."""
        kept = [at for at in range(len(self.headers)) if at not in columns]
        rows = [[row[at] for at in kept] for row in self.rows]
        names = tuple(kept.index(at) for at in self.names if at in kept)
        return Table([self.headers[at] for at in kept], rows, sum(at < self.left for at in kept), names)

    def whole_rows(self) -> list[list[str]]:
        """The rows with an empty cell wherever one is shorter than the headers, as a figure of fewer clocks is."""
        return [[*row, *[""] * (len(self.headers) - len(row))] for row in self.rows]


@dataclass(frozen=True)
class Section:
    """A part of a report: a title, a table or none, and sentences below it.

    `name` is what `report --section` calls it: words in lower case with dashes between them, unique in a report and
    the same in every run that has the section. It is empty if nothing asks for the section by name.
    """

    title: str
    table: Table | None
    notes: list[str] = field(default_factory=list)
    name: str = ""


def section_name(*words: str) -> str:
    """A section's name from words, such as `board`, `nucleo-f446re`: small letters, digits and single dashes."""
    return "-".join(filter(None, re.split("[^a-z0-9]+", "-".join(words).lower())))


def count(value: float) -> str:
    """A count: whole if it is, with one decimal if it is not (a median can be)."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def count_or_dash(value: float | None) -> str:
    """A count, or a dash for None."""
    return "-" if value is None else count(value)


def signed(value: float) -> str:
    """A difference of counts, with its sign."""
    return f"{'+' if value > 0 else ''}{count(value)}"


def whole(value: float) -> str:
    """A number rounded to a whole one."""
    return f"{value:,.0f}"


def spread(value: float | None) -> str:
    """A standard deviation, or a dash for None: a single sample has none."""
    return "-" if value is None else f"{value:,.1f}"


def ratio(value: float | None) -> str:
    """How many times, or a dash where there is nothing to compare with."""
    return "-" if value is None else factor(value)


def factor(value: float) -> str:
    """How many times."""
    return f"{value:,.2f}"
