# SPDX-License-Identifier: BSD-2-Clause
"""Kernels whose cycles Arm's optimization guides state, on the models that take their numbers from these guides."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import model_programs
from worldwise.libraries.boards import table_of

Cycles = Callable[..., float]
BACK, MEMORY = "17ffffff", "20000000"
ADD4, EOR2 = "8b090107", "6e241c62"  # add x7,x8,x9; eor v2.16b,v3.16b,v4.16b
LDR, CHASE, LDP = (
    f"{word} {MEMORY} {size} load" for word, size in (("f9400020", 8), ("f9400000", 8), ("a9401424", 16))
)
LDRQ, LDPQ, LD1, LD4D = (
    f"{word} {MEMORY} {size} load"
    for word, size in (("3dc00020", 16), ("ad400c22", 32), ("4c402820", 64), ("4c400c20", 64))
)
STRQ, STPQ, STP = (
    f"{word} {MEMORY} {size} store" for word, size in (("3d800020", 16), ("ad000420", 32), ("a9001424", 16))
)
MUL, MLA, SHL = "4ea19c00", "4ea29420", "4f435420"
MULQ = "4ea49c62"  # mul v2.4s,v3.4s,v4.4s

# Kernels of the Cortex-A55: the cycles of a pass, and where its guide (EPM128372, issue 4.0) says so.
A55 = {
    "4.3, ALU: one cycle": (1, "8b010000"),
    "4.3, shifted operand: two": (2, "cac00c20"),
    "4.3 and 3.1.1, early ALU to a shifted operand: one": (5, "9ac12000", "8b010000", "8b010000", "cac00c20"),
    "4.7, bit-field move: two": (2, "d343fc00"),
    "4.4, variable shift: one": (1, "9ac12000"),
    "4.5, multiply, W: three": (3, "1b017c00"),
    "4.5, multiply, X: five": (5, "9b017c00"),
    "4.5, multiply high: six": (6, "9bc17c00"),
    "4.5, sum of products, forwarded: one": (1, "9ba20020"),
    "3.3, pointer chasing: two": (2, CHASE),
    "3.3 and 3.1.1, load to ALU: two, and from ex2 to an address two": (4, CHASE, "8b020000"),
    "4.8, pair of X: two, one instruction beside it": (2, LDP, ADD4),
    "4.8, pair of X: two, and two instructions": (3, LDP, ADD4, ADD4),
    "4.9, store pair of X: one, beside another": (1, STP, ADD4),
    "4.13, load of Q: two cycles": (2, LDRQ, ADD4),
    "4.13, load pair of Q: four cycles": (4, LDPQ, ADD4),
    "4.14, store of Q: one": (1, STRQ, ADD4),
    "4.14, store pair of Q: two": (2, STPQ, ADD4),
    "4.15, Q is first in its cycle": (2, EOR2, EOR2),
    "4.15, Q with an addition behind it": (1, EOR2, ADD4),
    "4.15, Q is not second in its cycle": (2, ADD4, EOR2, ADD4),
    "4.15, logic: one": (1, "6e211c00"),
    "4.15, shift: two": (2, "4f435400"),
    "4.15, multiply: four": (4, MUL),
    "4.15, sum of products, forwarded: one": (1, MLA),
    "4.15, accumulated difference: two cycles": (6, "4ea27c23", "4ea27c24", "4ea27c25"),
    "4.18, LD1 of four registers of Q: eight": (8, LD1),
    "4.20, AESE and AESMC are issued together": (4, "4e284820", "4e286800"),
    "SLOTHY: sum of 128 bits, three": (3, "4ea18400"),
    "SLOTHY: a permutation comes three cycles behind a shift": (6, SHL, "4e813801", "6e201c21"),
}
# Other cores: a kernel's cycles, and what the document says.
OTHERS = {
    ("cortex-a76", "4.7, a sum comes to a product a cycle later"): (8, "4e619c00", "4e618400"),
    ("neoverse-v1", "3.16 and 4.7, a sum comes to a product a cycle later"): (7, MUL, "4ea18400"),
    ("neoverse-v1", "4.7, shift and logic are of one region"): (4, "4f435400", "6e211c00"),
    ("neoverse-v1", "3.6, two products a cycle"): (1, "9b057c83", "9b057c86"),
    ("neoverse-v1", "3.6, one sum of products a cycle"): (2, "9b051c83", "9b052086"),
    ("neoverse-v1", "3.10, one pair of 64 bits a cycle"): (2, LDP, LDP),
    ("cortex-a72", "LLVM, LD4 of 64-bit elements: four loads"): (4, LD4D),
    # Seven micro-operations, of which three are dispatched a cycle.
    ("cortex-a72", "LLVM, a product of 128 bits: two micro-operations"): (2.33, MULQ, ADD4, LDR, ADD4, LDR, ADD4),
    ("cortex-a72", "LLVM, a store of 128 bits: two"): (2.33, STRQ, ADD4, LDR, ADD4, LDR, ADD4),
    # An emulator's accesses have 16 bytes at most.
    ("cortex-a72", "LLVM, a store of two of 128 bits: four"): (4, STPQ.replace(" 32 ", " 16 ")),
    ("cortex-a72", "SLOTHY, a product of 128 bits: five cycles"): (5, MUL),
    ("cortex-a72", "SLOTHY, a sum of products of 128 bits, forwarded: two"): (2, MLA),
}


@pytest.fixture(scope="module")
def cycles(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Cycles:
    """Cycles of a kernel, behind itself."""
    directory: Path = tmp_path_factory.mktemp("model")
    program = model_programs.build("model_loop", directory, request)

    def call(table: str, *code: str) -> float:
        (directory / "table").write_text(table, encoding="ascii")

        def passes(copies: int) -> float:
            done = subprocess.run(
                [program, directory / "table", "400"],
                input="\n".join([*code * copies, BACK]) + "\n",
                capture_output=True,
                text=True,
                check=True,
            )
            return sum(int(number) for number in done.stdout.split()[:6]) / 200

        # Without the branch, which goes beside what is last.
        return round((passes(12) - passes(4)) / 8, 2)

    return call


@pytest.mark.parametrize("what", A55)
def test_the_a55_takes_what_its_guide_says(what: str, cycles: Cycles) -> None:
    """To the cycle."""
    expected, *code = A55[what]
    assert cycles(table_of("cortex-a55"), *map(str, code)) == expected


@pytest.mark.parametrize(("core", "what"), OTHERS)
def test_other_cores_take_what_their_documents_say(core: str, what: str, cycles: Cycles) -> None:
    """To the cycle."""
    expected, *code = OTHERS[core, what]
    assert cycles(table_of(core), *map(str, code)) == expected


@pytest.mark.parametrize(
    ("core", "number", "what"),
    [
        ("cortex-a55", r"(class load_pair_q .*?)holds 1", "4.8, pair of X: two, and two instructions"),
        ("cortex-a55", r"(class v_logic_q .*?)alone 3", "4.15, Q is not second in its cycle"),
        ("cortex-a55", r"(class load .*?)early 1", "3.3, pointer chasing: two"),
        ("cortex-a55", r"(class v_zip_q .*?)behind 3", "SLOTHY: a permutation comes three cycles behind a shift"),
        ("cortex-a55", r"(class alu .*?)hurry 1", "4.3 and 3.1.1, early ALU to a shifted operand: one"),
        ("neoverse-v1", r"(class v_mul .*?)takes 32", "3.16 and 4.7, a sum comes to a product a cycle later"),
        ("cortex-a72", r"(class v_mul_q .*?)uops 2", "LLVM, a product of 128 bits: two micro-operations"),
        ("cortex-a72", r"(class vstore_q .*?)uops 2", "LLVM, a store of 128 bits: two"),
    ],
)
def test_a_rule_that_is_taken_away_shows(core: str, number: str, what: str, cycles: Cycles) -> None:
    """In the kernel of its rule."""
    _, *code = A55[what] if core == "cortex-a55" else OTHERS[core, what]
    table = table_of(core)
    without = re.sub(number, r"\1", table)
    assert without != table
    assert cycles(without, *map(str, code)) != cycles(table, *map(str, code))
