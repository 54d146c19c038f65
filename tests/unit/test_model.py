# SPDX-License-Identifier: BSD-2-Clause
"""The model of A-profile cores: classes against LLVM's names, a microkernel for each rule, and that errors show."""

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import instruction_words
import model_programs
from model_programs import MODEL, PROFILE_A, TESTS
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import parse
from worldwise.libraries.boards import Core, table_of
from worldwise.libraries.core_model import KINDS

VALIDATED = ("cortex-a53", "cortex-a72", "cortex-a76", "neoverse-n1")

# Instructions, as a listing writes them.
ADD0, ADD2, ADD4, ADD6 = "91000400", "91000462", "910004a4", "910004e6"  # add x0,x0,#1; add x2,x3,#1; x4,x5; x6,x7
MUL0, MUL2, UMULH6 = "9b017c00", "9b047c62", "9bc47c66"  # mul x0,x0,x1; mul x2,x3,x4; umulh x6,x3,x4
UMADDL_SUM, UMADDL_FACTOR = "9ba20020", "9ba20400"  # umaddl x0,w1,w2,x0; umaddl x0,w0,w2,x1
SHIFTED, UNSHIFTED = "8b001c20", "8b011c00"  # add x0,x1,x0,lsl #7; add x0,x0,x1,lsl #7
VADD0, UMLAL = "4ee18400", "2ea28020"  # add v0.2d,v0.2d,v1.2d; umlal v0.2d,v1.2s,v2.2s
BACK, CBZ, RET, BL, DMB = "17ffffff", "b4000040", "d65f03c0", "94000001", "d5033bbf"
LDR, CHASE, STR, STRQ, LDP = "f9400020", "f9400000", "f9000020", "3d800020", "a9400440"
MEMORY, OTHER = 0x20000000, 0x20002000

# A core whose times can be told by hand. Ports: 1 and 2 integers, 4 products, 8 memory, 16 branches, 32 vectors.
SMALL = f"""
core small
kind {{kind}}
number width {{width}}
number window {{window}}
number store_boundary {{boundary}}
number line_bytes 64
number buses {{buses}}
number bind {{bind}}
limit ports 3 most {{most}} queue {{queue}}
{model_programs.SMALL_NUMBERS}class alu latency 1 ports 3
class alu_shift latency 2 ports 3 need_value 1
class mul64 latency 5 ports 4 busy 3 multiplies 1
class mulh latency 6 ports 4 busy 4 multiplies 1
class mull latency 3 ports 4 multiplies 1 group 1 forward 1
class load latency 4 ports 8
class load_pair latency 4 ports 8 each 1
class store latency 1 ports 8
class vstore latency 1 ports 8
class branch latency 1 ports 16
class branch_zero latency 1 ports 16
class ret latency 1 ports 16
class call latency 1 ports 16
class v_add latency 3 ports 32
class v_add_q latency 5 ports 32
class barrier latency 1 ports 8
"""
SETTINGS = {"width": 4, "window": 64, "boundary": 0, "buses": 0, "bind": 0, "most": 0, "queue": 0}

Cycles = Callable[..., float]


