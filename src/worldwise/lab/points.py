# SPDX-License-Identifier: BSD-2-Clause
"""Points: what `worldwise doctor` looks at, one by one, and what it says of each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from worldwise.base.errors import WorldwiseError

State = Literal["fine", "note", "wrong"]


@dataclass(frozen=True)
class Point:
    """One thing that was looked at.

    Attributes:
        name: what was looked at, in a word or two.
        state: `fine`; `note`, which is good to know and asks for nothing; `wrong`, for which something must be done.
        found: what was found.
        todo: what to do; empty if nothing.
    """

    name: str
    state: State
    found: str
    todo: str = ""


def guarded(name: str, look: Callable[[], Iterator[Point]]) -> Iterator[Point]:
    """The points of one look; what cannot be looked at is wrong as well."""
    try:
        yield from look()
    except WorldwiseError as error:
        yield Point(name, "wrong", error.message, error.hint)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        yield Point(name, "wrong", f"cannot be looked at: {error.strerror or error}{where}", "see that it can be read")
