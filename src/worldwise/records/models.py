# SPDX-License-Identifier: BSD-2-Clause
"""Records that every case can have: what the measured program says of itself, of its calls, and of what went wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema, core_schema

from worldwise.plan.spec import PLACES


@dataclass(frozen=True)
class OneOf:
    """Of a model's text: it is one of these, as a Literal of them would say."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.names))


Count = Annotated[int, Field(ge=0, lt=2**64)]
Text = Annotated[str, Field(min_length=1)]
Bytes = Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
Place = Annotated[str, OneOf(PLACES)]

# Every counter that a place can be measured with.
Clock = Literal["cntvct_el0", "pmccntr_el0", "systick", "perf_cpu_cycles"]
CLOCK: Clock = "cntvct_el0"
BOARD_CLOCK: Clock = "systick"
# Of targets whose core has no counter that everybody can read.
TARGET_CLOCKS: Mapping[str, Clock] = {"linux-armv7": "perf_cpu_cycles"}


def hex_digits(digits: int) -> Any:
    """Of a model's text: so many lower-case hex digits."""
    return Field(pattern=f"^[0-9a-f]{{{digits}}}$")


class RecordModel(BaseModel):
    """A record: all of its fields are known, and of the very type they are declared with."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Start(RecordModel):
    """The first record: which program measures what, with which clock. A program for a board knows which."""

    type: Literal["start"]
    format: Literal[2]
    program: Text
    board: Text | None = None
    operation: Text
    implementation: Text
    clock: Clock
    unit: Literal["instructions"]
    warmup: Count
    samples: Count
    parameters: str


class Overhead(RecordModel):
    """What measuring costs at a place: `count` an empty region, `nested` a whole region inside another.

    `clock` is the counter of the place's regions. `nested` is in that of the region around, and has in it what regions
    within this one add.
    """

    type: Literal["overhead"]
    place: Place
    clock: Clock
    count: Count
    nested: Count | None = None


class Sample(RecordModel):
    """One call: the counter before and after, and what is left when the cost of measuring is taken away.

    A call that took several passes through its region has their number in `spans` and their sum in `busy`; `begin` is
    then that of the first and `end` that of the last. One that took none, where a place need not be passed, has 0 in
    all of them; `begin` and `end` then tell when the region around it began.
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


class Memory(RecordModel):
    """What one call takes at its peak, in bytes: found in a call of its own, outside the samples.

    `heap_left` is what the call leaves allocated. In a TA the heap is not looked at.
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
        if (self.heap is None) == of_board or (self.heap_left is None) == of_board:
            raise ValueError("'heap' and 'heap_left' are there on a board, and only there")
        return self


class Fault(RecordModel):
    """The program on a board was stopped by its core: where (`pc`, called from `lr`), and what the core says of it.

    `address` is the one that could not be reached, if the core knows it; `status` its fault status register, 0 if it
    has none. A stack that overflowed has lost where; `call0` and up are then what looks like return addresses on it,
    the innermost first.
    """

    type: Literal["fault"]
    kind: Literal["hard fault", "bus fault", "usage fault", "memory fault", "unexpected exception", "stack overflow"]
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
        """What looks like return addresses on a stack that overflowed, the innermost first."""
        calls = (self.call0, self.call1, self.call2, self.call3, self.call4, self.call5)
        return tuple(call for call in calls if call is not None)

    def describe(self, symbol: Callable[[int], str] = lambda _: "") -> str:
        """One line for a person. `symbol` names an address, such as `sign+0x12`, or gives nothing."""

        def named(address: int, *, return_to: bool = False) -> str:
            # The call is the instruction before.
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
    """Something the program tried on its own result, and whether it went as it must."""

    type: Literal["check"]
    name: Text
    measure: Text
    ok: bool


class Outcome(RecordModel):
    """One attempt of a campaign and how it went, as observed: `what` was tried, `result` a word for tables.

    `at` is the instruction of a machine that was stopped, counted from the attempt's begin.
    """

    type: Literal["outcome"]
    what: Text
    result: Text
    detail: str = ""
    at: Count | None = None


class Failure(RecordModel):
    """The program could not go on."""

    type: Literal["error"]
    message: str


class End(RecordModel):
    """The last record; status 0 if all went well.

    `idle` is how often the processor had nothing to do during the case. Virtual time goes on then without
    instructions, so that the counts would not be counts.
    """

    type: Literal["end"]
    status: int
    idle: int = Field(ge=0)
