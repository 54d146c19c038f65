# SPDX-License-Identifier: BSD-2-Clause
"""The commands that list things: `list`, `suites`, `schema`."""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import SCREEN_COLUMNS, Command, echo_line
from worldwise.cli.common.options import runs_option
from worldwise.plan.suite_list import listed_suites

if TYPE_CHECKING:
    from worldwise.plan.suite import Suite
    from worldwise.run.folder.rundir import ListedRun

# Those that a screen has room for, below a line of heads and one that says how many are not listed.
_MOST_RUNS = 36
_SCHEMAS = ("records", "trace", "hardware", "project")


@click.command(cls=Command, name="list")
@click.option("--all", "everything", is_flag=True, help="List all runs, not the newest that fit a screen.")
@runs_option
def list_command(everything: bool, runs: Path) -> int:
    """List the runs, the newest last.

    \b
      worldwise list
      worldwise list --all
      worldwise list --runs elsewhere
    """
    # It takes long to load, and no other command here needs it.
    from worldwise.run.folder.rundir import list_runs

    found = list_runs(runs)
    if not found:
        safe_text.echo(f"no runs in {runs}; `worldwise run` makes one")
        return 0
    older = 0 if everything else max(len(found) - _MOST_RUNS, 0)
    if older:
        safe_text.echo(f"{older:,} older {'run' if older == 1 else 'runs'} not listed: `worldwise list --all`")
    rows = [_listed_row(listed) for listed in found[older:]]
    rows.insert(0, ("run", "state", "cases", "lab"))
    # The reason why a run is unreadable may be long: it ends the line, and makes no column wider.
    widths = [max(len(row[column]) for row in rows if len(row) == 4 or column == 0) for column in range(4)]
    for row in rows:
        safe_text.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)).rstrip())
    return 0


def _listed_row(listed: "ListedRun") -> tuple[str, ...]:
    """Id, state, cases and lab of a run; id and reason of an unreadable run."""
    if not listed.run:
        return listed.id, listed.problem
    manifest = listed.run.manifest
    try:
        done = len(listed.run.complete_cases())
    except WorldwiseError as error:
        return listed.id, error.message
    return listed.id, listed.run.state, f"{done} of {len(manifest.cases)}", manifest.lab[:12]


@click.command(cls=Command)
@click.argument("name", metavar="[SUITE]", default="")
def suites(name: str) -> int:
    """List the suites that come with worldwise; of a SUITE, what `worldwise run` can choose from it.

    \b
      worldwise suites
      worldwise suites mcu
    """
    if name:
        from worldwise.plan.suite import load_suite

        _show_suite(load_suite(name))
        return 0
    for suite in listed_suites():
        echo_line(f"{suite.name:<14} {suite.cases:>3} cases  ", suite.title)
    return 0


def _show_suite(suite: "Suite") -> None:
    """The names that the options of `worldwise run` know in a suite."""
    echo_line(f"{suite.name}: ", f"{suite.title} ({len(suite.cases):,} cases)")
    for kind in ("target", "operation", "curve", "variant"):
        names = [name for name in dict.fromkeys(getattr(case, kind) for case in suite.cases) if name]
        if names:
            safe_text.echo(f"\n--{kind} ({len(names)}):")
            safe_text.echo(_wrapped(", ".join(names)))


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text,
        SCREEN_COLUMNS,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


@click.command(cls=Command)
@click.argument("what", type=click.Choice(_SCHEMAS), default="records")
def schema(what: str) -> int:
    """Print the JSON schema of the records, of the plugin's traces, of files with figures of hardware, or of
    worldwise.toml.

    \b
      worldwise schema records
      worldwise schema trace
      worldwise schema hardware
      worldwise schema project
    """
    if what == "trace":
        from worldwise.records.trace import json_schema
    elif what == "hardware":
        from worldwise.validation.figures import json_schema
    elif what == "project":
        from worldwise.plan.user_code.project import json_schema
    else:
        from worldwise.records.parse import json_schema
    safe_text.echo(json.dumps(json_schema(), indent=2))
    return 0
