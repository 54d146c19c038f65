# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise predict`: cycles on a named core, each with its error or its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from worldwise.base.errors import WorldwiseError
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
    wanted_budget,
)
from worldwise.cli.common.process import EXIT_EXCEEDED
from worldwise.cli.traces.further_predictions import Of, other_draws, require_draws
from worldwise.cli.traces.masked_times import explained
from worldwise.cli.traces.plugin_runs import Output, Session, cases_of_run, measures_of, outermost, with_own
from worldwise.cli.traces.typed_calls import (
    PREDICT_FORMATS,
    NamedCases,
    PredictCall,
    PredictedRegion,
    implementation_option,
)
from worldwise.explain.layers import Rules, load_rules
from worldwise.explain.owners import Explainer
from worldwise.libraries.own_library import own_libraries
from worldwise.plan.budget import Budget, check_budget
from worldwise.plan.case import Case
from worldwise.plan.inputs import MOST_SEEDS
from worldwise.plan.spec import OWN, REGION_MEASURE, REGION_PLACE
from worldwise.plan.suite import load_suite
from worldwise.plan.suite_file.tables import MAX_SAMPLES, MAX_WARMUP
from worldwise.predict import cores as known
from worldwise.predict.attribution import Attributed, Attribution
from worldwise.predict.bounds import estimates
from worldwise.predict.errors import ErrorLines, load_errors
from worldwise.predict.verdict import FITS, judged, overall
from worldwise.records.model_predictions import PredictedCase
from worldwise.report import predict_screen
from worldwise.report import predictions as reports
from worldwise.report.drawing import flame_graph
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.explaining import masked_interrupts
from worldwise.report.formats import predicted_data
from worldwise.report.predictions import PredictionLine
from worldwise.run.folder.rundir import NoRunError, Run, open_run
from worldwise.run.traces.flame_renderer import Inferno

# As a board's file may have.
MOST_WAITS = 15


@dataclass
class _Seen:
    """What was predicted: the lines of all cases; of the last case, what details are made from."""

    lines: list[PredictionLine] = field(default_factory=list)
    attribution: Attribution | None = None


# What most calls do without, as `--help-all` lists it: heading -> parameters.
_RARE = {
    "How it is predicted": (
        "code_in",
        "wait_states",
        "flash",
        "store_waits",
        "samples",
        "warmup",
        "seeds",
        "whole",
        "fresh",
    ),
    "Also": ("directories", "top", "runs", "locked"),
}


