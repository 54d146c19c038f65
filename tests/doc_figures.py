# SPDX-License-Identifier: BSD-2-Clause
"""docs/figures/remake: makes the figures of README and docs/ again from kept records, and keeps new records."""

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click

import doc_blocks
import doc_claims
import doc_pages
import doc_pictures
import doc_records
from doc_records import Output
from worldwise.base.errors import WorldwiseError
from worldwise.cli.common.progress import Notes
from worldwise.cli.traces.first_screen import first_times
from worldwise.read.run_counts import read_run
from worldwise.report.sections.tasks import Times, leading
from worldwise.run.folder.rundir import Run, open_run

RUNS = doc_pages.ROOT / "runs"


@click.group()
def main() -> None:
    """Make the figures of README and docs/ again.

    \b
      docs/figures/remake list                  every block of figures, its command and its record
      docs/figures/remake pages                 make all blocks again that have a record, and say what is left
      docs/figures/remake measure attestation   measure a suite anew and keep its run
      docs/figures/remake keep runs/ID          keep a run that is there
      docs/figures/remake outputs findings-2    run a command anew and keep what it prints
      docs/figures/remake pictures entry-opteed-call --run RUN_OPTEED=ID    draw a flame graph anew
    """


@main.command(name="list")
def list_blocks() -> None:
    """Print every block of figures with its command and its state, and the numbers of each kind."""
    for line in doc_blocks.listing():
        click.echo(line)


@main.command()
@click.argument("names", nargs=-1, metavar="[PAGE]...")
def pages(names: tuple[str, ...]) -> None:
    """Make the blocks of these pages again, or of all, from the kept records; then say what no longer holds."""
    known = doc_pages.names()
    wanted = [Path(name).name for name in names] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise WorldwiseError(f"no page is called {', '.join(unknown)}", f"there are: {', '.join(known)}")
    for name in wanted:
        text = doc_pages.read(name)
        try:
            new = doc_blocks.remade(text, name, doc_blocks.declared())
        except doc_blocks.Undeclared as error:
            click.echo(f"{doc_pages.path_of(name)}: left as it is: {error}")
            continue
        if new != text:
            (doc_pages.ROOT / doc_pages.path_of(name)).write_text(new, encoding="utf-8")
            click.echo(f"{doc_pages.path_of(name)}: made anew")
    doc_pages.page.cache_clear()
    for name in wanted:
        for problem in doc_claims.wrong(doc_claims.claims_of(name), doc_pages.page(name)):
            click.echo(problem)
    if not names:
        _shorten()
    click.echo(doc_blocks.listing()[-1])


def _shorten() -> None:
    """Leave out of the kept outputs what no page reads, after all pages were made."""
    for name, read in doc_records.READ.items():
        one = doc_records.output(name)
        # A picture is compared with all of its output.
        if one and name not in doc_pictures.declared():
            text = doc_records.shortened(one.text, read)
            if text != one.text:
                doc_records.write_output(name, replace(one, text=text))


@main.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--as", "record", default="", metavar="NAME", help="Its name here, if it is not the suite's own run.")
def keep(runs: tuple[str, ...], record: str) -> None:
    """Keep runs: what a report reads of them goes to docs/figures/runs, in the place of the suite's run of before.

    Of a suite that recommends a case the leading ways are predicted too, as `run` does for its screen.
    """
    for name in runs:
        _keep(open_run(name, RUNS), record)


def _keep(run: Run, record: str = "") -> None:
    reading = read_run(run)
    if reading.run.state != "complete" or reading.failed or reading.missing:
        raise WorldwiseError(
            f"run {run.id} is {reading.run.state}: {len(reading.failed)} cases failed, {len(reading.missing)} are not "
            "measured. The pages' figures are of whole runs.",
            f"`worldwise run --resume {run.id}` measures the rest",
        )
    # No page shows the screen of a run on a stack, which alone has these times.
    wants_times = bool(leading(reading)) and not reading.run.stack
    times: Times = first_times(run, reading, Notes()) if wants_times else {}
    if wants_times and not times:
        raise WorldwiseError(f"run {run.id}: its screen's times cannot be predicted", "the notes above say why")
    doc_records.RUNS.mkdir(parents=True, exist_ok=True)
    path = doc_records.RUNS / f"{record or reading.run.suite}.json"
    path.write_text(doc_records.packed(reading, times), encoding="utf-8")
    click.echo(f"{path.relative_to(doc_pages.ROOT)}: {len(reading.rows)} rows of {run.id}, lab {reading.run.lab[:12]}")


