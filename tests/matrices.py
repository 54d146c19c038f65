# SPDX-License-Identifier: BSD-2-Clause
"""Lists of names that differ in single words, as matrices: `{sign|verify},size={16B|1KiB}` stands for four.

Golden files have them. Nothing is lost: `expanded` gives back every name in its order, the leftmost words slowest.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

_WORD = re.compile(r"[^/,=: ]+|.")
_CHOICE = re.compile(r"\{([^{}]*)\}")


def compact(names: Iterable[str]) -> list[str]:
    """The matrices that stand for some names, in their order."""
    rows = [[[word] for word in _WORD.findall(name)] for name in names]
    for place in reversed(range(max(map(len, rows), default=0))):
        merged: list[list[list[str]]] = []
        for row in rows:
            if merged and _alike(merged[-1], row, place):
                merged[-1][place] = merged[-1][place] + row[place]
            else:
                merged.append(list(row))
        rows = merged
    return ["".join(_cell(words) for words in row) for row in rows]


def expanded(matrix: str) -> Iterator[str]:
    """The names that a matrix stands for."""
    parts = _CHOICE.split(matrix)
    # Every second part was in braces.
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    return ("".join(words) for words in itertools.product(*choices))


def _alike(one: Sequence[Sequence[str]], other: Sequence[Sequence[str]], place: int) -> bool:
    """Whether two rows differ in one place alone."""
    if len(one) != len(other) or place >= len(one):
        return False
    return all(
        first == second for number, (first, second) in enumerate(zip(one, other, strict=True)) if number != place
    )


def _cell(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{{{'|'.join(words)}}}"
