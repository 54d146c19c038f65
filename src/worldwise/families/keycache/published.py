# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of keys in secure storage and in the memory of a TA."""

from worldwise.read.published import Source

PUBLISHED = Source(
    name="mqttz-keys",
    reason=(
        "Why they differ: the published figures are milliseconds of a clock; core, clock rate, versions and what is "
        "in them are not stated with them. What can be compared is their ratio, secure storage to memory of the TA."
    ),
    has_tables=True,
)
