# SPDX-License-Identifier: BSD-2-Clause
"""How a portable implementation is compiled in the lab for a TA and for Linux, with the same code generation.

Started with the arguments `failed FILE` it says, in a line, what a linker said that wrote FILE.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# The recipes' folder is where this is started from.
from library import (  # type: ignore[import-not-found]
    HASHING,
    HASHING_FLAGS,
    HASHING_HEADERS,
    LENIENT,
    STRICT,
    flags_of,
    run,
    seal,
    sources_of,
)
from objects import ALWAYS, OPERATIONS, Refused, check_library, explain, finish  # type: ignore[import-not-found]

PREFIX = "aarch64-linux-gnu-"
GUEST = Path("/build/guest")
DEV_KIT = Path("/build/devkit")
# What a library in a TA must not get from OP-TEE: then that would be measured. Its own mbed TLS is another matter.
TEE_API = r"(TEE|TA|utee|_utee|tee|_TEE|mbedtls|psa)_.*"


def generation() -> list[str]:
    """How the dev kit generates code: level, alignment, stack protector."""
    text = (DEV_KIT / "mk/conf.mk").read_text(encoding="utf-8")
    found = re.search(r"^ta_arm64-platform-cflags := (.*)$", text, re.MULTILINE)
    if not found:
        raise Refused("the dev kit's conf.mk names no ta_arm64-platform-cflags")
    return found[1].split()


class World:
    """Where the library is compiled for: the TA or Linux. Objects appear in /build/NAME-objects.

    Args:
        name: `ta` or `linux`.
        flags: how code is generated there.
        plan: what is compiled, as `worldwise.targets.portable_images.tee_plan` writes it.
        frame: sources of the bench, relative to its folder, each with flags of its own.
        macros: definitions for the bench's sources.
    """

    def __init__(
        self,
        name: str,
        flags: list[str],
        plan: dict[str, Any],
        frame: Mapping[str, Sequence[str]],
        macros: Sequence[str],
    ) -> None:
        self.folder = Path(f"/build/{name}-objects")
        self.flags = flags
        self.plan = plan
        self.frame = frame
        self.macros = macros
        self.number = 0

    def compile(self, source: Path, flags: Sequence[str]) -> Path:
        """The path of the object."""
        self.number += 1
        target = self.folder / f"{self.number:03}-{source.stem}.o"
        run(f"{PREFIX}gcc", *self.flags, *flags, "-c", str(source), "-o", str(target))
        return target

    def build(self, strict: Sequence[str]) -> tuple[dict[Path, str], list[Path]]:
        """Objects of the library with their sources' names, and those of the bench."""
        plan = self.plan
        packaged = Path("/build", plan["debian"]) if plan["debian"] else Path("/in/source")
        own = Path("/in/own")
        source = own if plan["own"] else packaged
        adapter = own / "adapter.c" if own.exists() else Path("/in/guest/adapters") / f"{plan['name']}.c"
        near = [*([f"-I{own}"] if own.exists() else []), f"-I{GUEST / 'adapters'}"]
        foreign, ours = flags_of(source, plan, near)
        library = {
            self.compile(path, [*LENIENT, *foreign]): str(path.relative_to(source))
            for path in sources_of(source, plan["sources"], adapter)
        }
        library[self.compile(adapter, [*strict, *ours])] = adapter.name
        frame = [self.compile(GUEST / name, [*LENIENT, *self.macros, *more]) for name, more in self.frame.items()]
        return library, [*frame, self.hashing()]

    def seal(self, library: dict[Path, str], cut: bool) -> None:
        """Make one object of the library, with no names to be seen but those of ops.h: OP-TEE has an mbed TLS too.

        With `cut` it has nothing that the operations do not need: the dev kit's linker keeps all that it gets.
        """
        target = self.folder / "library.o"
        names = [*ALWAYS, *OPERATIONS.values()]
        if cut:
            parts = list(library)
            wanted = [*ALWAYS, *(OPERATIONS[name] for name in self.plan["operations"])]
            whole = self.folder / "whole.o"
            kept = [f"--undefined={name}" for name in dict.fromkeys(wanted)]
            run(f"{PREFIX}ld", "-r", "--gc-sections", *kept, "-o", str(whole), *map(str, parts))
            seal(PREFIX, target, [whole], names)
            whole.unlink()
        else:
            seal(PREFIX, target, library, names)
        for path in library:
            path.unlink()

    def hashing(self) -> Path:
        """The bench's hash as one object that shows its own name alone: the library may have the others too."""
        target = self.folder / "sha256.o"
        parts = [self.compile(GUEST / "operations/sha256.c", [*LENIENT, *self.macros, *HASHING_HEADERS])]
        parts += [self.compile(path, [*LENIENT, *HASHING_FLAGS]) for path in HASHING]
        seal(PREFIX, target, parts, ["ops_frame_sha256"])
        for part in parts:
            part.unlink()
        return target


def build_worlds(
    plan: dict[str, Any],
    curve: str,
    linux_frame: Mapping[str, Sequence[str]],
    ta_frame: Mapping[str, Sequence[str]],
    macros: Sequence[str],
    cut: bool = False,
) -> World:
    """Compile the library for both worlds, look at it and seal it. Returns Linux's, for what is compiled besides.

    With `cut` the TA gets no function of the library that it does not call. Raises Refused.
    """
    common = generation()
    compiler = run(f"{PREFIX}gcc", "-print-file-name=include").strip()
    # A TA is no Linux program, though the compiler is Linux's: libraries look for /dev/urandom by these names.
    there = [f"-U{name}" for name in ("linux", "__linux", "__linux__", "unix", "__unix", "__unix__")]
    there += ["-nostdinc", "-isystem", compiler, "-idirafter", str(DEV_KIT / "include"), "-DARM64=1"]
    here = ["-D_GNU_SOURCE", "-ffunction-sections", "-fdata-sections", "-fno-pie"]
    linux = World("linux", [*(flag for flag in common if flag != "-fpic"), *here], plan, linux_frame, macros)
    apart = ["-ffunction-sections", "-fdata-sections"] if cut else []
    ta = World("ta", [*common, *there, *apart], plan, ta_frame, macros)
    # Linux first: a mistake in the adapter is then told by a compiler that has all of the C library's headers.
    for world, strict, forbidden in ((linux, STRICT, ""), (ta, LENIENT, TEE_API)):
        library, frame = world.build(strict)
        check_library(
            library, frame, plan["operations"], "aarch64", PREFIX, curve, forbidden, frame_sha256=plan["frame_sha256"]
        )
        world.seal(library, cut and world is ta)
    return linux


def main() -> int:
    """Raise Refused with the linker's words."""
    words = Path(sys.argv[2]).read_text(encoding="utf-8")
    raise Refused(explain(words), words)


if __name__ == "__main__":
    finish(main)
