# SPDX-License-Identifier: BSD-2-Clause
"""Where a program's functions and static data are, and what is at an address: by symbols and debug information."""

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.machine.elf_files.questions import ask, content_of


@dataclass(frozen=True)
class Variable:
    """A static variable: its address, its bytes, and if it is a structure its members by name, as (offset, bytes)."""

    address: int
    size: int
    members: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def static_variable(elf: Path, source: str, name: str) -> Variable | None:
    """The static variable of a source file, such as `guest/operations/random.c`; None if the program has none.

    Raises WorldwiseError if the debug information cannot be read.
    """
    (found,) = ask(elf, ("variable", source, name), what=f"{elf}: its debug information")
    return None if found is None else Variable(found[0], found[1], found[2])


def code_at(elf: Path, start: int, end: int) -> bytes:
    """The program's own bytes at addresses. Raises WorldwiseError if it has none there."""
    content = content_of(elf, str(elf))
    (segments,) = ask(content, ("segments",), what=str(elf))
    for offset, size, address, _, _ in segments:
        at = start - address
        if at >= 0 and end - start + at <= size:
            return content[offset + at : offset + end - start + at]
    raise WorldwiseError(f"{elf}: has no code at {start:#x}")


def objects(elf: Path) -> list[tuple[int, int, str]]:
    """The program's static data with names, in order: address, address behind it, name."""
    return _symbols(elf, "STT_OBJECT")


# Cached: a program with a C library in it has thousands of symbols, and one comparison asks several times.
@functools.cache
def functions(elf: Path) -> list[tuple[int, int, str]]:
    """The program's functions, in order and without overlaps: address, address behind it, name.

    One without a length, as assembly may leave it, goes on to the next one.
    """
    found = _symbols(elf, "STT_FUNC")
    starts = sorted({start for start, _, _ in found})
    following = dict(itertools.pairwise([*starts, 2**64 - 1]))
    ends: dict[int, tuple[int, str]] = {}
    for start, end, name in found:
        known = ends.get(start, (start, name))
        ends[start] = max(known, (end, known[1]))
    return [
        (start, min(end if end > start else following[start], following[start]), name)
        for start, (end, name) in sorted(ends.items())
    ]


def _symbols(elf: Path, kind: str) -> list[tuple[int, int, str]]:
    (found,) = ask(elf, ("places", kind))
    return list(found)


# Cached: every case of a machine asks.
@functools.cache
def symbol_address(elf: Path, name: str) -> int:
    """The address of a symbol of an ELF file. Raises WorldwiseError if it has none of that name, or cannot be read."""
    (found,) = ask(elf, ("symbol_address", name))
    if found is None:
        raise WorldwiseError(f"{elf} has no symbol {name}")
    return int(found)


def address_name(elf: Path, address: int) -> str:
    """The function and line at an address of a program: `recurse (adapter.c:12)`; empty if no function is there.

    Empty too for a program that cannot be read: a stranger's library can shape its sections.
    """
    try:
        (found,) = ask(elf, ("address_name", address))
    except WorldwiseError:
        return ""
    return str(found)


def loaded_bytes(elf: Path) -> int:
    """The bytes of a program's code, constants and initial values, without data that begin as zeros.

    Raises WorldwiseError.
    """
    (found,) = ask(elf, ("loaded_bytes",))
    return int(found)
