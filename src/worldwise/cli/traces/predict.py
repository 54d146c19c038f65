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
from worldwise.cli.common.process_end import EXIT_EXCEEDED
from worldwise.cli.traces.masked_times import explained
from worldwise.cli.traces.other_draws import Of, other_draws, require_draws
from worldwise.cli.traces.plugin_runs import Output, Session, cases_of_run, measures_of, outermost, with_own
from worldwise.explain.layers import Rules, load_rules
from worldwise.explain.owners import Explainer
from worldwise.libraries.own_library import own_libraries
from worldwise.plan.budget import Budget, check_budget
from worldwise.plan.case import Case, parse_case
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

FORMATS = ("text", "markdown", "csv", "json", "flame")
# Formats that say which functions take the cycles, whatever is asked for.
_BY_FUNCTION = ("markdown", "json", "flame")
# As a board's file may have.
MOST_WAITS = 15


@dataclass(frozen=True)
class _Call:
    """What was typed: a field for each parameter of the command, by its name there."""

    what: str
    wanted: tuple[str, ...]
    directories: tuple[Path, ...]
    full: bool
    cores: tuple[str, ...]
    clock: str | None
    budget: str | None
    measure: str | None
    place: str | None
    samples: int
    warmup: int
    top: int
    form: str
    output: Path | None
    seeds: int
    whole: bool
    fresh: bool
    runs: Path
    wait_states: int | None
    flash: str | None
    store_waits: int
    code_in: str | None

    @property
    def memory(self) -> known.Flash | None:
        """The memory that was named in place of a board's flash at its clock."""
        if self.code_in == known.RAM:
            if self.flash is not None or self.wait_states is not None:
                raise click.UsageError(f"--memory {known.RAM} has neither --flash nor --wait-states: RAM never waits")
            return known.Flash(known.RAM, stores=self.store_waits)
        if self.flash is None and self.wait_states is None and self.code_in is None and not self.store_waits:
            return None
        return known.Flash(self.flash or "", self.wait_states, self.store_waits)


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
@click.option(
    "--implementation",
    "directories",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder of a library of your own: a CASE's; a RUN's if the cache no longer has its copy.",
)
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
@format_option(FORMATS)
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
    call = _Call(**typed)
    if call.output:
        check_output(call.output)
    budget = _budget(call)
    clock = parse_frequency(call.clock) if call.clock else budget.clock if budget else None
    # Every error in the call is reported before anything runs.
    tables = known.tables(call.cores)
    cases = _asked(call, tables)
    if budget:
        budget = budget_of_own_code(budget, call.measure, call.place, [case for case, _ in cases])
        check_budget(budget, [case for case, _ in cases])
    _check(call, cases, tables)
    rules, errors = load_rules(), load_errors()
    session = Session(rules, call.fresh)
    seen = _Seen()
    for case, run in cases:
        wanted = known.with_memory(case, tables) if len(cases) == 1 else known.cores_of(case, tables)
        if memory := known.memory_of(case, call.memory):
            wanted = known.with_memory(case, wanted, memory)
        if len(cases) == 1 and (call.full or call.form in _BY_FUNCTION):
            modelled = session.modelled(case, run, wanted, call.whole)
            seen.attribution = modelled.attribution
            found = {core: modelled.predicted(core) for core in wanted}
        else:
            # Nobody asks for functions: what the models said is enough.
            found = dict(session.predicted(case, run, wanted, call.whole))
        lines = _lines(case, found, errors, call, clock)
        if call.seeds > 1:
            others = other_draws(session, case, wanted, call.seeds, call.whole, errors)
            lines = [replace(line, others=others.get(_of(line), ())) for line in lines]
        seen.lines += lines
    with Output(call.output) as out:
        _show(seen, cases, rules, session, call, budget, out)
    if budget is None:
        return 0
    verdicts = judged((line.estimate for line in seen.lines), budget)
    return 0 if overall(verdicts) == FITS else EXIT_EXCEEDED


def _budget(call: _Call) -> Budget | None:
    """The budget that was typed, for the measure and place that are asked for. Raises WorldwiseError."""
    found = wanted_budget(call.budget)
    if found and call.measure:
        found = replace(found, measures=(call.measure,))
    return replace(found, place=call.place) if found and call.place else found


def budget_of_own_code(budget: Budget, measure: str | None, place: str | None, cases: Sequence[Case]) -> Budget:
    """The budget of a user's own code: it has one measure at one place, which nobody has to name."""
    if any(case.target != OWN for case in cases):
        return budget
    return replace(budget, measures=(measure or REGION_MEASURE,), place=place or REGION_PLACE)


