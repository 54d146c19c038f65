# SPDX-License-Identifier: BSD-2-Clause
"""Small traces as the emulator's plugin writes them, and a small machine that they are of."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from synthetic import make_records
from worldwise.machine.symbols.names import Function
from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.machine.symbols.table import SymbolTable
from worldwise.plan.case import Case
from worldwise.records.check import CheckedRecords
from worldwise.records.models import Overhead, Sample
from worldwise.records.models import Start as RecordStart
from worldwise.records.trace_records import Pass

CASE = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 3, 1)
PROCESS = "optee-client"
CLIENT, LINUX, CORE, TA = (
    Level("normal", 0, PROCESS),
    Level("normal", 1),
    Level("secure", 1),
    Level("secure", 0),
)
MONITOR, OTHER = Level("monitor", 3), Level("normal", 0, "tee-supplicant")

# Where each function is: 0x100 bytes from there.
SIZE = 0x100
PLACES: Mapping[Level, tuple[str, Mapping[str, int]]] = {
    CLIENT: ("client", {"main": 0x1000, "invoke": 0x1100, "memset": 0x1200, "__memset_zva64": 0x1300}),
    LINUX: ("linux", {"vectors": 0x2000, "el0_svc": 0x2100, "__arm_smccc_smc": 0x2200, "cpu_switch_to": 0x2300}),
    MONITOR: ("bl31", {"smc_handler": 0x3000}),
    CORE: ("tee", {"thread_vector_table": 0x4000, "thread_std_smc_entry": 0x4100, "assembly": 0x4200}),
    TA: ("ta", {"__ta_entry": 0x5000, "invoke_command": 0x5100}),
    # Where the client has its own functions, and other ones.
    OTHER: ("tee-supplicant", {"process_one_request": 0x1000, "read_request": 0x1100}),
}
MARK = 0x1010
# Behind this one stands a reading of the cycle counter.
CYCLES_MARK = 0x5110

# Each image has its own instructions: mov w0, #its number. Functions but `assembly` make a frame record.
_MOV = 0x52800000
_STP = 0xA9BF7BFD
_MRS_PMCCNTR = 0xD53B9D00


def code_of(context: Level, start: int, length: int) -> bytes:
    """What the machine has there."""
    image, functions = PLACES[context]
    words = []
    for pc in range(start, start + length, 4):
        made = next((name for name, at in functions.items() if at == pc), "")
        word = _STP if made and made != "assembly" else _MOV | len(image) << 5
        words.append(_MRS_PMCCNTR if pc == CYCLES_MARK + 8 else word)
    return b"".join(word.to_bytes(4, "little") for word in words)


def address_space() -> AddressSpace:
    """The machine's symbols. Behind the last function of an image there is code that has no name."""
    space = AddressSpace()
    for context, (image, functions) in PLACES.items():
        low, high = min(functions.values()), max(functions.values()) + 2 * SIZE
        table = SymbolTable(
            image,
            [Function(name, start, SIZE, f"{image}/{name}.c") for name, start in functions.items()],
            [(low, code_of(context, low, high - low))],
        )
        space.map(context, low, high, 0, table)
    return space


def place(context: Level, function: str, offset: int = 0) -> int:
    """The address of a function."""
    return PLACES[context][1][function] + offset


class Ids(NamedTuple):
    """What a started trace has by then: the contexts' ids."""

    client: int
    linux: int
    monitor: int
    core: int
    ta: int


