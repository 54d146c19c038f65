# SPDX-License-Identifier: BSD-2-Clause
"""What families say of a run on one screen."""

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import test_abuse_report
import test_calls_report
import test_crypto_report
import test_echo
import test_faults_report
import test_hash_cost
import test_keycache_hold_report
import test_keycache_report
import test_linux_report
import test_options_report
import test_storage_report
from rich.console import Console

from board_reading import board_reading, board_row
from readings import row_of
from worldwise.base.tables import Section, Table
from worldwise.plan.budget import parse_budget
from worldwise.read.models import Attempt, BudgetResult, Reading, Row
from worldwise.read.run_counts import read_run
from worldwise.report.formats.printed_sections import print_section
from worldwise.report.report import answers, sections
from worldwise.report.sections import tasks
from worldwise.report.tables import ScreenAnswer, declared_tables, named_sections
from worldwise.run.folder.rundir import Run

# What a screen has room for.
WIDTH = 100


def of_rows(*rows: Row, attempts: tuple[Attempt, ...] = (), budget: BudgetResult | None = None) -> Reading:
    """A reading of these, and of nothing else."""
    change = {"rows": rows, "attempts": attempts, "unavailable": (), "budget": budget}
    reading: Reading = board_reading().model_copy(update=change)
    return reading


def of(family: str, *rows: Row, budget: BudgetResult | None = None) -> ScreenAnswer:
    """What one family says; of rows that have no more than its tables need."""
    answer: ScreenAnswer = declared_tables()[family].answers(of_rows(*map(whole, rows), budget=budget))[0]
    return answer


def whole(row: Row) -> Row:
    """A row that has no more than a family's tables need, with what answers need besides."""
    some: dict[str, Any] = {
        "board": "",
        "unit": "instructions",
        "min": row.median,
        "max": row.median,
        "first": row.median,
        "worst": row.median,
        "core": "",
        "target": "optee",
        "optimisation": row.variant.rpartition("-")[2],
        "measure": row.operation,
        "published": (),
    }
    nested = (row.counts, row.against)
    own = {name: value for name, value in row.__dict__.items() if value not in nested}
    return row_of(some | own | row.counts.__dict__ | row.against.__dict__)


def only(reading: Reading) -> ScreenAnswer:
    (answer,) = answers(reading)
    return answer


def cells(answer: ScreenAnswer) -> list[list[str]]:
    assert answer.table
    assert {len(row) for row in answer.table.rows} == {len(answer.table.headers)}
    return answer.table.rows


def test_a_run_of_nothing_has_no_answer() -> None:
    assert answers(of_rows()) == []


def test_a_client_reads_its_ways_by_what_they_do(whole_run: Run) -> None:
    """All ways of one task, the fewest first, with the worst call in time at the budget's clock."""
    answer = answers(read_run(whole_run, parse_budget("5ms@2GHz")))[0]
    sign = [line for line in cells(answer) if line[0] == "sign 48B"]
    assert sign[0] == ["sign 48B", "mbedtls-nist-O2", "1/6", "Apache-2.0", "4,660,005", "2.330"]
    assert sign[-1] == ["sign 48B", "libtomcrypt-Os", "6/6", "Unlicense", "240,060,005", "120.031"]
    assert any(text.startswith("Unlike what was published: ") for text in answer.surprises)
    assert answer.sections == ("ways",)
    without = answers(read_run(whole_run, parse_budget("5ms@1GHz")))[0]
    assert next(line for line in cells(without) if line[0] == "sign 48B")[5] == "4.661"


def test_the_recommended_way_stands_beside_the_best_permissive_one() -> None:
    """If this fails, a car maker reads of a library under GPL alone, or the recommendation is in another table."""
    whole, recommended = test_crypto_report.WHOLE, test_crypto_report.RECOMMENDED
    answer = answers(test_crypto_report.crypto_reading(whole, recommended))[0]
    shown = answer.shown(3)
    assert shown and [line[1:4] for line in shown.rows[:2]] == [
        ["wolfssl-sp-O2, allocated *", "1/4", "GPL-3.0+"],
        ["mbedtls-nist-O2", "3/4", "Apache-2.0"],
    ]
    assert answer.verdict == f"* recommended: {recommended.partition('/')[2]}."


def test_equal_variants_are_said_to_be_equal() -> None:
    """If this fails, the alphabet decides who has the fewest instructions."""
    rows = [board_row(library=name) for name in ("bearssl", "micro-ecc", "p256-m")]
    (answer,) = answers(of_rows(*rows))
    assert cells(answer)[0][1] == "bearssl-O2 +2 equal"


