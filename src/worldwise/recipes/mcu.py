# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for a board, in the lab: one program per curve, and what each operation takes.

PLAN, in JSON, is what `worldwise.image.firmware_programs` writes. Programs that do not fit the board are missing from
what is made, and `footprint.json` says why.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from objects import Refused, check_library, explain  # type: ignore[import-not-found]

PREFIX = "arm-none-eabi-"
GUEST = Path("/in/guest")
FRAME = (
    "mcu/start.c",
    "mcu/counter.c",
    "mcu/heap.c",
    "mcu/main.c",
    "mcu/known.c",
    "ops/common/random.c",
    "bench/record.c",
    "bench/semihost.c",
)
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
# For sources that are not ours: they are as they are.
LENIENT = ("-std=gnu11", "-w")
SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fno-common", "-g")
# SHA-256 for libraries that have none.
SHA256 = ("src/hash/sha2small.c", "src/codec/dec32be.c", "src/codec/enc32be.c")


def run(*argv: str) -> str:
    """What a command prints. Raises Refused with what it says on standard error."""
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Refused(explain(result.stderr), f"{result.stderr}\n{' '.join(argv)}")
    return result.stdout


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
        level = [f"-{plan['optimisation']}"]
        macros = [f"-D{one}" for one in [*curve["defines"], f"OPS_CURVE={curve['number']}"]]
        folders = [str(self.source / one) for one in curve["include"]]
        near = [f"-I{self.folder}", f"-I{GUEST / 'ops' / 'portable'}"] if plan["own"] else [f"-I{self.folder}"]
        strictness = list(STRICT) if plan["warnings"] else list(LENIENT)
        sources: list[Path] = []
        for pattern in curve["sources"]:
            found = sorted(self.source.glob(pattern))
            if not found:
                raise Refused(f"sources: '{pattern}' names no file of the library")
            sources += [path for path in found if path not in sources and path.resolve() != self.adapter.resolve()]
        library = [
            (path, [*level, *strictness, *curve["flags"], *macros, *(f"-I{one}" for one in folders), *near])
            for path in sources
        ]
        own = [*level, *STRICT, *macros, *near, *(word for one in folders for word in ("-isystem", one))]
        return [*library, (self.adapter, own)]

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
        return [(GUEST / name, flags) for name in FRAME]

    def hashing(self) -> str:
        """The frame's hash as one object that shows its own name alone: the library may have the others too."""
        target = self.objects / "frame-sha256.o"
        bear = "/build/bearssl"
        foreign = ["-O2", *LENIENT, f"-I{bear}/src", f"-I{bear}/inc"]
        parts = [
            self.compile(GUEST / "ops/common/sha256.c", ["-O2", *STRICT, "-DOPS_CURVE=0", "-isystem", f"{bear}/inc"]),
            *(self.compile(Path(bear, name), foreign) for name in SHA256),
        ]
        run(f"{PREFIX}ld", "-r", "-o", str(target), *parts)
        run(f"{PREFIX}objcopy", "--keep-global-symbol=ops_frame_sha256", str(target))
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
    try:
        sys.exit(main())
    except Refused as refused:
        sys.exit(refused.report())
