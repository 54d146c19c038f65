# SPDX-License-Identifier: BSD-2-Clause
"""Predicting the cases of a run that was just measured, for `worldwise run --predict`."""

import hashlib
from collections.abc import Mapping, Sequence

from worldwise.base.errors import WorldwiseError
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
    if not any(known.cores_of(case, tables) for case in cases):
        for case in cases:
            known.check(case, tables)
        raise WorldwiseError(f"no case is predicted on {', '.join(tables)}", "name the core of a board of the suite")
    return tables


def predict_run(run: Run, tables: Mapping[str, str], notes: Notes) -> None:
    """Predicts each complete case of a run that can be, on each core, and stores what the models say in the run.

    Raises WorldwiseError as watching a case does, and if the run has other predictions of a core.
    """
    done = [one.case() for one in run.complete_cases()]
    cases = [case for case in done if known.cores_of(case, tables)]
    if len(cases) < len(done):
        notes.note(f"{len(done) - len(cases)} of {len(done)} cases are predicted on none of these cores")
    session = Session(load_rules(), fresh=False, notes=notes)
    found: dict[str, list[PredictedCase]] = {core: [] for core in tables}
    for number, case in enumerate(cases, 1):
        wanted = known.cores_of(case, tables)
        notes.note(f"predicting {case.id} ({number} of {len(cases)}) on {', '.join(wanted)}")
        modelled = session.modelled(case, run, wanted)
        for core in wanted:
            found[core].append(modelled.predicted(core))
    plugin = session.images.get(plugin_recipe()).files["worldwise.so"]
    for core, predicted in ((core, some) for core, some in found.items() if some):
        table = hashlib.sha256(tables[core].encode()).hexdigest()
        store(run, Predicted(format=FORMAT, core=core, table=table, plugin=plugin, cases=predicted))
