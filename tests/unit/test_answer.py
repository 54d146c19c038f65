# SPDX-License-Identifier: BSD-2-Clause
"""The screen that `worldwise run` ends with: how much fits on it, and what it says of what does not."""

import io

import pytest

from worldwise.base.output import safe_text
from worldwise.base.tables import Table
from worldwise.read.models import BudgetResult, FailedCase, Reading
from worldwise.report import answer as screens
from worldwise.report.first_screen import SCREEN_LINES
from worldwise.report.report import answers
from worldwise.report.tables import SCREEN_COLUMNS, ScreenAnswer

COMMAND = "worldwise report latest"


def screen(reading: Reading, width: int = SCREEN_COLUMNS) -> list[str]:
    """The lines of the screen."""
    file = io.StringIO()
    screens.render_answer(reading, safe_text.console(file=file, width=width), COMMAND)
    return file.getvalue().splitlines()


def answer(name: str, rows: int, surprises: int = 1) -> ScreenAnswer:
    """An answer with a table of so many lines."""
    table = Table(["case", "median\ninstr"], [[f"{name} row {number}", "1,000"] for number in range(rows)], 1)
    return ScreenAnswer(
        f"What {name} costs",
        table,
        f"{name} fits.",
        tuple(f"{name} surprises {number}." for number in range(surprises)),
        (name, f"{name}-more"),
    )


def answered(monkeypatch: pytest.MonkeyPatch, *given: ScreenAnswer) -> None:
    """Let the families answer this."""
    monkeypatch.setattr(screens, "answers", lambda _reading, _times=None: list(given))


def test_a_real_run_fits_on_a_screen(reading: Reading) -> None:
    """If this fails, the answer scrolls away."""
    lines = screen(reading)
    assert lines[0].startswith(f"A synthetic run (run {reading.run.id}, complete)")
    assert lines[1].startswith(f"{len({row.case for row in reading.rows})} cases measured; ")
    assert "What a client of the TEE waits for: P-256" in lines
    assert f"All of it: {COMMAND} --all" in lines
    assert f"All names: {COMMAND} --sections" in lines
    assert len(lines) <= SCREEN_LINES
    assert max(map(len, lines)) <= SCREEN_COLUMNS


@pytest.mark.parametrize("number", [1, 2, 3, 4, 6, 8, 12, 20])
def test_answers_share_the_screen(number: int, reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a suite that asks much fills several screens, or leaves half of one empty."""
    answered(monkeypatch, *(answer(f"thing{one}", 12, 5) for one in range(number)))
    lines = screen(reading)
    assert len(lines) <= SCREEN_LINES
    assert "What thing0 costs" in lines and "thing0 fits." in lines
    if 1 < number < 20:
        assert len(lines) > SCREEN_LINES - 8


def test_what_is_cut_is_told(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a table seems to be whole and is not."""
    answered(monkeypatch, answer("one", 12), answer("two", 12), answer("three", 2))
    lines = screen(reading)
    shown = sum(line.startswith("one row") for line in lines)
    assert 3 <= shown < 12
    assert f"({12 - shown} more lines in the report: --section one)" in lines
    assert sum(line.startswith("three row") for line in lines) == 2


def test_surprises_are_counted(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a hundred warnings push the figures off the screen, or some vanish."""
    answered(monkeypatch, answer("one", 1, 9))
    lines = screen(reading)
    assert "one surprises 2." in lines and "one surprises 3." not in lines
    assert "and 6 more surprises" in lines


def test_failures_are_on_the_screen(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a run with holes looks like a whole one."""
    failed = tuple(FailedCase(case=f"optee/x-O2/op{one}", error=f"broken {one}\nconsole") for one in range(5))
    answered(monkeypatch, answer("one", 12))
    lines = screen(reading.model_copy(update={"failed": failed, "missing": ("optee/x-O2/gone",)}))
    assert "5 failed, 1 not measured" in lines[1]
    assert "FAILED optee/x-O2/op0: broken 0" in lines
    assert "and 2 more failures" in lines
    assert len(lines) <= SCREEN_LINES


def test_the_way_to_the_rest_is_shown(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, nobody finds the tables that the screen leaves out."""
    answered(monkeypatch, answer("one", 1), answer("two", 1))
    text = " ".join(screen(reading))
    assert f"A part of it: {COMMAND} --section NAME, with NAME such as one, one-more, two, two-more" in text


def test_without_an_answer_the_report_is_listed(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a run of something that has no answer yet prints nothing."""
    answered(monkeypatch)
    lines = screen(reading)
    assert "The report has" in lines
    assert any(line.startswith("price: Price of the TEE") for line in lines)
    assert len(lines) <= SCREEN_LINES


def judged(reading: Reading) -> Reading:
    """The same figures, judged."""
    limit = BudgetResult(
        limit="5 ms",
        clock="2 GHz",
        instructions=10_000_000,
        measures=("sign",),
        place="client",
        judged=1,
        exceeded=0,
        fits=True,
    )
    return reading.model_copy(update={"budget": limit})


def test_tables_of_answers_have_a_cell_below_each_header(reading: Reading) -> None:
    """If this fails, a figure stands below another column's header."""
    for one in (*answers(reading), *answers(judged(reading))):
        if one.table:
            assert {len(row) for row in one.table.rows} == {len(one.table.headers)}, one.title
