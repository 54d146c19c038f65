# SPDX-License-Identifier: BSD-2-Clause
"""Who is compared with whom, and who wins. Every screen, card, plot and sentence that names a winner asks here.

Rows are compared only if they do the same: target and core, operation, measure, place, parameters and unit are equal.
A family frees the parameters that are a competitor's own choice, such as the kind of shared memory, and may hold rows
apart by more, such as the level of optimisation.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from worldwise.read.models import Row

Key = Callable[[Row], Hashable]
Value = Callable[[Row], float]

# A percentile of fewer calls is not one: of five calls the 99 % would be the worst under another name.
LEAST_CALLS = 100


def median_of(row: Row) -> float:
    """What rows compete by unless a family says otherwise."""
    return row.median


def worst_of(row: Row) -> float:
    """The most of all calls, the first one included: what a budget is judged by."""
    return float(row.counts.worst)


def flash_of(row: Row) -> float:
    """Bytes of flash; infinitely many if nobody measured them, so that such a row wins nothing."""
    flash = row.footprint.flash
    return float("inf") if flash is None else float(flash)


def alike(*free: str) -> Key:
    """What rows must have in common to be compared; the parameters in `free` may differ."""

    def key(row: Row) -> Hashable:
        given = tuple((name, value) for name, value in row.given.items() if name not in free)
        return (row.target, row.board, row.core, row.operation, row.measure, row.place, given)

    return key


@dataclass(frozen=True)
class Match:
    """Rows that did the same, in the order given.

    Attributes:
        rows: one of each competitor, at least one.
    """

    rows: tuple[Row, ...]

    @property
    def first(self) -> Row:
        """Any of its rows, for what all have in common."""
        return self.rows[0]

    @property
    def libraries(self) -> int:
        """How many implementations compete."""
        return len({row.implementation for row in self.rows})

    def ranked(self, value: Value = median_of) -> list[Row]:
        """The rows, the least first; equals stay in the order given."""
        return sorted(self.rows, key=value)

    def least(self, value: Value = median_of) -> tuple[Row, ...]:
        """All rows that have the least value: more than one if they are equal."""
        return self._equal(min(map(value, self.rows)), value)

    def most(self, value: Value = median_of) -> tuple[Row, ...]:
        """All rows that have the greatest value."""
        return self._equal(max(map(value, self.rows)), value)

    @property
    def times(self) -> float | None:
        """How many times the least median the greatest one is; None for a row alone, and where the least is 0."""
        least = self.least()[0].median
        return self.most()[0].median / least if len(self.rows) > 1 and least else None

    @property
    def differs(self) -> bool:
        """Whether any two medians differ."""
        return len(self.least()) < len(self.rows)

    def _equal(self, wanted: float, value: Value) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if value(row) == wanted)


def matches(rows: Iterable[Row], key: Key | None = None, apart: Key | None = None) -> list[Match]:
    """The rows in groups that may be compared, in the order in which the groups begin.

    `key` is what a group has in common (`alike()` if None), `apart` what it must have in common besides. Rows of
    different units are never in one group.
    """
    common = key or alike()
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.counts.unit, common(row), apart(row) if apart else None), []).append(row)
    return [Match(tuple(group)) for group in groups.values()]


def fullest(found: Iterable[Match], of: Key, near: Value | None = None) -> list[Match]:
    """One match for each value of `of`: that in which most compete; of equals the one with the least `near`.

    This is the rule for choosing the size of a message, or a level of optimisation, where a screen has room for one.
    """
    chosen: dict[Hashable, Match] = {}
    for match in found:
        before = chosen.get(of(match.first))
        if before is None or _fullness(match, near) > _fullness(before, near):
            chosen[of(match.first)] = match
    return list(chosen.values())


def _fullness(match: Match, near: Value | None) -> tuple[float, ...]:
    return (len(match.rows), -near(match.first) if near else 0)


def from_size(size: int) -> Value:
    """For `fullest`: how far a row's size is from a usual one."""

    def distance(row: Row) -> float:
        return abs((row.size or 0) - size)

    return distance


def percentile(values: Sequence[int], percent: int) -> int | None:
    """The value that so many percent of the calls do not exceed (nearest rank); None of fewer than LEAST_CALLS."""
    if len(values) < LEAST_CALLS:
        return None
    ordered = sorted(values)
    return ordered[-(-len(ordered) * percent // 100) - 1]


def differing(rows: Collection[Row], traits: Iterable[Callable[[Row], str]]) -> list[bool]:
    """For each trait whether any two of the rows differ in it: then every name of a row must say it."""
    return [len({trait(row) for row in rows}) > 1 for trait in traits]
