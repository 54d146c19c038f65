# SPDX-License-Identifier: BSD-2-Clause
"""Programs that drive parts of the plugins without an emulator: plugin/model, or another folder."""

import shutil
import subprocess
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.lab.lab import Lab

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
FLAGS = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-static"]
TESTS = Path(__file__).parent
MODEL = paths.PLUGIN / "model"


def build(name: str, directory: Path, request: pytest.FixtureRequest, parts: Path = MODEL) -> Path:
    """Compiles tests/NAME.c with the parts into a folder; by the lab if the host has no compiler."""
    program, driver = directory / name, TESTS / f"{name}.c"
    # main.c is what needs the emulator.
    sources = [path for path in sorted(parts.glob("*.c")) if path.name != "main.c"]
    if COMPILER:
        subprocess.run([COMPILER, *FLAGS, "-I", parts, "-o", program, driver, *sources], check=True, timeout=120)
        return program
    lab: Lab = request.getfixturevalue("lab_if_there")
    inside = " ".join(f"/parts/{path.name}" for path in sources)
    lab.run(
        ["sh", "-c", f"gcc {' '.join(FLAGS)} -I/parts -o /made/{name} /driver.c {inside}"],
        binds=[(parts, "/parts", "ro"), (driver, "/driver.c", "ro"), (directory, "/made", "rw")],
    )
    return program
