# SPDX-License-Identifier: BSD-2-Clause
"""How long a module is, how many a folder has, how many classes have one name, and what tests take from a module's
inside: a reader sees the day it grows."""

import re
from collections import Counter
from pathlib import Path

import pytest

from worldwise.base import paths

SOURCE = paths.REPOSITORY / "src/worldwise"
TESTS = paths.REPOSITORY / "tests"
MOST_LINES = 500
MOST_MODULES = 15
# What was over when this test came, and how much. A number may only go down; at the limit the entry goes.
LONG: dict[str, int] = {}
FULL: dict[str, int] = {}
# Names that several modules give to a class, and how many do.
SHARED = {
    "ChipClock": 2,
    "Code": 2,
    "Counted": 2,
    "Emulated": 2,
    "Entry": 2,
    "Facts": 2,
    "Fetch": 2,
    "Figure": 3,
    "Figures": 2,
    "File": 2,
    "Firmware": 2,
    "Frame": 2,
    "Function": 2,
    "Group": 2,
    "Key": 2,
    "Limit": 2,
    "Made": 2,
    "Manifest": 2,
    "Mark": 2,
    "Match": 2,
    "Measured": 2,
    "Memory": 2,
    "Parameters": 3,
    "Part": 3,
    "Pass": 2,
    "Predicted": 2,
    "Result": 3,
    "Row": 2,
    "Run": 2,
    "Scheme": 2,
    "Session": 2,
    "Shared": 2,
    "Snapshots": 2,
    "Store": 2,
    "Stretch": 2,
    "Subject": 2,
    "Tail": 2,
    "Wanted": 3,
}
# Names with an underscore that tests take from src: none, for these are pickle's, the named tuples' and os's own.
INSIDE = {"_exit", "_loads", "_replace"}


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


def classes_of_names(source: Path = SOURCE) -> dict[str, int]:
    """How many modules have a public class of each name; recipes run by themselves."""
    found: Counter[str] = Counter()
    for path in source.rglob("*.py"):
        if "recipes" not in path.relative_to(source).parts:
            found.update(set(re.findall(r"^class ([A-Za-z]\w*)", path.read_text("utf-8"), re.MULTILINE)))
    return dict(found)


def private_names(source: Path = SOURCE) -> set[str]:
    """All names of modules that begin with one underscore."""
    return {name for path in source.rglob("*.py") for name in re.findall(r"\b_[A-Za-z]\w*", path.read_text("utf-8"))}


def taken_from_inside(names: set[str], tests: Path = TESTS) -> set[str]:
    """Which of these names tests import, ask of what is not themselves, or have in a text: a patch, or a program."""
    found: set[str] = set()
    for path in tests.rglob("*.py"):
        text = path.read_text("utf-8")
        found.update(re.findall(r"(?<!\bself)(?<!\bcls)\.(_[A-Za-z]\w*)", text))
        found.update(re.findall(r"""\(\S+, ["'](_[A-Za-z]\w*)["'],""", text))
        for imported in re.findall(r"\bfrom worldwise\S* import (\([^)]*\)|.*)", text):
            found.update(re.findall(r"\b_[A-Za-z]\w*", imported))
    return names & found


def test_no_class_takes_a_name_that_another_has() -> None:
    """If this fails, a reader who looks for a class by its name finds two: say in the name what tells them apart."""
    assert not too_much(classes_of_names(), 1, SHARED, "classes")


def test_no_module_is_too_long() -> None:
    """If this fails, a module holds two things: give one of them a module of its own."""
    assert not too_much(lines_of_modules(), MOST_LINES, LONG, "lines")


def test_no_folder_has_too_many_modules() -> None:
    """If this fails, two things live in one folder: give one of them a room of its own."""
    assert not too_much(modules_of_folders(), MOST_MODULES, FULL, "modules")


def test_tests_ask_by_the_door() -> None:
    """If this fails, a test holds on to how a module is made inside: ask by what is public."""
    assert taken_from_inside(private_names()) == INSIDE


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


def test_what_tests_take_from_inside_is_found(tmp_path: Path) -> None:
    """If this fails, the test above sees nothing."""
    module, test = tmp_path / "a.py", tmp_path / "test_a.py"
    module.write_text("class _Ox:\n def _yak(self): self._emu = 1\n_PIG = 0\ndef x(): _hen = _cow = 1\n__all__ = []\n")
    names = private_names(tmp_path)
    assert names == {"_Ox", "_yak", "_emu", "_PIG", "_hen", "_cow"}
    test.write_text(
        "from worldwise.a import _Ox, e\nself._yak()\nf(x._emu, '_PIG', 'worldwise.a._hen')\nrun('b._cow()')\n"
    )
    assert taken_from_inside(names, tmp_path) == names - {"_yak"}
