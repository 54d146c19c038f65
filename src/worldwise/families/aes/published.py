# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of AES and secure storage in the OP-TEE applications behind MQT-TZ."""

from worldwise.read.published import PublishedSource

PUBLISHED = PublishedSource(
    name="optee-mqttz-apps",
    reason=(
        "Why they differ: the published figures are milliseconds of a host's clock while QEMU emulated the machine "
        "without icount: they contain the host's speed, its other work and QEMU's translation of code that runs "
        "for the first time, and say nothing about a core. The source states neither OP-TEE's version, nor the "
        "host, nor the optimisation level. Their standard deviations are headed ms^2; they are milliseconds, as "
        "are the values."
    ),
    has_tables=True,
)
