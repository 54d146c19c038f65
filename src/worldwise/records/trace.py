# SPDX-License-Identifier: BSD-2-Clause
"""Traces: the records of the measured regions by the emulator's plugin, one JSON line each, and their checks."""

import contextlib
import errno
import functools
import gzip
import io
import zlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import first_problem
from worldwise.records.trace_cycles import (
    Cycles,
    CyclesLine,
    CyclesRow,
    Skipped,
    StretchCycles,
    Stretches,
    StretchRow,
    Units,
    UnitSums,
    check_cycles,
    check_skipped,
    check_stretches,
)
from worldwise.records.trace_records import (
    Block,
    Context,
    Counts,
    CountsOf,
    Event,
    Frame,
    KnownRows,
    Pass,
    Row,
    RowSums,
    Shared,
    Taken,
    TakenOf,
    TraceEnd,
    TraceStart,
    Witness,
)

_COUNTS = b'{"type":"counts"'
_TAKEN = b'{"type":"taken"'
_CYCLES = b'{"type":"cycles"'
# A trace's limits: bytes packed, unpacked and in a line; lines, and rows of counts. A case's trace has some 16 MB in
# 80,000 lines of at most 3 MB, with 350,000 rows.
MOST_PACKED = 2**28
MOST_BYTES = 2**30
MOST_LINE = 32 * 2**20
MOST_RECORDS = 2_000_000
MOST_ROWS = 8_000_000
# After so many passes whoever reads a trace is told how many there were.
EACH = 10_000


class TraceTooLargeError(WorldwiseError):
    """More than a trace can have: `limit` says of what, such as `more than 2,000,000 lines`."""

    def __init__(self, where: Path | str, limit: str) -> None:
        super().__init__(f"{where}: more than a trace can have, and than fits into memory: {limit}")
        self.limit = limit


Record = (
    TraceStart
    | Context
    | Frame
    | Block
    | Counts
    | Cycles
    | Skipped
    | StretchCycles
    | Units
    | Taken
    | Event
    | Witness
    | Pass
    | Shared
    | TraceEnd
)
_ADAPTER: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="type")])


# What the plugin cannot do of what was asked for, which is no defect, and the way out.
WAYS_OUT = {
    "calls that are regions stand in one another too deeply": "64 may be open at a time, of all threads: choose fewer "
    "functions with --region",
}


