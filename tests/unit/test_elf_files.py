# SPDX-License-Identifier: BSD-2-Clause
"""ELF files that no compiler makes: whatever is in one, the tool says so in words, in bounded memory and time."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from elves import Section, elf32, note, packed, section, symbols
from received import little_memory, sparse
from worldwise.base.errors import WorldwiseError
from worldwise.machine.board.firmware import read_firmware
from worldwise.machine.elf_files import questions
from worldwise.machine.elf_files.program_addresses import (
    address_name,
    code_at,
    functions,
    loaded_bytes,
    static_variable,
    symbol_address,
)
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.symbols import debug_information
from worldwise.machine.symbols.frames import CallFrames
from worldwise.machine.symbols.inlined_functions import Inlines
from worldwise.machine.symbols.table import SymbolTable

pytestmark = pytest.mark.timeout(120)
NAME = "recurse"
GOOD = elf32()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "symbols"


def test_a_good_file_is_answered(cache: Path, tmp_path: Path) -> None:
    """If this fails, the attacks below show nothing."""
    path = tmp_path / "elf"
    path.write_bytes(GOOD)
    assert symbol_address(path, NAME) == 0x101
    assert address_name(path, 0x102) == NAME
    assert loaded_bytes(path) == 16
    assert functions(path) == [(0x100, 0x108, NAME)]
    assert code_at(path, 0x100, 0x104) == b"code"
    table = SymbolTable.from_elf(path, "it", cache)
    found = table.lookup(0x104)
    assert found is not None
    assert (found.function, found.offset) == (NAME, 4)
    assert CallFrames("it", GOOD, cache).rule(0x100) is None
    with pytest.raises(WorldwiseError, match="has no symbol nothing"):
        symbol_address(path, "nothing")


FILES: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no ELF": lambda: b"\x7fELX" + bytes(100),
    "half a header": lambda: GOOD[:30],
    "cut": lambda: GOOD[:-60],
    "sections beyond the file": lambda: elf32(header={"e_shoff": 2**31}),
    "a section of no size": lambda: elf32(header={"e_shentsize": 0}),
    "names in no section": lambda: elf32(header={"e_shstrndx": 9999}),
    "a symbol table of 2^32 bytes": lambda: elf32([symbols(size=2**32 - 1)]),
    "symbols of no size": lambda: elf32([symbols(entsize=0)]),
    "a symbol table without names": lambda: elf32([symbols(link=999)]),
    "symbols of another kind": lambda: elf32([symbols(link=0)]),
    "a name that never ends": lambda: elf32([section(".strtab", 3, b"\0" + b"x" * 2**20)]),
    "a note without an end": lambda: elf32([note(2**31)]),
    "a note of 2^32 - 1 bytes": lambda: elf32([note(2**32 - 1)]),
    "debug information that is none": lambda: elf32(
        [section(name, 1, b"\xff" * 64) for name in (".debug_info", ".debug_abbrev", ".debug_aranges", ".debug_frame")]
    ),
    "debug information of nothing": lambda: elf32(
        [section(name, 1, b"") for name in (".debug_info", ".debug_abbrev", ".debug_aranges", ".debug_frame")]
    ),
    "a bomb": lambda: elf32(
        [
            section(".debug_info", 1, packed(2**28), flags=0x800),
            section(".debug_aranges", 1, b"\0" * 32),
            section(".debug_abbrev", 1, b"\0"),
        ]
    ),
    "more code than the file": lambda: elf32([Section(".text", 1, b"code" * 4, 6, 0x100, size=2**20)]),
    "a thousand segments of all": lambda: elf32(segments=1000),
    "attributes of no bytes": lambda: elf32([section(".ARM.attributes", 0x70000003, b"A" + bytes(4) + b"aeabi\0")]),
    "attributes without an end": lambda: elf32(
        [section(".ARM.attributes", 0x70000003, b"A" + b"\xff\xff\xff\x7faeabi\0\x01" + bytes(4) + b"\x06\x0d")]
    ),
}

HARMLESS = (
    "a name that never ends",
    "a note without an end",
    "a note of 2^32 - 1 bytes",
    "debug information of nothing",
    "attributes without an end",
)

# All that the tool asks: of one process for each file.
QUESTIONS: list[tuple[str | int, ...]] = [
    *((name,) for name in ("segments", "machine", "interpreted", "loaded_bytes", "build_id", "debugged", "frames")),
    *(
        ("table",),
        ("symbol_address", NAME),
        ("function_code", NAME),
        ("places", "STT_FUNC"),
        ("ztest_benchmarks",),
        ("address_name", 0x102),
        ("arm_architecture",),
        ("returns_of", 0x100),
    ),
    ("variable", "random.c", "state"),
]


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_no_compiler_makes_is_told(
    what: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a stranger's library ends `explain`, a run or a board in a traceback, or takes all memory."""
    monkeypatch.setattr(questions, "MEMORY", 192 * 2**20)
    data = FILES[what]()
    said = questions.answer_of(data, b"", QUESTIONS)
    # Of many files only what one question asks for is broken; of some, nothing that is asked for.
    assert any(not good for good, _ in json.loads(said)) == (what not in HARMLESS)
    monkeypatch.setattr(questions, "answer_of", lambda _content, _debug, asked: picked(said, asked))
    path = tmp_path / "elf"
    path.write_bytes(data)
    for call in CALLS:
        try:
            with little_memory():
                call(path, cache)
        except WorldwiseError as error:
            assert error.message.isprintable()
            assert len(error.message) < 1000


