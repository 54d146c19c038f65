# SPDX-License-Identifier: BSD-2-Clause
"""ELF programs: addresses of symbols, and names of addresses."""

import functools
import struct
from collections.abc import Iterator
from pathlib import Path, PurePath

from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from worldwise.base.errors import WorldwiseError


# Cached: every case of a machine asks, and a program with a C library in it has thousands of symbols.
@functools.cache
def symbol_address(elf: Path, name: str) -> int:
    """The address of a symbol of an ELF file. Raises WorldwiseError if it has none of that name."""
    with elf.open("rb") as file:
        read = ELFFile(file)
        for section in read.iter_sections():
            if isinstance(section, SymbolTableSection):
                for number in _named(section, name, "<I" if read.little_endian else ">I"):
                    return int(section.get_symbol(number)["st_value"])
    raise WorldwiseError(f"{elf} has no symbol {name}")


def _named(table: SymbolTableSection, name: str, word: str) -> Iterator[int]:
    """The numbers of the symbols of a name. pyelftools would make every symbol first: fifty times the work."""
    content, names, wanted = table.data(), table.stringtable.data(), name.encode() + b"\0"
    for number in range(table.num_symbols()):
        # A symbol begins with where its name is.
        (at,) = struct.unpack_from(word, content, number * table["sh_entsize"])
        if names.startswith(wanted, at):
            yield number


def function_code(elf: Path, name: str) -> tuple[int, bytes]:
    """The address and the code of a function of an ELF file. Raises WorldwiseError if it has none of that name."""
    with elf.open("rb") as file:
        read = ELFFile(file)
        for section in read.iter_sections():
            if isinstance(section, SymbolTableSection):
                for number in _named(section, name, "<I" if read.little_endian else ">I"):
                    symbol = section.get_symbol(number)
                    # The lowest bit marks Thumb code.
                    start, of = int(symbol["st_value"]) & ~1, read.get_section(symbol["st_shndx"])
                    at = start - int(of["sh_addr"])
                    return start, of.data()[at : at + int(symbol["st_size"])]
    raise WorldwiseError(f"{elf} has no function {name}")


def address_name(elf: Path, address: int) -> str:
    """The function and line at an address of a program: `recurse (adapter.c:12)`; empty if no function is there.

    Empty too for a program that cannot be read: a stranger's library can shape its sections.
    """
    try:
        return _address_name(elf, address)
    except Exception:
        # pyelftools may raise any error for an ELF file that no compiler would make.
        return ""


def _address_name(elf: Path, address: int) -> str:
    with elf.open("rb") as file:
        read = ELFFile(file)
        name = ""
        table = read.get_section_by_name(".symtab")
        for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
            # The lowest bit marks Thumb code.
            start = int(symbol["st_value"]) & ~1
            if symbol["st_info"]["type"] == "STT_FUNC" and start <= address < start + int(symbol["st_size"]):
                name = str(symbol.name)
                break
        if not name or not read.has_dwarf_info():
            return name
        line = _source_line(read.get_dwarf_info(), address)
    return f"{name} ({line})" if line else name


def _source_line(dwarf: DWARFInfo, address: int) -> str:
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        # Directories and files count from 1 before version 5.
        first = 0 if program["version"] >= 5 else 1
        before = None
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if before and before.address <= address < state.address:
                file = program["file_entry"][before.file - first]
                return f"{PurePath(file.name.decode()).name}:{before.line}"
            before = None if state.end_sequence else state
    return ""


def loaded_bytes(elf: Path) -> int:
    """The bytes of a program's code, constants and initial values, without data that begin as zeros."""
    with elf.open("rb") as file:
        return sum(
            section["sh_size"]
            for section in ELFFile(file).iter_sections()
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_type"] != "SHT_NOBITS"
        )
