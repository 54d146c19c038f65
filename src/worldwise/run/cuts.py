# SPDX-License-Identifier: BSD-2-Clause
"""Cuts: machines that the emulator ends at a chosen instruction of a step, as if the power went.

What tee-supplicant had stored by then is in a journal on the host, for a fresh machine to be put to.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.machine.machine import RECORDS
from worldwise.machine.plugin import CutPlugin, cut_plugin
from worldwise.records.models import End
from worldwise.records.parse import read_records
from worldwise.run.campaign import Trial

# A case's outcome: the machine stopped at an instruction.
CUT = "cut"

JOURNAL = "journal"
_LENGTH = "length"
# What the machines leave besides what every machine does.
LEFT = (JOURNAL, _LENGTH)


@dataclass(frozen=True)
class Cuts:
    """A step in the midst of which machines are stopped.

    Attributes:
        trial: the case.
        step: the step's words on the program's command line.
        prepared: what each machine goes on from; None for the machine's own saved state.
    """

    trial: Trial
    step: tuple[str, ...]
    prepared: Path | None = None

    def whole(self, *names: str) -> tuple[int, dict[str, bytes]]:
        """A machine that is not stopped. Returns its region's instructions and the files of these names that it left.

        Raises WorldwiseError if the plugin has not counted.
        """
        with self.trial.step(
            *self.step, plugin=self._plugin({"out": f"/run/{_LENGTH}"}), prepared=self.prepared
        ) as work:
            try:
                length = int((work / _LENGTH).read_text(encoding="ascii"))
            except (OSError, ValueError) as error:
                raise WorldwiseError(
                    f"{self.trial.case.id}: the plugin did not say how long the write is: {error}"
                ) from None
            return length, _left(work, names)

    def stopped(self, at: int, whole: Mapping[str, bytes]) -> dict[str, bytes]:
        """A machine that is stopped at an instruction. Returns what it left of the files of the whole.

        Raises WorldwiseError if it went on, or left something else than the begin of what the whole left.
        """
        with self.trial.step(
            *self.step, plugin=self._plugin({"at": str(at)}), prepared=self.prepared, whole=False
        ) as work:
            if any(isinstance(record, End) for record in read_records(work / RECORDS)):
                raise WorldwiseError(
                    f"{self.trial.case.id}: the machine was to be stopped at instruction {at}, it was not"
                )
            left = _left(work, whole)
        if any(data != whole[name][: len(data)] for name, data in left.items()):
            raise self.other(at)
        return left

    def other(self, at: int) -> WorldwiseError:
        """What is wrong if a machine that was stopped at an instruction has stored what the whole step does not."""
        return WorldwiseError(
            f"{self.trial.case.id}: what was stored up to instruction {at} is not the begin of what the whole write "
            "stores",
            "this is a defect of the first order: machines do not repeat themselves",
        )

    def _plugin(self, arguments: Mapping[str, str]) -> CutPlugin:
        return CutPlugin(self.trial.images.get(cut_plugin()).file("cut.so"), arguments)


def spread(length: int, points: int) -> list[int]:
    """So many instructions of a region of `length`, evenly spread, the first and the last among them."""
    if points == 1 or length == 1:
        return [length]
    return sorted({1 + (length - 1) * number // (points - 1) for number in range(points)})


def _left(work: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Files that a machine left; one that it did not come to is empty."""
    return {name: (work / name).read_bytes() if (work / name).exists() else b"" for name in names}
