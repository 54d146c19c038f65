# SPDX-License-Identifier: BSD-2-Clause
"""Predictions, from small traces and made-up samples: every cycle has one owner, and no interval says too much."""

import gzip
import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from elves import Section, attributes, elf32, note
from traces import CASE, CLIENT, LINUX, MARK, PROCESS, TraceBuilder, address_space, checked, place, samples_of
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli import cli
from worldwise.cli.traces.further_predictions import other_draws, require_draws
from worldwise.cli.traces.predict import budget_of_own_code
from worldwise.cli.traces.typed_calls import PredictedRegion
from worldwise.explain.layers import Rules, load_rules
from worldwise.explain.owners import Explainer
from worldwise.libraries import own_code
from worldwise.libraries.boards import Core
from worldwise.plan.budget import check_budget, parse_budget
from worldwise.plan.case import Case, parse_case
from worldwise.plan.spec import OWN
from worldwise.predict import cores, rules
from worldwise.predict.attribution import Attribution
from worldwise.predict.bounds import Estimate, estimate, estimates
from worldwise.predict.code import facts_of, is_float
from worldwise.predict.domains import Domain, by_of
from worldwise.predict.errors import ErrorLines, load_errors
from worldwise.predict.flat import flat_case
from worldwise.predict.sampling import shares
from worldwise.predict.verdict import FITS, FITS_NOT, OPEN, Judged, judged, overall, time_text
from worldwise.records.flat import FlatRegion, read_regions
from worldwise.records.model_predictions import Events, LayerCycles, PredictedCase, PredictedSample
from worldwise.records.models import Sample
from worldwise.records.trace import read_trace
from worldwise.records.trace_cycles import Stratum
from worldwise.records.trace_records import Block
from worldwise.report.predict_screen import screen
from worldwise.report.predictions import PredictionLine, draws_section, layer_section

_MICRO = ("cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")

CORE = "cortex-a72"
BOARD_CASE = parse_case("nucleo-f446re/p256-m-Os/sign,curve=secp256r1,size=32B", 1, 0)
RULES = """
[[layer]]
name = "client"
images = ["client"]
[[layer]]
name = "Linux: files"
images = ["linux"]
[[layer]]
name = "TA code"
images = ["ta"]
"""
# What hardware took of what was predicted.
TOOK = {"least": 0.8, "most": 1.25, "lowest": 0.8, "highest": 1.25}
ERRORS = ErrorLines.model_validate(
    {
        "lines": [
            {"core": CORE, "kind": "integer-and-neon", "figures": 41, "median": 2.6, "p90": 16.0, "worst": 20.0} | TOOK,
            {"core": CORE, "kind": "integer", "figures": 30, "median": 2.1, "p90": 9.0, "worst": 10.0}
            | {"least": 0.9, "most": 1.11, "lowest": 0.9, "highest": 1.11},
            {"core": CORE, "kind": "neon", "figures": 4, "median": 1.0, "p90": 1.0, "worst": 1.0} | TOOK,
        ]
    }
)


@pytest.fixture
def layers(tmp_path: Path) -> Rules:
    """A rule for three images."""
    path = tmp_path / "rules.toml"
    path.write_text(RULES, encoding="ascii")
    return load_rules(path)


Make = Callable[[TraceBuilder, Sequence[Sample]], Attribution]


@pytest.fixture
def make(tmp_path: Path, layers: Rules) -> Make:
    """The attribution of a trace with samples."""

    def make(trace: TraceBuilder, samples: Sequence[Sample]) -> Attribution:
        trace.end()
        read = read_trace(trace.write(tmp_path / "trace.jsonl"))
        return Attribution(Explainer(CASE, checked(samples), read, address_space(), layers, PROCESS))

    return make


