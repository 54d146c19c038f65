# SPDX-License-Identifier: BSD-2-Clause
"""Predicting more than the case that was named: a run that was just measured, for `run --predict`; other draws."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from worldwise.base.errors import WorldwiseError
from worldwise.cli.common.progress import Notes
from worldwise.cli.traces.plugin_runs import FOLLOWED, Session
from worldwise.explain.layers import load_rules
from worldwise.machine.plugin import plugin as plugin_recipe
from worldwise.plan.case import Case
from worldwise.plan.inputs import seed_problem
from worldwise.predict import cores as known
from worldwise.predict.bounds import estimates
from worldwise.predict.errors import ErrorLines
from worldwise.records.model_predictions import FORMAT, Predicted, PredictedCase
from worldwise.run.folder.predictions import store
from worldwise.run.folder.rundir import Run


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


def predict_run(run: Run, tables: Mapping[str, str], notes: Notes, jobs: int) -> None:
    """Predicts each complete case of a run that can be, on each core, and stores what the models say in the run.

    `jobs` machines run at a time. Raises WorldwiseError as watching a case does, and if the run has other predictions
    of a core; then, and on Ctrl-C, every machine that it started is ended. Traces that are complete are kept.
    """
    done = [one.case() for one in run.complete_cases()]
    cases = [case for case in done if known.cores_of(case, tables)]
    if len(cases) < len(done):
        notes.note(f"{len(done) - len(cases)} of {len(done)} cases are predicted on none of these cores")
    session = Session(load_rules(), fresh=False, notes=notes)

    def predicted(number: int, case: Case) -> Mapping[str, PredictedCase]:
        wanted = known.cores_of(case, tables)
        notes.note(f"predicting {case.id} ({number} of {len(cases)}) on {', '.join(wanted)}")
        return session.predicted(case, run, wanted)

    with ThreadPoolExecutor(jobs, "predict") as pool:
        try:
            futures = [pool.submit(predicted, *one) for one in enumerate(cases, 1)]
            for ended in as_completed(futures):
                ended.result()
        except BaseException:
            session.stop()
            pool.shutdown(cancel_futures=True)
            raise
    found = [future.result() for future in futures]
    plugin = session.images.get(plugin_recipe()).files["worldwise.so"]
    for core, text in tables.items():
        some = [one[core] for one in found if core in one]
        if some:
            table = hashlib.sha256(text.encode()).hexdigest()
            store(run, Predicted(format=FORMAT, core=core, table=table, plugin=plugin, cases=some))


# Core, measure, place, and which call.
Of = tuple[str, str, str, str]


def require_draws(case: Case) -> None:
    """Raise WorldwiseError if a case has one draw only."""
    if problem := seed_problem(case):
        raise WorldwiseError(f"{case.id}: --seeds: {problem}", "choose other cases with --case, or leave --seeds out")


def other_draws(
    session: Session, case: Case, cores: Mapping[str, str], seeds: int, whole: bool, errors: ErrorLines
) -> Mapping[Of, tuple[int, ...]]:
    """The predicted cycles of `seeds` - 1 other draws, as those of the case's own are told: of the first call, and the
    median of the warm ones, as many as are followed of a run.

    Raises WorldwiseError as predicting does.
    """
    found: defaultdict[Of, list[int]] = defaultdict(list)
    for seed in range(case.seed + 1, case.seed + seeds):
        draw = replace(case, seed=seed, samples=min(case.samples, FOLLOWED))
        for core, predicted in session.predicted(draw, None, cores, whole).items():
            for one in estimates(predicted, core, errors):
                found[core, one.sample.measure, one.sample.place, one.state].append(one.cycles)
    return {of: tuple(cycles) for of, cycles in found.items()}
