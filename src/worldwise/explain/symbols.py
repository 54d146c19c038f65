# SPDX-License-Identifier: BSD-2-Clause
"""Names for the addresses of a measured machine: every exception level, both worlds.

The ELF files are those of the machine under measurement: the user space comes out of its initramfs, and the kernel,
which changes its own text as it boots, says itself what is where. Where a file on the machine is stripped, the
package's debug file of the same build id names it.

    space = address_space(emulator, machine, images)
    space.locate(Context("secure", 0), executed)           # ldelf and the TA, whose place is found at run time
    space.locate(Context("secure", 1), executed)           # the core's vectors while a TA runs
    symbol = space.lookup(Context("secure", 1), pc)        # None: unknown
"""

import bisect
import contextlib
import hashlib
import io
import itertools
import json
import os
import posixpath
import re
import shutil
import struct
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, SymbolTableSection
from filelock import FileLock

from worldwise.base.errors import WorldwiseError
from worldwise.explain.stacks import World
from worldwise.lab import debian, image
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, Machine
from worldwise.targets.guest import debug_symbols

# Names of functions whose images come without any: see the file.
NAMES = Path(__file__).parent / "names.toml"

# Part of the cache's addresses: raise it when the same ELF file would give another table.
_FORMAT = 1
_MACHINE_FILES = ("kallsyms", "modules", "sections", "processes", "vdso")
# Instructions that must agree before an image counts as found, and how many times as many as at any other place.
_LEAST_EVIDENCE = 16
_LEAST_MARGIN = 4
_PAGE = 4096
# guest/linux/init.c takes so many words of a case, the program's name among them.
_MAX_PROGRAMS = 15

# What linkers fill up with: udf #0, nop, and nop as the kernel's vdso has it, the wrong way round.
_PADDING = (bytes(4), b"\x1f\x20\x03\xd5", b"\xd5\x03\x20\x1f")
# Names that are no function's: they mark where a linker's section begins or ends.
_MARK = re.compile(
    r"__[A-Z0-9_]+__|_*(s|e)(init|exit)?text|_text|_*\w*text\w*_(start|begin|end)|_*\w*(init|exit|ro|mem)_(start|end)"
)
_NOT_CODE = ("STT_OBJECT", "STT_SECTION", "STT_FILE", "STT_TLS", "STT_COMMON")
_MAPS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+ *(.*)")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Symbol:
    """What an address belongs to.

    Attributes:
        function: its name.
        image: what it is part of: client, linux-bench, libteec, libc, ld.so, tee-supplicant, init, linux,
            linux:optee, linux:tee, linux:vdso, bl31, tee, ldelf, ta; any other program or library by its name.
        source: the source file it was compiled from, relative to its tree; empty where no debug information says.
        start: the function's first address, as the machine has it.
        offset: bytes from there.
        size: the function's bytes.
    """

    function: str
    image: str
    source: str
    start: int
    offset: int
    size: int


class Context(NamedTuple):
    """Where an address is executed: el 0 and 1 of the worlds normal and secure, ("monitor", 3).

    `process` is the task's name (comm) at normal EL0 (optee-client, linux-bench, tee-supplicant, init, ...), empty
    elsewhere.
    """

    world: World
    el: int
    process: str = ""


class Function(NamedTuple):
    """A function of an image: name, link-time address, bytes, source file (empty if not known)."""

    name: str
    start: int
    size: int
    source: str = ""


