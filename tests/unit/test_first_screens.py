# SPDX-License-Identifier: BSD-2-Clause
"""What every command prints first: at most 40 lines of 100 columns, and what is left out is said.

The answers of all suites are test_screens.py's, those of `predict` test_predict_report.py's.
"""

import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import screens
from board_run import FOLDER as BOARD_RUNS
from command_line import Call
from synthetic import write_run
from worldwise import cli
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table
from worldwise.explain.explanation import Explanation, LevelPath
from worldwise.explain.layers import Rules, load_rules
from worldwise.explain.stacks import StackFrame
from worldwise.plan.case import Case, parse_case
from worldwise.report.citation.citation import first_sections
from worldwise.report.explaining import explanations
from worldwise.report.first_screen import first_screen, lines_of, narrowed
from worldwise.report.formats.printed_sections import print_sections
from worldwise.run.folder.rundir import Run

# Of a screen.
LINES, COLUMNS = 40, 100
# How a command is called here, in the folder of a run; RUN is its id.
CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "list": (("--runs", "."),),
    "report": (("latest", "--runs", "."),),
    "compare": (("RUN", "RUN", "--runs", "."), ("RUN", "mbedtls-O2", "mbedtls-nist-O2", "--runs", ".")),
    "cite": (("latest", "--runs", "."),),
    "suites": ((), ("attestation",), ("linux-armv8",), ("mcu",), ("tee",)),
    "doctor": ((),),
    "cache": ((),),
    "lab status": ((),),
    "lab drift": ((),),
    "validation show": ((),),
    "validation check": ((),),
    "contribute": (("--list",), ("--check",)),
}
# What is not called here, and why.
ELSEWHERE = {
    "run": "its screen is test_screens.py's",
    "merge": "its screen is that of run",
    "init": "it says one line",
    "exec": "it prints what its program prints",
    "stack check": "a line for each thing that a stack changes",
    "explain": "below, without a lab",
    "diff": "below, without a lab",
    "vary": "first_screen shortens it, as what explain prints",
    "predict": "test_predict_report.py",
    "judge": "below: first_screen",
    "calibrate": "below: first_screen",
    "plot": "below",
    "site": "it says one line",
    "schema": "it prints data",
    "scheduler": "it runs until it is stopped",
    "worker": "it runs until it is stopped",
    "keycache": "a line for each step",
    "validation measure": "a line for each step, and the tables that it makes",
    "validation stacks": "a stack and a few lines for each call",
    "validation slow-down": "it says two lines",
    "cache clean": "it asks before it removes",
    "lab": "lines on files, or what the program prints that it starts",
}


