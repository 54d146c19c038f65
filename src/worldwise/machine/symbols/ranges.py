# SPDX-License-Identifier: BSD-2-Clause
"""Where functions begin and end, for the emulator's plugin."""

import bisect
import struct
from collections.abc import Sequence

from worldwise.base.errors import WorldwiseError
from worldwise.machine.symbols.space import AddressSpace, Level


def function_ranges(space: AddressSpace, process: str) -> list[tuple[int, int]]:
    """Where functions begin and end, in order, wherever an address means but one function on the machine.

    The process is the measured one. What another process may have at the same address is left out.
    """
    measured = Level("normal", 0, process)
    ranges: list[tuple[int, int]] = []
    elsewhere: list[tuple[int, int]] = []
    for context in space.contexts():
        for place in space.mappings(context):
            found = [(start + place.bias, end + place.bias) for start, end in place.table.ranges()]
            if context.world == "normal" and context.el == 0 and context != measured:
                elsewhere += found
            else:
                ranges += found
    same = set(elsewhere)
    taken = merged(elsewhere)
    clear: list[tuple[int, int]] = []
    for one in sorted(set(ranges)):
        # The same program in another process has the same functions at the same places.
        if one not in same and meets(taken, one):
            continue
        if clear and one[0] < clear[-1][1]:
            raise WorldwiseError(f"two functions are at one address, {one[0]:#x}: the machine's maps overlap")
        clear.append(one)
    return clear


def merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same addresses as ranges that do not touch, in order."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def meets(taken: Sequence[tuple[int, int]], one: tuple[int, int]) -> bool:
    """Whether a range has an address of one of `taken`, which `merged` made."""
    place = bisect.bisect_left(taken, one[1], key=lambda other: other[0]) - 1
    return place >= 0 and one[0] < taken[place][1]


def pack_ranges(ranges: Sequence[tuple[int, int]]) -> bytes:
    """As the plugin reads them."""
    return b"".join(struct.pack("<QQ", *one) for one in ranges)
