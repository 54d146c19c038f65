# SPDX-License-Identifier: BSD-2-Clause
"""The answer of the TCP echo on one screen: a round trip by each kind of server."""

from collections.abc import Mapping

from worldwise.base.tables import factor
from worldwise.base.units import size_text
from worldwise.read.models import Reading, Row
from worldwise.read.row_order import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.table_builder import Column, answer, any_of, name, number, per_side
from worldwise.report.tables import ScreenAnswer


def echo_answer(reading: Reading, servers: Mapping[str, str]) -> list[ScreenAnswer]:
    """Round trips by size of the message; `servers` is the words for each. Nothing if the run has none."""
    rows = [row for row in reading.rows if (row.operation, row.measure) == ("echo", "round-trip") and is_quiet(row)]
    lines = side_by_side(rows, lambda row: (row.variant, row.size), lambda row: row.given["server"], servers)
    return answer(
        "What a round trip of TCP costs by server",
        sorted(lines.found, key=lambda line: (any_of(line).variant, any_of(line).size or 0)),
        [
            name("variant", lambda line: any_of(line).variant),
            name("message", lambda line: size_text(any_of(line).size or 0)),
            *per_side({side: f"{servers[side]}\ninstr" for side in lines.sides}),
            *(_against_linux(side, f"{servers[side]}\n/ Linux") for side in lines.sides if side != "linux"),
        ],
        ("echo-round-trips", "echo-throughput"),
        rows=rows,
    )


def _against_linux(side: str, header: str) -> Column[Mapping[str, Row]]:
    def cell(line: Mapping[str, Row]) -> str:
        return factor(line[side].median / line["linux"].median) if {side, "linux"} <= line.keys() else "-"

    return number(header, cell)
