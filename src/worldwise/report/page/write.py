# SPDX-License-Identifier: BSD-2-Clause
"""A run as one HTML file."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from worldwise import __version__
from worldwise.base.output.safe_text import Prose, visible
from worldwise.base.tables import Section, count
from worldwise.read.models import Reading
from worldwise.read.run_counts import Samples
from worldwise.report.answer import measured_lines
from worldwise.report.drawing import vega
from worldwise.report.explaining import masked_interrupts
from worldwise.report.page import charts, content
from worldwise.report.page.content import Traced
from worldwise.report.predictions import budget_of, lines_of, summary
from worldwise.report.report import answers, heading, sections
from worldwise.report.sections.verdicts import budget_verdict
from worldwise.report.tables import ANSWER_LINES
from worldwise.run.folder.rundir import Run

_FOLDER = Path(__file__).parent
# What inferno's graph does when it is loaded.
_AT_LOAD = ' onload="init(evt)"'
# A first screen has the predictions of so many lines.
_MOST_PREDICTED = 6


@dataclass(frozen=True)
class Material:
    """What a page is made of beside the reading.

    Attributes:
        run: the run on disk.
        samples: those behind the rows.
        traced: the explanations of cases whose traces there are.
        untold: why a trace that is there could not be explained, a sentence each.
    """

    run: Run
    samples: Samples
    traced: Sequence[Traced] = ()
    untold: Sequence[str] = field(default_factory=tuple)


def to_html(reading: Reading, material: Material) -> str:
    """One HTML file: answer, figures, tables, samples, how the numbers were made, provenance.

    The same run, traces and versions give the same bytes. Needs nothing else to be shown: no network, no server.
    """
    measured = content.measurements(reading, material.samples)
    drawn, more = charts.charts(reading, [one.explanation for one in material.traced])
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            reading=reading,
            run=material.run,
            title=heading(reading),
            answers=answers(reading),
            lines=measured_lines(reading),
            budget=budget_verdict(reading),
            predicted=_predicted(reading),
            cards=content.cards(reading),
            most_lines=ANSWER_LINES,
            charts=drawn,
            more_charts=more,
            vega=Markup(vega.libraries()) if drawn or measured else "",
            measured=measured,
            statistics=content.statistics,
            pairs=content.side_by_side(reading),
            sections=sections(reading, full=True),
            traced=material.traced,
            masked=masked_interrupts.overview(one.explanation for one in material.traced),
            untold=material.untold,
            made=content.made(reading),
            software=content.software(reading),
            command=content.command(material.run),
            machines=content.machines(material.run),
            commands=content.commands(material.run),
            data=Markup(vega.in_page(content.rows_data(reading, measured))),
            includes=Markup(vega.in_page(content.includes_of(reading))),
            samples=Markup(vega.in_page([one.steps for one in measured])),
            style=Markup(_part("page.css")),
            script=Markup(_part("page.js")),
        )
    )


@dataclass(frozen=True)
class SiteRun:
    """A run in the index of a site: what stands in its line."""

    id: str
    suite: str
    started: str
    state: str
    cases: int
    revision: str
    lab: str

    @classmethod
    def of(cls, reading: Reading) -> "SiteRun":
        """The line of a run that was read."""
        run = reading.run
        done = len({row.case for row in reading.rows} | {attempt.case for attempt in reading.attempts})
        return cls(run.id, run.suite, run.started, run.state, done, f"{run.worldwise} {run.git[:13]}", run.lab[:12])


def to_index(
    runs: Sequence[SiteRun], unread: Sequence[str], history: Sequence[Section], drawn: Sequence[vega.Chart]
) -> str:
    """The index of a site: runs by suite, the newest first, each with a link to its page; and the history."""
    suites: dict[str, list[SiteRun]] = {}
    for one in reversed(runs):
        suites.setdefault(one.suite, []).append(one)
    return (
        _environment()
        .get_template("site.html.jinja")
        .render(
            suites=suites,
            unread=unread,
            history=history,
            charts=drawn,
            version=__version__,
            style=Markup(_part("page.css")),
            script=Markup(_part("page.js")),
        )
    )


def _predicted(reading: Reading) -> Section | None:
    """The first predictions that are of a whole call, with their errors and the verdict of all."""
    lines = lines_of(reading)
    outer = [line for line in lines if line.estimate.sample.place in ("client", "linux", "mcu")] or lines
    # Without a name: that is the anchor of the table of all of them.
    return replace(summary(outer[:_MOST_PREDICTED], budget_of(reading), lines), name="") if outer else None


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Every text goes through here, a stranger's words too.
        finalize=_shown,
    )
    made.filters["prose"] = _prose
    made.filters["count"] = count
    made.filters["framed"] = _framed
    made.filters["breaking"] = _breaking
    made.filters["drawing"] = lambda chart: Markup(chart.svg())
    return made


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breaking(text: str) -> Markup:
    """A name whose lines may end after a comma."""
    return Markup(",<wbr>").join(visible(part) for part in text.split(","))


def _framed(graph: str) -> str:
    """A flame graph as a document for a frame.

    It is made as wide as the frame when that is first seen: inside closed details it has no width. Searching and
    zooming would note themselves in the page's address, which a frame without an address refuses.
    """
    seen = "new ResizeObserver(([one],o)=>{if(one.contentRect.width>100){o.disconnect();init()}})"
    return (
        '<!DOCTYPE html><html lang="en"><title>Flame graph</title>'
        "<style>body{margin:0}svg{display:block;width:100%}</style>"
        "<script>history.replaceState=()=>{}</script>"
        f"{graph.replace(_AT_LOAD, '', 1)}<script>{seen}.observe(document.documentElement)</script>"
    )


def _prose(text: str) -> Markup:
    """A sentence; what stands between backticks in `Prose` is code."""
    if not isinstance(text, Prose):
        return escape(visible(text))
    parts = visible(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )
