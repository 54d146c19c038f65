# SPDX-License-Identifier: BSD-2-Clause
"""What a user asks of own code, and the files that the measured machine gets for it.

All of it is a stranger's: names are checked by their form, files are read as regular files within limits, and nothing
of it runs but on the emulated machine.
"""

import hashlib
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.own_library.folder_copy import files_of
from worldwise.libraries.user_code.kinds import ARCHIVE, ARMV7, ARMV8, COUNT, FIND, INPUTS, OTHER_TA, case_name
from worldwise.machine.elf_files.questions import ask
from worldwise.targets import own_armv7
from worldwise.targets import own_code as machines
from worldwise.targets.own_code import TA_ELF, TA_UUID

if TYPE_CHECKING:
    from worldwise.run.code.application import Application

# Where the program lies, and is started, on the measured machine; and where the loader looks for libraries.
ROOM, LIBRARY_ROOM = "work", "lib"
_LOADERS = {ARMV8: "ld-linux-aarch64.so.1", ARMV7: "ld-linux-armhf.so.3"}
_PROCESSORS = {"EM_AARCH64": ARMV8, "EM_ARM": ARMV7}
DEFAULT_LIVES, MOST_LIVES = 5, 100
_MOST_BYTES, _MOST_FIRMWARE = 256 * 2**20, 64 * 2**20
_MOST_FILES, _MOST_ARGUMENTS, _MOST_ORDER = 200, 200, 60_000
# What a record stands for that a machine of Linux writes: firmware writes none.
NO_RECORDS = '{"type":"end","status":0,"idle":0}\n'
# A static program of Linux for 32-bit Arm lies from there on, and below what firmware has.
LINUX_AT = range(0x10000, 0x800_0000)
_EXECUTABLE = 1
# Of the loader's default search, and of the files of packages.
_MOST_LIBRARIES = 500
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}")
# A name of a function of C, C++ or Rust, or a shell pattern for one: no quote, no line, no path. It is compared
# with names and goes no further.
_GLOB = re.compile(r"[A-Za-z0-9_.$@~*?\[\]!+:<>(){}&,=# -]{1,200}")
_MOST_GLOBS = 100


@dataclass(frozen=True)
class Wanted:
    """What was asked for.

    Attributes:
        program: the program's file; of an application its client, by its name.
        arguments: its arguments.
        regions: patterns of the functions whose calls are measured; none for the whole program.
        lives: how often it is started.
        packages: packages of the lab whose libraries it may use, besides those that it always may.
        libraries: files of further libraries.
        files: files that it finds in its current folder.
        input: the file that is its standard input.
        name: its name in cases; empty for one made of the file's.
        thread: the function that the thread begins with whose calls are measured; empty for those of all threads.
        application: the OP-TEE application that it is the client of; None for a program.
        loopback: it finds a loopback interface; else there is no network.
    """

    program: Path
    arguments: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    lives: int = DEFAULT_LIVES
    packages: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    input: Path | None = None
    name: str = ""
    thread: str = ""
    application: "Application | None" = None
    loopback: bool = False

    @property
    def kind(self) -> Literal["program", "ta"]:
        """What it is."""
        return "ta" if self.application else "program"

    @property
    def option(self) -> str:
        """The option that named it."""
        return "--client" if self.application else "--program"

    @property
    def case_name(self) -> str:
        """Its name in cases: small letters, digits and dashes."""
        return self.name or case_name(self.program.name)

    @property
    def guest_path(self) -> str:
        """Where it is started on the measured machine."""
        return f"/{ROOM}/{self.program.name}"

    def check(self, lab: Lab) -> None:
        """Raise WorldwiseError for what no program can be asked, naming it."""
        for pattern in self.regions:
            check_glob(pattern)
        if self.thread:
            check_glob(self.thread, "--thread")
        if len(self.regions) > _MOST_GLOBS:
            raise WorldwiseError(f"--region: {len(self.regions)} patterns. Allowed: up to {_MOST_GLOBS}.")
        for package in self.packages:
            check_package(package, lab)
        if not re.fullmatch("[a-z0-9][a-z0-9-]{0,62}", self.case_name):
            raise WorldwiseError(
                f"'{files.quoted(self.case_name)}' cannot be the name of a case.",
                "give one of small letters, digits and dashes: --name NAME",
            )
        for word in self.arguments:
            if "\0" in word:
                raise WorldwiseError("an argument of the program has a zero byte in it")
        if len(self.arguments) > _MOST_ARGUMENTS or sum(len(one.encode()) + 1 for one in self.arguments) > _MOST_ORDER:
            raise WorldwiseError(
                f"the program has {len(self.arguments)} arguments. Allowed: up to {_MOST_ARGUMENTS}, and "
                f"{_MOST_ORDER:,} bytes.",
                "put them into a file: --file FILE",
            )


