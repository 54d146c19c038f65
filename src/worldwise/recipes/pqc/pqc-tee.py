# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a library's post-quantum scheme for a TA, in the lab: /build/ta-objects/library.o.

PLAN, in JSON, is what `worldwise.families.pqc.images` writes.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tee_library  # type: ignore[import-not-found]

# The recipes' folder is where this is started from.
from library import LENIENT, flags_of, sources_of  # type: ignore[import-not-found]
from objects import OPERATIONS, finish  # type: ignore[import-not-found]


class SchemeWorld(tee_library.World):  # type: ignore[misc]
    """Objects of one scheme. The bench has none beside them: known answers are the client's."""

    def build(self, strict: Sequence[str]) -> tuple[dict[Path, str], list[Path]]:
        """Objects of the library with their sources' names, and none of the bench."""
        plan = self.plan
        source, folder = Path("/in/source"), tee_library.GUEST / "pqc-adapters"
        adapter = folder / f"{plan['name']}.c"
        foreign, ours = flags_of(source, plan, [f"-I{folder}"])
        library = {
            self.compile(path, [*LENIENT, *foreign]): str(path.relative_to(source))
            for path in sources_of(source, plan["sources"], adapter)
        }
        library[self.compile(adapter, [*strict, *ours])] = adapter.name
        return library, []


def main() -> int:
    """Build everything of the plan."""
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    # The interface is that of guest/pqc-adapters/pqc.h.
    OPERATIONS.clear()
    OPERATIONS.update({name: f"pqc_{name}" for name in plan["operations"]})
    plan["defines"].append(f"PQC_SCHEME={plan['scheme']}")
    tee_library.World = SchemeWorld
    tee_library.build_worlds(plan, plan["program"], {}, {}, (), cut=True)
    return 0


if __name__ == "__main__":
    finish(main)
