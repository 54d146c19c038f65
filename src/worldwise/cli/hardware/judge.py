# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise judge` and `worldwise calibrate`: a run on silicon beside the emulator and the model of its core."""

from collections.abc import Mapping
from pathlib import Path

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, format_option, output_option, runs_option, writing
from worldwise.cli.traces.plugin_runs import Output, Session
from worldwise.explain.layers import load_rules
from worldwise.plan.case import Case
from worldwise.predict.errors import load_errors
from worldwise.read.run_counts import read_run
from worldwise.report.first_screen import first_screen
from worldwise.run.folder.rundir import open_run
from worldwise.validation.silicon import judgement_report
from worldwise.validation.silicon.calibration import fit
from worldwise.validation.silicon.core_file import fitted_core
from worldwise.validation.silicon.judgement import Emulate, Emulated, beside, core_of, require_judge

_MORE = "All lines and columns: the same command with --full."
# What the table of measures loses first where it is too wide for a screen.
_SPARE = ("own count\ninstr", "n", "instr /\ncycle", "spread\n%")

_FULL = click.option("--full", is_flag=True, help="Print all lines and columns, not the first screen alone.")
_CORE = click.option("--core", metavar="NAME", help="The core that predicts.  [default: the board's]")


@click.command(cls=Command)
@click.argument("run", default="latest")
@_CORE
@format_option(("text", "markdown", "csv", "json"))
@output_option
@_FULL
@runs_option
def judge(run: str, core: str | None, form: str, output: Path | None, full: bool, runs: Path) -> None:
    """Put cycles of silicon beside the exact count and the prediction: RUN was measured with --via.

    Each case runs once more on the emulated machine, with the model of the core: results of an equal run are reused.
    Where the processor counts instructions itself, its count must equal the emulator's.

    \b
      worldwise judge latest
      worldwise judge latest --core cortex-m4-mine --format csv --output judged.csv
    """
    if output:
        check_output(output)
    found = open_run(run, runs)
    reading = read_run(found)
    require_judge(found, reading)
    name = core_of(found, reading.rows[0].target, core)
    lines = beside(found, reading, name, _emulate(), load_errors())
    with Output(output) as out:
        match form:
            case "csv":
                out.text(judgement_report.judged_csv(lines))
            case "json":
                out.text(judgement_report.judged_json(found, lines))
            case _:
                parts = [judgement_report.judged_section(found, lines)]
                first = form == "text" and not full and not output
                out.show(first_screen(parts, _MORE, _SPARE) if first else parts, form)


@click.command(cls=Command)
@click.argument("run", default="latest")
@_CORE
@click.option(
    "--fit", "wanted", multiple=True, metavar="NAME", help="Fit only this number; can be given again.  [default: all]"
)
@format_option(("text", "markdown", "json"))
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the fitted core's file, for cores/, there.",
)
@_FULL
@runs_option
def calibrate(
    run: str, core: str | None, wanted: tuple[str, ...], form: str, output: Path | None, full: bool, runs: Path
) -> None:
    """Fit a core to a RUN on silicon, by half of its cases; the other half says what the fit is worth.

    It fits only the numbers that cores/NAME.toml and the board's file declare fittable: wait states, and the cost of
    branches. Every combination is tried, eight in one pass of a case, so that it takes minutes.

    \b
      worldwise calibrate latest
      worldwise calibrate latest --fit flash_wait_states --output cores/cortex-m4-mine.toml

    Exit status: 0 all is well; 1 the core could not be fitted, or must not be.
    """
    if output:
        check_output(output)
        if output.exists():
            raise WorldwiseError(f"{output} exists, and a core's file is not overwritten", "choose another name")
    found = open_run(run, runs)
    reading = read_run(found)
    require_judge(found, reading)
    fitted = fit(found, reading, core_of(found, reading.rows[0].target, core), wanted, _emulate())
    with Output(None) as out:
        if form == "json":
            out.text(judgement_report.fit_json(found, fitted))
        else:
            parts = judgement_report.fit_sections(found, fitted)
            out.show(parts if full or form != "text" else first_screen(parts, _MORE), form)
    if output:
        fitted.require_better()
        text = fitted_core(fitted, fitted.calibration(found))
        with writing(output):
            output.write_text(text, encoding="utf-8")
        safe_text.echo(f"{output} has the fitted core: worldwise judge {found.id} --core {output.stem}", err=True)


def _emulate() -> Emulate:
    """Runs cases on the emulated machine, which is made when the first one is wanted."""
    made: list[Session] = []

    def emulate(case: Case, tables: Mapping[str, str]) -> Emulated:
        if not made:
            made.append(Session(load_rules(), fresh=False))
        modelled = made[0].modelled(case, None, tables)
        return Emulated(modelled.records.samples, modelled.predicted)

    return emulate