def check_glob(pattern: str, option: str = "--region") -> None:
    """Raise WorldwiseError for what is no name of a function and no pattern for one."""
    if not _GLOB.fullmatch(pattern):
        raise WorldwiseError(
            f"{option} '{files.quoted(pattern)}' is neither a function's name nor a pattern for one.",
            "such as crypto_sign, 'EVP_DigestSign*' or 'ns::Class::method'",
        )


def check_machine(machine: str) -> None:
    """Raise WorldwiseError, which lists all, for what is no machine that firmware can start on."""
    if machine not in machines.M_MACHINES:
        listed = ", ".join(f"{name} ({what.partition(',')[0]})" for name, what in machines.M_MACHINES.items())
        raise WorldwiseError(
            f"--machine '{files.quoted(machine)}' is not known. Allowed: {listed}.",
            did_you_mean(machine, machines.M_MACHINES) or "docs/use/your-code.md has the memory of each",
        )


def first_code(segments: Iterable[tuple[int, int, int, int, int]]) -> int:
    """The lowest address at which an ELF file has code, by its segments; 0 if it has none."""
    return min((at for _, size, _, at, flags in segments if size and flags & _EXECUTABLE), default=0)


def require_linux(content: bytes, program: Path) -> None:
    """Raise WorldwiseError for firmware where a program of Linux for 32-bit Arm is meant."""
    (kind, _, _, loader, *_), segments = ask(content, ("program",), ("segments",), what=f"{program}")
    least = first_code(segments)
    if not loader and least not in LINUX_AT and kind == "ET_EXEC":
        raise WorldwiseError(
            f"{program} has its code at {least:#x}, where firmware has it, and no program of Linux.",
            "name the machine of QEMU that it starts on: `exec --machine mps2-an386`, or "
            "`run --firmware FILE --machine mps2-an386`",
        )


def read_firmware(elf: Path, option: str = "") -> bytes:
    """The content of firmware's ELF file. Raises WorldwiseError, with `option` before its name, for another file."""
    try:
        content = files.read_bytes(elf.resolve(), _MOST_FIRMWARE)
    except OSError as error:
        raise WorldwiseError(f"{option}{elf}: cannot be read: {error.strerror}.") from None
    kind, processor, *_ = ask(content, ("program",), what=f"{option}{elf}")[0]
    if (kind, processor) != ("ET_EXEC", "EM_ARM"):
        raise WorldwiseError(
            f"{option}{elf}: is no linked program for 32-bit Arm: {kind}, {processor}.",
            "link it with arm-none-eabi-gcc (worldwise lab enter has it); a .bin or .hex file has no symbols",
        )
    return content


def check_package(package: str, lab: Lab) -> None:
    """Raise WorldwiseError for a package that the lab does not have for the measured machines."""
    there = sorted(one.name for one in lab.lock.target if one.architecture == "arm64")
    if not _PACKAGE.fullmatch(package) or package not in there:
        raise WorldwiseError(
            f"--package '{files.quoted(package)}' is not among the lab's packages for the measured machine.",
            f"it has {', '.join(there)}; a library of another package: --library FILE",
        )


