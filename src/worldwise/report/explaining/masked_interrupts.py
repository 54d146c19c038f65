# SPDX-License-Identifier: BSD-2-Clause
"""Showing where the normal world could not take an interrupt: a line, a section, and JSON."""

from typing import Any

from worldwise.base.tables import Section, Table
from worldwise.explain.explanation import Explanation
from worldwise.explain.masked_interrupts import Masked, Stretch, Worst
from worldwise.explain.stacks import StackFrame

TITLE = "Interrupts masked"


def line(explanation: Explanation, masked: Masked) -> str:
    """What the first screen says."""
    longest = masked.longest
    if not longest:
        return f"{TITLE}: never; the normal world could take an interrupt before each instruction."
    within = f", within {longest.shared[-1]}" if longest.shared else ""
    return (
        f"{TITLE}: {_rounded(masked, explanation)} %; observed worst {longest.instructions:,} instructions in a row, "
        f"from {longest.begin[-1]} to {longest.end[-1]}{within}"
    )


def section(explanation: Explanation, masked: Masked) -> Section:
    """The longest stretches with the stacks of the longest one, and in which call there was a longer one."""
    total = (
        f"{masked.instructions:,} of {explanation.instructions:,} instructions "
        f"({_rounded(masked, explanation)} %) were executed while an interrupt of the normal world would have waited"
    )
    longest = masked.longest
    if not longest:
        return Section(TITLE, None, [f"{total}."])
    rows = [
        [
            f"{one.instructions:,}",
            f"{one.at:,}",
            str(one.begin[-1]),
            str(one.end[-1]),
            str(one.shared[-1]) if one.shared else "-",
        ]
        for one in masked.stretches
    ]
    notes = [
        f"{total}.",
        f"The longest stretch, {longest.instructions:,} instructions, is the observed worst of this call, no bound.",
        _worst_note(masked.worst),
        *_stack_notes(longest),
    ]
    return Section(TITLE, Table(["instructions", "at", "begins in", "ends in", "within"], rows, 0, (2, 3, 4)), notes)


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


def _frames_json(frames: tuple[StackFrame, ...]) -> list[dict[str, str]]:
    return [{"function": frame.function, "image": frame.image} for frame in frames]
