# SPDX-License-Identifier: BSD-2-Clause
"""Schemes in the layout of pqm4 and PQClean: `crypto_kem/NAME/IMPLEMENTATION`, `crypto_sign/NAME/IMPLEMENTATION`.

Each has api.h and its sources, beside the tree's common code. The trees are a user's own; nothing of them is in this
project.
"""

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError

KINDS = ("crypto_kem", "crypto_sign")
# The functions of NIST's interface, which are what is measured.
FUNCTIONS: Mapping[str, tuple[str, str, str]] = {
    "crypto_kem": ("crypto_kem_keypair", "crypto_kem_enc", "crypto_kem_dec"),
    "crypto_sign": ("crypto_sign_keypair", "crypto_sign", "crypto_sign_open"),
}
# Implementations for other processors, as pqm4's own makefiles leave them out.
_OTHERS = ("avx", "avx2", "sse", "vec", "aesni", "aarch64", "neon")
_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")
_PREFIX = re.compile(r"\b([A-Za-z_0-9]*?)crypto_(?:kem|sign)_keypair\b")
# What pqm4 has measured on hardware: in rows of so many cells, of each function the mean, the least and the greatest.
_FIGURES, _MOST_FIGURES, _ROW = "benchmarks.csv", 2**22, 11
_SUFFIXES = (".c", ".h", ".S", ".s", ".i", ".inc", ".def", ".macros")
_MOST_UP, _MOST_FILES, _MOST_BYTES, _MOST_HEADER = 6, 2000, 64 * 2**20, 2**20

# The common code that is compiled: what both trees share, and pqm4's assembly for a core with Thumb-2.
_SHARED = ("fips202.c", "sp800-185.c", "nistseedexpander.c", "sha2.c")
_ASSEMBLY = (
    *("keccakf1600.S", "aes.c", "aes-encrypt.S", "aes-keyschedule.S", "aes-publicinputs.c", "aes-publicinputs.S"),
    *("crypto_hashblocks_sha512.c", "crypto_hashblocks_sha512_inner32.s"),
)
_PQM4, _PQCLEAN = "mupq/common/fips202.c", "common/fips202.c"


@dataclass(frozen=True)
class Scheme:
    """An implementation of a scheme.

    Attributes:
        kind: one of KINDS.
        name: of the scheme, as its folder is called.
        implementation: as its folder is called.
        folder: where it is.
        tree: the tree that it is of.
    """

    kind: str
    name: str
    implementation: str
    folder: Path
    tree: Path

    @property
    def title(self) -> str:
        """`ml-kem-768-m4fspeed`, as a pattern names it."""
        return f"{self.name}-{self.implementation}"

    @property
    def prefix(self) -> str:
        """What stands before its functions' names, by its api.h: nothing in pqm4, a name of its own in PQClean."""
        # A link to another implementation's is followed, within the tree.
        header = files.read_bytes(scheme_files(self)["api.h"], _MOST_HEADER, self.tree)
        return str(next(iter(_PREFIX.findall(header.decode("utf-8", "replace"))), ""))


def find(folder: Path, patterns: Sequence[str] = ()) -> list[Scheme]:
    """The implementations in a folder: a tree, a kind, a scheme or one implementation. `patterns` are of titles.

    Raises WorldwiseError if there is none, naming the folder and what such a folder looks like.
    """
    if not folder.is_dir():
        raise WorldwiseError(f"--pqm4 {folder}: is no folder.")
    top = Path(os.path.realpath(folder))
    tree = _tree(top)
    every = list(_in_tree(tree, top))
    if not every:
        raise WorldwiseError(
            f"--pqm4 {folder}: has no scheme: no folder with an api.h, as crypto_kem/ml-kem-768/clean.",
            "give a clone of pqm4 or PQClean, or a folder within one",
        )
    found = [one for one in every if not patterns or any(fnmatchcase(one.title, each) for each in patterns)]
    if not found:
        names = ", ".join(one.title for one in every[:8])
        raise WorldwiseError(f"--pqm4 {folder}: no scheme is like {', '.join(patterns)}.", f"it has {names}, ...")
    return found


def published(tree: Path) -> dict[tuple[str, str], tuple[int, int, int]]:
    """The cycles in the tree's own benchmarks.csv, by scheme and implementation: the means of its three functions.

    Empty if the tree has no such file, as PQClean. Raises WorldwiseError naming the line that is no such row.
    """
    path = tree / _FIGURES
    if not path.exists():
        return {}
    try:
        text = files.read_bytes(path, _MOST_FIGURES, tree).decode("utf-8", "replace")
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.", "take the tree's own file") from None
    found: dict[tuple[str, str], tuple[int, int, int]] = {}
    part = ""
    rows = csv.reader(text.splitlines())
    try:
        for row in rows:
            if row and row[0].endswith("Evaluation"):
                part = row[0]
            elif part.startswith("Speed") and len(row) >= _ROW and row[1] not in ("", "Implementation"):
                means = (int(row[2]), int(row[5]), int(row[8]))
                if min(means) <= 0:
                    raise ValueError
                found[row[0].partition(" (")[0], row[1]] = means
    except (ValueError, csv.Error):
        problem = f"{path}:{rows.line_num}: has no whole numbers of cycles."
        raise WorldwiseError(problem, "take the tree's own file") from None
    return found


