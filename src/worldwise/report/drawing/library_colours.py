# SPDX-License-Identifier: BSD-2-Clause
"""How libraries look in figures: one colour and marker for each, the same everywhere."""

import hashlib
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from worldwise.base.errors import WorldwiseError


@dataclass(frozen=True)
class Style:
    """How a library looks in every figure."""

    colour: str
    marker: str


# Okabe and Ito's colours, which colour-blind people tell apart, with grey for their black.
STYLES: Mapping[str, Style] = {
    "micro-ecc": Style("#0072b2", "o"),
    "mbedtls36": Style("#d55e00", "s"),
    "p256-m": Style("#cc79a7", "v"),
    "p256-cortex-m4": Style("#6a6a6a", "X"),
    "monocypher": Style("#009e73", "D"),
    "wolfssl": Style("#e69f00", "^"),
    "wolfssl-small": Style("#f0e442", "<"),
    "bearssl": Style("#56b4e9", "P"),
    "c25519": Style("#b8a000", ">"),
    "micro-ecc-fast": Style("#003f66", "p"),
    "wolfssl-fast": Style("#8a5f00", "h"),
}
# What OP-TEE and its Linux have beside these: another palette for the colour-blind, Paul Tol's "muted".
_OF_TEE: Mapping[str, Style] = {
    "libtomcrypt": Style("#332288", "o"),
    "libtomcrypt-ce": Style("#88ccee", "P"),
    "mbedtls": Style("#882255", "s"),
    "mbedtls-ce": Style("#cc6677", "^"),
    "mbedtls-nist": Style("#117733", "D"),
    "mbedtls36-ce": Style("#44aa99", "X"),
    "openssl": Style("#ddcc77", "v"),
    "openssl-ce": Style("#aa4499", "<"),
}
# The looks of a user's own libraries: each differs from those above and from each other.
_OWN_COLOURS = ("#a03a6e", "#a6d854", "#7a6fd0", "#8c6239", "#7fd1b9", "#999933")
_OWN_MARKERS = (">", "p", "h", "*", "d", "H")
_OWN = tuple(Style(colour, marker) for marker in _OWN_MARKERS for colour in _OWN_COLOURS)
_Corners = list[tuple[float, float]]


def _star(corners: int, turn: float = 0, size: float = 1.1, inner: float = 0) -> _Corners:
    """The corners of a regular polygon, one of them on top unless turned by so many degrees; of a star with `inner`."""
    radii = (size, inner) if inner else (size,)
    number = corners * len(radii)
    angles = [math.radians(turn + 360 * corner / number) for corner in range(number)]
    corner = zip(angles, itertools.cycle(radii), strict=False)
    # Last bits differ by processor; nor is there a negative zero.
    return [(round(r * math.sin(angle), 3) + 0.0, round(-r * math.cos(angle), 3) + 0.0) for angle, r in corner]


_PLUS: _Corners = [(-0.4, -1), (0.4, -1), (0.4, -0.4), (1, -0.4), (1, 0.4), (0.4, 0.4)]
_PLUS += [(-x, -y) for x, y in _PLUS]
# By the names that plot libraries have for them; y grows downwards.
_MARKERS: Mapping[str, _Corners] = {
    "s": _star(4, 45, 1.3),
    "D": _star(4, 0, 1.25),
    "d": [(0.6 * x, 1.1 * y) for x, y in _star(4)],
    "^": _star(3, 0, 1.2),
    "v": _star(3, 180, 1.2),
    "<": _star(3, -90, 1.2),
    ">": _star(3, 90, 1.2),
    "p": _star(5),
    "h": _star(6),
    "H": _star(6, 30),
    "*": _star(5, 0, 1.4, 0.6),
    "P": _PLUS,
    "X": [(0.78 * (x - y), 0.78 * (x + y)) for x, y in _PLUS],
}


def outline(marker: str, half: bool = False) -> str:
    """A marker as the path of an SVG, within -1 and 1; `half`: its upper half stays empty when it is filled."""
    if marker == "o":
        return "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z" + ("M1,0A1,1,0,0,0,-1,0Z" if half else "")
    corners = _MARKERS[marker]
    # Drawn the other way round, so that what is within both is outside.
    return _path(corners) + (_path(_above(corners)[::-1]) if half else "")


def _path(corners: _Corners) -> str:
    return "M" + "L".join(f"{x:.3g},{y:.3g}" for x, y in corners) + "Z"


def _above(corners: _Corners) -> _Corners:
    """The part of a polygon that is above its middle."""
    found: _Corners = []
    for (x, y), (to_x, to_y) in itertools.pairwise([*corners, corners[0]]):
        if y <= 0:
            found.append((x, y))
        if y * to_y < 0:
            found.append((x - y * (to_x - x) / (to_y - y), 0))
    return found


def styles(names: Iterable[str]) -> dict[str, Style]:
    """The look of each library. A user's own library looks the same in every figure that has the same libraries.

    Its name decides which free look it gets; if two names want the same look, the later name takes the next.
    Raises WorldwiseError if there are more of them than looks.
    """
    chosen: dict[str, Style] = {}
    free = list(_OWN)
    for name in sorted(set(names)):
        known = STYLES.get(name) or _OF_TEE.get(name)
        if known:
            chosen[name] = known
            continue
        if not free:
            raise WorldwiseError(
                f"library '{name}': a figure can show {len(_OWN)} libraries that are not worldwise's own, not more.",
                "choose fewer of them, by --board, --operation or --curve",
            )
        wanted = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % len(_OWN)
        # A free colour is better than a free marker: readers remember colours.
        taken = {style.colour for style in chosen.values()}
        ring = _OWN[wanted:] + _OWN[:wanted]
        fresh = [style for style in ring if style in free and style.colour not in taken]
        chosen[name] = fresh[0] if fresh else next(style for style in ring if style in free)
        free.remove(chosen[name])
    return chosen
