# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise diff`: which functions a difference between two cases, or two runs, is of."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, format_option, locked_option, output_option, runs_option
from worldwise.cli.traces.plugin_runs import (
    Output,
    Session,
    cases_of_run,
    is_case,
    measures_of,
    open_named,
    outermost,
)
from worldwise.cli.traces.typed_calls import (
    DIFFERENCE_FORMATS,
    DOCUMENTS,
    MORE,
    RARE_FOLLOWED,
    DiffCall,
    case_option,
    followed_options,
    implementation_option,
    region_options,
    shown_options,
)
from worldwise.explain.explanation import Explanation
from worldwise.explain.layers import load_rules
from worldwise.libraries.own_library import own_libraries
from worldwise.plan.case import Case
from worldwise.report.drawing import flame_graph
from worldwise.report.explaining import explanations as explain_report
from worldwise.run.folder.rundir import Run
from worldwise.run.traces.flame_renderer import Inferno

# A sample of a case: the measure, the place, and the call if one was asked for.
Region = tuple[str, str, int | None]
# Which one is taken of a measure, whose outermost place is given.
RegionOf = Callable[[str, str], Region]


_Pair = tuple[Explanation, Explanation]
_RARE = {"Look closer": ("index", "inline"), "Also": RARE_FOLLOWED}


@click.command(cls=Command, rare=_RARE)
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@case_option
@implementation_option("The folder of a library of your own that a RUN measured.")
@region_options
@followed_options
@shown_options
@format_option(DIFFERENCE_FORMATS)
@output_option
@locked_option
@runs_option
def diff(**typed: Any) -> int:
    """Say which layers and functions make the difference between two cases, or two runs.

    \b
      worldwise diff optee/mbedtls-O2/attestdiv optee/mbedtls-nist-O2/attestdiv
      worldwise diff linux/mbedtls-O2/attestdiv optee/mbedtls-O2/attestdiv --measure sign
      worldwise diff OLD_RUN NEW_RUN --case optee/mbedtls-O2/attestdiv --measure sign
      worldwise diff OLD_RUN NEW_RUN --measure sign --format flame --output change.svg

    \f
    BEFORE and AFTER are two cases, such as optee/mbedtls-O2/attestdiv, or two runs, whose cases in common are run once
    more under the plugin, each with its own run's library; of both the same calls are explained. The tables also say
    what each function loads, stores and multiplies more or less. --format flame makes a differential flame graph.
    """
    call = DiffCall.taken(typed)
    sides, shown = call.sides, call.shown
    # Every error in the call is reported before anything runs.
    if shown.output:
        check_output(shown.output)
    if is_case(sides.before) != is_case(sides.after):
        raise click.UsageError("BEFORE and AFTER are two cases, or two runs")
    found = _of_cases(call) if is_case(sides.before) else _of_runs(call)
    rules = load_rules()
    session = call.following.session(rules)
    first: list[_Pair] = []
    with Output(shown.output) as out:
        for pair in found(session):
            if shown.first_alone:
                first.append(pair)
                continue
            match shown.form:
                case "table" | "markdown":
                    out.show(explain_report.difference_sections(*pair, rules, shown.functions), shown.form)
                case "json":
                    out.text(explain_report.dump(explain_report.difference_json(*pair, rules)))
                case "flame":
                    title = " -> ".join(one.title for one in pair)
                    renderer = Inferno(session.note)
                    out.text(flame_graph.differential(pair[0].stacks, pair[1].stacks, title, renderer))
        if first:
            out.show(explain_report.first_differences(first, rules, shown.functions, MORE), shown.form)
    return 0


def _of_cases(call: DiffCall) -> Callable[[Session], Iterator[_Pair]]:
    """What explains two cases. Raises WorldwiseError if they lack the measure, or have none in common."""
    before, after = call.sides.case(call.sides.before), call.sides.case(call.sides.after)
    had, has = measures_of(before, call.region.measure), measures_of(after, call.region.measure)
    both = [name for name in has if name in had]
    if not both:
        problem = f"{before.id} and {after.id} have no measure in common"
        raise WorldwiseError(problem, "choose two cases of one operation")
    _require_one(call, both)

    def explained(session: Session) -> Iterator[_Pair]:
        found = [
            {one.measure: one for one in call.region.explanations(session.explainer(case, None))}
            for case in (before, after)
        ]
        yield from ((found[0][name], found[1][name]) for name in both)

    return explained


def _of_runs(call: DiffCall) -> Callable[[Session], Iterator[_Pair]]:
    """What explains the cases of two runs. Raises WorldwiseError if they have none in common."""
    sides, region = call.sides, call.region
    old, new = (open_named(what, sides.runs) for what in (sides.before, sides.after))
    cases = cases_between(old, new, sides.wanted)
    _require_one(call, [name for case in cases for name in measures_of(case, region.measure)])
    keep_folders(sides.directories, (old, new))

    def explained(session: Session) -> Iterator[_Pair]:
        for before, after in differences(
            session, old, new, cases, region.measure, lambda name, place: (name, region.place or place, region.index)
        ):
            yield from zip(before, after, strict=True)

    return explained


def _require_one(call: DiffCall, regions: Sequence[str]) -> None:
    """Raise click.UsageError if the format shows fewer regions than there are."""
    if call.shown.form not in DOCUMENTS and len(regions) > 1:
        raise click.UsageError(
            f"--format {call.shown.form} takes one region: choose with --measure, of runs with --case"
        )


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
            f"runs {old.id} and {new.id} do not have {what}", "`worldwise compare` says what they have"
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
