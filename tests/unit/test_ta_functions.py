# SPDX-License-Identifier: BSD-2-Clause
"""Functions of a TA as regions: the trace proves that each has its own instructions, all of them and no others."""

import pytest

from traces import a_pass
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.own_code import MARKED, Mark
from worldwise.records.trace import Trace
from worldwise.records.trace_records import Block, Context, Frame, Pass, Row, TraceStart
from worldwise.run.code.ta.functions import prove

CORE, TA = 1, 2
ENTRY, CALLER, INNER = 0x40017000, 0x40018000, 0x40019000
# The TA's caller of the function, the function, what it calls, and the function again within that.
FRAMES = {1: (0, 0, CORE), 2: (1, CALLER, TA), 3: (2, ENTRY, TA), 4: (3, INNER, TA), 5: (4, ENTRY, TA), 6: (3, 9, CORE)}
BLOCKS = {1: ENTRY, 2: ENTRY + 8, 3: CALLER, 4: INNER}
MARKS = [Mark(name="f", of_ta=True, begins=[0], ends=[8], function=True)]


def made(
    calls: dict[int, tuple[int, int]],
    rows: dict[int, list[tuple[int, int, int]]],
    frames: dict[int, tuple[int, int, int]] = FRAMES,
) -> Trace:
    """A trace of one life (pass 1) with calls of the function: their frames and recursions, and the rows of passes."""

    def passed(number: int, frame: int, recursions: int, call: int) -> Pass:
        how = "returned" if call else ""
        return a_pass(
            number, parent=int(number != 1), frame=frame, mark=ENTRY, call=call, how=how, recursions=recursions
        )

    start = {"type": "start", "format": 1, "mode": "stack", "task_switch": 0, "thread_suspend": 0, "thread_resume": 0}
    return Trace(
        TraceStart.model_validate({**start, "witness": 0}),
        {
            CORE: Context(type="context", id=CORE, el=1, secure=True, task=0, space=0),
            TA: Context(type="context", id=TA, el=0, secure=True, task=0, space=0),
        },
        {
            number: Frame(type="frame", id=number, parent=parent, kind="call", site=0, target=target, context=context)
            for number, (parent, target, context) in frames.items()
        },
        {
            number: Block(type="block", id=number, pc=pc, instructions=1, code="00000000")
            for number, pc in BLOCKS.items()
        },
        [*(passed(number, *of, 1) for number, of in calls.items()), passed(1, 1, 0, 0)],
        {number: [Row(*row) for row in of] for number, of in rows.items()},
        {},
        [],
    )


CALL = {2: (3, 0)}


@pytest.mark.parametrize(
    ("calls", "inside", "around", "said"),
    [
        (CALL, [(3, 1, 1), (3, 2, 1), (4, 4, 1), (6, 4, 1)], [(2, 3, 1)], ""),
        # Itself within itself is one region.
        ({2: (3, 1)}, [(3, 1, 1), (4, 4, 1), (5, 1, 1)], [(2, 3, 1)], ""),
        # The caller went on in it.
        (CALL, [(3, 1, 1), (2, 3, 1)], [], "called through a pointer too"),
        # It went on behind its end.
        (CALL, [(3, 1, 1)], [(4, 4, 1)], "calls itself through other functions"),
        (CALL, [(3, 1, 2)], [], "entered in a way that is not understood"),
        # The function that jumped to it has the frame.
        ({2: (2, 0)}, [(2, 1, 1), (4, 4, 1)], [(2, 3, 1)], ""),
        ({}, [], [(2, 3, 1)], ""),
    ],
)
def test_a_region_has_what_its_function_executed(
    calls: dict[int, tuple[int, int]], inside: list[tuple[int, int, int]], around: list[tuple[int, int, int]], said: str
) -> None:
    """If this fails, a count has less or more than the function, and nobody knows."""
    trace = made(calls, {2: inside, 1: around})
    if not said:
        prove(trace, [MARKED], MARKS)
        return
    with pytest.raises(WorldwiseError, match=f"--region f: the end of a call .* was not seen: it (is|was)? ?{said}"):
        prove(trace, [MARKED], MARKS)


def test_a_jump_to_it_within_itself_is_refused() -> None:
    """The function that jumps to it runs within it: nobody knows which of both ends returned."""
    trace = made({2: (2, 0)}, {2: [(2, 1, 1), (5, 3, 1)]}, {**FRAMES, 5: (4, CALLER, TA)})
    with pytest.raises(WorldwiseError, match="calls itself through a function that jumps to it"):
        prove(trace, [MARKED], MARKS)


def test_marks_in_the_code_need_no_proof() -> None:
    """They begin and end where somebody said."""
    mark = Mark(name="rounds", of_ta=True, begins=[0], ends=[8])
    prove(made(CALL, {2: [(3, 1, 1), (2, 3, 1)]}), [MARKED], [mark])
