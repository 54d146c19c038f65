# SPDX-License-Identifier: BSD-2-Clause
import csv
import io
import itertools
import json
import random
import re
from pathlib import Path

import pytest
from rich.console import Console

from board_reading import board_reading
from synthetic import CLIENT_EXTRA, COST, new_writer, write_run
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table
from worldwise.plan.budget import parse_budget
from worldwise.plan.case import Case
from worldwise.read.models import Reading
from worldwise.read.run_counts import read_run
from worldwise.report.formats.terminal import print_section, rich_table
from worldwise.report.report import EXPORTERS, render, sections, to_csv, to_json, to_markdown
from worldwise.report.tables import named_sections
from worldwise.run.folder.rundir import Run


def shown(reading: Reading, width: int, terminal: bool = False, full: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
        legacy_windows=False,
    )
    render(reading, console, full)
    return stream.getvalue()


def test_plain_text_when_not_a_terminal(budgeted: Reading) -> None:
    text = shown(budgeted, 80)
    assert text.isascii()
    assert "\x1b" not in text
    assert "..." not in text
    # The width of a pipe changes nothing.
    assert text == shown(budgeted, 40) == shown(budgeted, 100)
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("width", [40, 100, 120])
def test_nothing_is_cut_off_in_a_terminal(budgeted: Reading, width: int) -> None:
    text = shown(budgeted, width, terminal=True)
    assert "\x1b[" in text
    assert "\u2026" not in text
    for name in (
        "libtomcrypt-Os",
        "mbedtls-nist-O2",
        "240,000,005",
        "What MBEDTLS_ECP_NIST_OPTIM",
        "EXCEEDS",
    ):
        assert name in text


def test_a_terminal_of_100_columns_is_wide_enough(budgeted: Reading) -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None, legacy_windows=False)
    render(budgeted, console)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    longest = max(stream.getvalue().splitlines(), key=len)
    assert len(longest) <= 100, longest
    assert console.width == 100


def test_everything_asked_for_stands_there(budgeted: Reading) -> None:
    text = shown(budgeted, 120)
    for part in (
        "A synthetic run (run 20260102T030400Z-synthetic, complete)",
        "sign: attestdiv, 48-byte input (n = 4 after 1 first call and 2 warm-up)",
        "Price of the TEE",
        "What MBEDTLS_ECP_NIST_OPTIM gives",
        "What -O2 gives",
        "one instruction per cycle",
        "Published figures beside ours",
        "29,000 us",
        "2,900 us",
        "2,564 us",
        "Why they differ",
        "5 ms at 2 GHz is 10,000,000 instructions",
        "P-256 sign 48B fits with 2 of 6 variants, best mbedtls-nist-O2 (2.330 ms)",
        "How to read this",
    ):
        assert part in " ".join(text.split()), part
    for header in ("first call", "first /", "median", "mean", "stdev", "min", "max", "1.0 GHz", "2.5 GHz"):
        assert header in text
    # Every number column has its unit under the name.
    for section in sections(budgeted):
        if section.table:
            for name in section.table.headers[section.table.left :]:
                assert "\n" in name or name == "verdict", name


def test_rows_carry_the_numbers(budgeted: Reading) -> None:
    lines = [line.split() for line in shown(budgeted, 120).splitlines()]
    base = COST["ta", "mbedtls-nist"]
    expected = ["mbedtls-nist-Os", "ta", f"{base + 1000:,}", "1.00", f"{base + 5:,}", f"{base + 8:,}", "9.6"]
    assert [*expected, f"{base:,}", f"{base + 20:,}"] in lines
    client = base + CLIENT_EXTRA
    assert ["attestdiv", "sign", "mbedtls-nist-Os", f"{base // 2 + 5:,}", f"{base + 5:,}", "2.00"] == next(
        line[:6] for line in lines if line[:3] == ["attestdiv", "sign", "mbedtls-nist-Os"]
    )
    assert f"{client + 5:,}" in " ".join(" ".join(line) for line in lines)
    assert ["attestdiv", "sign", "ta", "4.64", "4.64"] in lines
    assert ["attestdiv", "sign", "mbedtls-nist-Os", "client"] in [line[:4] for line in lines]


