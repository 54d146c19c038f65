# SPDX-License-Identifier: BSD-2-Clause
"""What a command prints first: sections cut to one screen, and the option that prints the rest."""

from collections.abc import Sequence
from dataclasses import replace

from worldwise.base.output.safe_text import Prose
from worldwise.base.tables import Section, Table
from worldwise.report.formats.printed_sections import printed_lines
from worldwise.report.tables import SCREEN_COLUMNS

# The height of a screen.
SCREEN_LINES = 40
# A table that is cut keeps at least so many lines.
_LEAST_ROWS = 3


def narrowed(table: Table, spare: Sequence[str] = ()) -> Table:
    """The table in SCREEN_COLUMNS: without the columns of `spare`, as many as it must lose; then with shorter names."""
    for head in spare:
        if table.width > SCREEN_COLUMNS and head in table.headers:
            table = table.without([table.headers.index(head)])
    while (over := table.width - SCREEN_COLUMNS) > 0:
        names = [at for at in range(len(table.headers)) if table.is_name(at)]
        widths = {at: max((len(row[at]) for row in table.rows), default=0) for at in names}
        widest = max(names, key=lambda at: widths[at])
        # The columns beside it lose nothing as long as this one is the widest.
        second = max((widths[at] for at in names if at != widest), default=0)
        most = max(widths[widest] - over, min(second, widths[widest] - 1), 12)
        if most >= widths[widest]:
            break
        rows = [[_short(cell, most) if at == widest else cell for at, cell in enumerate(row)] for row in table.rows]
        table = Table(table.headers, rows, table.left, table.names)
    return table


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def first_screen(sections: Sequence[Section], more: str, spare: Sequence[str] = (), whole: int = 0) -> list[Section]:
    """The sections on one screen: SCREEN_LINES lines of SCREEN_COLUMNS columns.

    Tables that are too wide lose the columns of `spare`, in this order. The longest table loses its last line again
    and again, but none of the first `whole` sections does; where all are short, the last section goes. `more` says how
    to print what was left out, and stands at the end if anything was.
    """
    found = [replace(one, table=one.table and narrowed(one.table, spare)) for one in sections]
    cut = [one.table for one in found] != [one.table for one in sections]
    end = Section(more, None)
    heights = [lines_of([one]) + 1 for one in found]
    # Behind the last section stands no blank line, but one more line for the prompt.
    if not cut and sum(heights) <= SCREEN_LINES:
        return found
    room = SCREEN_LINES - lines_of([end]) - 1
    rows = [len(one.table.rows) if one.table else 0 for one in found]
    before = list(rows)
    gone = 0

    def height() -> int:
        lost = sum(had - has - 1 for had, has in zip(before, rows, strict=True) if has < had)
        return sum(heights) - lost

    while height() > room:
        longest = max(range(min(whole, len(rows) - 1), len(rows)), key=lambda at: rows[at])
        if rows[longest] > _LEAST_ROWS:
            rows[longest] -= 1
        elif len(found) > 1:
            for kept in (found, heights, rows, before):
                kept.pop()
            gone += 1
        else:
            break
    shown = [_cut(one, number) for one, number in zip(found, rows, strict=True)]
    last = f"{more} ({gone} more {'table' if gone == 1 else 'tables'})" if gone else more
    return [*shown, Section(last, None)]


def _cut(section: Section, rows: int) -> Section:
    if not section.table or rows >= len(section.table.rows):
        return section
    table = section.table
    left = len(table.rows) - rows
    shown = Table(table.headers, table.rows[:rows], table.left, table.names)
    note = Prose(f"({left} more {'line' if left == 1 else 'lines'})")
    return replace(section, table=shown, notes=[note, *section.notes])


def lines_of(printed: Sequence[Section]) -> int:
    """How many lines the sections take on a screen, without blank ones between them."""
    return sum(map(printed_lines, printed))
