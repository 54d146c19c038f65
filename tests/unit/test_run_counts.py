# SPDX-License-Identifier: BSD-2-Clause
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import boards
from board_reading import board_row as row_of_board
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
from worldwise.base.errors import WorldwiseError
from worldwise.families.sha256.readings import Hashing
from worldwise.plan.budget import parse_budget
from worldwise.plan.case import Case
from worldwise.plan.selection import select
from worldwise.read.family_fields import BoardTimes, Footprint, OnBoard
from worldwise.read.models import Reading, Row
from worldwise.read.row_details.factors import with_ratios
from worldwise.read.rows import in_reading_order
from worldwise.read.run_counts import read_run
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome
from worldwise.run.folder.rundir import open_run

NIST_O2 = Case("optee", "mbedtls-nist", "O2", "attestdiv", 4, 2)


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
    assert (row.counts.n, row.counts.warmup, row.counts.unit) == (4, 2, "instructions")
    assert row.counts.first == row.counts.worst == base + 1000
    assert (row.counts.min, row.counts.max, row.median, row.counts.mean) == (base, base + 20, base + 5, base + 7.5)
    assert row.counts.stdev == pytest.approx(9.574271)
    assert row.counts.stdev == statistics.stdev(counts)
    assert row.against.microseconds["2.0 GHz"] == (base + 5) / 2000
    assert list(row.against.microseconds) == ["1.0 GHz", "1.5 GHz", "1.8 GHz", "2.0 GHz", "2.5 GHz"]


def test_one_sample_has_no_spread(runs_dir: Path) -> None:
    run = write_run(runs_dir, [Case("optee", "mbedtls", "Os", "ta-load", 1, 0)])
    (row,) = read_run(run).rows
    assert (row.counts.n, row.counts.stdev) == (1, None)


def test_ratio_is_to_linux_of_the_same_variant(reading: Reading) -> None:
    inside = row_of(reading, case=NIST_O2.id, measure="verify", place="ta")
    around = row_of(reading, case=NIST_O2.id, measure="verify", place="client")
    linux = row_of(reading, variant="mbedtls-nist-O2", operation="attestdiv", measure="verify", place="linux")
    assert inside.against.ratio_to_linux == pytest.approx(2, rel=1e-4)
    assert around.against.ratio_to_linux == around.median / linux.median
    assert around.median == inside.median + CLIENT_EXTRA
    assert linux.against.ratio_to_linux is None
    assert row_of(reading, variant="mbedtls-nist-O2", operation="ta-load").against.ratio_to_linux is None


def test_ratio_is_to_linux_of_the_same_machine() -> None:
    def ratios(**medians: float) -> dict[str, float | None]:
        rows = [
            row_of_board(target.replace("_", "-"), "bearssl", median=median).model_copy(
                update={"board": "", "place": "ta" if target == "optee" else "linux"}
            )
            for target, median in medians.items()
        ]
        return {row.target: row.against.ratio_to_linux for row in with_ratios(rows)}

    none = {"linux": None, "linux-armv8": None}
    assert ratios(optee=300, linux=100, linux_armv8=200) == {"optee": 3, **none}
    assert ratios(linux_armv8=200, linux=100, optee=300) == {"optee": 3, **none}
    assert ratios(optee=300, linux_armv8=200) == {"optee": None, "linux-armv8": None}


def test_every_row_says_what_it_includes(reading: Reading) -> None:
    texts = {(row.measure, row.place): row.counts.includes for row in reading.rows}
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
    (figure,) = row.against.published
    assert (figure.value, figure.unit, figure.instructions) == (2900, "us", 2_900_000)
    assert figure.ratio == row.counts.mean / 2_900_000
    assert sum(len(row.against.published) for row in reading.rows) == 10
    assert {row.place for row in reading.rows if row.against.published} == {"ta"}
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
        verdict = row_of(reading, measure="sign", place="client").against.verdict
        assert verdict is not None
        assert (verdict.worst, verdict.limit, verdict.fits) == (first, limit, fits)
        assert [row.place for row in reading.rows if row.against.verdict] == ["client"]


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
        writer.complete_case(other, CaseInputs("boot"), CaseOutcome(error="the TA panicked"))
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


# --- boards ---

M4, M3 = "nucleo-f446re", "nucleo-f103rb"


@pytest.fixture(scope="module")
def on_boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reading]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        boards.use(monkeypatch)
        suite = boards.board_suite()
        run = write_run(tmp_path_factory.mktemp("runs"), suite.cases, suite=suite)
        yield read_run(open_run(run.path, run.path.parent))


def board_row(reading: Reading, board: str, variant: str, operation: str, parameters: str = "") -> Row:
    return row_of(reading, board=board, variant=variant, operation=operation, parameters=parameters)


def test_a_row_of_a_board(on_boards: Reading) -> None:
    row = board_row(on_boards, M4, "micro-ecc-Os", "sign", "curve=secp160r1,size=32B")
    assert (row.target, row.place, row.measure) == (M4, "mcu", "sign")
    assert (row.curve, row.size, row.part(OnBoard).runs, row.chunk) == ("secp160r1", 32, None, None)
    taken = row.footprint
    assert (taken.stack, taken.heap, taken.flash) == (boards.STACK, boards.HEAP, boards.FLASH + 9)
    assert taken.ram == boards.RAM
    assert (row.part(OnBoard).clock_mhz, row.against.microseconds) == (180.0, {"180 MHz": row.median / 180})
    assert row.against.ratio_to_linux is None
    assert "SHA-256 of the message" in row.counts.includes
    assert board_row(on_boards, M3, "dhrystone-O2", "dhrystone", "runs=1000").part(OnBoard).runs == 1000
    assert "one instruction per cycle at the board's clock" in on_boards.part(BoardTimes).board_assumption
    # A board's hashes are not OP-TEE's.
    assert not on_boards.part(Hashing).hashing.costs
    assert len(on_boards.rows) == 126


