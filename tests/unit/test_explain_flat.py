# SPDX-License-Identifier: BSD-2-Clause
"""Explaining a microcontroller's program, from a small trace: interrupts, facts of functions, and the deepest stack."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from traces import TraceBuilder
from worldwise.base.errors import WorldwiseError
from worldwise.explain.explanation import Explanation
from worldwise.explain.flat import FlatExplainer
from worldwise.explain.layers import load_rules
from worldwise.machine.symbols.names import Function
from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.machine.symbols.table import SymbolTable
from worldwise.plan.case import parse_case
from worldwise.records.check import CheckedRecords
from worldwise.records.models import Memory, Overhead, Sample, Start
from worldwise.records.trace import read_trace
from worldwise.records.trace_records import Block
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.formats.printed_sections import print_sections

CASE = parse_case("mps2-an386/p256-m-Os/sign,curve=secp256r1,size=32B", 1, 0)
PLACES = {"main": 0x100, "sign": 0x200, "leaf": 0x300, "SysTick_Handler": 0x400}
SOURCES = {"sign": "/in/source/sign.c", "leaf": "/in/source/leaf.c", "main": "/in/guest/mcu/main.c"}
# Two narrow instructions, then a wide one: 8 bytes.
CODE = "08b500bf" + "4ff00000"
INSTRUCTIONS = 3


def block(number: int, pc: int, kinds: str = "s.l") -> dict[str, Any]:
    """A block of three instructions of T32."""
    return {"id": number, "pc": hex(pc), "instructions": INSTRUCTIONS, "code": CODE, "set": "t32", "kinds": kinds}


def trace_of(**fields: Any) -> TraceBuilder:
    """main calls sign 5 times, which calls leaf 7 times and is interrupted twice; fields replace those of the pass."""
    trace = TraceBuilder()
    for number, el in ((1, 0), (2, 1)):
        trace.add("context", id=number, el=el, secure=False, task="0x0", space="0x0")
    region = trace.frame(0, "region", 1, PLACES["main"], PLACES["main"])
    sign = trace.frame(region, "call", 1, PLACES["sign"], PLACES["main"])
    leaf = trace.frame(sign, "call", 1, PLACES["leaf"], PLACES["sign"])
    handler = trace.frame(leaf, "exception", 2, PLACES["SysTick_Handler"], PLACES["leaf"])
    counts = ((region, "main", 1), (sign, "sign", 5), (leaf, "leaf", 7), (handler, "SysTick_Handler", 2))
    for number, (frame, name, times) in enumerate(counts, 1):
        trace.add("block", **block(number, PLACES[name], "md." if name == "leaf" else "s.l"))
        trace.add("counts", **{"pass": 1, "rows": [[frame, number, times]]})
    trace.add("taken", **{"pass": 1, "rows": [[2, 5], [3, 6]]})
    whole = INSTRUCTIONS * sum(times for _, _, times in counts)
    deep: dict[str, Any] = {"stack": 48, "stack_frame": leaf, "stack_pc": hex(PLACES["leaf"]), "stack_path": [0, 8, 24]}
    right: dict[str, Any] = {"instructions": whole, "end": whole}
    trace.close(1, region, 0, **right | deep | fields)
    trace.end()
    return trace


def explainer(directory: Path, trace: TraceBuilder, raw: int = 39) -> FlatExplainer:
    """An explainer of the trace for a sample of so many instructions, and 44 bytes by painting."""
    path = trace.write(directory / "trace.jsonl")
    table = SymbolTable("program", [Function(name, at, 0x100, SOURCES.get(name, "")) for name, at in PLACES.items()])
    space = AddressSpace()
    for level in (Level("normal", 0, "sign"), Level("normal", 1)):
        space.map(level, *table.bounds, 0, table)
    sample = Sample.model_validate(
        {
            "type": "sample",
            "measure": "sign",
            "place": "mcu",
            "index": 0,
            "phase": "first",
            "begin": 1000,
            "end": 1000 + raw,
            "count": raw - 8,
        }
    )
    memory = Memory.model_validate(
        {"type": "memory", "measure": "sign", "place": "mcu", "stack": 44, "heap": 0, "heap_left": 0}
    )
    start, overheads = Start.model_construct(), dict[str, Overhead]()
    records = CheckedRecords(start, overheads, {("sign", "mcu"): (sample,)}, {"sign": memory})
    return FlatExplainer(CASE, records, read_trace(path), space, load_rules(), "sign")


def only(made: FlatExplainer) -> Explanation:
    """The explanation of the one sample."""
    assert made.check() == 1
    return made.explain(made.sample("sign", "mcu", 0))


def test_the_addresses_of_mixed_sizes() -> None:
    """If this fails, instructions of T32 get the wrong function."""
    assert list(Block.model_validate({"type": "block", **block(1, 0x100)}).addresses) == [0x100, 0x102, 0x104, 0x108]


def test_the_counters_interrupt_is_left_out(tmp_path: Path) -> None:
    """If this fails, a sum is not the counter's difference and what it says it left out."""
    one = only(explainer(tmp_path, trace_of()))
    assert one.instructions == sum(one.stacks.values()) == 45
    assert one.uncounted == 6
    assert {";".join(frame.function for frame in stack): count for stack, count in one.stacks.items()} == {
        "main": 3,
        "main;sign": 15,
        "main;sign;leaf": 21,
        "main;sign;leaf;SysTick_Handler": 6,
    }
    assert {name: share.self for name, share in one.layers.items()} == {
        "bench": 3,
        "library": 36,
        "interrupts and start-up": 6,
    }


