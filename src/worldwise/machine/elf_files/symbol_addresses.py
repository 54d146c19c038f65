# SPDX-License-Identifier: BSD-2-Clause
"""ELF programs: addresses of symbols, and names of addresses."""

import functools
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.machine.elf_files.questions import ask


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
