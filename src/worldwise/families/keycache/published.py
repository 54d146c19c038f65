# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of keys in secure storage and in the memory of a TA, and of messages to subscribers."""

from worldwise.read.published import PublishedSource

PUBLISHED = PublishedSource(
    name="mqttz-keys",
    reason=(
        "Why they differ: the published figures are times of a clock; the source states neither core, clock "
        "rate and versions nor what the times contain. Only their ratios can be compared: secure storage to "
        "memory of the TA, and a "
        "message to many subscribers to one to a single subscriber."
    ),
    has_tables=True,
)
