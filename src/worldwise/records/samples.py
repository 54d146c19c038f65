# SPDX-License-Identifier: BSD-2-Clause
"""Checking samples: each one that a case owes is there once, in order, with its arithmetic right."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NoReturn

from worldwise.plan.spec import OWN
from worldwise.records.models import Clock, Overhead, Sample
from worldwise.records.subject import Subject

Overheads = Mapping[str, Overhead]
Series = Mapping[tuple[str, str], Sequence[Sample]]


def check_overheads(subject: Subject, clock: Clock) -> dict[str, Overhead]:
    """What measuring costs, by place; `clock` is the case's counter.

    Raises WorldwiseError if a place's cost is missing or impossible.
    """
    measures = subject.measures
    places = {place for places in measures.values() for place in places}
    overheads: dict[str, Overhead] = {}
    for number, record in subject.numbered():
        if isinstance(record, Overhead):
            if record.place not in places:
                subject.fail(number, f"an overhead for '{record.place}', where the case measures nothing.")
            if record.place in overheads:
                subject.fail(number, f"a second overhead for '{record.place}'.")
            wanted = subject.owed.clocks.get(record.place, clock)
            if record.clock != wanted:
                subject.fail(number, f"the clock at '{record.place}' is {record.clock}, must be {wanted}.")
            overheads[record.place] = record
    for place in sorted(places - overheads.keys()):
        subject.fail(None, f"the overhead of measuring at '{place}' is missing.")
    for nested in measures.values():
        for inside, around in itertools.pairwise(nested):
            if overheads[inside].nested is None:
                subject.fail(None, f"the overhead at '{inside}' lacks 'nested', which counts at '{around}' need.")
    return overheads


def check_samples(subject: Subject, overheads: Overheads) -> dict[tuple[str, str], tuple[Sample, ...]]:
    """The samples by (measure, place), in index order. Raises WorldwiseError at the first that is wrong or missing."""
    case = subject.case
    found = _Samples(subject, overheads).read()
    for (measure, place), series in found.items():
        if len(series) != case.calls:
            subject.fail(
                None,
                f"{measure} at {place} has {len(series)} samples instead of {case.calls} "
                f"(1 first call, {case.warmup} warm-up, {case.samples} samples): "
                f"index {len(series)} is missing.",
            )
    for measure, places in subject.measures.items():
        for inside, around in itertools.pairwise(places):
            comparable = overheads[inside].clock == overheads[around].clock
            for inner, outer in zip(found[measure, inside], found[measure, around], strict=True):
                _check_inside(subject, inner, outer, comparable)
    return {key: tuple(series) for key, series in found.items()}


def _check_inside(subject: Subject, inner: Sample, outer: Sample, comparable: bool) -> None:
    """Refuses a region that was not within the one around it; begin and end are compared only if `comparable`."""
    what = f"{inner.measure} {inner.index}: the region at '{inner.place}'"
    if comparable and not outer.begin <= inner.begin <= inner.end <= outer.end:
        subject.fail(
            None,
            f"{what} ({inner.begin} to {inner.end}) is not inside the one at '{outer.place}' "
            f"({outer.begin} to {outer.end}).",
        )
    if inner.raw > outer.raw:
        subject.fail(None, f"{what} took {inner.raw}, more than the {outer.raw} at '{outer.place}' around it.")


class _Samples:
    """Reads the samples of a case in order and refuses each impossible one."""

    def __init__(self, subject: Subject, overheads: Overheads) -> None:
        case = subject.case
        self._subject = subject
        self._overheads = overheads
        self._measures = subject.measures
        self._calls = case.calls
        self._spans = case.spans
        self._warmup = case.warmup
        # Calls of several threads, in the order of their begins.
        self._threads = case.target == OWN
        self._counted = subject.owed.counted
        self._summed = (*subject.owed.counted, *subject.owed.summed)
        self._found: dict[tuple[str, str], list[Sample]] = {
            (measure, place): [] for measure, places in subject.measures.items() for place in places
        }

    def read(self) -> Series:
        """All samples, by (measure, place)."""
        for number, record in self._subject.numbered():
            if isinstance(record, Sample):
                series = self._found.get((record.measure, record.place))
                if series is None:
                    self._subject.fail(
                        number, f"a sample of '{record.measure}' at '{record.place}', which the case lacks."
                    )
                self._check_turn(number, record, len(series))
                self._check_spans(number, record)
                self._check_count(number, record)
                if series and record.begin < (series[-1].begin if self._threads else series[-1].end):
                    word = "begins" if self._threads else "ends"
                    self._subject.fail(
                        number, f"{record.measure} {record.index}: begins before its predecessor {word}."
                    )
                series.append(record)
        return self._found

    def _fail(self, number: int, sample: Sample, problem: str) -> NoReturn:
        self._subject.fail(number, f"{sample.measure} {sample.index} at {sample.place}: {problem}")

    def _check_turn(self, number: int, sample: Sample, index: int) -> None:
        """Refuses a sample other than the one that is due, number `index`."""
        if sample.index != index:
            self._fail(number, sample, f"index {index} was due: a sample is missing or out of order.")
        if index >= self._calls:
            self._fail(number, sample, f"one sample too many, {self._calls} are due.")
        phase = "first" if index == 0 else "warmup" if index <= self._warmup else "sample"
        if sample.phase != phase:
            self._fail(number, sample, f"phase is '{sample.phase}', must be '{phase}'.")

    def _check_spans(self, number: int, sample: Sample) -> None:
        """Refuses a sample with a wrong number of spans, and an impossible sum of spans."""
        counted, summed = sample.place in self._counted, sample.place in self._summed
        spans = (sample.spans if counted else self._spans) if summed else None
        if (sample.spans, sample.busy is None) != (spans, not summed) or (counted and spans is None):
            self._fail(
                number,
                sample,
                f"spans is {sample.spans} and busy {sample.busy}, must be "
                + ("a number and their sum." if counted else f"{spans} and their sum." if summed else "absent."),
            )
        if summed and sample.raw > sample.end - sample.begin:
            self._fail(number, sample, f"its spans take {sample.raw}, but from begin to end is less.")

    def _check_count(self, number: int, sample: Sample) -> None:
        """Refuses a count that is not the raw value minus the cost of measuring."""
        inner = self._inner(number, sample)
        if (sample.inner or 0) != inner:
            self._fail(number, sample, f"inner is {sample.inner}, the declared overhead makes it {inner or None}.")
        overhead = self._overheads[sample.place].count * (1 if sample.spans is None else sample.spans)
        due = sample.raw - overhead - inner
        if sample.count != due:
            raw = "end - begin" if sample.busy is None else "busy"
            self._fail(
                number,
                sample,
                f"count is {sample.count}, but {raw} - overhead{' - inner' if inner else ''} = {due}.",
            )
        if sample.count == 0 and sample.spans != 0:
            self._fail(number, sample, "counts nothing: the operation cannot have run.")

    def _inner(self, number: int, sample: Sample) -> int:
        """What measuring the regions inside a sample's region added to the sample."""
        places = self._measures[sample.measure]
        if sample.place == places[0]:
            return 0
        within = places[places.index(sample.place) - 1]
        nested = self._overheads[within].nested or 0
        if within not in self._counted:
            # An outer region is passed as often as its measure says, or once around everything inside.
            return nested * self._spans
        inside = self._found[sample.measure, within]
        if len(inside) <= sample.index:
            self._fail(number, sample, f"comes before the inner sample, at '{within}'.")
        return nested * (inside[sample.index].spans or 0)
