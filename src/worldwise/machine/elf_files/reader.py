# SPDX-License-Identifier: BSD-2-Clause
"""What `questions.py` asks of an ELF file, answered in a process of its own: whatever is in the file stays there.

Nothing but that process imports this module: it may raise any error, take any time and any memory.
"""

import bisect
import io
import itertools
import json
import posixpath
import resource
import struct
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from elftools.dwarf.callframe import FDE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, SymbolTableSection

from worldwise.machine.elf_files.arm_code import arm_architecture
from worldwise.machine.symbols import debug_information
from worldwise.machine.symbols.memory_and_marks import marks, memory, returns_of, ta_memory
from worldwise.machine.symbols.names import MARK, Candidate, Function, best_name
from worldwise.machine.symbols.ztest_benchmarks import ztest_benchmarks

PAGE = 4096
_NOT_CODE = ("STT_OBJECT", "STT_SECTION", "STT_FILE", "STT_TLS", "STT_COMMON")


class File:
    """An ELF file, and the file with its symbols and its debug information if these are apart."""

    def __init__(self, content: bytes, debug: bytes) -> None:
        self.content = content
        self.elf: Any = ELFFile(io.BytesIO(content))
        self.named: Any = ELFFile(io.BytesIO(debug)) if debug else self.elf
        self.word = "<I" if self.elf.little_endian else ">I"


# --- programs ---


def segments(file: File) -> list[list[int]]:
    """Of each segment that is loaded: file offset, bytes in the file, virtual and physical address, flags."""
    names = ("p_offset", "p_filesz", "p_vaddr", "p_paddr", "p_flags")
    found = [[one[name] for name in names] for one in file.elf.iter_segments() if one["p_type"] == "PT_LOAD"]
    if sum(size for _, size, *_ in found) > 2 * len(file.content):
        raise ValueError("its segments have more bytes than the file")
    return found


def machine(file: File) -> str:
    """For which processor it is, as pyelftools names it."""
    return str(file.elf["e_machine"])


def interpreted(file: File) -> bool:
    """Whether it names a loader: it is linked dynamically."""
    return any(one.header.p_type == "PT_INTERP" for one in file.elf.iter_segments())