class SymbolTable:
    """The functions of one image, by the addresses it was linked at.

    Args:
        image: its name, as in Symbol.image.
        functions: in any order; where two overlap, the one that begins later has the address.
        code: its executable bytes: (address, bytes). Empty for an image whose file is not there.
        segments: executable segments: (file offset, address, bytes in the file).
        debug: the ELF file with its debug information, for `inline_chain`.

    Attributes:
        image: its name.
        bounds: first address of a function or of code, and the first after the last.
    """

    def __init__(
        self,
        image: str,
        functions: Iterable[Function],
        code: Sequence[tuple[int, bytes]] = (),
        segments: Sequence[tuple[int, int, int]] = (),
        debug: bytes = b"",
    ) -> None:
        self.image = image
        self._functions = sorted(functions, key=lambda one: (one.start, -one.size))
        self._segments = list(segments)
        self._code = sorted(code)
        pieces = _innermost([(one.start, one.start + one.size) for one in self._functions])
        self._starts = [start for start, _, _ in pieces]
        self._pieces = pieces
        self._inlines = _Inlines(debug) if debug else None
        self._words: dict[tuple[int, bytes], list[int]] = {}
        ranges = [(start, end) for start, end, _ in pieces] + [(at, at + len(data)) for at, data in self._code]
        self.bounds = (min(start for start, _ in ranges), max(end for _, end in ranges)) if ranges else (0, 0)

    @classmethod
    def from_elf(cls, elf: Path | bytes, image: str, cache: Path, debug: Path | bytes | None = None) -> "SymbolTable":
        """From an ELF file and, where its symbols are apart, the file that has them.

        Args:
            elf: the file, or its content.
            image: its name.
            cache: folder in which what was read is kept for the next time.
            debug: the file with the symbols and the debug information, if `elf` is stripped.

        Raises WorldwiseError if a file is not there or no ELF file.
        """
        content, extra = _content(elf, image), _content(debug, image) if debug is not None else b""
        read = _read_cached(content, extra, image, cache)
        functions = [Function(name, start, size, read.sources[source]) for name, start, size, source in read.functions]
        return cls(
            image,
            [*functions, *_known_names(read.build_id)],
            [(at, content[offset : offset + size]) for at, offset, size in read.code],
            read.segments,
            extra or content,
        )

    def __len__(self) -> int:
        return len(self._functions)

    def lookup(self, address: int) -> Symbol | None:
        """The function at a link-time address; None in a gap."""
        place = bisect.bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._pieces[place][1]:
            return None
        name, start, size, source = self._functions[self._pieces[place][2]]
        return Symbol(name, self.image, source, start, address - start, size)

    def address(self, function: str) -> int:
        """The link-time address of a function. Raises WorldwiseError if the image has none of that name."""
        for one in self._functions:
            if one.name == function:
                return one.start
        raise WorldwiseError(f"{self.image} has no function {function}")

    def inline_chain(self, address: int) -> list[str]:
        """Functions inlined at a link-time address, outermost first; empty if none, or no debug information.

        The first call for a source file reads all its functions: up to a second for a large one.
        """
        return self._inlines.chain(address) if self._inlines else []

    @property
    def has_code(self) -> bool:
        """Whether the image's bytes are there to compare with."""
        return bool(self._code)

    def code(self, address: int, length: int) -> bytes | None:
        """The image's own bytes at a link-time address; None where it has no executable bytes."""
        place = bisect.bisect_right(self._code, (address, b"\xff" * 16)) - 1
        if place < 0:
            return None
        at, data = self._code[place]
        found = data[address - at : address - at + length]
        return found if len(found) == length else None

    def verify(self, pc: int, code: bytes, bias: int = 0) -> bool:
        """Whether the image, loaded `bias` above its link address, has these instruction bytes at `pc`."""
        return self.code(pc - bias, len(code)) == code

    def bias_of_mapping(self, start: int, offset: int) -> int | None:
        """How far above its link address the image is where its file's `offset` is mapped at `start`."""
        for at, address, size in self._segments:
            if at - at % _PAGE <= offset < at + size:
                return start - (address + offset - at)
        return None

    def ranges(self) -> list[tuple[int, int]]:
        """Link-time addresses (start, end) of functions, in order; one that others interrupt is in pieces."""
        return [(start, end) for start, end, _ in self._pieces]

    def gaps(self) -> list[tuple[int, int]]:
        """Executable bytes that no function has: (start, end), padding left out."""
        found: list[tuple[int, int]] = []
        for at, data in self._code:
            for word in range(at, at + len(data) - 3, 4):
                if data[word - at : word - at + 4] in _PADDING or self.lookup(word):
                    continue
                if found and found[-1][1] == word:
                    found[-1] = (found[-1][0], word + 4)
                else:
                    found.append((word, word + 4))
        return found

    def part(self, start: int, end: int) -> "SymbolTable":
        """The table of the image's code at start <= address < end alone."""
        functions = [one for one in self._functions if start < one.start + one.size and one.start < end]
        code = [(max(at, start), data[max(start - at, 0) : max(end - at, 0)]) for at, data in self._code]
        part = SymbolTable(self.image, (), [(at, data) for at, data in code if data])
        part._functions, part._inlines = functions, self._inlines
        pieces = _innermost([(one.start, one.start + one.size) for one in functions])
        part._pieces = [(max(low, start), min(high, end), n) for low, high, n in pieces if low < end and start < high]
        part._starts = [low for low, _, _ in part._pieces]
        return part

    def places(self, pc: int, word: bytes) -> list[int]:
        """Link-time addresses at which the image has this instruction, at the same place in a page as `pc`."""
        if not self._words:
            words = defaultdict(list)
            for at, data in self._code:
                for offset in range(0, len(data) - 3, 4):
                    words[(at + offset) % _PAGE, data[offset : offset + 4]].append(at + offset)
            self._words = dict(words)
        return self._words.get((pc % _PAGE, word), [])