def _asked(call: _Call, tables: Mapping[str, str]) -> list[tuple[Case, Run | None]]:
    """The cases to predict, those of a run with the run. Raises WorldwiseError."""
    if "/" in call.what and not Path(call.what).exists():
        if call.directories:
            click.get_current_context().call_on_close(own_libraries.forget)
            own_libraries.announce(own_libraries.bring(call.directories), lambda text: safe_text.echo(text, err=True))
        return [(parse_case(call.what, call.samples, call.warmup), None)]
    try:
        run = open_run(call.what, call.runs)
        found = cases_of_run(run, call.wanted)
        with_own(run, call.directories)
    except NoRunError as error:
        try:
            suite = load_suite(call.what)
        except WorldwiseError:
            hint = f"{error.hint}; or a case, TARGET/VARIANT/OPERATION; or a suite of `worldwise suites`"
            raise WorldwiseError(error.message, hint) from error
        found = [(_short(case, call), None) for case in suite.cases if _matches(case, call.wanted)]
        if not found:
            raise WorldwiseError(f"suite {call.what} has no case that matches {' or '.join(call.wanted)}") from None
    if len(found) == 1:
        return found
    # A suite has cases of several machines; those that can be predicted are.
    chosen = [one for one in found if known.cores_of(one[0], tables) and _has(one[0], call.measure)]
    return chosen or found[:1]


def _short(case: Case, call: _Call) -> Case:
    return Case(
        case.target,
        case.implementation,
        case.optimisation,
        case.operation,
        call.samples,
        call.warmup,
        case.parameters,
    )


def _matches(case: Case, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(case.id, pattern) for pattern in patterns)


def _has(case: Case, measure: str | None) -> bool:
    return measure is None or measure in case.measures


def _check(call: _Call, cases: Sequence[tuple[Case, Run | None]], tables: Mapping[str, str]) -> None:
    """Raise WorldwiseError if a case cannot be predicted, click.UsageError if the format shows one graph alone."""
    if len(cases) == 1:
        known.check(cases[0][0], tables)
    if call.seeds > 1:
        for case, _ in cases:
            require_draws(case)
    if call.memory:
        for case, _ in cases:
            if not known.is_micro(case):
                raise WorldwiseError(
                    f"{case.id}: --memory, --wait-states, --flash and --store-waits are for boards, and it has none",
                    "choose a board's cases: --case 'nucleo-f446re/*'",
                )
            call.memory.of(case.target)
    regions = [name for case, _ in cases for name in measures_of(case, call.measure)]
    if call.form == "flame" and max(len(cases), len(regions), len(tables)) > 1:
        raise click.UsageError("--format flame takes one region on one core: choose with --measure, --case and --core")


def _lines(
    case: Case, found: Mapping[str, PredictedCase], errors: ErrorLines, call: _Call, clock: Fraction | None
) -> list[PredictionLine]:
    memory = known.memory_of(case, call.memory)
    waits = memory.waits_of(case.target) if memory else None
    if memory and clock is None and not case.board:
        clock = memory.clock(case.target)
    return [
        PredictionLine(case, one, clock=clock, flash=memory.words(case.target) if memory else "")
        for core, predicted in found.items()
        for one in estimates(predicted, core, errors, waits)
        if call.measure in (None, one.sample.measure) and call.place in (None, one.sample.place)
    ]


def _of(line: PredictionLine) -> Of:
    one = line.estimate
    return one.core, one.sample.measure, one.sample.place, one.state


def _show(
    seen: _Seen,
    cases: Sequence[tuple[Case, Run | None]],
    rules: Rules,
    session: Session,
    call: _Call,
    budget: Budget | None,
    out: Output,
) -> None:
    if not seen.lines:
        raise WorldwiseError(
            f"nothing is measured at place '{call.place}'",
            "ta, client or linux; a region of your own code has no other place than region",
        )
    one = seen.attribution if len(cases) == 1 else None
    match call.form:
        case "csv":
            out.text(predicted_data.to_csv(seen.lines, budget))
        case "json":
            out.text(explain_report.dump(_document(seen.lines, one, budget)))
        case "flame":
            if one is None:
                raise WorldwiseError(f"{cases[0][0].id}: the stacks of its program are not followed")
            line = next((line for line in _shown(seen.lines, call) if line.estimate.state == "warm"), seen.lines[-1])
            stacks = _attributed(one, line).in_cycles()
            out.text(
                flame_graph.flame_graph(
                    stacks, reports.title(line), flame_graph.Renderer(session.note), "predicted cycles"
                )
            )
        case "text" if not call.full:
            screen = predict_screen.screen(seen.lines, budget, lambda line: bool(_shown([line], call)))
            out.show([*screen, *_over_draws(_shown(seen.lines, call), call)], "table")
        case _:
            sections = [reports.summary(seen.lines, budget), *_over_draws(seen.lines, call)]
            sections.append(reports.causes_section(seen.lines))
            if one:
                for line in _shown(seen.lines, call):
                    if line.estimate.state == "warm":
                        sections.append(reports.layer_section(line, rules.order))
                        sections.append(reports.function_section(line, _attributed(one, line), call.top))
                        sections += _masked_sections(one, line)
            out.show(sections, "markdown" if call.form == "markdown" else "table")


def _masked_sections(attribution: Attribution, line: PredictionLine) -> list[Section]:
    told = explained(attribution, line)
    return masked_interrupts.sections(told, told.masked) if told.masked else []


def _over_draws(lines: Sequence[PredictionLine], call: _Call) -> list[Section]:
    return [reports.draws_section(lines)] if call.seeds > 1 else []


def _shown(lines: Sequence[PredictionLine], call: _Call) -> list[PredictionLine]:
    """The lines whose details are shown: at the outermost place, unless one was asked for."""
    return [
        line
        for line in lines
        if call.place or line.estimate.sample.place == outermost(line.case.measures[line.estimate.sample.measure])
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
