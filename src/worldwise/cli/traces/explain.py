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
from worldwise.base.output import safe_text
from worldwise.base.tables import Section
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import (
    check_output,
    format_option,
    locked_option,
    number_option,
    output_option,
    runs_option,
)
from worldwise.cli.traces.annotated_source import annotated, source_lines
from worldwise.cli.traces.dependence import show_dependence
from worldwise.cli.traces.explained_difference import cases_between, differences, keep_folders
from worldwise.cli.traces.masked_times import require_stretches, with_times
from worldwise.cli.traces.plugin_runs import Output, Session, cases_of_run, measures_of, outermost, with_own
from worldwise.cli.traces.typed_calls import DOCUMENTS, EXPLAIN_FORMATS, ExplainCall, ExplainedRegion
from worldwise.explain import stacks
from worldwise.explain.explanation import Explained, Explanation
from worldwise.explain.layers import Rules, load_rules
from worldwise.explain.owners import Explainer
from worldwise.plan.case import Case
from worldwise.plan.suite import cases_of, named_operation
from worldwise.plan.suite_file.tables import MAX_SAMPLES, MAX_WARMUP
from worldwise.records.models import Sample
from worldwise.report.drawing import flame_graph
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.formats import exports
from worldwise.run.folder.rundir import NoRunError, Run, open_run
from worldwise.run.traces.slowdown import measure_slowdown

_MORE = "All tables: the same command with --full."
# The most cases that are suggested to somebody who typed only an operation.
_MOST_CASES = 4


@dataclass
class _First:
    """What stands on the first screen: explanations, each with what families say of its call, or pairs of them."""

    explained: list[tuple[Explanation, Sequence[Section]]] = field(default_factory=list)
    regions: int = 0
    pairs: list[tuple[Explanation, Explanation]] = field(default_factory=list)

    def show(self, call: ExplainCall, rules: Rules, out: Output) -> None:
        """Print it, if anything was gathered."""
        if self.explained:
            shown = explain_report.first_sections(self.explained, rules, self.regions, call.shown.functions, _MORE)
            out.show(shown, call.shown.form)
        elif self.pairs:
            out.show(explain_report.first_differences(self.pairs, rules, call.shown.functions, _MORE), call.shown.form)


# What most calls do without, as `--help-all` lists it: heading -> parameters.
_RARE = {
    "Look closer": ("index", "path", "inline", "annotate", "instructions", "sources", "why"),
    "Whether a secret decides": ("vary",),
    "Times of masked interrupts": ("cores", "clock"),
    "Check the tool": ("witness", "slow_down"),
    "Also": ("samples", "warmup", "fresh", "runs", "locked"),
}


