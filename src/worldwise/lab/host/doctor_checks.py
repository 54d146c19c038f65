# SPDX-License-Identifier: BSD-2-Clause
"""Points: what `worldwise doctor` checks, one by one, and what it reports on each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from worldwise.base.errors import WorldwiseError

State = Literal["fine", "note", "wrong"]


@dataclass(frozen=True)
class Point:
    """One thing that was checked.

    Attributes:
        name: what was checked, in a word or two.
        state: `fine`; `note`: good to know, nothing to do; `wrong`: the user must do something.
        found: what was found.
        todo: what to do; empty if nothing.
    """

    name: str
    state: State
    found: str
    todo: str = ""


def guarded(name: str, look: Callable[[], Iterator[Point]]) -> Iterator[Point]:
    """The points of one check; a check that fails gives a wrong point."""
    try:
        yield from look()
    except WorldwiseError as error:
        yield Point(name, "wrong", error.message, error.hint)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        yield Point(name, "wrong", f"cannot be checked: {error.strerror or error}{where}", "see that it can be read")
