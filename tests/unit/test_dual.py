# SPDX-License-Identifier: BSD-2-Clause
"""The model of cores that issue two instructions a cycle (Cortex-M7, M55): a microkernel for each rule, on paper."""

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import engine_behaviour
import model_programs
from worldwise.base import paths
from worldwise.libraries.boards import load_core, table_of
from worldwise.libraries.core_model import KINDS
from worldwise.predict.domains import Domain
from worldwise.predict.errors import load_errors
from worldwise.validation.blind_test.results import ENGINE, Engine, changed, kept_blind
from worldwise.validation.record import engine_digest

PC, RAM = 0x08000000, 0x20000000
# adds r0,r1,r2; subs r2,r3,r5; eors r0,r1; eors r3,r4; adds r0,#1; movs r2,#1; uxtb r2,r3; uxtb r4,r5
ADDS, SUBS, EORS, EORS3, ADDS1, MOVS, UXTB, UXTB4 = "1888", "1b5a", "4048", "4063", "3001", "2201", "b2da", "b2ec"
ADD_W, EOR_W = "eb010002", "ea830304"  # add.w r0,r1,r2; eor.w r3,r3,r4
SHIFTED, SHIFTED3 = "eb0100c2", "eb0503c6"  # add.w r0,r1,r2,lsl #3; add.w r3,r5,r6,lsl #3
LSLS, LSLS3 = "0088", "00e3"  # lsls r0,r1,#2; lsls r3,r4,#2
MUL, MUL3, MLA, MLA0 = "4348", "436b", "fb013002", "fb050006"  # mla r0,r1,r2,r3; mla r0,r5,r6,r0
LDR, LDR2, LDRB, LDR_OF_R0 = "6808", "681a", "7808", "6802"  # ldr r0,[r1]; ldr r2,[r3]; ldrb r0,[r1]; ldr r2,[r0]
STR, STR2, LDM3, STM2 = "6008", "601a", "e890000e", "e8800006"  # ldm r0,{r1,r2,r3}; stm r0,{r1,r2}
SHIFT_OF_R0, ADD_OF_R0 = "eb0102c0", "180a"  # add.w r2,r1,r0,lsl #3; adds r2,r1,r0
VMOV = "ee100a10"  # vmov r0,s0
# ldr r2,[r1,r0]; ldr r2,[r0,r1]; ldr r0,[r1,#4]; rev r0,r1; rev r0,r0; ldr r2,[r0,#0] is LDR_OF_R0
LDR_BY_R0, LDR_AT_R0, LDR4, REV, REV_OF_R0 = "580a", "5842", "6848", "ba08", "ba00"
IT, MOVNE = "bf18", "2001"  # it ne; movne r0,#1
LOOP, BNE, B, B_W = "3f01", "d1fd", "e7fe", "f000b800"  # subs r7,#1
# vldrw.32 q1,[r6]; vldrw.32 q2,[r5]; vadd.i32 q1,q2,q4; vmul.i32 q1,q5,q0; vstrw.32 q1,[r6]; vadd.i32 q3,q1,q4
VLDR, VLDR2, VADD, VMUL, VSTR, VADD_OF_Q1 = "ed963f00", "ed955f00", "ef242848", "ef2a2950", "ed863f00", "ef226848"

# The Cortex-M7 with caches that always hit: microkernels run once.
M7 = table_of("cortex-m7", misses=False)

