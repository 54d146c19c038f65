# SPDX-License-Identifier: BSD-2-Clause
"""OP-TEE applications: a client and a TA, built as OP-TEE's examples are, or ready-made.

The build is a stranger's: it runs in the sandbox of every build, on a copy of the folders, without a network.
"""

import itertools
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import Image, ImageStore, Recipe
from worldwise.lab.sandbox.identity import require_confinement
from worldwise.libraries.own_code import case_name
from worldwise.libraries.own_library.folder_copy import copy_folder
from worldwise.libraries.stacks import in_use
from worldwise.libraries.user_code import build_systems
from worldwise.libraries.user_code.kinds import TA_ARM32, TA_ARM64
from worldwise.targets import own_code as machines

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SAYS = "worldwise: "
# The head of a signed TA: magic, kind, size of the image, algorithm, sizes of the digest and of the signature.
_HEAD = struct.Struct("<IIIIHH")
_MAGIC, _PLAIN, _SIGNED, _ENCRYPTED = 0x4F545348, 0, 1, 2
# A TA that the supplicant loads has its UUID and its version behind the signature.
_BOOTSTRAP = 20
# Where an ELF file says of how many bits it is, and for which processor; and what OP-TEE loads on this core: A64 code,
# and A32 and T32 code, each in a file of its own bits.
_ELF_CLASS, _ELF_MACHINE = 4, 18
_TARGETS = {(2, 183): TA_ARM64, (1, 40): TA_ARM32}
# What a sentence says of a TA of each target.
_BITS = {TA_ARM64: "", TA_ARM32: " for 32 bits (ta_arm32)"}
_MOST_TA = 64 * 2**20
_BUILD_IT = "build the client yourself: --client PROGRAM beside --ta UUID.ta"
_STRICTER = r"error: .*\[-W(incompatible-pointer-types|implicit-function-declaration|int-conversion|implicit-int)\]"
# Messages of a build of older code, and the way out; the first that comes is reported.
# A folder beside the one that is built, as its makefiles and files name it.
_BESIDE = r"(?<![\w.])(?:\./)?\.\./([A-Za-z0-9][A-Za-z0-9._-]*)"
_OLDER_API = (
    "the TA is for the API of OP-TEE up to 3.19: CFG_TA_OPTEE_CORE_API_COMPAT_1_1 = y in its Makefile, before the "
    "line that includes ta_dev_kit.mk, gives it that one"
)
_WAYS = (
    (
        "Relocations in generic ELF|file in wrong format|[Ii]ncompatible target",
        "an object file in the folder was built for another processor, and make takes it for new: remove it, as "
        "`make clean` does",
    ),
    (
        "has no member named .(keySize|maxKeySize)\\b",
        _OLDER_API,
    ),
    # Lengths were uint32_t: what warns alone would let TEE_MACComputeFinal write eight bytes over four.
    ("/tee_internal_api.h:.*expected .size_t \\*.*argument is of type .uint32_t \\*", _OLDER_API),
    (
        _STRICTER,
        "GCC 14 takes for an error what older ones warned of: mend the line, or {}, in cflags-y of sub.mk for the TA "
        "and in CFLAGS of its Makefile for the client",
    ),
)
_LEVELS = ("0 nothing", "1 errors", "2 warnings", "3 debug", "4 all")


@dataclass(frozen=True)
class Application:
    """A client and a TA that are ready to be brought.

    Attributes:
        client: the client's program.
        name: its name.
        ta: the signed TA.
        elf: the TA's ELF file, with its symbols if it has such.
        uuid: the TA's.
        words: how both came to be, for a reader of the figures.
        target: what the TA is built for, one of TA_TARGETS.
        others: further TAs, which this one or the client calls: each as an application with the same client.
    """

    client: bytes
    name: str
    ta: bytes
    elf: bytes
    uuid: str
    words: str
    target: str = TA_ARM64
    others: "tuple[Application, ...]" = ()

    @property
    def guest_files(self) -> dict[str, bytes]:
        """The files of the measured machine besides the client."""
        return {f"{machines.TA_ROOM}/{one.uuid}.ta": one.ta for one in (self, *self.others)}


