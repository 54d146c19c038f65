# SPDX-License-Identifier: BSD-2-Clause
"""Own code: its options, the files that it becomes, and how its regions are read."""

import json
import shutil
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from uuid import UUID

import pytest

import own_codes
from elves import elf32
from traces import a_pass
from worldwise.base.errors import WorldwiseError
from worldwise.cli import cli
from worldwise.cli.user_code.memory import short, stack_words, way_words
from worldwise.explain.instruction_mix import PeakStack
from worldwise.explain.layers import load_rules
from worldwise.explain.own_code import PARTS, REQUESTS, OwnExplainer, part_of, request_of, with_images
from worldwise.explain.stacks import StackFrame
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries import own_code
from worldwise.libraries.own_code import CodeManifest, Region, case_name
from worldwise.libraries.user_code import build_systems
from worldwise.libraries.user_code.kinds import TA_ARM32, TA_ARM64
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.symbols.mangled_names import demangler, plain
from worldwise.machine.symbols.memory_layout import initramfs_files
from worldwise.plan.case import Case, parse_case
from worldwise.records.trace import Trace
from worldwise.records.trace_records import Pass, TraceStart
from worldwise.run.code.application import application, build_error, built_alone, elf_of, level_words
from worldwise.run.code.faults import fault_words
from worldwise.run.code.firmware import once_words
from worldwise.run.code.function_names import functions_of, inlined_words, is_asked, matches, nearest
from worldwise.run.code.order import (
    Wanted,
    add_file,
    archive,
    check_glob,
    check_machine,
    check_package,
    files_below,
    require_linux,
)
from worldwise.run.code.prepare import case_names
from worldwise.run.code.process_lives import Life
from worldwise.run.code.region_counts import calls_of, printed_end, read_maps, require_good
from worldwise.targets import own_code as own_targets

MANIFEST = {
    "format": 1,
    "name": "mine",
    "kind": "program",
    "command": ["/work/mine"],
    "lives": 2,
    "entry": 4096,
    "addresses": [4096],
    "regions": {"main": {"function": "main", "image": "/work/mine", "address": 4096, "calls": 2}},
    "mapped": [],
}


# --- what is asked ---


@pytest.mark.parametrize(
    "pattern", ["crypto_sign", "EVP_DigestSign*", "_ZN3foo3barEv", "a.b$c", "[ab]?", "foo::bar(int&)", "<A as B<C>>::f"]
)
def test_a_function_or_a_pattern_is_taken(pattern: str) -> None:
    check_glob(pattern)


@pytest.mark.parametrize(
    "pattern", ["", "a'b", "../x", "a\nb", "x" * 201, "-e;rm", "a/b", "a\tb", "a\x1b[1m", 'a"b', "a`b`", "a|b", "a\\b"]
)
def test_another_text_is_no_function(pattern: str) -> None:
    """Nothing that another option, a path or a shell could take for its own."""
    with pytest.raises(WorldwiseError, match="neither a function's name nor a pattern"):
        check_glob(pattern)


@pytest.mark.parametrize("package", ["libssl3t64", "nettle-dev"])
def test_a_package_of_the_lab_is_taken(package: str) -> None:
    check_package(package, open_lab())


@pytest.mark.parametrize("package", ["nothere", "../libc6", "libc6 libteec2", "qemu-system-arm", "-x", "libc6$(id)"])
def test_another_package_is_refused_with_those_there_are(package: str) -> None:
    with pytest.raises(WorldwiseError) as caught:
        check_package(package, open_lab())
    assert "libssl3t64" in caught.value.hint


def test_names_of_cases_are_files_names() -> None:
    """Of files and of functions, whatever they are called."""
    assert [case_name(name) for name in ("openssl", "My Prog.elf", "..", "Ä")] == [
        "openssl",
        "my-prog-elf",
        "program",
        "program",
    ]
    names = ("_start", "ns::f(int)", "ns--f-int-", "../../x")
    assert list(case_names((name, 4096) for name in names)) == ["start", "ns--f-int-", "ns--f-int-.2", "x"]


def test_a_name_and_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError, match="cannot be the name of a case"):
        Wanted(tmp_path / "x", name="../up").check(open_lab())
    with pytest.raises(WorldwiseError, match="zero byte"):
        Wanted(tmp_path / "x", ("a\0b",)).check(open_lab())
    with pytest.raises(WorldwiseError, match="arguments"):
        Wanted(tmp_path / "x", ("a",) * 201).check(open_lab())


