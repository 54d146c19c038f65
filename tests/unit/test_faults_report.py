# SPDX-License-Identifier: BSD-2-Clause
"""Reports of tampering and of power cuts, from attempts that nobody made."""

import re

from readings import attempt, cells, reading
from worldwise.base import paths
from worldwise.base.tables import Section
from worldwise.families.faults.attempts import AFTER_RESTART, ATTEMPTS, LABELS
from worldwise.families.faults.tables import faults_sections
from worldwise.read.models import Attempt

CORRUPT = "TEE_ERROR_CORRUPT_OBJECT"
ABSENT = "TEE_ERROR_ITEM_NOT_FOUND, as if it had never been there"


def tampered(storage: str, what: str, result: str, detail: str) -> Attempt:
    """An attempt of a case that nobody ran."""
    return attempt(f"optee/mbedtls-nist-O2/tamper,storage={storage}", what, result, detail)


def cut(result: str, detail: str, at: int | None = None, storage: str = "ree", action: str = "replace") -> Attempt:
    """A cut at an instruction, or a stored state."""
    case = f"optee/mbedtls-nist-O2/power-cut,size=7000B,storage={storage},action={action},points=3"
    return attempt(case, "stored" if at is None else "cut", result, detail, at)


def tried(*attempts: Attempt, full: bool = False) -> list[Section]:
    """The report's parts for these attempts."""
    return faults_sections(reading(attempts=attempts), full)


def test_a_run_without_campaigns_has_no_such_tables() -> None:
    """If this fails, every report has empty tables."""
    assert tried() == []


def test_every_attempt_has_a_name() -> None:
    """If this fails, a table shows a word of the program's."""
    assert set(LABELS) == {what for listed in ATTEMPTS.values() for what in listed}


def test_the_guest_makes_every_attempt_that_is_known() -> None:
    """If this fails, the guest can do something that is never tried, or is asked for what it cannot do."""
    source = (paths.GUEST / "apps/faults/linux/tamper.c").read_text(encoding="utf-8")
    assert set(re.findall(r'\{ "([a-z-]+)", \w+ \}', source)) == set(LABELS)


def test_attempts_stand_beside_each_other() -> None:
    """If this fails, an attempt stands in another storage's column, or a restart's answer is lost."""
    (section,) = tried(
        tampered("ree", "rollback-files", "not detected", "the older content"),
        tampered("ree", "rollback-files" + AFTER_RESTART, "not detected", "the older content"),
        tampered("ree-rpmb", "rollback-files", "detected", CORRUPT),
        tampered("ree-rpmb", "rollback-files" + AFTER_RESTART, "not detected", ABSENT),
        tampered("rpmb", "chip-flip-data", "not detected", "other content: 17 of 7000 bytes differ"),
        tampered("rpmb", "none", "no effect", "the right content"),
    )
    assert section.table
    assert section.table.headers == ["attempt", "ree", "ree-rpmb", "rpmb"]
    assert cells(section) == [
        ["nothing is touched", "-", "-", "no effect"],
        ["older copy put back: all files", "NOT detected: older content", "detected: CORRUPT_OBJECT", "-"],
        ["  the same, after a restart", "NOT detected: older content", "NOT detected: as if never there", "-"],
        ["chip: bit flipped in the data", "-", "-", "NOT detected: other content"],
    ]


def test_what_else_happens_is_told_once() -> None:
    """If this fails, a reader does not learn that one flipped bit loses every object."""
    more = f"{CORRUPT}; the second time {ABSENT}; the neighbour: TEE_ERROR_TARGET_DEAD"
    _, besides = tried(
        tampered("ree", "flip-directory", "detected", more),
        tampered("ree", "flip-directory" + AFTER_RESTART, "detected", more),
        tampered("ree-rpmb", "flip-directory", "detected", more),
        tampered("ree", "none", "no effect", "the right content"),
    )
    assert cells(besides) == [
        [
            "bit flipped: directory (dirf.db)",
            "ree, ree-rpmb",
            "the second time ITEM_NOT_FOUND; the neighbour: the TA panics",
        ]
    ]


def test_cuts_are_counted() -> None:
    """If this fails, a broken object is counted as a whole one."""
    table, findings = tried(
        cut("old", "0 of 2 writes stored", 1),
        cut("neither", "1 of 2 writes stored", 50),
        cut("new", "2 of 2 writes stored", 99),
        cut("old", "0 of 2 writes stored"),
        cut("neither", "1 of 2 writes stored; the neighbour has another content"),
        cut("error: " + CORRUPT, "2 of 2 writes stored"),
    )
    assert cells(table) == [
        ["ree", "replace", "7000B", "instructions", "3", "1", "1", "1", "0", "0", "0"],
        ["ree", "replace", "7000B", "stored states", "3", "1", "0", "1", "0", "1", "1"],
    ]
    assert cells(findings) == [
        ["ree", "replace", "-", "1 of 2 writes stored", "neither", "the neighbour has another content"],
        ["ree", "replace", "-", "2 of 2 writes stored", "error: CORRUPT_OBJECT", ""],
    ]


def test_findings_are_all_told_in_full() -> None:
    """If this fails, --full hides what the short report leaves out."""
    many = [cut("mixture", f"{number} of 40 writes stored") for number in range(40)]
    _, short = tried(*many)
    assert len(cells(short)) == 12
    assert short.notes == ["28 more: --full lists them all."]
    _, full = tried(*many, cut("mixture", "3 of 40 writes stored", 5), full=True)
    assert len(cells(full)) == 41
    assert full.notes == []


def test_cases_stand_by_action_and_storage() -> None:
    """If this fails, storages cannot be compared line by line."""
    (section,) = tried(
        cut("old", "0 of 2 writes stored", 1, "rpmb", "replace"),
        cut("old", "0 of 2 writes stored", 1, "rpmb", "create"),
        cut("old", "0 of 2 writes stored", 1, "ree", "replace"),
    )
    assert [row[:2] for row in cells(section)] == [["rpmb", "create"], ["ree", "replace"], ["rpmb", "replace"]]
