# SPDX-License-Identifier: BSD-2-Clause
"""Options of what a user's program of Linux is given on its machine: for `run` and for `exec`, which imports little."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from worldwise.cli.common.options import TypedRecord

_PATH = click.Path(path_type=Path)
# As `packages`, `libraries` and `files`.
GIVEN = (
    click.option(
        "--package",
        "packages",
        multiple=True,
        metavar="NAME",
        help="Add the libraries of a lab package, such as nettle-dev.",
    ),
    click.option(
        "--library", "libraries", multiple=True, metavar="FILE", type=_PATH, help="Give it this shared library."
    ),
    click.option(
        "--file", "files", multiple=True, metavar="FILE", type=_PATH, help="Put this file or folder into its folder."
    ),
)
NET = click.option("--net", type=click.Choice(["loopback"]), help="Give its machine a loopback interface.")


@dataclass(frozen=True)
class GivenToIt(TypedRecord):
    """What was typed of them."""

    packages: tuple[str, ...]
    libraries: tuple[Path, ...]
    files: tuple[Path, ...]
    net: str | None


def given_to_it(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds them all to a command."""
    for option in reversed((*GIVEN, NET)):
        command = option(command)
    return command