def pack(wanted: Wanted, images: ImageStore, work: Path) -> dict[str, bytes]:
    """Write what the measured machine gets into a folder: the archive and both orders. Returns the archive's files.

    Raises WorldwiseError for a file that is missing, is no program of this machine, or needs a library that nobody has.
    """
    option = wanted.option
    program = wanted.application.client if wanted.application else read_given(wanted.program, option)
    kind, processor, _, loader, _, folders = ask(program, ("program",), what=f"{option} {wanted.program}")[0]
    architecture = _PROCESSORS.get(processor, "")
    if not architecture or kind not in ("ET_EXEC", "ET_DYN") or (wanted.application and architecture != ARMV8):
        of = {"EM_ARM": "32-bit Arm", "EM_X86_64": "x86-64"}.get(processor, processor)
        raise WorldwiseError(
            f"{wanted.program} is no program for AArch64{'' if wanted.application else ' or Armv7'}: {kind}, {of}.",
            "compile it with aarch64-linux-gnu-gcc (worldwise lab enter has it)",
        )
    if architecture == ARMV7:
        require_linux(program, wanted.program)
    known = _LOADERS[architecture]
    if loader and (loader.rpartition("/")[2] != known or files.path_problem(loader.lstrip("/"))):
        raise WorldwiseError(
            f"{option} {wanted.program} asks for the loader {files.quoted(loader)}: the lab has glibc's {known}.",
            "link the program statically",
        )
    if wanted.packages and architecture == ARMV7:
        raise WorldwiseError(
            "--package: for 32-bit Arm the lab has the C library and the compiler's own, and no package besides.",
            "give the library's file, such as that of Debian's armhf package: --library FILE",
        )
    content: dict[str, bytes] = {f"{ROOM}/{wanted.program.name}": program}
    if wanted.application:
        content |= wanted.application.guest_files
        (work / TA_ELF).write_bytes(wanted.application.elf)
        (work / TA_UUID).write_text(wanted.application.uuid, encoding="ascii")
        for other in wanted.application.others:
            (work / f"{OTHER_TA}{other.uuid}.elf").write_bytes(other.elf)
    brought: list[tuple[str, bytes]] = []
    for path in wanted.files:
        for name, data in files_below(path):
            add_file(content, f"{ROOM}/{name}", data, path)
            brought.append((name, data))
    if wanted.input:
        content["input"] = read_given(wanted.input, "--input")
    given = {path.name: read_given(path, "--library") for path in wanted.libraries}
    if loader:
        room = next(filter(None, map(_room_of, folders)), LIBRARY_ROOM)
        content |= _libraries(program, wanted, given, images, loader, room, architecture)
    size = sum(map(len, content.values()))
    if len(content) > _MOST_FILES + _MOST_LIBRARIES or size > _MOST_BYTES:
        raise WorldwiseError(
            f"the program and its files are {len(content)} files of {files.size_words(size)}. Allowed: up to "
            f"{_MOST_FILES}, and {_MOST_BYTES // 2**20} MiB.",
            "strip unused code, or measure a smaller input",
        )
    loaders = (name for name in content if name.endswith(known))
    (work / ARCHIVE).write_bytes(archive(content, {f"{ROOM}/{wanted.program.name}", *loaders}))
    brought += [("", content["input"])] if wanted.input else []
    text = "".join(f"{hashlib.sha256(data).hexdigest()} {name}\n" for name, data in sorted(brought))
    (work / INPUTS).write_text(text, encoding="utf-8")
    write_order(work, FIND, wanted, 1)
    write_order(work, COUNT, wanted, wanted.lives)
    return content


def write_order(work: Path, what: str, wanted: Wanted, lives: int) -> None:
    """Write the file `what` into a folder: the order of that name for guest/own/launch.c."""
    # The program's words come first, so that they lie where they lie in every other order.
    words = [wanted.guest_path, *wanted.arguments, what, str(lives)]
    (work / what).write_bytes(b"".join(word.encode() + b"\0" for word in words))


def architecture_of(content: Mapping[str, bytes], wanted: Wanted) -> Literal["armv8", "armv7"]:
    """The architecture of the program among files that `pack` has made."""
    processor = ask(content[f"{ROOM}/{wanted.program.name}"], ("program",), what=f"{wanted.program}")[0][1]
    return "armv7" if _PROCESSORS[processor] == ARMV7 else "armv8"


def add_file(content: dict[str, bytes], name: str, data: bytes, path: Path) -> None:
    """Add a file to what a program is given. Raises WorldwiseError if its place is taken."""
    # A file cannot be where a folder is.
    if any(one == name or one.startswith(f"{name}/") or name.startswith(f"{one}/") for one in content):
        raise WorldwiseError(f"{path}: another file has the name '{files.quoted(path.name)}'", "rename one of them")
    content[name] = data


