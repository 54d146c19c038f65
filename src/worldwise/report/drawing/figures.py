# SPDX-License-Identifier: BSD-2-Clause
"""Which figures there are, and which of their rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import parse_size, size_text
from worldwise.libraries.boards import by_core
from worldwise.read.models import Row
from worldwise.report.drawing.vega import Chart

Kind = Literal["time", "pareto", "stack", "boards"]
KINDS: tuple[Kind, ...] = ("time", "pareto", "stack", "boards")
# Those of charts that rows of any family give, in the order in which they are shown.
CHART_KINDS = ("price", "rates", "variants", "layers", "sizes", "cycles")
ALL_KINDS = (*CHART_KINDS, *KINDS)
FORMATS = ("svg", "png")
# In mm, as in journals: one of two columns, or the whole page.
WIDTHS = {"full": 170.0, "column": 85.0}
# The most figures that an error names.
_MOST_NAMED = 20


@dataclass(frozen=True)
class Choice:
    """The rows to show; an empty field chooses all. Sizes as `32B`, `1KiB`."""

    boards: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    optimisation: str = ""


def chosen(rows: Sequence[Row], choice: Choice) -> list[Row]:
    """The rows to show. Raises WorldwiseError if something was chosen that the rows do not have, with what there is."""
    left = list(rows)
    texts: list[tuple[str, tuple[str, ...], Callable[[Row], str]]] = [
        ("board", choice.boards, lambda row: row.board),
        ("operation", choice.operations, lambda row: row.operation),
        ("curve", choice.curves, lambda row: row.curve),
        ("size", tuple(size_text(parse_size(size)) for size in choice.sizes), _size),
        ("optimisation", (choice.optimisation,) if choice.optimisation else (), lambda row: row.optimisation),
    ]
    for kind, wanted, of in texts:
        there = list(dict.fromkeys(of(row) for row in left if of(row)))
        for value in wanted:
            if value not in there:
                raise WorldwiseError(
                    f"{kind} '{value}' is not in this run together with the other choices. "
                    f"There is: {', '.join(there) or 'none'}.",
                    did_you_mean(value, there),
                )
        # An operation without a message has no size, and stays.
        left = [row for row in left if not wanted or of(row) in wanted or (kind == "size" and not of(row))]
    return left


def _size(row: Row) -> str:
    return "" if row.size is None else size_text(row.size)


def one_plot(found: Sequence[Chart]) -> Chart:
    """The only figure there is. Raises WorldwiseError that says what to choose if there are more."""
    if len(found) == 1:
        return found[0]
    of_boards = [plot for plot in found if plot.rows]
    boards = by_core(row.board for plot in of_boards if plot.kind != "boards" for row in plot.rows)
    operations = dict.fromkeys(row.operation for plot in of_boards for row in plot.rows)
    hints = [f"--kind: {', '.join(dict.fromkeys(plot.kind for plot in found))}"]
    hints += [f"--board: {', '.join(boards)}"] if len(boards) > 1 else []
    hints += [f"--operation: {', '.join(operations)}"] if len(operations) > 1 else []
    hints += ["--operation, --size and --curve"] if len(of_boards) < len(found) else []
    named = ", ".join(plot.name for plot in found[:_MOST_NAMED])
    named += f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    raise WorldwiseError(
        f"one file takes one figure; these are {len(found)}: {named}.",
        f"choose one, or name a directory. {'; '.join(hints)}",
    )