def test_patterns_match_as_in_a_shell() -> None:
    assert matches("EVP_DigestSignInit", ["EVP_DigestSign*"])
    assert not matches("EVP_DigestVerify", ["EVP_DigestSign*"])


# Symbols of C++ and of both of Rust's ways, with what c++filt says of them.
SYMBOLS = {
    "_ZN3web4Ping5soundEi": "web::Ping::sound(int)",
    "_ZN3web4Ping5soundEl": "web::Ping::sound(long)",
    "_ZN4p2565ecdsa4sign17h1a2b3c4d5e6f7a8bE": "p256::ecdsa::sign",
    "_RNvCs1234_7mycrate3foo": "mycrate::foo",
}


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("web::Ping::sound(int) const", "web::Ping::sound"),
        ("(anonymous namespace)::f(void (*)(int))", "(anonymous namespace)::f"),
        ("int web::twice<int>(int) [clone .isra.0]", "web::twice<int>"),
        ("web::Ping::operator()(int)", "web::Ping::operator()"),
        ("web::Ping::operator new(unsigned long)", "web::Ping::operator new"),
        ("web::f()::{lambda(int)#1}::operator()(int) const", "web::f()::{lambda(int)#1}::operator()"),
        ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
        ("<fn(u8) -> u8 as core::ops::FnOnce>::call", "<fn(u8) -> u8 as core::ops::FnOnce>::call"),
        ("work", "work"),
    ],
)
def test_a_demangled_name_is_shown_without_its_parameters(name: str, short: str) -> None:
    assert plain(name) == short


def test_functions_of_cpp_and_rust_are_found_by_any_of_their_names() -> None:
    """By the source's with and without parameters, and by the linker's; and shown as in the source."""
    rows = [(symbol, "mine", 16 * at) for at, symbol in enumerate([*SYMBOLS, "work.constprop.0"], 1)]
    functions = functions_of(rows, lambda symbols: {one: SYMBOLS[one] for one in symbols if one in SYMBOLS})
    assert [one.name for one in functions] == [
        *("web::Ping::sound", "web::Ping::sound", "p256::ecdsa::sign", "mycrate::foo", "work")
    ]
    for pattern, addresses in (
        ("web::Ping::sound", [16, 32]),
        ("web::Ping::sound(int)", [16]),
        ("_ZN3web4Ping5soundEl", [32]),
        ("p256::*", [48]),
        ("mycrate::foo", [64]),
        ("work", [80]),
        ("work.constprop.0", [80]),
    ):
        assert [one.address for one in functions if is_asked(one, [pattern])] == addresses
    assert nearest("soud", functions) == ["web::Ping::sound"]
    assert nearest("mycrate::fo", functions) == ["mycrate::foo"]


def test_the_labs_tool_reads_symbols_of_both_languages(lab_if_there: Lab) -> None:
    """One that it does not know, and one that is no symbol at all, stay as they are."""
    assert demangler(lab_if_there)([*SYMBOLS, "main", "_Zno", "_ZN3\nfoo"]) == SYMBOLS


