# SPDX-License-Identifier: BSD-2-Clause
"""The figures of a run: those that every family's rows give, and those that a family adds."""

from collections.abc import Callable, Collection, Iterable

from worldwise.base.errors import WorldwiseError
from worldwise.explain.explanation import Explanation
from worldwise.read.models import Reading
from worldwise.read.rows import in_reading_order
from worldwise.report.drawing.counts import by_size, by_variant, colours_of, cycles, price
from worldwise.report.drawing.figures import CHART_KINDS, KINDS, WIDTHS, Choice, chosen
from worldwise.report.drawing.layers import by_layer
from worldwise.report.drawing.vega import Chart
from worldwise.report.tables import declared_tables, tables_in, tables_of

# All there is.
_ALL = Choice()
# What the figures of a kind count.
_COUNTED = {
    "variants": "Instructions, counted; medians.",
    "layers": "Instructions, counted under the plugin; the sum of a bar is the difference of the guest's own counter.",
    "cycles": "Cycles are predicted, not measured.",
    "rates": "Requests, counted.",
    "time": "Instructions, counted; medians. Time assumes one instruction per cycle; it is not measured.",
    "stack": "Bytes of the deepest call, measured on the emulated board.",
}


def figures(
    reading: Reading,
    explanations: Callable[[], Iterable[Explanation]],
    kinds: Collection[str] = (),
    choice: Choice = _ALL,
) -> list[Chart]:
    """Everything that `worldwise plot` draws of a run: the figures of boards, and those of all else.

    Args:
        reading: the run.
        explanations: gives those of traces that are kept; asked only for layers, since each takes seconds to read.
        kinds: which of ALL_KINDS are wanted; empty for all but layers.
        choice: which rows.

    Raises WorldwiseError if the run has nothing to draw, or lacks what was chosen or what a kind needs.
    """
    of_boards = [kind for kind in KINDS if kind in kinds] if kinds else KINDS
    others = [kind for kind in CHART_KINDS if (kind in kinds if kinds else kind != "layers")]
    rows = [row for row in reading.rows if not row.board]
    found: list[Chart] = []
    if of_boards and (kinds or len(rows) < len(reading.rows)):
        found += plots(reading, of_boards, choice)
    if others and rows and not choice.boards:
        narrowed = reading.model_copy(update={"rows": tuple(chosen(rows, choice))})
        told = explanations() if "layers" in others else ()
        cases = {row.case for row in narrowed.rows}
        found += charts(narrowed, [one for one in told if one.case.id in cases], others)
    if not found:
        hint = "layers need traces: worldwise explain RUN; cycles need predictions: run --predict CORE"
        what = f"of kind {', '.join(kinds)}" if kinds else "but perhaps layers"
        raise WorldwiseError(f"run {reading.run.id}: it has nothing for a figure {what}.", hint)
    return found


def plots(reading: Reading, kinds: Collection[str] = KINDS, choice: Choice = _ALL) -> list[Chart]:
    """The figures of boards that a run gives, family by family: see `Tables.figures`.

    Raises WorldwiseError if the run has nothing to draw, or lacks what was chosen or what a kind of figure needs.
    """
    drawing = [tables.figures for tables in declared_tables().values() if tables.figures]
    found = [plot for figures in drawing for plot in figures(reading, kinds, choice)]
    if not found:
        raise WorldwiseError(f"run {reading.run.id}: it has nothing for a figure of kind {', '.join(kinds)}.")
    return found


def to_file(figure: Chart, reading: Reading, form: str, width: str = "full") -> bytes:
    """A figure as a file's content; `form` is one of FORMATS, `width` a key of WIDTHS."""
    levels = [level for level in ("Os", "O2") if any(row.optimisation == level for row in figure.rows)]
    compiled = f"; -{' and -'.join(levels)}" if levels else ""
    counted = _COUNTED.get(figure.kind, _COUNTED["variants"])
    return figure.file(form, WIDTHS[width], f"{run_text(reading)}{compiled}. {counted}")


def run_text(reading: Reading) -> str:
    """The run and its lab, for a figure's notes."""
    state = "" if reading.run.state == "complete" else f" ({reading.run.state})"
    differs = f"; {reading.run.differs}" if reading.run.differs else ""
    return f"Run {reading.run.id}{state}; lab {reading.run.lab[:16] or 'none'}{differs}"


def charts(
    reading: Reading, explanations: Iterable[Explanation] = (), kinds: Collection[str] = CHART_KINDS
) -> list[Chart]:
    """The figures of a run, those of one kind together, in the order of CHART_KINDS.

    Args:
        reading: the run.
        explanations: those of traces that are kept; without them there are no layers.
        kinds: which of CHART_KINDS are wanted.
    """
    rows, colours = in_reading_order(reading.rows), colours_of(reading)
    found = [figure for tables in tables_in(reading) if tables.charts for figure in tables.charts(reading)]
    if "price" in kinds:
        found += price(rows, colours)
    if "layers" in kinds:
        found += by_layer(explanations)
    if "sizes" in kinds:
        found += by_size([row for row in rows if row.operation not in tables_of(row).drawn], colours)
    if "variants" in kinds:
        found += by_variant(rows, colours)
    if "cycles" in kinds:
        found += cycles(reading, colours)
    return [one for kind in CHART_KINDS if kind in kinds for one in found if one.kind == kind]
