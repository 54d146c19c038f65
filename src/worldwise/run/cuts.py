# SPDX-License-Identifier: BSD-2-Clause
"""Cuts: machines that the emulator ends at a chosen instruction of a step, as if the power went.

A journal on the host has what tee-supplicant had stored by then; a fresh machine starts from it.
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

JOURNAL = "journal"
_LENGTH = "length"
# The files that these machines leave, beside those that every machine leaves.
LEFT = (JOURNAL, _LENGTH)


@dataclass(frozen=True)
class Cuts:
    """A step during which machines are stopped.

    Attributes:
        trial: the case.
        step: the step's words on the program's command line.
        prepared: the state that each machine starts from; None for the machine's own saved state.
    """

    trial: Trial
    step: tuple[str, ...]
    prepared: Path | None = None

    def whole(self, *names: str) -> tuple[int, dict[str, bytes]]:
        """Run a machine to its end. Returns its region's instructions and the files of these names that it left.

        Raises WorldwiseError if the plugin did not count.
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
        """Stop a machine at an instruction. Returns the files that it left, by the names in `whole`.

        Raises WorldwiseError if it did not stop, or if its files are not the beginning of those of the whole step.
        """
        with self.trial.step(
            *self.step, plugin=self._plugin({"at": str(at)}), prepared=self.prepared, whole=False
        ) as work:
            if any(isinstance(record, End) for record in read_records(work / RECORDS)):
                raise WorldwiseError(
                    f"{self.trial.case.id}: the machine should have stopped at instruction {at}, but did not"
                )
            left = _left(work, whole)
        if any(data != whole[name][: len(data)] for name, data in left.items()):
            raise self.other(at)
        return left

    def other(self, at: int) -> WorldwiseError:
        """The error for a machine that was stopped at an instruction and stored what the whole step does not."""
        return WorldwiseError(
            f"{self.trial.case.id}: what was stored up to instruction {at} is not the beginning of what "
            "the whole write stores",
            "this is a serious defect: machines do not repeat themselves",
        )

    def _plugin(self, arguments: Mapping[str, str]) -> CutPlugin:
        return CutPlugin(self.trial.images.get(cut_plugin()).file("cut.so"), arguments)


def spread(length: int, points: int) -> list[int]:
    """Evenly spread instructions of a region of `length`, with the first and the last."""
    if points == 1 or length == 1:
        return [length]
    return sorted({1 + (length - 1) * number // (points - 1) for number in range(points)})


def _left(work: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The files that a machine left; one that it never wrote is empty."""
    return {name: (work / name).read_bytes() if (work / name).exists() else b"" for name in names}
