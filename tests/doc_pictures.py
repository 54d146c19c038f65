# SPDX-License-Identifier: BSD-2-Clause
"""Flame graphs of docs/pictures: what the tool draws, as a picture that a page on a code host shows.

Without scripts no viewer writes the names into inferno's bars, so they are written here. Bars of less than LEAST of the
whole are left out, and with them what stands on them. The picture keeps the command that draws all of it.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import doc_records

PICTURES = doc_records.FIGURES.parent / "pictures"
# The part of the whole, in per cent, that a bar needs to be kept.
LEAST = 0.5
_SVG = "{http://www.w3.org/2000/svg}"
# Of a picture, in pixels: its width, where bars begin, how wide all of them are, and a letter of their font.
_WIDTH, _LEFT, _WIDE, _LETTER = 1200, 10, 1180, 7.23
_BAR = re.compile(r"(?P<name>.*) \((?P<count>[0-9,]+) instructions, [0-9.]+%\)")


@dataclass(frozen=True)
class Bar:
    """A bar: the function, its instructions with all that it calls, and where it stands, in per cent and pixels."""

    name: str
    count: int
    x: float
    y: float
    width: float
    fill: str


def declared() -> dict[str, str]:
    """The commands of the pictures, by the pictures' names."""
    found: dict[str, str] = tomllib.loads(doc_records.DECLARED.read_text(encoding="utf-8"))["pictures"]
    return found


def path_of(name: str) -> Path:
    """The file of a picture."""
    return PICTURES / f"{name}.svg"


def still(svg: str, command: str) -> str:
    """The picture of a flame graph that the tool drew."""
    root = ElementTree.fromstring(svg)
    texts = {one.get("id"): one for one in root.iter(f"{_SVG}text")}
    bars = [one for one in _bars(root) if one.width >= LEAST]
    # Nothing is above the highest bar that is kept.
    top = min(one.y for one in bars) - 60
    height = float(root.get("height", "0")) - top
    legend = "".join(
        f'<tspan fill="{part.get("fill")}">{escape(part.text or "")}</tspan>{escape(part.tail or "")}'
        for part in texts["subtitle"]
    )
    title = escape(texts["title"].text or "")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {_WIDTH} {height:.0f}" font-family="monospace" font-size="12">',
        f"<desc>{escape(command)}</desc>",
        '<rect width="100%" height="100%" fill="#fafafa"/>',
        f'<text x="{_WIDTH // 2}" y="20" text-anchor="middle" font-size="15">{title}</text>',
        f'<text x="{_WIDTH // 2}" y="40" text-anchor="middle">{legend}, bars from {LEAST:g} % on</text>',
        *(_drawn(one, top) for one in bars),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def bars_of(picture: str) -> list[Bar]:
    """The bars of a picture that `still` made."""
    return list(_bars(ElementTree.fromstring(picture)))


def _bars(root: ElementTree.Element) -> Iterable[Bar]:
    for group in root.iter(f"{_SVG}g"):
        rect = group.find(f"{_SVG}rect")
        match = _BAR.fullmatch(group.findtext(f"{_SVG}title") or "")
        if rect is None or match is None:
            continue
        x, width = (_percent(rect.get(key, "0")) for key in ("x", "width"))
        count = int(match["count"].replace(",", ""))
        yield Bar(match["name"], count, x, float(rect.get("y", "0")), width, rect.get("fill", ""))


def _percent(text: str) -> float:
    """A place in a row of bars: in per cent as inferno writes it, or in pixels as a picture has it."""
    if text.endswith("%"):
        return float(text[:-1])
    return float(text)


def _drawn(one: Bar, top: float) -> str:
    x, width = _LEFT + one.x * _WIDE / 100, one.width * _WIDE / 100
    letters = int((width - 4) / _LETTER)
    name = one.name if len(one.name) <= letters else f"{one.name[: letters - 2]}.." if letters > 3 else ""
    text = f'<text x="{x + 3:.1f}" y="{one.y - top + 11.5:.1f}">{escape(name)}</text>' if name else ""
    return (
        f"<g><title>{escape(one.name)} ({one.count:,} instructions, {one.width:.2f}%)</title>"
        f'<rect x="{x:.2f}" y="{one.y - top:.0f}" width="{width:.2f}" height="15" fill="{one.fill}"/>{text}</g>'
    )
