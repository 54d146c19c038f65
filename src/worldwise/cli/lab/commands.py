# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise lab`: the pinned Debian root everything is built and emulated in, with all of its commands."""

import click

from worldwise.base.disk import directory_size, space_text
from worldwise.base.output import safe_text
from worldwise.cli.lab import root, sources  # noqa: F401 - their commands join the group
from worldwise.cli.lab.container import image_command
from worldwise.cli.lab.group import lab
from worldwise.lab.lab import open_lab, remove_labs
from worldwise.lab.roots import ROOTS


@lab.command()
@click.option("--all", "everything", is_flag=True, help="Remove the locked lab and roots and the downloads too.")
def clean(everything: bool) -> None:
    """Remove labs and roots that were made from another lock than today's.

    \b
      worldwise lab clean
    """
    places = [open_lab(name=name) for name in ROOTS]
    place = places[0]
    before = directory_size(place.cache)
    gone = remove_labs(places, everything)
    if not gone:
        safe_text.echo("nothing to remove")
        return
    names = ", ".join(str(path.relative_to(place.cache)) for path in gone)
    safe_text.echo(f"removed {names}: {space_text(max(0, before - directory_size(place.cache)))} freed")


lab.add_command(image_command)
