# SPDX-License-Identifier: BSD-2-Clause
"""The plugin of cycles on emulated microcontrollers: marks, calls of a function, blocks, several cores in one pass."""

import json
from pathlib import Path
from typing import Any

import pytest

from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import table_of
from worldwise.machine.plugin import cycles_plugin

CORES = ("cortex-m3", "cortex-m4")
TURNS = 1000
# A loop of eight instructions between the marks, three times, each in a call of its own; then the end by semihosting.
PROGRAM = f"""
.syntax unified
.thumb
.section .vectors, "a"
.word 0x20001000, reset + 1
.text
.balign 8
.thumb_func
.global measured
measured:
  ldr r6, =0x20000000
  ldr r5, ={TURNS}
  .inst.w 0xf3af8060
1: ldr r0, [r6]
  adds r0, #1
  str r0, [r6]
  mul r1, r0, r0
  add.w r2, r1, r0
  eors r3, r2
  subs r5, #1
  bne 1b
  .inst.w 0xf3af8061
  bx lr
.thumb_func
reset:
  movs r4, #3
2: bl measured
  subs r4, #1
  bne 2b
  ldr r1, =0x20026
  movs r0, #0x18
  bkpt 0xab
"""
BUILD = (
    "arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -nostdlib -Wl,-e,reset,--section-start=.vectors=0x08000000,"
    "-Ttext=0x08000100 -o /made/program.elf /made/program.S && arm-none-eabi-nm /made/program.elf >/made/names"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, lab: Lab) -> Path:
    """A folder with the program, its names and the cores' tables."""
    made = tmp_path_factory.mktemp("cycles")
    (made / "program.S").write_text(PROGRAM)
    lab.run(["sh", "-c", BUILD], binds=[(made, "/made", "rw")], timeout=60)
    for core in CORES:
        (made / core).write_text(table_of(core))
    return made


def records(lab: Lab, images: ImageStore, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """What the plugin writes when the program runs."""
    words = [*(f"core=/made/{core}" for core in CORES), "out=/made/out", "set=t32", *arguments]
    plugin = images.get(cycles_plugin()).file("cycles.so")
    lab.run(
        [
            *("qemu-system-arm", "-M", "stm32vldiscovery", "-nographic", "-kernel", "/made/program.elf"),
            *("-semihosting-config", "enable=on,target=native", "-plugin", ",".join(["/plugin.so", *words])),
        ],
        binds=[(folder, "/made", "rw"), (plugin, "/plugin.so", "ro")],
        timeout=60,
    )
    return [json.loads(line) for line in (folder / "out").read_text().splitlines()]


def test_regions_between_marks(lab: Lab, images: ImageStore, folder: Path) -> None:
    found = records(lab, images, folder)
    regions = [one for one in found if one["type"] == "region"]
    assert [one["index"] for one in regions] == [0, 1, 2]
    for one in regions:
        assert one["instructions"] == 8 * TURNS
        for core in CORES:
            spent = one["cores"][core]
            assert sum(spent["causes"]) == spent["cycles"] and spent["outside"] == 0
            # A load waits a cycle, a branch taken one; the last turn takes none. add.w may straddle, alone.
            assert spent["cycles"] == 10 * TURNS - 1
    blocks = [one for one in found if one["type"] == "block"]
    assert sum(one["executed"] for one in blocks) == 3 * 8 * TURNS
    for core in CORES:
        of_blocks = sum(one["cores"][core]["cycles"] for one in blocks)
        assert of_blocks == sum(one["cores"][core]["cycles"] for one in regions)
    assert found == records(lab, images, folder)


def test_calls_of_a_function(lab: Lab, images: ImageStore, folder: Path) -> None:
    lines = (folder / "names").read_text().splitlines()
    names = {line.split()[-1]: line.split()[0] for line in lines}
    regions = [
        one for one in records(lab, images, folder, f"function=0x{names['measured']}") if one["type"] == "region"
    ]
    # Two loads of constants, two marks and the return come to it.
    assert [one["instructions"] for one in regions] == [8 * TURNS + 5] * 3


def test_the_whole_run(lab: Lab, images: ImageStore, folder: Path) -> None:
    (region,) = (one for one in records(lab, images, folder, "whole=yes") if one["type"] == "region")
    assert region["instructions"] == 1 + 3 * (8 * TURNS + 5 + 3) + 3
