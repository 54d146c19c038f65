# SPDX-License-Identifier: BSD-2-Clause
"""Every figure of every suite's screen, recomputed from the exported rows by code that knows nothing of the report.

The screens themselves are golden files: tests/golden/screens. The readings behind them are suite_readings.py's.
"""

import functools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import doc_records
import screens
from recomputed import Checker, parse_screen
from screens import READINGS
from worldwise.families.portable import tables as portable
from worldwise.families.portable.boards import board_time
from worldwise.read import contests
from worldwise.read.contests import Match
from worldwise.read.models import Reading, Row
from worldwise.report.drawing import counts
from worldwise.report.page import content
from worldwise.report.report import to_json
from worldwise.report.sections import tasks, verdicts

Patch = pytest.MonkeyPatch


@functools.cache
def right(name: str) -> frozenset[str]:
    """What is wrong with a reading where nobody planted anything."""
    return frozenset(screens.problems(READINGS[name](), times=screens.times_of(name)))


@functools.cache
def exported(name: str) -> str:
    """A reading's rows, as the checker gets them."""
    return to_json(READINGS[name]())


@pytest.mark.parametrize("name", list(READINGS))
def test_a_screen_says_what_its_rows_say(name: str) -> None:
    """If this fails, a user reads a figure, a winner, a verdict or a number that the run's rows do not give."""
    assert not right(name)


# The checker does not know the table of many clients, whose hits each case compares with the simulator's.
_WIDTH_ALONE = {"keycache-zipf"}


@pytest.mark.parametrize("suite", doc_records.kept_runs())
def test_a_screen_of_a_kept_run_says_what_its_rows_say(suite: str) -> None:
    """If this fails, a screen is right of made-up rows and wrong of measured ones."""
    kept = doc_records.kept(suite)
    assert kept
    if suite in _WIDTH_ALONE:
        text = screens.screen(kept.reading, kept.times)
        assert [line for line in text.splitlines() if len(line) > 100] == []
        return
    assert screens.problems(kept.reading, times=kept.times) == []


@pytest.mark.parametrize("name", list(READINGS))
def test_a_screen_of_large_figures_has_room_for_them(name: str) -> None:
    """If this fails, a suite whose made-up rows fit prints lines of over 100 columns of measured ones."""
    reading = READINGS[name]()
    wide = ("first", "median", "mean", "min", "max", "worst")
    rows = [row.model_copy(update={key: 10 * getattr(row.counts, key) for key in wide}) for row in reading.rows]
    reading = reading.model_copy(update={"rows": type(reading.rows)(rows)})
    text = screens.screen(reading, screens.times_of(name))
    assert [line for line in text.splitlines() if len(line) > 100] == []


def test_the_checker_shares_no_code_with_the_report() -> None:
    """If this fails, a mistake of the report is made again by what should find it."""
    source = Path(__file__).parents[1].joinpath("recomputed.py").read_text(encoding="utf-8")
    known = {"functools", "itertools", "json", "math", "re", "collections.abc", "dataclasses", "statistics", "typing"}
    assert set(re.findall(r"^(?:from|import) (\S+)", source, re.MULTILINE)) == known
    assert not re.search(r"^[ \t]+(?:from \S+ )?import |__import__|importlib", source, re.MULTILINE)


def test_the_readings_have_what_misleads() -> None:
    """If this fails, a mistake that is known to happen could happen unseen."""
    rows = READINGS["mcu"]().rows
    groups = contests.matches(rows)
    assert any(len(match.least()) > 1 for match in groups if len(match.rows) > 2)
    assert any(row.counts.first > 2 * row.median for row in rows)
    assert any(row.counts.max - row.counts.min > 0.05 * row.median for row in rows)
    sizes = {row.size: len([one for one in rows if (one.operation, one.size) == ("sign", row.size)]) for row in rows}
    # The longest messages are those that few libraries sign.
    assert 0 < sizes[1024] < sizes[32]
    assert any(row.counts.worst > row.median for row in READINGS["attestation"]().rows)


# --- planted mistakes ---


def _second(patch: Patch) -> None:
    """The winner is the second."""
    least = Match.least
    patch.setattr(Match, "least", lambda match, *by: tuple(match.ranked(*by)[1:2]) or least(match, *by))


def _alone(patch: Patch) -> None:
    """A tie names the first of its equals, and hides the others."""
    least = Match.least
    patch.setattr(Match, "least", lambda match, *by: least(match, *by)[:1])


def _two_sizes(patch: Patch) -> None:
    """Rows are compared whatever their size is."""

    def key(row: Row) -> object:
        return (row.target, row.board, row.core, row.operation, row.measure, row.place, row.curve)

    patch.setattr(contests, "alike", lambda *_: key)


def _two_levels(patch: Patch) -> None:
    """Rows are compared whatever their level of optimisation is."""
    patch.setattr(portable, "matches", lambda rows, key=None, **_: contests.matches(rows, key))


