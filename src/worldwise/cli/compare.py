# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise compare`: two runs, or two variants of one, and a gate on what changed."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.baselines import NO_CHANGE, baseline_options, functions_of, gated_status, save
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import (
    DEFAULT_RUNS,
    TypedCall,
    TypedRecord,
    check_output,
    format_option,
    output_option,
    runs_option,
    writing,
)
from worldwise.read.compared import gate
from worldwise.read.compared.comparison import ALLOWANCES, JUDGES, Allowance, Comparison, Judge
from worldwise.report import comparisons as gate_report
from worldwise.run.folder.rundir import Run, open_run

# SARIF needs more than a comparison: the lines of the functions.
_SARIF = "sarif"
_FORMATS = ("table", *gate_report.EXPORTERS, _SARIF)


@dataclass(frozen=True)
class _Sides(TypedRecord):
    """What is compared: two runs, two variants of one, or a run and a baseline."""

    run: str
    a: str
    b: str
    baseline: str | None
    save_baseline: str | None
    runs: Path

    @property
    def one_run(self) -> bool:
        """Whether a run stands beside a baseline, or is kept as one."""
        return bool(self.baseline or self.save_baseline)

    def check(self) -> None:
        """Raises click.UsageError for sides that exclude each other, or for one alone."""
        if self.one_run and self.a:
            raise click.UsageError("--baseline and --save-baseline take one RUN")
        if not (self.one_run or self.a):
            raise click.UsageError(
                "name what to compare RUN with: OTHER_RUN, VARIANT_A and VARIANT_B, or --baseline NAME"
            )


@dataclass(frozen=True)
class _JudgedBy(TypedRecord):
    """Which cases are judged, and by what."""

    limit: str | None
    judge: Judge
    allow: tuple[Allowance, ...]
    pattern: str

    def options(self) -> gate.GateOptions:
        """The gate. Raises WorldwiseError for a limit that is no percentage."""
        limit = None if self.limit is None else gate.parse_limit(self.limit)
        return gate.GateOptions(
            allow=self.allow, pattern=self.pattern, limit=limit, limit_text=self.limit or "", judge=self.judge
        )


@dataclass(frozen=True)
class _CompareShown(TypedRecord):
    """How the comparison is shown, and where else it is written."""

    form: str
    output: Path | None
    full: bool
    writes: tuple[str, ...]


@dataclass(frozen=True)
class _CompareCall(TypedCall):
    """All that was typed after `worldwise compare`."""

    sides: _Sides
    judged: _JudgedBy
    shown: _CompareShown


# What most calls do without, as `--help-all` lists it: heading -> parameters.
_RARE = {"Baselines": ("baseline", "save_baseline"), "Also": ("judge", "writes", "runs")}


