# SPDX-License-Identifier: BSD-2-Clause
"""What the plugin for 32-bit cores makes of instructions: where they go, and what they do to the stack pointer."""

import subprocess
from pathlib import Path

import pytest

import model_programs

# A listing of binutils: set, address, the halfwords or the word; then flow, target, stack, whether it is known, kind.
T32 = """
0 4770 bx lr: return 0 0 known .
2 4718 bx r3: jump 0 0 known .
4 4798 blx r3: call-register 0 0 known .
6 bd10 pop {r4, pc}: return 0 8 known l
8 b530 push {r4, r5, lr}: plain 0 -12 known s
a 46f7 mov pc, lr: return 0 0 known .
c 4497 add pc, r2: jump 0 0 known .
100e d0f7 beq: plain 1000 0 known .
1010 e7f6 b: plain 1000 0 known .
12 b380 cbz r0: plain 76 0 known .
14 df00 svc 0: trap 0 0 known .
1016 f7fffff3 bl: call 1000 0 known .
101a f7ffbff1 b.w: plain 1000 0 known .
101e f43fafef beq.w: plain 1000 0 known .
22 f85dfb04 ldr.w pc, [sp], #4: return 0 4 known l
26 f851f002 ldr.w pc, [r1, r2]: jump 0 0 known l
2a e8dff000 tbb [pc, r0]: jump 0 0 known l
2e e8bd8070 ldmia.w sp!, {r4, r5, r6, pc}: return 0 16 known l
32 e92d41f0 stmdb sp!, {r4, r5, r6, r7, r8, lr}: plain 0 -24 known s
36 b086 sub sp, #24: plain 0 -24 known .
38 b006 add sp, #24: plain 0 24 known .
3a f5ad6d80 sub.w sp, sp, #1024: plain 0 -1024 known .
3e f20d3de8 addw sp, sp, #1000: plain 0 1000 known .
42 ebad0d03 sub.w sp, sp, r3: plain 0 0 otherwise .
46 46bd mov sp, r7: plain 0 0 otherwise .
48 449d add sp, r3: plain 0 0 otherwise .
4a f84ded08 str.w lr, [sp, #-8]!: plain 0 -8 known s
4e e96d4504 strd r4, r5, [sp, #-16]!: plain 0 -16 known s
52 e8fd4504 ldrd r4, r5, [sp], #16: plain 0 16 known l
56 ed2d8b08 vpush {d8-d11}: plain 0 -32 known s
5a ecbd8b08 vpop {d8-d11}: plain 0 32 known l
5e 9001 str r0, [sp, #4]: plain 0 0 known s
60 9801 ldr r0, [sp, #4]: plain 0 0 known l
62 af02 add r7, sp, #8: plain 0 0 known .
64 4348 muls r0, r1: plain 0 0 known m
66 fbe20103 umlal r0, r1, r2, r3: plain 0 0 known m
6a fbe20163 umaal r0, r1, r2, r3: plain 0 0 known m
6e fbb1f0f2 udiv r0, r1, r2: plain 0 0 known d
72 f5ad0d7f sub.w sp, sp, #0xff0000: plain 0 -16711680 known .
76 ed6dcf81 vstr fpcxtns, [sp, #-4]!: plain 0 -4 known s
7a ecfdcf81 vldr fpcxtns, [sp], #4: plain 0 4 known l
7e f04ee001 dls lr, lr: plain 0 0 known .
82 f040c007 wls lr, r0: plain 92 0 known .
1086 f00fc80b le lr: plain 1074 0 known .
8a edc1ef82 vstr fpcxts, [r1, #8]: plain 0 0 known s
8e ed911f00 vldrw.u32 q0, [r1]: plain 0 0 known l
92 fca31e21 vst41.8 {q0, q1, q2, q3}, [r3]!: plain 0 0 known s
96 ec120f01 vmov q0[2], q0[0], r1, r2: plain 0 0 known .
9a e89f9003 clrm {r0, r1, ip, apsr}: plain 0 0 known .
9e ec9f0a20 vscclrm {s0-s31, vpr}: plain 0 0 known .
"""
A32 = """
0 e12fff1e bx lr: return 0 0 known .
4 012fff1e bxeq lr: return 0 0 known .
8 e12fff13 bx r3: jump 0 0 known .
c e12fff33 blx r3: call-register 0 0 known .
10 e8bd8010 pop {r4, pc}: return 0 8 known l
14 e92d4030 push {r4, r5, lr}: plain 0 -12 known s
18 e91ba800 ldmdb fp, {fp, sp, pc}: return 0 0 otherwise l
1c e1a0f00e mov pc, lr: return 0 0 known .
20 e1a0f003 mov pc, r3: jump 0 0 known .
24 908ff103 addls pc, pc, r3, lsl #2: jump 0 0 known .
1028 0afffff4 beq: plain 1000 0 known .
102c eafffff3 b: plain 1000 0 known .
1030 ebfffff2 bl: call 1000 0 known .
34 e49df004 pop {pc}: return 0 4 known l
38 e791f002 ldr pc, [r1, r2]: jump 0 0 known l
3c ef000000 svc 0: trap 0 0 known .
40 e24dd018 sub sp, sp, #24: plain 0 -24 known .
44 e28ddb01 add sp, sp, #1024: plain 0 1024 known .
48 124dd018 subne sp, sp, #24: plain 0 0 otherwise .
4c e1a0d007 mov sp, r7: plain 0 0 otherwise .
50 e52d4004 push {r4}: plain 0 -4 known s
54 e49d4004 pop {r4}: plain 0 4 known l
58 ed2d8b08 vpush {d8-d11}: plain 0 -32 known s
5c ecbd8b08 vpop {d8-d11}: plain 0 32 known l
60 e59d0004 ldr r0, [sp, #4]: plain 0 0 known l
64 e0000291 mul r0, r1, r2: plain 0 0 known m
68 e0a10392 umlal r0, r1, r2, r3: plain 0 0 known m
6c e1500001 cmp r0, r1: plain 0 0 known .
"""

