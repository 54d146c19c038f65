# SPDX-License-Identifier: BSD-2-Clause
"""Tables of plain Linux on Armv7-A and Armv8-A: the cost of each library, and the effect of the core."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from worldwise.base.tables import Section, Table, count, factor, section_name
from worldwise.base.units import size_text
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import CURVES, OF_CURVE, portables
from worldwise.plan.catalogue import operation_of
from worldwise.read.models import Reading, Row
from worldwise.report.row_words import (
    by_includes,
    claim,
    core_of,
    machine_of,
    machine_text,
    machines,
    options_text,
    samples_text,
)
from worldwise.report.sections.units import OfInstructions, unit_note

_CURVELESS = {"sha256": "SHA-256", "sha512": "SHA-512", "aes128": "AES-128-CTR", "aes256": "AES-256-CTR"}
_USUAL = {"curve", "size", "core"}
# If counts of one case on two cores differ by no more than this share, only interrupts make the difference.
_SAME_CODE = 0.001


def linux_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on the libraries on plain Linux; empty if the run has no such rows.

    Unless `full`, an unavailable library is listed once for all operations that lack it.
    """
    rows = library_rows(reading)
    parts: list[Section | None] = []
    for machine in machines(rows):
        own = [row for row in rows if machine_of(row) == machine]
        for curve in sorted({row.curve for row in own if row.operation in OF_CURVE}, key=CURVES.index):
            parts += _curve_sections(machine, curve, [row for row in own if row.curve == curve])
        parts.append(_byte_section(machine, own))
    parts += [_core_section(rows), _unavailable_section(reading, full), _legend_section(rows)]
    return [part for part in parts if part]


def linux_columns(reading: Reading) -> Mapping[str, Callable[[Row], object]]:
    """Further columns of the CSV if the run has plain Linux; otherwise none."""
    if not any(row.target in PLAIN_TARGETS for row in reading.rows):
        return {}
    sized = any(row.footprint.flash for row in reading.rows)
    return {
        "core": core_of,
        "curve": lambda row: row.curve,
        "options": options_text,
        **({"program_bytes": lambda row: row.footprint.flash} if sized else {}),
    }


def library_rows(reading: Reading) -> list[Row]:
    """The rows of libraries with default options, on undisturbed plain Linux."""
    return [
        row
        for row in reading.rows
        if row.target in PLAIN_TARGETS and row.operation in (*OF_CURVE, *_CURVELESS) and not set(row.given) - _USUAL
    ]


# --- tables ---


def _curve_sections(machine: tuple[str, str], curve: str, rows: Sequence[Row]) -> Iterable[Section]:
    """One table; if messages of several sizes were signed, one for each size."""
    sizes: list[int | None] = [*sorted({row.size for row in rows if row.size is not None})]
    for size in sizes or [None]:
        shown = [row for row in rows if row.size == size or (row.size is None and size in (None, *sizes[:1]))]
        operations = [name for name in OF_CURVE if any(row.operation == name for row in shown)]
        found = {(row.variant, row.operation): row for row in shown}
        least = {name: min(row.median for row in shown if row.operation == name) for name in operations}
        sized = any(row.footprint.flash for row in shown)
        cells = []
        for variant in _by_cost(shown, operations):
            line = [variant]
            for name in operations:
                row = found.get((variant, name))
                line += [count(row.median), factor(row.median / least[name])] if row else ["-", "-"]
            if sized:
                line.append(_program_bytes(row for row in shown if row.variant == variant))
            cells.append(line)
        headers = ["library"]
        for name in operations:
            headers += [f"{name}\ninstr", "/ fewest\n"]
        headers += ["code\nbytes"] if sized else []
        message = f", message of {size_text(size)}" if size is not None else ""
        yield Section(
            f"{machine_text(machine)}, {curve}{message}: medians {samples_text(shown)}",
            Table(headers, cells, 1),
            name=section_name(*machine, curve, message),
        )


def _by_cost(rows: Sequence[Row], operations: Sequence[str]) -> list[str]:
    """Variants, the fewest instructions first: by signatures, or by the first other operation if there are none."""
    order = [name for name in ("sign", "ecdh", *operations) if name in operations]

    def cost(variant: str) -> tuple[tuple[bool, float], ...]:
        medians = {row.operation: row.median for row in rows if row.variant == variant}
        return tuple((name not in medians, medians.get(name, 0)) for name in order)

    return sorted(sorted({row.variant for row in rows}), key=cost)


def _program_bytes(rows: Iterable[Row]) -> str:
    sizes = [row.footprint.flash for row in rows if row.footprint.flash]
    return f"{max(sizes):,}" if sizes else "-"


