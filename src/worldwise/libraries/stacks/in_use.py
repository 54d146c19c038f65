# SPDX-License-Identifier: BSD-2-Clause
"""Which stack is in use: a module of its own, since every image asks, and what reads stacks takes long to load."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worldwise.libraries.stacks.stack import BroughtStack

_used: "list[BroughtStack | None]" = []


def current() -> "BroughtStack | None":
    """The stack in use; None for the lab's own."""
    return _used[-1] if _used else None


@contextlib.contextmanager
def used(brought: "BroughtStack | None") -> Iterator[None]:
    """Make images with this stack, or with the lab's own for None, for as long as this lasts."""
    _used.append(brought)
    try:
        yield
    finally:
        _used.pop()
