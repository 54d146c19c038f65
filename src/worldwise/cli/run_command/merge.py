# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise merge`: the shards of a run become the run."""

from pathlib import Path

import click

from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, reading_options, runs_option, wanted_budget


@click.command(cls=Command)
@click.argument("references", nargs=-1, required=True, metavar="RUN...")
@click.option("--full", is_flag=True, help="Print the whole report, not the answer alone.")
@runs_option
@reading_options
def merge(
    references: tuple[str, ...], full: bool, runs: Path, form: str, output: Path | None, budget: str | None
) -> int:
    """Make one run of all shards of `worldwise run SUITE --shard I/N`, and print what it answers.

    \b
      worldwise merge runs/*-shard-*-of-8
      worldwise merge shard-1/2026* shard-2/2026* --runs merged

    \f
    A RUN is a directory, an id, or the beginning of an id. The merged run is new; the shards stay as they are. If a
    shard is missing or incomplete, the error names it and the command that measures it. A shard may be there twice: its
    runs are compared.

    Exit status: 0 all is well; 1 a case failed, or the shards could not be merged; 3 the budget is not met.
    """
    if output:
        check_output(output)
    limit = wanted_budget(budget)
    # These modules take long to load, so a typing error is reported before.
    from worldwise.cli.report import Wanted, show
    from worldwise.run.folder.merge_shards import merge as merge_runs
    from worldwise.run.folder.rundir import open_run

    run, notes = merge_runs([open_run(reference, runs) for reference in references], runs)
    for note in (*notes, f"{len(run.manifest.merged)} shards merged: run {run.path}"):
        safe_text.echo(note, err=True)
    return show(run, Wanted(form, output, limit, full, answer=f"worldwise report {run.path}"))