def program(file: File) -> list[Any]:
    """What starting it takes: type, processor, entry, its loader, the libraries that it needs, and where they are."""
    loader, needed, folders = "", [], []
    for one in file.elf.iter_segments():
        if one.header.p_type == "PT_INTERP":
            loader = str(one.get_interp_name())
        if one.header.p_type == "PT_DYNAMIC":
            needed = [str(tag.needed) for tag in one.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
            paths = [getattr(tag, "runpath", "") or getattr(tag, "rpath", "") for tag in one.iter_tags()]
            folders = [folder for path in paths for folder in str(path).split(":") if folder]
    return [str(file.elf["e_type"]), machine(file), int(file.elf["e_entry"]), loader, needed, folders]


def named_functions(file: File) -> list[list[Any]]:
    """Every name of every function, static ones too: name, address, bytes. A function may have several names."""
    # On 32-bit Arm the lowest bit marks Thumb code.
    mark = 1 if file.elf["e_machine"] == "EM_ARM" else 0
    # A TA's first function is at address 0; elsewhere that is what the linker threw away.
    least = 0 if file.elf["e_type"] == "ET_DYN" else 1
    found = {
        (str(one.name), int(one["st_value"]) & ~mark, int(one["st_size"]))
        for section in file.elf.iter_sections()
        if isinstance(section, SymbolTableSection)
        for one in section.iter_symbols()
        if one["st_info"]["type"] == "STT_FUNC" and one["st_shndx"] != "SHN_UNDEF"
        if one["st_value"] >= least and one.name
    }
    return sorted(map(list, found))


def loaded_bytes(file: File) -> int:
    """The bytes of a program's code, constants and initial values, without data that begin as zeros."""
    return sum(
        section["sh_size"]
        for section in file.elf.iter_sections()
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_type"] != "SHT_NOBITS"
    )


def symbol_address(file: File, name: str) -> int | None:
    """The address of a symbol; None if there is none of that name."""
    for section in file.elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for number in _numbers(section, name, file.word):
                return int(section.get_symbol(number)["st_value"])
    return None


def _numbers(table: SymbolTableSection, name: str, word: str) -> Iterator[int]:
    """The numbers of the symbols of a name. pyelftools would make every symbol first: fifty times the work."""
    content, names, wanted = table.data(), table.stringtable.data(), name.encode() + b"\0"
    for number in range(table.num_symbols()):
        # A symbol begins with where its name is.
        (at,) = struct.unpack_from(word, content, number * table["sh_entsize"])
        if names.startswith(wanted, at):
            yield number


def function_code(file: File, name: str) -> list[Any] | None:
    """The address and the code, in hexadecimal, of a function; None if there is none of that name."""
    for section in file.elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for number in _numbers(section, name, file.word):
                symbol = section.get_symbol(number)
                # The lowest bit marks Thumb code.
                start, of = int(symbol["st_value"]) & ~1, file.elf.get_section(symbol["st_shndx"])
                at = start - int(of["sh_addr"])
                return [start, of.data()[at : at + int(symbol["st_size"])].hex()]
    return None


def places(file: File, kind: str) -> list[list[Any]]:
    """All symbols of a kind, in order: address, address behind it, name."""
    # On 32-bit Arm the lowest bit marks Thumb code.
    mark = 1 if kind == "STT_FUNC" and file.elf["e_machine"] == "EM_ARM" else 0
    table = file.elf.get_section_by_name(".symtab")
    found = []
    for one in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
        if one["st_info"]["type"] == kind and one["st_shndx"] != "SHN_UNDEF":
            start = int(one["st_value"]) & ~mark
            found.append((start, start + int(one["st_size"]), str(one.name)))
    return [list(one) for one in sorted(found)]


def build_id(file: File) -> str:
    """The build id in hexadecimal, empty if it has none."""
    for section in file.elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return ""


# --- debug information ---


def debugged(file: File) -> bool:
    """Whether it has debug information."""
    return bool(file.named.has_dwarf_info(strict=True))


def address_name(file: File, address: int) -> str:
    """The function and line at an address: `recurse (adapter.c:12)`; empty if no function is there."""
    name = ""
    table = file.elf.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
        # The lowest bit marks Thumb code.
        start = int(symbol["st_value"]) & ~1
        if symbol["st_info"]["type"] == "STT_FUNC" and start <= address < start + int(symbol["st_size"]):
            name = str(symbol.name)
            break
    if not name or not file.elf.has_dwarf_info():
        return name
    line = _source_line(file.elf.get_dwarf_info(), address)
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


def variable(file: File, source: str, name: str) -> list[Any] | None:
    """The static variable of a source file, as `debug_information.variable` says it."""
    return debug_information.variable(file.elf, source, name)


def inlined_into(file: File, pattern: str) -> list[list[str]]:
    """Functions of a name or shell pattern that stand within others: each with the function it was put into."""
    return debug_information.inlined_into(file.named, pattern)


def frames(file: File) -> list[list[Any]]:
    """The table .debug_frame: of each function its address, its bytes, and its rows or what is wrong with them.

    A row is an address, and the rule there: the register and the offset of the caller's stack pointer, and registers
    in memory as [number, offset]; or null where only a debugger follows.
    """
    dwarf = file.named.get_dwarf_info() if file.named.has_dwarf_info() else None
    found = [one for one in dwarf.CFI_entries() if isinstance(one, FDE)] if dwarf and dwarf.has_CFI() else []
    found.sort(key=lambda one: int(one["initial_location"]))
    return [[one["initial_location"], one["address_range"], _rows(one)] for one in found]


def _rows(entry: FDE) -> list[Any] | str:
    try:
        return [[row["pc"], _rule(row)] for row in entry.get_decoded().table]
    except MemoryError:
        raise
    except Exception as error:
        # For this function alone it is unknown.
        return _words(error)


def _rule(row: Mapping[Any, Any]) -> list[Any] | None:
    cfa = row["cfa"]
    if cfa.expr is not None:
        return None
    rules = {number: rule for number, rule in row.items() if isinstance(number, int)}
    if any(rule.type not in ("OFFSET", "SAME_VALUE", "UNDEFINED") for rule in rules.values()):
        return None
    return [cfa.reg, cfa.offset, [[number, rule.arg] for number, rule in rules.items() if rule.type == "OFFSET"]]


# --- functions, sources and code ---


def table(file: File) -> dict[str, Any]:
    """What symbols.elf keeps of a file: see ReadElf."""
    content, elf = file.content, file.elf
    named = file.named
    code, whole, executable = [], 0, []
    for section in elf.iter_sections():
        if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS" and section["sh_size"]:
            code.append((section["sh_addr"], section["sh_offset"], section["sh_size"]))
            whole += section["sh_size"]
    if whole > len(content):
        raise ValueError("its sections have more code than the file has bytes")
    for segment in elf.iter_segments():
        if segment["p_type"] == "PT_LOAD" and segment["p_flags"] & 1:
            executable.append((segment["p_offset"], segment["p_vaddr"], segment["p_filesz"]))
    functions = _sized(_symbols([elf, named] if named is not elf else [elf]))
    functions += _plt(elf, {one.start: one.name for one in functions})
    sources = {"": 0}
    units = _units(named)
    starts = [start for start, _, _ in units]
    listed = []
    for one in sorted(functions):
        place = bisect.bisect_right(starts, one.start) - 1
        source = units[place][2] if place >= 0 and one.start < units[place][1] else ""
        listed.append((one.name, one.start, one.size, sources.setdefault(source, len(sources))))
    return {
        "build_id": build_id(file),
        "functions": listed,
        "sources": list(sources),
        "code": code,
        "segments": executable,
    }


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
    if elf["e_machine"] != "EM_AARCH64":
        # Of another form: _raw_functions() has them as one.
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


# --- the process ---

QUESTIONS: Mapping[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        *(
            segments,
            machine,
            arm_architecture,
            program,
            named_functions,
            interpreted,
            loaded_bytes,
            memory,
            ta_memory,
            marks,
            returns_of,
            symbol_address,
            function_code,
            places,
            build_id,
        ),
        *(debugged, address_name, variable, inlined_into, frames, table, ztest_benchmarks),
    )
}


def _words(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "it takes too much memory"
    return f"{type(error).__name__} {' '.join(str(error).split())}".rstrip()[:300]


def answer(content: bytes, debug: bytes, questions: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """To each question (a name and its arguments) `[True, answer]`, or `[False, what is wrong]` in a few words."""
    try:
        file = File(content, debug)
    except Exception as error:
        return [[False, _words(error)]] * len(questions)
    answers = []
    for name, *words in questions:
        try:
            answers.append([True, QUESTIONS[name](file, *words)])
        except Exception as error:
            answers.append([False, _words(error)])
    return answers


def main(memory: int, seconds: int, written: int) -> None:
    """Answer what standard input asks: a line of JSON, then the files that it names the sizes of."""
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, written),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    asked = json.loads(sys.stdin.buffer.readline())
    content, debug = (sys.stdin.buffer.read(size) for size in asked["sizes"])
    text = json.dumps(answer(content, debug, asked["questions"]), separators=(",", ":"))
    sys.stdout.write(text)
    sys.stdout.flush()
