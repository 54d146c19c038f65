# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of flat programs, those of boards: of each sample as a whole, without stacks and layers."""

from collections.abc import Iterator, Sequence

from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.predict.rules import PROGRAM
from worldwise.records.check import CheckedRecords
from worldwise.records.flat import FlatRegion
from worldwise.records.models import Sample
from worldwise.records.predicted import Events, LayerCycles, PredictedCase, PredictedSample

# Instructions of the counter's interrupt, which a sample's count leaves out: COUNTER_HANDLER of guest/mcu/counter.h.
_HANDLER = 5


def flat_case(case: Case, records: CheckedRecords, regions: Sequence[FlatRegion], core: str) -> PredictedCase:
    """The samples of a case on a core. Raises WorldwiseError if a sample has no stretch of as many instructions."""
    rest = iter(regions)
    every = sorted((one for series in records.samples.values() for one in series), key=lambda one: one.begin)
    return PredictedCase(case=case.id, samples=[_sample(case, one, rest, core) for one in every])


def _sample(case: Case, sample: Sample, rest: Iterator[FlatRegion], core: str) -> PredictedSample:
    """The next stretch that has the sample's instructions, and beyond them whole runs of the counter's interrupt."""
    for region in rest:
        more = region.instructions - sample.raw
        if more >= 0 and more % _HANDLER == 0 and more <= _most_interrupts(sample.raw):
            taken = region.cores.get(core)
            if taken is None:
                raise WorldwiseError(f"{case.id}: there are no cycles of {core}")
            layer = LayerCycles(
                layer=PROGRAM,
                instructions=region.instructions,
                cycles=taken.causes,
                outside=taken.outside,
                outside_instructions=taken.outside_instructions,
                vector_instructions=0,
                vector_cycles=0,
            )
            return PredictedSample(
                measure=sample.measure,
                place=sample.place,
                phase=sample.phase,
                index=sample.index,
                instructions=region.instructions,
                layers=[layer],
                events=Events(**dict.fromkeys(Events.model_fields, 0)),
            )
    raise WorldwiseError(
        f"{case.id}: under the plugin no stretch has the {sample.raw:,} instructions of {sample.measure} {sample.index}"
    )


def _most_interrupts(instructions: int) -> int:
    """The most instructions of the interrupt in as many: one interrupt in 10,000, and a few."""
    return _HANDLER * (4 + instructions // 10_000)
