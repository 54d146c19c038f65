# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise cite` of a stranger's library: no text of it ends or begins an entry of BibTeX, or commands TeX."""

import functools
import random
import re

import pytest
from pybtex.database import parse_string

from board_reading import board_reading
from worldwise.base.output.safe_text import visible
from worldwise.libraries.portable import Manifest, portables
from worldwise.report.citation.citation import cited
from worldwise.report.formats.latex import escaped

NASTY = (
    *("a}}", "}}},\n@misc{evil,\n  title = {x}}", "}", "{", "{{", "\\}", "\\{", "\\\\}", '"', '"}', "a}, note = {b"),
    *(
        "@misc{evil, title={x}}",
        "@comment{",
        "@string{a = {b}}",
        "@preamble{{\\input{x}}}",
        "\n@misc{e,}",
        "@",
        "#",
        ",",
    ),
    *(
        "\\input{/etc/passwd}",
        "\\write18{touch x}",
        "\\immediate\\write18{x}",
        "\\end{document}",
        "\\catcode`\\%=12",
        "^^5c",
    ),
    *(
        "50% off",
        "%",
        "\\%",
        "%}",
        "a\r%b",
        "$x$",
        "$",
        "~",
        "a & b",
        "_",
        "^",
        "#1",
        "\x1b[31m",
        "\u202e",
        "中",
        "é",
        "\ttab",
    ),
    *("''", "``", "--", "Mbed TLS (small)", "C#", "<script>", "| pipe |", "a\\", "\\textbackslash{}"),
)
# The commands that the tool itself writes.
OURS = re.compile(
    r"\\(?:text(?:backslash|braceleft|braceright|dollar|asciicircum|asciitilde|less|greater|bar|quotedbl|asciigrave|pm"
    r"|times|mu|endash|emdash|ellipsis)\{\}|char64\{\}|allowbreak\{\}|worldwisedigest\{d{64}\}|[$&#_%])"
    r"|(?<=[-,'])\{\}(?=[-,'])"
)


of_boards = functools.cache(board_reading)


def as_bibtex(title: str, licence: str) -> tuple[str, str]:
    """The entries of a run of a stranger's library, and those of the same run with a library of the repository."""
    reading = of_boards()
    name = reading.rows[0].implementation
    # As a run that was received has them: nothing but their length is checked.
    manifest = portables()[name].manifest.model_copy(update={"title": title, "licence": licence})
    own: dict[str, tuple[Manifest, str]] = {name: (manifest, "d" * 64)}
    return cited(reading, own, "bibtex"), cited(reading, {}, "bibtex")


def assert_inert(text: str) -> None:
    """What TeX and BibTeX read does nothing: braces balance, no comment, no command but those of the tool."""
    rest = OURS.sub("", text)
    assert not re.search(r"[\\%{}@$&#_^~\"\n\r]", rest), (text, rest)


def check(title: str, licence: str) -> None:
    """Both as they stand in a .bib file, read by a BibTeX parser that is not ours."""
    text, usual = as_bibtex(title, licence)
    parsed, own = (parse_string(one, "bibtex") for one in (text, usual))
    assert len(parsed.entries) == len(own.entries) == usual.count("@misc{")
    # The tool's own, without which a paper cannot print addresses.
    assert parsed.preamble == own.preamble
    assert text.count("@") == usual.count("@") == len(own.entries) + 1
    found = [
        entry for entry in parsed.entries.values() if entry.fields["note"].startswith("A library of the user's own")
    ]
    (entry,) = found
    assert set(entry.fields) == {"key", "title", "note"}
    assert_inert(entry.fields["title"].removeprefix("{").removesuffix("}"))
    assert_inert(entry.fields["note"])


@pytest.mark.parametrize("text", NASTY)
def test_a_strangers_text_stays_within_its_field(text: str) -> None:
    """If this fails, a library's title brings entries or commands of its own into somebody's paper."""
    check(text, "MIT")
    check("Mine", text)
    check(text, text)


def test_any_mixture_stays_within_its_field() -> None:
    """Two harmless texts may make a harmful one."""
    draw = random.Random(13)
    words = (*NASTY, *'{}\\@%"$#&_^~ \n,=', "input", "write18")
    for _ in range(1500):
        assert_inert(escaped("".join(draw.choices(words, k=draw.randint(1, 8)))))
    for _ in range(20):
        check("".join(draw.choices(words, k=6)), "".join(draw.choices(words, k=6)))


@pytest.mark.parametrize("text", NASTY)
def test_the_paragraph_in_latex_has_no_command_of_a_strangers(text: str) -> None:
    """Nor does the text form begin an entry, as BibTeX does at any `@`: copied to a .bib file it has the tool's own."""
    reading = of_boards()
    name = reading.rows[0].implementation
    manifest = portables()[name].manifest.model_copy(update={"title": text, "licence": text})
    paragraph = cited(reading, {name: (manifest, "d" * 64)}, "latex")
    rest = re.sub(r"~\\cite\{[a-z0-9-]+\}", "", paragraph)
    lines = rest.splitlines()
    assert (lines[0], lines[-1]) == (r"\begin{sloppypar}", r"\end{sloppypar}")
    assert_inert(" ".join(lines[1:-1]))
    plain = cited(reading, {name: (manifest, "d" * 64)}, "text")
    assert plain.count("@") == cited(reading, {}, "text").count("@")
    assert visible(plain) == plain


def test_what_is_written_out_is_read_back() -> None:
    """A title with all of it is the same title for the reader; tests/tex has it set."""
    assert escaped("a}{@b") == r"a\textbraceright{}\textbraceleft{}\char64{}b"
