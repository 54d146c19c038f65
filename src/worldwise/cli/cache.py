# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise cache`: what is in the cache, and what can be removed."""

import json
import re
import sys
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from worldwise.base import paths
from worldwise.base.disk import space_text
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Group
from worldwise.lab.cache import DEFAULT_AGE, KINDS, LEFT_OVER, OTHER, CleaningWish, Item, clean, survey

FORMAT = 1
_AGE = re.compile(r"([0-9]{1,6})([hdw])")
_UNITS = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
# Kinds with too many things to name each one.
_MANY = ("downloads", "symbols", "suites", "results", "traces")


def age_seconds(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """The seconds of `30d`, `12h`, `2w`; None if the option is not given."""
    if value is None:
        return None
    found = _AGE.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"'{value}' is not an age: give a whole number and h, d or w, such as 12h, 30d or 2w")
    return int(found[1]) * _UNITS[found[2]]


@click.group(cls=Group, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, for programs.")
@click.pass_context
def cache(context: click.Context, as_json: bool) -> None:
    """Show the sizes of what the cache holds, and what `worldwise cache clean` would remove.

    docs/start/first-run.md says what goes when.
    """
    if context.invoked_subcommand is not None:
        if as_json:
            raise click.UsageError("--json goes with `worldwise cache` alone")
        return
    place = paths.cache_place().resolve()
    items = survey(place)
    now = time.time()
    doomed = {item.path for item in items if CleaningWish().takes(item, now)}
    if as_json:
        safe_text.echo(safe_text.json_text(json.dumps(_data(place, items, doomed), indent=1)))
    else:
        _show(place, items, doomed, now)


@cache.command("clean")
@click.option(
    "--older-than",
    "age",
    callback=age_seconds,
    default=f"{DEFAULT_AGE // 86400:.0f}d",
    show_default=True,
    metavar="AGE",
    help="Remove files unused for this long: 12h, 30d, 2w.",
)
@click.option("--results", is_flag=True, help="Remove results and traces too, by the same age.")
@click.option("--all", "everything", is_flag=True, help="Remove all files not in use; results only with --results.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def clean_command(age: float, results: bool, everything: bool, yes: bool) -> int:
    """Remove files that no lock of this checkout needs, and files unused for long; ask first.

    Files in use stay, and so do results, unless --results is given.

    Exit status: 0 done, or nothing to do; 1 something could not be removed.

    \b
      worldwise cache clean
      worldwise cache clean --older-than 2w --results
    """
    place = paths.cache_place().resolve()
    now = time.time()
    wish = CleaningWish(age, results, everything)
    doomed = [item for item in survey(place) if wish.takes(item, now)]
    if not doomed:
        safe_text.echo("nothing to remove")
        return 0
    for line in _lines(doomed, now):
        safe_text.echo(line)
    safe_text.echo(f"{space_text(sum(item.size for item in doomed))} in all, in {place}")
    paths.require_writable(place)
    if not yes and not _agreed():
        safe_text.echo("nothing was removed")
        return 0
    done = clean(place, doomed)
    for item in done.held:
        safe_text.echo(f"kept: {item.path} is in use")
    for item, why in done.failed:
        safe_text.echo(f"not removed: {item.path}: {why}", err=True)
    safe_text.echo(f"removed {_things(len(done.gone))}: {space_text(sum(item.size for item in done.gone))} freed")
    return 1 if done.failed else 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise WorldwiseError("there is no terminal to ask on, so nothing was removed", "--yes removes without asking")
    return click.confirm("Remove this?")


# --- showing ---


def _show(place: Path, items: Sequence[Item], doomed: set[str], now: float) -> None:
    if not place.is_dir():
        safe_text.echo(f"there is no cache at {place} yet")
        return
    purposes = {kind.name: kind.purpose for kind in KINDS}
    purposes |= {LEFT_OVER: "of commands that were killed", OTHER: "other files; they are never removed"}
    rows = [("", "takes", "can go", "", "")]
    for name, purpose in purposes.items():
        of_kind = [item for item in items if item.kind == name]
        if of_kind:
            rows.append((name, *_sizes(of_kind, doomed), _things(len(of_kind)), purpose))
        for item in of_kind if name == "labs" else ():
            what = item.label or f"of another lock, last used {_ago(now - item.used)}"
            rows.append((f"  {Path(item.path).name}", *_sizes([item], doomed), "", what))
    rows.append(("together", *_sizes(items, doomed), _things(len(items)), ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for name, takes, free, count, what in rows:
        line = f"{name:<{widths[0]}}  {takes:>{widths[1]}}  {free:>{widths[2]}}  {count:>{widths[3]}}  {what}"
        safe_text.echo(line.rstrip())
    safe_text.echo(f"in {place}; `worldwise cache clean` removes what can go")


def _sizes(items: Sequence[Item], doomed: set[str]) -> tuple[str, str]:
    free = sum(item.size for item in items if item.path in doomed)
    return space_text(sum(item.size for item in items)), space_text(free) if free else "-"


def _lines(items: Sequence[Item], now: float) -> list[str]:
    """What will be removed: a line for each thing, and one line for each kind of which there are many."""
    lines = []
    for kind, group in groupby(items, key=lambda item: item.kind):
        of_kind = list(group)
        if kind in _MANY:
            whole = sum(item.size for item in of_kind)
            lines.append(f"{kind}: {_things(len(of_kind))}, {space_text(whole)}, {_why(of_kind[0], now)}")
        else:
            lines += [f"{item.path}: {space_text(item.size)}, {_why(item, now)}" for item in of_kind]
    return lines


def _why(item: Item, now: float) -> str:
    if item.standing == "needed":
        return "which this checkout needs and makes again"
    if item.standing == "unneeded":
        return "which this checkout does not name"
    if item.standing == "left over":
        return "left by a command that was killed"
    return f"last used {_ago(now - item.used)}" if item.kind not in _MANY else "not used for that long"


def _ago(seconds: float) -> str:
    days = int(max(0.0, seconds) // 86400)
    return "today" if not days else f"{days} {'day' if days == 1 else 'days'} ago"


def _things(count: int) -> str:
    return f"{count:,} {'thing' if count == 1 else 'things'}"


def _data(place: Path, items: Sequence[Item], doomed: set[str]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "cache": str(place),
        "bytes": sum(item.size for item in items),
        "can_go": sum(item.size for item in items if item.path in doomed),
        "items": [vars(item) | {"can_go": item.path in doomed} for item in items],
    }
