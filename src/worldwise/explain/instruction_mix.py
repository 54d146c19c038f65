# SPDX-License-Identifier: BSD-2-Clause
"""What decides on a core besides the count: accesses, products, branches and bytes of code, by function; and the
deepest stack of a call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import sub
from typing import NamedTuple

from worldwise.explain.stacks import StackFrame
from worldwise.records.trace_records import Block


@dataclass
class Facts:
    """Of one function, in one pass.

    Attributes:
        loads, stores: instructions that access memory, however many registers they move.
        multiplications, divisions: of integers.
        taken: branches that were taken, calls and returns among them: the core did not continue at the next
            instruction.
        code: the addresses of its executed instructions, each with the instruction's bytes.
    """

    loads: int = 0
    stores: int = 0
    multiplications: int = 0
    divisions: int = 0
    taken: int = 0
    code: dict[int, int] = field(default_factory=dict)

    @property
    def code_bytes(self) -> int:
        """Bytes of the instructions that were executed at least once: what a cache would have to hold."""
        return sum(self.code.values())

    @property
    def values(self) -> Mapping[str, int]:
        """The figures by their names, in the order of the tables."""
        return {
            "loads": self.loads,
            "stores": self.stores,
            "multiplications": self.multiplications,
            "divisions": self.divisions,
            "taken_branches": self.taken,
            "code_bytes": self.code_bytes,
        }

    def add(self, part: "PartFacts", times: int) -> None:
        """Count a part of a block that was executed so many times."""
        self.loads += part.loads * times
        self.stores += part.stores * times
        self.multiplications += part.multiplications * times
        self.divisions += part.divisions * times
        self.code.update(part.code)


class PartFacts(NamedTuple):
    """Of the instructions of a block that are in one function: how many of each kind, and their bytes by address."""

    loads: int
    stores: int
    multiplications: int
    divisions: int
    code: Mapping[int, int]


def part_facts(block: Block, begin: int, end: int) -> PartFacts:
    """What the instructions `begin` to `end` (excluded) of a block are, as far as its kinds are known."""
    addresses = block.addresses[begin : end + 1]
    kinds = block.kinds[begin : min(end, begin + len(addresses) - 1)]
    starts = addresses[: len(kinds)]
    code = dict(zip(starts, map(sub, addresses[1:], starts), strict=False))
    return PartFacts(kinds.count("l"), kinds.count("s"), kinds.count("m"), kinds.count("d"), code)


def together(facts: Iterable[Facts]) -> Mapping[str, int]:
    """The sums of figures of functions, by their names."""
    every = [one.values for one in facts]
    return {name: sum(one[name] for one in every) for name in Facts().values}


@dataclass(frozen=True)
class PeakStack:
    """The deepest stack of a call, without the frames of interrupts.

    Attributes:
        bytes: from the call of the operation to the lowest value of the stack pointer.
        path: the functions on the way to it, the outermost first, each with the bytes of its own frame.
        written: from the call to the lowest store, if the plugin looked at stores.
        painted: what the program found by painting its stack, in a call outside the samples with the input of call 0;
            None for a program that does not paint.
        like_painted: whether this call has the same input.
    """

    bytes: int
    path: Sequence[tuple[StackFrame, int]]
    written: int | None = None
    painted: int | None = None
    like_painted: bool = False