def test_a_board_tells_the_fastest_and_the_smallest_library() -> None:
    other, one = answers(board_reading())
    assert [answer.title.partition(": ")[2] for answer in (one, other)] == [
        "nucleo-f446re, ST Nucleo-F446RE (Cortex-M4)",
        "nucleo-f103rb, ST Nucleo-F103RB (Cortex-M3)",
    ]
    assert "|".join(cells(one)[0]) == "P-256 sign 32B|p256-cortex-m4-O2|480,000|2.667|12,900|p256-m-Os|3,440|21,625,000"
    assert "|".join(cells(other)[0]) == "P-256 sign 32B|bearssl-O2|4,346,000|60.361|16,700|p256-m-Os|3,440|22,922,500"
    assert one.surprises[0] == "No board has sign on secp112r1, verify on secp112r1."


def test_an_echo_tells_round_trips() -> None:
    rows = [test_echo.echo_row(server, 1, "round-trip", cost) for server, cost in test_echo.SERVERS.items()]
    (line,) = cells(only(of_rows(*rows)))
    first = min(test_echo.SERVERS.values())
    assert line[1:3] == ["1B", f"{first:,}"]
    assert line[-1] == f"{max(test_echo.SERVERS.values()) / first:,.2f}"


def test_storage_tells_each_action_in_each_storage() -> None:
    rows = [row for action in ("create", "read") for row in test_storage_report.rows(action)]
    answer = of("storage", *rows)
    assert [line[0] for line in cells(answer)] == ["create", "read"]
    assert answer.sections == ("storage", "storage-per-byte")


def test_calls_tell_the_empty_one_and_payloads() -> None:
    rows = [*test_calls_report.payload_rows(), *test_calls_report.call_rows()]
    payload, empty = declared_tables()["calls"].answers(of_rows(*map(whole, rows)))
    headers = [header.partition("\n")[0] for header in (payload.table or Table([], [], 0)).headers]
    assert headers[-2:] == ["least", "less than"]
    for line in cells(payload):
        medians = {kind: float(cell.replace(",", "")) for kind, cell in zip(headers[2:-2], line[2:-2], strict=True)}
        first, second = sorted(medians.values())[:2]
        least = [kind for kind, median in medians.items() if median == first]
        assert line[-2:] == [" = ".join(least), f"{100 * (1 - first / second):.1f}"]
    assert empty.title.startswith("What a call without parameters costs")


def test_the_key_cache_tells_requests_and_whether_hits_hold() -> None:
    request = test_keycache_report.request
    measured = test_keycache_report.measured_by()
    cheap = [*measured, *request("get-hit", more=5_000), *request("get-miss", more=20_000)]
    answer = of("keycache", *cheap)
    assert [line[0] for line in cells(answer)] == ["GET hit", "GET miss"]
    assert answer.verdict == (
        "No median of a hit exceeds 1.5 empty invokes and the AES of its payload; by the greatest sample 1 of 1 do."
    )
    assert answer.table
    assert answer.table.headers[-1] == "assumed at\n2 GHz, ms"
    dear = of("keycache", *measured, *request("get-hit", more=6_000_000))
    assert dear.verdict.startswith(
        "By their medians 1 of 1 hits cost more than 1.5 empty invokes and the AES of their payload; "
    )


def test_the_key_caches_times_are_at_the_clock_that_their_header_names() -> None:
    """If this fails, a budget with another clock shows times under a header that names 2 GHz."""
    rows = [*test_keycache_report.measured_by(), *test_keycache_report.request("get-hit", more=5_000)]
    limit = BudgetResult(
        limit="5ms",
        clock="1 GHz",
        instructions=5_000_000,
        measures=("sign",),
        place="client",
        judged=0,
        exceeded=0,
        fits=None,
    )
    plain, judged = of("keycache", *rows), of("keycache", *rows, budget=limit)
    assert judged.table
    assert judged.table.headers[-1] == "assumed at\n1 GHz, ms"
    assert [answer[0][-1] for answer in (cells(plain), cells(judged))] == ["0.062", "0.125"]


