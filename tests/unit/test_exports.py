# SPDX-License-Identifier: BSD-2-Clause
"""Exports against models of the formats they claim."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from flames import FLAME_STACKS
from worldwise.explain.stacks import StackFrame
from worldwise.report.formats.exports import Slice, callgrind, chrome_trace, speedscope


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


# --- speedscope's schema, as far as a sampled profile goes ---


class SpeedscopeFrame(Strict):
    name: str
    file: str | None = None
    line: int | None = None
    col: int | None = None


class Shared(Strict):
    frames: list[SpeedscopeFrame]


class SampledProfile(Strict):
    type: Literal["sampled"]
    name: str
    unit: Literal["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]
    startValue: int
    endValue: int
    samples: list[list[Annotated[int, Field(ge=0)]]]
    weights: list[int]


class Speedscope(Strict):
    schema_: Literal["https://www.speedscope.app/file-format-schema.json"] = Field(alias="$schema")
    shared: Shared
    profiles: list[SampledProfile]
    name: str | None = None
    activeProfileIndex: int | None = None
    exporter: str | None = None


def test_speedscope_has_every_stack_with_its_instructions() -> None:
    text = speedscope(FLAME_STACKS, "An empty invoke")
    assert text == speedscope(dict(reversed(FLAME_STACKS.items())), "An empty invoke")
    content = Speedscope.model_validate_json(text)
    (profile,) = content.profiles
    assert profile.unit == "none"
    assert "instructions" in profile.name
    assert profile.startValue == 0
    assert profile.endValue == sum(profile.weights) == sum(FLAME_STACKS.values())
    names = [frame.name for frame in content.shared.frames]
    assert len(set(names)) == len(names)
    found = {
        tuple(names[index] for index in sample): weight
        for sample, weight in zip(profile.samples, profile.weights, strict=True)
    }
    assert found == {tuple(map(str, stack)): count for stack, count in FLAME_STACKS.items()}
    assert {frame.file for frame in content.shared.frames} == {item.image for stack in FLAME_STACKS for item in stack}


def test_callgrind_counts_a_stack_once_for_each_call_in_it() -> None:
    """If this fails, a function that calls itself has more instructions below it than there are."""
    main, again, other = (StackFrame(name, "ta", "TA code", "secure") for name in ("main", "again", "line\nbreak"))
    stacks = {(main,): 1, (main, again): 20, (main, again, again, again, other): 300}
    text = callgrind(stacks, "recursion")
    assert text == callgrind(dict(reversed(stacks.items())), "recursion")
    functions = {block.splitlines()[2]: block.splitlines()[3:] for block in text.split("\n\n")[1:-1]}
    call = ["cob=(1) ta", "cfi=(1) ???"]
    again_once, other_once = ["cfn=(1) again", "calls=1 0"], [f"cfn=(2) {callgrind_name(other)}", "calls=1 0"]
    assert functions == {
        "fn=(1) again": ["0 20", *call, *again_once, "0 300", *call, *other_once, "0 300"],
        f"fn=(2) {callgrind_name(other)}": ["0 300"],
        "fn=(3) main": ["0 1", *call, *again_once, "0 320"],
    }
    assert "summary: 321" in text and text.endswith("\ntotals: 321\n")


def callgrind_name(frame: StackFrame) -> str:
    """The function as it stands there, on one line."""
    return str(frame).removesuffix(f" ({frame.image})")


# --- the trace event format, as far as complete events and metadata go ---


class LaneName(Strict):
    name: str


class SortIndex(Strict):
    sort_index: int


class Instructions(Strict):
    instructions: int


class Metadata(Strict):
    ph: Literal["M"]
    pid: int
    tid: int
    name: Literal["process_name", "thread_name", "thread_sort_index"]
    args: LaneName | SortIndex


class Complete(Strict):
    ph: Literal["X"]
    pid: int
    tid: int
    name: str
    cat: str
    ts: float = Field(ge=0)
    dur: float = Field(ge=0)
    args: Instructions


class Trace(Strict):
    traceEvents: list[Annotated[Metadata | Complete, Field(discriminator="ph")]]
    displayTimeUnit: Literal["ms", "ns"]
    otherData: dict[str, str]


SLICES = [
    Slice("normal EL0", "TEEC_InvokeCommand", 0, 1500),
    Slice("EL3", "opteed_smc_handler", 400, 650),
    Slice("secure EL1", "thread_std_smc_entry", 650, 1200),
    Slice("normal EL0", "ioctl", 0, 400),
    Slice("normal EL0", "nothing", 1500, 1500),
]


def test_a_chrome_trace_has_a_named_lane_for_each_world_and_a_nanosecond_for_each_instruction() -> None:
    content = Trace.model_validate_json(chrome_trace(SLICES, "An empty invoke"))
    assert content.displayTimeUnit == "ns"
    assert "1 instruction" in content.otherData["time axis"]
    lanes = {
        event.tid: event.args.name
        for event in content.traceEvents
        if event.ph == "M" and event.name == "thread_name" and isinstance(event.args, LaneName)
    }
    assert list(lanes.values()) == ["normal EL0", "EL3", "secure EL1"]
    complete = [event for event in content.traceEvents if event.ph == "X"]
    found = {(lanes[event.tid], event.name, round(event.ts * 1000), round(event.dur * 1000)) for event in complete}
    assert found == {(item.lane, item.name, item.begin, item.end - item.begin) for item in SLICES}
    assert [event.args.instructions for event in complete] == [round(event.dur * 1000) for event in complete]
    # What lies within another comes after it.
    assert [event.name for event in complete[:2]] == ["TEEC_InvokeCommand", "ioctl"]


@pytest.mark.parametrize(("begin", "end"), [(2, 1), (-1, 1)])
def test_a_slice_that_cannot_be_is_refused(begin: int, end: int) -> None:
    with pytest.raises(ValueError, match="slice x in EL3"):
        Slice("EL3", "x", begin, end)


def test_callgrind_has_the_lines_of_a_functions_own_instructions() -> None:
    """Its own file first, then those of what was put into it; what no line has stands at line 0."""
    work = StackFrame("work", "mine", "mine", "normal")
    sources = {("work", "mine"): {("a.c", 3): 40, ("a.c", 5): 4, ("b.h", 7): 6, ("", 0): 2}}
    text = callgrind({(work,): 52}, "it", sources)
    assert "\nfl=(2) a.c\nfn=(1) work\n3 40\n5 4\nfi=(3) b.h\n7 6\nfe=(2) a.c\n0 2\n" in text
    # A caller names the callee by the same file.
    main = StackFrame("main", "mine", "mine", "normal")
    called = callgrind({(main,): 1, (main, work): 52}, "it", sources)
    assert "cfi=(2) a.c\ncfn=(2) work\n" in called and "fl=(2) a.c\nfn=(2) work\n" in called
    # Lines that have more than the function are another's.
    assert "\nfl=(1) ???\nfn=(1) work\n0 49\n" in callgrind({(work,): 49}, "it", sources)
    assert callgrind({(work,): 49}, "it", {}) == callgrind({(work,): 49}, "it")
