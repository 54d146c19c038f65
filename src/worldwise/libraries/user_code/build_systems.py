# SPDX-License-Identifier: BSD-2-Clause
"""CMake, Meson and Ninja for a user's own code. The lab has none of them, and needs none for a count of the catalogue.

A root of their own has them; they run in the lab, with the lab's compilers.
"""

import re
from collections.abc import Callable
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab

MAKE, CMAKE, MESON = "Makefile", "CMakeLists.txt", "meson.build"
ARCHIVE = "builders.tar"
_CALLED = re.compile(r"(?<![\w./-])(cmake|meson|ninja)(?![\w./-])")


def build_file(folder: Path) -> str:
    """The file by which a folder is built: make's, else CMake's, else Meson's; empty if it has none."""
    return next((name for name in (MAKE, CMAKE, MESON) if (folder / name).is_file()), "")


def are_called(commands: str) -> bool:
    """Whether the commands of a build call one of them."""
    return bool(_CALLED.search(commands))


def build_systems(notify: Callable[[str], None], way_out: str, lab: Lab | None = None) -> Path:
    """The archive that has them, made at first use. Raises WorldwiseError, whose hint ends with the way out."""
    recipe = Recipe(name="build-systems", script="build-systems.sh", outputs=(ARCHIVE,))
    try:
        lab = lab or open_lab(name="builders")
        lab.ensure()
        return ImageStore(lab, notify).get(recipe).file(ARCHIVE)
    except WorldwiseError as error:
        hint = f"{error.hint}; or {way_out}" if error.hint else way_out
        raise WorldwiseError(
            f"CMake, Meson and Ninja could not be made ready: {error.message}", hint, error.details
        ) from error
