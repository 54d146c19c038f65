# SPDX-License-Identifier: BSD-2-Clause
"""Text that worldwise prints or writes: for the terminal, as Markdown, CSV and JSON.

Titles, revisions, consoles and records may come from strangers. A control character in them would command the reader's
terminal, and `*` or `<` a Markdown viewer. Everything that is printed goes through `console` or `echo`, which show such
characters instead of sending them.
"""

import csv
import errno
import io
import re
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import rich.console

# C0 except line feed and tab, DEL, C1, what reverses the direction of text, other line ends, surrogates.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What begins a formula in a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t")
_MARKDOWN = re.compile(r"[\\|*_`<\[\]~$]|&(?=[#\w]+;)")
# Between words. A backtick would end a word's code, and a bar a table's cell.
_BETWEEN = re.compile(r"([\s|`]+)")
# What GitHub and GitLab make a link, or call somebody for, even where each of its characters is escaped: they look for
# it in the finished HTML, and leave out code alone.
_ACTIVE = re.compile(
    r"""
    :// | (?<![a-z0-9])www\.                                             # an address
    | \#\d | (?<![a-z0-9])gh-\d | (?<!\w)[!$%&~^]\d                      # an issue, a merge request and the like
    | (?<![a-z0-9])(?!ed25519\b)(?=\d*[a-f])[0-9a-f]{7,40}(?![a-z0-9])    # a commit
    | :(?:\w*[a-z][\w+-]*|[+-]1|\d{3,}):                                 # a picture by its name
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# `5ms@2GHz` calls nobody and is no address of e-mail; nearly all else with `@` may be.
_BUDGET = re.compile(r"[^@]*[A-Za-z0-9]@[0-9]+[A-Za-z]*[^@\w/-]*", re.ASCII)
# At the beginning of a paragraph: a heading, a quotation, the underline of a heading, a command to GitLab, a list, a
# rule, a numbered list.
_BLOCK = re.compile(r"\s*(?:\d{1,9}(?=[.)](?:\s|$))|(?=[#>=/]|[-+](?:\s|$)|---))")
# Errors of a closed terminal, and of a pipe that nobody reads.
GONE = (errno.EIO, errno.EPIPE, errno.ENXIO)


class Prose(str):
    """A sentence of worldwise's own, which may have `code` between backticks. It never has a stranger's words in it."""

    __slots__ = ()


def visible(text: str) -> str:
    r"""The text with what would command a terminal written out: `\x1b`, `\u202e`. Line feeds and tabs stay.

    A carriage return before a line feed is dropped: it is the other half of a line's end.
    """
    # Nearly all text is plain, and some is asked for a million times.
    if text.isprintable():
        return text
    return _HIDDEN.sub(lambda match: _shown(match[0]), text.replace("\r\n", "\n"))


def _shown(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def console(
    *,
    file: IO[str] | None = None,
    stderr: bool = False,
    highlight: bool = True,
    width: int | None = None,
) -> "rich.console.Console":
    """A console that shows its text character for character: no markup, no emoji names."""
    # Imported here: rich takes long to load, and `echo` mostly does without it.
    from worldwise.base.output.visible_console import VisibleConsole

    return VisibleConsole(file=file, stderr=stderr, highlight=highlight, width=width, markup=False, emoji=False)


class LaterConsole:
    """A console as `console` makes it, made when something is first asked of it: rich takes long to load."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._stderr = stderr
        self._made: rich.console.Console | None = None

    def _console(self) -> "rich.console.Console":
        self._made = self._made or console(stderr=self._stderr)
        return self._made

    def __getattr__(self, name: str) -> object:
        return getattr(self._console(), name)

    def __enter__(self) -> object:
        return self._console().__enter__()

    def __exit__(self, *error: Any) -> None:
        self._console().__exit__(*error)


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print text, plain."""
    click.echo(visible(str(text)), err=err, nl=nl)


def markdown(text: str) -> str:
    """Text as one line of Markdown that shows the very same text; code in `Prose` stays code.

    A word that would become a link, a picture or a call to a person (`@name`, `www.example.org`, `#1`, a commit)
    becomes code: escapes and entities do not stop GitHub, and characters of no width would be copied with the word.
    """
    shown = visible(text).replace("\n", " ")
    if not isinstance(text, Prose):
        return _escaped(shown)
    return "".join(part if odd % 2 else _escaped(part) for odd, part in enumerate(re.split("(`[^`]*`)", shown)))


def _escaped(text: str) -> str:
    return "".join(_code(word) if _is_active(word) else _plain(word) for word in _BETWEEN.split(text))


def _code(word: str) -> str:
    bare = word.rstrip(",.;")
    return f"`{bare}`{word[len(bare) :]}"


def _plain(word: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", word)


def _is_active(word: str) -> bool:
    return bool(_ACTIVE.search(word)) or ("@" in word and not _BUDGET.fullmatch(word))


def markdown_paragraph(text: str) -> str:
    """As `markdown`, for a paragraph: it must not begin a list, a heading or the like."""
    escaped = markdown(text)
    begin = _BLOCK.match(escaped)
    return f"{begin[0].lstrip()}\\{escaped[begin.end() :]}" if begin else escaped.lstrip()


def markdown_heading(text: str) -> str:
    """As `markdown`, for a heading: Markdown would drop a `#` at its end."""
    return re.sub(r"(#+\s*)$", r"\\\1", markdown(text))


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """CSV of rows, headers included. None becomes empty; text that a spreadsheet takes for a formula gets a `'`."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row])
    return stream.getvalue()


def _csv_cell(value: object) -> object:
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def json_text(text: str) -> str:
    r"""JSON of the same data, with `\u009b` and the like for characters that would command a terminal."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
