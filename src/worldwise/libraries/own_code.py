# SPDX-License-Identifier: BSD-2-Clause
"""A user's own code: a program that worldwise measures as it is, with the functions that are its regions.

A run keeps it as a folder of the cache, by its digest: the files of the measured machine (`files.cpio`), the orders for
what starts it (`find`, `count`), and `code.json`, which says what it is and where its regions begin.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worldwise.base import files
from worldwise.base.disk import listing_digest
from worldwise.base.errors import WorldwiseError
from worldwise.base.json_model import require_shallow
from worldwise.base.toml.toml_model import first_problem
from worldwise.lab.image import check_files
from worldwise.libraries.user_code.kinds import ARCHIVE as ARCHIVE
from worldwise.libraries.user_code.kinds import ARMV7 as ARMV7
from worldwise.libraries.user_code.kinds import ARMV8 as ARMV8
from worldwise.libraries.user_code.kinds import COUNT as COUNT
from worldwise.libraries.user_code.kinds import FIND as FIND
from worldwise.libraries.user_code.kinds import FIRMWARE as FIRMWARE
from worldwise.libraries.user_code.kinds import FIRMWARE_ELF as FIRMWARE_ELF
from worldwise.libraries.user_code.kinds import INPUTS as INPUTS
from worldwise.libraries.user_code.kinds import PROGRAM as PROGRAM
from worldwise.libraries.user_code.kinds import TA as TA
from worldwise.libraries.user_code.kinds import case_name as case_name
from worldwise.libraries.user_code.kinds import case_names as case_names

MANIFEST = "code.json"
_MOST_MANIFEST = 4 * 2**20
_MOST_FILE = 512 * 2**20
_FORMAT = 1

# No function is there: the addresses that stand for marks, by their number, begin here.
MARKED = 2**62

# What TAs ask of other TAs, which OP-TEE's core does in functions of its own: they stand for it in that order.
TA_CALLS = 2**63
OPENS, INVOKES, CLOSES = TA_FUNCTIONS = ("TEE_OpenTASession", "TEE_InvokeTACommand", "TEE_CloseTASession")

_Address = Annotated[int, Field(ge=0, lt=2**64)]
_Name = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9+.=_-]{0,199}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Region(_Part):
    """A function whose calls are measured.

    Attributes:
        function: its name in the file.
        image: the file that has it, by its path on the measured machine.
        address: where it begins.
        command: the command of the TA's calls that are meant; None for all calls.
        target: the UUID of the TA that is called, of calls that a TA makes; empty for others.
        calls: how many calls there were, in all lives of the program.
        thread: where the function is that the thread began with whose calls are meant; None for those of all threads.
        thread_name: the name that was given to the thread whose calls are meant; empty for those of all threads.
    """

    function: str
    image: str
    address: _Address
    command: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    target: Annotated[str, Field(pattern="^([0-9a-f-]{36}|unknown)?$")] = ""
    calls: Annotated[int, Field(ge=1)] = 1
    thread: _Address | None = None
    thread_name: Annotated[str, Field(max_length=15)] = ""


class Mapped(_Part):
    """Executable memory of the program: addresses begin <= pc < end have a file's bytes from `offset` on."""

    begin: _Address
    end: _Address
    offset: _Address
    path: str


class Mark(_Part):
    """A region that goes from marks in the code to others: guest/own/worldwise.h.

    Attributes:
        name: as the code has it.
        of_ta: the code is the TA's: its addresses are as it was linked.
        begins, ends: where the region begins and ends.
        function: the code has no marks: it is a function of the TA, from its begin to where its calls return.
    """

    name: str
    of_ta: bool
    begins: list[_Address]
    ends: list[_Address]
    function: bool = False


class CodeManifest(_Part):
    """`code.json`.

    Attributes:
        format: of the file.
        name: its name in cases.
        kind: what it is.
        architecture: of a program.
        loopback: its machine has a loopback interface; else it has no network.
        command: the program and its arguments.
        lives: how often it is started.
        entry: where it begins in user space.
        addresses: the functions that were asked for, in order, as the plugin is given them.
        regions: those of them that were called, by their names in cases.
        marks: those that were asked for, in the order of their pseudo-addresses from MARKED on, which stand for them in
            `addresses` and `regions`.
        mapped: where it lies in memory.
        notes: what a reader of the figures must know.
    """

    format: Literal[1]
    name: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,62}$")]
    kind: Literal["program", "ta", "firmware"]
    architecture: Literal["armv8", "armv7"] = "armv8"
    loopback: bool = False
    command: Annotated[list[str], Field(min_length=1)]
    lives: Annotated[int, Field(ge=2, le=1000)]
    entry: _Address
    addresses: list[_Address]
    regions: dict[_Name, Region]
    mapped: list[Mapped]
    marks: list[Mark] = []
    notes: list[str] = []


