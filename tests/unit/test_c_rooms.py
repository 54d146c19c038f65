# SPDX-License-Identifier: BSD-2-Clause
"""The rooms of guest/ and plugin/: each is in the table of its page, and includes only those that stand there."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from worldwise.base import paths

_ROW = re.compile(r"^\| `([\w/-]+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
_INCLUDE = re.compile(r'^#include "(\.\./[^"]+)"', re.MULTILINE)
# What the page of guest/ says below its table.
_MORE = {
    "apps/attestation": {"optee-libraries", "adapters", "operations"},
    "apps/crypto": {"optee-libraries", "adapters", "operations"},
    "apps/pqc": {"optee-libraries", "adapters", "pqc-adapters", "operations", "pqc-operations"},
    "apps/keycache": {"apps/echo", "apps/faults"},
    "apps/pkcs11-openssl": {"apps/pkcs11"},
    "apps/sha256": {"optee-libraries"},
    "apps/storage": {"apps/faults"},
}


def _table(root: Path) -> dict[str, set[str]]:
    text = (root / "README.md").read_text(encoding="utf-8")
    return {name: set(re.findall(r"`([\w/-]+)`", allowed)) for name, allowed in _ROW.findall(text)}


def _room(name: str, known: set[str]) -> str:
    """The room of a file, from guest/ or plugin/ on."""
    parts = name.split("/")
    if parts[0] == "apps":
        return "/".join(parts[:2])
    return "/".join(parts[:2]) if "/".join(parts[:2]) in known else parts[0]


def _rows(root: Path) -> Iterator[tuple[str, str, str]]:
    """File, its room, and the room of what it includes there."""
    known = set(_table(root))
    for path in sorted(root.rglob("*.[ch]")):
        name = str(path.relative_to(root))
        for included in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            there = posixpath.normpath(posixpath.join(posixpath.dirname(name), included))
            # What a build lays beside it is not here.
            if (root / there).is_file():
                yield name, _room(name, known), _room(there, known)


@pytest.mark.parametrize("name", ["guest", "plugin"])
def test_a_room_includes_what_its_page_says(name: str) -> None:
    """If this fails, a new include ties two rooms together: leave it out, or say so in the page."""
    table = _table(paths.REPOSITORY / name)
    wrong = []
    for file, room, other in _rows(paths.REPOSITORY / name):
        allowed = table.get(room, set()) | _MORE.get(room, set())
        if room.startswith("apps/") and room != "apps/common":
            allowed = allowed | table["apps/NAME"]
        if other not in {*allowed, room}:
            wrong.append(f"{file}: {other}")
    assert not wrong


@pytest.mark.parametrize("name", ["guest", "plugin"])
def test_every_room_is_in_its_page(name: str) -> None:
    """If this fails, a newcomer finds a folder that nobody explains, or a page explains one that is gone."""
    root = paths.REPOSITORY / name
    named = {one.split("/")[0] for one in _table(root)}
    assert named == {path.name for path in root.iterdir() if path.is_dir()}
    assert all((root / one).is_dir() for one in _table(root) if one != "apps/NAME")
