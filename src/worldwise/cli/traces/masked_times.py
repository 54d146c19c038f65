# SPDX-License-Identifier: BSD-2-Clause
"""Explanations whose stretches with interrupts masked have predicted times."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from worldwise.base.errors import WorldwiseError
from worldwise.cli.traces.plugin_runs import Session
from worldwise.explain.explanation import Explanation
from worldwise.plan.case import Case
from worldwise.predict import cores as known
from worldwise.predict.attribution import Attribution
from worldwise.predict.errors import load_errors
from worldwise.predict.masked_stretches import timed
from worldwise.records.models import Sample
from worldwise.report.predictions import Line
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
    made = []
    for one in found:
        series = attribution.explainer.records.samples[one.measure, one.place]
        sample = next(each for each in series if (each.phase, each.index) == (one.phase, one.index))
        made.append(one.with_masked(timed(attribution, sample, cores, clock, load_errors())))
    return made


def explained(attribution: Attribution, line: Line) -> Explanation:
    """What `explain` says of a line's call, whose stretches have times."""
    of = line.estimate
    series = attribution.explainer.records.samples[of.sample.measure, of.sample.place]
    sample: Sample = next(one for one in series if one.index == of.sample.index)
    masked = timed(attribution, sample, [of.core], line.hertz, load_errors())
    return attribution.explainer.explain(sample).with_masked(masked)
