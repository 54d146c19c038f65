# SPDX-License-Identifier: BSD-2-Clause
"""The answer of hashing on one screen: the cost of a byte, and the share of the way into the TA."""

from worldwise.base.tables import Table, count, factor, ratio
from worldwise.base.units import size_text
from worldwise.families.sha256.cost import HashCost, throughput
from worldwise.families.sha256.readings import Hashing
from worldwise.read.models import Reading
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import Answer


def sha256_answer(reading: Reading) -> list[Answer]:
    """Each variant's messages, the longest and the shortest being the most important; nothing if nothing was hashed."""
    costs = [cost for cost in reading.part(Hashing).hashing.costs if cost.chunk is None and not cost.parameters]
    if not costs:
        return []
    by_variant: dict[str, list[HashCost]] = {}
    for cost in sorted(costs, key=lambda cost: -cost.size):
        by_variant.setdefault(cost.variant, []).append(cost)
    lines = [(place, own, cost) for own in by_variant.values() for place, cost in enumerate(own)]
    # The longest of each first, then the shortest of each, then the others.
    tiers = [0 if not place else 1 if place == len(own) - 1 else 2 for place, own, _ in lines]
    order = sorted(range(len(lines)), key=lambda number: (tiers[number], number))
    headers = ["variant", "message", "client\ninstr", "client\ninstr / byte", "of it\nalgorithm %", "of it\nswitch %"]
    headers += ["of it\nmemory %", "client /\nLinux", f"at {reading.part(Hashing).hashing.clock_ghz} GHz\nMB/s"]
    cells = [
        [
            cost.variant,
            size_text(cost.size),
            count(cost.total),
            factor(cost.total / cost.size) if cost.size else "-",
            *(f"{100 * part / cost.total:.1f}" for part in (cost.algorithm, cost.switch, cost.memory)),
            ratio(cost.total / cost.linux if cost.linux else None),
            f"{throughput(cost.size, cost.total):,.1f}" if cost.size else "-",
        ]
        for _, _, cost in lines
    ]
    rows = [row for row in reading.rows if row.operation == "sha256" and row.place == "client"]
    return [
        Answer(
            "What SHA-256 costs in the TEE (MB/s: if each instruction took one cycle)",
            Table(headers, cells, 2),
            surprises=spread_surprises(rows),
            sections=(
                "sha256-cost",
                *(("sha256-compared",) if any(cost.linux or cost.sha256sum for cost in costs) else ()),
                *(("sha256-per-byte",) if reading.part(Hashing).hashing.fits else ()),
            ),
            # The share of memory, the rate at a clock.
            optional=(6, 8),
            importance=tuple(order.index(number) for number in range(len(lines))),
        )
    ]