@pytest.mark.parametrize("raw", [38, 40, 45])
def test_a_sum_that_differs_is_an_error(tmp_path: Path, raw: int) -> None:
    """If this fails, instructions are explained that the counter did not count."""
    with pytest.raises(WorldwiseError, match=rf"no stretch between two readings has the {raw} instructions of sign 0"):
        explainer(tmp_path, trace_of(), raw).check()


def test_a_stack_that_does_not_close_is_an_error(tmp_path: Path) -> None:
    """If this fails, a stack that was lost looks followed."""
    with pytest.raises(WorldwiseError, match=r"ended with another stack than it began with"):
        explainer(tmp_path, trace_of(closed=False)).check()


def test_the_facts_of_each_function(tmp_path: Path) -> None:
    """If this fails, a function's accesses or products are another's."""
    facts = only(explainer(tmp_path, trace_of())).facts
    leaf, sign = facts["leaf", "program"], facts["sign", "program"]
    assert (leaf.loads, leaf.stores, leaf.multiplications, leaf.divisions, leaf.taken) == (0, 0, 7, 7, 6)
    assert (sign.loads, sign.stores, sign.multiplications, sign.divisions, sign.taken) == (5, 5, 0, 0, 5)
    assert leaf.code_bytes == 8


def test_the_way_to_the_deepest_stack(tmp_path: Path) -> None:
    """If this fails, the wrong call is said to need the stack, or a difference to painting is hidden."""
    peak = only(explainer(tmp_path, trace_of())).peak
    assert peak is not None
    assert [(frame.function, size) for frame, size in peak.path] == [("main", 8), ("sign", 16), ("leaf", 24)]
    assert (peak.bytes, peak.painted, peak.written, peak.like_painted) == (48, 44, None, True)
    seen = only(explainer(tmp_path, trace_of(stack_written=44))).peak
    assert seen is not None
    assert seen.written == 44


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "Painting cannot see reserved, unwritten memory; `validation stacks` looks at the stores."),
        ({"stack_written": 44}, "The lowest store is 44 bytes deep: 4 bytes at the lower end are reserved"),
        ({"stack_written": 40}, "Painting differs from that by +4 bytes: its call was another."),
    ],
)
def test_it_is_printed(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    """If this fails, a reader does not see what the small core does, or why two figures of the stack differ."""
    rules = load_rules()
    one = only(explainer(tmp_path, trace_of(**fields)))
    out = io.StringIO()
    sections = explain_report.sections(one, rules, 10, path=False)
    print_sections(sections, Console(file=out, width=200, highlight=False))
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert "6 of them are the counter's own interrupt; the program subtracts it." in out.getvalue()
    assert ["leaf", "(program)", "21", "46.67", "27", "0", "0", "7", "7", "6", "8", "library"] in lines
    assert ["leaf", "(program)", "24", "48"] in lines
    assert "48 bytes by the stack pointer; 44 by painting, with the input of call 0." in out.getvalue()
    assert said in out.getvalue()
    document = explain_report.to_json(one, rules)
    assert document["stack"]["path"][-1] == {"function": "leaf", "image": "program", "bytes": 24}
    assert {one["function"]: one["divisions"] for one in document["functions"]}["leaf"] == 7
