# SPDX-License-Identifier: BSD-2-Clause
"""Records that every case can have: about the measured program, its calls, and what went wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema, core_schema

from worldwise.base.units import CYCLES, INSTRUCTIONS, NANOSECONDS, Unit
from worldwise.plan.spec import PLACES


@dataclass(frozen=True)
class OneOf:
    """Annotates a model's text as one of `names`, as a Literal would."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.names))


Count = Annotated[int, Field(ge=0, lt=2**64)]
Text = Annotated[str, Field(min_length=1)]
Bytes = Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
Place = Annotated[str, OneOf(PLACES)]

# Every counter that a place can be measured with.
Clock = Literal[
    "cntvct_el0",
    "pmccntr_el0",
    "systick",
    "dwt_cyccnt",
    "perf_cpu_cycles",
    "perf_user_cycles",
    "perf_cycles",
    "clock_monotonic_raw",
]
CLOCK: Clock = "cntvct_el0"
# Unit -> the counters of a board that count it. A real one counts cycles.
BOARD_CLOCKS: Mapping[Unit, tuple[Clock, ...]] = {INSTRUCTIONS: ("systick",), CYCLES: ("dwt_cyccnt", "systick")}
# Unit -> the counters of a Linux host that count it.
HOST_CLOCKS: Mapping[Unit, tuple[Clock, ...]] = {
    CYCLES: ("perf_user_cycles",),
    NANOSECONDS: ("clock_monotonic_raw",),
}
# The same of a host with OP-TEE, where a call is in Linux and in the secure world too.
TEE_HOST_CLOCKS: Mapping[Unit, tuple[Clock, ...]] = {**HOST_CLOCKS, CYCLES: ("perf_cycles",)}
# Target -> its counter, where the core has no counter that user programs can read.
TARGET_CLOCKS: Mapping[str, Clock] = {"linux-armv7": "perf_cpu_cycles"}


def hex_digits(digits: int) -> Any:
    """A model's text field of so many lower-case hex digits."""
    return Field(pattern=f"^[0-9a-f]{{{digits}}}$")


