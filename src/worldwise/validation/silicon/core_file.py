# SPDX-License-Identifier: BSD-2-Clause
"""The file of a fitted core: that of its base with other numbers, and with where they come from."""

import re
from pathlib import Path

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.literals import toml_line
from worldwise.base.toml.toml_model import parse, read_text
from worldwise.libraries.boards import Core
from worldwise.libraries.fittable import Calibration
from worldwise.validation.silicon.calibration import WAITS, CoreFit


def fitted_core(fit: CoreFit, calibration: Calibration) -> str:
    """The text of the fitted core's file: each changed number names the run, and [calibration] the rest.

    Raises WorldwiseError if the base's file does not have its numbers one a line.
    """
    path = paths.CORES / f"{fit.core}.toml"
    text = read_text(path, "core")
    title = parse(Core, text, path).title
    text = _replaced(text, r"^title = .*$", toml_line("title", f"{title}, fitted on {fit.board}"), path)
    if "\n[calibration]" in text:
        raise WorldwiseError(f"{path}: it was fitted already", "fit the core that it was made from")
    source = f"fitted: run {calibration.run} on {fit.board}, {len(calibration.fitted_on)} cases, see [calibration]"
    for name, value in fit.changed.items():
        if name != WAITS:
            line = toml_line(name, {"value": value, "source": source})
            text = _replaced(text, rf"^{re.escape(name)} = \{{ value = .*\}}$", line, path)
    text = f"{text.rstrip()}\n\n{_table(calibration)}"
    made = parse(Core, text, path.name)
    if not made.model or any(made.model.numbers[name].value != fit.after[name] for name in fit.after if name != WAITS):
        raise WorldwiseError(f"{path}: its numbers could not be replaced", "write each number of a core on one line")
    return text


def _replaced(text: str, pattern: str, line: str, path: Path) -> str:
    found, times = re.subn(pattern, lambda _: line, text, count=1, flags=re.MULTILINE)
    if not times:
        raise WorldwiseError(f"{path}: no line is like {pattern}", "write each number of a core on one line")
    return found


def _table(calibration: Calibration) -> str:
    values = calibration.model_dump().items()
    lines = ["# What the numbers were fitted to. Written by `worldwise calibrate`.", "[calibration]"]
    return "\n".join([*lines, *(toml_line(name, value) for name, value in values)]) + "\n"
