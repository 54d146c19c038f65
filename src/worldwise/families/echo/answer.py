# SPDX-License-Identifier: BSD-2-Clause
"""The answer of the TCP echo on one screen: a round trip by each kind of server."""

from collections.abc import Mapping

from worldwise.base.tables import Table, count, factor
from worldwise.base.units import size_text
from worldwise.plan.case import parameters_of
from worldwise.read.models import Reading
from worldwise.read.order import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import Answer


def echo_answer(reading: Reading, servers: Mapping[str, str]) -> list[Answer]:
    """Round trips by size of the message; `servers` is the words for each. Nothing if the run has none."""
    rows = [row for row in reading.rows if (row.operation, row.measure) == ("echo", "round-trip") and is_quiet(row)]
    if not rows:
        return []
    lines = side_by_side(
        rows, lambda row: (row.variant, row.size), lambda row: parameters_of(row.parameters)["server"], servers
    )
    with_ta = [name for name in lines.sides if name != "linux"]
    cells = []
    for line in sorted(lines.found, key=lambda line: next((row.variant, row.size or 0) for row in line.values())):
        row, plain = next(iter(line.values())), line.get("linux")
        cell = [row.variant, size_text(row.size or 0)]
        cell += [count(line[name].median) if name in line else "-" for name in lines.sides]
        cell += [factor(line[name].median / plain.median) if plain and name in line else "-" for name in with_ta]
        cells.append(cell)
    headers = ["variant", "message", *(f"{servers[name]}\ninstr" for name in lines.sides)]
    headers += [f"{servers[name]}\n/ Linux" for name in with_ta]
    return [
        Answer(
            "What a round trip of TCP costs by server",
            Table(headers, cells, 2),
            surprises=spread_surprises(rows),
            sections=("echo-round-trips", "echo-throughput"),
        )
    ]
