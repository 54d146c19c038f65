# SPDX-License-Identifier: BSD-2-Clause
"""How a portable implementation is compiled in the lab, wherever it is to run: on a board, in the TA, in Linux."""

import subprocess
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from objects import Refused, explain  # type: ignore[import-not-found]

STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
# For sources that are not ours: they are as they are.
LENIENT = ("-std=gnu11", "-w")
# What gives SHA-256 to libraries that have none, unpacked.
_BEAR = Path("/build/bearssl")
HASHING = tuple(_BEAR / name for name in ("src/hash/sha2small.c", "src/codec/dec32be.c", "src/codec/enc32be.c"))
HASHING_FLAGS = (f"-I{_BEAR}/src", f"-I{_BEAR}/inc")
HASHING_HEADERS = ("-isystem", f"{_BEAR}/inc")


def run(*argv: str) -> str:
    """What a command prints. Raises Refused with what it says on standard error."""
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Refused(explain(result.stderr), f"{result.stderr}\n{' '.join(argv)}")
    return result.stdout


def sources_of(folder: Path, patterns: Iterable[str], adapter: Path) -> list[Path]:
    """The library's files in the order of the patterns, each once, without the adapter. Raises Refused."""
    sources: list[Path] = []
    for pattern in patterns:
        found = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
        if not found:
            raise Refused(f"sources: '{pattern}' names no file of the library")
        sources += [path for path in found if path not in sources and path.resolve() != adapter.resolve()]
    return sources


def flags_of(folder: Path, part: dict[str, Any], near: Collection[str]) -> tuple[list[str], list[str]]:
    """What is added to the library's own flags, and to the adapter's, which sees the library's headers as a system's.

    `part` is what `worldwise.targets.portable_images.curve_plan` says; `near` has the folders of the adapter's headers.
    """
    macros = [f"-D{one}" for one in [*part["defines"], f"OPS_CURVE={part['number']}"]]
    folders = [str(folder / one) for one in part["include"]]
    library = [*part["flags"], *macros, *(f"-I{one}" for one in folders), *near]
    return library, [*macros, *near, *(word for one in folders for word in ("-isystem", one))]


def library_sources(
    plan: dict[str, Any], part: dict[str, Any], source: Path, adapter: Path, near: Collection[str]
) -> list[tuple[Path, list[str]]]:
    """A library's files with their flags, for one part of what a plan says, and the adapter, which is the last.

    `source` is the library's folder, `near` has the folders of the adapter's headers. Raises Refused.
    """
    level = f"-{plan['optimisation']}"
    library, ours = flags_of(source, part, near)
    strictness = STRICT if plan["warnings"] else LENIENT
    files = sources_of(source, part["sources"], adapter)
    return [*((path, [level, *strictness, *library]) for path in files), (adapter, [level, *STRICT, *ours])]


def seal_hashing(prefix: str, target: Path, compiling: Callable[[Path, list[str]], Path], source: Path) -> None:
    """Make the frame's hash as one object that shows its own name alone: the library may have the others too.

    `compiling` gives the object of a source; `source` is guest/operations/sha256.c. Raises Refused.
    """
    parts = [
        compiling(source, ["-O2", *STRICT, "-DOPS_CURVE=0", *HASHING_HEADERS]),
        *(compiling(path, ["-O2", *LENIENT, *HASHING_FLAGS]) for path in HASHING),
    ]
    seal(prefix, target, parts, ["ops_frame_sha256"])


def seal(prefix: str, target: Path, objects: Iterable[Path], names: Iterable[str]) -> None:
    """Make one object of several that shows these names alone. Raises Refused."""
    run(f"{prefix}ld", "-r", "-o", str(target), *map(str, objects))
    run(f"{prefix}objcopy", *(f"--keep-global-symbol={name}" for name in dict.fromkeys(names)), str(target))
