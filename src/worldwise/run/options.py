# SPDX-License-Identifier: BSD-2-Clause
"""What measuring is asked for, whom it tells of its progress, and what workers do for it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worldwise.base.progress_notes import CaseEnd
from worldwise.machine.measurer import StartFrom
from worldwise.plan.case import Case
from worldwise.run.folder.rundir import Run
from worldwise.run.measurers import Remote
from worldwise.run.results import Result, ResultStore


class Progress(Protocol):
    """Receives the progress of a run. Called from several threads."""

    def note(self, text: str) -> None:
        """An event worth a line: an image built, a machine booted."""

    def case_started(self, case: Case) -> None:
        """A case begins to be measured."""

    def case_progress(self, case: Case, records_bytes: int) -> None:
        """How many bytes of records a case has so far."""

    def case_done(self, case: Case, how: CaseEnd) -> None:
        """A case is done; `how` says measured, reused or failed, and how long it took."""


class WhileLastCases(Protocol):
    """What is done of a run while its last cases are measured, in the place of one machine."""

    def begin(self, run: Run) -> None:
        """Do it; called in a thread. No error of it ends the run."""

    def stop(self) -> None:
        """Make `begin` return soon, from another thread."""


@dataclass(frozen=True)
class MeasureOptions:
    """How to measure.

    Attributes:
        reuse: take results that were measured before on the same machine.
        start: where a case starts from.
        jobs: machines at a time; 0 for as many as there are processors.
        silence_limit: seconds without a record after which a machine counts as hanging.
        remote: the board or host that is measured itself; None if every target is emulated.
        reverse: measure the cheapest case first, not the dearest.
        seeds: how many draws of its inputs each case has, from its own seed on.
    """

    reuse: bool = True
    start: StartFrom = "snapshot"
    jobs: int = 0
    silence_limit: float = 120
    remote: Remote | None = None
    reverse: bool = False
    seeds: int = 1

    @property
    def machines(self) -> int:
        """How many emulated machines run here at a time."""
        return self.jobs or os.cpu_count() or 1


@dataclass(frozen=True)
class WorkerResult:
    """A case that a worker has measured.

    Attributes:
        result: its result in the store.
        run: the other run that it is of, if one had measured the case in the meantime; else empty.
        seconds: how long it took.
        how: how it ended.
    """

    result: Result
    run: str
    seconds: float
    how: CaseEnd


class Elsewhere(Protocol):
    """Workers that build and measure into the store that this machine reads. Their methods raise WorldwiseError.

    Attributes:
        jobs: tasks at a time.
    """

    jobs: int

    def cost(self, case: Case) -> int:
        """What a case is expected to cost; the dearest goes first."""

    def build(self, cases: Sequence[Case]) -> None:
        """Have a worker build what cases of one variant need. What cannot be built there is no error."""

    def measure(self, run: str, case: Case, digest: str, results: ResultStore) -> WorkerResult | None:
        """Have a worker measure a case, whose address is `digest`, for a run.

        None if the case failed there: then this machine is to say why.
        """

    def stop(self) -> None:
        """Drop all tasks: what waits for one raises WorldwiseError soon."""
