# SPDX-License-Identifier: BSD-2-Clause
"""Cuts: machines that the emulator ends at a chosen instruction of a step, as if the power went.

A journal on the host has what tee-supplicant had stored by then; a fresh machine starts from it.

The guest appends to such files by single instructions, so a machine that ends at an instruction leaves of them what is
there when another one executes it. One machine therefore passes all instructions of a campaign and tells the files'
sizes. Only some machines are ended, to see that they leave the same.
"""

from collections.abc import Iterable, Mapping, Sequence
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
_SIZES = "sizes"
# Of a campaign's cuts so many are machines that end there, the first and the last among them.
_ENDED = 3
# The files that these machines leave, beside those that every machine leaves.
LEFT = (JOURNAL, _LENGTH, _SIZES)


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

    def at(self, points: Sequence[int], whole: Mapping[str, bytes]) -> list[dict[str, bytes]]:
        """What machines leave that end at these instructions, which rise: for each the files by the names in `whole`.

        Raises WorldwiseError if one did not end, or if they do not leave the beginning of what the whole step does.
        """
        ended = {points[number - 1] for number in spread(len(points), _ENDED)}
        found = self._passed(points, whole) if len(points) > len(ended) else {}
        for at in sorted(ended):
            left = self._stopped(at, whole)
            if found.setdefault(at, left) != left:
                raise self.other(at)
        return [found[at] for at in points]

    def _passed(self, points: Sequence[int], whole: Mapping[str, bytes]) -> dict[int, dict[str, bytes]]:
        """What is in the files at these instructions of one machine, which goes on to its end."""
        arguments = {
            "points": ":".join(map(str, points)),
            "files": ":".join(f"/run/{name}" for name in whole),
            "out": f"/run/{_SIZES}",
        }
        with self.trial.step(*self.step, plugin=self._plugin(arguments), prepared=self.prepared) as work:
            lines = (work / _SIZES).read_text(encoding="ascii").splitlines()
            if _left(work, whole) != dict(whole):
                raise self.other(points[-1])
        found: dict[int, dict[str, bytes]] = {}
        for at, line in zip(points, lines, strict=False):
            passed, *sizes = map(int, line.split())
            if passed != at or any(size > len(data) for size, data in zip(sizes, whole.values(), strict=True)):
                raise self.other(at)
            found[at] = {name: data[:size] for (name, data), size in zip(whole.items(), sizes, strict=True)}
        if len(lines) != len(points):
            raise WorldwiseError(
                f"{self.trial.case.id}: a machine passed {len(lines)} of {len(points)} instructions of its step"
            )
        return found

    def _stopped(self, at: int, whole: Mapping[str, bytes]) -> dict[str, bytes]:
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
        """The error for a machine that has stored something else up to an instruction than another."""
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