def small_trace(*more: Sequence[int]) -> tuple[TraceBuilder, list[Sample]]:
    """A client that enters Linux, on a core; `more` are further rows of cycles."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    entered = trace.frame(region, "exception", ids.linux, place(LINUX, "el0_svc"), MARK + 0x20)
    # The second block is of main and of invoke: 8 and 4 instructions.
    trace.run(1, region, ids.client, MARK + 8, 10, times=3)
    trace.run(1, region, ids.client, place(CLIENT, "main", 0xE0), 12)
    trace.run(1, entered, ids.linux, place(LINUX, "el0_svc"), 20)
    trace.cycles(
        1,
        CORE,
        [region, 1, 12, 3, 0, 5, 0, 1, 2, 1],
        [region, 2, 7, 0, 0, 0, 0, 0, 0, 0],
        [entered, 3, 9, 9, 0, 9, 9, 9, 9, 5],
    )
    if more:
        trace.cycles(1, CORE, *more)
    end = trace.close(1, region, 1000)
    return trace, samples_of([(1000, end)])


def test_every_cycle_has_an_owner(make: Make) -> None:
    """If this fails, the sum of the layers is not what the model said."""
    trace, samples = small_trace()
    attribution = make(trace, samples)
    record = attribution.record(samples[0], CORE)
    by_name = {one.layer: one for one in record.layers}
    assert record.cycles == 21 + 7 + 45
    assert record.instructions == 30 + 12 + 20
    assert by_name["client"].cycles == [19, 3, 0, 5, 0, 1]
    assert by_name["client"].outside == 2
    assert by_name["Linux: files"].cycles == [9, 9, 0, 9, 9, 9]
    assert by_name["Linux: files"].outside_instructions == 5


def test_a_block_of_two_functions_is_split(make: Make) -> None:
    """If this fails, a function has the cycles of the one before it, or one is lost in the division."""
    trace, samples = small_trace()
    attributed = make(trace, samples).sample(samples[0], CORE)
    functions = {frame.function: spent for frame, spent in attributed.functions.items()}
    assert functions["main"].total == 21 + 4
    assert functions["invoke"].total == 3
    assert (functions["main"].instructions, functions["invoke"].instructions) == (38, 4)
    assert attributed.total == sum(attributed.in_cycles().values()) == 73
    assert {tuple(map(str, stack)) for stack in attributed.in_cycles()} == {
        ("main (client)",),
        ("invoke (client)",),
        ("main (client)", "el0_svc (linux)"),
    }


def test_records_by_layer_and_stacks_agree(make: Make) -> None:
    """If this fails, the two ways to add up differ."""
    trace, samples = small_trace()
    attribution = make(trace, samples)
    record, attributed = attribution.record(samples[0], CORE), attribution.sample(samples[0], CORE)
    for one in record.layers:
        spent = [each for frame, each in attributed.functions.items() if frame.layer == one.layer]
        assert sum(each.total for each in spent) == sum(one.cycles)
        assert sum(each.instructions for each in spent) == one.instructions
        assert sum(each.outside for each in spent) == one.outside


def test_sampled_cycles_have_an_owner_too(make: Make) -> None:
    """If this fails, layers, functions and stacks are not the sum of what ran and what was estimated."""
    trace, samples = small_trace()
    # Of main's block two of three times, of the kernel's none: 20 instructions at two and a half cycles.
    trace.skipped(1, [1, 1, 1])
    trace.skipped(1, [1, 1, 1])
    trace.units(1, CORE, (20, 10), (30, 10))
    trace.units(1, CORE, (25, 10))
    attribution = make(trace, samples)
    record, attributed = attribution.record(samples[0], CORE), attribution.sample(samples[0], CORE)
    assert record.cycles == attributed.total == sum(attributed.in_cycles().values()) == 73 + 50
    by_name = {one.layer: one for one in record.layers}
    assert sum(by_name["client"].cycles) == 28 + 50
    assert by_name["Linux: files"].cycles == [9, 9, 0, 9, 9, 9]
    # As much of the estimate is outside as of what ran: 2 of 21 cycles.
    assert by_name["client"].outside == 2 + 50 * 2 // 21
    assert by_name["client"].outside_instructions == 1
    assert record.instructions == 30 + 12 + 20
    (stratum,) = record.sampled
    assert (stratum.units, stratum.cycles, stratum.skipped, stratum.estimated) == (3, 75, 20, 50)
    assert attribution.case(CORE).samples == [record]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1, 1, 4]], r"left out block 1 on frame 1 of pass 1 4 times, which was executed 3 times"),
        ([[1, 3, 1]], "which was executed 0 times"),
        ([[1, 1, 3], [1, 2, 1], [2, 3, 1]], "left out everything of pass 1"),
        ([[1, 1]], "not a record"),
    ],
)
def test_what_cannot_have_been_left_out_is_refused(rows: list[list[int]], said: str, make: Make) -> None:
    """If this fails, cycles are estimated for code that was not executed, or from nothing."""
    trace, samples = small_trace()
    trace.skipped(1, *rows)
    with pytest.raises(WorldwiseError, match=said):
        make(trace, samples)


def test_a_core_that_did_not_run_is_told(make: Make) -> None:
    """If this fails, a core without a model has no cycles, and nobody knows why."""
    trace, samples = small_trace()
    with pytest.raises(WorldwiseError, match="no cycles of cortex-a53"):
        make(trace, samples).record(samples[0], "cortex-a53")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([1, 3, 1, 0, 0, 0, 0, 0, 0, 0], "which were not counted"),
        ([1, 1, 1, 0, 0, 0, 0, 0, 2, 0], "more than the whole"),
        ([1, 1, 1, 0, 0], "not a record"),
    ],
)
def test_cycles_that_cannot_be_are_refused(row: list[int], said: str, make: Make) -> None:
    """If this fails, cycles are given to code that was not executed."""
    trace, samples = small_trace(row)
    with pytest.raises(WorldwiseError, match=said):
        make(trace, samples)


@pytest.mark.parametrize(("whole", "weights"), [(7, [8, 4]), (0, [1, 2]), (1, [1, 1, 1]), (10**18 + 1, [3, 5, 7])])
def test_shares_add_up(whole: int, weights: list[int]) -> None:
    """If this fails, splitting a block makes or loses cycles."""
    assert sum(shares(whole, weights)) == whole
    assert min(shares(whole, weights)) >= 0


@pytest.mark.parametrize(
    ("word", "fact"),
    [
        (0x4E208400, "vector"),  # add v0.16b, v0.16b, v0.16b
        (0x3DC00000, "vector"),  # ldr q0, [x0]
        (0x1E602820, "vector"),  # fadd d0, d1, d0
        (0xD69F03E0, "returns"),  # eret
        (0xD5033FDF, "barriers"),  # isb
        (0xD5033B9F, "barriers"),  # dsb ish
        (0xD508871F, "maintenance"),  # tlbi vmalle1
        (0xD50B7E20, "maintenance"),  # dc civac, x0
        (0x885F7C00, "atomics"),  # ldxr w0, [x0]
        (0xC8DFFC00, "atomics"),  # ldar x0, [x0]
        (0xB8E00000, "atomics"),  # ldaddal w0, w0, [x0]
        (0xD503201F, ""),  # nop
        (0xD65F03C0, ""),  # ret
        (0x8B000000, ""),  # add x0, x0, x0
        (0xF9400000, ""),  # ldr x0, [x0]
        (0xA9BF7BFD, ""),  # stp x29, x30, [sp, #-16]!
        (0xD5381000, ""),  # mrs x0, sctlr_el1
    ],
)
def test_instructions_that_no_figure_is_of_are_known(word: int, fact: str) -> None:
    """If this fails, code outside the validated domain passes for validated."""
    code = word.to_bytes(4, "little").hex()
    block = Block.model_validate({"type": "block", "id": 1, "pc": "0x0", "instructions": 1, "code": code})
    found = facts_of(block)
    assert [name for name, count in vars(found).items() if count and name != "floats"] == ([fact] if fact else [])
    assert found.floats == (word == 0x1E602820)


# --- bounds ---


def layer(name: str, cycles: Sequence[int], **fields: Any) -> LayerCycles:
    """A layer of 10,000 instructions."""
    zero = {
        "instructions": 10_000,
        "outside": 0,
        "outside_instructions": 0,
        "vector_instructions": 0,
        "vector_cycles": 0,
    }
    return LayerCycles(layer=name, cycles=[*cycles], **(zero | fields))


def sample(*some: LayerCycles, phase: str = "sample", index: int = 1, **events: int) -> PredictedSample:
    """A sample of sign at the client."""
    return PredictedSample.model_validate(
        {
            "measure": "sign",
            "place": "client",
            "phase": phase,
            "index": index,
            "instructions": sum(one.instructions for one in some),
            "layers": [one.model_dump() for one in some],
            "events": dict.fromkeys(Events.model_fields, 0) | events,
        }
    )


INSIDE = layer("TA code", [6000, 1000, 1000, 1000, 500, 500])


def test_validated_code_has_the_core_s_error() -> None:
    """If this fails, a figure that is validated is bounded as if it were not."""
    one = estimate(sample(INSIDE), CORE, "warm", ERRORS)
    assert (one.inside, one.cycles, dict(one.reasons)) == (10_000, 10_000, {})
    assert (one.whole.low, one.whole.high) == (9_000, 11_100)
    assert one.error == (
        "± 2.1 % (30 held-out figures; of both, for nothing says who wrote the code: all are compiled; 90 %: 9 %; "
        "worst 10 %; hardware took 0.90 to 1.11 times as much in 94 % of such figures (in at least 85 %, with a "
        "confidence of 95 %))"
    )
    assert one.per_cycle == 1.0
    assert sum(one.causes.values()) == one.cycles


def test_the_kernel_is_bounded_from_below_and_above() -> None:
    """If this fails, a prediction of the kernel passes for a validated one."""
    one = estimate(sample(INSIDE, layer("Linux: files", [1000, 0, 0, 0, 0, 0]), exceptions=2), CORE, "warm", ERRORS)
    assert dict(one.reasons) == {"Linux": 1000}
    high = int(1000 * rules.OUTSIDE_FACTOR) + 4 * rules.LEVEL_CHANGE
    assert (one.outside.low, one.outside.high) == (900, high)
    assert (one.whole.low, one.whole.high) == (9_900, 11_100 + high)


def test_the_interval_has_the_error_by_sampling() -> None:
    """If this fails, a verdict is told from cycles that a whole run may not have."""
    sums = {"cycles_squared": 1000, "cycles_by_instructions": 600, "instructions_squared": 400}
    stratum = {"units": 4, "cycles": 80, "instructions": 40, "skipped": 360, "estimated": 720, **sums}
    kernel = layer("Linux: files", [1000, 0, 0, 0, 0, 0])
    plain = sample(INSIDE, kernel)
    one = estimate(plain.model_copy(update={"sampled": [Stratum.model_validate(stratum)]}), CORE, "warm", ERRORS)
    assert one.sampling
    assert one.cycles == 11_000
    margin = one.sampling.margin
    assert margin > 0
    off = margin / 11_000
    assert one.outside.low == int(1000 * (1 - off) * 0.9)
    assert one.outside.high == math.ceil(1000 * (1 + off) * rules.OUTSIDE_FACTOR)
    assert one.whole.low == int(10_000 * (1 - off) * 0.9) + one.outside.low
    assert one.whole.high == math.ceil(10_000 * (1 + off) * 1.11) + one.outside.high
    assert estimate(plain, CORE, "warm", ERRORS).sampling is None


@pytest.mark.parametrize(
    ("some", "state", "reason"),
    [
        ([layer("TA code", [1999, 0, 0, 0, 0, 0])], "warm", "fewer than 2,000 cycles"),
        ([INSIDE], "first", "a first call: all held-out figures are of warm ones"),
        ([layer("TA code", [1000, 0, 0, 3001, 0, 0])], "warm", "bound by memory"),
    ],
)
def test_a_whole_measure_may_be_outside(some: list[LayerCycles], state: Any, reason: str) -> None:
    """If this fails, what no figure is like has the error of other code."""
    one = estimate(sample(*some), CORE, state, ERRORS)
    assert dict(one.reasons) == {reason: one.cycles}
    assert one.inside == 0


def test_short_calls_and_first_calls_of_a_microcontroller() -> None:
    """If this fails, a short function has no error though shorter figures judge its core, or a cold cache has one."""
    errors = load_errors()
    own = Domain("integer", False, "assembly")
    line = errors.line("cortex-m4", own)
    assert line and 0 < line.shortest < rules.LEAST_CYCLES
    short = [sample(layer("library", [line.shortest - less, 0, 0, 0, 0, 0])) for less in (0, 1)]
    whole, shorter = (estimate(one, "cortex-m4", "first", errors, domain=own) for one in short)
    assert (whole.inside, dict(whole.reasons)) == (line.shortest, {})
    assert dict(shorter.reasons) == {f"fewer than {line.shortest} cycles": shorter.cycles}
    # The Cortex-M7 has caches.
    cold = estimate(sample(INSIDE), "cortex-m7", "first", errors, domain=own)
    assert dict(cold.reasons) == {"a first call: all held-out figures are of warm ones": cold.cycles}
    assert estimate(sample(INSIDE), "cortex-m7", "warm", errors, domain=own).inside == 10_000


def test_code_of_a_user_s_own_is_inside() -> None:
    """If this fails, each prediction of own code is bounded as if nothing was known of it."""
    one = estimate(sample(layer("program: signer", [9000, 0, 0, 1000, 0, 0])), CORE, "warm", ERRORS)
    assert (one.inside, dict(one.reasons)) == (10_000, {})
    other = estimate(sample(layer("signer", [9000, 0, 0, 1000, 0, 0])), CORE, "warm", ERRORS)
    assert dict(other.reasons) == {rules.NAMELESS: 10_000}


def test_the_layers_of_an_unvalidated_core_are_outside() -> None:
    """If this fails, a table says *inside* of code of which the line below says that all of it is outside."""
    one = estimate(sample(layer("program: signer", [9000, 0, 0, 1000, 0, 0])), "cortex-a7", "warm", load_errors())
    table = layer_section(PredictionLine(CASE, one), []).table
    assert one.inside == 0 and table and [row[-1] for row in table.rows] == ["outside", ""]


def test_calls_that_differ_are_told_on_the_screen() -> None:
    """If this fails, a budget *fits* by the median of calls of which the longest takes twice as long."""
    calls = [sample(layer("client", [cycles, 0, 0, 0, 0, 0])) for cycles in (10_000, 10_100, 19_000)]
    (found,) = estimates(PredictedCase(case=CASE.id, samples=calls), CORE, ERRORS)
    assert found.apart == (10_000, 19_000)
    said = " ".join(
        " ".join(map(str, part.notes)) for part in screen([PredictionLine(CASE, found)], None, lambda _: True)
    )
    assert "the median of 3, which differ: the shortest takes 6.67 us, the longest 12.7 us" in said
    (alike,) = estimates(PredictedCase(case=CASE.id, samples=calls[:2]), CORE, ERRORS)
    assert "differ" not in str(screen([PredictionLine(CASE, alike)], None, lambda _: True))


def test_a_budget_of_own_code_is_for_its_calls() -> None:
    """If this fails, a budget of own code is refused unless two options name the one thing that it measures."""
    own = Case("own", "app", "", "work", 3, 0)
    found = budget_of_own_code(parse_budget("5ms@1GHz"), PredictedRegion(None, None), [own])
    check_budget(found, [own])
    assert (found.measures, found.place) == (("call",), "region")
    assert budget_of_own_code(parse_budget("5ms@1GHz"), PredictedRegion(None, None), [own, CASE]) == parse_budget(
        "5ms@1GHz"
    )


def test_firmware_of_a_user_s_own_never_waits_unless_it_is_said() -> None:
    """If this fails, firmware has the error line of no code, or its first call is one with empty caches."""
    parts = [layer("firmware", [9_000, 0, 0, 0, 0, 0]), layer("interrupts", [1_000, 0, 0, 0, 0, 0])]
    one = sample(*parts, phase="first").model_copy(update={"place": "region"})
    case = PredictedCase(case="own/app-elf/crypto_sign", samples=[one])
    (found,) = estimates(case, "cortex-m4", load_errors())
    assert (found.domain.waits, found.inside, found.line and found.line.kind) == (False, 10_000, "integer-no-waits")
    (found,) = estimates(case, "cortex-m4", load_errors(), waits=True)
    assert found.line and found.line.kind == "integer-waits"


def test_a_layer_says_that_it_is_the_user_s_own(make: Make) -> None:
    """If this fails, a file of a user's program passes for a part of the machine."""
    trace, samples = small_trace()
    attribution = make(trace, samples)
    (plain,) = attribution.case(CORE).samples
    own = plain.layers[0].layer
    attribution.explainer.own_layers = frozenset({own})
    (marked,) = attribution.case(CORE).samples
    assert [one.layer for one in marked.layers] == [f"program: {own}", *(one.layer for one in plain.layers[1:])]


