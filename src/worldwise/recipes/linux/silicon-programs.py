# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for a Linux host, in the lab: plain-programs.py's program with another counter.

That file is part of the address of every program for an emulated machine, so what differs stands here.
"""

import importlib
from pathlib import Path

# Its name is no Python name.
plain = importlib.import_module("plain-programs")
SILICON = Path("silicon")
# Source of the frame -> what stands in its place; None for nothing.
INSTEAD = {"bench/bench.c": SILICON / "bench.c", "linux/idle.c": None}
MORE = (SILICON / "counter.c", SILICON / "perf.c")


class Builder(plain.Builder):  # type: ignore[misc, name-defined]
    """As there, with the host's counter in the frame."""

    def frame(self) -> list[tuple[Path, list[str]]]:
        """The frame's sources with their flags."""
        found: list[tuple[Path, list[str]]] = super().frame()
        flags = ["-include", str(plain.GUEST / SILICON / "region.h")]
        parts = [(INSTEAD.get(str(path.relative_to(plain.GUEST)), path), given) for path, given in found]
        kept = [(plain.GUEST / path, [*given, *flags]) for path, given in parts if path]
        return [*kept, *((plain.GUEST / path, found[0][1]) for path in MORE)]


if __name__ == "__main__":
    plain.Builder = Builder  # type: ignore[attr-defined]
    plain.finish(plain.main)
