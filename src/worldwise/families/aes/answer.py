# SPDX-License-Identifier: BSD-2-Clause
"""The answer of AES on one screen: instructions per byte by library and mode."""

from worldwise.base.tables import Table, factor
from worldwise.base.units import size_text
from worldwise.plan.case import parameters_of
from worldwise.read.models import Reading, Row
from worldwise.read.order import is_quiet
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import ANSWER_LINES, Answer

_MODES = ("cbc", "ctr", "gcm")
# The caller's places: the client of the TEE, or Linux.
_CALLER = ("client", "linux")


def aes_answer(reading: Reading) -> Answer | None:
    """Encryption with AES-128 of the longest message, for each library and world; None if the run has no AES."""
    rows = [
        row
        for row in reading.rows
        if row.operation == "aes" and row.measure == "cipher" and row.place in _CALLER and row.size and is_quiet(row)
    ]
    found: dict[tuple[str, str], dict[str, Row]] = {}
    size = max((row.size or 0 for row in rows), default=0)
    for row in rows:
        given = parameters_of(row.parameters)
        if (given["key"], given["direction"], row.size) == ("128", "encrypt", size):
            found.setdefault((row.target, row.variant), {})[given["mode"]] = row
    if not found:
        return None
    ranked = sorted(found, key=lambda key: (min(row.median for row in found[key].values()), key))
    cells = [
        [
            target,
            variant,
            *(factor(one.median / size) if (one := found[target, variant].get(mode)) else "-" for mode in _MODES),
        ]
        for target, variant in ranked[:ANSWER_LINES]
    ]
    left = len(ranked) - len(cells)
    more = (f"{left} more libraries take more instructions than these.",) if left else ()
    return Answer(
        f"What AES-128 costs a caller per byte of {size_text(size)}",
        Table(["target", "library", *(f"{mode.upper()}\ninstr / byte" for mode in _MODES)], cells, 2),
        surprises=(*more, *spread_surprises(rows)),
        sections=("aes", "plain-aes"),
    )
