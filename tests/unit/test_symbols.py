# SPDX-License-Identifier: BSD-2-Clause
"""Names for addresses: what has one, what must not have one, and where an image is."""

import random
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.lab.lab import Lab
from worldwise.machine.symbols import names as names_module
from worldwise.machine.symbols.inlined_functions import OPTIONS, Addr2line, addr2line, parse_addr2line
from worldwise.machine.symbols.kernel import kernel_tables
from worldwise.machine.symbols.machine import image_name
from worldwise.machine.symbols.memory_layout import initramfs_files, read_processes
from worldwise.machine.symbols.names import Candidate, Function, best_name, known_names
from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.machine.symbols.table import Symbol, SymbolTable, build_id, find_bias

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

SOURCE = r"""
static inline __attribute__((always_inline)) int innermost(int x) { return x * 7 + (x >> 3); }
static inline __attribute__((always_inline)) int inner(int x)
{
	for (int i = 0; i < x; i++)
		x ^= innermost(x + i);
	return x;
}
static __attribute__((noinline, used)) int local_function(int x) { return inner(x) + 1; }
int __long_alias(int x) __attribute__((alias("global_function")));
int global_function(int x) { return local_function(x) - x * 3; }
int last_function(int x) { return local_function(x) ^ 0x1234; }
__asm__(".pushsection .text.asm,\"ax\",@progbits\n"
	".globl asm_first, asm_second, __ASM_START__\n"
	"__ASM_START__:\n"
	"asm_first:\n\t.zero 24, 1\n"
	"asm_second:\n\t.zero 8, 2\n"
	".popsection\n");
"""


@dataclass(frozen=True)
class Built:
    """A library with all its symbols, and the same without."""

    whole: Path
    stripped: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Built:
    """SOURCE as a shared library, by the host's compiler or the lab's."""
    directory = tmp_path_factory.mktemp("symbols")
    (directory / "code.c").write_text(SOURCE, encoding="ascii")
    flags = ["-shared", "-fPIC", "-nostdlib", "-g", "-O1", "-ffunction-sections", "-Wl,--build-id=sha1"]
    commands = [[*flags, "-o", "whole.so", "code.c"], [*flags, "-Wl,-s", "-o", "stripped.so", "code.c"]]
    for command in commands:
        if COMPILER:
            subprocess.run([COMPILER, *command], cwd=directory, check=True, timeout=60)
        else:
            lab: Lab = request.getfixturevalue("lab_if_there")
            lab.run(["gcc", *command], binds=[(directory, "/made", "rw")], chdir="/made")
    return Built(directory / "whole.so", directory / "stripped.so")


@pytest.fixture(scope="module")
def tool(request: pytest.FixtureRequest) -> Addr2line:
    """The addr2line of whoever compiled SOURCE."""

    def run(elf: bytes, addresses: str) -> str:
        with tempfile.NamedTemporaryFile() as file:
            file.write(elf)
            file.flush()
            command = ["addr2line", *OPTIONS, "--exe", file.name]
            return subprocess.run(
                command, input=addresses, capture_output=True, text=True, check=True, timeout=60
            ).stdout

    if COMPILER and shutil.which("addr2line"):
        return run
    return addr2line(request.getfixturevalue("lab_if_there"), "addr2line")


def named(table: SymbolTable) -> dict[str, Function]:
    """The table's functions by their names."""
    return {one.name: one for one in table.functions}


# --- ELF files ---


def test_functions_of_an_elf_file(built: Built, tmp_path: Path) -> None:
    """If this fails, a static function is its neighbour's, or an alias gives one function two names."""
    table = SymbolTable.from_elf(built.whole, "lib", tmp_path)
    functions = named(table)
    assert "__long_alias" not in functions
    for name in ("local_function", "global_function", "last_function"):
        one = functions[name]
        assert one.size > 0
        for offset in (0, one.size - 1):
            found = table.lookup(one.start + offset)
            assert found
            assert (found.function, found.image, found.offset) == (name, "lib", offset)
            assert found.start == one.start
            assert Path(found.source).name == "code.c"


def test_assembly_without_sizes(built: Built, tmp_path: Path) -> None:
    """If this fails, hand-written routines are unknown, or the mark of a section is taken for one."""
    functions = named(SymbolTable.from_elf(built.whole, "lib", tmp_path))
    first, second = functions["asm_first"], functions["asm_second"]
    assert (first.size, second.start) == (24, first.start + 24)
    assert second.size >= 8
    assert "__ASM_START__" not in functions