def find_bias(table: SymbolTable, executed: Mapping[int, bytes]) -> int | None:
    """How far above its link address an image is loaded: the place where its bytes are those that were executed.

    Args:
        table: of an image whose bytes are known.
        executed: address -> instruction bytes (a multiple of 4), of other images in the same address space too.

    None unless, at one place, every instruction executed within the image's bounds is the image's, there are at least
    16 of them, and no other whole number of pages has a fourth as many in agreement.
    """
    votes: Counter[int] = Counter()
    for pc, code in executed.items():
        votes.update(pc - address for address in table.places(pc, code[:4]))
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < _LEAST_EVIDENCE:
        return None
    if len(ranked) > 1 and ranked[1][1] * _LEAST_MARGIN > ranked[0][1]:
        return None
    bias = ranked[0][0]
    low, high = (bound + bias for bound in table.bounds)
    inside = [(pc, code) for pc, code in executed.items() if low <= pc < high]
    return bias if all(table.verify(pc, code, bias) for pc, code in inside) else None


class Place(NamedTuple):
    """Addresses start <= pc < end of a context are the table's, `bias` above its own."""

    start: int
    end: int
    bias: int
    table: SymbolTable


class AddressSpace:
    """Which image is where, by context.

    Args:
        floating: images whose place is not known before they have run (see `locate`), by context.
    """

    def __init__(self, floating: Mapping[Context, Sequence[SymbolTable]] | None = None) -> None:
        self._mappings: dict[Context, list[Place]] = {}
        self._floating = {context: list(tables) for context, tables in (floating or {}).items()}
        self._cache: dict[Context, dict[int, Symbol | None]] = {}

    def map(self, context: Context, start: int, end: int, bias: int, table: SymbolTable) -> None:
        """In this context, addresses start <= pc < end are the table's, `bias` above its own.

        Raises WorldwiseError if another image is there already.
        """
        mappings = self._mappings.setdefault(context, [])
        new = Place(start, end, bias, table)
        if new in mappings:
            return
        for old in mappings:
            if start < old.end and old.start < end:
                raise WorldwiseError(
                    f"{table.image} at {start:#x}-{end:#x} lies on {old.table.image} at {old.start:#x}-{old.end:#x}"
                )
        bisect.insort(mappings, new, key=lambda one: one.start)
        self._cache.pop(context, None)

    def locate(self, context: Context, executed: Mapping[int, bytes]) -> list[str]:
        """Find where the context's floating images (ldelf, TA) are, and map them there.

        An image that was loaded more than once is found at each place. May be called again as more is executed.
        Returns the names of all that have a place now.
        """
        rest = {pc: code for pc, code in executed.items() if self._mapping(context, pc) is None}
        tables = self._floating.get(context, [])
        for table in tables:
            while (bias := find_bias(table, rest)) is not None:
                low, high = (bound + bias for bound in table.bounds)
                self.map(context, low, high, bias, table)
                rest = {pc: code for pc, code in rest.items() if not low <= pc < high}
        placed = {id(mapping.table) for mapping in self._mappings.get(context, ())}
        return [table.image for table in tables if id(table) in placed]

    def lookup(self, context: Context, pc: int) -> Symbol | None:
        """The function at an address of a context, at the machine's addresses; None if unknown."""
        known = self._cache.get(context)
        if known is None:
            known = self._cache[context] = {}
        if pc in known:
            return known[pc]
        mapping = self._mapping(context, pc)
        found = mapping.table.lookup(pc - mapping.bias) if mapping else None
        if found and mapping and mapping.bias:
            found = Symbol(
                found.function, found.image, found.source, found.start + mapping.bias, found.offset, found.size
            )
        known[pc] = found
        return found

    def inline_chain(self, context: Context, pc: int) -> list[str]:
        """Functions inlined at an address of a context, outermost first."""
        mapping = self._mapping(context, pc)
        return mapping.table.inline_chain(pc - mapping.bias) if mapping else []

    def verify(self, context: Context, pc: int, code: bytes) -> bool | None:
        """Whether the image mapped there has these bytes; None if nothing is mapped, or its file is not there."""
        mapping = self._mapping(context, pc)
        return mapping.table.verify(pc, code, mapping.bias) if mapping and mapping.table.has_code else None

    def code(self, context: Context, pc: int, length: int) -> bytes | None:
        """The bytes that the image mapped there has in its file; None if nothing is mapped or it has no file."""
        mapping = self._mapping(context, pc)
        return mapping.table.code(pc - mapping.bias, length) if mapping else None

    def image(self, context: Context, pc: int) -> str:
        """The image mapped at an address, known function or not; empty if none."""
        mapping = self._mapping(context, pc)
        return mapping.table.image if mapping else ""

    def contexts(self) -> list[Context]:
        """All contexts with something mapped."""
        return sorted(self._mappings)

    def mappings(self, context: Context) -> list[Place]:
        """What is mapped in a context, in the order of the addresses."""
        return list(self._mappings.get(context, ()))

    def _mapping(self, context: Context, pc: int) -> Place | None:
        mappings = self._mappings.get(context, ())
        place = bisect.bisect_right(mappings, pc, key=lambda one: one.start) - 1
        return mappings[place] if place >= 0 and pc < mappings[place].end else None