def small(kind: str = "out-of-order", **settings: int) -> str:
    """The table of the small core."""
    return SMALL.format(kind=kind, **(SETTINGS | settings))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The folder with the program that runs loops, and the one that names classes; by the lab if the host cannot."""
    directory = tmp_path_factory.mktemp("model")
    for program in ("model_loop", "model_classes"):
        model_programs.build(program, directory, request)
    return directory


@pytest.fixture(scope="module")
def run(compiled: Path) -> Callable[..., list[int]]:
    """Runs a loop in a core: the cycles by cause of half its passes, and what was outside."""

    def call(table: str, code: Sequence[str], times: int = 400) -> list[int]:
        (compiled / "table").write_text(table, encoding="ascii")
        done = subprocess.run(
            [compiled / "model_loop", compiled / "table", str(times)],
            input="\n".join(code) + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ValueError(done.stderr)
        return [int(number) for number in done.stdout.split()]

    return call


@pytest.fixture(scope="module")
def cycles(run: Callable[..., list[int]]) -> Cycles:
    """Cycles for a pass through a loop."""

    def call(table: str, *code: str, times: int = 400) -> float:
        return sum(run(table, code, times)[:6]) / (times / 2)

    return call


# --- classes ---

RULES = {
    "address": "adr adrp", "aes": "aesd aese", "aes_mix": "aesimc aesmc", "alu alu_shift alu_shift_small v_abs": "neg",
    "alu alu_shift alu_shift_small v_add": "add sub",
    "alu logic move v_dup v_insert v_insert_core v_move v_to_core": "mov",
    "alu_carry": "adc adcs ngcs sbc sbcs", "alu_flags": "cmn negs", "alu_flags alu_shift": "adds cmp subs",
    "barrier": "dmb dsb isb", "bitfield": "sbfiz sbfx sxtb sxth sxtw ubfiz ubfx uxtb", "bitfield shift": "asr lsl lsr",
    "branch branch_if": "b", "branch_zero": "cbnz cbz tbnz tbz", "call": "bl blr", "compare_if": "ccmn ccmp",
    "count": "clz", "crc": "crc32x", "div32 div64": "sdiv udiv",
    "exclusive": "cas casa casl ldadd ldadda ldaddal ldaddl ldar ldaxr ldclr ldclrl ldeorl ldset ldseta ldsetl ldxr"
    " stlr stlxr stxr swp swpa swpl",
    "extract": "extr", "f_add": "fadd fsub", "f_compare": "fccmp fcmp fcmpe", "f_convert": "fcvt",
    "f_convert f_from_core": "ucvtf", "f_convert f_to_core": "fcvtzs", "f_div32 f_div64": "fdiv", "f_div64": "fsqrt",
    "f_from_core": "scvtf", "f_mac": "fmadd fmla", "f_move": "fabs fcsel fneg", "f_move v_from_core v_to_core": "fmov",
    "f_mul": "fmul", "f_to_core": "fcvtzu", "hint": "autiasp bti hint nop paciasp xpaclri yield",
    "insert": "bfc bfi bfxil", "jump": "br", "load": "ldurb ldurh ldursb ldursh ldursw",
    "load load_index": "ldrb ldrh ldrsb ldrsh ldrsw", "load load_index vload": "ldr", "load vload": "ldur",
    "load_pair": "ldnp ldpsw", "load_pair vload_pair": "ldp", "logic logic_shift v_logic": "and eor mvn orr",
    "logic v_logic": "bic orn", "logic_flags": "ands bics tst", "move": "movk", "mul32 mul64": "madd msub",
    "mul32 mul64 v_mul": "mul", "mul64": "mneg", "mulh": "smulh umulh", "mull": "smaddl smnegl umaddl umsubl",
    "mull v_mull": "smull umull", "prefetch": "prfm", "ret": "ret", "reverse": "rbit rev rev16", "rotate": "ror",
    "select": "cinc cneg csel cset csetm csinc csinv csneg", "sha1": "sha1c", "sha256": "sha256h sha256h2",
    "sha256_schedule": "sha1h sha1su0 sha256su0 sha256su1", "sha3": "eor3 rax1", "sha512": "sha512h sha512su0",
    "store": "sturb sturh", "store store_index": "strb strh", "store store_index vstore": "str",
    "store vstore": "stur", "store_pair vstore_pair": "stp", "system": "dc mrs msr sys",
    "trap": "brk eret hlt hvc smc svc", "unknown": "- udf", "v_abs": "abs", "v_absdiff": "sabdl",
    "v_absdiff_acc": "saba", "v_compare": "cmeq cmgt cmhs cmtst", "v_count": "cnt", "v_dup v_from_core": "dup",
    "v_extract": "ext", "v_high_narrow": "addhn addhn2", "v_immediate": "movi mvni",
    "v_long": "saddl saddl2 saddw uaddl uaddw uaddw2 usubw usubw2", "v_minmax": "smax smin", "v_mla": "mla",
    "v_mlal": "sdot smlal smlal2 umlal umlal2", "v_mulh": "sqdmulh", "v_mull": "smull2 umull2", "v_narrow": "xtn xtn2",
    "v_pairwise": "addp umaxp uminp", "v_pairwise_acc": "uadalp", "v_pairwise_long": "uaddlp",
    "v_pmull v_pmull64": "pmull", "v_reduce": "addv", "v_reverse": "rev32 rev64", "v_saturate": "sqadd sqrshrun",
    "v_select": "bif bit bsl", "v_shift_acc": "srsra usra", "v_shift_imm": "shl sshr urshr ushr",
    "v_shift_insert": "sli sri", "v_shift_long": "sshll sshll2 ushll ushll2", "v_shift_narrow": "shrn shrn2",
    "v_shift_reg": "ushl", "v_table": "tbl tbx", "v_to_core": "smov umov", "v_trn": "trn1 trn2",
    "v_zip": "uzp1 uzp2 zip1 zip2", "vload_lane": "ld1r ld4r", "vload_lane vload_multi": "ld1",
    "vload_lane vload_struct vload_struct64": "ld2", "vload_struct vload_struct64": "ld3 ld4",
    "vstore_lane vstore_multi": "st1",
    "vstore_lane vstore_struct": "st2", "vstore_struct": "st3 st4",
}  # fmt: skip


def test_classes_are_those_of_llvms_names(compiled: Path) -> None:
    """812 words of programs and tests, whose texts LLVM 19.1.7 wrote (llvm-mc --disassemble, Armv8.5-A)."""
    rule = {name: classes.split() for classes, names in RULES.items() for name in names.split()}
    words = instruction_words.read(TESTS / "data" / "a64-words.txt")
    found = _classes(compiled, [one.word for one in words])
    wrong = [
        f"{one.word} {one.text(' ')}: {name}"
        for one, name in zip(words, found, strict=True)
        if name.removesuffix("_q") not in rule[one.name.partition(".")[0]]
    ]
    assert not wrong
    assert len(words) == 812
    # Each class is the right one of its name's for the registers that it names.
    for word, name in (
        (MUL0, "mul64"),
        ("1b017c00", "mul32"),
        (VADD0, "v_add_q"),
        ("0ea18400", "v_add"),
        (LDR, "load"),
    ):
        assert _classes(compiled, [word]) == [name]


def _classes(compiled: Path, words: Sequence[str]) -> list[str]:
    done = subprocess.run(
        [compiled / "model_classes"], input="\n".join(words), capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_names_of_classes_and_numbers_are_the_engines() -> None:
    """What a file in cores/ may name is what the engine reads."""
    header = (MODEL / "operation.h").read_text(encoding="ascii")
    in_c = set(re.findall(r"X\((\w+)\)", header)) - {"name"}
    assert set(KINDS["in-order"].classes or ()) == in_c
    numbers = set(re.findall(r"NUMBER\((\w+)\)", (MODEL / "table.c").read_text(encoding="ascii"))) - {"member"}
    assert set(KINDS["out-of-order"].numbers or ()) == numbers - {"writeback"}


# --- out of order ---


def test_a_chain_takes_its_latencies(cycles: Cycles) -> None:
    """Dependent instructions take their latencies, one behind the other."""
    assert cycles(small(), ADD0, BACK) == 1
    assert cycles(small(), MUL0, BACK) == 5
    assert cycles(small(), VADD0, BACK) == 5
    assert cycles(small(), CHASE + f" {MEMORY:x} 8 load", BACK) == 4


def test_independent_instructions_share_the_ports(cycles: Cycles) -> None:
    """Two ports for integers: four independent additions take two cycles; a busy multiplier takes no other product."""
    assert cycles(small(), ADD2, ADD4, ADD6, ADD2, BACK) == 2
    assert cycles(small(), MUL2, BACK) == 3
    assert cycles(small(), MUL2, UMULH6, BACK) == 7


def test_the_width_bounds_what_is_dispatched(cycles: Cycles) -> None:
    """One at a time: as many cycles as instructions."""
    assert cycles(small(width=1), ADD2, ADD4, ADD6, BACK) == 4


def test_a_limit_bounds_a_kind(cycles: Cycles) -> None:
    """One integer instruction dispatched a cycle, whatever the width."""
    assert cycles(small(most=1), ADD2, ADD4, ADD6, BACK) == 3


def test_a_full_queue_stops_dispatch(cycles: Cycles) -> None:
    """Additions that wait for a product fill the queue, and what stands behind them waits too."""
    waiting = [ADD0] * 8
    free = cycles(small(), MUL0, *waiting, MUL2, BACK)
    assert cycles(small(queue=1), MUL0, *waiting, MUL2, BACK) > free


def test_a_port_chosen_early_can_be_the_wrong_one(cycles: Cycles) -> None:
    """Bound to the port where they wait, instructions cannot take the other one that is free."""
    code = (ADD0, ADD2, ADD0, ADD4, ADD0, ADD6, BACK)
    assert cycles(small(bind=1, queue=8), *code) >= cycles(small(bind=0, queue=8), *code)


def test_the_window_bounds_how_far_the_core_looks_ahead(cycles: Cycles) -> None:
    """Loads that miss overlap if the window holds them, else they do not."""
    code = [f"{LDR} {MEMORY + 4096 * i:x} 8 load" for i in range(8)]
    assert cycles(small(window=4), *code, BACK) > cycles(small(window=64), *code, BACK)


def test_one_result_bus_takes_one_result_a_cycle(cycles: Cycles) -> None:
    """A short operation behind a long one on the same port would end with it, and waits a cycle."""
    table = small().replace("class alu_shift latency 2 ports 3", "class alu_shift latency 2 ports 4")
    table = table.replace("class mull latency 3 ports 4", "class mull latency 3 ports 4 busy 1")
    bus = table.replace("number buses 0", "number buses 1")
    code = ("8b041c62", "9ba47c62", "8b041c62", "9ba47c62", BACK)  # add x2,x3,x4,lsl #7; umull x2,w3,w4; twice
    assert cycles(bus, *code) > cycles(table, *code) == 4


def test_a_sum_is_forwarded_inside_its_group(cycles: Cycles) -> None:
    """A product that is added to takes one cycle, one that is multiplied its latency."""
    assert cycles(small(), UMADDL_SUM, BACK) == 1
    assert cycles(small(), UMADDL_FACTOR, BACK) == 3
    assert cycles(small().replace("group 1", "group 0"), UMADDL_SUM, BACK) == 3


def test_a_pair_takes_the_port_for_each_register(cycles: Cycles) -> None:
    """`each`: two micro-operations for two registers."""
    assert cycles(small(), f"{LDP} {MEMORY:x} 16 load", BACK) == 2


FADD_Q, FADD_D = "4e62d420", "1e622820"  # fadd v0.2d, v1.2d, v2.2d; fadd d0, d1, d2
FDIV_Q, FDIV_OTHER = "6e62fc20", "6e65fc83"  # fdiv v0.2d, v1.2d, v2.2d; fdiv v3.2d, v4.2d, v5.2d


def test_floating_point_of_the_cortex_a72(cycles: Cycles) -> None:
    """A vector of 128 bits takes both pipes where a scalar takes one; division has a unit of its own."""
    table = table_of("cortex-a72")
    assert cycles(table, *[FADD_D] * 8, BACK) == 4
    assert cycles(table, *[FADD_Q] * 8, BACK) == 8
    assert cycles(table, FDIV_Q, FDIV_OTHER, BACK) == 64
    assert cycles(table, FDIV_Q, *[FADD_Q] * 8, FDIV_OTHER, *[FADD_Q] * 8, BACK) == 64


# --- memory ---


def test_a_load_takes_what_a_store_before_it_wrote(cycles: Cycles) -> None:
    """Forwarded if one store wrote all of it; else it waits until the store is in the cache."""
    whole = cycles(small(), STR + f" {MEMORY:x} 8 store", LDR + f" {MEMORY:x} 8 load", BACK)
    part = cycles(small(), STR + f" {MEMORY:x} 4 store", LDR + f" {MEMORY:x} 8 load", BACK)
    other = cycles(small(), STR + f" {OTHER:x} 8 store", LDR + f" {MEMORY:x} 8 load", BACK)
    assert other < whole < part


def test_a_cache_holds_what_fits(cycles: Cycles, run: Callable[..., list[int]]) -> None:
    """Lines that fit hit from the second pass on, more than the ways miss for ever."""
    fits = [f"{LDR} {MEMORY + 2048 * i:x} 8 load" for i in range(2)]
    many = [f"{LDR} {MEMORY + 2048 * i:x} 8 load" for i in range(5)]
    assert cycles(small(), *fits, BACK) == 2
    assert cycles(small(), *many, BACK) > 20
    assert run(small(), [*many, BACK])[3] > 0  # and says that it waits for memory


def test_a_store_that_crosses_a_boundary_takes_one_more(cycles: Cycles) -> None:
    """One micro-operation more on the port of stores."""
    inside, across = f"{STRQ} {MEMORY:x} 16 store", f"{STRQ} {MEMORY + 8:x} 16 store"
    assert cycles(small(boundary=16), inside, BACK) == 1
    assert cycles(small(boundary=16), across, BACK) == 2
    assert cycles(small(boundary=0), across, BACK) == 1


# --- branches ---


def test_the_same_way_is_foretold(run: Callable[..., list[int]]) -> None:
    """A branch that goes one way is foretold after a while; the last pass of a loop is not."""
    assert run(small(), [ADD0, CBZ])[4] < 20


def test_a_return_without_its_call_is_not_foretold(cycles: Cycles) -> None:
    """The stack of return addresses is empty: each return costs the penalty."""
    assert cycles(small(), ADD0, RET) > 10


# --- in order ---


def test_in_order_pairs_are_issued_together(cycles: Cycles) -> None:
    """Two a cycle, if the second does not need the first."""
    pair = small("in-order", width=2)
    assert cycles(pair, ADD2, ADD4, ADD6, BACK) == 2
    assert cycles(pair, ADD0, ADD0, ADD0, BACK) == 3
    alone = pair.replace("class alu latency 1 ports 3", "class alu latency 1 ports 3 alone 1")
    assert cycles(alone, ADD2, ADD4, ADD6, BACK) == 4


def test_in_order_an_operand_is_needed_at_its_stage(cycles: Cycles) -> None:
    """One that is needed a cycle later is waited for a cycle less; one that goes through the shifter is not."""
    table = small("in-order", width=2)
    assert cycles(table, UNSHIFTED, BACK) == 1
    assert cycles(table, SHIFTED, BACK) == 2


def test_in_order_nothing_passes_what_waits(cycles: Cycles) -> None:
    """What stands behind a product's use waits with it; out of order it does not."""
    code = (MUL0, ADD0, ADD2, ADD4, BACK)
    assert cycles(small("in-order", width=2), *code) > cycles(small(), MUL0, BACK)


