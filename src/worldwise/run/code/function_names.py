# SPDX-License-Identifier: BSD-2-Clause
"""Functions of own code by the names that a user may type, and what is said if nobody has such a name."""

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from worldwise.base import files
from worldwise.base.choices import close_names
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.own_code import MARKED, Mark
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.symbols.mangled_names import Demangle, plain

# What a compiler adds to the name of a function that it has made fit for its callers.
_CLONE = re.compile(r"(\.(constprop|isra|part|cold|lto_priv)\.\d+|\.(part|cold)\.\d+)+$")
# The image of a mark, where a function has its file's.
_MARK = "mark"
_MOST_CLOSE = 6
_MOST_INTO = 4


@dataclass(frozen=True)
class Function:
    """A function: how it is called, the file that has it, where it begins, and every name that finds it."""

    name: str
    image: str
    address: int
    names: frozenset[str]


def functions_of(
    rows: Iterable[tuple[str, str, int]], demangle: Demangle, patterns: Sequence[str] = ()
) -> list[Function]:
    """Functions, by rows of symbol, file and address. One with several symbols is called as a pattern says, else by
    the shortest; a symbol of C++ or Rust is called as in its source, without parameters, and found by all its names.
    """
    every = list(rows)
    known = demangle(_CLONE.sub("", symbol) for symbol, _, _ in every)
    found: dict[int, tuple[str, str, set[str]]] = {}
    for symbol, image, address in every:
        base = _CLONE.sub("", symbol)
        whole = known.get(base, base)
        shown = plain(whole) if whole != base else base
        names = {symbol, base, whole, shown}
        if address not in found:
            found[address] = shown, image, names
            continue
        old, _, others = found[address]
        if _rank(shown, patterns) < _rank(old, patterns):
            found[address] = shown, image, others
        others |= names
    return [Function(name, image, address, frozenset(names)) for address, (name, image, names) in found.items()]


def _rank(name: str, patterns: Sequence[str]) -> tuple[bool, int, str]:
    return name not in patterns, len(name), name


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a function's name is one that was asked for."""
    return any(name == pattern or fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def is_asked(function: Function, patterns: Sequence[str]) -> bool:
    """Whether one of a function's names was asked for."""
    return any(matches(name, patterns) for name in function.names)


def nearest(pattern: str, functions: Iterable[Function]) -> list[str]:
    """Names that are like a pattern, as they are shown."""
    names = sorted({one.name for one in functions})
    bare = pattern.strip("*?")
    # Of a name with a namespace its end alone may be what somebody knows.
    ends = {name.rpartition("::")[2]: name for name in names}
    close = [*close_names(bare, names, _MOST_CLOSE), *(ends[one] for one in close_names(bare, ends, _MOST_CLOSE))]
    inside = [name for name in names if bare.lower() in name.lower()]
    return list(dict.fromkeys([*close, *inside]))[:_MOST_CLOSE]


def nearest_words(pattern: str, functions: Iterable[Function]) -> str:
    """The nearest names as a hint; empty if none is near."""
    near = nearest(pattern, functions)
    return f"the nearest names: {', '.join(map(files.quoted, near))}" if near else ""


def inlined_words(pattern: str, contents: Mapping[str, bytes], demangle: Demangle) -> str:
    """Where the compiler put the functions of a pattern into, by their files' debug information; empty if that does not
    say, or cannot be read.
    """
    for image, content in contents.items():
        try:
            (pairs,) = ask(content, ("inlined_into", pattern), what=files.quoted(image))
        except WorldwiseError:
            continue
        if pairs:
            known = demangle(name for pair in pairs for name in pair)
            names = [[plain(known[name]) if name in known else name for name in pair] for pair in pairs]
            into = list(dict.fromkeys(where for _, where in names))
            more = f" and {len(into) - _MOST_INTO} others" if len(into) > _MOST_INTO else ""
            what = files.quoted(names[0][0])
            return f"the compiler put {what} into {', '.join(map(files.quoted, into[:_MOST_INTO]))}{more}"
    return ""


def marks_of(contents: Mapping[str, tuple[bytes, int]], ta: bytes = b"") -> list[Mark]:
    """The marks in files, each with how far above its link address it is, and those in a TA; by their names.

    Raises WorldwiseError for a mark that begins a region which nothing ends, or the other way round.
    """
    found: dict[tuple[bool, str], tuple[list[int], list[int]]] = {}
    for of_ta, image, content, bias in (
        *((False, image, *of) for image, of in contents.items()),
        *([(True, "the TA", ta, 0)] if ta else []),
    ):
        (rows,) = ask(content, ("marks",), what=files.quoted(image))
        for address, ends, name in rows:
            found.setdefault((of_ta, name), ([], []))[ends].append(address + bias)
    for (_, name), (begins, ends) in found.items():
        if not begins or not ends:
            lacks = "WORLDWISE_END" if begins else "WORLDWISE_BEGIN"
            raise WorldwiseError(
                f"the mark '{files.quoted(name)}' has no {lacks} of its name.",
                "each region that one mark begins ends at another one, in the same program",
            )
    return [
        Mark(name=name[:1000], of_ta=of_ta, begins=begins, ends=ends)
        for (of_ta, name), (begins, ends) in sorted(found.items())
    ]


def as_functions(marks: Sequence[Mark], ta: str = "") -> list[Function]:
    """Marks as functions of their names, at the addresses that stand for them; `ta` is the file with the TA's own."""
    return [
        Function(mark.name, ta if mark.function else _MARK, MARKED + place, frozenset((mark.name,)))
        for place, mark in enumerate(marks)
    ]
