# SPDX-License-Identifier: BSD-2-Clause
"""What LLVM says of A32's and T32's instructions: makes tests/data/a32-words.txt, and the expectations of its words.

`python tests/a32_llvm.py [PROGRAM ..]` writes the words anew; it needs LLVM's llvm-mc and, for programs, llvm-objdump.
"""

import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import instruction_words
import t32_llvm

WORDS = Path(__file__).parent / "data" / "a32-words.txt"
SETS = {"a32": "armv7a-none-eabi", "t32": "thumbv7a-none-eabi"}
FEATURES = "+neon,+vfp4,+hwdiv,+hwdiv-arm,+virtualization,+trustzone,+mp"
# In the committed words: of both sets, for vectors and floating point are encoded alike. The word is A32's.
BOTH = "both"
# The first byte of such a word in A32, and in T32; the others are the same.
_FIRST_BYTES = {"f2": "ef", "f3": "ff", "f4": "f9", **{f"e{digit}": f"e{digit}" for digit in "cde"}}
# So many words by chance are offered to LLVM, and of each name so many are kept.
BY_CHANCE = 250_000
KEPT = 6

# The class or classes of each name, without its condition and size.
_RULES = {
    "address alu_imm": "adr",
    "alu alu_imm alu_shift alu_shift_reg": "add sub rsb",
    "alu_carry alu_imm alu_shift alu_shift_reg": "adc sbc rsc adcs sbcs rscs",
    "alu_flags alu_imm alu_shift alu_shift_reg": "adds subs rsbs cmp cmn",
    "alu_imm": "addw subw neg",
    "logic alu_imm logic_shift alu_shift_reg": "and eor orr orn bic mvn",
    "logic_flags alu_imm logic_shift alu_shift_reg": "ands eors orrs orns bics mvns tst teq",
    "move": "mov movs movw movt",
    "shift shift_imm": "lsl lsr asr ror lsls lsrs asrs rors",
    "shift_imm": "rrx rrxs",
    "bitfield": "sbfx ubfx",
    "insert": "bfi bfc",
    "extend": "sxtb sxth sxtb16 uxtb uxth uxtb16",
    "extend_add": "sxtab sxtah sxtab16 uxtab uxtah uxtab16",
    "pack": "pkhbt pkhtb",
    "select": "sel",
    "reverse": "rev rev16 revsh rbit",
    "count": "clz",
    "saturate": "qadd qsub qdadd qdsub ssat usat ssat16 usat16",
    "parallel": " ".join(
        prefix + name
        for prefix in ("s", "q", "sh", "u", "uq", "uh")
        for name in ("add8", "add16", "sub8", "sub16", "asx", "sax")
    ),
    "mul32": "mul muls smmul smmulr",
    "mla32": "mla mlas mls smmla smmlar smmls smmlsr",
    "mul16": "smulbb smulbt smultb smultt smulwb smulwt smlabb smlabt smlatb smlatt smlawb smlawt smuad smuadx smusd"
    " smusdx smlad smladx smlsd smlsdx usad8 usada8",
    "mull": "umull smull umulls smulls",
    "mlal": "umlal smlal umlals smlals smlalbb smlalbt smlaltb smlaltt smlald smlaldx smlsld smlsldx",
    "umaal": "umaal",
    "div32": "udiv sdiv",
    "load load_index load_shift": "ldr ldrt",
    "load_byte load_byte_index load_byte_shift": "ldrb ldrh ldrsb ldrsh ldrbt ldrht ldrsbt ldrsht",
    "load_pair": "ldrd",
    "load_multi load": "ldm ldmda ldmdb ldmib pop",
    "store store_index": "str strb strh strt strbt strht",
    "store_pair": "strd",
    "store_multi store": "stm stmda stmdb stmib push",
    "exclusive": "ldrex ldrexb ldrexh ldrexd strex strexb strexh strexd swp swpb",
    "load_byte_index": "tbb tbh",
    "branch branch_if": "b",
    "branch_zero": "cbz cbnz",
    "call": "bl blx",
    "jump ret": "bx",
    "jump": "bxj",
    "prefetch": "pld pldw pli",
    "hint": "nop yield wfe wfi sev sevl csdb dbg hint esb it ite itt itee iteee iteet itet itete itett itte ittee ittet"
    " ittt ittte itttt",
    "barrier": "dmb dsb isb clrex ssbb pssbb",
    "system": "mrs msr cps cpsie cpsid setend srsda srsdb srsia srsib cdp cdp2 ldc ldc2 ldc2l ldcl mcr mcr2 mcrr mcrr2"
    " mrc mrc2 mrrc mrrc2 stc stc2 stc2l stcl",
    "trap": "svc bkpt smc hvc eret udf trap __brkdiv0 rfeda rfedb rfeia rfeib",
    "v_add": "vhadd vrhadd vhsub",
    "v_add f_add": "vadd vsub",
    "v_saturate": "vqadd vqsub vqshlu vqshrn vqshrun vqrshrn vqrshrun vqmovn vqmovun vqabs vqneg",
    "v_saturate v_shift_reg": "vqshl",
    "v_logic": "vand veor vorn",
    "v_logic v_move": "vorr",
    "v_logic v_immediate": "vbic vmvn",
    "v_select": "vbsl vbit vbif",
    "v_compare f_compare": "vcgt vcge vceq vcle vclt",
    "v_compare": "vtst",
    "v_shift_reg v_shift_imm": "vshl",
    "v_shift_reg": "vrshl vqrshl",
    "v_shift_imm": "vshr vrshr",
    "v_shift_acc": "vsra vrsra",
    "v_shift_insert": "vsli vsri",
    "v_shift_narrow": "vshrn vrshrn",
    "v_shift_long": "vshll vmovl",
    "v_minmax f_compare": "vmax vmin",
    "v_absdiff f_add": "vabd",
    "v_absdiff": "vabdl",
    "v_absdiff_acc": "vaba vabal",
    "v_mla f_mac": "vmla vmls",
    "v_mlal": "vmlal vmlsl vqdmlal vqdmlsl",
    "v_mul v_pmull f_mul": "vmul",
    "v_mull v_pmull": "vmull",
    "v_mull": "vqdmull",
    "v_mulh": "vqdmulh vqrdmulh",
    "v_pairwise f_add": "vpadd",
    "v_pairwise f_compare": "vpmax vpmin",
    "v_pairwise_long": "vpaddl",
    "v_pairwise_acc": "vpadal",
    "v_long": "vaddl vaddw vsubl vsubw",
    "v_high_narrow": "vaddhn vraddhn vsubhn vrsubhn",
    "v_narrow": "vmovn",
    "v_extract": "vext",
    "v_reverse": "vrev16 vrev32 vrev64",
    "v_count": "vcls vclz vcnt",
    "v_abs f_move": "vabs vneg",
    "v_trn": "vswp vtrn",
    "v_zip": "vuzp vzip",
    "v_table": "vtbl vtbx",
    "v_dup v_from_core": "vdup",
    "f_move v_immediate v_move v_from_core v_to_core v_insert_core": "vmov",
    "f_mac": "vnmla vnmls vfma vfms vfnma vfnms",
    "f_mul": "vnmul vrecps vrsqrts",
    "f_compare": "vcmp vcmpe vacge vacgt",
    "f_div32 f_div64": "vdiv vsqrt",
    "f_convert": "vcvt vcvtr vcvtb vcvtt vrecpe vrsqrte",
    "f_flags system": "vmrs vmsr",
    "vload": "vldr",
    "vstore": "vstr",
    "vload_multi": "vldmia vldmdb vpop fldmiax fldmdbx",
    "vstore_multi": "vstmia vstmdb vpush fstmiax fstmdbx",
    "vload_multi vload_lane": "vld1",
    "vload_struct vload_lane": "vld2 vld3 vld4",
    "vstore_multi vstore_lane": "vst1",
    "vstore_struct vstore_lane": "vst2 vst3 vst4",
}
_CLASSES: dict[str, set[str]] = defaultdict(set)
for _classes, _names in _RULES.items():
    for _name in _names.split():
        _CLASSES[_name] |= {*_classes.split()}
