# SPDX-License-Identifier: BSD-2-Clause
"""The lives of a program, as the measured machine says them: guest/own/launch.c."""

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError

# What the machine leaves besides what every machine does.
LAUNCHED, OUTPUT, STARTED, CRASH = "launched", "output", "started", "crash"
_MOST_LAUNCHED = 2**20
_LIFE = re.compile(r"(\d{1,20}) (\d{1,20}) (-?\d{1,3}) (\d{1,3}) (\d{1,20})")


@dataclass(frozen=True)
class Life:
    """One life of the program: the counter around it, its exit status (-1 if a signal ended it), the signal, and how
    often the processor was idle meanwhile."""

    begin: int
    end: int
    status: int
    signal: int
    idle: int

    @property
    def problem(self) -> str:
        """Why the tool cannot measure it, as it follows the program's name; empty if it can."""
        if self.signal:
            known = [one.name for one in signal.Signals if one == self.signal]
            why = " (it wrote more than 64 MiB into a file)" if known == ["SIGXFSZ"] else ""
            return f"was ended by the signal {known[0] if known else self.signal}{why}"
        if self.status == 127:
            return "could not be started, or ended with status 127"
        if self.idle:
            return (
                f"let the processor idle {self.idle} times: it sleeps or waits, and virtual time, the counter, then "
                "advances without instructions"
            )
        return ""


def lives_of(directory: Path) -> list[Life]:
    """How the lives of the program went, as the machine said. Raises WorldwiseError."""
    text = files.read_bytes(directory / LAUNCHED, _MOST_LAUNCHED, directory).decode("ascii", "replace")
    found = [_LIFE.fullmatch(line) for line in text.splitlines()]
    if not found or None in found:
        raise WorldwiseError(f"{directory / LAUNCHED}: the machine did not say how the program ended")
    return [Life(*map(int, match.groups())) for match in found if match]
