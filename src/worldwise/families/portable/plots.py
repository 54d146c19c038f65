# SPDX-License-Identifier: BSD-2-Clause
"""Figures of boards: time, flash against time, stack, boards side by side."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from worldwise.base.errors import WorldwiseError
from worldwise.families.portable.boards import DHRYSTONE, USUAL_SIZE, board_rows, board_text, operation_text
from worldwise.families.portable.panels import Panel, figure, grouped
from worldwise.libraries.boards import by_core
from worldwise.libraries.portable import CURVES, OF_CURVE
from worldwise.read.contests import from_size, fullest, matches
from worldwise.read.models import Reading, Row
from worldwise.report.drawing.figures import KINDS, Choice, Kind, chosen
from worldwise.report.drawing.library_colours import Style, styles
from worldwise.report.drawing.vega import Chart

_SYMMETRIC = "symmetric"
# The most panels side by side in one figure of bars; with these it is about half a page tall.
_PAGES = {"signatures": ("sign", "verify"), "keys": ("keygen", "ecdh"), _SYMMETRIC: (_SYMMETRIC,)}


def board_figures(reading: Reading, kinds: Collection[str], choice: Choice) -> list[Chart]:
    """The figures that a run gives: time and stack of each board, flash against time of each board and operation,
    boards side by side of each operation.

    Raises WorldwiseError if the run has no board, or lacks what was chosen or what a kind of figure needs.
    """
    rows = _chosen(reading, choice)
    names = by_core(row.board for row in rows)
    look = styles(row.implementation for row in reading.rows if row.board)
    found: list[Chart] = []
    for kind in KINDS:
        if kind not in kinds:
            continue
        if kind == "boards":
            found += _boards_plots(_one_optimisation(rows), names, look, alone=len(kinds) == 1)
        else:
            for name in names:
                own = [row for row in rows if row.board == name]
                found += _board_plots(kind, name, own, look, reading, choice)
    return found


def _chosen(reading: Reading, choice: Choice) -> list[Row]:
    rows = [row for row in board_rows(reading) if row.operation != DHRYSTONE]
    if not rows:
        raise WorldwiseError(
            f"run {reading.run.id} has no measured case of a board.",
            "these figures need boards; `worldwise run mcu` makes such a run",
        )
    return chosen(rows, choice)


def _one_optimisation(rows: list[Row]) -> list[Row]:
    """The rows of -O2 if there are any, else all."""
    return [row for row in rows if row.optimisation == "O2"] or rows


def _one_size(rows: list[Row]) -> list[Row]:
    """One operation's rows of one size: that with the most rows; of equals the one nearest to 32 bytes."""
    found = [row for row in rows if row.size is not None]
    shown = fullest(matches(found, lambda row: row.size), lambda _: "", from_size(USUAL_SIZE))
    sizes = {match.first.size for match in shown}
    return [row for row in rows if not sizes or row.size in (*sizes, None)]


def _by_family(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each operation on curves at one size; those of hashes and ciphers together."""
    families: dict[str, list[Row]] = {}
    for operation in dict.fromkeys(row.operation for row in rows):
        own = _one_size([row for row in rows if row.operation == operation])
        families.setdefault(operation if operation in OF_CURVE else _SYMMETRIC, []).extend(own)
    return families


def _family_title(family: str, rows: Sequence[Row]) -> str:
    if family == _SYMMETRIC:
        return "hash and AES" if len({row.operation for row in rows}) > 1 else operation_text(rows[0].operation)
    return operation_text(family, next((row.size for row in rows if row.size is not None), None))


def _board_plots(
    kind: Kind, name: str, rows: list[Row], look: Mapping[str, Style], reading: Reading, choice: Choice
) -> Iterable[Chart]:
    where = f"{name}, {board_text(name)}" if board_text(name) != name else name
    if kind == "pareto":
        for family, own in _by_family([row for row in rows if row.footprint.flash]).items():
            panels = tuple(Panel(group, tuple(members)) for group, members in grouped(own).items())
            title = f"Flash against instructions, {_family_title(family, own)}: {where}"
            yield figure(kind, f"{kind}-{name}-{family}", title, panels, look)
        return
    if kind == "stack":
        rows = [row for row in rows if row.footprint.stack is not None]
    what = "Time" if kind == "time" else "Stack and heap of one call"
    families = _by_family(_one_optimisation(rows))
    for page, members in _PAGES.items():
        panels = tuple(
            Panel(_family_title(family, own), tuple(own), _nobodys(family, name, reading, choice))
            for family, own in families.items()
            if family in members
        )
        if panels:
            yield figure(kind, f"{kind}-{name}-{page}", f"{what}: {where}", panels, look)


def _nobodys(operation: str, name: str, reading: Reading, choice: Choice) -> tuple[str, ...]:
    """The wanted curves that no library has for the operation."""
    there = {row.curve for row in reading.rows if (row.board, row.operation) == (name, operation)}
    lacking = {each.curve for each in reading.unavailable if (each.target, each.operation) == (name, operation)}
    return tuple(
        curve
        for curve in CURVES
        if curve in lacking and curve not in there and (not choice.curves or curve in choice.curves)
    )


def _boards_plots(rows: list[Row], names: Sequence[str], look: Mapping[str, Style], alone: bool) -> Iterable[Chart]:
    if len(names) < 2:
        # Not worth an error among other kinds.
        if alone:
            raise WorldwiseError(
                f"boards side by side needs at least two; there is {', '.join(names)}.",
                "worldwise run cores measures one library on many boards",
            )
        return
    for family, own in _by_family(rows).items():
        panels = tuple(Panel(group, tuple(members)) for group, members in grouped(own).items())
        title = f"Boards side by side: {_family_title(family, own)}"
        yield figure("boards", f"boards-{family}", title, panels, look)