_CONDITION = re.compile("(eq|ne|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)$")
_CORE = {f"r{number}": number for number in range(13)} | {"sp": 13, "lr": 14}


def name_of(text: str) -> str:
    """The name of an instruction, without its condition and its size."""
    name = re.split(r"[\t .]", text)[0]
    return name if name in _CLASSES else _CONDITION.sub("", name)


def expected_classes(text: str) -> set[str]:
    """The classes that an instruction of this text may have."""
    name, _, operands = text.partition("\t")
    found = set(_CLASSES[name_of(text)])
    if not found:
        raise ValueError(f"nothing is expected of '{text}'")
    if name.startswith("ldm") and operands.endswith("^") and "pc" in operands:
        return {"trap"}
    data = found & {"alu", "alu_imm", "logic", "move", "alu_carry", "shift", "shift_imm", "address"}
    if (data or found & {"alu_flags", "logic_flags"}) and operands.startswith("pc,"):
        compares = name_of(text) in {"cmp", "cmn", "tst", "teq"}
        return found if compares else {"jump", "ret", "trap"}
    if "#" in operands and not re.search(r"(lsl|lsr|asr|ror) #", operands) and "alu_imm" in found:
        return found & {"alu_imm", "address"}
    if re.search(r"\b(lsl|lsr|asr|ror) r\d|\b(lsl|lsr|asr|ror) (sp|lr|pc)", operands) and "alu_shift_reg" in found:
        return {"alu_shift_reg"}
    if re.search(r"\b(lsl|lsr|asr|ror) #|\brrx", operands) and found & {"alu_shift", "logic_shift"}:
        return found & {"alu_shift", "logic_shift"}
    if found & {"alu_shift", "logic_shift"}:
        return found - {"alu_shift", "logic_shift", "alu_shift_reg"}
    return found