def picked(said: bytes, asked: Sequence[tuple[str | int, ...]]) -> bytes:
    """Of what a process said to all questions, the answers to some."""
    answers = dict(zip(QUESTIONS, json.loads(said), strict=True))
    return json.dumps([answers.get(one, [True, None]) for one in asked]).encode()


CALLS: tuple[Callable[[Path, Path], object], ...] = (
    lambda path, _: symbol_address(path, NAME),
    lambda path, _: address_name(path, 0x102),
    lambda path, _: loaded_bytes(path),
    lambda path, _: read_firmware(path),
    lambda path, _: static_variable(path, "random.c", "state"),
    lambda path, _: code_at(path, 0x100, 0x104),
    lambda path, _: functions(path),
    lambda path, _: ask(path, ("arm_architecture",), what="a file"),
    lambda path, _: ask(path, ("returns_of", 0x100), what="a file"),
    lambda path, cache: SymbolTable.from_elf(path, "it", cache, None, lambda _, __: "").inline_chain(0x102),
    lambda path, cache: CallFrames("it", path.read_bytes(), cache).rule(0x100),
)


def says(say: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the process answer something."""
    text = say if isinstance(say, str) else json.dumps(say)
    begin = f"import sys; sys.stdin.buffer.read(); sys.stdout.write({text!r})"
    monkeypatch.setattr(questions, "BEGIN", begin.replace("{", "{{").replace("}", "}}"))


@pytest.mark.parametrize(
    "say",
    [
        " ",
        "x",
        pytest.param("[" * 100_000, id="deep"),
        {},
        [],
        [[True, -1]],
        [[True, 2**70]],
        [[True, "x"]],
        [[True, None]],
        [[True, 1], [True, 1]],
        [1],
        [[1]],
        [[False, "\x1b[2J"]],
        pytest.param("9" * 5000, id="digits"),
    ],
)
def test_an_answer_of_another_form_is_told(
    say: object, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process read a stranger's file: it is not believed either."""
    says(say, monkeypatch)
    (tmp_path / "elf").write_bytes(GOOD)
    with pytest.raises(WorldwiseError, match="elf cannot be read: ") as caught:
        ask(tmp_path / "elf", ("loaded_bytes",))
    assert "readelf" in caught.value.hint
    assert not list(cache.glob("*"))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("while True: pass", "more than 1 seconds of a processor"),
        ("x = bytearray(2**30)", "too much memory"),
        ("import sys; sys.stdout.write('x' * 2**21); sys.stdout.flush()", "too much memory, or says more"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "too much memory"),
    ],
)
def test_what_a_file_may_take(code: str, says: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a file that makes its reader wait makes the tool wait."""
    limits = "import resource; [resource.setrlimit(*one) for one in ((resource.RLIMIT_CPU, (1, 1)),"
    limits += " (resource.RLIMIT_FSIZE, (2**20, 2**20)), (resource.RLIMIT_AS, (2**29, 2**29)))];"
    monkeypatch.setattr(questions, "SECONDS", 1)
    monkeypatch.setattr(questions, "BEGIN", f"{limits}\n{code}".replace("{", "{{").replace("}", "}}"))
    with pytest.raises(WorldwiseError, match=says):
        ask(GOOD, ("loaded_bytes",), what="it")
    assert not list(cache.glob("*"))


def test_the_process_has_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, `reader.main` sets no limits, and the test above shows nothing."""
    monkeypatch.setattr(questions, "MEMORY", 48 * 2**20)
    with pytest.raises(WorldwiseError, match="too much memory"):
        ask(GOOD + bytes(64 * 2**20), ("loaded_bytes",), what="it")
    monkeypatch.setattr(questions, "MEMORY", 2**30)
    monkeypatch.setattr(questions, "MOST_ANSWER", 10)
    with pytest.raises(WorldwiseError, match="too much memory, or says more"):
        ask(GOOD, ("table",), what="it")
    monkeypatch.setattr(questions, "SECONDS", 0)
    with pytest.raises(WorldwiseError, match="more than 0 seconds of a processor"):
        ask(GOOD, ("table",), what="it")


def test_the_process_imports_nothing_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    for name in ("struct.py", "elftools.py", "worldwise.py", "bisect.py", "sitecustomize.py"):
        (tmp_path / "here" / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "here"))
    assert ask(GOOD, ("loaded_bytes",), what="it") == [16]
    assert not (tmp_path / "ran").exists()