def _tree(top: Path) -> Path:
    """The outermost folder around a folder that has schemes and common code: pqm4 has PQClean within it."""
    found = None
    for one in (top, *list(top.parents)[:_MOST_UP]):
        if any((one / kind).is_dir() for kind in KINDS) and (one / "common").is_dir():
            found = one
    if found is None:
        raise WorldwiseError(
            f"--pqm4 {top}: is in no tree of pqm4 or PQClean: no folder around it has crypto_kem or crypto_sign, and "
            "common.",
            "give a clone of one, or a folder within it: a scheme needs the common code of its tree",
        )
    return found


def _in_tree(tree: Path, top: Path) -> Iterator[Scheme]:
    for room in ("", "mupq", "mupq/pqclean"):
        for kind in KINDS:
            for folder in sorted((tree / room / kind).glob("*/*")):
                names = (folder.parent.name, folder.name)
                inside = folder == top or folder.is_relative_to(top)
                if inside and folder.name not in _OTHERS and (folder / "api.h").is_file():
                    if not all(map(_NAME.fullmatch, names)):
                        raise WorldwiseError(f"{folder}: such a name cannot be measured.", "rename it")
                    yield Scheme(kind, *names, folder, tree)


def common_code(scheme: Scheme, thumb2: bool) -> list[str]:
    """The files of the tree's common code that are compiled, by their paths in the tree.

    Raises WorldwiseError naming what is missing.
    """
    if (scheme.tree / _PQM4).exists():
        shared = [f"mupq/common/{name}" for name in _SHARED]
        fast = [f"common/{name}" for name in _ASSEMBLY]
        slow = ["mupq/common/keccakf1600.c", "mupq/common/aes.c"]
        found = [*shared, *(fast if thumb2 else slow)]
    elif (scheme.tree / _PQCLEAN).exists():
        found = [f"common/{name}" for name in (*_SHARED, "aes.c")]
    else:
        raise WorldwiseError(
            f"{scheme.tree}: has no {_PQM4}, and no {_PQCLEAN}: the common code is missing.",
            "git submodule update --init --recursive",
        )
    missing = [name for name in found if not (scheme.tree / name).is_file()]
    if missing:
        raise WorldwiseError(
            f"{scheme.tree}: has no {missing[0]}, or it is a link to a file that is missing.",
            "git submodule update --init --recursive",
        )
    return found


def scheme_files(scheme: Scheme) -> dict[str, Path]:
    """The files of an implementation, by their paths in it, links followed within the tree. Raises WorldwiseError."""
    return _gathered(scheme.tree, scheme.folder, scheme.folder)


def common_files(scheme: Scheme, compiled: Sequence[str]) -> dict[str, Path]:
    """The common code that is compiled, with all headers beside it, by paths in the tree. Raises WorldwiseError."""
    found: dict[str, Path] = {}
    for folder in ("common", "mupq/common"):
        if (scheme.tree / folder).is_dir():
            found |= _gathered(scheme.tree, scheme.tree / folder, scheme.tree)
    headers = {name: path for name, path in found.items() if name.endswith((".h", ".i", ".inc"))}
    return headers | {name: found[name] for name in compiled}


def _gathered(tree: Path, folder: Path, base: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    size = 0
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(at, name)
            if not name.endswith(_SUFFIXES) or name.startswith("."):
                continue
            real = Path(os.path.realpath(path))
            if not real.is_relative_to(tree):
                raise WorldwiseError(
                    f"{path}: is a link out of {tree}, or to a file that is missing.",
                    "git submodule update --init --recursive; or put the file itself there",
                )
            if not real.is_file():
                raise WorldwiseError(
                    f"{path}: is a link to a file that is missing.", "git submodule update --init --recursive"
                )
            if problem := files.name_problem(name):
                raise WorldwiseError(f"{path.parent}: {problem}", "rename it")
            size += real.stat().st_size
            if len(found) >= _MOST_FILES or size > _MOST_BYTES:
                raise WorldwiseError(f"{folder}: has more than {_MOST_FILES:,} files or {_MOST_BYTES // 2**20} MiB.")
            found[str(path.relative_to(base))] = real
    return found