@click.command(cls=Command, rare=_RARE)
@click.argument("run", metavar="RUN")
@click.argument("a", metavar="OTHER_RUN | VARIANT_A", default="")
@click.argument("b", metavar="[VARIANT_B]", default="")
@click.option(
    "--fail-above",
    "limit",
    metavar="PERCENT",
    help="Be a gate: exit status 3 if B takes more than that above A: 0%, 0.1%.",
)
@click.option(
    "--judge",
    type=click.Choice(JUDGES),
    default="auto",
    show_default=True,
    help="What the gate looks at: medians, every call, or every call on boards and medians elsewhere.",
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(ALLOWANCES),
    metavar="WHAT",
    help=f"Compare although this differs: {', '.join(ALLOWANCES)}; can be given again.",
)
@click.option("--case", "pattern", metavar="PATTERN", default="", help="Only cases like this: 'optee/*/attestdiv'.")
@click.option("--full", is_flag=True, help="Show all figures of every row, also of those in which nothing differs.")
@baseline_options
@format_option(_FORMATS, "comparison")
@output_option
@click.option(
    "--write",
    "writes",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Write it in another format too; can be given again.",
)
@runs_option
def compare(**typed: Any) -> int:
    """Compare two runs (the first is the older one), two variants of one run, or a run with a baseline.

    \b
      worldwise compare RUN_A RUN_B
      worldwise compare RUN_A RUN_B --fail-above 0.1% --write junit=report.xml
      worldwise compare RUN mbedtls-O2 mbedtls-nist-O2
      worldwise compare RUN core=cortex-a53 core=cortex-a76
      worldwise compare RUN --save-baseline main
      worldwise compare RUN --baseline main

    \f
    A run is a directory, an id, the beginning of an id, `latest`, or `latest~1`, the run before it. The command refuses
    runs that differ in lab, images without the library, or number of calls. docs/use/in-your-repository.md shows a gate
    in continuous integration. The rows that changed most come first, with the command that names the functions behind
    the change; --full has every row.

    Exit status: 0 compared, and no row exceeds the limit; 1 not comparable, nothing to judge, or B lacks a case of A; 3
    a row exceeds the limit.
    """
    call = _CompareCall.taken(typed)
    sides, judged, shown = call.sides, call.judged, call.shown
    wanted = [_destination(text) for text in shown.writes]
    for path in (*([shown.output] if shown.output else []), *(path for _, path in wanted)):
        check_output(path)
    options = judged.options()
    sides.check()
    if _SARIF in (shown.form, *(other for other, _ in wanted)) and not (sides.baseline or judged.limit):
        raise click.UsageError("sarif lists what exceeds a limit: name a limit with --fail-above, or a --baseline")
    measured = first = open_run(sides.run, sides.runs)
    if sides.one_run:
        found = _with_baseline(first, sides.baseline, sides.save_baseline, options)
        if found is None:
            return 0
        comparison = found
    elif sides.b:
        comparison = gate.compare_variants(first, sides.a, sides.b, options)
    else:
        measured = open_run(sides.a, sides.runs)
        comparison = gate.compare_runs(first, measured, options)
    for other, path in wanted:
        _write(comparison, measured, other, path, shown.full)
    _print(comparison, measured, shown.form, shown.output, shown.full, sides.runs)
    return gated_status(comparison.gate)


def _with_baseline(run: Run, baseline: str | None, saved: str | None, options: gate.GateOptions) -> Comparison | None:
    """One run beside a baseline, or kept as one; None if there is nothing to compare. Raises WorldwiseError."""
    from worldwise.read.compared.baseline import compare_baseline, load

    functions = functions_of(run, options.pattern)
    comparison = None
    if baseline:
        text = options.limit_text or NO_CHANGE
        options = replace(options, limit=gate.parse_limit(text), limit_text=text)
        from worldwise.cli.traces.source_marks import Marks

        comparison = Marks(run, Path()).with_lines(compare_baseline(load(baseline, Path()), run, functions, options))
    if saved:
        save(run, saved, Path(), functions, options.pattern)
    return comparison


def _print(comparison: Comparison, measured: Run, form: str, output: Path | None, full: bool, runs: Path) -> None:
    """Print the comparison, or write it to the file given instead of the terminal."""
    if output:
        _write(comparison, measured, form, output, full)
    elif form == "table" and not full:
        gate_report.render_brief(comparison, safe_text.console(), "" if runs == DEFAULT_RUNS else str(runs))
    elif form == "table":
        gate_report.render(comparison, safe_text.console(), full)
    else:
        safe_text.echo(_exported(comparison, measured, form), nl=False)


def _destination(text: str) -> tuple[str, Path]:
    form, equals, file = text.partition("=")
    if not equals or not file or form not in _FORMATS:
        raise WorldwiseError(
            f"--write {text}: not FORMAT=FILE.", f"the formats are {', '.join(_FORMATS)}; such as junit=report.xml"
        )
    return form, Path(file)


def _write(comparison: Comparison, measured: Run, form: str, path: Path, full: bool) -> None:
    with writing(path), path.open("w", encoding="utf-8") as file:
        if form == "table":
            gate_report.render(comparison, safe_text.console(file=file), full)
        else:
            file.write(_exported(comparison, measured, form))


def _exported(comparison: Comparison, measured: Run, form: str) -> str:
    """The comparison in a format for programs; `measured` is the run of B. Raises WorldwiseError."""
    if form == _SARIF:
        from worldwise.cli.traces.source_marks import Marks, sarif_text

        return sarif_text(Marks(measured, Path()), (), comparison)
    return gate_report.EXPORTERS[form](comparison)
