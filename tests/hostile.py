# SPDX-License-Identifier: BSD-2-Clause
"""Archives as attackers make them, header by header, and a mutator that makes thousands of others from a good one."""

import hashlib
import io
import random
import tarfile
from collections.abc import Iterator, Sequence

BLOCK = 512
# What takes the place of a number of a header, a symbol table or a count: at a limit, beyond it, below zero.
_NUMBERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**40, 2**63 - 1, 2**64 - 1)


def header(name: bytes, size: int | bytes = 0, kind: bytes = tarfile.REGTYPE, link: bytes = b"") -> bytearray:
    """A header of an archive: `size` as a number, or as the twelve bytes that stand for it."""
    block = bytearray(BLOCK)
    block[:100] = name[:100].ljust(100, b"\0")
    block[100:124] = b"0000644\0" + b"0000000\0" * 2
    block[124:136] = size if isinstance(size, bytes) else b"%011o\0" % size
    block[136:148] = b"%011o\0" % 0
    block[156:157] = kind
    block[157:257] = link[:100].ljust(100, b"\0")
    block[257:265] = b"ustar\x0000"
    return signed(block)


def signed(block: bytearray) -> bytearray:
    """The same header with the right checksum."""
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return block


def sparse(name: bytes, size: int, kind: bytes = tarfile.GNUTYPE_SPARSE) -> bytearray:
    """A header of a file that has `size` bytes and takes none of the archive."""
    block = header(name, 0, kind)
    block[257:265] = b"ustar  \0"
    block[386:410] = b"%011o\0" % size + b"%011o\0" % 0
    block[483:495] = b"%011o\0" % size
    return signed(block)


def padded(content: bytes) -> bytes:
    """A file's content as it stands in an archive."""
    return content + bytes(-len(content) % BLOCK)


def file(name: bytes, content: bytes) -> bytes:
    """A file of an archive."""
    return bytes(header(name, len(content))) + padded(content)


