# SPDX-License-Identifier: BSD-2-Clause
"""How far the plugin's stacks and the frame records in the machine's memory agree."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.records.trace_records import Witness

# STP x29, x30 to the stack, in any of its three address forms (Arm ARM, C6.2: load/store pair, 64-bit).
_STP_MASK = 0xFE407FFF
_STP_X29_X30 = 0xA8007BFD


@dataclass(frozen=True)
class Agreement:
    """How far the plugin's stacks agree with what the machine's memory has: frame records, or what unwinding finds.

    Attributes:
        samples: moments compared.
        same: all callers are the same.
        entering: memory lacks only the innermost caller. That is right while a function has not yet made its frame
            record, has already removed it, or calls nothing and so needs none.
        frameless: memory also lacks callers of functions whose code makes no frame record (assembly) and, where such a
            function has changed the stack, the callers beyond. Nothing else is missing.
        differing: the other moments, each with its function.
        unwound: by the program's own tables; `frameless` are then those that end at code of which these say nothing.
    """

    samples: int
    same: int
    entering: int
    frameless: int
    differing: Sequence[tuple[Witness, str]]
    unwound: bool = False

    @property
    def agreeing(self) -> int:
        """How many moments agree: all but those that differ."""
        return self.samples - len(self.differing)


def judged(
    witnesses: Sequence[Witness],
    verdict: Callable[[Witness], str],
    named: Callable[[Witness], str],
    unwound: bool = False,
) -> Agreement:
    """Count the moments of each class; `verdict` gives a moment's, by the names in Agreement, `named` its function."""
    found: Counter[str] = Counter()
    differing: list[tuple[Witness, str]] = []
    for witness in witnesses:
        said = verdict(witness)
        found[said] += 1
        if said == "differing":
            differing.append((witness, named(witness)))
    return Agreement(len(witnesses), found["same"], found["entering"], found["frameless"], differing, unwound)


class Witnesses:
    """Compares callers at the moments that the plugin sampled.

    Args:
        space: the machine's symbols.
        levels: a trace's contexts, by their ids.
    """

    def __init__(self, space: AddressSpace, levels: Mapping[int, Level]) -> None:
        self._space = space
        self._levels = levels
        self._records_made: dict[tuple[str, int], bool] = {}

    def agreement(self, witnesses: Sequence[Witness], named: Callable[[Witness], str]) -> Agreement:
        """Count the moments of each class; `named` gives the function of a moment."""
        return judged(witnesses, self._compare, named)

    def _compare(self, witness: Witness) -> str:
        """`same`, `entering`, `frameless` or `differing`: see Agreement."""
        shadow, memory = witness.shadow, witness.memory
        # Memory lists callers beyond the exception or the region's beginning, where the plugin's list ends.
        if memory[: len(shadow)] == shadow:
            return "same"
        if memory[: len(shadow) - 1] == shadow[1:]:
            return "entering"
        place = 0
        for number, address in enumerate(shadow):
            if place < len(memory) and memory[place] == address:
                place += 1
            elif number and not self._makes_record(witness.context, shadow[number - 1]):
                # This address is a caller; the function that it calls leaves no frame record.
                if place == len(memory):
                    break  # That function has also changed the stack, so memory's list ends there.
            elif number:
                return "differing"
        return "frameless"

    def _makes_record(self, context: int, address: int) -> bool:
        """Whether the function at an address stores x29 and x30 side by side, as the frame records of the ABI are."""
        level = self._levels[context]
        symbol = self._space.lookup(level, address)
        if not symbol:
            return True
        key = symbol.image, symbol.start
        if key not in self._records_made:
            code = self._space.code(level, symbol.start, symbol.size)
            self._records_made[key] = code is None or any(
                int.from_bytes(code[at : at + 4], "little") & _STP_MASK == _STP_X29_X30 for at in range(0, len(code), 4)
            )
        return self._records_made[key]
