# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of SHA-256 in OP-TEE on a Raspberry Pi 3."""

from worldwise.read.published import PublishedSource

PUBLISHED = PublishedSource(
    name="optee-sha256-rpi3",
    reason=(
        "Why they differ: the published figures are times of a Cortex-A53 with its caches and memory; ours are "
        "instructions at one per cycle, at the clock of a Raspberry Pi 3 model B. At which clock theirs ran is not "
        "stated, nor are library, OP-TEE's version and the optimisation level. The BCM2837 of that board has no "
        "cryptographic extension, so the variants without -ce are those to compare, and their sha256sum had none "
        "either; ours has, so ours / sha256sum is greater without -ce and the same library in Linux is the fairer "
        "comparison."
    ),
    hashing={
        "SHA-256 throughput": ("throughput", "MB/s"),
        "fixed cost of one call": ("switch", "us"),
        "SHA-256 of an empty message": ("empty message", "us"),
        "TA wrapper overhead": ("wrapper", "us"),
        "slow-down against sha256sum": ("slow-down", "ratio"),
    },
)
