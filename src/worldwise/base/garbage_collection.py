# SPDX-License-Identifier: BSD-2-Clause
"""Python's collector of cyclic garbage, for a tool whose data are large and have no cycles."""

import gc

# So many new objects begin a collection, so many collections one of older objects, so many of these one of all.
_THRESHOLDS = (100_000, 20, 100)


def collect_seldom() -> None:
    """Call it once, when a process begins.

    A trace has a million rows, all of which stay: by Python's own thresholds the collector goes through them again and
    again, which took a third of the time of reading and attributing one.
    """
    gc.set_threshold(*_THRESHOLDS)
