# SPDX-License-Identifier: BSD-2-Clause
"""The smallest TA: one value goes over, is incremented, and comes back."""

from worldwise.plan.parameters import LOAD, TICKS
from worldwise.plan.spec import IN_TEE, OPTEE, App, Operation, Spec

SPEC = Spec(
    operations=(Operation("hello", {OPTEE: {"increment": IN_TEE}}, {OPTEE: (LOAD, TICKS)}, app="hello"),),
    apps={"hello": App("a1f5c2de-0001-4b1c-9a3e-68656c6c6f00")},
)
