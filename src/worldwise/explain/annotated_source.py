# SPDX-License-Identifier: BSD-2-Clause
"""How often each line of a function's source, and each of its instructions, was executed in a call."""

import fnmatch
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base.errors import WorldwiseError
from worldwise.explain.owners import Explainer
from worldwise.machine.symbols.mangled_names import plain
from worldwise.machine.symbols.space import Level
from worldwise.machine.symbols.table import SymbolTable
from worldwise.records.models import Sample

_MOST_NAMED = 5


@dataclass
class SourceLine:
    """A line of source: its instructions as they are in the file, each with how often it was executed."""

    executed: dict[int, int] = field(default_factory=dict)

    @property
    def instructions(self) -> int:
        """How many instructions of the line were executed."""
        return sum(self.executed.values())


@dataclass(frozen=True)
class Annotated:
    """A function in a call.

    Attributes:
        name, image: which.
        table: of the file that has it.
        lines: by the source file and the line, which is 0 where no debug information says. What was put into the
            function stands at its own source.
    """

    name: str
    image: str
    table: SymbolTable = field(repr=False)
    lines: Mapping[tuple[str, int], SourceLine]

    @property
    def instructions(self) -> int:
        """The function's own instructions."""
        return sum(line.instructions for line in self.lines.values())


def annotate(explainer: Explainer, sample: Sample, wanted: str) -> list[Annotated]:
    """The functions of a name or shell pattern, the dearest first. Raises WorldwiseError if none was executed."""
    executed = _executed(explainer, sample)
    known: set[str] = set()
    found: dict[tuple[str, str, int], tuple[SymbolTable, dict[int, int]]] = {}
    for (level, pc), times in executed.items():
        symbol = explainer.space.lookup(level, pc)
        place = explainer.space.place(level, pc)
        if symbol is None or place is None:
            continue
        known.add(symbol.function)
        if _is(symbol.function, wanted):
            addresses = found.setdefault((symbol.function, symbol.image, symbol.start), (place.table, {}))[1]
            addresses[pc - place.bias] = addresses.get(pc - place.bias, 0) + times
    if not found:
        near = [name for name in sorted(known) if wanted.strip("*?").lower() in name.lower()][:_MOST_NAMED]
        raise WorldwiseError(
            f"{explainer.case.id} executes no function {wanted}",
            f"it executes {', '.join(near)}" if near else "`worldwise explain` lists what it executes",
        )
    annotated = [Annotated(name, image, table, _lines(table, at)) for (name, image, _), (table, at) in found.items()]
    return sorted(annotated, key=lambda one: (-one.instructions, one.name))


def begins(explainer: Explainer, sample: Sample, function: str) -> tuple[str, int]:
    """The source file and the line in which a function that was executed begins; an empty name and 0 if unknown."""
    for level, pc in sorted(_executed(explainer, sample)):
        symbol = explainer.space.lookup(level, pc)
        if symbol is None or not _is(symbol.function, function):
            continue
        if place := explainer.space.place(level, symbol.start):
            ((found, line),) = place.table.lines([symbol.start - place.bias]).values()
            if line:
                return found, line
    return "", 0


def _is(function: str, wanted: str) -> bool:
    names = {function, plain(function), function.partition(".")[0]}
    return any(name == wanted or fnmatch.fnmatchcase(name, wanted) for name in names)


def _executed(explainer: Explainer, sample: Sample) -> Counter[tuple[Level, int]]:
    """How often each address was executed, where it ran."""
    blocks: Counter[tuple[int, int]] = Counter()
    for of in explainer.regions(sample):
        for row in explainer.trace.rows(of):
            blocks[explainer.trace.frames[row.frame].context, row.block] += row.times
    found: Counter[tuple[Level, int]] = Counter()
    for (context, number), times in blocks.items():
        level = explainer.level(context)
        for address in explainer.trace.blocks[number].addresses[:-1]:
            found[level, address] += times
    return found


def _lines(table: SymbolTable, executed: Mapping[int, int]) -> dict[tuple[str, int], SourceLine]:
    lines: defaultdict[tuple[str, int], SourceLine] = defaultdict(SourceLine)
    for address, place in table.lines(sorted(executed)).items():
        lines[place].executed[address] = executed[address]
    return dict(lines)


def sources(annotated: Sequence[Annotated]) -> list[str]:
    """The source files of functions, as the debug information names them."""
    return sorted({file for one in annotated for file, number in one.lines if number})
