# SPDX-License-Identifier: BSD-2-Clause
"""What strangers wrote never reaches a terminal, a Markdown viewer or a spreadsheet as a command."""

import csv
import dataclasses
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.progress import Progress, TextColumn
from rich.text import Text

from board_reading import add_library, board_reading
from command_line import Call
from hostile_runs import run_of_words
from synthetic import write_run
from worldwise.base import paths
from worldwise.base.output import safe_text
from worldwise.explain.stacks import StackFrame, Stacks
from worldwise.plan.budget import parse_budget
from worldwise.plan.case import Case
from worldwise.read.compared import gate
from worldwise.read.models import Reading
from worldwise.read.run_counts import read_run
from worldwise.report import comparisons as gate_report
from worldwise.report import report
from worldwise.report.drawing import charts, figures, flame_graph, vega
from worldwise.report.formats import ci_formats, exports, printed_sections
from worldwise.run.folder.rundir import Run
from worldwise.run.traces.flame_renderer import Inferno

CASE = Case("linux", "mbedtls", "Os", "keygen", 2, 0)
# The window's title, 8-bit CSI, the other direction, another line's end, delete, a carriage return over the line.
CONTROL = "\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2066\u200f\u2028\x7f\x85\rok"
MARKUP = "[bold]x[/bold] :skull: <img src=x onerror=alert(1)> [a](javascript:x) `c` *b* _i_ ~~s~~ $m$ | &lt; #"
HOSTILE = f"{CONTROL} {MARKUP}"
# What of it may stand nowhere.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def command(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The tool, with a terminal's colours asked for."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "worldwise", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(paths.REPOSITORY / "src"), "FORCE_COLOR": "1", **environment},
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )


@pytest.fixture
def call(call: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The tool in this process, with a terminal's colours asked for."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    return call


def without_styles(text: str) -> str:
    """The text without the colours that rich itself sets."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# --- the terminal ---


def test_a_received_run_commands_no_terminal(runs_dir: Path) -> None:
    """Title, revision, lab, version and a case's error are shown, and the window keeps its own title."""
    run = run_of_words(runs_dir, HOSTILE)
    done = command("report", run.path)
    assert not FORBIDDEN.search(without_styles(done.stdout + done.stderr))
    shown = " ".join(without_styles(done.stdout).split())
    assert r"\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2066\u200f\u2028\x7f\x85\x0dok [bold]x[/bold] :skull:" in shown
    # rich's own colours are still there.
    assert "\x1b[1m" in done.stdout


@pytest.mark.parametrize("form", list(report.EXPORTERS))
def test_no_format_of_a_received_run_has_control_characters(runs_dir: Path, form: str, call: Call) -> None:
    """Printed or in a file: both are looked at in terminals."""
    run = run_of_words(runs_dir, HOSTILE)
    printed = call("report", run.path, "--format", form).out
    call("report", run.path, "--format", form, "--output", runs_dir / "file")
    assert not FORBIDDEN.search(printed)
    assert (runs_dir / "file").read_text() == printed


@pytest.mark.parametrize("form", list(gate_report.EXPORTERS))
def test_no_format_of_a_comparison_has_control_characters(runs_dir: Path, form: str) -> None:
    """Nor has its table."""
    run = run_of_words(runs_dir, HOSTILE)
    comparison = gate.compare_runs(run, run, gate.GateOptions())
    assert not FORBIDDEN.search(gate_report.EXPORTERS[form](comparison))
    stream = io.StringIO()
    gate_report.render(comparison, safe_text.console(file=stream), full=True)
    assert not FORBIDDEN.search(stream.getvalue())


def test_the_list_of_runs_commands_no_terminal(runs_dir: Path, call: Call) -> None:
    """A run that cannot be read names its reason, which may be a stranger's words."""
    run = run_of_words(runs_dir, HOSTILE)
    path = run.path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cases": [HOSTILE]}))
    listed = call("list", "--runs", runs_dir).out
    assert "x1b" in listed
    assert not FORBIDDEN.search(listed)


def test_clicks_own_messages_command_no_terminal(call: Call) -> None:
    """They repeat the arguments."""
    for arguments in ((f"--{HOSTILE}",), ("report", "--format", HOSTILE), ("report", f"--{HOSTILE}"), (HOSTILE,)):
        answer = call(*arguments)
        assert answer.status == 2
        assert "\\x1b" in answer.err
        assert not FORBIDDEN.search(answer.err)


def test_our_own_errors_command_no_terminal(tmp_path: Path) -> None:
    """Message, hint and details, with names of files that are no UTF-8."""
    done = command("report", tmp_path / f"{CONTROL}\udc9b".replace("\r", ""))
    assert done.returncode == 1
    assert "\\x1b" in done.stderr
    assert "\\udc9b" in done.stderr
    assert not FORBIDDEN.search(without_styles(done.stderr))


def test_even_a_traceback_commands_no_terminal() -> None:
    """A defect of ours that a stranger's words bring to light."""
    defect = "def fail(**_): raise ValueError(chr(27) + chr(155))"
    script = f"from worldwise import cli\n{defect}\ncli.cli.main = fail\ncli.main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env=os.environ | {"PYTHONPATH": str(paths.REPOSITORY / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: \\x1b\\x9b\n")


