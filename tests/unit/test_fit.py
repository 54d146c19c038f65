# SPDX-License-Identifier: BSD-2-Clause
"""Lines through counts."""

import pytest

from worldwise.read.line_fit import fit_line


def test_a_straight_line_has_no_residual() -> None:
    line = fit_line({0: 100, 10: 120, 20: 140})
    assert line
    assert line.fixed == pytest.approx(100)
    assert line.slope == pytest.approx(2)
    assert all(abs(residual) < 1e-9 for residual in line.residuals.values())


def test_the_worst_point_is_the_one_that_is_furthest_off() -> None:
    line = fit_line({1: 10, 2: 20, 3: 60, 4: 40, 5: 50})
    assert line
    assert line.worst == 3
    assert line.residuals[3] == pytest.approx(60 - (line.fixed + 3 * line.slope))
    assert line.relative[3] == pytest.approx(line.residuals[3] / 60)
    assert sum(line.residuals.values()) == pytest.approx(0)


def test_two_points_are_no_line() -> None:
    assert fit_line({1: 1, 2: 2}) is None
