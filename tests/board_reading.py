# SPDX-License-Identifier: BSD-2-Clause
"""Readings of boards that no board made: plausible figures, so that tables and plots look as they will."""

from collections.abc import Iterable, Sequence

from worldwise.base.units import size_text
from worldwise.read.family_fields import BoardTimes, Footprint, OnBoard
from worldwise.read.models import (
    CLOCK_ASSUMPTION,
    FORMAT,
    NotAvailable,
    PublishedFigure,
    Reading,
    References,
    Row,
    RowCounts,
    RunSummary,
)
from worldwise.read.row_details.board_ranks import BOARD_ASSUMPTION

BOARDS = ("nucleo-f103rb", "nucleo-f446re")
_CLOCKS = {"nucleo-f103rb": 72.0, "nucleo-f446re": 180.0, "microbit": 16.0}
# How many times the instructions of a Cortex-M4.
_BOARD_FACTOR = {"nucleo-f103rb": 1.06, "microbit": 3.1}

# Library and curve -> thousands of instructions of a signature at -O2.
_SIGN = {
    ("micro-ecc", "secp160r1"): 2_900,
    ("micro-ecc", "secp192r1"): 4_200,
    ("micro-ecc", "secp224r1"): 6_600,
    ("micro-ecc", "secp256r1"): 8_900,
    ("micro-ecc", "secp256k1"): 8_300,
    ("mbedtls36", "secp192r1"): 3_100,
    ("mbedtls36", "secp224r1"): 4_400,
    ("mbedtls36", "secp256r1"): 5_400,
    ("mbedtls36", "secp256k1"): 5_900,
    ("p256-m", "secp256r1"): 17_300,
    ("p256-cortex-m4", "secp256r1"): 480,
    ("wolfssl", "secp160r1"): 5_100,
    ("wolfssl", "secp192r1"): 6_400,
    ("wolfssl", "secp224r1"): 8_800,
    ("wolfssl", "secp256r1"): 11_000,
    ("wolfssl", "secp256k1"): 12_400,
    ("wolfssl", "ed25519"): 2_300,
    ("wolfssl-small", "ed25519"): 51_000,
    ("monocypher", "ed25519"): 1_700,
    ("bearssl", "secp256r1"): 4_100,
}
# Library -> stack, heap, flash, static RAM of a signature, in bytes.
_MEMORY = {
    "micro-ecc": (744, 0, 5_100, 12),
    "mbedtls36": (1_384, 4_460, 21_300, 120),
    "p256-m": (1_080, 0, 4_300, 0),
    "p256-cortex-m4": (1_210, 0, 12_900, 0),
    "wolfssl": (3_310, 1_200, 24_800, 4),
    "wolfssl-small": (1_420, 0, 8_200, 0),
    "monocypher": (1_560, 0, 12_600, 0),
    "bearssl": (3_040, 0, 16_700, 0),
    "dhrystone": (240, 96, 1_400, 10_300),
}
_OPERATION_FACTOR = {"keygen": 0.94, "sign": 1.0, "verify": 1.3, "ecdh": 0.9}


def board_row(
    board: str = "nucleo-f446re",
    library: str = "micro-ecc",
    operation: str = "sign",
    curve: str = "secp256r1",
    optimisation: str = "O2",
    size: int | None = 32,
    median: float = 1000,
    *,
    runs: int | None = None,
    published: Sequence[PublishedFigure] = (),
    gap: str = "",
) -> Row:
    """One row of a board; a size is left out for what has no message."""
    if operation in ("keygen", "ecdh", "dhrystone"):
        size = None
    words = [f"curve={curve}"] if curve else []
    words += [f"size={size_text(size)}"] if size is not None else []
    words += [f"runs={runs}"] if runs else []
    stack, heap, flash, ram = _MEMORY.get(library, (900, 0, 6_000, 0))
    smaller = 0.8 if optimisation == "Os" else 1
    clock = _CLOCKS.get(board, 25.0)
    variant = f"{library}-{optimisation}"
    measure = {"sha256": "hash", "sha512": "hash", "aes128": "encrypt", "aes256": "encrypt", "dhrystone": "run"}
    return Row(
        case=",".join([f"{board}/{variant}/{operation}", *words]),
        target=board,
        board=board,
        implementation=library,
        optimisation=optimisation,
        variant=variant,
        operation=operation,
        parameters=",".join(words),
        curve=curve,
        size=size,
        chunk=None,
        calls=1,
        measure=measure.get(operation, operation),
        place="mcu",
        counts=RowCounts(
            unit="instructions",
            includes=f"what one {operation} takes",
            n=5,
            warmup=1,
            first=int(median),
            median=median,
            mean=median,
            stdev=0.0,
            min=int(median),
            max=int(median),
            worst=int(median),
        ),
        against=References(
            ratio_to_linux=None,
            microseconds={f"{clock:g} MHz": median / clock},
            published=tuple(published),
            published_gap=gap,
            verdict=None,
        ),
        parts=(
            Footprint(stack=stack, heap=heap, flash=int(flash * smaller), ram=ram),
            OnBoard(clock_mhz=clock, runs=runs),
        ),
    )


