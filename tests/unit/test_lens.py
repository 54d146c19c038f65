# SPDX-License-Identifier: BSD-2-Clause
import statistics
from pathlib import Path
from typing import Any

import pytest

from synthetic import (
    CLIENT_EXTRA,
    COST,
    RecordList,
    cost,
    find,
    lines,
    make_records,
    new_writer,
    write_case,
    write_run,
)
from worldwise.errors import WorldwiseError
from worldwise.lens import Reading, Row, in_reading_order, read_run
from worldwise.rundir import Run
from worldwise.suite import Case, parse_budget, select

NIST_O2 = Case("optee", "mbedtls-nist", "O2", "attestdiv", 4, 2)


@pytest.fixture(scope="module")
def reading(whole_run: Run) -> Reading:
    return read_run(whole_run)


def row_of(reading: Reading, **fields: Any) -> Row:
    (row,) = (r for r in reading.rows if all(getattr(r, name) == value for name, value in fields.items()))
    return row


def test_a_row_for_every_measure_and_place(reading: Reading, all_cases: tuple[Case, ...]) -> None:
    expected = [
        (case.id, measure, place) for case in all_cases for measure, places in case.measures.items() for place in places
    ]
    assert [(row.case, row.measure, row.place) for row in reading.rows] == expected
    assert len(expected) == 108
    assert not reading.failed
    assert not reading.missing
    assert reading.run.state == "complete"


def test_statistics_are_over_the_samples_alone(reading: Reading) -> None:
    row = row_of(reading, case=NIST_O2.id, measure="sign", place="ta")
    base = COST["ta", "mbedtls-nist"] * 2 // 3
    # Calls 3 to 6 of the case: 0, 10, 20 and 0 more than the base.
    counts = [base, base + 10, base + 20, base]
    assert counts == [cost(NIST_O2, "ta", index) for index in range(3, 7)]
    assert (row.n, row.warmup, row.unit) == (4, 2, "instructions")
    assert row.first == row.worst == base + 1000
    assert (row.min, row.max, row.median, row.mean) == (base, base + 20, base + 5, base + 7.5)
    assert row.stdev == pytest.approx(9.574271)
    assert row.stdev == statistics.stdev(counts)
    assert row.microseconds["2.0 GHz"] == (base + 5) / 2000
    assert list(row.microseconds) == ["1.0 GHz", "1.5 GHz", "1.8 GHz", "2.0 GHz", "2.5 GHz"]


def test_one_sample_has_no_spread(runs_dir: Path) -> None:
    run = write_run(runs_dir, [Case("optee", "mbedtls", "Os", "ta-load", 1, 0)])
    (row,) = read_run(run).rows
    assert (row.n, row.stdev) == (1, None)


def test_ratio_is_to_linux_of_the_same_variant(reading: Reading) -> None:
    inside = row_of(reading, case=NIST_O2.id, measure="verify", place="ta")
    around = row_of(reading, case=NIST_O2.id, measure="verify", place="client")
    linux = row_of(reading, variant="mbedtls-nist-O2", operation="attestdiv", measure="verify", place="linux")
    assert inside.ratio_to_linux == pytest.approx(2, rel=1e-4)
    assert around.ratio_to_linux == around.median / linux.median
    assert around.median == inside.median + CLIENT_EXTRA
    assert linux.ratio_to_linux is None
    assert row_of(reading, variant="mbedtls-nist-O2", operation="ta-load").ratio_to_linux is None


def test_every_row_says_what_it_includes(reading: Reading) -> None:
    texts = {(row.measure, row.place): row.includes for row in reading.rows}
    assert all(texts.values())
    assert "not the way there and back" in texts["sign", "ta"]
    assert "TEEC_InvokeCommand" in texts["sign", "client"]
    assert "Linux process" in texts["sign", "linux"]
    assert len({texts["invoke", "client"], texts["open", "client"], texts["load", "client"]}) == 3


def test_factors(reading: Reading) -> None:
    def factor(kind: str, **fields: Any) -> float:
        (found,) = (
            f
            for f in reading.factors
            if f.kind == kind and all(getattr(f, name) == value for name, value in fields.items())
        )
        return found.value

    sign = {"operation": "attestdiv", "measure": "sign"}
    nist = factor("nist-optim", **sign, place="ta", optimisation="Os")
    assert nist == pytest.approx(32_000 / 6_900, rel=1e-4)
    assert factor("nist-optim", **sign, place="linux", optimisation="O2") == pytest.approx(nist, rel=1e-4)
    world = {"implementation": "mbedtls", "optimisation": "O2"}
    assert factor("world", **sign, **world, place="ta") == pytest.approx(2, rel=1e-4)
    assert factor("world", **sign, **world, place="client") > factor("world", **sign, **world, place="ta")
    assert factor("optimisation", **sign, place="ta", implementation="libtomcrypt") == pytest.approx(1.5, rel=1e-4)
    # 3 operations with 5 measures in TA, client and Linux, and 3 more at the client.
    per_kind = {kind: sum(f.kind == kind for f in reading.factors) for kind in ("nist-optim", "world", "optimisation")}
    assert per_kind == {"nist-optim": 18 * 2, "world": 10 * 6, "optimisation": 18 * 3}


