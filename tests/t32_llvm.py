# SPDX-License-Identifier: BSD-2-Clause
"""What LLVM's disassembler takes T32 encodings for, as the classes of plugin/model/t32.h.

`python tests/t32_llvm.py [ELF ..]` writes tests/data/t32-classes.txt: all narrow encodings, the wide instructions of
the images given, and wide ones by chance. The mnemonic alone decides the class.
"""

import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

TABLE = Path(__file__).parent / "data" / "t32-classes.txt"
TOOL = "llvm-mc-19"
# The first that knows an encoding decides.
TARGETS = (("thumbv7em-none-eabi", "cortex-m7"), ("thumbv8m.main-none-eabi", "cortex-m33"))
BY_CHANCE = 40000

_ALU = (
    "mov movs mvn mvns movw movt add adds addw sub subs subw adc adcs sbc sbcs rsb rsbs and ands orr orrs"
    " orn orns eor eors bic bics tst teq cmp cmn adr sxth sxtb uxth uxtb sxtb16 uxtb16 neg"
)
_CLASSES = {
    "alu": _ALU,
    "shift": "lsl lsls lsr lsrs asr asrs ror rors rrx rrxs rev rev16 revsh rbit clz bfi bfc sbfx ubfx ssat usat ssat16"
    " usat16",
    "dsp": "qadd qsub qdadd qdsub sel sxtah sxtab uxtah uxtab sxtab16 uxtab16",
    "shifted": "pkhbt pkhtb",
    "mul": "mul muls smulbb smulbt smultb smultt smuad smuadx smusd smusdx smulwb smulwt smmul smmulr usad8",
    "mla": "mla mls smlabb smlabt smlatb smlatt smlad smladx smlsd smlsdx smlawb smlawt smmla smmlar smmls smmlsr"
    " usada8",
    "mull": "umull smull",
    "mlal": "umlal smlal umaal smlalbb smlalbt smlaltb smlaltt smlald smlaldx smlsld smlsldx",
    "div": "udiv sdiv",
    "load": "ldr ldrb ldrh ldrsb ldrsh ldrt ldrbt ldrht ldrsbt ldrsht vldr",
    "store": "str strb strh strt strbt strht vstr",
    "loads": "ldm ldmdb pop ldrd vldmia vldmdb vpop fldmdbx fldmiax",
    "stores": "stm stmdb push strd vstmia vstmdb vpush fstmdbx fstmiax",
    "exclusive": "ldrex ldrexb ldrexh strex strexb strexh lda ldab ldah stl stlb stlh ldaex ldaexb ldaexh stlex stlexb"
    " stlexh",
    "call": "bl",
    "jump": "bx blx bxns blxns",
    "table": "tbb tbh",
    "system": "mrs msr cpsie cpsid tt ttt tta ttat",
    "barrier": "dsb dmb isb clrex ssbb pssbb",
    "hint": "nop yield wfe wfi sev sevl csdb esb dbg hint pld pli it bti pac aut pacbti",
    "trap": "svc bkpt udf sg trap __brkdiv0",
    "fpmove": "vmrs vmsr",
    # Coprocessors are on no core here.
    "unknown": "cdp cdp2 ldc ldc2 ldc2l ldcl mcr mcr2 mcrr mcrr2 mrc mrc2 mrrc mrrc2 stc stc2 stc2l stcl",
}
_BY_MNEMONIC = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
_PARALLEL = re.compile(r"(s|q|sh|u|uq|uh)(add8|add16|sub8|sub16|asx|sax)")
_CONDITION = r"(eq|ne|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"
_FLOATING = {
    "fp": "vadd vsub vabs vneg vcmp vcmpe vcvt vcvtr vcvtb vcvtt vcvta vcvtn vcvtp vcvtm vmov vrintz vrintr vrintx"
    " vrinta vrintn vrintp vrintm vmaxnm vminnm vseleq vselge vselgt vselvs",
    "fpmul": "vmul vnmul",
    "fpmla": "vmla vmls vnmla vnmls vfma vfms vfnma vfnms",
    "fpdiv": "vdiv vsqrt",
}
_BY_FLOATING = {name: kind for kind, names in _FLOATING.items() for name in names.split()}


def _floating(mnemonic: str, kinds: str, operands: str) -> str:
    if mnemonic == "vmov" and (re.search(r"\br(\d|1[0-5])\b|\b(sp|lr)\b", operands) or kinds in {".32"}):
        return "fpmove"
    return "fpdouble" if ".f64" in kinds else _BY_FLOATING[mnemonic]