# --- the machine ---


def machine_symbols(emulator: Emulator, machine: Machine) -> Path:
    """The folder with what the machine says of itself, made by running /bin/symbols on it unless it is there.

    Files: kallsyms, modules, sections, processes, vdso; see guest/linux/symbols.c. Raises WorldwiseError if the
    machine does not say.
    """
    digest = machine.digest(emulator.lab)
    emulator.directory.mkdir(parents=True, exist_ok=True)
    final = emulator.directory / f"{digest[:12]}.symbols"
    snapshot = emulator.snapshot(machine)
    with FileLock(snapshot.with_name(f".{digest[:12]}.symbols.lock")):
        problem = _problem(final, digest)
        if not problem:
            return final
        if final.exists():
            emulator.notify(f"symbols of {machine.name}: {problem}; asking the machine anew")
            shutil.rmtree(final)
        work = Path(tempfile.mkdtemp(dir=emulator.directory, prefix=".symbols-"))
        try:
            _ask(emulator, machine, work)
            manifest = {"digest": digest, "files": {name: debian.file_sha256(work / name) for name in _MACHINE_FILES}}
            (work / "symbols.json").write_text(json.dumps(manifest) + "\n", encoding="utf-8")
            work.rename(final)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return final


def _ask(emulator: Emulator, machine: Machine, directory: Path) -> None:
    programs = [
        f"/{name}"
        for name, content in sorted(initramfs_files(machine.files["initramfs.cpio"]).items())
        if name.startswith("bin/") and name != "bin/symbols" and content.startswith(b"\x7fELF")
    ]
    if len(programs) > _MAX_PROGRAMS:
        raise WorldwiseError(f"machine {machine.name} has {len(programs)} programs, more than a case can name")
    status = emulator.run(machine, ["/bin/symbols", *programs], directory, left=_MACHINE_FILES).status
    if status:
        said = ""
        with contextlib.suppress(OSError, ValueError, LookupError):
            said = json.loads((directory / RECORDS).read_text(encoding="ascii").splitlines()[-1])["message"]
        raise WorldwiseError(
            f"machine {machine.name} does not say what is where: {said or f'/bin/symbols ended with {status}'}",
            details=emulator.diagnosis(directory, machine),
        )
    for path in directory.iterdir():
        if path.name not in _MACHINE_FILES:
            path.unlink()


