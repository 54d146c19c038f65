# SPDX-License-Identifier: BSD-2-Clause
"""Tables of a run that counts something else than instructions: their headers say what."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from worldwise.base.tables import Section, Table
from worldwise.base.units import CYCLES, INSTRUCTIONS, NANOSECONDS, SHORT, Unit
from worldwise.read.models import Reading
from worldwise.read.readings import COUNTER_TAKEN_AWAY
from worldwise.report.sections.linux_hosts import calls_optee

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


@dataclass(frozen=True)
class Words:
    """What notes say where counts are of another unit than instructions.

    Attributes:
        unit: its name, such as `cycles`.
        legend: what is counted, and what is subtracted from it.
        divided: by what a count is divided where it is shown as time.
        hosted: whether a Linux host was measured, and not the chip of a board.
    """

    unit: Unit
    legend: str
    divided: str
    hosted: bool


class OfInstructions(str):
    """A note that holds for counts of instructions. `otherwise` makes the note for another unit; an empty one goes."""

    otherwise: Callable[[Words], str]

    def __new__(cls, text: str, otherwise: Callable[[Words], str]) -> "OfInstructions":
        made = super().__new__(cls, text)
        made.otherwise = otherwise
        return made


def unit_note(legend: str, more: str) -> OfInstructions:
    """What `instr` is, and what is said besides where an emulated machine or a Linux host was measured."""
    return OfInstructions(legend + more, lambda words: words.legend + (more if words.hosted else ""))


def emulated_note(text: str) -> OfInstructions:
    """A note on an emulated board, of which a chip has no part."""
    return OfInstructions(text, lambda _: "")


def with_unit(make: Callable[[str], str]) -> OfInstructions:
    """A note that names the unit: `make` is given its name."""
    return OfInstructions(make(INSTRUCTIONS), lambda words: make(words.unit))


def board_note(text: str) -> OfInstructions:
    """A note on what a count on a board includes: a chip's own counter has another cost than an emulated one's."""
    own = "which takes some 40 {unit} of 2^24"
    return OfInstructions(
        text, lambda words: text if words.hosted else text.replace(COUNTER_TAKEN_AWAY, own.format(unit=words.unit))
    )


def in_unit(sections: Sequence[Section], reading: Reading) -> list[Section]:
    """The sections of a report, written for instructions, with another unit in their headers and legends."""
    unit, clock = reading.unit, reading.run.chip_clock
    if unit == INSTRUCTIONS:
        return list(sections)
    of_chip = _OF_CHIP.format(short=SHORT[unit], unit=unit, at=clock or _AFTER_RESET)
    divided = "the clock that was set" if clock else "the board's full clock, as if its flash never made the core wait"
    legend = _host_legend(unit, reading) if reading.hosted else of_chip
    words = Words(unit, legend, divided, bool(reading.hosted))
    return [replace(one, table=table_in_unit(one.table, unit), notes=_notes(one.notes, words)) for one in sections]


def table_in_unit(table: Table | None, unit: Unit) -> Table | None:
    """A table with the unit in its headers."""
    if table is None or unit == INSTRUCTIONS:
        return table
    instr = re.compile(rf"\b{SHORT[INSTRUCTIONS]}\b")
    return replace(table, headers=[instr.sub(SHORT[unit], header) for header in table.headers])


def _host_legend(unit: Unit, reading: Reading) -> str:
    return _OF_TEE_HOST if calls_optee(reading) and unit == CYCLES else _OF_HOST[unit]


def _notes(notes: Sequence[str], words: Words) -> list[str]:
    said = (note.otherwise(words) if isinstance(note, OfInstructions) else note for note in notes)
    return [note for note in said if note]