def application(
    ta: Path,
    client: Path,
    level: int | None,
    images: ImageStore,
    others: Sequence[Path] = (),
    target: str | None = None,
    beside: Sequence[Path] = (),
) -> Application:
    """The application in two folders, which is built, or in two files; `others` are further TAs.

    `beside` are further folders, which lie beside those two where they are built: `../lua` leads there. `target` is
    what TAs are built for, one of TA_TARGETS; None for ta_arm64, and for what a ready-made one is.

    Raises WorldwiseError.
    """
    found = _one(ta, client, level, images, target, beside)
    besides: dict[str, Application] = {}
    for path in others:
        one = built_alone(path, level, images, target, beside) if path.is_dir() else _ready_alone(path)
        if one.uuid in (found.uuid, *besides):
            raise WorldwiseError(f"--other-ta {path}: another TA has the UUID {one.uuid} too.", "leave it out")
        besides[one.uuid] = one
    return replace(found, others=tuple(besides.values()))


def _one(
    ta: Path, client: Path, level: int | None, images: ImageStore, target: str | None, beside: Sequence[Path]
) -> Application:
    if ta.is_dir() != client.is_dir():
        raise WorldwiseError(
            f"--ta {ta} and --client {client}: one is a folder and the other a file.",
            "two folders, which are built, or UUID.ta and a program, which are ready",
        )
    if ta.is_dir():
        return _built(ta, client, level, images, target or TA_ARM64, beside)
    for option, given in (("--log-level", level), ("--ta-target", target), ("--beside", beside or None)):
        if given is not None:
            raise WorldwiseError(
                f"{option} is for a TA that is built: this one is ready-made.", "leave it out, or name its folder"
            )
    return _ready(ta, client)


def _built(
    ta: Path, client: Path, level: int | None, images: ImageStore, target: str, beside: Sequence[Path]
) -> Application:
    build_file = _client_built_by(ta, client)
    beside = _without(beside, ta, client)
    for path in (ta, client):
        require_confinement(f"the code in {path}")
    _require_own_names({"--ta": (ta,), "--client": (client,), "--beside": beside})
    names = [_build_name(path) for path in (ta, client)]
    builders = build_systems.build_systems(images.notify, _BUILD_IT) if build_file != build_systems.MAKE else None
    store = images.lab.cache / "own"
    copies = [copy_folder(path, f"source-{case_name(path.resolve().name)}", store)[0] for path in (ta, client)]
    recipe = machines.application(
        names[0], copies[0], names[1], copies[1], level, build_file, builders, target, _copies(beside, store)
    )
    try:
        image = images.get(recipe)
    except WorldwiseError as error:
        raise build_error(error, ta, client, recipe, beside) from error
    uuid = _built_uuid(image, ta)
    said, name, built = (_line(image, file) for file in ("level", "name", "built"))
    if files.name_problem(name) or not re.fullmatch("[0-4]", said):
        raise WorldwiseError(f"{client}: its build left a name that no program can have: {files.quoted(name)}")
    used = in_use.current()
    kit = "the stack's" if used and used.tree else "OP-TEE 4.10's"
    words = f"built in the sandbox with {kit} TA dev kit{_BITS[target]}, {level_words(said, level is not None)}"
    words += f"; the client {files.quoted(built)}" if builders else ""
    client_bytes, ta_bytes, elf = (files.read_bytes(image.file(one), _MOST_TA) for one in ("client", "ta", "ta.elf"))
    return Application(client_bytes, name, ta_bytes, elf, uuid, words, target)


def level_words(level: str, is_asked: bool) -> str:
    """Which messages a TA has, and by whom."""
    words = f"CFG_TEE_TA_LOG_LEVEL={level} ({_LEVELS[int(level)][2:]}, by "
    words += "--log-level)" if is_asked else "the TA's Makefile)"
    return words if level == "0" else f"{words}; --log-level 0 leaves out the cost of its messages"


def _require_own_names(folders: Mapping[str, Sequence[Path]]) -> None:
    """Raise WorldwiseError if two folders, by their options, have one name, or one of them is no folder."""
    seen: dict[str, str] = {}
    for option, paths in folders.items():
        for path in paths:
            if not path.is_dir():
                raise WorldwiseError(f"{option} {path}: there is no such folder.")
            name = _build_name(path)
            if name in seen:
                raise WorldwiseError(f"{seen[name]} and {option} {path}: both folders are named {name}.", "rename one")
            seen[name] = f"{option} {path}"


def _without(beside: Sequence[Path], *built: Path) -> list[Path]:
    """The folders that lie beside those which are built. Of several TAs one may need the other's folder beside it."""
    own = {os.path.realpath(path) for path in built}
    return [path for path in beside if os.path.realpath(path) not in own]


def _copies(beside: Sequence[Path], store: Path) -> dict[str, Path]:
    """Copies of folders that lie beside those which are built, by their names there."""
    for path in beside:
        require_confinement(f"the code in {path}")
    return {
        _build_name(path): copy_folder(path, f"source-{case_name(path.resolve().name)}", store)[0] for path in beside
    }


