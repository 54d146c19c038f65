# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts: whether a prediction fits a budget, which an interval may leave open."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from worldwise.plan.budget import Budget
from worldwise.predict.bounds import Estimate

FITS, FITS_NOT, OPEN = "fits", "does not fit", "cannot be told"


@dataclass(frozen=True)
class Judged:
    """One estimate against a budget."""

    estimate: Estimate
    limit: int
    clock: Fraction

    @property
    def verdict(self) -> str:
        """FITS, FITS_NOT or OPEN. What a core without held-out figures takes cannot be told."""
        if self.estimate.line is None:
            return OPEN
        if self.estimate.whole.high <= self.limit:
            return FITS
        return FITS_NOT if self.estimate.whole.low > self.limit else OPEN

    def text(self) -> str:
        """The verdict; if it is open, with the interval in time."""
        if self.verdict != OPEN:
            return self.verdict
        low, high = (time_text(one, self.clock) for one in (self.estimate.whole.low, self.estimate.whole.high))
        return f"{OPEN} (between {low} and {high})"


def judged(estimates: Iterable[Estimate], budget: Budget) -> list[Judged]:
    """Those estimates that the budget is for, each against it: a cycle is a cycle here, not an instruction."""
    return [
        Judged(one, int(budget.limit * budget.clock), budget.clock)
        for one in estimates
        if one.sample.measure in budget.measures and one.sample.place == budget.place
    ]


def overall(found: Iterable[Judged]) -> str:
    """The verdict of all: as bad as the worst. Empty if there is none."""
    verdicts = {one.verdict for one in found}
    return next((one for one in (FITS_NOT, OPEN, FITS) if one in verdicts), "")


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
