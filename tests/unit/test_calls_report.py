# SPDX-License-Identifier: BSD-2-Clause
"""Tables of shared memory and of calls, from figures that nothing measured."""

from collections.abc import Callable, Iterable

import pytest

from readings import cells, reading, row, titled
from worldwise.base.errors import WorldwiseError
from worldwise.base.tables import Section
from worldwise.base.units import size_text
from worldwise.families.calls.tables import calls_sections
from worldwise.plan.case import parse_case
from worldwise.read.models import Row

SIZES = (16, 4096, 65536, 1 << 20)
# What sharing, reading and copying cost in these tests: fixed, per byte.
SHARE, READ, COPY = 40_000, 0.5, 0.25


def figure(operation: str, measure: str, place: str, median: float, size: int, **parameters: str) -> Row:
    words = [f"size={size_text(size)}", *(f"{key}={value}" for key, value in parameters.items())]
    return row(f"optee/mbedtls-nist-O2/{operation},{','.join(words)}", measure, place, median)


def payload_rows(sizes: Iterable[int] = SIZES) -> list[Row]:
    """Registering costs SHARE, an invocation 30,000, and the copies what they cost per byte."""
    rows = []
    for size in sizes:
        for kind in ("temporary", "registered", "partial", "allocated"):
            memory = {} if kind == "temporary" else {"memory": kind}
            call = 30_000 + (SHARE if kind == "temporary" else 0)
            read = call + READ * size + (COPY * size if kind == "allocated" else 0)
            once = read + (0 if kind == "temporary" else SHARE)
            for measure, place, median in (
                ("call", "client", call),
                ("read", "ta", READ * size),
                ("read", "client", read),
                ("once", "ta", READ * size),
                ("once", "client", once),
            ):
                rows.append(figure("payload", measure, place, median, size, **memory))
    return rows


def invoke(sessions: int, values: int, size: int) -> float:
    return 30_000 + 14 * (sessions - 1) + 23 * values + (54_000 + 0.125 * size if size else 0)


def call_rows(cost: Callable[[int, int, int], float] = invoke) -> list[Row]:
    cases = [(sessions, 0, 0) for sessions in (1, 2, 4, 8)]
    cases += [(1, values, 0) for values in (1, 2, 3)]
    cases += [(1, 0, size) for size in SIZES]
    cases += [(8, 3, 65536)]
    return [
        figure("call", end, "client", cost(*case), case[2], sessions=str(case[0]), parameters=str(case[1]))
        for case in cases
        for end in ("oldest", "newest")
    ]


def section(rows: Iterable[Row], title: str, full: bool = False) -> Section:
    return titled(calls_sections(reading(rows), full), title)


def lines(rows: Iterable[Row], title: str, full: bool = False) -> list[dict[str, str]]:
    found = section(rows, title, full)
    return [dict(zip(found.table.headers, line, strict=True)) for line in cells(found) if found.table]


def test_a_run_without_calls_has_none_of_it() -> None:
    assert calls_sections(reading([])) == []


def test_copying_has_a_number() -> None:
    found = lines(payload_rows(), "A payload by each kind")[-1]
    assert found["payload"] == "1MiB"
    assert found["registered\ninstr"] == f"{30_000 + READ * 2**20:,.0f}"
    assert found["of it\nsharing"] == "40,000"
    assert found["copy in\nthe TA"] == f"{READ * 2**20:,.0f}"
    assert found["copy in\nthe client"] == f"{COPY * 2**20:,.0f}"


def test_registering_pays_off_where_its_cost_is_saved() -> None:
    found = lines(payload_rows(), "One payload alone")
    # A registration costs what a temporary reference costs each time: the second call is ahead.
    assert [line["registered:\nset up"] for line in found] == ["40,000"] * 4
    assert [line["registered:\npays off"] for line in found] == ["2"] * 4
    # The client's copy of 1 MiB costs more than registering does, so allocated memory never pays.
    assert [line["allocated:\npays off"] for line in found] == ["2", "2", "2", "never"]


def test_a_kind_that_was_not_measured_is_a_dash() -> None:
    rows = [each for each in payload_rows() if "allocated" not in each.parameters]
    found = lines(rows, "A payload by each kind")[0]
    assert (found["allocated\ninstr"], found["copy in\nthe client"]) == ("-", "-")


def test_lines_of_payloads_are_found_again() -> None:
    found = {(line["what"], line["memory"]): line for line in lines(payload_rows(), "Shared memory as fixed")}
    line = found["call, TA reads all", "allocated"]
    assert (line["fixed\ninstr"], line["per byte\ninstr"]) == ("30,000", "0.7500")
    assert found["copy in the TA", "any"]["per byte\ninstr"] == "0.5000"
    everything = lines(payload_rows(), "Shared memory as fixed", full=True)
    assert len(everything) == len(found) * len(SIZES)


def test_pages_that_cost_differently_are_told() -> None:
    rows = payload_rows()
    for number, each in enumerate(rows):
        if (each.measure, each.parameters.partition(",")[2]) == ("call", "memory=registered"):
            pages = -(-(each.size or 0) // 4096)
            rows[number] = each.model_copy(update={"median": 30_000 + 100.0 * pages + (5_000 if pages > 16 else 0)})
    (note,) = (note for note in section(rows, "Shared memory as fixed").notes if "whole pages" in note)
    assert "up to one page it costs 30,100, and each" in note
    assert "each page more costs 100.0 to 120.8" in note


def test_lines_of_calls_and_their_sum() -> None:
    found = {(line["per"], line["session"]): line for line in lines(call_rows(), "An invocation as fixed")}
    assert found["session", "oldest"]["per one\ninstr"] == "14.000"
    assert found["value", "newest"]["per one\ninstr"] == "23.000"
    assert found["byte", "oldest"]["per one\ninstr"] == "0.125"
    (line, _) = lines(call_rows(), "Several things")
    assert line["measured\ninstr"] == line["by the lines\ninstr"]
    assert line["measured /\nby the lines"] == "1.00"
    assert any("costs 54,000 more than none" in note for note in section(call_rows(), "An invocation as fixed").notes)


def test_what_does_not_add_up_is_seen() -> None:
    def dearer(sessions: int, values: int, size: int) -> float:
        return invoke(sessions, values, size) * (2 if sessions == 8 and size else 1)

    assert lines(call_rows(dearer), "Several things")[0]["measured /\nby the lines"] == "2.00"


def test_calls_are_listed_least_first() -> None:
    found = lines(call_rows(), "An invocation of a command")
    assert found[0]["oldest: more\nthan least"] == "0"
    assert [line["sessions\nopen"] for line in found][-1] == "8"
    assert found[-1]["memory\nshared"] == "64KiB"


def test_disturbed_cases_stay_out() -> None:
    rows = [
        figure("payload", "read", "client", 1, 16, load="busy"),
        figure("payload", "read", "ta", 1, 16, load="busy"),
    ]
    assert calls_sections(reading(rows)) == []


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("payload,size=0", "at least one byte"),
        ("call,size=4KiB,parameters=4", "at most 3 values"),
        ("call,size=0,sessions=65", "from 1 to 64"),
        ("payload,size=16B,memory=borrowed", "borrowed"),
        ("abuse,ta=hello", "number of calls"),
        ("abuse,ta=nobody,calls=1", "nobody"),
    ],
)
def test_what_cannot_be_measured_is_refused(case: str, problem: str) -> None:
    with pytest.raises(WorldwiseError, match=problem):
        parse_case(f"optee/mbedtls-nist-O2/{case}")
