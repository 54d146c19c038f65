# SPDX-License-Identifier: BSD-2-Clause
"""Where a function keeps what its caller needs, instruction by instruction: the table .debug_frame of an ELF file."""

import bisect
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.machine.elf_files.questions import ask


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
        cache: the folder in which what was read is kept for the next time.
    """

    def __init__(self, image: str, content: bytes, cache: Path) -> None:
        self._image = image
        self._content = content
        self._cache = cache

    def rule(self, address: int) -> FrameRule | None:
        """The rule at a link-time address; None if the table does not say, or in a way that only a debugger follows.

        Raises WorldwiseError if the table cannot be read.
        """
        starts, entries = self._entries
        place = bisect.bisect_right(starts, address) - 1
        if place < 0:
            return None
        start, size, rows = entries[place]
        if address >= start + size:
            return None
        if isinstance(rows, str):
            raise WorldwiseError(f"{self._what} cannot be read: {files.quoted(rows)}")
        row = bisect.bisect_right([pc for pc, _ in rows], address) - 1
        found = rows[row][1] if row >= 0 else None
        return FrameRule(found[0], found[1], dict(found[2])) if found else None

    @property
    def _what(self) -> str:
        return f"{self._image}: its table .debug_frame"

    @functools.cached_property
    def _entries(self) -> tuple[list[int], list[Any]]:
        """The functions with an entry, in the order of their addresses."""
        (found,) = ask(self._content, ("frames",), what=self._what, cache=self._cache)
        return [start for start, _, _ in found], found
