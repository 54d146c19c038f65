# SPDX-License-Identifier: BSD-2-Clause
"""Attribution: whose the cycles of a sample are, from the trace of a machine on which the models of cores ran."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from worldwise.base.errors import WorldwiseError
from worldwise.explain.owners import Explainer
from worldwise.explain.stacks import StackFrame, Stacks
from worldwise.predict.code import Facts, facts_of
from worldwise.records.models import Sample
from worldwise.records.predicted import CAUSES, Events, LayerCycles, PredictedCase, PredictedSample
from worldwise.records.trace import CyclesRow, Pass, Row

_Stack = tuple[StackFrame, ...]
_Key = TypeVar("_Key")


@dataclass
class Spent:
    """What a stack, function or layer itself took; see LayerCycles."""

    instructions: int = 0
    cycles: list[int] = field(default_factory=lambda: [0] * len(CAUSES))
    outside: int = 0
    outside_instructions: int = 0
    vector_instructions: int = 0
    vector_cycles: int = 0

    @property
    def total(self) -> int:
        """Cycles, whatever they went on."""
        return sum(self.cycles)

    def add(self, other: "Spent") -> None:
        """Adds another's."""
        self.instructions += other.instructions
        self.cycles = [mine + one for mine, one in zip(self.cycles, other.cycles, strict=True)]
        self.outside += other.outside
        self.outside_instructions += other.outside_instructions
        self.vector_instructions += other.vector_instructions
        self.vector_cycles += other.vector_cycles


@dataclass(frozen=True)
class Attributed:
    """The cycles of one sample on one core, by the stack that took them.

    Attributes:
        sample: which one.
        core: its name.
        stacks: stack, root first -> what its last frame itself took.
        events: what the model does not know; see Events.
    """

    sample: Sample
    core: str
    stacks: Mapping[_Stack, Spent] = field(repr=False)
    events: Events

    @cached_property
    def layers(self) -> Mapping[str, Spent]:
        """By layer."""
        return _summed((stack[-1].layer, spent) for stack, spent in self.stacks.items())

    @cached_property
    def functions(self) -> Mapping[StackFrame, Spent]:
        """By function."""
        return _summed((stack[-1], spent) for stack, spent in self.stacks.items())

    @property
    def total(self) -> int:
        """All cycles."""
        return sum(spent.total for spent in self.stacks.values())

    def in_cycles(self) -> Stacks:
        """The stacks with their cycles alone, as flame graphs take them."""
        return {stack: spent.total for stack, spent in self.stacks.items() if spent.total}

    def record(self) -> PredictedSample:
        """As a run keeps it."""
        return PredictedSample(
            measure=self.sample.measure,
            place=self.sample.place,
            phase=self.sample.phase,
            index=self.sample.index,
            instructions=sum(spent.instructions for spent in self.layers.values()),
            layers=[LayerCycles(layer=layer, **vars(spent)) for layer, spent in sorted(self.layers.items())],
            events=self.events,
        )


class Attribution:
    """Gives the cycles of each sample of a case to their owners, with `explainer`'s stacks and layers."""

    def __init__(self, explainer: Explainer) -> None:
        self.explainer = explainer
        self._facts: dict[int, Facts] = {}

    def case(self, core: str) -> PredictedCase:
        """All samples that were followed, by measure and place, in the order in which they were taken."""
        every = [self.sample(one, core).record() for series in self._series() for one in series]
        return PredictedCase(case=self.explainer.case.id, samples=every)

    def sample(self, sample: Sample, core: str) -> Attributed:
        """One sample on one core. Raises WorldwiseError if the sum is not the model's, or the core did not run."""
        regions = self.explainer.regions(sample)
        if core not in self.explainer.trace.cycles:
            raise WorldwiseError(f"{self.explainer.case.id}: the trace has no cycles of {core}")
        if not regions:
            raise WorldwiseError(
                f"{self.explainer.case.id}: the trace has no region of {sample.measure} {sample.index}"
            )
        stacks: defaultdict[_Stack, Spent] = defaultdict(Spent)
        for region in regions:
            for stack, spent in self._spent(region, core):
                stacks[stack].add(spent)
        return Attributed(sample, core, dict(stacks), self._events(regions))

    def _series(self) -> Iterator[list[Sample]]:
        for series in self.explainer.records.samples.values():
            yield [one for one in series if self.explainer.regions(one)]

    def _spent(self, region: Pass, core: str) -> Iterator[tuple[_Stack, Spent]]:
        """What each part of each row took."""
        trace = self.explainer.trace
        for row in trace.rows(region):
            facts = self._of(row.block)
            executed = Spent(
                instructions=row.times * trace.blocks[row.block].instructions,
                vector_instructions=row.times * facts.vector,
            )
            yield from self._split(region, row, executed)
        for taken in trace.cycles_rows(core, region):
            cycles = list(taken[2:8])
            vector = sum(cycles) - taken.outside if self._of(taken.block).vector else 0
            spent = Spent(0, cycles, taken.outside, taken.outside_instructions, 0, vector)
            yield from self._split(region, taken, spent)

    def _split(self, region: Pass, row: Row | CyclesRow, spent: Spent) -> Iterator[tuple[_Stack, Spent]]:
        """Splits what a block took over the functions in it, by their instructions."""
        parts = self.explainer.parts_of(region, row.frame, row.block)
        if len(parts) == 1:
            yield parts[0][0], spent
            return
        weights = [count for _, count in parts]
        cycles = [shares(one, weights) for one in spent.cycles]
        others = [
            shares(one, weights)
            for one in (
                *(spent.instructions, spent.outside, spent.outside_instructions),
                *(spent.vector_instructions, spent.vector_cycles),
            )
        ]
        for number, (stack, _) in enumerate(parts):
            instructions, *rest = (one[number] for one in others)
            yield stack, Spent(instructions, [one[number] for one in cycles], *rest)

    def _events(self, regions: Sequence[Pass]) -> Events:
        trace = self.explainer.trace
        events: defaultdict[str, int] = defaultdict(int)
        for row in (row for region in regions for row in trace.rows(region)):
            facts = self._of(row.block)
            monitor = trace.contexts[trace.frames[row.frame].context].el == 3
            events["monitor" if monitor else "exceptions"] += row.times * facts.returns
            for name in ("barriers", "maintenance", "atomics"):
                events[name] += row.times * getattr(facts, name)
        return Events(**{name: events[name] for name in Events.model_fields})

    def _of(self, block: int) -> Facts:
        if block not in self._facts:
            self._facts[block] = facts_of(self.explainer.trace.blocks[block])
        return self._facts[block]


def shares(whole: int, weights: Sequence[int]) -> list[int]:
    """A number split by weights into whole numbers whose sum it is."""
    total, before, parts = sum(weights), 0, []
    for upto in itertools.accumulate(weights):
        now = whole * upto // total
        parts.append(now - before)
        before = now
    return parts


def _summed(items: Iterable[tuple[_Key, Spent]]) -> dict[_Key, Spent]:
    found: defaultdict[_Key, Spent] = defaultdict(Spent)
    for key, spent in items:
        found[key].add(spent)
    return dict(found)
