# SPDX-License-Identifier: BSD-2-Clause
"""Compiles for a board what its programs share, whatever library they measure: a recipe's program, in the lab.

PLAN, in JSON, is what `worldwise.targets.board` writes: the board and all curves with all operations that there are.
Builds of libraries for the board see the objects below /in/frame, and compile what is missing there.
"""

import concurrent.futures
import hashlib
import json
import os
from pathlib import Path
from typing import Any, ClassVar

# The recipes' folder is where this is started from.
from library import STRICT, run, seal_hashing  # type: ignore[import-not-found]
from objects import finish  # type: ignore[import-not-found]

PREFIX = "arm-none-eabi-"
GUEST = Path("/in/guest")
# In the order in which they are linked.
FRAME = (
    "mcu/start.c",
    "mcu/counter.c",
    "mcu/heap.c",
    "mcu/main.c",
    "operations/operations.c",
    "operations/known.c",
    "operations/random.c",
    "bench/record.c",
    "bench/semihost.c",
)
# Of these, what is another object for each curve and its operations; the others are the same for all.
OF_CURVE = ("mcu/main.c", "operations/operations.c", "operations/known.c")
NO_CURVE = "-DOPS_CURVE=0"
SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fno-common", "-g")
_READY = Path("/in/frame")
_HASHING = "frame-sha256.o"


class Frame:
    """Objects of one board, each compiled once, and which of them are around a library.

    Args:
        plan: what the build is told of the board and its counter.
        objects: the folder that the objects go to.

    Attributes:
        instead: files of the frame, and those that are compiled in their place.
    """

    instead: ClassVar[dict[str, str]] = {}

    def __init__(self, plan: dict[str, Any], objects: Path) -> None:
        self.plan = plan
        self.core: list[str] = plan["flags"]
        self.objects = objects
        self.objects.mkdir(exist_ok=True)
        self._begun: dict[str, concurrent.futures.Future[str]] = {}

    def key(self, source: Path, flags: list[str]) -> str:
        """What an object is known by: sources with the same key are one object."""
        return hashlib.sha256("\0".join([str(source), *flags]).encode()).hexdigest()[:16]

    def begin(
        self, pool: concurrent.futures.Executor, source: Path, flags: list[str]
    ) -> "concurrent.futures.Future[str]":
        """Have the pool compile an object, unless it has been begun already."""
        key = self.key(source, flags)
        if key not in self._begun:
            self._begun[key] = pool.submit(self.compile, source, flags)
        return self._begun[key]

    def compile(self, source: Path, flags: list[str]) -> str:
        """The path of the object."""
        target = self._place(f"{source.stem}-{self.key(source, flags)}.o")
        if not target.exists():
            run(f"{PREFIX}gcc", *self.core, *SECTIONS, *flags, "-c", str(source), "-o", str(target))
        return str(target)

    def _place(self, name: str) -> Path:
        """Where an object is that the board's programs share, or else where it is to be."""
        ready = _READY / name
        return ready if ready.exists() else self.objects / name

    def frame(self, curve: dict[str, Any]) -> list[tuple[Path, list[str]]]:
        """The frame's sources with their flags: the same optimisation for every variant."""
        flags = ["-O2", *STRICT, *(f"-D{key}={value}" for key, value in self.plan["counter"].items())]
        of_curve = [*flags, *self.macros(curve), f'-DFRAME_BOARD="{self.plan["board"]}"']
        return [
            (GUEST / self.instead.get(name, name), of_curve if name in OF_CURVE else [*flags, NO_CURVE])
            for name in (*FRAME, *self.plan["counted_by"])
        ]

    def macros(self, curve: dict[str, Any]) -> list[str]:
        """What tells the frame's sources of a curve and its operations."""
        operations = [f"-DFRAME_HAS_{one.upper()}=1" for one in sorted(curve["operations"])]
        return [*operations, f"-DOPS_CURVE={curve['number']}"]

    def hashing(self) -> str:
        """The frame's hash."""
        target = self._place(_HASHING)
        if not target.exists():
            seal_hashing(PREFIX, target, lambda *one: Path(self.compile(*one)), GUEST / "operations/sha256.c")
        return str(target)

    def footprint_part(self, operation: str) -> tuple[Path, list[str]]:
        """A program of nothing but one operation, of whatever curve."""
        flags = ["-Os", "-fno-builtin", *STRICT, NO_CURVE]
        return GUEST / "mcu/footprint.c", [*flags, *([f"-DFOOTPRINT_{operation.upper()}"] if operation else [])]


def main() -> int:
    """Compile everything of the plan."""
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    frame = Frame(plan, Path("/out"))
    curves: list[dict[str, Any]] = plan["curves"]
    operations = {name for curve in curves for name in curve["operations"]}
    wanted = [one for curve in curves for one in frame.frame(curve)]
    wanted += [frame.footprint_part(name) for name in ("", *sorted(operations))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiling = [pool.submit(frame.hashing), *(frame.begin(pool, *one) for one in wanted)]
        for one in compiling:
            one.result()
    return 0


if __name__ == "__main__":
    finish(main)