def test_parts_of_user_code_may_be_outside() -> None:
    """If this fails, unknown instructions or vectors without figures are counted as validated."""
    mixed = layer("TA code", [10_000, 0, 0, 0, 0, 0], outside=300, outside_instructions=10, vector_cycles=50)
    one = estimate(sample(mixed), CORE, "warm", ERRORS)
    assert dict(one.reasons) == {
        "instructions without figures": 300,
        "vectors: no held-out figures of this core": 50,
    }
    assert one.inside == 9_650
    with_vectors = ErrorLines.model_validate(
        {
            "lines": [
                {"core": CORE, "kind": kind, "figures": 9, "median": 1, "p90": 2, "worst": 3} | TOOK
                for kind in ("integer-and-neon", "neon")
            ]
        }
    )
    assert estimate(sample(mixed), CORE, "warm", with_vectors).inside == 9_700
    vectors = layer("TA code", [10_000, 0, 0, 0, 0, 0], vector_instructions=500)
    found = estimate(sample(vectors), CORE, "warm", with_vectors)
    assert found.line
    assert found.line.kind == "neon"
    # Four figures are too few for a line of their own.
    found = estimate(sample(vectors), CORE, "warm", ERRORS)
    assert found.line
    assert found.line.kind == "integer-and-neon"
    assert "for only 4 figures are of NEON integer code" in found.error


