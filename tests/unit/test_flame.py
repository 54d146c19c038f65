# SPDX-License-Identifier: BSD-2-Clause
"""What the renderer is asked for, and what is said when it cannot be had; drawing itself is in tests/browser."""

import io
import itertools
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flames import FLAME_STACKS, frame
from worldwise.base.errors import WorldwiseError
from worldwise.explain.stacks import StackFrame, Stacks, folded
from worldwise.lab.debian.lock import Lock
from worldwise.lab.image import OTHER_CONTENT
from worldwise.lab.lab import Lab
from worldwise.report.drawing.flame_graph import (
    COLOURS,
    colour,
    differential,
    flame_graph,
    kind,
)
from worldwise.run.traces.flame_renderer import INFERNO_VERSION, Inferno


class Drawn(Inferno):
    """Keeps what it is asked for, and draws nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str], dict[str, str]]] = []

    def run(self, program: str, arguments: Sequence[str], files: Mapping[str, str]) -> str:
        self.asked.append((program, list(arguments), dict(files)))
        subtitle = next((text for text in arguments if text.startswith("--subtitle=")), "").partition("=")[2]
        return f'<svg><style></style><text id="subtitle">{subtitle}</text></svg>'


def test_every_frame_has_a_colour_in_the_palette_and_every_kind_one_in_the_legend() -> None:
    renderer = Drawn()
    svg = flame_graph(FLAME_STACKS, "-O2 and <others>", renderer)
    ((program, arguments, files),) = renderer.asked
    assert program == "inferno-flamegraph"
    assert "--title=-O2 and <others>" in arguments
    assert "--countname=instructions" in arguments
    assert files["stacks"] == folded(FLAME_STACKS)
    palette = dict(re.findall(r"^(.*)->rgb\((\d+,\d+,\d+)\)$", files["palette.map"], re.MULTILINE))
    for item in {item for stack in FLAME_STACKS for item in stack}:
        assert palette[str(item)] == ",".join(map(str, colour(item)))
    for name, (red, green, blue) in COLOURS.items():
        assert f'<tspan fill="rgb({red},{green},{blue})">■</tspan> {name}' in svg
    # A kind that does not occur has no place in the legend.
    assert "monitor" not in flame_graph({(frame("main"),): 1}, "x", renderer)


def test_the_kinds() -> None:
    kinds = {name: kind(frame(name)) for name in ("main", "invoke", "svc", "smc", "handler", "std", "entry", "lost")}
    assert kinds == {
        "main": "programs",
        "invoke": "programs",
        "svc": "Linux",
        "smc": "Linux",
        "handler": "monitor",
        "std": "OP-TEE core",
        "entry": "TA and ldelf",
        "lost": "unknown",
    }
    # By its name alone: the same function has the same colour in every graph.
    assert colour(frame("entry")) == colour(StackFrame("TA_InvokeCommandEntryPoint", "ta", "TA runtime", "secure"))


# How the colours appear with red, green and blue cones missing: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A
# physiologically-based model for simulation of color vision deficiency", 2009, at full severity.
_SEEN = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def linear(rgb: Sequence[int]) -> list[float]:
    return [value / 255 / 12.92 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in rgb]


def cielab(rgb: Sequence[int], seen: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    values = linear(rgb)
    red, green, blue = (min(1, max(0, sum(a * b for a, b in zip(row, values, strict=True)))) for row in seen)
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (
            (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
            0.2126 * red + 0.7152 * green + 0.0722 * blue,
            (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("seen", _SEEN.values(), ids=_SEEN.keys())
def test_the_colours_stay_apart_for_the_colour_blind(seen: Sequence[Sequence[float]]) -> None:
    for one, other in itertools.combinations(COLOURS, 2):
        pairs = zip(cielab(COLOURS[one], seen), cielab(COLOURS[other], seen), strict=True)
        # 10 is told apart at a glance.
        assert sum((a - b) ** 2 for a, b in pairs) ** 0.5 > 15, (one, other)


def test_the_text_on_the_colours_can_be_read() -> None:
    for rgb in COLOURS.values():
        red, green, blue = linear(rgb)
        # Black on it, as the Web Content Accessibility Guidelines count contrast; 4.5 is asked for.
        assert (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) / 0.05 > 5.5


def test_a_differential_graph_says_what_its_colours_mean() -> None:
    renderer = Drawn()
    before: Stacks = {(frame("main"),): 1200}
    after: Stacks = {(frame("main"),): 1000}
    differential(before, after, "x", renderer)
    (first, _, files), (second, arguments, _) = renderer.asked
    assert (first, second) == ("inferno-diff-folded", "inferno-flamegraph")
    assert files == {"before": folded(before), "after": folded(after)}
    subtitle = next(text for text in arguments if text.startswith("--subtitle="))
    for words in ("1,200 instructions before", "1,000 after (-200)", "Red: the function itself executes more"):
        assert words in subtitle


def test_stacks_without_instructions_are_not_drawn() -> None:
    some: Stacks = {(frame("main"),): 1}
    draws: list[Callable[[], str]] = [
        lambda: flame_graph({(frame("main"),): 0}, "region sign", Drawn()),
        lambda: differential(some, {}, "region sign", Drawn()),
        lambda: differential({}, some, "region sign", Drawn()),
    ]
    for draw in draws:
        with pytest.raises(WorldwiseError) as caught:
            draw()
        assert "region sign" in caught.value.message


class NoRegistry(Lab):
    """A root that is there, and in which the fetch ends with a status."""

    status = 101

    def ensure(self) -> bool:
        return False

    def run(self, argv: Sequence[str | Path], **arguments: Any) -> subprocess.CompletedProcess[str]:
        assert argv[-1] == "/in/recipes/inferno-fetch.sh", "nothing may be built"
        assert arguments["network"] is True
        log: Path = arguments["log"]
        log.write_text("error: failed to query replaced source registry\n")
        if self.status == OTHER_CONTENT:
            build = next(outside for outside, inside, _ in arguments["binds"] if inside == "/build")
            (build / "cargo/registry/cache/index").mkdir(parents=True)
            (build / "cargo/registry/cache/index/inferno-1.crate").write_bytes(b"another")
        return subprocess.CompletedProcess(list(map(str, argv)), self.status, "", "")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (101, "could not be fetched"),
        # Whoever writes a new crate's digest down reads here what it is.
        (OTHER_CONTENT, f"differs from what is pinned: the received SHA-256 is {sha256(b'another').hexdigest()}"),
    ],
)
def test_no_registry_is_said_with_the_ways_out(tmp_path: Path, status: int, words: str) -> None:
    lock = Lock(format=1, suite="trixie", lab=[], target=[], sources=[])
    lab = NoRegistry(lock, tmp_path, Console(file=io.StringIO()), "render")
    lab.status = status
    with pytest.raises(WorldwiseError) as caught:
        flame_graph(FLAME_STACKS, "x", Inferno(lab=lab))
    assert f"crate inferno {INFERNO_VERSION}" in caught.value.message
    assert words in caught.value.message
    assert "https_proxy" in caught.value.hint
    assert "--format folded" in caught.value.hint
    assert "failed to query" in caught.value.details
    assert not [path for path in (tmp_path / "images").glob("inferno-*") if path.suffix != ".log"]
