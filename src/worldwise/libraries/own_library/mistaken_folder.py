# SPDX-License-Identifier: BSD-2-Clause
"""A folder that somebody named as a library of their own by mistake: what it looks like, and how to measure it."""

import contextlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError

_PAGE = "docs/use/own.md describes both files, docs/examples/c25519 has a pair to copy"
# Of a file's beginning: a program's, and the tool sign_encrypt.py's of a signed TA.
_ELF, _SIGNED_TA = b"\x7fELF", b"HSTO"
_COMPILED = "the folder has compiled code, but --implementation compiles the sources itself"
# Files that say what a folder is, the most telling first: names -> what it is, and what to do.
_KINDS = (
    (
        ("user_ta_header_defines.h",),
        "a trusted application",
        "measure the library in it: put its C sources into 'sources'; worldwise then puts them into a TA of its own",
    ),
    (
        ("Cargo.toml",),
        "a Cargo project",
        "only C and assembly are compiled: put the C sources that a crate carries into 'sources', or name the crate in "
        "[source]; Rust itself is not measured",
    ),
    (
        ("CMakeLists.txt",),
        "a CMake project",
        "CMake is not run: list its C sources in 'sources', its headers in 'include', its definitions in 'defines'",
    ),
    (
        ("meson.build",),
        "a Meson project",
        "Meson is not run: list its C sources in 'sources', its headers in 'include', its definitions in 'defines'",
    ),
    (
        ("Makefile", "GNUmakefile", "makefile", "configure", "configure.ac"),
        "a project with a Makefile",
        "make is not run: list its C sources in 'sources', its headers in 'include', its definitions in 'defines'",
    ),
)
# Files of a folder that are looked at.
_MOST_LOOKED_AT = 200


def undescribed(directory: Path, manifest: str, adapter: str) -> WorldwiseError:
    """The error for a folder without an implementation.toml, or for what is no folder."""
    if not directory.is_dir():
        kind = _of_file(directory)
        if kind:
            return WorldwiseError(
                f"{directory}: is {kind}, not the folder of a library",
                f"{_COMPILED}: name the folder with its sources; {_PAGE}",
            )
        what = "is no folder" if directory.exists() else "there is no such folder"
        return WorldwiseError(f"{directory}: {what}", "--implementation takes the folder of a library")
    kind, way_out = _of_folder(directory)
    looks = f"; the folder looks like {kind}" if kind else ""
    return WorldwiseError(
        f"{directory}: has no {manifest}{looks}",
        f"{manifest} says what the library is called, what is compiled and which operations it has; {adapter} calls "
        f"them. {_PAGE}{f'. {way_out[0].upper()}{way_out[1:]}' if way_out else ''}",
    )


def _of_folder(directory: Path) -> tuple[str, str]:
    """What a folder is by its files, and what to do with it; empty if they do not say."""
    here = list(islice(_names(directory), _MOST_LOOKED_AT))
    below = {name for one in here for name in islice(_names(directory / one), _MOST_LOOKED_AT)} if here else set()
    for names, kind, way_out in _KINDS:
        if any(name in here for name in names) or (kind == _KINDS[0][1] and below.intersection(names)):
            return kind, way_out
    for name in sorted(here):
        kind = _of_file(directory / name)
        if kind:
            return f"one of compiled programs ({files.quoted(name)} is {kind})", _COMPILED
    return "", ""


def _names(folder: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            yield path.name


def _of_file(path: Path) -> str:
    """What a compiled file is by its first bytes; empty for another, and for one that cannot be read."""
    try:
        # Its first bytes are enough, and it may be of any size.
        with files.open_regular(path, 2**40) as file:
            begin = file.read(4)
    except OSError:
        return ""
    return {_ELF: "a compiled program (ELF)", _SIGNED_TA: "a signed TA"}.get(begin, "")
