# SPDX-License-Identifier: BSD-2-Clause
"""What the cost of a request to the TA is judged by: an empty invoke, and the AES of its payload inside a TA."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from worldwise.read.models import Row

# A hit may cost the AES of its payload and this many empty invokes.
ALLOWED = 1.5

# The steps of app aes that a request needs for each message. A request allocates nothing.
_AES_CALLS = ("set-key", "set-iv", "cipher")
_KEY_BITS = "256"


class Floor:
    """The empty invokes and the AES of a run, by variant."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._aes: dict[tuple[str, str, int, str], float] = {}
        self._empty: dict[str, float] = {}
        for row in rows:
            given = row.given
            if row.size is None:
                continue
            if row.operation == "aes" and (given["mode"], given["key"], row.place) == ("gcm", _KEY_BITS, "ta"):
                self._aes[row.variant, given["direction"], row.size, row.measure] = row.median
            elif row.operation == "call" and (row.parameters, row.measure) == ("size=0B", "oldest"):
                self._empty[row.variant] = row.median

    def empty(self, variant: str) -> float | None:
        """An empty invoke, in instructions."""
        return self._empty.get(variant)

    def aes(self, variant: str, size: int, directions: Sequence[str]) -> float | None:
        """The AES-GCM of a payload in a TA, once in each direction, with setting its keys; None if not measured."""
        parts = [self._aes.get((variant, direction, size, call)) for direction in directions for call in _AES_CALLS]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None


class Hit(NamedTuple):
    """A request that found its key in the TA, at place invoke, beside what it may cost; all in instructions."""

    row: Row
    empty: float
    aes: float

    @property
    def limit(self) -> float:
        """So many empty invokes, and the AES."""
        return ALLOWED * self.empty + self.aes

    @property
    def wider_limit(self) -> float:
        """So many times both."""
        return ALLOWED * (self.empty + self.aes)