VEOR = "6e221c00"  # eor v0.16b, v0.16b, v2.16b


def test_the_cortex_a55_is_no_cortex_a53(cycles: Cycles) -> None:
    """What logic gives is there a cycle later; a load and a store are issued together."""
    assert cycles(table_of("cortex-a55"), VEOR, BACK) == 1
    assert cycles(table_of("cortex-a53"), VEOR, BACK) > 1
    both = (f"{STR} {OTHER:x} 8 store", f"{LDR} {MEMORY:x} 8 load", BACK)
    assert cycles(table_of("cortex-a55"), *both) < cycles(table_of("cortex-a53"), *both)


def test_the_cortex_a78_is_no_cortex_a76(cycles: Cycles) -> None:
    """It has a second multiplier and a fourth unit for integers."""
    assert cycles(table_of("cortex-a78"), MUL2, UMULH6, BACK) == 1
    assert cycles(table_of("cortex-a76"), MUL2, UMULH6, BACK) > 1
    four = (ADD0, ADD2, ADD4, ADD6, BACK)
    assert cycles(table_of("cortex-a78"), *four) == 1
    assert cycles(table_of("cortex-a76"), *four) > 1


@pytest.mark.parametrize("core", ["cortex-x1", "neoverse-v1"])
def test_the_wide_cores_are_no_cortex_a78(core: str, cycles: Cycles) -> None:
    """They have four units for vectors; of their four for integers three write flags."""
    vectors = ("4ee28424", "4ee28425", "4ee28426", "4ee28427", BACK)  # add v4.2d,v1.2d,v2.2d; v5; v6; v7
    assert cycles(table_of(core), *vectors) < cycles(table_of("cortex-a78"), *vectors)
    flags = ("b1000422", "b1000423", "b1000424", "b1000425", BACK)  # adds x2,x1,#1; x3; x4; x5
    assert cycles(table_of(core), *flags) > cycles(table_of("cortex-a78"), *flags)