def test_special_files_and_long_ones_are_no_elf_files(tmp_path: Path) -> None:
    sparse(tmp_path / "long", 2**40)
    with pytest.raises(WorldwiseError, match=r"long cannot be read: .*more than 256 MiB"):
        loaded_bytes(tmp_path / "long")
    with pytest.raises(WorldwiseError, match=r"cannot be read: /dev/zero: it is a device"):
        loaded_bytes(Path("/dev/zero"))


def test_only_the_first_question_costs_a_process(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a run that has all its images starts hundreds of processes."""
    assert ask(GOOD, ("loaded_bytes",), ("symbol_address", "no"), what="it") == [16, None]
    monkeypatch.setattr(questions, "answer_of", lambda *_: pytest.fail("asked again"))
    assert ask(GOOD, ("symbol_address", "no"), ("loaded_bytes",), what="it") == [None, 16]
    for path in cache.glob("*.json"):
        path.write_text("{}")
    with pytest.raises(pytest.fail.Exception):
        ask(GOOD, ("loaded_bytes",), what="it")


def test_a_program_without_functions_has_none(tmp_path: Path) -> None:
    """If this fails, `vary` of a program that says no function is a traceback."""
    path = tmp_path / "elf"
    path.write_bytes(elf32([Section(".symtab", 2, bytes(16), link=3, entsize=16)]))
    assert functions(path) == []


def test_a_type_that_is_a_name_of_itself_ends() -> None:
    """If this fails, debug information with a circle hangs its reader until its time is over."""

    class Die:
        tag = "DW_TAG_typedef"
        attributes: ClassVar[dict[str, Any]] = {}

        def get_DIE_from_attribute(self, _name: str) -> "Die":
            return self

        def iter_children(self) -> list[Any]:
            return []

    with pytest.raises(LookupError):
        debug_information.type_of(Die())  # type: ignore[arg-type]
    array = Die()
    array.tag = "DW_TAG_array_type"
    with pytest.raises(LookupError):
        debug_information.size_of(array)  # type: ignore[arg-type]


def test_lines_in_a_functions_name_are_told() -> None:
    """If this fails, a name such as `0xzz` in debug information is a traceback."""
    with pytest.raises(WorldwiseError, match="addr2line lost the thread"):
        Inlines("it", b"", lambda _, __: "0x100\n0xzz\n??:0\n").read([0x100])


def test_a_function_of_any_size_is_looked_at_in_part(cache: Path) -> None:
    """If this fails, a symbol that says it has 2^31 bytes has the tool ask for 2^29 addresses."""
    asked: list[int] = []

    def tool(_: bytes, addresses: str) -> str:
        asked.extend(int(line, 16) for line in addresses.splitlines())
        return "".join(f"{line}\n" for line in addresses.splitlines())

    data = elf32([symbols(length=2**31), *(section(n, 1, b"\0" * 64) for n in (".debug_info", ".debug_abbrev"))])
    table = SymbolTable.from_elf(data, "it", cache, None, tool)
    with little_memory():
        assert table.inline_chain(0x104) == []
    assert len(asked) <= 2**18 + 1
    assert hashlib.sha256(data).digest()
