# SPDX-License-Identifier: BSD-2-Clause
"""Predicted times of the leading rows of the screen that `worldwise run` ends with."""

from collections.abc import Callable, Collection

from worldwise.base.errors import WorldwiseError
from worldwise.base.units import parse_frequency
from worldwise.cli.common.progress import Notes
from worldwise.cli.traces.plugin_runs import Session
from worldwise.cli.traces.quick_predictions import quick
from worldwise.explain.layers import load_rules
from worldwise.read.models import Reading
from worldwise.report.sections.tasks import Time, Times, leading
from worldwise.report.surprises import clock_text
from worldwise.run.folder.rundir import Run

# The core that the machine with OP-TEE emulates.
CORE = "cortex-a72"
# So many cases at the most: a screen has room for their rows.
_MOST = 4


def first_times(run: Run, reading: Reading, notes: Notes, done: Collection[str] = ()) -> Times:
    """The leading rows in predicted time, at the clock of the screen's other times; empty if they cannot be predicted.

    The cases `done`, whose predictions are kept, are not reported. A screen without times still answers in
    instructions, so that what went wrong is a note.
    """
    wanted = _wanted(reading)
    if not wanted or reading.hosted:
        return {}
    if new := [row for row in wanted if row[0] not in done]:
        notes.note(f"predicting {len(new)} rows on a {CORE}")
    try:
        session = Session(load_rules(), fresh=False, notes=notes)
        found = quick(session, run, wanted, CORE, parse_frequency(clock_text(reading)))
    except WorldwiseError as error:
        case = wanted[0][0]
        notes.note(f"no predicted times: {error.message} (`worldwise predict {case} --core {CORE}` tells more)")
        return {}
    return {(one.case, one.measure): Time(CORE, one.clock, one.cycles, one.low, one.high) for one in found}


def predict_ahead(
    run: Run, reading: Reading, notes: Notes, began: Callable[[Callable[[], None]], None]
) -> frozenset[str]:
    """Predict the rows that lead an unfinished run, one case at a time, and keep that for `first_times`.

    `began` is called with what ends the machines and builds. Returns the ids of the cases. Raises WorldwiseError.
    """
    wanted = _wanted(reading)
    session = Session(load_rules(), fresh=False, notes=notes)
    began(session.stop)
    notes.note(f"predicting {len(wanted)} rows on a {CORE}, beside the last cases")
    quick(session, run, wanted, CORE, parse_frequency(clock_text(reading)), jobs=1)
    return frozenset(case for case, _, _ in wanted)


def _wanted(reading: Reading) -> list[tuple[str, str, str]]:
    """Case, measure and place of the leading rows of a few cases."""
    rows = leading(reading)
    cases = list(dict.fromkeys(row.case for row in rows))[:_MOST]
    return [(row.case, row.measure, row.place) for row in rows if row.case in cases]
