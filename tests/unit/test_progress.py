# SPDX-License-Identifier: BSD-2-Clause
"""What a run and a build say while they go on, on a terminal and without one."""

import io
import re
import time

import pytest
from rich.console import Console

from worldwise.base.output import safe_text
from worldwise.base.progress_notes import FAILED, REUSED, Begun, CaseEnd, Done
from worldwise.cli.common import progress
from worldwise.plan.case import Case


def costs(number: int) -> dict[str, int]:
    """So many cases that cost the same."""
    return {case(each).id: 1000 for each in range(number)}


def case(number: int) -> Case:
    return Case("optee", "mbedtls", "O2", f"operation{number}", 4, 2)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed to standard error, which is no terminal."""
    text = io.StringIO()
    monkeypatch.setattr(safe_text, "console", lambda **_: console(text, False))
    return text


def console(file: io.StringIO, terminal: bool) -> Console:
    return Console(file=file, width=120, markup=False, emoji=False, highlight=False, force_terminal=terminal)


def lines(said: io.StringIO) -> list[str]:
    return [re.sub(r"^\[\d\d:\d\d\] ", "", line) for line in said.getvalue().splitlines()]


def test_a_short_run_has_a_line_for_each_case(said: io.StringIO) -> None:
    """If this fails, a log does not say what took the time."""
    display = progress.Display(costs(3))
    for number, how in enumerate((CaseEnd("1.0 s, sign 5 instructions"), REUSED, FAILED)):
        display.case_started(case(number))
        display.case_done(case(number), how)
    assert lines(said) == [
        f"  1/3 {case(0).id}: 1.0 s, sign 5 instructions",
        f"  3/3 {case(2).id}: FAILED",
    ]


def test_figures_are_printed_at_once(said: io.StringIO) -> None:
    """If this fails, the first figure of a long run comes with its last."""
    display = progress.Display(costs(1000))
    display.figures = lambda measured: ["a client waits for 5 instructions"] if measured == case(7) else []
    for number in (6, 7, 8):
        display.case_started(case(number))
        display.case_done(case(number), CaseEnd("1.0 s"))
    assert lines(said) == ["a client waits for 5 instructions"]
    # What was measured by an earlier run is on the screen soon.
    display.case_done(case(7), REUSED)
    assert len(lines(said)) == 1


def test_a_long_run_has_few_lines(said: io.StringIO) -> None:
    """If this fails, a log has a line for each of a thousand cases, or hides one that failed."""
    display = progress.Display(costs(1000))
    for number in range(1000):
        display.case_started(case(number))
        display.case_done(case(number), FAILED if number == 123 else CaseEnd("1.0 s"))
    said_lines = lines(said)
    assert len(said_lines) == 11
    assert said_lines[0].startswith("100/1000 ")
    assert sum("FAILED" in line for line in said_lines) == 1


def test_what_is_left_is_told(said: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, nobody knows whether to wait or to go for lunch."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    display = progress.Display(costs(10))
    for number in range(10):
        now[0] += 1
        display.case_started(case(number))
        now[0] += 119
        display.case_done(case(number), CaseEnd("119.0 s"))
    found = [re.search("; about ([0-9]+) min left", line) for line in lines(said)]
    assert [one and int(one[1]) for one in found] == [None, 16, 14, 12, 10, 8, 6, 4, 2, None]


def test_what_is_left_is_estimated_by_costs(said: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a run that ends with its long cases says all the time that it will be over soon."""
    now = [1.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    expected = [600, 300, 100, 100, 100]
    display = progress.Display({case(number).id: cost for number, cost in enumerate(expected)})
    for number, cost in enumerate(expected):
        display.case_started(case(number))
        # The last was measured before: it takes no time, and what it would cost is no part of what was measured.
        if number < 4:
            now[0] += cost
        display.case_done(case(number), CaseEnd("some time") if number < 4 else REUSED)
    found = [re.search("; about ([0-9]+) min left", line) for line in lines(said)]
    assert [one and int(one[1]) for one in found] == [None, 5, 3, 2]


@pytest.mark.usefixtures("said")
def test_the_live_line_says_what_goes_on_and_what_was_found() -> None:
    """If this fails, the one line that people look at is empty."""
    display = progress.Display(costs(10))
    display.note(Begun("it is being made", "build", "optee-mbedtls-O2"))
    task = display.bar.tasks[0]
    assert task.description == "building optee-mbedtls-O2"
    display.case_started(case(1))
    display.case_progress(case(1), 4096)
    assert task.description == f"{case(1).id} (4 kB) and 1 more"
    display.case_done(case(1), CaseEnd("1.0 s, sign 5 instructions"))
    display.case_done(case(2), FAILED)
    display.note(Done("it is made", "build", "optee-mbedtls-O2"))
    assert task.description == "waiting"
    assert task.fields["found"].startswith("1 FAILED; ") and "sign 5 instructions" in task.fields["found"]


def test_a_build_shows_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, `keycache demo` builds for minutes as if it hung."""
    text = io.StringIO()
    monkeypatch.setattr(safe_text, "console", lambda **_: console(text, True))
    steps = progress.Steps()
    steps.note(Begun("it is being made", "build", "optee-x"))
    assert steps.live is not None
    steps.live.refresh()
    assert "0:00:00" in text.getvalue()
    steps.note(Done("it is made", "build", "optee-x"))
    assert steps.live is None
    steps.note(Begun("it starts", "boot", "optee-x"))
    steps.end()
    steps.end()
    assert steps.live is None


def test_words_alone_begin_and_end_nothing(said: io.StringIO) -> None:
    """If this fails, a message that begins like another one stays on the live line for good, or hides a figure."""
    display = progress.Display(costs(2))
    display.note("building optee/mbedtls-O2: the worker could not; this machine tries it")
    assert display.builds == []
    display.case_done(case(0), CaseEnd("reused"))
    assert "reused" in said.getvalue()
