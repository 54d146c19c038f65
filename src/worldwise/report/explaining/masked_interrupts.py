# SPDX-License-Identifier: BSD-2-Clause
"""Showing where the normal world could not take an interrupt: a line, a section, and JSON."""

from collections.abc import Iterable, Sequence
from typing import Any

from worldwise.base.tables import Section, Table
from worldwise.base.units import FREQUENCIES, quantity_text
from worldwise.explain.explanation import Explanation
from worldwise.explain.masked_interrupts import Masked, Stretch, StretchTime, Worst
from worldwise.explain.stacks import StackFrame
from worldwise.predict.verdict import time_text

TITLE = "Interrupts masked"
TIMES_TITLE = "Interrupts masked: predicted times"
OVERVIEW_TITLE = "Interrupts masked: the longest stretch of each region"
_HEADERS = ("instructions", "at", "begins in", "ends in", "within")
_TIMES = (
    "Predicted, not measured: the cycles that the stretch's own instructions took as the model of the core ran through "
    "the whole call. Of the observed worst, never a WCET. from and to: as `predict` bounds them; outside %: the share "
    "of cycles that no published figure validates, and rules bound."
)


def line(explanation: Explanation, masked: Masked) -> str:
    """What the first screen says."""
    longest = masked.longest
    if not longest:
        return f"{TITLE}: never; the normal world could take an interrupt before each instruction."
    within = f", within {longest.shared[-1]}" if longest.shared else ""
    return (
        f"{TITLE}: {_rounded(masked, explanation)} %; observed worst {longest.instructions:,} instructions in a row, "
        f"from {longest.begin[-1]} to {longest.end[-1]}{within}{''.join(map(_time, longest.times))}"
    )


def _time(one: StretchTime) -> str:
    """What the first screen says of a core."""
    times = [time_text(cycles, one.clock) for cycles in (one.cycles, one.low, one.high)]
    clock = quantity_text(one.clock, FREQUENCIES)
    return f"; predicted {times[0]} on a {one.core} at {clock}, between {times[1]} and {times[2]}"


def section(explanation: Explanation, masked: Masked) -> Section:
    """The longest stretches with the stacks of the longest one, and in which call there was a longer one."""
    total = (
        f"{masked.instructions:,} of {explanation.instructions:,} instructions "
        f"({_rounded(masked, explanation)} %) were executed while an interrupt of the normal world would have waited"
    )
    longest = masked.longest
    if not longest:
        return Section(TITLE, None, [f"{total}."])
    rows = list(map(_row, masked.stretches))
    notes = [
        f"{total}.",
        *_shown_note(masked),
        f"The longest stretch, {longest.instructions:,} instructions, is the observed worst of this call, no bound.",
        _worst_note(masked.worst),
        *_stack_notes(longest),
    ]
    return Section(TITLE, Table(list(_HEADERS), rows, 0, (2, 3, 4)), notes)


def _row(one: Stretch) -> list[str]:
    within = str(one.shared[-1]) if one.shared else "-"
    return [f"{one.instructions:,}", f"{one.at:,}", str(one.begin[-1]), str(one.end[-1]), within]


def _shown_note(masked: Masked) -> list[str]:
    """Which stretches there are no rows of, and so no times: the plugin keeps the longest of a pass alone."""
    shown = sum(one.instructions for one in masked.stretches)
    if shown == masked.instructions:
        return []
    return [
        f"The {len(masked.stretches)} longest stretches have {shown:,} of these instructions; of shorter ones a trace "
        "keeps the sum alone, so they have neither a row nor a predicted time."
    ]


def overview(found: Iterable[Explanation]) -> Section | None:
    """A line for each region whose masks were followed, the longest stretch first; None if of none they were."""
    having = [(one, one.masked) for one in found if one.masked]
    having.sort(key=lambda pair: -(pair[1].longest.instructions if pair[1].longest else 0))
    rows = [
        [
            *(one.case.id, one.measure, one.place, _rounded(masked, one)),
            *(_row(masked.longest) if masked.longest else ["0", *["-"] * 4]),
        ]
        for one, masked in having
    ]
    if not rows:
        return None
    headers = ["case", "measure", "place", "masked\n%", "longest\ninstr", *_HEADERS[1:]]
    notes = [
        "masked: of the region's instructions, those that were executed while an interrupt of the normal world would "
        "have waited; longest: the observed worst in a row, no bound. Each region has its own table below."
    ]
    return Section(OVERVIEW_TITLE, Table(headers, rows, 3, (6, 7, 8)), notes)


