# SPDX-License-Identifier: BSD-2-Clause
"""Where a program's functions and static data are: by its symbols, and of variables by its debug information."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from worldwise.base.errors import WorldwiseError

# DW_OP_addr: the operand is an address.
_OP_ADDR = 0x03


@dataclass(frozen=True)
class Variable:
    """A static variable: its address, its bytes, and if it is a structure its members by name, as (offset, bytes)."""

    address: int
    size: int
    members: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def static_variable(elf: Path, source: str, name: str) -> Variable | None:
    """The static variable of a source file, such as `portable/random.c`; None if the program has none.

    Raises WorldwiseError if the debug information cannot be read.
    """
    try:
        with elf.open("rb") as file:
            read = ELFFile(file)
            units = read.get_dwarf_info().iter_CUs() if read.has_dwarf_info() else ()
            for unit in units:
                top = unit.get_top_DIE()
                if not _text(top, "DW_AT_name").endswith(source):
                    continue
                for die in unit.iter_DIEs():
                    place = die.attributes.get("DW_AT_location")
                    if die.tag == "DW_TAG_variable" and _text(die, "DW_AT_name") == name and place:
                        return _variable(die, place.value, read.little_endian)
    except (ELFError, LookupError, OSError) as error:
        raise WorldwiseError(f"{elf}: its debug information cannot be read: {error}") from None
    return None


def code_at(elf: Path, start: int, end: int) -> bytes:
    """The program's own bytes at addresses. Raises WorldwiseError if it has none there."""
    with elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments():
            at = start - int(segment["p_vaddr"])
            if segment["p_type"] == "PT_LOAD" and at >= 0 and end - start + at <= segment["p_filesz"]:
                return bytes(segment.data()[at : end - start + at])
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
    following = dict(zip(starts, [*starts[1:], 2**64 - 1], strict=True))
    ends: dict[int, tuple[int, str]] = {}
    for start, end, name in found:
        known = ends.get(start, (start, name))
        ends[start] = max(known, (end, known[1]))
    return [
        (start, min(end if end > start else following[start], following[start]), name)
        for start, (end, name) in sorted(ends.items())
    ]


def _symbols(elf: Path, kind: str) -> list[tuple[int, int, str]]:
    with elf.open("rb") as file:
        read = ELFFile(file)
        # On 32-bit Arm the lowest bit marks Thumb code.
        mark = 1 if kind == "STT_FUNC" and read["e_machine"] == "EM_ARM" else 0
        table = read.get_section_by_name(".symtab")
        found = []
        for one in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
            if one["st_info"]["type"] == kind and one["st_shndx"] != "SHN_UNDEF":
                start = int(one["st_value"]) & ~mark
                found.append((start, start + int(one["st_size"]), str(one.name)))
    return sorted(found)


def _variable(die: DIE, place: Any, little_endian: bool) -> Variable:
    if not place or place[0] != _OP_ADDR:
        raise LookupError("a variable is at no fixed address")
    address = int.from_bytes(bytes(place[1:]), "little" if little_endian else "big")
    kind = _type(die)
    members = {
        _text(one, "DW_AT_name"): (int(one.attributes["DW_AT_data_member_location"].value), _size(_type(one)))
        for one in kind.iter_children()
        if one.tag == "DW_TAG_member"
    }
    return Variable(address, _size(kind), members)


def _type(die: DIE) -> DIE:
    """A variable's or member's type, without the names and qualifiers that it goes by."""
    found = die.get_DIE_from_attribute("DW_AT_type")
    while found.tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
        found = found.get_DIE_from_attribute("DW_AT_type")
    return found


def _size(kind: DIE) -> int:
    if kind.tag != "DW_TAG_array_type":
        return int(kind.attributes["DW_AT_byte_size"].value)
    size = _size(_type(kind))
    for bound in _bounds(kind):
        size *= bound
    return size


def _bounds(kind: DIE) -> Iterator[int]:
    for one in kind.iter_children():
        if one.tag == "DW_TAG_subrange_type":
            upper = one.attributes.get("DW_AT_upper_bound")
            yield int(upper.value) + 1 if upper else int(one.attributes["DW_AT_count"].value)


def _text(die: DIE, name: str) -> str:
    value = die.attributes.get(name)
    return value.value.decode("utf-8", "replace") if value else ""
