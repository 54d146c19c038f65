# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of mbed TLS on an emulated Cortex-A9."""

from worldwise.read.published import Source

PUBLISHED = Source(
    name="mbedtls-armv7-a9",
    reason=(
        "Why they differ: the published figures are microseconds of a host's clock while QEMU emulated the machine "
        "without icount: what is in them is the host's speed and its other work, and no property of a core. Ours are "
        "instructions. The optimisation level, the compiler's version and the host are not stated."
    ),
    has_tables=True,
)
