# SPDX-License-Identifier: BSD-2-Clause
"""Flame graphs: one interactive SVG from stacks that cross the worlds, drawn by inferno."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from worldwise.base.errors import WorldwiseError
from worldwise.base.output.safe_text import visible
from worldwise.explain.stacks import StackFrame, Stacks, folded

# Colours that differ in the common kinds of colour blindness, light enough for black text on them.
COLOURS = {
    "programs": (166, 212, 242),
    "Linux": (92, 158, 219),
    "monitor": (245, 186, 66),
    "OP-TEE core": (224, 104, 84),
    "TA and ldelf": (158, 112, 242),
    "unknown": (190, 190, 190),
}
# inferno adds a bar below all others; it has no name.
_ROOT_COLOUR = (235, 235, 235)
_WHERE = {
    "programs": " (normal world)",
    "Linux": " (normal world)",
    "monitor": " (EL3)",
    "OP-TEE core": " (secure world)",
    "TA and ldelf": " (secure world)",
    "unknown": "",
}


class Renderer(Protocol):
    """What draws: worldwise.run.traces.flame_renderer has it."""

    version: str

    def run(self, program: str, arguments: Sequence[str], files: Mapping[str, str]) -> str:
        """The output of one of inferno's programs, run in a directory with the given files (name -> text)."""


def kind(frame: StackFrame) -> str:
    """The key of a frame's colour in COLOURS."""
    if frame.layer == "unknown":
        return "unknown"
    if frame.world == "monitor":
        return "monitor"
    if frame.world == "secure":
        return "OP-TEE core" if frame.image == "tee" else "TA and ldelf"
    return "Linux" if frame.image.split(":")[0] == "linux" else "programs"


def colour(frame: StackFrame) -> tuple[int, int, int]:
    """Red, green and blue (0 to 255) of a frame: its kind's colour, a little lighter or darker by its name.

    Without the shades, neighbours of one kind would look like one bar.
    """
    shade = hashlib.sha256(str(frame).encode()).digest()[0] / 255 * 0.14 - 0.07
    red, green, blue = (min(255, round(value * (1 + shade))) for value in COLOURS[kind(frame)])
    return red, green, blue


def flame_graph(stacks: Stacks, title: str, renderer: Renderer, unit: str = "instructions") -> str:
    """One self-contained interactive SVG: click to zoom, search (Ctrl-F), colours by world.

    `unit` is what the stacks' numbers are. The same stacks and title give the same bytes. Raises WorldwiseError for
    stacks in which nothing was executed, and as `Renderer.run`.
    """
    text = _required(stacks, title)
    frames = sorted({frame for stack, count in stacks.items() if count for frame in stack}, key=_order)
    # Frames with the same text share a colour: that of the last one.
    palette = {"": _ROOT_COLOUR} | {str(frame): colour(frame) for frame in frames}
    lines = "".join(f"{name}->rgb({red},{green},{blue})\n" for name, (red, green, blue) in sorted(palette.items()))
    present = {kind(frame) for frame in frames}
    legend = [name for name in COLOURS if name in present]
    # SVG viewers fold spaces into one, but not no-break spaces.
    subtitle = "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE} ".join(f"■ {name}{_WHERE[name]}" for name in legend)
    options = [*_options(renderer, title, subtitle, background="#fafafa", unit=unit), "--cp"]
    svg = renderer.run("inferno-flamegraph", [*options, "stacks"], {"stacks": text, "palette.map": lines})
    return _visible_search(_with_legend(svg, legend))


def differential(before: Stacks, after: Stacks, title: str, renderer: Renderer) -> str:
    """A differential flame graph as one SVG: widths are those of `after`; red are functions that themselves execute
    more than in `before`, blue those that execute less, white those that are unchanged.

    Stacks that only `before` has get no width, so the graph does not show them: swap the two to see them. Raises as
    `flame_graph` does.
    """
    files = {"before": _required(before, title), "after": _required(after, title)}
    change = sum(after.values()) - sum(before.values())
    subtitle = (
        f"{sum(before.values()):,} instructions before, {sum(after.values()):,} after ({change:+,}). "
        "Width: after. Red: the function itself executes more than before. Blue: less."
    )
    difference = renderer.run("inferno-diff-folded", ["before", "after"], files)
    # Unchanged bars are white, so the background is not.
    options = _options(renderer, title, subtitle, background="#d8d8d8")
    return _visible_search(renderer.run("inferno-flamegraph", [*options, "stacks"], {"stacks": difference}))


def _options(renderer: Renderer, title: str, subtitle: str, background: str, unit: str = "instructions") -> list[str]:
    options = {
        "title": title,
        "subtitle": subtitle,
        "countname": unit,
        "nametype": "Function:",
        "bgcolors": background,
        # A bright colour that differs from all of COLOURS.
        "search-color": "#ffff00",
        "notes": f"inferno {renderer.version}",
    }
    # With "=", so that a title may begin with "-". Deterministic: colours are random unless a palette names them.
    shown = (f"--{name}={visible(value)}" for name, value in options.items())
    return ["--deterministic", "--truncate-text-right", *shown]


def _required(stacks: Stacks, title: str) -> str:
    text = folded(stacks)
    if not text:
        raise WorldwiseError(
            f"{title}: no instruction was executed in these stacks, so there is nothing to draw",
            "choose another region or case",
        )
    return text


def _order(frame: StackFrame) -> tuple[str, str, str, str]:
    return frame.world, frame.layer, frame.image, frame.function


def _with_legend(svg: str, legend: Iterable[str]) -> str:
    """Colour the squares of the subtitle by their meaning; inferno draws all text in one colour."""
    head, mark, rest = svg.partition('id="subtitle"')
    for name in legend:
        red, green, blue = COLOURS[name]
        rest = rest.replace("■ ", f'<tspan fill="rgb({red},{green},{blue})">⬛</tspan> ', 1)
    return head + mark + rest.replace("⬛", "■")


def _visible_search(svg: str) -> str:
    """Make the Search button visible: inferno shows it almost transparent until the mouse is over it."""
    return svg.replace("</style>", "#search { opacity: 0.6; }\n</style>", 1)
