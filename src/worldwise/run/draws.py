# SPDX-License-Identifier: BSD-2-Clause
"""Measures what a run has of a case beside its own records: plan/inputs.py says what that is."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from worldwise.base import files
from worldwise.machine.machine import RECORDS
from worldwise.machine.measurer import MachineEnd
from worldwise.run.folder.rundir import LIMITS
from worldwise.run.results import ResultStore


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
