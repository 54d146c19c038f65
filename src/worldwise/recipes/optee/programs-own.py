# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for the TA and for Linux, in the lab, with the same code generation.

PLAN, in JSON, is what `worldwise.own.programs` writes. Objects appear in /build/ta-objects and
/build/linux-objects. With the arguments `failed FILE` it says instead, in a line, what a linker said that wrote FILE.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

# The recipes' folder is where this is started from.
from library import STRICT  # type: ignore[import-not-found]
from objects import Refused, explain, finish  # type: ignore[import-not-found]
from tee_library import GUEST, build_worlds  # type: ignore[import-not-found]

CURVE = "secp256r1"
FRAME = {"ops/own.c": (), "ops/common/random.c": (), "mcu/known.c": ()}


def main() -> int:
    """Build everything of the plan."""
    if sys.argv[1:2] == ["failed"]:
        words = Path(sys.argv[2]).read_text(encoding="utf-8")
        raise Refused(explain(words), words)
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    named = [f"-DOPS_CURVE={plan['number']}", f'-DOWN_NAME="{plan["name"]}"']
    linux = build_worlds(plan, CURVE, FRAME, FRAME, [*named, "-DFRAME_HAS_SIGN=1"])
    linux.compile(GUEST / "linux/own.c", ["-O2", *STRICT, *named])
    return 0


if __name__ == "__main__":
    finish(main)
