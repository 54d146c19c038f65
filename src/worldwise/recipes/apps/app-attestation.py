# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for the attestation, in the lab: for the TA and for Linux, generated alike.

PLAN, in JSON, is what `worldwise.families.attestation.images` writes. Objects appear in /build/ta-objects and
/build/linux-objects.
"""

import json
import os
from typing import Any

# The recipes' folder is where this is started from.
from library import STRICT  # type: ignore[import-not-found]
from objects import finish  # type: ignore[import-not-found]
from tee_library import GUEST, build_worlds  # type: ignore[import-not-found]

CURVE = "secp256r1"
FRAME = {"operations/trial.c": (), "operations/random.c": (), "operations/known.c": ()}


def main() -> int:
    """Build everything of the plan."""
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    named = [f"-DOPS_CURVE={plan['number']}", f'-DTRIAL_NAME="{plan["name"]}"']
    linux = build_worlds(plan, CURVE, FRAME, FRAME, [*named, "-DFRAME_HAS_SIGN=1"])
    linux.compile(GUEST / "apps/attestation/linux/library/portable.c", ["-O2", *STRICT, *named])
    return 0


if __name__ == "__main__":
    finish(main)
