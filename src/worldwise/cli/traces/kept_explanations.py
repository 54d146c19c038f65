# SPDX-License-Identifier: BSD-2-Clause
"""Explanations of a run's cases from traces that the cache keeps: nothing is run for them."""

from collections.abc import Iterator

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli.traces.plugin_runs import Session, measures_of, outermost
from worldwise.explain.explanation import Explanation
from worldwise.explain.layers import load_rules
from worldwise.libraries.own_library import own_libraries
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import Case
from worldwise.report.drawing import flame_graph
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.page.content import Traced
from worldwise.run.folder.rundir import Run
from worldwise.run.traces.flame_renderer import Inferno
from worldwise.run.traces.watch import traced_records

# Functions that a page lists of a trace, and bytes of flame graphs that it takes.
_TOP = 15
_MOST_BYTES = 5 * 2**20


def explanations(run: Run) -> tuple[list[Explanation], list[str]]:
    """Those of a run's kept traces, in the run's order; and a sentence for each trace that cannot be read."""
    found: list[Explanation] = []
    untold: list[str] = []
    cases = _kept(run)
    if not cases:
        return [], []
    session = Session(load_rules(), fresh=False, may_run=False)
    for case in cases:
        try:
            found += _explanations(session, run, case)
        except WorldwiseError as error:
            untold.append(_untold(case, error))
    return found, untold


def _untold(case: Case, error: WorldwiseError) -> str:
    return f"{case.id} has an unreadable trace: {error.message}"


def _kept(run: Run) -> list[Case]:
    """The cases that have a trace."""
    kept = traced_records(paths.cache_directory())
    return [
        manifest.case()
        for manifest in run.complete_cases()
        if manifest.files and RECORDS in manifest.files and manifest.files[RECORDS].sha256 in kept
    ]


def traced(run: Run) -> tuple[list[Traced], list[str]]:
    """What the kept traces of a run say, in the run's order; and a sentence for each that cannot be read."""
    cases = _kept(run)
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
            untold.append(_untold(case, error))
    return found, untold


def _explanations(session: Session, run: Run, case: Case) -> Iterator[Explanation]:
    # A library of the user's own: the cache's copy is the one that was measured.
    with own_libraries.kept({entry.name: entry.digest for entry in run.manifest.own}):
        explainer = session.explainer(case, run)
    for name, places in measures_of(case, None).items():
        yield explainer.explain(explainer.sample(name, outermost(places)))


def _of_case(session: Session, run: Run, case: Case) -> Iterator[Traced]:
    for one in _explanations(session, run, case):
        # The first part is the title with the sum.
        parts = explain_report.sections(one, session.rules, _TOP, False)
        graph = flame_graph.flame_graph(one.stacks, one.title, Inferno(session.note))
        yield Traced(one, parts, graph[graph.index("<svg") :])
