# SPDX-License-Identifier: BSD-2-Clause
"""Straight lines through counts: a fixed cost, a cost per unit, and the residuals."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import linear_regression

# A line through fewer points shows nothing.
LEAST_POINTS = 3


@dataclass(frozen=True)
class FittedLine:
    """`fixed` + `slope` * x, by least squares.

    `residuals` are measured less fitted, by x, in the unit of the counts; `relative` are the residuals divided by the
    measured counts.
    """

    fixed: float
    slope: float
    residuals: dict[int, float]
    relative: dict[int, float]

    @property
    def worst(self) -> int:
        """The x with the largest residual."""
        return max(self.residuals, key=lambda x: abs(self.residuals[x]))


def fit_line(points: Mapping[int, float]) -> FittedLine | None:
    """The line through counts by x; None through fewer than LEAST_POINTS."""
    if len(points) < LEAST_POINTS:
        return None
    places = sorted(points)
    slope, fixed = linear_regression(places, [points[x] for x in places])
    residuals = {x: points[x] - (fixed + slope * x) for x in places}
    return FittedLine(fixed, slope, residuals, {x: residual / points[x] for x, residual in residuals.items()})
