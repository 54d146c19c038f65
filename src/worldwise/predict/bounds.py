# SPDX-License-Identifier: BSD-2-Clause
"""Bounds: what a sample's cycles are worth. What held-out figures validate has an error; the rest has an interval."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import median_low
from typing import Literal

from worldwise.libraries.boards import has_caches
from worldwise.predict import rules
from worldwise.predict.domains import Domain, Waits, by_of, code_of, waits_of
from worldwise.predict.errors import ErrorLine, ErrorLines
from worldwise.predict.sampling import SamplingError, sampling_error
from worldwise.records.model_predictions import CAUSES, Events, LayerCycles, PredictedCase, PredictedSample

State = Literal["first", "warm"]
STATES: Mapping[State, str] = {"first": "first call", "warm": "warm"}


@dataclass(frozen=True)
class Interval:
    """Cycles, from and to."""

    low: int
    high: int


@dataclass(frozen=True)
class Estimate:
    """What a core is predicted to take for a measure at a place, of a first call or of a warm one.

    Attributes:
        sample: the sample: the first call, or the one with the median of the warm ones.
        core: the core's name.
        state: which of the two.
        samples: how many it is the median of.
        line: the error line of its kind of code; None: the core is unvalidated.
        error: the error line in words, or that there is none, and what is known instead.
        inside: the predicted cycles that the error line is valid for.
        reasons: why the others are outside -> predicted cycles.
        outside: the bounds of these.
        whole: the bounds of the sum.
        sampling: how far sampling may be off, which the bounds include; None if nothing is sampled.
        domain: what its code is.
        apart: the cycles of the shortest and of the longest of these samples; None if nobody asked.
    """

    sample: PredictedSample = field(repr=False)
    core: str
    state: State
    samples: int
    line: ErrorLine | None
    error: str
    inside: int
    reasons: Mapping[str, int]
    outside: Interval
    whole: Interval
    sampling: SamplingError | None = None
    domain: Domain = field(default_factory=lambda: Domain("integer"))
    apart: tuple[int, int] | None = None

    @property
    def cycles(self) -> int:
        """All predicted cycles."""
        return self.sample.cycles

    @property
    def instructions(self) -> int:
        """The sample's, with what measuring costs."""
        return self.sample.instructions

    @property
    def per_cycle(self) -> float:
        """Instructions in a cycle."""
        return self.instructions / self.cycles if self.cycles else 0.0

    @property
    def causes(self) -> dict[str, int]:
        """Cycles by cause."""
        return {name: sum(one.cycles[number] for one in self.sample.layers) for number, name in enumerate(CAUSES)}


def estimates(case: PredictedCase, core: str, errors: ErrorLines, waits: Waits = None) -> list[Estimate]:
    """The estimates of a case, by measure and place: of the first call, then of the warm ones, as far as there are.

    `waits` is whether and where the memory makes the core wait, if that is not as the board's file says. That of a
    user's own firmware never does, unless somebody says so.
    """
    waits = waits_of(case.case) if waits is None else waits
    if waits is None and any(layer.layer in rules.FIRMWARE for one in case.samples for layer in one.layers):
        waits = False
    series: defaultdict[tuple[str, str], list[PredictedSample]] = defaultdict(list)
    for sample in case.samples:
        series[sample.measure, sample.place].append(sample)
    found = []
    for samples in series.values():
        first = [one for one in samples if one.phase == "first"]
        warm = [one for one in samples if one.phase == "sample"] or [one for one in samples if one.phase == "warmup"]
        phases: tuple[tuple[State, list[PredictedSample]], ...] = (("first", first), ("warm", warm))
        for state, some in phases:
            if some:
                own = Domain(code_of(middle(some)), waits, by_of(case.case))
                one = estimate(middle(some), core, state, errors, len(some), own)
                found.append(replace(one, apart=(min(each.cycles for each in some), max(each.cycles for each in some))))
    return found


def middle(samples: Sequence[PredictedSample]) -> PredictedSample:
    """The sample with the median of the cycles."""
    wanted = median_low(one.cycles for one in samples)
    return next(one for one in samples if one.cycles == wanted)


