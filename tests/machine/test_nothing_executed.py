# SPDX-License-Identifier: BSD-2-Clause
"""A change that executes nothing moves no digit, and one instruction is caught: on every kind of machine."""

from pathlib import Path

import pytest

from machines import Tool
from nothing import SUBJECTS, Copy, compared
from worldwise.lab.lab import Lab

# The rows that an address, a size or Linux's own generator decides, by subject; docs/how/repeat.md has
# the reasons.
EXCEPTIONS = {
    "attestation": frozenset({("load", "client")}),
    "keycache": frozenset({("request", "client")}),
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SUBJECTS)
def test_what_executes_nothing_moves_nothing(lab: Lab, tmp_path: Path, name: str) -> None:
    """All changes at once: equal to the digit in every call; then one instruction more in the path that has it."""
    del lab
    subject = SUBJECTS[name]
    copies = {kind: Copy(tmp_path / kind, subject, kind != "before") for kind in ("before", "nothing", "one")}
    copies["nothing"].plant_nothing()
    copies["one"].plant_instruction()
    runs = {kind: copy.measured() for kind, copy in copies.items()}
    tool = Tool(tmp_path)

    excused = EXCEPTIONS.get(name, frozenset())
    rows = compared(tool, runs["before"], runs["nothing"])
    assert rows
    moved = {(row["measure"], row["place"]): row["difference"] for row in rows if row["calls_differ"]}
    assert not moved.keys() - excused, moved
    assert all(row["same_inputs"] for row in rows)

    rows = compared(tool, runs["before"], runs["one"])
    found = {(row["measure"], row["place"]) for row in rows if row["verdict"] != "same"}
    assert subject.counted <= found
    for row in rows:
        if (row["measure"], row["place"]) in subject.counted:
            assert row["difference"] == 1.0
            assert row["calls_differ"] == 1 + row["a"]["warmup"] + row["a"]["n"]
