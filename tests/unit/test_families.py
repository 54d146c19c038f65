# SPDX-License-Identifier: BSD-2-Clause
"""One lookup says whose a case is, and a report is made without what measures."""

import importlib
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import NoReturn

import pytest

import screens
from worldwise.base import family_stages
from worldwise.plan.case import Case, parse_case
from worldwise.plan.catalogue import SPECS, family_of
from worldwise.plan.spec import Spec
from worldwise.read.models import Attempt, Reading, Row
from worldwise.read.readings import ON_BOARD, readings_of
from worldwise.report.report import answers, sections
from worldwise.report.sections.units import Words, board_note, emulated_note, unit_note, with_unit
from worldwise.report.tables import declared_tables, named_sections, tables_in
from worldwise.targets.families import images_of


@pytest.mark.parametrize(
    ("case", "family"),
    [
        ("optee/mbedtls-O2/attestdiv", "attestation"),
        ("optee/mbedtls-O2/sha256,size=64B", "sha256"),
        ("linux/mbedtls-O2/sha256sum,size=64B", "sha256"),
        ("linux-armv8/bearssl-O2/sha256,size=64B", "portable"),
        ("optee/bearssl-O2/sign,curve=secp256r1,size=32B", "crypto"),
        ("linux/bearssl-O2/sign,curve=secp256r1,size=32B", "crypto"),
        ("nucleo-f446re/bearssl-O2/sign,curve=secp256r1,size=32B", "portable"),
        ("optee/mbedtls-O2/abuse,ta=hello,calls=1", "abuse"),
    ],
)
def test_a_case_is_of_one_family(case: str, family: str) -> None:
    """If this fails, a case is read, run or shown by what another family declares."""
    assert family_of(parse_case(case)) == family


def test_a_case_that_no_family_has_any_more_is_of_none() -> None:
    """If this fails, an old run with an operation that is gone cannot be read."""
    case = Case("optee", "mbedtls", "O2", "gone", 1, 0)
    assert family_of(case) == ""
    assert list(readings_of(case).sums(case, {})) == []
    assert images_of(case).programs is None


def test_wrong_calls_have_the_machine_of_the_app_that_they_go_to() -> None:
    """If this fails, wrong calls of the crypto app's TA go to a machine without its TA."""
    case = parse_case("optee/bearssl-O2/abuse,ta=crypto,calls=1")
    assert family_of(case) == "abuse"
    assert images_of(case).sizes_ta


def test_every_operation_has_its_family() -> None:
    """If this fails, the lookup forgets a family."""
    assert {family for family, spec in SPECS.items() if spec.operations} == {*SPECS}


def test_a_report_imports_no_machine_and_no_sandbox() -> None:
    """If this fails, whoever only reads a report waits for, and has to understand, what measures."""
    program = (
        "import importlib, pkgutil, sys, worldwise.report\n"
        "for one in pkgutil.walk_packages(worldwise.report.__path__, 'worldwise.report.'):\n"
        "    importlib.import_module(one.name)\n"
        "from worldwise.read.readings import declared_readings\n"
        "from worldwise.records.evidence import all_owed\n"
        "from worldwise.report.tables import declared_tables\n"
        "assert [*declared_readings().values()] and [*declared_tables().values()] and all_owed()\n"
        "print(*(name for name in sys.modules if name.startswith('worldwise.')))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "worldwise.families.echo.tables" in loaded
    rooms = ("worldwise.machine", "worldwise.lab.sandbox", "worldwise.lab.lab", "worldwise.targets")
    assert [name for name in loaded if name.startswith(rooms)] == []


def test_a_family_is_imported_when_somebody_asks_for_it() -> None:
    """If this fails, a run of one family waits for, and a reader opens, the tables and images of all the others."""
    program = (
        "import sys\n"
        "from worldwise.plan.case import parse_case\n"
        "from worldwise.report.tables import tables_of\n"
        "from worldwise.targets.families import images_of\n"
        "case = parse_case('optee/mbedtls-O2/sha256,size=64B')\n"
        "assert tables_of(case).groups and images_of(case).programs\n"
        "print(*(name for name in sys.modules if name.startswith('worldwise.families.')))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    stages = [name.split(".")[2:] for name in done.stdout.split()]
    assert {family for family, *stage in stages if stage in (["tables"], ["images"])} == {"sha256"}


def test_a_broken_file_of_a_family_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a family whose file cannot be imported counts as one without that file."""
    specs = family_stages.DeclaredStage("spec", Spec)
    images = family_stages.DeclaredStage("images", Spec)
    with pytest.raises(TypeError, match=r"families\.echo\.images\.IMAGES is no Spec"):
        images.get("echo")
    assert "hello" not in images and images.get("hello") is None

    def broken(name: str) -> NoReturn:
        raise KeyError(name)

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ImportError, match=r"worldwise\.families\.hello\.spec"):
        specs.get("hello")


def _of_cases(reading: Reading, cases: Collection[str]) -> Reading:
    """What a reading says of these cases."""
    rows = tuple(row for row in reading.rows if row.case in cases)
    attempts = tuple(one for one in reading.attempts if one.case in cases)
    return reading.model_copy(update={"rows": rows, "attempts": attempts})


def _parts_of(reading: Reading) -> Iterator[Reading]:
    """A reading, and what is left of it where fewer cases were measured: of one operation, of one board, one alone."""
    yield reading
    done: list[Row | Attempt] = [*reading.rows, *reading.attempts]
    for operation in sorted({one.operation for one in done}):
        yield _of_cases(reading, {one.case for one in done if one.operation == operation})
    for board in sorted({row.board for row in reading.rows} - {""}):
        yield _of_cases(reading, {row.case for row in reading.rows if row.board == board})
    for one in done[:: max(1, len(done) // 3)]:
        yield _of_cases(reading, {one.case})


@pytest.mark.parametrize("name", screens.SUITES)
def test_an_answer_names_only_sections_that_the_report_has(name: str) -> None:
    """If this fails, a screen says `--section NAME` and the report says that there is none of this name."""
    for reading in _parts_of(screens.READINGS[name]()):
        found = answers(reading)
        there = sections(reading) if found else []
        assert [one for each in found for one in each.sections if not named_sections(there, one)] == []


@pytest.mark.parametrize("name", screens.SUITES)
def test_families_that_a_run_has_nothing_of_have_nothing_to_say(name: str) -> None:
    """If this fails, a family that is not asked would have shown something: its `also` lacks a family, in spec.py."""
    for reading in _parts_of(screens.READINGS[name]()):
        asked = tables_in(reading)
        for tables in declared_tables().values():
            if tables not in asked:
                assert not any(group.sections(reading, True) for group in tables.groups)
                assert not tables.answers(reading)
                assert not (tables.charts and tables.charts(reading))


def test_notes_on_instructions_say_what_holds_for_another_unit() -> None:
    """If this fails, a report of cycles says that it counts instructions, or has an emulated board where none is."""
    words = Words("cycles", "cycles: of the chip.", "the clock that was set", hosted=False)
    assert unit_note("instr: counted.", " more.").otherwise(words) == "cycles: of the chip."
    assert unit_note("instr: counted.", " more.").otherwise(replace(words, hosted=True)) == "cycles: of the chip. more."
    assert emulated_note("emulated").otherwise(words) == ""
    assert with_unit(lambda unit: f"the fewest {unit}") == "the fewest instructions"
    assert with_unit(lambda unit: f"the fewest {unit}").otherwise(words) == "the fewest cycles"
    assert "2^24" in board_note(f"hash: {ON_BOARD}.").otherwise(words)
