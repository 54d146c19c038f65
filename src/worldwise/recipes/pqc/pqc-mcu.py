# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a library's post-quantum scheme for a board, in the lab: its program, and what each operation takes.

PLAN, in JSON, is what `worldwise.families.pqc.images` writes.
"""

import concurrent.futures
import json
import os
from pathlib import Path
from typing import Any, ClassVar

# The recipes' folder is where this is started from.
from frame import GUEST, NO_CURVE  # type: ignore[import-not-found]
from library import STRICT  # type: ignore[import-not-found]
from mcu import Builder, footprint, program, too_much  # type: ignore[import-not-found]
from objects import Refused, finish  # type: ignore[import-not-found]


class SchemeBuilder(Builder):  # type: ignore[misc]
    """Objects of one scheme."""

    instead: ClassVar[dict[str, str]] = {
        "operations/operations.c": "pqc-operations/operations.c",
        "operations/known.c": "pqc-operations/known.c",
    }

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self.folder = GUEST / "pqc-adapters"
        self.source = Path("/in/source")
        self.adapter = self.folder / f"{plan['name']}.c"
        plan["defines"].append(f"PQC_SCHEME={plan['scheme']}")

    def macros(self, part: dict[str, Any]) -> list[str]:
        """What tells the frame's sources of a scheme."""
        return [NO_CURVE, f"-DPQC_SCHEME={part['scheme']}"]

    def footprint_part(self, operation: str) -> tuple[Path, list[str]]:
        """A program of nothing but one operation."""
        flags = ["-Os", "-fno-builtin", *STRICT, NO_CURVE, f"-DPQC_SCHEME={self.plan['scheme']}"]
        return GUEST / "pqc-operations/footprint.c", [*flags, f"-DFOOTPRINT_{operation.upper() or 'NOTHING'}"]


def main() -> int:
    """Build everything of the plan."""
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    builder = SchemeBuilder(plan)
    calls: dict[str, str] = plan["operations"]
    name: str = plan["program"]
    measured = {"": "", **calls}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        hashing = builder.hashing()
        library = [*pool.map(lambda one: builder.compile(*one), builder.library(plan)), hashing]
        frame = [*pool.map(lambda one: builder.compile(*one), builder.frame(plan))]
        parts = pool.map(lambda call: builder.compile(*builder.footprint_part(call)), measured.values())
        result = program(builder, name, [*frame, *library])
        try:
            result["operations"] = footprint(builder, name, library, dict(zip(measured, parts, strict=True)))
        except Refused as refused:
            problem = too_much(refused.details)
            if not problem:
                raise
            result.setdefault("problem", problem)
    Path("/out/footprint.json").write_text(json.dumps({name: result}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    finish(main)
