# SPDX-License-Identifier: BSD-2-Clause
"""Tables of boards: what stands in them, what is said where there is nothing; figures from the command line."""

import csv
import io
import json
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import boards
from board_reading import board_reading, board_row
from command_line import Call
from readings import titled
from synthetic import write_run
from worldwise.base.tables import Section, Table
from worldwise.families.portable.boards import dmips
from worldwise.libraries.boards import boards as real_boards
from worldwise.libraries.boards import by_core
from worldwise.libraries.portable import portables
from worldwise.plan.case import Case
from worldwise.read.family_fields import BoardTimes, Footprint
from worldwise.read.models import Reading
from worldwise.read.run_counts import read_run
from worldwise.report.report import render, sections, to_csv, to_json, to_markdown
from worldwise.run.folder.rundir import Run

M3, M4 = "nucleo-f103rb", "nucleo-f446re"
WHAT_A_TEE_HAS = ("key generation", "Price of the TEE", "What -O2 gives", "Time if a core", "How to read this")


@pytest.fixture(scope="module")
def board_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run of boards and of Linux, from records."""
    with pytest.MonkeyPatch.context() as patch:
        boards.use(patch)
        suite = boards.board_suite()
        cases = [case for case in suite.cases if case.curve in ("", "secp256r1", "secp160r1")]
        yield write_run(tmp_path_factory.mktemp("runs"), cases, suite=suite)


def section(reading: Reading, title: str, full: bool = False) -> Section:
    return titled(sections(reading, full), title)


def table(reading: Reading, title: str) -> Table:
    found = section(reading, title).table
    assert found
    return found


def titles(reading: Reading) -> list[str]:
    return [each.title for each in sections(reading)]


def test_a_run_of_boards_has_these_parts_and_none_of_a_tee(two_boards: Reading) -> None:
    """If this fails, a table is missing, or a TEE's table shows boards."""
    assert titles(two_boards) == [
        f"{M3}: ST Nucleo-F103RB (Cortex-M3) at 72 MHz (n = 5)",
        f"{M3}: published figures beside ours",
        f"{M3}: not available",
        f"{M4}: ST Nucleo-F446RE (Cortex-M4) at 180 MHz (n = 5)",
        f"{M4}: published figures beside ours",
        f"{M4}: not available",
        "Across boards: medians and ranks",
        "Dhrystone 2.1 at one instruction per cycle",
        "What the published figures are",
        "How to read the boards' tables",
    ]


def test_a_run_of_both_has_both(whole_run: Run, two_boards: Reading) -> None:
    """If this fails, boards push a TEE's tables out, or change them."""
    tee = read_run(whole_run)
    both = tee.model_copy(update={"rows": tee.rows + two_boards.rows, "unavailable": two_boards.unavailable})
    plain, mixed = sections(tee, full=True), sections(both, full=True)
    assert [each for each in mixed if each in plain] == plain
    assert [each.title for each in mixed if each not in plain] == titles(two_boards)
    assert not any(name in title for title in titles(two_boards) for name in WHAT_A_TEE_HAS)


def test_a_run_without_boards_has_no_column_of_theirs(whole_run: Run) -> None:
    """If this fails, a table that other programs read changed without need."""
    header = to_csv(read_run(whole_run)).split("\n", 1)[0]
    for name in ("board", "stack_bytes", "rank"):
        assert name not in header.split(",")


def test_a_boards_table_has_counts_time_memory_and_rank(two_boards: Reading) -> None:
    """If this fails, a column shows something else than its header says."""
    shown = table(two_boards, f"{M4}: ST")
    assert [header.replace("\n", " ") for header in shown.headers] == [
        *("operation", "curve", "library", "median instr", "at 180 MHz us"),
        *("stack bytes", "heap bytes", "flash bytes", "RAM bytes", " rank"),
    ]
    lines = [line for line in shown.rows if line[:2] == ["sign 32B", "secp256r1"]]
    assert lines[0] == [
        *("sign 32B", "secp256r1", "p256-cortex-m4-Os", "600,000", "3,333", "1,210", "0", "10,320", "0", "1")
    ]
    # The libraries by what they take, each with both optimisations.
    assert [line[2] for line in lines] == [
        f"{name}-{level}"
        for name in ("p256-cortex-m4", "bearssl", "mbedtls36", "micro-ecc", "wolfssl", "p256-m")
        for level in ("Os", "O2")
    ]
    assert [line[-1] for line in lines] == [str(rank) for rank in range(1, 7) for _ in range(2)]
    assert all(len(line) == len(shown.headers) for line in shown.rows)


