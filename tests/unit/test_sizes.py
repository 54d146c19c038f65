# SPDX-License-Identifier: BSD-2-Clause
"""How long a module is, how many are in a folder, how much a function takes and a class has, and how many classes one
name has: a reader sees the day it grows."""

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import pytest

from worldwise.base import paths

SOURCE = paths.REPOSITORY / "src/worldwise"
TESTS = paths.REPOSITORY / "tests"
MOST_LINES = 500
MOST_MODULES = 15
MOST_PARAMETERS = 8
MOST_FIELDS = 15
# Modules of fewer lines, and how many there may be: files that a family's stages must have, above all. What recipes
# execute does not count: each is part of one image's digest.
FEW_LINES = 40
MOST_SMALL = 34
# What was over when this test came, and how much. A number may only go down; at the limit the entry goes.
LONG: dict[str, int] = {}
FULL: dict[str, int] = {}
# Functions with more, and why. A number may only go down; at the limit the entry goes.
ASKING = {
    # Commands: a parameter for each option, of which they make use at once.
    "cli/hardware/contribute.py: contribute": 9,
    "cli/keycache.py: demo": 10,
    "cli/report.py: report": 9,
    # A recipe of a user's TA, whose every setting is one.
    "targets/own_code.py: application": 9,
    # How a case is followed: most calls leave all but one or two at their defaults.
    "run/code/region_counts.py: Counter.count": 10,
    "run/traces/watch.py: Watcher.watch": 9,
    # A board and its limits, made in one place.
    "machine/board/gdbboard.py: GdbBoard.__init__": 9,
    # A screen's answer, of which families give what they have.
    "report/table_builder.py: answer": 9,
}
# Classes with more fields of their own, and why.
WIDE = {
    # Formats: each field is a key of a file or a table, which readers outside know.
    "libraries/boards.py: Board": 17,
    "plan/user_code/project.py: Measure": 26,
    "predict/errors.py: ErrorLine": 23,
    "read/compared/comparison.py: ComparedRow": 21,
    "read/models.py: Reading": 17,
    "read/published.py: Figure": 16,
    "records/trace_records.py: Pass": 36,
    "run/folder/manifests.py: CaseManifest": 21,
    "run/folder/manifests.py: RunManifest": 25,
    "validation/figures.py: Figure": 19,
    "validation/record.py: FigureRow": 19,
    # To be split: what a machine's files are apart from what else it needs.
    "machine/machine.py: Machine": 17,
}
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
    found = {
        tuple(name.split(": "))
        for name, node in _named_parts(source)
        if isinstance(node, ast.ClassDef) and not name.startswith("recipes/") and "." not in name.partition(": ")[2]
    }
    return dict(Counter(name for _, name in found if not name.startswith("_")))


_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


# Parsing all takes seconds.
@functools.cache
def _named_parts(source: Path) -> list[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The classes and functions of a folder's modules, by path and by name within the module."""
    found = []
    for path in source.rglob("*.py"):
        left: list[tuple[str, ast.AST]] = [(f"{path.relative_to(source)}: ", ast.parse(path.read_bytes()))]
        while left:
            within, node = left.pop()
            if isinstance(node, _NAMED):
                found.append((within + node.name, node))
                within += f"{node.name}."
            if isinstance(node, (ast.stmt, ast.Module)):
                left += [(within, child) for child in ast.iter_child_nodes(node)]
    return found


def parameters_of_functions(source: Path = SOURCE) -> dict[str, int]:
    """How many parameters each function has, `self` and `cls` left out."""
    found: dict[str, int] = {}
    for name, node in _named_parts(source):
        if isinstance(node, ast.ClassDef):
            continue
        given = node.args
        names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        names = names[1:] if names[:1] in (["self"], ["cls"]) else names
        found[name] = len(names) + (given.vararg is not None) + (given.kwarg is not None)
    return found


def fields_of_classes(source: Path = SOURCE) -> dict[str, int]:
    """How many fields each class declares itself; those of a class that it is made of are that class's."""
    return {
        name: sum(isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one.annotation) for one in node.body)
        for name, node in _named_parts(source)
        if isinstance(node, ast.ClassDef)
    }


def test_no_function_takes_too_much() -> None:
    """If this fails, a caller writes a list of arguments: give those that belong together a record."""
    assert not too_much(parameters_of_functions(), MOST_PARAMETERS, ASKING, "parameters")


def test_no_class_has_too_many_fields() -> None:
    """If this fails, a class holds two things: give one of them a record, which the class has."""
    assert not too_much(fields_of_classes(), MOST_FIELDS, WIDE, "fields")


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


def test_few_modules_are_small() -> None:
    """If this fails, a reader opens one more file for a few lines: join it with what is read together with it."""
    lines = {name: count for name, count in lines_of_modules().items() if not name.endswith("__init__.py")}
    lines = {name: count for name, count in lines.items() if not name.startswith("recipes/")}
    assert len([name for name, count in lines.items() if count < FEW_LINES]) <= MOST_SMALL


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


def test_parameters_and_fields_are_counted(tmp_path: Path) -> None:
    """If this fails, the tests above count nothing."""
    (tmp_path / "one.py").write_text(
        "class A:\n    a: int\n    b: ClassVar[int]\n    c: str = ''\n    d = 1\n"
        "    def f(self, x, /, y, *z, k=1, **more):\n        def g(v): ...\n"
        "async def h(x, *, y): ...\n"
    )
    assert parameters_of_functions(tmp_path) == {"one.py: A.f": 5, "one.py: A.f.g": 1, "one.py: h": 2}
    assert fields_of_classes(tmp_path) == {"one.py: A": 2}


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
