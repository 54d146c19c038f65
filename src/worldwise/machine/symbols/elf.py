# SPDX-License-Identifier: BSD-2-Clause
"""Symbols of an ELF file: functions, their source files, executable code; read once and kept in the cache."""

import bisect
import contextlib
import hashlib
import io
import itertools
import json
import os
import posixpath
import struct
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, SymbolTableSection

from worldwise.base.errors import WorldwiseError
from worldwise.lab.holding import mark_used
from worldwise.machine.symbols.names import MARK, Candidate, Function, best_name

# Part of the cache's addresses: raise it when the same ELF file would give another table.
_FORMAT = 2
PAGE = 4096
_NOT_CODE = ("STT_OBJECT", "STT_SECTION", "STT_FILE", "STT_TLS", "STT_COMMON")


@dataclass
class ReadElf:
    """What is kept of an ELF file: functions as (name, start, size, index of the source), executable sections as
    (address, file offset, size), executable segments as (file offset, address, size)."""

    build_id: str = ""
    functions: list[tuple[str, int, int, int]] = field(default_factory=list)
    sources: list[str] = field(default_factory=lambda: [""])
    code: list[tuple[int, int, int]] = field(default_factory=list)
    segments: list[tuple[int, int, int]] = field(default_factory=list)


def content_of(elf: Path | bytes, name: str) -> bytes:
    if isinstance(elf, bytes):
        return elf
    try:
        return elf.read_bytes()
    except OSError as error:
        raise WorldwiseError(f"the symbols of {name} cannot be read: {elf}: {error.strerror}") from None


def open_elf(content: bytes) -> Any:
    return ELFFile(io.BytesIO(content))


def build_id(elf: bytes) -> str:
    """The build id of an ELF file in hexadecimal, empty if it has none."""
    for section in open_elf(elf).iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return ""


def read_cached(elf: bytes, debug: bytes, name: str, cache: Path) -> ReadElf:
    key = hashlib.sha256(f"{_FORMAT} ".encode())
    for content in (elf, debug):
        key.update(hashlib.sha256(content).digest())
    path = cache / f"{key.hexdigest()[:40]}.json"
    # A file that is not whole is made anew, whatever is wrong with it.
    with contextlib.suppress(OSError, ValueError, TypeError):
        found = ReadElf(**json.loads(path.read_text(encoding="utf-8")))
        mark_used(path)
        return found
    try:
        read = _read(elf, debug)
    except (ELFError, LookupError, struct.error) as error:
        raise WorldwiseError(f"the symbols of {name} cannot be read: {error}") from None
    cache.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=cache, prefix=".")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(vars(read), file, separators=(",", ":"))
    Path(temporary).replace(path)
    return read


def _read(content: bytes, debug: bytes) -> ReadElf:
    elf = open_elf(content)
    named = open_elf(debug) if debug else elf
    read = ReadElf(build_id=build_id(content))
    for section in elf.iter_sections():
        if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS" and section["sh_size"]:
            read.code.append((section["sh_addr"], section["sh_offset"], section["sh_size"]))
    for segment in elf.iter_segments():
        if segment["p_type"] == "PT_LOAD" and segment["p_flags"] & 1:
            read.segments.append((segment["p_offset"], segment["p_vaddr"], segment["p_filesz"]))
    functions = _sized(_symbols([elf, named] if debug else [elf]))
    functions += _plt(elf, {one.start: one.name for one in functions})
    sources = {"": 0}
    units = _units(named)
    starts = [start for start, _, _ in units]
    for one in sorted(functions):
        place = bisect.bisect_right(starts, one.start) - 1
        source = units[place][2] if place >= 0 and one.start < units[place][1] else ""
        read.functions.append((one.name, one.start, one.size, sources.setdefault(source, len(sources))))
    read.sources = list(sources)
    return read


class _Raw(NamedTuple):
    candidate: Candidate
    start: int
    size: int
    section_end: int


def _symbols(files: Sequence[Any]) -> list[_Raw]:
    found = []
    # The lowest bit of a function's address says that it is of T32.
    thumb = int(files[0]["e_machine"] == "EM_ARM")
    stripped = not any(elf.get_section_by_name(".symtab") for elf in files)
    for elf in files:
        executable = {
            number: range(section["sh_addr"], section["sh_addr"] + section["sh_size"])
            for number, section in enumerate(elf.iter_sections())
            if section["sh_flags"] & 4
        }
        for table in elf.iter_sections():
            if not isinstance(table, SymbolTableSection):
                continue
            for symbol in table.iter_symbols():
                name = symbol.name.partition("@")[0]
                entry = symbol.entry
                value = entry["st_value"] & ~thumb
                # $x and $d say where code and data begin; .L is an assembler's own. Where symbols are missing nobody
                # knows how far one without a size reaches.
                if (
                    value in executable.get(entry["st_shndx"], ())
                    and entry["st_info"]["type"] not in _NOT_CODE
                    and (entry["st_size"] or not stripped)
                    and name
                    and not name.startswith(("$", ".L"))
                ):
                    is_global = entry["st_info"]["bind"] != "STB_LOCAL"
                    end = executable[entry["st_shndx"]].stop
                    found.append(_Raw(Candidate(name, is_global), value, entry["st_size"], end))
    # Where a library is stripped these have no symbols, but they always have these sections.
    whole = [(".init", "_init"), (".fini", "_fini")]
    # Its jumps are of another form than those that _plt() reads.
    whole += [(".plt", "plt"), (".iplt", "plt")] if thumb else []
    for section, name in whole:
        if place := files[0].get_section_by_name(section):
            start, size = place["sh_addr"], place["sh_size"]
            found.append(_Raw(Candidate(name, True), start, size, start + size))
    return found


