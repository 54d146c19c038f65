# SPDX-License-Identifier: BSD-2-Clause
"""ELF files of 32-bit Arm, table by table, so that a test can say something false in each."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_CODE = b"code" * 4
_NAME = b"\0recurse\0"


@dataclass(frozen=True)
class Section:
    """A section: its name, kind, content, and what its header says of it."""

    name: str
    kind: int
    content: bytes
    flags: int = 0
    address: int = 0
    size: int | None = None
    link: int = 0
    entsize: int = 0


def section(name: str, kind: int, content: bytes, flags: int = 0) -> Section:
    """A section of any kind."""
    return Section(name, kind, content, flags)


def symbols(size: int | None = None, entsize: int = 16, link: int = 3, length: int = 8) -> Section:
    """A symbol table with one function, T32, at the code's beginning."""
    one = struct.pack("<IIIBBH", 1, 0x101, length, 0x12, 0, 1)
    return Section(".symtab", 2, bytes(16) + one, 0, 0, size, link, entsize)


def note(size: int) -> Section:
    """A note of the build id that says it has so many bytes."""
    return Section(".note.gnu.build-id", 7, struct.pack("<III", 4, size, 3) + b"GNU\0" + b"\xab" * 20, 2)


def attributes(architecture: int) -> Section:
    """What the file says of itself: Tag_CPU_arch alone."""
    scope = struct.pack("<BIBB", 1, 7, 6, architecture)
    return Section(".ARM.attributes", 0x70000003, b"A" + struct.pack("<I", 10 + len(scope)) + b"aeabi\0" + scope)


def packed(size: int) -> bytes:
    """The content of a section that says it is packed: zeros, a thousand times as many as it takes."""
    return struct.pack("<III", 1, size, 1) + zlib.compress(bytes(size), 1)


def elf32(more: Sequence[Section] = (), header: Mapping[str, int] | None = None, segments: int = 1) -> bytes:
    """A program with a function `recurse` of eight bytes at 0x100, and sections that replace or join its own.

    Args:
        more: sections; one of a name that it has takes that one's place.
        header: fields of the file's header that say something else.
        segments: how many segments load the whole file.
    """
    own = [
        Section("", 0, b""),
        Section(".text", 1, _CODE, 6, 0x100),
        symbols(),
        Section(".strtab", 3, _NAME),
    ]
    replaced = {one.name: one for one in more}
    sections = [replaced.pop(one.name, one) for one in own] + list(replaced.values())
    names, places = b"\0", {}
    for one in [*sections, Section(".shstrtab", 3, b"")]:
        places[one.name] = len(names)
        names += one.name.encode() + b"\0"
    sections.append(Section(".shstrtab", 3, names))
    body, at, headers = b"", 52 + 32 * segments, b""
    text = 0
    for number, one in enumerate(sections):
        place = at + len(body)
        if number == 1:
            text = place
        body += one.content + bytes(-len(one.content) % 4)
        size = len(one.content) if one.size is None else one.size
        headers += struct.pack(
            *("<10I", places[one.name], one.kind, one.flags, one.address, place, size),
            *(one.link, 0, 4, one.entsize),
        )
    fields = {
        "e_type": 2,
        "e_machine": 40,
        "e_version": 1,
        "e_entry": 0x101,
        "e_phoff": 52,
        "e_shoff": at + len(body),
        "e_flags": 0x05000000,
        "e_ehsize": 52,
        "e_phentsize": 32,
        "e_phnum": segments,
        "e_shentsize": 40,
        "e_shnum": len(sections),
        "e_shstrndx": len(sections) - 1,
    } | dict(header or {})
    start = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", *fields.values())
    loaded = [(text, len(_CODE))] if segments == 1 else [(0, at + len(body))] * segments
    load = b"".join(struct.pack("<8I", 1, place, 0x100, 0x100, size, size, 5, 4) for place, size in loaded)
    return start + load + body + headers
