# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of ways between the security states include."""

from worldwise.read.readings import COUNTER_TAKEN_AWAY, Readings

_MEASURED = f"; no interrupts but those of the call itself, and the counter's own, {COUNTER_TAKEN_AWAY}"

READINGS = Readings(
    includes={
        ("gateway", "mcu"): "the function that calls, in the non-secure state, the veneer, the secure function and the "
        "return, with the registers that the compiler saves and clears; the core's own stacking and clearing "
        f"are not instructions{_MEASURED}",
        ("refused", "mcu"): "the attempt, and the secure program's fault handler up to the return to the caller; of a "
        f"pointer the gate's check{_MEASURED}",
    }
)
