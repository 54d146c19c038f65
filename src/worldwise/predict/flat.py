# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of flat programs, those of boards and of Linux on Armv7-A: of each sample as a whole, and by function."""

from collections.abc import Iterator, Sequence
from operator import sub

from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board
from worldwise.predict.attribution import Attribution
from worldwise.predict.code import Facts
from worldwise.predict.cores import is_armv7
from worldwise.predict.rules import KERNEL, PROGRAM
from worldwise.records.check import CheckedRecords
from worldwise.records.flat import FlatCycles, FlatRegion
from worldwise.records.model_predictions import Events, LayerCycles, PredictedCase, PredictedSample
from worldwise.records.models import Sample
from worldwise.records.trace_records import Event, Pass

# Instructions of the interrupt of a board's counter, which a sample's count leaves out: COUNTER_HANDLER of
# guest/mcu/counter.h.
_HANDLER = 5

# Exceptions as the trace of a flat program names them.
_EXCEPTIONS = ("irq", "sync")


class FlatAttribution(Attribution):
    """Gives the cycles of a flat program to its functions. No figures tell its vectors from other code."""

    def _of(self, _block: int) -> Facts:
        return Facts()

    def _events(self, regions: Sequence[Pass]) -> Events:
        """Those of Linux; on a microcontroller a handler is code like other code."""
        found = 0
        if is_armv7(self.explainer.case):
            found = sum(one.what in _EXCEPTIONS for region in regions for one in self._within(region))
        return Events(**dict.fromkeys(Events.model_fields, 0) | {"exceptions": found})

    def _within(self, region: Pass) -> Iterator[Event]:
        """The events of a region: those of the region around it, from its begin to its end."""
        trace = self.explainer.trace
        end = region.at + region.instructions
        return (one for one in trace.events.get(trace.outermost(region).id, ()) if region.at <= one.at < end)


def flat_case(case: Case, records: CheckedRecords, regions: Sequence[FlatRegion], core: str) -> PredictedCase:
    """The samples of a case on a core. Raises WorldwiseError if a sample has no stretch of as many instructions."""
    rest = iter(regions)
    every = sorted((one for series in records.samples.values() for one in series), key=lambda one: one.begin)
    return PredictedCase(case=case.id, samples=[_sample(case, one, rest, core) for one in every])


def _sample(case: Case, sample: Sample, rest: Iterator[FlatRegion], core: str) -> PredictedSample:
    """The next stretch that has the sample's instructions, and on a board whole runs of the counter's interrupt too."""
    most = _most_interrupts(sample.raw) if is_board(case.target) else 0
    for region in rest:
        more = region.instructions - sample.raw
        if 0 <= more <= most and more % _HANDLER == 0:
            if core not in region.cores:
                raise WorldwiseError(f"{case.id}: there are no cycles of {core}")
            exceptions = region.linux.exceptions if region.linux else 0
            return PredictedSample(
                measure=sample.measure,
                place=sample.place,
                phase=sample.phase,
                index=sample.index,
                instructions=region.instructions,
                layers=_layers(region, core),
                events=Events(**dict.fromkeys(Events.model_fields, 0) | {"exceptions": exceptions}),
            )
    raise WorldwiseError(
        f"{case.id}: under the plugin no stretch has the {sample.raw:,} instructions of {sample.measure} {sample.index}"
    )


def _layers(region: FlatRegion, core: str) -> list[LayerCycles]:
    """The program, and the kernel if the machine has one."""
    whole = region.cores[core]
    if not region.linux:
        return [_layer(PROGRAM, region.instructions, whole)]
    kernel = region.linux.cores[core]
    program = FlatCycles(
        cycles=whole.cycles - kernel.cycles,
        causes=list(map(sub, whole.causes, kernel.causes)),
        outside=whole.outside - kernel.outside,
        outside_instructions=whole.outside_instructions - kernel.outside_instructions,
    )
    inside = region.instructions - region.linux.instructions
    return [_layer(PROGRAM, inside, program), _layer(KERNEL, region.linux.instructions, kernel)]


def _layer(name: str, instructions: int, taken: FlatCycles) -> LayerCycles:
    return LayerCycles(
        layer=name,
        instructions=instructions,
        cycles=taken.causes,
        outside=taken.outside,
        outside_instructions=taken.outside_instructions,
        vector_instructions=0,
        vector_cycles=0,
    )


def _most_interrupts(instructions: int) -> int:
    """The most instructions of the interrupt in as many: one interrupt in 10,000, and a few."""
    return _HANDLER * (4 + instructions // 10_000)
