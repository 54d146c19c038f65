# SPDX-License-Identifier: BSD-2-Clause
"""What cores take for the stretches in which the normal world could not take an interrupt."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from traces import CASE, LINUX, MARK, PROCESS, TraceBuilder, address_space, checked, place, samples_of
from worldwise.base.errors import WorldwiseError
from worldwise.explain.explanation import Explanation
from worldwise.explain.layers import load_rules
from worldwise.explain.masked_interrupts import Masked
from worldwise.explain.owners import Explainer
from worldwise.predict.attribution import Attribution
from worldwise.predict.errors import load_errors
from worldwise.predict.masked_stretches import timed
from worldwise.records.trace import read_trace
from worldwise.report.explaining import masked_interrupts as report

A72 = "cortex-a72"
CLOCK = Fraction(1_500_000_000)
# What the model said of Linux's block in its first stretch, 20 instructions in 30 cycles; and in the other one in 45.
FIRST = [9, 9, 0, 6, 3, 3, 0, 0]
OTHER = [9, 9, 0, 9, 9, 9, 4, 2]


def attribution_of(directory: Path, *stretches: tuple[int, Sequence[Sequence[int]]]) -> Attribution:
    """A client that enters Linux three times, and what a core took for stretches, by where they begin."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    entered = trace.frame(region, "exception", ids.linux, place(LINUX, "el0_svc"), MARK + 0x20)
    trace.run(1, region, ids.client, MARK + 8, 10, times=3)
    trace.run(1, entered, ids.linux, place(LINUX, "el0_svc"), 20, times=3)
    trace.cycles(1, A72, [region, 1, 12, 0, 0, 0, 0, 0, 0, 0], [entered, 2, 27, 27, 0, 24, 21, 21, 8, 4])
    for at, rows in stretches:
        trace.stretch(1, at, A72, *rows)
    began = place(LINUX, "el0_svc")
    rows = [[30, 40, entered, began, entered, began], [10, 20, entered, began, entered, began]]
    end = trace.close(1, region, 1000, masked=60, stretches=rows)
    trace.end()
    read = read_trace(trace.write(directory / "trace.jsonl"))
    samples = samples_of([(1000, end)])
    return Attribution(Explainer(CASE, checked(samples), read, address_space(), load_rules(), PROCESS))


def explained(of: Attribution, clock: Fraction = CLOCK) -> tuple[Explanation, Masked]:
    """The explanation of the one sample, and its stretches with times."""
    sample = of.explainer.sample("invoke", "client")
    found = timed(of, sample, [A72], clock, load_errors())
    assert found.masked
    return found, found.masked


def test_a_stretch_takes_what_its_own_instructions_took(tmp_path: Path) -> None:
    """If this fails, a stretch has a mean's time and not its own: the same block took less in the other one."""
    twice = [9 + 9, 9 + 9, 0, 6 + 9, 3 + 9, 3 + 9, 4, 2]
    of = attribution_of(tmp_path, (10, [[2, 2, 1, *FIRST]]), (30, [[2, 2, 2, *twice]]))
    _, masked = explained(of)
    assert [(one.instructions, one.times[0].cycles) for one in masked.stretches] == [(40, 75), (20, 30)]
    (time,) = masked.stretches[1].times
    assert time.microseconds == pytest.approx(30 / 1500)
    # Linux, and fewer than 2,000 cycles: all of it is bounded by rules.
    assert (time.low < 30, time.high > 2 * 30, time.outside) == (True, True, 30)
    assert "held-out figures" in time.error


def test_events_of_a_stretch_are_its_own(tmp_path: Path) -> None:
    """If this fails, a stretch is bounded by the exceptions of the whole call."""
    of = attribution_of(tmp_path, (10, [[2, 2, 1, *FIRST]]))
    sample = of.explainer.sample("invoke", "client")
    found = of.stretch(sample, A72, (1, 10))
    whole = of.record(sample, A72)
    assert found
    assert found.instructions == 20
    assert [one.layer for one in found.layers] == [one.layer for one in whole.layers if one.layer != "client"]
    for name in type(found.events).model_fields:
        assert 3 * getattr(found.events, name) == getattr(whole.events, name)


