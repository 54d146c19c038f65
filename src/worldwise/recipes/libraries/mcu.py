# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for a board, in the lab: one program per curve, and what each operation takes.

PLAN, in JSON, is what `worldwise.targets.board` writes. Programs that do not fit the board are missing
from what is made, and `footprint.json` says why.
"""

import collections
import concurrent.futures
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

# The recipes' folder is where this is started from.
from frame import GUEST, PREFIX, Frame  # type: ignore[import-not-found]
from library import library_sources, run  # type: ignore[import-not-found]
from objects import Refused, check_library, finish  # type: ignore[import-not-found]

# For a program that is never run, which the linker need not write lines and types for.
SIZES_ALONE = "-Wl,--strip-debug"


class Builder(Frame):  # type: ignore[misc]
    """Objects of one library on one board, each compiled once."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan, Path("/build/objects"))
        self.folder = Path("/in/own") if plan["own"] else GUEST / "adapters"
        packaged = Path("/build", plan["debian"]) if plan["debian"] else Path("/in/source")
        self.source = packaged if plan["source"] == "package" else self.folder
        self.adapter = self.folder / ("adapter.c" if plan["own"] else f"{plan['name']}.c")
        self._texts: dict[str, concurrent.futures.Future[str]] = {}

    def compare(self, pool: concurrent.futures.Executor, files: list[tuple[Path, list[str]]]) -> None:
        """Have the pool preprocess files that several curves compile: where the text is the same, so is the object."""
        uses = collections.Counter(source for source, _ in files)
        # The adapter has another text for each curve.
        for source, flags in files:
            if uses[source] > 1 and source != self.adapter:
                self._texts[super().key(source, flags)] = pool.submit(self._preprocessed, source, flags)

    def key(self, source: Path, flags: list[str]) -> str:
        """What an object is known by: its preprocessed text if `compare` has it, else its source and flags."""
        key: str = super().key(source, flags)
        return self._texts[key].result() if key in self._texts else key

    def _preprocessed(self, source: Path, flags: list[str]) -> str:
        """What the compiler makes an object of, as a digest: the text and the flags that are not the preprocessor's."""
        text = run(f"{PREFIX}gcc", *self.core, *flags, "-E", str(source))
        others = [one for one in flags if not one.startswith(("-D", "-I", "-isystem", "/"))]
        return hashlib.sha256("\0".join([*others, text]).encode()).hexdigest()

    def library(self, curve: dict[str, Any]) -> list[tuple[Path, list[str]]]:
        """The library's and the adapter's sources with their flags, for one curve."""
        plan = self.plan
        near = [f"-I{self.folder}", f"-I{GUEST / 'adapters'}"] if plan["own"] else [f"-I{self.folder}"]
        return list(library_sources(plan, curve, self.source, self.adapter, near))

    def link(self, target: Path, objects: list[str], stack: int, *flags: str) -> None:
        """Raises Refused with the linker's words."""
        plan = self.plan
        symbols = {"board_flash": plan["flash"], "board_ram": plan["ram"], "stack_bytes": stack}
        run(
            f"{PREFIX}gcc",
            *self.core,
            "-nostartfiles",
            "-static",
            "-Wl,--gc-sections",
            *flags,
            "-Wl,--no-warn-rwx-segments",
            *(f"-Wl,--defsym={name}={value}" for name, value in symbols.items()),
            "-L/in/boards",
            f"-T/in/boards/{plan['script']}",
            *objects,
            "-o",
            str(target),
        )


def sizes(elf: Path) -> dict[str, int]:
    """Bytes by output section."""
    found = {}
    for line in run(f"{PREFIX}size", "-A", str(elf)).splitlines():
        words = line.split()
        if len(words) == 3 and words[0].startswith("."):
            found[words[0]] = int(words[1])
    return found


def too_much(words: str) -> str:
    """What of a linker's words says that a program does not fit; empty if that is not it."""
    found = re.findall(r"region `(\w+)' overflowed by (\d+) bytes", words)
    return " and ".join(f"{region} is too small by {int(count):,} bytes" for region, count in found)


