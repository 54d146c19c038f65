# SPDX-License-Identifier: BSD-2-Clause
"""OP-TEE of a stack that names clang as its compiler, built in a root of its own: the lab has GCC alone."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab

ROOT = "clang"


def _silent(_: str) -> None:
    pass


@functools.cache
def _root() -> Lab:
    lab = open_lab(name=ROOT)
    lab.ensure()
    return lab


@functools.cache
def _lab() -> Lab:
    lab = open_lab()
    lab.ensure()
    return lab


_built: dict[str, Path] = {}


def built(
    name: str,
    source: Recipe,
    settings: Mapping[str, str],
    outputs: tuple[str, ...],
    notify: Callable[[str], None] = _silent,
) -> Path:
    """The folder of an OP-TEE that clang has built from the image of `source`. Raises WorldwiseError as images do."""
    copied = ImageStore(_lab(), notify).get(source).file("source.tar")
    recipe = Recipe(
        name=name,
        script="optee-clang.sh",
        outputs=tuple(f"built/{file}" for file in outputs),
        trees={"source/source.tar": copied},
        settings=settings,
    )
    digest = recipe.digest(_root())
    if digest not in _built:
        _built[digest] = ImageStore(_root(), notify).get(recipe).file("built")
    return _built[digest]
