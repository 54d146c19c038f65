# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise site`: all kept runs as pages, with an index and the history of their counts."""

from pathlib import Path

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import runs_option, writing
from worldwise.read import run_counts
from worldwise.read.run_counts import samples_of
from worldwise.run.folder.rundir import list_runs


@click.command(cls=Command)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@runs_option
def site(directory: Path, runs: Path) -> int:
    """Write a page for each kept run into DIRECTORY, with an index and a history: files that any server can show.

    The index has the runs by suite, and each step of a figure from one run to the next: before, after, what changed
    (the lab, worldwise's revision, a library of your own), and, if the cache keeps traces of both, the functions that
    caused it. Files of the same names in DIRECTORY are overwritten.

    \b
      worldwise site public
      worldwise site public --runs elsewhere
    """
    # What reads traces, and what draws, takes long to load.
    from worldwise.cli.traces.kept_explanations import traced
    from worldwise.report.page import history
    from worldwise.report.page.write import Material, SiteRun, to_html, to_index

    found: list[history.HistoryRun] = []
    unread: list[str] = []
    for listed in list_runs(runs):
        try:
            if listed.run is None:
                raise WorldwiseError(listed.problem)
            listed.run.require_instructions("a site")
            reading = run_counts.read_run(listed.run)
            explained, untold = traced(listed.run)
            page = to_html(reading, Material(listed.run, samples_of(listed.run), explained, untold))
        except WorldwiseError as error:
            unread.append(f"{listed.id}: {error.message}")
            continue
        _write(directory / f"{listed.id}.html", page)
        own = {entry.name: entry.digest for entry in listed.run.manifest.own}
        kept = {(one.explanation.case.id, one.explanation.measure): one.explanation for one in explained}
        found.append(history.HistoryRun(reading, own, kept))
    if not found:
        raise WorldwiseError(f"there is no run in {runs} that can be read.", "make one: worldwise run")
    lines = [SiteRun.of(one.reading) for one in found]
    _write(directory / "index.html", to_index(lines, unread, history.sections(found), history.figures(found)))
    for line in unread:
        safe_text.echo(f"left out: {line}", err=True)
    return 0


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    safe_text.echo(path)