def test_spread_and_n_are_shown_where_they_say_something() -> None:
    """If this fails, a column of zeros takes room, or a library that varies looks exact."""
    steady, varied = board_row(), board_row(library="wolfssl").model_copy(update={"stdev": 12.5, "n": 3})
    shown = table(board_reading([steady, varied]), f"{M4}: ST")
    assert shown.headers[3:6] == ["n", "median\ninstr", "stdev\ninstr"]
    assert {tuple(line[2:6]) for line in shown.rows[:2]} == {
        ("micro-ecc-O2", "5", "1,000", "0.0"),
        ("wolfssl-O2", "3", "1,000", "12.5"),
    }


def test_memory_that_is_not_known_is_a_dash_and_none_is_0() -> None:
    """If this fails, what was not measured reads as nothing used."""
    bare = board_row().with_part(Footprint(heap=0))
    line = table(board_reading([bare]), f"{M4}: ST").rows[0]
    assert line[-5:] == ["-", "0", "-", "-", "-"]


def test_what_nobody_has_is_said_not_left_out(two_boards: Reading) -> None:
    """If this fails, a curve without a library looks as if nobody had asked."""
    shown = table(two_boards, f"{M4}: ST")
    nobodys = [line for line in shown.rows if "not available" in line]
    assert [line[:4] for line in nobodys] == [
        ["sign", "secp112r1", "none", "not available"],
        ["verify", "secp112r1", "none", "not available"],
    ]
    why = table(two_boards, f"{M3}: not available")
    assert sorted(why.rows) == [
        ["any", "sign, verify", "secp112r1", "no library here has secp112r1"],
        ["micro-ecc", "sign, verify", "ed25519", "the library has none of these"],
        ["p256-cortex-m4", "sign, verify", "secp256r1", "p256-cortex-m4 is for Cortex-M4, M7 and M33"],
    ]
    full = section(two_boards, f"{M3}: not available", full=True).table
    assert full and {"micro-ecc", "wolfssl"} <= {line[0] for line in full.rows if line[2] == "secp112r1"}


def test_published_figures_and_gaps(two_boards: Reading) -> None:
    """If this fails, a published figure stands beside another row, or `??` is shown as a figure."""
    shown = table(two_boards, f"{M4}: published")
    assert ["sign 16B", "ed25519", "wolfssl-small-O2", "51,000,640", "298,720 us", "53,769,600", "0.95"] in shown.rows
    assert ["sign 16B", "secp160r1", "micro-ecc-O2", "2,900,640", "??", "??", "-"] in shown.rows
    notes = section(two_boards, f"{M4}: published").notes
    assert notes == ["micro-ecc on secp160r1: ?? (listed, never measured)."]
    assert section(two_boards, "What the published").notes[-1] == two_boards.published_reason


def test_boards_stand_beside_each_other(two_boards: Reading) -> None:
    """If this fails, the comparison across boards mixes rows up."""
    shown = table(two_boards, "Across boards")
    assert shown.headers == ["operation", "curve", "library", f"{M3}\ninstr", "\nrank", f"{M4}\ninstr", "\nrank"]
    assert ["sign 32B", "secp256r1", "micro-ecc-O2", "9,434,000", "3", "8,900,000", "4"] in shown.rows
    assert ["sign 32B", "secp256r1", "p256-cortex-m4-O2", "-", "-", "480,000", "1"] in shown.rows
    alone = board_reading([row for row in two_boards.rows if row.board == M4])
    assert not any(title.startswith("Across") for title in titles(alone))


