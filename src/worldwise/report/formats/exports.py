# SPDX-License-Identifier: BSD-2-Clause
"""Stacks and time lines in the formats of other tools: speedscope, callgrind, and the Chrome trace format that Perfetto
reads.

The folded format is `worldwise.explain.stacks.folded`. Each text is complete, the same for the same input.
"""

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldwise import __version__
from worldwise.base.output.safe_text import json_text, visible
from worldwise.explain.stacks import StackFrame, Stacks

_SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


@dataclass(frozen=True)
class Slice:
    """A stretch that ran without leaving its lane.

    Attributes:
        lane: the world or exception level that it ran in; one row of the time line.
        name: the function or program that ran.
        begin, end: instructions executed since the beginning, at its start and at its end.
    """

    lane: str
    name: str
    begin: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.begin <= self.end:
            raise ValueError(f"slice {self.name} in {self.lane} from {self.begin} to {self.end}")


def speedscope(stacks: Stacks, name: str) -> str:
    """The stacks as a speedscope file with one profile, weights in instructions.

    A frame's `file` is its image. The order of the stacks means nothing: they carry no time.
    """
    ordered = sorted(((stack, count) for stack, count in stacks.items() if count), key=lambda item: repr(item[0]))
    frames = sorted({frame for stack, _ in ordered for frame in stack}, key=repr)
    place = {frame: index for index, frame in enumerate(frames)}
    content = {
        "$schema": _SPEEDSCOPE_SCHEMA,
        "exporter": f"worldwise {__version__}",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": str(frame), "file": frame.image} for frame in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": f"{name} (instructions)",
                "unit": "none",
                "startValue": 0,
                "endValue": sum(count for _, count in ordered),
                "samples": [[place[frame] for frame in stack] for stack, _ in ordered],
                "weights": [count for _, count in ordered],
            }
        ],
    }
    return json_text(json.dumps(content, indent=0, ensure_ascii=False)) + "\n"


# Of a function, by its name and image: the instructions of each line, by source file and number.
SourceLines = Mapping[tuple[str, str], Mapping[tuple[str, int], int]]


def callgrind(stacks: Stacks, name: str, sources: SourceLines | None = None) -> str:
    """The stacks in callgrind's format, for callgrind_annotate and KCachegrind: each function's own instructions, and
    those of each call from one function to another.

    A function's object is its image; files and lines are named for its own instructions, as far as `sources` has them.
    Stacks do not say how often a function was called, so each call counts as one. A call that a stack has several times
    counts that stack once.
    """
    known = _by_place(sources or {})
    files: dict[str, int] = {_NO_FILE: 1}
    own: Counter[_Place] = Counter()
    calls: Counter[tuple[_Place, _Place]] = Counter()
    for stack, count in stacks.items():
        places = [_place(frame) for frame in stack]
        own[places[-1]] += count
        calls.update(dict.fromkeys(itertools.pairwise(places), count))
    names = sorted({*own, *itertools.chain.from_iterable(calls)})
    functions = {place: number for number, place in enumerate(names, 1)}
    images = {image: number for number, image in enumerate(sorted({image for image, _ in names}), 1)}
    lines = [
        "# callgrind format",
        "version: 1",
        f"creator: worldwise {__version__}",
        f"cmd: {visible(name)}",
        "desc: Calls: how often a function was called is not known; each call counts as one",
        "positions: line",
        "events: Ir",
        f"summary: {own.total()}",
    ]
    # The text of a number stands where it comes first; the format lets it stand everywhere, too.
    for place in names:
        each = _files(known, place, own)
        located = known[place] if each != [_NO_FILE] else Counter()
        # What was put into it from other files is behind `fi`; the first is its own.
        numbers = [files.setdefault(file, len(files) + 1) for file in each]
        lines += ["", f"ob=({images[place[0]]}) {place[0]}"]
        lines += [f"fl=({numbers[0]}) {each[0]}", f"fn=({functions[place]}) {place[1]}"]
        for file, number in zip(each, numbers, strict=True):
            if file != each[0]:
                lines.append(f"fi=({number}) {file}")
            lines += [f"{at} {count}" for (of, at), count in sorted(located.items()) if of == file and count]
        if len(each) > 1:
            lines.append(f"fe=({numbers[0]}) {each[0]}")
        if rest := own[place] - sum(located.values()):
            lines.append(f"0 {rest}")
        elif not located:
            lines.append("0 0")
        for (caller, callee), count in sorted(calls.items()):
            if caller == place and count:
                # Its first file is part of how readers tell functions apart.
                first = next(iter(_files(known, callee, own)))
                number = files.setdefault(first, len(files) + 1)
                lines += [f"cob=({images[callee[0]]}) {callee[0]}", f"cfi=({number}) {first}"]
                lines += [f"cfn=({functions[callee]}) {callee[1]}", "calls=1 0", f"0 {count}"]
    return "\n".join([*lines, "", f"totals: {own.total()}"]) + "\n"


