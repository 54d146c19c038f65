# SPDX-License-Identifier: BSD-2-Clause
"""Lines through counts, as the tables of several families show them."""

from collections.abc import Callable, Iterator, Sequence

from worldwise.base.tables import whole
from worldwise.read.line_fit import FittedLine


def line_cells(
    names: Sequence[str], line: FittedLine, named: Callable[[int], str], full: bool, unit: str = "{:,.4f}"
) -> Iterator[list[str]]:
    """The table lines of one fit: `names`, points, fixed cost, cost per unit, and a residual with its x and share.

    `named` is the text of an x, `unit` the format of the cost per unit. Unless `full`, only the greatest residual.
    """
    for x in sorted(line.residuals) if full else [line.worst]:
        yield [
            *names,
            str(len(line.residuals)),
            whole(line.fixed),
            unit.format(line.slope),
            named(x),
            whole(line.residuals[x]),
            f"{100 * line.relative[x]:,.2f}",
        ]
