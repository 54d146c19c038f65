# SPDX-License-Identifier: BSD-2-Clause
"""Where a signal ended a program, in words: of addresses that the measured machine says, which may be anything."""

from pathlib import Path

import pytest

import elves
from worldwise.libraries.own_code import Mapped
from worldwise.run.code.crash import crash_words
from worldwise.run.code.process_lives import CRASH

# `recurse`, linked at 0x100, 0x54 bytes behind the file's beginning, is at 0x10100, and behind it nobody is.
MAPPED = [Mapped(begin=0x100AC, end=0x110AC, offset=0, path="/work/falls")]
INSIDE, BEHIND = 0x10104, 0x1010C
SEGV, BUS, ILL, ABRT = 11, 7, 4, 6


def words(folder: Path, text: str, content: bytes | None = None) -> str:
    """What is said of a file that the machine left."""
    (folder / CRASH).write_text(text)
    found = {"work/falls": elves.elf32() if content is None else content}
    return crash_words(folder, found, MAPPED, lambda _: {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{SEGV} 1 8 {INSIDE} 0\n", " at 0x10104 in recurse: it wanted address 0x8, where nothing is"),
        (f"{SEGV} 2 65536 {INSIDE} 0\n", " at 0x10104 in recurse: it may not do that at address 0x10000"),
        (f"{BUS} 1 9 {INSIDE} 0\n", " at 0x10104 in recurse: it wanted address 0x9"),
        (f"{ILL} 1 {INSIDE} {INSIDE} 0\n", " at 0x10104 in recurse: the core has no such instruction"),
        # It was sent: by the program itself, as abort() does, or by another process.
        (f"{SEGV} 0 8 {INSIDE} 0\n", " at 0x10104 in recurse"),
        (f"{ABRT} -6 0 {INSIDE} 0\n", " at 0x10104 in recurse"),
        # Nothing is mapped there; its caller is known by the link register.
        (f"{SEGV} 1 8 8 {INSIDE}\n", " at 0x8 in recurse: it wanted address 0x8, where nothing is"),
        (f"{ABRT} -6 0 8 8\n", " at 0x8"),
        # The link register leads into the function itself, or to its caller, which may be the first return address.
        (f"{ABRT} -6 0 {INSIDE} {INSIDE} {BEHIND + 1}\n", " at 0x10104 in recurse < 0x10c of falls"),
        (f"{ABRT} -6 0 {BEHIND} {INSIDE} {INSIDE}\n", " at 0x1010c in 0x10c of falls < recurse"),
        (f"{ABRT} -6 0 {BEHIND} {INSIDE} {BEHIND + 1}\n", " at 0x1010c in 0x10c of falls < recurse < 0x10c of falls"),
    ],
)
def test_a_crash_in_words(tmp_path: Path, text: str, said: str) -> None:
    assert words(tmp_path, text) == said


@pytest.mark.parametrize(
    "text", ["", "11 1 8\n", "x\n", f"{SEGV} 1 8 {INSIDE} 0", f"{SEGV} 1 8 {INSIDE}" + " 1" * 99 + "\n"]
)
def test_what_is_no_crash_is_not_said(tmp_path: Path, text: str) -> None:
    """The program can write to the file too."""
    assert words(tmp_path, text) == ""


def test_a_machine_that_says_nothing(tmp_path: Path) -> None:
    assert crash_words(tmp_path, {}, [], lambda _: {}) == ""


def test_a_file_that_cannot_be_read_has_its_addresses(tmp_path: Path) -> None:
    assert words(tmp_path, f"{ABRT} -6 0 {INSIDE} 0\n", b"no ELF file") == " at 0x10104 in 0x10104 of work/falls"
