# SPDX-License-Identifier: BSD-2-Clause
"""How to cite a run: the paragraph of a method section, and BibTeX of what was measured and what measured it."""

import textwrap
from collections.abc import Callable, Mapping, Sequence

from worldwise.base.output.safe_text import Prose, visible
from worldwise.base.tables import Section, Table
from worldwise.lab import lock_differences
from worldwise.libraries.portable import Manifest
from worldwise.read.models import Reading
from worldwise.report.citation.components import Component, included, libraries, samples_said, tools
from worldwise.report.citation.references import reference
from worldwise.report.first_screen import first_screen
from worldwise.report.formats.latex import DIGEST, escaped

_WIDTH = 100
# Sentences of the first screen on what counts include.
_MOST_INCLUDED = 3
FORMATS = ("text", "latex", "bibtex")

# A paper without the package url prints addresses, too, and breaks them behind a slash; a digest is broken anywhere.
_PREAMBLE = r"""@preamble{"
  \providecommand{\url}[1]{\begingroup\ttfamily\worldwisebreak#1/\worldwiseend/\endgroup}
  \def\worldwisebreak#1/{#1\worldwisenext}
  \def\worldwisenext#1/{\ifx\worldwiseend#1\relax\else/\ifx\relax#1\relax\else\allowbreak\fi#1\expandafter\worldwisenext\fi}
  \def\worldwisedigest#1{\worldwisedigit#1\worldwiseend}
  \def\worldwisedigit#1{\ifx\worldwiseend#1\else#1\allowbreak\expandafter\worldwisedigit\fi}
"}
"""

# The user's own libraries of a run: name -> content of implementation.toml, SHA-256 of all files.
Own = Mapping[str, tuple[Manifest, str]]


def cited(reading: Reading, own: Own, form: str) -> str:
    """The paragraph and the entries as text; the paragraph as LaTeX; or the entries as a .bib file."""
    if form == "bibtex":
        return _entries(reading, own)
    if form == "latex":
        paragraph = _wrapped(_paragraph(reading, own, escaped, lambda key: rf"~\cite{{{key}}}"), cut=False)
        # Names and digests are long words: without it some lines would run over the margin.
        return f"\\begin{{sloppypar}}\n{paragraph}\\end{{sloppypar}}\n"
    return f"{_wrapped(_paragraph(reading, own, _plain, lambda key: f' [{key}]'))}\n{_entries(reading, own)}"


def first_sections(reading: Reading, own: Own, more: str) -> list[Section]:
    """The first screen: the paragraph, and a line for each entry. `more` prints the entries whole."""
    rows = []
    for one in _components(reading, own):
        known = None if one.own else reference(one.key, one.version)
        year = str(known.year or "-") if known else one.year or "-"
        rows.append([_key(one), visible(one.text), year, one.licence])
    paragraph = _paragraph(reading, own, _plain, lambda key: f" [{key}]", _MOST_INCLUDED)
    table = Table(["entry", "what", "year", "licence"], rows, 2, (3,))
    return first_screen([Section("Method", None, [Prose(paragraph)]), Section("References", table)], more)


def _plain(text: str) -> str:
    """Text above entries: BibTeX would begin one at any `@`, if somebody copied all of it to a .bib file."""
    return visible(text).replace("@", "(at)")


def _wrapped(text: str, cut: bool = True) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=cut) + "\n"


def _paragraph(
    reading: Reading, own: Own, shown: Callable[[str], str], cite: Callable[[str], str], most: int | None = None
) -> str:
    """What a method section says; `shown` writes a text out, `cite` refers to an entry.

    `most` is how many sentences say what counts include; None for all of them.
    """

    def named(found: Sequence[Component]) -> str:
        return "; ".join(f"{shown(one.text)}{cite(_key(one))}" for one in found)

    run = reading.run
    first, *others = tools(reading)
    measured = libraries(reading, own)
    counts = included(reading.rows)
    sentences = [
        f"Instruction counts were made with {named([first])}{shown(_revision(reading))}, run {shown(run.id)}, "
        f"suite {shown(run.suite)}, on an emulated machine: {named(others)}",
        shown(f"The lab with the SHA-256 {run.lab} pins all of these but worldwise") if run.lab else "",
        shown(lock_differences.whole(run.drift)),
        shown(run.stacked),
        shown(
            "A count is the number of executed instructions between two readings of a counter that advances by one for "
            "each; what the readings themselves cost is measured and subtracted, and interrupts inside a region count"
        ),
        shown(f"The statistics are over {samples_said(reading.rows)}") if reading.rows else "",
        *(shown(f"The figures of {text}") for text in counts[:most]),
        f"({len(counts) - most} more sentences say what counts include: --full)"
        if most is not None and len(counts) > most
        else "",
        f"The measured libraries are {named(measured)}" if measured else "",
        shown(
            "The same lab gives the same counts on every host, to the last digit. They are neither cycles nor times: "
            "those depend on a core's pipeline, caches and memory"
        ),
    ]
    return " ".join(f"{one.rstrip('.')}." for one in sentences if one)


def _revision(reading: Reading) -> str:
    return f" (revision {reading.run.git})" if reading.run.git else ""


def _key(one: Component) -> str:
    return one.key if one.key == "worldwise" else f"worldwise-{one.key}"


def _entries(reading: Reading, own: Own) -> str:
    return "\n".join([_PREAMBLE, *(_entry(one) for one in _components(reading, own))])


def _components(reading: Reading, own: Own) -> list[Component]:
    """Everything that has an entry, each once."""
    return list({one.key: one for one in [*tools(reading), *libraries(reading, own)]}.values())


def _entry(one: Component) -> str:
    version = f"Version {one.version}. " if one.version else ""
    known = None if one.own else reference(one.key, one.version)
    url = known.url if known else one.url
    # A second pair of braces keeps capitals as they are.
    fields = {
        "author": known.authors if known else escaped(one.authors),
        "key": f"{{{escaped(one.title)}}}",
        "title": f"{{{escaped(one.title)}}}",
        "year": str(known.year or "") if known else one.year,
        "howpublished": rf"\url{{{url}}}" if url else "",
        "note": _noted(f"{version}{one.source[:1].upper()}{one.source[1:]}. Licence: {one.licence}.{_unsaid(one)}"),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{{_key(one)},\n{lines}}}\n"


def _unsaid(one: Component) -> str:
    """That a library of the user's own has no authors or year, and where they would stand."""
    lacks = [name for name, value in (("authors", one.authors), ("year", one.year)) if not value]
    return f" Its implementation.toml names no {' and no '.join(lacks)}." if one.own and lacks else ""


def _noted(text: str) -> str:
    """A note's text: a digest stays one word, which somebody can search for."""
    parts = enumerate(DIGEST.split(text))
    return "".join(rf"\worldwisedigest{{{part}}}" if odd % 2 else escaped(part) for odd, part in parts)