def _byte_section(machine: tuple[str, str], rows: Sequence[Row]) -> Section | None:
    shown = [row for row in rows if row.operation in _CURVELESS and row.size]
    sizes = sorted({row.size for row in shown if row.size})
    found = {(row.operation, row.variant, row.size): row for row in shown}
    cells = []
    for operation, name in _CURVELESS.items():
        variants = {row.variant for row in shown if row.operation == operation}

        def cost(variant: str, operation: str = operation) -> list[float]:
            # By the longest message first: there a byte's own cost shows.
            return [
                found[operation, variant, size].median
                for size in reversed(sizes)
                if (operation, variant, size) in found
            ]

        for variant in sorted(sorted(variants), key=cost):
            medians = [(size, found.get((operation, variant, size))) for size in sizes]
            longest = next(row for _, row in reversed(medians) if row)
            cells.append(
                [
                    name,
                    variant,
                    *(factor(row.median / size) if row else "-" for size, row in medians),
                    count(longest.median),
                ]
            )
    if not cells:
        return None
    headers = ["algorithm", "library", *(f"{size_text(size)}\ninstr / byte" for size in sizes), "the longest\ninstr"]
    return Section(
        f"{machine_text(machine)}, hashes and ciphers: medians {samples_text(shown)}",
        Table(headers, cells, 2),
        ["For a short message that is mostly the fixed cost: padding, or a cipher's key expansion."],
        name=section_name(*machine, "bytes"),
    )


def on_several_cores(rows: Iterable[Row]) -> dict[tuple[str, ...], dict[str, Row]]:
    """What ran on more than one core: (target, operation, other parameters, variant) -> core -> row."""
    groups: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        given = row.given
        what = ",".join(f"{key}={value}" for key, value in given.items() if key != "core")
        groups.setdefault((row.target, row.operation, what, row.variant), {})[core_of(row)] = row
    return {key: found for key, found in groups.items() if len(found) > 1}


def _core_section(rows: Sequence[Row]) -> Section | None:
    """Differences between the cores of one target. Counts are equal unless a library checks the core's features."""
    several = on_several_cores(rows)
    if not several:
        return None
    cores = sorted({core for found in several.values() for core in found})
    cells = []
    widest = 0.0
    for (target, operation, what, variant), found in several.items():
        # The sample with the fewest ticks of Linux's timer: the ticks fall elsewhere on another machine.
        least = [row.counts.min for row in found.values()]
        share = max(least) / min(least) - 1
        if share > _SAME_CODE:
            counts = [count(found[core].counts.min) if core in found else "-" for core in cores]
            cells.append([target, operation, what or "-", variant, *counts, f"{100 * share:.2f}"])
        else:
            widest = max(widest, share)
    same = len(several) - len(cells)
    alike = (
        f"to within {100 * widest:.4f} %: ticks of Linux's timer make that difference, and the comparison takes the "
        "least of each case's samples"
        if widest
        else "to the digit"
    )
    found_same = f"{same:,} of {len(several):,} cases are the same on every core {alike}."
    emulated = (
        " An emulated core executes the instructions it is given: a count tells cores apart only where a library, or "
        "the C library, asks what the core has and takes other code."
    )
    notes = [OfInstructions(found_same + emulated, lambda words: found_same + ("" if words.hosted else emulated))]
    headers = [
        "target",
        "operation",
        "parameters",
        "library",
        *(f"{core}\ninstr" for core in cores),
        "most above\nfewest, %",
    ]
    return Section("What the core changes", Table(headers, cells, 4) if cells else None, [*notes], name="linux-cores")


def _unavailable_section(reading: Reading, full: bool) -> Section | None:
    groups: dict[str, dict[str, None]] = {}
    for each in reading.unavailable:
        found = operation_of(each.target, each.operation) if each.target in PLAIN_TARGETS else None
        # A family explains its own programs.
        if found and not found.own:
            what = " ".join(filter(None, (each.curve, each.operation)))
            named = f"{each.implementation} on {each.target}: {each.reason}" if full else each.reason
            groups.setdefault(named, {})[what if full else each.curve or each.operation] = None
    notes = [f"{text} ({', '.join(what)})." for text, what in groups.items()]
    return Section("Not available on plain Linux", None, notes, name="linux-unavailable") if notes else None


def _legend_section(rows: Sequence[Row]) -> Section | None:
    if not rows:
        return None
    includes = by_includes(rows, lambda row: row.operation, lambda row: row.counts.includes)
    notes = [
        unit_note(
            "instr: instructions of user space and of Linux within the region, counted exactly; the cost of "
            "measuring is measured and subtracted.",
            " median: of the n samples after the warm-up. / fewest: how many times as many as the library that takes "
            "the fewest for this operation in the table.",
        ),
        "library: library and compiler optimisation. One that is linked from Debian's archive is as Debian compiled "
        "it: its level is that of the adapter around it alone. Each is linked statically into a program of its own.",
        *(f"{', '.join(names)}: {text}." for text, names in includes.items()),
    ]
    if any(row.footprint.flash for row in rows):
        notes.append(
            "code: the library's bytes in the program, code, constants and initial values, for all operations of the "
            "curve, as the linker keeps them; the C library is not in it."
        )
    known = portables()
    for name in dict.fromkeys(row.implementation for row in rows):
        word, where, licence = claim(name)
        about = f"{known[name].manifest.title}: {known[name].manifest.about}" if name in known else "not here any more"
        claimed = f"{word} ({where})" if where else word
        notes.append(f"{name}: {about}. Constant time, as its authors say: {claimed}. Licence: {licence}.")
    return Section("How to read the tables of plain Linux", None, notes, name="linux-legend")
