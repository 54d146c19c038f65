# SPDX-License-Identifier: BSD-2-Clause
"""The answer of cryptography in a TA on one screen: each library's instructions for the main operation."""

from collections import Counter
from collections.abc import Callable, Sequence

from worldwise.base.tables import Table, factor, whole
from worldwise.families.crypto.readings import Recommended
from worldwise.read.models import Reading, Row
from worldwise.report.comparing import claim
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import ANSWER_LINES, Answer

Subject = tuple[str, str, int | None]


def crypto_answer(
    reading: Reading,
    rows: Sequence[Row],
    subject_of: Callable[[Row], Subject],
    text: Callable[[str, str, int | None], str],
) -> Answer | None:
    """The libraries by the client's cost of one subject: the one that the suite recommends, or the one that most have.

    `rows` are the TEE's ordinary rows. None if no client was measured.
    """
    clients = [row for row in rows if row.place == "client"]
    if not clients:
        return None
    named = reading.part(Recommended).recommended
    recommended = next((row for row in reading.rows if row.case == named), None)
    counted = Counter(map(subject_of, clients))
    subject = subject_of(recommended) if recommended else max(counted, key=lambda one: (counted[one], one[0] == "sign"))
    ranked = sorted((row for row in clients if subject_of(row) == subject), key=lambda row: (row.median, row.variant))
    inside = {row.case: row for row in rows if row.place == "ta"}
    cells = [
        [
            row.variant,
            whole(row.median),
            whole(inside[row.case].median) if row.case in inside else "-",
            factor(row.median / ranked[0].median),
            *claim(row.implementation, row.curve)[::2],
        ]
        for row in ranked[:ANSWER_LINES]
    ]
    headers = ["library", "from the client\ninstr", "in the TA\ninstr", "/ fewest\n", "constant\ntime", "licence"]
    verdict = f"Recommended: {named.partition('/')[2]}." if named else ""
    left = len(ranked) - len(cells)
    more = (f"{left} more libraries take more instructions than these.",) if left else ()
    return Answer(
        f"Which library for {text(*subject)} in a TA",
        Table(headers, cells, 1),
        verdict,
        (*more, *spread_surprises(clients)),
        ("crypto", "recommended") if named else ("crypto",),
    )
