# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise doctor`: whether this machine has what worldwise needs."""

import json

import click

from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command, echo_line
from worldwise.lab.host.doctor import examine
from worldwise.lab.host.doctor_checks import Point

_MARKS = {"fine": "ok", "note": "note", "wrong": "WRONG"}
FORMAT = 1


@click.command(cls=Command)
@click.option("--network", is_flag=True, help="Also try the Debian mirrors; this takes some seconds, a minute at most.")
@click.option("--json", "as_json", is_flag=True, help="Print the points as JSON, for programs.")
def doctor(network: bool, as_json: bool) -> int:
    """Check this machine point by point, and name each problem with its remedy.

    It installs, makes and changes nothing, and needs no lab.

    Exit status: 0 all is well; 1 an action is needed.

    \b
      worldwise doctor
      worldwise doctor --network --json
    """
    found: list[Point] = []
    for point in examine(network):
        found.append(point)
        if not as_json:
            _show(point)
    wrong = sum(point.state == "wrong" for point in found)
    if as_json:
        data = {"format": FORMAT, "fine": not wrong, "points": [vars(point) for point in found]}
        safe_text.echo(safe_text.json_text(json.dumps(data, indent=1)))
    else:
        points = f"{wrong} {'point needs' if wrong == 1 else 'points need'} an action"
        safe_text.echo(points if wrong else "no action needed")
    return 1 if wrong else 0


def _show(point: Point) -> None:
    echo_line(f"{_MARKS[point.state]:<6} ", f"{point.name}: {point.found}")
    if point.todo:
        echo_line(" " * 7, point.todo)