A64 = {
    "ldr x0, [x1]": (0xF9400020, "l"),
    "ldr x0, literal": (0x58000000, "l"),
    "ldr q0, [x1]": (0x3DC00020, "l"),
    "ldp x29, x30, [sp], #16": (0xA8C17BFD, "l"),
    "ldxr x0, [x1]": (0xC85F7C20, "l"),
    "str x0, [x1]": (0xF9000020, "s"),
    "stp x29, x30, [sp, #-16]!": (0xA9BF7BFD, "s"),
    "stxr w2, x0, [x1]": (0xC8027C20, "s"),
    "mul x0, x1, x2": (0x9B027C20, "m"),
    "umulh x0, x1, x2": (0x9BC27C20, "m"),
    "umull x0, w1, w2": (0x9BA27C20, "m"),
    "udiv x0, x1, x2": (0x9AC20820, "d"),
    "sdiv w0, w1, w2": (0x1AC20C20, "d"),
    "mul v0.4s, v1.4s, v2.4s": (0x4EA29C20, "."),
    "add x0, x1, x2": (0x8B020020, "."),
    "prfm pldl1keep, [x1]": (0xF9800020, "."),
    "dc zva, x0": (0xD50B7420, "."),
    "ret": (0xD65F03C0, "."),
}


def listed(listing: str, name: str) -> list[tuple[str, str, str]]:
    """For each line: the instruction as it is listed, what the program reads, and what it must print."""
    found = []
    for line in listing.strip().splitlines():
        instruction, _, expected = line.rpartition(": ")
        address, code, _ = instruction.split(" ", 2)
        halves = name == "t32" and len(code) == 8
        word = code[4:] + code[:4] if halves else code
        size = len(code) // 2
        found.append((instruction, f"{name} {address} {word}", f"{expected} {size}"))
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The program that says what the plugin makes of instructions."""
    directory = tmp_path_factory.mktemp("flat")
    return model_programs.build(
        "flat_decode", directory, request, "arm32/decode.c", "aarch64/decode.c", "aarch64/kinds.c"
    )


@pytest.mark.parametrize(("listing", "name"), [(T32, "t32"), (A32, "a32")], ids=["t32", "a32"])
def test_instructions_are_understood(program: Path, listing: str, name: str) -> None:
    """If this fails, calls, returns or the stack pointer of a 32-bit program are followed wrongly."""
    lines = listed(listing, name)
    text = "\n".join(line for _, line, _ in lines)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert dict(zip((one for one, _, _ in lines), said, strict=True)) == {one: wanted for one, _, wanted in lines}


def test_a64_is_counted_by_kinds(program: Path) -> None:
    """If this fails, `explain` says wrong loads, stores or products of Linux on Armv8-A and of a TA."""
    text = "\n".join(f"a64 0 {word:x}" for word, _ in A64.values())
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    assert dict(zip(A64, done.stdout.split(), strict=True)) == {name: kind for name, (_, kind) in A64.items()}
