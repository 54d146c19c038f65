# SPDX-License-Identifier: BSD-2-Clause
"""Intervals of predictions: of the figures by which a model was judged no more are outside than the tool says.

What is read here of measured/validation/run.json and published/hardware/blind.toml shares nothing with the tool: only
the interval is the tool's.
"""

import json
import random
import tomllib
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from worldwise.base import paths
from worldwise.predict import rules
from worldwise.predict.bounds import Estimate, estimate
from worldwise.predict.domains import By, Code, Domain
from worldwise.predict.errors import ErrorLines, content, load_errors, rank, took
from worldwise.records.model_predictions import Events, LayerCycles, PredictedSample

ROWS: list[dict[str, Any]] = json.loads(Path(paths.MEASURED, "validation", "run.json").read_text(encoding="utf-8"))[
    "rows"
]
# Those of the blind test too: core, code, who wrote it, wait states, role, and the figures.
BLIND: list[dict[str, Any]] = [
    {**some, **dict(zip(some.get("columns", ()), row, strict=True))}
    for some in tomllib.loads(Path(paths.PUBLISHED, "hardware", "blind.toml").read_text(encoding="utf-8"))["set"]
    for row in some.get("rows", [()])
]
# Cores whose lines have what a later engine predicted of the blind test's figures.
AGAIN = {
    line["core"]
    for line in json.loads(Path(paths.MEASURED, "validation", "errors.json").read_text(encoding="utf-8"))["lines"]
    if line.get("again")
}
# Cores with a line of some domain; the others are unvalidated.
LINED = (
    *("cortex-a53", "cortex-a55", "cortex-a72", "cortex-a76", "cortex-a78", "cortex-x1", "neoverse-n1", "neoverse-v1"),
    *("cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m33", "cortex-m4", "cortex-m7"),
)
# Of a model that is no more; they were looked at when today's was made, so that they are in no line.
LOOKED_AT = (("cortex-m4", "curve9767"), ("cortex-m7", "cortexm-aes"), ("cortex-a55", "pqax-keccak"))


def predicted_of(row: dict[str, Any]) -> Fraction:
    """The mean of the middle half of the calls after the first."""
    warm = sorted(row["cycles"][1:] or row["cycles"])
    cut = len(warm) // 4
    return Fraction(sum(warm[cut : len(warm) - cut]), len(warm) - 2 * cut)


def interval(core: str, cycles: int, errors: ErrorLines, domain: Domain) -> Estimate:
    """What the tool says of so many predicted cycles, all of a library's code: 100,000 instructions."""
    own = LayerCycles(
        layer="library",
        instructions=100_000,
        cycles=[cycles, 0, 0, 0, 0, 0],
        outside=0,
        outside_instructions=0,
        vector_instructions=0,
        vector_cycles=0,
    )
    sample = PredictedSample(
        measure="sign",
        place="linux" if domain.waits is None else "mcu",
        phase="sample",
        index=1,
        instructions=100_000,
        layers=[own],
        events=Events(**dict.fromkeys(Events.model_fields, 0)),
    )
    return estimate(sample, core, "warm", errors, domain=domain)


def domain_of(row: dict[str, Any]) -> Domain:
    """What a row's code is."""
    by: By = "assembly" if row["implementation"].startswith(("assembly", "arm64-")) else "compiled"
    code: Code = "neon" if row["vector"] >= 5 else "integer"
    return Domain(code, None if row["waits"] is None else row["waits"] > 0, by)


def judged(core: str) -> list[tuple[Domain, Fraction, Fraction]]:
    """Every figure that judges a core: its domain, predicted and measured cycles, all times a hundred."""
    rows = [row for row in ROWS if row["which"] == "validation" and row["core"] == core]
    found = [(domain_of(row), 100 * predicted_of(row), 100 * Fraction(row["hardware"])) for row in rows]
    for some in (one for one in BLIND if one["core"] == core and (core, one["source"]) not in LOOKED_AT):
        domain = Domain(some["code"], some["waits"] > 0 if "waits" in some else None, some["by"])
        which = 3 if core in AGAIN else 2
        # A later test's may be of today's engine as they are.
        pairs = [(Fraction(one[min(which, len(one) - 1)]), Fraction(one[1])) for one in some["figures"] if len(one) > 2]
        found += [(domain, 100 * predicted, 100 * measured) for predicted, measured in pairs]
    return found