def test_a_run_without_boards_has_nothing_of_them(reading: Reading) -> None:
    for row in reading.rows:
        assert (row.board, row.curve, row.against.published_gap) == ("", "", "")
        assert row.footprint == Footprint()
        assert row.part(OnBoard) == OnBoard()
    assert reading.part(BoardTimes).board_assumption == ""
    assert reading.unavailable == ()


def test_ranks_are_among_libraries_that_do_the_same(on_boards: Reading) -> None:
    def ranks(board: str, level: str, parameters: str) -> dict[str, int | None]:
        return {
            row.implementation: row.part(OnBoard).rank
            for row in on_boards.rows
            if (row.board, row.optimisation, row.operation, row.parameters) == (board, level, "sign", parameters)
        }

    p256 = "curve=secp256r1,size=32B"
    for level in ("Os", "O2"):
        assert ranks(M4, level, p256) == {"p256-cortex-m4": 1, "bearssl": 2, "micro-ecc": 3}
        assert ranks(M3, level, p256) == {"bearssl": 1, "micro-ecc": 2}
    # Alone there is no contest.
    assert ranks(M4, "Os", "curve=secp160r1,size=32B") == {"micro-ecc": None}
    assert ranks(M4, "Os", "curve=ed25519,size=32B") == {"wolfssl-small": None}


def test_equal_counts_have_equal_ranks(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boards.use(monkeypatch)
    names = ("bearssl", "micro-ecc", "p256-cortex-m4")
    cases = [Case(M4, name, "Os", "keygen", 1, 0, (("curve", "secp256r1"),)) for name in names]
    monkeypatch.setattr(boards, "TIMES", {"bearssl": 2, "micro-ecc": 1, "p256-cortex-m4": 1})
    reading = read_run(write_run(runs_dir, cases, suite=boards.board_suite()))
    assert [row.part(OnBoard).rank for row in reading.rows] == [3, 1, 1]


def test_factors_keep_boards_apart(on_boards: Reading) -> None:
    assert {factor.kind for factor in on_boards.factors} == {"optimisation"}
    key = {"operation": "sign", "parameters": "curve=secp256r1,size=32B", "implementation": "micro-ecc"}
    for board in (M4, M3):
        (factor,) = (
            f for f in on_boards.factors if f.board == board and all(getattr(f, k) == v for k, v in key.items())
        )
        rows = [board_row(on_boards, board, f"micro-ecc-{level}", "sign", key["parameters"]) for level in ("Os", "O2")]
        assert factor.value == rows[0].median / rows[1].median


def test_published_cycles_beside_ours(on_boards: Reading) -> None:
    row = board_row(on_boards, M4, "wolfssl-small-O2", "sign", "curve=ed25519,size=32B")
    (figure,) = row.against.published
    assert (figure.value, figure.unit, figure.instructions) == (298720, "us", 298720 * 180)
    assert figure.ratio == row.counts.mean / (298720 * 180)
    assert row.against.published_gap == ""
    # Two boards, sign and verify, two sizes, two optimisations.
    assert sum(len(row.against.published) for row in on_boards.rows) == 16
    gaps = [row for row in on_boards.rows if row.against.published_gap]
    assert {(row.implementation, row.curve, row.operation) for row in gaps} == {
        ("micro-ecc", "secp160r1", "sign"),
        ("micro-ecc", "secp160r1", "verify"),
    }
    assert {row.board: row.against.published_gap for row in gaps} == {
        M4: "?? (listed, never measured)",
        M3: "none (never measured)",
    }
    assert "derived from c25519" in on_boards.published_reason


def test_what_cannot_be_had_comes_from_the_run(on_boards: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    boards.use(monkeypatch)
    assert [one.model_dump() for one in on_boards.unavailable] == [
        vars(one) for one in boards.board_suite().unavailable
    ]


def test_boards_in_reading_order(on_boards: Reading) -> None:
    ordered = in_reading_order(on_boards.rows)
    assert ordered == in_reading_order(on_boards.rows[::-1])
    assert [row.board for row in ordered] == sorted(row.board for row in ordered)
    sign = [row for row in ordered if (row.board, row.operation, row.optimisation) == (M4, "sign", "Os")]
    assert [(row.curve, row.size, row.implementation) for row in sign] == [
        ("secp160r1", 32, "micro-ecc"),
        ("secp160r1", 1024, "micro-ecc"),
        ("secp256r1", 32, "bearssl"),
        ("secp256r1", 32, "micro-ecc"),
        ("secp256r1", 32, "p256-cortex-m4"),
        ("secp256r1", 1024, "bearssl"),
        ("secp256r1", 1024, "micro-ecc"),
        ("secp256r1", 1024, "p256-cortex-m4"),
        ("ed25519", 32, "wolfssl-small"),
        ("ed25519", 1024, "wolfssl-small"),
    ]


def test_a_run_is_read_without_its_library_but_not_without_its_board(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One's own library is known while it is measured, and the run is read for ever after."""
    boards.use(monkeypatch)
    case = Case(M4, "bearssl", "Os", "keygen", 1, 0, (("curve", "secp256r1"),))
    run = write_run(runs_dir, [case], suite=boards.board_suite())
    monkeypatch.setattr("worldwise.libraries.portable.portables", dict)
    (row,) = read_run(run).rows
    assert row.footprint.flash == boards.FLASH + 7
    monkeypatch.setattr("worldwise.libraries.boards.boards", dict)
    with pytest.raises(WorldwiseError, match=f"board '{M4}' is no longer known"):
        read_run(run)
