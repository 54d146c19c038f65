# SPDX-License-Identifier: BSD-2-Clause
"""Unwinding a stack of 32-bit code by the program's tables, and comparing it with the plugin's."""

import struct
from pathlib import Path

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.explain.unwound_stacks import agreement, unwound
from worldwise.machine.symbols.frames import CallFrames, FrameRule
from worldwise.records.trace_records import Witness

# Three functions: a leaf that saves nothing, one that pushes r7 and lr, one whose frame is found by r7.
LEAF, MIDDLE, OUTER = 0x100, 0x200, 0x300
RULES = {
    LEAF: FrameRule(13, 0, {}),
    # d8 as well, which nobody here needs.
    MIDDLE: FrameRule(13, 16, {7: -8, 14: -4, 264: -16}),
    OUTER: FrameRule(7, 8, {14: -4}),
}
# The leaf was called by MIDDLE, that by OUTER, and that by what stands at 0x480.
SP = 0x2000_0000
SHADOW = [MIDDLE + 0x10, OUTER + 0x10, 0x480]
STACK = struct.pack("<8I", 1, 2, SP + 24, OUTER + 0x11, 5, 6, 7, 0x481)


def moment(
    shadow: list[int] | None = None, stack: bytes = STACK, pc: int = LEAF + 4, link: int = MIDDLE + 0x11
) -> Witness:
    """What the plugin wrote; return addresses of T32 are odd in registers and memory."""
    return Witness.model_validate(
        {
            "type": "witness",
            "pass": 1,
            "pc": hex(pc),
            "link": hex(link),
            "context": 1,
            "shadow": SHADOW if shadow is None else shadow,
            "memory": [],
            "registers": [*range(7), 0xDEAD, *range(8, 13), SP, link],
            "stack": stack.hex(),
        }
    )


def rule(address: int) -> FrameRule | None:
    """That of the function; each has 0x20 bytes, and a call at its end returns behind it."""
    return RULES.get(address & ~0xFF) if address & 0xFF < 0x20 else None


def test_callers_are_found_by_the_tables() -> None:
    """If this fails, a right stack is called a wrong one, or a wrong one right."""
    assert unwound(moment(), rule) == (SHADOW, True)
    # No deeper than the plugin has it: what is below the region is not its own.
    assert unwound(moment(SHADOW[:2]), rule) == (SHADOW[:2], True)
    assert unwound(moment([]), rule) == ([], True)


def test_a_call_at_a_functions_end_is_its_own() -> None:
    """If this fails, the caller of a function that never returns is taken for the one behind it."""
    behind = moment([MIDDLE + 0x20, OUTER + 0x10], link=MIDDLE + 0x21)
    assert unwound(behind, rule) == ([MIDDLE + 0x20, OUTER + 0x10], True)


def test_code_without_a_table_ends_the_way() -> None:
    """If this fails, what assembly calls is guessed."""
    assert unwound(moment(pc=0x500), rule) == ([], False)
    assert unwound(moment(link=0x601), rule) == ([0x600], False)


def test_a_stack_that_ends_too_early_is_no_way() -> None:
    """If this fails, memory that was not written is read."""
    assert unwound(moment(stack=STACK[:12]), rule) == (SHADOW[:1], True)


@pytest.mark.parametrize(
    ("witness", "verdict"),
    [
        (moment(), "same"),
        (moment(pc=0x500), "frameless"),
        (moment(stack=STACK[:12]), "differing"),
        (moment([MIDDLE + 0x12, *SHADOW[1:]]), "differing"),
        (moment([SHADOW[0], 0x999, SHADOW[2]]), "differing"),
    ],
    ids=["the same", "assembly", "the stack ends", "another call", "another caller"],
)
def test_moments_are_judged(witness: Witness, verdict: str) -> None:
    """If this fails, `validation stacks` confirms a stack that is wrong."""
    found = agreement([witness], lambda _: rule, lambda _: "leaf (program)")
    said = {"same": found.same, "frameless": found.frameless, "differing": len(found.differing)}
    assert said == dict.fromkeys(said, 0) | {verdict: 1}
    assert found.unwound and found.samples == 1
    assert [where for _, where in found.differing] == ["leaf (program)"] * (verdict == "differing")


def test_a_file_without_a_table_has_no_rules(tmp_path: Path) -> None:
    """If this fails, a file without debug information is a traceback."""
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0, 0, 0, 0, 52, 0, 0, 40, 0, 0)
    assert CallFrames("program", header, tmp_path).rule(0x100) is None
    with pytest.raises(WorldwiseError, match=r"program: its table .debug_frame cannot be read"):
        CallFrames("program", b"no ELF file", tmp_path).rule(0x100)
