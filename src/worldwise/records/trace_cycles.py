# SPDX-License-Identifier: BSD-2-Clause
"""The records of a trace that have cycles, or say which were left out, and their check."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from worldwise.base.errors import WorldwiseError
from worldwise.records.models import Count, RecordModel


class UnitSums(RecordModel):
    """Sums over the units of a sampled stream: how many, their cycles, their instructions, squares and products."""

    units: Count
    cycles: Count
    instructions: Count
    cycles_squared: Count
    cycles_by_instructions: Count
    instructions_squared: Count

    def __add__(self, other: "UnitSums") -> "UnitSums":
        return UnitSums(**{name: getattr(self, name) + getattr(other, name) for name in UnitSums.model_fields})


class Stratum(UnitSums):
    """A part of a sample that was sampled, for itself.

    Attributes:
        skipped: instructions whose cycles are estimated.
        estimated: these cycles.
    """

    skipped: Count
    estimated: Count


class CyclesRow(NamedTuple):
    """What a core's model says that a block took on a frame, in cycles by cause.

    Attributes:
        issue, dependency, multiplier, memory, mispredict, fetch: their sum is the time.
        outside: how many of these cycles went on instructions of which the core has no figures.
        outside_instructions: how many instructions these were.
    """

    frame: int
    block: int
    issue: int
    dependency: int
    multiplier: int
    memory: int
    mispredict: int
    fetch: int
    outside: int
    outside_instructions: int


class CyclesLine(RecordModel):
    """Cycles as they are read: pydantic makes the rows' tuples while it checks them, which is faster."""

    type: Literal["cycles"]
    pass_: Annotated[int, Field(alias="pass", ge=0, lt=2**64)]
    core: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9.+-]*$")]
    rows: list[tuple[Count, Count, Count, Count, Count, Count, Count, Count, Count, Count]]


class Cycles(RecordModel):
    """What a core's model says that a pass itself, without its inner passes, took: rows as CyclesRow has them."""

    type: Literal["cycles"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    core: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9.+-]*$")]
    rows: list[CyclesRow]


class StretchRow(NamedTuple):
    """How often a block was executed on a frame in a stretch, and what a core's model says it took: as CyclesRow."""

    frame: Count
    block: Count
    times: Count
    issue: Count
    dependency: Count
    multiplier: Count
    memory: Count
    mispredict: Count
    fetch: Count
    outside: Count
    outside_instructions: Count

    @property
    def cycles(self) -> CyclesRow:
        """Without the number of times."""
        return CyclesRow(self.frame, self.block, *self[3:])


class StretchCycles(RecordModel):
    """What a core's model says of one of the longest stretches of a pass, `at` instructions behind the pass's begin.

    The rows of all passes inside it are in it. A stretch of which sampling left out some has no such record, nor has
    one that began before the pass.
    """

    type: Literal["stretch"]
    pass_: Annotated[int, Field(alias="pass", ge=0, lt=2**64)]
    at: Count
    core: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9.+-]*$")]
    rows: list[StretchRow]


# By core, then by pass and by where the stretch begins in it.
Stretches = Mapping[str, Mapping[tuple[int, int], Sequence[StretchRow]]]


class SkippedRow(NamedTuple):
    """How many times a block was executed on a frame and left out of the cycles, by sampling."""

    frame: int
    block: int
    times: int


class Skipped(RecordModel):
    """What sampling left out of a pass itself, without its inner passes; the same for all cores."""

    type: Literal["skipped"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    rows: list[SkippedRow]


class Units(UnitSums):
    """What a core's model says of the units that stand for what was left out of a pass itself."""

    type: Literal["units"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    core: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9.+-]*$")]


def check_cycles(
    own: Mapping[int, Sequence[tuple[int, int, int]]],
    cycles: Mapping[str, Mapping[int, Sequence[CyclesRow]]],
    path: Path,
) -> None:
    """Refuses cycles of what was not counted: every row's block was executed on its frame, in its pass.

    `own` are the rows of counts by pass: frame, block, times. Raises WorldwiseError.
    """
    for core, passes in cycles.items():
        for number, rows in passes.items():
            known = {row[:2] for row in own.get(number, ())}
            for row in rows:
                if row[:2] not in known:
                    raise WorldwiseError(
                        f"{path}: {core} took cycles for block {row.block} on frame {row.frame} of pass {number}, "
                        "which were not counted"
                    )
                if row.outside > sum(row[2:8]):
                    raise WorldwiseError(f"{path}: {core}'s part outside of block {row.block} is more than the whole")


def check_skipped(
    own: Mapping[int, Sequence[tuple[int, int, int]]],
    skipped: Mapping[int, Mapping[tuple[int, int], int]],
    path: Path,
) -> None:
    """Refuses what sampling left out of what was not counted, and a pass of which it left out everything.

    `own` as in check_cycles; `skipped` has times by pass, then frame and block. Raises WorldwiseError.
    """
    for number, rows in skipped.items():
        counted: Counter[tuple[int, int]] = Counter()
        for frame, block, times in own.get(number, ()):
            counted[frame, block] += times
        for (frame, block), times in rows.items():
            if times > counted[frame, block]:
                raise WorldwiseError(
                    f"{path}: sampling left out block {block} on frame {frame} of pass {number} {times} times, which "
                    f"was executed {counted[frame, block]} times"
                )
        if all(rows.get(key) == times for key, times in counted.items()):
            raise WorldwiseError(f"{path}: sampling left out everything of pass {number}")


def check_stretches(
    stretches: Stretches,
    lengths: Mapping[tuple[int, int], int],
    frames: Container[int],
    sizes: Mapping[int, int],
    path: Path,
) -> None:
    """Refuses cycles of stretches that are not those of their passes, to the instruction.

    `lengths` has the instructions of the passes' stretches, by pass and where they begin; `sizes` those of blocks.
    Raises WorldwiseError.
    """
    for core, found in stretches.items():
        for (number, at), rows in found.items():
            where = f"{path}: {core} took cycles for a stretch {at} instructions behind the begin of pass {number}"
            if (number, at) not in lengths:
                raise WorldwiseError(f"{where}, which has none there")
            if any(row.frame not in frames or row.block not in sizes for row in rows):
                raise WorldwiseError(f"{where} on frames or for blocks that do not exist")
            counted = sum(row.times * sizes[row.block] for row in rows)
            if counted != lengths[number, at]:
                raise WorldwiseError(f"{where} for {counted} instructions, and it has {lengths[number, at]}")
