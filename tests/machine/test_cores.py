# SPDX-License-Identifier: BSD-2-Clause
"""Cores of the M profile: a new one is files in cores/ and boards/ alone, and the compiler knows the same of each."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from machines import Tool
from suite_texts import suite_text
from worldwise.base import paths
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import load_core

CORE = """\
# SPDX-License-Identifier: BSD-2-Clause
title = "{title}"
architecture = "{architecture}"
flags = ["-mcpu={core}", "-mthumb", "-mfloat-abi=soft"]
part = {part}
"""
BOARD = """\
# SPDX-License-Identifier: BSD-2-Clause
title = "A board with a {title}"
core = "{core}"
clock = "{clock}"
flash = "128KiB"
ram = "16KiB"
flash_wait_states = 0
script = "{script}"

[emulated]
machine = "{machine}"
clock = "{clock}"
leaves_out = ["time: instructions are counted, not cycles", "the core: the emulated one has more"]
"""
# QEMU has neither core: their instructions are among those of the machine's.
M23 = {
    "core": "cortex-m23",
    "title": "Cortex-M23",
    "architecture": "Armv8-M Baseline",
    "part": "0xD20",
    "clock": "20 MHz",
    "script": "an505.ld",
    "machine": "mps2-an505",
}
M0PLUS = {
    "core": "cortex-m0plus",
    "title": "Cortex-M0+",
    "architecture": "Armv6-M",
    "part": "0xC60",
    "clock": "16 MHz",
    "script": "nrf51.ld",
    "machine": "microbit",
}
ADDED = {"board-m23": M23, "board-m0plus": M0PLUS}
# micro-ecc has assembly for cores without Thumb-2; BearSSL's build asks what a core lacks, micro-ecc-fast what it has.
SUITE = suite_text(
    "added",
    "board-m23 board-m0plus / verify / bearssl micro-ecc micro-ecc-fast / Os / curves secp256r1 / sizes 32B",
)
# The tool as it is, with other folders of boards and cores.
ELSEWHERE = """\
import sys
from pathlib import Path
from worldwise.base import paths
paths.BOARDS, paths.CORES = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
from worldwise.cli import main
main()
"""
# What the compiler says of each feature: ACLE.
MACROS = {
    "mainline": r"#define __ARM_ARCH_ISA_THUMB 2\b",
    "dsp": r"#define __ARM_FEATURE_DSP 1\b",
    "trustzone": r"#define __ARM_FEATURE_CMSE\b",
    "unaligned": r"#define __ARM_FEATURE_UNALIGNED 1\b",
}


@pytest.mark.machine
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("lab")
def test_a_core_is_one_file(tmp_path: Path) -> None:
    """If this fails, a new Cortex-M needs a change of code: to start, to count, or to name what is not there."""
    tool = Tool(tmp_path)
    there = tmp_path / "there"
    shutil.copytree(paths.BOARDS, there / "boards")
    shutil.copytree(paths.CORES, there / "cores")
    (there / "cores/cortex-m0plus.toml").unlink()
    (there / "boards/nucleo-l073rz.toml").unlink()
    for name, words in ADDED.items():
        (there / "boards" / f"{name}.toml").write_text(BOARD.format(**words))
        (there / "cores" / f"{words['core']}.toml").write_text(CORE.format(**words))
    (tmp_path / "added.toml").write_text(SUITE)
    command = [sys.executable, "-P", "-c", ELSEWHERE, str(there / "boards"), str(there / "cores"), "run", "added.toml"]
    done = subprocess.run(
        command, cwd=tmp_path, env=tool.environment(), capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(tool.records()) == {
        f"{board}/{name}-Os/verify,curve=secp256r1,size=32B" for board in ADDED for name in ("bearssl", "micro-ecc")
    }
    assert "4 cases measured, 2 unavailable on their target" in done.stdout


@pytest.mark.lab
def test_the_compiler_says_the_same_of_every_core(lab: Lab) -> None:
    """If this fails, a library is built for, or refused on, a core by a feature that the core lacks, or has."""
    asked = {
        path.stem: core
        for path in sorted(paths.CORES.glob("*.toml"))
        if (core := load_core(path.stem)).features is not None
    }
    assert {"cortex-m0", "cortex-m0plus", "cortex-m4", "cortex-m33", "cortex-m55"} <= set(asked)
    script = "\n".join(
        f"echo '== {name}'; arm-none-eabi-gcc {' '.join(core.flags)} -dM -E -x c /dev/null"
        for name, core in asked.items()
    )
    said = lab.run(["sh", "-ec", script]).stdout
    for name, text in zip(asked, said.split("== ")[1:], strict=True):
        assert {feature for feature, macro in MACROS.items() if re.search(macro, text)} == set(
            asked[name].features or ()
        ), name
