# SPDX-License-Identifier: BSD-2-Clause
"""The model of Cortex-M: its decoder against LLVM's classes, a microkernel for each rule, and that errors show."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence

import pytest

import model_programs
import t32_llvm
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import parse
from worldwise.libraries.boards import Core, boards, load_core, table_of

RAM = 0x20000000
PC = 0x08000000

# Encodings, as a listing writes them.
NOP, ADDS, EORS, SUBS = "bf00", "1888", "4048", "3801"  # adds r0,r1,r2; eors r0,r1; subs r0,#1
LDR, LDR2, LDR_OF_R0 = "6808", "681a", "6802"  # ldr r0,[r1]; ldr r2,[r3]; ldr r2,[r0]
STR, STR_INDEXED = "6008", "5088"  # str r0,[r1]; str r0,[r1,r2]
LDR_W, LDR2_W = "f8d10000", "f8d32000"
LDR_POST, LDR2_POST, LDR2_POST_R1 = "f8510b04", "f8532b04", "f8512b04"  # ldr r0,[r1],#4; ldr r2,[r3 or r1],#4
ADD_W, STR_W, ADDS_R1 = "eb010002", "f8c10000", "3104"
LDM3, PUSH3, POP2 = "e890000e", "b530", "bd10"  # ldm r0,{r1,r2,r3}; push {r4,r5,lr}; pop {r4,pc}
MUL, MLA, UMULL, UMLAL, UDIV = "4348", "fb013002", "fba20103", "fbe20103", "fbb1f0f2"
CMP_ROTATED, CMP_BYTE, MOVS_ROTATED, ADD_ROTATED = "f1b14fd8", "f1b10f6c", "f45f50d8", "f50050d8"
BNE, B, BL, BX, CBZ = "d1f7", "e7fe", "f000f800", "4770", "b110"
IT, VADD, LDREX, SHIFTED, LITERAL = "bf08", "ee300a81", "e8510f00", "eb0100c2", "4801"

Driver = Callable[[str, Iterable[str]], list[str]]


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Driver:
    """Calls the compiled driver with a table and lines, and gives its answers."""
    directory = tmp_path_factory.mktemp("mcu")
    program = model_programs.build("model_driver", directory, request)

    def call(table: str, lines: Iterable[str]) -> list[str]:
        (directory / "table").write_text(table, encoding="ascii")
        done = subprocess.run(
            [program, directory / "table"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ValueError(done.stderr)
        return done.stdout.splitlines()

    return call


def table(core: str, board: str = "") -> str:
    """The table of a core of the repository, with a board's flash or with none."""
    return table_of(core, board or None)


def accesses_of(code: Sequence[str]) -> list[str]:
    """An access for each load and store, in RAM; what LDM and its like load is one here."""
    loads = (LDR, LDR2, LDR_OF_R0, LDR_W, LDR2_W, LDR_POST, LDR2_POST, LDR2_POST_R1, LDM3, POP2, LDREX, LITERAL)
    stores = (STR, STR_INDEXED, STR_W, PUSH3)
    return [
        f"{index}:{RAM:x}:4:{'l' if one in loads else 's'}"
        for index, one in enumerate(code)
        if one in (*loads, *stores)
    ]


