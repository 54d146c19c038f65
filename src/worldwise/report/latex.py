# SPDX-License-Identifier: BSD-2-Clause
"""Reports as LaTeX: a document that compiles as it is, or single tables for a document of one's own."""

import re
from collections.abc import Iterable, Sequence

from worldwise.base.outgoing import Prose, visible
from worldwise.base.tables import Section, Table
from worldwise.read.models import Reading, Row
from worldwise.report.measured import UNIT, included, samples_said, versions_said

# What the tables need; a document of one's own needs the same lines.
PREAMBLE = r"""\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{lmodern,textcomp}
\usepackage{array,booktabs,longtable}
\usepackage[font=small,labelfont=bf]{caption}
\usepackage{siunitx}
\sisetup{group-minimum-digits=4}
\setlength{\tabcolsep}{4pt}
\setlength{\LTcapwidth}{\textwidth}
"""
_SPECIAL = {
    "\\": r"\textbackslash{}",
    # BibTeX counts braces, also those behind a backslash.
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    # Where an entry of BibTeX begins.
    "@": r"\char64{}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "±": r"\textpm{}",
    "×": r"\texttimes{}",
    "µ": r"\textmu{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\textellipsis{}",
}
# Between two of these TeX would make one letter of both.
_LIGATURE = re.compile(r"(?<=([-,']))(?=\1)")
_NUMBER = re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?")
# Names longer than this are broken into lines.
_LONGEST = 38
# Characters that a line of landscape A4 takes, by size.
_SIZES = ((150, r"\small"), (175, r"\footnotesize"), (200, r"\scriptsize"), (10_000, r"\tiny"))
# Where a long name, such as `size=48B,memory=allocated`, may be broken.
_BREAK = re.compile(r"([,=/])(?=[^\s{])")
# White space between two columns, in characters.
_BETWEEN = 2


def escaped(text: str) -> str:
    r"""Text that LaTeX sets as it is; code in `Prose` is set in a typewriter's letters.

    What pdfLaTeX has no letter for is written as its number: `[U+4E2D]`.
    """
    shown = visible(text)
    if isinstance(text, Prose):
        plain = re.split(r"`([^`]*)`", shown)
        return "".join(rf"\texttt{{{_letters(part)}}}" if odd % 2 else _letters(part) for odd, part in enumerate(plain))
    return _letters(shown)


def _letters(text: str) -> str:
    return _LIGATURE.sub("{}", "".join(map(_letter, text.replace("\n", " "))))


def _letter(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    # T1 has the letters of Latin-1.
    if character.isascii() or "À" <= character <= "ÿ":
        return character
    return f"[U+{ord(character):04X}]"


def document(reading: Reading, title: str, provenance: str, sections: Iterable[Section]) -> str:
    """A whole document, for pdflatex."""
    body = [part for section in sections for part in _section(section, reading)]
    return "\n".join(
        [
            r"\documentclass[a4paper,landscape]{article}",
            r"\usepackage[margin=15mm]{geometry}",
            PREAMBLE,
            r"\setlength{\parindent}{0pt}",
            r"\setlength{\parskip}{4pt}",
            r"\sloppy",
            r"\begin{document}",
            rf"\section*{{{escaped(title)}}}",
            escaped(provenance),
            "",
            *body,
            r"\end{document}",
            "",
        ]
    )


def tables(reading: Reading, sections: Iterable[Section]) -> str:
    r"""Single sections, for `\input` in a document that has the lines of PREAMBLE."""
    needs = "".join(f"% {line}\n" for line in PREAMBLE.splitlines())
    body = [part for section in sections for part in _section(section, reading)]
    return "% In the preamble of the document:\n" + needs + "\n".join(body) + "\n"


def _section(section: Section, reading: Reading) -> list[str]:
    notes = [f"{{\\small {escaped(note)}\\par}}" for note in section.notes]
    if section.table is None or not section.table.rows:
        return [rf"\subsection*{{{escaped(section.title)}}}", *notes, ""]
    return [*_table(section, section.table, reading), *notes, ""]


def _table(section: Section, table: Table, reading: Reading) -> list[str]:
    width = sum(_width(table, number) + _BETWEEN for number in range(len(table.headers)))
    size = next(name for most, name in _SIZES if width <= most)
    columns = "".join(_column(table, number) for number in range(len(table.headers)))
    heads = " & ".join(_head(table, number) for number in range(len(table.headers)))
    span = len(table.headers)
    label = rf"\label{{tab:{section.name}}}" if section.name else ""
    return [
        rf"{{{size}",
        rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}",
        rf"\caption{{{escaped(_caption(section, table, reading))}}}{label}\\",
        rf"\toprule {heads} \\ \midrule \endfirsthead",
        rf"\toprule {heads} \\ \midrule \endhead",
        rf"\midrule \multicolumn{{{span}}}{{@{{}}l}}{{continued on the next page}} \\ \endfoot",
        r"\bottomrule \endlastfoot",
        *(
            " & ".join(_cell(table, number, cell) for number, cell in enumerate(row)) + r" \\"
            for row in table.whole_rows()
        ),
        r"\end{longtable}}",
    ]


