# SPDX-License-Identifier: BSD-2-Clause
"""Intervals of predictions: no figure by which a model was judged lies outside the interval that the tool gives for it.

What is read here of measured/validation/run.json shares nothing with the tool: only the interval is the tool's.
"""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from worldwise.base import paths
from worldwise.predict import rules
from worldwise.predict.bounds import Estimate, estimate
from worldwise.predict.errors import ErrorLines, load_errors, took
from worldwise.records.predicted import Events, LayerCycles, PredictedSample

ROWS: list[dict[str, Any]] = json.loads(Path(paths.MEASURED, "validation", "run.json").read_text(encoding="utf-8"))[
    "rows"
]
JUDGED = [row for row in ROWS if row["which"] == "validation"]
LINED = ("cortex-a53", "cortex-a72", "cortex-a76", "cortex-m4", "cortex-m7", "neoverse-n1")


def predicted_of(row: dict[str, Any]) -> Fraction:
    """The mean of the middle half of the calls after the first."""
    warm = sorted(row["cycles"][1:] or row["cycles"])
    cut = len(warm) // 4
    return Fraction(sum(warm[cut : len(warm) - cut]), len(warm) - 2 * cut)


def interval(core: str, cycles: int, errors: ErrorLines, waits: int | None = None, vector: float = 0.0) -> Estimate:
    """What the tool says of so many predicted cycles, all of a library's code: 100,000 instructions."""
    own = LayerCycles(
        layer="library",
        instructions=100_000,
        cycles=[cycles, 0, 0, 0, 0, 0],
        outside=0,
        outside_instructions=0,
        vector_instructions=round(1000 * vector),
        vector_cycles=0,
    )
    sample = PredictedSample(
        measure="sign",
        place="mcu" if waits is not None else "linux",
        phase="sample",
        index=1,
        instructions=100_000,
        layers=[own],
        events=Events(**dict.fromkeys(Events.model_fields, 0)),
    )
    kind = "" if waits is None else "waits" if waits else "no-waits"
    return estimate(sample, core, "warm", errors, kind=kind)


@pytest.mark.parametrize("core", LINED)
def test_no_judged_figure_is_outside_its_interval(core: str) -> None:
    """If this fails, a budget is called met that hardware was seen to exceed."""
    rows = [row for row in JUDGED if row["core"] == core]
    assert len(rows) >= rules.LEAST_FIGURES
    errors = load_errors()
    outside = []
    for row in rows:
        # The mean may be of half cycles, and the tool's are whole. What is short is outside as a whole, by rules.
        scale = 100
        cycles, hardware = scale * predicted_of(row), scale * Fraction(row["hardware"])
        assert cycles.denominator == 1
        found = interval(core, int(cycles), errors, row["waits"], row["vector"])
        assert found.line and found.inside == cycles
        if not found.whole.low <= hardware <= found.whole.high:
            outside.append((row["what"], float(cycles), float(hardware), found.whole))
    assert not outside


def test_the_cores_with_an_error_line_are_all_tested() -> None:
    """If this fails, a core has a line and no figure of it is compared."""
    assert {row["core"] for row in JUDGED if load_errors().line(row["core"], [])} == {*LINED}


def test_rules_bound_what_is_known_of_unvalidated_cores() -> None:
    """If this fails, a core that has no error line is bounded by less than it was seen to be off."""
    rows = [row for row in ROWS if row["core"] not in LINED]
    assert {row["core"] for row in rows} == {"cortex-m0", "cortex-m3", "cortex-m33"}
    for row in rows:
        cycles = predicted_of(row)
        found = interval(row["core"], int(100 * cycles), load_errors(), row["waits"])
        assert found.line is None
        assert found.whole.low <= 100 * Fraction(row["hardware"]) <= found.whole.high


def test_a_figure_of_the_m7_that_was_called_too_short() -> None:
    """If this fails, AES-256-CBC of wolfSSL is told to fit into 35,000 cycles; it takes 37,140."""
    (row,) = [row for row in JUDGED if row["core"] == "cortex-m7" and "AES-256-CBC" in row["what"]]
    assert row["hardware"] == pytest.approx(37_140, abs=1)
    found = interval("cortex-m7", int(predicted_of(row)), load_errors(), 0)
    assert found.whole.low <= row["hardware"] <= found.whole.high


def test_every_set_of_figures_is_inside_its_own_interval() -> None:
    """If this fails, some errors give an interval that leaves out a figure which made it."""
    chance = random.Random(34)
    for _ in range(500):
        # From a model that is right to one that is off by a factor of thousand, to one side or to both.
        apart, towards = chance.choice([0.01, 0.3, 1.0, 7.0]), chance.choice([-1, 0, 1])
        figures = []
        for _ in range(chance.randint(5, 40)):
            predicted = chance.randint(rules.LEAST_CYCLES, 10 ** chance.randint(4, 9))
            power = chance.uniform(-apart, apart)
            measured = max(1, round(predicted * 2 ** (abs(power) * towards if towards else power)))
            figures.append((predicted, measured))
        sizes = sorted(abs(100 * Fraction(predicted - measured) / measured) for predicted, measured in figures)
        least, most = took(figures)
        line = {"core": "x", "kind": "all", "figures": len(sizes), "least": least, "most": most}
        line |= {"median": float(sizes[len(sizes) // 2]), "p90": float(sizes[-1]), "worst": float(sizes[-1])}
        errors = ErrorLines.model_validate({"lines": [line]})
        for predicted, measured in figures:
            whole = interval("x", predicted, errors).whole
            assert whole.low <= min(predicted, measured) and max(predicted, measured) <= whole.high


def test_one_more_figure_may_be_outside() -> None:
    """If this fails, an interval of few figures is told as if it were of many."""
    numbers = {"core": "x", "kind": "all", "median": 1, "p90": 2, "worst": 3, "least": 0.97, "most": 1.04}
    few, many = (
        ErrorLines.model_validate({"lines": [numbers | {"figures": figures}]}).line("x", []) for figures in (15, 100)
    )
    assert few and many
    assert few.next_outside == 2 / 16
    assert "hardware took 0.97 to 1.04 times as much; so few that another one lies outside with a chance of 12 %" in (
        few.text()
    )
    assert many.text() == "± 1 % (100 held-out figures; 90 %: 2 %; worst 3 %; hardware took 0.97 to 1.04 times as much)"


@pytest.mark.parametrize(("least", "most"), [(0.9, 1.0), (1.0, 1.1), (1.2, 1.3), (0.5, 0.9)])
def test_an_interval_that_its_worst_figure_is_not_in_is_refused(least: float, most: float) -> None:
    """If this fails, a file may say an interval that its own errors contradict."""
    numbers = {"core": "x", "kind": "all", "figures": 9, "median": 1, "p90": 2, "worst": 25}
    with pytest.raises(ValueError, match=r"took|equal to"):
        ErrorLines.model_validate({"lines": [numbers | {"least": least, "most": most}]})
