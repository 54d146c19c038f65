# SPDX-License-Identifier: BSD-2-Clause
"""What families say of a run on one screen."""

import io
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

from board_reading import board_reading
from worldwise.base.tables import Section, Table
from worldwise.plan.budget import parse_budget
from worldwise.read.lens import read_run
from worldwise.read.models import Attempt, BudgetResult, Reading, Row
from worldwise.report.report import answers, sections
from worldwise.report.tables import ANSWER_LINES, Answer, declared_tables, named_sections
from worldwise.report.terminal import print_section
from worldwise.run.rundir import Run

# What a screen has room for.
WIDTH = 100


def of_rows(*rows: Row, attempts: tuple[Attempt, ...] = (), budget: BudgetResult | None = None) -> Reading:
    """A reading of these, and of nothing else."""
    change = {"rows": rows, "attempts": attempts, "unavailable": (), "budget": budget}
    reading: Reading = board_reading().model_copy(update=change)
    return reading


def of(family: str, *rows: Row, budget: BudgetResult | None = None) -> Answer:
    """What one family says; of rows that have no more than its tables need."""
    whole = []
    for row in rows:
        some: dict[str, Any] = {
            "board": "",
            "unit": "instructions",
            "min": row.median,
            "max": row.median,
            "published": (),
        }
        whole.append(Row.model_construct(**some | row.__dict__))
    answer = declared_tables()[family].answer(of_rows(*whole, budget=budget))
    assert answer
    return answer


def only(reading: Reading) -> Answer:
    (answer,) = answers(reading)
    return answer


def cells(answer: Answer) -> list[list[str]]:
    assert answer.table
    assert {len(row) for row in answer.table.rows} == {len(answer.table.headers)}
    return answer.table.rows


def test_a_run_of_nothing_has_no_answer() -> None:
    assert answers(of_rows()) == []


def test_an_attestation_tells_what_a_client_waits_for(whole_run: Run) -> None:
    """The variant with the fewest instructions, its worst call in time at the budget's clock, and who is over it."""
    reading = read_run(whole_run, parse_budget("5ms@2GHz"))
    answer = answers(reading)[0]
    sign = next(line for line in cells(answer) if line[0] == "attestdiv sign")
    assert sign == ["attestdiv sign", "mbedtls-nist-O2", "4,660,005", "4,661,000", "2.330", "240,060,005", "4 of 6"]
    assert any(text.startswith("Unlike what was published: ") for text in answer.surprises)
    assert answer.sections == ("price", "published", "budget")
    without = answers(read_run(whole_run, parse_budget("5ms@1GHz")))[0]
    assert next(line for line in cells(without) if line[0] == "attestdiv sign")[4] == "4.661"


def test_a_board_tells_the_fastest_and_the_smallest_library() -> None:
    answer = only(board_reading())
    assert ["|".join(line) for line in cells(answer)] == [
        "nucleo-f103rb|sign 32B|bearssl-O2|4,346,000|60.361|16,700|p256-m-Os|3,440|22,922,500",
        "nucleo-f446re|sign 32B|p256-cortex-m4-O2|480,000|2.667|12,900|p256-m-Os|3,440|21,625,000",
    ]
    assert answer.surprises[0] == "No library here has sign on secp112r1, verify on secp112r1."


def test_cryptography_tells_the_libraries_of_what_is_recommended() -> None:
    whole, recommended = test_crypto_report.WHOLE, test_crypto_report.RECOMMENDED
    answer = answers(test_crypto_report.reading(whole, recommended))[-1]
    assert answer.title == "Which library for P-256 sign in a TA"
    assert [line[0] for line in cells(answer)] == ["wolfssl-sp-O2", "mbedtls-nist-O2", "libtomcrypt-O2"]
    assert answer.verdict.startswith("Recommended: wolfssl-sp-O2/sign,")
    assert "recommended" in answer.sections


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
    answer = of("calls", *test_calls_report.payload_rows(), *test_calls_report.call_rows())
    assert cells(answer)[0][1] == "no payload"
    assert answer.verdict.startswith("The least is with ")


def test_the_key_cache_tells_requests_and_whether_hits_hold() -> None:
    request = test_keycache_report.request
    measured = test_keycache_report.measured_by()
    cheap = [*measured, *request("get-hit", more=5_000), *request("get-miss", more=20_000)]
    answer = of("keycache", *cheap)
    assert [line[0] for line in cells(answer)] == ["GET hit", "GET miss"]
    assert answer.verdict == "Every hit costs no more than 1.5 empty invokes and the AES of its payload."
    assert answer.table
    assert answer.table.headers[-1] == "assumed at\n2 GHz, ms"
    dear = of("keycache", *measured, *request("get-hit", more=6_000_000))
    assert dear.verdict == "1 of 1 hits cost more than 1.5 empty invokes and the AES of their payload."


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
        "1 of 2 attempts to tamper were not detected. 1 of 2 power cuts left something else than the old object or "
        "the new one."
    )
    assert answer.surprises == ("Not detected: older copy put back: all files (ree).",)
    killed = tuple(test_keycache_hold_report.cut(at, result) for at, result in ((1, "between"), (2, "lost")))
    assert only(of_rows(attempts=killed)).verdict == "1 of 2 attempts hold."
    wrong = only(of_rows(attempts=(*test_abuse_report.HELLO, *test_abuse_report.CALLS)))
    assert [line[0] for line in cells(wrong)] == ["hello", "calls"]


def test_plain_linux_tells_the_fastest_library_and_options_the_best() -> None:
    row = test_linux_report.row
    (line,) = cells(of("portable", row("bearssl-O2", "sign", 5_000_000), row("nettle-O2", "sign", 1_000_000)))
    assert line[2:] == ["nettle-O2", "1,000,000", "bearssl-O2", "5,000,000", "5.00"]
    swept = of("portable", *test_options_report.grid())
    assert [line[:2] + line[4:] for line in cells(swept)] == [
        ["swept-O2", "sign secp256r1", "1.00", "the default"],
        ["swept-O2", "verify secp256r1", "1.00", "the default"],
    ]


@pytest.mark.parametrize("name", ["boards", "worlds", "crypto"])
def test_an_answer_has_room_on_a_screen(name: str, whole_run: Run) -> None:
    """No line is wider, no table is longer, and every section that it names is in the report."""
    if name == "worlds":
        reading = read_run(whole_run, parse_budget("5ms@2GHz"))
    elif name == "boards":
        reading = board_reading()
    else:
        reading = test_crypto_report.reading(test_crypto_report.WHOLE, test_crypto_report.RECOMMENDED)
    there = sections(reading)
    for answer in answers(reading):
        assert answer.table and len(answer.table.rows) <= ANSWER_LINES
        console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True)
        print_section(Section(answer.title, answer.table), console)
        assert max(len(line.rstrip()) for line in console.export_text().splitlines()) <= WIDTH
        assert [part for part in answer.sections if not named_sections(there, part)] == []


def test_an_answer_with_too_many_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="13 lines, of 12 at most"):
        Answer("everything", Table(["a"], [["1"]] * (ANSWER_LINES + 1), 1))


def test_hashing_tells_what_a_byte_costs(tmp_path: Path) -> None:
    answer = answers(test_hash_cost.read(tmp_path, test_hash_cost.CASES))[-1]
    assert [line[:2] for line in cells(answer)] == [
        ["mbedtls-O2", "1MiB"],
        ["mbedtls-O2", "0B"],
        ["mbedtls-ce-O2", "1MiB"],
        ["mbedtls-ce-O2", "0B"],
    ]
    assert cells(answer)[0][3] == "20.08"
