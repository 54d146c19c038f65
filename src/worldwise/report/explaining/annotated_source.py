# SPDX-License-Identifier: BSD-2-Clause
"""Source lines beside the count of each, and below a line its instructions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from worldwise.base.output.safe_text import visible
from worldwise.base.tables import Section, Table

if TYPE_CHECKING:
    # It reads symbols, in the sandbox.
    from worldwise.explain.annotated_source import Annotated

# Lines shown around each that was executed.
_AROUND = 2
_MOST_TEXT = 100


def annotated_sections(
    functions: "Sequence[Annotated]", texts: Mapping[str, Sequence[str]], code: Mapping[int, Mapping[int, str]] | None
) -> list[Section]:
    """A section for each source file of each function.

    Args:
        functions: what was executed.
        texts: the lines of the source files that were found, by the names in the debug information.
        code: for each function, by its place, what each instruction is; None to leave instructions out.
    """
    found = []
    for number, function in enumerate(functions):
        files = sorted({file for file, _ in function.lines}, key=lambda file: -_of_file(function, file))
        notes = [f"{function.instructions:,} instructions in {function.name} itself; the lines add up to them."]
        for file in files:
            title = f"{function.name} ({function.image}): {visible(file) or 'no debug information'}"
            text = texts.get(file, ())
            if file and not text:
                notes = [*notes, "The source was not found: --source DIR names the folder that has it."]
            rows = _rows(function, file, text, None if code is None else code.get(number, {}))
            found.append(Section(title, Table(["line", "instr", "%", "source"], rows, 0, names=(3,)), notes))
            notes = []
    return found


def _of_file(function: "Annotated", file: str) -> int:
    return sum(line.instructions for (name, _), line in function.lines.items() if name == file)


def _rows(function: "Annotated", file: str, text: Sequence[str], code: Mapping[int, str] | None) -> list[list[str]]:
    lines = {number: line for (name, number), line in function.lines.items() if name == file}
    shown = set(lines)
    if text:
        shown |= {at for number in lines for at in range(number - _AROUND, number + _AROUND + 1) if 0 < at <= len(text)}
    rows = []
    for number in sorted(shown):
        line = lines.get(number)
        source = visible(text[number - 1].expandtabs(4).rstrip())[:_MOST_TEXT] if 0 < number <= len(text) else ""
        count = line.instructions if line else 0
        share = f"{100 * count / function.instructions:.1f}" if line else ""
        rows.append([str(number or "-"), f"{count:,}" if line else "", share, source])
        for address, times in sorted(line.executed.items()) if line and code is not None else ():
            what = (code or {}).get(address, "")
            rows.append(["", f"{times:,}", "", f"    {address:x}: {visible(what)}".rstrip()])
    return rows
