# SPDX-License-Identifier: BSD-2-Clause
"""Rows of a comparison: one measure of one case at one place in both, with the verdict on it."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from statistics import median

from worldwise.plan.catalogue import is_board
from worldwise.read.compared.comparison import ComparedCall, ComparedRow, Figures, Judge, Verdict
from worldwise.records.models import Sample
from worldwise.run.folder.manifests import CaseManifest


def match_series(
    a: Mapping[tuple[str, str], object], b: Mapping[tuple[str, str], object]
) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Pairs the series of A and B: by name, or as the only place of a measure on both sides."""
    found = [(key, key) for key in a if key in b]
    for key in a:
        if key not in b:
            places_a = [other for other in a if other[0] == key[0]]
            places_b = [other for other in b if other[0] == key[0]]
            if len(places_a) == len(places_b) == 1:
                found.append((key, places_b[0]))
    return found


def row_of(
    a: CaseManifest,
    b: CaseManifest,
    where: tuple[str, str, str],
    series_a: Sequence[Sample],
    series_b: Sequence[Sample],
    same_inputs: bool,
    identical: bool,
) -> ComparedRow:
    figures_a, figures_b = figures_of(a, series_a), figures_of(b, series_b)
    difference = figures_b.median - figures_a.median
    pairs = zip(series_a, series_b, strict=True) if same_inputs else ()
    calls = [ComparedCall(index=one.index, a=one.count, b=two.count) for one, two in pairs]
    case = a.case()
    measure, place_a, place_b = where
    return ComparedRow(
        case=a.id,
        case_b=b.id,
        target=a.target,
        variant=case.variant,
        operation=a.operation,
        parameters=case.parameter_text,
        measure=measure,
        place=place_a,
        place_b=place_b,
        a=figures_a,
        b=figures_b,
        difference=difference,
        ratio=figures_b.median / figures_a.median if figures_a.median else None,
        same_inputs=same_inputs,
        calls_differ=sum(call.a != call.b for call in calls) if same_inputs else None,
        worst=max(calls, key=_growth) if same_inputs else None,
        identical=identical,
        verdict=_verdict(difference, [call.b - call.a for call in calls]),
    )


def figures_of(manifest: CaseManifest, series: Sequence[Sample]) -> Figures:
    """The figures of a series: the first call, and those after the warm-up."""
    counts = [sample.count for sample in series if sample.phase == "sample"]
    return Figures(
        n=len(counts),
        warmup=manifest.warmup,
        first=series[0].count,
        median=float(median(counts)),
        min=min(counts),
        max=max(counts),
    )


def _verdict(difference: float, apart: Iterable[int]) -> Verdict:
    more, less = (any(sign * each > 0 for each in apart) for sign in (1, -1))
    if more and not less:
        return "slower"
    if less and not more:
        return "faster"
    if difference:
        return "slower" if difference > 0 else "faster"
    return "mixed" if more else "same"


def judge_row(row: ComparedRow, limit: Fraction, judge: Judge) -> ComparedRow:
    """The row with the gate's verdict.

    Where the library alone decides a call's count, the gate looks at every call. Where a timer may interrupt, the
    interrupt falls into one call or another, so the gate looks at the median.
    """
    calls = row.same_inputs and (judge == "calls" or (judge == "auto" and is_board(row.target)))
    return row.model_copy(update={"judged": "calls" if calls else "median", "exceeds": _exceeds(row, limit, calls)})


def _exceeds(row: ComparedRow, limit: Fraction, calls: bool) -> bool:
    median_over = Fraction(row.difference) > limit * Fraction(row.a.median)
    call = row.worst
    # The worst call is the one that has grown the most.
    return median_over or (calls and call is not None and call.b - call.a > limit * call.a)


def _growth(call: ComparedCall) -> Fraction:
    """How much greater B's count is, as a fraction of A's; a count of 0 in A is taken as one instruction."""
    return Fraction(call.b - call.a, call.a or 1)
