# SPDX-License-Identifier: BSD-2-Clause
"""A32 and T32 of Armv7-A: classes and registers against LLVM's texts, a kernel for each rule, and two cores."""

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import a32_llvm
import model_programs
import t32_llvm
from worldwise.libraries.boards import table_of

PC = 0x10000
MEMORY = 0x20000000
CORES = ("cortex-a9", "cortex-a7")

# As listings write them: A32.
NOP, ADD0, ADD2, ADD4, ADD6 = "e320f000", "e0800001", "e0832001", "e0854001", "e0876001"  # add r0,r0,r1; r2,r3,r1; ..
ADDNE0, SHIFTED, BY_REGISTER = "10800001", "e0810100", "e0810310"  # addne r0,r0,r1; add r0,r1,r0,lsl #2; .., lsl r3
MUL0, UMULL, UMLAL, UMAAL = "e0000190", "e0810392", "e0a10392", "e0410392"  # mul r0,r0,r1; umull r0,r1,r2,r3; ..
LDR0, LDR_OF_0, LDRB, LDM2, LDM4, LDM8 = "e5920000", "e5900000", "e5d20000", "e8920003", "e892003a", "e8920ff0"
STR0, POST, BX_LR, BL, POP_PC, B = "e5820000", "e4921004", "e12fff1e", "eb000000", "e8bd8000", "eafffffe"
CMP, BEQ, BXEQ_LR, DMB, MRC, VADD, VLDR = (
    "e3500000",
    "0a000000",
    "012fff1e",
    "f57ff05f",
    "ee1d0f70",
    "f2200801",
    "ed920b00",
)
SUB0_1, SUB1_0 = "e0410002", "e0401002"  # sub r0,r1,r2; sub r1,r0,r2
# And T32.
IT_NE, T_ADDS, T_ADD_W, T_UMULL, T_BX_LR, T_NOP = "bf18", "1840", "eb000001", "fba20103", "4770", "bf00"

# A core whose times can be told by hand. Ports: 1 and 2 integers, 4 memory, 8 branches.
SMALL = f"""
core small
kind {{kind}}
number width 2
number window 32
number line_bytes 32
{model_programs.SMALL_NUMBERS}class alu latency 1 ports 3 early 1
class alu_imm latency 1 ports 3
class alu_shift latency 2 ports 3
class alu_shift_reg latency 3 ports 3
class mul32 latency 4 ports 1 busy 2 multiplies 1
class mull latency 4 second_latency 6 ports 1 busy 3 multiplies 1
class load latency 3 ports 4
class load_byte latency 4 ports 4 busy 2
class load_multi latency 3 ports 4 pairs 1
class store latency 1 ports 4
class branch latency 1 ports 8
class branch_if latency 1 ports 8
class call latency 1 ports 8
class ret latency 1 ports 8
class hint latency 0
"""