def expected_class(text: str) -> str:
    """The class of an instruction as LLVM writes it."""
    name, _, operands = text.partition("\t")
    name = name.replace("<und>", "").removesuffix(".w")
    mnemonic, dot, kinds = name.partition(".")
    if mnemonic in _BY_FLOATING:
        return _floating(mnemonic, dot + kinds, operands)
    if mnemonic in {"cbz", "cbnz", "b"} or re.fullmatch("b" + _CONDITION, mnemonic):
        return "branch"
    if re.fullmatch("it[te]*", mnemonic):
        return "hint"
    if mnemonic not in _BY_MNEMONIC:  # conditional by what stands before it
        mnemonic = re.sub(_CONDITION + "$", "", mnemonic)
    kind = "dsp" if _PARALLEL.fullmatch(mnemonic) else _BY_MNEMONIC[mnemonic]
    if kind in {"alu", "shifted"}:
        if operands.startswith("pc,") and mnemonic not in {"tst", "teq", "cmp", "cmn"}:
            return "jump"
        if re.search(r", (lsl|lsr|asr|ror) #|, rrx", operands) and not mnemonic.startswith(("sxt", "uxt")):
            return "shifted"
    return kind


def lines_of(code: int, wide: bool) -> list[str]:
    """The lines of llvm-mc's input for an encoding of T32."""
    halves = [code >> 16, code & 0xFFFF] if wide else [code]
    line = " ".join(f"{byte:#04x}" for half in halves for byte in (half & 255, half >> 8))
    # Behind IT, which the second half of what is no instruction may be, four instructions would be conditional.
    return [line, *(["0x00 0xbf"] * 4 if wide or code >> 8 == 0xBF else [])]


def code_of(raw: Sequence[int]) -> int:
    """The encoding of T32 in two or four bytes."""
    first = raw[0] | raw[1] << 8
    return first if len(raw) == 2 else first << 16 | raw[2] | raw[3] << 8


def known(lines: Iterable[str], *target: str) -> Iterator[tuple[list[int], str]]:
    """Bytes and text of each instruction in lines of bytes that LLVM knows, for a target by llvm-mc's options."""
    options = [TOOL, "--disassemble", "-show-encoding", *target]
    done = subprocess.run(options, input="\n".join(lines), capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        match = re.match(r"\t(.*?)\s*@ encoding: \[(.*)\]", line)
        if match:
            yield [int(byte, 16) for byte in match[2].split(",")], match[1]


def disassemble(codes: Iterable[int], wide: bool, triple: str, core: str) -> dict[int, str]:
    """The text of each encoding that this core has."""
    lines = [line for code in codes for line in lines_of(code, wide)]
    texts: dict[int, str] = {}
    for raw, text in known(lines, f"-triple={triple}", f"-mcpu={core}"):
        if len(raw) == (4 if wide else 2):
            texts.setdefault(code_of(raw), text)
    return texts


def classes(codes: list[int], wide: bool) -> dict[int, str]:
    """The expected class of each encoding that LLVM knows."""
    texts: dict[int, str] = {}
    for triple, core in TARGETS:
        texts = disassemble([code for code in codes if code not in texts], wide, triple, core) | texts
    return {code: expected_class(text) for code, text in sorted(texts.items())}


def _wide_of(image: Path) -> set[int]:
    listing = subprocess.run(
        ["llvm-objdump-19", "-d", "--no-leading-addr", "--mcpu=cortex-m7", str(image)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {int(a + b, 16) for a, b in re.findall(r"^\s*([ef][0-9a-f]{3}) ([0-9a-f]{4})\s", listing, re.MULTILINE)}


def _by_chance() -> set[int]:
    generator = random.Random(16)
    return {generator.randrange(0xE800, 0x10000) << 16 | generator.randrange(0x10000) for _ in range(BY_CHANCE)}


def write_table(images: list[Path]) -> None:
    """Writes the committed table."""
    version = re.search(
        r"LLVM version (\S+)", subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout
    )
    # IT with the condition 15 is unpredictable, and LLVM then takes what follows for conditional.
    narrow = classes([code for code in range(0xE800) if not 0xBFF1 <= code <= 0xBFFF], wide=False)
    codes: set[int] = _by_chance().union(*(_wide_of(image) for image in images))
    wide = classes(sorted(codes), wide=True)
    lines = [f"# Made by tests/t32_llvm.py with LLVM {version[1] if version else '?'}.", "# narrow: first, last, class"]
    start = 0
    for code in range(0xE800):
        if code + 1 == 0xE800 or narrow.get(code) != narrow.get(code + 1):
            lines.append(f"{start:04x} {code:04x} {narrow.get(code, '-')}")
            start = code + 1
    lines.append("# wide: class, encodings")
    for kind in sorted(set(wide.values())):
        lines.append(f"{kind} " + " ".join(f"{code:08x}" for code, found in wide.items() if found == kind))
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_table([Path(name) for name in sys.argv[1:]])
