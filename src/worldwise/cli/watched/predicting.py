# SPDX-License-Identifier: BSD-2-Clause
"""Predicting the cases of a run that was just measured, for `worldwise run --predict`."""

import hashlib
from collections.abc import Mapping, Sequence

from worldwise.cli.progress import Notes
from worldwise.cli.watched.tools import Session
from worldwise.explain.layers import load_rules
from worldwise.machine.plugin import plugin as plugin_recipe
from worldwise.plan.case import Case
from worldwise.predict import cores as known
from worldwise.records.predicted import FORMAT, Predicted, PredictedCase
from worldwise.run.predictions import store
from worldwise.run.rundir import Run


def asked(names: Sequence[str], cases: Sequence[Case]) -> Mapping[str, str]:
    """The tables of the cores that `--predict` names. Raises WorldwiseError if none of the cases can be predicted."""
    if not names:
        return {}
    tables = known.tables(names)
    for case in [one for one in cases if known.can_predict(one)] or cases:
        known.check(case, tables)
    return tables


def predict_run(run: Run, tables: Mapping[str, str], notes: Notes) -> None:
    """Predicts each complete case of a run that can be, on each core, and stores what the models say in the run.

    Raises WorldwiseError as watching a case does, and if the run has other predictions of a core.
    """
    done = [one.case() for one in run.complete_cases()]
    cases = [case for case in done if known.can_predict(case)]
    if len(cases) < len(done):
        notes.note(f"{len(done) - len(cases)} of {len(done)} cases are on machines on which nothing is predicted")
    session = Session(load_rules(), fresh=False, notes=notes)
    found: dict[str, list[PredictedCase]] = {core: [] for core in tables}
    for number, case in enumerate(cases, 1):
        notes.note(f"predicting {case.id} ({number} of {len(cases)}) on {', '.join(tables)}")
        modelled = session.modelled(case, run, tables)
        for core, predicted in found.items():
            predicted.append(modelled.predicted(core))
    plugin = session.images.get(plugin_recipe()).files["worldwise.so"]
    for core, predicted in found.items():
        table = hashlib.sha256(tables[core].encode()).hexdigest()
        store(run, Predicted(format=FORMAT, core=core, table=table, plugin=plugin, cases=predicted))