def _longest(patch: Patch) -> None:
    """The longest message is shown, which few libraries have measured."""

    def fullest(found: Sequence[Match], of: Callable[[Row], object], *_: object) -> list[Match]:
        return list(
            {of(match.first): match for match in sorted(found, key=lambda match: match.first.size or 0)}.values()
        )

    patch.setattr(portable, "fullest", fullest)


def _both_worlds(patch: Patch) -> None:
    """A sentence compares the TEE with Linux."""
    patch.setattr(counts, "matches", lambda rows: [Match(tuple(rows))])


def _unsaid(patch: Patch) -> None:
    """A verdict says nothing of what it did not judge."""
    patch.setattr(verdicts, "unjudged_words", lambda *_: "")


def _by_the_best(patch: Patch) -> None:
    """A verdict is that of the best variant alone."""
    said = verdicts.verdict_words

    def short(name: str, rows: Sequence[Row], *rest: Any) -> str:
        return said(name, Match(tuple(rows)).ranked(contests.worst_of)[:1], *rest)

    patch.setattr(verdicts, "verdict_words", short)


def _least_important(patch: Patch) -> None:
    """A screen is cut from the wrong end."""
    right = tasks.importance
    patch.setattr(tasks, "importance", lambda found: tuple(-rank for rank in right(found)))


def _wrong_card(patch: Patch) -> None:
    """A card's best is another than its table's."""
    patch.setattr(content.Card, "best_name", property(lambda card: card.worst_name))


def _of_the_first(patch: Patch) -> None:
    """The fastest line's flash and time are those of another row."""
    right = board_time
    patch.setattr(
        portable, "board_time", lambda row, *rest: right(row.model_copy(update={"median": row.counts.first}), *rest)
    )


def _longest_card(patch: Patch) -> None:
    """A card shows the longest message, which few libraries have measured."""

    def fullest(found: Sequence[Match], of: Callable[[Row], object], *_: object) -> list[Match]:
        ordered = sorted(found, key=lambda match: match.first.size or 0)
        return list({of(match.first): match for match in ordered}.values())

    patch.setattr(content, "fullest", fullest)


def _any_size(patch: Patch) -> None:
    """A page's ratios are to the best of any size."""
    patch.setattr(content, "contest", lambda row: (row.target, row.place, row.operation, row.measure, row.curve))


PLANTED: dict[str, tuple[str, Callable[[Patch], None]]] = {
    "the winner is the second, on boards": ("cores", _second),
    "the winner is the second, in the TEE": ("attestation", _second),
    "the winner is the second, in Linux": ("linux-armv8", _second),
    "the winner is the second, of post-quantum schemes": ("pqc", _second),
    "the winner is the second, of options": ("options", _second),
    "a tie hides its equals, on boards": ("mcu", _alone),
    "a tie hides its equals, of calls": ("attestation", _alone),
    "two sizes are compared": ("mcu", _two_sizes),
    "two levels are compared": ("linux-armv7", _two_levels),
    "a size that few libraries have, on boards": ("mcu", _longest),
    "one figure is of another row": ("cores", _of_the_first),
    "a sentence compares the TEE with Linux": ("attestation", _both_worlds),
    "a verdict leaves out what was not judged": ("attestation-5ms-1.5GHz", _unsaid),
    "a verdict leaves out what does not fit": ("attestation-2ms-2GHz", _by_the_best),
    "a screen is cut from the wrong end": ("attestation", _least_important),
    "a card names the worst as the best": ("mcu", _wrong_card),
    "a card is of a size that few libraries have": ("sha256", _longest_card),
    "a page divides by the best of another size": ("linux-armv8", _any_size),
}


@pytest.mark.parametrize("what", list(PLANTED))
def test_a_planted_mistake_of_the_engine_is_found(what: str, monkeypatch: Patch) -> None:
    """If this fails, the report could make this mistake and no test would say so."""
    name, plant = PLANTED[what]
    before = right(name)
    plant(monkeypatch)
    assert set(screens.problems(READINGS[name]())) - before, what


