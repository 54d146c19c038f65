# SPDX-License-Identifier: BSD-2-Clause
"""Reports of boards: one table per board, one comparison across boards, and what is unavailable and why."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from worldwise.base.tables import Section, Table, count, count_or_dash, factor, section_name, spread, whole
from worldwise.base.units import CYCLES, size_text
from worldwise.libraries import boards as board
from worldwise.libraries.boards import by_core
from worldwise.libraries.portable import CURVELESS, CURVES, OF_CURVE, OPTIMISATIONS
from worldwise.plan.availability import nobody_has, without_curve
from worldwise.plan.catalogue import TARGETS
from worldwise.read.family_fields import BoardTimes, OnBoard
from worldwise.read.models import NotAvailable, PublishedFigure, Reading, Row
from worldwise.report import table_builder
from worldwise.report.row_words import by_includes
from worldwise.report.sections.units import OfInstructions, board_note, emulated_note, unit_note, with_unit

DHRYSTONE = "dhrystone"
# Dhrystones per second of the VAX 11/780, which by convention is one DMIPS.
VAX_DHRYSTONES = 1757

_NAMES = {
    "sha256": "SHA-256",
    "sha512": "SHA-512",
    "aes128": "AES-128",
    "aes256": "AES-256",
    "ecdh": "ECDH",
    DHRYSTONE: "Dhrystone",
}
_OPERATIONS = (*OF_CURVE, *CURVELESS)
# Of equally full sizes of a message the one nearest to this is shown: a digest.
USUAL_SIZE = 32


def board_rows(reading: Reading) -> list[Row]:
    """The rows of boards as people compare them.

    By operation and size, then by curve; within these the library with the fewest instructions comes first.
    """
    rows = [row for row in reading.rows if row.board and row.operation in _OPERATIONS]
    best: dict[tuple[object, ...], float] = {}
    for row in rows:
        key = (*_contest(row), row.implementation)
        best[key] = min(row.median, best.get(key, row.median))
    return sorted(
        rows,
        key=lambda row: (
            row.board,
            *_operation_order(row),
            _index(CURVES, row.curve),
            best[*_contest(row), row.implementation],
            row.implementation,
            _index(OPTIMISATIONS, row.optimisation),
        ),
    )


def _unavailable(reading: Reading) -> list[NotAvailable]:
    """What a library cannot do, of this family's operations."""
    return [each for each in reading.unavailable if each.operation in _OPERATIONS]


def board_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on boards; empty if the run has no such rows.

    Unless `full`, an unavailable library is listed once for all operations that lack it.
    """
    rows = board_rows(reading)
    lacking = [each.target for each in _unavailable(reading) if each.target not in TARGETS]
    names = list(dict.fromkeys([row.board for row in rows] + lacking))
    parts: list[Section | None] = []
    for name in sorted(names):
        own = [row for row in rows if row.board == name]
        parts += [
            _board_section(name, own, reading),
            _published_section(name, own),
            _unavailable_section(name, reading, full),
        ]
    parts += [
        _comparison_section(rows),
        _dhrystone_section(rows),
        _published_reasons(rows, reading),
        _legend_section(rows, reading),
    ]
    return [part for part in parts if part]


def board_columns(reading: Reading) -> Mapping[str, Callable[[Row], object]]:
    """Further columns of the CSV if the run has boards; otherwise none."""
    if not any(row.board for row in reading.rows):
        return {}
    return {
        "board": lambda row: row.board,
        "curve": lambda row: row.curve,
        "clock_MHz": clock_mhz,
        "assumed_us_at_board_clock": lambda row: board_microseconds(row) if row.board else None,
        "stack_bytes": lambda row: row.footprint.stack,
        "heap_bytes": lambda row: row.footprint.heap,
        "flash_bytes": lambda row: row.footprint.flash,
        "ram_bytes": lambda row: row.footprint.ram,
        "rank": lambda row: row.part(OnBoard).rank,
        "published_gap": lambda row: row.against.published_gap,
        "dmips": lambda row: dmips(row) if row.operation == DHRYSTONE else None,
        "dmips_per_MHz": lambda row: (
            dmips(row) / clock if row.operation == DHRYSTONE and (clock := clock_mhz(row)) else None
        ),
    }


def clock_mhz(row: Row) -> float | None:
    """The clock of a row's board, in MHz; None if the row is of no board."""
    return row.part(OnBoard).clock_mhz


