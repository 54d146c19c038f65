# SPDX-License-Identifier: BSD-2-Clause
"""The committed run of a board, which no board made, beside the emulated machine that it came from."""

from collections.abc import Mapping

import pytest

import board_run
from machines import note
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import Case
from worldwise.predict.errors import ErrorLines
from worldwise.predict.flat import flat_case
from worldwise.read.run_counts import read_run
from worldwise.run.folder.rundir import open_run
from worldwise.run.traces.watch import Watcher
from worldwise.validation.silicon.calibration import fit
from worldwise.validation.silicon.judgement import Emulate, Emulated, beside


@pytest.fixture(scope="module")
def emulate(lab: Lab, images: ImageStore) -> Emulate:
    """Runs a case with models, as the commands do."""
    watcher = Watcher(lab, images, Emulator(lab, note, silence_limit=60), note)

    def one(case: Case, tables: Mapping[str, str]) -> Emulated:
        records, regions = watcher.watch_flat(case, tables)
        return Emulated(records.samples, lambda core: flat_case(case, records, regions, core))

    return one


def test_a_run_is_judged_and_its_planted_numbers_are_found(emulate: Emulate) -> None:
    """If this fails, `judge` or `calibrate` says something else of a board's cycles than what made them.

    If the library, the compiler or the model has changed: tests/board_run.py makes the run again.
    """
    run = open_run(board_run.RUN, board_run.FOLDER)
    whole = read_run(run)
    # The shortest cases, of one level: three to fit on, and three to hold out.
    rows = [row for row in whole.rows if row.optimisation == "O2" and row.size in (16, 128)]
    reading = whole.model_copy(update={"rows": tuple(rows)})
    lines = beside(run, reading, board_run.CORE, emulate, ErrorLines())
    # Without wait states, and with cheaper branches than those that made the cycles, the model is too fast.
    assert [line.instructions < line.row.median for line in lines] == [True] * 6
    assert all(-10 < line.error < -1 for line in lines)
    found = fit(run, reading, board_run.CORE, [*board_run.PLANTED], emulate)
    assert found.after == board_run.PLANTED
    # What is left is what tests/board_run.py put on each sample, and what an empty region costs.
    assert found.errors(held_out=True).worst_after < 0.5
