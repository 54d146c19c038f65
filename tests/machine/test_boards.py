# SPDX-License-Identifier: BSD-2-Clause
"""Boards with a microcontroller: what is counted there is exact, and every board and library works."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from machines import Tool
from worldwise.base.errors import DoesNotFitError
from worldwise.lab.image import ImageStore
from worldwise.libraries import portable
from worldwise.libraries.boards import Board, boards
from worldwise.libraries.portable import NO_CURVE, Portable, load_folder, portables
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import Case, parse_case
from worldwise.records.check import CheckedRecords
from worldwise.run.case_check import check_run
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.board import BoardTarget, firmware_programs
from worldwise.targets.portable_images import source_packages

pytestmark = [pytest.mark.machine, pytest.mark.timeout(600)]

BOARD = "nucleo-f446re"
# Three boards with one core: two machines, with two clocks, two maps of memory, and three sizes of it.
SAME_CORE = ("mps2-an385", "nucleo-f103rb", "stm32vldiscovery")
# One for each way the emulated core's clock divides virtual time: of several the first, the Cortex-M7 before others.
_BY_CLOCK: dict[int, str] = {}
for _name in (BOARD, "mps2-an500", *boards()):
    _BY_CLOCK.setdefault(boards()[_name].emulated.clock, _name)
CLOCKS = tuple(_BY_CLOCK.values())
# Enough for the counter to come round a thousand times where its rounds are short.
_PASSES = 50_000_000
_SIZED = ("sign", "verify", "sha256", "sha512", "aes128", "aes256")


class Runner:
    """Runs cases on boards."""

    def __init__(self, emulator: Emulator, images: ImageStore, directory: Path) -> None:
        self.emulator = emulator
        self.images = images
        self.directory = directory
        self.runs = 0

    def run(self, case: Case) -> Path:
        """The folder of a run of the case."""
        self.runs += 1
        directory = self.directory / str(self.runs)
        directory.mkdir()
        target = EMULATED[case.target]
        self.emulator.run(target.machine(case, self.images), target.program(case), directory)
        return directory

    def checked(self, case: Case) -> CheckedRecords:
        """The records of a run of the case, with every check that a run goes through."""
        target = EMULATED[case.target]
        return check_run(case, self.run(case), self.emulator, target.machine(case, self.images))


@pytest.fixture
def runner(emulator: Emulator, images: ImageStore, tmp_path: Path) -> Runner:
    return Runner(emulator, images, tmp_path)


def case_text(board: str, name: str, operation: str, curve: str = NO_CURVE, optimisation: str = "Os") -> str:
    """A case's id, with the parameters that its operation must have."""
    words = [f"{board}/{name}-{optimisation}/{operation}"]
    words += [f"curve={curve}"] if curve != NO_CURVE else []
    words += ["size=32B"] if operation in _SIZED else []
    words += ["runs=10"] if operation == "dhrystone" else []
    return ",".join(words)


def memory(directory: Path) -> list[dict[str, Any]]:
    """What the program says of its stack and heap."""
    lines = (directory / "records.jsonl").read_text(encoding="ascii").splitlines()
    return [record for record in map(json.loads, lines) if record["type"] == "memory"]


# A hash that is right, and takes two instructions more for each pass of a loop; the passes follow the call's number.
_SPENDER = f"""\
/* SPDX-License-Identifier: BSD-2-Clause */
#include "ops.h"

const char ops_name[] = "spender";

int ops_open(void)
{{
	return 0;
}}

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{{
	uint32_t passes = 1u + {_PASSES}u * message[0];

	__asm__ volatile(".syntax unified\\n1:\\tsubs %0, #1\\n\\tbne 1b" : "+l"(passes) : : "cc");
	ops_frame_sha256(message, length, digest);
	return 0;
}}
"""
_SPENDER_MANIFEST = """\
name = "spender"
title = "a library of known cost"
about = "two instructions a pass"
licence = "BSD-2-Clause"
[build]
[operations]
none = ["sha256"]
[needs]
frame_sha256 = true
"""


@pytest.fixture
def spender(tmp_path: Path) -> Iterator[Portable]:
    folder = tmp_path / "spender"
    folder.mkdir()
    (folder / "adapter.c").write_text(_SPENDER, encoding="ascii")
    (folder / "implementation.toml").write_text(_SPENDER_MANIFEST, encoding="ascii")
    implementation = load_folder(folder)
    portable.add(implementation)
    yield implementation
    portable.remove(implementation.name)


