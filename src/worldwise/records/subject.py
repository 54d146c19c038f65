# SPDX-License-Identifier: BSD-2-Clause
"""What is checked: a case's records, and what the case owes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.records.evidence import Owed, owed_by
from worldwise.records.models import BOARD_CLOCK, CLOCK, TARGET_CLOCKS, Clock
from worldwise.records.parse import Record


@dataclass(frozen=True)
class Subject:
    """The records of a case. Errors name `file`; `symbol` names an address of the measured program."""

    records: Sequence[Record]
    case: Case
    file: str
    symbol: Callable[[int], str]

    @cached_property
    def owed(self) -> Owed:
        """What the case owes besides its samples."""
        return owed_by(self.case)

    @cached_property
    def clock(self) -> Clock:
        """The counter of the case's target."""
        return BOARD_CLOCK if self.case.board else TARGET_CLOCKS.get(self.case.target, CLOCK)

    def fail(self, number: int | None, problem: str, hint: str = "") -> NoReturn:
        """Raises WorldwiseError naming the file, and the line `number` if one line is to blame."""
        where = self.file if number is None else f"{self.file}:{number}"
        # Quoted, because much of it comes from the measured program.
        raise WorldwiseError(f"{where}: case {self.case.id}: {files.quoted(problem, 2000)}", hint)

    def numbered(self) -> Iterable[tuple[int, Record]]:
        """The records with the numbers of their lines."""
        return enumerate(self.records, 1)
