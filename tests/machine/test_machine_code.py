# SPDX-License-Identifier: BSD-2-Clause
"""Own code on the machine: programs and OP-TEE applications as they are, counted to the instruction."""

import fnmatch
import re
import tempfile
from collections import Counter as Tally
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

import own_codes
from machines import note
from own_explained import check_regions, check_sums, counts, explained, explained_firmware
from worldwise.base.errors import WorldwiseError
from worldwise.cli.traces.annotated_source import annotated, source_lines
from worldwise.cli.traces.plugin_runs import Session
from worldwise.cli.traces.typed_calls import SourceWanted
from worldwise.cli.user_code.memory import ta_words
from worldwise.explain.layers import load_rules
from worldwise.explain.own_code import PARTS, FirmwareExplainer
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries import own_code
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.emulator import Emulator
from worldwise.machine.gdbstub import GdbStub
from worldwise.machine.machine import RECORDS
from worldwise.machine.symbols.own_program import OWN_PROCESS
from worldwise.predict import cores
from worldwise.predict.flat import FlatAttribution
from worldwise.records.check import check_records
from worldwise.records.parse import read_records
from worldwise.run.code import faults
from worldwise.run.code.application import application
from worldwise.run.code.firmware import WantedFirmware, prepare_firmware
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import Ready, prepare
from worldwise.run.code.region_counts import Counter, calls_of, counted_of, run_program, space_of, write_records
from worldwise.run.code.repository.project import open_project, prepare_project
from worldwise.targets import optee_images
from worldwise.targets.own_code import firmware_machine, machine_of

FUNCTIONS = ("work", "climb", "jump", "last", "never")
# The numbers of GDB for sp and pc, behind x0 to x30.
SP, PC, LINK = 31, 32, 30
LIVES = 3
# Seconds that a machine is given which hangs: it takes a processor meanwhile.
SILENCE = 3
# A translation block an instruction, and a line of the log for each; the program counter is the second of four words.
SINGLE = ("-accel", "tcg,one-insn-per-tb=on")
LOGGED = re.compile(
    r"^Stopped execution|^R12=\S+ R13=([0-9a-f]{8}) R14=\S+ R15=([0-9a-f]{8})\nXPSR=([0-9a-f]{8})", re.MULTILINE
)
EXECUTED = re.compile(r"^(?:Trace 0: \S+ \[[0-9a-f]+/([0-9a-f]+)/|Stopped execution of TB chain before)", re.MULTILINE)


STAYS = """__attribute__((noinline)) void stay(void) { for (;;) __asm__ volatile(""); }
__attribute__((noinline)) void touch(void) { *(volatile word *)0xf0000000 = 1; }
"""
TOUCHES = "touch"