def run_line(code: Sequence[str], pc: int = PC, next_pc: int | None = None) -> str:
    """The driver's line for a block; without `next_pc` it goes on behind itself."""
    end = pc + sum(len(one) // 2 for one in code)
    return " ".join([f"run {pc:x} {end if next_pc is None else next_pc:x} {','.join(code)}", *accesses_of(code)])


def cycles(drive: Driver, tables: str, code: Sequence[str], pc: int = PC, next_pc: int | None = None) -> int:
    """The cycles of a block, executed the second time: the first one is behind a jump."""
    answers = drive(tables, [run_line([NOP], pc - 2), run_line(code, pc, next_pc)])
    return sum(map(int, answers[1].split()[:6]))


def costs(drive: Driver, core: str, kernels: Iterable[tuple[list[str], int, int]]) -> None:
    """Compares cycles with what is expected of (code, pc, cycles)."""
    for code, pc, expected in kernels:
        assert cycles(drive, table(core), code, pc) == expected, (core, code, hex(pc))


# --- decoder ---


def read_classes() -> dict[str, str]:
    """The committed table: a class for each encoding that LLVM knows, in hexadecimal."""
    classes: dict[str, str] = {}
    narrow = True
    for line in t32_llvm.TABLE.read_text(encoding="ascii").splitlines():
        first, *rest = line.split()
        if first == "#":
            narrow = "wide:" not in rest
        elif narrow and rest[1] != "-":
            classes |= {f"{code:04x}": rest[1] for code in range(int(first, 16), int(rest[0], 16) + 1)}
        elif not narrow:
            classes |= dict.fromkeys(rest, first)
    return classes


def test_classes_are_those_of_llvm(drive: Driver) -> None:
    expected = read_classes()
    assert len(expected) > 80_000 and len([code for code in expected if len(code) == 8]) > 20_000
    found = drive(table("cortex-m4"), (f"class {code}" for code in expected))
    wrong = [(code, kind, got) for (code, kind), got in zip(expected.items(), found, strict=True) if kind != got]
    assert not wrong, (len(wrong), wrong[:20])


def test_the_committed_classes_are_what_llvm_says() -> None:
    if not shutil.which(t32_llvm.TOOL):
        pytest.skip(f"there is no {t32_llvm.TOOL} here: the committed table alone is compared")
    text = t32_llvm.TABLE.read_text(encoding="ascii")
    made = subprocess.run([t32_llvm.TOOL, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"LLVM version (\S+)", made)
    if not version or f"LLVM {version[1]}." not in text:
        pytest.skip(f"the table was made by another LLVM than {version[1] if version else 'this'}")
    expected = {int(code, 16): kind for code, kind in read_classes().items() if len(code) == 4}
    narrow = t32_llvm.classes([code for code in range(0xE800) if not 0xBFF1 <= code <= 0xBFFF], wide=False)
    assert narrow == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("add.w\tpc, r1, r2", "jump"),
        ("add.w\tr0, r1, r2, lsl #3", "shifted"),
        ("smlabb\tr0, r1, r2, r3", "mla"),
        ("vmov\tr0, s1", "fpmove"),
        ("vmul.f64\td0, d1, d2", "fpdouble"),
        ("uhadd8\tr0, r1, r2", "dsp"),
        ("itte\teq", "hint"),
        ("strdeq\tr0, r1, [r2]", "stores"),
    ],
)
def test_mnemonics_decide_classes(text: str, kind: str) -> None:
    assert t32_llvm.expected_class(text) == kind


# --- rules ---


def test_cycles_of_the_armv6m_cores(drive: Driver) -> None:
    # Arm DDI 0432C and DDI 0484C, table 3-1.
    for core, branch, call, jump, pop in (("cortex-m0", 3, 4, 3, 6), ("cortex-m0plus", 2, 3, 2, 5)):
        costs(drive, core, [([ADDS, EORS], PC, 2), ([LDR, STR], PC, 4), ([LDR, LDR2], PC, 4), ([PUSH3], PC, 4)])
        costs(drive, core, [([MUL], PC, 1), ([LITERAL], PC, 2)])
        assert cycles(drive, table(core), [B], PC, PC) == branch
        assert cycles(drive, table(core), [BL], PC, PC + 64) == call
        assert cycles(drive, table(core), [BX], PC, PC + 64) == jump
        assert cycles(drive, table(core), [POP2], PC, PC + 64) == pop
        assert cycles(drive, table(core), [BNE], PC) == 1


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_a_comparison_with_zero_goes_on_late(drive: Driver, core: str) -> None:
    assert cycles(drive, table(core), [CBZ], PC, PC + 8) == 3
    assert cycles(drive, table(core), [CBZ], PC) == 1
    assert cycles(drive, table(core), [BNE], PC, PC + 8) == 2


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_a_load_of_several_waits_behind_a_store(drive: Driver, core: str) -> None:
    costs(drive, core, [([STR, LDM3], PC, 6), ([STR, ADDS_R1, LDM3], PC, 6), ([STR, PUSH3], PC, 5)])


