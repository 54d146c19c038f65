# SPDX-License-Identifier: BSD-2-Clause
"""Several sections one below the other: in a terminal, or as Markdown."""

from collections.abc import Iterable

from rich.console import Console

from worldwise.base.tables import Section
from worldwise.report.report import print_section, section_lines


def print_sections(sections: Iterable[Section], console: Console) -> None:
    """Print sections with an empty line between them."""
    for number, section in enumerate(sections):
        if number:
            console.print()
        print_section(section, console)


def markdown_text(sections: Iterable[Section]) -> str:
    """Sections as Markdown; the text ends with a line feed."""
    return "\n".join(line for section in sections for line in [*section_lines(section), ""])
