# SPDX-License-Identifier: BSD-2-Clause
"""Reports as LaTeX: a document that compiles as it is, or single tables for a document of one's own."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from worldwise.base.output.safe_text import Prose, visible
from worldwise.base.tables import Section, Table
from worldwise.read.models import Reading, Row
from worldwise.report.citation.components import UNIT, included, samples_said, tools, versions_said

# What the tables need; a document of one's own needs the same lines. `worldwisefit` chooses the letters' size, so that
# the given number of characters fits into a line; a character takes 5/8 of that size, with the space between columns.
# Small letters are drawn wider.
PREAMBLE = r"""\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{lmodern,textcomp}
\usepackage{array,booktabs,longtable}
\usepackage[font=small,labelfont=bf]{caption}
\usepackage{siunitx}
\sisetup{group-minimum-digits=4}
\setlength{\LTcapwidth}{\textwidth}
\newlength{\worldwisefont}
\newcommand{\worldwisefit}[1]{\setlength{\worldwisefont}{\dimexpr\linewidth*8/5/#1\relax}%
  \ifdim\worldwisefont>9pt \setlength{\worldwisefont}{9pt}\fi
  \ifdim\worldwisefont<7.5pt \setlength{\worldwisefont}{.93\worldwisefont}\fi
  \ifdim\worldwisefont<6.5pt \setlength{\worldwisefont}{.93\worldwisefont}\fi
  \ifdim\worldwisefont<5.5pt \setlength{\worldwisefont}{.9\worldwisefont}\fi
  \setlength{\tabcolsep}{.44\worldwisefont}\fontsize{\worldwisefont}{1.2\worldwisefont}\selectfont}
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
# Words as long as this may be broken in running text: commands, cases, names of files; and digests every eight digits.
_LONG_WORD = re.compile(r"\S{20,}")
_IN_WORD = re.compile(r"(?<=[,=/_-])(?=[A-Za-z0-9])|(?<=\.)(?=[A-Za-z])")
DIGEST = re.compile(r"([0-9a-f]{32,})")
_DIGEST_PART = 8
# A table with more rows than this is broken over pages, also in a paper; others float.
_FLOATING_ROWS = 30
# A table with more characters in a line than this has tiny letters on a page that is not landscape.
_FOR_PORTRAIT = 100
# White space between two columns, in characters.
_BETWEEN = 2
# Enough of a digest to tell labs apart.
_SHORT_DIGEST = 12


def escaped(text: str) -> str:
    r"""Text that LaTeX sets as it is; code in `Prose` is set in a typewriter's letters.

    What pdfLaTeX has no letter for is written as its number: `[U+4E2D]`. Long words and digests may be broken.
    """
    shown = visible(text)
    if isinstance(text, Prose):
        plain = re.split(r"`([^`]*)`", shown)
        return "".join(rf"\texttt{{{_letters(part)}}}" if odd % 2 else _letters(part) for odd, part in enumerate(plain))
    return _letters(shown)


def _letters(text: str, broken: bool = True) -> str:
    if broken:
        found = _LONG_WORD.finditer(text)
        breaks = [at for word in found for at in _breaks(word[0], word.start())]
        parts = [text[one:two] for one, two in itertools.pairwise([0, *breaks, len(text)])]
        return r"\allowbreak{}".join(_letters(part, broken=False) for part in parts)
    return _LIGATURE.sub("{}", "".join(map(_letter, text.replace("\n", " "))))


def _breaks(word: str, start: int) -> Iterator[int]:
    """Where a long word may be broken, by what stands in front of a break; the word begins at `start`."""
    yield from sorted(
        start + at
        for at in {
            *(found.start() for found in _IN_WORD.finditer(word)),
            *(at for found in DIGEST.finditer(word) for at in range(*found.span(), _DIGEST_PART) if at > found.start()),
        }
    )


def _letter(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    # T1 has the letters of Latin-1.
    if character.isascii() or "À" <= character <= "ÿ":
        return character
    return f"[U+{ord(character):04X}]"


def document(reading: Reading, title: str, provenance: str, sections: Iterable[Section]) -> str:
    """A whole document, for pdflatex."""
    body = [part for section in sections for part in _section(section, reading, floating=False)]
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
    r"""Single sections, for `\input` in a document that has the lines of PREAMBLE, in one column or two.

    A table of many rows is a `longtable`, which LaTeX sets in one column only.
    """
    needs = "".join(f"% {line}\n" for line in PREAMBLE.splitlines())
    body = [part for section in sections for part in _section(section, reading, floating=True)]
    return "% In the preamble of the document:\n" + needs + "\n".join(body) + "\n"


def _section(section: Section, reading: Reading, floating: bool) -> list[str]:
    if section.table is None or not section.table.rows:
        return [rf"\subsection*{{{escaped(section.title)}}}", *map(_note, section.notes), ""]
    table = section.table
    notes = [_note(note) for note in (*section.notes, *_meaning(section, table, reading))]
    wide = floating and _characters(table) > _FOR_PORTRAIT
    hint = [f"% {_characters(table)} characters in a line: better on a landscape page."] if wide else []
    if floating and len(table.rows) <= _FLOATING_ROWS:
        return [*hint, *_float(section, table, reading, notes), ""]
    return [*hint, *_long_table(section, table, reading), *notes, ""]


def _note(text: str) -> str:
    return f"{{\\small\\sloppy {escaped(text)}\\par}}"


def _float(section: Section, table: Table, reading: Reading, notes: Sequence[str]) -> list[str]:
    """A table for a paper, over both columns if it has two."""
    return [
        r"\begin{table*}[tbp]",
        r"\centering",
        rf"\caption{{{escaped(_caption(section, table, reading))}}}{_label(section)}",
        rf"{{\worldwisefit{{{_characters(table)}}}",
        rf"\begin{{tabular}}{{@{{}}{_columns(table)}@{{}}}}",
        rf"\toprule {_heads(table)} \\ \midrule",
        *_rows(table),
        r"\bottomrule",
        r"\end{tabular}\par}",
        r"\smallskip\raggedright",
        *notes,
        r"\end{table*}",
    ]


def _long_table(section: Section, table: Table, reading: Reading) -> list[str]:
    heads = _heads(table)
    return [
        rf"{{\worldwisefit{{{_characters(table)}}}",
        rf"\begin{{longtable}}{{@{{}}{_columns(table)}@{{}}}}",
        rf"\caption{{{escaped(_caption(section, table, reading))}}}{_label(section)}\\",
        rf"\toprule {heads} \\ \midrule \endfirsthead",
        rf"\toprule {heads} \\ \midrule \endhead",
        rf"\midrule \multicolumn{{{len(table.headers)}}}{{@{{}}l}}{{continued on the next page}} \\ \endfoot",
        r"\bottomrule \endlastfoot",
        *_rows(table),
        r"\end{longtable}}",
    ]


def _characters(table: Table) -> int:
    """How many characters a line of the table takes, with the space between columns."""
    return sum(_width(table, number) + _BETWEEN for number in range(len(table.headers)))


def _columns(table: Table) -> str:
    return "".join(_column(table, number) for number in range(len(table.headers)))


def _heads(table: Table) -> str:
    return " & ".join(_head(table, number) for number in range(len(table.headers)))


def _rows(table: Table) -> list[str]:
    rows = table.whole_rows()
    return [" & ".join(_cell(table, number, cell) for number, cell in enumerate(row)) + r" \\" for row in rows]


def _label(section: Section) -> str:
    return rf"\label{{tab:{section.name}}}" if section.name else ""


def _caption(section: Section, table: Table, reading: Reading) -> str:
    """The section's title, and in a few words what its figures are; `_meaning` says it in full."""
    parts = [section.title]
    if _has_counts(table):
        parts += [
            "Instructions executed, counted exactly under emulation",
            samples_said(_meant(section, table, reading)),
        ]
    lab = f"Lab {reading.run.lab[:_SHORT_DIGEST]}" if reading.run.lab else "No lab"
    parts.append(f"{lab}; {', '.join(one.text for one in tools(reading)[:2])}")
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def _meaning(section: Section, table: Table, reading: Reading) -> list[str]:
    """What a method section must say of the table's figures, below it."""
    said = included(_meant(section, table, reading)) if _has_counts(table) else []
    unit = [UNIT, *(["Included: " + "; ".join(said)] if said else [])] if _has_counts(table) else []
    return [". ".join([*unit, versions_said(reading)]) + "."]


def _has_counts(table: Table) -> bool:
    units = {line for header in table.headers for line in header.split()}
    return bool(units & {"instr", "instructions"})


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
    # In braces a cell is no number for siunitx, and no option for the line's end above it.
    return f"{{{escaped(cell)}}}"