@pytest.mark.parametrize("core", LINED)
def test_no_more_judged_figures_are_outside_than_is_said(core: str) -> None:
    """If this fails, a budget is called met that hardware was seen to exceed more often than the interval says."""
    errors = load_errors()
    inside: defaultdict[str, list[bool]] = defaultdict(list)
    said: dict[str, tuple[float, float]] = {}
    for domain, cycles, hardware in judged(core):
        # Half cycles are rounded; what is short is outside as a whole, by rules.
        scale = 1 if cycles >= rules.LEAST_CYCLES else 100
        found = interval(core, round(scale * cycles), errors, domain)
        if not found.line:
            continue
        assert found.inside == round(scale * cycles)
        line = found.line
        said[line.kind] = (line.expected, line.sure)
        inside[line.kind].append(found.whole.low <= scale * hardware <= found.whole.high)
        # Nothing is further off than the line's worst.
        assert abs(100 * (cycles - hardware) / hardware) <= line.worst + 0.01
    assert inside
    for kind, some in inside.items():
        outside = 1 - sum(some) / len(some)
        assert outside <= 1 - said[kind][0], (kind, outside)
        assert outside <= 2 * rules.TAIL
        assert said[kind][1] < said[kind][0]


def test_the_cores_with_an_error_line_are_all_tested() -> None:
    """If this fails, a core has a line and no figure of it is compared."""
    errors = load_errors()
    cores = {line.core for line in errors.lines if any(errors.line(line.core, one) for one, *_ in judged(line.core))}
    assert cores == {*LINED}


def test_rules_bound_what_is_known_of_unvalidated_code() -> None:
    """If this fails, code that has no error line is bounded by less than it was seen to be off."""
    known = {(core, *one) for core in {row["core"] for row in BLIND} for one in judged(core)}
    fitted = [row for row in ROWS if row["core"] in ("cortex-m0", "cortex-m3")]
    known |= {(row["core"], domain_of(row), predicted_of(row), Fraction(row["hardware"])) for row in fitted}
    seen = set()
    for core, domain, cycles, hardware in known:
        found = interval(core, round(100 * cycles), load_errors(), domain)
        if found.line is None:
            seen.add((core, domain.code))
            assert found.whole.low <= 100 * hardware <= found.whole.high
    # Code in flash that waits on the M3, and floating point.
    assert seen == {("cortex-a72", "float"), ("cortex-m3", "integer")}


def test_a_figure_of_the_m7_that_was_called_too_short() -> None:
    """If this fails, AES-256-CBC of wolfSSL is told to fit into 35,000 cycles; it takes 37,140."""
    (row,) = [row for row in ROWS if row["core"] == "cortex-m7" and "AES-256-CBC" in row["what"]]
    assert row["hardware"] == pytest.approx(37_140, abs=1)
    found = interval("cortex-m7", int(predicted_of(row)), load_errors(), Domain("integer", False, "assembly"))
    assert found.whole.low <= row["hardware"] <= found.whole.high


