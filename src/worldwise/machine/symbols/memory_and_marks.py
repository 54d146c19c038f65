# SPDX-License-Identifier: BSD-2-Clause
"""What an ELF file of own code says of its memory and its marks; only the process of `elf_files.reader` imports it.

A file has `elf`, and `word`, how struct reads a word of it.
"""

import struct
from bisect import bisect_right
from collections import defaultdict
from typing import Any, Literal

from elftools.elf.constants import SH_FLAGS
from elftools.elf.sections import SymbolTableSection

from worldwise.machine.elf_files.arm_code import arm_branches

# Where the head of a TA has the size of its stack, and the name of its heap: OP-TEE's user_ta_header.
_TA_STACK, _TA_HEAP = 16, "ta_heap"
# The section of marks, and the kind of those that end a region.
_MARKS, _MARK_ENDS = ".worldwise", 2


def memory(file: Any) -> list[int]:
    """What it takes in memory, in bytes: code, constants, data with initial values, data that begin as zeros."""
    found = [0, 0, 0, 0]
    for section in file.elf.iter_sections():
        flags = section["sh_flags"]
        if flags & SH_FLAGS.SHF_ALLOC:
            of = 3 if section["sh_type"] == "SHT_NOBITS" else 2 if flags & SH_FLAGS.SHF_WRITE else 1
            found[0 if flags & SH_FLAGS.SHF_EXECINSTR else of] += section["sh_size"]
    return found


def ta_memory(file: Any) -> list[int]:
    """Of a TA: its entry, the word that is there, the bytes of its stack, and where its heap is and how large; the
    last two are 0 if its symbols were stripped.
    """
    # On 32-bit Arm the lowest bit marks Thumb code.
    entry = int(file.elf["e_entry"]) & (~1 if file.elf.elfclass == 32 else ~0)
    head = file.elf.get_section_by_name(".ta_head").data()
    (stack,) = struct.unpack_from(file.word, head, _TA_STACK)
    (word,) = next(
        struct.unpack_from(file.word, one.data(), entry - one["p_vaddr"])
        for one in file.elf.iter_segments()
        if one["p_type"] == "PT_LOAD" and one["p_vaddr"] <= entry < one["p_vaddr"] + one["p_filesz"] - 3
    )
    heap = [0, 0]
    for table in file.elf.iter_sections():
        if isinstance(table, SymbolTableSection):
            for symbol in table.get_symbol_by_name(_TA_HEAP) or ():
                heap = [int(symbol["st_value"]), int(symbol["st_size"])]
    return [entry, word, stack, *heap]


def returns_of(file: Any, address: int) -> list[Any]:
    """Of a function: where its calls return to, those of the functions among them that jump there as their
    last act, and whether it jumps to its own begin. Calls through a pointer are not among them.
    """
    starts, into = _branches(file)

    def begin_of(site: int) -> int:
        return starts[max(0, bisect_right(starts, site) - 1)] if starts else 0

    returns: set[int] = set()
    todo, seen = [address], {address}
    while todo:
        at = todo.pop()
        for site, behind, links in into[at]:
            begin = begin_of(site)
            if links:
                returns.add(behind)
            elif begin != at and begin not in seen:
                seen.add(begin)
                todo.append(begin)
    begins = [begin_of(site) for site, _, links in into[address] if not links]
    # Behind a function that does not return another one may begin.
    return [sorted(returns - set(starts)), address in begins]


def _branches(file: Any) -> tuple[list[int], dict[int, list[tuple[int, int, bool]]]]:
    """Where functions begin, in order, and by target the branches: of each its address, that behind it, and whether it
    calls."""
    if file.elf.elfclass == 32:
        return arm_branches(file)
    starts: set[int] = set()
    for table in file.elf.iter_sections():
        if isinstance(table, SymbolTableSection):
            for one in table.iter_symbols():
                if one["st_info"]["type"] == "STT_FUNC" and one["st_shndx"] != "SHN_UNDEF":
                    starts.add(int(one["st_value"]))
    into: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    for section in file.elf.iter_sections():
        if section["sh_type"] == "SHT_PROGBITS" and section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR:
            content = section.data()
            words = struct.unpack_from(f"{file.word[0]}{len(content) // 4}I", content)
            for at, word in enumerate(words):
                if offset := _branch(word):
                    site = int(section["sh_addr"]) + 4 * at
                    into[site + offset[0]].append((site, site + 4, offset[1]))
    return sorted(starts), into


def _branch(word: int) -> tuple[int, bool] | None:
    """How far a word of A64 code branches, and whether it calls; None if it is no direct branch."""

    def signed(value: int, bits: int) -> int:
        return 4 * ((value & ((1 << bits) - 1)) - ((value >> (bits - 1) & 1) << bits))

    if word & 0x7C00_0000 == 0x1400_0000:
        return signed(word, 26), bool(word >> 31)
    # B.cond and CBZ, then TBZ.
    if word & 0xFF00_0000 == 0x5400_0000 or word & 0x7E00_0000 == 0x3400_0000:
        return signed(word >> 5, 19), False
    return (signed(word >> 5, 14), False) if word & 0x7E00_0000 == 0x3600_0000 else None


def marks(file: Any) -> list[list[Any]]:
    """The marks of guest/own/worldwise.h, in order: address, whether the region ends there, name."""
    section = file.elf.get_section_by_name(_MARKS)
    content = section.data() if section else b""
    size = 4 if file.elf.elfclass == 32 else 8
    order: Literal["little", "big"] = "little" if file.elf.little_endian else "big"
    found = []
    at = 0
    while at + size + 1 < len(content):
        end = content.index(b"\0", at + size + 1)
        address, kind = int.from_bytes(content[at : at + size], order), content[at + size]
        # What the linker threw away is left at address 0. On 32-bit Arm the lowest bit marks Thumb code.
        if address > 1:
            name = content[at + size + 1 : end].decode("utf-8", "replace")
            found.append((address & (~1 if size == 4 else ~0), kind == _MARK_ENDS, name))
        at = end + 1
    return [list(one) for one in sorted(found)]
