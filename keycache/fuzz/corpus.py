# SPDX-License-Identifier: BSD-2-Clause
r"""The inputs that fuzzing begins with, as text: corpus.txt names each, with its first byte in hexadecimal, then says
the others.

    *3      the head of an array, here "*3\r\n"; it begins a line
    SEAL    a bulk string, here "$4\r\nSEAL\r\n"; in quotation marks if it has more than letters, digits and ._:@/-
    ="x"    these bytes as they are: what is no whole array or string
    +"x"    more of the string or of the bytes before

An input that a fuzzer found is named by the first twelve digits of its SHA-1.

    python3 corpus.py unpack FOLDER    # a file for each input, as libFuzzer reads them
    python3 corpus.py add FILE...      # more inputs, which keep the names of their files
"""

import ast
import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

TEXT = Path(__file__).with_name("corpus.txt")
_HEAD = re.compile(rb"\*(0|[1-9]\d*)\r\n")
_STRING = re.compile(rb"\$(0|[1-9]\d*)\r\n")
_TOKEN = re.compile(r'\*\d+|[=+]?"(?:[^"\\]|\\.)*"|[\w.:@/-]+', re.ASCII)
_FOUND = re.compile("[0-9a-f]{12}")
_ESCAPES = {10: "\\n", 13: "\\r", 34: '\\"', 92: "\\\\"}
_WIDTH, _PIECE = 120, 100


def _string_at(data: bytes, at: int) -> tuple[bytes, int] | None:
    """The bulk string that begins at a place, and where it ends."""
    if not (head := _STRING.match(data, at)):
        return None
    end = head.end() + int(head[1])
    return (data[head.end() : end], end + 2) if data[end : end + 2] == b"\r\n" else None


def _quoted(kind: str, content: bytes) -> Iterator[str]:
    """Bytes in quotation marks, in pieces that fit a line."""
    piece = f'{kind}"'
    for byte in content:
        shown = _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}")
        if len(piece) + len(shown) > _PIECE:
            yield f'{piece}"'
            piece = '+"'
        piece += shown
    yield f'{piece}"'


def _tokens(data: bytes) -> Iterator[str]:
    at = 0
    loose = bytearray()
    while at < len(data):
        head, string = _HEAD.match(data, at), _string_at(data, at)
        if not head and not string:
            loose.append(data[at])
            at += 1
            continue
        if loose:
            yield from _quoted("=", bytes(loose))
            loose.clear()
        if head:
            yield f"*{head[1].decode()}"
            at = head.end()
        elif string:
            bare = re.fullmatch(rb"[\w.:@/-]{1,100}", string[0])
            yield from [string[0].decode()] if bare else _quoted("", string[0])
            at = string[1]
    if loose:
        yield from _quoted("=", bytes(loose))


def _lines(name: str, data: bytes) -> Iterator[str]:
    """What corpus.txt says of an input."""
    yield f"{name} {data[:1].hex()}".rstrip()
    line = ""
    for token in _tokens(data[1:]):
        if line and (token.startswith("*") or len(line) + 1 + len(token) > _WIDTH):
            yield line
            line = ""
        line = f"{line} {token}" if line else f"  {token}" if token.startswith("*") else f"    {token}"
    if line:
        yield line


def _bytes_of(line: str) -> Iterator[tuple[str, bytes]]:
    """The tokens of a line, each with what kind it is."""
    rest = _TOKEN.sub("", line).strip()
    if rest:
        raise SystemExit(f"{TEXT.name}: what is '{rest}'?")
    for token in _TOKEN.findall(line):
        kind = token[0] if token[0] in "*=+" else ""
        quoted = token.removeprefix(kind)
        yield kind, ast.literal_eval(f"b{quoted}") if quoted.startswith('"') else quoted.encode()


def _written(kind: str, content: bytes) -> bytes:
    if kind == "=":
        return content
    return b"*%b\r\n" % content if kind == "*" else b"$%d\r\n%b\r\n" % (len(content), content)


def inputs() -> Mapping[str, bytes]:
    """Each input by its name. Ends the program where the text is wrong."""
    parts: dict[str, list[tuple[str, bytes]]] = {}
    name = ""
    for line in TEXT.read_text(encoding="ascii").splitlines():
        if not line.startswith((" ", "#")):
            name, _, first = line.partition(" ")
            parts[name] = [("=", bytes.fromhex(first))]
        for kind, content in _bytes_of(line) if line.startswith(" ") else ():
            kind, before = parts[name].pop() if kind == "+" else (kind, b"")
            parts[name].append((kind, before + content))
    found = {name: b"".join(_written(kind, content) for kind, content in some) for name, some in parts.items()}
    for name, data in found.items():
        if _FOUND.fullmatch(name) and not hashlib.sha1(data).hexdigest().startswith(name):
            raise SystemExit(f"{TEXT.name}: {name} is not the SHA-1 of its bytes")
    return found


def main(words: list[str]) -> None:
    if len(words) == 2 and words[0] == "unpack":
        folder = Path(words[1])
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in inputs().items():
            (folder / name).write_bytes(data)
    elif len(words) > 1 and words[0] == "add":
        have = {**inputs(), **{Path(word).name: Path(word).read_bytes() for word in words[1:]}}
        lines = [line for name, data in sorted(have.items()) for line in _lines(name, data)]
        TEXT.write_text("\n".join(["# What corpus.py says.", *lines]) + "\n", encoding="ascii")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
