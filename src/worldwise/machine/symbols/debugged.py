# SPDX-License-Identifier: BSD-2-Clause
"""What the debug information of an ELF file says of functions; only the process of `elfreading` imports this module."""

import fnmatch
from typing import Any

from elftools.dwarf.die import DIE

# An entry refers to another one at most so often.
_MOST_REFERENCES = 100
# Functions that are told to stand within others.
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