def _caption(section: Section, table: Table, reading: Reading) -> str:
    """The section's title, and what a method section must say of its figures."""
    parts = [section.title]
    units = {line for header in table.headers for line in header.split()}
    if units & {"instr", "instructions"}:
        rows = _meant(section, table, reading)
        parts += [UNIT, samples_said(rows), *(f"Included: {'; '.join(text)}" for text in [included(rows)] if text)]
    parts.append(versions_said(reading))
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def _meant(section: Section, table: Table, reading: Reading) -> Sequence[Row]:
    """The rows that a table is most likely of: those whose measure and place its words name; else all."""
    words = set(re.findall(r"[\w-]+", " ".join([section.title, section.name, *table.headers]).lower()))
    for row in table.whole_rows():
        for number, cell in enumerate(row):
            if table.is_name(number):
                words.update(re.findall(r"[\w-]+", cell.lower()))
    named = [row for row in reading.rows if row.measure in words]
    placed = [row for row in named if row.place in words]
    return placed or named or reading.rows


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell))


def _width(table: Table, number: int) -> int:
    """The characters that a column takes."""
    head = max(map(len, table.headers[number].split("\n")))
    cells = max((len(row[number]) for row in table.whole_rows()), default=0)
    return max(head, min(cells, _LONGEST) if table.is_name(number) else cells)


def _column(table: Table, number: int) -> str:
    cells = [row[number] for row in table.whole_rows()]
    if table.is_name(number) or not any(map(_is_number, cells)):
        if max(map(len, cells)) > _LONGEST:
            return rf">{{\raggedright\arraybackslash}}p{{{_LONGEST * 0.5:g}em}}"
        return "l" if table.is_name(number) else "r"
    found = [match for match in map(_NUMBER.fullmatch, cells) if match]
    sign = "-" if any(match[1] for match in found) else ""
    digits = max(len(match[2].replace(",", "")) for match in found)
    decimals = max(len(match[3] or "") for match in found)
    return f"S[table-format={sign}{digits}.{decimals}]"


def _head(table: Table, number: int) -> str:
    lines = [escaped(line) for line in table.headers[number].split("\n") if line]
    if len(lines) < 2:
        return f"{{{''.join(lines)}}}"
    place, text = "l" if table.is_name(number) else "r", r"\\".join(lines)
    return rf"{{\shortstack[{place}]{{{text}}}}}"


def _cell(table: Table, number: int, cell: str) -> str:
    if not table.is_name(number) and _is_number(cell):
        return cell.replace(",", "")
    text = escaped(cell)
    if len(cell) > _LONGEST:
        text = _BREAK.sub(r"\1\\allowbreak{}", text)
    # In braces a cell is no number for siunitx, and no option for the line's end above it.
    return f"{{{text}}}"
