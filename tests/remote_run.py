# SPDX-License-Identifier: BSD-2-Clause
"""Runs of what is measured itself, a board or a host."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from worldwise.base.progress_notes import CaseEnd
from worldwise.machine.machine import Machine
from worldwise.plan.case import Case
from worldwise.plan.suite import Suite
from worldwise.run.folder.run_plan import RunPlan
from worldwise.run.folder.rundir import Run, open_run
from worldwise.run.measure import Bench


class Notes:
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)

    def case_started(self, case: Case) -> None: ...
    def case_progress(self, case: Case, records_bytes: int) -> None: ...
    def case_done(self, case: Case, how: CaseEnd) -> None: ...


def machine_with(files: Mapping[str, Path]) -> Machine:
    """A machine that has files, and needs no image."""
    return Machine(
        name="a-machine",
        files=files,
        digests={},
        arguments=(),
        images={},
        ready=None,
        symbols={},
        preload=(),
    )


def measured(bench: Bench, suite: Suite, runs: Path) -> Run:
    """A new run of a suite."""
    made = bench.new_run(runs, RunPlan(suite, suite.cases))
    with contextlib.closing(bench), made as writer:
        return bench.measure(writer, suite.cases)


def resumed(bench: Bench, suite: Suite, runs: Path) -> Run:
    """The newest run, gone on with."""
    with contextlib.closing(bench), bench.resume_run(open_run("latest", runs)) as writer:
        return bench.measure(writer, suite.cases)