_NO_FILE = "???"


def _files(
    known: Mapping["_Place", Mapping[tuple[str, int], int]], place: "_Place", own: Mapping["_Place", int]
) -> list[str]:
    """The source files of a function's own instructions, that with the most of them first."""
    located = known.get(place, {})
    # Lines that have more than the function are another's.
    if sum(located.values()) > own[place]:
        return [_NO_FILE]
    return sorted({file for file, _ in located}, key=lambda file: (-_in_file(located, file), file)) or [_NO_FILE]


def _in_file(located: Mapping[tuple[str, int], int], file: str) -> int:
    return sum(count for (name, _), count in located.items() if name == file)


def _by_place(sources: SourceLines) -> dict["_Place", Counter[tuple[str, int]]]:
    """The lines that have a number, by image and function as they are written."""
    found: dict[_Place, Counter[tuple[str, int]]] = {}
    for (function, image), lines in sources.items():
        place = " ".join(visible(image).split()), " ".join(visible(function).split())
        for (file, number), count in lines.items():
            if number and file:
                found.setdefault(place, Counter())[" ".join(visible(file).split()), number] += count
    return found


# An image and a function of it.
_Place = tuple[str, str]


def _place(frame: StackFrame) -> _Place:
    """Of a frame, on one line each."""
    return " ".join(visible(frame.image).split()), " ".join(visible(frame.function).split())


def chrome_trace(slices: Sequence[Slice], name: str) -> str:
    """A Chrome trace (JSON object format) with the lanes that the slices name, in order of appearance.

    The time axis counts instructions: one instruction is shown as one nanosecond. If two slices of
    a lane overlap, one must lie within the other, as with calls.
    """
    lanes = {lane: number for number, lane in enumerate(dict.fromkeys(item.lane for item in slices), 1)}
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": {"name": f"{name} (1 ns = 1 instruction)"}}
    ]
    for lane, number in lanes.items():
        events.append({"ph": "M", "pid": 1, "tid": number, "name": "thread_name", "args": {"name": lane}})
        events.append({"ph": "M", "pid": 1, "tid": number, "name": "thread_sort_index", "args": {"sort_index": number}})
    # The outer one first where two begin together.
    for item in sorted(slices, key=lambda item: (lanes[item.lane], item.begin, -item.end)):
        events.append(
            {
                "ph": "X",
                "pid": 1,
                "tid": lanes[item.lane],
                "name": item.name,
                "cat": item.lane,
                # In microseconds, as the format requires.
                "ts": item.begin / 1000,
                "dur": (item.end - item.begin) / 1000,
                "args": {"instructions": item.end - item.begin},
            }
        )
    content = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "exporter": f"worldwise {__version__}",
            "name": name,
            "time axis": "instructions executed, of all lanes together; 1 instruction is shown as 1 ns",
        },
    }
    return json_text(json.dumps(content, indent=0, ensure_ascii=False)) + "\n"
