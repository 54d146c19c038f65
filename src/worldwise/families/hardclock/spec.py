# SPDX-License-Identifier: BSD-2-Clause
"""The clock of mbed TLS in plain Linux, around counted operations: its unit, and the cost of reading it."""

from worldwise.libraries.portable import HARDCLOCK
from worldwise.plan.availability import portable_reason
from worldwise.plan.parameters import CURVE, SIZE, in_plain_linux, on_plain, signed_size_problem
from worldwise.plan.spec import Operation, Spec

SPEC = Spec(
    operations=(
        Operation(
            HARDCLOCK,
            in_plain_linux({"sign": ("linux",), "loop": ("linux",)}),
            on_plain(CURVE, SIZE, options=True),
            signed_size_problem,
            portable_reason(HARDCLOCK),
        ),
    ),
    published=("mbedtls-armv7-a9",),
    also=("portable",),
)