def _sized(symbols: Sequence[_Raw]) -> list[Function]:
    """One function for each address that has symbols.

    A symbol without a size, as assembly has, reaches to the next symbol or its section's end. Inside a function with
    a size it is a label of that function, no function of its own.
    """
    by_start: dict[int, list[_Raw]] = defaultdict(list)
    for one in symbols:
        by_start[one.start].append(one)
    starts = sorted(by_start)
    functions = []
    covered = 0
    for number, start in enumerate(starts):
        here = by_start[start]
        sized = [one for one in here if one.size]
        if sized:
            size = max(one.size for one in sized)
            functions.append(Function(best_name([one.candidate for one in sized]), start, size))
            covered = max(covered, start + size)
            continue
        here = [one for one in here if not MARK.fullmatch(one.candidate.name) and one.section_end > start]
        if here and start >= covered:
            end = min(one.section_end for one in here)
            if number + 1 < len(starts):
                end = min(end, starts[number + 1])
            functions.append(Function(best_name([one.candidate for one in here]), start, end - start))
    return functions


def _plt(elf: Any, names: Mapping[int, str]) -> list[Function]:
    """The jumps into other libraries, named as binutils name them: memcpy@plt.

    An entry loads its address from a slot (adrp x16; ldr x17); the slot's relocation has the name.
    """
    section = elf.get_section_by_name(".plt")
    if section is None:
        return []
    slots: dict[int, str] = {}
    for relocations in elf.iter_sections():
        if isinstance(relocations, RelocationSection):
            symbols = elf.get_section(relocations["sh_link"])
            for one in relocations.iter_relocations():
                if one["r_info_sym"]:
                    slots[one["r_offset"]] = symbols.get_symbol(one["r_info_sym"]).name.partition("@")[0]
                elif one.is_RELA() and one["r_addend"] in names:
                    # An indirect function of the image's own: the slot gets what its resolver chooses.
                    slots[one["r_offset"]] = names[one["r_addend"]]
    base, data = section["sh_addr"], section.data()
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    entries: list[tuple[int, str]] = []
    for number, (first, second) in enumerate(itertools.pairwise(words)):
        if first & 0x9F00001F != 0x90000010 or second & 0xFFC003FF != 0xF9400211:
            continue
        pages = (first >> 29 & 3) | (first >> 5 & 0x7FFFF) << 2
        pages -= (pages & 1 << 20) << 1
        slot = (base + 4 * number & ~(PAGE - 1)) + pages * PAGE + (second >> 10 & 0xFFF) * 8
        # A landing pad (bti c) before it is part of the entry.
        begin = number - 1 if number and words[number - 1] == 0xD503245F else number
        if not entries:
            begin = 0  # the way into the loader, which all entries share
        entries.append((base + 4 * begin, f"{slots[slot]}@plt" if slot in slots else "plt"))
    ends = [start for start, _ in entries[1:]] + [base + len(data)]
    return [Function(name, start, end - start) for (start, name), end in zip(entries, ends, strict=True)]


def _units(elf: Any) -> list[tuple[int, int, str]]:
    """(start, end, source file) of everything that was compiled, in the order of the addresses."""
    if not elf.has_dwarf_info(strict=True):
        return []
    dwarf = elf.get_dwarf_info()
    table = dwarf.get_aranges()
    if table is None:
        return []
    names: dict[int, str] = {}
    units = []
    for entry in table.entries:
        # What the linker threw away is left at address 0.
        if entry.begin_addr and entry.length:
            if entry.info_offset not in names:
                names[entry.info_offset] = _source(dwarf.get_CU_at(entry.info_offset).get_top_DIE().attributes)
            units.append((entry.begin_addr, entry.begin_addr + entry.length, names[entry.info_offset]))
    return sorted(units)


def _source(attributes: Mapping[str, Any]) -> str:
    """A compilation unit's file, relative to the tree it was built in."""
    name, folder = (
        attributes[key].value.decode(errors="replace") if key in attributes else ""
        for key in ("DW_AT_name", "DW_AT_comp_dir")
    )
    path = posixpath.normpath(posixpath.join(folder, name))
    # The folders of our recipes: OP-TEE is built in the first, all else in the second.
    for tree in ("/build/source/", "/build/"):
        path = path.removeprefix(tree)
    return path