def _client_built_by(ta: Path, client: Path) -> str:
    """The file by which the client is built. Raises WorldwiseError if it has none, or the TA no Makefile."""
    _require_makefile(ta)
    if found := build_systems.build_file(client):
        return found
    above = client.resolve().parent
    higher = next((name for name in (build_systems.CMAKE, build_systems.MESON) if (above / name).is_file()), "")
    raise WorldwiseError(
        f"{client}/Makefile: is not there, and neither CMakeLists.txt nor meson.build.",
        f"the folder above has {higher}: --client {client.parent}" if higher else _BUILD_IT,
    )


def _require_makefile(ta: Path) -> None:
    if build_systems.build_file(ta) != build_systems.MAKE:
        raise WorldwiseError(
            f"{ta}/Makefile: is not there. OP-TEE's TA dev kit builds TAs with make alone.",
            "a Makefile as optee_examples has it, with BINARY and ta_dev_kit.mk; or a built one: --ta UUID.ta",
        )


def _build_name(path: Path) -> str:
    """How a folder is called where it is built. Raises WorldwiseError."""
    name = path.resolve().name
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise WorldwiseError(
            f"{path}: '{files.quoted(name)}' cannot be the name of a folder that is built.",
            "a name of letters, digits, '.', '_' and '-'",
        )
    return name


def _built_uuid(image: Image, ta: Path) -> str:
    """The UUID of a TA that was built. Raises WorldwiseError."""
    uuid = _line(image, "uuid")
    if not _UUID.fullmatch(uuid):
        raise WorldwiseError(
            f"{ta}: its TA is named '{files.quoted(uuid)}', and that is no UUID.", "BINARY in Makefile"
        )
    return uuid


def _line(image: Image, name: str) -> str:
    return files.read_bytes(image.file(name), 4096, image.directory).decode("utf-8", "replace").strip()


def build_error(
    error: WorldwiseError, ta: Path, client: Path, recipe: Recipe, beside: Sequence[Path] = ()
) -> WorldwiseError:
    """What a user reads about a build that failed: the script's own word, and what the compiler said before."""
    lines = error.details.splitlines()
    says = [line.removeprefix(_SAYS) for line in lines if line.startswith(_SAYS)]
    if not says:
        return WorldwiseError(f"{recipe.name}: {error.message}", error.hint, error.details)
    wrong = [line for line in lines if "error:" in line or "fatal:" in line or "***" in line or "undefined" in line]
    missing = next((match for line in wrong if (match := re.search(r"fatal error: (\S+): No such file", line))), None)
    hint = "; ".join(filter(None, ("the end of its output is above", error.hint)))
    if first := next((line for line in wrong if "error:" in line or "undefined reference" in line), None):
        hint = f"first: {files.quoted(first.strip())}; {hint}"
    if way := next((way for sign, way in _WAYS if any(re.search(sign, line) for line in lines)), ""):
        named = dict.fromkeys(re.findall(_STRICTER, "\n".join(wrong)))
        hint = way.format(" ".join(f"-Wno-error={one}" for one in named))
    if missing:
        name = files.quoted(missing[1])
        hint = f"{name} is in neither folder, the TA dev kit, libteec nor the lab: put it into the folder"
        hint += f", or {_BUILD_IT}" if "client" in says[-1] else ""
    if absent := _left_at_home(lines, {ta, client}, beside):
        hint = f"{absent[0].name} lies beside {absent[1]}, and not beside its copy: --beside {absent[0]} brings it"
    if any("cc1plus" in line or "g++: No such file" in line or "g++: not found" in line for line in lines):
        hint = f"the lab has no compiler for C++ on AArch64: {_BUILD_IT}"
    details = "\n".join(line for line in lines if not line.startswith((_SAYS, "== ")))
    return WorldwiseError(f"{says[-1]} ({ta}, {client})", hint, details)


def _left_at_home(lines: Sequence[str], built: set[Path], beside: Sequence[Path]) -> tuple[Path, Path] | None:
    """A folder that a build sought beside the one that is built, and which is there; and that one. None if none is."""
    brought = {path.resolve() for path in (*built, *beside)}
    for line in lines:
        # GCC names one that it seeks headers in, make a file in one.
        if "No such file" in line or "No rule to make target" in line:
            for name, path in itertools.product(re.findall(_BESIDE, line), sorted(built)):
                there = path.resolve().parent / name
                if there.is_dir() and there.resolve() not in brought:
                    return path.parent / name, path
    return None


