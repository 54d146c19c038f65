# SPDX-License-Identifier: BSD-2-Clause
"""TrustZone-M: the rules for its records."""

from worldwise.plan.spec import BOARD
from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence(
    (
        Owed((BOARD,), "gateway", checks=("went-there",), memory_at="mcu"),
        Owed((BOARD,), "refused", checks=("refused",), memory_at="mcu"),
    )
)
