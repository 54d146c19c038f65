# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise explain`: who owns each instruction of a case."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from worldwise.base.errors import WorldwiseError
from worldwise.base.family_stages import declared
from worldwise.base.tables import Section
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, format_option, locked_option, output_option, runs_option
from worldwise.cli.traces.annotated_source import annotated, source_lines
from worldwise.cli.traces.masked_times import require_stretches, with_times
from worldwise.cli.traces.plugin_runs import Output, Session, measures_of
from worldwise.cli.traces.typed_calls import (
    DOCUMENTS,
    EXPLAIN_FORMATS,
    MORE,
    RARE_FOLLOWED,
    ExplainCall,
    ExplainedRegion,
    case_option,
    followed_options,
    implementation_option,
    region_options,
    shown_options,
)
from worldwise.explain import stacks
from worldwise.explain.explanation import Explained, Explanation
from worldwise.explain.layers import Rules, load_rules
from worldwise.explain.owners import Explainer
from worldwise.plan.case import Case
from worldwise.report.drawing import flame_graph
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.formats import exports
from worldwise.run.traces.flame_renderer import Inferno


@dataclass
class _First:
    """What stands on the first screen: explanations, each with what families say of its call."""

    explained: list[tuple[Explanation, Sequence[Section]]] = field(default_factory=list)
    regions: int = 0

    def show(self, call: ExplainCall, rules: Rules, out: Output) -> None:
        """Print it, if anything was gathered."""
        if self.explained:
            shown = explain_report.first_sections(self.explained, rules, self.regions, call.shown.functions, MORE)
            out.show(shown, call.shown.form)


# What most calls do without, as `--help-all` lists it: heading -> parameters.
_RARE = {
    "Look closer": ("index", "path", "inline", "annotate", "instructions", "sources", "why"),
    "Times of masked interrupts": ("cores", "clock"),
    "Also": RARE_FOLLOWED,
}


@click.command(cls=Command, rare=_RARE)
@click.argument("what", metavar="CASE|RUN", default="latest")
@case_option
@implementation_option("The folder of a library of your own that the RUN measured.")
@region_options
@followed_options
@shown_options
@click.option("--path", is_flag=True, help="List the call's way through the exception levels.")
@click.option(
    "--annotate", metavar="FUNCTION", help="Print the source of this function with the count of each line, and stop."
)
@click.option("--instructions", is_flag=True, help="With --annotate: below each line its instructions.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="With --annotate: a folder that has the source.  [default: the current one]",
)
@click.option("--why", metavar="FUNCTION", help="Say which rule puts this function into its layer, and stop.")
@click.option(
    "--core",
    "cores",
    multiple=True,
    metavar="NAME[,NAME]",
    help="Predict on this core how long the longest stretches with interrupts masked take.",
)
@click.option("--clock", metavar="CLOCK", help="With --core: the clock of the times.  [default: 1.5GHz]")
@format_option(EXPLAIN_FORMATS)
@output_option
@locked_option
@runs_option
def explain(**typed: Any) -> int:
    """Say which layer and function executes each instruction of a case, or of a run's cases.

    \b
      worldwise explain optee/mbedtls-nist-O2/attestdiv
      worldwise explain mps2-an386/p256-m-Os/sign,curve=secp256r1,size=32B
      worldwise explain optee/mbedtls-nist-O2/attestdiv --measure sign --format flame --output a.svg
      worldwise explain latest --case 'optee/*/hello'

    \f
    CASE is a target, a variant and an operation, such as optee/mbedtls-nist-O2/attestdiv; RUN is a run, whose cases
    are run once more under the plugin and must give the same records to the byte. The sum of the layers is the
    difference of the guest's own counter, which is checked for every region. The tables also say what each function
    loads, stores and multiplies, and on boards which calls make the deepest stack.

    --format markdown is the tables as a document; flame makes an SVG; folded, speedscope, callgrind and chrome are for
    other tools. `worldwise diff` explains what two cases or runs differ by.
    """
    call = ExplainCall.taken(typed)
    shown = call.shown
    if shown.output:
        check_output(shown.output)
    call.check()
    tables, clock = call.times.tables(), call.times.hertz()
    rules = load_rules()
    # Every error in the call is reported before anything runs.
    cases = call.named.cases()
    if not shown.why:
        _check_regions([case for case, _ in cases], call)
    for case, _ in cases if tables else ():
        require_stretches(case, tables)
    session = call.following.session(rules)
    first = _First()
    with Output(shown.output) as out:
        for case, run in cases:
            explainer = session.explainer(case, run)
            if shown.why:
                _print_why(explainer, shown.why, out.console)
                continue
            if call.source.annotate:
                for sample in call.region.samples(explainer):
                    out.show(annotated(explainer, session, sample, call.source), shown.form)
                continue
            explanations = call.region.explanations(explainer)
            if tables:
                explanations = with_times(explanations, session, case, run, tables, clock)
            _show(explainer, explanations, session, call, out, first)
        first.show(call, rules, out)
    return 0


