# SPDX-License-Identifier: BSD-2-Clause
"""Where the numbers of cores come from: none may be fitted to a figure that judges."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worldwise.base import paths
from worldwise.validation.figures import Figure, load_figures


def held_out_names() -> set[str]:
    """Words that name held-out figures alone: operations that no calibration figure has, and the file of the set."""
    validation, calibration = (_operations(load_figures(which)) for which in ("validation", "calibration"))
    return {*(name for name in validation - calibration if "_" in name), "validation.toml"}


def _operations(figures: list[Figure]) -> set[str]:
    return {figure.what.split()[0] for figure in figures}


def wrong_sources(path: Path) -> list[str]:
    """Sources in a core's file that name what only judges, each with its key; none if all is well."""
    names = held_out_names()
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return [f"{path.name}: {key}: {text}" for key, text in _texts("", document) if any(name in text for name in names)]


def core_files() -> list[Path]:
    """The files of all cores."""
    return sorted(paths.CORES.glob("*.toml"))


def _texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a document, with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(f"{key}.{name}" if key else name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(key, inner)