Run = Callable[..., int]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The compiled tests/model_driver.c."""
    return model_programs.build("model_driver", tmp_path_factory.mktemp("dual"), request)


@pytest.fixture(scope="module")
def run(driver: Path) -> Run:
    """Runs blocks one after another; gives the cycles of the last."""

    def call(table: str, *lines: str) -> int:
        (driver.parent / "table").write_text(table, encoding="ascii")
        done = subprocess.run(
            [driver, driver.parent / "table"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
        )
        return sum(map(int, done.stdout.splitlines()[-1].split()[:6]))

    return call


def block(code: Sequence[str], next_pc: int | None = None, pc: int = PC, step: int = 4) -> str:
    """A block whose accesses lie `step` bytes apart."""
    end = pc + sum(len(one) // 2 for one in code)
    access = {
        LDR: "l",
        LDR2: "l",
        LDRB: "l",
        LDR_OF_R0: "l",
        LDR_BY_R0: "l",
        LDR_AT_R0: "l",
        LDR4: "l",
        LDM3: "l",
        VLDR: "l",
        VLDR2: "l",
        VSTR: "s",
        STR: "s",
        STR2: "s",
        STM2: "s",
    }
    accesses = [f"{i}:{RAM + i * step:x}:4:{access[one]}" for i, one in enumerate(code) if one in access]
    return " ".join([f"run {pc:x} {end if next_pc is None else next_pc:x} {','.join(code)}", *accesses])


# What the two of a pair take together; behind eight bytes of code that came before.
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ([ADDS, SUBS], 1),
        ([ADDS, EORS], 1),  # an addition is early, and its sum there for what is late in the same cycle
        ([EORS, ADDS1], 2),  # logic is late
        ([EORS, EORS3], 1),
        ([SHIFTED, SHIFTED3], 2),  # one early shifter
        ([LSLS, SHIFTED3], 2),
        ([SHIFTED, LSLS3], 1),  # the second can shift late
        ([LSLS, LSLS3], 1),
        ([UXTB, EORS], 1),
        ([EORS, UXTB], 2),  # never the second
        ([MUL, MUL3], 2),
        ([MUL, STR2], 2),
        ([STR, STR2], 2),
        ([LDR, LDR2], 1),  # an even word and an odd one
        ([LDR, STR2], 1),
        ([LDR, ADDS1], 2),
        ([LDRB, ADDS1], 3),
        ([LDR, SHIFT_OF_R0], 3),  # an inline shift is a stage earlier
        ([LDR, LDR_OF_R0], 3),
        ([ADDS, LDR_OF_R0], 2),  # early, so that its sum is an address in the next cycle
        ([EORS, LDR_OF_R0], 3),
        ([MUL, ADD_OF_R0], 3),
        ([MLA, MLA0], 2),  # sums of products follow each other
        ([LDR, STR], 1),  # what is stored may come in the same cycle
        ([LDM3], 2),
        ([STM2], 1),
        ([VMOV, EOR_W], 1),
        ([EOR_W, VMOV], 2),  # never the second
        ([VMOV, ADD_OF_R0], 2),  # there as soon as what an ALU gives
        ([LDR, LDR_AT_R0], 3),
        ([LDR, LDR_BY_R0], 4),  # a loaded word as the second register of an address
        ([MUL, LDR_OF_R0], 5),  # a product as an address
        ([REV, LDR_OF_R0], 3),  # a reversed word as an address
        ([REV, ADD_OF_R0], 1),
        ([REV, SHIFT_OF_R0], 3),
        ([IT, MOVNE, ADD_OF_R0], 3),  # what a condition could leave out
    ],
)
def test_pairs_of_the_cortex_m7(run: Run, code: list[str], expected: int) -> None:
    """If this fails, the Cortex-M7 issues other pairs than its sources say."""
    assert run(M7, block([LOOP, LOOP], pc=PC - 4), block(code)) == expected


def test_two_loads_of_one_bank_take_two_cycles(run: Run) -> None:
    assert run(M7, block([LDR, LDR2], step=8)) == 1 + run(M7, block([LDR, LDR2]))


def test_pairs_of_words_across_double_words_take_a_cycle_more(run: Run) -> None:
    straddling = f"run {PC:x} {PC + 4:x} {STM2} 0:{RAM + 4:x}:4:s 0:{RAM + 8:x}:4:s"
    assert run(M7, straddling) == 1 + run(M7, block([STM2]))


def test_a_word_that_was_stored_comes_four_cycles_later(run: Run) -> None:
    """If this fails, a spilled word can be read at once; a word beside it can."""

    def cycles(loaded: int) -> int:
        accesses = f"0:{RAM:x}:4:s 1:{loaded:x}:4:l"
        return run(M7, block([LOOP, LOOP], pc=PC - 4), f"run {PC:x} {PC + 4:x} {STR},{LDR2} {accesses}")

    assert cycles(RAM) == 4 + cycles(RAM + 4)


# Caches of 16 KiB before the flash; the table's numbers are what the tests count with.
LINE, FIRST, BEAT = 32, 12, 2
# Brings the code, and passes the time until the bus is free.
WARM = [block([LDR, LDR2])] * 30


def _loads(*addresses: int) -> str:
    """A block that loads from addresses."""
    accesses = " ".join(f"{i}:{address:x}:4:l" for i, address in enumerate(addresses))
    return f"run {PC:x} {PC + 2 * len(addresses):x} {','.join([LDR4] * len(addresses))} {accesses}"


def test_a_missed_line_costs_what_is_documented(run: Run) -> None:
    """If this fails, tables larger than the cache of data cost nothing, as Ed25519's once did."""
    table = table_of("cortex-m7")
    flash = 0x08010000

    def cycles(*addresses: int, before: tuple[int, ...] = ()) -> int:
        return run(table, *WARM, *([_loads(*before)] if before else []), *WARM, _loads(*addresses))

    hit = cycles(RAM)
    assert cycles(flash) == hit + FIRST
    assert cycles(flash, before=(flash,)) == cycles(flash + LINE - 4, before=(flash,)) == hit
    # The rest of a line comes eight bytes at a time, from what was asked for; and the next line behind it.
    two = cycles(RAM, RAM)
    assert cycles(flash, flash + 8) == two - 1 + FIRST + BEAT
    assert cycles(flash + 24, flash) == cycles(flash, flash + 8)
    assert cycles(flash + 8, flash) == two - 1 + FIRST + 3 * BEAT
    assert cycles(flash, flash + LINE) == two - 1 + FIRST + 3 * BEAT + FIRST
    # Four ways: the fifth line of a set drives the first out, unless that was used since.
    lines = [flash + 4096 * way for way in range(5)]
    assert cycles(lines[0], before=tuple(lines)) == hit + FIRST
    assert cycles(lines[0], before=(*lines[:4], lines[0], lines[4])) == hit


