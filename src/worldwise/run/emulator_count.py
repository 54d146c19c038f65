# SPDX-License-Identifier: BSD-2-Clause
"""A host's case once more on the emulated machine: the same program, whose instructions QEMU counts exactly.

Its processor has perf's counters too, so both count the instructions of user space between the same two readings.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from worldwise.base import files
from worldwise.base.counter_units import CYCLES
from worldwise.base.errors import WorldwiseError
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, Machine
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
    if stored := results.get(digest):
        _bring(stored.directory, directory)
        return
    with tempfile.TemporaryDirectory(prefix="ww-again-") as work:
        try:
            ended = emulator.run(machine, program, Path(work))
            path = Path(work, RECORDS)
            check_records(read_records(path), case, str(path), unit=CYCLES)
        except WorldwiseError as error:
            raise WorldwiseError(
                f"on the emulated machine, which counts the instructions again: {error.message}",
                error.hint,
                error.details,
            ) from error
        results.put(digest, Path(work), "", round(ended.wall_seconds, 2), ended.command)
        _bring(Path(work), directory)


def _bring(source: Path, directory: Path) -> None:
    files.copy(source / RECORDS, directory / EMULATED_FILE, LIMITS.file, source)
