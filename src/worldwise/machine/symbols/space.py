# SPDX-License-Identifier: BSD-2-Clause
"""Which image is where, at every exception level of both worlds, and what function an address belongs to."""

import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from worldwise.base.errors import WorldwiseError
from worldwise.machine.symbols.frames import FrameRule
from worldwise.machine.symbols.table import Symbol, SymbolTable, find_bias
from worldwise.plan.spec import World


class Level(NamedTuple):
    """Where an address is executed: el 0 and 1 of the worlds normal and secure, ("monitor", 3).

    `process` is the task's name (comm) at normal EL0 (optee-client, linux-bench, tee-supplicant, init, ...), empty
    elsewhere.
    """

    world: World
    el: int
    process: str = ""


class TablePlace(NamedTuple):
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

    def __init__(self, floating: Mapping[Level, Sequence[SymbolTable]] | None = None) -> None:
        self._mappings: dict[Level, list[TablePlace]] = {}
        self._floating = {context: list(tables) for context, tables in (floating or {}).items()}
        self._cache: dict[Level, dict[int, Symbol | None]] = {}

    def map(self, context: Level, start: int, end: int, bias: int, table: SymbolTable) -> None:
        """In this context, addresses start <= pc < end are the table's, `bias` above its own.

        Raises WorldwiseError if another image is there already.
        """
        mappings = self._mappings.setdefault(context, [])
        new = TablePlace(start, end, bias, table)
        if new in mappings:
            return
        for old in mappings:
            if start < old.end and old.start < end:
                raise WorldwiseError(
                    f"{table.image} at {start:#x}-{end:#x} lies on {old.table.image} at {old.start:#x}-{old.end:#x}"
                )
        bisect.insort(mappings, new, key=lambda one: one.start)
        self._cache.pop(context, None)

    def add_floating(self, context: Level, tables: Sequence[SymbolTable]) -> None:
        """Further images of a context whose place is not known before they have run."""
        self._floating.setdefault(context, []).extend(tables)

    def floating(self, context: Level) -> Sequence[SymbolTable]:
        """The images of a context whose place is not known before they have run."""
        return tuple(self._floating.get(context, ()))

    def locate(self, context: Level, executed: Mapping[int, bytes]) -> list[str]:
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

    def lookup(self, context: Level, pc: int) -> Symbol | None:
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

    def inline_chain(self, context: Level, pc: int) -> list[str]:
        """Functions inlined at an address of a context, outermost first."""
        mapping = self._mapping(context, pc)
        return mapping.table.inline_chain(pc - mapping.bias) if mapping else []

    def read_inlined(self, addresses: Iterable[tuple[Level, int]]) -> None:
        """Read what is inlined at many addresses of contexts, so that `inline_chain` has it at once."""
        tables: dict[int, SymbolTable] = {}
        wanted: defaultdict[int, set[int]] = defaultdict(set)
        for context, pc in addresses:
            if mapping := self._mapping(context, pc):
                tables[id(mapping.table)] = mapping.table
                wanted[id(mapping.table)].add(pc - mapping.bias)
        for number, table in tables.items():
            table.read_inlined(wanted[number])

    def verify(self, context: Level, pc: int, code: bytes) -> bool | None:
        """Whether the image mapped there has these bytes; None if nothing is mapped, or its file is not there."""
        mapping = self._mapping(context, pc)
        return mapping.table.verify(pc, code, mapping.bias) if mapping and mapping.table.has_code else None

    def code(self, context: Level, pc: int, length: int) -> bytes | None:
        """The bytes that the image mapped there has in its file; None if nothing is mapped or it has no file."""
        mapping = self._mapping(context, pc)
        return mapping.table.code(pc - mapping.bias, length) if mapping else None

    def frame_rule(self, context: Level, pc: int) -> FrameRule | None:
        """Where the function at an address keeps what its caller needs; None if nothing says."""
        mapping = self._mapping(context, pc)
        return mapping.table.frame_rule(pc - mapping.bias) if mapping else None

    def image(self, context: Level, pc: int) -> str:
        """The image mapped at an address, known function or not; empty if none."""
        mapping = self._mapping(context, pc)
        return mapping.table.image if mapping else ""

    def place(self, context: Level, pc: int) -> TablePlace | None:
        """What is mapped at an address; None if nothing is."""
        return self._mapping(context, pc)

    def contexts(self) -> list[Level]:
        """All contexts with something mapped."""
        return sorted(self._mappings)

    def mappings(self, context: Level) -> list[TablePlace]:
        """What is mapped in a context, in the order of the addresses."""
        return list(self._mappings.get(context, ()))

    def _mapping(self, context: Level, pc: int) -> TablePlace | None:
        mappings = self._mappings.get(context, ())
        place = bisect.bisect_right(mappings, pc, key=lambda one: one.start) - 1
        return mappings[place] if place >= 0 and pc < mappings[place].end else None