def test_code_that_is_not_in_the_cache_comes_late(run: Run) -> None:
    table = table_of("cortex-m7")
    far = [block([ADDS], pc=PC + 0x10040 + at) for at in (0, 8192, 16384)]
    warm = [block([ADDS, SUBS] * 8)] * 4
    hit = run(M7, *warm, far[0])
    # Two ways: the third block of a set drives the first out. The fetch unit is four blocks ahead, of two cycles each.
    assert run(table, far[0], far[1], *warm, far[0]) == hit
    assert hit + FIRST - 4 * 2 <= run(table, *far, *warm, far[0]) <= hit + FIRST


def test_caches_that_never_miss_leave_no_line(run: Run) -> None:
    """If this fails, --flash none and --memory ram have the misses of a flash."""
    assert "number line_bytes 32" in table_of("cortex-m7") and "line_bytes" not in M7
    assert "line_bytes" in table_of("cortex-a53", misses=False)
    assert run(M7, WARM[0]) < run(table_of("cortex-m7"), WARM[0])


def test_the_cortex_m7_foretells_where_a_short_loop_ends(run: Run) -> None:
    """If this fails, each call of a loop of nine turns costs a wrong guess; on hardware it costs none (cortexm-AES)."""
    turns = [block([LOOP, BNE], PC if turn < 8 else None) for turn in range(9)]
    ends = [run(M7, *turns * times) for times in (1, 80)]
    assert ends[0] >= 6 + ends[1] and ends[1] <= 2


