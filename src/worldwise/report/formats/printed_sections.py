# SPDX-License-Identifier: BSD-2-Clause
"""Parts of a report in a terminal, and as Markdown."""

import textwrap
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from worldwise.base.output.safe_text import markdown, markdown_heading, markdown_paragraph, visible
from worldwise.base.tables import Section, Table

PROSE_WIDTH = 100
# Tables are made for a terminal of this width. In a narrower one, a table that is too wide is printed line by line.
_MADE_FOR = 100
_ANY_WIDTH = 10_000
_STYLES = {"fits": "green", "EXCEEDS": "bold red"}
# If a table is printed line by line: the text before a line's figures, and between them.
_INDENT, _BETWEEN = "  ", "   "

# A header rule and spaces look the same in a log, a pipe and a mail.
_ASCII_BOX = Box("    \n    \n -- \n    \n    \n -- \n    \n    \n", ascii=True)


def print_sections(sections: Iterable[Section], console: Console) -> None:
    """Prints parts of a report with an empty line between them."""
    for number, section in enumerate(sections):
        if number:
            console.print()
        print_section(section, console)


def print_section(section: Section, console: Console) -> None:
    """Prints one part of a report."""
    print_prose(console, section.title, "bold")
    if section.table:
        _print_table(console, section.table)
    for note in section.notes:
        print_prose(console, note)


def print_prose(console: Console, text: str, style: str = "") -> None:
    """Prints text in lines of a readable width."""
    width = min(console.width, PROSE_WIDTH) if console.is_terminal else PROSE_WIDTH
    _print_wide(console, Text(_filled(text, width), style=style, no_wrap=True))


def _filled(text: str, width: int) -> str:
    return textwrap.fill(visible(text), max(width, 20), break_long_words=False, break_on_hyphens=False)


def printed_lines(section: Section) -> int:
    """How many lines `print_section` prints where no line is too long: to print it takes a hundred times as long."""
    lines = sum(_lines(_filled(text, PROSE_WIDTH)) for text in (section.title, *section.notes))
    if table := section.table:
        # Below the headers stands a rule.
        lines += max(map(_lines, table.headers)) + 1
        lines += sum(max(map(_lines, row), default=1) for row in table.rows)
    return lines


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _print_table(console: Console, table: Table) -> None:
    rich = _rich_table(console, table, gap=2)
    # A pipe has no width limit.
    if console.is_terminal and _natural_width(console, rich) > console.width:
        rich = _rich_table(console, table, gap=1)
        if console.width < _MADE_FOR and _natural_width(console, rich) > console.width:
            _print_stacked(console, table)
            return
    _print_wide(console, rich)


def _print_stacked(console: Console, table: Table) -> None:
    """Each line of a table as its names, with `header: cell` pairs below, as many in a line as fit."""
    # If a table has only names, the first one heads its line.
    names = table.left if table.left < len(table.headers) else 1
    headers = [" ".join(header.split()) for header in table.headers]
    for row in table.rows:
        _print_wide(console, Text(_wrapped(console, _BETWEEN.join(filter(None, row[:names])), ""), style="bold"))
        line = Text()
        for header, cell in zip(headers[names:], row[names:], strict=True):
            if not cell:
                continue
            label = f"{visible(header)}: " if header else ""
            field = Text.assemble(label, (visible(cell), _STYLES.get(cell, "")))
            if line and len(_INDENT) + len(line) + len(_BETWEEN) + len(field) > console.width:
                _print_field(console, line)
                line = Text()
            line = Text.assemble(line, _BETWEEN if line else "", field)
        if line:
            _print_field(console, line)


def _print_field(console: Console, line: Text) -> None:
    fits = len(_INDENT) + len(line) <= console.width
    # Wrapped cells are sentences, and sentences have no style.
    _print_wide(console, Text.assemble(_INDENT, line) if fits else Text(_wrapped(console, line.plain, _INDENT)))


def _wrapped(console: Console, text: str, indent: str) -> str:
    """Text wrapped to the width of the console; a longer word stays whole."""
    return textwrap.fill(
        visible(text),
        max(console.width, 20),
        initial_indent=indent,
        subsequent_indent=2 * indent or _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _rich_table(console: Console, table: Table, gap: int) -> RichTable:
    plain = not console.is_terminal or console.options.ascii_only
    rich = RichTable(
        box=_ASCII_BOX if plain else SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, gap - 1, 0, 0),
        header_style="bold",
    )
    for number, header in enumerate(table.headers):
        rich.add_column(Text(visible(header)), justify="left" if table.is_name(number) else "right", no_wrap=True)
    for row in table.rows:
        rich.add_row(*(Text(visible(cell), style=_STYLES.get(cell, "")) for cell in row))
    return rich


def _natural_width(console: Console, renderable: RichTable | Text) -> int:
    return Measurement.get(console, console.options.update(width=_ANY_WIDTH), renderable).maximum


def _print_wide(console: Console, renderable: RichTable | Text) -> None:
    width = console.width
    console.width = _ANY_WIDTH
    try:
        console.print(renderable)
    finally:
        console.width = width


def first_lines(title: str, text: str) -> list[str]:
    """The lines that a report begins with."""
    return [f"# {markdown_heading(title)}", "", markdown_paragraph(text)]


def markdown_text(sections: Iterable[Section]) -> str:
    """Parts of a report one below the other, as Markdown; the text ends with a line feed."""
    return "\n".join(line for section in sections for line in [*section_lines(section), ""])


def section_lines(section: Section) -> list[str]:
    """The lines of one part of a report, as Markdown."""
    lines = [f"## {markdown_heading(section.title)}"]
    if section.table:
        lines += ["", *_markdown_table(section.table)]
    for note in section.notes:
        lines += ["", markdown_paragraph(note)]
    return lines


def _markdown_table(table: Table) -> list[str]:
    rule = ["---" if table.is_name(number) else "---:" for number in range(len(table.headers))]
    lines = [[header.replace("\n", " ") for header in table.headers], rule, *table.rows]
    return ["| " + " | ".join(markdown(cell) for cell in line) + " |" for line in lines]
