# SPDX-License-Identifier: BSD-2-Clause
"""Traces: what the emulator's plugin saw of the measured regions, one line of JSON each, and whether it adds up."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from worldwise.errors import WorldwiseError

FORMAT = 1


def _address(value: Any) -> Any:
    return int(value, 0) if isinstance(value, str) else value


Count = Annotated[int, Field(ge=0)]
Address = Annotated[int, Field(ge=0, lt=2**64), BeforeValidator(_address, json_schema_input_type=str)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Start(_Record):
    """The first record: the mode, and the addresses the plugin was given."""

    type: Literal["start"]
    format: Literal[1]
    mode: Literal["count", "stack"]
    task_switch: Address
    thread_suspend: Address
    thread_resume: Address
    witness: Count


class Context(_Record):
    """Where code runs: exception level, world, the Linux task (0 for the region's own), and at EL0 of the normal world
    the address of its translation table, which is another after exec."""

    type: Literal["context"]
    id: Count
    el: Literal[0, 1, 2, 3]
    secure: bool
    task: Address
    space: Address


class Frame(_Record):
    """A node of the call tree: how `target` was come to, from the function or instruction `site` of its parent."""

    type: Literal["frame"]
    id: Count
    parent: Count
    kind: Literal["region", "call", "exception", "enter", "task", "unwound", "lost"]
    site: Address
    target: Address
    context: Count


class Block(_Record):
    """Some instructions in a row: the address of the first, how many, their bytes in hexadecimal."""

    type: Literal["block"]
    id: Count
    pc: Address
    instructions: Count
    code: Annotated[str, Field(pattern="^[0-9a-f]*$")]


class Row(NamedTuple):
    """A block was executed so many times on a frame."""

    frame: int
    block: int
    times: int


class Counts(_Record):
    """How often blocks were executed as a pass's own: rows of frame, block, times."""

    type: Literal["counts"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    rows: list[Row]


class Event(_Record):
    """A change of exception level: `at` instructions after the outermost region's begin."""

    type: Literal["event"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    at: Count
    what: Literal["sync", "irq", "fiq", "serror", "eret", "task"]
    site: Address
    target: Address
    context: Count


class Witness(_Record):
    """The callers of one moment, innermost first: as the plugin has them, and as the frame records in memory do."""

    type: Literal["witness"]
    pass_: Annotated[int, Field(alias="pass", ge=0)]
    pc: Address
    link: Address
    context: Count
    shadow: list[int]
    memory: list[int]


class Pass(_Record):
    """One pass through a region, with the counter as the program read it at both ends.

    Attributes:
        parent: the pass around it, 0 if none.
        frame: the one it began on.
        at: instructions after the begin of the outermost pass around it.
        instructions: from the reading at its begin (included) to that at its end (excluded), inner passes included.
        lost: of them, those on a stack that could not be followed.
        closed: the stack at its end was that of its begin.
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


class End(_Record):
    """The last record; `problem` if the plugin met something it does not understand."""

    type: Literal["end"]
    passes: Count
    frames: Count
    blocks: Count
    problem: str = ""
    problem_at: Address = 0


Record = Start | Context | Frame | Block | Counts | Event | Witness | Pass | End
_ADAPTER: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="type")])


@dataclass(frozen=True)
class Trace:
    """A whole trace that adds up. Frames, blocks and contexts by their ids."""

    start: Start
    contexts: Mapping[int, Context]
    frames: Mapping[int, Frame]
    blocks: Mapping[int, Block]
    passes: Sequence[Pass]
    own: Mapping[int, Sequence[Row]] = field(repr=False)
    events: Mapping[int, Sequence[Event]] = field(repr=False)
    witnesses: Sequence[Witness] = field(repr=False)

    def find(self, begin: int, end: int) -> Pass | None:
        """The pass between two readings of the counter."""
        return next((one for one in self.passes if (one.begin, one.end) == (begin, end)), None)

    def rows(self, of: Pass) -> Iterator[Row]:
        """What was executed in a pass, the passes inside it included."""
        yield from self.own.get(of.id, ())
        for inner in self.passes:
            if inner.parent == of.id:
                yield from self.rows(inner)


def json_schema() -> dict[str, Any]:
    """The JSON schema of one record of a trace."""
    return _ADAPTER.json_schema()


def read_trace(path: Path) -> Trace:
    """Read a trace (plain or gzip) and check that it adds up. Raises WorldwiseError naming the file and the line."""
    start: Start | None = None
    end: End | None = None
    contexts: dict[int, Context] = {}
    frames: dict[int, Frame] = {}
    blocks: dict[int, Block] = {}
    passes: list[Pass] = []
    own: defaultdict[int, list[Row]] = defaultdict(list)
    events: defaultdict[int, list[Event]] = defaultdict(list)
    witnesses: list[Witness] = []
    for number, record in enumerate(_records(path), 1):
        if end or (start is None) != isinstance(record, Start):
            raise WorldwiseError(f"{path}:{number}: a '{record.type}' where none may stand")
        match record:
            case Start():
                start = record
            case Context():
                contexts[record.id] = record
            case Frame():
                frames[record.id] = record
            case Block():
                blocks[record.id] = record
            case Counts():
                own[record.pass_] += record.rows
            case Event():
                events[record.pass_].append(record)
            case Witness():
                witnesses.append(record)
            case Pass():
                passes.append(record)
            case End():
                end = record
    if start is None or end is None:
        raise WorldwiseError(f"{path}: the trace is cut off: the emulator did not end of its own")
    if end.problem:
        raise WorldwiseError(
            f"{path}: the plugin met something it does not understand, so its counts are not to be trusted: "
            f"{end.problem}, at {end.problem_at:#x}"
        )
    trace = Trace(start, contexts, frames, blocks, passes, dict(own), dict(events), witnesses)
    if start.mode == "stack":
        _check(trace, path)
    return trace


def _records(path: Path) -> Iterator[Record]:
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for line in file:
                number += 1
                if line.startswith(b'{"type":"counts"'):
                    # By far the longest; the rows' sum is checked against the pass.
                    content = json.loads(line)
                    rows = list(map(Row._make, content["rows"]))
                    yield Counts.model_construct(type="counts", pass_=content["pass"], rows=rows)
                else:
                    yield _ADAPTER.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        # A line that is no JSON at all has no place in it that is wrong.
        where = f"{first['loc'][-1]}: " if first["loc"] else ""
        raise WorldwiseError(f"{path}:{number}: not a record of a trace: {where}{first['msg']}.") from None
    except (ValueError, KeyError, TypeError, EOFError) as error:
        raise WorldwiseError(f"{path}:{number}: not a record of a trace: {error}") from None
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error}") from None


def _check(trace: Trace, path: Path) -> None:
    for one in trace.passes:
        for row in trace.own.get(one.id, ()):
            if row.frame not in trace.frames:
                raise WorldwiseError(f"{path}: pass {one.id} names frame {row.frame}, which is not there")
        try:
            counted = sum(row.times * trace.blocks[row.block].instructions for row in trace.rows(one))
        except KeyError as error:
            raise WorldwiseError(f"{path}: pass {one.id} names block {error}, which is not there") from None
        if counted != one.instructions:
            raise WorldwiseError(
                f"{path}: the blocks of pass {one.id} have {counted} instructions, the plugin counted "
                f"{one.instructions}"
            )
