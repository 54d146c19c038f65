# SPDX-License-Identifier: BSD-2-Clause
"""What the counts on boards and in plain Linux include; a board's clock, and the ranks on it."""

from collections.abc import Mapping, Sequence

from worldwise.base.errors import WorldwiseError
from worldwise.libraries import boards as board
from worldwise.plan.case import Case
from worldwise.read.includes import HASHED_IN_LINUX, IN_LINUX, ON_BOARD, on_curves
from worldwise.read.models import Row
from worldwise.read.parts import Part
from worldwise.read.readings import Readings, Seen
from worldwise.run.rundir import CaseManifest, RunManifest

BOARD_ASSUMPTION = (
    "Times on boards assume one instruction per cycle at the board's clock. They are not measured: on a Cortex-M some "
    "instructions take more cycles than one (loads, taken branches, long multiplications, divisions), a Cortex-M7 can "
    "do two in one, and flash that is slower than the core makes it wait."
)


class OnBoard(Part):
    """The fields of a row on a board.

    `rank` is 1 for the fewest instructions by the median among the libraries that do the same on the same board at the
    same optimisation; those with the same count have the same rank, and a library alone has none. `clock_mhz` is the
    board's clock. `runs` is how often the benchmark's loop was gone through, None of other operations.
    """

    rank: int | None = None
    clock_mhz: float | None = None
    runs: int | None = None


class BoardTimes(Part):
    """What the times of boards assume; empty if the run has no board."""

    board_assumption: str = ""


def _on_board(case: Case, _manifest: CaseManifest, run: RunManifest) -> OnBoard | None:
    return OnBoard(clock_mhz=_clock_mhz(case.board, run), runs=case.runs) if case.board else None


def _clocks(case: Case, run: RunManifest) -> Mapping[str, float]:
    if not case.board:
        return {}
    clock = _clock_mhz(case.board, run)
    return {f"{clock:g} MHz": clock}


def _board_times(seen: Seen) -> BoardTimes:
    return BoardTimes(board_assumption=BOARD_ASSUMPTION if any(row.board for row in seen.rows) else "")


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


def _with_ranks(rows: list[Row]) -> list[Row]:
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


READINGS = Readings(
    of_row=OnBoard,
    of_reading=BoardTimes,
    includes={
        **on_curves(("keygen", "sign", "verify", "ecdh"), ("linux",)),
        **HASHED_IN_LINUX,
        ("keygen", "mcu"): f"a private key from random bytes and its public key, {ON_BOARD}",
        ("sign", "mcu"): "the signature; for ECDSA with SHA-256 of the message, for Ed25519 with the SHA-512 that is "
        f"part of it, {ON_BOARD}",
        ("verify", "mcu"): "the verification, with the check that the public key is on the curve; for ECDSA with "
        f"SHA-256 of the message, {ON_BOARD}",
        (
            "ecdh",
            "mcu",
        ): f"the shared secret from the own private and the peer's public key, with its check, {ON_BOARD}",
        ("hash", "mcu"): f"the whole message, {ON_BOARD}",
        ("encrypt", "mcu"): f"the whole message in counter mode, with the key's expansion, {ON_BOARD}",
        ("run", "mcu"): f"all runs through the benchmark's loop, {ON_BOARD}",
        ("encrypt", "linux"): f"the whole message in counter mode, with the key's expansion, {IN_LINUX}",
    },
    row=_on_board,
    clocks=_clocks,
    compared=_with_ranks,
    whole=_board_times,
)
