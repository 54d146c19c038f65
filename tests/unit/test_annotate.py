# SPDX-License-Identifier: BSD-2-Clause
"""`explain --annotate`: which sources are read, and how lines stand beside their counts."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from worldwise.cli import cli
from worldwise.cli.traces.annotated_source import read_source
from worldwise.explain.annotated_source import Annotated, SourceLine
from worldwise.machine.symbols.inlined_functions import Inlines
from worldwise.machine.symbols.table import SymbolTable
from worldwise.report.explaining.annotated_source import annotated_sections


def test_a_source_is_found_by_the_end_of_its_path(tmp_path: Path) -> None:
    (tmp_path / "ta").mkdir()
    (tmp_path / "ta" / "a.c").write_text("one\ntwo\n")
    assert read_source("/build/app/ta/a.c", [tmp_path / "none", tmp_path]) == ["one", "two"]
    assert read_source("../app/ta/a.c", [tmp_path]) == ["one", "two"]
    assert read_source("/build/app/ta/b.c", [tmp_path]) == []


@pytest.mark.parametrize("name", ["/etc/passwd", "../../../../../../../../etc/passwd", "out", "/x/out", ""])
def test_no_source_is_read_outside_the_folders(name: str, tmp_path: Path) -> None:
    """Debug information may name any file; a link in a folder may lead to any."""
    (tmp_path / "out").symlink_to("/etc/passwd")
    assert read_source(name, [tmp_path]) == []


def test_lines_have_their_counts_and_instructions_below_them() -> None:
    """Lines around those that were executed are shown without a count; escape sequences are made visible."""
    lines = {("a.c", 3): SourceLine({16: 40, 20: 2}), ("b.h", 0): SourceLine({24: 8})}
    one = Annotated("work", "mine", SymbolTable("mine", ()), lines)
    sections = annotated_sections([one], {"a.c": ["int", "{", "sum += \x1b[1mi;", "}"]}, {0: {16: "mul w0, w0, w0"}})
    assert [section.title for section in sections] == ["work (mine): a.c", "work (mine): b.h"]
    first, second = (section.table for section in sections)
    assert first and second
    assert first.rows == [
        ["1", "", "", "int"],
        ["2", "", "", "{"],
        ["3", "42", "84.0", "sum += \\x1b[1mi;"],
        ["", "40", "", "    10: mul w0, w0, w0"],
        ["", "2", "", "    14:"],
        ["4", "", "", "}"],
    ]
    assert second.rows[0] == ["-", "8", "16.0", ""]
    assert "50 instructions in work itself" in sections[0].notes[0]
    assert "--source DIR" in " ".join(sections[1].notes)


def test_an_address_is_at_the_line_of_what_was_put_into_its_function() -> None:
    """A line that is not known, or a file without debug information, is an empty name."""
    said = "0x10\ninner\n/a/b.h:7 (discriminator 2)\nouter\n/a/a.c:3\n0x14\n??\n??:0\n0x18\nouter\n/a/a.c:?\n"
    inlines = Inlines("mine", b"", lambda _, __: said)
    assert inlines.lines([0x10, 0x14, 0x18]) == {0x10: ("/a/b.h", 7), 0x14: ("", 0), 0x18: ("", 0)}
    assert Inlines("mine", b"", None).lines([4]) == {4: ("", 0)}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--annotate", "f", "--why", "x"], "--annotate excludes --why"),
        (["--annotate", "f", "--format", "flame"], "its formats: table and markdown"),
        (["--instructions"], "--instructions and --source are for --annotate"),
    ],
)
def test_options_that_do_not_go_with_it_are_refused(words: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["explain", "optee/mbedtls-nist-O2/hello", *words])
    assert result.exit_code == 2
    assert said in " ".join((result.output + str(result.exception)).split())