def test_products_and_quotients(drive: Driver) -> None:
    costs(drive, "cortex-m4", [([one], PC, 1) for one in (MUL, MLA, UMULL, UMLAL)])
    costs(drive, "cortex-m3", [([MUL], PC, 1), ([MLA], PC, 2), ([UMULL], PC, 4), ([UMLAL], PC, 6)])
    for core in ("cortex-m3", "cortex-m4"):
        model = load_core(core).model
        assert model
        div = model.classes["div"]
        assert div["least"] == 2 and div["most"] == 12
        costs(drive, core, [([UDIV], PC, int(div["cycles"]))])


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_loads_are_pipelined(drive: Driver, core: str) -> None:
    costs(
        drive,
        core,
        [
            ([LDR], PC, 2),
            ([LDR, LDR2], PC, 3),
            ([LDR, LDR2, LDR, LDR2], PC, 5),
            ([LDR, LDR_OF_R0], PC, 4),  # the address is what was loaded
            ([LDR, ADDS, LDR2], PC, 5),
            ([LDM3], PC, 4),
            ([LDM3, LDR], PC, 6),
            ([LDR_W, LDR2_W], PC, 3),
            ([LDR_W, LDR2_W], PC + 2, 4),  # wide ones that straddle words of code
            ([NOP, LDR_W, NOP], PC + 2, 4),
        ],
    )


def test_loads_that_write_back(drive: Driver) -> None:
    costs(drive, "cortex-m4", [([LDR_POST, LDR2_POST], PC, 3), ([LDR_POST, LDR2_POST_R1], PC, 4)])
    costs(drive, "cortex-m3", [([LDR_POST, LDR2_POST], PC, 4), ([LDR_POST, LDR2], PC, 3)])


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_stores(drive: Driver, core: str) -> None:
    costs(
        drive,
        core,
        [
            ([STR, ADDS], PC, 2),
            ([STR, STR], PC, 2),
            ([STR, LDR2], PC, 4),  # a cycle more
            ([STR, ADDS, LDR2], PC, 4),
            ([LDR2, STR], PC, 2),  # it hides
            ([STR_INDEXED], PC, 2),
            ([LDR2, STR_INDEXED], PC, 4),  # its index is what was loaded
            ([PUSH3], PC, 4),
        ],
    )
    # A store to RAM does not hide behind a load from flash.
    for flash, cycles in ((RAM, 2), (PC, 3)):
        (answer,) = drive(table(core), [f"run {PC:x} {PC + 4:x} {LDR2},{STR} 0:{flash:x}:4:l 1:{RAM:x}:4:s"])
        assert sum(map(int, answer.split()[:6])) == cycles


def test_an_address_made_just_before_waits(drive: Driver) -> None:
    costs(drive, "cortex-m4", [([ADDS_R1, LDR], PC, 4), ([ADDS_R1, NOP, LDR], PC, 4), ([ADDS_R1, STR], PC, 3)])
    costs(drive, "cortex-m0", [([ADDS_R1, LDR], PC, 3)])


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_wide_instructions_that_straddle_words(drive: Driver, core: str) -> None:
    # AES of cortexm-AES has rows of three, nine and twelve behind a narrow one of a cycle, which cost nothing.
    wide = [ADD_W] * 12
    costs(drive, core, [(wide, PC, 12), (wide[:3], PC + 2, 3), (wide, PC + 2, 12), ([STR, *wide], PC, 13)])
    # Behind an instruction of several cycles three of them cost one more, once.
    costs(drive, core, [([LDR, *wide[:2]], PC, 4), ([LDR, *wide[:3]], PC, 6), ([LDR, *wide], PC, 15)])
    costs(drive, core, [([LDR, NOP, *wide[:3]], PC + 2, 6), ([LDR, *wide[:3]], PC + 2, 5)])


