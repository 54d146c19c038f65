# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for a Linux host, in the lab: plain-programs.py's program with another counter.

That file is part of the address of every program for an emulated machine, so what differs stands here.
"""

import importlib
from pathlib import Path
from typing import Any

# Its name is no Python name.
plain = importlib.import_module("plain-programs")
SILICON = Path("board-linux")
WITHOUT = "linux/idle.c"
MORE = (SILICON / "host_bench.c", SILICON / "counter.c", SILICON / "perf.c")
# What host_bench.c has in place of the bench's own, or around it.
WRAPPED = ("bench_start", "bench_record_overhead", "bench_record_sample", "record_text")


class Builder(plain.Builder):  # type: ignore[misc, name-defined]
    """As there, with the host's counter in the frame."""

    def __init__(self, plan: dict[str, Any]) -> None:
        # The compiler hands these on when it links, and else ignores them.
        flags = [*plan["architecture_flags"], *(f"-Wl,--wrap={name}" for name in WRAPPED)]
        super().__init__({**plan, "architecture_flags": flags})

    def frame(self) -> list[tuple[Path, list[str]]]:
        """The frame's sources with their flags."""
        found: list[tuple[Path, list[str]]] = super().frame()
        flags = ["-include", str(plain.GUEST / SILICON / "region.h")]
        kept = [(path, [*given, *flags]) for path, given in found if path != plain.GUEST / WITHOUT]
        return [*kept, *((plain.GUEST / path, found[0][1]) for path in MORE)]


if __name__ == "__main__":
    plain.Builder = Builder  # type: ignore[attr-defined]
    plain.finish(plain.main)
