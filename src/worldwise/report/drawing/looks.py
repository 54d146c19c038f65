# SPDX-License-Identifier: BSD-2-Clause
"""How libraries look in figures: one colour, hatch and marker for each, the same everywhere."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from worldwise.base.errors import WorldwiseError


@dataclass(frozen=True)
class Style:
    """How a library looks in every figure."""

    colour: str
    hatch: str
    marker: str


# Okabe and Ito's colours, which colour-blind people tell apart, with grey for their black.
STYLES: Mapping[str, Style] = {
    "micro-ecc": Style("#0072b2", "", "o"),
    "mbedtls36": Style("#d55e00", "////", "s"),
    "p256-m": Style("#cc79a7", "....", "v"),
    "p256-cortex-m4": Style("#6a6a6a", "----", "X"),
    "monocypher": Style("#009e73", "\\\\\\\\", "D"),
    "wolfssl": Style("#e69f00", "xxxx", "^"),
    "wolfssl-small": Style("#f0e442", "++++", "<"),
    "bearssl": Style("#56b4e9", "||||", "P"),
    "c25519": Style("#b8a000", "oo", ">"),
    "micro-ecc-fast": Style("#003f66", "**", "p"),
    "wolfssl-fast": Style("#8a5f00", "OO", "h"),
}
# What OP-TEE and its Linux have beside these: another palette for the colour-blind, Paul Tol's "muted".
_OF_TEE: Mapping[str, Style] = {
    "libtomcrypt": Style("#332288", "", "o"),
    "libtomcrypt-ce": Style("#88ccee", "||||", "P"),
    "mbedtls": Style("#882255", "////", "s"),
    "mbedtls-ce": Style("#cc6677", "xxxx", "^"),
    "mbedtls-nist": Style("#117733", "\\\\\\\\", "D"),
    "mbedtls36-ce": Style("#44aa99", "----", "X"),
    "openssl": Style("#ddcc77", "....", "v"),
    "openssl-ce": Style("#aa4499", "++++", "<"),
}
# The looks of a user's own libraries: each differs from those above and from each other.
_OWN_COLOURS = ("#a03a6e", "#a6d854", "#7a6fd0", "#8c6239", "#7fd1b9", "#999933")
_OWN_HATCHES = ("", "////", "xxxx", "....", "\\\\\\\\", "----")
_OWN_MARKERS = (">", "p", "h", "*", "d", "H")
_OWN = tuple(
    Style(colour, hatch, marker)
    for hatch, marker in zip(_OWN_HATCHES, _OWN_MARKERS, strict=True)
    for colour in _OWN_COLOURS
)


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
        # A free colour is better than a free hatch: readers remember colours.
        taken = {style.colour for style in chosen.values()}
        ring = _OWN[wanted:] + _OWN[:wanted]
        fresh = [style for style in ring if style in free and style.colour not in taken]
        chosen[name] = fresh[0] if fresh else next(style for style in ring if style in free)
        free.remove(chosen[name])
    return chosen
