# SPDX-License-Identifier: BSD-2-Clause
"""`judge`, `calibrate` and the reports of `predict`, given runs of strangers: an answer, or an error in words."""

import json
import random
from pathlib import Path

import pytest
from test_calibration import emulate
from test_predict_report import CASE, prediction

import board_run
from hostile_runs import changed, hostile_run
from synthetic import write_run
from worldwise.base.errors import WorldwiseError
from worldwise.plan.budget import parse_budget
from worldwise.predict.errors import load_errors
from worldwise.read.run_counts import read_run
from worldwise.report.report import sections, to_csv, to_json, to_markdown
from worldwise.run.folder.predictions import store
from worldwise.run.folder.rundir import open_run
from worldwise.validation.silicon import judgement_report
from worldwise.validation.silicon.calibration import fit
from worldwise.validation.silicon.judgement import beside, core_of, require_judge


def judge(path: Path) -> None:
    run = open_run(path, path.parent)
    reading = read_run(run)
    require_judge(run, reading)
    core = core_of(run, reading.rows[0].target, None)
    lines = beside(run, reading, core, emulate, load_errors())
    judgement_report.judged_csv(lines)
    judgement_report.judged_json(run, lines)
    judgement_report.judged_section(run, lines)


def calibrate(path: Path) -> None:
    run = open_run(path, path.parent)
    reading = read_run(run)
    require_judge(run, reading)
    found = fit(run, reading, board_run.CORE, ("refill",), emulate)
    found.errors(held_out=True)
    found.calibration(run)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("read", [judge, calibrate])
def test_a_hostile_run_judges_nothing_or_is_told(read: object, tmp_path: Path) -> None:
    """If this fails, a run that somebody sent ends `judge` or `calibrate` in a traceback."""
    assert callable(read)
    read(board_run.FOLDER / board_run.RUN)
    told = 0
    for seed in range(25):
        path = tmp_path / str(seed) / "20260102T030400Z-a"
        hostile_run(board_run.FOLDER / board_run.RUN, path, random.Random(seed))
        try:
            read(path)
        except WorldwiseError as error:
            told += 1
            assert error.message.isprintable()
            assert len(error.message) < 5000
    assert told > 10


@pytest.mark.timeout(120)
def test_hostile_predictions_are_shown_or_told(runs_dir: Path) -> None:
    """If this fails, predictions in a run that somebody sent end its report in a traceback."""
    run = write_run(runs_dir, [CASE])
    store(run, prediction())
    (path,) = run.path.glob("predicted-*")
    good = json.loads(path.read_text())
    shown = told = 0
    for seed in range(60):
        chance = random.Random(seed)
        path.write_text(json.dumps(changed(good, chance)))
        try:
            reading = read_run(run, parse_budget("5ms@1.5GHz"))
            for form in (to_json, to_csv, to_markdown, sections):
                form(reading)
            shown += 1
        except WorldwiseError as error:
            told += 1
            assert error.message.isprintable()
    assert shown > 5
    assert told > 20