@main.command()
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@click.option("--fresh", is_flag=True, help="Measure cases again whose results are stored.")
def measure(suites: tuple[str, ...], fresh: bool) -> None:
    """Measure suites and keep their runs: `./worldwise run SUITE`, then `keep`."""
    for suite in suites:
        before = set(RUNS.glob(f"*-{suite}"))
        subprocess.run(["./worldwise", "run", suite, *(["--fresh"] if fresh else [])], cwd=doc_pages.ROOT, check=True)
        made = sorted(set(RUNS.glob(f"*-{suite}")) - before)
        if not made:
            raise WorldwiseError(f"`worldwise run {suite}` left no run in {RUNS}", "look at what it printed")
        _keep(open_run(str(made[-1]), RUNS))


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--run", "runs", multiple=True, metavar="RUN_X=ID", help="Which run a command means by RUN_X.")
def outputs(names: tuple[str, ...], runs: tuple[str, ...]) -> None:
    """Run the commands of docs/figures/blocks.toml whose outputs are kept, or those of these names, and keep them.

    A command with RUN_X is of a run that the repository cannot make again; without `--run` it is left out.
    """
    known = doc_records.commands()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise WorldwiseError(f"no output is called {', '.join(unknown)}", f"there are: {', '.join(known)}")
    given = dict(one.split("=", 1) for one in runs if "=" in one)
    revision = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=doc_pages.ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    for name in names or known:
        command = [given.get(word, word) for word in shlex.split(known[name])]
        if left := [word for word in command if word.startswith("RUN_")]:
            if names:
                raise WorldwiseError(f"{name}: `{known[name]}` is of runs of yours", f"say which: --run {left[0]}=ID")
            click.echo(f"{name}: left as it is; it is of the runs {', '.join(left)}")
            continue
        done = subprocess.run(command, cwd=doc_pages.ROOT, check=False, stdout=subprocess.PIPE, text=True)
        # `predict --budget` ends with 1 where something does not fit.
        if done.returncode not in ({0, 3} if "--budget" in command else {0}):
            raise WorldwiseError(f"`{known[name]}` ended with {done.returncode}", "what it said stands above")
        doc_records.write_output(name, Output(known[name], doc_records.today(), revision, done.stdout))
        click.echo(f"docs/figures/outputs/{name}.txt")


@main.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--run", "runs", multiple=True, metavar="RUN_X=ID", help="Which run a command means by RUN_X.")
def pictures(names: tuple[str, ...], runs: tuple[str, ...]) -> None:
    """Draw flame graphs of docs/figures/blocks.toml anew, and keep them in docs/pictures without their small bars."""
    known = doc_pictures.declared()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise WorldwiseError(f"no picture is called {', '.join(unknown)}", f"there are: {', '.join(known)}")
    given = dict(one.split("=", 1) for one in runs if "=" in one)
    for name in names:
        command = [given.get(word, word) for word in shlex.split(known[name])]
        if left := [word for word in command if word.startswith("RUN_")]:
            raise WorldwiseError(f"{name}: `{known[name]}` is of runs of yours", f"say which: --run {left[0]}=ID")
        done = subprocess.run(command, cwd=doc_pages.ROOT, check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise WorldwiseError(f"`{known[name]}` ended with {done.returncode}", "what it said stands above")
        path = doc_pictures.path_of(name)
        path.write_text(doc_pictures.still(done.stdout, known[name]), encoding="utf-8")
        click.echo(str(path.relative_to(doc_pages.ROOT)))


def run() -> int:
    """The script: errors of the tool are told as the tool tells them."""
    try:
        main.main(standalone_mode=False)
    except WorldwiseError as error:
        click.echo(f"remake: {error.message}\n  {error.hint}", err=True)
        return 2
    except (click.ClickException, doc_blocks.Undeclared) as error:
        click.echo(f"remake: {error.format_message() if isinstance(error, click.ClickException) else error}", err=True)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(run())