@click.command(cls=Command, rare=_RARE)
@click.argument("what", metavar="CASE|RUN|SUITE", default="latest")
@click.option(
    "--core",
    "cores",
    multiple=True,
    required=True,
    metavar="NAME[,NAME]",
    help="The core, such as cortex-a72 or A72; several run in one pass.",
)
@click.option(
    "--clock",
    metavar="CLOCK",
    help="The clock of the times.  [default: the budget's, the board's, 1.5GHz; firmware 100MHz]",
)
@click.option(
    "--budget",
    metavar="TIME@CLOCK",
    help="Judge signing, from the client, or the measure of --measure and --place, by the interval of its cycles.",
)
@click.option("--case", "wanted", multiple=True, metavar="PATTERN", help="Only the cases of a run or suite that match.")
@click.option("--measure", metavar="NAME", help="Only this measure, such as sign.  [default: all]")
@click.option("--place", metavar="NAME", help="Only where it is measured: ta, client, linux.  [default: all]")
@implementation_option("The folder of a library of your own: a CASE's; a RUN's if the cache no longer has its copy.")
@click.option(
    "--memory",
    "code_in",
    type=click.Choice(known.MEMORIES),
    help="Where a board's code and constants are; RAM never waits.  [default: flash]",
)
@click.option(
    "--wait-states",
    type=click.IntRange(0, MOST_WAITS),
    metavar="N",
    help="Wait states of a board's flash.  [default: the board's at its clock]",
)
@click.option(
    "--flash",
    metavar="BOARD|none",
    help="Take that board's flash and what stands before it; none: a flash that never waits.",
)
@number_option(
    "--store-waits",
    click.IntRange(0, MOST_WAITS),
    0,
    "Cycles that each stored word waits on a Cortex-M0 to M33: a write buffer that is off, or slow RAM.",
)
@click.option("--full", is_flag=True, help="Print all tables: cycles, causes, layers and functions.")
@number_option("--samples", click.IntRange(1, MAX_SAMPLES), 3, "Warm calls.")
@number_option("--warmup", click.IntRange(0, MAX_WARMUP), 0, "Warm-up calls of a CASE.")
@number_option("--top", click.IntRange(1), 15, "Functions shown.")
@number_option(
    "--seeds",
    click.IntRange(1, MOST_SEEDS),
    1,
    "Predict N draws of keys, messages and nonces, and print least to most.",
)
@format_option(PREDICT_FORMATS)
@output_option
@click.option("--whole", is_flag=True, help="Run long calls through the model whole, without sampling.")
@click.option("--fresh", is_flag=True, help="Run it again, even if the cache keeps an equal trace.")
@locked_option
@runs_option
def predict(**typed: Any) -> int:
    """Predict the cycles of a case on a core, and say how far predictions of that core are off.

    \b
      worldwise predict optee/mbedtls-nist-O2/attestdiv --core cortex-a72,cortex-a53
      worldwise predict optee/mbedtls-nist-O2/attestdiv --core cortex-a72 --budget 5ms@1.5GHz
      worldwise predict latest --core cortex-a72 --format csv --output cycles.csv

    \f
    CASE is a target, a variant and an operation, such as optee/mbedtls-nist-O2/attestdiv; RUN is a run, whose cases are
    run once more and must give the same records; SUITE is a name of `worldwise suites`. The model of the core runs
    through the exact trace, once with empty caches (first call), then warm. Code that no published figure validates,
    such as the kernel, has a bound below and above. A run may be of your own program, TA or firmware.

    --format flame is the flame graph in cycles: choose one region with --measure and --core.

    Exit status: 0 all is well; 1 it could not be predicted; 3 the budget is not met, or the verdict is undecided.
    """
    call = PredictCall.taken(typed)
    model, shown = call.model, call.shown
    if shown.output:
        check_output(shown.output)
    budget = _budget(call)
    clock = parse_frequency(model.clock) if model.clock else budget.clock if budget else None
    # Every error in the call is reported before anything runs.
    tables = known.tables(model.cores)
    cases = _asked(call, tables)
    if budget:
        budget = budget_of_own_code(budget, call.region, [case for case, _ in cases])
        check_budget(budget, [case for case, _ in cases])
    _check(call, cases, tables)
    rules, errors = load_rules(), load_errors()
    session = Session(rules, model.fresh)
    seen = _Seen()
    for case, run in cases:
        wanted = known.with_memory(case, tables) if len(cases) == 1 else known.cores_of(case, tables)
        if memory := known.memory_of(case, call.memory.named()):
            wanted = known.with_memory(case, wanted, memory)
        if len(cases) == 1 and shown.functions:
            modelled = session.modelled(case, run, wanted, model.whole)
            seen.attribution = modelled.attribution
            found = {core: modelled.predicted(core) for core in wanted}
        else:
            # Nobody asks for functions: what the models said is enough.
            found = dict(session.predicted(case, run, wanted, model.whole))
        lines = _lines(case, found, errors, call, clock)
        if model.seeds > 1:
            others = other_draws(session, case, wanted, model.seeds, model.whole, errors)
            lines = [replace(line, others=others.get(_of(line), ())) for line in lines]
        seen.lines += lines
    with Output(shown.output) as out:
        _show(seen, cases, rules, session, call, budget, out)
    if budget is None:
        return 0
    verdicts = judged((line.estimate for line in seen.lines), budget)
    return 0 if overall(verdicts) == FITS else EXIT_EXCEEDED


