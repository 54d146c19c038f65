# SPDX-License-Identifier: BSD-2-Clause
"""The answer of hashing on one screen: the cost of a byte, and the share of the way into the TA."""

from worldwise.base.tables import count, factor, ratio
from worldwise.base.units import size_text
from worldwise.families.sha256.cost import HashCost, throughput
from worldwise.families.sha256.readings import Hashing
from worldwise.read.models import Reading
from worldwise.report.table_builder import Column, answer, name, number
from worldwise.report.tables import ScreenAnswer


def sha256_answer(reading: Reading) -> list[ScreenAnswer]:
    """Each variant's messages, the longest and the shortest being the most important; nothing if nothing was hashed."""
    hashing = reading.part(Hashing).hashing
    costs = [cost for cost in hashing.costs if cost.chunk is None and not cost.parameters]
    by_variant: dict[str, list[HashCost]] = {}
    for cost in sorted(costs, key=lambda cost: -cost.size):
        by_variant.setdefault(cost.variant, []).append(cost)
    return answer(
        "What SHA-256 costs in the TEE (MB/s: if each instruction took one cycle)",
        [cost for own in by_variant.values() for cost in own],
        [
            name("variant", lambda cost: cost.variant),
            name("message", lambda cost: size_text(cost.size)),
            number("client\ninstr", lambda cost: count(cost.total)),
            number("client\ninstr / byte", lambda cost: factor(cost.total / cost.size) if cost.size else "-"),
            _share("algorithm"),
            _share("switch"),
            _share("memory", spare=1),
            number("client /\nLinux", lambda cost: ratio(cost.total / cost.linux if cost.linux else None)),
            number(
                f"at {hashing.clock_ghz} GHz\nMB/s",
                lambda cost: f"{throughput(cost.size, cost.total):,.1f}" if cost.size else "-",
                spare=2,
            ),
        ],
        (
            "sha256-cost",
            *(("sha256-compared",) if any(cost.linux or cost.sha256sum for cost in hashing.costs) else ()),
            *(("sha256-per-byte",) if hashing.fits else ()),
        ),
        rows=[row for row in reading.rows if row.operation == "sha256" and row.place == "client"],
        # The longest of each variant first, then the shortest of each, then the others.
        tiers=[
            0 if not at else 1 if at == len(own) - 1 else 2 for own in by_variant.values() for at in range(len(own))
        ],
    )


def _share(part: str, spare: int = 0) -> Column[HashCost]:
    return number(f"of it\n{part} %", lambda cost: f"{100 * getattr(cost, part) / cost.total:.1f}", spare)
