# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of the example include."""

from worldwise.read.readings import CLIENT_CALL, Readings

READINGS = Readings(
    includes={
        ("increment", "ta"): "one addition inside the TA",
        ("increment", "client"): f"{CLIENT_CALL}; one value goes over and comes back",
    }
)
