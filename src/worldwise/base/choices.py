# SPDX-License-Identifier: BSD-2-Clause
"""Choices that somebody typed: which values are allowed, and which one was probably meant."""

import difflib
from collections.abc import Collection, Iterable

from worldwise.base import files
from worldwise.base.errors import WorldwiseError


def close_names(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that end in the words of `name`, or are spelled like it, the closest first; case is ignored.

    Where there is none, those whose last word is spelled like it: of `a73` it is `cortex-a72`.
    """
    by_lower = {each.lower(): each for each in known}
    wanted = name.lower()
    ending = [lower for lower in by_lower if wanted and lower.endswith(f"-{wanted}")]
    close = dict.fromkeys([*ending, *difflib.get_close_matches(wanted, by_lower, n=most)])
    if not close:
        by_last = {lower.rpartition("-")[2]: lower for lower in by_lower if "-" in lower}
        close = dict.fromkeys(by_last[last] for last in difflib.get_close_matches(wanted, by_last, n=most))
    return [by_lower[lower] for lower in close][:most]


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """`did you mean 'sign'?`, or nothing if no allowed value is close."""
    close = close_names(value, allowed, 1)
    return f"did you mean '{close[0]}'?" if close else ""


def choice_error(kind: str, value: str, allowed: Collection[str], what: str = "is not known") -> WorldwiseError:
    """The error for a value that is not allowed; it lists the allowed ones."""
    listed = ", ".join(allowed) if allowed else "none"
    return WorldwiseError(
        f"{kind} '{files.quoted(value)}' {what}. Allowed: {listed}.", hint=did_you_mean(value, allowed)
    )
