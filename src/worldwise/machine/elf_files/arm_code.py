# SPDX-License-Identifier: BSD-2-Clause
"""Code for 32-bit Arm in an ELF file: its architecture, and the direct branches of A32 and T32.

Only the process of `elf_files.reader` imports it.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from elftools.elf.constants import SH_FLAGS
from elftools.elf.sections import ARMAttributesSection, SymbolTableSection

# The symbols that say what stands from their address on (ELF for the Arm Architecture): A32, T32, data.
_A32, _T32, _DATA = "$a", "$t", "$d"
# A first halfword of T32 from this on has a second one.
_WIDE = 0xE800
# What the program counter reads as, behind the begin of an instruction.
_AHEAD_A32, _AHEAD_T32 = 8, 4
_ALWAYS = 14


class _Branch(NamedTuple):
    """How far it goes from where the program counter reads, and whether it calls; `aligned`: from the word of that."""

    offset: int
    links: bool
    aligned: bool = False


def arm_branches(file: Any) -> tuple[list[int], dict[int, list[tuple[int, int, bool]]]]:
    """Where functions begin, in order, and by target the branches: of each its address, that behind it, and whether it
    calls. A file without symbols has none, since the instruction set of its code is unknown.
    """
    starts: set[int] = set()
    kinds: dict[int, str] = {}
    for table in file.elf.iter_sections():
        if isinstance(table, SymbolTableSection):
            for one in table.iter_symbols():
                if one["st_info"]["type"] == "STT_FUNC" and one["st_shndx"] != "SHN_UNDEF":
                    starts.add(int(one["st_value"]) & ~1)
                elif (kind := str(one.name)[:2]) in (_A32, _T32, _DATA):
                    kinds[int(one["st_value"])] = kind
    into: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    for section in file.elf.iter_sections():
        if section["sh_type"] == "SHT_PROGBITS" and section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR:
            for site, behind, target, links in _of_section(section.data(), int(section["sh_addr"]), kinds):
                into[target].append((site, behind, links))
    return sorted(starts), into


def _of_section(content: bytes, begin: int, kinds: dict[int, str]) -> Iterator[tuple[int, int, int, bool]]:
    """Of each direct branch of a section: its address, that behind it, where it goes, and whether it calls."""
    at, kind = 0, _DATA
    while at + 1 < len(content):
        kind = kinds.get(begin + at, kind)
        (half,) = struct.unpack_from("<H", content, at)
        size = 4 if kind == _A32 or (kind == _T32 and half >= _WIDE) else 2
        if at + size > len(content):
            return
        site = begin + at
        at += size
        if kind == _DATA:
            continue
        if kind == _A32:
            found, ahead = _a32(struct.unpack_from("<I", content, at - size)[0]), _AHEAD_A32
        else:
            second = struct.unpack_from("<H", content, at - 2)[0]
            found, ahead = _narrow(half) if size == 2 else _wide(half, second), _AHEAD_T32
        if found:
            base = site + ahead
            yield site, begin + at, (base & ~3 if found.aligned else base) + found.offset, found.links


def _signed(value: int, bits: int) -> int:
    return (value & ((1 << bits) - 1)) - ((value >> (bits - 1) & 1) << bits)


def _a32(word: int) -> _Branch | None:
    if word & 0x0E00_0000 != 0x0A00_0000:
        return None
    if word >> 28 == 15:
        # BLX, to T32.
        return _Branch(4 * _signed(word, 24) + (word >> 23 & 2), True)
    return _Branch(4 * _signed(word, 24), bool(word >> 24 & 1))


def _narrow(half: int) -> _Branch | None:
    if half & 0xF000 == 0xD000 and (half >> 8) & 15 < _ALWAYS:
        return _Branch(2 * _signed(half, 8), False)
    if half & 0xF800 == 0xE000:
        return _Branch(2 * _signed(half, 11), False)
    # CBZ, CBNZ.
    return _Branch((half >> 9 & 1) << 6 | (half >> 3 & 31) << 1, False) if half & 0xF500 == 0xB100 else None


def _wide(first: int, second: int) -> _Branch | None:
    if first & 0xF800 != 0xF000 or not second & 0x8000:
        return None
    sign, one, two = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    far = (sign ^ one ^ 1) << 23 | (sign ^ two ^ 1) << 22 | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
    match second & 0xD000:
        case 0xD000:
            return _Branch(_signed(sign << 24 | far, 25), True)
        case 0xC000:
            # BLX, to A32, whose instructions stand at multiples of four.
            return _Branch(_signed(sign << 24 | far, 25), True, aligned=True)
        case 0x9000:
            return _Branch(_signed(sign << 24 | far, 25), False)
    if (first >> 6) & 15 >= _ALWAYS:
        return None
    near = two << 19 | one << 18 | (first & 0x3F) << 12 | (second & 0x7FF) << 1
    return _Branch(_signed(sign << 20 | near, 21), False)


def arm_architecture(file: Any) -> int | None:
    """The number of the architecture that its code was built for (Tag_CPU_arch); None if it does not say one."""
    for section in file.elf.iter_sections():
        if isinstance(section, ARMAttributesSection):
            for public in section.iter_subsections():
                for scope in public.iter_subsubsections():
                    for one in scope.iter_attributes("TAG_CPU_ARCH"):
                        return int(one.value)
    return None