def board_microseconds(row: Row) -> float:
    """The median's time at the board's clock, in us, if each instruction took one cycle."""
    clock = clock_mhz(row)
    return row.median / clock if clock else float("nan")


def board_time(row: Row, reading: Reading) -> str:
    """The median in ms: of cycles what they take, of instructions what they would take at one a cycle; `-` for cycles
    of a chip that ran at the clock of its reset, which is not the board's."""
    clock = None if row.counts.unit == CYCLES and not reading.run.chip_clock else clock_mhz(row)
    return f"{row.median / clock / 1000:,.3f}" if clock else "-"


def dmips(row: Row) -> float:
    """DMIPS of a row of Dhrystone at its board's clock, if each instruction took one cycle."""
    return (row.part(OnBoard).runs or 1) * (clock_mhz(row) or 0) * 10**6 / row.median / VAX_DHRYSTONES


def operation_text(operation: str, size: int | None = None) -> str:
    """An operation as tables and figures name it: `sign 32B`, `SHA-256 1KiB`, `keygen`."""
    name = _NAMES.get(operation, operation)
    return name if size is None else f"{name} {size_text(size)}"


def board_text(name: str) -> str:
    """A board's title with its core, such as `ST Nucleo-F446RE (Cortex-M4)`; the bare name if the board is unknown."""
    known = board.boards().get(name)
    return f"{known.title} ({board.load_core(known.core).title})" if known else name


def _contest(row: Row) -> tuple[object, ...]:
    """The key that rows share if they are compared with each other."""
    return (row.board, row.operation, row.curve, row.size, row.parameters if row.operation == DHRYSTONE else "")


def _operation_order(row: Row) -> tuple[int, int]:
    return (_index(_OPERATIONS, row.operation), row.size or 0)


