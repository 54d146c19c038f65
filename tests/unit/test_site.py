# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise site`: the index of runs, and the history of a library over five revisions, one of which is slower."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_compare_gate import grown, run_of

import boards
import synthetic
from flames import FLAME_STACKS, frame
from pages import text_of
from worldwise import cli
from worldwise.base.tables import Section
from worldwise.explain.explanation import Explanation, LevelPath
from worldwise.plan.case import Case
from worldwise.read.run_counts import read_run
from worldwise.report.page.history import HistoryRun, figures, sections
from worldwise.run.folder.rundir import Run

CASE = Case("nucleo-f446re", "bearssl", "Os", "sign", 3, 1, (("curve", "secp256r1"), ("size", "32B")))
REVISIONS = ("1111111111", "2222222222", "3333333333", "4444444444", "5555555555")
# The revision that brings 700 instructions, in each call; the next one takes them back.
SLOWER = 2


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Runs of one case at five revisions."""
    boards.use(monkeypatch)
    folder = tmp_path / "runs"
    folder.mkdir()
    records = synthetic.make_records(CASE)
    slower = grown(records, dict.fromkeys(range(5), 700))
    return [
        run_of(folder, number, {CASE: slower if number == SLOWER else records}, git=revision)
        for number, revision in enumerate(REVISIONS)
    ]


def steps(found: list[Section]) -> list[list[str]]:
    table = found[0].table
    return table.rows if table else []


def explained(more: int) -> Explanation:
    """A trace of the case, in which one function executes so much more."""
    stacks = {stack: count + (more if stack[-1] == frame("entry") else 0) for stack, count in FLAME_STACKS.items()}
    return Explanation(
        CASE, "sign", "mcu", 2, "sample", sum(stacks.values()), 5, 0, stacks, 0, frozenset(), LevelPath([], 0)
    )


def test_a_step_is_exact_and_has_its_revision(runs: list[Run]) -> None:
    """If this fails, a regression is not seen, or is blamed on another commit."""
    found = sections([HistoryRun(read_run(run)) for run in runs])
    base = read_run(runs[0]).rows[0].median
    up, down = steps(found)
    assert up[:5] == [CASE.id, "sign", "mcu", runs[1].id, runs[2].id]
    assert up[5:8] == [f"{base:,.0f}", f"{base + 700:,.0f}", "+700"]
    assert up[8:] == ["worldwise 2222222222 -> 3333333333", "no traces of both"]
    assert down[3:5] == [runs[2].id, runs[3].id] and down[7] == "-700"
    assert found[0].notes[0].startswith("2 steps in 1 figures.")
    [chart] = figures([HistoryRun(read_run(run)) for run in runs])
    assert chart.words.endswith(f"steps at {runs[2].id}, {runs[3].id}.")
    assert [value["step"] for value in chart.spec["data"]["values"]] == [False, False, True, True, False]
    assert found[1].table and found[1].table.rows[0][3:] == ["3", "5", f"{base:,.0f}", f"{base:,.0f}", "1.00", "2"]


def test_a_step_names_the_functions_that_caused_it(runs: list[Run]) -> None:
    """If this fails, a page says that a commit is slower, and not where."""
    measured = [
        HistoryRun(read_run(run), explanations={(CASE.id, "sign"): explained(700 if number == SLOWER else 0)})
        for number, run in enumerate(runs)
    ]
    up, down = steps(sections(measured))
    assert up[9] == f"{frame('entry')} +700"
    assert down[9] == f"{frame('entry')} -700"


def test_a_library_of_ones_own_is_told_by_its_files(runs: list[Run]) -> None:
    """If this fails, a step of a library's own revision is blamed on worldwise's."""
    readings = [read_run(run) for run in runs[1:3]]
    readings = [one.model_copy(update={"run": one.run.model_copy(update={"git": "same"})}) for one in readings]
    old, new = (HistoryRun(one, {"bearssl": digest * 64}) for one, digest in zip(readings, "ab", strict=True))
    assert steps(sections([old, new]))[0][8] == f"library {'a' * 12} -> {'b' * 12}"
    assert steps(sections([replace(old, own={}), replace(new, own={})]))[0][8] == "nothing that a run records"


def test_other_numbers_of_samples_are_no_step(runs: list[Run]) -> None:
    """If this fails, a longer run looks like a regression."""
    one, other = (read_run(run) for run in runs[1:3])
    longer = other.model_copy(update={"rows": tuple(row.model_copy(update={"n": 9}) for row in other.rows)})
    assert sections([HistoryRun(one), HistoryRun(longer)]) == []
    # One between two others hides no step.
    assert steps(sections([HistoryRun(one), HistoryRun(longer), HistoryRun(other)]))[0][7] == "+700"
    assert sections([HistoryRun(one)]) == []


def test_a_site_has_every_run_an_index_and_the_history(runs: list[Run], tmp_path: Path) -> None:
    """If this fails, a run has no page, or one that cannot be read ends the whole."""
    folder = runs[0].path.parent
    (folder / "20260101T000000Z-broken").mkdir()
    (folder / "20260101T000000Z-broken" / "run.json").write_text("{")
    target = tmp_path / "site"
    result = CliRunner().invoke(cli.cli, ["site", str(target), "--runs", str(folder)], standalone_mode=False)
    assert result.exception is None, result.exception
    assert {path.name for path in target.iterdir()} == {"index.html", *(f"{run.id}.html" for run in runs)}
    index = (target / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<a href="(2026[^"]*)"', index) == [f"{run.id}.html" for run in reversed(runs)]
    text = text_of(index)
    assert "worldwise 2222222222 -> 3333333333" in text.replace("&gt;", ">")
    assert "20260101T000000Z-broken:" in text
    assert "left out: 20260101T000000Z-broken" in result.output


def test_no_run_is_told(tmp_path: Path) -> None:
    """If this fails, somebody gets an empty site."""
    result = CliRunner().invoke(cli.cli, ["site", str(tmp_path / "s"), "--runs", str(tmp_path)], standalone_mode=False)
    assert "no run" in str(result.exception)
    assert not (tmp_path / "s").exists()