def test_a_stripped_file_is_named_by_its_debug_file(built: Built, tool: Addr2line, tmp_path: Path) -> None:
    """If this fails, the static functions of a packaged library are unknown, or at wrong addresses."""
    apart = SymbolTable.from_elf(built.stripped, "lib", tmp_path, built.whole, tool)
    alone = SymbolTable.from_elf(built.stripped, "lib", tmp_path)
    whole = SymbolTable.from_elf(built.whole, "lib", tmp_path, None, tool)
    assert named(apart) == named(whole)
    local = named(whole)["local_function"]
    assert alone.lookup(local.start) is None
    assert "global_function" in named(alone)
    # How far it reaches is not known without the symbols that follow it.
    assert "asm_second" not in named(alone)
    assert apart.inline_chain(local.start + local.size // 2) == whole.inline_chain(local.start + local.size // 2)


def test_inlined_functions_outermost_first(built: Built, tool: Addr2line, tmp_path: Path) -> None:
    """If this fails, --inline shows a chain that the source does not have."""
    table = SymbolTable.from_elf(built.whole, "lib", tmp_path, None, tool)
    local = named(table)["local_function"]
    chains = {tuple(table.inline_chain(local.start + offset)) for offset in range(local.size)}
    assert ("inner", "innermost") in chains
    assert all(chain == ("inner", "innermost")[: len(chain)] for chain in chains)
    assert table.inline_chain(named(table)["asm_first"].start) == []
    assert table.inline_chain(0) == []


def test_inlined_functions_are_read_together(built: Built, tool: Addr2line, tmp_path: Path) -> None:
    """If this fails, each of a trace's addresses starts a tool, or one is not asked for."""
    asked: list[int] = []

    def counting(elf: bytes, addresses: str) -> str:
        asked.append(len(addresses.splitlines()))
        return tool(elf, addresses)

    table = SymbolTable.from_elf(built.whole, "lib", tmp_path, None, counting)
    space = AddressSpace()
    low, high = table.bounds
    level = Level("normal", 0, "client")
    space.map(level, low + 0x1000, high + 0x1000, 0x1000, table)
    local, last = (named(table)[name] for name in ("local_function", "last_function"))
    addresses = [local.start, *range(local.start, local.start + local.size), 0x10_0000]
    space.read_inlined([(level, address + 0x1000) for address in addresses])
    chains = [space.inline_chain(level, address + 0x1000) for address in addresses]
    assert ["inner", "innermost"] in chains
    assert asked == [local.size]
    # One that was not read is read with the rest of its function.
    for address in range(last.start, last.start + last.size, 4):
        assert table.inline_chain(address) == []
    assert len(asked) == 2
    assert AddressSpace().inline_chain(level, local.start) == []
    # Nothing says what was inlined.
    assert SymbolTable.from_elf(built.whole, "lib", tmp_path).inline_chain(local.start) == []
    stripped = SymbolTable.from_elf(built.stripped, "lib", tmp_path, None, counting)
    assert stripped.inline_chain(local.start) == []
    assert len(asked) == 2


def test_inlined_functions_of_the_machine(lab_if_there: Lab, tmp_path: Path) -> None:
    """If this fails, --inline shows no inlined functions of the machine's programs, or others."""
    (tmp_path / "code.c").write_text(SOURCE, encoding="ascii")
    lab_if_there.run(
        ["aarch64-linux-gnu-gcc", "-shared", "-fPIC", "-nostdlib", "-g", "-O1", "-o", "lib.so", "code.c"],
        binds=[(tmp_path, "/made", "rw")],
        chdir="/made",
    )
    table = SymbolTable.from_elf(tmp_path / "lib.so", "lib", tmp_path, None, addr2line(lab_if_there))
    local = named(table)["local_function"]
    chains = [table.inline_chain(pc) for pc in range(local.start, local.start + local.size, 4)]
    assert ["inner", "innermost"] in chains
    assert table.inline_chain(named(table)["global_function"].start) == []


def test_what_addr2line_says_is_checked() -> None:
    """If this fails, a name with a line feed in it shifts all chains by one."""
    printed = "0x0000000000000010\n__GI_innermost\na.c:1\ninner\na.c:9\nouter\n??:0\n0x0000000000000014\n??\n??:0\n"
    assert parse_addr2line(printed) == [(0x10, ["inner", "innermost"]), (0x14, [])]
    assert parse_addr2line("") == []


def test_debug_information_that_lies_is_refused(built: Built, tmp_path: Path) -> None:
    """If this fails, what a strange file says is taken for another address's."""
    table = SymbolTable.from_elf(built.whole, "lib", tmp_path, None, lambda _elf, _addresses: "0x10\nf\na.c:1\n0x20\n")
    with pytest.raises(WorldwiseError, match="lib: its debug information cannot be read"):
        table.inline_chain(named(table)["local_function"].start)


def test_what_was_read_is_kept_and_a_torn_file_read_again(built: Built, tmp_path: Path) -> None:
    """If this fails, each run reads megabytes of debug information again, or a torn file stops the tool."""
    first = named(SymbolTable.from_elf(built.whole, "lib", tmp_path))
    # Besides whether it has debug information.
    (kept,) = [path for path in tmp_path.glob("*.json") if "local_function" in path.read_text()]
    kept.write_text(kept.read_text().replace("local_function", "kept_function"))
    assert "kept_function" in named(SymbolTable.from_elf(built.whole, "lib", tmp_path))
    kept.write_bytes(kept.read_bytes()[:100])
    assert named(SymbolTable.from_elf(built.whole, "lib", tmp_path)) == first
    kept.write_text('{"version": 9}')
    assert named(SymbolTable.from_elf(built.whole, "lib", tmp_path)) == first


def test_the_bytes_of_an_image(built: Built, tmp_path: Path) -> None:
    """If this fails, other code than the image's is counted under its names."""
    table = SymbolTable.from_elf(built.whole, "lib", tmp_path)
    start = named(table)["asm_first"].start
    assert table.code(start, 26) == b"\1" * 24 + b"\2" * 2
    assert table.verify(start + 0x5000, b"\1" * 4, 0x5000)
    assert not table.verify(start + 0x5000, b"\2" * 4, 0x5000)
    assert not table.verify(start, b"\1" * 4, 0x5000)
    assert table.code(table.bounds[1], 4) is None


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"no ELF file at all, but long enough to be one" * 4])
def test_what_is_no_elf_file_is_told(content: bytes, tmp_path: Path) -> None:
    """If this fails, a damaged file is an exception without a name."""
    with pytest.raises(WorldwiseError, match="the symbols of libteec cannot be read"):
        SymbolTable.from_elf(content, "libteec", tmp_path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """If this fails, it is not said which file is not there."""
    with pytest.raises(WorldwiseError, match=r"the symbols of tee cannot be read: .*tee\.elf"):
        SymbolTable.from_elf(tmp_path / "tee.elf", "tee", tmp_path)


@pytest.mark.lab
def test_jumps_into_other_libraries_are_named(lab_if_there: Lab, tmp_path: Path) -> None:
    """If this fails, every call from libteec into libc passes through something unknown."""
    (tmp_path / "code.c").write_text("int far(int); int near(int x) { return far(x) + 1; }\n", encoding="ascii")
    flags = ["-shared", "-fPIC", "-nostdlib", "-O1", "-mbranch-protection=standard"]
    lab_if_there.run(
        ["aarch64-linux-gnu-gcc", *flags, "-o", "lib.so", "code.c"], binds=[(tmp_path, "/made", "rw")], chdir="/made"
    )
    table = SymbolTable.from_elf(tmp_path / "lib.so", "lib", tmp_path)
    functions = named(table)
    assert functions["far@plt"].size >= 16
    assert functions["plt"].start < functions["far@plt"].start
    assert table.gaps() == []


# --- tables ---


def test_gaps_have_no_name() -> None:
    """If this fails, what is unknown is counted under a neighbour's name."""
    table = SymbolTable("x", [Function("a", 0x100, 0x10), Function("b", 0x120, 0x10)], [(0x100, b"\1" * 0x30)])
    assert table.lookup(0xFF) is None
    assert table.lookup(0x10F) == Symbol("a", "x", "", 0x100, 0xF, 0x10)
    assert table.lookup(0x110) is None
    assert table.lookup(0x130) is None
    assert table.gaps() == [(0x110, 0x120)]
    assert table.inline_chain(0x100) == []
    assert table.address("b") == 0x120
    with pytest.raises(WorldwiseError, match="x has no function c"):
        table.address("c")


def test_a_function_inside_another_has_its_own_addresses() -> None:
    """If this fails, the entries of a vector table are all one function."""
    table = SymbolTable("x", [Function("table", 0, 0x100), Function("entry", 0x40, 0x20), Function("late", 0xF0, 0x20)])
    names = [found.function if (found := table.lookup(at)) else "" for at in (0, 0x40, 0x5F, 0x60, 0xF0, 0x10F, 0x110)]
    assert names == ["table", "entry", "entry", "table", "late", "late", ""]


def test_a_part_of_a_table() -> None:
    """If this fails, the core's vectors cannot be found where a TA enters them."""
    whole = SymbolTable(
        "tee", [Function("a", 0, 0x1800), Function("b", 0x1800, 0x1000)], [(0, bytes(range(256)) * 0x28)]
    )
    part = whole.part(0x1000, 0x2000)
    assert part.bounds == (0x1000, 0x2000)
    found = part.lookup(0x1000)
    assert found
    assert (found.function, found.offset) == ("a", 0x1000)
    assert [part.lookup(at) for at in (0xFFC, 0x2000)] == [None, None]
    assert part.code(0x1000, 4) == b"\0\1\2\3"
    assert part.code(0x1FFE, 4) is None


# --- the kernel ---

KALLSYMS = """\
0000000000001000 T _text
0000000000001000 t __pi__text
0000000000002000 T _stext
0000000000002000 T __irqentry_text_start
0000000000002000 t first
0000000000002040 T __pi_memcpy
0000000000002040 T __memcpy
0000000000002040 W memcpy
0000000000002100 t static_one.isra.0
0000000000002180 D _etext
0000000000002180 d not_text
0000000000005000 t tee_open\t[tee]
0000000000005040 T tee_close\t[tee]
0000000000006000 d tee_data\t[tee]
0000000000007000 t optee_open\t[optee]
"""
SECTIONS = """\
tee .text 0x0000000000005000
tee .exit.text 0x0000000000005080
tee .init.text 0x0000000000007000
optee .plt 0x0000000000006f00
optee .text 0x0000000000007000
optee .data 0x0000000000007080
"""


def test_kernel_and_modules_apart() -> None:
    """If this fails, a module's functions are the kernel's, or a data symbol is a function."""
    tables = kernel_tables(KALLSYMS, SECTIONS)
    assert sorted(tables) == ["linux", "linux:optee", "linux:tee"]
    linux = named(tables["linux"])
    assert {name: (one.start, one.size) for name, one in linux.items()} == {
        "_text": (0x1000, 0x1000),
        "first": (0x2000, 0x40),
        "memcpy": (0x2040, 0xC0),
        "static_one.isra.0": (0x2100, 0x80),
    }
    assert tables["linux"].lookup(0x2180) is None
    tee = tables["linux:tee"]
    assert tee.lookup(0x507F) == Symbol("tee_close", "linux:tee", "", 0x5040, 0x3F, 0x40)
    # Bounded by the module's next section; a section given back after start-up has no part in it.
    assert tee.lookup(0x5080) is None
    assert tee.bounds == (0x5000, 0x5080)
    assert {name: one.size for name, one in named(tables["linux:optee"]).items()} == {".plt": 0x100, "optee_open": 0x80}


def test_a_kernel_that_hides_its_addresses_is_told() -> None:
    """If this fails, all of Linux is one function at address 0."""
    hidden = "\n".join("0" * 16 + line[16:] for line in KALLSYMS.splitlines())
    with pytest.raises(WorldwiseError, match="gives no addresses") as caught:
        kernel_tables(hidden, "")
    assert "kptr_restrict" in caught.value.hint


@pytest.mark.parametrize(
    ("names", "best"),
    [
        ([("__libc_malloc", True), ("malloc", True), ("__malloc", False)], "malloc"),
        ([("static_name", False), ("__global", True)], "__global"),
        ([("__sched_text_start", True), ("schedule_common", False)], "schedule_common"),
        ([("__pi_strlen", True), ("strlen", False)], "strlen"),
        ([("zz", True), ("aa", True)], "aa"),
    ],
)
def test_of_several_names_one_is_chosen(names: list[tuple[str, bool]], best: str) -> None:
    """If this fails, a table shows one function under another name on another day."""
    candidates = [Candidate(*one) for one in names]
    assert best_name(candidates) == best
    assert best_name(candidates[::-1]) == best


# --- where images are ---


def image_of(seed: int, pages: int = 4, start: int = 0) -> SymbolTable:
    """An image of random code, one function."""
    code = random.Random(seed).randbytes(pages * 0x1000)
    return SymbolTable(f"image{seed}", [Function("f", start, len(code))], [(start, code)])


def executed(table: SymbolTable, bias: int, count: int, step: int = 4, start: int = 0) -> dict[int, bytes]:
    """Instructions that ran, as they are in the image."""
    addresses = range(table.bounds[0] + start, table.bounds[0] + start + count * step, step)
    found = {at + bias: table.code(at, 4) for at in addresses}
    return {pc: code for pc, code in found.items() if code is not None}


def test_an_image_is_found_by_what_it_executed() -> None:
    """If this fails, a TA's instructions have no names, or the wrong ones."""
    ta, ldelf = image_of(1), image_of(2)
    ran = executed(ta, 0x40017000, 40, step=52) | executed(ldelf, 0x40007000, 40, step=60)
    assert find_bias(ta, ran) == 0x40017000
    assert find_bias(ldelf, ran) == 0x40007000
    assert find_bias(image_of(3), ran) is None


def test_an_image_is_not_guessed() -> None:
    """If this fails, a few instructions that all programs have decide where an image is."""
    ta = image_of(1)
    assert find_bias(ta, executed(ta, 0x40017000, 15)) is None
    assert find_bias(ta, executed(ta, 0x40017000, 16)) == 0x40017000
    assert find_bias(ta, executed(ta, 0x40017000, 40) | executed(ta, 0x40027000, 40)) is None
    # One instruction inside the image that is not the image's.
    ran = executed(ta, 0x40017000, 40)
    ran[0x40017000 + 0x2000] = bytes(4)
    assert find_bias(ta, ran) is None
    # The same code over and over fits anywhere.
    same = SymbolTable("same", [], [(0, b"\x1f\x20\x03\xd5" * 0x1000)])
    assert find_bias(same, {0x40000000 + 4 * n: b"\x1f\x20\x03\xd5" for n in range(400)}) is None


def test_floating_images_are_mapped_where_they_are() -> None:
    """If this fails, ldelf's or the TA's addresses stay unknown although they were found."""
    user = Level("secure", 0)
    ldelf, ta = image_of(1), image_of(2)
    space = AddressSpace({user: [ldelf, ta]})
    assert space.lookup(user, 0x40008000) is None
    assert space.locate(user, executed(ldelf, 0x40007000, 40)) == ["image1"]
    assert space.locate(user, executed(ta, 0x40017000, 40)) == ["image1", "image2"]
    assert space.locate(user, {}) == ["image1", "image2"]
    assert space.lookup(user, 0x40008000) == Symbol("f", "image1", "", 0x40007000, 0x1000, 0x4000)
    assert space.image(user, 0x40017000) == "image2"
    assert space.lookup(Level("secure", 1), 0x40008000) is None
    assert space.locate(Level("secure", 1), {}) == []


def test_contexts_do_not_mix() -> None:
    """If this fails, one process's addresses are named by another's programs."""
    first, second = Level("normal", 0, "optee-client"), Level("normal", 0, "linux-bench")
    one, two = image_of(1, start=0x400000), image_of(2, start=0x400000)
    space = AddressSpace()
    space.map(first, *one.bounds, 0, one)
    space.map(second, *two.bounds, 0, two)
    space.map(second, *two.bounds, 0, two)
    found = [space.lookup(context, 0x400010) for context in (first, second, Level("normal", 0, "init"))]
    assert [symbol.image if symbol else "" for symbol in found] == ["image1", "image2", ""]
    code = one.code(0x400010, 4)
    assert code
    assert space.verify(first, 0x400010, code) is True
    assert space.verify(second, 0x400010, code) is False
    assert space.verify(second, 0x500000, code) is None
    assert space.contexts() == [second, first]
    with pytest.raises(WorldwiseError, match=r"image1 at 0x401000-0x405000 lies on image2"):
        space.map(second, 0x401000, 0x405000, 0x1000, one)


def test_linux_has_no_bytes_to_compare_with() -> None:
    """If this fails, code that Linux changed as it booted counts as wrong."""
    space = AddressSpace()
    table = kernel_tables(KALLSYMS, SECTIONS)["linux"]
    space.map(Level("normal", 1), *table.bounds, 0, table)
    assert space.verify(Level("normal", 1), 0x2000, b"\0\0\0\0") is None
    assert space.lookup(Level("normal", 1), 0x2000)


# --- what the machine says ---

PROCESSES = """\
process 1 init
5000000000-5000002000 r-xp 00000000 00:02 15                             /init
500001f000-5000020000 r--p 0000f000 00:02 15                             /init
fffff7ffa000-fffff7ffc000 r-xp 00000000 00:00 0                          [vdso]
process 9 kworker/0:0-events
program 121 optee-client
fffff7dd0000-fffff7f6c000 r-xp 00010000 00:02 18                         /lib/libc.so.6
"""


def test_processes_and_their_programs() -> None:
    """If this fails, a process has no addresses, or those of the one before it."""
    assert list(read_processes(PROCESSES)) == [
        ("init", [(0x5000000000, 0x5000002000, 0, "/init"), (0xFFFFF7FFA000, 0xFFFFF7FFC000, 0, "[vdso]")]),
        ("kworker/0:0-events", []),
        ("optee-client", [(0xFFFFF7DD0000, 0xFFFFF7F6C000, 0x10000, "/lib/libc.so.6")]),
    ]
    assert list(read_processes("")) == []


def test_images_are_called_what_their_users_call_them() -> None:
    """If this fails, the rules for layers do not find the client."""
    paths = ["/bin/optee-client", "/lib/libteec.so.2", "/lib/init/libc.so.6", "/lib/ld-linux-aarch64.so.1", "/init"]
    assert [image_name(path) for path in paths] == ["client", "libteec", "libc", "ld.so", "init"]


def test_where_a_mapping_puts_an_image() -> None:
    """If this fails, a library's functions are off by the page its file was mapped from."""
    table = SymbolTable("x", [], (), [(0x10E0, 0x4020E0, 0x100)])
    assert table.bias_of_mapping(0x402000, 0x1000) == 0
    assert table.bias_of_mapping(0xFFFF0000, 0x1000) == 0xFFFF0000 - 0x402000
    assert table.bias_of_mapping(0x402000, 0x4000) is None


def entry(name: str, content: bytes, mode: int = 0o100644) -> bytes:
    """One file of a cpio archive of the format newc."""
    fields = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    head += bytes(-len(head) % 4)
    return head + content + bytes(-len(content) % 4)


def test_files_of_an_initramfs(tmp_path: Path) -> None:
    """If this fails, the programs named are not those on the machine."""
    archive = tmp_path / "initramfs.cpio"
    parts = [entry(".", b"", 0o40755), entry("init", b"12345"), entry("./bin/x", b"abcd"), entry("TRAILER!!!", b"")]
    archive.write_bytes(b"".join(parts))
    assert initramfs_files(archive) == {"init": b"12345", "bin/x": b"abcd"}
    for torn in (b"", b"".join(parts[:3]), b"junk", parts[1][:60]):
        archive.write_bytes(torn)
        with pytest.raises(WorldwiseError, match=r"initramfs\.cpio is not a whole cpio archive"):
            initramfs_files(archive)


# --- names that no file has ---


def test_known_names_belong_to_one_build(built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, another version of a library is named by this one's addresses."""
    whole = SymbolTable.from_elf(built.whole, "lib", tmp_path)
    local = named(whole)["local_function"]
    build = build_id(built.stripped.read_bytes(), "lib", tmp_path)
    assert len(build) == 40
    for wanted, found in ((build, "told_name"), (build[::-1], None)):
        names = tmp_path / "names.toml"
        one = f'{{ name = "told_name", start = {local.start:#x}, size = {local.size} }}'
        names.write_text(f'[[image]]\nimage = "lib"\nbuild_id = "{wanted}"\nfunction = [{one}]\n', encoding="ascii")
        monkeypatch.setattr(names_module, "NAMES", names)
        symbol = SymbolTable.from_elf(built.stripped, "lib", tmp_path).lookup(local.start)
        assert (symbol.function if symbol else None) == found


def test_the_list_of_known_names_is_sound() -> None:
    """If this fails, an entry of the list is written wrong: two functions at one address, or none."""
    for build in ("8b2d41c4afca1937f300a4c940d60c47e428c87e", "99e2e93e34c974c1e04a66f4fc9aa4a53da3fad8"):
        functions = known_names(build)
        assert functions
        ends = [one.start + one.size for one in functions]
        assert all(one.size > 0 and one.size % 4 == 0 for one in functions)
        assert all(end <= after.start for end, after in zip(ends, functions[1:], strict=False))
    assert known_names("") == known_names("00") == []
