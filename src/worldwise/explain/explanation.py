# SPDX-License-Identifier: BSD-2-Clause
"""An explanation: one pass through a region, with an owner for each instruction; how a family splits it in parts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from worldwise.base.tables import Section
from worldwise.explain.instruction_mix import Facts, PeakStack
from worldwise.explain.layers import NO_RULE, UNKNOWN
from worldwise.explain.masked_interrupts import Masked
from worldwise.explain.stacks import StackFrame, Stacks
from worldwise.plan.case import Case

if TYPE_CHECKING:
    # It makes explanations.
    from worldwise.explain.owners import Explainer

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class LevelStep:
    """A stretch of a call between two changes of exception level.

    Attributes:
        at: instructions since the region's beginning.
        instructions: its length.
        how: what led here: region, sync (a call or fault), irq, fiq, serror, eret, task.
        lane: where it runs, such as "normal EL1".
        frame: the function it begins in.
    """

    at: int
    instructions: int
    how: str
    lane: str
    frame: StackFrame


@dataclass(frozen=True)
class LevelPath:
    """A call's way through the exception levels: its steps, and how many changes of level came after the last one."""

    steps: Sequence[LevelStep]
    dropped: int


@dataclass(frozen=True)
class Explanation:
    """One pass through a region, with an owner for each instruction.

    Attributes:
        case: the measured case.
        measure, place, index, phase: which of its samples.
        instructions: the difference of the counter's two readings, and what the counter left out.
        measuring: the part that the marks and readings themselves cost.
        uncounted: the part that the counter left out: with the cycle counter, most of the monitor's; else none.
        stacks: stack, root first -> own instructions of its last frame; their sum is `instructions`.
        lost: the part on stacks that could not be followed.
        helpers: frames that work for their callers.
        path: the call's way through the exception levels.
        facts: what else the functions do, by (function, image); empty where nobody has looked.
        peak: the deepest stack, on a board.
        masked: where the normal world could not take an interrupt; None where nobody has looked.
    """

    case: Case
    measure: str
    place: str
    index: int
    phase: str
    instructions: int
    measuring: int
    uncounted: int
    stacks: Stacks = field(repr=False)
    lost: int
    helpers: frozenset[str] = field(repr=False)
    path: LevelPath = field(repr=False)
    facts: Mapping[tuple[str, str], Facts] = field(default_factory=dict, repr=False)
    peak: PeakStack | None = None
    masked: Masked | None = None

    def with_peak(self, peak: PeakStack | None) -> "Explanation":
        """The same with the deepest stack."""
        return replace(self, peak=peak)

    @property
    def title(self) -> str:
        """Case, measure, place and sample, in one line."""
        return f"{self.case.id}: {self.measure} at {self.place}, {self.phase} {self.index}"

    @cached_property
    def layers(self) -> dict[str, "Share"]:
        """By layer: self, inclusive (where any frame of the stack is of the layer) and self with helpers folded."""
        return self._shares(lambda frame: frame.layer)

    @cached_property
    def functions(self) -> dict[tuple[str, str], "Share"]:
        """By (function, image)."""
        return self._shares(lambda frame: (frame.function, frame.image))

    @property
    def unknown(self) -> int:
        """Instructions without an owner, or on a stack that could not be followed."""
        return self.layers[UNKNOWN].self if UNKNOWN in self.layers else 0

    @property
    def unruled(self) -> dict[tuple[str, str], int]:
        """Functions that no rule takes, with their own instructions."""
        found: Counter[tuple[str, str]] = Counter()
        for stack, count in self.stacks.items():
            if stack[-1].layer == NO_RULE:
                found[stack[-1].function, stack[-1].image] += count
        return dict(found)

    def _shares(self, key_of: Callable[[StackFrame], _Key]) -> dict[_Key, "Share"]:
        shares: defaultdict[_Key, Share] = defaultdict(Share)
        for stack, count in self.stacks.items():
            shares[key_of(stack[-1])].self += count
            for key in {key_of(frame) for frame in stack}:
                shares[key].inclusive += count
            shares[key_of(caller(stack, self.helpers.__contains__))].folded += count
        return dict(shares)


@dataclass
class Share:
    """Instructions of a layer or function: its own, with those it calls, and its own with helpers folded in."""

    self: int = 0
    inclusive: int = 0
    folded: int = 0


def caller(stack: tuple[StackFrame, ...], is_helper: Callable[[str], bool]) -> StackFrame:
    """The frame that a stack's last function works for: the last frame that is no helper; if all are, the last."""
    return next((frame for frame in reversed(stack) if not is_helper(frame.function)), stack[-1])


@dataclass(frozen=True)
class Explained:
    """How a family splits a call into parts, beside the tables of every explanation: EXPLAINED in its explained.py.

    Attributes:
        measure: the measure whose call is split.
        takes: whether a case has such calls.
        sections: the parts of one call in instructions, of the sample of an index, or of the median one. Raises
        WorldwiseError if the trace lacks a region that is needed.
    """

    measure: str
    takes: Callable[[Case], bool]
    sections: Callable[["Explainer", int | None], Sequence[Section]]
