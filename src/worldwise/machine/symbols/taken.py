# SPDX-License-Identifier: BSD-2-Clause
"""What an ELF file of own code says of its memory and its marks; only the process of `elfreading` imports this module.

A file has `elf`, and `word`, how struct reads a word of it.
"""

import struct
from typing import Any, Literal

from elftools.elf.constants import SH_FLAGS
from elftools.elf.sections import SymbolTableSection

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
    entry = int(file.elf["e_entry"])
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