def test_times_of_every_place_only_when_full(budgeted: Reading) -> None:
    def places(full: bool) -> set[str]:
        (section,) = (s for s in sections(budgeted, full) if s.title.startswith("Time if"))
        assert section.table is not None
        return {row[2] for row in section.table.rows}

    assert places(full=False) == {"client"}
    assert places(full=True) == {"ta", "client", "linux"}


def test_linux_alone_has_times_and_no_empty_tables(runs_dir: Path) -> None:
    run = write_run(runs_dir, [Case("linux", "mbedtls", "Os", "keygen", 2, 0)])
    titles = [section.title for section in sections(read_run(run))]
    assert [title.partition(" (")[0] for title in titles] == [
        "key generation",
        "Time if a core finished one instruction per cycle",
        "How to read this",
    ]


def test_different_sample_sizes_get_a_column(runs_dir: Path) -> None:
    cases = [Case("linux", "mbedtls", "Os", "keygen", 2, 0), Case("linux", "mbedtls", "O2", "keygen", 3, 0)]
    (section, *_) = sections(read_run(write_run(runs_dir, cases)))
    assert section.title == "key generation"
    assert section.table is not None
    assert section.table.headers[2] == "n"
    assert [row[2] for row in section.table.rows] == ["2", "3"]


def test_an_empty_run_says_what_is_missing(runs_dir: Path) -> None:
    with new_writer(runs_dir, [Case("linux", "mbedtls", "Os", "keygen", 2, 0)]) as writer:
        text = shown(read_run(writer.run), 100)
    assert "running" in text
    assert "linux/mbedtls-Os/keygen was not measured." in text


def test_json_is_versioned_and_exact(budgeted: Reading) -> None:
    data = json.loads(to_json(budgeted))
    assert data["format"] == 4
    assert len(data["rows"]) == 108
    assert Reading.model_validate(data) == budgeted
    assert data["rows"][0]["median"] == budgeted.rows[0].median


def test_csv_has_every_row(budgeted: Reading) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(budgeted))))
    assert len(rows) == 108
    row = next(
        r
        for r in rows
        if r["case"] == "optee/mbedtls-nist-Os/attestdiv" and (r["measure"], r["place"]) == ("sign", "ta")
    )
    assert float(row["median_instructions"]) == COST["ta", "mbedtls-nist"] + 5
    assert float(row["assumed_us_at_2.0_GHz"]) == (COST["ta", "mbedtls-nist"] + 5) / 2000
    assert row["published_instructions"] == "2900000"
    assert (row["fits_budget"], row["budget_instructions"]) == ("", "")
    verdicts = [r["fits_budget"] for r in rows if r["fits_budget"]]
    assert sorted(verdicts) == ["false"] * 8 + ["true"] * 4


def test_markdown_tables_are_whole(budgeted: Reading) -> None:
    text = to_markdown(budgeted)
    assert text.startswith("# A synthetic run")
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == sum(section.table is not None for section in sections(budgeted, full=True))
    for block in blocks:
        assert len({line.count("|") for line in block}) == 1
        assert set(block[1]) <= set("|-: ")
    assert "240,000,005" in text


def test_exporters_by_name(budgeted: Reading) -> None:
    assert set(EXPORTERS) == {"json", "csv", "markdown", "latex", "github-action-benchmark", "bencher"}
    assert all(export(budgeted).endswith("\n") for export in EXPORTERS.values())


@pytest.mark.parametrize("full", [False, True])
def test_every_section_has_a_name_of_its_own(whole_run: Run, full: bool) -> None:
    """If this fails, `report --section` shows another table than the one that was asked for, or none."""
    for reading in (read_run(whole_run, parse_budget("5ms@2GHz")), board_reading()):
        names = [section.name for section in sections(reading, full)]
        assert len(names) == len(set(names))
        assert [name for name in names if not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)] == []