def files_below(path: Path) -> Iterator[tuple[str, bytes]]:
    """What a user named with --file, by its path for the program: a file, or all of a folder but what is hidden."""
    if not path.is_dir():
        yield path.name, read_given(path, "--file")
        return
    size = 0
    for number, (relative, source) in enumerate(files_of(path)):
        name = f"{path.resolve().name}/{relative}"
        if problem := files.path_problem(name):
            raise WorldwiseError(f"--file {path}: {problem}.", "rename it")
        size += source.stat().st_size
        if number == _MOST_FILES or size > _MOST_BYTES:
            raise WorldwiseError(
                f"--file {path}: has more than {_MOST_FILES} files, or {_MOST_BYTES // 2**20} MiB.",
                "give a folder with those alone that it reads",
            )
        yield name, read_given(source, "--file")


def read_given(path: Path, option: str) -> bytes:
    """The content of a file that a user named. Raises WorldwiseError, with the option that named it."""
    problem = files.name_problem(path.name)
    if problem:
        raise WorldwiseError(f"{option}: {problem}.", "rename it")
    try:
        # A link is followed: whoever typed it means what it leads to.
        if not stat.S_ISREG(path.stat().st_mode):
            raise WorldwiseError(f"{option} {path}: is not a file.")
        return files.read_bytes(path.resolve(), _MOST_BYTES)
    except OSError as error:
        raise WorldwiseError(f"{option} {path}: cannot be read: {error.strerror or error}.") from None


def _libraries(
    program: bytes,
    wanted: Wanted,
    given: Mapping[str, bytes],
    images: ImageStore,
    loader: str,
    room: str,
    architecture: str,
) -> dict[str, bytes]:
    """The libraries that the program needs, and those that it was given, at their places; and the loader."""
    packages = list(dict.fromkeys((*machines.LIBRARIES, *wanted.packages)))
    recipe, has = machines.libraries(packages), f"the packages {', '.join(packages)} have it"
    if architecture == ARMV7:
        recipe, has = own_armv7.libraries(), "the lab's C library for 32-bit Arm has it"
    image, known = images.get(recipe), _LOADERS[architecture]
    found: dict[str, bytes] = {loader.lstrip("/"): image.file(known).read_bytes()}
    # What was given may be loaded by name, so it is there without being asked for.
    todo = [(name, wanted.program.name) for name in given]
    todo += _needs(program, wanted.program.name)
    while todo:
        name, needed_by = todo.pop()
        place = f"{room}/{name}"
        if place in found or name == known:
            continue
        if name not in given and (name not in image.files or files.name_problem(name)):
            raise WorldwiseError(
                f"{files.quoted(needed_by)} needs the library {files.quoted(name)}, and neither --library nor {has}.",
                "--package NAME for another of the lab's packages, --library FILE for the file itself; in a "
                "worldwise.toml `packages` and `libraries`",
            )
        found[place] = given[name] if name in given else image.file(name).read_bytes()
        todo += _needs(found[place], name)
    return found


def _room_of(folder: str) -> str:
    """Where the program itself looks for libraries first, as a folder of the archive; empty if that cannot be one."""
    place = folder.replace("$ORIGIN", f"/{ROOM}").replace("${ORIGIN}", f"/{ROOM}")
    good = place.startswith("/") and not files.path_problem(place.strip("/")) and place.strip("/")
    return place.strip("/") if good else ""


def _needs(content: bytes, name: str) -> list[tuple[str, str]]:
    (answer,) = ask(content, ("program",), what=f"the library {files.quoted(name)}")
    return [(needed, name) for needed in answer[4]]


def archive(content: Mapping[str, bytes], executable: Iterable[str]) -> bytes:
    """A cpio archive of the format newc, with folders before what is in them; the same bytes for the same content."""
    programs = set(executable)
    folders = {"/".join(name.split("/")[:end]) for name in content for end in range(1, name.count("/") + 1)}
    parts = [_entry(name, 0o040755, b"", number) for number, name in enumerate(sorted(folders), 1)]
    for number, (name, data) in enumerate(sorted(content.items()), len(folders) + 1):
        parts.append(_entry(name, 0o100755 if name in programs else 0o100644, data, number))
    parts.append(_entry("TRAILER!!!", 0, b"", 0))
    return b"".join(parts)


def _entry(name: str, mode: int, data: bytes, number: int) -> bytes:
    words = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(words), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + words
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
