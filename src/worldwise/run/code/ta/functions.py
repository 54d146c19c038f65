# SPDX-License-Identifier: BSD-2-Clause
"""Functions of a TA as regions.

The plugin knows no function of the secure world, but places in the TA's code where a region begins and ends. A function
begins at its symbol, and ends where each call of it returns to, which the TA's own code says. Whether that was all is
proven by the trace: each instruction of the TA within a region has the function around it, and none outside has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.own_code import MARKED, Mark
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.symbols.mangled_names import Demangle
from worldwise.records.trace import Trace
from worldwise.records.trace_records import Pass, Row
from worldwise.run.code.application import Application
from worldwise.run.code.function_names import Function, functions_of, is_asked

# How many places of a TA's code the plugin is given.
_MOST_PLACES = 2000
_MOST_NAMED = 6
_WAY_OUT = "mark the part: WORLDWISE_BEGIN, WORLDWISE_END (docs/use/your-code.md)"


@dataclass(frozen=True)
class TaFunctions:
    """The functions of a TA.

    Attributes:
        every: all of them; none if its symbols were stripped.
        marks: those that were asked for, as places in its code.
        notes: what a reader must know of those that a pattern has, and that are no regions.
    """

    every: Sequence[Function] = ()
    marks: Sequence[Mark] = ()
    notes: Sequence[str] = field(default_factory=list)


def ta_functions(application: Application | None, patterns: Sequence[str], demangle: Demangle) -> TaFunctions:
    """The TA's functions that were asked for. Raises WorldwiseError for one that can be no region, if it was named."""
    if application is None or not patterns:
        return TaFunctions()
    what = f"the TA {application.uuid}"
    (rows,) = ask(application.elf, ("named_functions",), what=what)
    every = functions_of(((name, what, start) for name, start, _ in rows), demangle, patterns)
    asked = sorted((one for one in every if is_asked(one, patterns)), key=lambda one: (one.name, one.address))
    if not asked:
        return TaFunctions(every)
    answers = ask(application.elf, ("ta_memory",), *(("returns_of", one.address) for one in asked), what=what)[1:]
    marks = []
    left: dict[str, list[str]] = {}
    taken: dict[int, str] = {}
    # Who jumps to another function has fewer places to return to, and stands around it.
    for one, (ends, loops) in sorted(zip(asked, answers, strict=True), key=lambda pair: len(pair[1][0])):
        shared = next((taken[end] for end in ends if end in taken), "")
        name = files.quoted(one.name)
        if loops:
            why = "jumps to its own begin, so the begin of a call cannot be seen"
        elif not ends:
            why = "is called through a pointer alone, or never, so its return address is unknown"
        elif shared:
            why = f"ends where {files.quoted(shared)} does: one of them jumps to the other as its last act"
        else:
            taken |= dict.fromkeys(ends, one.name)
            marks.append(Mark(name=one.name[:1000], of_ta=True, begins=[one.address], ends=ends, function=True))
            continue
        if one.names & set(patterns):
            hint = "measure each in a run of its own" if ends and not loops else _WAY_OUT
            raise WorldwiseError(f"--region {name}: this function of {what} {why}.", hint)
        left.setdefault(why, []).append(name)
    if sum(len(one.ends) for one in marks) > _MOST_PLACES:
        raise WorldwiseError(
            f"--region: {len(marks):,} functions of {what} have such names, and are called from more than "
            f"{_MOST_PLACES:,} places.",
            "a longer pattern has fewer",
        )
    notes = [f"{_several(names)} of the TA: no region, as each {why}" for why, names in left.items()]
    return TaFunctions(every, sorted(marks, key=lambda one: (one.name, one.begins)), notes)


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} others" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def prove(trace: Trace, addresses: Sequence[int], marks: Sequence[Mark]) -> None:
    """Raise WorldwiseError unless each call of a TA's function has what the function executed, and nothing else."""
    for place, mark in enumerate(marks):
        if mark.function:
            number = addresses.index(MARKED + place) + 1
            calls = trace.calls(number)
            for entry in {one.mark for one in calls}:
                _prove(trace, [one for one in calls if one.mark == entry], entry, mark.name)


def _prove(trace: Trace, calls: Sequence[Pass], entry: int, name: str) -> None:
    of_ta = {number for number, one in trace.contexts.items() if one.secure and not one.el}
    inside = {number for one in calls for number in trace.with_inner(one)}
    # Another function that jumped there has its own frame.
    entered = {trace.frames[one.frame].target for one in calls}
    within = _frames_within(trace, entered)
    problem = ""
    if any(
        trace.frames[row.frame].context in of_ta and not within[row.frame][0]
        for number in inside
        for row in trace.own.get(number, ())
    ):
        problem = "it is called through a pointer too, so its return address is unknown"
    others = [number for number in trace.own if number not in inside]
    if entered == {entry} and any(within[row.frame][0] for number in others for row in trace.own[number]):
        problem = "it calls itself through other functions"
    if entered != {entry} and any(again for _, again in within.values()):
        problem = "it calls itself through a function that jumps to it"
    began = sum(
        row.times
        for rows in trace.own.values()
        for row in _of(rows, trace, of_ta)
        if trace.blocks[row.block].pc == entry
    )
    if not problem and began != sum(1 + one.recursions for one in calls):
        problem = "it was entered in a way that is not understood"
    if problem:
        raise WorldwiseError(
            f"--region {files.quoted(name)}: the end of a call of this function of the TA was not seen: {problem}.",
            _WAY_OUT,
        )


def _of(rows: Iterable[Row], trace: Trace, contexts: set[int]) -> Iterable[Row]:
    return (row for row in rows if trace.frames[row.frame].context in contexts)


def _frames_within(trace: Trace, targets: set[int]) -> Mapping[int, tuple[frozenset[int], bool]]:
    """Of each frame, in which functions of these addresses it stands, its own too, and whether twice in one of them."""
    found: dict[int, tuple[frozenset[int], bool]] = {0: (frozenset(), False)}
    for number in trace.frames:
        way = []
        while number not in found and number in trace.frames:
            way.append(number)
            number = trace.frames[number].parent
        stands, again = found.get(number, found[0])
        for one in reversed(way):
            frame = trace.frames[one]
            if frame.kind == "call" and frame.target in targets:
                again = again or frame.target in stands
                stands |= {frame.target}
            found[one] = stands, again
    return found
