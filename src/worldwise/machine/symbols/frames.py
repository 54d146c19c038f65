# SPDX-License-Identifier: BSD-2-Clause
"""Where a function keeps what its caller needs, instruction by instruction: the table .debug_frame of an ELF file."""

import bisect
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.dwarf.callframe import FDE

from worldwise.base.errors import WorldwiseError
from worldwise.machine.symbols.elf import open_elf


class FrameRule(NamedTuple):
    """At one instruction: the stack pointer of the caller, and where its registers are.

    Attributes:
        register, offset: the caller's stack pointer is the one plus the other.
        saved: of each register that is in memory, how far it is from there.
    """

    register: int
    offset: int
    saved: Mapping[int, int]


class CallFrames:
    """The table of one ELF file.

    Args:
        image: the file's name, for errors.
        content: the file.
    """

    def __init__(self, image: str, content: bytes) -> None:
        self._image = image
        self._content = content

    def rule(self, address: int) -> FrameRule | None:
        """The rule at a link-time address; None if the table does not say, or in a way that only a debugger follows."""
        starts, entries = self._entries
        place = bisect.bisect_right(starts, address) - 1
        if place < 0 or address >= entries[place]["initial_location"] + entries[place]["address_range"]:
            return None
        rows = self._decoded(place)
        row = bisect.bisect_right([one["pc"] for one in rows], address) - 1
        return _rule(rows[row]) if row >= 0 else None

    @functools.cached_property
    def _entries(self) -> tuple[list[int], list[Any]]:
        """The functions with an entry, in the order of their addresses."""
        try:
            elf = open_elf(self._content)
            dwarf = elf.get_dwarf_info() if elf.has_dwarf_info() else None
            found = [one for one in dwarf.CFI_entries() if isinstance(one, FDE)] if dwarf and dwarf.has_CFI() else []
        except (DWARFError, ELFError, ConstructError, LookupError, ValueError) as error:
            raise self._unreadable(error) from None
        found.sort(key=lambda one: int(one["initial_location"]))
        return [one["initial_location"] for one in found], found

    def _decoded(self, place: int) -> list[Any]:
        try:
            return list(self._entries[1][place].get_decoded().table)
        except (DWARFError, ELFError, ConstructError, LookupError, ValueError) as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> WorldwiseError:
        return WorldwiseError(f"{self._image}: its table .debug_frame cannot be read: {error}")


def _rule(row: Mapping[Any, Any]) -> FrameRule | None:
    cfa = row["cfa"]
    if cfa.expr is not None:
        return None
    rules = {number: rule for number, rule in row.items() if isinstance(number, int)}
    if any(rule.type not in ("OFFSET", "SAME_VALUE", "UNDEFINED") for rule in rules.values()):
        return None
    saved = {number: rule.arg for number, rule in rules.items() if rule.type == "OFFSET"}
    return FrameRule(cfa.reg, cfa.offset, saved)