@click.command(cls=Command, rare=_RARE)
@click.argument("what", metavar="CASE|RUN", default="latest")
@click.option(
    "--case", "wanted", multiple=True, metavar="PATTERN", help="Explain only the cases of the run that match."
)
@click.option(
    "--implementation",
    "directories",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder of a library of your own that the RUN measured.",
)
@click.option(
    "--diff",
    metavar="CASE|RUN",
    help="Show what changed from this CASE to the first one, or from the first RUN to this one.",
)
@click.option("--measure", metavar="NAME", help="Only this measure, such as sign.  [default: all]")
@click.option("--place", metavar="NAME", help="Where it is measured: ta, client, linux, mcu.  [default: the outermost]")
@click.option("--index", type=click.IntRange(0), metavar="N", help="Explain this sample.  [default: the median one]")
@number_option("--samples", click.IntRange(1, MAX_SAMPLES), 3, "Samples of a CASE.")
@number_option("--warmup", click.IntRange(0, MAX_WARMUP), 1, "Warm-up calls of a CASE.")
@click.option("--full", is_flag=True, help="Print all tables, not the first screen alone.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Functions shown, of all tables; else 15.")
@click.option("--path", is_flag=True, help="List the call's way through the exception levels.")
@click.option("--inline", is_flag=True, help="Show functions that the compiler put into others, where DWARF has them.")
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
    "--witness",
    is_flag=True,
    help="Compare stacks with those in memory; on boards the deepest with the lowest store.",
)
@click.option("--slow-down", is_flag=True, help="Time the plugin's modes against no plugin, in pairs, and stop.")
@click.option(
    "--vary",
    metavar="INPUTS",
    help="Of a CASE: say whether what is executed and accessed depends on its key, message or nonce (key,message).",
)
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
@click.option("--fresh", is_flag=True, help="Run it again, even if the cache keeps an equal trace.")
@locked_option
@runs_option
def explain(**typed: Any) -> int:
    """Say which layer and function executes each instruction of a case, or of a run's cases.

    \b
      worldwise explain optee/mbedtls-nist-O2/attestdiv
      worldwise explain optee/mbedtls-nist-O2/attestdiv --diff optee/mbedtls-O2/attestdiv
      worldwise explain OLD_RUN --diff NEW_RUN --case optee/mbedtls-O2/attestdiv --measure sign
      worldwise explain optee/mbedtls-nist-O2/attestdiv --measure sign --format flame --output a.svg
      worldwise explain latest --case 'optee/*/hello'

    \f
    CASE is a target, a variant and an operation, such as optee/mbedtls-nist-O2/attestdiv; RUN is a run, whose cases
    are run once more under the plugin and must give the same records to the byte. The sum of the layers is the
    difference of the guest's own counter, which is checked for every region. The tables also say what each function
    loads, stores and multiplies, and on boards which calls make the deepest stack.

    Of a CASE, --diff names the case before it. Of a RUN it names the run after it, as `compare` does: the same cases of
    both runs are explained.

    --format markdown is the tables as a document; flame makes an SVG, with --diff a differential one; folded,
    speedscope, callgrind and chrome are for other tools.

    --vary calls an operation with chosen inputs, on a board, in plain Linux or in a TA, and shows where the calls part.

    \b
      worldwise explain nucleo-f446re/bearssl-O2/sign,curve=secp256r1,size=32B --vary key
      worldwise explain mps2-an386/p256-m-Os/sign,curve=secp256r1,size=32B
    """
    call = ExplainCall.taken(typed)
    shown, instead = call.shown, call.instead
    if shown.output:
        check_output(shown.output)
    call.check()
    if instead.vary:
        show_dependence(call, instead.vary, _MORE if call.first_alone else "")
        return 0
    tables, clock = call.times.tables(), call.times.hertz()
    rules = load_rules()
    # Every error in the call is reported before anything runs.
    call.check_difference_format()
    if instead.diff and not _is_case(call.named.what):
        _explain_between(call, instead.diff, rules)
        return 0
    cases = _asked(call)
    before = call.named.case(instead.diff) if instead.diff else None
    if not (instead.why or instead.slow_down):
        _check_regions([case for case, _ in cases], before, call)
    for case, _ in cases if tables else ():
        require_stretches(case, tables)
    session = call.following.session(rules)
    if instead.slow_down:
        _print_slowdown(session, cases[0][0])
        return 0
    first = _First()
    with Output(shown.output) as out:
        for case, run in cases:
            explainer = session.explainer(case, run)
            if instead.why:
                _print_why(explainer, instead.why, out.console)
                continue
            if call.source.annotate:
                for sample in _samples(explainer, call.region):
                    out.show(annotated(explainer, session, sample, call.source), shown.form)
                continue
            explanations = _explanations(explainer, call)
            if tables:
                explanations = with_times(explanations, session, case, run, tables, clock)
            if before:
                earlier = _explanations(session.explainer(before, None), call)
                _show_difference(earlier, explanations, session, call, out, first)
                continue
            _show(explainer, explanations, session, call, out, first)
        first.show(call, rules, out)
    return 0


def _is_case(what: str) -> bool:
    return "/" in what and not Path(what).is_dir()


def _explain_between(call: ExplainCall, newer: str, rules: Rules) -> None:
    """Print what changed between two runs. Raises WorldwiseError."""
    named, region, shown = call.named, call.region, call.shown
    if call.instead.why or call.instead.slow_down or call.following.witness or shown.path:
        raise click.UsageError("--diff of two runs takes none of --why, --slow-down, --witness, --path")
    old = _open_run(named.what, named.runs)
    if _is_case(newer):
        raise click.UsageError(f"--diff of a RUN takes a RUN, the newer one: `worldwise explain {old.id} --diff RUN`")
    new = _open_run(newer, named.runs)
    cases = cases_between(old, new, named.wanted)
    regions = [name for case in cases for name in measures_of(case, region.measure)]
    if shown.form not in DOCUMENTS and len(regions) > 1:
        raise click.UsageError(f"--format {shown.form} takes one region: choose with --case and --measure")
    keep_folders(named.directories, (old, new))
    session = call.following.session(rules)
    first = _First()
    with Output(shown.output) as out:
        for before, after in differences(
            session, old, new, cases, region.measure, lambda name, place: (name, region.place or place, region.index)
        ):
            _show_difference(before, after, session, call, out, first)
        first.show(call, rules, out)