def test_a_core_without_figures_is_unvalidated() -> None:
    """If this fails, a core that nobody measured has an error line."""
    one = estimate(sample(INSIDE), "cortex-a55", "warm", ERRORS)
    assert one.line is None
    assert one.error == "unvalidated: no held-out figure of this core"
    assert (one.inside, one.whole.low, one.whole.high) == (0, 5_000, 23_000)
    known = {"core": "cortex-a55", "kind": "fitted", "figures": 3, "median": 4.5, "p90": 6, "worst": 6} | TOOK
    one = estimate(sample(INSIDE), "cortex-a55", "warm", ErrorLines.model_validate({"lines": [known]}))
    assert one.line is None
    assert "its 3 calibration figures are off by 4.5 % in the median" in one.error
    # Too few held-out figures are told, and validate nothing.
    few = known | {"kind": "integer", "figures": 4}
    one = estimate(sample(INSIDE), "cortex-a55", "warm", ErrorLines.model_validate({"lines": [few, known]}))
    assert one.line is None
    assert (
        one.error
        == "unvalidated: its 4 held-out figures of such or like code are off by 4.5 % in the median, 6 % at worst"
    )
    enough = estimate(
        sample(INSIDE), "cortex-a55", "warm", ErrorLines.model_validate({"lines": [few | {"figures": 5}, known]})
    )
    assert enough.line
    assert enough.line.kind == "integer"