def _problem(directory: Path, digest: str) -> str:
    try:
        manifest = json.loads((directory / "symbols.json").read_text(encoding="utf-8"))
        if manifest["digest"] != digest or set(manifest["files"]) != set(_MACHINE_FILES):
            return "they are another machine's"
        return image.check_files(directory, manifest["files"])
    except FileNotFoundError:
        return "not there"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"they cannot be read ({error})"


def address_space(emulator: Emulator, machine: Machine, images: ImageStore) -> AddressSpace:
    """All symbol tables of a machine at their places.

    `locate` finds the rest: ldelf and the TA in the context ("secure", 0), and in ("secure", 1) the core's vectors at
    the addresses they have while a TA runs.

    Raises WorldwiseError if the machine or an image cannot be read.
    """
    said = machine_symbols(emulator, machine)
    cache = emulator.lab.cache / "symbols"
    debug = images.get(debug_symbols()).directory
    secure = {_image_of_secure(name): path for name, path in machine.symbols.items()}
    tables = {name: SymbolTable.from_elf(path, name, cache) for name, path in secure.items()}
    monitor, core = tables.pop("bl31"), tables.pop("tee")
    # While a TA runs, all of OP-TEE's core that is mapped are the vectors through which it is entered, elsewhere.
    start, end = (core.address(name) for name in ("thread_excp_vect", "thread_excp_vect_end"))
    entry = core.part(start & -_PAGE, (end + _PAGE - 1) & -_PAGE)
    space = AddressSpace({Context("secure", 0): list(tables.values()), Context("secure", 1): [entry]})
    for table, context in ((monitor, Context("monitor", 3)), (core, Context("secure", 1))):
        space.map(context, *table.bounds, 0, table)
    texts = [(said / name).read_text(encoding="ascii") for name in ("kallsyms", "sections")]
    for table in kernel_tables(*texts).values():
        space.map(Context("normal", 1), *table.bounds, 0, table)
    _map_processes(space, said, initramfs_files(machine.files["initramfs.cpio"]), debug, cache)
    return space


def _image_of_secure(name: str) -> str:
    return "ta" if _UUID.fullmatch(name) else name


def _map_processes(space: AddressSpace, said: Path, files: Mapping[str, bytes], debug: Path, cache: Path) -> None:
    # One table for all copies of a library.
    tables: dict[tuple[str, bytes], SymbolTable] = {}

    def table_of(path: str) -> SymbolTable | None:
        name = "linux:vdso" if path == "[vdso]" else image_name(path)
        content = (said / "vdso").read_bytes() if path == "[vdso]" else files.get(path.lstrip("/"))
        if content is None:
            return None
        if (name, content) not in tables:
            apart = debug / f"{build_id(content)}.debug"
            tables[name, content] = SymbolTable.from_elf(content, name, cache, apart if apart.exists() else None)
        return tables[name, content]

    done = set()
    for process, lines in read_processes((said / "processes").read_text(encoding="ascii")):
        # The same program again, such as a second worker, has the same map: nothing is randomised.
        if process in done or process == "symbols":
            continue
        done.add(process)
        for start, end, offset, path in lines:
            table = table_of(path)
            if table:
                bias = table.bias_of_mapping(start, offset)
                if bias is not None:
                    space.map(Context("normal", 0, process), start, end, bias, table)


def image_name(path: str) -> str:
    """The name of a program or library of the machine: client for optee-client, libc for libc.so.6."""
    name = posixpath.basename(path)
    if name.startswith("ld-linux"):
        return "ld.so"
    return {"optee-client": "client"}.get(name, name.partition(".so")[0])


