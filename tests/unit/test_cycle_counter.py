# SPDX-License-Identifier: BSD-2-Clause
"""The cycle counter of a chip, lengthened by SysTick: its arithmetic, compiled for the host."""

import shutil
import subprocess
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.libraries.boards import boards, load_core
from worldwise.targets.board import counter_macros, cycle_macros

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>

#include "cycles.h"

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		uint32_t cycles = (uint32_t)strtoull(argv[i + 1], NULL, 0);

		printf("%llu\\n", (unsigned long long)cycles_lengthened(strtoull(argv[i], NULL, 0), cycles));
	}
	return 0;
}
"""
ROUND = 2**32
# Ticks of SysTick, the cycle counter's difference, and what was counted.
CASES = [
    (1000, 1000, 1000),
    (1000, 1003, 1003),
    (1003, 1000, 1000),
    (ROUND - 2, 5, ROUND + 5),
    (ROUND + 5, ROUND - 2, ROUND - 2),
    (3 * ROUND + 7, 9, 3 * ROUND + 9),
    (3 * ROUND + 7, 0, 3 * ROUND),
    (2**40 + 2**31, 2**31 + 40, 2**40 + 2**31 + 40),
]


@pytest.mark.skipif(not COMPILER, reason="no C compiler for the host")
def test_a_long_call_is_counted_to_the_cycle(tmp_path: Path) -> None:
    """If this fails, a call of 24 s on a core of 180 MHz counts as one of nothing."""
    source, program = tmp_path / "main.c", tmp_path / "main"
    source.write_text(PROGRAM)
    subprocess.run([str(COMPILER), "-I", paths.GUEST / "mcu", "-o", program, source], check=True)
    words = [str(one) for ticks, cycles, _ in CASES for one in (ticks, cycles % ROUND)]
    answer = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    assert list(map(int, answer.stdout.split())) == [wanted for _, _, wanted in CASES]


def test_cycles_change_no_other_program() -> None:
    """If this fails, the emulated programs have been compiled otherwise, and every count must be looked at again."""
    usual, cycles = counter_macros(168_000_000), cycle_macros()
    assert usual.keys() == cycles.keys() - {"COUNTER_CYCLES"}
    # SysTick has 24 bits, and a tick is a cycle.
    assert cycles["COUNTER_ROUND_TICKS"] == cycles["COUNTER_ROUND_NS"] == 2**24
    assert cycles["COUNTER_HZ"] == 10**9


def test_every_board_has_a_core_that_is_known() -> None:
    """If this fails, a board's chip cannot be told from another."""
    parts = {load_core(board.core).part for board in boards().values()}
    assert parts == {0xC20, 0xC23, 0xC24, 0xC27, 0xC60, 0xD21, 0xD22}
