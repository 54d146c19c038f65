# SPDX-License-Identifier: BSD-2-Clause
"""Records of other cases that a case has beside its own: another draw (plan/inputs.py), a host's case on QEMU.

The emulated processor has perf's counters too, so both count the instructions of user space between the same two
readings.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import CYCLES
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, Machine
from worldwise.machine.measurer import MachineEnd
from worldwise.plan.case import Case
from worldwise.records.check import check_records
from worldwise.records.parse import read_records
from worldwise.run.folder.manifests import EMULATED_FILE
from worldwise.run.folder.rundir import LIMITS
from worldwise.run.results import ResultStore


def count_again(
    emulator: Emulator,
    results: ResultStore,
    digest: str,
    machine: Machine,
    case: Case,
    program: Sequence[str],
    directory: Path,
) -> None:
    """Put the emulated machine's records of a case beside the host's, from the results if they are there.

    `digest` is their address. Raises WorldwiseError if the case fails there.
    """

    def run(work: Path) -> MachineEnd:
        try:
            ended = emulator.run(machine, program, work)
            path = work / RECORDS
            check_records(read_records(path), case, str(path), unit=CYCLES)
        except WorldwiseError as error:
            raise WorldwiseError(
                f"on the emulated machine, which counts the instructions again: {error.message}",
                error.hint,
                error.details,
            ) from error
        return ended

    bring(results, digest, directory, EMULATED_FILE, run)


def bring(results: ResultStore, digest: str, directory: Path, name: str, run: Callable[[Path], MachineEnd]) -> None:
    """Put the records of another case into a file of a case's directory, from the results if they are there.

    `digest` is their address, and `run` measures that case in an empty folder. Raises WorldwiseError if it fails.
    """
    if stored := results.get(digest):
        files.copy(stored.directory / RECORDS, directory / name, LIMITS.file, stored.directory)
        return
    with tempfile.TemporaryDirectory(prefix="ww-beside-") as temporary:
        work = Path(temporary)
        ended = run(work)
        results.put(digest, work, "", round(ended.wall_seconds, 2), ended.command)
        files.copy(work / RECORDS, directory / name, LIMITS.file, work)