INLINED = """
__attribute__((always_inline)) static inline int fold(int n) { return n * n + 1; }
int twice(int n) { return fold(n) + fold(n + 1); }
int once(int n) { return fold(n) - 1; }
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_function_within_others_is_told_with_them(tmp_path: Path) -> None:
    """By its debug information; without, and for another name, nothing is said."""
    (tmp_path / "a.c").write_text(INLINED)
    for flag, name in (("-g", "with"), ("-g0", "without")):
        subprocess.run(["cc", "-O2", flag, "-c", "-o", tmp_path / name, tmp_path / "a.c"], check=True)
    contents = {name: (tmp_path / name).read_bytes() for name in ("without", "with")}
    assert inlined_words("fo*d", contents, lambda _: {}) == "the compiler put fold into once, twice"
    assert inlined_words("twice", contents, lambda _: {}) == ""
    assert inlined_words("fold", {"without": contents["without"]}, lambda _: {}) == ""
    assert inlined_words("fold", {"no file": b"none"}, lambda _: {}) == ""


# --- what it becomes ---


def test_an_archive_is_read_back_as_it_was(tmp_path: Path) -> None:
    """With the folders before what is in them, and the same bytes each time."""
    content = {"work/mine": b"program", "lib/libc.so.6": b"12345", "input": b""}
    made = archive(content, {"work/mine"})
    (tmp_path / "files.cpio").write_bytes(made)
    assert initramfs_files(tmp_path / "files.cpio") == content
    assert made == archive(dict(reversed(content.items())), {"work/mine"})
    assert made.index(b"lib\0") < made.index(b"lib/libc.so.6")
    assert b"000081ED" in made and b"000081A4" in made


def test_what_is_mapped_is_read_from_the_kernels_list() -> None:
    """Executable memory with a file alone; nothing that is not such a line."""
    text = (
        "aaaaaaaa0000-aaaaaaaa1000 r-xp 00001000 00:02 17                         /work/mine\n"
        "aaaaaaab0000-aaaaaaab1000 rw-p 00001000 00:02 17                         /work/mine\n"
        "fffff7ffe000-fffff8000000 r-xp 00000000 00:00 0                          [vdso]\n"
        "fffff7ffe000-fffff8000000 r-xp 00000000 00:00 0 \nrubbish\n"
    )
    assert [(one.begin, one.offset, one.path) for one in read_maps(text)] == [
        (0xAAAAAAAA0000, 0x1000, "/work/mine"),
        (0xFFFFF7FFE000, 0, "[vdso]"),
    ]


@pytest.mark.parametrize(
    ("life", "said"),
    [
        (Life(0, 1, -1, 11, 0), "was ended by the signal SIGSEGV"),
        (Life(0, 1, -1, 25, 0), "it wrote more than 64 MiB into a file"),
        (Life(0, 1, 127, 0, 0), "could not be started"),
        (Life(0, 1, 0, 0, 3), "idle 3 times"),
    ],
)
def test_a_life_that_went_wrong_is_refused(life: Life, said: str) -> None:
    """With the end of what it printed, made fit for a terminal."""
    with pytest.raises(WorldwiseError) as caught:
        require_good("/work/mine", life, b"the \x1b[31mend")
    assert said in caught.value.message
    assert "the \\x1b[31mend" in caught.value.details


def test_the_end_of_what_was_printed_keeps_its_lines() -> None:
    """A client that wants arguments prints how it is called: that is read as it was written, its last lines alone."""
    assert printed_end(b"") == printed_end(b"\n\n") == "it printed nothing"
    shown = printed_end(b"".join(b"%d\tone\n\n" % number for number in range(20))).splitlines()
    assert shown == ["the end of its output:", *(f"  {number}\\tone" for number in range(8, 20))]


def test_what_a_ta_needs_of_stack_is_said_beside_what_op_tee_adds() -> None:
    assert stack_words(3040, 2048, "a > b") == (
        "TA_STACK_SIZE: 992 is the least for what was executed, and it is 2,048. The TA took 3,040 bytes (a > b), of "
        "which OP-TEE adds 2,048 by itself."
    )
    assert stack_words(1968, 2048, "a").endswith("(a); OP-TEE adds 2,048 by itself, which is enough for them.")


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["main", "work"], "main > work"),
        (["a", "b", "c", "d", "e", "f"], "a > b > c > ... > e > f"),
        (["a", "TA_go", "b"], "TA_go > b"),
        (["open" * 6, "snprintf" * 3, "print" * 5, "last"], f"{'open' * 6} > ... > last"),
        (["x" * 40, "y" * 40, "c", "d", "e", "f"], f"{'x' * 40} > ... > e > f"),
        (["x" * 40, "y" * 40], f"{'x' * 13}...{'x' * 12} > {'y' * 13}...{'y' * 12}"),
        (
            ["p256::" + "sign" * 12, "b", "c", "fe_mul" * 9],
            "p256::signsig...signsignsign > ... > fe_mulfe_mulf...fe_mulfe_mul",
        ),
    ],
)
def test_a_way_fits_into_its_line(names: list[str], shown: str) -> None:
    """Of a long one the functions at its beginning are left out, behind its first."""
    assert way_words(PeakStack(0, [(StackFrame(name, "image", "", "normal"), 0) for name in names])) == shown


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    assert short("crypto_sign") == "crypto_sign"
    assert short("abcdefghijkl", 10) == "abcd...jkl"


def test_functions_that_are_called_once_share_a_line() -> None:
    """Firmware in Rust has many, with long names."""
    assert once_words(["quiet"]) == (
        "quiet is called once at each power-on: its second call is that of a second one, the same."
    )
    assert once_words([*"abcdefgh"]).startswith("a, b, c, d, e, f and 2 others are called once at each power-on: their")


def test_a_good_life_is_taken_whatever_its_status() -> None:
    require_good("/work/mine", Life(0, 1, 3, 0, 0), b"")


def elf_head(bits: int, machine: int) -> bytes:
    """The begin of an ELF file of a class, for a processor."""
    return b"\x7fELF" + bytes([bits]) + bytes(13) + struct.pack("<H", machine)


ELF = elf_head(2, 183)


def signed(kind: int = 1, content: bytes = ELF) -> bytes:
    """A TA as OP-TEE signs them."""
    head = struct.pack("<IIIIHH", 0x4F545348, kind, len(content), 0, 32, 256)
    return head + bytes(288) + (bytes(20) if kind == 1 else b"") + content


def test_the_elf_file_in_a_ta_is_found(tmp_path: Path) -> None:
    assert elf_of(signed(), tmp_path) == ELF
    assert elf_of(signed(0), tmp_path) == ELF
    assert elf_of(signed(content=elf_head(1, 40)), tmp_path) == elf_head(1, 40)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "does not begin as a signed one"),
        (b"\x7fELF" + bytes(30), "does not begin as a signed one"),
        (signed(2), "is encrypted"),
        (signed()[:-1], "cut off"),
        (signed(content=b"no elf"), "no ELF file"),
        (signed(content=b"\x7fELF"), "for processor 0 in an ELF file of class 0"),
        (signed(content=elf_head(1, 3)), "for processor 3 in an ELF file of class 1"),
        (signed(content=elf_head(1, 183)), "for processor 183 in an ELF file of class 1"),
        (signed(content=elf_head(2, 40)), "for processor 40 in an ELF file of class 2"),
    ],
)
def test_what_is_no_ta_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError, match=said):
        elf_of(content, tmp_path / "x.ta")


def test_a_ta_under_another_name_is_refused(tmp_path: Path) -> None:
    """If this fails, OP-TEE refuses the TA in the middle of a measurement, with a number."""
    ta, client = tmp_path / f"{own_codes.UUID}.ta", tmp_path / "client"
    client.write_bytes(b"")
    ta.write_bytes(signed())
    with pytest.raises(WorldwiseError, match="was signed as 00000000-0000-0000-0000-000000000000, so OP-TEE refuses"):
        application(ta, client, None, None)  # type: ignore[arg-type]
    named = ta.rename(tmp_path / f"{UUID(int=0)}.ta")
    assert application(named, client, None, None).uuid == str(UUID(int=0))  # type: ignore[arg-type]
    ta.write_bytes(signed(0))
    assert application(ta, client, None, None).uuid == own_codes.UUID  # type: ignore[arg-type]


def test_what_a_ready_made_ta_is_built_for_is_its_own_word(tmp_path: Path) -> None:
    """If this fails, nobody is told that the TA is of 32 bits, and its stack is said to be what it is not."""
    ta, client = tmp_path / f"{own_codes.UUID}.ta", tmp_path / "client"
    client.write_bytes(b"")
    for bits, machine, target in ((2, 183, TA_ARM64), (1, 40, TA_ARM32)):
        ta.write_bytes(signed(0, elf_head(bits, machine)))
        found = application(ta, client, None, None)  # type: ignore[arg-type]
        assert found.target == target
        assert ("for 32 bits (ta_arm32)" in found.words) == (target == TA_ARM32)


def test_a_further_ta_may_lie_beside_the_one_that_has_its_header(tmp_path: Path) -> None:
    """If this fails, a TA that includes the header of the TA that it calls cannot be built."""
    ta, other = tmp_path / "ta", tmp_path / "other"
    for folder in (ta, other):
        folder.mkdir()
        (folder / "Makefile").write_text("BINARY = x\n", encoding="ascii")

    def get(recipe: Recipe) -> None:
        raise WorldwiseError(f"to be built with {sorted(recipe.trees)}")

    images: Any = SimpleNamespace(lab=SimpleNamespace(cache=tmp_path), get=get)
    for beside in ([other], [other, ta]):
        with pytest.raises(WorldwiseError, match="to be built with") as caught:
            built_alone(other, None, images, None, beside)
        assert ("'app/ta'" in caught.value.message) == (ta in beside)
    same = tmp_path / "elsewhere" / "other"
    same.mkdir(parents=True)
    with pytest.raises(WorldwiseError, match="both folders are named other"):
        built_alone(other, None, images, None, [same])


def test_a_folder_and_a_file_are_no_application(tmp_path: Path) -> None:
    (tmp_path / "ta").mkdir()
    with pytest.raises(WorldwiseError, match="one is a folder and the other a file"):
        application(tmp_path / "ta", tmp_path / "client", None, None)  # type: ignore[arg-type]
    with pytest.raises(WorldwiseError, match="named UUID"):
        application(tmp_path / "x.ta", tmp_path / "client", None, None)  # type: ignore[arg-type]
    with pytest.raises(WorldwiseError, match="--log-level is for a TA that is built"):
        application(tmp_path / "x.ta", tmp_path / "client", 2, None)  # type: ignore[arg-type]
    with pytest.raises(WorldwiseError, match="--ta-target is for a TA that is built"):
        application(tmp_path / "x.ta", tmp_path / "client", None, None, (), TA_ARM64)  # type: ignore[arg-type]


# --- in the cache ---


def test_a_client_is_built_by_what_its_folder_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make before CMake; a folder that has neither, and a TA without a Makefile, are told before anything is built."""
    ta, client = tmp_path / "app" / "ta", tmp_path / "app" / "host"
    images = ImageStore(open_lab())
    monkeypatch.setattr("worldwise.run.code.application.require_confinement", lambda _: None)
    for folder in (ta, client):
        folder.mkdir(parents=True)
    (ta / "CMakeLists.txt").touch()

    def refused() -> str:
        with pytest.raises(WorldwiseError) as caught:
            application(ta, client, None, images)
        return f"{caught.value.message} {caught.value.hint}"

    assert "ta/Makefile: is not there. OP-TEE's TA dev kit builds TAs with make alone." in refused()
    (ta / "Makefile").touch()
    assert "host/Makefile: is not there, and neither CMakeLists.txt nor meson.build. build the client" in refused()
    (client.parent / "CMakeLists.txt").touch()
    assert f"the folder above has CMakeLists.txt: --client {client.parent}" in refused()
    for name in ("meson.build", "CMakeLists.txt", "Makefile"):
        (client / name).touch()
        assert build_systems.build_file(client) == name

    (client / "Makefile").unlink()

    def offline(**_: str) -> Lab:
        raise WorldwiseError("no mirror answers", "try another")

    monkeypatch.setattr(build_systems, "open_lab", offline)
    said = "CMake, Meson and Ninja could not be made ready: no mirror answers try another; or build the client yourself"
    assert said in refused()


