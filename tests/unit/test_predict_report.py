# SPDX-License-Identifier: BSD-2-Clause
"""Predictions in a run and in its reports: beside the count, said to be predicted, and never in its place."""

import csv
import importlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Literal, NoReturn

import pytest
from rich.console import Console

from command_line import Call
from synthetic import write_run
from worldwise.base.errors import WorldwiseError
from worldwise.plan.budget import parse_budget
from worldwise.plan.case import Case, parse_case
from worldwise.predict.bounds import estimate
from worldwise.predict.errors import ErrorLines
from worldwise.read.models import Reading
from worldwise.read.run_counts import read_run
from worldwise.records.model_predictions import Events, Predicted, PredictedCase, PredictedSample
from worldwise.records.trace_cycles import Stratum
from worldwise.report import predict_screen
from worldwise.report import predictions as reports
from worldwise.report.answer import render_answer
from worldwise.report.formats import predicted_data
from worldwise.report.formats.printed_sections import print_sections
from worldwise.report.report import sections, to_csv, to_json, to_markdown
from worldwise.report.tables import named_sections
from worldwise.run.folder.predictions import load, store
from worldwise.run.folder.rundir import Run

CASE = parse_case("optee/mbedtls-nist-O2/attestdiv", 4, 2)
CORE = "cortex-a72"
BOARD = "nucleo-f446re/p256-m-Os/sign,curve=secp256r1,size=32B"
_STATES: tuple[Literal["first", "warm"], ...] = ("first", "warm")
LINE = {"core": CORE, "kind": "integer-compiled", "figures": 41, "median": 2.6, "p90": 16, "worst": 18}
LINE |= {"least": 0.84, "most": 1.2, "lowest": 0.84, "highest": 1.2}
ERRORS = ErrorLines.model_validate({"lines": [LINE, LINE | {"kind": "integer"}]})


