# SPDX-License-Identifier: BSD-2-Clause
"""Attribution: whose the cycles of a sample are, from the trace of a machine on which the models of cores ran."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from worldwise.base.errors import WorldwiseError
from worldwise.explain.owners import Explainer
from worldwise.explain.stacks import StackFrame, Stacks
from worldwise.predict.code import Facts, facts_of
from worldwise.predict.rules import OWN
from worldwise.predict.sampling import estimate_rows, shares
from worldwise.records.model_predictions import CAUSES, Events, LayerCycles, PredictedCase, PredictedSample
from worldwise.records.models import Sample
from worldwise.records.trace_cycles import CyclesRow, Stratum, StretchRow
from worldwise.records.trace_records import Pass, Row

_Stack = tuple[StackFrame, ...]


@dataclass(frozen=True)
class Spent:
    """What a stack, function or layer itself took; see LayerCycles."""

    instructions: int
    cycles: list[int]
    outside: int
    outside_instructions: int
    float_instructions: int
    vector_instructions: int
    vector_cycles: int

    @property
    def total(self) -> int:
        """Cycles, whatever they went on."""
        return sum(self.cycles)


# The fields of Spent in a row, `cycles` in the place of its name: quick to add up.
_Numbers = list[int]
_CYCLES = slice(1, 1 + len(CAUSES))
_FIELDS = 6 + len(CAUSES)


def _spent(numbers: _Numbers) -> Spent:
    return Spent(numbers[0], numbers[_CYCLES], *numbers[_CYCLES.stop :])


@dataclass(frozen=True)
class Attributed:
    """The cycles of one sample on one core, by their owners.

    Attributes:
        sample: which one.
        core: its name.
        stacks: stack, root first -> what its last frame itself took.
    """

    sample: Sample
    core: str
    stacks: Mapping[_Stack, Spent] = field(repr=False)

    @cached_property
    def functions(self) -> Mapping[StackFrame, Spent]:
        """By function."""
        found: defaultdict[StackFrame, _Numbers] = defaultdict(lambda: [0] * _FIELDS)
        for stack, spent in self.stacks.items():
            own = vars(spent)
            numbers = [own["instructions"], *spent.cycles, *list(own.values())[2:]]
            _add(found[stack[-1]], numbers)
        return {frame: _spent(numbers) for frame, numbers in found.items()}

    @property
    def total(self) -> int:
        """All cycles."""
        return sum(spent.total for spent in self.stacks.values())

    def in_cycles(self) -> Stacks:
        """The stacks with their cycles alone, as flame graphs take them."""
        return {stack: spent.total for stack, spent in self.stacks.items() if spent.total}


class Attribution:
    """Gives the cycles of each sample of a case to their owners, with `explainer`'s stacks and layers."""

    def __init__(self, explainer: Explainer) -> None:
        self.explainer = explainer
        self._facts: dict[int, Facts] = {}
        self._layers: dict[tuple[int, int], str | None] = {}
        self._executions: dict[tuple[int, ...], Mapping[str, _Numbers]] = {}
        self._estimates: dict[tuple[str, int], tuple[Sequence[CyclesRow], Stratum]] = {}
        # All figures of a core of 64 bits are of A64 code: a TA of 32 bits has none.
        blocks = explainer.trace.blocks
        narrow = frozenset(number for number, block in blocks.items() if block.set != "a64")
        self._without_figures = narrow if len(narrow) < len(blocks) else frozenset()

    @cached_property
    def _block_sizes(self) -> Mapping[int, int]:
        """The instructions of each block."""
        return {number: block.instructions for number, block in self.explainer.trace.blocks.items()}

    def case(self, core: str) -> PredictedCase:
        """All samples that were followed, by measure and place, in the order in which they were taken.

        Raises WorldwiseError if the core did not run.
        """
        every = [
            self.record(one, core)
            for series in self.explainer.records.samples.values()
            for one in series
            if self.explainer.regions(one)
        ]
        return PredictedCase(case=self.explainer.case.id, samples=every)

    def record(self, sample: Sample, core: str) -> PredictedSample:
        """One sample on one core, by layer: as a run keeps it."""
        regions = self._regions(sample, core)
        layers = {layer: [*numbers] for layer, numbers in self._executed(regions).items()}
        # Column by column and not row by row: a case has a million rows.
        rows: defaultdict[str, list[CyclesRow]] = defaultdict(list)
        vectors: defaultdict[str, list[CyclesRow]] = defaultdict(list)
        for row in (row for region in regions for row in self._taken(core, region)):
            layer = self._layer(row.frame, row.block)
            if layer is None:
                for part, numbers in self._parts(regions[0], row.frame, row.block, self._numbers(row)):
                    _add(layers[part], numbers)
                continue
            rows[layer].append(row)
            if self._of(row.block).vector:
                vectors[layer].append(row)
        for layer, some in rows.items():
            _add(layers[layer], [0, *_columns(some), 0, 0, 0])
        for layer, some in vectors.items():
            columns = _columns(some)
            layers[layer][-1] += sum(columns[: len(CAUSES)]) - columns[len(CAUSES)]
        strata = [stratum for region in regions for stratum in self._strata(core, region)]
        return self._predicted(sample, layers, self._events(regions), strata)

    def stretch(self, sample: Sample, core: str, origin: tuple[int, int]) -> PredictedSample | None:
        """A stretch of a sample by layer, as `record` has all of it; None if the core did not run through all of it.

        `origin` is the pass that it is of, and how many instructions of that are before it.
        """
        rows = self.explainer.trace.stretches.get(core, {}).get(origin)
        region = next((one for one in self.explainer.regions(sample) if one.id == origin[0]), None)
        if rows is None or region is None:
            return None
        layers: defaultdict[str, _Numbers] = defaultdict(lambda: [0] * _FIELDS)
        for row in rows:
            numbers = self._numbers(row.cycles)
            self._count(numbers, row.block, row.times)
            for layer, part in self._parts(region, row.frame, row.block, numbers):
                _add(layers[layer], part)
        return self._predicted(sample, layers, self._events_of(rows), [])

    def _predicted(
        self, sample: Sample, layers: Mapping[str, _Numbers], events: Events, sampled: list[Stratum]
    ) -> PredictedSample:
        """What is kept of a sample, or of a stretch of it."""
        found = {layer: _spent(numbers) for layer, numbers in sorted(layers.items())}
        return PredictedSample(
            measure=sample.measure,
            place=sample.place,
            phase=sample.phase,
            index=sample.index,
            instructions=sum(spent.instructions for spent in found.values()),
            layers=[LayerCycles(layer=self._named(layer), **vars(spent)) for layer, spent in found.items()],
            events=events,
            sampled=sampled,
        )

    def _taken(self, core: str, of: Pass) -> Iterator[CyclesRow]:
        """The rows of a core's cycles of a pass, with those of what sampling left out."""
        trace = self.explainer.trace
        for one in trace.with_inner(of):
            rows = self._estimated(core, one)[0] if one in trace.skipped else trace.cycles[core].get(one, ())
            yield from map(self._told, rows) if self._without_figures else rows

    def _told(self, row: CyclesRow) -> CyclesRow:
        """A row of a block for which no figure stands as one that is outside as a whole."""
        if row.block not in self._without_figures:
            return row
        # Its instructions are in `_count`.
        return row._replace(outside=sum(row[2 : 2 + len(CAUSES)]), outside_instructions=0)

    def _strata(self, core: str, of: Pass) -> Iterator[Stratum]:
        trace = self.explainer.trace
        yield from (self._estimated(core, one)[1] for one in trace.with_inner(of) if one in trace.skipped)

    def _estimated(self, core: str, one: int) -> tuple[Sequence[CyclesRow], Stratum]:
        """Of a sampled pass itself, without those inside it."""
        key = (core, one)
        if key not in self._estimates:
            trace = self.explainer.trace
            self._estimates[key] = estimate_rows(
                trace.cycles[core].get(one, ()),
                trace.own[one],
                trace.skipped[one],
                self._block_sizes,
                trace.units.get(core, {}).get(one),
            )
        return self._estimates[key]

    def _executed(self, regions: Sequence[Pass]) -> Mapping[str, _Numbers]:
        """Layer -> what it executed, without cycles; the same for all cores."""
        key = tuple(region.id for region in regions)
        if key not in self._executions:
            layers: defaultdict[str, _Numbers] = defaultdict(lambda: [0] * _FIELDS)
            for row in (row for region in regions for row in self.explainer.trace.rows(region)):
                layer = self._layer(row.frame, row.block)
                if layer is not None:
                    self._count(layers[layer], row.block, row.times)
                    continue
                whole = [0] * _FIELDS
                self._count(whole, row.block, row.times)
                for part, numbers in self._parts(regions[0], row.frame, row.block, whole):
                    _add(layers[part], numbers)
            self._executions[key] = dict(layers)
        return self._executions[key]

    def _named(self, layer: str) -> str:
        """A layer as a prediction has it: its name there does not say which one is the user's own."""
        return f"{OWN}{layer}" if layer in self.explainer.own_layers else layer

    def _layer(self, frame: int, block: int) -> str | None:
        """The layer of a block on a frame; None if it has several functions."""
        key = (frame, block)
        if key not in self._layers:
            layers = self.explainer.layers_of(frame, block)
            self._layers[key] = layers[0] if len(layers) == 1 else None
        return self._layers[key]

    def _parts(self, region: Pass, frame: int, block: int, numbers: _Numbers) -> Iterator[tuple[str, _Numbers]]:
        for (stack, _), part in _split(self.explainer.parts_of(region, frame, block), numbers):
            yield stack[-1].layer, part

    def _count(self, numbers: _Numbers, block: int, times: int) -> None:
        """Add the instructions of a block that was executed so often: all, floating point and vectors."""
        facts = self._of(block)
        instructions = times * self.explainer.trace.blocks[block].instructions
        numbers[0] += instructions
        if block in self._without_figures:
            numbers[-4] += instructions
        numbers[-3] += times * facts.floats
        numbers[-2] += times * facts.vector

    def _numbers(self, row: CyclesRow) -> _Numbers:
        """A row's cycles as they stand in _Numbers."""
        vector = sum(row[2:8]) - row.outside if self._of(row.block).vector else 0
        return [0, *row[2:], 0, 0, vector]

    def sample(self, sample: Sample, core: str) -> Attributed:
        """One sample on one core, by stack."""
        # By object first: a stack's hash takes as long as it is deep.
        found: dict[int, tuple[_Stack, _Numbers]] = {}
        for region in self._regions(sample, core):
            for (frame, block), numbers in self._rows([region], core).items():
                for (stack, _), part in _split(self.explainer.parts_of(region, frame, block), numbers):
                    _add(found.setdefault(id(stack), (stack, [0] * _FIELDS))[1], part)
        stacks: defaultdict[_Stack, _Numbers] = defaultdict(lambda: [0] * _FIELDS)
        for stack, numbers in found.values():
            _add(stacks[stack], numbers)
        return Attributed(sample, core, {stack: _spent(numbers) for stack, numbers in stacks.items()})

    def _regions(self, sample: Sample, core: str) -> Sequence[Pass]:
        regions = self.explainer.regions(sample)
        if core not in self.explainer.trace.cycles:
            raise WorldwiseError(f"{self.explainer.case.id}: the trace has no cycles of {core}")
        if not regions:
            raise WorldwiseError(
                f"{self.explainer.case.id}: the trace has no region of {sample.measure} {sample.index}"
            )
        return regions

    def _rows(self, regions: Sequence[Pass], core: str) -> Mapping[tuple[int, int], _Numbers]:
        """(frame, block) -> what the block took there."""
        trace = self.explainer.trace
        found: dict[tuple[int, int], _Numbers] = {}
        for row in (row for region in regions for row in trace.rows(region)):
            numbers = found.setdefault(row[:2], [0] * _FIELDS)
            self._count(numbers, row.block, row.times)
        for taken in (row for region in regions for row in self._taken(core, region)):
            _add(found[taken[:2]], self._numbers(taken))
        return found

    def _events(self, regions: Sequence[Pass]) -> Events:
        return self._events_of(row for region in regions for row in self.explainer.trace.rows(region))

    def _events_of(self, rows: Iterable[Row | StretchRow]) -> Events:
        trace = self.explainer.trace
        events = dict.fromkeys(Events.model_fields, 0)
        for row in rows:
            facts = self._of(row.block)
            if not facts.events:
                continue
            monitor = trace.contexts[trace.frames[row.frame].context].el == 3
            events["monitor" if monitor else "exceptions"] += row.times * facts.returns
            for name in ("barriers", "maintenance", "atomics"):
                events[name] += row.times * getattr(facts, name)
        return Events(**events)

    def _of(self, block: int) -> Facts:
        if block not in self._facts:
            known = block not in self._without_figures
            self._facts[block] = facts_of(self.explainer.trace.blocks[block]) if known else Facts()
        return self._facts[block]


def _columns(rows: Sequence[CyclesRow]) -> list[int]:
    """The sums of the rows' cycles, and of what stands behind them."""
    return [sum(column) for column in zip(*rows, strict=True)][2:]


def _add(to: _Numbers, numbers: _Numbers) -> None:
    for number, value in enumerate(numbers):
        to[number] += value


def _split(parts: Sequence[tuple[_Stack, int]], numbers: _Numbers) -> Iterator[tuple[tuple[_Stack, int], _Numbers]]:
    """Splits what a block took over the functions in it, by their instructions."""
    if len(parts) == 1:
        yield parts[0], numbers
        return
    split = [shares(one, [count for _, count in parts]) for one in numbers]
    for number, part in enumerate(parts):
        yield part, [one[number] for one in split]
