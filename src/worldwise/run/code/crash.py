# SPDX-License-Identifier: BSD-2-Clause
"""Where a signal ended a program: guest/own/crash.c says the addresses, the program's files have names for them."""

import re
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.own_code import Mapped
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.symbols.mangled_names import Demangle, plain
from worldwise.run.code.process_lives import CRASH

_PAGE, _MAIN = 4096, "main"
_MOST_CRASH, _MOST_NAME = 4096, 100
# Signal, its si_code, the address it is about, the program counter; the link register and return addresses.
_CRASH = re.compile(r"(\d{1,3}) (-?\d{1,10}) (\d{1,20}) (\d{1,20})((?: \d{1,20}){1,16})\n")
# Linux's si_code of SIGSEGV.
_MAPPED_NOT, _NOT_ALLOWED = 1, 2


@dataclass(frozen=True)
class _Place:
    """An address in a file's code: the function that has it, and how it is printed, with the line if that is known."""

    function: tuple[str, str]
    shown: str


def images_in(content: Mapping[str, bytes], mapped: Sequence[Mapped]) -> Iterator[tuple[str, list[Mapped]]]:
    """The files that are mapped, each with where."""
    for path in dict.fromkeys(one.path for one in mapped):
        if path.lstrip("/") in content:
            yield path.lstrip("/"), [one for one in mapped if one.path == path]


def bias_of(segments: Iterable[Sequence[int]], maps: Sequence[Mapped]) -> int | None:
    """How far above its link address a file is; None if it is not where its segments say."""
    for offset, size, address, *_ in segments:
        for one in maps:
            if offset - offset % _PAGE <= one.offset < offset + size:
                return one.begin - (address + one.offset - offset)
    return None


def crash_words(directory: Path, content: Mapping[str, bytes], mapped: Sequence[Mapped], demangle: Demangle) -> str:
    """Where the program was ended, as it follows the signal's name; empty if the machine has not said.

    Raises WorldwiseError if what it left is no regular file.
    """
    try:
        text = files.read_bytes(directory / CRASH, _MOST_CRASH, directory).decode("ascii", "replace")
    except FileNotFoundError:
        return ""
    match = _CRASH.fullmatch(text)
    if not match:
        return ""
    number, code, about, at = map(int, match.groups()[:4])
    where = " < ".join(_chain(at, [*map(int, match[5].split())], content, mapped, demangle))
    return f" at {at:#x}{f' in {where}' if where else ''}{_why(number, code, about)}"


def _why(number: int, code: int, about: int) -> str:
    # What another process or the program itself has sent is about no address.
    if code <= 0:
        return ""
    if number == signal.SIGILL:
        return ": the core has no such instruction"
    if number == signal.SIGSEGV and code == _MAPPED_NOT:
        return f": it wanted address {about:#x}, where nothing is"
    if number == signal.SIGSEGV and code == _NOT_ALLOWED:
        return f": it may not do that at address {about:#x}"
    return f": it wanted address {about:#x}" if number in (signal.SIGSEGV, signal.SIGBUS) else ""


def _chain(
    at: int, back: Sequence[int], content: Mapping[str, bytes], mapped: Sequence[Mapped], demangle: Demangle
) -> Iterator[str]:
    """The functions on the stack, the innermost first, up to main."""
    here = _place(at, content, mapped, demangle)
    if here:
        yield here.shown
        if here.function[1] == _MAIN:
            return
    link, *others = back
    # In a function that has called another one the link register leads into itself; else to its caller.
    caller = _place(link - 1, content, mapped, demangle)
    if caller and (not here or caller.function != here.function) and link not in others[:1]:
        others = [link, *others]
    for address in others:
        place = _place(address - 1, content, mapped, demangle)
        if not place:
            return
        yield place.shown
        if place.function[1] == _MAIN:
            return


def _place(address: int, content: Mapping[str, bytes], mapped: Sequence[Mapped], demangle: Demangle) -> _Place | None:
    for image, maps in images_in(content, mapped):
        if not any(one.begin <= address < one.end for one in maps):
            continue
        try:
            (segments,) = ask(content[image], ("segments",), what=files.quoted(image))
            bias = bias_of(segments, maps)
            if bias is None:
                continue
            return _named(content[image], image.rpartition("/")[2], address - bias, demangle)
        except WorldwiseError:
            # Its symbols may be too strange to be read; where it is mapped is known.
            return _Place((image, ""), f"{address:#x} of {files.quoted(image)}")
    return None


def _named(content: bytes, image: str, address: int, demangle: Demangle) -> _Place:
    """An address of a file by the names that the file has."""
    rows, said = ask(content, ("named_functions",), ("address_name", address), what=files.quoted(image))
    symbol = next((name for name, start, size in rows if start <= address < start + size), "")
    if not symbol:
        return _Place((image, f"{address:#x}"), f"{address:#x} of {files.quoted(image)}")
    name = plain(demangle([symbol]).get(symbol, symbol))
    line = re.search(r" \([^()]*:\d+\)$", str(said))
    return _Place((image, symbol), f"{files.quoted(name, _MOST_NAME)}{files.quoted(line[0]) if line else ''}")
