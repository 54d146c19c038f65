# SPDX-License-Identifier: BSD-2-Clause
"""Tables of a run that counts something else than instructions: their headers say what."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from worldwise.base.counted import CYCLES, INSTRUCTIONS, NANOSECONDS, SHORT, Unit
from worldwise.base.tables import Section, Table
from worldwise.read.models import Reading
from worldwise.report.hosted import calls_optee

_OF_CHIP = (
    "{short}: {unit}, counted by the chip itself, at {at}. They are not exact as instructions are: the same case can "
    "take a few more or less. The cost of measuring is itself measured and subtracted."
)
_AFTER_RESET = (
    "the clock that it has after its reset: with that clock's wait states, and not those of the board's full clock, "
    "for which times are shown"
)
_OF_HOST: dict[Unit, str] = {
    CYCLES: "cycles: cycles of the processor while the program ran in user space, by the processor's own counter; "
    "those of Linux are not in it. The cost of measuring is itself measured and subtracted.",
    NANOSECONDS: "ns: nanoseconds of the host's clock, with all that ran in them: the program, Linux, and whatever "
    "else had the processor. The cost of measuring is itself measured and subtracted.",
}
_OF_TEE_HOST = (
    "cycles: cycles of the processor in the client, in Linux and in the secure world, by the processor's own counter, "
    "and a test showed that it goes on counting there. The cost of measuring is itself measured and subtracted."
)
# What notes say of emulated machines, and what is said instead.
_INSTEAD = (
    (r"instr: .*", _OF_CHIP),
    (r"us: .*", "us: the median divided by {divided}."),
    (r".* is emulated as QEMU's .*", ""),
    (r"(.*)which is subtracted(.*)", r"\1which takes some 40 {unit} of 2^24\2"),
    (r"(.*)the fewest instructions(.*)", r"\1the fewest {unit}\2"),
)


def in_unit(sections: Sequence[Section], reading: Reading) -> list[Section]:
    """The sections of a report, written for instructions, with another unit in their headers and legends."""
    unit, clock = reading.unit, reading.run.chip_clock
    if unit == INSTRUCTIONS:
        return list(sections)
    words = {
        "short": SHORT[unit],
        "unit": unit,
        "at": clock or _AFTER_RESET,
        "divided": "the clock that was set"
        if clock
        else "the board's full clock, as if its flash never made the core wait",
    }
    instead = _instead_on_host(unit, reading) if reading.hosted else _INSTEAD
    return [
        replace(one, table=table_in_unit(one.table, unit), notes=_notes(one.notes, instead, words)) for one in sections
    ]


def table_in_unit(table: Table | None, unit: Unit) -> Table | None:
    """A table with the unit in its headers."""
    if table is None or unit == INSTRUCTIONS:
        return table
    return replace(table, headers=[re.sub(r"\binstr\b", SHORT[unit], header) for header in table.headers])


_Instead = Sequence[tuple[str, str]]


def _instead_on_host(unit: Unit, reading: Reading) -> _Instead:
    legend = _OF_TEE_HOST if calls_optee(reading) and unit == CYCLES else _OF_HOST[unit]
    # The last is of what QEMU executes.
    return (
        (r"instr: .*? subtracted\.(.*)", legend + r"\1"),
        (r"(.*)the fewest instructions(.*)", r"\1the fewest {unit}\2"),
        (r"(.*) An emulated core executes .*", r"\1"),
    )


def _notes(notes: Sequence[str], all_instead: _Instead, words: Mapping[str, str]) -> list[str]:
    return [said for note in notes if (said := _note(note, all_instead, words))]


def _note(note: str, all_instead: _Instead, words: Mapping[str, str]) -> str:
    for pattern, instead in all_instead:
        if found := re.fullmatch(pattern, note, re.DOTALL):
            return type(note)(found.expand(instead.format(**words)))
    return note