@pytest.mark.parametrize("board", CLOCKS)
@pytest.mark.usefixtures("spender")
def test_the_counter_counts_instructions(board: str, runner: Runner) -> None:
    """If this fails, a count is not a number of instructions, though it comes round a thousand times in a call."""
    case = parse_case(case_text(board, "spender", "sha256"), samples=1)
    shortest, long = (sample.count for sample in runner.checked(case).samples["hash", "mcu"])
    assert long - shortest == 2 * _PASSES


def test_a_core_counts_the_same_on_every_board(runner: Runner) -> None:
    """If this fails, clock or memory of the emulated machine change a count."""
    found = set()
    for board in SAME_CORE:
        directory = runner.run(parse_case(case_text(board, "p256-m", "sign", "secp256r1"), samples=2))
        lines = map(json.loads, (directory / "records.jsonl").read_text(encoding="ascii").splitlines())
        counts = tuple(record["count"] for record in lines if record["type"] == "sample")
        found.add((counts, str(memory(directory))))
    assert len(found) == 1


def test_a_run_repeats_itself(runner: Runner) -> None:
    """If this fails, counts or peak stack are not the same each time."""
    case = parse_case(case_text(BOARD, "p256-m", "ecdh", "secp256r1"), samples=2)
    first, second = (runner.run(case) for _ in range(2))
    assert (first / "records.jsonl").read_bytes() == (second / "records.jsonl").read_bytes()
    assert memory(first)[0]["stack"] > 0


@pytest.mark.parametrize("board", list(boards()))
def test_every_board_works(board: str, runner: Runner) -> None:
    """If this fails, a board's file or linker script is wrong."""
    checked = runner.checked(parse_case(case_text(board, "p256-m", "verify", "secp256r1")))
    assert checked.samples["verify", "mcu"][0].count > 1_000_000


# Those for other cores, and for Linux, are tried where they run: see test_crypto.py and test_machine_linux.py.
@pytest.mark.parametrize(
    "name",
    [name for name, one in portables().items() if one.runs_on(boards()[BOARD].core) and not one.manifest.needs.linux],
)
def test_every_library_works(name: str, runner: Runner) -> None:
    """If this fails, a library gives a wrong answer in one of its operations, or takes wrong input for right."""
    for curve, operations in portables()[name].manifest.operations.items():
        for operation in operations:
            checked = runner.checked(parse_case(case_text(BOARD, name, operation, curve)))
            assert all(series[0].count > 0 for series in checked.samples.values())


def test_a_curves_program_is_the_same_without_the_other_curves(images: ImageStore) -> None:
    """If this fails, curves share an object that is not the same for both, or the board's is not the program's own."""
    library, curve = portables()["mbedtls36"], "secp384r1"
    whole = firmware_programs(library, "Os", BOARD, boards()[BOARD], None)
    plan = json.loads(whole.settings["PLAN"])
    plan["curves"] = {curve: plan["curves"][curve]}
    alone = replace(
        whole,
        name=f"{whole.name}-{curve}",
        needs=source_packages(library),
        settings={"PLAN": json.dumps(plan)},
    )
    assert images.get(alone).files[f"{curve}.elf"] == images.get(whole).files[f"{curve}.elf"]


def test_what_does_not_fit_is_told(images: ImageStore) -> None:
    """If this fails, a program that is too large for a board ends in a linker's words, or not at all."""
    case = parse_case(case_text(BOARD, "p256-m", "sign", "secp256r1"))
    for change, words in (({"flash": 8192}, "FLASH is too small by"), ({"ram": 4096}, "RAM is too small")):
        small: Board = boards()[BOARD].model_copy(update=change)
        with pytest.raises(DoesNotFitError, match=words):
            replace(BoardTarget(BOARD, small), name="small").machine(case, ImageStore(images.lab))


def test_the_main_job_of_boards(tool: Tool) -> None:
    """If this fails, a user does not get the table."""
    done = tool.run("run", "mcu", "--variant", "p256-m-Os", "--target", BOARD)
    assert done.returncode == 0, done.stderr
    assert "secp112r1" in done.stdout
    assert "p256-m-Os" in done.stdout