def test_the_neoverse_v1_has_a_larger_window_than_the_cortex_x1() -> None:
    """And SHA-3, which the other lacks: there it is outside."""
    windows = [int(re.findall(r"number window (\d+)", table_of(core))[0]) for core in ("cortex-x1", "neoverse-v1")]
    assert windows == [224, 256]
    assert ["class sha3 " in table_of(core) for core in ("cortex-x1", "neoverse-v1")] == [False, True]


# --- accounting ---


@pytest.mark.parametrize("core", PROFILE_A)
def test_what_a_core_has_no_figures_for_is_outside(core: str, run: Callable[..., list[int]]) -> None:
    """Barriers are; additions are not; and a class that is not in the table is."""
    table = table_of(core)
    assert run(table, [DMB, BACK])[7] == 200
    assert run(table, [ADD0, BACK])[6:] == [0, 0]
    without = "\n".join(line for line in table.splitlines() if not line.startswith("class alu "))
    assert run(without + "\n", [ADD0, BACK])[7] == 200


@pytest.mark.parametrize("core", VALIDATED)
def test_a_planted_change_shows(core: str, cycles: Cycles) -> None:
    """A wrong latency, a port taken away and an occupancy: each changes what a kernel of its kind takes."""
    table = table_of(core)
    latency = re.sub(r"(class mul64 latency) \d+", r"\1 9", table)
    assert cycles(latency, MUL0, BACK) > cycles(table, MUL0, BACK)
    port = re.sub(r"(class alu latency \d+ ports) (\d+)", lambda m: f"{m[1]} {int(m[2]) & -int(m[2])}", table)
    assert cycles(port, ADD2, ADD4, ADD6, ADD2, BACK) > cycles(table, ADD2, ADD4, ADD6, ADD2, BACK)
    busy = re.sub(r"(class mul64 .*?busy) \d+", r"\1 7", table)
    assert cycles(busy, MUL2, MUL2, BACK) > cycles(table, MUL2, MUL2, BACK)