def test_published_figures_beside_ours(reading: Reading) -> None:
    row = row_of(reading, case=NIST_O2.id, measure="sign", place="ta")
    (figure,) = row.published
    assert (figure.value, figure.unit, figure.instructions) == (2900, "us", 2_900_000)
    assert figure.ratio == row.mean / 2_900_000
    assert sum(len(row.published) for row in reading.rows) == 10
    assert {row.place for row in reading.rows if row.published} == {"ta"}
    assert "OP-TEE 4.0" in reading.published_reason


def test_no_published_reason_without_a_figure(runs_dir: Path) -> None:
    run = write_run(runs_dir, [Case("optee", "mbedtls", "Os", "ta-load", 2, 0)])
    assert read_run(run).published_reason == ""


def test_budget_judges_the_worst_call_the_first_included(runs_dir: Path) -> None:
    first = cost(NIST_O2, "client", 0)
    run = write_run(runs_dir, [NIST_O2])
    for limit, fits in ((first, True), (first - 1, False)):
        reading = read_run(run, parse_budget(f"{limit}ns@1GHz"))
        assert reading.budget is not None
        assert (reading.budget.fits, reading.budget.judged) == (fits, 1)
        verdict = row_of(reading, measure="sign", place="client").verdict
        assert verdict is not None
        assert (verdict.worst, verdict.limit, verdict.fits) == (first, limit, fits)
        assert [row.place for row in reading.rows if row.verdict] == ["client"]


def test_budget_of_the_run_and_one_given_later(runs_dir: Path) -> None:
    run = write_run(runs_dir, [NIST_O2], budget=parse_budget("5ms@2GHz"))
    reading = read_run(run)
    assert reading.budget is not None
    assert (reading.budget.instructions, reading.budget.fits) == (10_000_000, True)
    other = read_run(run, parse_budget("1ms@2GHz", ["sign", "verify"], "ta")).budget
    assert other is not None
    assert (other.fits, other.judged, other.exceeded) == (False, 2, 2)


def test_budget_is_undecided_while_cases_are_missing(runs_dir: Path) -> None:
    other = Case("optee", "libtomcrypt", "Os", "attestdiv", 4, 2)
    budget = parse_budget("5ms@2GHz")
    with new_writer(runs_dir, [NIST_O2, other], budget) as writer:
        nothing = read_run(writer.run).budget
        assert nothing is not None
        assert (nothing.fits, nothing.judged) == (None, 0)
        write_case(writer, NIST_O2, lines(make_records(NIST_O2)))
        reading = read_run(writer.run)
        assert reading.budget is not None
        assert (reading.budget.fits, reading.budget.judged) == (None, 1)
        assert reading.missing == (other.id,)
        assert reading.run.state == "running"
        writer.case_directory(other.id)
        writer.complete_case(
            other,
            state="failed",
            error="the TA panicked",
            start="boot",
            images={},
            digest="",
            command=[],
            wall_seconds=1.0,
        )
        reading = read_run(writer.finish("failed"))
    assert [(failed.case, failed.error) for failed in reading.failed] == [(other.id, "the TA panicked")]
    assert reading.missing == ()
    assert reading.budget is not None
    assert reading.budget.fits is None


def test_a_changed_sample_is_never_reported(runs_dir: Path) -> None:
    def change(_: Case, records: RecordList) -> None:
        find(records, type="sample", measure="sign", place="ta", index=4)["count"] -= 1

    run = write_run(runs_dir, [NIST_O2], change)
    with pytest.raises(WorldwiseError, match=r"records\.jsonl:\d+: case .*: sign 4 at ta: count is"):
        read_run(run)


def test_a_wrong_signature_is_never_reported(runs_dir: Path) -> None:
    def change(_: Case, records: RecordList) -> None:
        evidence = find(records, type="evidence", index=5)
        evidence["signature"] = find(records, type="evidence", index=4)["signature"]

    run = write_run(runs_dir, [NIST_O2], change)
    with pytest.raises(WorldwiseError, match="sign 5: the signature is wrong"):
        read_run(run)


def test_reading_order_does_not_depend_on_the_cases_order(reading: Reading) -> None:
    ordered = in_reading_order(reading.rows)
    assert {row.case for row in ordered} == {row.case for row in reading.rows}
    first = [(row.measure, row.variant, row.place) for row in ordered[:4]]
    assert first == [
        ("keygen", "libtomcrypt-Os", "ta"),
        ("keygen", "libtomcrypt-Os", "client"),
        ("keygen", "libtomcrypt-Os", "linux"),
        ("keygen", "libtomcrypt-O2", "ta"),
    ]


def test_a_run_in_reverse_order_reads_the_same(runs_dir: Path, all_cases: tuple[Case, ...]) -> None:
    cases = select(all_cases, ["mbedtls-nist-*"], ["keygen", "empty-invoke"])
    there = read_run(write_run(runs_dir, cases))
    back = read_run(write_run(runs_dir, cases[::-1], second=1))
    assert sorted(there.rows, key=lambda row: (row.case, row.place)) == sorted(
        back.rows, key=lambda row: (row.case, row.place)
    )
