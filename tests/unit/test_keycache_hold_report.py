# SPDX-License-Identifier: BSD-2-Clause
"""Reports of what the key cache withstands, from attempts that nobody made."""

import re

from readings import attempt, cells, reading
from worldwise.base import paths
from worldwise.base.tables import Section
from worldwise.families.keycache.attempts import HOLD_ATTEMPTS, LABELS, NOT_TRIED
from worldwise.families.keycache.report.survival_tables import keycache_hold_sections
from worldwise.read.models import Attempt


def cut(at: int, result: str, refused: int = 0, parameters: str = "storage=ree,points=3") -> Attempt:
    """A power cut at an instruction."""
    case = f"optee/mbedtls-ce-O2/keycache-cut,{parameters}"
    return attempt(case, "cut", result, f"4 confirmed; {refused} older records refused", at)


def tried(*attempts: Attempt, full: bool = False) -> list[Section]:
    """The report's parts for these attempts."""
    return keycache_hold_sections(reading(attempts=attempts), full)


def test_a_run_without_the_key_cache_has_no_such_tables() -> None:
    """If this fails, every report has empty tables."""
    assert tried() == []


def test_every_attempt_has_a_name() -> None:
    """If this fails, a table shows a word of the program's."""
    assert set(LABELS) == set(HOLD_ATTEMPTS)
    assert {what for names in NOT_TRIED.values() for what in names} <= set(HOLD_ATTEMPTS)


def test_the_guest_makes_every_attempt_that_is_known() -> None:
    """If this fails, the guest can do something that is never tried, or is asked for what it cannot do."""
    sources = [path.read_text(encoding="utf-8") for path in (paths.GUEST / "apps/keycache/linux").glob("*.c")]
    tables = re.findall(r"const struct attempt \w+\[\] = \{(.*?)\};", "".join(sources), re.DOTALL)
    assert set(re.findall(r'\{ "([a-z0-9-]+)", \w+ \}', "".join(tables))) == set(LABELS)


def test_cuts_are_counted() -> None:
    """If this fails, the sentence "N of N" is not what was found."""
    relaxed = "storage=ree,points=3,durability=relaxed"
    versions = "storage=rpmb,points=3,stream=versions"
    found = tried(
        cut(1, "between"),
        cut(2, "old", 1),
        cut(3, "new"),
        cut(1, "lost", parameters=relaxed),
        cut(2, "old", 0, relaxed),
        cut(1, "begun", parameters=versions),
    )
    assert cells(found[0]) == [
        ["ree", "keys", "full", "3 of 3", "1", "1", "0", "1", "0", "0", "1"],
        ["ree", "keys", "relaxed", "1 of 2", "0", "1", "0", "0", "1", "0", "0"],
        ["rpmb", "versions", "full", "1 of 1", "0", "0", "1", "0", "0", "0", "0"],
    ]
    assert cells(found[1]) == [["ree", "keys", "relaxed", "1", "lost", "4 confirmed; 0 older records refused"]]


def test_only_some_findings_are_shown() -> None:
    """If this fails, a report of a broken cache has no end, or `--full` hides what was found."""
    lost = [cut(at, "lost") for at in range(1, 21)]
    short = tried(*lost)[1]
    assert len(cells(short)) == 12
    assert short.notes == ["8 more: --full lists them all."]
    assert len(cells(tried(*lost, full=True)[1])) == 20


def test_what_it_does_not_withstand_stands_out() -> None:
    """If this fails, a reader takes a weakness for one row among many."""
    found = tried(
        attempt("optee/mbedtls-ce-O2/keycache-hold,storage=ree", "storage-older-later", "not detected", "4 older"),
        attempt("optee/mbedtls-ce-O2/keycache-hold,storage=rpmb", "kill-server", "holds", "25 kills"),
        attempt("optee/mbedtls-ce-O2/keycache-hold,storage=ree", "kill-server", "holds", "25 kills"),
    )
    assert cells(found[0]) == [
        [LABELS["kill-server"], "rpmb", "holds", "25 kills"],
        [LABELS["kill-server"], "ree", "holds", "25 kills"],
        [LABELS["storage-older-later"], "ree", "NOT DETECTED", "4 older"],
    ]
