# SPDX-License-Identifier: BSD-2-Clause
"""The records of a trace: a line each, as the plugin writes them; and its rows, of which equal ones are kept once.

Own code may have 400,000 calls, each with a line of counts and one of taken branches: most of the trace.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from worldwise.records.models import Count, RecordModel

FORMAT = 1
# The high byte of the first halfword of a T32 instruction of four bytes, or more.
_WIDE = 0xE8

# A line as the plugin writes it. No other JSON has these bytes, so that rows which were right once are right again.
_LINE = re.compile(rb'\{"type":"(?:counts|taken)","pass":(0|[1-9][0-9]{0,18}),"rows":(\[\[[0-9,\[\]]*\]\])\}\n?')
# Of longer rows hardly any are equal; more of them than this are not kept, so that a trace without equal ones does not
# take twice the memory.
_LONGEST, _MOST = 4096, 50_000
# A row, and the sums of rows.
_R = TypeVar("_R")
_S = TypeVar("_S", bound=dict[Any, int])


def _address(value: Any) -> Any:
    # No address has more digits, and converting thousands of digits takes quadratic time.
    return int(value, 0) if isinstance(value, str) and len(value) <= 20 else value


Address = Annotated[int, Field(ge=0, lt=2**64), BeforeValidator(_address, json_schema_input_type=str)]


class TraceStart(RecordModel):
    """The first record: the mode, and the addresses the plugin was given."""

    __qualname__ = "Start"  # its name in the schema
    model_config = ConfigDict(title="Start")

    type: Literal["start"]
    format: Literal[1]
    mode: Literal["count", "stack"]
    task_switch: Address
    thread_suspend: Address
    thread_resume: Address
    witness: Count


class Context(RecordModel):
    """Where code runs: exception level, world, the Linux task (0 for the region's own), and at EL0 of the normal world
    the address of its translation table, which changes at exec, and of TAs that call others the number of its space."""

    type: Literal["context"]
    id: Count
    el: Literal[0, 1, 2, 3]
    secure: bool
    task: Address
    space: Address


class Frame(RecordModel):
    """A node of the call tree: how control reached `target` from the function or instruction `site` of its parent."""

    type: Literal["frame"]
    id: Count
    parent: Count
    kind: Literal["region", "call", "exception", "enter", "task", "unwound", "lost"]
    site: Address
    target: Address
    context: Count


class Block(RecordModel):
    """Consecutive instructions: the address of the first, their number, and their bytes in hexadecimal.

    Attributes:
        set: the instruction set they are of.
        kinds: a letter for each: l loads, s stores, m multiplies, d divides, a dot is none of these. Empty if nobody
            has looked.
    """

    type: Literal["block"]
    id: Count
    pc: Address
    instructions: Count
    code: Annotated[str, Field(pattern="^[0-9a-f]*$")]
    set: Literal["a64", "a32", "t32"] = "a64"
    kinds: Annotated[str, Field(pattern="^[lsmd.]*$")] = ""

    @property
    def addresses(self) -> Sequence[int]:
        """The address of each instruction, and at last the one behind them."""
        if self.set != "t32":
            return range(self.pc, self.pc + 4 * self.instructions + 1, 4)
        code = bytes.fromhex(self.code)
        found = [self.pc]
        while (at := found[-1] - self.pc) + 1 < len(code):
            # A first halfword from 0xe800 on has a second one.
            found.append(found[-1] + (4 if code[at + 1] >= _WIDE else 2))
        return found


class Row(NamedTuple):
    """How many times a block was executed on a frame."""

    frame: int
    block: int
    times: int


class CountsLine(RecordModel):
    """Counts as they are read: pydantic makes the rows' tuples while it checks them, which is many times faster."""

    type: Literal["counts"]
    pass_: Annotated[int, Field(alias="pass", ge=0, lt=2**64)]
    rows: list[tuple[Count, Count, Count]]


class Counts(RecordModel):
    """How often a pass itself, without its inner passes, executed blocks: rows of frame, block, times."""

    type: Literal["counts"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    rows: list[Row]


class Taken(RecordModel):
    """How often the branch at a block's end was taken in a pass: rows of block, times."""

    type: Literal["taken"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    rows: list[tuple[Count, Count]]


class Event(RecordModel):
    """A change of exception level: `at` instructions after the outermost region's begin."""

    type: Literal["event"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    at: Count
    what: Literal["sync", "irq", "fiq", "serror", "eret", "task"]
    site: Address
    target: Address
    context: Count


class Witness(RecordModel):
    """The callers at one moment, innermost first: by the plugin, and by the frame records in memory.

    Of 32-bit code, which has no frame records, there are instead the registers r0 to r12, sp and lr, and the stack from
    sp up, in hexadecimal.
    """

    type: Literal["witness"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    pc: Address
    link: Address
    context: Count
    shadow: list[int]
    memory: list[int]
    registers: Annotated[list[Annotated[int, Field(ge=0, lt=2**32)]], Field(default_factory=list)]
    stack: Annotated[str, Field(pattern="^([0-9a-f]{2})*$")] = ""


class Stretch(NamedTuple):
    """Instructions of a pass in a row before which the normal world's interrupts waited.

    Attributes:
        at: instructions of the pass before the first.
        instructions: how many.
        frame, pc: the frame and the address of the first.
        last_frame, last_pc: those of the last; of a stretch that the pass ends in, those of the function then.
    """

    at: Count
    instructions: Count
    frame: Count
    pc: Count
    last_frame: Count
    last_pc: Count


# Of a program there may be 400,000: with slots one takes a quarter of the memory that a model takes.
@dataclass(slots=True, frozen=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True, defer_build=True))
class Pass:
    """One pass through a region, with the counter as the program read it at both ends.

    Attributes:
        parent: the pass around it, 0 if none.
        frame: the frame it began on.
        at: instructions after the begin of the outermost pass around it.
        instructions: from the reading at its begin (included) to that at its end (excluded), inner passes included.
        lost: the instructions among these whose stack could not be followed.
        closed: whether it ended on the stack on which it began.
        call: of a call of a function, 1 + the function's number; 0 for marks.
        how: how that call ended: it returned, the program ended in it, it was left as longjmp does, or the region
            around it ended.
        thread: the name that the thread had been given which began that call; empty if it had none.
        recursions: how often the function called itself within it, which is no pass.
        given, result: the registers x0 to x3 at its entry, and x0 at its return.
        stack: of a microcontroller and of own code, how many bytes deep the stack pointer got below where it was at the
            begin.
        stack_frame, stack_pc: the frame on which it did, and the block.
        stack_path: how deep it was as each frame on the way was pushed.
        stack_written: how deep the lowest store was, if the plugin looked.
        ta_stack, ta_frame, ta_pc, ta_path: the same of the TA's stack, below where it was when the TA was entered.
        ta_heap: how many bytes of the TA's heap, from its end, were ever taken.
        heap: of own code, how many bytes more than at its begin the program had asked its allocator for and not given
            back, at most; none if nobody looked.
        heap_frame: the frame of the allocator's function that asked for the last of them; 0 if it asked for none.
        heap_blocks: how many blocks it asked for.
        heap_left: how many bytes more than at its begin it had at its end.
        masked: the instructions before which the normal world's interrupts waited, inner passes included; none if
            nobody has looked.
        stretches: the longest of their rows, the longest first.
    """

    type: Literal["pass"]
    id: Count
    parent: Count
    frame: Count
    mark: Address
    begin: Count
    end: Count
    at: Count
    instructions: Count
    lost: Count
    depth: Count
    closed: bool
    events: Count
    events_dropped: Count
    call: Count = 0
    how: Literal["", "returned", "exit", "left", "ended"] = ""
    thread: Annotated[str, Field(max_length=15)] = ""
    recursions: Count = 0
    given: Annotated[list[Count], Field(max_length=8)] = field(default_factory=list)
    result: Count = 0
    stack: Count | None = None
    stack_frame: Count = 0
    stack_pc: Address = 0
    stack_path: list[int] = field(default_factory=list)
    stack_written: Count = 0
    ta_stack: Count | None = None
    ta_frame: Count = 0
    ta_pc: Address = 0
    ta_path: list[int] = field(default_factory=list)
    ta_heap: Count = 0
    heap: Count | None = None
    heap_frame: Count = 0
    heap_blocks: Count = 0
    heap_left: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 0
    masked: Count | None = None
    stretches: Annotated[list[Stretch], Field(max_length=16)] = field(default_factory=list)


class Shared(RecordModel):
    """What was executed while several threads were in calls: counted under an id of its own, it is of all these passes,
    the innermost of each thread, and of those around them."""

    type: Literal["shared"]
    id: Count
    of: Annotated[list[Count], Field(min_length=2, max_length=64)]


class TraceEnd(RecordModel):
    """The last record; it has `problem` if the plugin met something it does not understand."""

    __qualname__ = "End"  # its name in the schema
    model_config = ConfigDict(title="End")

    type: Literal["end"]
    passes: Count
    frames: Count
    blocks: Count
    problem: str = ""
    problem_at: Address = 0


class CountsOf(NamedTuple):
    """A record of counts, as it is read: rows may be those of other records too."""

    pass_: int
    rows: list[Row]
    type: Literal["counts"] = "counts"


class TakenOf(NamedTuple):
    """A record of taken branches, likewise."""

    pass_: int
    rows: list[tuple[int, int]]
    type: Literal["taken"] = "taken"


class KnownRows:
    """Reads lines of counts and of taken branches."""

    def __init__(self) -> None:
        self._counts: dict[bytes, list[Row]] = {}
        self._taken: dict[bytes, list[tuple[int, int]]] = {}

    def counts(self, line: bytes) -> CountsOf:
        """The counts in a line. Raises ValidationError."""
        return CountsOf(*_known(self._counts, line, _counts_in))

    def taken(self, line: bytes) -> TakenOf:
        """The same of taken branches."""
        return TakenOf(*_known(self._taken, line, _taken_in))


def _known(
    kept: dict[bytes, list[_R]], line: bytes, read: Callable[[bytes], tuple[int, list[_R]]]
) -> tuple[int, list[_R]]:
    """The pass and the rows of a line: those that are kept, if equal ones were read before."""
    match = _LINE.fullmatch(line)
    if match and (known := kept.get(match[2])) is not None:
        return int(match[1]), known
    number, rows = read(line)
    if match and len(match[2]) <= _LONGEST and len(kept) < _MOST:
        kept[match[2]] = rows
    return number, rows


def _counts_in(line: bytes) -> tuple[int, list[Row]]:
    content = CountsLine.model_validate_json(line)
    return content.pass_, list(map(Row._make, content.rows))


def _taken_in(line: bytes) -> tuple[int, list[tuple[int, int]]]:
    content = Taken.model_validate_json(line)
    return content.pass_, content.rows


class RowSums:
    """Adds up the rows of each pass. A pass around many calls has a line for what it executed between two of them."""

    def __init__(self) -> None:
        # Of a pass with one line its rows, of another one their sums.
        self._counts: dict[int, list[Row] | dict[tuple[int, int], int]] = {}
        self._taken: dict[int, list[tuple[int, int]] | Counter[int]] = {}

    def add(self, line: CountsOf | Counts) -> None:
        """Add a line of counts."""
        _add(self._counts, line.pass_, line.rows, _summed)

    def take(self, line: TakenOf | Taken) -> None:
        """Add a line of taken branches."""
        _add(self._taken, line.pass_, line.rows, _counted)

    def counts(self) -> dict[int, Sequence[Row]]:
        """The rows of each pass that has any."""
        return {
            number: rows if isinstance(rows, list) else [Row(*key, times) for key, times in rows.items()]
            for number, rows in self._counts.items()
        }

    def taken(self) -> dict[int, Mapping[int, int]]:
        """By pass, how often the branch at a block's end was taken."""
        equal: dict[int, Counter[int]] = {}
        found: dict[int, Mapping[int, int]] = {}
        for number, rows in self._taken.items():
            if isinstance(rows, Counter):
                found[number] = rows
            else:
                if id(rows) not in equal:
                    equal[id(rows)] = _counted(rows)
                found[number] = equal[id(rows)]
        return found


def _add(
    sums: dict[int, list[_R] | _S], number: int, rows: list[_R], summed: Callable[[list[_R], _S | None], _S]
) -> None:
    found = sums.get(number)
    if found is None:
        sums[number] = rows
    else:
        sums[number] = summed(rows, summed(found, None) if isinstance(found, list) else found)


def _summed(rows: list[Row], into: dict[tuple[int, int], int] | None = None) -> dict[tuple[int, int], int]:
    """Adds rows to sums by frame and block, which are made if there are none."""
    into = {} if into is None else into
    for frame, block, times in rows:
        into[frame, block] = into.get((frame, block), 0) + times
    return into


def _counted(rows: list[tuple[int, int]], into: Counter[int] | None = None) -> Counter[int]:
    """The same by block."""
    into = Counter() if into is None else into
    for block, times in rows:
        into[block] += times
    return into