def test_targets_of_branches(drive: Driver) -> None:
    tables = table("cortex-m4")
    assert cycles(drive, tables, [B], PC, PC) == 2
    for target, first, expected in ((PC + 64, ADD_W, 1), (PC + 66, ADD_W, 2), (PC + 66, NOP, 1)):
        answers = drive(tables, [run_line([B], PC, target), run_line([first], target)])
        assert sum(map(int, answers[1].split()[:6])) == expected
    assert cycles(drive, tables, [BL], PC, PC + 64) == 2
    assert cycles(drive, tables, [BX], PC, PC + 64) == 3
    assert cycles(drive, tables, [POP2], PC, PC + 64) == 6


def test_it_is_folded_behind_a_narrow_instruction(drive: Driver) -> None:
    costs(drive, "cortex-m4", [([ADDS, IT, ADDS], PC, 2), ([ADD_W, IT, ADDS], PC, 3)])


def test_what_a_condition_left_out_takes_a_cycle(drive: Driver) -> None:
    answers = drive(table("cortex-m4"), [f"run {PC:x} {PC + 4:x} {LDR},{LDR}"])
    assert sum(map(int, answers[0].split()[:6])) == 2


def fresh(drive: Driver, tables: str, code: Sequence[str], next_pc: int | None = None) -> int:
    """The cycles of a block with nothing before it."""
    return sum(map(int, drive(tables, [run_line(code, PC, next_pc)])[0].split()[:6]))


def test_the_cortex_m33_waits_for_results(drive: Driver) -> None:
    costs(drive, "cortex-m33", [([LDR, "3001"], PC, 3), ([LDR, "3301"], PC, 2), ([MLA, "3001"], PC, 3)])
    costs(drive, "cortex-m33", [([SHIFTED, "3001"], PC, 3), ([LDM3], PC, 3)])
    # What is stored may come a cycle later; an address may not.
    costs(drive, "cortex-m33", [([LDR, "6018"], PC, 2), ([LDR, "6002"], PC, 3)])
    # Flags of products and of rotated constants cost a cycle, and such a constant's result is late; a move's is not.
    costs(drive, "cortex-m33", [([MUL], PC, 2), ([CMP_ROTATED], PC, 2), ([CMP_BYTE], PC, 1), ([MOVS_ROTATED], PC, 1)])
    costs(drive, "cortex-m33", [([ADD_ROTATED, "3001"], PC, 3), ([MOVS_ROTATED, "3001"], PC, 2)])


def test_branches_of_the_cortex_m33_begin_with_what_is_before(drive: Driver) -> None:
    tables = table("cortex-m33")
    end = PC + 64
    for code, next_pc, expected in (
        ([SUBS, BNE], None, 1),  # not taken
        ([SUBS, BNE], end, 3),  # taken, and flags are set just before
        ([STR, BNE], end, 2),
        ([ADD_W, BNE], end, 3),  # narrow ones alone
        ([SUBS, "d001", BNE], None, 2),  # not a third
        ([IT, EORS, BNE], end, 3),  # in an IT block EORS sets no flags
        ([NOP, BX], end, 2),
    ):
        assert fresh(drive, tables, code, next_pc) == expected, code


# --- flash ---


def test_a_cache_of_instructions_hides_the_wait(drive: Driver) -> None:
    tables = table("cortex-m4", "nucleo-f446re")
    code = [ADDS] * 32  # four lines of 16 bytes
    lines = [run_line(code, PC, PC), run_line(code, PC, PC), "forget", run_line(code, PC, PC)]
    first, second, forgotten, again = drive(tables, lines)
    # Five cycles wait for the first line; each next one is read while eight narrow ones are taken.
    assert list(map(int, first.split()[:6])) == [32, 0, 0, 0, 0, 5]
    assert sum(map(int, second.split()[:6])) == 32
    assert forgotten == "ok" and again == first


