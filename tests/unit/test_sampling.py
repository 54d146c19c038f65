# SPDX-License-Identifier: BSD-2-Clause
"""Sampling: the engine against whole runs of a made-up program, and the estimate with its error by hand."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pytest

import model_programs
from model_programs import PROFILE_A
from worldwise.libraries.boards import table_of
from worldwise.predict.sampling import estimate_rows, sampling_error, variance
from worldwise.records.trace_cycles import CyclesRow, Stratum, UnitSums

# As plugin/model/sampling.h has it.
WHOLE = 10_000_000


@dataclass(frozen=True)
class Ran:
    """What the driver says."""

    causes: list[int]
    outside: int
    outside_instructions: int
    executed: int
    skipped: int
    units: UnitSums

    @property
    def cycles(self) -> int:
        """Without what was skipped."""
        return sum(self.causes)


Run = Callable[[str, str, int], Ran]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Run:
    """Executes the made-up program on a core: mode and instructions."""
    directory = tmp_path_factory.mktemp("sampling")
    program = model_programs.build("model_sampling", directory, request)

    def call(core: str, mode: str, instructions: int) -> Ran:
        (directory / core).write_text(table_of(core), encoding="ascii")
        done = subprocess.run(
            [program, directory / core, mode, str(instructions)], capture_output=True, text=True, check=True
        )
        numbers = [int(number) for number in done.stdout.split()]
        outside, outside_instructions, executed, skipped = numbers[6:10]
        units = UnitSums(**dict(zip(UnitSums.model_fields, numbers[10:], strict=True)))
        return Ran(numbers[:6], outside, outside_instructions, executed, skipped, units)

    return call


@pytest.mark.parametrize("core", PROFILE_A)
def test_caches_and_predictors_are_as_a_whole_run_leaves_them(core: str, run: Run) -> None:
    """If this fails, a unit finds other caches than it would behind a whole run, and nobody sees it in the error."""
    # Behind the half of these the program goes through all of its code again.
    whole, warmed = run(core, "run", 4_000_000), run(core, "warm", 4_000_000)
    assert warmed.causes == whole.causes
    assert warmed.skipped > 0
    assert whole.causes[3] > 0
    assert whole.causes[4] > 0


def test_a_short_stream_is_not_sampled(run: Run) -> None:
    """If this fails, a short call has other cycles than without sampling, or a long one is never sampled."""
    assert run("cortex-a53", "sampled", WHOLE) == run("cortex-a53", "whole", WHOLE)
    assert run("cortex-a53", "sampled", WHOLE + 20_000).skipped > 0


@pytest.mark.parametrize("core", ["cortex-a53", "cortex-a72"])
def test_a_long_stream_is_estimated(core: str, run: Run) -> None:
    """If this fails, units are not like the rest, or the error that is stated is too small."""
    whole, sampled = run(core, "whole", 2 * WHOLE), run(core, "sampled", 2 * WHOLE)
    assert run(core, "sampled", 2 * WHOLE) == sampled
    assert sampled.executed == whole.executed
    assert sampled.outside_instructions == whole.outside_instructions
    # One in twenty of what is behind the begin.
    assert abs(sampled.units.instructions / (sampled.executed - WHOLE) - 1 / 20) < 1 / 400
    estimated = round(Fraction(sampled.skipped * sampled.units.cycles, sampled.units.instructions))
    stratum = Stratum(**sampled.units.model_dump(), skipped=sampled.skipped, estimated=estimated)
    error = sampling_error([stratum], sampled.cycles + estimated)
    assert error
    assert error.one_in == 20
    assert 0 < error.percent < 5
    assert abs(sampled.cycles + estimated - whole.cycles) <= error.margin


# --- the estimate ---


def sums(*units: tuple[int, int]) -> UnitSums:
    """Of units of so many cycles and instructions."""
    return UnitSums(
        units=len(units),
        cycles=sum(cycles for cycles, _ in units),
        instructions=sum(instructions for _, instructions in units),
        cycles_squared=sum(cycles**2 for cycles, _ in units),
        cycles_by_instructions=sum(cycles * instructions for cycles, instructions in units),
        instructions_squared=sum(instructions**2 for _, instructions in units),
    )


def stratum(units: UnitSums, skipped: int, estimated: int) -> Stratum:
    """Of these units."""
    return Stratum(**units.model_dump(), skipped=skipped, estimated=estimated)


FOUR = sums((10, 10), (20, 10), (30, 10), (20, 10))


def test_the_error_is_that_of_a_ratio() -> None:
    """If this fails, the error is not what the formula gives: 40 units, 4 of them taken, whose deviations from two
    cycles for an instruction are -10, 0, 10 and 0."""
    found = stratum(FOUR, 360, 720)
    assert variance(found) == 40**2 * (1 - Fraction(4, 40)) / 4 * Fraction(200, 3)
    error = sampling_error([found], 1000)
    assert error
    # 1.96 times the root of 24,000.
    assert (error.one_in, error.margin) == (10, 304)
    assert error.text() == "sampled: 1 in 10, ± 30 % (95 %)"
    twice = sampling_error([found, found], 2000)
    assert twice
    assert twice.margin == 430
    assert sampling_error([], 1000) is None


def test_units_of_one_speed_have_no_error() -> None:
    """If this fails, units of different lengths are taken for units of different speed."""
    assert variance(stratum(sums((10, 5), (30, 15), (20, 10)), 1000, 2000)) == 0


def test_one_unit_says_nothing_of_the_error() -> None:
    """If this fails, what nobody knows the error of has none."""
    assert variance(stratum(sums((10, 5)), 100, 200)) == 200**2


COUNTS = [(1, 1, 100), (1, 2, 50), (2, 3, 7)]
SIZES = {1: 4, 2: 8, 3: 3}


def test_the_estimate_is_given_to_what_was_skipped() -> None:
    """If this fails, cycles are made or lost, or a slow block has those of a quick one."""
    rows = [
        CyclesRow(1, 1, 40, 0, 0, 0, 0, 0, 10, 1),
        CyclesRow(1, 2, 10, 0, 0, 70, 0, 0, 0, 0),
        CyclesRow(2, 3, 0, 0, 0, 0, 0, 0, 0, 7),
    ]
    # Block 1 ran 10 times and took a cycle an instruction, block 2 ran 5 times and took two, block 3 never.
    skipped = {(1, 1): 90, (1, 2): 45, (2, 3): 7}
    found, of = estimate_rows(rows, COUNTS, skipped, SIZES, sums((60, 40), (60, 40)))
    assert of.skipped == 90 * 4 + 45 * 8 + 7 * 3
    assert of.estimated == round(Fraction(741 * 120, 80))
    before = sum(sum(row[2:8]) for row in rows)
    assert sum(sum(row[2:8]) for row in found) == before + of.estimated
    one, two, three = ({row[:2]: row for row in found}[key] for key in ((1, 1), (1, 2), (2, 3)))
    # 360 : 720 : 21 * 1.5, of 1112 cycles.
    assert [sum(row[2:8]) for row in (one, two, three)] == [40 + 360, 80 + 720, 32]
    assert (two.issue, two.memory) == (10 + 90, 70 + 630)
    # A quarter of block 1's cycles are outside, and all of block 3's: one of its instructions is each time.
    assert (one.outside, one.outside_instructions) == (10 + 90, 1)
    assert (three.outside, three.outside_instructions) == (32 * 7 // 21, 7)


def test_without_a_unit_the_begin_stands_for_the_rest() -> None:
    """If this fails, a call that is hardly longer than its begin has no cycles for its end."""
    rows = [CyclesRow(1, 1, 100, 0, 0, 0, 0, 0, 0, 0), CyclesRow(1, 1, 100, 0, 0, 0, 0, 0, 0, 0)]
    found, of = estimate_rows(rows, [(1, 1, 60), (1, 1, 40)], {(1, 1): 20}, SIZES, None)
    assert (of.units, of.estimated) == (0, 50)
    assert [sum(row[2:8]) for row in found] == [250]
    error = sampling_error([of], 250)
    assert error
    assert error.margin == 98


def test_a_block_that_took_nothing_may_be_given_all() -> None:
    """If this fails, a stranger's trace breaks the reader."""
    found, of = estimate_rows([], COUNTS, {(1, 1): 1}, SIZES, sums((5, 5), (5, 5)))
    assert of.estimated == sum(sum(row[2:8]) for row in found) == 4