@pytest.mark.parametrize(
    ("commands", "called"),
    [
        ("cmake -B out && make -C out", True),
        ("ninja", True),
        ("cd x; meson setup y", True),
        ("make", False),
        ("./cmake.sh", False),
        ("sh tools/cmake", False),
    ],
)
def test_commands_that_call_a_build_system_are_known(commands: str, called: bool) -> None:
    """By the word alone: a script of that name is no build system."""
    assert build_systems.are_called(commands) == called


def test_own_code_is_kept_by_its_content(tmp_path: Path) -> None:
    """Kept twice it is one folder; a changed file is another code; a damaged manifest is refused."""
    found = []
    for number, content in enumerate((b"one", b"one", b"two")):
        work = tmp_path / str(number)
        work.mkdir()
        (work / "files.cpio").write_bytes(content)
        found.append(own_code.keep(work, CodeManifest.model_validate(MANIFEST), tmp_path / "own", Path("mine")))
    assert found[0].folder == found[1].folder != found[2].folder
    assert own_code.is_code(found[0].folder)
    (found[0].folder / "code.json").write_text(json.dumps(MANIFEST | {"name": "../up"}))
    with pytest.raises(WorldwiseError, match="name"):
        own_code.load(found[0].folder)


def test_a_case_of_own_code_has_its_own_name() -> None:
    """It is one like the others; only a run has it."""
    case = Case("own", "mine", "", "main", 4, 0)
    assert (case.id, case.calls, case.board) == ("own/mine/main", 5, "")
    assert case.measures == {"call": ("region",)}
    with pytest.raises(WorldwiseError) as caught:
        parse_case("own/mine/main")
    assert "latest --case 'own/mine/main'" in caught.value.hint


