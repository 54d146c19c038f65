# SPDX-License-Identifier: BSD-2-Clause
"""What cores take for the stretches in which the normal world could not take an interrupt."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from worldwise.explain.explanation import Explanation
from worldwise.explain.masked_interrupts import Stretch, StretchTime
from worldwise.predict.attribution import Attribution
from worldwise.predict.bounds import State, estimate
from worldwise.predict.domains import Domain, by_of, code_of, waits_of
from worldwise.predict.errors import ErrorLines
from worldwise.records.models import Sample


def timed(
    attribution: Attribution, sample: Sample, cores: Iterable[str], clock: Fraction, errors: ErrorLines
) -> Explanation:
    """What `explain` says of a sample, with what cores take for each of its stretches, if somebody looked for these.

    The cycles of a stretch are those that its own instructions took within the whole call: caches, predictors and
    pipeline are as what ran before it left them.
    """
    explanation = attribution.explainer.explain(sample)
    if explanation.masked is None:
        return explanation
    cores = list(cores)
    stretches = [
        replace(one, times=tuple(_times(attribution, sample, one, cores, clock, errors)))
        for one in explanation.masked.stretches
    ]
    return replace(explanation, masked=replace(explanation.masked, stretches=stretches))


def _times(
    attribution: Attribution,
    sample: Sample,
    stretch: Stretch,
    cores: Iterable[str],
    clock: Fraction,
    errors: ErrorLines,
) -> Iterable[StretchTime]:
    case = attribution.explainer.case.id
    state: State = "first" if sample.phase == "first" else "warm"
    for core in cores:
        found = attribution.stretch(sample, core, stretch.origin)
        if found is None:
            continue
        domain = Domain(code_of(found), waits_of(case), by_of(case))
        one = estimate(found, core, state, errors, domain=domain)
        yield StretchTime(
            core,
            clock,
            one.cycles,
            one.whole.low,
            one.whole.high,
            one.cycles - one.inside,
            f"{core}, {one.domain.words}: {one.error}",
        )
