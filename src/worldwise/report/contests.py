# SPDX-License-Identifier: BSD-2-Clause
"""Words and columns for what `read/contests.py` finds: winners and their equals, and what rows differ in."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from worldwise.read.contests import differing, matches
from worldwise.read.models import Row
from worldwise.report.row_words import core_of

Text = Callable[[Row], str]


def variant_of(row: Row) -> str:
    """The usual name of a competitor: library and optimisation."""
    return row.variant


def names(rows: Sequence[Row], name: Text = variant_of) -> str:
    """Winners in a cell: `bearssl-O2`; if others equal it, `bearssl-O2 +2 equal`: nobody wins by the alphabet."""
    found = list(dict.fromkeys(map(name, rows)))
    return found[0] + (f" +{len(found) - 1} equal" if len(found) > 1 else "")


@dataclass(frozen=True)
class Trait:
    """Something that rows may differ in: the header of its column, and what a cell says."""

    header: str
    text: Text


CORE = Trait("core", core_of)


def columns(rows: Collection[Row], traits: Sequence[Trait]) -> tuple[list[Trait], str]:
    """The traits in which any rows of an answer differ, a column each; and what the others are, for the title.

    So a figure never stands without the size, variant or board that tells it from another one on the same screen.
    """
    apart = differing(rows, [trait.text for trait in traits])
    shown = [trait for trait, differs in zip(traits, apart, strict=True) if differs]
    one = next(iter(rows))
    same = [trait.text(one) for trait, differs in zip(traits, apart, strict=True) if not differs]
    return shown, ", ".join(text for text in same if text not in ("", "-"))


@dataclass(frozen=True)
class Sides:
    """Rows of one thing side by side: a line for what they have in common, a cell for each side.

    Attributes:
        found: line -> side -> row.
        sides: the sides that any line has, in the order wanted.
    """

    found: list[dict[str, Row]]
    sides: list[str]


def side_by_side(rows: Iterable[Row], key: Callable[[Row], object], side: Text, order: Iterable[str]) -> Sides:
    """Rows with an equal `key` in one line, each under what `side` calls it; `order` has the sides there may be.

    Raises ValueError if two rows would stand in one cell: then `key` leaves out something they differ in.
    """
    lines: list[dict[str, Row]] = []
    for match in matches(rows, key):
        line: dict[str, Row] = {}
        for row in match.rows:
            if line.setdefault(side(row), row) is not row:
                raise ValueError(f"{row.case} and {line[side(row)].case} are one cell of '{side(row)}'")
        lines.append(line)
    return Sides(lines, [name for name in order if any(name in line for line in lines)])
