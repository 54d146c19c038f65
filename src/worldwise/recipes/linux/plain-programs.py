# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a portable implementation for plain Linux, in the lab: one program with one curve's operations.

PLAN, in JSON, is what `worldwise.targets.linux` writes.
"""

import concurrent.futures
import functools
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The recipes' folder is where this is started from.
from library import STRICT, flags_of, library_sources, run, seal_hashing  # type: ignore[import-not-found]
from objects import check_library, finish  # type: ignore[import-not-found]

GUEST = Path("/build/guest")
PACKAGES = Path("/build/packages/usr")
FRAME = (
    "operations/linux.c",
    "linux/idle.c",
    "linux/load.c",
    "linux/draw.c",
    "operations/known.c",
    "operations/operations.c",
    "operations/random.c",
    "bench/bench.c",
    "bench/message.c",
    "bench/record.c",
    "bench/semihost.c",
)
HARDCLOCK = "mbedtls-clock"
COMMON = ("-D_GNU_SOURCE", "-ffunction-sections", "-fdata-sections", "-fno-pie", "-g")


class Builder:
    """Objects of one plan, and the program."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.prefix: str = plan["prefix"]
        self.folder = Path("/in/own") if plan["own"] else GUEST / "adapters"
        packaged = Path("/build", plan["debian"]) if plan["debian"] else Path("/in/source")
        self.source = self.folder if plan["own"] else packaged
        self.adapter = self.folder / ("adapter.c" if plan["own"] else f"{plan['name']}.c")
        self.objects = Path("/build/objects")
        self.objects.mkdir()

    def compile(self, name: str, source: Path, flags: Sequence[str]) -> Path:
        """The path of the object."""
        target = self.objects / f"{name}-{source.stem}.o"
        run(
            f"{self.prefix}gcc", *self.plan["architecture_flags"], *COMMON, *flags, "-c", str(source), "-o", str(target)
        )
        return target

    def library(self) -> list[tuple[Path, list[str]]]:
        """The library's and the adapter's sources with their flags; of what comes compiled the adapter alone."""
        plan = self.plan
        near = [f"-I{self.folder}", f"-I{GUEST / 'adapters'}"]
        *library, (adapter, flags) = library_sources(plan, plan, self.source, self.adapter, near)
        headers = [word for one in ("", plan["triplet"]) for word in ("-isystem", str(PACKAGES / "include" / one))]
        return [*library, (adapter, [*flags, *(headers if plan["archives"] else [])])]

    def frame(self) -> list[tuple[Path, list[str]]]:
        """The frame's sources: the same optimisation for every variant."""
        plan = self.plan
        macros = [f"FRAME_HAS_{one.upper()}=1" for one in plan["operations"]]
        macros += ["FRAME_HEDGED"] if plan["hedged"] else []
        macros += [f"OPS_CURVE={plan['number']}", f"FRAME_MESSAGE_BYTES={plan['message_bytes']}"]
        flags = ["-O2", *STRICT, *(f"-D{one}" for one in macros)]
        parts = [(GUEST / name, flags) for name in (*FRAME, *plan["counter"])]
        if "hardclock" in plan["operations"]:
            parts += [(GUEST / HARDCLOCK / "case.c", flags), (GUEST / HARDCLOCK / "timing.c", self.timing())]
        return parts

    def timing(self) -> list[str]:
        """The flags of the library's clock: its own file, within one of the frame's."""
        _, adapter = flags_of(self.source, self.plan, [f"-I{self.folder}"])
        return [f"-{self.plan['optimisation']}", *STRICT, *adapter, "-isystem", str(self.source)]

    def hashing(self) -> Path:
        """The frame's hash."""
        target = self.objects / "frame-sha256.o"
        seal_hashing(self.prefix, target, functools.partial(self.compile, "hash"), GUEST / "operations/sha256.c")
        return target

    def check(self, library: Sequence[Path], frame: Sequence[Path]) -> None:
        """Refuse what a library that a user brought must not have. Raises Refused."""
        plan = self.plan
        names = [str(path).removeprefix(f"{self.folder}/") for path, _ in self.library()]
        check_library(
            dict(zip(library, names, strict=True)),
            frame,
            plan["operations"],
            plan["instructions"],
            self.prefix,
            plan["curve"],
            frame_sha256=plan["frame_sha256"],
        )

    def link(self, objects: Sequence[Path]) -> None:
        """Raises Refused with the linker's words."""
        archives = [str(PACKAGES / "lib" / self.plan["triplet"] / name) for name in self.plan["archives"]]
        run(
            f"{self.prefix}gcc",
            *self.plan["architecture_flags"],
            *("-static", "-no-pie", "-Wl,--gc-sections"),
            # Packages link to what looks names up in files, and here nothing does.
            "-Wl,--no-warnings",
            *map(str, objects),
            *archives,
            *("-Wl,-Map=/build/map", "-o", "/out/linux-bench"),
        )


# A part that the linker kept: its section, on a line of its own if it is long, address, size and file.
_KEPT = re.compile(r"^ (\.[\w.-]+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S.*)$", re.MULTILINE)
_CODE = (".text", ".rodata", ".data", ".ARM.ex")
_MEMORY = (".data", ".bss")


def footprint(library: Sequence[Path]) -> dict[str, int]:
    """The library's bytes in the linked program: `flash` of code, constants and initial values, `ram` of variables.

    By the linker's map; the frame and the C library are not in it.
    """
    text = Path("/build/map").read_text(encoding="utf-8").partition("\nLinker script and memory map\n")[2]
    ours = {str(path) for path in library}
    found = {"flash": 0, "ram": 0}
    for section, size, file in _KEPT.findall(text):
        if file in ours or file.startswith(f"{PACKAGES}/"):
            for what, names in (("flash", _CODE), ("ram", _MEMORY)):
                found[what] += int(size, 16) if section.startswith(names) else 0
    return found


def main() -> int:
    """Build everything of the plan."""
    builder = Builder(json.loads(os.environ["PLAN"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiling = [
            [pool.submit(builder.compile, f"{kind}{number}", *one) for number, one in enumerate(sources)]
            for kind, sources in (("library", builder.library()), ("frame", builder.frame()))
        ]
        hashing = builder.hashing()
        library, frame = ([one.result() for one in jobs] for jobs in compiling)
    if builder.plan["own"]:
        builder.check(library, frame)
    builder.link([*frame, *library, hashing])
    Path("/out/footprint.json").write_text(json.dumps(footprint(library)) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    finish(main)