def commands(group: click.Group, before: str = "") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        assert one
        if isinstance(one, click.Group) and not one.invoke_without_command:
            yield from commands(one, f"{before}{name} ")
        elif isinstance(one, click.Group):
            yield f"{before}{name}"
            yield from commands(one, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def test_every_command_is_here() -> None:
    """If this fails, nobody has looked how much a new command prints."""
    for name in commands(cli.cli):
        assert name in CALLS or name in ELSEWHERE or name.split()[0] in ELSEWHERE, name


def fits(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) <= LINES, f"{len(lines)} lines:\n{text}"
    wide = [line for line in lines if len(line.rstrip()) > COLUMNS]
    assert not wide, wide


@pytest.mark.parametrize(("name", "words"), [(name, words) for name, each in CALLS.items() for words in each])
def test_a_command_prints_one_screen(
    name: str,
    words: tuple[str, ...],
    whole_run: Run,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
) -> None:
    """If this fails, what a user asked for scrolls away, or is wrapped at the edge of the terminal."""
    monkeypatch.chdir(whole_run.path.parent)
    given = [whole_run.id if word == "RUN" else word for word in words]
    answer = call(*name.split(), *given)
    assert answer.status in (0, 1), answer.err
    assert answer.out
    fits(answer.out)


def test_a_run_on_a_board_is_reported_on_one_screen(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    """If this fails, cycles of a chip scroll away."""
    monkeypatch.chdir(BOARD_RUNS)
    fits(call("report", "latest", "--runs", ".").out)


def test_many_runs_are_listed_on_one_screen(tmp_path: Path) -> None:
    """If this fails, the newest run is not on the screen, or nothing says that there are older ones."""
    run = write_run(tmp_path / "one", [CASE])
    for number in range(50):
        (tmp_path / f"20260102T0304{number:02}Z-synthetic").symlink_to(run.path)
    shown = CliRunner().invoke(cli.cli, ["list", "--runs", str(tmp_path)], standalone_mode=False).output
    fits(shown)
    assert "14 older runs not listed: `worldwise list --all`" in shown
    assert "20260102T030449Z" in shown and "20260102T030413Z" not in shown
    whole = CliRunner().invoke(cli.cli, ["list", "--all", "--runs", str(tmp_path)], standalone_mode=False).output
    assert len(whole.splitlines()) == 51


@pytest.mark.parametrize("name", [name for name in screens.READINGS if name in screens.SUITES])
def test_a_citation_fits_a_screen(name: str) -> None:
    """If this fails, the paragraph of a suite with many measures scrolls away; or its library is told to be the user's.

    Every library of the suites is worldwise's.
    """
    text = printed(first_sections(screens.READINGS[name](), {}, "more"))
    fits(text)
    assert "user's own" not in text


# --- explain ---


@pytest.fixture(scope="module")
def rules() -> Rules:
    return load_rules()


def many(case: Case, measure: str, rules: Rules, functions: int = 80) -> Explanation:
    """An explanation with as many layers as the rules have, and functions with long names."""
    order = rules.order[:19]
    frames = [
        StackFrame(f"{'a_long_name_of_a_function_' * 3}{number}", "a-long-image", order[number % len(order)], "secure")
        for number in range(functions)
    ]
    stacks: dict[tuple[StackFrame, ...], int] = {(frame,): 1000 + number for number, frame in enumerate(frames)}
    return Explanation(
        case=case,
        measure=measure,
        place="client",
        index=1,
        phase="sample",
        instructions=sum(stacks.values()),
        measuring=2,
        uncounted=0,
        stacks=stacks,
        lost=0,
        helpers=frozenset(),
        path=LevelPath([], 0),
    )


CASE = parse_case("optee/mbedtls-nist-O2/attestdiv")
LONG = parse_case("optee/s2n-bignum-O2/sign,curve=secp256r1,size=48B,memory=allocated,optee=lean,options=comb-7x37x1")


@pytest.mark.parametrize("measures", [1, 2, 3, 200])
@pytest.mark.parametrize("case", [CASE, LONG], ids=["short", "long"])
def test_explanations_fit_a_screen(measures: int, case: Case, rules: Rules) -> None:
    """If this fails, the layers scroll away above the functions, or a run's cases scroll away altogether."""
    found = [(many(case, f"m{number}", rules), ()) for number in range(measures)]
    text = printed(explanations.first_sections(found, rules, 7, 15, "More: --full."))
    fits(text)
    assert "7 regions checked" in text
    assert "More: --full." in text
    if measures == 1:
        assert re.search(r"^sum +83,160  100.00", text, re.MULTILINE)
        assert re.search(r"^\d+ smaller layers ", text, re.MULTILINE)
        own = [int(row.replace(",", "")) for row in re.findall(r"^[^_\n]+?  +([\d,]+)  +[\d.]+(?:  |$)", text, re.M)]
        # The lines above the sum are all of it.
        assert sum(own[:-1]) == own[-1] == 83_160


@pytest.mark.parametrize("pairs", [1, 2, 90])
def test_differences_fit_a_screen(pairs: int, rules: Rules) -> None:
    """If this fails, the function that made a call slower is not on the screen."""
    found = []
    for number in range(pairs):
        before = many(LONG, f"m{number}", rules)
        (slow, count), *_ = before.stacks.items()
        after = replace(before, stacks={**before.stacks, slow: count + 5000}, instructions=before.instructions + 5000)
        found.append((before, after))
    text = printed(explanations.first_differences(found, rules, 15, "More: --full."))
    fits(text)
    assert "+5,000" in text


# --- any sections ---


def printed(sections: list[Section]) -> str:
    file = io.StringIO()
    print_sections(sections, safe_text.console(file=file, width=140))
    return file.getvalue()


def table(rows: int, columns: int, width: int) -> Table:
    cells = [[f"{'x' * width}{row}", *[str(row * column) for column in range(columns)]] for row in range(rows)]
    return Table(["name", *[f"head {column}" for column in range(columns)]], cells, 1)


@pytest.mark.parametrize(
    ("rows", "columns", "width", "notes"),
    list(itertools.product(((3,), (30,), (200,), (5, 60, 7), (9,) * 8), (1, 7), (4, 150), (0, 2))),
)
def test_any_sections_fit_a_screen(rows: tuple[int, ...], columns: int, width: int, notes: int) -> None:
    """If this fails, a command with other tables than today's prints more than a screen, or hides that it cut them."""
    said = ["A sentence of some length, which says what stands in the table above it, or in another one."] * notes
    sections = [Section(f"Title {at}", table(number, columns, width), said) for at, number in enumerate(rows)]
    shown = first_screen(sections, "More: --full.", ("head 3",))
    text = printed(shown)
    fits(text)
    whole = printed(sections) == text
    assert whole != ("More: --full." in text)
    # Each line of a table is there, or counted among those that are not.
    left = sum(map(int, re.findall(r"^\((\d+) more lines?\)$", text, re.MULTILINE)))
    kept = [one for one in shown if one.table]
    assert sum(len(one.table.rows) for one in kept if one.table) + left == sum(rows[: len(kept)])
    gone = re.search(r"\((\d+) more tables?\)", text)
    assert len(kept) + (int(gone[1]) if gone else 0) == len(rows)


def test_a_table_loses_what_is_spare_before_names_are_cut() -> None:
    """If this fails, a reader gets half a name though a column was there that the reader can do without."""
    wide = Table(["name", "spare", "figure"], [["n" * 60, "s" * 60, "1"]], 2)
    assert narrowed(wide, ("spare",)).headers == ["name", "figure"]
    cut = narrowed(Table(["name", "figure"], [["n" * 120, "1"]], 1))
    assert cut.width == COLUMNS and cut.rows[0][0].endswith("...")
    assert narrowed(Table(["name"], [["n" * 100]], 1)).rows == [["n" * 100]]


@pytest.mark.parametrize(
    "one",
    [
        Section("Title", table(3, 1, 4), ["word " * 60]),
        Section("word " * 60, table(40, 6, 30), ["", "one\ntwo", "n" * 300]),
        Section("", Table(["\nname", "a\nhead\nof three"], [["one", ""], ["two\nthree", "4"], ["", "\x1b[2J"]], 1)),
        Section("Nothing", Table(["name"], [], 1)),
        Section("A sentence alone", None, ["\r\none\r\n"]),
    ],
)
def test_lines_are_counted_as_they_are_printed(one: Section) -> None:
    """If this fails, a screen is full before it is."""
    assert lines_of([one]) == printed([one]).count("\n")


@pytest.mark.parametrize(("number", "lines"), [(3, 3), (60, 1)])
def test_many_figures_are_one_line(
    number: int, lines: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole_run: Run
) -> None:
    """If this fails, the names of files scroll away."""
    from worldwise.report.drawing import charts
    from worldwise.report.drawing.vega import Chart

    made = [Chart("time", f"figure-{at}", "t", "w", {}) for at in range(number)]
    monkeypatch.setattr(charts, "figures", lambda *_: made)
    monkeypatch.setattr(charts, "to_file", lambda *_: b"")
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(cli.cli, ["plot", str(whole_run.path), "-o", "d"], standalone_mode=False).output
    assert len(shown.splitlines()) == lines
    assert shown.startswith("d/figure-0.svg" if lines > 1 else "60 figures are in d")
