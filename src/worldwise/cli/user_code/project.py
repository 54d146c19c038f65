# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run FOLDER`: what a repository's worldwise.toml asks for, on one screen, with its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from rich.console import Console

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table
from worldwise.cli.baselines import Baselines, functions_of, gated_status, save, worst
from worldwise.cli.common.process import EXIT_ERROR, EXIT_EXCEEDED
from worldwise.cli.report import Wanted as Shown
from worldwise.cli.report import show
from worldwise.cli.traces.source_marks import Marks, write_sarif
from worldwise.cli.user_code.code import COUNTS, MOST_NOTES, OwnCall, cells_of, measure_codes, tools, unentered
from worldwise.read.compared import baseline, gate
from worldwise.read.compared.comparison import Comparison
from worldwise.report import comparisons
from worldwise.report.formats.printed_sections import print_prose, print_section
from worldwise.run.code.region_counts import counts_of
from worldwise.run.code.repository.limits import LimitVerdict, verdicts
from worldwise.run.code.repository.project import Made, Opened, open_project, prepare_project
from worldwise.run.folder.rundir import Run

_MOST_REGIONS, _MOST_FUNCTIONS, _MOST_OVER = 20, 3, 10


def measure_project(folder: Path, call: OwnCall, shown: Shown) -> int:
    """Measure what a folder's worldwise.toml asks for. Returns the exit status. Raises WorldwiseError."""
    opened = open_project(folder)
    baselines = _baselines(opened, call.baselines)
    images, emulator = tools(call)
    made = prepare_project(opened, images, emulator, emulator.notify, call.fresh)
    title = f"Your repository: {opened.folder.resolve().name}"
    name = "latest" if call.latest else f"latest --runs {call.runs}"

    def screen(run: Run, how: Shown) -> int:
        status = 0
        aside = how.form != "table" or how.full or how.output is not None
        if aside:
            status = show(run, how)
        console = safe_text.console(stderr=aside)
        return worst(status, _screen(run, opened, made, baselines, name, console))

    return measure_codes([one.ready for one in made], title, "FOLDER", call, shown, screen)


def _baselines(opened: Opened, typed: Baselines) -> Baselines:
    """The baselines that were typed, or the file's own; in the folder. Raises WorldwiseError."""
    compared = typed.compared or opened.project.baseline or ""
    found = replace(typed, folder=opened.folder, compared=compared)
    if compared and compared == typed.saved and not baseline.path_of(compared, opened.folder).exists():
        safe_text.echo(f"there is no baseline '{compared}' yet: this run becomes it", err=True)
        found = replace(found, compared="")
    found.check()
    return found


def _screen(run: Run, opened: Opened, made: Sequence[Made], baselines: Baselines, name: str, console: Console) -> int:
    print_section(_regions(made), console)
    for one in made:
        for line in notes_of(one):
            print_prose(console, f"{one.name}: {line}")
    found = [*verdicts(opened, made), *_times(run, opened, made)]
    over = [one for one in found if not one.kept]
    comparison = None
    functions = functions_of(run) if over or baselines.compared or baselines.saved else {}
    if found:
        console.print()
        print_section(_limits(found, over, functions), console)
    status = EXIT_EXCEEDED if over else 0
    dearest = run.manifest.cases[0]
    marks = Marks(run, opened.folder)
    if baselines.compared:
        comparison = marks.with_lines(_compared(run, opened, made, baselines, functions))
        console.print()
        comparisons.render_brief(comparison, console)
        status = worst(status, gated_status(comparison.gate))
        dearest = next((row.case for row in comparison.exceeding), dearest)
    elif not baselines.saved:
        console.print()
        hint = f"worldwise run {opened.folder} --save-baseline main"
        print_prose(console, f"Compared with no baseline. This run becomes one by: {hint}")
    if baselines.sarif:
        write_sarif(baselines.sarif, marks, over, comparison)
    if run.state == "failed":
        return EXIT_ERROR
    if baselines.saved:
        save(run, baselines.saved, baselines.folder, functions)
    dearest = next((one.case for one in over if one.case in run.manifest.cases), dearest)
    console.print()
    console.print(f"worldwise explain {name} --case '{dearest}'", soft_wrap=True, markup=False)
    return status


def notes_of(one: Made) -> list[str]:
    """What a reader of a measure's figures must know."""
    # Of a TA without regions all calls of libteec are sought, and nobody has asked for those that it lacks.
    lacking = unentered(one.ready) if one.measure.regions else []
    return [*([f"{one.words}."] if one.words else []), *one.ready.code.manifest.notes[:MOST_NOTES], *lacking]


