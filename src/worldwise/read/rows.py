# SPDX-License-Identifier: BSD-2-Clause
"""Rows in order and by their keys, and which of them were measured on an undisturbed machine."""

from collections.abc import Callable, Hashable, Iterable

from worldwise.libraries.portable import CURVES, OPTIMISATIONS
from worldwise.plan.catalogue import BOARD_OPERATIONS, IMPLEMENTATIONS
from worldwise.plan.spec import PLACES
from worldwise.read.models import Row

# Counts are said to be 1.00 times others up to this.
_SHOWN = 0.005


def is_quiet(row: Row) -> bool:
    """Whether a row was measured undisturbed: disturbed and undisturbed rows are not compared."""
    return not {"load", "ticks"} & row.given.keys()


def whole_calls(rows: Iterable[Row]) -> list[Row]:
    """Of rows of one thing those of the whole call: of each target at the place with the greatest count, which has the
    others in it.
    """
    listed = sorted(rows, key=lambda row: row.median)
    place = {row.board or row.target: row.place for row in listed}
    return [row for row in listed if row.place == place[row.board or row.target]]


def differ(rows: Iterable[Row]) -> bool:
    """Whether whole calls of one thing differ by as much as a table shows, a hundredth."""
    medians = [row.median for row in whole_calls(rows)]
    return max(medians) > (1 + _SHOWN) * min(medians)


def in_reading_order(rows: Iterable[Row]) -> list[Row]:
    """Rows as people compare them: by board, operation, parameters and measure, then by variant, then by place."""
    listed = list(rows)
    boards = _ranks(sorted(row.board for row in listed))
    operations = _ranks(row.operation for row in listed if not row.board)
    on_boards = _ranks(BOARD_OPERATIONS)
    measures = _ranks(row.measure for row in listed)
    parameters = _ranks(row.parameters for row in listed)
    # Boards' libraries sort by name: a library of the user's own is known only while it is measured.
    implementations = _ranks((*IMPLEMENTATIONS, *sorted(row.implementation for row in listed)))
    curves = _ranks(("", *CURVES))

    def rank(row: Row) -> tuple[int, ...]:
        return (
            boards[row.board],
            on_boards[row.operation] if row.board else operations[row.operation],
            curves[row.curve],
            row.chunk or 0,
            row.size or 0,
            int(row.given.get("runs", 0)) if row.board else 0,
            parameters[row.parameters],
            measures[row.measure],
            implementations[row.implementation],
            # Own code has none.
            OPTIMISATIONS.index(row.optimisation) if row.optimisation else -1,
            PLACES.index(row.place),
        )

    return sorted(listed, key=rank)


def _ranks(names: Iterable[str]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(dict.fromkeys(names))}


Key = tuple[Hashable, ...]


class RowIndex:
    """Rows by their keys; of several with one key the last.

    Attributes:
        rows: one of each key, in the order in which the keys come.
        keys: in the same order.
    """

    def __init__(self, rows: Iterable[Row], key: Callable[[Row], Key]) -> None:
        self._found = {key(row): row for row in rows}
        self.rows = list(self._found.values())
        self.keys = list(self._found)

    def row(self, *key: Hashable) -> Row | None:
        """The row with this key; None if it was not measured."""
        return self._found.get(key)

    def median(self, *key: Hashable) -> float | None:
        """The median of the row with this key; None if it was not measured."""
        row = self.row(*key)
        return row.median if row else None
