# SPDX-License-Identifier: BSD-2-Clause
"""How far the plugin's stacks of 32-bit code agree with those that unwinding finds in the machine's memory."""

from collections.abc import Callable, Sequence

from worldwise.explain.frame_records import Agreement, judged
from worldwise.machine.symbols.frames import FrameRule
from worldwise.records.trace_records import Witness

_SP, _LR = 13, 14
_WORD, _ADDRESSES = 4, 2**32
# The lowest bit of an address to return to says that the code there is of T32.
_THUMB = 1

# The rule at an address; None if nothing says.
Rules = Callable[[int], FrameRule | None]


def agreement(
    witnesses: Sequence[Witness], rules: Callable[[Witness], Rules], named: Callable[[Witness], str]
) -> Agreement:
    """Count the moments of each class; `rules` gives those of a moment's code, `named` its function."""

    def verdict(witness: Witness) -> str:
        callers, whole = unwound(witness, rules(witness))
        if callers == witness.shadow:
            return "same"
        return "frameless" if not whole and callers == witness.shadow[: len(callers)] else "differing"

    return judged(witnesses, verdict, named, unwound=True)


def unwound(witness: Witness, rule: Rules) -> tuple[list[int], bool]:
    """The callers that a moment's registers and stack give, at most as many as the plugin has, the innermost first; and
    false if they end where nothing says how to go on.
    """
    registers = list(witness.registers)
    low, memory = registers[_SP], bytes.fromhex(witness.stack)
    callers: list[int] = []
    # Behind a call the caller is at the call, not at what stands behind it, which may be another function.
    at = witness.pc
    while len(callers) < len(witness.shadow):
        found = rule(at)
        if found is None or found.register >= len(registers):
            return callers, False
        above = (registers[found.register] + found.offset) % _ADDRESSES
        for number, offset in found.saved.items():
            place = above + offset - low
            # Registers of floating point have higher numbers.
            if number >= len(registers):
                continue
            if not 0 <= place <= len(memory) - _WORD:
                return callers, True
            registers[number] = int.from_bytes(memory[place : place + _WORD], "little")
        registers[_SP] = above
        back = registers[_LR] & ~_THUMB
        callers.append(back)
        at = back - 1
    return callers, True
