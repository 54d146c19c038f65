# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a library's post-quantum scheme for a core with TrustZone-M, in the lab: behind the gateway, and its caller.

PLAN, in JSON, is what `worldwise.families.pqc.images` writes.
"""

import importlib
import json
import os
from pathlib import Path
from typing import Any

# The recipes' folder is where this is started from.
from objects import finish  # type: ignore[import-not-found]
from tzm import States, of_library  # type: ignore[import-not-found]

boards: Any = importlib.import_module("pqc-mcu")


def main() -> int:
    """Build everything of the plan."""
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    states = States(boards.SchemeBuilder(plan))
    name: str = plan["program"]
    between = ("tzm/pqc-library.c", "tzm/pqc-behind.c")
    macros = [f"-DPQC_SCHEME={plan['scheme']}"]
    result = {name: of_library(states, name, plan, states.normal.hashing(), between, macros)}
    Path("/out/footprint.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    finish(main)
