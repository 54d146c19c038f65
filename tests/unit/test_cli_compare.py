# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise compare` as a user meets it: statuses, streams, files."""

import io
import json
import re
import shlex
from pathlib import Path

import pytest
from rich.console import Console
from test_cli import call

from command_line import Answer, Call
from synthetic import lines as record_lines
from synthetic import make_records, new_writer, write_case
from worldwise.plan.case import Case
from worldwise.read.compared import gate
from worldwise.read.compared.comparison import Unpaired
from worldwise.report import comparisons
from worldwise.run.folder.rundir import open_run

__all__ = ["call"]

CASE = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 3, 1)
OTHER = Case("optee", "mbedtls", "O2", "empty-invoke", 3, 1)


@pytest.fixture
def ids(runs_dir: Path) -> list[str]:
    """Three runs: two alike, and one in which every call takes one instruction more."""
    made = []
    for second, more in enumerate((0, 0, 1)):
        with new_writer(runs_dir, [CASE, OTHER], second=second) as writer:
            for case in (CASE, OTHER):
                records = make_records(case)
                for record in records:
                    if record["type"] == "sample":
                        record["count"] += more
                        record["end"] += more
                write_case(writer, case, record_lines(records))
            made.append(writer.finish("complete").id)
    return made


def compare(call: Call, runs_dir: Path, *words: str) -> Answer:
    return call("compare", *words, "--runs", runs_dir)


def test_statuses(call: Call, runs_dir: Path, ids: list[str]) -> None:
    same, slower = (ids[0], ids[1]), (ids[0], ids[2])
    assert compare(call, runs_dir, *same).status == 0
    assert compare(call, runs_dir, *same, "--fail-above", "0%").status == 0
    assert compare(call, runs_dir, *slower).status == 0
    assert compare(call, runs_dir, *slower, "--fail-above", "0%").status == 3
    assert compare(call, runs_dir, *slower, "--fail-above", "0.1%").status == 0
    assert compare(call, runs_dir, ids[2], ids[0], "--fail-above", "0%").status == 0
    answer = compare(call, runs_dir, ids[0], ids[0], "--fail-above", "0%")
    assert (answer.status, answer.out) == (1, "")
    assert "is compared with itself" in answer.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--fail-above", "1"), "is not a limit for a gate"),
        (("--write", "junit"), "not FORMAT=FILE"),
        (("--write", "yaml=x"), "the formats are table, json, csv, markdown, junit"),
        (("--write", "json=no/where"), "the directory no does not exist"),
        (("--output", "no/where"), "the directory no does not exist"),
        (("--case", "linux/*"), "has no case that is 'linux/*'"),
    ],
)
def test_refusals(call: Call, runs_dir: Path, ids: list[str], words: tuple[str, ...], says: str) -> None:
    answer = compare(call, runs_dir, ids[0], ids[2], *words)
    assert (answer.status, answer.out) == (1, "")
    assert says in answer.err.replace("\n", " ")


def test_variants(call: Call, runs_dir: Path, ids: list[str]) -> None:
    answer = compare(call, runs_dir, "latest", "mbedtls-nist-O2", "mbedtls-O2")
    assert answer.status == 0
    assert f"A = mbedtls-nist-O2, B = mbedtls-O2, of run {ids[2]}" in answer.out.replace("\n", " ")
    answer = compare(call, runs_dir, "latest", "mbedtls-nist-O3", "mbedtls-O2")
    assert answer.status == 1
    assert "mbedtls-nist-O2" in answer.err


