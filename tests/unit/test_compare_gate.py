# SPDX-License-Identifier: BSD-2-Clause
import copy
import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from junitparser import JUnitXml
from rich.console import Console

import boards
from synthetic import RecordList, lines, make_records, new_writer, write_case
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.read import run_counts
from worldwise.read.compared import gate
from worldwise.read.compared.comparison import Allowance, Comparison, Gate, Unpaired
from worldwise.read.compared.nothing_common import nothing_common
from worldwise.read.compared.selection import CaseParts, parse_selection
from worldwise.read.models import Reading
from worldwise.report import comparisons as gate_report
from worldwise.report import report
from worldwise.run.folder.manifests import OwnEntry
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome
from worldwise.run.folder.rundir import Run, open_run

CURVE = ("curve", "secp256r1")
SIGN = Case("nucleo-f446re", "bearssl", "Os", "sign", 3, 1, (CURVE, ("size", "32B")))
HASH = Case("nucleo-f446re", "bearssl", "O2", "sha256", 3, 1, (("size", "32B"),))
OTHER = Case("nucleo-f446re", "micro-ecc", "Os", "sign", 3, 1, (CURVE, ("size", "32B")))
TEE = Case("optee", "mbedtls-nist", "O2", "attestdiv", 3, 1)

Data = Mapping[Case, RecordList | str | None]


@pytest.fixture(autouse=True)
def few_boards(monkeypatch: pytest.MonkeyPatch) -> None:
    boards.use(monkeypatch)


@pytest.fixture(scope="module")
def records() -> dict[Case, RecordList]:
    """The same for every run, as the same machines give the same."""
    with pytest.MonkeyPatch.context() as patch:
        boards.use(patch)
        return {case: make_records(case) for case in (SIGN, HASH, OTHER, TEE)}


def run_of(runs_dir: Path, second: int, data: Data, **fields: Any) -> Run:
    """A run of these cases: records, an error for one that failed, None for one that was not measured."""
    images = fields.pop("images", {})
    with new_writer(runs_dir, list(data), second=second, **fields) as writer:
        for case, what in data.items():
            if isinstance(what, list):
                write_case(writer, case, lines(what), images)
            elif what is not None:
                writer.case_directory(case.id)
                writer.complete_case(case, CaseInputs("boot"), CaseOutcome(error=what))
        return writer.finish("complete")


def grown(records: RecordList, by: Mapping[int, int], measure: str = "sign", place: str = "mcu") -> RecordList:
    """The records with some calls that take more: index -> instructions."""
    changed = copy.deepcopy(records)
    later = 0
    for record in changed:
        if record["type"] == "sample":
            record["begin"] += later
            if (record["measure"], record["place"]) == (measure, place):
                more = by.get(record["index"], 0)
                record["count"] += more
                later += more
            record["end"] += later
    return changed


def limit(text: str, **more: Any) -> gate.GateOptions:
    return gate.GateOptions(limit=gate.parse_limit(text), limit_text=text, **more)


