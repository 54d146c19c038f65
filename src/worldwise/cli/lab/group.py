# SPDX-License-Identifier: BSD-2-Clause
"""The group `worldwise lab`, and what several of its commands take."""

from collections.abc import Callable

import click

from worldwise.cli.common.group import Group
from worldwise.lab.roots import MAIN, ROOTS


@click.group(cls=Group)
def lab() -> None:
    """The pinned Debian root that all is built and emulated in, and smaller ones, made when something needs them."""


root_argument = click.argument("name", default=MAIN, type=click.Choice(list(ROOTS)), metavar="[NAME]")
_WIDEST = max(map(len, ROOTS))
_NAMES = "\b\n" + "\n".join(f"{root.name:<{_WIDEST}} {root.purpose}" for root in ROOTS.values())


def listing_roots(function: Callable[..., None]) -> click.Command:
    """A command whose help ends with the list of roots."""
    return lab.command(after=_NAMES)(function)