def test_the_first_screen_says_where_to_go_on(call: Call, runs_dir: Path, ids: list[str]) -> None:
    """If this fails, a slower run is a table to search, and nobody learns which functions it is of."""
    shown = compare(call, runs_dir, ids[0], ids[2]).out
    lines = shown.replace(str(runs_dir), "runs").splitlines()
    assert len(lines) <= 40 and max(len(line.rstrip()) for line in lines) <= 100
    found = re.findall(r"^  (worldwise diff (?:.*\\\n)*.*)$", shown, re.MULTILINE)
    assert len(found) == 2
    for command in found:
        words = shlex.split(command)
        assert words[:4] == ["worldwise", "diff", ids[0], ids[2]]
        assert words[words.index("--runs") + 1] == str(runs_dir)
        assert words[words.index("--case") + 1] in (CASE.id, OTHER.id)
        assert words[-4:] == ["--measure", "invoke", "--place", "client"]

    assert "worst call" not in shown
    assert "worst call" in compare(call, runs_dir, ids[0], ids[2], "--full").out
    # Of variants it is the case that is explained against the other.
    shown = compare(call, runs_dir, ids[0], "mbedtls-O2", "mbedtls-nist-O2").out
    assert "worldwise diff" not in shown
    same = compare(call, runs_dir, ids[0], ids[1]).out
    assert "worldwise diff" not in same and "2 of 2 rows are the same" in same


def test_a_comparison_of_many_cases_is_one_screen(runs_dir: Path, ids: list[str]) -> None:
    """If this fails, the rows that changed most are lost among all others."""
    wanted = gate.GateOptions(limit=gate.parse_limit("0%"), limit_text="0%")
    found = gate.compare_runs(open_run(ids[0], runs_dir), open_run(ids[2], runs_dir), wanted)
    (row, _) = found.rows
    rows = [
        row.model_copy(
            update={
                "case": f"linux-armv8/mbedtls36-O2/verify,curve=secp521r1,size={size}B",
                "case_b": f"linux-armv8/mbedtls36-O2/verify,curve=secp521r1,size={size}B",
                "ratio": 1 + size / 100,
            }
        )
        for size in range(32, 96)
    ]
    lost = [Unpaired(case=each.case, side="a", reason="in B is not among the cases", lost=True) for each in rows[:40]]
    assert found.gate
    failed = found.gate.model_copy(update={"exceeded": 64, "lost": 40, "passed": False})
    many = found.model_copy(update={"rows": tuple(rows), "unpaired": tuple(lost), "gate": failed})
    stream = io.StringIO()
    comparisons.render_brief(many, Console(file=stream, width=140))
    lines = stream.getvalue().splitlines()
    assert len(lines) <= 40 and max(len(line.rstrip()) for line in lines) <= 100
    assert "Gate: FAILED" in lines
    assert "57 more rows changed (`--full` lists them)." in lines and "38 more (`--full` lists them)." in lines
    # The greatest change first.
    assert "size=95B" in lines[4]
    assert f"worldwise diff {ids[0]} {ids[2]}" in stream.getvalue()
    assert "'linux-armv8/mbedtls36-O2/verify,curve=secp521r1,size=95B'" not in stream.getvalue()


def test_several_files_at_once(call: Call, runs_dir: Path, ids: list[str], tmp_path: Path) -> None:
    files = {form: tmp_path / f"{form}.out" for form in ("table", "json", "markdown", "junit", "bencher")}
    words = [word for form, path in files.items() for word in ("--write", f"{form}={path}")]
    answer = compare(call, runs_dir, ids[0], ids[2], "--fail-above", "0%", "--format", "csv", *words)
    assert answer.status == 3
    assert answer.out.startswith("case,case_b,measure,place,")
    # docs/examples/ci/repository.sh reads these by their place.
    headers = answer.out.splitlines()[0].split(",")
    assert (headers[0], headers[12], headers[-1]) == ("case", "ratio", "exceeds")
    assert json.loads(files["json"].read_text())["gate"]["passed"] is False
    assert files["markdown"].read_text().startswith("## Failed: ")
    assert "<failure" in files["junit"].read_text()
    assert "Gate: FAILED" in files["table"].read_text()
    assert "instructions" in files["bencher"].read_text()
    output = tmp_path / "all.json"
    answer = compare(call, runs_dir, ids[0], ids[2], "--format", "json", "--output", str(output))
    assert (answer.status, answer.out) == (0, "")
    assert json.loads(output.read_text())["format"] == 1


def test_a_run_alone(call: Call, runs_dir: Path, ids: list[str]) -> None:
    answer = call("report", ids[2], "--format", "bencher", "--runs", runs_dir)
    assert answer.status == 0
    assert f"{CASE.id} invoke client" in json.loads(answer.out)