def test_boards_go_by_their_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the comparison is in the order of names, which says nothing."""
    boards.use(monkeypatch)
    assert by_core([M4, "gone", M3, "microbit", M4]) == ["microbit", M3, M4, "gone"]


def test_a_module_first_imported_beside_stand_ins_keeps_none_of_them() -> None:
    """If this fails, which tests ran before in the same process decides what a table knows."""
    known = list(real_boards()), list(portables())
    with pytest.MonkeyPatch.context() as patch:
        boards.use(patch)
        assert list(real_boards()) == list(boards.BOARDS)
        names = {name: runpy.run_module(f"worldwise.families.{name}.tables") for name in ("tzm", "crypto")}
    assert (list(names["tzm"]["boards"]()), list(names["crypto"]["portables"]())) == known


def test_dhrystone(two_boards: Reading) -> None:
    """If this fails, DMIPS are of another clock or another number of runs."""
    shown = table(two_boards, "Dhrystone 2.1")
    assert shown.rows[-1] == [f"{M4}, ST Nucleo-F446RE (Cortex-M4)", "-O2", "180", "330.0", "310.4", "1.72"]
    row = board_row(M4, "dhrystone", "dhrystone", "", median=1757 * 180.0, runs=1757)
    assert dmips(row) == pytest.approx(1_000_000 / 1757)
    (note,) = section(two_boards, "Dhrystone").notes
    assert "if each instruction took one cycle" in note


def test_the_legend_says_what_is_assumed_and_left_out(two_boards: Reading) -> None:
    """If this fails, a time at one instruction per cycle is taken for a measurement."""
    text = " ".join(section(two_boards, "How to read the boards").notes)
    for words in (
        two_boards.part(BoardTimes).board_assumption,
        "sign: what one sign takes.",
        "the flash's wait states",
        "QEMU's netduinoplus2",
        "Ranks say nothing about constant time",
        "without stack and heap",
    ):
        assert words in text


def test_every_form_has_the_boards(two_boards: Reading) -> None:
    """If this fails, a form lacks what the others have."""
    stream = io.StringIO()
    render(two_boards, Console(file=stream, width=100))
    text = stream.getvalue()
    assert text.isascii()
    assert "p256-cortex-m4-O2" in text
    rows = list(csv.DictReader(io.StringIO(to_csv(two_boards))))
    assert len(rows) == len(two_boards.rows)
    row = next(r for r in rows if r["case"] == f"{M4}/micro-ecc-O2/sign,curve=secp256r1,size=32B")
    assert (row["board"], row["curve"], row["clock_MHz"], row["rank"]) == (M4, "secp256r1", "180.0", "4")
    assert (row["stack_bytes"], row["heap_bytes"], row["flash_bytes"], row["ram_bytes"]) == ("744", "0", "5100", "12")
    assert float(row["assumed_us_at_board_clock"]) == 8_900_000 / 180
    assert row["assumed_us_at_1.0_GHz"] == ""
    dhrystone = next(r for r in rows if r["operation"] == "dhrystone")
    assert float(dhrystone["dmips"]) / float(dhrystone["clock_MHz"]) == float(dhrystone["dmips_per_MHz"])
    assert Reading.model_validate(json.loads(to_json(two_boards))) == two_boards
    blocks = [block.splitlines() for block in to_markdown(two_boards).split("\n\n") if block.startswith("|")]
    assert len(blocks) == 8
    for block in blocks:
        assert len({line.replace("\\|", "").count("|") for line in block}) == 1


def test_from_records_to_tables_and_figures(board_run: Run, tmp_path: Path, call: Call) -> None:
    """If this fails, what a run keeps is not what a report or a figure needs."""
    status, text, err = call("report", board_run.path, "--all")
    assert (status, err) == (0, "")
    assert f"{M4}: ST Nucleo-F446RE (Cortex-M4) at 180 MHz" in text
    assert "micro-ecc-O2" in text and "no library here has secp112r1" in text

    one = tmp_path / "sign.svg"
    status, text, err = call("plot", board_run.path, "--kind", "time", "--board", M4, "--operation", "sign", "-o", one)
    assert (status, text, err) == (0, f"{one}\n", "")
    drawn = one.read_text(encoding="utf-8")
    for words in ("micro-ecc", "secp256r1", "sign 32B", "p256-cortex-m4"):
        assert f">{words}<" in drawn

    status, text, err = call("plot", board_run.path, "--kind", "stack", "-o", tmp_path / "all", "--format", "png")
    assert (status, err) == (0, "")
    files = sorted((tmp_path / "all").iterdir())
    assert [file.name for file in files if M3 in file.name] == [f"stack-{M3}-keys.png", f"stack-{M3}-signatures.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)

    for arguments, words in (
        (("-o", tmp_path / "x.svg"), "one file takes one figure"),
        (("-o", tmp_path / "x.pdf"), "figures are written as svg or png, not as 'pdf'"),
        (("-o", tmp_path / "no" / "x.svg"), "does not exist"),
        (("--curve", "secp256r2"), "did you mean 'secp256r1'?"),
    ):
        status, text, err = call("plot", board_run.path, *arguments)
        assert text == "" and status in (1, 2)
        assert words in " ".join(err.split())


def test_a_boards_figure_of_a_tee_is_refused(whole_run: Run, call: Call) -> None:
    """If this fails, `plot` of a run without boards is a traceback or an empty directory."""
    answer = call("plot", whole_run.path, "--kind", "stack")
    assert (answer.status, answer.out) == (1, "")
    assert "has no measured case of a board" in answer.err and "worldwise run mcu" in answer.err


def test_a_case_id_of_the_helper_is_a_real_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the other tests here look at rows that no run has."""
    boards.use(monkeypatch)
    row = board_row()
    case = Case(M4, "micro-ecc", "O2", "sign", 5, 1, (("curve", "secp256r1"), ("size", "32B")))
    assert (row.case, row.variant, row.measure in case.measures) == (case.id, case.variant, True)