def read_processes(text: str) -> Iterator[tuple[str, list[tuple[int, int, int, str]]]]:
    """The processes of the machine: name, and its executable mappings (start, end, file offset, path)."""
    name = ""
    lines: list[tuple[int, int, int, str]] = []
    for line in text.splitlines():
        if match := _MAPS.fullmatch(line):
            if "x" in match[3]:
                lines.append((int(match[1], 16), int(match[2], 16), int(match[4], 16), match[5]))
        else:
            if name:
                yield name, lines
            name, lines = line.split(" ", 2)[2], []
    if name:
        yield name, lines


def initramfs_files(path: Path) -> dict[str, bytes]:
    """The regular files of an archive in cpio's format newc, by their names. Raises WorldwiseError if it is none."""
    archive = path.read_bytes()
    files: dict[str, bytes] = {}
    at = 0
    try:
        while archive[at : at + 6] == b"070701":
            fields = [int(archive[at + 6 + 8 * field : at + 14 + 8 * field], 16) for field in range(13)]
            mode, size, name_size = fields[1], fields[6], fields[11]
            name = archive[at + 110 : at + 109 + name_size].decode()
            if name == "TRAILER!!!":
                return files
            begin = (at + 110 + name_size + 3) & ~3
            if mode & 0o170000 == 0o100000:
                files[name.removeprefix("./")] = archive[begin : begin + size]
            at = (begin + size + 3) & ~3
    except ValueError:
        pass
    raise WorldwiseError(f"{path} is not a whole cpio archive of the format newc")


# --- the kernel ---


def kernel_tables(kallsyms: str, sections: str) -> dict[str, SymbolTable]:
    """Tables of the kernel (`linux`) and of each module (`linux:NAME`), at the addresses the kernel itself gives.

    Args:
        kallsyms: /proc/kallsyms.
        sections: "MODULE SECTION ADDRESS" lines, which bound the modules' last functions.

    A function ends where the next symbol of any kind, or the next section, begins. Raises WorldwiseError if the
    kernel hides its addresses.
    """
    names: dict[str, dict[int, list[_Candidate]]] = defaultdict(lambda: defaultdict(list))
    limits: dict[str, set[int]] = defaultdict(set)
    for line in kallsyms.splitlines():
        address, kind, name, *module = line.split()
        owner = f"linux:{module[0].strip('[]')}" if module else "linux"
        limits[owner].add(int(address, 16))
        if kind in "tTwW":
            names[owner][int(address, 16)].append(_Candidate(name, kind != "t"))
    if not any(max(found) for found in limits.values()):
        raise WorldwiseError("/proc/kallsyms gives no addresses", "the kernel's setting kptr_restrict hides them")
    tables = {}
    for line in sections.splitlines():
        module_name, section, address = line.split()
        if section.startswith(".init"):
            continue  # given back when the module was ready, and another's by now
        owner = f"linux:{module_name}"
        at = int(address, 16)
        limits[owner].add(at)
        # Jumps that the kernel makes for a module; there is no other name for them.
        if section.endswith(("plt", "ftrace_trampoline")):
            names[owner][at].append(_Candidate(section, False))
    for owner, found in names.items():
        ends = sorted(limits[owner])
        functions = []
        for start, candidates in found.items():
            place = bisect.bisect_right(ends, start)
            if place < len(ends):
                functions.append(Function(_best_name(candidates), start, ends[place] - start))
        tables[owner] = SymbolTable(owner, functions)
    return tables


# --- ELF files ---


@dataclass(frozen=True)
class _Candidate:
    name: str
    is_global: bool


def _best_name(candidates: Sequence[_Candidate]) -> str:
    """Of several names of one function: no section mark, a global one, few leading underscores, short, first."""

    def rank(one: _Candidate) -> tuple[bool, bool, bool, int, int, str]:
        underscores = len(one.name) - len(one.name.lstrip("_"))
        mark = _MARK.fullmatch(one.name.removeprefix("__pi_")) is not None
        return (mark, one.name.startswith("__pi_"), not one.is_global, underscores, len(one.name), one.name)

    return min(candidates, key=rank).name


