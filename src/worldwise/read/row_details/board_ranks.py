# SPDX-License-Identifier: BSD-2-Clause
"""What rows on a board have besides, whichever family measured them: the board's clock, and their ranks on it."""

from collections.abc import Iterable, Mapping, Sequence

from worldwise.base.errors import WorldwiseError
from worldwise.libraries import boards as board
from worldwise.plan.case import Case
from worldwise.read.family_fields import BoardTimes, OnBoard
from worldwise.read.models import Row
from worldwise.run.folder.manifests import RunManifest

BOARD_ASSUMPTION = (
    "Times on boards assume one instruction per cycle at the board's clock. They are not measured: on a Cortex-M some "
    "instructions take more cycles than one (loads, taken branches, long multiplications, divisions), a Cortex-M7 can "
    "do two in one, and flash that is slower than the core makes it wait."
)


def on_board(case: Case, run: RunManifest) -> OnBoard:
    """What a case on a board adds to its rows; empty for another case. Raises WorldwiseError as `clocks` does."""
    return OnBoard(clock_mhz=_clock_mhz(case.board, run), runs=case.runs) if case.board else OnBoard()


def clocks(case: Case, run: RunManifest) -> Mapping[str, float]:
    """The clock at which a case's counts are shown as time: name -> MHz; empty for a case on no board.

    Raises WorldwiseError if the board is not there any more.
    """
    if not case.board:
        return {}
    clock = _clock_mhz(case.board, run)
    return {f"{clock:g} MHz": clock}


def board_times(rows: Iterable[Row]) -> BoardTimes:
    """What the times of these rows assume."""
    return BoardTimes(board_assumption=BOARD_ASSUMPTION if any(row.board for row in rows) else "")


def with_ranks(rows: list[Row]) -> list[Row]:
    """The rows, those on boards with their ranks."""

    def key(row: Row) -> tuple[str, ...]:
        return (row.board, row.operation, row.parameters, row.measure, row.optimisation)

    contests: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        if row.board:
            contests.setdefault(key(row), []).append(row.median)
    return [_ranked(row, contests.get(key(row), [])) for row in rows]


def _ranked(row: Row, contest: Sequence[float]) -> Row:
    if len(contest) < 2:
        return row
    rank = 1 + sum(median < row.median for median in contest)
    return row.with_part(row.part(OnBoard).model_copy(update={"rank": rank}))


def _clock_mhz(name: str, run: RunManifest) -> float:
    """The clock that the chip was set to, or the board's. Raises WorldwiseError if that is not there any more."""
    if run.chip_clock:
        return run.chip_clock.hertz / 10**6
    boards = board.boards()
    if name not in boards:
        raise WorldwiseError(
            f"board '{name}' is no longer known: without its clock there are no times.",
            f"known boards: {', '.join(boards)}",
        )
    return boards[name].clock_mhz
