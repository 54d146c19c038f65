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
from worldwise.base.units import parse_frequency
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
from worldwise.explain import stacks
from worldwise.explain.explanation import Explanation
from worldwise.explain.family import Explained
from worldwise.explain.layers import Rules, load_rules
from worldwise.explain.owners import Explainer
from worldwise.plan.case import Case, parse_case
from worldwise.plan.suggest import cases_of, named_operation
from worldwise.plan.suite_file.tables import MAX_SAMPLES, MAX_WARMUP
from worldwise.predict import cores as known
from worldwise.report.drawing import flame_graph
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.formats import exports
from worldwise.report.predictions import CLOCK
from worldwise.run.folder.rundir import NoRunError, Run, open_run
from worldwise.run.traces.slowdown import measure_slowdown

_FORMATS = ("table", "markdown", "json", "folded", "speedscope", "callgrind", "chrome", "flame")
_DIFFERENCE_FORMATS = ("table", "markdown", "json", "flame")
# These formats show any number of regions.
_DOCUMENTS = ("table", "markdown")
# These show times of stretches.
_TIMED = (*_DOCUMENTS, "json")
_DOCUMENTS_WORDS = " and ".join(_DOCUMENTS)
_MORE = "All tables: the same command with --full."
# Functions of a table, unless --top says.
_TOP = 15
# Instructions between two comparisons with the stack in memory.
_WITNESS = 10_000
# The most cases that are suggested to somebody who typed only an operation.
_MOST_CASES = 4


@dataclass(frozen=True)
class _Call:
    """What was typed: a field for each parameter of the command, by its name there."""

    what: str
    wanted: tuple[str, ...]
    directories: tuple[Path, ...]
    diff: str | None
    measure: str | None
    place: str | None
    index: int | None
    samples: int
    warmup: int
    top: int | None
    full: bool
    path: bool
    inline: bool
    annotate: str | None
    instructions: bool
    sources: tuple[Path, ...]
    why: str | None
    witness: bool
    slow_down: bool
    vary: str | None
    cores: tuple[str, ...]
    clock: str | None
    form: str
    output: Path | None
    fresh: bool
    runs: Path

    @property
    def functions(self) -> int:
        """The most functions of a table."""
        return self.top or _TOP

    @property
    def first_alone(self) -> bool:
        """Whether to print the first screen alone: what asks for more than it has prints all."""
        more = (self.full, self.top, self.path, self.witness, self.output)
        return self.form == "table" and not any(more)


@dataclass
class _First:
    """What stands on the first screen: explanations, each with what families say of its call, or pairs of them."""

    explained: list[tuple[Explanation, Sequence[Section]]] = field(default_factory=list)
    regions: int = 0
    pairs: list[tuple[Explanation, Explanation]] = field(default_factory=list)

    def show(self, call: _Call, rules: Rules, out: Output) -> None:
        """Print it, if anything was gathered."""
        if self.explained:
            shown = explain_report.first_sections(self.explained, rules, self.regions, call.functions, _MORE)
            out.show(shown, call.form)
        elif self.pairs:
            out.show(explain_report.first_differences(self.pairs, rules, call.functions, _MORE), call.form)


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
    help="Of a CASE: say whether its instructions and accesses depend on its key, message or nonce (key,message).",
)
@click.option(
    "--core",
    "cores",
    multiple=True,
    metavar="NAME[,NAME]",
    help="Predict on this core how long the longest stretches with interrupts masked take.",
)
@click.option("--clock", metavar="CLOCK", help="With --core: the clock of the times.  [default: 1.5GHz]")
@format_option(_FORMATS)
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
    call = _Call(**typed)
    if call.output:
        check_output(call.output)
    if call.vary:
        others = (
            call.diff,
            call.wanted,
            call.measure,
            call.place,
            call.why,
            call.path,
            call.inline,
            call.witness,
            call.cores,
        )
        if any(others) or call.index is not None:
            raise click.UsageError(
                "--vary takes a CASE, and of the options only --implementation, --top, --slow-down, --format, --output"
            )
        more = _MORE if call.first_alone else ""
        show_dependence(
            call.what, call.vary, call.directories, call.functions, call.slow_down, call.form, call.output, more
        )
        return 0
    if call.annotate and (call.diff or call.why or call.slow_down or call.form not in _DOCUMENTS):
        raise click.UsageError(f"--annotate excludes --diff, --why and --slow-down; its formats: {_DOCUMENTS_WORDS}")
    if (call.instructions or call.sources) and not call.annotate:
        raise click.UsageError("--instructions and --source are for --annotate")
    if call.clock and not call.cores:
        raise click.UsageError("--clock is for --core")
    if call.cores and (call.diff or call.why or call.annotate or call.slow_down or call.form not in _TIMED):
        raise click.UsageError(
            f"--core excludes --diff, --why, --annotate and --slow-down; its formats: {', '.join(_TIMED)}"
        )
    tables = known.tables(call.cores) if call.cores else {}
    clock = parse_frequency(call.clock) if call.clock else CLOCK
    rules = load_rules()
    # Every error in the call is reported before anything runs.
    if call.diff and call.form not in _DIFFERENCE_FORMATS:
        raise click.UsageError(f"--diff can be printed as {' or '.join(_DIFFERENCE_FORMATS)}, not as {call.form}")
    if call.diff and not _is_case(call.what):
        _explain_between(call, call.diff, rules)
        return 0
    cases = _asked(call)
    before = parse_case(call.diff, call.samples, call.warmup) if call.diff else None
    if not (call.why or call.slow_down):
        _check_regions([case for case, _ in cases], before, call)
    for case, _ in cases if tables else ():
        require_stretches(case, tables)
    session = Session(rules, call.fresh, call.inline, _WITNESS if call.witness else 0)
    if call.slow_down:
        _print_slowdown(session, cases[0][0])
        return 0
    first = _First()
    with Output(call.output) as out:
        for case, run in cases:
            explainer = session.explainer(case, run)
            if call.why:
                _print_why(explainer, call.why, out.console)
                continue
            if call.annotate:
                for name, places in measures_of(case, call.measure).items():
                    sample = explainer.sample(name, call.place or outermost(places), call.index)
                    how = call.annotate, call.sources, call.instructions
                    out.show(annotated(explainer, session, sample, *how), call.form)
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