@pytest.fixture(scope="module")
def made(lab: Lab, images: ImageStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    """A dynamic program, counted by some of its functions."""
    program = own_codes.compiled(lab, tmp_path_factory.mktemp("own"), "several", own_codes.PROGRAM)
    ready = prepare(Wanted(program, ("end",), FUNCTIONS, LIVES), images, Emulator(lab, note), note)
    own_code.add(ready.code)
    yield ready
    own_code.remove(ready.code.name)


def test_each_call_of_a_function_is_a_region(made: Ready) -> None:
    """Those of a static function too; a recursion is one; what a longjmp leaves is none; exit() ends the last one."""
    check_regions(made, LIVES)


def test_the_sums_are_the_counter(made: Ready) -> None:
    """Around each start the program that starts it reads the counter; the regions stand inside."""
    check_sums(made)


def test_single_steps_of_a_debugger_are_the_witness(
    made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """GDB stops at the function and steps until it has returned: as many steps as the region has instructions, and no
    stack pointer is lower than the region's.
    """
    manifest = made.code.manifest
    machine = machine_of(images, "program", made.code.folder, made.code.name, own_code.COUNT)
    steps: list[int] = []
    depths: list[int] = []

    def steer(debugger: GdbStub) -> None:
        debugger.run_to(manifest.regions["work"].address)
        back, stack = debugger.register(LINK), debugger.register(SP)
        number = 0
        while (debugger.register(PC), debugger.register(SP)) != (back, stack):
            debugger.step()
            depths.append(stack - debugger.register(SP))
            number += 1
        steps.append(number)

    # As the debugger steps, the machine is another: what is compared is the function alone.
    (tmp_path / RECORDS).touch()
    emulator.steered(machine, ("/bin/fetch",), tmp_path, None, steer)
    assert steps == counts(made, "work")[:1]
    calls, _ = calls_of(made.counted.trace, manifest.addresses, manifest.regions["work"])
    assert {one.stack for one in calls} == {max(depths)}


def test_the_records_are_those_of_a_case(made: Ready, tmp_path: Path) -> None:
    """They pass every check, one sample a call, and the explainer gives each instruction an owner."""
    case = next(one for one in made.cases if one.operation == "work")
    assert case.id == "own/several/work"
    write_records(case, made.code, made.counted, tmp_path / RECORDS)
    checked = check_records(read_records(tmp_path / RECORDS), case)
    assert [one.count for one in checked.samples["call", "region"]] == counts(made, "work")


def test_explain_takes_own_code_apart(made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """`work` has itself alone; around it there are the loader, the C library and the kernel."""
    manifest = made.code.manifest
    explainer = explained(made, "work", images, emulator, tmp_path)
    assert explainer.check() == len(made.counted.trace.passes)
    explanation = explainer.explain(explainer.sample("call", "region"))
    # GCC has made it fit for its one argument.
    assert {(name.partition(".")[0], image): share.self for (name, image), share in explanation.functions.items()} == {
        ("work", "several"): counts(made, "work")[1]
    }
    assert set(explanation.layers) == {"several"}
    calls, _ = calls_of(made.counted.trace, manifest.addresses, manifest.regions["jump"])
    share, rest = explainer.missed(calls)
    assert share == 1.0
    assert rest


def test_the_deepest_stack_has_its_way(made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """`climb` calls itself nine deep, each time with a frame of the same size."""
    explainer = explained(made, "climb", images, emulator, tmp_path)
    peak = explainer.explain(explainer.sample("call", "region")).peak
    assert peak and peak.bytes == sum(size for _, size in peak.path) > 0
    assert {frame.function.partition(".")[0] for frame, _ in peak.path} == {"climb"}
    assert len({size for _, size in peak.path}) <= 2


def test_lines_and_instructions_add_up(made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """The line of the loop's sum has most of it; without the source there are numbers of lines alone."""
    explainer = explained(made, "work", images, emulator, tmp_path)
    sample, session = explainer.sample("call", "region"), Session(load_rules(), fresh=False)
    (section,) = annotated(explainer, session, sample, SourceWanted("work", True, (made.code.origin.parent,)))
    assert section.table
    rows = [(line, int(count.replace(",", "") or 0), text) for line, count, _, text in section.table.rows]
    assert sum(count for line, count, _ in rows if line) == counts(made, "work")[1]
    assert sum(count for line, count, _ in rows if not line) == counts(made, "work")[1]
    (most,) = [count for line, count, text in rows if "sum += i * i" in text]
    assert most >= 40 * 3
    assert any(text.strip().partition(": ")[2].startswith(("mul", "madd")) for line, _, text in rows if not line)
    lines = source_lines(explainer, sample)
    assert {sum(one.values()) for one in lines.values()} == {counts(made, "work")[1]}
    (bare,) = annotated(explainer, session, sample, SourceWanted("work", False, (tmp_path,)))
    assert "--source DIR" in " ".join(bare.notes)
    with pytest.raises(WorldwiseError, match="executes no function wrok"):
        annotated(explainer, session, sample, SourceWanted("wrok", False, ()))


def test_the_whole_program_goes_from_main_to_its_exit(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Static or stripped: without symbols from its first instruction on."""
    static = own_codes.compiled(lab, tmp_path / "a", "whole", own_codes.PROGRAM, "-static")
    emulator = Emulator(lab, note)
    whole = prepare(Wanted(static, lives=2), images, emulator, note)
    assert list(whole.code.manifest.regions) == ["main"]
    stripped = own_codes.compiled(lab, tmp_path / "b", "whole", own_codes.PROGRAM, "-static", "-s")
    bare = prepare(Wanted(stripped, lives=2), images, emulator, note)
    assert list(bare.code.manifest.regions) == ["entry"]
    assert all(one > other for one, other in zip(counts(bare, "entry"), counts(whole, "main"), strict=True))


def test_functions_of_cpp_and_rust_have_their_sources_names(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """In regions, in the names of cases, and where explain says who executed what."""
    program = own_codes.compiled(lab, tmp_path, "named", own_codes.NAMED)
    ready = prepare(Wanted(program, (), ("web::*", "p256::ecdsa::sign"), 2), images, Emulator(lab, note), note)
    assert {name: one.function for name, one in ready.code.manifest.regions.items()} == {
        "p256--ecdsa--sign": "p256::ecdsa::sign",
        "web--Ping--sound": "web::Ping::sound",
    }
    explainer = explained(ready, "p256--ecdsa--sign", images, emulator, tmp_path)
    explanation = explainer.explain(explainer.sample("call", "region"))
    assert set(explanation.functions) == {("p256::ecdsa::sign", "named"), ("web::Ping::sound(int)", "named")}


def test_marks_in_the_code_are_regions(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Without --region they are all that is measured; the program's own counter is the witness."""
    program = own_codes.compiled(lab, tmp_path, "marked", own_codes.MARKED)
    ready = prepare(Wanted(program, lives=2), images, Emulator(lab, note), note)
    assert {name: one.calls for name, one in ready.code.manifest.regions.items()} == {"a-pair": 2, "work": 4}
    own = [int(one) for one in ready.counted.output.split()[:2]]
    # Besides: the first reading, the branch of the begin, the hint of the end, the barrier of the second reading.
    assert [one + 4 for one in counts(ready, "work")[:2]] == own
    assert counts(ready, "a-pair")[0] > sum(own)
    one = prepare(Wanted(program, (), ("work",), 2), images, Emulator(lab, note), note)
    assert list(one.code.manifest.regions) == ["work"]
    assert counts(one, "work") == counts(ready, "work")


MICRO = ("m0", "m3", "m4", "m7", "m23", "m33", "m55")
COMPILERS = (
    "aarch64-linux-gnu-gcc -std=c99",
    *(f"arm-none-eabi-gcc -std=c99 -mthumb -mcpu=cortex-{core}" for core in MICRO),
    "arm-none-eabi-g++ -std=c++11 -mthumb -mcpu=cortex-m4",
    "arm-none-eabi-gcc -std=c99 -marm -march=armv7-a",
)


def test_the_header_of_marks_is_for_c_and_cpp_and_every_core(lab: Lab, tmp_path: Path) -> None:
    """Without a warning; each mark is one hint, at the address that its section says, which the linker keeps."""
    tmp_path.chmod(0o777)
    (tmp_path / "worldwise.h").write_text(own_codes.HEADER)
    (tmp_path / "a.c").write_text(
        '#include "worldwise.h"\nint f(int n) { WORLDWISE_BEGIN("f"); n *= 3; WORLDWISE_END("f"); return n; }\n'
        "int main(void) { return f(2); }\n"
    )
    (tmp_path / "a.cpp").write_text((tmp_path / "a.c").read_text())
    lines = []
    for number, compiler in enumerate(COMPILERS):
        file = "a.cpp" if "g++" in compiler else "a.c"
        warns = "-O2 -fno-inline -Wall -Wextra -Wpedantic -Werror -nostdlib -Wl,--entry=main,--gc-sections"
        lines.append(f"{compiler} {warns} -o /made/{number} /made/{file}")
    lab.run(["sh", "-ec", "\n".join(lines)], binds=[(tmp_path, "/made", "rw")], timeout=120)
    for number, compiler in enumerate(COMPILERS):
        content = (tmp_path / str(number)).read_bytes()
        marks, table = ask(content, ("marks",), ("table",), what=compiler)
        words = []
        for address, _, name in marks:
            at, offset, _ = next(one for one in table.code if one[0] <= address < one[0] + one[2])
            words.append(content[offset + address - at :][:4])
            assert name == "f"
        assert [ends for _, ends, _ in marks] == [False, True], compiler
        if "aarch64" in compiler:
            assert words == [bytes.fromhex("5f2c03d5"), bytes.fromhex("7f2c03d5")]
        elif compiler.endswith(("m0", "m23")):
            assert [word[:2] for word in words] == [b"\xe0\xbf", b"\xf0\xbf"]
        elif "-marm" in compiler:
            assert words == [bytes.fromhex("62f020e3"), bytes.fromhex("63f020e3")]
        else:
            assert words == [bytes.fromhex("aff36280"), bytes.fromhex("aff36380")]


@pytest.mark.parametrize(
    ("region", "said"),
    [
        ("fold", ("the compiler put fold into", "has no address", "lone")),
        ("lone", ("did not call lone.", "The compiler put lone into web::Ping::sound.")),
        ("web::Pong", ("neither strange nor a library", "the nearest names: web::Ping::sound")),
    ],
)
def test_a_region_that_misses_the_work_says_why(
    lab: Lab, images: ImageStore, tmp_path: Path, region: str, said: tuple[str, ...]
) -> None:
    """With the functions that a function was put into, or the nearest names."""
    program = own_codes.compiled(lab, tmp_path, "strange", own_codes.NAMED)
    with pytest.raises(WorldwiseError) as caught:
        prepare(Wanted(program, (), (region,), 2), images, Emulator(lab, note), note)
    told = f"{caught.value.message[0].upper()}{caught.value.message[1:]} {caught.value.hint}"
    assert [one for one in said if one.lower() not in told.lower()] == [], told


@pytest.mark.parametrize(
    ("source", "regions", "said"),
    [
        (own_codes.CRASHES, (), "was ended by the signal SIGSEGV"),
        (own_codes.SLEEPS, (), "let the processor idle"),
        (own_codes.PROGRAM, ("wrk",), "the nearest names: work"),
        (own_codes.PROGRAM, ("never",), "no region was entered: strange did not call never"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    lab: Lab, images: ImageStore, tmp_path: Path, source: str, regions: tuple[str, ...], said: str
) -> None:
    """With the reason, and for a crash with what the program printed."""
    program = own_codes.compiled(lab, tmp_path, "strange", source, "-pthread")
    with pytest.raises(WorldwiseError) as caught:
        prepare(Wanted(program, (), regions, 2), images, Emulator(lab, note), note)
    assert said in f"{caught.value.message} {caught.value.hint}"


# --- OP-TEE applications ---


@pytest.fixture(scope="module")
def called(lab: Lab, images: ImageStore, tmp_path_factory: pytest.TempPathFactory) -> Ready:
    """A client and a TA, built from their folders."""
    ta, client = own_codes.application(tmp_path_factory.mktemp("application"))
    found = application(ta, client, None, images)
    assert found.uuid == own_codes.UUID
    assert "CFG_TEE_TA_LOG_LEVEL=2 (warnings, by the TA's Makefile)" in found.words
    return prepare(Wanted(Path(found.name), lives=2, application=found), images, Emulator(lab, note), note)


def test_each_command_of_a_ta_is_a_region(called: Ready) -> None:
    """Told apart by its number; the others by their functions."""
    assert {name: region.calls for name, region in called.code.manifest.regions.items()} == {
        "TEEC_CloseSession": 2,
        "TEEC_FinalizeContext": 2,
        "TEEC_InitializeContext": 2,
        "TEEC_InvokeCommand.3": 4,
        "TEEC_InvokeCommand.7": 2,
        "TEEC_OpenSession": 2,
        "fill": 2,
        "twice": 2,
    }
    # What stands in the client holds both calls; what stands in the TA is within one.
    assert counts(called, "twice")[1] > sum(counts(called, "TEEC_InvokeCommand.3")[2:])
    assert 2500 / 16 < counts(called, "fill")[1] < counts(called, "TEEC_InvokeCommand.7")[1]
    first = counts(called, "TEEC_InvokeCommand.3")
    assert first[0] > first[1]


def test_a_call_is_split_by_who_executes_it(
    called: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """All parts of the border add up to the call; opening a session takes the supplicant too."""
    manifest = called.code.manifest
    explainer = explained(called, "TEEC_OpenSession", images, emulator, tmp_path)
    explainer.check()
    for region in ("TEEC_OpenSession", "TEEC_InvokeCommand.3"):
        calls, _ = calls_of(called.counted.trace, manifest.addresses, manifest.regions[region])
        parts = explainer.parts(calls[-1])
        assert sum(parts.values()) == calls[-1].instructions
        requests = explainer.requests(calls[-1])
        assert set(requests) == ({"load", "memory", "passing on", "storage"} if region == "TEEC_OpenSession" else set())
        assert sum(requests.values()) <= parts["supplicant"] + parts["Linux"]
        assert set(parts) == set(PARTS) if region == "TEEC_OpenSession" else set(parts) == set(PARTS) - {"supplicant"}


def test_a_function_of_a_ta_is_a_region(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """The commands differ by what their functions differ by: all else of both calls is the same."""
    ta, client = own_codes.application(tmp_path)
    built = application(ta, client, None, images)

    def measured(*regions: str) -> Ready:
        wanted = Wanted(Path(built.name), regions=regions, lives=2, application=built)
        return prepare(wanted, images, Emulator(lab, note), note)

    ready = measured("TEEC_InvokeCommand", "TA_Invoke*", "TEE_Mem*", "fill", "tee_buffer_update*")
    commands = [counts(ready, f"TEEC_InvokeCommand.{number}")[-1] for number in (3, 7)]
    short, _, long = counts(ready, "TA_InvokeCommandEntryPoint")[-3:]
    assert long - short == commands[1] - commands[0]
    assert len(counts(ready, "TA_InvokeCommandEntryPoint")) == 6
    # The marks stand around the call, with what sets its arguments.
    assert 0 < counts(ready, "fill")[0] - counts(ready, "TEE_MemFill")[0] < 12
    assert ready.code.manifest.regions["TEE_MemFill"].image == f"/lib/optee_armtz/{own_codes.UUID}.ta"
    (left,) = [one for one in ready.code.manifest.notes if "no region" in one]
    assert left.startswith(
        "TEE_MemCompare, TEE_MemMove of the TA: no region, as each is called through a pointer alone"
    )

    # `take` is the last act of the function that calls it.
    assert len(counts(measured("take", "TA_CreateEntryPoint"), "take")) == 2
    for regions, said in (
        (("take", "TA_InvokeCommandEntryPoint"), "take: this function .* ends where TA_InvokeCommandEntryPoint does"),
        (("TEE_MemMove",), "TEE_MemMove: this function .* through a pointer alone, or never"),
        (("TA_InvokeComandEntryPoint",), "own_client nor .*, nor the TA .* has such a function"),
    ):
        with pytest.raises(WorldwiseError, match=said) as caught:
            measured(*regions)
    assert "the nearest names: TA_InvokeCommandEntryPoint" in caught.value.hint
    (tmp_path / f"{built.uuid}.ta").write_bytes(built.ta)
    (tmp_path / built.name).write_bytes(built.client)
    built = application(tmp_path / f"{built.uuid}.ta", tmp_path / built.name, None, images)
    with pytest.raises(WorldwiseError, match="The TA's symbols were stripped, so no function") as caught:
        measured("take")
    assert "--ta DIR" in caught.value.hint


def test_a_client_is_built_by_makes_own_rules_and_with_a_folder_beside(images: ImageStore, tmp_path: Path) -> None:
    """Strangers' Makefiles name no rule for .o files, and keep what both sides share in a third folder."""
    makefile = (
        "CC = $(CROSS_COMPILE)gcc\nCFLAGS += -I../ta -I$(TEEC_EXPORT)/include\n"
        "own_client: main.o\n\t$(CC) -o $@ $< -lteec -L$(TEEC_EXPORT)/lib\n"
    )
    main = f'#include "../more/more.h"\n{own_codes.APPLICATION["host/main.c"]}'
    ta, client = own_codes.application(tmp_path, host__Makefile=makefile, host__main_dot_c=main)
    more = tmp_path / "more"
    more.mkdir()
    (more / "more.h").touch()
    assert application(ta, client, None, images, beside=[more]).name == "own_client"
    with pytest.raises(WorldwiseError, match="the client in host does not build") as caught:
        application(ta, client, None, images)
    assert caught.value.hint == f"more lies beside {client}, and not beside its copy: --beside {more} brings it"


# `work` is called twice, once within itself, and jumped to by `last`; `round` jumps to its own begin; nobody calls
# `aside` but through a pointer.
_CALLS = """
__asm__(".type work,%function\\n.type last,%function\\n.type round,%function\\n"
	".type aside,%function\\n.type all,%function\\n"
	"work: cbz x0, 1f\\nbl work\\n1: ret\\n"
	"last: b work\\n"
	"round: subs x0, x0, 1\\nb.ne round\\nret\\n"
	"aside: ret\\n"
	"all: bl work\\nbl last\\nbl round\\nadr x1, aside\\nblr x1\\nret\\n");
"""


def test_where_calls_return_to_is_read_from_the_code(lab: Lab, tmp_path: Path) -> None:
    """By direct branches alone, those of functions that jump there among them."""
    path = own_codes.compiled(lab, tmp_path, "calls", _CALLS, "-shared", "-nostdlib")
    at = {name: start for name, start, _ in ask(path, ("named_functions",))[0]}
    every = at["all"]
    assert ask(path, *(("returns_of", at[name]) for name in ("work", "last", "round", "aside"))) == [
        ([at["work"] + 8, every + 4, every + 8], False),
        ([every + 8], False),
        ([every + 12], True),
        ([], False),
    ]


def test_the_sizes_of_a_ta_are_the_least_that_do(
    lab: Lab, images: ImageStore, called: Ready, emulator: Emulator, tmp_path: Path
) -> None:
    """Built with them it answers as before; with sixteen bytes of heap less it does not."""
    explainer = explained(called, "TEEC_InvokeCommand.7", images, emulator, tmp_path)
    words = " ".join(ta_words(explainer, called))
    assert "and it is 2,048." in words and "and it is 32,768." in words
    assert "take" in words
    found = re.search("TA_STACK_SIZE: ([0-9,]+) is .* TA_DATA_SIZE: ([0-9,]+) is", words)
    assert found, words
    stack, heap = (int(one.replace(",", "")) for one in found.groups())
    assert 2500 - 2048 < stack < 2048 and 5000 < heap < 8000
    header = own_codes.APPLICATION["ta/user_ta_header_defines.h"]
    for size, status in ((heap, 0), (heap - 16, 3)):
        text = header.replace("2048", str(stack)).replace("32768", str(size))
        folder = tmp_path / str(size)
        built = application(*own_codes.application(folder, ta__user_ta_header_defines_dot_h=text), None, images)
        again = prepare(Wanted(Path(built.name), lives=2, application=built), images, Emulator(lab, note), note)
        assert {one.status for one in again.counted.lives} == {status}
        assert "was not entered" not in " ".join(again.code.manifest.notes)


def test_a_client_that_asks_for_another_ta_is_told(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """If this fails, whoever misspells a UUID reads a status and looks for it in the TA."""
    other = f"BINARY = {UUID(int=7)}\n-include $(TA_DEV_KIT_DIR)/mk/ta_dev_kit.mk\n"
    built = application(*own_codes.application(tmp_path, ta__Makefile=other), None, images)
    wanted = Wanted(Path(built.name), regions=("TEEC_OpenSession",), lives=2, application=built)
    ready = prepare(wanted, images, Emulator(lab, note), note)
    notes = " ".join(ready.code.manifest.notes)
    assert f"the TA {UUID(int=7)} was not entered: the client opens a session of another UUID" in notes
    assert "ended with status 1" in notes


def test_a_ready_made_ta_is_taken_as_it_is(lab: Lab, images: ImageStore, called: Ready, tmp_path: Path) -> None:
    """The same application as two files has the same digits."""
    ta, client = own_codes.application(tmp_path / "source")
    built = application(ta, client, None, images)
    (tmp_path / f"{built.uuid}.ta").write_bytes(built.ta)
    (tmp_path / built.name).write_bytes(built.client)
    ready = application(tmp_path / f"{built.uuid}.ta", tmp_path / built.name, None, images)
    assert (ready.client, ready.uuid) == (built.client, built.uuid)
    again = prepare(Wanted(Path(ready.name), lives=2, application=ready), images, Emulator(lab, note), note)
    assert counts(again, "TEEC_InvokeCommand.3") == counts(called, "TEEC_InvokeCommand.3")


# As OP-TEE's examples have it, and as a project that looks for libteec itself.
_CMAKE = """
cmake_minimum_required(VERSION 3.10)
project (own_client)
find_library(TEEC teec REQUIRED)
find_path(HEADER tee_client_api.h REQUIRED)
add_executable (${PROJECT_NAME} main.c)
target_compile_options(${PROJECT_NAME} PRIVATE -Wall -g)
target_include_directories(${PROJECT_NAME} PRIVATE ../ta)
target_link_libraries (${PROJECT_NAME} PRIVATE teec)
install (TARGETS ${PROJECT_NAME} DESTINATION ${CMAKE_INSTALL_BINDIR})
"""
_MESON = """
project('own', 'c')
teec = meson.get_compiler('c').find_library('teec')
executable('own_client', 'main.c', dependencies: teec, c_args: ['-I../app/ta'])
"""


# A program and firmware, each built by one of them as its worldwise.toml says.
_BUILT = """
format = 1
[measure.program]
build = "meson setup out --cross-file worldwise && ninja -C out"
program = "out/app"
[measure.firmware]
build = "cmake -S . -B out && cmake --build out"
firmware = "out/app.elf"
machine = "mps2-an386"
regions = ["crypto_sign"]
"""
_FIRMWARE_CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(app C ASM)
add_executable(app.elf app.c)
target_compile_options(app.elf PRIVATE -O2 -mcpu=cortex-m4 -mthumb -ffreestanding)
target_link_options(app.elf PRIVATE -mcpu=cortex-m4 -mthumb -nostdlib -T ${CMAKE_SOURCE_DIR}/app.ld)
"""


def test_commands_of_a_worldwise_toml_may_call_cmake_and_meson(
    images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """With the compilers of what is measured, without a file that says which."""
    for name, text in (
        ("worldwise.toml", _BUILT),
        ("meson.build", "project('app', 'c')\nexecutable('app', 'main.c')\n"),
        ("main.c", "int main(void) { return 0; }\n"),
        ("CMakeLists.txt", _FIRMWARE_CMAKE),
        ("app.c", own_codes.FIRMWARE),
        ("app.ld", own_codes.LINKED),
        ("worldwise.h", own_codes.HEADER),
    ):
        (tmp_path / name).write_text(text)
    program, firmware = prepare_project(open_project(tmp_path), images, emulator, note)
    assert set(program.ready.code.manifest.regions) == {"main"}
    assert firmware.ready.code.manifest.regions["crypto_sign"].calls == 2


def without_make(folder: Path, **more: str) -> tuple[Path, Path]:
    """The application without the client's Makefile."""
    ta, client = own_codes.application(folder, **more)
    (client / "Makefile").unlink()
    return ta, client


def test_a_client_with_cmake_or_meson_is_built(lab: Lab, images: ImageStore, called: Ready, tmp_path: Path) -> None:
    """With the compiler and the flags that its Makefile gives, its calls have the same digits."""
    by_meson = application(*without_make(tmp_path / "meson", host__meson_dot_build=_MESON), None, images)
    assert by_meson.words.endswith("; the client by Meson, with the build type debug")
    built = application(*without_make(tmp_path / "cmake", host__CMakeLists_dot_txt=_CMAKE), None, images)
    assert "the client by CMake, without a build type" in built.words
    ready = prepare(Wanted(Path(built.name), lives=2, application=built), images, Emulator(lab, note), note)
    for command in ("TEEC_InvokeCommand.3", "TEEC_InvokeCommand.7"):
        assert counts(ready, command) == counts(called, command)
    with pytest.raises(WorldwiseError, match=r"host does not build by CMake; it has libteec, .* no network") as caught:
        text = _CMAKE.replace("teec REQ", "ssl REQ")
        application(*without_make(tmp_path / "lacks", host__CMakeLists_dot_txt=text), None, images)
    assert "Could not find TEEC using the following names: ssl" in caught.value.details
    with pytest.raises(WorldwiseError, match="does not build by CMake") as caught:
        text = _CMAKE.replace("main.c", "main.cpp")
        cpp = {"host__main_dot_cpp": "int main() { }\n"}
        application(*without_make(tmp_path / "cpp", host__CMakeLists_dot_txt=text, **cpp), None, images)
    assert "the lab has no compiler for C++ on AArch64: build the client yourself: --client PR" in caught.value.hint


def test_a_build_that_fails_says_what_is_missing(images: ImageStore, tmp_path: Path) -> None:
    """The header that nobody has, by its name."""
    ta, client = own_codes.application(tmp_path, ta__own_ta_dot_c="#include <missing.h>\n")
    with pytest.raises(WorldwiseError) as caught:
        application(ta, client, None, images)
    assert "does not build" in caught.value.message
    assert "missing.h is in neither folder" in caught.value.hint


def test_the_counter_of_a_client_with_marks_is_the_witness(lab: Lab, images: ImageStore) -> None:
    """The repository's own client reads the counter around its call: a few instructions more than the call has."""
    programs = images.get(optee_images.app_programs("hello", "mbedtls-nist", "O2"))
    (ta,) = [name for name in programs.files if name.endswith(".ta")]
    found = application(programs.file(ta), programs.file("optee-client"), None, images)
    wanted = Wanted(Path(found.name), ("hello", "1", "3"), ("TEEC_InvokeCommand",), 2, application=found)
    ready = prepare(wanted, images, Emulator(lab, note), note)
    trace = ready.counted.trace
    marks = {one.id: one for one in trace.passes if not one.call and one.parent}
    pairs = [(marks[one.parent], one) for one in trace.passes if one.call and one.parent in marks]
    assert pairs
    # The mark's count is what the client itself read from the counter.
    assert all(mark.instructions == mark.end - mark.begin for mark, _ in pairs)
    assert len({mark.instructions - call.instructions for mark, call in pairs}) == 1
    assert 0 < pairs[0][0].instructions - pairs[0][1].instructions < 30


def test_a_run_under_the_plugin_repeats_the_plain_one(
    made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """What preparing tries once too: without the plugin the counter has the same values."""
    machine = machine_of(images, "program", made.code.folder, made.code.name, own_code.COUNT)
    run_program(emulator, replace(machine), tmp_path, None, ("launched", "output"))
    lines = [f"{one.begin} {one.end} {one.status} {one.signal} {one.idle}" for one in made.counted.lives]
    assert (tmp_path / "launched").read_text().splitlines() == lines


# --- firmware ---


@pytest.fixture(scope="module")
def flashed(lab: Lab, images: ImageStore, tmp_path_factory: pytest.TempPathFactory) -> Ready:
    """Firmware with an interrupt that comes now and then, on a Cortex-M4."""
    elf = own_codes.firmware(lab, tmp_path_factory.mktemp("firmware"))
    return prepare_firmware(
        WantedFirmware(elf, "mps2-an386", ("crypto_sign", "mix", "quiet", "rounds")), images, Emulator(lab, note), note
    )


def test_functions_of_firmware_are_regions(flashed: Ready) -> None:
    """Nested ones too; one that is called once has the call of a second power-on, the same."""
    manifest = flashed.code.manifest
    # What the compiler says of each function: app.c:26:6:crypto_sign, its bytes, static.
    lines = next(flashed.code.origin.parent.glob("*.su")).read_text().splitlines()
    usage = {line.split("\t")[0].rpartition(":")[2]: int(line.split("\t")[1]) for line in lines}
    assert {name: region.calls for name, region in manifest.regions.items()} == {
        "crypto_sign": 2,
        "mix": 100,
        "quiet": 2,
        "rounds": 2,
    }
    assert any("quiet is called once at each power-on" in one for one in manifest.notes)
    inner = sum(counts(flashed, "mix")[:50])
    assert inner < counts(flashed, "crypto_sign")[0]
    calls, _ = calls_of(flashed.counted.trace, manifest.addresses, manifest.regions["crypto_sign"])
    assert {one.stack for one in calls} == {usage["crypto_sign"] + usage["mix"]}


def test_firmware_has_cycles_on_a_core(flashed: Ready, images: ImageStore, emulator: Emulator) -> None:
    """Each call of a region, by function, and the interrupt in it apart; no count is another one."""
    manifest = flashed.code.manifest
    tables = cores.tables(["cortex-m4", "cortex-m3"])
    machine = firmware_machine(flashed.code.folder, flashed.code.name, "mps2-an386")
    counted = counted_of(flashed.code, Counter(emulator, images, note), machine, cores=tables)
    own_code.add(flashed.code)
    try:
        case = next(one for one in flashed.cases if one.operation == "crypto_sign")
        with tempfile.TemporaryDirectory() as work:
            write_records(case, flashed.code, counted, Path(work, RECORDS))
            records = check_records(read_records(Path(work, RECORDS)), case, "own")
        space = space_of(flashed.code, Counter(emulator, images, note), machine)
        explainer = FirmwareExplainer(case, records, counted.trace, space, load_rules(), OWN_PROCESS)
        attribution = FlatAttribution(explainer)
        for core in tables:
            for one in attribution.case(core).samples:
                assert {layer.layer for layer in one.layers} == {"firmware", "interrupts"}
                assert one.instructions in counts(flashed, "crypto_sign")
                assert one.instructions < one.cycles < 2 * one.instructions
        found = attribution.sample(next(iter(records.samples.values()))[0], "cortex-m4")
        assert {frame.function for frame in found.functions} >= {"crypto_sign", "mix", "tick"}
    finally:
        own_code.remove(flashed.code.name)
    assert manifest.regions["crypto_sign"].calls == 2


def test_qemus_own_log_is_the_witness(flashed: Ready, emulator: Emulator, tmp_path: Path) -> None:
    """One line for each instruction, between the function's entry and its return: as many as the region has."""
    folder = flashed.code.folder
    machine = firmware_machine(folder, "app", "mps2-an386")
    logged = replace(machine, arguments=(*machine.arguments, *("-d", "exec,nochain", "-D", "/run/exec.log"), *SINGLE))
    (tmp_path / RECORDS).write_text("")
    emulator.run(logged, (), tmp_path, left=("exec.log",))
    lines: list[int] = []
    for match in EXECUTED.finditer((tmp_path / "exec.log").read_text()):
        if match[1]:
            lines.append(int(match[1], 16))
        else:
            # An interrupt came before it.
            lines.pop()
    assert len(lines) == flashed.counted.lives[0].end
    (functions,) = ask(folder / own_code.FIRMWARE_ELF, ("named_functions",))
    handler = next(range(start, start + size) for name, start, size in functions if name == "tick")
    for region in ("crypto_sign", "mix", "quiet"):
        assert counts(flashed, region) == list(by_log(lines, flashed.code.manifest.regions[region].address, handler))
    (mark,) = flashed.code.manifest.marks
    begins, ends = ([at for at, pc in enumerate(lines) if pc in where] for where in (mark.begins, mark.ends))
    assert counts(flashed, "rounds") == [end - begin for begin, end in zip(begins, ends, strict=True)]


def by_log(lines: list[int], entry: int, handler: range) -> Iterator[int]:
    """The instructions of each call of a function, by the addresses that QEMU logged: it returns behind its call, which
    an interrupt may follow.
    """
    for number, address in enumerate(lines):
        if address == entry:
            # A BL has four bytes.
            back = next(pc for pc in reversed(lines[:number]) if pc not in handler) + 4
            yield lines.index(back, number) - number


def test_what_an_interrupt_takes_is_told_apart(
    flashed: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """A row of its own, in the call in which it came."""
    explainer = explained_firmware(flashed, "crypto_sign", images, emulator, tmp_path)
    explainer.check()
    explanation = explainer.explain(explainer.sample("call", "region", 1))
    assert {name for name, _ in explanation.functions} == {"crypto_sign", "mix", "tick"}
    ticks = explanation.functions["tick", "program"].self
    assert explanation.layers["interrupts"].self == ticks > 0
    assert explanation.layers["firmware"].self == counts(flashed, "crypto_sign")[1] - ticks


def test_what_another_task_executes_is_told_apart(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """The region's own instructions are those of the call that nothing came into; the sum is the count."""
    elf = own_codes.firmware(lab, tmp_path / "made", "tasks.elf", source=own_codes.TASKS)
    ready = prepare_firmware(WantedFirmware(elf, "mps2-an386", ("job", "mix")), images, Emulator(lab, note), note)
    explainer = explained_firmware(ready, "job", images, emulator, tmp_path)
    explainer.check()
    alone, *others = counts(ready, "job")
    assert len(others) > 2
    for number, count in enumerate(others, 1):
        layers = explainer.explain(explainer.sample("call", "region", number)).layers
        assert layers["firmware"].self == alone
        assert layers["interrupts"].self > 0 and layers["other tasks"].self > 0
        assert sum(layer.self for layer in layers.values()) == count


def test_two_tasks_are_in_a_region_at_the_same_time(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """Each call's own instructions are those of the one that nothing came into, whichever task made it."""
    source = own_codes.TASKS.replace("for (;;) spin();", "for (;;) spun += job(spun);")
    elf = own_codes.firmware(lab, tmp_path / "made", "tasks.elf", source=source)
    ready = prepare_firmware(WantedFirmware(elf, "mps2-an386", ("job",)), images, Emulator(lab, note), note)
    assert ready.counted.trace.shared
    assert any("another task was in it too" in one for one in ready.code.manifest.notes)
    explainer = explained_firmware(ready, "job", images, emulator, tmp_path)
    explainer.check()
    alone, *others = counts(ready, "job")
    # Of two tasks with as much to do about as many calls, and one that had not ended.
    assert len(others) > 7
    for number, count in enumerate(others, 1):
        layers = explainer.explain(explainer.sample("call", "region", number)).layers
        assert layers["firmware"].self == alone
        assert sum(layer.self for layer in layers.values()) == count


def test_qemus_log_is_the_witness_of_tasks_too(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """Of each instruction QEMU logs the registers before it: XPSR says whether a handler executes it, and the stack
    pointer which task. Both tasks execute the same function, so its address says nothing.
    """
    source = own_codes.TASKS.replace("for (;;) spin();", "for (;;) spun += mix(spun);")
    assert source != own_codes.TASKS
    elf = own_codes.firmware(lab, tmp_path / "made", "tasks.elf", source=source)
    ready = prepare_firmware(WantedFirmware(elf, "mps2-an386", ("job",)), images, Emulator(lab, note), note)
    machine = firmware_machine(ready.code.folder, ready.code.name, "mps2-an386")
    logged = ("-d", "exec,nochain,cpu", "-D", "/run/exec.log", *SINGLE)
    (tmp_path / RECORDS).write_text("")
    emulator.run(replace(machine, arguments=(*machine.arguments, *logged)), (), tmp_path, left=("exec.log",))
    steps = list(logged_steps(tmp_path / "exec.log"))
    assert len(steps) == ready.counted.lives[0].end
    explainer = explained_firmware(ready, "job", images, emulator, tmp_path)
    entry = ready.code.manifest.regions["job"].address
    seen = list(by_task(steps, entry))
    assert [sum(one.values()) for one in seen] == counts(ready, "job")
    assert sum(one["other tasks"] > 0 for one in seen) > 2
    for number, one in enumerate(seen):
        layers = explainer.explain(explainer.sample("call", "region", number)).layers
        assert {name: layer.self for name, layer in layers.items()} == {name: own for name, own in one.items() if own}


def logged_steps(path: Path) -> Iterator[tuple[int, int, bool]]:
    """The address of each instruction that QEMU executed, the stack pointer before it, and whether in a handler."""
    found: list[tuple[int, int, bool]] = []
    for match in LOGGED.finditer(path.read_text()):
        if match[1]:
            stack, address, status = (int(word, 16) for word in match.groups())
            found.append((address, stack, status & 0x1FF != 0))
        else:
            # An interrupt came before it.
            found.pop()
    yield from found


def by_task(steps: list[tuple[int, int, bool]], entry: int) -> Iterator[Tally[str]]:
    """What was executed in each call of a function, by who executed it."""
    for number, (address, stack, _) in enumerate(steps):
        if address != entry:
            continue
        # It is called by a BL, of four bytes, which an interrupt may follow.
        back = next(pc for pc, _, handler in reversed(steps[:number]) if not handler) + 4
        taken: Tally[str] = Tally()
        for pc, at, handler in steps[number:]:
            if (pc, at) == (back, stack) and not handler:
                break
            # The stacks of the two tasks are 512 bytes each.
            other = abs(at - stack) >= 384
            taken["interrupts" if handler else "other tasks" if other else "firmware"] += 1
        yield taken


@pytest.mark.parametrize(
    ("core", "machine"), [("cortex-m0", "microbit"), ("cortex-m3", "mps2-an385"), ("cortex-m7", "mps2-an500")]
)
def test_other_machines_start_it_too(lab: Lab, images: ImageStore, tmp_path: Path, core: str, machine: str) -> None:
    """Each core with its own code; it ends when a function is called, or after some instructions."""
    elf = own_codes.firmware(lab, tmp_path, core=core)
    emulator = Emulator(lab, note)
    whole = prepare_firmware(WantedFirmware(elf, machine, ("mix",)), images, emulator, note)
    until = prepare_firmware(WantedFirmware(elf, machine, ("mix",), until="done"), images, emulator, note)
    some = prepare_firmware(WantedFirmware(elf, machine, ("mix",), instructions=5000), images, emulator, note)
    assert len(counts(whole, "mix")) == len(counts(until, "mix")) == 100
    assert 5000 <= some.counted.lives[0].end < 5050 < until.counted.lives[0].end < whole.counted.lives[0].end


@pytest.mark.parametrize(
    ("handler", "act", "said"),
    [
        (
            "",
            TOUCHES,
            "the core faulted at 0x* in touch (app.c:*): it wanted address 0xf0000000, where this machine has "
            "nothing, and locked up: *",
        ),
        (
            "[3] = (void *)stay, ",
            TOUCHES,
            "the core faulted at 0x* in touch (app.c:*): it wanted address 0xf0000000, *, "
            "and the handler of faults does not end.",
        ),
        ("", "stay", "*own-app-elf: hangs: *. After 3 s it was at 0x* in stay (app.c:*)."),
    ],
    ids=["a lockup", "a handler", "no fault"],
)
def test_firmware_that_does_not_end_is_told_with_its_place(
    lab: Lab, images: ImageStore, tmp_path: Path, handler: str, act: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An endless loop takes a processor for as long as it is looked at.
    monkeypatch.setattr(faults, "SECONDS", 3)
    source = own_codes.FIRMWARE.replace("[15] =", f"{handler}[15] =")
    source = source.replace("void tick(void)", f"{STAYS}void tick(void)").replace(
        "{\n\tword found", f"{{\n\t{act}();\n\tword found"
    )
    elf = own_codes.firmware(lab, tmp_path, source=source)
    with pytest.raises(WorldwiseError) as caught:
        prepare_firmware(WantedFirmware(elf, "mps2-an386"), images, Emulator(lab, note, silence_limit=SILENCE), note)
    assert fnmatch.fnmatchcase(caught.value.message, said if said[0] == "*" else f"own-app-elf: {said}")


def test_nothing_is_missed_where_nothing_is_called(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """If this fails, the plugin counts a block in haste at which a region begins, or that was left in its midst."""
    elf = own_codes.firmware(lab, tmp_path, source=own_codes.PLAIN)
    emulator = Emulator(lab, note)
    whole = prepare_firmware(WantedFirmware(elf, "mps2-an386", ("part", "three")), images, emulator, note)
    parts = counts(whole, "part")
    assert len(parts) == 40
    assert set(parts) == {parts[0]}
    assert "part calls itself: 160 such calls are part of the ones around them" in whole.code.manifest.notes
    # Two loops with what is before and behind them, and what calls that.
    first, second = counts(whole, "three")
    assert first == second
    assert 0 < first - 3 * 110 < 20
    wanted = WantedFirmware(elf, "mps2-an386", ("three",), until="last_steps")
    until = prepare_firmware(wanted, images, emulator, note)
    assert 60 <= whole.counted.lives[0].end - until.counted.lives[0].end < 70


@pytest.mark.parametrize("handler", ["[3] = ", "[5] = "], ids=["of all faults", "of the bus"])
def test_a_fault_in_a_task_is_told_with_its_place(handler: str, lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """The task has a stack of its own, where the core has pushed what says the place."""
    source = own_codes.TASKS.replace("[14] = (void", f"{handler}(void *)stay, [14] = (void")
    source = source.replace("void tick(void)", f"{STAYS}void tick(void)").replace("for (;;) spin();", "touch();")
    # The handler of the bus is one that the firmware turns on.
    if "5" in handler:
        source = source.replace("AT(0xe000ed20)", "AT(0xe000ed24) = 1u << 17;\n\tAT(0xe000ed20)")
    elf = own_codes.firmware(lab, tmp_path, source=source)
    with pytest.raises(WorldwiseError) as caught:
        prepare_firmware(WantedFirmware(elf, "mps2-an386"), images, Emulator(lab, note, silence_limit=SILENCE), note)
    said = "own-app-elf: the core faulted at 0x* in touch (app.c:*): it wanted address 0xf0000000, *, and the handler *"
    assert fnmatch.fnmatchcase(caught.value.message, said), caught.value.message


def test_benchmarks_of_ztest_are_counted_under_their_names(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """If this fails, a benchmark has another one's function, or what is no benchmark counts as one."""
    elf = own_codes.firmware(lab, tmp_path, source=own_codes.BENCHMARKS)
    emulator = Emulator(lab, note)
    ready = prepare_firmware(WantedFirmware(elf, "mps2-an386", benchmarks=("*",)), images, emulator, note)
    assert set(ready.code.manifest.regions) == {"ring.turn", "old.turn", "ring.spin"}
    taken = {name: counts(ready, name) for name in ready.code.manifest.regions}
    assert {name: len(of) for name, of in taken.items()} == {"ring.turn": 3, "old.turn": 2, "ring.spin": 4}
    assert all(len(set(of)) == 1 for of in taken.values())
    # A turn of the loop takes the same in each.
    assert taken["old.turn"][0] - taken["ring.turn"][0] == taken["ring.spin"][0] - taken["old.turn"][0] > 10
    by_name = prepare_firmware(WantedFirmware(elf, "mps2-an386", ("turn_fn",)), images, emulator, note)
    assert counts(by_name, "turn_fn") == taken["old.turn"]
    (one,) = prepare_firmware(WantedFirmware(elf, "mps2-an386", benchmarks=("spin",)), images, emulator, note).cases
    assert one.operation == "ring.spin"
    with pytest.raises(WorldwiseError, match="--benchmark 'trun' is not known") as refused:
        prepare_firmware(WantedFirmware(elf, "mps2-an386", benchmarks=("trun",)), images, emulator, note)
    assert "ring.turn" in f"{refused.value.message} {refused.value.hint}"
    plain = own_codes.firmware(lab, tmp_path / "plain")
    with pytest.raises(WorldwiseError, match="has no benchmarks that worldwise knows"):
        prepare_firmware(WantedFirmware(plain, "mps2-an386", benchmarks=("*",)), images, emulator, note)


def test_firmware_that_never_gets_there_is_refused(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """A function that it lacks, one that is not called, and a machine that QEMU lacks."""
    elf = own_codes.firmware(lab, tmp_path)
    for wanted, said in (
        (WantedFirmware(elf, "mps2-an386", ("crypto_sing",)), "the nearest names: crypto_sign"),
        (WantedFirmware(elf, "mps2-an386", ("done",), instructions=500), "no region was entered"),
        (WantedFirmware(elf, "stm32"), "mps2-an386 (Cortex-M4"),
    ):
        with pytest.raises(WorldwiseError) as caught:
            prepare_firmware(wanted, images, Emulator(lab, note), note)
        assert said in f"{caught.value.message} {caught.value.hint}"
