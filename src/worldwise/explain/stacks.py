# SPDX-License-Identifier: BSD-2-Clause
"""Call stacks across the worlds, with the instructions of each: the source of flame graphs and exports."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from worldwise.base.errors import WorldwiseError
from worldwise.base.output.safe_text import visible
from worldwise.plan.spec import World


@dataclass(frozen=True)
class StackFrame:
    """One function on a stack.

    Attributes:
        function: its name; never empty.
        image: the image that has it: client, libteec, libc, linux, bl31, tee, ldelf, ta and so on.
        layer: the layer that it counts for.
        world: where it runs.
    """

    function: str
    image: str
    layer: str
    world: World
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.function.strip():
            raise ValueError("a frame without the name of a function")
        # Stacks are dictionary keys made of the same few thousand frames, so a frame keeps its hash.
        object.__setattr__(self, "_hash", hash((self.function, self.image, self.layer, self.world)))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """`function (image)`, on one line and without the folded format's separator."""
        return visible(" ".join(f"{self.function} ({self.image})".replace(";", ",").split()))


# Stack, root first -> instructions that its last frame itself executed.
Stacks = Mapping[tuple[StackFrame, ...], int]


def folded(stacks: Stacks) -> str:
    """The folded format of Brendan Gregg's FlameGraph: `root;...;leaf instructions`, one line per stack.

    Sorted, so the same stacks give the same bytes. Stacks that read alike are one line; those in which nothing was
    executed are left out. Raises ValueError for a negative count and for an empty stack.
    """
    lines: defaultdict[str, int] = defaultdict(int)
    for frames, count in stacks.items():
        if count < 0 or not frames:
            raise ValueError(f"{count} instructions in a stack of {len(frames)} frames")
        lines[";".join([one.text for one in frames])] += count
    return "".join(f"{stack} {count}\n" for stack, count in sorted(lines.items()) if count)


def added_up(stacks: Iterable[tuple[tuple[StackFrame, ...], int]]) -> Stacks:
    """The sums for each stack, of many that are the same object."""
    known: dict[int, tuple[StackFrame, ...]] = {}
    counts: dict[int, int] = {}
    for stack, count in stacks:
        known[id(stack)] = stack
        counts[id(stack)] = counts.get(id(stack), 0) + count
    # A stack's hash takes as long as it is deep.
    result: dict[tuple[StackFrame, ...], int] = {}
    for number, stack in known.items():
        size = len(result)
        before = result.setdefault(stack, counts[number])
        if len(result) == size:
            result[stack] = before + counts[number]
    return result


def parse_folded(text: str) -> dict[tuple[str, ...], int]:
    """Read `folded` back: the frames' texts, root first -> instructions.

    Raises WorldwiseError naming the line that is not in the format.
    """
    stacks: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for number, line in enumerate(text.splitlines(), 1):
        stack, _, count = line.rpartition(" ")
        frames = tuple(stack.split(";"))
        if not all(frames) or not (count.isascii() and count.isdigit()):
            raise WorldwiseError(
                f"line {number} of the folded stacks is not `root;...;leaf count`: {line[:120]}",
                "make the folded stacks again",
            )
        stacks[frames] += int(count)
    return dict(stacks)