def sample(place: str, phase: str, index: int, cycles: int) -> PredictedSample:
    """A sample of sign whose cycles are half OP-TEE's cryptography and half Linux's."""
    zero = dict.fromkeys(("outside", "outside_instructions", "vector_instructions", "vector_cycles"), 0)
    half = {"instructions": cycles, "cycles": [cycles // 2, 0, 0, 0, 0, 0], **zero}
    return PredictedSample.model_validate(
        {
            "measure": "sign",
            "place": place,
            "phase": phase,
            "index": index,
            "instructions": 2 * cycles,
            "layers": [{"layer": "OP-TEE: cryptography", **half}, {"layer": "Linux: files", **half}],
            "events": dict.fromkeys(Events.model_fields, 0),
        }
    )


def prediction(core: str = CORE, cycles: int = 6_000_000, case: str = CASE.id) -> Predicted:
    """Of one case on one core: a first call and a warm one, at two places."""
    samples = [
        sample(place, phase, index, cycles + 1_000_000 * (1 - index))
        for place in ("ta", "client")
        for index, phase in enumerate(("first", "sample"))
    ]
    cases = [PredictedCase(case=case, samples=samples)]
    return Predicted(format=1, core=core, table="a" * 64, plugin="b" * 64, cases=cases)


@pytest.fixture
def run(runs_dir: Path) -> Run:
    """A run of the case, without predictions."""
    return write_run(runs_dir, [CASE])


@pytest.fixture
def predictions(run: Run, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """The run with predictions of two cores, one of which is validated, and a budget."""
    monkeypatch.setattr(reports, "load_errors", lambda: ERRORS)
    store(run, prediction())
    store(run, prediction("cortex-a55", 4_000_000))
    return read_run(run, parse_budget("5ms@1.5GHz"))


def test_predictions_are_kept_and_never_rewritten(run: Run) -> None:
    """If this fails, a run says another day what another model said."""
    assert load(run) == ()
    store(run, prediction())
    (file,) = run.path.glob("predicted-*")
    before = file.read_bytes()
    store(run, prediction())
    with pytest.raises(WorldwiseError, match="worldwise rewrites none"):
        store(run, prediction(cycles=2_000_000))
    assert file.read_bytes() == before
    assert load(run) == (prediction(),)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("predicted-cortex-a72.json", b"{}", "not a file of predictions"),
        ("predicted-cortex-a72.json", b"\xff", "not a file of predictions"),
        ("predicted-cortex-a53.json", prediction().model_dump_json().encode(), "not those of its name"),
        (
            "predicted-cortex-a72.json",
            prediction(case="optee/x-O2/hello").model_dump_json().encode(),
            "the run has no case",
        ),
    ],
)
def test_a_stranger_s_predictions_are_checked(name: str, content: bytes, said: str, run: Run) -> None:
    """If this fails, a received run breaks a report, or has predictions of something else."""
    (run.path / name).write_bytes(content)
    with pytest.raises(WorldwiseError, match=said):
        load(run)


def test_without_predictions_reports_say_nothing_of_them(run: Run) -> None:
    """If this fails, old reports change."""
    reading = read_run(run)
    assert "predicted" not in to_json(reading)
    assert "predicted" not in to_csv(reading)
    assert not [one for one in sections(reading, full=True) if one.name.startswith("predicted")]


def test_cycles_stand_beside_the_count(predictions: Reading) -> None:
    """If this fails, a reader takes a prediction for a count, or does not see the count."""
    (summary,) = named_sections(sections(predictions), "predicted")
    assert summary.table
    by_row = {(row[2], row[3], row[4]): row for row in summary.table.rows}
    row = next(one for one in predictions.rows if (one.measure, one.place) == ("sign", "client"))
    shown = by_row["client", CORE, "warm"]
    assert shown[5] == f"{row.median:,.0f}"
    assert shown[6:8] == ["6,000,000", "2.6"]
    assert shown[11:14] == ["1.5 GHz", "4,000.0", "50.0"]
    assert shown[14].startswith("undecided (between 3.35 ms and ")
    assert by_row["client", CORE, "first call"][5] == f"{row.counts.first:,}"
    assert by_row["client", "cortex-a55", "warm"][7] == "-"
    notes = " ".join(summary.notes)
    assert "Predicted, not measured" in notes
    assert (
        "cortex-a72, compiled integer code: ± 2.6 % (41 held-out figures; 90 %: 16 %; worst 18 %; hardware took 0.84 "
        "to 1.20 times as much in 95 % of such figures (in at least 89 %, with a confidence of 95 %))." in notes
    )
    assert "cortex-a55, compiled integer code: unvalidated: no held-out figure of this core." in notes


def test_every_format_has_them(predictions: Reading) -> None:
    """If this fails, a format leaves predictions out."""
    found = json.loads(to_json(predictions))["predicted"]
    assert {(one["core"], one["state"]) for one in found} == {
        (core, state) for core in (CORE, "cortex-a55") for state in ("first", "warm")
    }
    one = next(each for each in found if (each["core"], each["state"], each["place"]) == (CORE, "warm", "client"))
    assert (one["predicted_cycles"], one["predicted_us"], one["verdict"]) == (6_000_000, 4000.0, "undecided")
    assert one["low"] < 6_000_000 < one["high"]
    assert sum(layer["cycles"]["issue"] for layer in one["layers"]) == 6_000_000
    rows = list(csv.DictReader(io.StringIO(to_csv(predictions))))
    signs = {row["place"]: row for row in rows if row["measure"] == "sign"}
    assert signs["client"]["predicted_cortex-a72_warm_cycles"] == "6000000"
    assert signs["client"]["predicted_cortex-a55_first_cycles"] == "5000000"
    assert signs["client"]["median_instructions"]
    assert {row["predicted_cortex-a72_warm_cycles"] for row in rows if row["measure"] != "sign"} == {""}
    text = to_markdown(predictions)
    assert "## Predicted cycles" in text
    assert f"Layers: {CASE.id}: sign at client, {CORE}, warm" in text


def test_a_sampled_measure_says_how_far_it_may_be_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, sampled cycles pass for those of a whole run, or every table has a column for nothing."""
    monkeypatch.setattr(reports, "load_errors", lambda: ERRORS)
    whole = prediction()
    # 100 units of 500 instructions, half of them of 200 cycles and half of 300: s.e. 5 cycles a unit, of 2,000 units.
    stratum = {
        "units": 100,
        "cycles": 25_000,
        "instructions": 50_000,
        "cycles_squared": 6_500_000,
        "cycles_by_instructions": 12_500_000,
        "instructions_squared": 25_000_000,
        "skipped": 950_000,
        "estimated": 475_000,
    }
    samples = [
        one.model_copy(update={"sampled": [Stratum.model_validate(stratum)]}) if one.place == "client" else one
        for one in whole.cases[0].samples
    ]
    store(run, whole.model_copy(update={"cases": [PredictedCase(case=CASE.id, samples=samples)]}))
    reading = read_run(run, parse_budget("5ms@1.5GHz"))
    (summary,) = named_sections(sections(reading), "predicted")
    assert summary.table
    assert summary.table.headers[14:] == ["sampling\n± %", "verdict"]
    assert [(row[2], row[4], row[14]) for row in summary.table.rows] == [
        ("ta", "first call", "-"),
        ("ta", "warm", "-"),
        ("client", "first call", "0.27"),
        ("client", "warm", "0.32"),
    ]
    notes = " ".join(summary.notes)
    assert "with a confidence of 95 %)); sampled: 1 in 20, ± 0.32 % (95 %)." in notes
    assert "worldwise predict --whole" in notes
    found = {(one["place"], one["state"]): one["sampling"] for one in json.loads(to_json(reading))["predicted"]}
    # 1.96 times 2,000 times 50.25 / 10 times the root of 95 %, since so many units were left out.
    assert found["client", "warm"]["margin"] == 19_200
    assert found["client", "warm"]["one_in"] == 20
    assert found["ta", "warm"] is None
    rows = {row["place"]: row for row in csv.DictReader(io.StringIO(to_csv(reading))) if row["measure"] == "sign"}
    assert float(rows["client"]["predicted_cortex-a72_warm_sampling_error_percent"]) == pytest.approx(0.32, abs=0.001)
    assert rows["ta"]["predicted_cortex-a72_warm_sampling_error_percent"] == ""


def test_the_answer_says_the_verdict(predictions: Reading) -> None:
    """If this fails, the first screen says that it fits, and cycles say that nobody knows."""
    stream = io.StringIO()
    render_answer(predictions, Console(file=stream, width=200), "worldwise report latest")
    said = " ".join(stream.getvalue().split())
    assert "on cortex-a72 whether signing fits is undecided (between 3.35 ms and 10.7 ms)" in said
    assert (
        "on cortex-a55 whether signing fits is undecided (between 1.33 ms and 7.67 ms; this core has no error" in said
    )
    assert "Not judged: what is measured at ta, for the budget is of place client." in said


def line_of(
    measure: str, state: Literal["first", "warm"], cycles: int, case: Case = CASE, place: str = "client"
) -> reports.PredictionLine:
    """A line whose cycles are all a library's: between 0.84 and 1.2 times as many."""
    one = sample(place, "first", 0, cycles)
    spent = one.layers[0].model_copy(update={"cycles": [cycles, 0, 0, 0, 0, 0], "layer": "library"})
    one = one.model_copy(update={"measure": measure, "layers": [spent], "instructions": cycles})
    # A warm one, since a first one would be outside as a whole.
    return reports.PredictionLine(case, replace(estimate(one, CORE, "warm", ERRORS), state=state))


def test_a_verdict_says_what_was_judged_and_what_was_not() -> None:
    """If this fails, `it fits` stands above a verification that does not."""
    budget = parse_budget("5ms@1GHz")
    lines = [
        line_of("sign", "first", 3_000_000),
        line_of("sign", "warm", 2_000_000),
        line_of("verify", "warm", 9_000_000),
        line_of("verify", "warm", 9_000_000, place="ta"),
    ]
    said = reports.verdict_note(lines, budget)
    assert said == (
        "Budget of 5 ms at 1 GHz, by predicted cycles: on cortex-a72 signing fits (at most 3.6 ms). "
        "The budget is for signing alone; against the same limit on cortex-a72 verifying would not fit (at least 7.56 "
        "ms). Not judged: what is measured at ta, for the budget is of place client."
    )
    (table,) = [reports.summary(lines, budget).table]
    assert table
    assert [row[-1] for row in table.rows] == ["fits", "fits", "would not fit", "not judged (at ta)"]
    data = [predicted_data.to_json(line, budget) for line in lines]
    assert [(one["verdict"], one["decides"]) for one in data] == [
        ("fits", True),
        ("fits", True),
        ("does not fit", False),
        ("not judged", False),
    ]
    assert predicted_data.budget_json(lines, budget)["verdict"] == "fits"
    # A budget for both measures: what does not fit decides.
    both = parse_budget("5ms@1GHz", ["sign", "verify"])
    assert "signing fits (at most 3.6 ms), verifying does not fit (at least 7.56 ms)." in (
        reports.verdict_note(lines, both)
    )
    assert predicted_data.budget_json(lines, both)["verdict"] == "does not fit"
    rows = list(csv.DictReader(io.StringIO(predicted_data.to_csv(lines, both))))
    assert [(row["verdict"], row["decides"]) for row in rows] == [
        ("fits", "True"),
        ("fits", "True"),
        ("does not fit", "True"),
        ("not judged", "False"),
    ]


def test_a_verdict_of_nothing_is_no_verdict() -> None:
    """If this fails, a budget is met by a measure that it is not for."""
    budget = parse_budget("5ms@1GHz")
    lines = [line_of("verify", "warm", 1_000_000)]
    assert "nothing of signing was predicted, so nothing is judged" in reports.verdict_note(lines, budget)
    assert predicted_data.budget_json(lines, budget)["verdict"] == ""


def test_a_verdict_of_several_cases_says_how_many_fit_and_which_is_best() -> None:
    """If this fails, one case that fits, or one that does not, speaks for all."""
    other, third = (parse_case(f"optee/{name}/attestdiv", 4, 2) for name in ("mbedtls-O2", "libtomcrypt-O2"))
    lines = [
        line_of("sign", "first", 3_000_000),
        line_of("sign", "warm", 2_000_000),
        line_of("sign", "first", 5_000_000, other),
        line_of("sign", "warm", 2_000_000, other),
        line_of("sign", "warm", 9_000_000, third),
    ]
    said = reports.verdict_note(lines, parse_budget("5ms@1GHz"))
    assert said.endswith(
        "on cortex-a72 signing fits in 1 of 3 cases (the shortest is optee/mbedtls-nist-O2/attestdiv, at most 3.6 ms), "
        "does not fit in 1 and undecided in 1."
    )
    # Of one case the calls are told apart.
    assert (
        "whether a first call of signing fits is undecided (between 4.2 ms and 6 ms) and a warm one of signing fits "
        "(at most 2.4 ms)." in reports.verdict_note(lines[2:4], parse_budget("5ms@1GHz"))
    )


# --- the one screen of `predict` ---


def shown(lines: list[reports.PredictionLine], budget: str = "") -> str:
    """The screen as it is printed to a pipe."""
    stream = io.StringIO()
    limit = parse_budget(budget) if budget else None
    lines = [replace(line, clock=limit.clock) for line in lines] if limit else lines
    found = predict_screen.screen(lines, limit, lambda line: line.estimate.sample.place == "client")
    print_sections(found, Console(file=stream, width=140))
    return stream.getvalue()


def test_the_screen_says_verdict_and_interval_in_time_first() -> None:
    """If this fails, the sentence that README promises is missing in 146 lines."""
    lines = [
        line_of("sign", "first", 3_000_000),
        line_of("sign", "warm", 2_000_000),
        line_of("verify", "warm", 5_000_000),
        line_of("verify", "warm", 9_000_000, place="ta"),
    ]
    text = shown(lines, "5ms@1GHz")
    told = text.splitlines()
    assert told[0] == "optee/mbedtls-nist-O2/attestdiv on a cortex-a72 at 1 GHz: predicted, not measured"
    assert " ".join(told[1:3]) == (
        "Signing fits 5 ms: a warm call takes 2 ms, between 1.68 and 2.4 ms; a first one 3 ms, between 2.52 and 3.6 ms."
    )
    assert told[3].startswith("Whether verifying fits 5 ms is undecided: a warm call takes 5 ms, between 4.2")
    assert "Not judged: what is measured elsewhere, for the budget is of place client." in text
    (row,) = [line.split() for line in told if line.startswith("attestdiv sign") and " warm " in line]
    assert row == [
        "attestdiv",
        "sign",
        "client",
        "warm",
        "2",
        "ms",
        "1.68",
        "ms",
        "2.4",
        "ms",
        "2,000,000",
        "2,000,000",
        "fits",
    ]
    assert "41 hardware figures that no number was fitted to" in " ".join(text.split())
    without = " ".join(shown(lines).split())
    assert "Signing: a warm call takes 1.33 ms, between 1.12 and 1.6 ms; a first one 2 ms" in without
    assert "fits" not in without and "verdict" not in without
    # A measure that the budget is not for, and one that does not fit.
    assert "Verifying would fit 9 ms" in shown(lines, "9ms@1GHz")
    assert "Signing does not fit 1 ms: a warm call takes 2 ms" in shown(lines, "1ms@1GHz")
    parted = " ".join(shown(lines, "3ms@1GHz").split())
    assert (
        "Signing fits 3 ms: a warm call takes 2 ms, between 1.68 and 2.4 ms; whether signing fits 3 ms is undecided"
        in parted
    )


def test_a_verdict_of_own_code_names_the_region() -> None:
    """If this fails, `call does not fit` does not say which."""
    first, other = (replace(CASE, target="own", operation=name) for name in ("crypto_sign", "crypto_open"))
    lines = [line_of("call", "warm", 9_000_000, first, "region"), line_of("call", "warm", 2_000_000, other, "region")]
    budget = replace(parse_budget("5ms@1.5GHz"), measures=("call",), place="region")
    told = "`crypto_sign` does not fit 5 ms: a warm call takes 6 ms, between 5.04 and 7.2 ms."
    assert told in predict_screen.screen(lines[:1], budget, lambda _: True)[0].notes
    assert "on cortex-a72 `crypto_sign` does not fit (at least 5.04 ms)" in reports.verdict_note(lines[:1], budget)
    assert "a call fits in 1 of 2 cases" in reports.verdict_note(lines, budget)


def test_the_screen_is_one_screen_whatever_is_predicted() -> None:
    """If this fails, a run's hundred rows, four cores or long ids push the verdict out of the terminal."""
    long = parse_case("linux-armv8/bearssl-O2/sign,curve=secp256r1,size=32B", 4, 2)
    others = [parse_case(f"optee/{name}/attestdiv", 4, 2) for name in ("mbedtls-O2", "libtomcrypt-O2", "mbedtls-Os")]
    every = [
        replace(line, estimate=replace(line.estimate, core=core))
        for core in ("cortex-a72", "cortex-a53", "cortex-a76", "neoverse-n1")
        for case in (CASE, long, *others)
        for measure in ("sign", "verify")
        for state in _STATES
        for place in ("ta", "client")
        for line in [line_of(measure, state, 12_345_678, case, place)]
    ]
    for lines in (every, [line for line in every if line.case == CASE], [one for one in every if one.case == long]):
        for budget in ("", "5ms@1.5GHz"):
            printed = shown(lines, budget).splitlines()
            assert len(printed) <= 40
            assert max(len(line.rstrip()) for line in printed) <= 100
            assert any("more lines: `--full`" in line for line in printed)
    assert "Budget of 5 ms at 1.5 GHz" in shown(every, "5ms@1.5GHz")


def test_a_budget_that_judges_nothing_is_told_on_the_screen() -> None:
    """If this fails, an empty verdict reads as a budget that is met."""
    assert "nothing of signing was predicted, so nothing is judged" in " ".join(
        shown([line_of("verify", "warm", 1_000_000)], "5ms@1GHz").split()
    )


# --- the command, called wrongly ---


@pytest.fixture
def call(call: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls a command, without a lab."""

    def no_lab(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the lab was asked for")

    for module in ("worldwise.cli.traces.plugin_runs", "worldwise.cli.run_command.measurement"):
        monkeypatch.setattr(importlib.import_module(module), "open_lab", no_lab)
    return call


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["predict", CASE.id], "Missing option '--core'"),
        (["predict", CASE.id, "--core", CORE, "--clock", "fast"], "is not a clock"),
        (["predict", CASE.id, "--core", CORE, "--budget", "5ms"], "no clock"),
        (["predict", CASE.id, "--core", CORE, "--measure", "fly"], "has no measure fly"),
        (["predict", CASE.id, "--core", CORE, "--format", "flame"], "takes one region on one core"),
        (["predict", "optee/mbedtls-nist-O2/hello", "--core", CORE, "--budget", "5ms@1GHz"], "judges nothing"),
        (
            ["predict", "own/app/work", "--core", CORE],
            "name the run, and the case behind it: latest --case 'own/app/work'",
        ),
        (["predict", "nothing-of-that-kind", "--core", CORE], "or a suite of `worldwise suites`"),
        (["predict", "quick", "--core", CORE, "--case", "*/none"], "has no case that matches */none"),
        (["predict", BOARD, "--core", CORE], "choose a core such as cortex-m4"),
        (["predict", BOARD, "--core", "cortex-m4", "--measure", "fly"], "has no measure fly"),
        (["run", "quick", "--predict", ","], "no core is named"),
        (["predict", CASE.id, "--core", "a73"], "did you mean 'cortex-a7"),
        (["predict", CASE.id, "--core", "M4"], "and a cortex-m4 cannot run it"),
        (["predict", BOARD, "--core", "Cortex-A72"], "which a Cortex-A72 cannot run choose a core such as cortex-m4"),
    ],
)
def test_a_wrong_call_is_told_before_anything_is_run(
    arguments: list[str], said: str, call: Call, runs_dir: Path
) -> None:
    """If this fails, somebody waits for a machine to hear of a typing error."""
    answer = call(*arguments, "--runs", runs_dir)
    assert answer.status in (1, 2)
    assert said in answer.told


def test_a_run_of_several_cases_is_no_flame_graph(call: Call, runs_dir: Path) -> None:
    """If this fails, the last case's graph is taken for that of all."""
    write_run(runs_dir, [CASE, parse_case("linux/mbedtls-nist-O2/attestdiv", 4, 2)])
    answer = call(*("predict", "latest", "--core", CORE, "--measure", "sign", "--format", "flame"), "--runs", runs_dir)
    assert (answer.status, "takes one region on one core" in answer.told) == (2, True)
