# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for the crypto app, on one curve, in the lab.

PLAN, in JSON, is what `worldwise.families.crypto.images` writes. Objects appear in /build/ta-objects and
/build/linux-objects.
"""

import json
import os
from typing import Any

# The recipes' folder is where this is started from.
from objects import finish  # type: ignore[import-not-found]
from tee_library import build_worlds  # type: ignore[import-not-found]

RANDOM = "operations/random.c"
KNOWN = "operations/known.c"


def main() -> int:
    """Build everything of the plan."""
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    macros = [f"-DOPS_CURVE={plan['number']}", *os.environ["FRAME"].split()]
    # The TA has an ops_random() of its own, which may ask the TEE instead.
    ta = {RANDOM: ("-Dops_random=frame_random",), KNOWN: ()}
    build_worlds(plan, plan["curve"], {RANDOM: (), KNOWN: ()}, ta, macros, cut=True)
    return 0


if __name__ == "__main__":
    finish(main)