def _regions(made: Sequence[Made]) -> Section:
    """Every region of every measure, in the file's order."""
    rows = []
    for one in made:
        code = one.ready.code
        for region, of in code.manifest.regions.items():
            cells = cells_of(counts_of(code, one.ready.counted.trace, of))
            name = one.shown if one.benchmark else f"{one.name}/{region}"
            rows.append([name, *([*cells[:2], "-", "-"] if one.first_only else cells)])
    left = len(rows) - _MOST_REGIONS
    notes = [f"({left} more regions in the report: worldwise report --all)"] if left > 0 else []
    table = Table(["measure/region", *COUNTS], rows[:_MOST_REGIONS], 1)
    return Section("What worldwise.toml measures", table, notes)


def _limits(
    found: Sequence[LimitVerdict], over: Sequence[LimitVerdict], functions: Mapping[str, Mapping[str, int]]
) -> Section:
    """The verdict on all limits, with a line for each that is not kept, and where its region's median call went."""
    rows = [[one.case, one.what, one.found, one.limit, one.where] for one in over[:_MOST_OVER]]
    notes = []
    for case in dict.fromkeys(one.case for one in over):
        where = functions.get(case, {})
        total = sum(where.values())
        ranked = sorted(where.items(), key=lambda item: (-item[1], item[0]))[:_MOST_FUNCTIONS]
        if ranked:
            words = ", ".join(f"{name} {100 * own / total:.1f} %" for name, own in ranked)
            notes.append(f"Where the median call of {case} goes: {words}.")
    if len(over) > _MOST_OVER:
        notes.append(f"{len(over) - _MOST_OVER} more limits are exceeded.")
    kept = f"all {len(found)} are kept" if len(found) > 1 else "the only one is kept"
    title = f"Limits: {len(over)} of {len(found)} EXCEEDED" if over else f"Limits: {kept}"
    table = Table(["case", "what", "measured", "limit", "said by"], rows, 2, (4,)) if rows else None
    return Section(title, table, notes)


def _times(run: Run, opened: Opened, made: Sequence[Made]) -> list[LimitVerdict]:
    """The limits in predicted time: a region's whole interval must be below."""
    wanted = [(one, *limit) for one in made for limit in one.limits if limit[2].time]
    if not wanted:
        return []
    from worldwise.cli.traces.plugin_runs import Session
    from worldwise.explain.layers import load_rules
    from worldwise.predict import cores as known
    from worldwise.predict.bounds import estimates
    from worldwise.predict.errors import load_errors
    from worldwise.predict.verdict import FITS, judged, overall, time_text

    session, errors = Session(load_rules(), fresh=False), load_errors()
    found = []
    for one, key, region, limit in wanted:
        case = next(case for case in one.ready.cases if case.operation == region)
        budget = limit.budget
        where = opened.where("measure", one.name, "limit", key, "time")
        try:
            tables = known.tables([limit.core or ""])
            known.check(case, tables)
        except WorldwiseError as error:
            raise WorldwiseError(f"{where}: core: {error.message}", error.hint) from error
        assert budget
        lines = [
            each
            for core, predicted in session.predicted(case, run, known.cores_of(case, tables)).items()
            for each in estimates(predicted, core, errors, None)
        ]
        answers = judged(lines, budget)
        low, high = min(each.estimate.whole.low for each in answers), max(each.estimate.whole.high for each in answers)
        said = f"{time_text(low, budget.clock)} to {time_text(high, budget.clock)}"
        words = f"predicted time, {limit.core}"
        found.append(LimitVerdict(case.id, words, said, limit.time or "", where, overall(answers) == FITS))
    return found


def _compared(
    run: Run,
    opened: Opened,
    made: Sequence[Made],
    baselines: Baselines,
    functions: Mapping[str, Mapping[str, int]],
) -> Comparison:
    """The run beside the baseline, each region with the change that the file allows. Raises WorldwiseError."""
    allowed: dict[str, tuple[Fraction, str]] = {}
    for one in made:
        for key, region, limit in one.limits:
            if limit.allowed:
                where = opened.where("measure", one.name, "limit", key, "change")
                allowed[f"own/{one.ready.code.name}/{region}"] = (limit.allowed, f"{limit.change} ({where})")
    none = gate.parse_limit("0%")
    named = baseline.load(baselines.compared, baselines.folder)
    options = gate.GateOptions(limit=none, limit_text="0%")
    return baseline.compare_baseline(named, run, functions, options, allowed)