@pytest.mark.parametrize(
    ("at", "rows", "said"),
    [
        (10, [[2, 2, 2, *FIRST]], "for 40 instructions, and it has 20"),
        (11, [[2, 2, 1, *FIRST]], "which has none there"),
        (10, [[2, 7, 1, *FIRST]], "blocks that do not exist"),
        (10, [[9, 2, 1, *FIRST]], "frames or for blocks that do not exist"),
        (10, [[2, 2, 1]], "not a record of a trace"),
    ],
)
def test_cycles_of_other_instructions_are_refused(at: int, rows: list[list[int]], said: str, tmp_path: Path) -> None:
    """If this fails, a time stands beside a stretch whose instructions it is not of."""
    with pytest.raises(WorldwiseError, match=said):
        attribution_of(tmp_path, (at, rows))


def test_a_stretch_of_which_some_was_left_out_has_no_time(tmp_path: Path) -> None:
    """Sampling left out a part: nobody knows its cycles, and the other ones have theirs."""
    one, masked = explained(attribution_of(tmp_path, (10, [[2, 2, 1, *FIRST]])))
    assert [len(each.times) for each in masked.stretches] == [0, 1]
    _, times = report.sections(one, masked)
    text = " ".join(times.notes)
    assert "No time for the stretch of 40: sampling left out a part (`--whole` has all of it)." in text
    assert "On cortex-a72 the longest of them in time is that of 20 instructions." in text
    assert "predicted" not in report.line(one, masked)


def test_what_has_no_row_and_no_time_says_why(tmp_path: Path) -> None:
    """If this fails, a reader takes the longest stretches for all of them, or looks for times that nobody can have."""
    one, masked = explained(attribution_of(tmp_path, (10, [[2, 2, 1, *FIRST]])))
    assert "longest stretches have" not in " ".join(report.section(one, masked).notes)
    more = replace(masked, instructions=75)
    assert "The 2 longest stretches have 60 of these instructions; of shorter ones a trace keeps the sum alone" in (
        " ".join(report.section(one, more).notes)
    )
    early = [replace(each, origin=(1, 0)) if not each.times else each for each in masked.stretches]
    _, times = report.sections(one, replace(masked, stretches=early))
    assert "No time for the stretch of 40: it began before the region did" in " ".join(times.notes)


def test_times_stand_beside_the_instructions(tmp_path: Path) -> None:
    """If this fails, a reader takes a time for a bound, or does not find it where the instructions are."""
    twice = [18, 18, 0, 15, 12, 12, 4, 2]
    one, masked = explained(attribution_of(tmp_path, (10, [[2, 2, 1, *OTHER]]), (30, [[2, 2, 2, *twice]])))
    assert "; predicted 50 ns on a cortex-a72 at 1.5 GHz, between " in report.line(one, masked)
    plain, times = report.sections(one, masked)
    assert plain == report.section(one, masked)
    assert times.table
    assert [row[:4] for row in times.table.rows] == [["40", "30", A72, "75"], ["20", "10", A72, "45"]]
    assert "never a WCET" in " ".join(times.notes)
    assert "the longest of them in time" not in " ".join(times.notes)
    (first, _) = report.to_json(masked)["stretches"]
    (predicted,) = first["predicted"]
    assert (predicted["core"], predicted["predicted_cycles"], predicted["clock_hz"]) == (A72, 75, 1.5e9)
    assert predicted["low_us"] < predicted["predicted_us"] < predicted["high_us"]


def test_nothing_is_new_without_a_core(tmp_path: Path) -> None:
    """If this fails, what was printed before has changed."""
    one, masked = explained(attribution_of(tmp_path))
    without = replace(masked, stretches=[replace(each, times=()) for each in masked.stretches])
    assert masked == without
    assert len(report.sections(one, masked)) == 1
    assert all("predicted" not in each for each in report.to_json(masked)["stretches"])
