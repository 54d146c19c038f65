# SPDX-License-Identifier: BSD-2-Clause
"""Names that differ in single words, as matrices: `{sign|verify},size={16B|1KiB}` stands for four.

Golden files have them. `expanded` gives back every name; their order is told by a digest where it matters.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

# Of each place of a name the words that may stand there.
_Row = tuple[tuple[str, ...], ...]
_WORD = re.compile(r"[^/,=: ]+|.")
_CHOICE = re.compile(r"\{([^{}]*)\}")


def compact(names: Iterable[str]) -> list[str]:
    """The matrices that stand for some names."""
    rows: list[_Row] = [tuple((word,) for word in _WORD.findall(name)) for name in names]
    before = -1
    while len(rows) != before:
        before = len(rows)
        for place in reversed(range(max(map(len, rows), default=0))):
            # By all their other words: those that differ in this one alone.
            alike: dict[tuple[object, ...], list[_Row]] = {}
            for row in rows:
                alike.setdefault((row[:place], row[place + 1 :], len(row) > place), []).append(row)
            rows = [
                (*some[0][:place], tuple(word for row in some for word in row[place]), *some[0][place + 1 :])
                if len(some[0]) > place
                else some[0]
                for some in alike.values()
            ]
    return ["".join(_cell(words) for words in row) for row in rows]


def expanded(matrix: str) -> Iterator[str]:
    """The names that a matrix stands for."""
    parts = _CHOICE.split(matrix)
    # Every second part was in braces.
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    return ("".join(words) for words in itertools.product(*choices))


def _cell(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{{{'|'.join(words)}}}"
