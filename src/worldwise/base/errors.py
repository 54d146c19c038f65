# SPDX-License-Identifier: BSD-2-Clause
"""The one exception a user is meant to read."""

from collections.abc import Sequence
from typing import Any


class WorldwiseError(Exception):
    """Something the user can act on.

    Args:
        message: what is wrong, naming the file, key, package or machine concerned.
        hint: the way out, one sentence or command; empty where there is none.
        details: more lines to show below (a console's tail, a backtrace).
    """

    def __init__(self, message: str, hint: str = "", details: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class VanishedError(WorldwiseError):
    """Locked files that no source has any more.

    Attributes:
        items: the files, as worldwise.lab.debian.lock.Wanted.
        root: the name of the root whose lock names them, if others may take their place; else empty.
    """

    def __init__(self, items: Sequence[Any], message: str, hint: str, details: str) -> None:
        super().__init__(message, hint, details)
        self.items = tuple(items)
        self.root = ""


class HostError(WorldwiseError):
    """The host does not let the tool do its work, whatever the case: it ends the run."""


class DoesNotFitError(WorldwiseError):
    """What was asked for is too large for the board: a result about one case; the run continues."""