@dataclass
class _Read:
    """What is kept of an ELF file: functions as (name, start, size, index of the source), executable sections as
    (address, file offset, size), executable segments as (file offset, address, size)."""

    build_id: str = ""
    functions: list[tuple[str, int, int, int]] = field(default_factory=list)
    sources: list[str] = field(default_factory=lambda: [""])
    code: list[tuple[int, int, int]] = field(default_factory=list)
    segments: list[tuple[int, int, int]] = field(default_factory=list)


def _content(elf: Path | bytes, name: str) -> bytes:
    if isinstance(elf, bytes):
        return elf
    try:
        return elf.read_bytes()
    except OSError as error:
        raise WorldwiseError(f"the symbols of {name} cannot be read: {elf}: {error.strerror}") from None


def _open(content: bytes) -> Any:
    return ELFFile(io.BytesIO(content))


def build_id(elf: bytes) -> str:
    """The build id of an ELF file in hexadecimal, empty if it has none."""
    for section in _open(elf).iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return ""


def _read_cached(elf: bytes, debug: bytes, name: str, cache: Path) -> _Read:
    key = hashlib.sha256(f"{_FORMAT} ".encode())
    for content in (elf, debug):
        key.update(hashlib.sha256(content).digest())
    path = cache / f"{key.hexdigest()[:40]}.json"
    # A file that is not whole is made anew, whatever is wrong with it.
    with contextlib.suppress(OSError, ValueError, TypeError):
        return _Read(**json.loads(path.read_text(encoding="utf-8")))
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


def _read(content: bytes, debug: bytes) -> _Read:
    elf = _open(content)
    named = _open(debug) if debug else elf
    read = _Read(build_id=build_id(content))
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
    candidate: _Candidate
    start: int
    size: int
    section_end: int


def _symbols(files: Sequence[Any]) -> list[_Raw]:
    found = []
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
                # $x and $d say where code and data begin; .L is an assembler's own. Where symbols are missing nobody
                # knows how far one without a size reaches.
                if (
                    entry["st_value"] in executable.get(entry["st_shndx"], ())
                    and entry["st_info"]["type"] not in _NOT_CODE
                    and (entry["st_size"] or not stripped)
                    and name
                    and not name.startswith(("$", ".L"))
                ):
                    is_global = entry["st_info"]["bind"] != "STB_LOCAL"
                    end = executable[entry["st_shndx"]].stop
                    found.append(_Raw(_Candidate(name, is_global), entry["st_value"], entry["st_size"], end))
    # Where a library is stripped these have no symbols, but they always have these sections.
    for section, name in ((".init", "_init"), (".fini", "_fini")):
        if place := files[0].get_section_by_name(section):
            start, size = place["sh_addr"], place["sh_size"]
            found.append(_Raw(_Candidate(name, True), start, size, start + size))
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
            functions.append(Function(_best_name([one.candidate for one in sized]), start, size))
            covered = max(covered, start + size)
            continue
        here = [one for one in here if not _MARK.fullmatch(one.candidate.name) and one.section_end > start]
        if here and start >= covered:
            end = min(one.section_end for one in here)
            if number + 1 < len(starts):
                end = min(end, starts[number + 1])
            functions.append(Function(_best_name([one.candidate for one in here]), start, end - start))
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
        slot = (base + 4 * number & ~(_PAGE - 1)) + pages * _PAGE + (second >> 10 & 0xFFF) * 8
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


def _known_names(build: str) -> list[Function]:
    """Functions of a stripped image that names.toml knows by its build id."""
    if not build:
        return []
    with NAMES.open("rb") as file:
        images = tomllib.load(file)["image"]
    return [
        Function(one["name"], one["start"], one["size"], one.get("source", ""))
        for known in images
        if known["build_id"] == build
        for one in known["function"]
    ]