def test_code_that_the_cache_has_lost_is_named() -> None:
    with pytest.raises(WorldwiseError, match="no longer has the own code 'mine'"):
        own_code.find("mine")


# --- reading ---


def ended(number: int, call: int, how: Literal["returned", "exit", "left"], command: int = 0) -> Pass:
    """A pass of a trace."""
    given = [0, command, 0, 0]
    return a_pass(number, frame=1, begin=number, end=number + 1, instructions=1, call=call, how=how, given=given)


def test_calls_that_returned_count_and_the_others_are_told() -> None:
    """Of a function that never returned, those that the program's end ended; of TEEC calls those of a command."""
    start = TraceStart.model_validate(
        {
            "type": "start",
            "format": 1,
            "mode": "stack",
            "witness": 0,
            **dict.fromkeys(("task_switch", "thread_suspend", "thread_resume"), "0x0"),
        }
    )
    passes = [ended(3, 1, "returned", 5), ended(1, 1, "returned", 4), ended(2, 1, "left"), ended(4, 2, "exit")]
    trace = Trace(start, {}, {}, {}, passes, {}, {}, [])
    calls, others = calls_of(trace, [8, 16], Region(function="f", image="/f", address=8))
    assert ([one.id for one in calls], others) == ([1, 3], 1)
    calls, others = calls_of(trace, [8, 16], Region(function="f", image="/f", address=8, command=5))
    assert ([one.id for one in calls], others) == ([3], 0)
    calls, others = calls_of(trace, [8, 16], Region(function="g", image="/f", address=16))
    assert ([one.id for one in calls], others) == ([4], 0)