def program(builder: Builder, name: str, objects: list[str]) -> dict[str, Any]:
    """Link one curve's program with all the stack that the board has left, and say how much that is."""
    plan = builder.plan
    trial = Path("/build", f"{name}.trial.elf")
    try:
        builder.link(trial, objects, 0, SIZES_ALONE)
        found = sizes(trial)
        # What nothing else uses is stack; of a program with a heap a quarter of it, or what the heap does not need.
        left = plan["ram"] - found.get(".data", 0) - found.get(".bss", 0) - found.get(".stack", 0)
        heap = re.search(r" T (malloc|calloc|realloc)$", run(f"{PREFIX}nm", str(trial)), re.MULTILINE) is not None
        stack = (left - (plan["heap"] or left * 3 // 4) if heap else left) & ~7
        if stack < plan["least_stack"]:
            return {"problem": f"RAM is too small: {max(stack, 0):,} bytes are left for the stack"}
        builder.link(Path("/out", f"{name}.elf"), objects, stack)
        return {"stack": stack, "heap": left - stack if heap else 0}
    except Refused as refused:
        problem = too_much(refused.details)
        if not problem:
            raise
        return {"problem": problem}


def footprint(builder: Builder, name: str, library: list[str], parts: dict[str, str]) -> dict[str, dict[str, int]]:
    """What each operation of a curve adds to a program without it, in bytes."""
    flash_of = (".text", ".ARM.exidx", ".data")
    ram_of = (".data", ".bss")
    found = {}
    for operation, part in parts.items():
        elf = Path("/build", f"{name}-{operation or 'nothing'}.elf")
        builder.link(elf, [part, *library], 0, SIZES_ALONE)
        found[operation] = sizes(elf)
    base = found.pop("")
    return {
        operation: {
            "flash": sum(one.get(section, 0) - base.get(section, 0) for section in flash_of),
            "ram": sum(one.get(section, 0) - base.get(section, 0) for section in ram_of),
        }
        for operation, one in found.items()
    }


def check(builder: Builder, name: str, library: list[str], frame: list[str]) -> None:
    """Refuse what a library that a user brought must not have. Raises Refused."""
    curve = builder.plan["curves"][name]
    sources = [str(path).removeprefix(f"{builder.folder}/") for path, _ in builder.library(curve)]
    named = dict(zip(map(Path, library), sources, strict=True))
    check_library(
        named, map(Path, frame), curve["operations"], "arm", PREFIX, name, frame_sha256=builder.plan["frame_sha256"]
    )


def main() -> int:
    """Build everything of the plan."""
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    builder = Builder(plan)
    result: dict[str, Any] = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        hashing = builder.hashing()
        sources = {name: builder.library(curve) for name, curve in plan["curves"].items()}
        builder.compare(pool, [one for files in sources.values() for one in files])
        jobs = {}
        for name, curve in plan["curves"].items():
            jobs[name] = (
                [builder.begin(pool, *one) for one in sources[name]],
                [builder.begin(pool, *one) for one in builder.frame(curve)],
                {one: builder.begin(pool, *builder.footprint_part(one)) for one in ["", *curve["operations"]]},
            )
        for name, (compiling_library, compiling_frame, compiling_parts) in jobs.items():
            library = [one.result() for one in compiling_library]
            frame = [one.result() for one in compiling_frame]
            if plan["own"]:
                check(builder, name, library, frame)
            parts = {operation: one.result() for operation, one in compiling_parts.items()}
            result[name] = program(builder, name, [*frame, *library, hashing])
            try:
                # The frame's hash is a part of what a library without one takes.
                result[name]["operations"] = footprint(builder, name, [*library, hashing], parts)
            except Refused as refused:
                problem = too_much(refused.details)
                if not problem:
                    raise
                result[name].setdefault("problem", problem)
    Path("/out/footprint.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    finish(main)
