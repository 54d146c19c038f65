# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise explain OLD --diff NEW`: which functions a difference between two runs is of."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.traces.plugin_runs import Session, cases_of_run, measures_of, outermost
from worldwise.explain.explanation import Explanation
from worldwise.libraries.own_library import own_libraries
from worldwise.plan.case import Case
from worldwise.run.folder.rundir import Run

# A sample of a case: the measure, the place, and the call if one was asked for.
Region = tuple[str, str, int | None]
# Which one is taken of a measure, whose outermost place is given.
RegionOf = Callable[[str, str], Region]


def cases_between(old: Run, new: Run, patterns: Sequence[str]) -> list[Case]:
    """The cases that both runs have complete, in the old one's order. Raises WorldwiseError if there is none.

    A case that both measured with other numbers of calls is left out: its calls are not the same.
    """
    found = {case.id: case for case, _ in cases_of_run(new, patterns)}
    both = [case for case, _ in cases_of_run(old, patterns) if case.id in found]
    alike = [case for case in both if case == found[case.id]]
    if not alike:
        what = "the same number of calls in both" if both else "a case in common"
        raise WorldwiseError(
            f"runs {old.id} and {new.id} do not have {what}", "`worldwise compare` lists what each has"
        )
    return alike


def keep_folders(directories: Sequence[Path], runs: Sequence[Run]) -> None:
    """Keep copies of users' libraries in the cache, from where each run's own is taken.

    Raises WorldwiseError for a folder that the runs did not measure.
    """
    measured = {(entry.name, entry.digest) for run in runs for entry in run.manifest.own}
    for directory in directories:
        try:
            (brought,) = own_libraries.bring([directory])
            own_libraries.announce([brought], lambda text: safe_text.echo(text, err=True))
            if (brought.name, brought.digest) not in measured:
                raise WorldwiseError(
                    f"{directory}: neither {' nor '.join(run.id for run in runs)} measured it as it is now",
                    "name the folder that one of them measured; the cache keeps copies of those measured here",
                )
        finally:
            own_libraries.forget()


def differences(
    session: Session, old: Run, new: Run, cases: Sequence[Case], measure: str | None, region: RegionOf
) -> Iterator[tuple[list[Explanation], list[Explanation]]]:
    """Of each case what the old run executed, and what the new one did in the very same calls.

    Raises WorldwiseError as explaining a run's case does.
    """
    for case in cases:
        before = _explained(session, old, case, [region(*one) for one in _regions(case, measure)])
        # The same call of the new run: its input is the same, as far as both runs did the same.
        same = [(one.measure, one.place, one.index) for one in before]
        yield before, _explained(session, new, case, same)


def _regions(case: Case, measure: str | None) -> list[tuple[str, str]]:
    return [(name, outermost(places)) for name, places in measures_of(case, measure).items()]


def _explained(session: Session, run: Run, case: Case, regions: Sequence[Region]) -> list[Explanation]:
    # Both runs may have a library of one name: each is made with its own.
    with own_libraries.kept({entry.name: entry.digest for entry in run.manifest.own}):
        explainer = session.explainer(case, run)
    return [explainer.explain(explainer.sample(*region)) for region in regions]
