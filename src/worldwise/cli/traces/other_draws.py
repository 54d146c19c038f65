# SPDX-License-Identifier: BSD-2-Clause
"""Predicting other draws of a case's inputs: other keys, messages and nonces."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from worldwise.base.errors import WorldwiseError
from worldwise.cli.traces.plugin_runs import FOLLOWED, Session
from worldwise.plan.case import Case
from worldwise.plan.inputs import seed_problem
from worldwise.predict.bounds import estimates
from worldwise.predict.errors import ErrorLines

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