def _budget(call: PredictCall) -> Budget | None:
    """The budget that was typed, for the measure and place that are asked for. Raises WorldwiseError."""
    found = wanted_budget(call.model.budget)
    region = call.region
    if found and region.measure:
        found = replace(found, measures=(region.measure,))
    return replace(found, place=region.place) if found and region.place else found


def budget_of_own_code(budget: Budget, region: PredictedRegion, cases: Sequence[Case]) -> Budget:
    """The budget of a user's own code: it has one measure at one place, which nobody has to name."""
    if any(case.target != OWN for case in cases):
        return budget
    return replace(budget, measures=(region.measure or REGION_MEASURE,), place=region.place or REGION_PLACE)


def _asked(call: PredictCall, tables: Mapping[str, str]) -> list[tuple[Case, Run | None]]:
    """The cases to predict, those of a run with the run. Raises WorldwiseError."""
    named = call.named
    if "/" in named.what and not Path(named.what).exists():
        if named.directories:
            click.get_current_context().call_on_close(own_libraries.forget)
            own_libraries.announce(own_libraries.bring(named.directories), lambda text: safe_text.echo(text, err=True))
        return [(named.case(named.what), None)]
    try:
        run = open_run(named.what, named.runs)
        found = cases_of_run(run, named.wanted)
        with_own(run, named.directories)
    except NoRunError as error:
        try:
            suite = load_suite(named.what)
        except WorldwiseError:
            hint = f"{error.hint}; or a case, TARGET/VARIANT/OPERATION; or a suite of `worldwise suites`"
            raise WorldwiseError(error.message, hint) from error
        found = [(_short(case, named), None) for case in suite.cases if _matches(case, named.wanted)]
        if not found:
            raise WorldwiseError(f"suite {named.what} has no case that matches {' or '.join(named.wanted)}") from None
    if len(found) == 1:
        return found
    # A suite has cases of several machines; those that can be predicted are.
    chosen = [one for one in found if known.cores_of(one[0], tables) and _has(one[0], call.region.measure)]
    return chosen or found[:1]


def _short(case: Case, named: NamedCases) -> Case:
    return Case(
        case.target,
        case.implementation,
        case.optimisation,
        case.operation,
        named.samples,
        named.warmup,
        case.parameters,
    )


def _matches(case: Case, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(case.id, pattern) for pattern in patterns)


def _has(case: Case, measure: str | None) -> bool:
    return measure is None or measure in case.measures


def _check(call: PredictCall, cases: Sequence[tuple[Case, Run | None]], tables: Mapping[str, str]) -> None:
    """Raise WorldwiseError if a case cannot be predicted, click.UsageError if the format shows one graph alone."""
    if len(cases) == 1:
        known.check(cases[0][0], tables)
    if call.model.seeds > 1:
        for case, _ in cases:
            require_draws(case)
    if memory := call.memory.named():
        for case, _ in cases:
            if not known.is_micro(case):
                raise WorldwiseError(
                    f"{case.id}: --memory, --wait-states, --flash and --store-waits need a case of a board",
                    "choose a board's cases: --case 'nucleo-f446re/*'",
                )
            memory.of(case.target)
    regions = [name for case, _ in cases for name in measures_of(case, call.region.measure)]
    if call.shown.form == "flame" and max(len(cases), len(regions), len(tables)) > 1:
        raise click.UsageError("--format flame takes one region on one core: choose with --measure, --case and --core")


def _lines(
    case: Case, found: Mapping[str, PredictedCase], errors: ErrorLines, call: PredictCall, clock: Fraction | None
) -> list[PredictionLine]:
    memory, region = known.memory_of(case, call.memory.named()), call.region
    waits = memory.waits_of(case.target) if memory else None
    if memory and clock is None and not case.board:
        clock = memory.clock(case.target)
    return [
        PredictionLine(case, one, clock=clock, flash=memory.words(case.target) if memory else "")
        for core, predicted in found.items()
        for one in estimates(predicted, core, errors, waits)
        if region.measure in (None, one.sample.measure) and region.place in (None, one.sample.place)
    ]


