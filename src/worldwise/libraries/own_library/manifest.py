# SPDX-License-Identifier: BSD-2-Clause
"""Further checks of a user's implementation.toml: its flags, definitions and the files it names."""

import re
from collections.abc import Sequence
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.libraries import portable
from worldwise.libraries.boards import load_core
from worldwise.libraries.cores import PLAIN_TARGETS, TEE_CORE
from worldwise.libraries.portable import MANIFEST, NO_CURVE, Portable

_SOURCES = (".c", ".s", ".S")

# Compiler flags that a stranger may use: how code is generated, and which warnings are on. No flag may name another
# program, a file to read or write, or a linker's option.
_FLAGS = re.compile(
    r"-O[0-3sgz]?|-Ofast|-g[0-9]?|-ansi|-pedantic|-w|-std=[a-z0-9+]+"
    r"|-W(no-)?[a-z][a-z0-9+-]*(=[a-z0-9-]+)?"
    r"|-f(no-)?[a-z][a-z0-9-]*(=[A-Za-z0-9_+-]+)?|-m(no-)?[a-z][a-z0-9-]*(=[A-Za-z0-9_.+-]+)?"
)

_FLAGS_THAT_DO_MORE = re.compile(
    r"-f(no-)?(plugin|dump|profile|auto-profile|branch-probabilities|use-ld|lto|opt-info|save-|callgraph|sanitize|stack-usage"
    r"|test-coverage|compare-debug|diagnostics|pch|working-directory|wpa|ltrans|resolution|instrument|link-libatomic|toplevel)"
    r"[a-z0-9-]*(=.*)?|-mno-cygwin|-mxl.*|-mwin.*"
)

_DEFINITION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\([A-Za-z0-9_, ]*\))?(=[^\n\0]*)?")

_ARCHIVE = re.compile(r"lib[A-Za-z0-9_.+-]+\.a")


def check_manifest(origin: Path, implementation: Portable) -> None:
    """Refuse a library whose text names a file that its folder lacks, an unknown core or curve, or a forbidden flag.

    `origin` is the folder as the user named it.

    Raises WorldwiseError naming file and key.
    """
    path = origin / MANIFEST
    build = implementation.manifest.build
    for archive in build.archives:
        if not _ARCHIVE.fullmatch(archive):
            raise WorldwiseError(
                f"{path}: build.archives: {archive!a} is not the name of a static library", "they are named lib*.a"
            )
    for option, each in implementation.manifest.options.items():
        for value, defines in each.values.items():
            _check_definitions(path, f"options.{option}.values.{value}", defines)
    _check_part(origin, implementation, build, "build")
    for curve, part in build.curve.items():
        where = f"build.curve.{curve}"
        if curve not in (*portable.CURVES, NO_CURVE):
            raise WorldwiseError(f"{path}: {files.quoted(where)}: curve '{files.quoted(curve)}' is not known")
        _check_part(origin, implementation, part, where)
    named = [(f"build.core.{core}", core) for core in build.core]
    named += [("needs.cores", core) for core in implementation.manifest.needs.cores]
    for where, core in named:
        if core not in (TEE_CORE, *PLAIN_TARGETS.values()):
            try:
                load_core(core)
            except WorldwiseError as error:
                raise WorldwiseError(
                    f"{path}: {files.quoted(where)}: {error.message}",
                    f"{error.hint}, {', '.join(PLAIN_TARGETS.values())}",
                ) from error
    parts = [(f"build.core.{core}", core_part) for core, core_part in build.core.items()]
    parts += [(f"build.has.{feature}", core_part) for feature, core_part in build.has.items()]
    parts += [(f"build.lacks.{feature}", core_part) for feature, core_part in build.lacks.items()]
    for where, core_part in parts:
        _check_part(origin, implementation, core_part, where)


def _check_part(origin: Path, implementation: Portable, part: portable.Part, where: str) -> None:
    path = origin / MANIFEST
    in_folder = implementation.manifest.source is None
    folder = implementation.folder
    assert folder is not None
    _check_definitions(path, f"{where}.defines", part.defines)
    for flag in part.flags:
        if not _FLAGS.fullmatch(flag) or _FLAGS_THAT_DO_MORE.fullmatch(flag):
            raise WorldwiseError(
                f"{path}: {where}.flags: {flag!a} is not among the flags that a library may have",
                "-O..., -f..., -m..., -W..., -std=...: how code is made, with no file and no other program; "
                "headers go into 'include', macros into 'defines'",
            )
    for key, names in (("sources", part.sources), ("include", part.include)):
        for name in names:
            if key == "sources" and not name.endswith(_SOURCES):
                raise WorldwiseError(
                    f"{path}: {where}.sources: '{name}' is not a C or assembly source",
                    f"sources end in {', '.join(_SOURCES)}; worldwise does not look into compiled files, so "
                    "it does not measure them",
                )
            if not in_folder:
                continue
            if key == "sources" and not any(found.is_file() for found in folder.glob(name)):
                raise WorldwiseError(
                    f"{path}: {where}.sources: '{name}' names no file in {origin}",
                    "names are relative to the folder; * and ** stand for several",
                )
            if key == "include" and not (folder / name).is_dir():
                raise WorldwiseError(f"{path}: {where}.include: there is no folder {origin / name}")


def _check_definitions(path: Path, where: str, definitions: Sequence[str]) -> None:
    for definition in definitions:
        if not _DEFINITION.fullmatch(definition):
            raise WorldwiseError(
                f"{path}: {where}: {definition!a} is not a definition", "NAME or NAME=VALUE, without -D"
            )