def _explain_between(call: _Call, newer: str, rules: Rules) -> None:
    """Print what changed between two runs. Raises WorldwiseError."""
    if call.why or call.slow_down or call.witness or call.path:
        raise click.UsageError("--diff of two runs excludes --why, --slow-down, --witness and --path")
    old = _open_run(call.what, call.runs)
    if _is_case(newer):
        raise click.UsageError(f"--diff of a RUN takes a RUN, the newer one: `worldwise explain {old.id} --diff RUN`")
    new = _open_run(newer, call.runs)
    cases = cases_between(old, new, call.wanted)
    regions = [name for case in cases for name in measures_of(case, call.measure)]
    if call.form not in _DOCUMENTS and len(regions) > 1:
        raise click.UsageError(f"--format {call.form} takes one region: choose with --case and --measure")
    keep_folders(call.directories, (old, new))
    session = Session(rules, call.fresh, call.inline)
    first = _First()
    with Output(call.output) as out:
        for before, after in differences(
            session, old, new, cases, call.measure, lambda name, place: (name, call.place or place, call.index)
        ):
            _show_difference(before, after, session, call, out, first)
        first.show(call, rules, out)


def _asked(call: _Call) -> list[tuple[Case, Run | None]]:
    """The cases to explain: the one that was named, or those of a run, each with the run. Raises WorldwiseError."""
    if _is_case(call.what):
        return [(parse_case(call.what, call.samples, call.warmup), None)]
    if call.slow_down:
        raise click.UsageError("--slow-down takes a CASE")
    reference = _open_run(call.what, call.runs)
    with_own(reference, call.directories)
    return cases_of_run(reference, call.wanted)


def _check_regions(cases: Sequence[Case], before: Case | None, call: _Call) -> None:
    """Raise WorldwiseError if a case lacks the measure, click.UsageError if the format shows fewer regions."""
    regions = [name for case in cases for name in measures_of(case, call.measure)]
    if before:
        measures_of(before, call.measure)
    elif call.form not in _DOCUMENTS and max(len(cases), len(regions)) > 1:
        raise click.UsageError(f"--format {call.form} takes one region: choose with --measure, of a run with --case")


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


def _explanations(explainer: Explainer, call: _Call) -> list[Explanation]:
    return [
        explainer.explain(explainer.sample(name, call.place or outermost(places), call.index))
        for name, places in measures_of(explainer.case, call.measure).items()
    ]


def _taken_apart(explainer: Explainer, measure: str | None, index: int | None) -> list[Section]:
    """The families' sections on the parts of a call."""
    return [
        section
        for family in declared("explained", Explained).values()
        if family.takes(explainer.case) and measure in (None, family.measure)
        for section in family.sections(explainer, index)
    ]


def _show(
    explainer: Explainer, explanations: list[Explanation], session: Session, call: _Call, out: Output, first: _First
) -> None:
    """Print the explanations of a case, in the format that was asked for; one alone if that is no document.

    What stands on the first screen alone is gathered in `first`.
    """
    if call.form not in _DOCUMENTS:
        _write(explanations[0], explainer, session, call, out)
        return
    parts = _taken_apart(explainer, call.measure, call.index)
    if call.first_alone:
        first.explained += [(one, parts) for one in explanations]
        first.regions += explainer.check()
        return
    for one in explanations:
        parts += explain_report.sections(one, session.rules, call.functions, call.path)
    agreement = explainer.agreement() if call.witness else None
    out.show([*parts, explain_report.check_section(explainer.check(), agreement)], call.form)


def _write(one: Explanation, explainer: Explainer, session: Session, call: _Call, out: Output) -> None:
    match call.form:
        case "json":
            out.text(explain_report.dump(explain_report.to_json(one, session.rules)))
        case "folded":
            out.text(stacks.folded(one.stacks))
        case "speedscope":
            out.text(exports.speedscope(one.stacks, one.title))
        case "callgrind":
            # With --inline what was put into a function is a function of its own.
            lines = {} if call.inline else source_lines(explainer, explainer.sample(one.measure, one.place, one.index))
            out.text(exports.callgrind(one.stacks, one.title, lines))
        case "chrome":
            out.text(exports.chrome_trace(explain_report.slices(one.steps), one.title))
        case "flame":
            out.text(flame_graph.flame_graph(one.stacks, one.title, flame_graph.Renderer(session.note)))


def _show_difference(
    before: list[Explanation], after: list[Explanation], session: Session, call: _Call, out: Output, first: _First
) -> None:
    pairs = _pairs(before, after)
    if call.first_alone:
        first.pairs += pairs
        return
    if call.form not in _DOCUMENTS and len(pairs) > 1:
        raise click.UsageError(f"--format {call.form} takes one region: choose with --measure")
    for one, other in pairs:
        match call.form:
            case "table" | "markdown":
                out.show(explain_report.difference_sections(one, other, session.rules, call.functions), call.form)
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
