# SPDX-License-Identifier: BSD-2-Clause
"""Whom a TA's calls of other TAs are for: by the session, which is one of the TA that has opened it."""

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from worldwise.libraries.own_code import TA_CALLS
from worldwise.run.code.heap import OF_C, OF_FIRMWARE, plugin_arguments
from worldwise.run.code.ta.calls import UNKNOWN, name_of, ta_targets

SYSTEM, OTHER = "3a2f8978-5dc0-11e8-9c2d-fa7ae01bbebc", "5b9e0e41-2636-11e1-ad9e-0002a5d5c51b"
ADDRESSES = (4096, TA_CALLS, TA_CALLS + 1, TA_CALLS + 2)
OPEN, INVOKE, CLOSE = 2, 3, 4


def given(uuid: str, session: int, space: int) -> list[int]:
    """What is recorded of a call that opens a session."""
    content = UUID(uuid).bytes_le
    return [int.from_bytes(content[:8], "little"), int.from_bytes(content[8:], "little"), session, space]


def targets(*calls: tuple[int, list[int], int]) -> list[str]:
    """Whom calls are for: the number, the registers and the result of each, in the order of time."""
    passes = [
        SimpleNamespace(id=at, begin=at, call=call, given=registers, result=result)
        for at, (call, registers, result) in enumerate(calls, 1)
    ]
    found = ta_targets(cast(Any, SimpleNamespace(passes=passes)), ADDRESSES)
    return [found[one.id] for one in passes]


def test_a_session_is_one_of_the_ta_that_opened_it() -> None:
    """Two TAs have a session 1; one that could not be opened, or was closed, is none."""
    assert targets(
        (OPEN, given(SYSTEM, 1, 8), 0),
        (OPEN, given(OTHER, 1, 10), 0),
        (OPEN, given(OTHER, 2, 8), 0xFFFF0008),
        (INVOKE, [1, 3, 0, 10], 0),
        (INVOKE, [1, 3, 0, 8], 0),
        (INVOKE, [2, 3, 0, 8], 0),
        (CLOSE, [1, 0, 0, 8], 0),
        (INVOKE, [1, 3, 0, 8], 0),
    ) == [SYSTEM, OTHER, OTHER, OTHER, SYSTEM, UNKNOWN, SYSTEM, UNKNOWN]
    assert (name_of(SYSTEM), name_of(OTHER)) == ("system", OTHER)
    # Nobody asked.
    assert ta_targets(cast(Any, None), (4096,)) == {}


def test_an_allocator_is_known_by_its_names() -> None:
    """Of firmware newlib's too; who has `free` alone gives nothing."""
    rows = [("malloc", 16), ("__libc_malloc", 16), ("aligned_alloc", 32), ("free", 48), ("_malloc_r", 64)]
    assert plugin_arguments(OF_C, rows) == ["heap=malloc:0x10", "heap=memalign:0x20", "heap=free:0x30"]
    assert plugin_arguments(OF_FIRMWARE, rows)[-1] == "heap=malloc_r:0x40"
    assert plugin_arguments(OF_C, [("free", 48)]) == []