# What a pass of these takes on each core: a change of a core's numbers or of the engine shows here first.
KERNELS = {
    "product": (MUL0, BACK),
    "products": (MUL2, UMULH6, BACK),
    "sums": (UMADDL_SUM, BACK),
    "shifted": (SHIFTED, BACK),
    "vector": (VADD0, BACK),
    "vector sums": (UMLAL, BACK),
    "additions": (ADD2, ADD4, ADD6, ADD2, ADD4, ADD6, BACK),
    "memory": (STR + f" {MEMORY:x} 8 store", CHASE + f" {MEMORY:x} 8 load", BACK),
}
TAKEN = {
    "cortex-a53": (5, 7, 2, 2, 2, 1, 4, 4),
    "cortex-a55": (5, 7, 1, 2, 3, 1, 4, 2),
    "cortex-a72": (5, 7, 1, 2, 3, 1, 3, 4),
    "cortex-a76": (4, 7, 1, 2, 2, 1, 2, 4),
    "cortex-a78": (2, 1, 1, 2, 2, 1, 2, 4),
    "cortex-x1": (2, 1, 1, 2, 2, 1, 1.5, 4),
    "neoverse-n1": (4, 7, 1, 2, 2, 1, 2, 4),
    "neoverse-v1": (2, 1, 1, 2, 2, 1, 1.5, 4),
}


