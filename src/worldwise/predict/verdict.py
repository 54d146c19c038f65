# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts: whether a prediction fits a budget, which an interval may leave open."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from worldwise.plan.budget import Budget
from worldwise.predict.bounds import Estimate

FITS, FITS_NOT, OPEN = "fits", "does not fit", "undecided"
NOT_JUDGED = "not judged"
# The same of a measure that the budget is not for.
WOULD = {FITS: "would fit", FITS_NOT: "would not fit"}


@dataclass(frozen=True)
class Judged:
    """One estimate against a budget's limit.

    Attributes:
        limit: in cycles.
        clock: in Hz.
        decides: whether the budget is for its measure; others stand beside it, and decide nothing.
    """

    estimate: Estimate
    limit: int
    clock: Fraction
    decides: bool = True

    @property
    def verdict(self) -> str:
        """FITS, FITS_NOT or OPEN. What a core without held-out figures takes is OPEN."""
        if self.estimate.line is None:
            return OPEN
        if self.estimate.whole.high <= self.limit:
            return FITS
        return FITS_NOT if self.estimate.whole.low > self.limit else OPEN

    def text(self) -> str:
        """The verdict; if it is open, with the interval in time. What the budget is not for *would* fit."""
        if self.verdict == OPEN:
            low, high = (time_text(one, self.clock) for one in (self.estimate.whole.low, self.estimate.whole.high))
            return f"{OPEN} (between {low} and {high})"
        return self.verdict if self.decides else WOULD[self.verdict]


def judged(estimates: Iterable[Estimate], budget: Budget) -> list[Judged]:
    """Those estimates at the budget's place, each against its limit: a cycle is a cycle here, not an instruction."""
    return [
        Judged(one, int(budget.limit * budget.clock), budget.clock, one.sample.measure in budget.measures)
        for one in estimates
        if one.sample.place == budget.place
    ]


def worst(found: Iterable[Judged]) -> str:
    """The verdict of some: as bad as the worst. Empty if there is none."""
    verdicts = {one.verdict for one in found}
    return next((one for one in (FITS_NOT, OPEN, FITS) if one in verdicts), "")


def overall(found: Iterable[Judged]) -> str:
    """The budget's verdict: the worst of what decides. Empty if nothing does, which is no budget that is met."""
    return worst(one for one in found if one.decides)


def seconds(cycles: int, clock: Fraction) -> float:
    """The time of cycles at a clock in Hz."""
    return float(cycles / clock)


def time_text(cycles: int, clock: Fraction) -> str:
    """The time with its unit: `1.23 ms`."""
    value = seconds(cycles, clock)
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
