# SPDX-License-Identifier: BSD-2-Clause
"""How long a module is, and how many are in a folder: a reader sees the day it happens that one became too much."""

from pathlib import Path

import pytest

from worldwise.base import paths

SOURCE = paths.REPOSITORY / "src/worldwise"
MOST_LINES = 500
MOST_MODULES = 15
# What was over when this test came, and how much. A number may only go down; at the limit the entry goes.
LONG: dict[str, int] = {}
FULL: dict[str, int] = {}


def too_much(found: dict[str, int], most: int, known: dict[str, int], what: str) -> list[str]:
    """What is over the limit, or over what it was; and what is known of it and no longer true."""
    over = [
        f"{name} has {size} {what}, and {known.get(name, most)} is the most: split it where two things live in one"
        for name, size in sorted(found.items())
        if size > known.get(name, most)
    ]
    idle = [
        f"{name} has {found.get(name, 0)} {what}: write that into this test's list, or take it out at {most}"
        for name, size in known.items()
        if found.get(name, 0) < size or size <= most
    ]
    return [*over, *idle]


def lines_of_modules(source: Path = SOURCE) -> dict[str, int]:
    """The lines of each module, by its path."""
    return {str(path.relative_to(source)): path.read_bytes().count(b"\n") for path in source.rglob("*.py")}


def modules_of_folders(source: Path = SOURCE) -> dict[str, int]:
    """How many modules each folder has, by its path; what says only that a folder is a package is none."""
    folders = {path.parent for path in source.rglob("*.py")}
    return {
        str(folder.relative_to(source)): len([path for path in folder.glob("*.py") if path.name != "__init__.py"])
        for folder in folders
    }


def test_no_module_is_too_long() -> None:
    """If this fails, a module holds two things: give one of them a module of its own."""
    assert not too_much(lines_of_modules(), MOST_LINES, LONG, "lines")


def test_no_folder_has_too_many_modules() -> None:
    """If this fails, two things live in one folder: give one of them a room of its own."""
    assert not too_much(modules_of_folders(), MOST_MODULES, FULL, "modules")


@pytest.mark.parametrize(
    ("size", "known", "words"),
    [
        (500, {}, ""),
        (501, {}, "a.py has 501 lines, and 500 is the most"),
        (600, {"a.py": 600}, ""),
        (601, {"a.py": 600}, "a.py has 601 lines, and 600 is the most"),
        (599, {"a.py": 600}, "a.py has 599 lines: write that"),
        (500, {"a.py": 500}, "a.py has 500 lines: write that"),
        (0, {"b.py": 600}, "b.py has 0 lines: write that"),
    ],
)
def test_what_is_over_is_told(size: int, known: dict[str, int], words: str) -> None:
    found = too_much({"a.py": size} if size else {}, 500, known, "lines")
    assert len(found) == bool(words)
    assert words in "".join(found)


def test_modules_and_lines_are_counted(tmp_path: Path) -> None:
    """If this fails, the tests above count nothing."""
    (tmp_path / "room").mkdir()
    (tmp_path / "room/__init__.py").write_text("")
    (tmp_path / "room/one.py").write_text("a = 1\n\nb = 2\n")
    assert lines_of_modules(tmp_path) == {"room/__init__.py": 0, "room/one.py": 3}
    assert modules_of_folders(tmp_path) == {"room": 1}