def test_error_lines_that_do_not_fit_are_counted() -> None:
    """If this fails, a core of many has no error line on the screen, and no word says so."""
    named = [f"cortex-x{number}" for number in range(5)]
    lines = [PredictionLine(CASE, estimate(sample(INSIDE), core, "warm", ERRORS)) for core in named]
    said = str(screen(lines, None, lambda _: True))
    assert [f"{core}: unvalidated" in said for core in named] == [True] * 3 + [False] * 2
    assert "2 more error lines are in the tables of `--full`" in said


def test_first_calls_and_the_median_of_the_warm_ones_are_told_apart() -> None:
    """If this fails, a cold call is in the median, or the median is another sample."""
    every = [
        sample(layer("TA code", [cycles, 0, 0, 0, 0, 0]), phase=phase, index=number)
        for number, (phase, cycles) in enumerate(
            [("first", 9_000), ("warmup", 8_000), ("sample", 7_000), ("sample", 5_000), ("sample", 6_000)]
        )
    ]
    found = estimates(PredictedCase(case=CASE.id, samples=every), CORE, ERRORS)
    assert [(one.state, one.cycles, one.samples) for one in found] == [("first", 9_000, 1), ("warm", 6_000, 3)]


@pytest.mark.parametrize(
    ("words", "floats"),
    [
        # fadd, fmul of a vector and by element, fmadd, fcmp, scvtf of both kinds, fcvtzs, fsqrt, faddp, fcmla.
        ("1e622820 6e62dc20 4fc29820 1f420c20 1e622020 9e620020 4e61d820 9e780020 6ee1f820 7e70d820 6e42cc20", True),
        # fmov of three kinds, movi; add, mul by element, umull, sqdmulh, ushr, eor, trn1, aese, sha256h, eor3, ldr.
        ("9e670000 1e604020 1e6e1000 6f00e400 4ea28420 4f828020 2ea2c020 4e62b420 6f7d0420 6e221c20 4ec22820", False),
        ("4e284820 5e024020 ce020c20 3dc00000 8b020020 9b020c20 d65f03c0 4ea29420 2ea13820", False),
    ],
)
def test_which_instructions_are_floating_point(words: str, floats: bool) -> None:
    """If this fails, code is judged by figures of other code: integer vectors are predicted well, these are not."""
    assert {word for word in words.split() if is_float(int(word, 16)) != floats} == set()


def test_floating_point_has_no_line_of_other_code() -> None:
    """If this fails, Falcon in NEON is told to be as well predicted as Curve25519."""
    floats = layer("TA code", [10_000, 0, 0, 0, 0, 0], vector_instructions=5_000, float_instructions=200)
    one = estimate(sample(floats), CORE, "warm", ERRORS)
    assert one.line is None and one.domain == Domain("float")
    assert one.error == "unvalidated: no held-out figure of this core"
    less = layer("TA code", [10_000, 0, 0, 0, 0, 0], float_instructions=199)
    assert estimate(sample(less), CORE, "warm", ERRORS).domain == Domain("integer")


@pytest.mark.parametrize(
    ("variant", "by"),
    [
        ("optee/mbedtls-nist-O2/attestdiv", "compiled"),
        ("optee/libtomcrypt-Os/attestdiv", "compiled"),
        ("optee/mbedtls-nist-asm-O2/attestdiv", None),
        ("optee/mbedtls-ce-O2/storage", None),
        ("linux-armv8/s2n-bignum-O2/sign", "assembly"),
        ("optee/wolfssl-sp-O2/attestdiv", None),
        ("linux-armv8/bearssl-O2/sign", "compiled"),
        ("linux-armv8/openssl-O2/sign", None),
        ("nucleo-f446re/p256-cortex-m4-O2/sign", "assembly"),
        ("nucleo-f446re/p256-m-Os/sign", "compiled"),
        ("linux-armv8/mine-O2/sign", None),
    ],
)
def test_who_wrote_the_code_is_known_by_its_library(variant: str, by: str | None) -> None:
    """If this fails, compiled code has the error of hand-written assembly."""
    assert by_of(variant) == by


# --- verdicts ---


def verdict(limit: str, core: str = CORE) -> Judged:
    """Of 10,000 cycles, between 9,000 and 11,100, at 1 GHz."""
    (found,) = judged([estimate(sample(INSIDE), core, "warm", ERRORS)], parse_budget(f"{limit}@1GHz"))
    return found


def test_a_verdict_may_be_left_open() -> None:
    """If this fails, a budget is met or missed by less than the prediction's error."""
    assert verdict("11.1us").text() == FITS
    assert verdict("8.999us").text() == FITS_NOT
    assert verdict("10us").text() == "undecided (between 9 us and 11.1 us)"
    assert verdict("1s", "cortex-a55").verdict == OPEN
    assert overall([verdict("11.1us"), verdict("10us")]) == OPEN
    assert overall([verdict("10us"), verdict("8us")]) == FITS_NOT
    assert overall([verdict("11.1us")]) == FITS
    assert overall([]) == ""


def test_only_what_a_budget_is_for_is_judged() -> None:
    """If this fails, a measure that nobody asked about fails a build."""
    one: Estimate = estimate(sample(INSIDE), CORE, "warm", ERRORS)
    (beside,) = judged([one], parse_budget("1us@1GHz", ["verify"]))
    assert (beside.decides, beside.verdict, beside.text()) == (False, FITS_NOT, "would not fit")
    # A budget that judges nothing is not met.
    assert overall([beside]) == ""
    assert judged([one], parse_budget("1us@1GHz", place="ta")) == []


def test_times_have_units() -> None:
    """If this fails, somebody reads microseconds as milliseconds."""
    texts = [time_text(cycles, Fraction(10**9)) for cycles in (5, 1_500, 2_500_000, 3 * 10**9)]
    assert texts == ["5 ns", "1.5 us", "2.5 ms", "3 s"]


# --- error lines ---


def _line_text(**numbers: float) -> str:
    line = {"core": "a", "kind": "all", "least": 0.9, "most": 1.1, "lowest": 0.9, "highest": 1.1} | numbers
    return json.dumps({"lines": [line]})