def test_what_was_tried_is_counted() -> None:
    tampered, cut = test_faults_report.tampered, test_faults_report.cut
    attempts = (
        tampered("ree", "rollback-files", "not detected", "the older content"),
        tampered("ree", "none", "no effect", "the right content"),
        cut("old", "the older content"),
        cut("broken", "TEE_ERROR_CORRUPT_OBJECT", 23_456),
    )
    answer = only(of_rows(attempts=attempts))
    assert answer.verdict == (
        "1 of 2 attempts to tamper were not detected. 1 of 2 power cuts left neither the old object nor the new one."
    )
    assert answer.surprises == ("Not detected: older copy put back: all files (ree).",)
    killed = tuple(test_keycache_hold_report.cut(at, result) for at, result in ((1, "between"), (2, "lost")))
    assert only(of_rows(attempts=killed)).verdict == "1 of 2 attempts hold."
    wrong = only(of_rows(attempts=(*test_abuse_report.HELLO, *test_abuse_report.CALLS)))
    assert [line[0] for line in cells(wrong)] == ["hello", "calls"]


def test_plain_linux_tells_the_fastest_library_and_options_the_best() -> None:
    figure = test_linux_report.figure
    (line,) = cells(of("portable", figure("bearssl-O2", "sign", 5_000_000), figure("nettle-O2", "sign", 1_000_000)))
    assert line == ["P-256 sign 32B", "2", "nettle-O2", "1,000,000", "bearssl-O2", "5.00"]
    swept = of("portable", *(row.model_copy(update={"size": None}) for row in map(whole, test_options_report.grid())))
    assert [line[:2] + line[4:] for line in cells(swept)] == [
        ["swept-O2", "P-256 sign", "1.00", "the default"],
        ["swept-O2", "P-256 verify", "1.00", "the default"],
    ]


@pytest.mark.parametrize("name", ["boards", "worlds", "crypto"])
def test_an_answer_has_room_on_a_screen(name: str, whole_run: Run) -> None:
    """No line is wider, no table is longer, and every section that it names is in the report."""
    if name == "worlds":
        reading = read_run(whole_run, parse_budget("5ms@2GHz"))
    elif name == "boards":
        reading = board_reading()
    else:
        reading = test_crypto_report.crypto_reading(test_crypto_report.WHOLE, test_crypto_report.RECOMMENDED)
    there = sections(reading)
    for answer in answers(reading):
        assert answer.table
        console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True)
        print_section(Section(answer.title, answer.table), console)
        assert max(len(line.rstrip()) for line in console.export_text().splitlines()) <= WIDTH
        assert [part for part in answer.sections if not named_sections(there, part)] == []


def test_the_least_important_lines_are_left_out() -> None:
    """If this fails, a screen loses the line that answers, and keeps the first of the alphabet."""
    answer = ScreenAnswer("everything", Table(["a"], [["1"], ["2"], ["3"]], 1), importance=(2, 0, 1))
    shown = answer.shown(2)
    assert shown and shown.rows == [["2"], ["3"]]
    assert answer.left(2) == 1
    assert answer.shown(0) is None


def test_hashing_tells_what_a_byte_costs(tmp_path: Path) -> None:
    answer = answers(test_hash_cost.read(tmp_path, test_hash_cost.CASES))[-1]
    shown = answer.shown(4)
    assert shown
    assert [line[:2] for line in shown.rows] == [
        ["mbedtls-O2", "1MiB"],
        ["mbedtls-O2", "0B"],
        ["mbedtls-ce-O2", "1MiB"],
        ["mbedtls-ce-O2", "0B"],
    ]
    assert cells(answer)[0][3] == "20.08"


def test_predicted_times_say_what_fits_and_what_nobody_can_tell(whole_run: Run) -> None:
    """If this fails, the middle of an interval decides, or the verdict of one row is that of another."""
    reading = read_run(whole_run, parse_budget("5ms@2GHz"))
    case = "optee/mbedtls-nist-O2/attestdiv"

    def time(low: int, high: int) -> tasks.Time:
        return tasks.Time("cortex-a72", Fraction(2_000_000_000), (low + high) // 2, low, high)

    times = {(case, "sign"): time(2_000_000, 10_000_000), (case, "verify"): time(9_000_000, 10_000_001)}
    (answer,) = tasks.answers(reading, times)
    sign = next(line for line in cells(answer) if line[1] == "mbedtls-nist-O2" and line[0] == "sign 48B")
    assert sign[-1] == "3.00 (1.00-5.00)"
    assert answer.verdict.endswith(
        "Of 5 ms by prediction: fits: sign 48B by mbedtls-nist-O2; undecided: verify 48B by mbedtls-nist-O2."
    )
    (answer,) = tasks.answers(reading, {(case, "sign"): time(10_000_001, 11_000_000)})
    assert answer.verdict.endswith("does not fit: sign 48B by mbedtls-nist-O2.")
