# SPDX-License-Identifier: BSD-2-Clause
"""Vega-Lite charts, as data and as drawings: those of pages, and those that `worldwise plot` writes.

A chart is data. vl-convert draws it, as SVG or PNG, with the letters that it brings, so that the same chart gives the
same bytes on every machine; a page has the data too, and the libraries that draw it anew with the values under the
mouse. vl-convert is loaded when something is drawn, so that no other command waits for it.
"""

import contextlib
import functools
import hashlib
import html
import json
import math
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from worldwise.base import files, paths
from worldwise.base.output.safe_text import visible
from worldwise.read.models import Row
from worldwise.report.drawing import library

# Of the cache, where the libraries of pages are.
FOLDER = "pages"
_MOST_BUNDLE = 16 * 2**20
# A wider range than this is shown on a logarithmic axis.
LINEAR_RANGE = 20
# Of lines, outlines and headings.
INK = "#222222"
# How wide a page draws a chart, without its axes, in pixels.
WIDTH = 440
# Of Vega-Lite, among those that vl-convert has.
_VERSION = "6.4"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_PIXELS_PER_MM = 96 / 25.4
_DOTS_PER_INCH = 300
# Of a panel, in pixels, however much room its letters take.
_LEAST_WIDTH = 40
# Until a chart is as wide as asked.
_TRIALS = 12
# Letters of a subtitle in a millimetre.
_PER_MM = 0.64
# Has no fonts, so that those of the machine do not count: vl-convert asks fontconfig.
_NO_FONTS = Path(__file__).with_name("fonts.conf")
# Grey that shows on white and on black; the page's style sheet sets the colour of text.
_GRID, _RULE = "#80808040", "#808080"
_CONFIG: Mapping[str, Any] = {
    "background": None,
    # Names may be wider in the reader's font than in the one that the drawing was measured with.
    "padding": {"left": 20, "right": 20, "top": 5, "bottom": 5},
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "gridColor": _GRID,
        "domainColor": _RULE,
        "tickColor": _RULE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 260,
    },
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "symbolSize": 90,
        "symbolStrokeColor": _RULE,
        "labelLimit": 260,
    },
}


# What a chart has in a file of its own, where no page sets letters and background.
_IN_FILE: Mapping[str, Any] = {
    "background": "white",
    # vl-convert brings the first; the others' letters are as wide, and one of them is on any reader's machine.
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "padding": 6,
    "text": {"fontSize": 10.7, "color": INK},
    "axis": {"labelFontSize": 10.7, "titleFontSize": 10.7, "domainColor": INK, "tickColor": INK},
    "legend": {"labelFontSize": 10.7, "titleFontSize": 10.7},
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "fontSize": 12,
        "subtitleFontSize": 10.7,
        "subtitleColor": "#444444",
        "subtitleLineHeight": 14,
        "subtitlePadding": 5,
        "offset": 12,
    },
}


@dataclass(frozen=True)
class Chart:
    """One figure.

    Attributes:
        kind: of `plot --kind`.
        name: that of its file, without a suffix.
        title: what it shows.
        words: the same in a sentence, for a reader who cannot see it.
        spec: the chart as Vega-Lite has it. Of several panels its `concat` has the content, each as wide as there is
            room for, and `columns` how many stand side by side on a whole page; a label may ask for them by the
            parameter of that name.
        rows: what a figure of boards shows.
    """

    kind: str
    name: str
    title: str
    words: str
    spec: Mapping[str, Any]
    rows: tuple[Row, ...] = ()

    @property
    def json(self) -> str:
        """The chart as JSON that can stand in a page."""
        return in_page(self.spec)

    def svg(self) -> str:
        """The drawing for a page, with this chart's words for a reader who cannot see it."""
        return _told(_drawn(json.dumps(self.spec)), self.words)

    def file(self, form: str, millimetres: float, notes: str) -> bytes:
        """The content of a file, svg or png, so wide: with its title, its words and `notes` on what it counts."""
        lines = [line for text in (self.words, visible(notes)) for line in _wrapped(text, millimetres)]
        config = {**self.spec["config"]}
        for key, value in _IN_FILE.items():
            config[key] = {**config.get(key, {}), **value} if isinstance(value, dict) else value
        title = {"text": _wrapped(self.title, millimetres * 0.85), "subtitle": lines}
        pixels = round(millimetres * _PIXELS_PER_MM)
        columns = self.spec.get("columns", 1) if pixels > WIDTH else 1
        svg = _drawn(json.dumps({**_as_wide({**self.spec, "config": config}, pixels, columns), "title": title}))
        if form == "svg":
            return _told(svg, f"{self.title}. {self.words}").encode()
        # vl-convert counts 72 pixels to an inch.
        return bytes(converter().svg_to_png(svg, scale=_DOTS_PER_INCH / 96, ppi=72))


def _as_wide(spec: Mapping[str, Any], pixels: int, columns: int) -> Mapping[str, Any]:
    """A chart, so wide: what its letters leave goes to its panels, in so many columns."""
    width = round(pixels * 0.7 / columns)
    for _ in range(_TRIALS):
        if "concat" in spec:
            panels = [{**panel, "width": width} for panel in spec["concat"]]
            params = [{"name": "columns", "value": columns}]
            spec = {**spec, "concat": panels, "columns": columns, "params": params}
        else:
            spec = {**spec, "width": width}
        found = re.search(r'width="([0-9.]+)"', _drawn(json.dumps(spec)))
        left = pixels - float(found[1]) if found else 0
        # Panels have whole pixels.
        if 0 <= left < columns:
            break
        width = max(width + math.floor(left / columns), _LEAST_WIDTH)
    return spec