def built_alone(
    ta: Path, level: int | None, images: ImageStore, target: str | None, beside: Sequence[Path] = ()
) -> Application:
    """A further TA, which is built."""
    _require_makefile(ta)
    require_confinement(f"the code in {ta}")
    beside = _without(beside, ta)
    name = _build_name(ta)
    _require_own_names({"--other-ta": (ta,), "--beside": beside})
    store = images.lab.cache / "own"
    copy = copy_folder(ta, f"source-{case_name(name)}", store)[0]
    others = _copies(beside, store)
    recipe = machines.application(name, copy, "", None, level, target=target or TA_ARM64, beside=others)
    try:
        image = images.get(recipe)
    except WorldwiseError as error:
        raise build_error(error, ta, ta, recipe, beside) from error
    signed, elf = (files.read_bytes(image.file(one), _MOST_TA) for one in ("ta", "ta.elf"))
    return Application(b"", "", signed, elf, _built_uuid(image, ta), "", target or TA_ARM64)


def _ready_alone(ta: Path) -> Application:
    """A further TA, in a file."""
    found = _ready(ta, ta, "--other-ta")
    return replace(found, client=b"", name="")


def _ready(ta: Path, client: Path, option: str = "--ta") -> Application:
    uuid = ta.name.removesuffix(".ta")
    if not ta.name.endswith(".ta") or not _UUID.fullmatch(uuid):
        raise WorldwiseError(
            f"{option} {ta}: a ready-made TA is named UUID.ta: that is how tee-supplicant finds it.",
            "such as 8aaaf200-2450-11e4-abe2-0002a5d5c51b.ta; or name the TA's folder, and it is built",
        )
    try:
        signed, program = (files.read_bytes(path.resolve(), _MOST_TA) for path in (ta, client))
    except OSError as error:
        raise WorldwiseError(f"{error.filename}: cannot be read: {error.strerror}") from None
    elf = elf_of(signed, ta)
    target = _TARGETS[_class_of(elf)]
    words = f"ready-made: worldwise built neither {ta.name}{_BITS[target]} nor {client.name}"
    if (said := _signed_uuid(signed)) not in ("", uuid):
        raise WorldwiseError(
            f"{option} {ta}: was signed as {said}, so OP-TEE refuses it under this name.", f"rename it to {said}.ta"
        )
    return Application(program, client.name, signed, elf, uuid, words, target)


def _signed_uuid(signed: bytes) -> str:
    """The UUID that a TA was signed with; empty for one that has none in its head. It is one that `elf_of` takes."""
    _, kind, _, _, digest, signature = _HEAD.unpack_from(signed)
    at = _HEAD.size + digest + signature
    return str(UUID(bytes=signed[at : at + 16])) if kind == _SIGNED else ""


def elf_of(signed: bytes, ta: Path) -> bytes:
    """The ELF file in a signed TA. Raises WorldwiseError if the file is not a TA, or encrypted."""
    try:
        magic, kind, size, _, digest, signature = _HEAD.unpack_from(signed)
    except struct.error:
        magic = kind = size = digest = signature = 0
    if magic != _MAGIC or kind not in (_PLAIN, _SIGNED, _ENCRYPTED):
        raise WorldwiseError(f"--ta {ta}: is no TA that OP-TEE loads: it does not begin as a signed one does.")
    if kind == _ENCRYPTED:
        raise WorldwiseError(f"--ta {ta}: is encrypted, so its functions have no names.", "give it signed alone")
    at = _HEAD.size + digest + signature + (_BOOTSTRAP if kind == _SIGNED else 0)
    found = signed[at : at + size]
    if len(found) != size or not found.startswith(b"\x7fELF"):
        raise WorldwiseError(f"--ta {ta}: its content is cut off, or no ELF file.")
    if _class_of(found) not in _TARGETS:
        bits, machine = _class_of(found)
        raise WorldwiseError(
            f"--ta {ta}: its code is for processor {machine} in an ELF file of class {bits}. OP-TEE loads here code "
            "for AArch64 (183) of 64 bits (class 2), and for Arm (40) of 32 bits (class 1).",
            "build it by OP-TEE's TA dev kit, export-ta_arm64 or export-ta_arm32; or --ta DIR, which builds it so",
        )
    return found


def _class_of(elf: bytes) -> tuple[int, int]:
    """Of an ELF file 1 for 32 bits and 2 for 64, and the number of its processor; another file has zeros."""
    if len(elf) < _ELF_MACHINE + 2:
        return 0, 0
    return elf[_ELF_CLASS], int.from_bytes(elf[_ELF_MACHINE : _ELF_MACHINE + 2], "little")