# Pattern and replacement, and the reading whose screen has it.
EDITED: dict[str, tuple[str, str, str | Callable[[re.Match[str]], str]]] = {
    "one more line is left out than it says": ("attestation", r"\(\d+ more", lambda m: f"({int(m[0][1:-5]) - 1} more"),
    "another section is named": ("mcu", r"--section board-nucleo-f103rb\)", "--section board-nucleo-f446re)"),
    "a section is named that is not there": ("tz-m", r"NAME such as gateway,", "NAME such as gateways,"),
    "a ratio": ("linux-armv8", r"(\d\.\d\d)(?=\n)", "9.99"),
    "milliseconds at another clock": ("attestation", r"at 2 GHz", "at 1 GHz"),
    "a rank": ("attestation", r" 2/8 ", " 1/8 "),
    "a place": ("findings", r"\bclient  ", "linux   "),
    "a board": ("cores", r"mps2-an386  ", "mps2-an385  "),
    "a way that its name does not tell from another": ("attestation", r", allocated \*", " *         "),
    "the recommended way": ("attestation", r"\* recommended: wolfssl-sp-O2", "* recommended: mbedtls-nist-O2"),
    "the range of samples": ("attestation", r"range of (\d+) %", lambda m: f"range of {int(m[1]) + 100} %"),
    "whose samples differ": ("mcu", r"Samples differ: \S+,", "Samples differ: nobody-O2,"),
    "how dear a first call is": ("attestation", r"first,\s+\d\.\d times", "first, 9.9 times"),
    "how many figures are off": ("attestation", r"\d+ of 10 figures", "1 of 10 figures"),
    "microseconds divided into instructions": (
        "mcu",
        r"\n\nAll of it",
        "\nUnlike what was published: wolfssl-small-Os, sign curve=ed25519, size=16B on nucleo-f446re takes 0.60 times "
        "the instructions of riot-ecc-mcu; 1 of 2 figures are off by more than 1.5 times.\n\nAll of it",
    ),
    "an answer that is not known": ("quick", r"What a call costs before any algorithm runs", "What a call pays"),
    "a sentence that is not known": ("quick", r"\n\nAll of it", "\nIt is the fastest there is.\n\nAll of it"),
    "a variant that has no figure": ("sha256", r"mbedtls-ce-O2", "mbedtls-xx-O2"),
    "the attempts that a storage missed": ("storage", r"\d+ of (\d+) attempts", r"1 of \1 attempts"),
    "how many hits are within their limit": ("keycache", r"sample \d+ of", "sample 0 of"),
    "a wrong unit": ("mcu-cycles", r"\bcycles\b(?=.*\n--)", "instr"),
    "the unit of the first lines": ("mcu-cycles", r"cycles of the chip", "instructions of the chip"),
    "how many cases were measured": ("mcu", r"(\d+) cases measured", "1 case measured"),
    "what fits by prediction": (
        "attestation-5ms-predicted",
        r"(prediction:\s)(?:fits|undecided):",
        r"\1does not fit:",
    ),
    "a predicted time": ("attestation-predicted", r"\((\d+\.\d\d)-", "(0.01-"),
    "41 lines": ("quick", r"\n\nAll of it", "\n" * 40 + "\n\nAll of it"),
    "101 columns": ("quick", r"(What a client of the TEE waits for: P-256)", r"\1" + " " * 70 + "."),
    "what fits a budget": ("attestation-5ms-1.5GHz", r"fits\s+with\s+(?:all|\d+\s+of)\s+\d+", "fits with 2 of 9"),
    "the least of what was not judged": ("attestation-2ms-2GHz", r"\(([\d.]+) ms at", "(0.100 ms at"),
    "that a budget is undecided": ("attestation-unfinished", r"\s+Undecided[^.]+\.", ""),
    "which case failed": ("attestation-unfinished", r"FAILED optee/mbedtls-Os/attestdiv:", "FAILED:"),
    "the best way that fits": ("attestation-5ms-1.5GHz", r"best\s+wolfssl-sp-O2", "best mbedtls-O2"),
}


@pytest.mark.parametrize("what", list(EDITED))
def test_a_planted_mistake_of_a_screen_is_found(what: str) -> None:
    """If this fails, the report could say this and no test would notice."""
    name, pattern, instead = EDITED[what]
    reading, times = READINGS[name](), screens.times_of(name)
    text = screens.screen(reading, times)
    edited, number = re.subn(pattern, instead, text, count=1)
    assert number and edited != text, text
    assert set(screens.problems(reading, edited, times, exported(name), screen_alone=True)) - right(name), edited


def test_a_percentile_of_few_calls_is_found() -> None:
    """If this fails, the worst of five calls is told as that which 99 % do not exceed."""
    reading = READINGS["pqc"]()
    document = json.loads(to_json(reading))
    document["signing"][0]["p99"] = document["signing"][0]["worst"]
    found = screens.problems(reading, exported=json.dumps(document))
    assert any("a percentile of" in each for each in found)


def test_a_screen_is_read_as_it_was_printed() -> None:
    """If this fails, the checker looks at other cells than a user."""
    text = (
        "A run\n1 case measured; instructions\n\nA title\n             most\na           instr\n-----------------\n"
        "P-256 sign     12\n                -\n(1 more line)\nAnd so on.\n\nAll of it: x\n"
    )
    (block,) = parse_screen(text).blocks
    assert (block.title, block.headers) == ("A title", ["a", "most instr"])
    assert block.rows == [["P-256 sign", "12"], ["", "-"]]
    assert block.notes == "(1 more line) And so on."


def test_a_reading_without_rows_has_no_problems() -> None:
    """If this fails, the checker fails where nothing was measured."""
    empty: Reading = READINGS["quick"]().model_copy(update={"rows": (), "attempts": ()})
    checker = Checker(to_json(empty))
    checker.check_screen("A run\n0 cases measured; instructions, counted exactly; no lab.\n\nAll of it: x\n")
    assert checker.problems == []
