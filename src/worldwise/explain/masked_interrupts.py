# SPDX-License-Identifier: BSD-2-Clause
"""The stretches of a region in which the normal world could not take an interrupt."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import takewhile

from worldwise.explain.stacks import StackFrame
from worldwise.records.models import Sample
from worldwise.records.trace_records import Pass

# Stretches that an explanation has: as many as the plugin keeps of a pass.
MOST = 5


@dataclass(frozen=True)
class StretchTime:
    """What a core is predicted to take for the instructions of a stretch, in the state in which it came to them.

    Attributes:
        core: its name.
        clock: in Hz.
        cycles: predicted; what hardware may take is from `low` to `high`.
        outside: of these cycles, those that no published figure validates.
        error: the error line of such code on the core, in words.
    """

    core: str
    clock: Fraction
    cycles: int
    low: int
    high: int
    outside: int
    error: str

    @property
    def microseconds(self) -> float:
        """The predicted time."""
        return self.in_microseconds(self.cycles)

    def in_microseconds(self, cycles: int) -> float:
        """Cycles as time at the clock."""
        return float(1_000_000 * cycles / self.clock)


@dataclass(frozen=True)
class Stretch:
    """Instructions in a row before which the normal world's interrupts waited.

    Attributes:
        at: instructions of the region before the first.
        instructions: how many.
        begin, end: the stacks of the first and of the last, root first.
        origin: the pass that it is of, and how many instructions of that pass are before the first.
        times: what cores take for it, as far as they ran with it whole.
    """

    at: int
    instructions: int
    begin: tuple[StackFrame, ...] = field(repr=False)
    end: tuple[StackFrame, ...] = field(repr=False)
    origin: tuple[int, int] = field(default=(0, 0), repr=False, compare=False)
    times: tuple[StretchTime, ...] = ()

    @property
    def shared(self) -> tuple[StackFrame, ...]:
        """What both stacks have in common, root first: its last function is the one that the stretch is within."""
        same = takewhile(lambda pair: pair[0] == pair[1], zip(self.begin, self.end, strict=False))
        return tuple(frame for frame, _ in same)


@dataclass(frozen=True)
class Worst:
    """The call of a case whose stretch is the longest: the first one, if several have as long ones.

    Attributes:
        instructions: of that stretch.
        phase, index: which call.
        alike: how many calls have one as long.
        calls: of how many that were followed.
    """

    instructions: int
    phase: str
    index: int
    alike: int
    calls: int


@dataclass(frozen=True)
class Masked:
    """Of one sample.

    Attributes:
        instructions: all those in stretches.
        stretches: the longest, the longest first; none if there is none.
        worst: the call of the same measure and place whose longest stretch is the longest.
    """

    instructions: int
    stretches: Sequence[Stretch]
    worst: Worst

    @property
    def longest(self) -> Stretch | None:
        """The longest, if there is any."""
        return self.stretches[0] if self.stretches else None


def masked_of(
    regions: Sequence[Pass],
    calls: Iterable[tuple[Sample, Sequence[Pass]]],
    stack_of: Callable[[Pass, int, int], tuple[StackFrame, ...]],
) -> Masked | None:
    """Where in the passes of a sample the normal world could not take an interrupt; None if nobody has looked.

    A stretch does not go on from one pass to the next, since nobody followed what is between them.

    Args:
        regions: the passes.
        calls: all of the same measure and place, each with its passes; with none, if it was not followed.
        stack_of: the stack of an address on a frame, in a pass.
    """
    if not regions or any(one.masked is None for one in regions):
        return None
    found: list[Stretch] = []
    before = 0
    for one in regions:
        for row in one.stretches:
            begin, end = stack_of(one, row.frame, row.pc), stack_of(one, row.last_frame, row.last_pc)
            found.append(Stretch(before + row.at, row.instructions, begin, end, (one.id, row.at)))
        before += one.instructions
    found.sort(key=lambda stretch: (-stretch.instructions, stretch.at))
    longest = {
        (one.phase, one.index): max((row.instructions for part in passes for row in part.stretches), default=0)
        for one, passes in calls
        if passes
    }
    most = max(longest.values())
    alike = [call for call, instructions in longest.items() if instructions == most]
    return Masked(
        sum(one.masked or 0 for one in regions), found[:MOST], Worst(most, *alike[0], len(alike), len(longest))
    )
