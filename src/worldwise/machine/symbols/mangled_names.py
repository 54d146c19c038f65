# SPDX-License-Identifier: BSD-2-Clause
"""Names of C++ and Rust as their sources have them: the compiler packs namespaces, types and parameters into a symbol.

The lab's c++filt unpacks them, of both languages. Such a symbol is a stranger's, so it reads them in the sandbox.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping

from worldwise.base.errors import WorldwiseError
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.limits import MIB, Limits

PROGRAM = "aarch64-linux-gnu-c++filt"
# For some symbols: the name of each that has another one in its source.
Demangle = Callable[[Iterable[str]], Mapping[str, str]]

_MANGLED = re.compile(r"_(Z|R)[A-Za-z0-9_.$]+")
PATIENCE = 60
# A short symbol can stand for a name of gigabytes: each of its parts may be the one before it, twice.
_LIMITS = Limits(address_space=256 * MIB, processes=64, file_size=64 * MIB, memory=512 * MIB)
_CLONE = re.compile(r"( \[clone [^\]]*\])+$")
_QUALIFIERS = re.compile(r"( const| volatile|&)+$")
# What stands before the parameters of a function whose name has parentheses or spaces of its own.
_OPERATOR = "operator"


def demangler(lab: Lab) -> Demangle:
    """The lab's c++filt. A symbol that it does not understand keeps its name."""

    def run(symbols: Iterable[str]) -> Mapping[str, str]:
        # Each on a line of its own, and nothing else in the line.
        asked = sorted({one for one in symbols if _MANGLED.fullmatch(one)})
        if not asked:
            return {}
        with contextlib.suppress(WorldwiseError):
            text = "\n".join([*asked, ""])
            ended = lab.run([PROGRAM, "--no-verbose"], stdin=text, timeout=PATIENCE, limits=_LIMITS)
            said = ended.stdout.split("\n")
            if len(said) == len(asked) + 1:
                return {one: name for one, name in zip(asked, said, strict=False) if name.strip() and name != one}
        return {}

    return run


def plain(name: str) -> str:
    """A C++ or Rust name without its parameters, its type, and what the compiler says of a copy: ns::f for
    `int ns::f<int>(int) const [clone .isra.0]` is `ns::f<int>`.
    """
    short = _QUALIFIERS.sub("", _CLONE.sub("", name))
    if short.endswith(")"):
        depth = 0
        for at in range(len(short) - 1, -1, -1):
            depth += (short[at] == ")") - (short[at] == "(")
            if not depth:
                # Of `f(int)::operator()` the parentheses are the name's.
                short = short if short[:at].endswith(_OPERATOR) or not at else short[:at]
                break
    return short if _OPERATOR in short else _without_type(short)


def _without_type(name: str) -> str:
    """A name without the type that a template's function has before it."""
    depth = start = 0
    for at, one in enumerate(name):
        # An arrow closes nothing.
        if one in "<({[":
            depth += 1
        elif one in ">)}]" and name[at - 1 : at + 1] != "->":
            depth -= 1
        elif one == " " and not depth:
            start = at + 1
    return name[start:]
