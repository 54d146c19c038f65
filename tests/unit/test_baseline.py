# SPDX-License-Identifier: BSD-2-Clause
"""Baselines: what is kept of a run, what a later one is told, and that nothing passes in silence."""

from pathlib import Path

import pytest
from test_cli import call

from command_line import Call
from synthetic import lines as record_lines
from synthetic import make_records, new_writer, write_case
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.read.compared import baseline
from worldwise.run.folder.rundir import open_run

__all__ = ["call"]

CASE = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 3, 1)
OTHER = Case("optee", "mbedtls", "O2", "empty-invoke", 3, 1)


def make(runs_dir: Path, second: int, more: int = 0, cases: tuple[Case, ...] = (CASE, OTHER)) -> str:
    """A run in which every call takes some instructions more."""
    with new_writer(runs_dir, list(cases), second=second) as writer:
        for case in cases:
            records = make_records(case)
            for record in records:
                if record["type"] == "sample":
                    record["count"] += more
                    record["end"] += more
            write_case(writer, case, record_lines(records))
        return str(writer.finish("complete").id)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that has the baselines."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_baseline_is_kept_and_compared_with(call: Call, runs_dir: Path, here: Path) -> None:
    """Equal runs pass, one instruction more is exit status 3, and the file can be read by people."""
    ids = [make(runs_dir, number, more) for number, more in enumerate((0, 0, 1))]
    kept = call("compare", ids[0], "--save-baseline", "main", "--runs", runs_dir)
    assert kept.status == 0
    assert "baselines/main.toml has 2 counts: commit it" in kept.err
    text = (here / "baselines" / "main.toml").read_text()
    assert 'case = "optee/mbedtls-nist-O2/empty-invoke"' in text
    assert text.count("instructions = { calls = ") == 2
    same = call("compare", ids[1], "--baseline", "main", "--runs", runs_dir)
    assert same.status == 0
    assert "Gate: passed" in same.out
    assert "2 of 2 rows have the same median" in same.out
    more = call("compare", ids[2], "--baseline", "main", "--runs", runs_dir)
    assert more.status == 3
    assert "2 of 2 rows exceed A by more than 0%" in more.out
    assert "A = baseline main" in more.out
    loose = call("compare", ids[2], "--baseline", "main", "--fail-above", "10%", "--runs", runs_dir)
    assert (loose.status, "0 of 2 rows exceed A by more than 10%" in loose.out) == (0, True)


def test_the_text_is_the_baseline(runs_dir: Path, here: Path) -> None:
    """What is written is what is read, functions and all; the same run gives the same text."""
    run = open_run(make(runs_dir, 0), runs_dir)
    functions = {CASE.id: {"mix (app)": 900, 'odd "name" (app)': 99, "tiny (libc)": 1, "gone (libc)": 0}}
    made = baseline.baseline_of(run, functions)
    assert made.count[0].functions == {"mix (app)": 900, 'odd "name" (app)': 99, "tiny (libc)": 1}
    text = baseline.text_of(made, "--baseline main")
    path = here / "baselines" / "main.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    assert baseline.load("main", here).content == made
    assert baseline.text_of(baseline.baseline_of(run, functions), "--baseline main") == text


