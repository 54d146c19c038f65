# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of AES and secure storage in the OP-TEE applications behind MQT-TZ."""

from worldwise.read.published import Source

PUBLISHED = Source(
    name="optee-mqttz-apps",
    reason=(
        "Why they differ: the published figures are milliseconds of a host's clock while QEMU emulated the machine "
        "without icount: what is in them is the host's speed, its other work and QEMU's translation of code that runs "
        "for the first time, and no property of a core. OP-TEE's version, the host and the optimisation level are not "
        "stated. Their standard deviations are headed ms^2; they are milliseconds, as are the values."
    ),
    has_tables=True,
)