def _innermost(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Disjoint pieces (start, end, number of the range) of ranges sorted by their start, outer before inner.

    Where ranges overlap the one that begins last has the piece.
    """
    pieces: list[tuple[int, int, int]] = []
    open_: list[int] = []
    at = 0

    def close(until: int | None) -> None:
        nonlocal at
        while open_ and (until is None or ranges[open_[-1]][1] <= until):
            number = open_.pop()
            end = ranges[number][1]
            if at < end:
                pieces.append((at, end, number))
                at = end

    for number, (start, _) in enumerate(ranges):
        close(start)
        if open_ and at < start:
            pieces.append((at, start, open_[-1]))
        at = start
        open_.append(number)
    close(None)
    return pieces


class _Inlines:
    """Functions inlined into others, from an ELF file's debug information, read one compilation unit at a time."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._dwarf: Any = None
        self._units: list[tuple[int, int, int]] | None = None
        self._trees: dict[int, tuple[list[tuple[int, int, int]], list[tuple[str, int]]]] = {}

    def chain(self, address: int) -> list[str]:
        """Names of the functions inlined at an address, outermost first."""
        if self._units is None:
            self._units = self._find_units()
        place = bisect.bisect_right(self._units, address, key=lambda unit: unit[0]) - 1
        if place < 0 or address >= self._units[place][1]:
            return []
        offset = self._units[place][2]
        if offset not in self._trees:
            self._trees[offset] = self._read_unit(offset)
        pieces, inlined = self._trees[offset]
        place = bisect.bisect_right(pieces, address, key=lambda piece: piece[0]) - 1
        names: list[str] = []
        if place >= 0 and address < pieces[place][1]:
            number = pieces[place][2]
            while number >= 0:
                name, number = inlined[number]
                names.append(name)
        return names[::-1]

    def _find_units(self) -> list[tuple[int, int, int]]:
        elf = _open(self._content)
        if not elf.has_dwarf_info(strict=True):
            return []
        self._dwarf = elf.get_dwarf_info()
        table = self._dwarf.get_aranges()
        entries = table.entries if table else ()
        return sorted(
            (entry.begin_addr, entry.begin_addr + entry.length, entry.info_offset)
            for entry in entries
            if entry.begin_addr and entry.length
        )

    def _read_unit(self, offset: int) -> tuple[list[tuple[int, int, int]], list[tuple[str, int]]]:
        """Pieces of the unit's addresses, and for each inlined call its name and the number of the one around it."""
        unit = self._dwarf.get_CU_at(offset)
        base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        inlined: list[tuple[str, int]] = []
        ranges: list[tuple[int, int, int]] = []
        pending = [(die, -1) for die in unit.get_top_DIE().iter_children()]
        while pending:
            die, around = pending.pop()
            if die.tag == "DW_TAG_inlined_subroutine":
                inlined.append((_name_of(die), around))
                around = len(inlined) - 1
                ranges += [(start, end, around) for start, end in self._ranges(die, base.value if base else 0)]
            if die.has_children and die.tag in (
                "DW_TAG_subprogram",
                "DW_TAG_inlined_subroutine",
                "DW_TAG_lexical_block",
            ):
                pending += [(child, around) for child in die.iter_children()]
        # Of two with the same addresses the inner one was numbered later.
        ranges.sort(key=lambda one: (one[0], -one[1], one[2]))
        pieces = _innermost([(start, end) for start, end, _ in ranges])
        return [(start, end, ranges[number][2]) for start, end, number in pieces], inlined

    def _ranges(self, die: Any, base: int) -> list[tuple[int, int]]:
        attributes = die.attributes
        if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            return [(low, high.value if high.form == "DW_FORM_addr" else low + high.value)]
        if "DW_AT_ranges" not in attributes:
            return []
        found = []
        for entry in self._dwarf.range_lists().get_range_list_at_offset(attributes["DW_AT_ranges"].value, die.cu):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            else:
                add = 0 if getattr(entry, "is_absolute", False) else base
                found.append((entry.begin_offset + add, entry.end_offset + add))
        return [(start, end) for start, end in found if start < end]


def _name_of(die: Any) -> str:
    for _ in range(4):  # a call refers to its function, perhaps through a declaration
        if "DW_AT_name" in die.attributes:
            return str(die.attributes["DW_AT_name"].value.decode(errors="replace"))
        for key in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if key in die.attributes:
                die = die.get_DIE_from_attribute(key)
                break
    return "(inlined)"