def test_what_is_missing_is_said(call: Call, runs_dir: Path) -> None:
    """A file that is not there, a case that the run lacks, and one that the baseline lacks."""
    whole, part = make(runs_dir, 0), make(runs_dir, 1, cases=(CASE,))
    call("compare", whole, "--save-baseline", "main", "--runs", runs_dir)
    gone = call("compare", whole, "--baseline", "mian", "--runs", runs_dir)
    assert gone.status == 1
    said = " ".join(gone.err.split())
    assert "there is no baseline 'mian': baselines/mian.toml does not exist. There is main." in said
    assert "did you mean 'main'?" in said
    lost = call("compare", part, "--baseline", "main", "--runs", runs_dir)
    assert lost.status == 1
    assert f"{OTHER.id}: in B was not measured." in lost.out
    assert call("compare", part, "--baseline", "main", "--allow", "cases", "--runs", runs_dir).status == 0
    call("compare", part, "--save-baseline", "part", "--runs", runs_dir)
    more = call("compare", whole, "--baseline", "part", "--runs", runs_dir)
    assert more.status == 0
    assert f"{OTHER.id}: is not in the baseline." in more.out


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("lab =", 'lab = "0123"\n#', "differ where they must agree: lab 0123 /"),
        ("[images]", '[images]\n"linux" = "' + "0" * 64 + '"\n[other]', "there is no such key"),
        ("format = 1", "format = 2", "main.toml:2: format: 2 is not known. Allowed: 1."),
        ("median =", "medain =", "there is no such key. Allowed: calls, first, median, least, most."),
        ("first = ", "first = -", "first"),
    ],
)
def test_a_baseline_of_something_else_is_refused(
    call: Call, runs_dir: Path, here: Path, was: str, becomes: str, said: str
) -> None:
    """Another lab, another format, a key that is not there: file and line are named."""
    run = make(runs_dir, 0)
    call("compare", run, "--save-baseline", "main", "--runs", runs_dir)
    path = here / "baselines" / "main.toml"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, becomes, 1))
    answer = call("compare", run, "--baseline", "main", "--runs", runs_dir)
    assert (answer.status, answer.out) == (1, "")
    assert said in " ".join(answer.err.split())


def test_other_images_and_other_work_are_said(call: Call, runs_dir: Path, here: Path) -> None:
    """An image around the library that differs is refused; other results are a word in the row."""
    run = make(runs_dir, 0)
    call("compare", run, "--save-baseline", "main", "--runs", runs_dir)
    path = here / "baselines" / "main.toml"
    whole = path.read_text()
    lines = whole.splitlines()
    images = lines.index("[images]") + 1
    if lines[images]:
        path.write_text(whole.replace(lines[images], lines[images].rpartition("=")[0] + f'= "{"1" * 64}"'))
        answer = call("compare", run, "--baseline", "main", "--runs", runs_dir)
        assert answer.status == 1
        assert "differ where they must agree: image " in " ".join(answer.err.split())
        allowed = call("compare", run, "--baseline", "main", "--allow", "images", "--runs", runs_dir)
        assert "They differ, as you allowed, in images" in allowed.out
    inputs = lines.index("[inputs]") + 1
    path.write_text(whole.replace(lines[inputs], lines[inputs].rpartition("=")[0] + f'= "{"1" * 64}"'))
    answer = call("compare", run, "--baseline", "main", "--runs", runs_dir)
    assert answer.status == 0
    assert "1 rows have other inputs" in answer.out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--baseline", "../main"), 1, "'../main' cannot be the name of a baseline"),
        (("--save-baseline", "a b"), 1, "'a b' cannot be the name of a baseline"),
        (("latest", "--baseline", "main"), 2, "--baseline and --save-baseline take one RUN"),
        ((), 2, "name what to compare RUN with"),
    ],
)
def test_a_wrong_call_is_refused(call: Call, runs_dir: Path, words: tuple[str, ...], status: int, said: str) -> None:
    answer = call("compare", make(runs_dir, 0), *words, "--runs", runs_dir)
    assert (answer.status, answer.out) == (status, "")
    assert said in " ".join(answer.err.split())


def test_a_run_with_a_failed_case_is_no_baseline(runs_dir: Path) -> None:
    with new_writer(runs_dir, [CASE]) as writer:
        run = writer.finish("interrupted")
    with pytest.raises(WorldwiseError, match="was not measured: no baseline would have it"):
        baseline.baseline_of(run, {})


def test_run_refuses_a_missing_baseline_before_it_measures(call: Call, here: Path) -> None:
    """If this fails, an hour is measured before a typing error is told."""
    answer = call("run", "quick", "--baseline", "main")
    assert answer.status == 1
    assert "there is no baseline 'main'" in " ".join(answer.err.split())
    assert not (here / "runs").exists()


def test_functions_that_moved_are_named_the_most_first() -> None:
    """What a baseline had no room for is not taken for new."""
    before = {"mix (app)": 1000, "end (app)": 50, baseline.OTHERS: 20}
    after = {"mix (app)": 1300, "end (app)": 50, "small (libc)": 15, "new (app)": 40, "tiny (libc)": 6}
    assert baseline.moved_functions(before, after) == [
        ("mix (app)", 1000, 1300),
        ("new (app)", 0, 40),
        (baseline.OTHERS, 20, 21),
    ]
