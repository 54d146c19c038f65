# SPDX-License-Identifier: BSD-2-Clause
"""The answer of hashing on one screen: the cost of a byte, and the share of the way into the TA."""

from worldwise.base.tables import Table, factor, ratio, whole
from worldwise.base.units import size_text
from worldwise.families.sha256.cost import HashCost, throughput
from worldwise.families.sha256.readings import Hashing
from worldwise.read.models import Reading
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import ANSWER_LINES, Answer


def sha256_answer(reading: Reading) -> Answer | None:
    """The longest message of each variant, and the shortest one where there is room; None if nothing was hashed."""
    costs = [cost for cost in reading.part(Hashing).hashing.costs if cost.chunk is None and not cost.parameters]
    if not costs:
        return None
    by_variant: dict[str, list[HashCost]] = {}
    for cost in sorted(costs, key=lambda cost: cost.size):
        by_variant.setdefault(cost.variant, []).append(cost)
    chosen = [own[-1] for own in by_variant.values()]
    shortest = [own[0] for own in by_variant.values() if len(own) > 1]
    if len(chosen) + len(shortest) <= ANSWER_LINES:
        chosen = sorted([*chosen, *shortest], key=lambda cost: list(by_variant).index(cost.variant))
    headers = ["variant", "message", "client\ninstr", "client\ninstr / byte", "of it\nalgorithm %", "of it\nswitch %"]
    headers += ["of it\nmemory %", "client /\nLinux", f"at {reading.part(Hashing).hashing.clock_ghz} GHz\nMB/s"]
    cells = [
        [
            cost.variant,
            size_text(cost.size),
            whole(cost.total),
            factor(cost.total / cost.size) if cost.size else "-",
            *(f"{100 * part / cost.total:.1f}" for part in (cost.algorithm, cost.switch, cost.memory)),
            ratio(cost.total / cost.linux if cost.linux else None),
            f"{throughput(cost.size, cost.total):,.1f}" if cost.size else "-",
        ]
        for cost in chosen[:ANSWER_LINES]
    ]
    rows = [row for row in reading.rows if row.operation == "sha256" and row.place == "client"]
    return Answer(
        "What SHA-256 costs in the TEE",
        Table(headers, cells, 1),
        surprises=(*_far(reading), *spread_surprises(rows)),
        sections=("sha256-cost", "sha256-compared", "sha256-per-byte"),
    )


def _far(reading: Reading) -> tuple[str, ...]:
    figures = reading.part(Hashing).hashing.published
    if not figures:
        return ()
    one = max(figures, key=lambda figure: max(figure.ratio, 1 / figure.ratio))
    return (
        f"Furthest from what was published: {one.quantity} of {one.variant} is {factor(one.ratio)} times that of "
        f"{one.source}.",
    )
