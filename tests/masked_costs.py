# SPDX-License-Identifier: BSD-2-Clause
"""What it costs to follow where interrupts are masked: a program, not a test.

    git archive COMMIT plugin | tar -x -C BEFORE
    PYTHONPATH=src:tests python -P tests/masked_costs.py BEFORE/plugin [PAIRS]

BEFORE/plugin is the plugin's source without it. Each pair runs the same machine with the same case under both plugins
in mode stack, one after the other, the first of a pair in turn. The figures are the processor's seconds, user and
system, of the emulator and all that it started: another load of the machine moves them far less than time on a clock.
"""

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from worldwise.base import paths
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import open_lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS
from worldwise.machine.plugin import Plugin
from worldwise.machine.plugin import plugin as plugin_recipe
from worldwise.plan.case import Case, parse_case
from worldwise.run.traces.watch import Watcher, require_same
from worldwise.targets.all_targets import EMULATED

CASES = ("optee/mbedtls-nist-O2/empty-invoke", "optee/mbedtls-nist-O2/ta-load", "optee/mbedtls-nist-O2/attestdiv")
# Of each case: enough for some seconds.
SAMPLES = {"empty-invoke": 2500, "ta-load": 15, "attestdiv": 10}
PAIRS = 7


class Spent(threading.Thread):
    """Looks at the processor's seconds of all that descends from this process, until it is stopped.

    Bubblewrap does not wait for what it started, so nobody is told them at the end.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, int] = {}
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.01):
            for pid in _descendants(str(os.getpid())):
                with contextlib.suppress(OSError):
                    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
                    self._seen[pid] = int(fields[11]) + int(fields[12])

    def stop(self) -> float:
        """Their sum."""
        self._over.set()
        self.join()
        return sum(self._seen.values()) / os.sysconf("SC_CLK_TCK")


def _descendants(pid: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                yield child
                yield from _descendants(child)


def seconds(watcher: Watcher, case: Case, plugin: Plugin, work: Path) -> float:
    """What one run under a plugin takes."""
    work.mkdir()
    machine = EMULATED[case.target].machine(case, watcher.images)
    spent = Spent()
    spent.start()
    watcher.emulator.run(machine, EMULATED[case.target].program(case), work, plugin=plugin)
    return spent.stop()


def pairs(watcher: Watcher, case: Case, older: Path, count: int, work: Path) -> list[tuple[float, float]]:
    """Seconds without and with it, pair by pair. The records must be the same."""
    machine = EMULATED[case.target].machine(case, watcher.images)
    plugin = watcher.stack_plugin(case, machine, work / "functions")
    plugins = (replace(plugin, file=older), plugin)
    found = []
    for number in range(count):
        took = [0.0, 0.0]
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            directory = work / f"{case.operation}-{number}-{which}"
            took[which] = seconds(watcher, case, plugins[which], directory)
            require_same(directory / RECORDS, work / f"{case.operation}-0-0" / RECORDS, case)
        found.append((took[0], took[1]))
    return found


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Measure all cases, and print a row of a table for each as soon as it is there."""
    before, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else PAIRS
    lab = open_lab()
    images = ImageStore(lab)
    watcher = Watcher(lab, images, Emulator(lab, silence_limit=3600))
    recipe = plugin_recipe()
    trees = {name: before / path.relative_to(paths.PLUGIN) for name, path in recipe.trees.items()}
    older = images.get(replace(recipe, name="plugin-before", trees=trees)).file("worldwise.so")
    say(f"{'case':36}{'without, s':>11}{'with, s':>9}{'with / without':>16}{'least':>7}{'most':>7}")
    for name in CASES:
        operation = name.rpartition("/")[2]
        case = parse_case(name, SAMPLES[operation], 0)
        with tempfile.TemporaryDirectory(prefix="ww-masked-costs-") as work:
            Path(work).chmod(0o755)
            found = pairs(watcher, case, older, count, Path(work))
        ratios = [after / first for first, after in found]
        halves = [median(half) for half in zip(*found, strict=True)]
        row = f"{name:36}{halves[0]:11.2f}{halves[1]:9.2f}{median(ratios):16.3f}{min(ratios):7.3f}{max(ratios):7.3f}"
        say(row)


if __name__ == "__main__":
    main()