def test_wide_code_outruns_the_prefetch_buffer(drive: Driver) -> None:
    tables = table("cortex-m3", "nucleo-f103rb")
    # Eight bytes in three cycles: of two wide instructions each second one waits for a cycle.
    (answer,) = drive(tables, [run_line([ADD_W] * 40, PC, PC + 160)])
    issue, _, _, _, _, fetch = map(int, answer.split()[:6])
    assert issue == 40 and 18 <= fetch <= 22
    # Narrow ones do not outrun it.
    (answer,) = drive(tables, [run_line([ADDS] * 40, PC, PC + 80)])
    assert int(answer.split()[5]) == 2


def test_literals_come_through_the_flash(drive: Driver) -> None:
    tables = table("cortex-m4", "nucleo-f446re")
    line = f"run {PC:x} {PC + 4:x} {LITERAL},{ADDS} 0:{PC + 64:x}:4:l"
    first, second = drive(tables, [line, line])
    assert int(first.split()[3]) > int(second.split()[3]) == 1
    # From RAM nothing waits.
    (answer,) = drive(tables, [f"run {PC:x} {PC + 4:x} {LITERAL},{ADDS} 0:{RAM:x}:4:l"])
    assert int(answer.split()[3]) == 1


# --- what is outside, determinism, planted errors ---


def test_what_has_no_figures_is_counted_apart(drive: Driver) -> None:
    answers = drive(table("cortex-m4"), [run_line([ADDS, LDREX, VADD])])
    *causes, outside, instructions = map(int, answers[0].split())
    assert sum(causes) == 4 and (outside, instructions) == (3, 2)


def test_a_missing_class_is_outside(drive: Driver) -> None:
    without = re.sub(r"class mla .*\n", "", table("cortex-m4"))
    answers = drive(without, [run_line([ADDS, MLA])])
    assert list(map(int, answers[0].split()))[-2:] == [1, 1]
    assert fresh(drive, table("cortex-m3"), [MLA]) == 2
    assert fresh(drive, re.sub(r"class mla .*\n", "", table("cortex-m3")), [MLA]) == 1


def test_stores_can_wait(drive: Driver) -> None:
    """If this fails, firmware whose stores wait is predicted as if a buffer took them."""
    plain, waits = table("cortex-m4"), table_of("cortex-m4", store_waits=1)
    assert [fresh(drive, one, [STR]) for one in (plain, waits)] == [1, 2]
    # Each stored word waits, and no load does. A row of wide instructions at 2 mod 4 then costs nothing.
    words = " ".join(f"0:{RAM + 4 * word:x}:4:s" for word in range(3))
    line = f"run {PC:x} {PC + 16:x} {PUSH3},{ADD_W},{ADD_W},{ADD_W},{ADDS} {words}"
    assert [sum(map(int, drive(one, [line])[0].split()[:6])) for one in (plain, waits)] == [9, 11]
    assert fresh(drive, waits, [LDM3]) == fresh(drive, plain, [LDM3])
    with pytest.raises(WorldwiseError, match="its model has no stores that wait"):
        table_of("cortex-m7", store_waits=1)


@pytest.mark.parametrize(
    ("core", "before", "after", "code", "expected"),
    [
        ("cortex-m3", "class mla cycles 2", "class mla cycles 1", [MLA], 2),
        ("cortex-m4", "number load_pipelined 1", "number load_pipelined 0", [LDR, LDR2], 3),
        ("cortex-m4", "number updates_chain 1", "number updates_chain 0", [LDR_POST, LDR2_POST], 3),
        ("cortex-m4", "number load_after_store 1", "number load_after_store 0", [STR, LDR2], 4),
        ("cortex-m4", "number loads_after_store 1", "number loads_after_store 0", [STR, LDM3], 6),
        ("cortex-m33", "class load cycles 1 latency 2", "class load cycles 1 latency 1", [LDR, "3001"], 3),
    ],
)
def test_a_planted_error_shows(
    drive: Driver, core: str, before: str, after: str, code: list[str], expected: int
) -> None:
    tables = table(core)
    assert before in tables
    assert fresh(drive, tables, code) == expected
    assert fresh(drive, tables.replace(before, after), code) != expected