@pytest.mark.parametrize("terminal", [False, True])
def test_the_console_shows_what_it_is_given(terminal: bool) -> None:
    """Strings, rich texts and progress alike; only the console's own colours and movements are sent."""
    stream = io.StringIO()
    console = safe_text.console(file=stream)
    console._force_terminal = terminal
    console.print(HOSTILE)
    console.print(Text(HOSTILE, style="bold"))
    with Progress(TextColumn("{task.description}", markup=False), console=console, disable=not terminal) as progress:
        progress.add_task(HOSTILE)
    text = stream.getvalue()
    assert "\\x1b" in text
    assert "[bold]x[/bold]" in text
    # Colours, and what a progress bar needs: the cursor off and on, one line up, the line erased.
    assert not FORBIDDEN.search(re.sub(r"\x1b\[[0-9;?]*[mlhAK]|\r", "", text))


def test_every_word_goes_out_at_one_place() -> None:
    """A console, an echo or a print elsewhere would send what it is given."""
    for path in (paths.REPOSITORY / "src" / "worldwise").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        # Recipes run in the lab, and their output goes to a log.
        if path.name != "safe_text.py" and "recipes" not in path.parts:
            assert not re.search(r"(?<![\w.])Console\(|click\.s?echo\(|(?<![\w.])print\((?!self)", text), path


# --- Markdown ---

OLD = {"\\": "\\\\", "|": "\\|", "_": "\\_", "*": "\\*", "\n": " "}


def old_markdown(text: str) -> str:
    """What was escaped before strangers were thought of."""
    return "".join(OLD.get(character, character) for character in text)


def but_commits(text: str) -> str:
    """The text without the code that keeps GitHub from making a link of a revision or a lab's digest."""
    return re.sub(r"`([0-9a-f]{7,40})`", r"\1", text)