def test_wide_code_comes_at_eight_bytes_a_cycle(run: Run) -> None:
    """If this fails, a loop of eight wide instructions takes four cycles a turn wherever it lies."""
    loop = [ADD_W, EOR_W] * 3 + [ADD_W, B_W]
    turns = [run(M7, *[block(loop, PC + at, pc=PC + at)] * 20) for at in (0, 4)]
    assert turns == [4, 5]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ([MOVS, EORS], 1),  # two narrow ones, one of them a move
        ([EORS, MOVS], 1),
        ([ADDS, EORS3], 2),  # none of them is of the few
        ([MOVS, ADD_W], 2),  # one is wide
        ([EORS, ADDS1], 2),  # it needs what the first makes
        ([LDR, ADDS1], 3),
        ([SHIFTED, ADDS1], 3),
        ([LDM3], 3),
    ],
)
def test_pairs_of_the_cortex_m55(run: Run, code: list[str], expected: int) -> None:
    assert run(table_of("cortex-m55"), block(code)) == expected


# As LLVM's file draws them: a vector takes two beats in its pipe, the first of one beside the second of another.
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ([VLDR, VADD, VMUL, VSTR], 4),
        ([VLDR, VLDR2, VADD, VSTR], 5),
        ([VADD, VADD], 3),
        ([VADD, VMUL], 2),
        ([VMUL, VSTR], 2),  # a store takes a product a cycle late
        ([VMUL, VADD_OF_Q1], 3),
        ([VLDR, ADD_W, VLDR2], 3),
    ],
)
def test_beats_of_the_cortex_m55(run: Run, code: list[str], expected: int) -> None:
    """If this fails, vectors do not overlap as LLVM says that they do."""
    assert run(table_of("cortex-m55"), block(code)) == expected


def test_classes_of_mve_are_those_of_their_names(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """162 words whose texts LLVM 14.0.6 wrote (llvm-mc, Armv8.1-M Mainline); what older cores have is left to them."""
    lines = (paths.REPOSITORY / "tests" / "data" / "mve-words.txt").read_text(encoding="ascii").splitlines()
    older = ["eb010002", "f8d10000", "fba20103", "fb013002", "ee300a81", "ed910a00", "ecb10a04", "e890000e", "f3ef8010"]
    program = model_programs.build("model_classes", tmp_path, request)
    asked = "\n".join([*(line.split()[0] for line in lines), *older]) + "\n"
    done = subprocess.run([program, "t32_81m"], input=asked, capture_output=True, text=True, check=True)
    found = [line.split()[0] for line in done.stdout.splitlines()]
    assert found == [*(line.split()[1] for line in lines), *["unknown"] * len(older)]
    assert len(lines) == 162


def test_a_return_of_the_cortex_m7_is_foretold_to_go_where_it_went_last(run: Run) -> None:
    """If this fails, the M7 has a stack of returns, which Arm's manual does not have."""
    to = {place: block(["4770"], PC + place) for place in (0x100, 0x200)}
    same = run(M7, *[to[0x100]] * 3)
    assert run(M7, to[0x100], to[0x100], to[0x200]) == same + 8


def test_a_taken_branch_of_the_cortex_m55_costs_the_same_each_time(run: Run) -> None:
    table = table_of("cortex-m55")
    assert [run(table, *[block([B], PC)] * times) for times in (1, 9)] == [3, 3]


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("class mul32 latency 3", "class mul32 latency 2", [MUL, ADD_OF_R0]),
        ("number banks 2", "number banks 1", [LDR, LDR2]),
        ("class alu_flags latency 2 need_value 1 early 1", "class alu_flags latency 2 need_value 1", [ADDS, EORS]),
        ("class load latency 2 quick 1", "class load latency 3 quick 1", [LDR, ADDS1]),
    ],
)
def test_a_planted_error_shows(run: Run, before: str, after: str, code: list[str]) -> None:
    table = M7
    assert before in table
    assert run(table, block(code)) != run(table.replace(before, after), block(code))