class TraceBuilder:
    """Writes a trace record by record. What is executed is added up, so that the passes are right."""

    def __init__(self, mode: str = "stack") -> None:
        self.records: list[dict[str, Any]] = []
        self._next: dict[str, int] = {}
        self._contexts: dict[int, Level] = {}
        self._blocks: dict[tuple[Level, int, int], int] = {}
        self._counted: dict[int, int] = {}
        self.add(
            "start",
            format=1,
            mode=mode,
            task_switch="0x2300",
            thread_suspend="0x0",
            thread_resume="0x0",
            witness=0,
        )

    def add(self, what: str, /, **fields: Any) -> None:
        """Any record."""
        self.records.append({"type": what, **fields})

    def _id(self, kind: str) -> int:
        self._next[kind] = self._next.get(kind, 0) + 1
        return self._next[kind]

    def context(self, context: Level, task: int = 0, space: int = 0) -> int:
        """Code of a context is going to run."""
        number = self._id("context")
        secure = context.world != "normal"
        self.add("context", id=number, el=context.el, secure=secure, task=hex(task), space=hex(space))
        self._contexts[number] = context
        return number

    def contexts(self) -> Ids:
        """One context of each kind, of the region's own task."""
        return Ids(*(self.context(context) for context in (CLIENT, LINUX, MONITOR, CORE, TA)))

    def frame(self, parent: int, kind: str, context: int, target: int, site: int = 0) -> int:
        """A node of the call tree."""
        number = self._id("frame")
        self.add("frame", id=number, parent=parent, kind=kind, site=hex(site), target=hex(target), context=context)
        return number

    def region(self, context: int, mark: int = MARK) -> int:
        """The frame of a region that begins there."""
        return self.frame(0, "region", context, mark + 8, mark)

    def run(self, pass_: int, frame: int, context: int, pc: int, instructions: int, times: int = 1) -> None:
        """Instructions of a pass itself, executed on a frame."""
        known = self._contexts[context]
        key = (known, pc, instructions)
        if key not in self._blocks:
            self._blocks[key] = self._id("block")
            code = code_of(known, pc, 4 * instructions).hex()
            self.add("block", id=self._blocks[key], pc=hex(pc), instructions=instructions, code=code)
        self.add("counts", **{"pass": pass_, "rows": [[frame, self._blocks[key], times]]})
        self._counted[pass_] = self._counted.get(pass_, 0) + instructions * times

    def cycles(self, pass_: int, core: str, *rows: Sequence[int]) -> None:
        """What a core's model says: rows of frame, block, six causes, and cycles and instructions outside."""
        self.add("cycles", **{"pass": pass_}, core=core, rows=[[*row] for row in rows])

    def stretch(self, pass_: int, at: int, core: str, *rows: Sequence[int]) -> None:
        """What a core's model says of a stretch: rows of frame, block, times, and as `cycles` has them."""
        self.add("stretch", **{"pass": pass_}, at=at, core=core, rows=[[*row] for row in rows])

    def skipped(self, pass_: int, *rows: Sequence[int]) -> None:
        """What sampling left out: rows of frame, block, times."""
        self.add("skipped", **{"pass": pass_}, rows=[[*row] for row in rows])

    def units(self, pass_: int, core: str, *units: tuple[int, int]) -> None:
        """What stands for it: cycles and instructions of each unit."""
        sums = {
            "units": len(units),
            "cycles": sum(cycles for cycles, _ in units),
            "instructions": sum(instructions for _, instructions in units),
            "cycles_squared": sum(cycles**2 for cycles, _ in units),
            "cycles_by_instructions": sum(cycles * instructions for cycles, instructions in units),
            "instructions_squared": sum(instructions**2 for _, instructions in units),
        }
        self.add("units", **{"pass": pass_}, core=core, **sums)

    def event(self, pass_: int, at: int, what: str, context: int, target: int) -> None:
        """A change of exception level."""
        self.add("event", **{"pass": pass_}, at=at, what=what, site="0x0", target=hex(target), context=context)

    def witness(self, context: int, pc: int, shadow: Sequence[int], memory: Sequence[int]) -> None:
        """A moment at which the stack in memory was looked at."""
        self.add("witness", **{"pass": 1}, pc=hex(pc), link="0x0", context=context, shadow=[*shadow], memory=[*memory])

    def close(self, number: int, frame: int, begin: int, parent: int = 0, **fields: Any) -> int:
        """End a pass; `fields` replace what would be right. Gives the counter at its end."""
        inside = self._counted.get(number, 0)
        if parent:
            self._counted[parent] = self._counted.get(parent, 0) + inside
        right = {
            "id": number,
            "parent": parent,
            "frame": frame,
            "mark": hex(MARK),
            "begin": begin,
            "end": begin + inside,
            "at": 0,
            "instructions": inside,
            "lost": 0,
            "depth": 1,
            "closed": True,
            "events": 0,
            "events_dropped": 0,
        }
        self.add("pass", **right | fields)
        return begin + inside

    def end(self, **fields: Any) -> None:
        """The last record."""
        self.add("end", **{"passes": 1, "frames": 1, "blocks": 1} | fields)

    def text(self) -> str:
        """The trace's lines."""
        return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in self.records)

    def write(self, path: Path) -> Path:
        """Write it, packed if the name says so."""
        content = self.text().encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return path


def a_pass(number: int, **fields: Any) -> Pass:
    """A pass of a region that was left in order, with nothing in it."""
    names = ("parent", "begin", "end", "at", "instructions", "lost", "events", "events_dropped")
    usual: dict[str, Any] = dict.fromkeys(names, 0)
    return Pass(**{**usual, "type": "pass", "id": number, "mark": MARK, "depth": 1, "closed": True, **fields})


def samples_of(spans: Sequence[tuple[int, int]], phase: str = "sample", place: str = "client") -> list[Sample]:
    """Samples of `invoke` between two readings each, of which measuring takes 5."""
    return [
        Sample.model_validate(
            {
                "type": "sample",
                "measure": "invoke",
                "place": place,
                "index": index,
                "phase": phase,
                "begin": begin,
                "end": end,
                "count": end - begin - 5,
            }
        )
        for index, (begin, end) in enumerate(spans)
    ]


def checked(samples: Sequence[Sample]) -> CheckedRecords:
    """Records of CASE with these samples."""
    made = make_records(CASE)
    start = RecordStart.model_validate(made[0])
    overheads = {one["place"]: Overhead.model_validate(one) for one in made if one["type"] == "overhead"}
    places = {(one.measure, one.place) for one in samples}
    return CheckedRecords(
        start, overheads, {key: tuple(one for one in samples if (one.measure, one.place) == key) for key in places}
    )
