# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise report`, and how `worldwise run` prints what it measured."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import click
from rich.console import Console

from worldwise.base.choices import close_names
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.base.tables import Section
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import (
    DEFAULT_RUNS,
    check_output,
    reading_options,
    runs_option,
    wanted_budget,
    writing,
)
from worldwise.cli.common.process import EXIT_ERROR, EXIT_EXCEEDED
from worldwise.plan.budget import Budget
from worldwise.read import run_counts
from worldwise.read.models import Reading
from worldwise.read.run_counts import samples_of
from worldwise.report import report as reports
from worldwise.report.answer import render_answer
from worldwise.report.formats import latex
from worldwise.report.formats.printed_sections import print_section, section_lines
from worldwise.report.sections.tasks import Times
from worldwise.report.tables import named_sections
from worldwise.run.folder.rundir import Run, open_run

HTML = "html"
# Formats in which a part of a report can be printed.
_OF_SECTIONS = ("table", "markdown", "latex")
# Formats that can say another unit than instructions.
_OF_UNITS = ("table", "markdown", "json", "csv")


@dataclass(frozen=True)
class Wanted:
    """How to print a run.

    Attributes:
        form: one of worldwise.cli.common.options.FORMATS.
        output: the file it is written to; None for the terminal.
        budget: replaces the run's own budget.
        full: whether to print the tables that even the whole report leaves out.
        parts: names and patterns of the sections wanted; empty for all.
        answer: the command that prints the report, if only the answer is printed, on one screen; else empty.
        times: predicts some rows of that answer; None for the times that the run keeps.
    """

    form: str
    output: Path | None
    budget: Budget | None
    full: bool = False
    parts: Sequence[str] = ()
    answer: str = ""
    times: Callable[[Reading], Times] | None = None


# What most calls do without, as `--help-all` lists it: heading -> parameters.
_RARE = {"Also": ("full", "runs")}


@click.command(cls=Command, rare=_RARE)
@click.argument("reference", metavar="[RUN]", default="latest")
@click.option(
    "--section",
    "parts",
    multiple=True,
    metavar="NAME",
    help="Print only this section, or those that match a shell pattern such as 'aes*'; can be given again.",
)
@click.option("--sections", "listed", is_flag=True, help="List only the names of the sections.")
@click.option("--all", "everything", is_flag=True, help="Print the whole report, not only the first screen.")
@click.option("--full", is_flag=True, help="Also print what --all omits, above all times for every place.")
@runs_option
@reading_options
def report(
    reference: str,
    parts: tuple[str, ...],
    listed: bool,
    everything: bool,
    full: bool,
    runs: Path,
    form: str,
    output: Path | None,
    budget: str | None,
) -> int:
    """Print a run again: the answer on one screen, all of it, or some of its sections.

    RUN is a directory, an id, the beginning of an id, `latest` or `latest~1`. A file, and any format but table,
    has all of it.

    \b
      worldwise report
      worldwise report latest --all
      worldwise report latest --sections
      worldwise report latest --section budget --section 'price*'
      worldwise report 20260102 --format csv --output figures.csv
      worldwise report latest --format html --output report.html

    \f
    Exit status: 0 all is well; 1 a case failed, or the run cannot be read; 3 the budget is not met.
    """
    if parts and form not in _OF_SECTIONS:
        raise click.UsageError(f"--section can be printed as {', '.join(_OF_SECTIONS)}, not as {form}")
    run, limit = open_run(reference, runs), wanted_budget(budget)
    if listed:
        return _list_sections(run_counts.read_run(run, limit), full)
    answer = "" if everything else f"worldwise report {reference}" + ("" if runs == DEFAULT_RUNS else f" --runs {runs}")
    return show(run, Wanted(form, output, limit, full, parts, answer))


def show(run: Run, wanted: Wanted) -> int:
    """Print or write the reading of a run. Returns the exit status: 1 if a case failed, 3 if a budget is not met."""
    if wanted.output:
        check_output(wanted.output)
    if wanted.form == HTML and not wanted.output and sys.stdout.isatty():
        raise click.UsageError("--format html needs --output FILE: it is a page for a browser")
    if wanted.form not in _OF_UNITS:
        run.require_instructions(f"--format {wanted.form}")
    reading = run_counts.read_run(run, wanted.budget)
    chosen = _chosen(reading, wanted) if wanted.parts else None
    if wanted.form == "table":
        if wanted.output:
            with writing(wanted.output), wanted.output.open("w", encoding="utf-8") as file:
                _print_table(reading, safe_text.console(file=file), wanted, chosen)
        else:
            _print_table(reading, safe_text.console(), wanted, chosen)
    else:
        text = _text(run, reading, wanted.form) if chosen is None else _chosen_text(reading, chosen, wanted.form)
        if wanted.output:
            with writing(wanted.output):
                wanted.output.write_text(text, encoding="utf-8")
        else:
            safe_text.echo(text, nl=not text.endswith("\n"))
    over = reading.budget is not None and reading.budget.fits is not True
    if reading.failed or reading.missing:
        return EXIT_ERROR
    return EXIT_EXCEEDED if over else 0


def _print_table(reading: Reading, console: Console, wanted: Wanted, chosen: list[Section] | None) -> None:
    if chosen is not None:
        for number, section in enumerate(chosen):
            if number:
                console.print()
            print_section(section, console)
    elif wanted.answer and not wanted.output and not wanted.full:
        render_answer(reading, console, wanted.answer, wanted.times(reading) if wanted.times else None)
    else:
        reports.render(reading, console, wanted.full)


def _text(run: Run, reading: Reading, form: str) -> str:
    if form != HTML:
        return reports.EXPORTERS[form](reading)
    # What reads traces, and what draws, is loaded for a page alone.
    from worldwise.cli.traces.kept_explanations import traced
    from worldwise.report.page.write import Material, to_html

    explained, untold = traced(run)
    return to_html(reading, Material(run, samples_of(run), explained, untold))


def _chosen_text(reading: Reading, chosen: Sequence[Section], form: str) -> str:
    if form == "latex":
        return latex.tables(reading, chosen)
    return "\n\n".join("\n".join(section_lines(section)) for section in chosen) + "\n"


def _chosen(reading: Reading, wanted: Wanted) -> list[Section]:
    """The sections that names and patterns choose, in order. Raises WorldwiseError if one of them matches none."""
    every = reports.sections(reading, full=True)
    shown = {section.name: section for section in reports.sections(reading, wanted.full or wanted.form != "table")}
    names: set[str] = set()
    for part in wanted.parts:
        found = named_sections(every, part) or [one for one in every if fnmatchcase(one.name, part)]
        if not found:
            raise _no_section(reading, part, [section.name for section in every if section.name])
        names |= {section.name for section in found}
    # A section that only --full has is printed if its name was given.
    return [shown.get(section.name, section) for section in every if section.name in names]


def _no_section(reading: Reading, part: str, names: Sequence[str]) -> WorldwiseError:
    close = close_names(part, names)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return WorldwiseError(
        f"run {reading.run.id} has no section '{part}'. It has: {', '.join(names)}.",
        f"{hint}`worldwise report {reading.run.id} --sections` lists them with their titles",
    )


def _list_sections(reading: Reading, full: bool) -> int:
    found = reports.sections(reading, full)
    width = max((len(section.name) for section in found), default=0)
    for section in found:
        safe_text.echo(f"{section.name:<{width}}  {section.title}")
    return 0