class RecordModel(BaseModel):
    """A record: it has no unknown field, and each field has exactly its declared type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Start(RecordModel):
    """The first record: which program measures what, with which counter of which unit.

    A program for a board names the board.
    """

    type: Literal["start"]
    format: Literal[2]
    program: Text
    board: Text | None = None
    operation: Text
    implementation: Text
    clock: Clock
    unit: Unit
    warmup: Count
    samples: Count
    parameters: str


class Overhead(RecordModel):
    """What measuring costs at a place: `count` is that of an empty region, `nested` of a whole region inside another.

    `clock` is the counter of the place's regions. `nested` is in the outer region's counter, and includes what regions
    inside this one add.
    """

    type: Literal["overhead"]
    place: Place
    clock: Clock
    count: Count
    nested: Count | None = None


class Sample(RecordModel):
    """One call: the counter before and after, and the count without the cost of measuring.

    A call that passed its region several times has the number of passes in `spans` and their sum in `busy`; `begin` is
    then that of the first pass and `end` that of the last. A call that need not pass the region and did not has 0 in
    `spans` and `busy`; its `begin` and `end` are when the region around began.
    """

    type: Literal["sample"]
    measure: Text
    place: Place
    index: Count
    phase: Literal["first", "warmup", "sample"]
    begin: Count
    end: Count
    spans: Count | None = None
    busy: Count | None = None
    inner: Count | None = None
    count: Count

    @property
    def raw(self) -> int:
        """What the counter showed, the cost of measuring included."""
        return self.end - self.begin if self.busy is None else self.busy


class Conditions(RecordModel):
    """What happened on a Linux host during a call, besides what its counter counted.

    `instructions` are those where cycles are counted too, `overhead` how many of them measuring took; both are absent
    if the processor does not count them. `enabled` and `running` are the nanoseconds for which perf's counters were to
    count, and did; 0 by the clock. `switches` is how often another task had the processor or this one waited,
    `migrations` whether it ended on another processor, `khz_begin` and `khz_end` the processor's clock, 0 if the kernel
    does not say.
    """

    type: Literal["conditions"]
    measure: Text
    index: Count
    instructions: Count | None = None
    overhead: Count | None = None
    enabled: Count
    running: Count
    switches: Count
    migrations: Count
    khz_begin: Count
    khz_end: Count

    @property
    def counted(self) -> int | None:
        """The instructions of the call alone."""
        return None if self.instructions is None else self.instructions - (self.overhead or 0)


class Memory(RecordModel):
    """The memory that one call takes at its peak, in bytes: measured in a separate call, outside the samples.

    `heap_left` is what the call leaves allocated. In a TA `heap` is the least free heap with which the call succeeds,
    and is there if that was looked for.
    """

    type: Literal["memory"]
    measure: Text
    place: Literal["mcu", "ta"]
    stack: Annotated[int, Field(ge=1, lt=2**32)]
    heap: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    heap_left: Annotated[int, Field(ge=0, lt=2**32)] | None = None

    @model_validator(mode="after")
    def _heap(self) -> Self:
        of_board = self.place == "mcu"
        if (self.heap is None and of_board) or (self.heap_left is None) == of_board:
            raise ValueError("'heap' and 'heap_left' are there on a board, 'heap_left' only there")
        return self


class Fault(RecordModel):
    """The core stopped the program on a board: where (`pc`, called from `lr`), and what the core reports.

    `address` is the one that could not be reached, if the core knows it; `status` is the core's fault status register,
    0 if it has none. After a stack overflow `pc` and `lr` are lost; `call0` and up are then the values on the stack
    that look like return addresses, the innermost first.
    """

    type: Literal["fault"]
    kind: Literal[
        "hard fault",
        "bus fault",
        "usage fault",
        "memory fault",
        "secure fault",
        "unexpected exception",
        "stack overflow",
    ]
    pc: Count | None = None
    lr: Count | None = None
    address: Count | None = None
    call0: Count | None = None
    call1: Count | None = None
    call2: Count | None = None
    call3: Count | None = None
    call4: Count | None = None
    call5: Count | None = None
    status: Count

    @property
    def calls(self) -> tuple[int, ...]:
        """The values that look like return addresses on an overflowed stack, the innermost first."""
        calls = (self.call0, self.call1, self.call2, self.call3, self.call4, self.call5)
        return tuple(call for call in calls if call is not None)

    def describe(self, symbol: Callable[[int], str] = lambda _: "") -> str:
        """One line for a person. `symbol` names an address, such as `sign+0x12`, or returns nothing."""

        def named(address: int, *, return_to: bool = False) -> str:
            # The call is the instruction before the return address.
            name = symbol(address - 2 if return_to else address)
            return f"{address:#010x} ({name})" if name else f"{address:#010x}"

        text = f"the measured program stopped with {'an' if self.kind.startswith('unex') else 'a'} {self.kind}"
        if self.pc is not None:
            text += f" at {named(self.pc)}"
        if self.lr is not None:
            text += f", called from {named(self.lr, return_to=True)}"
        if self.address is not None:
            text += f"; it could not reach {named(self.address)}"
        if self.calls:
            text += f"; the innermost calls: {', '.join(named(call, return_to=True) for call in self.calls)}"
        return f"{text}; fault status {self.status:#x}" if self.status else text


class Check(RecordModel):
    """A check that the program did on its own result, and whether it passed."""

    type: Literal["check"]
    name: Text
    measure: Text
    ok: bool


# What an outcome tried: the machine was stopped at an instruction.
CUT = "cut"


class Outcome(RecordModel):
    """One attempt of a campaign and its observed outcome: `what` was tried, and `result`, a word for tables.

    `at` is the instruction at which the machine was stopped, counted from the attempt's begin.
    """

    type: Literal["outcome"]
    what: Text
    result: Text
    detail: str = ""
    at: Count | None = None


class Failure(RecordModel):
    """The program could not continue."""

    type: Literal["error"]
    message: str


class End(RecordModel):
    """The last record; status 0 if all went well.

    `idle` is how often the processor had nothing to do during the case. Virtual time then passes without instructions,
    so the counts would be wrong.
    """

    type: Literal["end"]
    status: int
    idle: int = Field(ge=0)
