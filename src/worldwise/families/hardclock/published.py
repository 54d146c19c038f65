# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of mbed TLS on an emulated Cortex-A9."""

from worldwise.read.published import PublishedSource

PUBLISHED = PublishedSource(
    name="mbedtls-armv7-a9",
    reason=(
        "Why they differ: the published figures are microseconds of a host's clock while QEMU emulated the machine "
        "without icount: they contain the host's speed and its other work, and say nothing about a core. Ours "
        "are instructions. The source states neither the optimisation level, nor the compiler's version, nor the host."
    ),
    has_tables=True,
)
