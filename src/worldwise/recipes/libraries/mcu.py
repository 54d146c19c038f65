# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for a board, in the lab: one program per curve, and what each operation takes.

PLAN, in JSON, is what `worldwise.targets.board` writes. Programs that do not fit the board are missing
from what is made, and `footprint.json` says why.
"""

import concurrent.futures
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

# The recipes' folder is where this is started from.
from library import STRICT, library_sources, run, seal_hashing  # type: ignore[import-not-found]
from objects import Refused, check_library, finish  # type: ignore[import-not-found]

PREFIX = "arm-none-eabi-"
GUEST = Path("/in/guest")
FRAME = (
    "mcu/start.c",
    "mcu/counter.c",
    "mcu/heap.c",
    "mcu/main.c",
    "portable/operations.c",
    "portable/known.c",
    "portable/random.c",
    "bench/record.c",
    "bench/semihost.c",
)
SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fno-common", "-g")


class Builder:
    """Objects of one plan, each compiled once."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.core: list[str] = plan["flags"]
        self.folder = Path("/in/own") if plan["own"] else GUEST / "ops/portable"
        packaged = Path("/build", plan["debian"]) if plan["debian"] else Path("/in/source")
        self.source = packaged if plan["source"] == "package" else self.folder
        self.adapter = self.folder / ("adapter.c" if plan["own"] else f"{plan['name']}.c")
        self.objects = Path("/build/objects")
        self.objects.mkdir()

    def compile(self, source: Path, flags: list[str]) -> str:
        """The path of the object."""
        key = hashlib.sha256("\0".join([str(source), *flags]).encode()).hexdigest()[:16]
        target = self.objects / f"{source.stem}-{key}.o"
        if not target.exists():
            run(f"{PREFIX}gcc", *self.core, *SECTIONS, *flags, "-c", str(source), "-o", str(target))
        return str(target)

    def library(self, curve: dict[str, Any]) -> list[tuple[Path, list[str]]]:
        """The library's and the adapter's sources with their flags, for one curve."""
        plan = self.plan
        near = [f"-I{self.folder}", f"-I{GUEST / 'ops' / 'portable'}"] if plan["own"] else [f"-I{self.folder}"]
        return list(library_sources(plan, curve, self.source, self.adapter, near))

    def frame(self, curve: dict[str, Any]) -> list[tuple[Path, list[str]]]:
        """The frame's sources: the same optimisation for every variant."""
        plan = self.plan
        macros = [f"FRAME_HAS_{one.upper()}=1" for one in curve["operations"]]
        macros += [
            f"OPS_CURVE={curve['number']}",
            f'FRAME_BOARD="{plan["board"]}"',
            *(f"{key}={value}" for key, value in plan["counter"].items()),
        ]
        flags = ["-O2", *STRICT, *(f"-D{one}" for one in macros)]
        return [(GUEST / name, flags) for name in (*FRAME, *plan["counted_by"])]

    def hashing(self) -> str:
        """The frame's hash."""
        target = self.objects / "frame-sha256.o"
        seal_hashing(PREFIX, target, lambda *one: Path(self.compile(*one)), GUEST / "portable/sha256.c")
        return str(target)

    def footprint_part(self, curve: dict[str, Any], operation: str) -> tuple[Path, list[str]]:
        """A program of nothing but one operation."""
        flags = ["-Os", "-fno-builtin", *STRICT, f"-DOPS_CURVE={curve['number']}"]
        return GUEST / "mcu/footprint.c", [*flags, *([f"-DFOOTPRINT_{operation.upper()}"] if operation else [])]

    def link(self, target: Path, objects: list[str], stack: int) -> None:
        """Raises Refused with the linker's words."""
        plan = self.plan
        symbols = {"board_flash": plan["flash"], "board_ram": plan["ram"], "stack_bytes": stack}
        run(
            f"{PREFIX}gcc",
            *self.core,
            "-nostartfiles",
            "-static",
            "-Wl,--gc-sections",
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
        builder.link(trial, objects, 0)
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
        builder.link(elf, [part, *library], 0)
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
        jobs = {}
        for name, curve in plan["curves"].items():
            jobs[name] = (
                [pool.submit(builder.compile, *one) for one in builder.library(curve)],
                [pool.submit(builder.compile, *one) for one in builder.frame(curve)],
                {
                    operation: pool.submit(builder.compile, *builder.footprint_part(curve, operation))
                    for operation in ["", *curve["operations"]]
                },
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
