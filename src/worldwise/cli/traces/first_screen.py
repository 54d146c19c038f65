# SPDX-License-Identifier: BSD-2-Clause
"""Predicted times of the leading rows of the screen that `worldwise run` ends with."""

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


def first_times(run: Run, reading: Reading, notes: Notes) -> Times:
    """The leading rows in predicted time, at the clock of the screen's other times; empty if they cannot be predicted.

    A screen without them still answers in instructions, so that what went wrong is a note.
    """
    rows = leading(reading)
    cases = list(dict.fromkeys(row.case for row in rows))[:_MOST]
    if not cases or reading.hosted:
        return {}
    wanted = [(row.case, row.measure, row.place) for row in rows if row.case in cases]
    notes.note(f"predicting {len(wanted)} rows on a {CORE}")
    try:
        session = Session(load_rules(), fresh=False, notes=notes)
        found = quick(session, run, wanted, CORE, parse_frequency(clock_text(reading)))
    except WorldwiseError as error:
        notes.note(f"no predicted times: {error.message} (`worldwise predict {cases[0]} --core {CORE}` tells more)")
        return {}
    return {(one.case, one.measure): Time(CORE, one.clock, one.cycles, one.low, one.high) for one in found}
