# SPDX-License-Identifier: BSD-2-Clause
"""Explanations whose stretches with interrupts masked have predicted times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from worldwise.base.errors import WorldwiseError
from worldwise.cli.traces.plugin_runs import Session
from worldwise.explain.explanation import Explanation
from worldwise.plan.case import Case
from worldwise.predict import cores as known
from worldwise.predict.attribution import Attribution
from worldwise.predict.errors import load_errors
from worldwise.predict.masked_stretches import timed
from worldwise.report.predictions import PredictionLine
from worldwise.run.folder.rundir import Run


def require_stretches(case: Case, cores: Mapping[str, str]) -> None:
    """Raise WorldwiseError, before anything runs, for a case of which nobody follows the masks, or another core's."""
    if known.is_micro(case) or known.is_armv7(case):
        raise WorldwiseError(
            f"{case.id}: --core is for the stretches with interrupts masked, which are followed on Armv8-A alone",
            f"`worldwise predict {case.id} --core {','.join(cores)}` predicts the whole call",
        )
    known.check(case, cores)


def with_times(
    found: Sequence[Explanation],
    session: Session,
    case: Case,
    run: Run | None,
    cores: Mapping[str, str],
    clock: Fraction,
) -> list[Explanation]:
    """The same explanations, whose stretches say what cores take for them: the case runs once more, with their models.

    Raises WorldwiseError as running it does.
    """
    attribution = session.modelled(case, run, cores, whole=True).attribution
    assert attribution
    errors, made = load_errors(), []
    for one in found:
        sample = attribution.explainer.sample(one.measure, one.place, one.index)
        made.append(replace(one, masked=timed(attribution, sample, cores, clock, errors).masked))
    return made


def explained(attribution: Attribution, line: PredictionLine) -> Explanation:
    """What `explain` says of a line's call, whose stretches have times."""
    of = line.estimate.sample
    sample = attribution.explainer.sample(of.measure, of.place, of.index)
    return timed(attribution, sample, [line.estimate.core], line.hertz, load_errors())
