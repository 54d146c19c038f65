# SPDX-License-Identifier: BSD-2-Clause
"""TrustZone-M: what is measured of the two security states without a library, by the names of cases.

The name of a way is that of a `struct way` in guest/tzm/gateway.c, without its first word and with '-' for '_'.
"""

# The implementation that stands for no library: adapter guest/adapters/gateway.c.
GATEWAY = "gateway"
# Ways between the states. irq-A-in-B: an interrupt of state A while B executes; s is secure, ns is not.
WAYS = (
    "plain",
    "empty",
    "checked",
    "psa-call",
    "callback",
    "callback-lazy",
    "callback-float",
    "irq-s-in-s",
    "irq-ns-in-s",
    "irq-s-in-ns",
)
# What must be refused, tried from the non-secure state.
ACCESSES = ("read", "write", "execute", "veneer", "controller", "pointer")
# How functions pass floating-point numbers, and so whether a gate has floating-point registers to clear.
FLOATS = ("hard", "soft")