def test_error_lines_are_read_and_checked(tmp_path: Path) -> None:
    """If this fails, an error line that cannot be stands beside a figure."""
    assert load_errors(tmp_path / "none.json").line(CORE, Domain("integer")) is None
    path = tmp_path / "errors.json"
    path.write_text(ERRORS.model_dump_json(), encoding="ascii")
    found = load_errors(path).line(CORE, Domain("integer", None, "compiled"))
    assert found
    assert found.text() == (
        "± 2.1 % (30 held-out figures; assembly and compiled code joined, for no figure is of compiled integer code: "
        "all are compiled; 90 %: 9 %; worst 10 %; hardware took 0.90 to 1.11 times as much in 94 % of such figures (in "
        "at least 85 %, with a confidence of 95 %))"
    )
    for wrong in (
        _line_text(figures=1, median=3, p90=2, worst=4),
        _line_text(figures=0, median=1, p90=2, worst=4),
        _line_text(figures=1, median=1, p90=2, worst=4, blind=2),
        _line_text(figures=9, median=1, p90=2, worst=4, calibrating=1),
        _line_text(figures=9, median=1, p90=2, worst=4, lowest=0.95),
        '{"lines":[{"core":"a","kind":"all","figures":1,"median":1,"p90":2}]}',
        '{"more":1}',
        "no JSON",
    ):
        path.write_text(wrong, encoding="ascii")
        with pytest.raises(WorldwiseError, match=r"errors\.json"):
            load_errors(path)
    twice = ERRORS.lines + ERRORS.lines[:1]
    path.write_text(ErrorLines.model_construct(format=1, lines=twice).model_dump_json(), encoding="ascii")
    with pytest.raises(WorldwiseError, match="a second line"):
        load_errors(path)


# --- cores ---


def test_cores_are_named_with_commas() -> None:
    """If this fails, several cores do not run in one pass."""
    assert [*cores.tables(["cortex-a72, cortex-a53", "cortex-a72"])] == ["cortex-a72", "cortex-a53"]
    with pytest.raises(WorldwiseError, match="no core is named"):
        cores.tables([","])
    with pytest.raises(WorldwiseError, match="at most 8"):
        cores.tables([",".join(f"cortex-a{number}" for number in range(10, 19))])


