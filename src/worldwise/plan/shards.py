# SPDX-License-Identifier: BSD-2-Clause
"""Shards: one run split over several machines, by nothing but its cases, their costs and the number of shards."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from worldwise.base.errors import WorldwiseError
from worldwise.base.files import quoted
from worldwise.plan.case import Case

# More shards than this are a typing error.
MOST_SHARDS = 10_000
# A piece of work costs at most this part of a shard's share, unless it is a single case.
_PIECES = 4


@dataclass(frozen=True)
class Shard:
    """One of `count` shards; `number` begins at 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    """A shard from its command-line form `2/8`. Raises WorldwiseError."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    number, count = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= count <= MOST_SHARDS:
        raise WorldwiseError(
            f"--shard {quoted(text)}: not a shard: it is NUMBER/COUNT, the number from 1 to the count, "
            f"the count at most {MOST_SHARDS:,}.",
            "the first of eight is --shard 1/8, the last --shard 8/8",
        )
    return Shard(number, count)


def split(
    cases: Sequence[Case], costs: Mapping[str, int], count: int, build: Callable[[Case], int]
) -> list[list[Case]]:
    """The cases of each of `count` shards, in their order; each case is in one shard, and no shard is empty.

    Cases of one target and variant are built together, in each shard that has some of them. They are cut into pieces of
    at most a quarter of a shard's share, or single cases; then the dearest piece goes first, each to the shard that is
    the cheapest with it, its build included. So a shard costs at most as much more than the mean as one piece and its
    build. `costs` has a positive cost for each case's id; `build` says what building for a case costs. Raises
    WorldwiseError if there are fewer cases than shards.
    """
    if count > len(cases):
        raise WorldwiseError(
            f"{len(cases)} {'case is' if len(cases) == 1 else 'cases are'} too few for {count} shards: each needs one.",
            f"take at most {len(cases)} shards, or choose more cases",
        )
    pieces = _pieces(cases, costs, _sum(cases, costs) // (_PIECES * count))
    while len(pieces) < count:
        longest = max(pieces, key=len)
        place, half = pieces.index(longest), len(longest) // 2
        pieces[place : place + 1] = [longest[:half], longest[half:]]
    shards: list[list[Case]] = [[] for _ in range(count)]
    loads = [0] * count
    built: list[set[tuple[str, str]]] = [set() for _ in range(count)]
    # Sorting keeps the order of pieces that cost the same.
    for left, piece in zip(range(len(pieces), 0, -1), sorted(pieces, key=lambda one: -_sum(one, costs)), strict=True):
        key, price = _group(piece[0]), build(piece[0])
        # Of so few pieces each empty shard gets one.
        open_to = (
            [n for n in range(count) if not shards[n]] if left <= sum(not shard for shard in shards) else range(count)
        )
        chosen = min(open_to, key=lambda n: loads[n] + (0 if key in built[n] else price))
        loads[chosen] += _sum(piece, costs) + (0 if key in built[chosen] else price)
        built[chosen].add(key)
        shards[chosen] += piece
    order = {case.id: place for place, case in enumerate(cases)}
    return [sorted(shard, key=lambda case: order[case.id]) for shard in shards]


def _group(case: Case) -> tuple[str, str]:
    """What is built together."""
    return case.target, case.variant


def _sum(cases: Sequence[Case], costs: Mapping[str, int]) -> int:
    return sum(costs[case.id] for case in cases)


def _pieces(cases: Sequence[Case], costs: Mapping[str, int], most: int) -> list[list[Case]]:
    """Cases of one target and variant, in pieces that cost at most `most` or are a single case."""
    groups: dict[tuple[str, str], list[list[Case]]] = {}
    loads: dict[tuple[str, str], int] = {}
    for case in cases:
        key = _group(case)
        if key not in groups or loads[key] + costs[case.id] > most:
            groups.setdefault(key, []).append([])
            loads[key] = 0
        groups[key][-1].append(case)
        loads[key] += costs[case.id]
    return [piece for group in groups.values() for piece in group]
