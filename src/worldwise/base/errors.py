# SPDX-License-Identifier: BSD-2-Clause
"""The one exception a user is meant to read."""


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


class HostError(WorldwiseError):
    """The host does not let the tool do its work, whatever the case: it ends the run."""


class DoesNotFitError(WorldwiseError):
    """What was asked for is too large for the board: a result about one case; the run continues."""