def estimate(
    sample: PredictedSample,
    core: str,
    state: State,
    errors: ErrorLines,
    samples: int = 1,
    domain: Domain | None = None,
) -> Estimate:
    """The estimate of one sample; `domain` of its code, by default that of its instructions."""
    domain = domain or Domain(code_of(sample))
    line = errors.line(core, domain)
    cold = state == "first" and (domain.waits is None or has_caches(core))
    shortest = line.shortest if line and domain.waits is not None else 0
    least_cycles = min(rules.LEAST_CYCLES, shortest or rules.LEAST_CYCLES)
    reasons = _outside(sample, cold, line, least_cycles, errors.has_neon(core) or domain.code == "float")
    inside = sample.cycles - sum(reasons.values())
    # Nothing is inside without a line. Outside, a model may be as far too slow as it was ever too fast inside.
    least, most = (_exact(line.least), _exact(line.most)) if line else (Fraction(1), Fraction(1))
    # What stands around the measured code is code of both kinds, whoever wrote that.
    around = (errors.exact(core, replace(domain, by=None).kind) or line) if line else None
    lowest, highest = (_exact(around.lowest), _exact(around.highest)) if around else (Fraction(1), Fraction(1))
    outside_least = min(lowest, 1 / highest) if around else _exact(rules.UNVALIDATED_LEAST)
    outside_most = max(highest, _exact(rules.OUTSIDE_FACTOR))
    sampling = sampling_error(sample.sampled, sample.cycles)
    # A whole run through the model may say so much less or more, of both parts.
    off = Fraction(sampling.margin, sampling.cycles) if sampling and sampling.cycles else Fraction(0)
    less, more = max(Fraction(0), 1 - off), 1 + off
    out = sample.cycles - inside
    outside = Interval(
        math.floor(out * less * outside_least), math.ceil(out * more * outside_most) + _events(sample.events)
    )
    low = math.floor(inside * less * least) + outside.low
    high = math.ceil(inside * more * most) + outside.high
    error = line.text() if line else errors.unvalidated(core, domain)
    bounds = Interval(low, high)
    return Estimate(sample, core, state, samples, line, error, inside, reasons, outside, bounds, sampling, domain)


def _outside(
    sample: PredictedSample, cold: bool, line: ErrorLine | None, least_cycles: int, vectors: bool
) -> dict[str, int]:
    """Why which cycles are outside the validated domain; empty if none are. `cold`: its caches begin empty."""
    whole = _whole(sample, cold, line, least_cycles)
    if whole:
        return {whole: sample.cycles}
    found: defaultdict[str, int] = defaultdict(int)
    inside: list[LayerCycles] = []
    for one in sample.layers:
        if rules.is_inside(one.layer):
            found["instructions without figures"] += one.outside
            if not vectors:
                found["vectors: no held-out figures of this core"] += one.vector_cycles
            inside.append(one)
        else:
            kind = next((name for begin, name in rules.OUTSIDE.items() if one.layer.startswith(begin)), rules.NAMELESS)
            found[kind] += sum(one.cycles)
    waited = sum(one.cycles[CAUSES.index("memory")] for one in inside)
    if waited > rules.MOST_MEMORY * sum(sum(one.cycles) for one in inside):
        return {"bound by memory": sample.cycles}
    return {reason: cycles for reason, cycles in found.items() if cycles}


def _whole(sample: PredictedSample, cold: bool, line: ErrorLine | None, least_cycles: int) -> str:
    """Why the whole sample is outside; empty if it is not."""
    if line is None:
        return "an unvalidated core"
    if cold:
        return "a first call: all held-out figures are of warm ones"
    if sample.cycles < least_cycles:
        return f"fewer than {least_cycles:,} cycles"
    return ""


def _events(events: Events) -> int:
    """The most cycles that events may cost of which no model knows."""
    return (
        2 * events.exceptions * rules.LEVEL_CHANGE
        + events.monitor * rules.WORLD_CHANGE
        + events.barriers * rules.BARRIER
        + events.maintenance * rules.MAINTENANCE
        + events.atomics * rules.ATOMIC
    )


def _exact(value: float) -> Fraction:
    """A number as it is written, so that no bound is a cycle off."""
    return Fraction(str(value))