@pytest.mark.parametrize(
    ("image", "world", "part"),
    [
        ("hello", "normal", "client"),
        ("libc", "normal", "client"),
        ("libteec", "normal", "libteec"),
        ("linux:optee", "normal", "Linux"),
        ("bl31", "monitor", "monitor"),
        ("tee", "secure", "core"),
        ("ta", "secure", "TA"),
        ("ldelf", "secure", "TA"),
    ],
)
def test_each_instruction_of_a_call_has_a_side(image: str, world: str, part: str) -> None:
    frame = StackFrame("f", image, "layer", world)  # type: ignore[arg-type]
    assert part in PARTS
    assert part_of((frame,)) == part
    task = StackFrame("[task: tee-supplicant]", "linux", "other processes", "normal")
    assert part_of((task, frame)) == "supplicant"


SUPPLICANT = StackFrame("[task: tee-supplicant]", "linux", "other processes", "normal")


def frames(*names: str, world: str = "normal") -> tuple[StackFrame, ...]:
    """A stack of functions."""
    return tuple(StackFrame(name, "image", "layer", world) for name in names)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        ((SUPPLICANT, *frames("process_one_request", "TEECI_LoadSecureModule", "read")), "load"),
        ((SUPPLICANT, *frames("process_one_request", "tee_supp_fs_process", "write", "svc")), "storage"),
        ((SUPPLICANT, *frames("process_one_request", "tee_socket_process")), "socket"),
        ((SUPPLICANT, *frames("ioctl")), "passing on"),
        (frames("optee_smc_do_call_with_arg", "optee_rpc_cmd", "optee_supp_thrd_req"), "passing on"),
        (frames("optee_smc_do_call_with_arg", "tee_shm_alloc_priv_buf"), "memory"),
        (frames("optee_smc_do_call_with_arg", "optee_rpc_cmd", "optee_rpc_cmd_alloc_suppl"), "memory"),
        (frames("optee_smc_do_call_with_arg"), ""),
        (frames("tee_ioctl_shm_alloc", "tee_shm_free"), ""),
        ((*frames("optee_rpc_cmd"), *frames("core", world="secure")), ""),
    ],
)
def test_what_the_secure_world_asked_for_is_told_by_kind(stack: tuple[StackFrame, ...], kind: str) -> None:
    assert request_of(stack) == kind
    assert not kind or kind in REQUESTS


def test_the_files_of_own_code_are_its_layers() -> None:
    rules = with_images(load_rules(), ["mine", "libc", "libcrypto"])
    assert rules.layer("mine", "", "main") == "mine"
    assert rules.layer("libcrypto", "", "f") == "libcrypto"
    assert rules.layer("libc", "", "f") == "libc and the dynamic linker"


# --- the command ---


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--program", "./x", "--variant", "a"], "a program of your own does not accept --variant"),
        (["--program", "./x", "--on", "local:2"], "a program of your own does not accept --on"),
        (["--program", "./x", "--log-level", "1"], "a program of your own does not accept --log-level"),
        (["--program", "./x", "--ta", "y"], "--program and --ta measure different things"),
        (["--ta", "x"], "--ta and --client name both"),
        (["--region", "f"], "--region is for a program of your own: name it with --program"),
        (["quick", "more"], "Got unexpected extra argument (more)"),
        (["--program", "./x", "--budget", "1ms@1GHz"], "--budget judges operations of a suite"),
        (["--program", "./x", "--repeat", "1"], "--repeat"),
    ],
)
def test_options_of_another_kind_are_refused(words: list[str], said: str) -> None:
    """Each kind of thing that is measured says itself which options it has."""
    from click.testing import CliRunner

    result = CliRunner().invoke(cli, ["run", *words])
    assert result.exit_code == 2
    assert said in " ".join((result.output + str(result.exception)).split())


