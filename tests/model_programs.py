# SPDX-License-Identifier: BSD-2-Clause
"""Programs that drive plugin/model, and other parts of the plugins, without an emulator."""

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
# The cores of the A profile whose programs are of 64 bits.
PROFILE_A = (
    "cortex-a53",
    "cortex-a55",
    "cortex-a72",
    "cortex-a76",
    "cortex-a78",
    "cortex-x1",
    "neoverse-n1",
    "neoverse-v1",
)


def build(name: str, directory: Path, request: pytest.FixtureRequest, *more: str) -> Path:
    """Compiles tests/NAME.c with the engine, and `more` files of plugin/, into a folder; by the lab if the host has no
    compiler.
    """
    program, driver = directory / name, TESTS / f"{name}.c"
    if COMPILER:
        sources = [driver, *sorted(MODEL.glob("*.c")), *(paths.PLUGIN / one for one in more)]
        include = [f"-I{MODEL}", f"-I{paths.PLUGIN}"]
        subprocess.run([COMPILER, *FLAGS, *include, "-o", program, *sources], check=True, timeout=120)
        return program
    lab: Lab = request.getfixturevalue("lab_if_there")
    others = " ".join(f"/plugin/{one}" for one in more)
    flags = " ".join([*FLAGS, "-I/plugin/model", "-I/plugin"])
    lab.run(
        ["sh", "-c", f"gcc {flags} -o /made/{name} /driver.c /plugin/model/*.c {others}"],
        binds=[(paths.PLUGIN, "/plugin", "ro"), (driver, "/driver.c", "ro"), (directory, "/made", "rw")],
    )
    return program