def chart(
    kind: str,
    name: str,
    title: str,
    words: str,
    spec: Mapping[str, Any],
    values: Sequence[Any],
    rows: Sequence[Row] = (),
) -> Chart:
    """A chart of `values`, of `rows` of boards; `spec` is what Vega-Lite needs besides."""
    whole = {"$schema": _SCHEMA, "description": visible(words), "config": _CONFIG, "data": {"values": values}}
    return Chart(kind, name, visible(title), visible(words), {**whole, "title": None, **spec}, tuple(rows))


def panel_title(text: str) -> dict[str, Any]:
    """The title of one of several panels."""
    return {"text": visible(text), "anchor": "start", "frame": "group", "fontSize": 10.7, "offset": 6}


def axis_of(values: Sequence[float], what: str, ticks: int = 6) -> dict[str, Any]:
    """An axis of numbers: from 0, or logarithmic where they differ much."""
    least, most = min(values), max(values)
    log = least > 0 and most > LINEAR_RANGE * least
    return axis(least / 1.3 if log else 0, most * (1.3 if log else 1.08) or 1, what, log, ticks)


def axis(least: float, most: float, what: str, log: bool = True, ticks: int = 6) -> dict[str, Any]:
    """An axis of numbers between these, about so many of them written beside it unless it is logarithmic."""
    written: dict[str, Any] = {"tickCount": ticks}
    if log:
        # Over few decades powers of ten alone would be too far apart.
        steps = (1,) if most > 200 * least else (1, 3) if most > 30 * least else (1, 2, 5)
        decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        found = [float(f"{step}e{decade}") for decade in decades for step in steps]
        written = {"values": [value for value in found if least <= value <= most]}
    return {
        "type": "quantitative",
        "scale": {"type": "log" if log else "linear", "domain": [least, most], "nice": False},
        "title": f"{what} (log axis)" if log else what,
        # Each number in its own unit: `500k`, `2M`.
        "axis": {"labelExpr": "format(datum.value, '~s')", "labelFlush": False, "labelSeparation": 4, **written},
    }


def colour_of(rows: Iterable[Row], colours: Mapping[str, str], legend: bool = False) -> dict[str, Any]:
    """The library's own colour, the same in every figure; without a legend where an axis names the variants."""
    names = list(dict.fromkeys(row.implementation for row in rows))
    scale = {"domain": names, "range": [colours[name] for name in names]}
    return {"field": "library", "type": "nominal", "scale": scale, "legend": {"title": "library"} if legend else None}


def tooltip(exact: Sequence[str] = (), *names: str) -> list[dict[str, str]]:
    """What stands under the mouse: fields that are words, and those whose numbers are shown to the last digit."""
    words = [{"field": name, "type": "nominal", "title": name} for name in names]
    return words + [{"field": name, "type": "quantitative", "format": ",", "title": name} for name in exact]


def _told(svg: str, words: str) -> str:
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(words)}" ', 1)


def _wrapped(text: str, millimetres: float) -> list[str]:
    return textwrap.wrap(text, int(millimetres * _PER_MM), break_on_hyphens=False)


@functools.cache
def converter() -> ModuleType:
    """vl-convert, without the fonts of the machine: its own are the same everywhere."""
    library.require()
    import vl_convert

    before = os.environ.get("FONTCONFIG_FILE")
    os.environ["FONTCONFIG_FILE"] = str(_NO_FONTS)
    try:
        # It looks for fonts once, now.
        vl_convert.register_font_directory(os.devnull)
    finally:
        if before is None:
            del os.environ["FONTCONFIG_FILE"]
        else:
            os.environ["FONTCONFIG_FILE"] = before
    return vl_convert


@functools.lru_cache(maxsize=256)
def _drawn(spec: str) -> str:
    return str(converter().vegalite_to_svg(spec, vl_version=_VERSION))


def in_page(data: Any) -> str:
    """JSON that no HTML parser takes for the end of a script."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


@functools.cache
def libraries() -> str:
    """Vega, Vega-Lite and vega-embed in one module, which puts vegaEmbed into the window.

    They come with vl-convert, whose version and digest requirements/ pins; nothing is fetched. It takes two seconds to
    put them together, so the cache keeps them, behind their digest.
    """
    maker = converter()
    named = f"{metadata.version('vl-convert-python')} {_VERSION}"
    path = paths.cache_place() / FOLDER / f"{hashlib.sha256(named.encode()).hexdigest()[:40]}.js"
    with contextlib.suppress(OSError, ValueError):
        digest, _, kept = files.read_bytes(path, _MOST_BUNDLE).decode("utf-8").partition("\n")
        if hashlib.sha256(kept.encode()).hexdigest() == digest:
            return kept
    made = str(maker.javascript_bundle(vl_version=_VERSION)).replace("</script", "<\\/script")
    # What cannot be kept is made again.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(made.encode()).hexdigest()
        files.write_whole(path.parent, path.name, f"{digest}\n{made}".encode())
    return made