@dataclass(frozen=True)
class Code:
    """Own code in the cache.

    Attributes:
        folder: its folder.
        manifest: its code.json.
        text: the content of that.
        files: SHA-256 of each file, by its name.
        origin: what the user named, for messages.
    """

    folder: Path
    manifest: CodeManifest
    text: str
    files: Mapping[str, str]
    origin: Path

    @property
    def name(self) -> str:
        """Its name in cases and tables."""
        return self.manifest.name

    @property
    def digest(self) -> str:
        """SHA-256 over the names and contents of all its files."""
        return listing_digest(self.files)


def labels_of(addresses: Sequence[int], marks: Sequence[Mark]) -> tuple[str, ...]:
    """The plugin's arguments for marks, whose numbers are those of their pseudo-addresses."""
    found = []
    for place, mark in enumerate(marks):
        number = addresses.index(MARKED + place) + 1
        for key, where in (("label", mark.begins), ("unlabel", mark.ends)):
            found += [f"{'ta-' if mark.of_ta else ''}{key}={number}:{address:#x}" for address in where]
    return tuple(found)


def functions_in(addresses: Sequence[int]) -> tuple[int, ...]:
    """Those of the addresses of regions that are functions'."""
    return tuple(address for address in addresses if address < MARKED)


def inputs_digest(manifest: CodeManifest, listed: Mapping[str, str]) -> str:
    """SHA-256 of what decides what own code does, besides its own bytes; `listed` has the digests of its files.

    Arguments, files and standard input of a program; machine and end of firmware, whose addresses are its own.
    """
    if manifest.kind == FIRMWARE:
        _, machine, until, instructions = manifest.command
        given = [machine, str(until != "0x0"), instructions]
    else:
        given = [*manifest.command, str(manifest.lives), listed.get(INPUTS, "")]
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()


_brought: dict[str, Code] = {}


def find(name: str) -> Code:
    """The own code of a name. Raises WorldwiseError if none is registered."""
    if name not in _brought:
        raise WorldwiseError(
            f"the cache no longer has the own code '{files.quoted(name)}' that was measured",
            "measure it again: worldwise run --program PROGRAM",
        )
    return _brought[name]


def is_firmware(name: str) -> bool:
    """Whether a name is that of a user's own firmware."""
    return name in _brought and _brought[name].manifest.kind == FIRMWARE


def is_armv7(name: str) -> bool:
    """Whether a name is that of a user's own program for 32-bit Arm."""
    return name in _brought and _brought[name].manifest.architecture == ARMV7


def add(code: Code) -> None:
    """Register own code, until `remove`."""
    _brought[code.name] = code


def remove(name: str) -> None:
    """Unregister own code; nothing if there is none of that name."""
    _brought.pop(name, None)


def is_known(name: str) -> bool:
    """Whether own code of this name is registered."""
    return name in _brought


def is_code(folder: Path) -> bool:
    """Whether a folder of the cache has own code, and no library."""
    return (folder / MANIFEST).is_file()


def load(folder: Path, origin: Path | None = None) -> Code:
    """The own code in a folder. Raises WorldwiseError if it cannot be read."""
    path = folder / MANIFEST
    try:
        data = files.read_bytes(path, _MOST_MANIFEST, folder)
        require_shallow(data)
        manifest = CodeManifest.model_validate_json(data)
        names = sorted(one.name for one in folder.iterdir())
        listed = {name: files.sha256(folder / name, _MOST_FILE, folder)[1] for name in names}
    except ValidationError as error:
        where, problem = first_problem(error)
        raise WorldwiseError(f"{path}: {where}: {problem}.", "clean the cache, and measure it again") from None
    except (OSError, ValueError) as error:
        raise WorldwiseError(f"{path}: cannot be read: {files.quoted(str(error))}") from None
    return Code(folder, manifest, data.decode(), listed, origin or folder)


def keep(work: Path, manifest: CodeManifest, store: Path, origin: Path) -> Code:
    """Write code.json beside the files in `work`, and move all that into the cache's folder of own code."""
    (work / MANIFEST).write_text(json.dumps(manifest.model_dump(), indent=1) + "\n", encoding="utf-8")
    code = load(work, origin)
    final = store / f"{code.name}-{code.digest[:12]}"
    store.mkdir(parents=True, exist_ok=True)
    if final.exists() and check_files(final, code.files):
        files.remove(store, final.name)
    if not final.exists():
        work.rename(final)
    return load(final, origin)
