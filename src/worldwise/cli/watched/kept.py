# SPDX-License-Identifier: BSD-2-Clause
"""Explanations of a run's cases from traces that the cache keeps: nothing is run for them."""

from collections.abc import Iterator

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli.watched.tools import Session, measures_of, outermost
from worldwise.explain.layers import load_rules
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import Case
from worldwise.report import explained, flame
from worldwise.report.page.content import Traced
from worldwise.run.rundir import Run
from worldwise.run.watch import traced_records

# Functions that a page lists of a trace, and bytes of flame graphs that it takes.
_TOP = 15
_MOST_BYTES = 5 * 2**20


def traced(run: Run) -> tuple[list[Traced], list[str]]:
    """What the kept traces of a run say, in the run's order; and a sentence for each that cannot be read."""
    kept = traced_records(paths.cache_directory())
    cases = [
        manifest.case()
        for manifest in run.complete_cases()
        if manifest.files and RECORDS in manifest.files and manifest.files[RECORDS].sha256 in kept
    ]
    if not cases:
        return [], []
    session = Session(load_rules(), fresh=False, may_run=False)
    found: list[Traced] = []
    untold: list[str] = []
    size = 0
    for case in cases:
        try:
            for one in _of_case(session, run, case):
                size += len(one.graph)
                # The tables say the same in less room.
                found.append(one if size <= _MOST_BYTES else Traced(one.explanation, one.sections, ""))
        except WorldwiseError as error:
            untold.append(f"{case.id} has a trace that was not read: {error.message}")
    return found, untold


def _of_case(session: Session, run: Run, case: Case) -> Iterator[Traced]:
    explainer = session.explainer(case, run)
    for name, places in measures_of(case, None).items():
        one = explainer.explain(explainer.sample(name, outermost(places)))
        # The first part is the title with the sum.
        parts = explained.sections(one, session.rules, _TOP, False)
        graph = flame.flame_graph(one.stacks, one.title, flame.Renderer(session.note))
        yield Traced(one, parts, graph[graph.index("<svg") :])