@dataclass(frozen=True)
class Trace:
    """A whole trace that adds up. Frames, blocks and contexts by their ids; `cycles` by core, then by pass.

    Of passes that were sampled `skipped` has how often a block on a frame was left out of the cycles, and `units`, by
    core, what stands for it. `taken` has, by pass, how often the branch at a block's end was taken. `shared` has, by
    pass, the ids under which that is counted which it shares with calls of other threads. `stretches` has, by core,
    what the models said of the longest stretches of passes, by pass and where they begin in it.
    """

    start: TraceStart
    contexts: Mapping[int, Context]
    frames: Mapping[int, Frame]
    blocks: Mapping[int, Block]
    passes: Sequence[Pass]
    own: Mapping[int, Sequence[Row]] = field(repr=False)
    events: Mapping[int, Sequence[Event]] = field(repr=False)
    witnesses: Sequence[Witness] = field(repr=False)
    cycles: Mapping[str, Mapping[int, Sequence[CyclesRow]]] = field(default_factory=dict, repr=False)
    skipped: Mapping[int, Mapping[tuple[int, int], int]] = field(default_factory=dict, repr=False)
    units: Mapping[str, Mapping[int, UnitSums]] = field(default_factory=dict, repr=False)
    taken: Mapping[int, Mapping[int, int]] = field(default_factory=dict, repr=False)
    shared: Mapping[int, Sequence[int]] = field(default_factory=dict, repr=False)
    stretches: Stretches = field(default_factory=dict, repr=False)

    def find(self, begin: int, end: int) -> Pass | None:
        """The pass between two readings of the counter."""
        return self._by_readings.get((begin, end))

    def calls(self, number: int) -> Sequence[Pass]:
        """The passes that are calls of the function with this number, in the trace's order."""
        return self._by_call.get(number, ())

    def spans(self, begin: int, end: int) -> list[Pass]:
        """The passes between two readings, as deep as the first pass that began at `begin`; none if none did."""
        if begin not in self._begun:
            return []
        level = self._levels[self._depths[self._begun[begin].id]]
        some = level[bisect_left(level, (begin, 0)) : bisect_left(level, (end + 1, 0))]
        found = (self.passes[place] for place in sorted(place for _, place in some))
        return [one for one in found if one.end <= end]

    def outermost(self, of: Pass) -> Pass:
        """The outermost pass around a pass; the pass itself if none is around it."""
        while of.parent in self._by_id:
            of = self._by_id[of.parent]
        return of

    def rows(self, of: Pass) -> Iterator[Row]:
        """The rows of a pass, including the passes inside it."""
        for one in self.with_inner(of):
            yield from self.own.get(one, ())

    def with_inner(self, of: Pass) -> Iterator[int]:
        """The ids of a pass and of those inside it, and those of what these share with others, once."""
        todo = [of.id]
        told: set[int] = set()
        while todo:
            one = todo.pop()
            yield one
            todo += self._inside.get(one, ())
            for each in self.shared.get(one, ()):
                if each not in told:
                    told.add(each)
                    yield each

    # Each table is made once and has at most as many entries as there are passes: a trace may have a million.

    @functools.cached_property
    def _by_id(self) -> Mapping[int, Pass]:
        return {one.id: one for one in self.passes}

    @functools.cached_property
    def _by_call(self) -> Mapping[int, Sequence[Pass]]:
        found: defaultdict[int, list[Pass]] = defaultdict(list)
        for one in self.passes:
            found[one.call].append(one)
        return found

    @functools.cached_property
    def _by_readings(self) -> Mapping[tuple[int, int], Pass]:
        """The first pass for each pair of readings."""
        return {(one.begin, one.end): one for one in reversed(self.passes)}

    @functools.cached_property
    def _begun(self) -> Mapping[int, Pass]:
        """The first pass for each reading at a begin."""
        return {one.begin: one for one in reversed(self.passes)}

    @functools.cached_property
    def _depths(self) -> Mapping[int, int]:
        """How many passes are around each pass."""
        depths: dict[int, int] = {}
        for number, one in self._by_id.items():
            way: list[int] = []
            parent = one.parent
            while number not in depths:
                way.append(number)
                if parent not in self._by_id:
                    break
                number, parent = parent, self._by_id[parent].parent
            depth = depths.get(number, -1)
            for outer in reversed(way):
                depth += 1
                depths[outer] = depth
        return depths

    @functools.cached_property
    def _levels(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """By depth: the sorted readings at the passes' begins, each with its pass's index in `passes`."""
        levels: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for place, one in enumerate(self.passes):
            levels[self._depths[one.id]].append((one.begin, place))
        return {depth: sorted(level) for depth, level in levels.items()}

    @functools.cached_property
    def _inside(self) -> Mapping[int, Sequence[int]]:
        """The passes that are directly inside each pass."""
        inside: defaultdict[int, list[int]] = defaultdict(list)
        for one in reversed(self.passes):
            inside[one.parent].append(one.id)
        return inside


def json_schema() -> dict[str, Any]:
    """The JSON schema of one record of a trace."""
    return _ADAPTER.json_schema()


def read_trace(path: Path, tell: Callable[[int], None] = lambda _: None) -> Trace:
    """Read a trace (plain or gzip) and check that it adds up. Raises WorldwiseError naming the file and the line.

    `tell` is told now and then how many passes were read.
    """
    try:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(files.open_regular(path, MOST_PACKED, path.parent))
            if path.suffix == ".gz":
                return parse_trace(stack.enter_context(gzip.GzipFile(fileobj=file)), path, tell)
            return parse_trace(file, path, tell)
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(where: Path | str, error: Exception) -> WorldwiseError:
    """What is said of a file that the system or gzip does not let be read."""
    reason = error.strerror if isinstance(error, OSError) else None
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return TraceTooLargeError(where, f"more than {files.size_words(MOST_PACKED)} of a file")
    return WorldwiseError(f"{where}: cannot be read: {files.quoted(reason or str(error))}")


def parse_trace(file: io.BufferedIOBase, path: Path, tell: Callable[[int], None] = lambda _: None) -> Trace:
    """The trace in an open file, not compressed; `path` is for errors. Raises WorldwiseError as read_trace does."""
    start: TraceStart | None = None
    end: TraceEnd | None = None
    contexts: dict[int, Context] = {}
    frames: dict[int, Frame] = {}
    blocks: dict[int, Block] = {}
    passes: list[Pass] = []
    sums = RowSums()
    cycles: defaultdict[str, defaultdict[int, list[CyclesRow]]] = defaultdict(lambda: defaultdict(list))
    skipped: defaultdict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    units: defaultdict[str, dict[int, UnitSums]] = defaultdict(dict)
    events: defaultdict[int, list[Event]] = defaultdict(list)
    witnesses: list[Witness] = []
    shared: defaultdict[int, list[int]] = defaultdict(list)
    stretches: defaultdict[str, dict[tuple[int, int], Sequence[StretchRow]]] = defaultdict(dict)
    for number, record in enumerate(_records(file, path), 1):
        if end or (start is None) != isinstance(record, TraceStart):
            raise WorldwiseError(f"{path}:{number}: a '{record.type}' where none may stand")
        match record:
            case CountsOf() | Counts():
                sums.add(record)
            case TakenOf() | Taken():
                sums.take(record)
            case Pass():
                passes.append(record)
                if not len(passes) % EACH:
                    tell(len(passes))
            case TraceStart():
                start = record
            case Context():
                contexts[record.id] = record
            case Frame():
                frames[record.id] = record
            case Block():
                blocks[record.id] = record
            case Cycles():
                cycles[record.core][record.pass_] += record.rows
            case Skipped():
                for frame, block, times in record.rows:
                    skipped[record.pass_][frame, block] += times
            case StretchCycles():
                stretches[record.core][record.pass_, record.at] = record.rows
            case Units():
                of_core = units[record.core]
                of_core[record.pass_] = of_core[record.pass_] + record if record.pass_ in of_core else record
            case Event():
                events[record.pass_].append(record)
            case Witness():
                witnesses.append(record)
            case Shared():
                for one in record.of:
                    shared[one].append(record.id)
            case TraceEnd():
                end = record
    if start is None or end is None:
        raise WorldwiseError(f"{path}: the trace is cut off: the emulator did not end by itself")
    if end.problem in WAYS_OUT:
        raise WorldwiseError(f"{end.problem}, at {end.problem_at:#x}.", WAYS_OUT[end.problem])
    if end.problem:
        raise WorldwiseError(
            f"{path}: the plugin met something it does not understand, so its counts cannot be trusted: "
            f"{files.quoted(end.problem)}, at {end.problem_at:#x}"
        )
    spent = {core: dict(rows) for core, rows in cycles.items()}
    trace = Trace(
        start,
        contexts,
        frames,
        blocks,
        passes,
        sums.counts(),
        dict(events),
        witnesses,
        spent,
        dict(skipped),
        dict(units),
        sums.taken(),
        dict(shared),
        dict(stretches),
    )
    _check(trace, path)
    return trace


def _records(file: io.BufferedIOBase, path: Path) -> Iterator[Record | CountsOf | TakenOf]:
    number = rows = size = 0
    known = KnownRows()
    try:
        while line := file.readline(MOST_LINE):
            number += 1
            size += len(line)
            if len(line) == MOST_LINE or size > MOST_BYTES or number > MOST_RECORDS or rows > MOST_ROWS:
                raise TraceTooLargeError(f"{path}:{number}", _exceeded(size, number, rows))
            if line.startswith(_COUNTS):
                # By far the longest lines; their sums are checked against the passes.
                counts = known.counts(line)
                rows += len(counts.rows)
                yield counts
            elif line.startswith(_TAKEN):
                taken = known.taken(line)
                rows += len(taken.rows)
                yield taken
            elif line.startswith(_CYCLES):
                took = CyclesLine.model_validate_json(line)
                rows += len(took.rows)
                yield Cycles.model_construct(
                    type="cycles", pass_=took.pass_, core=took.core, rows=list(map(CyclesRow._make, took.rows))
                )
            else:
                record = _ADAPTER.validate_json(line)
                rows += len(record.rows) if isinstance(record, Skipped | StretchCycles) else 0
                yield record
    except ValidationError as error:
        # A line that is not JSON has no wrong field to name.
        where, problem = first_problem(error)
        last = where.rpartition(".")[2]
        where = f"'{last}': " if line.startswith((_COUNTS, _CYCLES, _TAKEN)) else f"{last}: " if where else ""
        raise WorldwiseError(f"{path}:{number}: not a record of a trace: {where}{problem}.") from None
    except (EOFError, zlib.error) as error:
        raise WorldwiseError(f"{path}:{number}: not a record of a trace: {error}") from None


def _exceeded(size: int, lines: int, rows: int) -> str:
    """Which limit of a trace is exceeded, in words: that of a line, if no other is."""
    found = ((size, MOST_BYTES, "bytes, unpacked"), (lines, MOST_RECORDS, "lines"), (rows, MOST_ROWS, "rows"))
    words = (f"more than {most:,} {what}" for number, most, what in found if number > most)
    return next(words, f"a line of {files.size_words(MOST_LINE)} or more")


def _check_nesting(what: str, parents: Mapping[int, int], path: Path) -> None:
    """Refuses passes or frames that are inside themselves: following them would never end."""
    settled: set[int] = set()
    for one in parents:
        way: dict[int, None] = {}
        while one in parents and one not in settled:
            if one in way:
                raise WorldwiseError(f"{path}: {what} {one} is inside itself")
            way[one] = None
            one = parents[one]
        settled.update(way)


def with_inner(trace: Trace, own: Mapping[int, int]) -> dict[int, int]:
    """Each pass's own number plus those of all passes inside it, by the pass's id; `own` has the own numbers.

    What passes share is in each of them, and once in what is around both.
    """
    passes = trace.passes
    counted = {one.id: own.get(one.id, 0) for one in passes}
    # From the innermost out: each pass is added to the one around it once all passes inside it are added.
    inside = dict.fromkeys(counted, 0)
    parents = {one.id: one.parent for one in passes}
    for parent in parents.values():
        if parent in inside:
            inside[parent] += 1
    ready = [one for one, left in inside.items() if not left]
    while ready:
        done = ready.pop()
        parent = parents[done]
        if parent in counted:
            counted[parent] += counted[done]
            inside[parent] -= 1
            if not inside[parent]:
                ready.append(parent)
    for one, ids in _shared_inside(trace).items():
        counted[one] += sum(own.get(each, 0) for each in ids)
    return counted


def _shared_inside(trace: Trace) -> Mapping[int, set[int]]:
    """The ids of what each pass shares, with those of all passes inside it."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    parents = {one.id: one.parent for one in trace.passes}
    for one, ids in trace.shared.items():
        around = one
        while around in parents:
            found[around].update(ids)
            around = parents[around]
    return found


def _check(trace: Trace, path: Path) -> None:
    seen: set[int] = set()
    for one in trace.passes:
        if one.id in seen:
            raise WorldwiseError(f"{path}: a second pass {one.id}")
        seen.add(one.id)
    _check_nesting("pass", {one.id: one.parent for one in trace.passes}, path)
    _check_nesting("frame", {one.id: one.parent for one in trace.frames.values()}, path)
    if trace.start.mode == "stack":
        _check_counts(trace, path)
        _check_masked(trace, path)
    check_cycles(trace.own, trace.cycles, path)
    check_skipped(trace.own, trace.skipped, path)
    lengths = {(one.id, row.at): row.instructions for one in trace.passes for row in one.stretches}
    sizes = {number: block.instructions for number, block in trace.blocks.items()}
    check_stretches(trace.stretches, lengths, trace.frames, sizes, path)


def _check_masked(trace: Trace, path: Path) -> None:
    """Refuses stretches that do not fit into their pass or into one another, or that begin or end nowhere."""
    for one in trace.passes:
        rows = sorted(one.stretches)
        begins = [*(row.at for row in rows), one.instructions]
        if any(row.at + row.instructions > after for row, after in zip(rows, begins[1:], strict=True)):
            raise WorldwiseError(f"{path}: stretches of pass {one.id} overlap, or go on behind it")
        masked = one.masked or 0
        if sum(row.instructions for row in rows) > masked or masked > one.instructions:
            raise WorldwiseError(
                f"{path}: pass {one.id} has {one.instructions} instructions, {masked} of them masked, and its "
                f"stretches have {sum(row.instructions for row in rows)}"
            )
        for frame in (number for row in rows for number in (row.frame, row.last_frame)):
            if frame not in trace.frames:
                raise WorldwiseError(f"{path}: pass {one.id} names frame {frame}, and it does not exist")


def _check_counts(trace: Trace, path: Path) -> None:
    counted: dict[int, int] = {}
    every = {one.id for one in trace.passes}
    shares = {each for ids in trace.shared.values() for each in ids}
    if wrong := sorted(shares & every | trace.shared.keys() - every):
        raise WorldwiseError(f"{path}: {wrong[0]} is shared, but not between passes")
    totals: dict[int, int] = {}  # Equal rows are one object.
    for number in (*every, *shares):
        rows = trace.own.get(number, ())
        if id(rows) in totals:
            counted[number] = totals[id(rows)]
            continue
        total = 0
        for row in rows:
            if row.frame not in trace.frames:
                raise WorldwiseError(f"{path}: pass {number} names frame {row.frame}, and it does not exist")
            if row.block not in trace.blocks:
                raise WorldwiseError(f"{path}: pass {number} names block {row.block}, and it does not exist")
            total += row.times * trace.blocks[row.block].instructions
        counted[number] = totals[id(rows)] = total
    counted = with_inner(trace, counted)
    for one in trace.passes:
        if counted[one.id] != one.instructions:
            raise WorldwiseError(
                f"{path}: the blocks of pass {one.id} have {counted[one.id]} instructions, the plugin counted "
                f"{one.instructions}"
            )