def _told_of(said: str) -> str:
    """What a user reads of a client that does not build, of which the compiler said this."""
    error = WorldwiseError("own-app does not build", "", f"{said}\nworldwise: the client in host does not build")
    told = build_error(error, Path("ta"), Path("host"), None)  # type: ignore[arg-type]
    return told.hint


@pytest.mark.parametrize(
    ("said", "way"),
    [
        ("ld: main.o: Relocations in generic ELF (EM: 62)\nld: main.o: error adding symbols", "another processor"),
        ("a.c:1:2: error: 'TEE_ObjectInfo' has no member named 'keySize'", "CFG_TA_OPTEE_CORE_API_COMPAT_1_1 = y"),
        (
            "a.c:1:2: error: passing argument 1 [-Wincompatible-pointer-types]\na.c:3:4: error: f [-Wimplicit-int]",
            "or -Wno-error=incompatible-pointer-types -Wno-error=implicit-int, in cflags-y",
        ),
        # A warning alone would let the library write eight bytes over four.
        (
            "a.c:1:2: error: passing argument 5 [-Wincompatible-pointer-types]\n/build/devkit/include/"
            "tee_internal_api.h:380:51: note: "
            "expected 'size_t *' {aka 'long unsigned int *'} but argument is of type 'uint32_t *' {aka",
            "CFG_TA_OPTEE_CORE_API_COMPAT_1_1 = y",
        ),
        ("a.c:7:2: error: expected ';'", "first: a.c:7:2: error: expected ';'; the end of its output is above"),
        ("ld: a.c:7: undefined reference to `atoi'", "first: ld: a.c:7: undefined reference to `atoi'; the end of"),
        ("make: stop", "the end of its output is above"),
    ],
)
def test_an_older_application_that_does_not_build_has_a_way_out(said: str, way: str) -> None:
    """If this fails, the owner of a TA of some years ago reads a linker's words, and no way on."""
    assert way in _told_of(said)


@pytest.mark.parametrize(
    "said",
    [
        "cc1: warning: ./../lua: No such file or directory [-Wmissing-include-dirs]\nmain.c:1:2: error: a",
        "main.c:5:10: fatal error: ../lua/lua.h: No such file or directory",
        "make: *** No rule to make target '../../app/../lua/lua.c', needed by 'all'.  Stop.",
    ],
)
def test_a_folder_beside_the_two_that_was_not_brought_is_named(said: str, tmp_path: Path) -> None:
    """If this fails, an application whose sources lie in a third folder reads a compiler's words, and no way on."""
    ta, host, lua = (tmp_path / name for name in ("ta", "host", "lua"))
    for folder in (ta, host, lua):
        folder.mkdir()
    error = WorldwiseError("own-app does not build", "", f"{said}\nworldwise: the TA in ta does not build")
    hint = f"lua lies beside {host}, and not beside its copy: --beside {lua} brings it"
    assert build_error(error, ta, host, None).hint == hint  # type: ignore[arg-type]
    assert build_error(error, ta, host, None, [lua]).hint != hint  # type: ignore[arg-type]
    lua.rmdir()
    assert build_error(error, ta, host, None).hint != hint  # type: ignore[arg-type]


def test_folders_beside_an_application_have_names_of_their_own(tmp_path: Path) -> None:
    """If this fails, one folder is built in the place of another."""
    ta, host, other = tmp_path / "ta", tmp_path / "host", tmp_path / "more/ta"
    for folder in (ta, host, other):
        folder.mkdir(parents=True)
        (folder / "Makefile").touch()
    images = ImageStore(open_lab())
    with pytest.raises(WorldwiseError, match="both folders are named ta"):
        application(ta, host, None, images, beside=[other])
    with pytest.raises(WorldwiseError, match="there is no such folder"):
        application(ta, host, None, images, beside=[tmp_path / "lua"])
    recipe = own_targets.application("ta", ta, "host", host, None, beside={"lua": other})
    assert recipe.trees["app/lua"] == other