def _of(line: PredictionLine) -> Of:
    one = line.estimate
    return one.core, one.sample.measure, one.sample.place, one.state


def _show(
    seen: _Seen,
    cases: Sequence[tuple[Case, Run | None]],
    rules: Rules,
    session: Session,
    call: PredictCall,
    budget: Budget | None,
    out: Output,
) -> None:
    if not seen.lines:
        raise WorldwiseError(
            f"nothing is measured at place '{call.region.place}'",
            "ta, client or linux; a region of your own code has no other place than region",
        )
    one = seen.attribution if len(cases) == 1 else None
    match call.shown.form:
        case "csv":
            out.text(predicted_data.to_csv(seen.lines, budget))
        case "json":
            out.text(explain_report.dump(_document(seen.lines, one, budget)))
        case "flame":
            if one is None:
                raise WorldwiseError(f"{cases[0][0].id}: the stacks of its program are not followed")
            line = next((line for line in _shown(seen.lines, call) if line.estimate.state == "warm"), seen.lines[-1])
            stacks = _attributed(one, line).in_cycles()
            out.text(flame_graph.flame_graph(stacks, reports.title(line), Inferno(session.note), "predicted cycles"))
        case "text" if not call.shown.full:
            screen = predict_screen.screen(seen.lines, budget, lambda line: bool(_shown([line], call)))
            out.show([*screen, *_over_draws(_shown(seen.lines, call), call)], "table")
        case _:
            sections = [reports.summary(seen.lines, budget), *_over_draws(seen.lines, call)]
            sections.append(reports.causes_section(seen.lines))
            if one:
                for line in _shown(seen.lines, call):
                    if line.estimate.state == "warm":
                        sections.append(reports.layer_section(line, rules.order))
                        sections.append(reports.function_section(line, _attributed(one, line), call.shown.top))
                        sections += _masked_sections(one, line)
            out.show(sections, "markdown" if call.shown.form == "markdown" else "table")


def _masked_sections(attribution: Attribution, line: PredictionLine) -> list[Section]:
    told = explained(attribution, line)
    return masked_interrupts.sections(told, told.masked) if told.masked else []


def _over_draws(lines: Sequence[PredictionLine], call: PredictCall) -> list[Section]:
    return [reports.draws_section(lines)] if call.model.seeds > 1 else []


def _shown(lines: Sequence[PredictionLine], call: PredictCall) -> list[PredictionLine]:
    """The lines whose details are shown: at the outermost place, unless one was asked for."""
    return [
        line
        for line in lines
        if call.region.place
        or line.estimate.sample.place == outermost(line.case.measures[line.estimate.sample.measure])
    ]


def _attributed(attribution: Attribution, line: PredictionLine) -> Attributed:
    wanted = line.estimate.sample
    explainer: Explainer = attribution.explainer
    series = explainer.records.samples[wanted.measure, wanted.place]
    return attribution.sample(next(one for one in series if one.index == wanted.index), line.estimate.core)


def _document(
    lines: Sequence[PredictionLine], attribution: Attribution | None, budget: Budget | None
) -> dict[str, Any]:
    predicted = []
    for line in lines:
        data = predicted_data.to_json(line, budget)
        if attribution:
            data["functions"] = predicted_data.functions_json(_attributed(attribution, line))
            if masked := explained(attribution, line).masked:
                data["masked"] = masked_interrupts.to_json(masked)
        predicted.append(data)
    document: dict[str, Any] = {"format": reports.FORMAT, "unit": "cycles", "predicted": predicted}
    if budget:
        document["budget"] = predicted_data.budget_json(lines, budget)
    return document
