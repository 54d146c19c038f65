# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a library's post-quantum scheme for plain Linux, in the lab: one program with the scheme's operations.

PLAN, in JSON, is what `worldwise.families.pqc.images` writes.
"""

import importlib
from pathlib import Path
from typing import Any

# The recipes' folder is where this is started from.
from objects import finish  # type: ignore[import-not-found]

plain: Any = importlib.import_module("plain-programs")

OWN = {"operations/operations.c": "pqc-operations/operations.c", "operations/known.c": "pqc-operations/known.c"}


class SchemeBuilder(plain.Builder):  # type: ignore[misc]
    """Objects of one scheme, and the program."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self.folder = plain.GUEST / "pqc-adapters"
        self.source = Path("/in/source")
        self.adapter = self.folder / f"{plan['name']}.c"
        plan["defines"].append(f"PQC_SCHEME={plan['scheme']}")

    def frame(self) -> list[tuple[Path, list[str]]]:
        """The frame's sources, with the operations of a scheme."""
        ours = {plain.GUEST / name: plain.GUEST / own for name, own in OWN.items()}
        return [
            (ours.get(source, source), [*flags, f"-DPQC_SCHEME={self.plan['scheme']}"])
            for source, flags in super().frame()
        ]


if __name__ == "__main__":
    plain.Builder = SchemeBuilder
    finish(plain.main)
