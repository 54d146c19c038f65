# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise validation`: predictions against published cycles of hardware."""

import os
from pathlib import Path

import click

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Group
from worldwise.cli.common.options import runs_option
from worldwise.cli.common.progress import Steps
from worldwise.cli.hardware.plugin_checks import slow_down, stacks
from worldwise.report.first_screen import first_screen
from worldwise.report.formats.printed_sections import print_sections
from worldwise.validation.bench import CellBench
from worldwise.validation.cells import cell_tables, cells
from worldwise.validation.kept_files import keep, write_run
from worldwise.validation.measurement import measure as measured
from worldwise.validation.measurement import measure_changed
from worldwise.validation.record import RUN, load_run, out_of_date
from worldwise.validation.report import first_sections, sections

_MORE = "--full shows kinds of code, all ways to predict and omitted figures; --every shows each figure."
# The folder in that of the runs.
_FOLDER = "validation"


@click.group(cls=Group)
def validation() -> None:
    """Compare predicted cycles with published cycles of hardware, to which the models were never fitted.

    `stacks` and `slow-down` check the plugin that `worldwise explain` uses.
    """


validation.add_command(stacks)
validation.add_command(slow_down)


@validation.command()
@click.option("--jobs", type=click.IntRange(1), help="Emulators at a time.  [default: one a processor]")
@click.option("--keep", "kept", is_flag=True, help="Make it the run of this repository, from which error lines come.")
@click.option(
    "--changed", is_flag=True, help="Only the cores whose table has changed; other rows are the repository's run's."
)
@runs_option
def measure(jobs: int | None, kept: bool, changed: bool, runs: Path) -> None:
    """Build the measured libraries, run every figure's code through the models, and print the errors.

    The libraries are compiled as for the published figures, by the compilers of two Debians: their roots take 1.5 GB.
    Programs of a Cortex-M are compiled as those of boards. It takes minutes, once they exist. The files are in
    RUNS/validation.

    \b
      worldwise validation measure
    """
    folder = runs / _FOLDER
    if kept:
        paths.require_checkout("keeping a run of the validation")
    steps = Steps()

    def tell(done: int, of: int) -> None:
        if done % 50 == 0 or done == of:
            steps.note(f"{done} of {of} calls")

    try:
        bench = CellBench(steps.note)
        some = cells()
        tables, workers = cell_tables(some), jobs or os.cpu_count() or 1
        if changed:
            run = measure_changed(bench, load_run(), some, tables, workers, tell)
        else:
            run = measured(bench, some, tables, workers, tell)
    finally:
        steps.end()
    write_run(run, folder)
    if kept:
        keep(run)
    print_sections(sections(run), safe_text.console())
    safe_text.echo(f"\nrun.json, errors.json and scatter.svg are in {folder}")


@validation.command()
@click.argument("file", default=RUN, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--full", is_flag=True, help="Print all tables: kinds of code, other ways to predict, omitted figures.")
@click.option("--every", is_flag=True, help="Print all tables, and a line for each figure too.")
def show(file: Path, full: bool, every: bool) -> None:
    """Print what predictions of each core are worth: FILE is a run's run.json.  [default: the repository's]

    The last table of --full says which published figures are not compared, and why.

    \b
      worldwise validation show
      worldwise validation show --every
    """
    run = load_run(file)
    shown = sections(run, every) if full or every else first_screen(first_sections(run), _MORE)
    print_sections(shown, safe_text.console())


@validation.command()
def check() -> None:
    """Say whether the repository's run was made with today's engine and cores. Exit status 1 if not.

    \b
      worldwise validation check
    """
    stale = out_of_date(load_run(), cell_tables())
    if stale:
        raise WorldwiseError(
            f"the validation was measured with other sources: {', '.join(stale)} changed",
            "`worldwise validation measure --keep` measures it again",
        )
    safe_text.echo("measured with today's engine, cores and figures")
