# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of post-quantum schemes on a Cortex-M4."""

from worldwise.read.published import PublishedSource

PUBLISHED = PublishedSource(
    name="pqm4",
    reason=(
        "How they compare: pqm4's figures are cycles of a board, ours instructions, and a Cortex-M4 does at most one "
        "instruction in a cycle. The code is another: clean is PQClean's C, m4f and m4fspeed are pqm4's assembly for "
        "speed, m4fstack for little stack; ours is wolfSSL. pqm4's calls draw their random bytes and have no heap: its "
        "stack stands beside our stack and heap. Its compiler's version and flags are not stated beside the figures. "
        "Signatures are a mean of 1,000 there."
    ),
    has_tables=True,
)
