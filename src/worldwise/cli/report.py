# SPDX-License-Identifier: BSD-2-Clause
"""Reading what was measured: `report`, `list`, `suites`, `schema`."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from worldwise.base import outgoing, paths
from worldwise.base.errors import WorldwiseError
from worldwise.plan.budget import Budget, parse_budget
from worldwise.plan.suite import load_suite
from worldwise.read import lens
from worldwise.records import parse, trace
from worldwise.report import report as reports
from worldwise.run.rundir import ListedRun, Run, list_runs, open_run

EXIT_OVER_BUDGET = 1

_Command = TypeVar("_Command", bound=Callable[..., Any])


def runs_option(command: _Command) -> _Command:
    """`--runs DIRECTORY`."""
    return click.option(
        "--runs",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("runs"),
        show_default=True,
        help="Where run directories are.",
    )(command)


def reading_options(command: _Command) -> _Command:
    """`--format`, `--output`, `--budget` and `--full`: what to make of a run."""
    for option in (
        click.option(
            "--format",
            "form",
            type=click.Choice(["table", *reports.EXPORTERS]),
            default="table",
            show_default=True,
            help="How to print the result.",
        ),
        click.option(
            "--output",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write it there, not to the terminal.",
        ),
        click.option(
            "--budget",
            metavar="TIME@CLOCK",
            help="Judge signing, from the client, against a budget such as 5ms@2GHz: worst call, one instruction per "
            "cycle. Exit status 1 if any variant shown does not fit.",
        ),
        click.option("--full", is_flag=True, help="Times for every place, not for the client alone."),
    ):
        command = option(command)
    return command


def wanted_budget(text: str | None) -> Budget | None:
    """The budget of `--budget`. Raises WorldwiseError."""
    return parse_budget(text) if text else None


def show(run: Run, form: str, output: Path | None, budget: Budget | None, full: bool) -> int:
    """Print or write the reading of a run. Returns the exit status: 1 if a case failed or a budget is not met."""
    if output:
        check_output(output)
    reading = lens.read_run(run, budget)
    if form == "table":
        if output:
            with writing(output), output.open("w", encoding="utf-8") as file:
                reports.render(reading, outgoing.console(file=file), full)
        else:
            reports.render(reading, outgoing.console(), full)
    else:
        text = reports.EXPORTERS[form](reading)
        if output:
            with writing(output):
                output.write_text(text, encoding="utf-8")
        else:
            outgoing.echo(text, nl=not text.endswith("\n"))
    over = reading.budget is not None and reading.budget.fits is not True
    return EXIT_OVER_BUDGET if over or reading.failed or reading.missing else 0


def check_output(output: Path) -> None:
    """Raise WorldwiseError if a file cannot stand there, before anything is measured for it."""
    if not output.parent.is_dir():
        raise WorldwiseError(f"{output}: the directory {output.parent} does not exist", "make it, or choose another")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Around what writes a file: WorldwiseError names it if it cannot be written."""
    try:
        yield
    except OSError as error:
        raise WorldwiseError(f"{path}: could not be written: {error.strerror or error}.") from error


@click.command()
@click.argument("reference", metavar="[RUN]", default="latest")
@runs_option
@reading_options
def report(reference: str, runs: Path, form: str, output: Path | None, budget: str | None, full: bool) -> int:
    """Print a run again: RUN is a directory, an id, the beginning of an id, or `latest`."""
    return show(open_run(reference, runs), form, output, wanted_budget(budget), full)


@click.command("list")
@runs_option
def list_command(runs: Path) -> int:
    """List the runs, the newest last."""
    rows = [_listed_row(listed) for listed in list_runs(runs)]
    if not rows:
        outgoing.echo(f"no runs in {runs}; `worldwise run` makes one")
        return 0
    rows.insert(0, ("run", "state", "cases", "lab"))
    # Why a run cannot be read may take many words: they end the line, and make no column wider.
    widths = [max(len(row[column]) for row in rows if len(row) == 4 or column == 0) for column in range(4)]
    for row in rows:
        outgoing.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)).rstrip())
    return 0


def _listed_row(listed: ListedRun) -> tuple[str, ...]:
    """Id, state, cases and lab of a run; of one that cannot be read, id and reason."""
    if not listed.run:
        return listed.id, listed.problem
    manifest = listed.run.manifest
    try:
        done = len(listed.run.complete_cases())
    except WorldwiseError as error:
        return listed.id, error.message
    return listed.id, listed.run.state, f"{done} of {len(manifest.cases)}", manifest.lab[:12]


@click.command()
def suites() -> int:
    """List the suites that come with worldwise."""
    for path in sorted(paths.SUITES.glob("*.toml")):
        suite = load_suite(path.stem)
        outgoing.echo(f"{suite.name:<14} {len(suite.cases):>3} cases  {suite.title}")
    return 0


_SCHEMAS = {"records": parse.json_schema, "trace": trace.json_schema}


@click.command()
@click.argument("what", type=click.Choice(list(_SCHEMAS)), default="records")
def schema(what: str) -> int:
    """Print the JSON schema of the records, or of the plugin's traces."""
    outgoing.echo(json.dumps(_SCHEMAS[what](), indent=2))
    return 0
