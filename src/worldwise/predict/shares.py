# SPDX-License-Identifier: BSD-2-Clause
"""Splitting whole numbers, so that nothing is made or lost."""

import itertools
from collections.abc import Sequence


def shares(whole: int, weights: Sequence[int]) -> list[int]:
    """A number split by weights into whole numbers whose sum it is."""
    total, before, parts = sum(weights), 0, []
    for upto in itertools.accumulate(weights):
        now = whole * upto // total
        parts.append(now - before)
        before = now
    return parts
