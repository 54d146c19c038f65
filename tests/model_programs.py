# SPDX-License-Identifier: BSD-2-Clause
"""Programs that drive plugin/model, and other parts of the plugins, without an emulator."""

import hashlib
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from filelock import FileLock

from worldwise.base import paths
from worldwise.lab.image import tree_digest
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

# What the small cores of tests have in common, as their tables say it.
SMALL_NUMBERS = """\
number fetch 4
number retire 4
number mispredict 10
number writeback_latency 1
number forward_latency 3
number forward_fail 6
number data_kib 4
number data_ways 2
number code_kib 4
number code_ways 2
number second_kib 64
number second_ways 4
number second_latency 20
number memory_latency 100
number returns 8
number misses 4
"""

_INCLUDE = [f"-I{MODEL}", f"-I{paths.PLUGIN}"]


def _engine(compiler: str) -> Path:
    """The engine's objects in one file, compiled once for all programs: it takes ten times what a driver takes."""
    said = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout
    digest = hashlib.sha256(repr((compiler, said, FLAGS, tree_digest(paths.PLUGIN))).encode()).hexdigest()
    made = paths.cache_directory() / "again" / f"engine-{digest[:20]}.o"
    made.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(made.with_name(".engine.lock")):
        if not made.exists():
            with TemporaryDirectory(dir=made.parent, prefix=".engine-") as work:
                words: list[str | Path] = [compiler, *FLAGS, *_INCLUDE, "-c", *sorted(MODEL.glob("*.c"))]
                subprocess.run(words, check=True, timeout=120, cwd=work)
                whole = Path(work) / "whole"
                subprocess.run(["ld", "-r", "-o", whole, *sorted(Path(work).glob("*.o"))], check=True)
                whole.rename(made)
    return made


def build(name: str, directory: Path, request: pytest.FixtureRequest, *more: str) -> Path:
    """Compiles tests/NAME.c with the engine, and `more` files of plugin/, into a folder; by the lab if the host has no
    compiler.
    """
    program, driver = directory / name, TESTS / f"{name}.c"
    if COMPILER:
        sources = [driver, *(paths.PLUGIN / one for one in more), _engine(COMPILER)]
        subprocess.run([COMPILER, *FLAGS, *_INCLUDE, "-o", program, *sources], check=True, timeout=120)
        return program
    lab: Lab = request.getfixturevalue("lab_if_there")
    others = " ".join(f"/plugin/{one}" for one in more)
    flags = " ".join([*FLAGS, "-I/plugin/model", "-I/plugin"])
    lab.run(
        ["sh", "-c", f"gcc {flags} -o /made/{name} /driver.c /plugin/model/*.c {others}"],
        binds=[(paths.PLUGIN, "/plugin", "ro"), (driver, "/driver.c", "ro"), (directory, "/made", "rw")],
    )
    return program
