# SPDX-License-Identifier: BSD-2-Clause
"""What a run has of a case beside its own records: other draws of its inputs, and its own path without interrupts."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from worldwise.base import files
from worldwise.machine.machine import RECORDS
from worldwise.machine.measurer import Ended
from worldwise.plan.case import Case
from worldwise.plan.inputs import seed_problem
from worldwise.run.results import ResultStore
from worldwise.run.rundir import LIMITS, OWN_PATH_FILE


def draw_file(seed: int) -> str:
    """The file with a case's records of another draw."""
    return f"seed-{seed}.jsonl"


def others(case: Case, seeds: int) -> Iterator[tuple[str, Case]]:
    """Name of a file -> the case whose records it has. A case with one draw only has no others."""
    if case.as_shipped:
        yield OWN_PATH_FILE, replace(case, as_shipped=False)
    if not seed_problem(case):
        for seed in range(case.seed + 1, case.seed + seeds):
            yield draw_file(seed), replace(case, seed=seed)


def bring(results: ResultStore, digest: str, directory: Path, name: str, run: Callable[[Path], Ended]) -> None:
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