def test_of_every_set_of_figures_no_more_are_outside_than_is_said() -> None:
    """If this fails, some errors give an interval that leaves out more of the figures that made it than it says."""
    chance = random.Random(34)
    for _ in range(200):
        # From a model that is right to one that is off by a factor of thousand, to one side or to both.
        apart, towards = chance.choice([0.01, 0.3, 1.0, 7.0]), chance.choice([-1, 0, 1])
        figures = []
        for _ in range(chance.choice([5, 15, 38, 79, 150])):
            predicted = chance.randint(rules.LEAST_CYCLES, 10 ** chance.randint(4, 9))
            power = chance.uniform(-apart, apart)
            measured = max(1, round(predicted * 2 ** (abs(power) * towards if towards else power)))
            figures.append((predicted, measured))
        sizes = sorted(abs(100 * Fraction(predicted - measured) / measured) for predicted, measured in figures)
        least, most = took(figures, rank(len(figures)))
        lowest, highest = took(figures)
        line = {"core": "x", "kind": "integer", "figures": len(sizes), "least": least, "most": most}
        line |= {"median": float(sizes[len(sizes) // 2]), "p90": float(sizes[-1]), "worst": float(sizes[-1])}
        errors = ErrorLines.model_validate({"lines": [line | {"lowest": lowest, "highest": highest}]})
        outside = 0
        for predicted, measured in figures:
            found = interval("x", predicted, errors, Domain("integer"))
            assert found.whole.low <= predicted <= found.whole.high
            outside += not found.whole.low <= measured <= found.whole.high
        assert outside <= 2 * (rank(len(figures)) - 1) <= 2 * rules.TAIL * len(figures)
        assert found.line and outside <= (1 - found.line.expected) * len(figures)


def test_a_single_figure_far_off_makes_no_interval_of_many() -> None:
    """If this fails, one figure of 168 % makes each prediction of a core one between 0.4 and 1.2 times."""
    figures = [(100.0, 99.0 + number % 3) for number in range(99)]
    far = [*figures, (268.0, 100.0)]
    assert took(far) == (0.3731, 1.01)
    assert took(far, rank(len(far))) == (0.99, 1.01)
    # Of few nobody knows whether it is one of many.
    assert took(far[-20:], rank(20))[0] == 0.3731


def test_what_is_inside_at_least_is_by_order_statistics() -> None:
    """If this fails, an interval promises a part of further figures that it does not hold."""
    # Wilks 1941: 93 figures are the fewest of which least and greatest hold 95 % with a confidence of 95 %.
    assert content(93, 2) >= 0.95 > content(92, 2)
    # And 59 of which the one does, to one side.
    assert content(59, 1) >= 0.95 > content(58, 1)
    chance = random.Random(40)
    held = 0
    for _ in range(2_000):
        drawn = sorted(chance.random() for _ in range(112))
        held += drawn[-rank(112)] - drawn[rank(112) - 1] >= content(112, 2 * rank(112))
    assert 0.93 < held / 2_000 < 0.97


def test_one_more_figure_may_be_outside() -> None:
    """If this fails, an interval of few figures is told as if it were of many."""
    numbers = {"core": "x", "kind": "integer", "median": 1, "p90": 2, "worst": 3, "least": 0.97, "most": 1.04}
    numbers |= {"lowest": 0.97, "highest": 1.04}
    few, many = (
        ErrorLines.model_validate({"lines": [numbers | {"figures": figures}]}).exact("x", "integer")
        for figures in (15, 100)
    )
    assert few and many
    assert few.expected == 1 - 2 / 16
    assert few.text() == (
        "± 1 % (15 held-out figures; 90 %: 2 %; worst 3 %; hardware took 0.970 to 1.040 times as much in 88 % of such "
        "figures (in at least 72 %, with a confidence of 95 %))"
    )
    assert "times as much in 96 % of such figures (in at least 92 %, with a confidence of 95 %))" in many.text()


def test_a_bias_is_told_where_it_is_one_sided() -> None:
    """If this fails, a model that is too fast each time is told as one that is off to both sides."""
    numbers = {"core": "x", "kind": "integer", "figures": 10, "median": 2, "p90": 3, "worst": 3}
    numbers |= {"least": 0.97, "most": 1.04, "lowest": 0.97, "highest": 1.04}

    def said(low: int, bias: float) -> str:
        line = ErrorLines.model_validate({"lines": [numbers | {"low": low, "bias": bias}]}).exact("x", "integer")
        assert line
        return line.bias_text

    assert said(8, -1.9) == "predicted too low in 8 of 10, by 1.9 % in the mean"
    assert said(1, 1.25) == "predicted too high in 9 of 10, by 1.2 % in the mean"
    assert said(7, -1.9) == said(10, -0.4) == ""


@pytest.mark.parametrize(("least", "most"), [(0.9, 1.0), (1.0, 1.1), (1.2, 1.3), (0.5, 0.9)])
def test_an_interval_that_its_worst_figure_is_not_in_is_refused(least: float, most: float) -> None:
    """If this fails, a file may say an interval that its own errors contradict."""
    numbers = {"core": "x", "kind": "all", "figures": 9, "median": 1, "p90": 2, "worst": 25}
    with pytest.raises(ValueError, match=r"took|equal to"):
        ErrorLines.model_validate({"lines": [numbers | {"least": 1, "most": 1, "lowest": least, "highest": most}]})
