# SPDX-License-Identifier: BSD-2-Clause
"""What an ELF file's debug information says of functions and variables; for the process of `elf_files.reader` alone."""

import fnmatch
from collections.abc import Iterator
from typing import Any

from elftools.dwarf.die import DIE

# DW_OP_addr: the operand is an address.
_OP_ADDR = 0x03
# A type is a name of another one, and an array of others, at most so often.
_MOST_TYPES = 100
# An entry refers to another one at most so often.
_MOST_REFERENCES = 100
# Functions that are reported as inlined into others.
_MOST_INLINED = 200


def inlined_into(elf: Any, pattern: str) -> list[list[str]]:
    """Functions of a name or shell pattern that stand within others: each with the function it was put into.

    Of C++ and Rust the names are the linker's, and the pattern is also tried on the bare name.
    """
    if not elf.has_dwarf_info(strict=True):
        return []
    bare = pattern.rpartition("::")[2]
    found = set()
    for unit in elf.get_dwarf_info().iter_CUs():
        for die in unit.iter_DIEs():
            if die.tag != "DW_TAG_inlined_subroutine":
                continue
            names = _names(die)
            if any(fnmatch.fnmatchcase(name, wanted) for name in names for wanted in (pattern, bare)):
                into = die.get_parent()
                while into is not None and into.tag not in ("DW_TAG_subprogram", "DW_TAG_compile_unit"):
                    into = into.get_parent()
                if into is not None and into.tag == "DW_TAG_subprogram" and (around := _names(into)):
                    found.add((names[-1], around[-1]))
    return [list(pair) for pair in sorted(found)][:_MOST_INLINED]


def _names(die: DIE) -> list[str]:
    """The names of a function, the linker's last: those that it has itself, or its declaration."""
    found = []
    for _ in range(_MOST_REFERENCES):
        for key in ("DW_AT_name", "DW_AT_linkage_name"):
            if (name := _text(die, key)) and name not in found:
                found.append(name)
        of = next((one for one in ("DW_AT_abstract_origin", "DW_AT_specification") if one in die.attributes), None)
        if of is None:
            break
        die = die.get_DIE_from_attribute(of)
    return sorted(found, key=lambda name: name.startswith(("_Z", "_R")))


def _text(die: DIE, name: str) -> str:
    value = die.attributes.get(name)
    return value.value.decode("utf-8", "replace") if value else ""


def variable(elf: Any, source: str, name: str) -> list[Any] | None:
    """The static variable of a source file: address, bytes, members as name -> [offset, bytes]; None if none is there.

    Raises LookupError if it is at no fixed address.
    """
    units = elf.get_dwarf_info().iter_CUs() if elf.has_dwarf_info() else ()
    for unit in units:
        top = unit.get_top_DIE()
        if not _text(top, "DW_AT_name").endswith(source):
            continue
        for die in unit.iter_DIEs():
            place = die.attributes.get("DW_AT_location")
            if die.tag == "DW_TAG_variable" and _text(die, "DW_AT_name") == name and place:
                return _variable(die, place.value, elf.little_endian)
    return None


def _variable(die: DIE, place: Any, little_endian: bool) -> list[Any]:
    if not place or place[0] != _OP_ADDR:
        raise LookupError("a variable is at no fixed address")
    address = int.from_bytes(bytes(place[1:]), "little" if little_endian else "big")
    kind = type_of(die)
    members = {
        _text(one, "DW_AT_name"): [int(one.attributes["DW_AT_data_member_location"].value), size_of(type_of(one))]
        for one in kind.iter_children()
        if one.tag == "DW_TAG_member"
    }
    return [address, size_of(kind), members]


def type_of(die: DIE) -> DIE:
    """A variable's or member's type, without the names and qualifiers that it goes by."""
    found = die.get_DIE_from_attribute("DW_AT_type")
    for _ in range(_MOST_TYPES):
        if found.tag not in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
            return found
        found = found.get_DIE_from_attribute("DW_AT_type")
    raise LookupError("a type is an alias of itself")


def size_of(kind: DIE) -> int:
    """Bytes of a type. Raises LookupError if it has no size."""
    size = 1
    for _ in range(_MOST_TYPES):
        if kind.tag != "DW_TAG_array_type":
            return size * int(kind.attributes["DW_AT_byte_size"].value)
        for bound in _bounds(kind):
            size *= bound
        kind = type_of(kind)
    raise LookupError("a type is an array of itself")


def _bounds(kind: DIE) -> Iterator[int]:
    for one in kind.iter_children():
        if one.tag == "DW_TAG_subrange_type":
            upper = one.attributes.get("DW_AT_upper_bound")
            yield int(upper.value) + 1 if upper else int(one.attributes["DW_AT_count"].value)