@pytest.mark.parametrize("name", ["worlds", "boards"])
def test_the_markdown_of_ordinary_reports_stays_as_it_was(
    name: str, whole_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the byte: people keep these files in their repositories."""
    reading = read_run(whole_run, parse_budget("5ms@2GHz")) if name == "worlds" else board_reading()
    before = report.to_markdown(reading)
    for function in ("markdown", "markdown_paragraph", "markdown_heading"):
        monkeypatch.setattr(printed_sections, function, old_markdown)
    assert report.to_markdown(reading) == but_commits(before)


def test_the_markdown_of_an_ordinary_comparison_stays_as_it_was(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a gate, other inputs, and a case that is not compared."""
    other = dataclasses.replace(CASE, optimisation="O2")
    first, second = write_run(runs_dir, [CASE, other]), write_run(runs_dir, [CASE], second=1)
    options = gate.GateOptions(limit=gate.parse_limit("0%"), limit_text="0%")
    comparison = gate.compare_runs(first, second, options)
    before = gate_report.to_markdown(comparison)
    assert "(`--allow cases` lets that pass)" in before
    for function in ("markdown", "markdown_paragraph", "markdown_heading"):
        monkeypatch.setattr(printed_sections, function, old_markdown)
    assert gate_report.to_markdown(comparison) == but_commits(before)


def test_a_hostile_title_is_itself_in_markdown(runs_dir: Path) -> None:
    """No image, no link, no code, no emphasis, no HTML, no table cell more."""
    text = report.to_markdown(read_run(run_of_words(runs_dir, HOSTILE)))
    for line in text.splitlines():
        assert not re.search(r"(?<!\\)[<\[`~$]|(?<!\\)&lt;", re.sub("`(read|:skull:)`", "", line)), line
    assert r"\<img src=x onerror=alert(1)\>".replace(r"\>", ">") in text
    assert r"\[a\](javascript:x) \`c\` \*b\* \_i\_ \~\~s\~\~ \$m\$ \| \&lt;" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# not a heading", r"\# not a heading"),
        ("- no item", r"\- no item"),
        ("+ no item", r"\+ no item"),
        ("1. no item", r"1\. no item"),
        ("12) no item", r"12\) no item"),
        ("> no quotation", r"\> no quotation"),
        ("=== no underline", r"\=== no underline"),
        ("--- no rule", r"\--- no rule"),
        ("    no code", "no code"),
        ("-5 of 3. Two", "-5 of 3. Two"),
        ("2.5 ms at 1. GHz", "2.5 ms at 1. GHz"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_paragraph_begins_no_block(text: str, shown: str) -> None:
    """A note is a paragraph, whatever it begins with."""
    assert safe_text.markdown_paragraph(text) == shown


def test_a_heading_keeps_what_it_ends_with() -> None:
    """`#` at a heading's end is dropped by Markdown."""
    assert safe_text.markdown_heading("C #") == r"C \#"


def test_code_is_code_only_in_our_own_prose() -> None:
    """A stranger's backticks are backticks."""
    assert safe_text.markdown(safe_text.Prose("`--full` shows _all_")) == r"`--full` shows \_all\_"
    assert safe_text.markdown("`--full`") == r"\`--full\`"


# --- data formats ---


def test_a_spreadsheet_takes_no_name_for_a_formula() -> None:
    """Names get an apostrophe, as spreadsheets have it; numbers, signs included, are left alone."""
    names = ["=HYPERLINK(1)", "+1+1", "-2+cmd", "@SUM(A1)", "\t=1", "plain", "a=b", HOSTILE]
    text = safe_text.csv_text([["name", "value"], *([name, -5.5] for name in names), [None, -3]])
    rows = list(csv.reader(io.StringIO(text)))
    assert [row[0] for row in rows[1:6]] == [f"'{name}" for name in names[:5]]
    assert [row[0] for row in rows[6:8]] == names[5:7]
    assert rows[8][0] == safe_text.visible(HOSTILE)
    assert [row[1] for row in rows[1:]] == ["-5.5"] * 8 + ["-3"]
    assert rows[9] == ["", "-3"]


def test_csv_of_a_run_with_a_formula_for_a_name(whole_run: Run) -> None:
    """In the reports' own CSV."""
    reading = read_run(whole_run)
    row = reading.rows[0].model_copy(update={"variant": "=1+1", "parameters": "@x"})
    changed: Reading = reading.model_copy(update={"rows": [row]})
    (line,) = csv.DictReader(io.StringIO(report.to_csv(changed)))
    assert (line["variant"], line["parameters"]) == ("'=1+1", "'@x")
    assert line["median_instructions"] == str(row.median)


def test_json_reads_back_as_what_it_was(runs_dir: Path) -> None:
    """The terminal is spared, and no character is lost."""
    data = json.loads(report.to_json(read_run(run_of_words(runs_dir, HOSTILE))))
    assert data["run"]["title"] == HOSTILE


def test_junit_is_xml_whatever_the_names() -> None:
    """And says nothing to a terminal that shows it."""
    result = ci_formats.Result(HOSTILE, HOSTILE, "failed", HOSTILE, HOSTILE)
    text = ci_formats.to_junit(HOSTILE, [result], {"a.run": HOSTILE + "\ufffe\udc80"})
    (suite,) = ElementTree.fromstring(text)
    assert "<img src=x" in (suite.get("name") or "")
    assert not FORBIDDEN.search(text)


# --- figures ---


@pytest.mark.parametrize("kind", figures.KINDS)
def test_a_figure_is_xml_whatever_the_names(kind: figures.Kind) -> None:
    """Nor does a name become a formula, or stop the drawing."""
    reading = add_library(board_reading(), "$\\frac{1}$\x1b[1m\x9b\u202e")
    for one in charts.plots(reading, (kind,))[:2]:
        hostile = vega.chart(kind, one.name, f"{HOSTILE} $\\frac{{1}}$", HOSTILE, one.spec, (), one.rows)
        text = charts.to_file(hostile, reading, "svg").decode()
        ElementTree.fromstring(text)
        assert not FORBIDDEN.search(text)


def test_a_flame_graph_gets_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in its title nor in its frames."""
    asked: list[str] = []

    def draw(self: Inferno, program: str, arguments: Sequence[str], files: Mapping[str, str]) -> str:
        del self, program
        asked.extend([*arguments, *files.values()])
        return "<svg/>"

    monkeypatch.setattr(Inferno, "__init__", lambda _: None)
    monkeypatch.setattr(Inferno, "run", draw)
    stacks: Stacks = {(StackFrame(HOSTILE, HOSTILE, "TA code", "secure"),): 3}
    flame_graph.flame_graph(stacks, f"{HOSTILE}\0", Inferno())
    flame_graph.differential(stacks, stacks, f"{HOSTILE}\0", Inferno())
    assert any("--title=\\x1b]0;owned" in text for text in asked)
    assert not any(FORBIDDEN.search(text) for text in asked)


def test_other_tools_time_lines_read_back() -> None:
    """speedscope and the Chrome trace are JSON that no terminal obeys; callgrind's text is none either."""
    stacks: Stacks = {(StackFrame(HOSTILE, "ta", "TA code", "secure"),): 3}
    for text in (
        exports.speedscope(stacks, HOSTILE),
        exports.chrome_trace([exports.Slice(HOSTILE, HOSTILE, 0, 1)], HOSTILE),
    ):
        assert not FORBIDDEN.search(text)
        assert json.loads(text)
    assert not FORBIDDEN.search(exports.callgrind(stacks, HOSTILE))