def extended(records: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """Records for the next member."""
    return bytes(header(b"x", len(records), kind)) + padded(records)


def record(key: bytes, value: bytes) -> bytes:
    """One of these records."""
    rest = len(key) + len(value) + 3
    length = rest + len(str(rest + len(str(rest))))
    return b"%d %s=%s\n" % (length, key, value)


END = bytes(2 * BLOCK)
NEGATIVE = b"\xff" * 10 + b"\xfe\x00"
# What comes before a file's header, or in its place: each breaks a reader of the standard library in its own way.
MEMBERS: dict[str, bytes] = {
    "a sparse file": bytes(sparse(b"data", 3 * 2**30)),
    "a size below zero": bytes(header(b"data", NEGATIVE)),
    "a size beyond the archive": bytes(header(b"data", 2**32)),
    "records without a number": extended(b"x path=data\n"),
    "a record of no length": extended(b"0 path=data\n"),
    "a record of a long length": extended(b"99999 path=data\n"),
    "a record of 5,000 digits": extended(b"9" * 5000 + b" path=data\n"),
    "records of a sparse file": extended(
        record(b"GNU.sparse.major", b"1") + record(b"GNU.sparse.minor", b"0") + record(b"GNU.sparse.realsize", b"9" * 9)
    )
    + file(b"data", b"99999999\n1\n"),
    "records of an old sparse file": extended(
        record(b"GNU.sparse.map", b"0,9999999999") + record(b"GNU.sparse.size", b"9999999999")
    )
    + file(b"data", b""),
    "a size that is a word": extended(record(b"size", b"one")) + file(b"data", b""),
    "a size of 5,000 digits": extended(record(b"size", b"9" * 5000)) + file(b"data", b""),
    "no UTF-8 in a record": extended(record(b"path", b"\xff\xfe")) + file(b"data", b""),
    "a time that is none": extended(record(b"mtime", b"1e999")) + file(b"data", b""),
    "records for all": extended(record(b"path", b"data"), tarfile.XGLTYPE),
    "a long name of GNU": bytes(header(b"x", 9000, tarfile.GNUTYPE_LONGNAME)) + padded(b"d/" * 4500) + file(b"d", b""),
    "records for records": extended(record(b"path", b"a")) * 3,
    "a link": bytes(header(b"data", 0, tarfile.SYMTYPE, b"/etc/passwd")),
    "a hard link": bytes(header(b"data", 0, tarfile.LNKTYPE, b"data")),
    "a device": bytes(header(b"data", 0, tarfile.CHRTYPE)),
    "a FIFO": bytes(header(b"data", 0, tarfile.FIFOTYPE)),
    "another kind": bytes(header(b"data", 0, b"Z")),
}
NAMES: dict[str, bytes] = {
    "a NUL in a name": extended(record(b"path", b"a\0b")) + file(b"data", b""),
    "a name of 300 bytes": extended(record(b"path", b"n" * 300)) + file(b"data", b""),
    "a path of 10,000 bytes": extended(record(b"path", b"d/" * 5000 + b"f")) + file(b"data", b""),
    "many folders in folders": extended(record(b"path", b"d/" * 900 + b"f")) + file(b"data", b""),
    "a name that leads out": file(b"../data", b""),
    "a name from the root": file(b"/data", b""),
    "a control character": file(b"\x1b[2Jdata", b""),
    "no name": file(b"", b""),
    "half a character": file(b"\xff\xfedata", b""),
    "a file twice": file(b"data", b"") * 2,
    "a file that is a folder": file(b"data", b"") + file(b"data/data", b""),
    "a folder that is a file": bytes(header(b"data/", 0, tarfile.DIRTYPE)) + file(b"data", b""),
}


def with_digest(archive: bytes) -> bytes:
    """An archive as an object store has it: its own SHA-256 stands behind it."""
    return archive + hashlib.sha256(archive).hexdigest().encode()


def packed(members: Sequence[tuple[str, bytes]]) -> bytes:
    """An archive of files, as the standard library writes it."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def mutated(seeds: Sequence[bytes], count: int, seed: int, *, sign: bool = False) -> Iterator[bytes]:
    """Inputs that differ from good ones in bytes, numbers, whole pieces and length; the same `seed` gives the same.

    `sign`: they are archives, and of most the headers' checksums are made right again, so that more than these are
    tried.
    """
    chance = random.Random(seed)
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(1 + int(chance.expovariate(0.7))):
            _change(data, chance)
        if sign and chance.random() < 0.9:
            for at in range(0, len(data) - BLOCK + 1, BLOCK):
                if data[at + 257 : at + 262] == b"ustar":
                    data[at : at + BLOCK] = signed(data[at : at + BLOCK])
        yield bytes(data)


def _change(data: bytearray, chance: random.Random) -> None:
    if not data:
        data += b"\0"
    at = chance.randrange(len(data))
    # Headers and tables are most of what can go wrong: they begin a block, or the file.
    if chance.random() < 0.7:
        at = min(len(data) - 1, at // BLOCK * BLOCK * (chance.random() < 0.6) + chance.randrange(BLOCK))
    what = chance.randrange(8)
    if what == 0:
        data[at] = chance.randrange(256)
    elif what == 1:
        width = chance.choice((1, 2, 4, 8))
        at -= at % width
        data[at : at + width] = (chance.choice(_NUMBERS) % 2 ** (8 * width)).to_bytes(width, "little")
    elif what == 2:
        data[at : at + 12] = chance.choice((b"77777777777\0", NEGATIVE, b"00000000000\0", b"-0000000001\0", b"9" * 12))
    elif what == 3:
        del data[at : at + chance.choice((1, 8, 64, BLOCK))]
    elif what == 4:
        data[at:at] = data[at : at + chance.choice((1, 8, 64, BLOCK))]
    elif what == 5:
        other = chance.randrange(len(data))
        data[at : at + 64] = data[other : other + 64]
    elif what == 6:
        data[at] ^= 1 << chance.randrange(8)
    else:
        del data[at + chance.randrange(1 + len(data) - at) :]
