# SPDX-License-Identifier: BSD-2-Clause
"""Predictions as data: for JSON, and for the columns of CSV."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from worldwise.base.output.safe_text import csv_text
from worldwise.plan.budget import Budget
from worldwise.predict.bounds import STATES, Estimate
from worldwise.predict.sampling import SamplingError
from worldwise.predict.verdict import (
    NOT_JUDGED,
    judged,
    overall,
    seconds,
)
from worldwise.read.models import Reading, Row
from worldwise.records.model_predictions import CAUSES

if TYPE_CHECKING:
    # It loads what reads the machine's symbols, which a report needs not.
    from worldwise.predict.attribution import Attributed
from worldwise.report.predictions import PredictionLine, budget_of, lines_of, said, verdict_note


def columns(reading: Reading) -> Mapping[str, Callable[[Row], object]]:
    """The CSV's columns of predictions: header -> value of a row; empty if the run has no such rows."""
    found: dict[tuple[str, str, str, str, str], Estimate] = {}
    for line in lines_of(reading):
        one = line.estimate
        found[line.case.id, one.sample.measure, one.sample.place, one.core, one.state] = one
    made: dict[str, Callable[[Row], object]] = {}
    for core in dict.fromkeys(key[3] for key in found):
        for state in STATES:
            for name, value in _FIELDS.items():
                made[f"predicted_{core}_{state}_{name}"] = _column(found, core, state, value)
    return made


_FIELDS: Mapping[str, Callable[[Estimate], object]] = {
    "cycles": lambda one: one.cycles,
    "cycles_low": lambda one: one.whole.low,
    "cycles_high": lambda one: one.whole.high,
    "cycles_outside": lambda one: one.cycles - one.inside,
    "error": lambda one: one.error,
    "sampling_error_percent": lambda one: one.sampling.percent if one.sampling else None,
}


def _column(
    found: Mapping[tuple[str, str, str, str, str], Estimate],
    core: str,
    state: str,
    value: Callable[[Estimate], object],
) -> Callable[[Row], object]:
    def cell(row: Row) -> object:
        one = found.get((row.case, row.measure, row.place, core, state))
        return value(one) if one else None

    return cell


def to_json(line: PredictionLine, budget: Budget | None = None) -> dict[str, Any]:
    """An estimate as data; times are in microseconds at its clock."""
    one = line.estimate
    found = judged([one], budget) if budget else []
    return {
        "case": line.case.id,
        "measure": one.sample.measure,
        "place": one.sample.place,
        "core": one.core,
        "state": one.state,
        "samples": one.samples,
        "count": line.instructions,
        "instructions": one.instructions,
        "predicted_cycles": one.cycles,
        "low": one.whole.low,
        "high": one.whole.high,
        "clock_hz": float(line.hertz),
        "flash": line.flash or None,
        "predicted_us": line.microseconds,
        "low_us": 1e6 * seconds(one.whole.low, line.hertz),
        "high_us": 1e6 * seconds(one.whole.high, line.hertz),
        **({"draws": line.draws} if line.others else {}),
        "instructions_per_cycle": one.per_cycle,
        "causes": one.causes,
        "error": one.line.model_dump(exclude={"core"}) if one.line else None,
        "sampling": _sampling_json(one.sampling),
        "inside": one.inside,
        "outside": {"cycles": one.cycles - one.inside, "low": one.outside.low, "high": one.outside.high},
        "outside_reasons": dict(one.reasons),
        "layers": [
            {
                "layer": layer.layer,
                "instructions": layer.instructions,
                "cycles": _by_cause(layer.cycles),
            }
            for layer in one.sample.layers
        ],
        "events": one.sample.events.model_dump(),
        "verdict": found[0].verdict if found else NOT_JUDGED if budget else None,
        "decides": bool(found and found[0].decides) if budget else None,
        "verdict_text": found[0].text() if found else said({}, line) if budget else None,
    }


def budget_json(lines: Sequence[PredictionLine], budget: Budget) -> dict[str, Any]:
    """A budget and the verdict of some lines as data; the verdict is empty if nothing decides."""
    return {
        "limit": budget.limit_text,
        "clock": budget.clock_text,
        "measures": list(budget.measures),
        "place": budget.place,
        "verdict": overall(judged((line.estimate for line in lines), budget)),
        "text": verdict_note(lines, budget),
    }


def _sampling_json(sampling: SamplingError | None) -> dict[str, Any] | None:
    if sampling is None:
        return None
    return {"one_in": sampling.one_in, "margin": sampling.margin, "percent": sampling.percent}


def functions_json(attributed: "Attributed") -> list[dict[str, Any]]:
    """The functions of a sample as data, the most expensive first."""
    ranked = sorted(attributed.functions.items(), key=lambda item: (-item[1].total, str(item[0])))
    return [
        {
            "function": frame.function,
            "image": frame.image,
            "layer": frame.layer,
            "instructions": spent.instructions,
            "cycles": _by_cause(spent.cycles),
        }
        for frame, spent in ranked
    ]


def _by_cause(cycles: Sequence[int]) -> dict[str, int]:
    return dict(zip(CAUSES, cycles, strict=True))


def to_csv(lines: Sequence[PredictionLine], budget: Budget | None) -> str:
    """A line for each estimate, units in the headers."""
    names = ["case", "measure", "place", "core", "state", "count", "predicted_cycles", "low", "high", "clock_hz"]
    names += ["predicted_us", "low_us", "high_us", "instructions_per_cycle", "inside", "verdict", "decides"]
    found = [(to_json(line, budget), line.estimate) for line in lines]
    rows = [
        [*(data[name] for name in names), *one.causes.values(), one.error, _FIELDS["sampling_error_percent"](one)]
        for data, one in found
    ]
    return csv_text([[*names, *(f"{cause}_cycles" for cause in CAUSES), "error", "sampling_error_percent"], *rows])


def reading_json(reading: Reading) -> list[dict[str, Any]]:
    """A run's predictions as data."""
    budget = budget_of(reading)
    return [to_json(line, budget) for line in lines_of(reading)]