def sections(explanation: Explanation, masked: Masked) -> list[Section]:
    """The stretches, and what cores take for them, if somebody asked."""
    timed = [_times_section(masked)] if any(one.times for one in masked.stretches) else []
    return [section(explanation, masked), *timed]


def _times_section(masked: Masked) -> Section:
    cells = [
        [
            f"{stretch.instructions:,}",
            f"{stretch.at:,}",
            one.core,
            f"{one.cycles:,}",
            f"{one.low:,}",
            f"{one.high:,}",
            f"{100 * one.outside / one.cycles:.1f}" if one.cycles else "-",
            quantity_text(one.clock, FREQUENCIES),
            *(f"{one.in_microseconds(cycles):,.2f}" for cycles in (one.cycles, one.low, one.high)),
        ]
        for stretch in masked.stretches
        for one in stretch.times
    ]
    headers = ["instructions", "at", "core", "predicted\ncycles", "from", "to", "outside\n%", "clock"]
    table = Table([*headers, "predicted\nus", "from\nus", "to\nus"], cells, 0, (2,))
    lines = dict.fromkeys(f"{one.error}." for stretch in masked.stretches for one in stretch.times)
    core, most = max(
        ((one.core, stretch) for stretch in masked.stretches for one in stretch.times[:1]),
        key=lambda pair: pair[1].times[0].cycles,
    )
    other = []
    if most is not masked.longest:
        other = [f"On {core} the longest of them in time is that of {most.instructions:,} instructions."]
    return Section(TIMES_TITLE, table, [_TIMES, *other, *_untimed_note(masked), *lines])


def _untimed_note(masked: Masked) -> list[str]:
    """Which of the stretches above have no time, and why."""
    untimed = [one for one in masked.stretches if not one.times]
    # The plugin has no cycles of what stands before the region's begin.
    before = [one for one in untimed if not one.origin[1]]
    sampled = [one for one in untimed if one.origin[1]]
    return [
        f"No time for {_named_by_length(some)}: {why}."
        for some, why in (
            (sampled, "sampling left out a part (`--whole` has all of it)"),
            (before, "it began before the region did, and its cycles with it"),
        )
        if some
    ]


def _named_by_length(some: Sequence[Stretch]) -> str:
    return f"the stretch{'es' if len(some) > 1 else ''} of {', '.join(f'{one.instructions:,}' for one in some)}"


def _worst_note(worst: Worst) -> str:
    which = f"in {worst.phase} {worst.index}"
    if worst.alike == worst.calls:
        which = "in each of them"
    elif worst.alike > 1:
        which += f" and {worst.alike - 1:,} more"
    return (
        f"Calls that were followed: {worst.calls:,}; the longest stretch of all has {worst.instructions:,} "
        f"instructions, {which}."
    )


def _stack_notes(longest: Stretch) -> list[str]:
    """The stacks of its begin and of its end; what both have in common stands once."""
    same = len(longest.shared)
    common = [f"its stack: {_stack(longest.shared)}"] if same else []
    return [*common, f"begins: {_stack(longest.begin[same:])}", f"ends: {_stack(longest.end[same:])}"]


def _stack(frames: tuple[StackFrame, ...]) -> str:
    return " > ".join(map(str, frames)) or "there"


def _rounded(masked: Masked, explanation: Explanation) -> str:
    return f"{100 * masked.instructions / explanation.instructions:.1f}" if explanation.instructions else "0.0"


def to_json(masked: Masked) -> dict[str, Any]:
    """As data; all counts are instructions."""
    worst = masked.worst
    return {
        "instructions": masked.instructions,
        "stretches": [
            {
                "at": one.at,
                "instructions": one.instructions,
                "begin": _frames_json(one.begin),
                "end": _frames_json(one.end),
                **({"predicted": [_time_json(time) for time in one.times]} if one.times else {}),
            }
            for one in masked.stretches
        ],
        "worst_call": {
            "instructions": worst.instructions,
            "phase": worst.phase,
            "index": worst.index,
            "alike": worst.alike,
            "calls": worst.calls,
        },
    }


def _time_json(one: StretchTime) -> dict[str, Any]:
    return {
        "core": one.core,
        "clock_hz": float(one.clock),
        "predicted_cycles": one.cycles,
        "low": one.low,
        "high": one.high,
        "outside": one.outside,
        "predicted_us": one.microseconds,
        "low_us": one.in_microseconds(one.low),
        "high_us": one.in_microseconds(one.high),
        "error": one.error,
    }


def _frames_json(frames: tuple[StackFrame, ...]) -> list[dict[str, str]]:
    return [{"function": frame.function, "image": frame.image} for frame in frames]
