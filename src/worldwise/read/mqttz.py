# SPDX-License-Identifier: BSD-2-Clause
"""The published OP-TEE applications behind MQT-TZ: shared code of the tables that show their figures beside ours."""

from worldwise.base.tables import spread
from worldwise.read.models import Row
from worldwise.read.published import Figure

SOURCE = "optee-mqttz-apps"
# The clock at which our counts are shown as time, at one instruction per cycle.
CLOCK_GHZ = 2.0
CLOCK = f"{CLOCK_GHZ} GHz"


def beside(figure: Figure | None, ours: Row | None, digits: int, deviation_digits: int) -> list[str]:
    """Five cells: their milliseconds and deviation with so many decimals; our mean and deviation, and our mean as us.

    A dash stands for what was not published, or not measured.
    """
    theirs = ["-", "-"]
    if figure:
        deviation = "-" if figure.stdev is None else f"{figure.stdev:.{deviation_digits}f}"
        theirs = [f"{figure.value:.{digits}f}", deviation]
    if ours is None:
        return [*theirs, "-", "-", "-"]
    return [
        *theirs,
        f"{ours.counts.mean:,.0f}",
        spread(ours.counts.stdev),
        f"{ours.counts.mean / (CLOCK_GHZ * 1000):,.1f}",
    ]