@pytest.mark.parametrize("core", PROFILE_A)
def test_the_kernels_take_what_they_took(core: str, cycles: Cycles) -> None:
    """Exactly."""
    table = table_of(core)
    assert tuple(cycles(table, *code) for code in KERNELS.values()) == TAKEN[core]


# --- files ---

CORE = """
title = "Small"
architecture = "Armv8-A"
flags = []
[model]
kind = "out-of-order"
ports = "i0 i1"
[model.sources]
book = "a book"
[model.numbers]
width = { value = 2, source = "book, page 1" }
[model.classes]
alu = { latency = 1, ports = "i0 i1", source = "book, page 2" }
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"i0 i1", source', '"i0 i2", source', "the core has no port 'i2'"),
        ("width =", "breadth =", "this kind of core has no such name"),
        ("alu = {", "alo = {", "this kind of core has no such name"),
        ("latency = 1", "latencies = 1", "a class has no such key"),
        ('"book, page 2"', '"somewhere"', "which is not in sources"),
        ('"book, page 2"', '"fitted: validation.toml, a figure"', "no number may be fitted to validation.toml"),
        (', source = "book, page 1"', "", "source"),
    ],
)
def test_a_wrong_file_is_refused_by_name(old: str, new: str, words: str, tmp_path: Path) -> None:
    """With the file and the key."""
    text = CORE.replace(old, new)
    assert text != CORE
    with pytest.raises(WorldwiseError, match=re.escape(words)) as refused:
        parse(Core, text, tmp_path / "cortex-small.toml")
    assert "cortex-small.toml" in str(refused.value)


@pytest.mark.parametrize("line", ["class alu latency", "class nonsense latency 1", "number nonsense 1", "limit ports"])
def test_the_engine_refuses_a_table_it_does_not_understand(line: str, run: Callable[..., list[int]]) -> None:
    """By its file and line."""
    with pytest.raises(ValueError, match=r"table:\d+: not understood"):
        run(small() + line + "\n", [ADD0])


def test_the_engine_refuses_a_table_without_a_width(run: Callable[..., list[int]]) -> None:
    """What no core can be without."""
    with pytest.raises(ValueError, match="the table is not complete"):
        run(small().replace("number width 4\n", ""), [ADD0])
