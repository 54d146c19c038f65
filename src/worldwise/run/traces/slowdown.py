# SPDX-License-Identifier: BSD-2-Clause
"""What watching costs: the wall time of one case with the plugin's modes and without, turn by turn."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from worldwise.machine.machine import RECORDS
from worldwise.plan.case import Case
from worldwise.run.traces.watch import Watcher, require_same
from worldwise.targets.all_targets import EMULATED

_ROUNDS = 3


@dataclass(frozen=True)
class SlowDown:
    """Seconds of wall time by mode (none, count, stack), one value a round."""

    seconds: Mapping[str, Sequence[float]]

    def ratios(self, mode: str) -> list[float]:
        """Each round's time, divided by the time of the same round without the plugin."""
        return [with_it / without for with_it, without in zip(self.seconds[mode], self.seconds["none"], strict=True)]

    def ratio(self, mode: str) -> float:
        """Their median."""
        return median(self.ratios(mode))


def measure_slowdown(watcher: Watcher, case: Case, rounds: int = _ROUNDS) -> SlowDown:
    """Run a case in turn without the plugin, in mode count and in mode stack. Records must be the same each time.

    The time is the emulator's, from its start to its end: it includes restoring the machine, but not reading the trace.
    """
    machine = EMULATED[case.target].machine(case, watcher.images)
    program = EMULATED[case.target].program(case)
    seconds: dict[str, list[float]] = {"none": [], "count": [], "stack": []}
    with tempfile.TemporaryDirectory(prefix="ww-slow-down-") as work:
        plugins = {
            "none": None,
            "count": watcher.count_plugin(case, machine),
            "stack": watcher.stack_plugin(case, machine, Path(work, "functions")),
        }
        for number in range(rounds):
            first: Path | None = None
            for mode, plugin in plugins.items():
                directory = Path(work, f"{mode}-{number}")
                directory.mkdir()
                outcome = watcher.emulator.run(machine, program, directory, plugin=plugin)
                seconds[mode].append(outcome.wall_seconds)
                records = directory / RECORDS
                if first is None:
                    first = records
                require_same(records, first, case)
    return SlowDown(seconds)
