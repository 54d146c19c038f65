# SPDX-License-Identifier: BSD-2-Clause
"""Sampling: of a long region a core's model runs through units only, which stand for the rest.

The estimate is that of a ratio: what was skipped has as many cycles for an instruction as the units have. It is given
to the blocks by what each took where it ran, so that a sum over blocks, layers or functions is the estimate.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from worldwise.records.model_predictions import CAUSES
from worldwise.records.trace_cycles import CyclesRow, Stratum, UnitSums

# Standard errors to both sides that have 95 % of a normal distribution.
_DEVIATIONS = 1.96
# Weights are whole numbers: so many parts of a cycle.
_PARTS = 2**20
_NO_UNITS = UnitSums(**dict.fromkeys(UnitSums.model_fields, 0))
_Key = tuple[int, int]


@dataclass(frozen=True)
class SamplingError:
    """How far sampled cycles may be from those of a whole run through the model.

    Attributes:
        one_in: of so many instructions behind the begin one ran in a unit.
        margin: in cycles, to each side, for 95 % of samples.
        cycles: all of the estimate, of which the margin is a part.
    """

    one_in: int
    margin: int
    cycles: int

    @property
    def relative(self) -> float:
        """The margin as a part of all cycles."""
        return self.margin / self.cycles if self.cycles else 0.0

    @property
    def percent(self) -> float:
        """The same in per cent."""
        return 100 * self.relative

    def text(self) -> str:
        """`sampled: 1 in 20, ± 0.3 % (95 %)`."""
        return f"sampled: 1 in {self.one_in}, ± {self.percent:.2g} % (95 %)"


def sampling_error(strata: Sequence[Stratum], cycles: int) -> SamplingError | None:
    """The error of `cycles` with these strata in them; None if nothing is sampled."""
    skipped = sum(one.skipped for one in strata)
    if not skipped:
        return None
    ran = sum(one.instructions for one in strata)
    margin = math.ceil(_DEVIATIONS * math.sqrt(sum(map(variance, strata))))
    return SamplingError(round((skipped + ran) / max(ran, 1)), margin, cycles)


def variance(stratum: Stratum) -> Fraction:
    """Of the estimated cycles, by the formula for a ratio of two sums (Cochran, Sampling Techniques, 6.4).

    With a single unit, or none, it is as if all that was estimated were wrong.
    """
    units, ran, skipped = stratum.units, stratum.instructions, stratum.skipped
    if units < 2 or not ran:
        return Fraction(stratum.estimated**2)
    ratio = Fraction(stratum.cycles, ran)
    squares = stratum.cycles_squared - 2 * ratio * stratum.cycles_by_instructions
    squares += ratio**2 * stratum.instructions_squared
    # The stretch has as many units as there are in all its instructions, and `units` of these were taken.
    every = Fraction((skipped + ran) * units, ran)
    return max(Fraction(0), every**2 * (1 - units / every) / units * squares / (units - 1))


def estimate_rows(
    rows: Iterable[CyclesRow],
    counts: Iterable[tuple[int, int, int]],
    skipped: Mapping[_Key, int],
    sizes: Mapping[int, int],
    units: UnitSums | None,
) -> tuple[list[CyclesRow], Stratum]:
    """The rows of a sampled pass with the cycles of what was skipped.

    Args:
        rows: what ran through the model, units and begin.
        counts: frame, block and times of all that was executed.
        skipped: frame and block -> times that were skipped; never all of `counts`.
        sizes: the instructions of each block.
        units: the sums over the units, if there was one.

    Gives one row for each frame and block, and what the estimate is made from.
    """
    taken: dict[_Key, list[int]] = {key: [0] * (len(CAUSES) + 2) for key in skipped}
    for row in rows:
        before = taken.get(row[:2])
        if before is None:
            taken[row[:2]] = [*row[2:]]
            continue
        for number, value in enumerate(row[2:]):
            before[number] += value
    executed: Counter[_Key] = Counter()
    for frame, block, times in counts:
        executed[frame, block] += times * sizes[block]
    left_out = {key: times * sizes[key[1]] for key, times in skipped.items() if times}
    ran = {key: every - left_out.get(key, 0) for key, every in executed.items()}
    units = units or _NO_UNITS
    whole = [sum(column) for column in zip(*(one[: len(CAUSES)] for one in taken.values()), strict=True)]
    cycles, instructions = units.cycles, units.instructions
    all_ran = sum(ran.values())
    if not instructions:
        cycles, instructions = sum(whole), all_ran
    estimated = round(Fraction(sum(left_out.values()) * cycles, instructions))
    weights = [
        out * cause * _PARTS // (ran[key] or all_ran)
        for key, out in left_out.items()
        for cause in (taken[key][: len(CAUSES)] if ran[key] else whole)
    ]
    if not any(weights):
        weights = [out for out in left_out.values() for _ in CAUSES]
    parts = iter(shares(estimated, weights))
    for key in left_out:
        _add_estimate(taken[key], [next(parts) for _ in CAUSES], bool(ran[key]), executed[key])
    stratum = Stratum(
        **{name: getattr(units, name) for name in UnitSums.model_fields},
        skipped=sum(left_out.values()),
        estimated=estimated,
    )
    return [CyclesRow(*key, *numbers) for key, numbers in taken.items()], stratum


def _add_estimate(numbers: list[int], more: Sequence[int], ran: bool, executed: int) -> None:
    """Adds cycles by cause to a row; outside is as much of them as of the cycles that the row took, or as of its
    instructions if it never ran."""
    outside, outside_instructions = numbers[len(CAUSES) :]
    own = sum(numbers[: len(CAUSES)])
    part, whole = (outside, own) if ran else (min(outside_instructions, executed), executed)
    for number, value in enumerate(more):
        numbers[number] += value
    numbers[len(CAUSES)] += part * sum(more) // whole if whole else 0


def shares(whole: int, weights: Sequence[int]) -> list[int]:
    """A number split by weights into whole numbers whose sum it is."""
    total, before, parts = sum(weights), 0, []
    for upto in itertools.accumulate(weights):
        now = whole * upto // total
        parts.append(now - before)
        before = now
    return parts
