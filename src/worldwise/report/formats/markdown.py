# SPDX-License-Identifier: BSD-2-Clause
"""Parts of a report as Markdown."""

from collections.abc import Iterable

from worldwise.base.output.safe_text import markdown, markdown_heading, markdown_paragraph
from worldwise.base.tables import Section, Table


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