def test_a_table_that_cannot_be_is_refused(driver: Path) -> None:
    for before, after, said in (
        ("number width 2", "number width 3", "has no width of 1 or 2"),
        ("number fetch_queue 4", "number fetch_queue 40", "fetches code into no queue"),
        ("number banks 2", "number bunks 2", "not understood"),
        ("class alu latency", "class aloe latency", "not understood"),
        ("class alu latency 2", "class alu latency -2", "not understood"),
        ("number data_ways 4", "number data_ways 3", "caches that cannot be"),
        ("number code_kib 16", "number code_kib 1024", "caches that cannot be"),
        ("number bus_bytes 8", "number bus_bytes 64", "caches that cannot be"),
    ):
        (driver.parent / "table").write_text(table_of("cortex-m7").replace(before, after), encoding="ascii")
        done = subprocess.run([driver, driver.parent / "table"], input="", capture_output=True, text=True, check=False)
        assert done.returncode and said in done.stderr


def test_names_of_numbers_and_keys_are_the_engines() -> None:
    """What a file of this kind may name is what the engine reads."""
    text = (model_programs.MODEL / "dual_table.c").read_text(encoding="ascii")
    kind = KINDS["mcu-dual"]
    assert set(re.findall(r"NUMBER\((\w+)\)", text)) - {"member"} == set(kind.numbers or ())
    keys = set(re.findall(r"BYTE\((\w+)\)", text)) - {"member"} | set(re.findall(r'"(need_\w+|outside)"', text))
    assert keys | {"least", "most"} == set(kind.keys or ())


def test_the_cortex_m55_is_unvalidated() -> None:
    """If this fails, a model that no figure judges has an error line."""
    assert load_errors().line("cortex-m55", Domain("integer", False, "compiled")) is None
    assert load_errors().unvalidated("cortex-m55", Domain("integer", False, "compiled")).startswith("unvalidated")


# --- whether another engine does the same with a core ---

# Cores with rules that the blind test's engine had not.
NEWER = {
    "cortex-a55",
    "cortex-a72",
    "cortex-a76",
    "cortex-m3",
    "cortex-m33",
    "cortex-m4",
    "cortex-m7",
    "neoverse-n1",
}


def test_todays_engine_does_with_each_core_what_is_written_down(driver: Path) -> None:
    """If this fails, run `python tests/engine_behaviour.py`, and see in the commit which cores do something else."""
    kept = Engine.model_validate_json(ENGINE.read_text(encoding="utf-8"))
    assert kept.engine == engine_digest()
    assert kept.cores == engine_behaviour.behaviours(driver, sorted(kept.cores), paths.PLUGIN)


def test_a_core_that_another_engine_predicts_otherwise_is_of_the_older_one(driver: Path) -> None:
    """If this fails, a changed rule is judged by figures that the rule before it predicted."""
    test = kept_blind().test
    kept = Engine.model_validate_json(ENGINE.read_text(encoding="utf-8"))
    others = {core: digest for core, digest in test.behaviour.items() if kept.cores[core] != digest}
    assert not others and not NEWER & set(test.behaviour)
    assert load_core("cortex-m7").model
    cores = set(test.cores)
    other = NEWER
    assert changed(test, cores) == other
    planted = kept.model_copy(update={"cores": kept.cores | {"cortex-m0": "0" * 64}})
    assert changed(test, cores, planted) == other | {"cortex-m0"}
    assert changed(test, cores, kept.model_copy(update={"engine": "0" * 64})) == cores
    # Each number shows: one cycle more of one class.
    table = table_of("cortex-m4").replace("class mla cycles 1", "class mla cycles 2")
    lines = list(engine_behaviour.t32_lines())
    told = [engine_behaviour.answers(driver, one, lines, driver.parent) for one in (table, table_of("cortex-m4"))]
    assert told[0] != told[1]
