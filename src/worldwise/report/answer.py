# SPDX-License-Identifier: BSD-2-Clause
"""The answer of a run on one screen: figures, verdict, surprises, and the command that prints the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from worldwise.base.tables import Section
from worldwise.base.units import INSTRUCTIONS
from worldwise.lab import lock_differences
from worldwise.read.models import Reading
from worldwise.report.first_screen import SCREEN_LINES, lines_of
from worldwise.report.formats.printed_sections import print_prose, print_section
from worldwise.report.predictions import verdict_line
from worldwise.report.report import answers, heading, sections
from worldwise.report.sections import linux_hosts
from worldwise.report.sections.tasks import Times
from worldwise.report.sections.verdicts import budget_verdict
from worldwise.report.tables import ANSWER_LINES, ScreenAnswer

# A table that is cut keeps at least so many lines, or is left out.
_LEAST_ROWS = 3
# What says which answers are left out: a blank line, and at most two more.
_LEFT_LINES = 3
# The most sentences below a table, failures and names that are listed before "and 3 more".
_MOST_SURPRISES = 3
_MOST_FAILURES = 3
_MOST_NAMES = 8


@dataclass(frozen=True)
class _Block:
    """An answer cut to the room on the screen: so many lines of its table, so many surprises."""

    answer: ScreenAnswer
    rows: int
    surprises: int = _MOST_SURPRISES

    def section(self) -> Section:
        """The block as it is printed."""
        table, notes = self.answer.shown(self.rows), []
        more = self.answer.left(self.rows)
        if more:
            where = f": --section {self.answer.sections[0]}" if self.answer.sections else ""
            notes.append(f"({_number(more, 'more line' if self.rows else 'line')} in the report{where})")
        if self.answer.verdict:
            notes.append(self.answer.verdict)
        notes += _first(self.answer.surprises, self.surprises, "more surprise")
        return Section(self.answer.title, table, notes)


def render_answer(reading: Reading, console: Console, command: str, times: Times | None = None) -> None:
    """Print the answer: at most SCREEN_LINES lines where a line has SCREEN_COLUMNS columns.

    `command` prints the report of the run, such as `worldwise report latest`. `times` are predicted, of some of
    its rows; None for those that the run keeps.
    """
    print_prose(console, heading(reading), "bold")
    for line in measured_lines(reading):
        print_prose(console, line)
    found = answers(reading, times)
    rest = _rest(found, command)
    for section in _answer_sections(reading, found, rest):
        console.print()
        print_section(section, console)
    console.print()
    for line in rest:
        print_prose(console, line)


def _answer_sections(reading: Reading, found: Sequence[ScreenAnswer], rest: Sequence[str]) -> list[Section]:
    """The answers, cut to the room that the lines around them leave."""
    fixed = [Section(heading(reading), None, [*measured_lines(reading), *rest])]
    # One blank line stands behind the answers.
    room = SCREEN_LINES - lines_of(fixed) - 1
    if not found:
        return [_contents(reading, room - 1)]
    blocks = [_Block(answer, min(len(answer.table.rows), ANSWER_LINES) if answer.table else 0) for answer in found]
    # One blank line stands above each answer.
    heights = [lines_of([block.section()]) + 1 for block in blocks]
    left: list[ScreenAnswer] = []
    while sum(heights) + (_LEFT_LINES if left else 0) > room:
        smaller = _smaller(blocks)
        if smaller:
            number, block = smaller
            blocks[number], heights[number] = block, lines_of([block.section()]) + 1
        elif len(blocks) > 1:
            # There are too many answers even for their sentences.
            heights.pop()
            left.insert(0, blocks.pop().answer)
        elif blocks[0].rows > 1:
            blocks[0] = replace(blocks[0], rows=blocks[0].rows - 1)
            heights[0] = lines_of([blocks[0].section()]) + 1
        else:
            break
    return [*(block.section() for block in blocks), *_left_section(left)]


def _left_section(left: Sequence[ScreenAnswer]) -> list[Section]:
    """A line on the answers that a screen has no room for, and where they are; nothing if there are none."""
    if not left:
        return []
    names = list(dict.fromkeys(name for answer in left for name in answer.sections[:1]))
    return [Section(f"{_number(len(left), 'more answer')}: --section {', '.join(names)}", None)]


def _smaller(blocks: Sequence[_Block]) -> tuple[int, _Block] | None:
    """Which block to shorten, and the shortened block; None if none can be shortened.

    What a suite asks comes first: the answers of the least rank. The longest table of the others loses a line, then
    that of the first ones; if all are short, the last of the others that has a table loses it, then a surprise.
    """
    first = [block for block in blocks if block.answer.rank == blocks[0].answer.rank]
    others = blocks[len(first) :] or first[1:]
    for group in (blocks[len(first) :], first):
        longest = max(group, key=lambda block: block.rows, default=None)
        if longest and longest.rows > _LEAST_ROWS:
            number = next(number for number, block in enumerate(blocks) if block is longest)
            return number, replace(longest, rows=longest.rows - 1)
    begin = len(blocks) - len(others)
    for number in reversed(range(begin, len(blocks))):
        if blocks[number].rows:
            return number, replace(blocks[number], rows=0)
    for number in reversed(range(len(blocks))):
        if least := min(blocks[number].surprises, len(blocks[number].answer.surprises)):
            return number, replace(blocks[number], surprises=least - 1)
    return None


def measured_lines(reading: Reading) -> list[str]:
    """How much was measured, and what failed."""
    done = len({row.case for row in reading.rows} | {attempt.case for attempt in reading.attempts})
    parts = [_number(done, "case") + " measured"]
    if reading.failed:
        parts.append(f"{len(reading.failed)} failed")
    if reading.missing:
        parts.append(f"{len(reading.missing)} not measured")
    if reading.unavailable:
        parts.append(f"{len(reading.unavailable)} unavailable on their target")
    lab = f"lab {reading.run.lab[:12]}" if reading.run.lab else "no lab"
    lines = [f"{', '.join(parts)}; {_counted(reading)}; {lab}."]
    if differs := lock_differences.whole(reading.run.drift):
        lines.append(differs)
    if reading.run.stack:
        lines.append(reading.run.stacked)
    lines += linux_hosts.summary(reading)
    if reading.budget:
        lines.append(f"Budget {reading.budget.limit} at {reading.budget.clock}: {budget_verdict(reading)}")
    if predicted := verdict_line(reading):
        lines.append(predicted)
    failed = [f"FAILED {one.case}: {one.error.splitlines()[0] if one.error else 'no reason'}" for one in reading.failed]
    return lines + _first(failed, _MOST_FAILURES, "more failure")


def _counted(reading: Reading) -> str:
    if reading.unit == INSTRUCTIONS:
        return f"{reading.unit}, counted exactly"
    if reading.hosted:
        return f"{reading.unit} of a Linux host: {reading.measured_on.get('core', 'an unknown core')}"
    return f"{reading.unit} of the chip, at {reading.run.chip_clock or 'the clock after its reset'}"


def _rest(found: Sequence[ScreenAnswer], command: str) -> list[str]:
    """How to see the rest."""
    names = list(dict.fromkeys(name for answer in found for name in answer.sections))
    shown = names[:_MOST_NAMES]
    lines = [f"All of it: {command} --all"]
    if shown:
        lines.append(f"A part of it: {command} --section NAME, with NAME such as {', '.join(shown)}")
    lines.append(f"All names: {command} --sections")
    return lines


def _contents(reading: Reading, room: int) -> Section:
    """The sections of a report that has no answer."""
    titles = [f"{section.name}: {section.title}" for section in sections(reading)]
    return Section("The report has", None, _first(titles, max(1, room - 2), "more section"))


def _first(lines: Sequence[str], most: int, what: str) -> list[str]:
    """At most so many of the lines, the last of them saying how many are left out."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[:most], f"and {_number(len(lines) - most, what)}"] if most else []


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