def table(comparison: Comparison, full: bool = False) -> str:
    console = Console(file=io.StringIO(), width=200)
    gate_report.render(comparison, console, full)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_same_is_the_same(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    data = {SIGN: records[SIGN], HASH: records[HASH], TEE: records[TEE]}
    comparison = gate.compare_runs(run_of(runs_dir, 0, data), run_of(runs_dir, 1, data), limit("0%"))
    assert {row.verdict for row in comparison.rows} == {"same"}
    assert all(row.identical and row.same_inputs and row.calls_differ == 0 for row in comparison.rows)
    assert comparison.gate is not None
    assert comparison.gate.passed
    # One row per case, measure and place: sign and verify of an attestation, each in the TA and from the client.
    assert [row.name for row in comparison.rows] == [
        f"{SIGN.id} sign mcu",
        f"{HASH.id} hash mcu",
        *(f"{TEE.id} {measure} {place}" for measure in ("sign", "verify") for place in ("ta", "client")),
    ]
    text = table(comparison)
    assert "6 of 6 rows are the same, call by call to the instruction (--full lists them)." in text
    assert "3 of 3 cases have the same records, to the byte." in text
    assert "Gate: passed" in text
    assert SIGN.id not in text
    assert SIGN.id in table(comparison, full=True)


def test_one_instruction_is_caught(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    a = run_of(runs_dir, 0, {SIGN: records[SIGN], HASH: records[HASH]})
    b = run_of(
        runs_dir,
        1,
        {SIGN: grown(records[SIGN], dict.fromkeys(range(5), 1)), HASH: records[HASH]},
        git="0123456789abcdef+",
    )
    comparison = gate.compare_runs(a, b, limit("0%"))
    sign, hashing = comparison.rows
    assert (sign.difference, sign.verdict, sign.calls_differ, sign.exceeds) == (1.0, "slower", 5, True)
    assert (hashing.verdict, hashing.exceeds) == ("same", False)
    assert comparison.gate == Gate(limit="0%", judge="auto", judged=2, exceeded=1, lost=0, passed=False)
    assert any("files differed from that revision (+)" in note for note in comparison.notes)
    text = table(comparison)
    assert "Gate: FAILED" in text
    assert "+1" in text
    assert "slower, OVER THE LIMIT" in text

    back = gate.compare_runs(b, a, limit("0%"))
    assert back.rows[0].verdict == "faster"
    assert back.gate is not None
    assert back.gate.passed
    within = gate.compare_runs(a, b, limit("0.1%"))
    assert within.gate is not None
    assert within.gate.passed


@pytest.mark.parametrize(
    ("by", "verdict", "calls", "median"),
    [
        pytest.param({3: 1}, "slower", True, False, id="one-sample"),
        pytest.param({0: 1}, "slower", True, False, id="the-first-call"),
        pytest.param({1: 1}, "slower", True, False, id="warm-up"),
        pytest.param({0: 5, 1: -5}, "mixed", True, False, id="more-and-less"),
        pytest.param({2: -1, 3: -1, 4: -1}, "faster", False, False, id="less"),
        pytest.param({1: 1, 2: -1, 3: -1, 4: -1}, "faster", True, False, id="less-but-for-the-warm-up"),
        pytest.param(dict.fromkeys(range(5), 40), "slower", True, True, id="all"),
    ],
)
def test_what_is_judged(
    runs_dir: Path, records: dict[Case, RecordList], by: dict[int, int], verdict: str, calls: bool, median: bool
) -> None:
    """Every call on a board; the median where one asks for it."""
    a = run_of(runs_dir, 0, {SIGN: records[SIGN]})
    b = run_of(runs_dir, 1, {SIGN: grown(records[SIGN], by)})
    for judge, exceeds in (("auto", calls), ("calls", calls), ("median", median)):
        (row,) = gate.compare_runs(a, b, limit("0%", judge=judge)).rows
        assert (row.verdict, row.exceeds) == (verdict, exceeds)
        assert row.judged == ("median" if judge == "median" else "calls")


def test_a_call_that_is_over_the_limit_alone_is_named(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    """If this fails, a row is over the limit and what is said of it is not."""
    a = run_of(runs_dir, 0, {SIGN: records[SIGN]})
    b = run_of(runs_dir, 1, {SIGN: grown(records[SIGN], {2: 1, 3: 1, 4: 1, 0: 7})})
    comparison = gate.compare_runs(a, b, limit("0%"))
    (message,) = [text for text in gate_report.sections(comparison)[-1].notes if SIGN.id in text]
    assert "sign mcu: median +1 instructions" in message
    assert "; call 0 +7 (" in message
    assert message.endswith("; the limit is 0%")


def test_the_limit_is_exact(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    """What is just at the limit passes, one more does not."""
    a = run_of(runs_dir, 0, {SIGN: records[SIGN]})
    counts = [record["count"] for record in records[SIGN] if record["type"] == "sample"]
    tenth = {index: count // 1000 for index, count in enumerate(counts)}
    at = run_of(runs_dir, 1, {SIGN: grown(records[SIGN], tenth)})
    over = run_of(runs_dir, 2, {SIGN: grown(records[SIGN], {index: more + 1 for index, more in tenth.items()})})
    assert gate.compare_runs(a, at, limit("0.1%")).rows[0].exceeds is False
    assert gate.compare_runs(a, over, limit("0.1%")).rows[0].exceeds is True


def test_a_tick_elsewhere_is_no_change_of_the_library(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    """In a machine with a timer the medians are judged."""
    moved = grown(records[TEE], {2: 900, 3: -15}, "verify", "client")
    comparison = gate.compare_runs(
        run_of(runs_dir, 0, {TEE: records[TEE]}), run_of(runs_dir, 1, {TEE: moved}), limit("0.1%")
    )
    row = next(row for row in comparison.rows if (row.measure, row.place) == ("verify", "client"))
    assert row.calls_differ == 2
    assert (row.judged, row.exceeds) == ("median", False)


def test_other_inputs_are_said(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    """Other keys are other work: medians are all that can be compared."""
    a, b = run_of(runs_dir, 0, {TEE: records[TEE]}), run_of(runs_dir, 1, {TEE: make_records(TEE)})
    comparison = gate.compare_runs(a, b, limit("0%", judge="calls"))
    row = comparison.rows[0]
    assert (row.same_inputs, row.calls_differ, row.worst, row.judged) == (False, None, None, "median")
    assert row.finding == "same, other inputs"
    assert "rows have other inputs" in table(comparison)


@pytest.mark.parametrize(
    ("fields", "what", "says"),
    [
        ({"lab": "f" * 64}, "lab", "lab aaaaaaaaaaaa / ffffffffffff"),
        ({"lab": "f" * 64, "packages": {"gcc": "15"}}, "lab", "of its packages gcc none / 15, qemu-system-arm 1:10.0"),
        ({"images": {"linux": "2" * 64}}, "images", r"image linux: 111111111111 / 222222222222 \(1 cases\)"),
        ({"images": {}}, "images", "image linux: 111111111111 / none"),
        ({"git": "feedfacefeed"}, "worldwise", "0.1.0 at 0123456789abcdef / 0.1.0 at feedfacefeed"),
    ],
)
def test_what_must_agree(
    runs_dir: Path, records: dict[Case, RecordList], fields: dict[str, Any], what: Allowance, says: str
) -> None:
    """It is refused, or allowed and told."""
    images = {"linux": "1" * 64}
    a = run_of(runs_dir, 0, {SIGN: records[SIGN]}, images=images)
    b = run_of(runs_dir, 1, {SIGN: grown(records[SIGN], {2: 1})}, **{"images": images, **fields})
    with pytest.raises(WorldwiseError, match=says) as caught:
        gate.compare_runs(a, b)
    assert caught.value.message.startswith(f"runs {a.id} and {b.id} differ where they must agree: ")
    assert caught.value.hint.endswith(f"--allow {what}")
    comparison = gate.compare_runs(a, b, gate.GateOptions(allow=(what,)))
    assert [each.what for each in comparison.disagreements] == [what]
    assert f"They differ, as you allowed, in {what}: " in table(comparison)


def test_images_with_the_library_may_differ(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    """They are what is compared."""
    frame = {"tf-a": "1" * 64}
    a, b = (
        run_of(runs_dir, second, {TEE: records[TEE]}, images={**frame, "optee-mbedtls-nist-O2": digit * 64})
        for second, digit in enumerate("23")
    )
    assert gate.compare_runs(a, b).rows


@pytest.mark.parametrize(
    ("name", "case", "library"),
    [
        ("optee-mbedtls-nist-O2", TEE, True),
        ("initramfs-hello-mbedtls-nist-O2", TEE, True),
        ("optee-mbedtls-nist-O2", Case("optee", "mbedtls", "O2", "attestdiv", 1, 0), False),
        ("optee-mbedtls-nist-O2", Case("optee", "mine", "O2", "attestdiv", 1, 0), False),
        ("programs-mine-O2", Case("optee", "mine", "O2", "attestdiv", 1, 0), True),
        ("programs-linux-armv8-mine-O2-secp256r1-nist-off", Case("linux-armv8", "mine", "O2", "sign", 1, 0), True),
        ("nucleo-f446re-bearssl-Os", SIGN, True),
        ("linux", SIGN, False),
    ],
)
def test_which_images_have_the_library(name: str, case: Case, library: bool) -> None:
    assert gate.is_library_image(name, case) is library


def test_the_same_images_must_give_the_same(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    a = run_of(runs_dir, 0, {SIGN: records[SIGN]}, images={"linux": "1" * 64})
    b = run_of(runs_dir, 1, {SIGN: grown(records[SIGN], {2: 1})}, images={"linux": "1" * 64})
    notes = gate.compare_runs(a, b).notes
    assert any("the images are the same, but the records differ. That is a defect" in note for note in notes)
    assert any("Every image is the same in both runs" in note for note in notes)


def test_other_numbers_of_samples(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    more = Case(SIGN.target, SIGN.implementation, SIGN.optimisation, SIGN.operation, 4, 1, SIGN.parameters)
    a, b = run_of(runs_dir, 0, {SIGN: records[SIGN]}), run_of(runs_dir, 1, {more: make_records(more)})
    with pytest.raises(WorldwiseError, match=r"samples after warm-up calls of .* \(3 after 1 / 4 after 1\)"):
        gate.compare_runs(a, b)
    allow: tuple[Allowance, ...] = ("samples",)
    comparison = gate.compare_runs(a, b, gate.GateOptions(allow=allow))
    assert not comparison.rows[0].same_inputs
    assert "3 / 4" in table(comparison)


def test_what_is_not_compared_is_listed(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    a = run_of(runs_dir, 0, {SIGN: records[SIGN], HASH: records[HASH], TEE: "it hung\nfor ever"})
    b = run_of(runs_dir, 1, {SIGN: records[SIGN], HASH: "check failed", OTHER: records[OTHER], TEE: None})
    comparison = gate.compare_runs(a, b)
    assert {each.case: (each.side, each.reason, each.lost) for each in comparison.unpaired} == {
        HASH.id: ("a", "in B failed: check failed", True),
        OTHER.id: ("b", "in A is not among the cases", False),
        TEE.id: ("both", "in A failed: it hung; in B was not measured", False),
    }
    assert f"{HASH.id}: in B failed: check failed." in table(comparison)
    gated = gate.compare_runs(a, b, limit("0%"))
    assert gated.gate is not None
    assert (gated.gate.lost, gated.gate.exceeded, gated.gate.passed) == (1, 0, False)
    allowed = gate.compare_runs(a, b, limit("0%", allow=("cases",)))
    assert allowed.gate is not None
    assert allowed.gate.passed


def test_a_gate_that_judges_nothing_is_none(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    a, b = run_of(runs_dir, 0, {SIGN: records[SIGN]}), run_of(runs_dir, 1, {HASH: records[HASH]})
    with pytest.raises(WorldwiseError, match="the gate has nothing to judge") as caught:
        gate.compare_runs(a, b, limit("0%"))
    assert caught.value.details.splitlines()[:2] == [
        f"A: run {a.id}, 1 case: {SIGN.id}",
        f"B: run {b.id}, 1 case: {HASH.id}",
    ]
    assert "operations: " in caught.value.details
    with pytest.raises(WorldwiseError, match="there is nothing to compare"):
        gate.compare_runs(a, b)
    with pytest.raises(WorldwiseError, match="is compared with itself"):
        gate.compare_runs(a, a, limit("0%"))
    with pytest.raises(WorldwiseError, match="has no case that is 'optee/\\*'"):
        gate.compare_runs(a, b, gate.GateOptions(pattern="optee/*"))


@pytest.mark.parametrize(
    ("a", "b", "said", "way_out"),
    [
        (
            [f"own/old/f{number}" for number in range(400)],
            ["own/new/f1"],
            "A: run A, 400 cases: own/old/f0, own/old/f1, own/old/f2 and 397 more\n"
            "B: run B, 1 case: own/new/f1\nnames of the code: old / new",
            "give the code one name in both runs",
        ),
        (
            ["optee/mbedtls-O2/sign", "optee/mbedtls-Os/sign"],
            ["optee/libtomcrypt-O2/sign"],
            "libraries: mbedtls-O2, mbedtls-Os / libtomcrypt-O2",
            "measure both in one run, and name them: `worldwise compare RUN VARIANT_A VARIANT_B`",
        ),
        (
            ["optee/mbedtls-O2/sign"],
            ["linux/mbedtls-O2/sign"],
            "targets: optee / linux",
            "`worldwise compare RUN TARGET_A TARGET_B`",
        ),
        (
            ["optee/mbedtls-O2/sign"],
            ["linux/bearssl-O2/hash"],
            "operations: sign / hash",
            "measure the same suite twice",
        ),
        (["no id"], ["another"], "A: run A, 1 case: no id\nB: run B, 1 case: another", "measure the same suite twice"),
        (["optee/mbedtls-O2/sign"], [], "B: run B, no case: -", "choose others"),
    ],
)
def test_runs_without_a_common_case_say_what_differs(a: list[str], b: list[str], said: str, way_out: str) -> None:
    """If this fails, who compares two runs of other things gets a line of hundreds of names, and no way out."""
    runs = [SimpleNamespace(id=name, path=Path(name), manifest=SimpleNamespace(suite=name)) for name in ("A", "B")]
    error = nothing_common("there is nothing to compare", tuple(runs), (a, b), [])  # type: ignore[arg-type]
    assert said in error.details
    assert way_out in error.hint
    assert all(len(line) < 200 for line in (*error.details.splitlines(), error.hint))


def test_a_case_that_both_have_says_why_it_is_not_compared() -> None:
    """If this fails, whoever compares a run that was cut short looks for what differs, and nothing does."""
    case = "optee/mbedtls-O2/sign"
    run = SimpleNamespace(id="A", path=Path("A"), manifest=SimpleNamespace(suite="x"))
    why = Unpaired(case=case, side="a", reason="in B was not measured", lost=True)
    error = nothing_common("nothing", (run, run), ([case], [case]), [why])  # type: ignore[arg-type]
    assert f"1 case is in both, but in B was not measured: {case}" in error.details
    assert "--resume" in error.hint


def test_own_libraries_say_what_changed(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    def entry(content: str) -> OwnEntry:
        return OwnEntry(name="mine", manifest="", digest=content * 64, files={"adapter.c": content, "x.h": "same"})

    runs = [run_of(runs_dir, n, {SIGN: records[SIGN]}, own=[entry(each)]) for n, each in enumerate("aab")]
    assert "mine: all 2 files are the same." in gate.compare_runs(runs[0], runs[1]).notes
    assert "mine: 1 of its files differ: adapter.c." in gate.compare_runs(runs[0], runs[2]).notes


def test_variants_of_one_run(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    run = run_of(runs_dir, 0, {SIGN: records[SIGN], HASH: records[HASH], OTHER: records[OTHER]})
    comparison = gate.compare_variants(run, "bearssl-Os", "micro-ecc-Os")
    (row,) = comparison.rows
    assert (row.case, row.case_b) == (SIGN.id, OTHER.id)
    assert row.ratio == pytest.approx(2.0, abs=0.01)
    assert (row.verdict, row.same_inputs) == ("slower", False)
    assert "nucleo-f446re/*/sign,curve=secp256r1,size=32B" in table(comparison)
    # An implementation alone, in all its optimisations: the hash has no partner.
    comparison = gate.compare_variants(run, "bearssl", "micro-ecc")
    assert len(comparison.rows) == 1
    assert [each.case for each in comparison.unpaired] == [HASH.id]


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ("bearssl-Os", "bearsll-Os", "'bearsll-Os' is not a target, variant, implementation or optimisation"),
        ("bearssl-Os", "bearssl-Os", "name the same cases"),
        ("bearssl-Os", "core=cortex-a53", "does not name its implementation, but the other selection does"),
        ("bearssl-Os,bearssl", "micro-ecc-Os", "names its implementation twice"),
        ("colour=red", "colour=blue", "no case has a parameter 'colour'"),
        ("micro-ecc-O2", "bearssl-O2", "has no case of 'micro-ecc-O2'"),
        (",", "bearssl-O2", "a selection is empty"),
    ],
)
def test_selections_that_are_none(runs_dir: Path, records: dict[Case, RecordList], a: str, b: str, says: str) -> None:
    run = run_of(runs_dir, 0, {SIGN: records[SIGN], HASH: records[HASH], OTHER: records[OTHER]})
    with pytest.raises(WorldwiseError, match=says):
        gate.compare_variants(run, a, b)


def test_parameters_can_be_compared() -> None:
    """A parameter that only one side names has its default on the other."""
    ids = ["linux-armv8/m-O2/sign,curve=secp256r1", "linux-armv8/m-O2/sign,curve=secp256r1,options=window-2"]
    parts = [CaseParts.of(each) for each in ids]
    assert parse_selection("m-O2,options=window-2", parts) == {
        "implementation": "m",
        "optimisation": "O2",
        "options": "window-2",
    }
    assert parse_selection("linux-armv8/m/O2", parts) == {
        "target": "linux-armv8",
        "implementation": "m",
        "optimisation": "O2",
    }
    assert parse_selection("options=default", parts) == {"options": ""}


@pytest.mark.parametrize("text", ["0%", "0.1%", "12.50 %"])
def test_limits(text: str) -> None:
    assert gate.parse_limit(text) == Fraction(text.rstrip("% ")) / 100


@pytest.mark.parametrize("text", ["", "1", "-1%", "1e3%", "%", "0,1%"])
def test_limits_that_are_none(text: str) -> None:
    with pytest.raises(WorldwiseError, match="is not a limit for a gate"):
        gate.parse_limit(text)


# --- formats ---


@pytest.fixture
def failing(runs_dir: Path, records: dict[Case, RecordList]) -> Comparison:
    """Over the limit, with a case that failed with words that XML must not have as they are."""
    a = run_of(runs_dir, 0, {SIGN: records[SIGN], HASH: records[HASH], OTHER: records[OTHER]})
    b = run_of(
        runs_dir,
        1,
        {SIGN: grown(records[SIGN], dict.fromkeys(range(5), 1)), HASH: records[HASH], OTHER: "a <b> & \x1b[31m \x00"},
    )
    return gate.compare_runs(a, b, limit("0%"))


def test_json(failing: Comparison) -> None:
    assert Comparison.model_validate_json(gate_report.to_json(failing)) == failing


def test_csv(failing: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(gate_report.to_csv(failing))))
    assert [row["verdict"] for row in rows] == ["slower", "same"]
    assert rows[0]["difference_instructions"] == "1"
    assert [row["exceeds"] for row in rows] == ["true", "false"]


def test_markdown(failing: Comparison) -> None:
    text = gate_report.to_markdown(failing)
    assert text.startswith("## Failed: A = ")
    assert "1 of 2 rows exceed A by more than 0%." in text
    assert "1 cases or rows of A are not in B" in text
    assert "| +1 | 1.000000 |" in text
    assert HASH.id not in text
    # There is no such thing in a page.
    assert "--full" not in text


def test_junit(failing: Comparison, tmp_path: Path) -> None:
    text = gate_report.to_junit(failing)
    ElementTree.fromstring(text)
    path = tmp_path / "gate.xml"
    path.write_text(text, encoding="utf-8")
    (suite,) = JUnitXml.fromfile(str(path))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (3, 1, 1, 0)
    (failed,) = [case for case in suite if case.is_failure]
    assert failed.classname == "nucleo-f446re.bearssl-Os"
    assert failed.name == "sign curve=secp256r1,size=32B sign mcu"
    assert "+1 instructions" in failed.result[0].message
    (broken,) = [case for case in suite if case.is_error]
    assert "a <b> & �[31m �" in broken.result[0].message


def test_junit_of_a_comparison_without_a_gate(runs_dir: Path, records: dict[Case, RecordList]) -> None:
    a = run_of(runs_dir, 0, {SIGN: records[SIGN], HASH: records[HASH]})
    b = run_of(runs_dir, 1, {SIGN: grown(records[SIGN], {2: 1}), HASH: "failed"})
    suite = ElementTree.fromstring(gate_report.to_junit(gate.compare_runs(a, b)))[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["2", "0", "0", "1"]


def test_github_action_benchmark(failing: Comparison, runs_dir: Path) -> None:
    entries = json.loads(gate_report.to_github_action_benchmark(failing))
    row = failing.rows[0]
    assert entries[0]["name"] == row.name
    assert (entries[0]["unit"], entries[0]["value"]) == ("instructions", row.b.median)
    assert entries[0]["range"] == f"{row.b.min} to {row.b.max}"
    assert "+1 instructions" in entries[0]["extra"]
    assert all(set(entry) <= {"name", "unit", "value", "range", "extra"} for entry in entries)
    # The same names and values as of the run alone, which has the memory too.
    run = reading_of(runs_dir, failing.b.run)
    alone = {entry["name"]: entry for entry in json.loads(report.to_github_action_benchmark(run))}
    assert all(alone[entry["name"]]["value"] == entry["value"] for entry in entries)
    assert alone[f"{row.name} flash"] == {"name": f"{row.name} flash", "unit": "bytes", "value": 12_007}


def test_bencher(failing: Comparison, runs_dir: Path) -> None:
    content = json.loads(gate_report.to_bencher(failing))
    row = failing.rows[0]
    metric = {"value": row.b.median, "lower_value": row.b.min, "upper_value": row.b.max}
    assert content[row.name] == {"instructions": metric}
    alone = json.loads(report.to_bencher(reading_of(runs_dir, failing.b.run)))
    assert alone[row.name]["instructions"] == metric
    assert alone[row.name]["flash-bytes"] == {"value": 12_007}


def reading_of(runs_dir: Path, run: str) -> Reading:
    """What `report` shows of a run."""
    return run_counts.read_run(open_run(run, runs_dir))
