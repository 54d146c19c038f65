# SPDX-License-Identifier: BSD-2-Clause
"""Words of instructions and LLVM's texts of them, as files of tests/data have them: each name of an instruction once.

    both vmov: ec416a1a s20, s21, r6, r1; ec484b35 d21, r4, r8

What stands before the name, if anything, is the set of instructions. A line that begins with blanks goes on.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_WIDTH = 120


class Word(NamedTuple):
    """An instruction: its set, or nothing; its word in hexadecimal; LLVM's name of it, and the operands."""

    kind: str
    word: str
    name: str
    operands: str

    def text(self, between: str) -> str:
        """What LLVM says of it: name and operands with a tab or a blank between."""
        return f"{self.name}{between}{self.operands}" if self.operands else self.name


def read(path: Path) -> list[Word]:
    """The words of a file, those of each set by their numbers."""
    sets: dict[str, list[Word]] = {}
    kind = name = ""
    for line in path.read_text(encoding="ascii").splitlines():
        entries = line
        if not line.startswith(" "):
            head, _, entries = line.partition(":")
            kind, _, name = head.rpartition(" ")
        for entry in filter(None, entries.split(";")):
            word, _, operands = entry.strip(" ").partition(" ")
            sets.setdefault(kind, []).append(Word(kind, word, name, operands))
    return [word for some in sets.values() for word in sorted(some)]


def write(path: Path, words: Iterable[Word]) -> None:
    """Writes a file of words: the sets in the order of their first words, the names in that of the alphabet."""
    sets: dict[str, dict[str, list[Word]]] = {}
    for word in words:
        sets.setdefault(word.kind, {}).setdefault(word.name, []).append(word)
    lines = [
        line
        for kind, names in sets.items()
        for name, some in sorted(names.items())
        for line in _lines(f"{kind} {name}:".lstrip(), some)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _lines(line: str, words: list[Word]) -> Iterator[str]:
    for word in words:
        entry = f" {word.word} {word.operands}".rstrip()
        if len(line) + len(entry) >= _WIDTH and not line.endswith(":"):
            yield line
            line = " "
        line += f"{entry};"
    yield line.removesuffix(";")