def run_of(suite: str, title: str) -> RunSummary:
    """What a reading says of a run that nobody made."""
    return RunSummary(
        id=f"20260102T030400Z-{suite}",
        suite=suite,
        title=title,
        state="complete",
        started="2026-01-02T03:04:00+00:00",
        worldwise="0.1.0",
        git="0123456789abcdef",
        lab="a" * 64,
        packages={},
    )


def board_reading(rows: Iterable[Row] = (), unavailable: Iterable[NotAvailable] = ()) -> Reading:
    """A reading of these rows, or of all that a whole suite gives on two boards."""
    listed = _ranked(list(rows) or list(_whole()))
    return Reading(
        format=FORMAT,
        run=run_of("mcu", "Boards that no board made"),
        rows=tuple(listed),
        factors=(),
        attempts=(),
        assumption=CLOCK_ASSUMPTION,
        published_reason="Why they differ: they are other programs.",
        budget=None,
        failed=(),
        missing=(),
        unavailable=tuple(unavailable) or _unavailable(),
        parts=(BoardTimes(board_assumption=BOARD_ASSUMPTION),),
    )


def add_library(reading: Reading, *names: str) -> Reading:
    """The same with libraries of the user's own that sign on secp256r1."""
    rows = [
        board_row(board, name, operation, median=7_000_000 + 300_000 * number)
        for board in BOARDS
        for number, name in enumerate(names)
        for operation in ("sign", "verify")
    ]
    return reading.model_copy(update={"rows": tuple(_ranked([*reading.rows, *rows]))})


def _whole() -> Iterable[Row]:
    for board in BOARDS:
        for optimisation in ("Os", "O2"):
            slower = _BOARD_FACTOR.get(board, 1.0) * (1.25 if optimisation == "Os" else 1)
            for (library, curve), thousands in _SIGN.items():
                if library == "p256-cortex-m4" and board == "nucleo-f103rb":
                    continue
                for operation, factor in _OPERATION_FACTOR.items():
                    if operation == "ecdh" and curve == "ed25519":
                        continue
                    median = int(1000 * thousands * factor * slower)
                    yield board_row(board, library, operation, curve, optimisation, median=median)
            for library, thousands in (("monocypher", 1_650), ("mbedtls36", 7_900), ("bearssl", 6_200)):
                yield board_row(board, library, "ecdh", "x25519", optimisation, median=int(1000 * thousands * slower))
            for size in (16, 128, 1024):
                yield board_row(
                    board,
                    "wolfssl-small",
                    "sign",
                    "ed25519",
                    optimisation,
                    size,
                    median=int(51_000_000 * slower) + 40 * size,
                    published=[_figure(298_720 * (1 if board == "nucleo-f446re" else 3), _CLOCKS[board], slower)],
                )
                yield board_row(
                    board,
                    "micro-ecc",
                    "sign",
                    "secp160r1",
                    optimisation,
                    size,
                    median=int(2_900_000 * slower) + 40 * size,
                    gap="?? (listed, never measured)",
                )
            for library, cost in (("mbedtls36", 48), ("bearssl", 61), ("wolfssl", 55)):
                for operation, factor in (("sha256", 1.0), ("sha512", 2.2), ("aes128", 2.6), ("aes256", 3.4)):
                    yield board_row(
                        board, library, operation, "", optimisation, 1024, int(1024 * cost * factor * slower)
                    )
            yield board_row(
                board, "dhrystone", "dhrystone", "", optimisation, None, int(1000 * 330 * slower), runs=1000
            )


def _figure(microseconds: float, clock: float, slower: float) -> PublishedFigure:
    return PublishedFigure(
        source="riot-ecc-mcu",
        value=microseconds,
        unit="us",
        instructions=microseconds * clock,
        statistic="per call",
        conditions="somewhere else",
        note="",
        ratio=51_000_000 * slower / (microseconds * clock),
    )


def _ranked(rows: list[Row]) -> list[Row]:
    def contest(row: Row) -> tuple[str, ...]:
        return (row.board, row.operation, row.parameters, row.optimisation)

    medians: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        medians.setdefault(contest(row), []).append(row.median)
    return [
        row.with_part(
            row.part(OnBoard).model_copy(update={"rank": 1 + sum(one < row.median for one in medians[contest(row)])})
        )
        if len(medians[contest(row)]) > 1
        else row
        for row in rows
    ]


def _unavailable() -> tuple[NotAvailable, ...]:
    def one(board: str, library: str, curve: str, operation: str, reason: str) -> NotAvailable:
        return NotAvailable(target=board, implementation=library, curve=curve, operation=operation, reason=reason)

    found = []
    for board in BOARDS:
        for operation in ("sign", "verify"):
            for library in ("micro-ecc", "wolfssl"):
                found.append(one(board, library, "secp112r1", operation, "no library here has secp112r1"))
            found.append(one(board, "micro-ecc", "ed25519", operation, "micro-ecc has no ed25519"))
    for operation in ("sign", "verify"):
        found.append(
            one(
                "nucleo-f103rb", "p256-cortex-m4", "secp256r1", operation, "p256-cortex-m4 is for Cortex-M4, M7 and M33"
            )
        )
    return tuple(found)