def _index(order: Sequence[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _memory(row: Row) -> Iterable[str]:
    taken = row.footprint
    return map(count_or_dash, (taken.stack, taken.heap, taken.flash, taken.ram))


def _rank(row: Row) -> str:
    return "-" if row.part(OnBoard).rank is None else str(row.part(OnBoard).rank)


def _clock(row: Row) -> str:
    clock = clock_mhz(row)
    return f"{clock:g} MHz" if clock else "no clock"


def _board_section(name: str, rows: list[Row], reading: Reading) -> Section | None:
    rows = [row for row in rows if row.operation != DHRYSTONE]
    if not rows:
        return None
    samples = {row.counts.n for row in rows}
    spreads = any(row.counts.stdev for row in rows)
    headers = ["operation", "curve", "library"]
    headers += ["n"] if len(samples) > 1 else []
    headers += ["median\ninstr"]
    headers += ["stdev\ninstr"] if spreads else []
    headers += [f"at {_clock(rows[0])}\nus", "stack\nbytes", "heap\nbytes", "flash\nbytes", "RAM\nbytes", "\nrank"]
    cells = []
    for row in rows:
        line = [operation_text(row.operation, row.size), row.curve or "-", row.variant]
        line += [f"{row.counts.n:,}"] if len(samples) > 1 else []
        line += [count(row.median)]
        line += [spread(row.counts.stdev)] if spreads else []
        line += [
            whole(board_microseconds(row)),
            *_memory(row),
            _rank(row),
        ]
        cells.append(line)
    cells += _nobodys_lines(name, rows, reading, len(headers))
    title = f"{name}: {board_text(name)} at {_clock(rows[0])}"
    if len(samples) == 1:
        title += f" (n = {samples.pop():,})"
    return Section(title, Table(headers, cells, 3), name=section_name("board", name))


def _nobodys_lines(name: str, rows: list[Row], reading: Reading, width: int) -> Iterable[list[str]]:
    """A line for every operation on a curve that was asked for and that no library has."""
    measured = {(row.operation, row.curve) for row in rows}
    lacking = dict.fromkeys((each.operation, each.curve) for each in _unavailable(reading) if each.target == name)
    for operation, curve in sorted(lacking, key=lambda pair: (_index(_OPERATIONS, pair[0]), _index(CURVES, pair[1]))):
        if (operation, curve) not in measured:
            line = [operation_text(operation), curve or "-", "none"]
            yield [*line, "not available", *[""] * (width - len(line) - 1)]


def _published_section(name: str, rows: list[Row]) -> Section | None:
    cells = []
    for row in rows:
        figures: list[PublishedFigure | None] = list(row.against.published)
        if not figures and row.against.published_gap:
            figures = [None]
        # The publication's own mark in place of a figure, such as `??`.
        gap = row.against.published_gap.partition(" ")[0]
        for figure in figures:
            cells.append(
                [
                    operation_text(row.operation, row.size),
                    row.curve or "-",
                    row.variant,
                    count(row.median),
                    f"{figure.value:,.0f} {figure.unit}" if figure else gap,
                    whole(figure.instructions) if figure else gap,
                    factor(row.median / figure.instructions) if figure else "-",
                ]
            )
    if not cells:
        return None
    headers = ["operation", "curve", "library", "ours, median\ninstr", "as\npublished"]
    headers += ["published\ncycles", "instr /\ncycle"]
    gaps = dict.fromkeys(
        f"{row.implementation} on {row.curve or operation_text(row.operation)}: {row.against.published_gap}."
        for row in rows
        if row.against.published_gap
    )
    return Section(
        f"{name}: published figures beside ours",
        Table(headers, cells, 3),
        [*gaps],
        name=section_name("board-published", name),
    )


def _unavailable_section(name: str, reading: Reading, full: bool) -> Section | None:
    asked: dict[tuple[str, str, str], list[str]] = {}
    for each in _unavailable(reading):
        if each.target == name:
            # An operation that no library has gets one line, not one per library.
            library = "any" if not full and each.curve and nobody_has(each.curve, each.target) else each.implementation
            operations = asked.setdefault((library, each.curve, each.reason), [])
            if each.operation not in operations:
                operations.append(each.operation)
    # The curves that a library lacks get one line, too.
    groups: dict[tuple[str, str, str], list[str]] = {}
    for (library, curve, reason), operations in asked.items():
        why = "the library has none of these" if curve and reason == without_curve(library, curve) else reason
        groups.setdefault((library, ", ".join(map(operation_text, _in_order(operations))), why), []).append(curve)
    cells = [
        [library, operations, ", ".join(sorted(curves, key=lambda curve: _index(CURVES, curve))) or "-", why]
        for (library, operations, why), curves in groups.items()
    ]
    if not cells:
        return None
    return Section(
        f"{name}: not available",
        Table(["library", "operations", "curves", "why"], cells, 4),
        name=section_name("board-unavailable", name),
    )


def _in_order(operations: Iterable[str]) -> list[str]:
    return sorted(operations, key=lambda name: _index(_OPERATIONS, name))


def _comparison_section(rows: list[Row]) -> Section | None:
    names = by_core(row.board for row in rows)
    lines: dict[tuple[str, str, str], dict[str, Row]] = {}
    order = sorted(
        (row for row in rows if row.operation != DHRYSTONE),
        key=lambda row: (
            *_operation_order(row),
            _index(CURVES, row.curve),
            row.implementation,
            _index(OPTIMISATIONS, row.optimisation),
        ),
    )
    for row in order:
        key = (operation_text(row.operation, row.size), row.curve or "-", row.variant)
        lines.setdefault(key, {})[row.board] = row
    if len(names) < 2 or not lines:
        return None
    headers = ["operation", "curve", "library"]
    for name in names:
        headers += [f"{name}\ninstr", "\nrank"]
    cells = []
    for key, found in lines.items():
        line = [*key]
        for name in names:
            line += [count(found[name].median), _rank(found[name])] if name in found else ["-", "-"]
        cells.append(line)
    return Section("Across boards: medians and ranks", Table(headers, cells, 3), name="boards")


def _dhrystone_section(rows: list[Row]) -> Section | None:
    chosen = [row for row in rows if row.operation == DHRYSTONE]
    order = by_core({row.board for row in chosen})

    def of_clock(text: Callable[[Row, float], str]) -> Callable[[Row], str]:
        return lambda row: text(row, clock) if (clock := clock_mhz(row)) else "-"

    return table_builder.section(
        "Dhrystone 2.1 at one instruction per cycle",
        "dhrystone",
        sorted(chosen, key=lambda row: (order.index(row.board), row.parameters)),
        [
            table_builder.name("board", lambda row: f"{row.board}, {board_text(row.board)}"),
            table_builder.name("compiled", lambda row: f"-{row.optimisation}"),
            table_builder.number("clock\nMHz", of_clock(lambda _, clock: f"{clock:g}")),
            table_builder.number(
                "median of a run\ninstr", lambda row: f"{row.median / (row.part(OnBoard).runs or 1):,.1f}"
            ),
            table_builder.number("\nDMIPS", lambda row: f"{dmips(row):,.1f}"),
            table_builder.number("DMIPS /\nMHz", of_clock(lambda row, clock: f"{dmips(row) / clock:,.2f}")),
        ],
        [
            f"DMIPS: Dhrystones per second / {VAX_DHRYSTONES:,}, at the board's clock, if each instruction took one "
            "cycle. A real board's figure is lower: its core needs more than one cycle for some instructions. The "
            "figure depends on the compiler and on the C library's strcpy and strcmp as much as on the core. Makers' "
            "figures come from other compilers. It says little about cryptography, which multiplies long numbers."
        ],
    )


def _published_reasons(rows: list[Row], reading: Reading) -> Section | None:
    notes: dict[str, None] = {}
    for row in rows:
        for figure in row.against.published:
            note = f" ({figure.note})" if figure.note else ""
            notes[f"{figure.source}: {figure.conditions}{note}."] = None
    if not notes and not any(row.against.published_gap for row in rows):
        return None
    return Section(
        "What the published figures are", None, [*notes, reading.published_reason], name="boards-published-reasons"
    )


def _emulation(name: str, emulated: board.Emulated) -> str:
    """What a board is emulated as, and which parts of it are missing."""
    left_out = f" It leaves out {'; '.join(emulated.leaves_out)}." if emulated.leaves_out else ""
    return emulated_note(f"{name} is emulated as QEMU's {emulated.machine}.{left_out}")


def _legend_section(rows: list[Row], reading: Reading) -> Section | None:
    if not rows:
        return None
    includes = by_includes(rows, lambda row: row.operation, lambda row: f"{row.counts.includes}.")
    known = board.boards()
    notes = [
        unit_note(
            "instr: instructions, counted exactly; the same lock gives the same digits on every machine. The cost "
            "of measuring is itself measured and subtracted.",
            " median: of the n samples after the warm-up; stdev: of "
            "the sample (n - 1), shown only where a library's code path depends on the data or on random numbers.",
        ),
        OfInstructions(
            f"us: the median's time at the board's clock. {reading.part(BoardTimes).board_assumption}",
            lambda words: f"us: the median divided by {words.divided}.",
        ),
        "library: library and compiler optimisation. stack: the deepest that one call goes, without the frame's "
        "own use; heap: the most that it has allocated at a time. flash: code, constants and initial values that "
        "the operation pulls in, by linking with and without it; RAM: its static data, without stack "
        "and heap.",
        with_unit(
            lambda unit: (
                f"rank: 1 is the library with the fewest {unit} of those that do the same on the same board at the "
                "same optimisation; a library alone has no rank. Ranks say nothing about constant time: a faster "
                "library may leak its key to whoever can time it."
            )
        ),
    ]
    if any(row.against.published or row.against.published_gap for row in rows):
        notes.append(
            "published cycles: the published time at the board's clock. instr / cycle: ours divided by these: "
            "what the real core would do if it ran the same instructions. ?? stands in the publication itself."
        )
    notes += [board_note(f"{', '.join(map(operation_text, names))}: {text}") for text, names in includes.items()]
    notes += [_emulation(name, known[name].emulated) for name in by_core(row.board for row in rows) if name in known]
    return Section("How to read the boards' tables", None, notes, name="boards-legend")