def test_sections_are_found_by_name_or_by_its_beginning(whole_run: Run) -> None:
    """A whole name stands for one section; the words that it begins with stand for all that begin so."""
    found = sections(read_run(whole_run))
    assert [section.name for section in named_sections(found, "price")] == ["price"]
    assert [section.name for section in named_sections(found, "sign")] == ["sign-attestdiv", "sign-attestquorum"]
    assert named_sections(found, "sig") == []


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_shows_every_figure_with_its_header(budgeted: Reading, width: int) -> None:
    """Each line of a wide table is a few lines that fit, with everything that it has."""
    stacked = 0
    for section in sections(budgeted):
        stream = io.StringIO()
        console = Console(file=stream, width=width, force_terminal=True, color_system=None, legacy_windows=False)
        print_section(Section("", section.table), console)
        assert max((len(line.rstrip()) for line in stream.getvalue().splitlines()), default=0) <= width
        flat = " ".join(stream.getvalue().split())
        if section.table:
            names = [" ".join(header.split()) for header in section.table.headers]
            # Where a table fits it is as ever.
            as_ever = f"{names[-1]}: " not in flat
            stacked += not as_ever
            for row in section.table.rows:
                assert [cell for cell in row if cell not in flat] == []
                figures = list(zip(names, row, strict=True))[section.table.left :]
                assert as_ever or [each for each in figures if ": ".join(each) not in flat] == []
    assert stacked


def test_a_narrow_terminal_shows_a_line_as_this() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=60, force_terminal=True, color_system=None, legacy_windows=False)
    headers = ["measure", "variant", "worst call\ninstr", "budget\ninstr", "used\n%", "\nrank", "verdict", "of\nit"]
    row = ["attestdiv sign", "libtomcrypt-Os", "240,061,000", "10,000,000", "2,400.6", "1", "EXCEEDS", ""]
    print_section(Section("Budget", Table(headers, [row], 2)), console)
    assert stream.getvalue().splitlines() == [
        "Budget",
        "attestdiv sign   libtomcrypt-Os",
        "  worst call instr: 240,061,000   budget instr: 10,000,000",
        "  used %: 2,400.6   rank: 1   verdict: EXCEEDS",
    ]
    stream.truncate(0)
    words = "a sentence that is longer than the terminal is wide, so that it must be wrapped somewhere in it"
    print_section(Section("", Table(["attempt", "what was seen"], [["full", words]], 2)), console)
    assert stream.getvalue().replace("\x00", "").splitlines()[1:] == [
        "full",
        "  what was seen: a sentence that is longer than the terminal",
        "    is wide, so that it must be wrapped somewhere in it",
    ]


def test_a_table_in_a_pipe_is_as_rich_makes_it() -> None:
    """If this fails, `worldwise report | less` has other tables than a terminal of any width."""
    chance = random.Random(1)
    odd = ["", "a\nhead\nof three", "  x", "x\n", "\n", "12.5 \u00b5s", "\u65e5\u672c", "tab\tx", "[bold]x", "EXCEEDS"]
    usual = ["a", "bb", "12,345", "fits", "some words here", "b\nc", "-"]
    for rows, columns in itertools.product((0, 1, 5), (1, 2, 6)):
        for some in (usual, usual, usual * 5 + odd, odd):
            headers, *cells = [[chance.choice(some) for _ in range(columns)] for _ in range(rows + 1)]
            if some is odd and cells:
                cells[-1] = cells[-1][: chance.randint(0, columns)]
            table = Table(headers, cells, chance.randint(0, columns))
            file, wide = io.StringIO(), io.StringIO()
            print_section(Section("", table), safe_text.console(file=file))
            console = safe_text.console(file=wide, width=10_000)
            console.print()
            console.print(rich_table(console, table, 2))
            assert file.getvalue() == wide.getvalue(), table
