# SPDX-License-Identifier: BSD-2-Clause
"""Who is compared with whom: only what does the same, nobody by the alphabet, no percentile of a few calls."""

from typing import Any

import pytest

from board_reading import board_reading, board_row
from worldwise.plan.budget import parse_budget
from worldwise.read.contests import LEAST_CALLS, alike, flash_of, from_size, fullest, matches, percentile
from worldwise.read.models import PublishedFigure, Reading, Row
from worldwise.read.run_counts import read_run
from worldwise.report.contests import Trait, columns, names, side_by_side
from worldwise.report.sections.verdicts import budget_verdict
from worldwise.report.surprises import published_surprises, spread_surprises
from worldwise.run.folder.rundir import Run


def rival(library: str = "bearssl", median: float = 1000.0, **changed: Any) -> Row:
    return board_row(library=library, median=median).model_copy(update=changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"target": "nucleo-f103rb", "board": "nucleo-f103rb"},
        {"core": "Cortex-A53 of a host"},
        {"operation": "verify"},
        {"measure": "other"},
        {"place": "client"},
        {"parameters": "curve=ed25519,size=32B"},
        {"parameters": "curve=secp256r1,size=16B"},
        {"unit": "cycles"},
    ],
    ids=str,
)
def test_only_what_does_the_same_is_compared(changed: dict[str, Any]) -> None:
    """If this fails, a signature of another size, curve, board, place or unit wins a contest."""
    found = matches([rival(), rival("p256-m", 10.0, **changed)])
    assert [len(match.rows) for match in found] == [1, 1]


def test_a_family_frees_what_its_competitors_choose_and_holds_apart_the_rest() -> None:
    rows = [rival(parameters=f"size=32B,memory={kind}", median=cost) for kind, cost in (("a", 5.0), ("b", 7.0))]
    assert len(matches(rows)) == 2
    (match,) = matches(rows, alike("memory"))
    assert match.times == 7 / 5
    levels = [rival(), rival(optimisation="Os", variant="bearssl-Os")]
    assert len(matches(levels)) == 1
    assert len(matches(levels, apart=lambda one: one.optimisation)) == 2


def test_equals_win_together() -> None:
    """If this fails, the alphabet or the order of a suite decides."""
    (match,) = matches([rival("wolfssl", 5.0), rival("bearssl", 5.0), rival("p256-m", 9.0)])
    assert names(match.least()) == "wolfssl-O2 +1 equal"
    assert names(match.most()) == "p256-m-O2"
    assert match.differs
    (level,) = matches([rival("wolfssl", 5.0), rival("bearssl", 5.0)])
    assert not level.differs
    (alone,) = matches([rival()])
    assert alone.times is None


def test_a_row_without_flash_is_not_the_smallest() -> None:
    rows = [rival("bearssl"), rival("p256-m", parts=())]
    (match,) = matches(rows)
    assert [one.implementation for one in match.least(flash_of)] == ["bearssl"]


def test_the_size_is_the_one_that_most_have() -> None:
    """If this fails, a library of which one size was measured alone is the fastest of one: 67 times off once."""
    few = [board_row(library="wolfssl-small", size=1024, median=33_399_606)]
    many = [board_row(library=name, size=32, median=496_885) for name in ("wolfssl", "wolfssl-small")]
    (match,) = fullest(matches([*few, *many]), lambda one: one.operation, from_size(32))
    assert match.first.size == 32
    one_each = [board_row(size=1024), board_row(size=16)]
    (match,) = fullest(matches(one_each), lambda one: one.operation, from_size(32))
    assert match.first.size == 16


def test_a_percentile_has_a_hundred_calls() -> None:
    values = list(range(1, LEAST_CALLS + 1))
    assert percentile(values, 99) == 99
    assert percentile(values[1:], 99) is None


def test_what_differs_is_a_column_and_what_does_not_stands_in_the_title() -> None:
    rows = [board_row("nucleo-f446re"), board_row("nucleo-f103rb")]
    traits = (Trait("board", lambda one: one.board), Trait("variant", lambda one: one.variant))
    shown, shared = columns(rows, traits)
    assert [trait.header for trait in shown] == ["board"]
    assert shared == "micro-ecc-O2"


def test_two_rows_in_one_cell_are_refused() -> None:
    """If this fails, the last of two variants stands in a table under the name of both."""
    with pytest.raises(ValueError, match="are one cell of"):
        side_by_side([rival("bearssl"), rival("p256-m")], lambda one: one.operation, lambda _: "one", ["one"])


def test_instructions_are_not_divided_by_cycles_in_a_sentence() -> None:
    """If this fails, a board's published time is called instructions."""
    figure = PublishedFigure(
        source="riot-ecc-mcu",
        value=1.0,
        unit="us",
        instructions=180.0,
        statistic="mean",
        conditions="",
        note="",
        ratio=0.2,
    )
    assert published_surprises([rival(published=(figure,))]) == ()
    (text,) = published_surprises([rival(published=(figure,), board="", target="optee")])
    assert "takes 0.20 times the instructions of riot-ecc-mcu" in text


def test_a_range_is_a_range_and_its_board_is_named() -> None:
    (text,) = spread_surprises([rival(min=30_499, max=55_607, median=30_510.0)])
    assert "on nucleo-f446re took 30,499 to 55,607 instructions, a range of 82 % of the median" in text


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        ("5ms@2GHz", "P-256 sign 48B fits with 2 of 6 variants, best mbedtls-nist-O2 (2.330 ms)"),
        ("5s@2GHz", "P-256 sign 48B fits with all 6 variants, best mbedtls-nist-O2 (2.330 ms)"),
        ("1us@2GHz", "P-256 sign 48B fits with none of 6 variants, the fastest is 2.330 ms (mbedtls-nist-O2)"),
    ],
)
def test_a_verdict_names_the_best_that_fits_and_what_nobody_judged(whole_run: Run, budget: str, says: str) -> None:
    """If this fails, 'it fits' hides a verification that takes twice the budget."""
    verdict = budget_verdict(read_run(whole_run, parse_budget(budget)))
    assert verdict.startswith(says)
    assert "Not judged, " in verdict
    assert ("would not fit: P-256 keygen" in verdict) == (budget == "1us@2GHz")


def test_a_run_without_a_budget_has_no_verdict() -> None:
    reading: Reading = board_reading()
    assert budget_verdict(reading.model_copy(update={"budget": None})) == ""
