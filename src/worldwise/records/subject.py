# SPDX-License-Identifier: BSD-2-Clause
"""What is checked: a case's records, and what the case owes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import INSTRUCTIONS, Unit
from worldwise.plan.case import Case
from worldwise.plan.catalogue import kind_of, takes_portables
from worldwise.plan.spec import OPTEE, TA, Measures
from worldwise.records.evidence import Owed, owed_by
from worldwise.records.models import BOARD_CLOCKS, CLOCK, HOST_CLOCKS, TARGET_CLOCKS, TEE_HOST_CLOCKS, Clock
from worldwise.records.parse import Record


@dataclass(frozen=True)
class Subject:
    """The records of a case, which count `unit`. Errors name `file`; `symbol` names an address of the program."""

    records: Sequence[Record]
    case: Case
    file: str
    symbol: Callable[[int], str]
    unit: Unit = INSTRUCTIONS

    @cached_property
    def owed(self) -> Owed:
        """What the case owes besides its samples."""
        return owed_by(self.case)

    @cached_property
    def measures(self) -> Measures:
        """The case's measures at the places that have a counter: on a host the TA has none."""
        found = self.case.measures
        if self.unit == INSTRUCTIONS or kind_of(self.case.target) != OPTEE:
            return found
        return {measure: tuple(place for place in places if place != TA) for measure, places in found.items()}

    @cached_property
    def clocks(self) -> tuple[Clock, ...]:
        """The counters of the case's target that count the unit; all regions of a case have the same."""
        if self.case.board:
            return BOARD_CLOCKS.get(self.unit, ())
        if self.unit == INSTRUCTIONS:
            return (TARGET_CLOCKS.get(self.case.target, CLOCK),)
        if kind_of(self.case.target) == OPTEE:
            return TEE_HOST_CLOCKS[self.unit]
        return HOST_CLOCKS[self.unit] if takes_portables(self.case.target) else ()

    def fail(self, number: int | None, problem: str, hint: str = "") -> NoReturn:
        """Raises WorldwiseError naming the file, and the line `number` if one line is to blame."""
        where = self.file if number is None else f"{self.file}:{number}"
        # Quoted, because much of it comes from the measured program.
        raise WorldwiseError(f"{where}: case {self.case.id}: {files.quoted(problem, 2000)}", hint)

    def numbered(self) -> Iterable[tuple[int, Record]]:
        """The records with the numbers of their lines."""
        return enumerate(self.records, 1)
