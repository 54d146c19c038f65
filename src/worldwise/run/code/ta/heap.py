# SPDX-License-Identifier: BSD-2-Clause
"""How much heap a TA needs, by what was executed: the least TA_DATA_SIZE."""

from collections.abc import Sequence

from worldwise.records.trace_records import Pass

# The head of the heap's free piece, and the least that OP-TEE's allocator takes.
_HEAD, _LEAST = 32, 1024
_ALIGNED = 16


def up(size: int) -> int:
    """A size in bytes that OP-TEE's allocator and stacks can have: `size`, or the next above it."""
    return -(-size // _ALIGNED) * _ALIGNED


def starts_of(passes: Sequence[Pass]) -> list[Pass]:
    """The starts of the client in a trace, of which the TA's memory is known."""
    return [one for one in passes if not one.parent and one.ta_stack is not None]


def least_data_size(starts: Sequence[Pass]) -> int:
    """The least TA_DATA_SIZE in bytes for what these starts executed, of a TA whose heap is known."""
    return max(_LEAST, up(max((one.ta_heap for one in starts), default=0) + _HEAD))
