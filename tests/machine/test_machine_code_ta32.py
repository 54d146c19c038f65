# SPDX-License-Identifier: BSD-2-Clause
"""TAs of 32 bits on OP-TEE's core of 64 bits: counted to the instruction, functions named, calls followed."""

import bisect
import io
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

import own_codes
from machines import note
from own_explained import explained
from worldwise.cli.user_code.memory import ta_words
from worldwise.explain.own_code import OwnExplainer
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries import own_code
from worldwise.libraries.user_code.kinds import TA_ARM32
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.emulator import Emulator
from worldwise.machine.symbols.space import Level
from worldwise.plan.spec import REGION_MEASURE, REGION_PLACE
from worldwise.run.code.application import application
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import prepare
from worldwise.run.code.region_counts import counts_of

# Two instructions a turn, a thousand turns for each number of the command; T32 but for a function of A32.
_TURNS = (
    """
#include <tee_internal_api.h>
"""
    + own_codes.TA_ENTRIES
    + """__attribute__((noinline, target("arm"))) static uint32_t wide(uint32_t turns)
{
	return turns * 1000;
}
__attribute__((noinline)) static uint32_t answer(uint32_t turns)
{
	uint32_t left = wide(turns);
	__asm__ volatile("1: subs %0, %0, #1\\n\\tbne 1b" : "+r"(left) : : "cc");
	return turns;
}
TEE_Result TA_InvokeCommandEntryPoint(void *session, uint32_t command, uint32_t types, TEE_Param params[4])
{
	(void)session; (void)types;
	params[0].value.a += answer(command);
	return TEE_SUCCESS;
}
"""
)
# T32 that calls and jumps in each way, and A32 that does.
_BRANCHES = """
__asm__(".syntax unified\\n.thumb\\n.type work,%function\\n.type last,%function\\n.type round,%function\\n"
	".type far,%function\\n.type all,%function\\n.type other,%function\\n"
	"work: cbz r0, 1f\\nbl work\\n1: bx lr\\n"
	"last: b.w work\\n"
	"round: subs r0, r0, #1\\nbne round\\nbx lr\\n"
	"all: bl work\\nbl last\\nbl round\\nblx far\\n.short 0\\nbx lr\\n.balign 4\\n.word 0xf000f800\\n"
	".arm\\nfar: bl far\\nblx work\\nbeq other\\nbx lr\\nother: b far\\n");
"""


def sets_of(explainer: OwnExplainer, elf: bytes) -> tuple[dict[int, str], dict[int, str]]:
    """The set of each block of a TA, by its link-time address: as the plugin has it, and as the linker's symbols do."""
    named = {"$a": "a32", "$t": "t32", "$d": "data"}
    table = ELFFile(io.BytesIO(elf)).get_section_by_name(".symtab")
    assert isinstance(table, SymbolTableSection)
    kinds = sorted((one["st_value"], named[one.name[:2]]) for one in table.iter_symbols() if one.name[:2] in named)
    read: dict[int, str] = {}
    said: dict[int, str] = {}
    for block in explainer.trace.blocks.values():
        place = explainer.space.place(Level("secure", 0), block.pc)
        if place and place.table.image == "ta":
            at = block.pc - place.bias
            read[at] = block.set
            said[at] = kinds[bisect.bisect_right(kinds, (at, "~")) - 1][1]
    return read, said


def test_a_ta_of_32_bits(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Four thousand turns more are eight thousand instructions more, of the function and of the client's whole call."""
    folders = own_codes.application(tmp_path / "one", ta__own_ta_dot_c=_TURNS)
    emulator = Emulator(lab, note)
    found = application(*folders, 0, images, (), TA_ARM32)
    assert found.target == TA_ARM32 and "for 32 bits (ta_arm32)" in found.words
    regions = ("answer", "TEEC_InvokeCommand")
    ready = prepare(Wanted(Path(found.name), regions=regions, lives=2, application=found), images, emulator, note)
    trace = ready.counted.trace
    counts = {name: counts_of(ready.code, trace, one) for name, one in ready.code.manifest.regions.items()}
    three, again, seven = counts["answer"][:3]
    assert (again, seven) == (three, three + 8000)
    assert counts["answer"] == [three, three, seven] * 2
    # The second call of command 3, since the client binds its functions in the first.
    assert counts["TEEC_InvokeCommand.7"][0] - counts["TEEC_InvokeCommand.3"][1] == 8000
    assert not any(one.lost for one in trace.passes)
    own_code.add(ready.code)
    try:
        explainer = explained(ready, "TEEC_InvokeCommand.7", images, emulator, tmp_path)
        explainer.check()
        explanation = explainer.explain(explainer.sample(REGION_MEASURE, REGION_PLACE))
        words = ta_words(explainer, ready)
        read, said = sets_of(explainer, found.elf)
    finally:
        own_code.remove(ready.code.name)
    assert set(read.values()) == {"a32", "t32"}
    assert read == said
    # What the region's own calls return to is within `answer`: `wide` stands on it, and it on the entry point.
    assert explanation.functions["answer", "ta"].self + explanation.functions["wide", "ta"].self == seven
    assert explanation.functions["TA_InvokeCommandEntryPoint", "ta"].inclusive > seven
    assert "unknown" not in explanation.layers
    assert words == [
        "TA_STACK_SIZE and TA_DATA_SIZE are not measured: QEMU shows no stack pointer of a TA of 32 bits on this "
        "machine, whose core is of 64."
    ]


def test_where_calls_of_32_bit_code_return_to(lab: Lab, tmp_path: Path) -> None:
    """By T32 and A32, each where it is, and by no word that is data."""
    path = own_codes.compiled(
        lab, tmp_path, "branches", _BRANCHES, "-shared", "-nostdlib", compiler="arm-linux-gnueabihf-gcc"
    )
    at = {name: start for name, start, _ in ask(path, ("named_functions",))[0]}
    every, far = at["all"], at["far"]
    assert ask(path, *(("returns_of", at[name]) for name in ("work", "last", "round", "far", "other"))) == [
        (sorted({at["work"] + 6, every + 4, every + 8, far + 8}), False),
        ([every + 8], False),
        ([every + 12], True),
        ([every + 16, far + 4], False),
        # `far` jumps there, and it returns to where that would.
        ([every + 16, far + 4], False),
    ]