Run = Callable[..., list[list[int]]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Run:
    """Runs blocks of code in a core, one after another: the causes, and what was outside, of each."""
    directory = tmp_path_factory.mktemp("a32")
    program = model_programs.build("model_driver", directory, request)

    def call(table: str, *lines: str, which: str = "a32") -> list[list[int]]:
        (directory / "table").write_text(table, encoding="ascii")
        done = subprocess.run(
            [program, directory / "table"],
            input="\n".join([f"set {which}", *lines]) + "\n",
            capture_output=True,
            text=True,
            check=True,
        )
        return [[int(number) for number in line.split()] for line in done.stdout.splitlines()[1:]]

    return call


def small(kind: str = "out-of-order") -> str:
    """The table of the small core."""
    return SMALL.format(kind=kind)


def block(code: Sequence[str], accesses: Sequence[str] = (), pc: int = PC, after: int | None = None) -> str:
    """A line of the driver; the block goes on behind itself, or at `after`."""
    end = pc + sum(len(one) // 2 for one in code)
    return " ".join([f"run {pc:x} {end if after is None else after:x} {','.join(code)}", *accesses])


def cycles(run: Run, table: str, *code: str, which: str = "a32", accesses: Sequence[str] = ()) -> float:
    """Cycles for a pass through a loop: of each of the last 100 of 200."""
    line = block(code, accesses, after=PC)
    return sum(sum(one[:6]) for one in run(table, *[line] * 200, which=which)[100:]) / 100


# --- the decoder ---


def test_classes_and_registers_are_those_of_llvms_texts(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> None:
    """If this fails, an instruction has the time of another, or waits for a register that it does not read."""
    program = model_programs.build("model_classes", tmp_path_factory.mktemp("classes"), request)
    wrong = []
    for which in a32_llvm.SETS:
        own = a32_llvm.committed(which)
        assert len(own) > 2_800
        done = subprocess.run([program, which], input="\n".join(own), capture_output=True, text=True, check=True)
        for (word, text), line in zip(own.items(), done.stdout.splitlines(), strict=True):
            name, core, vectors, _ = line.split()
            expected = a32_llvm.expected_registers(text)
            if (
                name.removesuffix("_q") not in a32_llvm.expected_classes(text)
                or (int(core, 16), int(vectors, 16)) != expected
            ):
                wrong.append(f"{which} {word} {text}: {line}")
    assert not wrong, (len(wrong), wrong[:20])


def test_the_committed_texts_are_what_llvm_says() -> None:
    """If this fails, the words are not what the installed LLVM makes of them."""
    if not shutil.which(t32_llvm.TOOL):
        pytest.skip(f"there is no {t32_llvm.TOOL} here: the committed texts alone are compared")
    for which in a32_llvm.SETS:
        own = a32_llvm.committed(which)
        assert a32_llvm.disassemble(own, which) == own


def test_flags_are_registers_too(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """If this fails, a branch does not wait for the comparison before it."""
    program = model_programs.build("model_classes", tmp_path, request)
    words = (CMP, BEQ, "e0b00001", "eef1fa10", "eeb40b41", "e6500f91", "e6800fb1", ADDNE0, ADD0)
    done = subprocess.run([program, "a32"], input="\n".join(words), capture_output=True, text=True, check=True)
    # cmp; beq; adcs; vmrs apsr_nzcv; vcmp; uadd8; sel; addne; add.
    # 1: the flags, 2: those of floating point, 4: those of parallel additions.
    assert [int(line.split()[3], 16) for line in done.stdout.splitlines()] == [1, 1, 1, 3, 2, 4, 4, 1, 0]


# --- rules, of a core out of order ---


def test_a_chain_takes_its_latencies(run: Run) -> None:
    """Dependent instructions take their latencies, shifted operands too."""
    table = small()
    assert cycles(run, table, ADD0, B) == 1
    assert cycles(run, table, SHIFTED, B) == 2
    assert cycles(run, table, BY_REGISTER, B) == 3
    assert cycles(run, table, MUL0, B) == 4


def test_the_width_and_the_ports_bound(run: Run) -> None:
    """Two a cycle: four additions and a branch take two and a half; a product keeps its port for two cycles."""
    assert cycles(run, small(), ADD2, ADD4, ADD6, ADD2, B) == 2.5
    assert cycles(run, small(), "e0020394", B) == 2  # mul r2,r4,r3


def test_the_high_word_of_a_product_comes_later(run: Run) -> None:
    """`second_latency` is of the second register; each is then a factor of the next product."""
    low, high = "e0830290", "e0830291"  # umull r0,r3,r0,r2; umull r0,r3,r1,r2
    assert cycles(run, small(), low, B) == 4
    assert cycles(run, small(), high, "e1a01003", B) > 4  # mov r1,r3


def test_a_load_is_used_early_by_additions_alone(run: Run) -> None:
    """`early`: a load's result, added, is there a cycle sooner than as an address."""
    access = [f"0:{MEMORY:x}:4:l"]
    chase = cycles(run, small(), LDR_OF_0, B, accesses=access)
    added = cycles(run, small(), LDR_OF_0, ADD0, B, accesses=access)
    assert chase == 3
    assert added == chase  # 3 - 1 for the addition, and the addition's own cycle
    late = small().replace(" early 1", "")
    assert cycles(run, late, LDR_OF_0, ADD0, B, accesses=access) == chase + 1


@pytest.mark.parametrize(("code", "count", "address", "expected"), [
    (LDM2, 2, MEMORY, 1), (LDM2, 2, MEMORY + 4, 2), (LDM4, 4, MEMORY, 2), (LDM4, 4, MEMORY + 4, 3),
    (LDM8, 8, MEMORY, 4), (LDM8, 8, MEMORY + 4, 5),
])  # fmt: skip
def test_registers_come_in_pairs(code: str, count: int, address: int, expected: int, run: Run) -> None:
    """`pairs`: two words a cycle, if they stand in one doubleword."""
    accesses = [f"0:{address + 4 * number:x}:4:l" for number in range(count)]
    assert cycles(run, small(), code, accesses=accesses) == expected


def test_a_condition_makes_a_chain(run: Run) -> None:
    """What is not executed keeps its register: a conditional move waits for the old value, and for the flags."""
    plain, conditional = "e3a00001", "13a00001"  # mov r0,#1; movne r0,#1
    table = small() + "class move latency 1 ports 3\n"
    assert cycles(run, table, MUL0, plain, B) < cycles(run, table, MUL0, conditional, B)


def test_an_address_is_written_back(run: Run) -> None:
    """The address register of a post-indexed load is there long before what it loads."""
    assert cycles(run, small(), POST, B, accesses=[f"0:{MEMORY:x}:4:l"]) == 1


def test_a_return_needs_its_call(run: Run) -> None:
    """A call and its return are foretold; a return without one is not, however it is written."""
    call, behind = block([BL], after=PC + 0x100), PC + 4
    for back, accesses in ((BX_LR, []), (POP_PC, [f"0:{MEMORY:x}:4:l"])):
        returns = block([back], accesses, pc=PC + 0x100, after=behind)
        paired = run(small(), *[call, returns] * 40)
        alone = run(small(), *[returns] * 40)
        assert sum(one[4] for one in paired[20:]) == 0
        assert sum(one[4] for one in alone[20:]) > 0


def test_a_conditional_return_that_is_none_keeps_the_stack(run: Run) -> None:
    """If this fails, a `bxeq lr` that goes on straight spoils the next return."""
    call, begin, behind = block([BL], after=PC + 0x100), PC + 0x100, PC + 4
    skipped = block([BXEQ_LR], pc=begin)
    returns = block([BX_LR], pc=begin + 4, after=behind)
    found = run(small(), *[call, skipped, returns] * 60)
    assert sum(one[4] for one in found[90:]) == 0


def test_instructions_of_two_bytes_stand_close(run: Run) -> None:
    """A branch that goes on straight behind two bytes is none that was taken."""
    line = block(["d000"], pc=PC)  # beq
    found = run(small(), *[line] * 40, which="t32")
    assert sum(one[4] + one[5] for one in found[20:]) == 0


def test_it_makes_the_next_ones_conditional(run: Run) -> None:
    """Behind IT an addition keeps the flags and may keep its register."""
    table = small() + "class shift_imm latency 1 ports 3\n"
    free = cycles(run, table, T_UMULL, "2001", "e7fe", which="t32")  # umull r0,r1,..; movs r0,#1
    table += "class move latency 1 ports 3\n"
    bound = cycles(run, table, T_UMULL, IT_NE, "2001", "e7fe", which="t32")
    assert bound > free


# --- in order ---


def test_in_order_a_loaded_branch_is_decided_late(run: Run) -> None:
    """A return from memory that was foretold wrongly waits for its address."""
    access = [f"0:{MEMORY:x}:4:l"]
    table = small("in-order")
    loaded = run(table, *[block([POP_PC], access, after=PC + 8 * number) for number in range(1, 40)])
    direct = run(table, *[block([BX_LR], after=PC + 8 * number) for number in range(1, 40)])
    assert sum(sum(one) for one in loaded) > sum(sum(one) for one in direct)


# --- the two cores ---


@pytest.mark.parametrize("core", CORES)
def test_what_a_core_has_no_figures_for_is_outside(core: str, run: Run) -> None:
    """Barriers and coprocessors are; additions and products are not; nor is any of A64 known here."""
    table = table_of(core)
    for code, outside in ((DMB, 1), (MRC, 1), (ADD0, 0), (UMAAL, 0), (LDM8, 0), (VADD, 0), (VLDR, 0), (NOP, 0)):
        assert run(table, block([code]))[0][7] == outside, code


@pytest.mark.parametrize("core", CORES)
def test_writing_back_the_program_counter_does_no_harm(core: str, run: Run) -> None:
    """Such loads and stores are UNPREDICTABLE, but a core may meet them; what they write back is not there."""
    for which, codes in {
        "a32": ("ecaf0b02", "ecbf0b02", "f40f070d"),
        "t32": ("ecaf0b02", "ecbf0b02", "f90f070d"),
    }.items():
        found = run(table_of(core), *[block([code]) for code in codes], which=which)
        assert [len(one) for one in found] == [8] * len(codes)


# What a pass of these takes on each core: a change of a core's numbers or of the engine shows here first.
KERNELS = {
    "additions": (ADD2, ADD4, ADD6, ADD2, B),
    "chain": (SUB0_1, SUB1_0, B),
    "shifted": (SHIFTED, B),
    "product": (MUL0, B),
    "long products": (UMULL, UMLAL, UMAAL, B),
    "vector": (VADD, B),
    "bytes": (LDRB, LDRB, B),
    "a load that waits": (MUL0, "e5904000", "e5925000", "e0866005", B),  # ldr r4,[r0]; ldr r5,[r2]; add r6,r6,r5
}
TAKEN = {"cortex-a9": (3, 2, 2, 4, 13, 3, 4, 6), "cortex-a7": (4, 2, 2, 2, 4, 4, 2, 7)}


@pytest.mark.parametrize("core", CORES)
def test_the_kernels_take_what_they_took(core: str, run: Run) -> None:
    """Exactly."""
    assert tuple(cycles(run, table_of(core), *code) for code in KERNELS.values()) == TAKEN[core]


@pytest.mark.parametrize("core", CORES)
def test_a_planted_change_shows(core: str, run: Run) -> None:
    """If this fails, a number of the file is not used."""
    table = table_of(core)
    changed = re.sub(r"(class mul32 latency) \d+", r"\1 9", table)
    assert cycles(run, changed, MUL0, B) > cycles(run, table, MUL0, B)
