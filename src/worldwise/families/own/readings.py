# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of own code include."""

from worldwise.plan.spec import REGION_MEASURE, REGION_PLACE
from worldwise.read.readings import Readings

READINGS = Readings(
    includes={
        (REGION_MEASURE, REGION_PLACE): (
            "the function from its entry to its return: all that it calls, and the system's part meanwhile, such as "
            "page faults, interrupts and, of a call of a TA, the secure world"
        )
    }
)
