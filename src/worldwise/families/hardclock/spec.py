# SPDX-License-Identifier: BSD-2-Clause
"""The clock of mbed TLS in plain Linux, around counted operations: its unit, and the cost of reading it."""

from collections.abc import Mapping

from worldwise.libraries.portable import HARDCLOCK
from worldwise.plan.availability import portable_reason
from worldwise.plan.parameters import CURVE, SIZE, in_plain_linux, on_plain, signed_size_problem
from worldwise.plan.spec import Operation, Spec


def _reason(target: str, implementation: str, given: Mapping[str, str]) -> str:
    return portable_reason(target, implementation, given.get("curve", ""), HARDCLOCK)


SPEC = Spec(
    operations=(
        Operation(
            HARDCLOCK,
            in_plain_linux({"sign": ("linux",), "loop": ("linux",)}),
            on_plain(CURVE, SIZE, options=True),
            signed_size_problem,
            _reason,
        ),
    ),
    published=("mbedtls-armv7-a9",),
)
