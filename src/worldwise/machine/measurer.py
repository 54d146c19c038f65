# SPDX-License-Identifier: BSD-2-Clause
"""What measures a case: an emulator, a board or a host. A run has one for each of its targets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from worldwise.base.units import Unit
from worldwise.machine.machine import Machine

if TYPE_CHECKING:
    from pydantic import JsonValue

# Where a case begins: on a machine restored from its saved state, or on a machine started for it.
StartFrom = Literal["snapshot", "boot"]


@dataclass(frozen=True)
class MachineEnd:
    """How a machine ended that ran a case: its exit status, the command line or address, and how long it took."""

    status: int
    command: tuple[str, ...]
    wall_seconds: float


@dataclass(frozen=True)
class Description:
    """What a measurer is.

    Attributes:
        unit: what its counters count.
        words: one line for people.
        facts: of a host what a run keeps about it; neither its name nor its user's.
    """

    unit: Unit
    words: str
    facts: "Mapping[str, JsonValue]" = field(default_factory=dict)


class Measurer(Protocol):
    """Runs a case's program where it is measured. Safe for threads."""

    def describe(self) -> Description:
        """What it is; a board is asked once. Raises WorldwiseError if it is not there or another."""

    def run(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        start: StartFrom = "snapshot",
        progress: Callable[[int], None] = lambda _: None,
    ) -> MachineEnd:
        """Load and reset the machine and run one program on it, whose records appear in `directory` as they come.

        Raises HostError if no other case could be measured either, WorldwiseError if this one cannot.
        """

    def diagnosis(self, directory: Path, machine: Machine) -> str:
        """What a case's directory has besides records about how it ended, for a person to read."""

    def stop(self) -> None:
        """End all that runs; `run` then raises."""
