# SPDX-License-Identifier: BSD-2-Clause
"""Which line of a TOML text a key stands on: tomllib does not say, and an error needs one."""

import re
import tomllib

Path = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_SYNTAX_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class TomlLines:
    """Line numbers (from 1) of every table, key and array element of a text that tomllib has accepted.

    A path is the keys from the top, with an index (from 0) for each array: `("cases", 1, "targets", 0)`.
    """

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        # Where lines were last counted up to: from the start each time would take the square of the text's length.
        self._counted_to, self._counted = 0, 1
        self._lines: dict[Path, int] = {(): 1}
        self._tables: dict[Path, int] = {}
        self._scan()

    def line(self, path: Path) -> int:
        """The line of `path`, or of its nearest ancestor if it is not in the text."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]

    def _scan(self) -> None:
        table: Path = ()
        while True:
            self._skip(_BLANK)
            if self._at >= len(self._text):
                return
            line = self._line_here()
            if self._text.startswith("[", self._at):
                many = self._text.startswith("[[", self._at)
                self._at += 2 if many else 1
                table = self._table(self._key(), many)
                self._lines[table] = line
                self._at += 2 if many else 1
            else:
                self._pair(table)

    def _table(self, keys: list[str], many: bool) -> Path:
        path: Path = ()
        for key in keys[:-1]:
            path = self._newest((*path, key))
        path = (*path, keys[-1])
        if many:
            self._lines.setdefault(path, self._line_here())
            self._tables[path] = self._tables.get(path, 0) + 1
        return self._newest(path)

    def _newest(self, path: Path) -> Path:
        return (*path, self._tables[path] - 1) if path in self._tables else path

    def _pair(self, table: Path) -> None:
        line = self._line_here()
        path = (*table, *self._key())
        for length in range(len(table) + 1, len(path) + 1):
            self._lines.setdefault(path[:length], line)
        self._skip(_SPACE)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: Path) -> None:
        character = self._text[self._at]
        if character in "\"'":
            self._string()
        elif character == "[":
            self._array(path)
        elif character == "{":
            self._inline_table(path)
        else:
            self._skip(_SCALAR)

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while True:
            self._skip(_BLANK)
            if self._text[self._at] == "]":
                self._at += 1
                return
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._lines[(*path, index)] = self._line_here()
            self._value((*path, index))
            index += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while True:
            self._skip(_BLANK)
            if self._text[self._at] == "}":
                self._at += 1
                return
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._pair(path)

    def _key(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            bare = _BARE_KEY.match(self._text, self._at)
            if bare:
                keys.append(bare.group())
                self._at = bare.end()
            else:
                quoted = self._string()
                keys.append(tomllib.loads(f"key = {quoted}")["key"])
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _string(self) -> str:
        """Steps over the string that starts here and returns it as written, quotes included."""
        start = self._at
        quote = self._text[start]
        fence = quote * 3 if self._text.startswith(quote * 3, start) else quote
        self._at += len(fence)
        while not self._text.startswith(fence, self._at):
            self._at += 2 if quote == '"' and self._text[self._at] == "\\" else 1
        self._at += len(fence)
        if len(fence) == 3:
            # A multi-line string may end in up to two quotes of its own before the fence.
            for _ in range(2):
                if self._text.startswith(quote, self._at):
                    self._at += 1
        return self._text[start : self._at]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        if match:
            self._at = match.end()

    def _line_here(self) -> int:
        self._counted += self._text.count("\n", self._counted_to, self._at)
        self._counted_to = self._at
        return self._counted


def syntax_error_line(error: Exception, text: str) -> int:
    """The line that tomllib names in a syntax error; the last line if it says "at end of document" or nothing."""
    found = _SYNTAX_LINE.search(str(error))
    return int(found.group(1)) if found else text.rstrip("\n").count("\n") + 1
