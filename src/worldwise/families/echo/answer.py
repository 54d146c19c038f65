# SPDX-License-Identifier: BSD-2-Clause
"""The answer of the TCP echo on one screen: a round trip by each kind of server."""

from collections.abc import Mapping

from worldwise.base.tables import Table, factor, whole
from worldwise.base.units import size_text
from worldwise.plan.case import parameters_of
from worldwise.read.models import Reading, Row
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import ANSWER_LINES, Answer


def echo_answer(reading: Reading, servers: Mapping[str, str]) -> Answer | None:
    """Round trips by size of the message; `servers` is the words for each. None if the run has none."""
    rows = [row for row in reading.rows if (row.operation, row.measure) == ("echo", "round-trip")]
    if not rows:
        return None
    found: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row.variant, row.size or 0), {})[parameters_of(row.parameters)["server"]] = row
    there = [name for name in servers if any(name in trips for trips in found.values())]
    with_ta = [name for name in there if name != "linux"]
    cells = []
    for variant, size in sorted(found):
        trips = found[variant, size]
        plain = trips.get("linux")
        line = [whole(trips[name].median) if name in trips else "-" for name in there]
        line += [factor(trips[name].median / plain.median) if plain and name in trips else "-" for name in with_ta]
        cells.append([variant, size_text(size), *line])
    headers = ["variant", "message", *(f"{servers[name]}\ninstr" for name in there)]
    headers += [f"{servers[name]}\n/ Linux" for name in with_ta]
    return Answer(
        "What a round trip of TCP costs by server",
        Table(headers, cells[:ANSWER_LINES], 2),
        surprises=spread_surprises(rows),
        sections=("echo-round-trips", "echo-throughput"),
    )
