# SPDX-License-Identifier: BSD-2-Clause
"""Tables of a run that measured a Linux host: its own count of instructions beside QEMU's, and what disturbed it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from worldwise.base.tables import Section, Table, count, count_or_dash, ratio, signed, spread
from worldwise.base.units import NANOSECONDS
from worldwise.plan.spec import TEE_TARGETS
from worldwise.read.models import HostCase, Reading, Row

_FACTS = ("model", "core", "processor", "kernel", "governor", "clock", "clock_reason")


def sections(reading: Reading, _full: bool) -> list[Section]:
    """The parts of a report that only a host's run has."""
    if not reading.hosted:
        return []
    parts = [_samples(reading.rows), _instructions(reading.hosted), _disturbed(reading.hosted), _host(reading)]
    return [part for part in parts if part]


def columns(reading: Reading) -> Mapping[str, Callable[[Row], object]]:
    """Further columns of the CSV; none if the run measured no host."""
    if not reading.hosted:
        return {}
    found = {(one.case, one.measure): one for one in reading.hosted}
    names = ("calls", "switched", "migrated", "clocked", "instructions", "emulated", "differing")
    return {
        f"host_{name}": lambda row, name=name: getattr(found[row.case, row.measure], name)  # type: ignore[misc]
        for name in names
    }


def host_json(reading: Reading) -> dict[str, object]:
    """What the JSON has besides; empty if the run measured no host."""
    if not reading.hosted:
        return {}
    return {"measured_on": reading.measured_on, "hosted": [one.model_dump(mode="json") for one in reading.hosted]}


def summary(reading: Reading) -> list[str]:
    """What the answer says of the host in a line; none if the run measured no host."""
    if not reading.hosted:
        return []
    disturbed = sum(_is_disturbed(one) for one in reading.hosted)
    calls = f"{disturbed} of {len(reading.hosted)} measures have calls that something disturbed"
    compared = _compared(reading.hosted)
    same = sum(one.differing == 0 for one in compared)
    equal = f"; instructions are QEMU's, to the digit, in {same} of {len(compared)}" if compared else ""
    return [f"{calls}{equal}."]


def calls_optee(reading: Reading) -> bool:
    """Whether the host's OP-TEE was called."""
    return any(row.target in TEE_TARGETS for row in reading.rows)


def _is_disturbed(one: HostCase) -> bool:
    return bool(one.switched or one.migrated or one.clocked)


def _compared(cases: Iterable[HostCase]) -> list[HostCase]:
    return [one for one in cases if one.differing is not None]


def _samples(rows: Sequence[Row]) -> Section:
    """How far calls go apart; `instr` stands for the unit, as in all tables."""
    cells = [
        [
            *(
                row.case,
                row.measure,
                count(row.counts.n),
                count(row.counts.first),
                count(row.median),
                count(row.counts.min),
                count(row.counts.max),
            ),
            *(spread(row.counts.stdev), ratio(row.counts.max / row.median if row.median else None)),
        ]
        for row in rows
    ]
    headers = ["case", "measure", "n", *(f"{name}\ninstr" for name in ("first call", "median", "min", "max", "stdev"))]
    return Section(
        "How far the samples go apart",
        Table([*headers, "max /\nmedian"], cells, 2),
        ["These figures leave out no sample; the first call and the warm-up stand only in their own columns."],
        "host-samples",
    )


def _instructions(cases: Sequence[HostCase]) -> Section | None:
    shown = [one for one in cases if one.instructions is not None]
    if not shown:
        return None
    cells = []
    for one in shown:
        difference = None if one.emulated is None or one.instructions is None else one.instructions - one.emulated
        line = [*_named(one), count_or_dash(one.instructions), count_or_dash(one.emulated)]
        cells.append([*line, "-" if difference is None else signed(difference), count_or_dash(one.differing)])
    compared = _compared(shown)
    same = sum(one.differing == 0 for one in compared)
    note = (
        f"{same} of {len(compared)} measures are the same on both in every sample. Both run the same program, and "
        "both count what it executes in user space between the same two readings; medians of the samples. A "
        "difference means that the program took another path (the C library and some libraries look at what the "
        "core has, and random numbers are the host's), or that one of the two counts wrongly."
    )
    return Section(
        "Instructions: the host's own counter beside QEMU's exact count",
        Table(
            [
                *("case", "measure", "host\ninstructions", "QEMU\ninstructions"),
                *("difference\ninstructions", "samples that\ndiffer"),
            ],
            cells,
            2,
        ),
        [
            note
            if compared
            else "QEMU's count would be for other code, so the table leaves it out: docs/use/board-linux.md."
        ],
        "host-instructions",
    )


def _disturbed(cases: Sequence[HostCase]) -> Section:
    cells = [
        [*_named(one), *map(count_or_dash, (one.calls, one.switched, one.migrated, one.clocked))]
        for one in cases
        if _is_disturbed(one)
    ]
    calls = sum(one.calls for one in cases)
    headers = ["case", "measure", "calls", "switched", "other\nprocessor", "other\nclock"]
    quiet = f"In none of the {calls:,} calls any" if not cells else f"In all other of the {calls:,} calls no"
    return Section(
        "What disturbed the calls",
        Table(headers, cells, 2) if cells else None,
        [
            f"{quiet} task but the program had the processor, and its clock stayed as it was, as far as Linux says.",
            "switched: calls in which another task had the processor, or the program waited for "
            "something. other "
            "clock: the processor's clock was another one at the end. Such calls stay in the figures: look at "
            "the first call, the median and the maximum.",
        ],
        "host-disturbed",
    )


def _host(reading: Reading) -> Section:
    found = reading.measured_on
    facts = [f"{name.replace('_', ' ')}: {found[name]}" for name in _FACTS if found.get(name) not in (None, "")]
    time = ["The processor had no free counter: all figures are from the host's clock."]
    own = ["It has its own OP-TEE: the variant only says how the TA was compiled."]
    return Section(
        "The host that was measured",
        None,
        [*facts, *(time if reading.unit == NANOSECONDS else ()), *(own if calls_optee(reading) else ())],
        "host",
    )


def _named(one: HostCase) -> Iterable[str]:
    return one.case, one.measure
