# SPDX-License-Identifier: BSD-2-Clause
"""What a counter counts. No table mixes two of these."""

from typing import Literal

Unit = Literal["instructions", "cycles", "nanoseconds"]
INSTRUCTIONS: Unit = "instructions"
CYCLES: Unit = "cycles"
NANOSECONDS: Unit = "nanoseconds"

# As headers of tables say it.
SHORT: dict[Unit, str] = {"instructions": "instr", "cycles": "cycles", "nanoseconds": "ns"}