def _check_regions(cases: Sequence[Case], call: ExplainCall) -> None:
    """Raise WorldwiseError if a case lacks the measure, click.UsageError if the format shows fewer regions."""
    regions = [name for case in cases for name in measures_of(case, call.region.measure)]
    if call.shown.form not in DOCUMENTS and max(len(cases), len(regions)) > 1:
        raise click.UsageError(
            f"--format {call.shown.form} takes one region: choose with --measure, of a run with --case"
        )


def _taken_apart(explainer: Explainer, region: ExplainedRegion) -> list[Section]:
    """The families' sections on the parts of a call."""
    return [
        section
        for family in declared("explained", Explained).values()
        if family.takes(explainer.case) and region.measure in (None, family.measure)
        for section in family.sections(explainer, region.index)
    ]


def _show(
    explainer: Explainer,
    explanations: list[Explanation],
    session: Session,
    call: ExplainCall,
    out: Output,
    first: _First,
) -> None:
    """Print the explanations of a case, in the format that was asked for; one alone if that is no document.

    What stands on the first screen alone is gathered in `first`.
    """
    if call.shown.form not in DOCUMENTS:
        _write(explanations[0], explainer, session, call, out)
        return
    parts = _taken_apart(explainer, call.region)
    if call.shown.first_alone:
        first.explained += [(one, parts) for one in explanations]
        first.regions += explainer.check()
        return
    for one in explanations:
        parts += explain_report.sections(one, session.rules, call.shown.functions, call.shown.path)
    out.show([*parts, explain_report.check_section(explainer.check())], call.shown.form)


def _write(one: Explanation, explainer: Explainer, session: Session, call: ExplainCall, out: Output) -> None:
    match call.shown.form:
        case "json":
            out.text(explain_report.dump(explain_report.to_json(one, session.rules)))
        case "folded":
            out.text(stacks.folded(one.stacks))
        case "speedscope":
            out.text(exports.speedscope(one.stacks, one.title))
        case "callgrind":
            # With --inline what was put into a function is a function of its own.
            sample = explainer.sample(one.measure, one.place, one.index)
            lines = {} if call.following.inline else source_lines(explainer, sample)
            out.text(exports.callgrind(one.stacks, one.title, lines))
        case "chrome":
            out.text(exports.chrome_trace(explain_report.slices(one.path.steps), one.title))
        case "flame":
            out.text(flame_graph.flame_graph(one.stacks, one.title, Inferno(session.note)))


def _print_why(explainer: Explainer, function: str, console: Console) -> None:
    found = explainer.owners(function)
    if not found:
        raise WorldwiseError(f"{explainer.case.id} executes no function {function}", "names are those of the tables")
    for image, source, rule in found:
        console.print(f"{function} ({image}{', ' + source if source else ''})")
        if rule:
            reason = rule.reason(image, source, function)
            console.print(f"  {rule.layer}: the rule on line {rule.line} of layers.toml, by {reason}")
        else:
            console.print("  no rule of layers.toml takes it")
        if explainer.rules.is_helper(function):
            console.print("  a helper: shown as itself, and once more folded into its callers")