def _asked(call: ExplainCall) -> list[tuple[Case, Run | None]]:
    """The cases to explain: the one that was named, or those of a run, each with the run. Raises WorldwiseError."""
    named = call.named
    if _is_case(named.what):
        return [(named.case(named.what), None)]
    if call.instead.slow_down:
        raise click.UsageError("--slow-down takes a CASE")
    reference = _open_run(named.what, named.runs)
    with_own(reference, named.directories)
    return cases_of_run(reference, named.wanted)


def _check_regions(cases: Sequence[Case], before: Case | None, call: ExplainCall) -> None:
    """Raise WorldwiseError if a case lacks the measure, click.UsageError if the format shows fewer regions."""
    regions = [name for case in cases for name in measures_of(case, call.region.measure)]
    if before:
        measures_of(before, call.region.measure)
    elif call.shown.form not in DOCUMENTS and max(len(cases), len(regions)) > 1:
        raise click.UsageError(
            f"--format {call.shown.form} takes one region: choose with --measure, of a run with --case"
        )


def _open_run(what: str, runs: Path) -> Run:
    """The run of that name. If there is none, the error says how to name a case, and which cases have the operation."""
    try:
        return open_run(what, runs)
    except NoRunError as error:
        operation = named_operation(what)
        cases = cases_of(operation) if operation else []
        if not cases:
            raise WorldwiseError(error.message, f"{error.hint}; or a case: TARGET/VARIANT/OPERATION") from error
        meant = "" if what == operation else f"Did you mean '{operation}'? "
        more = f" and {len(cases) - _MOST_CASES} more in the suites" if len(cases) > _MOST_CASES else ""
        listed = f"Of {operation} there are {', '.join(cases[:_MOST_CASES])}{more}"
        raise WorldwiseError(
            error.message, f"say a run, or a case: TARGET/VARIANT/OPERATION. {meant}{listed}"
        ) from error


def _samples(explainer: Explainer, region: ExplainedRegion) -> list[Sample]:
    """One of each measure that is asked for."""
    return [
        explainer.sample(name, region.place or outermost(places), region.index)
        for name, places in measures_of(explainer.case, region.measure).items()
    ]


def _explanations(explainer: Explainer, call: ExplainCall) -> list[Explanation]:
    return [explainer.explain(sample) for sample in _samples(explainer, call.region)]


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
    if call.first_alone:
        first.explained += [(one, parts) for one in explanations]
        first.regions += explainer.check()
        return
    for one in explanations:
        parts += explain_report.sections(one, session.rules, call.shown.functions, call.shown.path)
    agreement = explainer.agreement() if call.following.witness else None
    out.show([*parts, explain_report.check_section(explainer.check(), agreement)], call.shown.form)


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
            out.text(flame_graph.flame_graph(one.stacks, one.title, flame_graph.Renderer(session.note)))


def _show_difference(
    before: list[Explanation], after: list[Explanation], session: Session, call: ExplainCall, out: Output, first: _First
) -> None:
    pairs = _pairs(before, after)
    if call.first_alone:
        first.pairs += pairs
        return
    if call.shown.form not in DOCUMENTS and len(pairs) > 1:
        raise click.UsageError(f"--format {call.shown.form} takes one region: choose with --measure")
    for one, other in pairs:
        match call.shown.form:
            case "table" | "markdown":
                sections = explain_report.difference_sections(one, other, session.rules, call.shown.functions)
                out.show(sections, call.shown.form)
            case "json":
                out.text(explain_report.dump(explain_report.difference_json(one, other, session.rules)))
            case "flame":
                title = f"{one.title} -> {other.title}"
                out.text(flame_graph.differential(one.stacks, other.stacks, title, flame_graph.Renderer(session.note)))


def _pairs(before: list[Explanation], after: list[Explanation]) -> list[tuple[Explanation, Explanation]]:
    by_measure = {one.measure: one for one in before}
    pairs = [(by_measure[one.measure], one) for one in after if one.measure in by_measure]
    if not pairs:
        raise WorldwiseError(
            f"{before[0].case.id} and {after[0].case.id} have no measure in common",
            "choose two cases of one operation",
        )
    return pairs


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


def _print_slowdown(session: Session, case: Case) -> None:
    result = measure_slowdown(session.watcher, case)
    console = safe_text.console(highlight=False)
    for mode in ("count", "stack"):
        ratios = ", ".join(f"{ratio:.2f}" for ratio in result.ratios(mode))
        console.print(f"{mode}: {result.ratio(mode):.2f} times the wall time without the plugin (pairs: {ratios})")
