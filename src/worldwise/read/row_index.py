# SPDX-License-Identifier: BSD-2-Clause
"""The one index of rows: by what a family's tables ask for them."""

from collections.abc import Callable, Hashable, Iterable

from worldwise.read.models import Row

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