@pytest.mark.parametrize(
    ("text", "architecture", "said"),
    [
        (
            "linux-armv7/bearssl-O2/sign,curve=secp256r1,size=32B",
            "Armv8-A",
            "its code is A32 and T32 of Armv7-A, and cortex-x's file has no times of these",
        ),
        ("linux-armv7/bearssl-O2/sign,curve=secp256r1,size=32B", "Armv7E-M", "its code is A32 and T32 of Armv7-A"),
        (
            "linux-armv8/bearssl-O2/sign,curve=secp256r1,size=32B",
            "Armv7-A",
            "its code is A64, and a cortex-x cannot run it",
        ),
        ("optee/mbedtls-nist-O2/hello", "Armv8-M Mainline", "its code is A64, and a cortex-x cannot run it"),
    ],
)
def test_a_core_that_cannot_run_a_case_is_told(
    text: str, architecture: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a case is predicted on a core that cannot execute it."""
    made_up = Core(title="X", architecture=architecture, flags=())
    monkeypatch.setattr(cores, "load_core", {"cortex-x": made_up}.__getitem__)
    with pytest.raises(WorldwiseError, match=said):
        cores.check(parse_case(text, 1, 0), {"cortex-x": "core cortex-x\n"})


@pytest.mark.parametrize(
    ("built", "runs", "words", "instead"),
    [
        (attributes(13), {"cortex-m4", "cortex-m7", "cortex-m33"}, "T32 of Armv7E-M", "such as cortex-m4, or build"),
        (attributes(10), {"cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"}, "T32 of Armv7-M", "cortex-m3"),
        (attributes(17), {"cortex-m33"}, "T32 of Armv8-M Mainline", "cortex-m33"),
        (attributes(12), {*_MICRO}, "", ""),
        (note(20), {*_MICRO}, "", ""),
    ],
)
def test_firmware_is_predicted_on_cores_that_execute_it(
    built: Section,
    runs: set[str],
    words: str,
    instead: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """If this fails, code of an M4 has a time on an M0, which has none of its instructions."""
    (tmp_path / own_code.FIRMWARE_ELF).write_bytes(elf32([built]))
    manifest = own_code.CodeManifest.model_construct(name="app-0", kind=own_code.FIRMWARE, architecture="")
    own_code.add(own_code.Code(tmp_path, manifest, "", {}, tmp_path))
    request.addfinalizer(lambda: own_code.remove("app-0"))
    case = Case(OWN, "app-0", "", "work", 2, 0)
    monkeypatch.setattr(cores, "can_predict", lambda _: True)
    for core in _MICRO:
        if core in runs:
            cores.check(case, {core: ""})
        else:
            with pytest.raises(WorldwiseError, match=words) as told:
                cores.check(case, {core: ""})
            assert instead in told.value.hint


def test_a_boards_code_is_not_predicted_on_a_lesser_core() -> None:
    """If this fails, what was compiled for an M4 has a time on an M0."""
    case = parse_case("nucleo-f446re/p256-m-Os/sign,curve=secp256r1,size=32B", 1, 0)
    cores.check(case, cores.tables(["cortex-m7"]))
    with pytest.raises(WorldwiseError, match="T32 of Armv7E-M, which a Cortex-M0 cannot run"):
        cores.check(case, cores.tables(["cortex-m0"]))


def test_a_case_among_others_is_predicted_on_its_own_cores() -> None:
    """If this fails, a board is predicted on another board's core, or OP-TEE on a microcontroller."""
    named = cores.tables(["cortex-a72,cortex-a9,cortex-m4,cortex-m0"])
    found = {
        text: [*cores.cores_of(parse_case(text, 1, 0), named)]
        for text in (
            "optee/mbedtls-nist-O2/hello",
            "nucleo-f446re/p256-m-Os/sign,curve=secp256r1,size=32B",
            "mps2-an500/p256-m-Os/sign,curve=secp256r1,size=32B",
            "linux-armv7/bearssl-O2/sign,curve=secp256r1,size=32B",
        )
    }
    assert list(found.values()) == [["cortex-a72"], ["cortex-m4"], [], ["cortex-a9"]]


def test_a_core_without_a_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a core of which nothing is known is predicted."""
    (tmp_path / "cortex-x.toml").write_text('title = "X"\narchitecture = "Armv8-A"\nflags = []\n', encoding="ascii")
    monkeypatch.setattr(paths, "CORES", tmp_path)
    with pytest.raises(WorldwiseError, match="core 'cortex-x': nothing predicts it"):
        cores.tables(["cortex-x"])


def test_user_code_of_both_worlds_is_inside() -> None:
    """If this fails, the rules name a layer that layers.toml does not have."""
    order = load_rules().order
    assert {*order, rules.PROGRAM} >= rules.INSIDE
    for name in order:
        assert name in rules.INSIDE or name.startswith(tuple(rules.OUTSIDE)) or name in ("no rule", "unknown"), name


# --- boards ---


def region(instructions: int, index: int = 0) -> FlatRegion:
    """A stretch of a flat program, of two cycles an instruction."""
    taken = {"cycles": 2 * instructions, "causes": [2 * instructions, 0, 0, 0, 0, 0], "outside": 0}
    core = taken | {"outside_instructions": 0}
    return FlatRegion.model_validate(
        {"type": "region", "index": index, "instructions": instructions, "cores": {"cortex-m4": core}}
    )


def test_samples_of_a_board_are_found_among_the_stretches() -> None:
    """If this fails, a sample has the cycles of what stands between two samples."""
    samples = samples_of([(1000, 11_000), (20_000, 30_000)])
    # The second sample was interrupted twice, which its count leaves out.
    stretches = [region(count) for count in (8, 10_000, 10_003, 10_010, 10_000)]
    found = flat_case(BOARD_CASE, checked(samples), stretches, "cortex-m4")
    assert [(one.index, one.instructions, one.cycles) for one in found.samples] == [
        (0, 10_000, 20_000),
        (1, 10_010, 20_020),
    ]
    with pytest.raises(WorldwiseError, match=r"no stretch has the 10,000 instructions of invoke 1"):
        flat_case(BOARD_CASE, checked(samples), stretches[:3], "cortex-m4")
    with pytest.raises(WorldwiseError, match="no cycles of cortex-m0"):
        flat_case(BOARD_CASE, checked(samples), stretches, "cortex-m0")


def test_the_kernel_of_a_flat_program_is_told_apart() -> None:
    """If this fails, Linux's cycles are the program's, or a stretch with an interrupt more passes for a sample."""
    case = parse_case("linux-armv7/bearssl-O2/sign,curve=secp256r1,size=32B", 1, 0)
    taken = {"cycles": 90, "causes": [60, 20, 0, 10, 0, 0], "outside": 7, "outside_instructions": 3}
    kernel = {"cycles": 30, "causes": [20, 0, 0, 10, 0, 0], "outside": 6, "outside_instructions": 2}
    linux = {"exceptions": 4, "instructions": 25, "cores": {"cortex-a9": kernel}}
    stretches = [
        FlatRegion.model_validate(
            {"type": "region", "index": index, "instructions": count, "cores": {"cortex-a9": taken}, "linux": linux}
        )
        for index, count in enumerate((105, 100))
    ]
    (found,) = flat_case(case, checked(samples_of([(1000, 1100)])), stretches, "cortex-a9").samples
    program, below = found.layers
    assert (program.layer, program.instructions, program.cycles) == (rules.PROGRAM, 75, [40, 20, 0, 0, 0, 0])
    assert (program.outside, program.outside_instructions) == (1, 1)
    assert (below.layer, below.instructions, sum(below.cycles)) == ("Linux: kernel", 25, 30)
    assert (found.instructions, found.cycles, found.events.exceptions) == (100, 90, 4)


def test_a_board_has_the_line_of_its_memory() -> None:
    """If this fails, code behind wait states has the error of code without."""
    numbers = {"core": "cortex-m4", "figures": 9, "p90": 5, "worst": 5} | TOOK
    kinds = (("all", 3), ("integer-waits", 4), ("integer-no-waits", 1))
    errors = ErrorLines.model_validate(
        {"lines": [numbers | {"kind": kind, "median": median} for kind, median in kinds]}
    )
    one = sample(layer("program", [10_000, 0, 0, 0, 0, 0]), phase="first")
    for board, median in (("nucleo-f446re", 4), ("mps2-an386", 1)):
        (found,) = estimates(PredictedCase(case=f"{board}/p256-m-Os/sign", samples=[one]), "cortex-m4", errors)
        assert found.line
        assert found.line.median == median


def test_a_file_of_stretches_is_checked(tmp_path: Path) -> None:
    """If this fails, a damaged file is a prediction."""
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress(region(5).model_dump_json().encode() + b'\n{"type":"block","pc":1}\n'))
    assert [one.instructions for one in read_regions(path)] == [5]
    path.write_bytes(gzip.compress(b'{"type":"region","index":0}\n'))
    with pytest.raises(WorldwiseError, match=r"trace\.jsonl\.gz:1: instructions"):
        read_regions(path)
    path.write_bytes(b"\x1f\x8b\x00")
    with pytest.raises(WorldwiseError, match="cannot be read"):
        read_regions(path)


def test_a_board_s_flash_can_be_another_one() -> None:
    """If this fails, code in RAM, or at a slower clock, is predicted as if it waited for the board's flash."""
    plain = cores.tables(["cortex-m4"])
    own = cores.with_memory(BOARD_CASE, plain)["cortex-m4"]

    def table(name: str = "", waits: int | None = None) -> str:
        return cores.with_memory(BOARD_CASE, plain, cores.Flash(name, waits))["cortex-m4"]

    assert table("none") == plain["cortex-m4"]
    assert table("nucleo-f446re") == table(waits=5) == own
    assert "memory wait 3\n" in table(waits=3) and "memory line 16\n" in table(waits=3)
    assert "memory line 8\n" in table("nucleo-f103rb") and "memory wait 2\n" in table("nucleo-f103rb")
    # A Cortex-M7's own caches stand before the flash alone.
    missing = cores.tables(["cortex-m7"])
    assert "number line_bytes" in missing["cortex-m7"]
    assert "number line_bytes" not in cores.with_memory(BOARD_CASE, missing, cores.Flash("none"))["cortex-m7"]
    assert cores.Flash("nucleo-f103rb", 1).words(BOARD_CASE.target) == "1 wait state, flash of nucleo-f103rb"
    assert cores.Flash("none").words(BOARD_CASE.target) == "in a memory that never waits"
    assert table(cores.RAM) == plain["cortex-m4"] and cores.Flash(cores.RAM).words(BOARD_CASE.target) == "code in RAM"
    with pytest.raises(WorldwiseError, match="there is no such board"):
        table("nucleo-f999")
    with pytest.raises(WorldwiseError, match="never waits, and --wait-states says 2"):
        table("none", 2)
    with pytest.raises(WorldwiseError, match="does not say what stands before its flash"):
        cores.Flash(waits=1).of("microbit")
    # Stores that wait come beside any of these.
    waiting = cores.Flash(stores=1)
    found_table = cores.with_memory(BOARD_CASE, plain, waiting)["cortex-m4"]
    assert "number store_waits 1\n" in found_table and "memory wait 5\n" in found_table
    assert waiting.words(BOARD_CASE.target) == "5 wait states, flash of nucleo-f446re, each stored word waits for 1"
    assert waiting.of("own") == ("", 0) and waiting.waits_of("own") == "stores"
    # What a domain is of goes with it.
    errors = load_errors()
    one = sample(layer("program", [10_000, 0, 0, 0, 0, 0]), phase="first").model_copy(update={"place": "mcu"})
    case = PredictedCase(case=BOARD_CASE.id, samples=[one])
    (found,) = estimates(case, "cortex-m4", errors)
    assert found.domain == Domain("integer", True, "compiled")
    (found,) = estimates(case, "cortex-m4", errors, waits=False)
    assert found.domain == Domain("integer", False, "compiled")
    assert found.line and found.line.kind == "integer-no-waits"
    (found,) = estimates(case, "cortex-m4", errors, waits="stores")
    assert not found.line and "no held-out figure of compiled integer code whose stores wait" in found.error


def test_other_draws_are_told_from_the_least_to_the_most() -> None:
    """If this fails, a draw is predicted twice, or its cycles stand beside another call's."""
    case = parse_case("linux-armv8/bearssl-O2/sign,curve=secp256r1,size=32B", 30, 2)
    asked = []

    class Told:
        def predicted(self, draw: Case, run: None, wanted: Mapping[str, str], whole: bool) -> Mapping[str, Any]:
            asked.append((draw.seed, draw.samples, draw.warmup, run, whole))
            cycles = {0: 9_000, 1: 9_500, 2: 8_000}[draw.seed]
            some = [
                sample(layer("library", [cycles + more, 0, 0, 0, 0, 0]), phase=phase)
                for phase, more in (("first", 4_000), ("sample", 0))
            ]
            return {core: PredictedCase(case=draw.id, samples=some) for core in wanted}

    session: Any = Told()
    errors = load_errors()
    own = session.predicted(case, None, {CORE: ""}, False)[CORE]
    found = other_draws(session, case, {CORE: ""}, 3, True, errors)
    assert asked[1:] == [(1, 3, 2, None, True), (2, 3, 2, None, True)]
    lines = [
        PredictionLine(case, one, others=found[CORE, one.sample.measure, one.sample.place, one.state])
        for one in estimates(own, CORE, errors)
    ]
    assert [line.draws for line in lines] == [[12_000, 13_000, 13_500], [8_000, 9_000, 9_500]]
    section = draws_section(lines)
    assert section.title == "Predicted cycles over 3 draws of the inputs"
    assert section.table
    assert [row[5:9] for row in section.table.rows] == [
        ["13,000", "12,000", "13,500", "11.5"],
        ["9,000", "8,000", "9,500", "16.7"],
    ]
    with pytest.raises(WorldwiseError, match="--seeds: the programs of a board draw from a generator"):
        require_draws(BOARD_CASE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([BOARD_CASE.id, "--core", "cortex-m4", "--seeds", "3"], "draw from a generator"),
        (["optee/mbedtls-nist-O2/attestdiv", "--core", "cortex-a72", "--wait-states", "3"], "need a case of a board"),
        ([BOARD_CASE.id, "--core", "cortex-m4", "--flash", "stm32"], "there is no such board"),
        ([BOARD_CASE.id, "--core", "cortex-m4", "--wait-states", "16"], "0<=x<=15"),
        (["optee/mbedtls-nist-O2/attestdiv", "--core", "cortex-a72", "--memory", "ram"], "need a case of a board"),
        ([BOARD_CASE.id, "--core", "cortex-m4", "--memory", "ram", "--wait-states", "3"], "RAM never waits"),
        ([BOARD_CASE.id, "--core", "cortex-m4", "--memory", "rom"], "'ram', 'flash'"),
        (["optee/mbedtls-nist-O2/attestdiv", "--core", "cortex-a72", "--store-waits", "1"], "need a case of a board"),
    ],
)
def test_a_flash_that_cannot_be_is_refused(arguments: list[str], said: str) -> None:
    """If this fails, an option is ignored, or a run begins that cannot end."""
    result = CliRunner().invoke(cli, ["predict", *arguments])
    message = result.output + (f"{result.exception}" if result.exception else "")
    assert result.exit_code != 0 and said in message
