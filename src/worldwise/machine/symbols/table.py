# SPDX-License-Identifier: BSD-2-Clause
"""The functions of one image by their addresses, and where in memory the image is."""

import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.machine.elf_files.answers import ReadElf
from worldwise.machine.elf_files.questions import ask, content_of
from worldwise.machine.symbols.frames import CallFrames, FrameRule
from worldwise.machine.symbols.inlined_functions import Addr2line, Inlines
from worldwise.machine.symbols.mangled_names import Demangle
from worldwise.machine.symbols.names import Function, known_names

PAGE = 4096


def build_id(elf: bytes, name: str, cache: Path) -> str:
    """The build id of an ELF file in hexadecimal, empty if it has none; `name` is for errors. Raises WorldwiseError."""
    (found,) = ask(elf, ("build_id",), what=f"the symbols of {name}", cache=cache)
    return str(found)


def read_cached(elf: bytes, debug: bytes, name: str, cache: Path) -> tuple[ReadElf, bool]:
    """What an ELF file has, and whether it or `debug` has debug information. Raises WorldwiseError."""
    read, debugged = ask(elf, ("table",), ("debugged",), what=f"the symbols of {name}", debug=debug, cache=cache)
    return read, bool(debugged)


# Instructions that must agree before an image counts as found, and how many times as many as at any other place.
_LEAST_EVIDENCE = 16
_LEAST_MARGIN = 4
# Bytes of a function that are looked at together.
_MOST_FUNCTION = 2**20
# What linkers fill up with: udf #0, nop, and nop as the kernel's vdso has it, the wrong way round.
_PADDING = (bytes(4), b"\x1f\x20\x03\xd5", b"\xd5\x03\x20\x1f")


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


class SymbolTable:
    """The functions of one image, by the addresses it was linked at.

    Args:
        image: its name, as in Symbol.image.
        functions: in any order; where two overlap, the one that begins later has the address.
        code: its executable bytes: (address, bytes). Empty for an image whose file is not there.
        segments: executable segments: (file offset, address, bytes in the file).
        inlines: what was inlined into them, for `inline_chain`; None if that is unknown.
        frames: where they keep what their callers need, for `frame_rule`; None if that is unknown.

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
        inlines: Inlines | None = None,
        frames: CallFrames | None = None,
    ) -> None:
        self.image = image
        self.functions = sorted(functions, key=lambda one: (one.start, -one.size))
        self._segments = list(segments)
        self._code = sorted(code)
        pieces = innermost([(one.start, one.start + one.size) for one in self.functions])
        self._starts = [start for start, _, _ in pieces]
        self._pieces = pieces
        self.inlines = inlines
        self._frames = frames
        self._words: dict[tuple[int, bytes], list[int]] = {}
        ranges = [(start, end) for start, end, _ in pieces] + [(at, at + len(data)) for at, data in self._code]
        self.bounds = (min(start for start, _ in ranges), max(end for _, end in ranges)) if ranges else (0, 0)

    @classmethod
    def from_elf(
        cls,
        elf: Path | bytes,
        image: str,
        cache: Path,
        debug: Path | bytes | None = None,
        addr2line: Addr2line | None = None,
        demangle: Demangle | None = None,
    ) -> "SymbolTable":
        """From an ELF file and, where its symbols are apart, the file that has them.

        Args:
            elf: the file, or its content.
            image: its name.
            cache: folder in which what was read is kept for the next time.
            debug: the file with the symbols and the debug information, if `elf` is stripped.
            addr2line: the tool that says what was inlined; without it nothing was.
            demangle: the tool that reads the symbols of C++ and Rust; without it they are the names.

        Raises WorldwiseError if a file is not there or no ELF file.
        """
        what = f"the symbols of {image}"
        content, extra = content_of(elf, what), content_of(debug, what) if debug is not None else b""
        read, debugged = read_cached(content, extra, image, cache)
        known = demangle(name for name, *_ in read.functions) if demangle else {}
        functions = [
            Function(known.get(name, name), start, size, read.sources[source])
            for name, start, size, source in read.functions
        ]
        return cls(
            image,
            [*functions, *known_names(read.build_id)],
            [(at, content[offset : offset + size]) for at, offset, size in read.code],
            read.segments,
            Inlines(image, extra or content, addr2line if debugged else None) if addr2line else None,
            CallFrames(image, extra or content, cache),
        )

    def __len__(self) -> int:
        return len(self.functions)

    def lookup(self, address: int) -> Symbol | None:
        """The function at a link-time address; None in a gap."""
        place = bisect.bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._pieces[place][1]:
            return None
        name, start, size, source = self.functions[self._pieces[place][2]]
        return Symbol(name, self.image, source, start, address - start, size)

    def address(self, function: str) -> int:
        """The link-time address of a function. Raises WorldwiseError if the image has none of that name."""
        for one in self.functions:
            if one.name == function:
                return one.start
        raise WorldwiseError(f"{self.image} has no function {function}")

    def inline_chain(self, address: int) -> list[str]:
        """Functions inlined at a link-time address, outermost first; empty if none, or no debug information.

        An address that was not read (see `read_inlined`) is read together with all others of its function.
        """
        if self.inlines is None:
            return []
        if address not in self.inlines:
            found = self.lookup(address)
            # A stranger's symbol may say any size.
            around = range(found.start, found.start + min(found.size, _MOST_FUNCTION), 4) if found else ()
            self.inlines.read([address, *around])
        return self.inlines.chain(address)

    def read_inlined(self, addresses: Iterable[int]) -> None:
        """Read what is inlined at many link-time addresses at once, so that `inline_chain` has it.

        Raises WorldwiseError if it cannot be read.
        """
        if self.inlines is not None:
            self.inlines.read(addresses)

    def lines(self, addresses: Iterable[int]) -> dict[int, tuple[str, int]]:
        """The source file and line of each of many link-time addresses; an empty name and 0 where they are unknown.

        Raises WorldwiseError if that cannot be read.
        """
        return self.inlines.lines(addresses) if self.inlines else dict.fromkeys(addresses, ("", 0))

    @property
    def file(self) -> bytes:
        """The ELF file with its debug information; empty if it is not there."""
        return self.inlines.content if self.inlines else b""

    def frame_rule(self, address: int) -> FrameRule | None:
        """Where the function at a link-time address keeps what its caller needs; None if nothing says."""
        return self._frames.rule(address) if self._frames else None

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
            if at - at % PAGE <= offset < at + size:
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
        functions = [one for one in self.functions if start < one.start + one.size and one.start < end]
        code = [(max(at, start), data[max(start - at, 0) : max(end - at, 0)]) for at, data in self._code]
        part = SymbolTable(self.image, (), [(at, data) for at, data in code if data])
        part.functions, part.inlines = functions, self.inlines
        pieces = innermost([(one.start, one.start + one.size) for one in functions])
        part._pieces = [(max(low, start), min(high, end), n) for low, high, n in pieces if low < end and start < high]
        part._starts = [low for low, _, _ in part._pieces]
        return part

    def places(self, pc: int, word: bytes) -> list[int]:
        """Link-time addresses at which the image has this instruction, at the same place in a page as `pc`."""
        if not self._words:
            words = defaultdict(list)
            for at, data in self._code:
                for offset in range(0, len(data) - 3, 4):
                    words[(at + offset) % PAGE, data[offset : offset + 4]].append(at + offset)
            self._words = dict(words)
        return self._words.get((pc % PAGE, word), [])


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


def innermost(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
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