def test_the_same_stream_gives_the_same_cycles(drive: Driver) -> None:
    lines = [run_line([LDR_W, MLA, STR, ADD_W, BNE], PC + 2 * (turn % 3), PC + 4 * (turn % 5)) for turn in range(200)]
    tables = table("cortex-m4", "nucleo-f446re")
    whole = drive(tables, lines)
    assert whole == drive(tables, lines)
    # However the stream is cut, what passes is the same.
    one = drive(table("cortex-m4"), [run_line([ADDS, LDR, LDR2, ADDS])])
    two = drive(table("cortex-m4"), [run_line([ADDS, LDR]), run_line([LDR2, ADDS], PC + 4)])
    assert sum(int(answer.split()[i]) for answer in two for i in range(6)) == sum(map(int, one[0].split()[:6]))


@pytest.mark.parametrize(
    "line", ["number speed 3", "class alu cycles", "class alu cycles -1", "class aloe cycles 1", "memory wait 5"]
)
def test_a_wrong_table_is_refused(drive: Driver, line: str) -> None:
    with pytest.raises(ValueError, match=r"not understood|not complete"):
        drive(f"{table('cortex-m4')}{line}\n", [])


# --- files ---

CORE = """title = "Some"
architecture = "Armv7-M"
flags = ["-mthumb"]

[model]
kind = "mcu"

[model.sources]
trm = "a manual"

[model.numbers]
width = { value = 1, source = "trm, 3.1" }

[model.classes]
alu = { cycles = 1, source = "trm, table 1" }
"""


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('kind = "mcu"', 'kind = "fast"', "kind"),
        ("width =", "depth =", "numbers.depth: this kind of core has no such name"),
        ('source = "trm, 3.1"', 'source = "memory"', "numbers.width.source begins with 'memory'"),
        ('source = "trm, 3.1"', 'source = "fitted: validation.toml"', "no number may be fitted to validation.toml"),
        (', source = "trm, table 1"', "", "classes.alu has no source"),
        ("cycles = 1", "cycle = 1", "classes.alu.cycle: a class has no such key"),
        ("cycles = 1", 'cycles = "wing"', "classes.alu.cycles must be a number"),
        ("cycles = 1", 'unit = "alu"', "classes.alu.unit: a class has no such key"),
        ("value = 1", "value = -1", "value"),
        ("alu = {", "aloe = {", "classes.aloe: this kind of core has no such name"),
        ("alu = {", '"alu aloe" = {', "classes.aloe: this kind of core has no such name"),
        ("alu = {", '"shift alu alu" = {', "classes: alu stands there twice"),
        ("alu = {", '" " = {', "this kind of core has no such name"),
    ],
)
def test_wrong_models_are_refused(before: str, after: str, problem: str) -> None:
    assert parse(Core, CORE, "some.toml").model
    with pytest.raises(WorldwiseError, match=re.escape(problem)):
        parse(Core, CORE.replace(before, after), "some.toml")


def test_classes_that_cost_the_same_stand_in_one_line() -> None:
    """If this fails, a class has no time, or that of another."""
    one, two = (parse(Core, CORE.replace("alu = {", f"{names} = {{"), "some.toml") for names in ("alu", '"alu shift"'))
    assert one.model and two.model
    assert two.model.classes == dict.fromkeys(("alu", "shift"), one.model.classes["alu"])


def test_every_core_of_a_board_has_a_model_that_is_read(drive: Driver) -> None:
    for name, board in boards().items():
        assert load_core(board.core).model
        assert not drive(table(board.core, name), [])
    assert table("cortex-m4").startswith("core cortex-m4\nkind mcu\nnumber width 1\n")
    assert "memory wait 5\nmemory line 16\n" in table("cortex-m4", "nucleo-f446re")


def test_no_number_names_the_figures_it_is_judged_by() -> None:
    for file in sorted(paths.CORES.glob("*.toml")):
        assert "validation.toml" not in file.read_text(encoding="utf-8")