def expected_registers(text: str) -> tuple[int, int]:
    """Masks of the registers that a text names, or its name implies: the core's without pc, and the vectors'."""
    name = name_of(text)
    _, _, operands = text.partition("\t")
    core = vectors = 0
    for word in re.findall(r"\b[a-z]+\d*\b", operands):
        if word in _CORE:
            core |= 1 << _CORE[word]
        elif match := re.fullmatch(r"([sdq])(\d+)", word):
            number = int(match[2])
            vectors |= {"s": 1 << number // 2, "d": 1 << number, "q": 3 << 2 * number}[match[1]]
    if name in {"push", "pop", "vpush", "vpop"}:
        core |= 1 << 13
    if name in {"bl", "blx"}:
        core |= 1 << 14
    return core, vectors


def committed(which: str) -> dict[str, str]:
    """The committed words of a set, with what LLVM says of each."""
    return {
        _FIRST_BYTES[one.word[:2]] + one.word[2:] if (one.kind, which) == (BOTH, "t32") else one.word: one.text("\t")
        for one in instruction_words.read(WORDS)
        if one.kind in (which, BOTH)
    }


def _lines(word: str, which: str) -> list[str]:
    if which == "a32":
        return [" ".join(f"0x{word[at : at + 2]}" for at in (6, 4, 2, 0))]
    return t32_llvm.lines_of(int(word, 16), wide=len(word) == 8)


def _word(raw: list[int], which: str) -> str:
    code = int.from_bytes(bytes(raw), "little") if which == "a32" else t32_llvm.code_of(raw)
    return f"{code:0{2 * len(raw)}x}"


def disassemble(words: Iterable[str], which: str) -> dict[str, str]:
    """The text of each word that LLVM knows."""
    made = list(words)
    lines = [line for word in made for line in _lines(word, which)]
    texts: dict[str, str] = {}
    for raw, text in t32_llvm.known(lines, f"-triple={SETS[which]}", f"-mattr={FEATURES}"):
        texts.setdefault(_word(raw, which), text)
    return {word: texts[word] for word in made if word in texts}


def _by_chance(which: str) -> Iterator[str]:
    generator = random.Random(7)
    for number in range(BY_CHANCE):
        word = generator.getrandbits(32)
        if which == "a32":
            # Mostly always executed; a third vectors, floating point and what else has no condition.
            top = 0xF if number % 3 == 0 else 0xE if number % 7 else word >> 28
            if number % 6 == 1:
                word = (word & 0x01FF_F1FF) | 0x0C00_0A00 | (generator.getrandbits(1) << 25)
            yield f"{top << 28 | word & 0x0FFF_FFFF:08x}"
        elif number % 4 == 0:
            yield f"{generator.randrange(0xE800):04x}"
        else:
            first = generator.randrange(0xE800, 0x10000)
            if number % 4 == 1:
                first = generator.choice([0xEF00, 0xFF00, 0xF900, 0xEC00, 0xED00, 0xEE00]) | first & 0xFF
                word = (word & 0xF1FF) | 0x0A00 if first < 0xEF00 else word
            yield f"{first:04x}{word & 0xFFFF:04x}"


def _of_program(program: str) -> dict[str, set[str]]:
    listing = subprocess.run(
        ["llvm-objdump-19", "-d", "--no-leading-addr", f"--mattr={FEATURES}", program],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    wide = {a + b for a, b in re.findall(r"^\s*([ef][0-9a-f]{3}) ([0-9a-f]{4})\s", listing, re.MULTILINE)}
    short = set(re.findall(r"^\s*([0-9a-f]{4}) {2,}\t", listing, re.MULTILINE))
    return {"a32": set(re.findall(r"^\s*([0-9a-f]{8})\s", listing, re.MULTILINE)), "t32": wide | short}


def _both(words: Iterable[str], which: str) -> tuple[set[str], set[str]]:
    """Words apart: those that both sets have, as A32 writes them, and the rest."""
    back = {first[which == "t32"]: first[0] for first in _FIRST_BYTES.items()}
    # No condition, or that of what is always executed: T32 has no other.
    alike = {word for word in words if len(word) == 8 and word[:2] in back and _is_vector(word)}
    return {back[word[:2]] + word[2:] for word in alike}, set(words) - alike


def _is_vector(word: str) -> bool:
    """Whether a word whose first byte is one of those is of vectors: of coprocessors only two are, and of loads and
    stores those without bit 20."""
    if word[:2] in {"f4", "f9"}:
        return int(word[2], 16) % 2 == 0
    return word[0] == "f" or word[:2] == "ef" or word[5] in "ab"


def _kept(texts: dict[str, str]) -> dict[str, str]:
    """Some of each name and kind of data, of the whole list alike."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for word, text in sorted(texts.items()):
        by_name[name_of(text) + "." + text.partition("\t")[0].partition(".")[2]].append(word)
    return {word: texts[word] for some in by_name.values() for word in some[:: max(1, len(some) // KEPT)][:KEPT]}


def write_words(programs: list[str]) -> None:
    """Writes the committed words."""
    found = [_of_program(program) for program in programs]
    words: dict[str, set[str]] = {BOTH: set()}
    for which in SETS:
        both, words[which] = _both(set(_by_chance(which)).union(*(one[which] for one in found)), which)
        words[BOTH] |= both
    kept: list[instruction_words.Word] = []
    for kind, some in words.items():
        texts = disassemble(sorted(some), "a32" if kind == BOTH else kind)
        # What no processor of Armv7-A executes as it is written.
        texts = {word: text for word, text in texts.items() if not re.search("^[^\t]*<|fpinst|mvfr|fpexc|fpsid", text)}
        for word, text in sorted(_kept(texts).items()):
            name, _, operands = text.partition("\t")
            kept.append(instruction_words.Word(kind, word, name, operands))
    instruction_words.write(WORDS, kept)


if __name__ == "__main__":
    write_words(sys.argv[1:])