def test_a_wrong_machine_of_firmware_lists_all_and_names_the_nearest() -> None:
    """If this fails, a typing error is answered by a wall of memory sizes, and without the name that was meant."""
    with pytest.raises(WorldwiseError) as refused:
        check_machine("mps2-an38")
    assert all(f"{name} (Cortex-M" in refused.value.message for name in own_targets.M_MACHINES)
    assert "MiB" not in refused.value.message
    assert refused.value.hint == "did you mean 'mps2-an386'?"


def test_a_folder_is_brought_with_what_is_in_it(tmp_path: Path) -> None:
    """If this fails, a program that reads a folder of its own, such as an interpreter's scripts, cannot be measured."""
    app = tmp_path / "app"
    (app / "ta").mkdir(parents=True)
    for name in ("main.lua", "ta/cubic.lua", ".hidden"):
        (app / name).write_text(name)
    assert dict(files_below(app)) == {"app/main.lua": b"main.lua", "app/ta/cubic.lua": b"ta/cubic.lua"}
    assert dict(files_below(app / "main.lua")) == {"main.lua": b"main.lua"}
    with pytest.raises(WorldwiseError, match="No such file"):
        dict(files_below(tmp_path / "none"))
    (app / "out").symlink_to("/etc/hostname")
    with pytest.raises(WorldwiseError, match="that is not in the folder"):
        dict(files_below(app))


@pytest.mark.parametrize("name", ["app", "app/main.lua", "app/main.lua/x"])
def test_a_file_and_a_folder_of_one_name_are_refused(name: str) -> None:
    """If this fails, the guest unpacks one over the other."""
    with pytest.raises(WorldwiseError, match="another file has the name 'app'"):
        add_file({"app/main.lua": b""}, name, b"", Path("app"))


@pytest.mark.parametrize(("outside", "share"), [(20, 0.8), (95, 0.05)])
def test_a_small_region_misses_nothing_that_another_has(outside: int, share: float) -> None:
    """If this fails, of all functions of a library the small ones are told to miss what the large ones did."""
    start = SimpleNamespace(id=0, instructions=100)
    small = SimpleNamespace(id=1, begin=0, end=100, instructions=5)
    frame = StackFrame("main", "app", "firmware", "secure")
    trace = SimpleNamespace(outermost=lambda _: start)
    seen = SimpleNamespace(trace=trace, stacks=lambda *_, **__: {(frame,): outside}, _outsides={})
    seen.outside_of = lambda of: OwnExplainer.outside_of(seen, of)  # type: ignore[arg-type]
    found, rest = OwnExplainer.missed(seen, [small])  # type: ignore[arg-type,list-item]
    assert found == pytest.approx(share)
    assert rest == [("main (app)", outside)]


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (b"\x21\0\0\0", " at 0x20"),
        (b"", " with its stack pointer at 0x2001ffe0, where this machine has no memory"),
    ],
)
def test_a_fault_by_a_stack_outside_the_memory_says_so(read: bytes, said: str) -> None:
    """If this fails, whoever linked firmware for a larger chip does not learn that it is the memory."""
    debugger = SimpleNamespace(register={13: 0x2001FFE0, 14: 0xFFFFFFF9}.get, read=lambda *_: read)
    assert fault_words(debugger, lambda at: f" at {at:#x}") == said  # type: ignore[arg-type]


def test_a_ta_without_messages_is_not_told_how_to_have_none() -> None:
    assert level_words("4", False) == (
        "CFG_TEE_TA_LOG_LEVEL=4 (all, by the TA's Makefile); --log-level 0 leaves out the cost of its messages"
    )
    assert level_words("0", True) == "CFG_TEE_TA_LOG_LEVEL=0 (nothing, by --log-level)"


def test_firmware_that_is_named_as_a_program_is_told() -> None:
    """If this fails, it is started in Linux, and its owner reads of a SIGSEGV."""
    with pytest.raises(WorldwiseError, match=r"app.elf has its code at .*, where firmware has it") as refused:
        require_linux(elf32(), Path("app.elf"))
    assert "`run --firmware FILE --machine mps2-an386`" in refused.value.hint


def test_a_source_in_place_of_a_program_is_told() -> None:
    """If this fails, its owner reads of a magic number."""
    with pytest.raises(WorldwiseError, match=r"--program main.c cannot be read: it is no ELF file") as refused:
        ask(b"int main(void)", ("program",), what="--program main.c")
    assert "a source" in refused.value.hint
