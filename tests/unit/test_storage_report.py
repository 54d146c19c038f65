# SPDX-License-Identifier: BSD-2-Clause
"""Tables of storage, from figures that nothing measured; and what a suite may ask of storage."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from readings import attempt, cells, reading, row, titled
from suite_texts import suite_text
from worldwise.base.errors import WorldwiseError
from worldwise.base.tables import Section
from worldwise.base.units import size_text
from worldwise.families.storage.spec import RPMB_MOST, too_large
from worldwise.families.storage.tables import REQUESTS, storage_sections
from worldwise.plan.case import parse_case
from worldwise.plan.suite import parse_suite
from worldwise.read.models import NotAvailable, Row
from worldwise.read.mqttz import SOURCE
from worldwise.records.check import check_records
from worldwise.records.parse import parse_line

SIZES = (32, 7000, 1 << 20)
# What an access costs in these tests: fixed, per byte.
SECURE, PLAIN = (1_000_000, 50), (10_000, 0.5)
PER_REQUEST = 25_000
SUITE = suite_text(
    "storage",
    "optee / storage / mbedtls-ce / O2 / storages ree rpmb / actions create overwrite / sizes 64KiB 127KiB 1MiB",
)


def access(action: str, size: int, kind: str, place: str, variant: str) -> Row:
    fixed, per_byte = PLAIN if place == "linux" else SECURE
    median = fixed + per_byte * size + (100_000 if place == "client" else 0) + (7_000 if kind == "fsync" else 0)
    case = f"optee/{variant}/storage,size={size_text(size)},storage={kind},action={action}"
    if place == "linux":
        sync = ",sync=fsync" if kind == "fsync" else ""
        case = f"linux/{variant}/file,size={size_text(size)},action={action}{sync}"
    others = {"mean": median + 3.0, "stdev": median / 1000, "microseconds": {"2.0 GHz": median / 2000}}
    return row(case, "access", place, median, n=100, includes=f"what is included at {place}", **others)


def rows(action: str = "create", sizes: Iterable[int] = SIZES, variant: str = "mbedtls-ce-O2") -> list[Row]:
    found = []
    for size in sizes:
        for kind in ("ree", "ree-rpmb", "rpmb"):
            if kind != "rpmb" or size < 1 << 20:
                found += [access(action, size, kind, place, variant) for place in ("ta", "client")]
        found += [access(action, size, sync, "linux", variant) for sync in ("none", "fsync")]
    return found


def with_requests(found: list[Row], full: bool = False, published: str = SOURCE) -> list[Section]:
    clients = (one for one in found if one.place == "client")
    requests = [attempt(one.case, REQUESTS, str(int(one.median // PER_REQUEST))) for one in clients]
    why = "whatever an older version said of it"
    lacking = NotAvailable(target="optee", implementation="mbedtls-ce", curve="", operation="storage", reason=why)
    return storage_sections(reading(found, requests, published=published, unavailable=(lacking,)), full)


def section(found: list[Row], title: str) -> Section:
    return titled(with_requests(found), title)


def lines(found: list[Row], title: str, full: bool = False) -> list[list[str]]:
    return cells(titled(with_requests(found, full), title))


def test_a_run_without_storage_has_none_of_the_tables() -> None:
    assert with_requests([]) == []


def test_an_action_has_a_line_for_each_storage_and_a_column_for_each_size() -> None:
    table = section(rows(), "Storage, create").table
    assert table
    assert table.headers == ["storage", "of one call", "32B", "7000B", "1MiB"]
    cost = [1_100_000 + 50 * size for size in SIZES]
    assert table.rows[:3] == [
        ["REE FS", "client, instr", *(f"{one:,}" for one in cost)],
        [
            "",
            "client / plain file",
            *(f"{one / (10_000 + size / 2):,.2f}" for one, size in zip(cost, SIZES, strict=True)),
        ],
        ["", "requests", *(str(one // PER_REQUEST) for one in cost)],
    ]
    assert table.rows[-2] == ["plain file", "Linux, instr", "10,016", "13,500", "534,288"]
    assert table.rows[-1] == ["plain file, fsync", "Linux, instr", "17,016", "20,500", "541,288"]


def test_what_is_too_large_is_said_in_its_cell_and_why_below() -> None:
    one = section(rows(), "Storage, create")
    assert one.table
    rpmb = next(line for line in one.table.rows if line[0] == "RPMB")
    assert rpmb[2:] == ["1,101,600", "1,450,000", "too large"]
    assert one.notes == [f"too large: {too_large('create', 2**20)}."]
    assert not section(rows("read", SIZES[:2]), "Storage, read").notes


def test_what_was_not_measured_is_no_figure_and_not_called_too_large() -> None:
    found = [one for one in rows("read") if one.place != "linux" and "rpmb" not in one.parameters]
    assert lines(found, "Storage, read") == [
        ["REE FS", "client, instr", "1,101,600", "1,450,000", "53,528,800"],
        ["", "client / plain file", "-", "-", "-"],
        ["", "requests", "44", "58", "2141"],
    ]


def test_the_whole_report_has_what_is_spent_in_the_ta() -> None:
    assert ["", "TA, instr", "1,001,600", "1,350,000", "53,428,800"] in lines(rows(), "Storage, create", full=True)
    assert not any(line[1].startswith("TA") for line in lines(rows(), "Storage, create"))


def test_numbers_of_samples_stand_in_the_title() -> None:
    found = [one.model_copy(update={"n": 20}) if one.size == 1 << 20 else one for one in rows()]
    assert section(found, "Storage, create").title.endswith("medians (n = 100; of 1MiB 20)")


def test_variants_are_named_where_there_are_several() -> None:
    both = rows() + rows(variant="mbedtls-nist-O2")
    names = [line[0] for line in lines(both, "Storage, create") if line[0]]
    assert names[:2] == ["REE FS, mbedtls-ce-O2", "REE FS, mbedtls-nist-O2"]
    assert names[-2:] == ["plain file", "plain file, fsync"]


def test_instructions_per_byte() -> None:
    found = lines(rows(), "Storage, instructions of the caller's whole call per byte")
    assert found[0] == ["create", "REE FS", "mbedtls-ce-O2", "34,425.00", "207.14", "51.05"]
    assert found[-1][:3] == ["create", "plain file, fsync", "any"]


def test_published_figures_stand_beside_ours() -> None:
    secure, plain = lines(rows(sizes=[7000]), "Storage, published figures")
    assert secure[:2] == ["create, secure", "mbedtls-ce-O2"]
    assert secure[2:4] == ["70.502", "5.221"]
    assert secure[4:7] == ["1,450,003", "1,450.0", "725.0"]
    assert secure[7:] == ["17,112.25", f"{1_450_000 / 13_500:.2f}"]
    assert plain[:5] == ["create, plain", "any", "0.004", "0.012", "13,503"]
    notes = " ".join(section(rows(sizes=[7000]), "Storage, published figures").notes)
    assert "ms^2" in notes
    assert "host's clock" in notes


def test_a_suite_without_the_source_has_no_published_table() -> None:
    titles = [each.title for each in with_requests(rows(), published="")]
    assert not any("published" in title for title in titles)


def test_the_widest_spread_is_told() -> None:
    found = rows()
    found[0] = found[0].model_copy(update={"stdev": found[0].median / 40})
    notes = " ".join(section(found, "How to read").notes)
    assert f"Of objects the greatest standard deviation is 2.5 % of the median ({found[0].parameters}, ta;" in notes
    assert "Of plain files the greatest standard deviation is 0.1 % of the median" in notes


def test_what_does_not_fit_the_device_is_unavailable() -> None:
    suite = parse_suite(SUITE, "storage.toml")
    rpmb = [case.id.rpartition("/")[2] for case in suite.cases if "storage=rpmb" in case.id]
    assert rpmb == [
        "storage,size=64KiB,storage=rpmb,action=create",
        "storage,size=64KiB,storage=rpmb,action=overwrite",
        "storage,size=127KiB,storage=rpmb,action=create",
    ]
    assert [one.reason.partition(":")[0] for one in suite.unavailable] == [
        "an object of 127KiB is too large to overwrite in RPMB",
        "an object of 1MiB is too large to create in RPMB",
        "an object of 1MiB is too large to overwrite in RPMB",
    ]
    assert len(suite.cases) + len(suite.unavailable) == 12


@pytest.mark.parametrize("action", ["create", "read", "rename", "delete", "overwrite", "append", "enumerate"])
def test_the_largest_object_of_rpmb_is_one_that_a_case_can_have(action: str) -> None:
    most = RPMB_MOST.get(action, RPMB_MOST[""])
    parse_case(f"optee/mbedtls-ce-O2/storage,size={size_text(most)},storage=rpmb,action={action}")
    with pytest.raises(WorldwiseError, match=f"too large to {action} in RPMB"):
        parse_case(f"optee/mbedtls-ce-O2/storage,size={size_text(most + 1024)},storage=rpmb,action={action}")
    parse_case(f"optee/mbedtls-ce-O2/storage,size={size_text(most + 1024)},storage=ree-rpmb,action={action}")


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("optee/mbedtls-ce-O2/storage,size=31B,storage=ree,action=read", "out of range for 'storage'"),
        ("optee/mbedtls-ce-O2/storage,size=2MiB,storage=ree,action=read", "Allowed: 32B to 1MiB"),
        ("linux/mbedtls-ce-O2/file,size=32B,action=read,sync=fsync", "writes nothing that sync=fsync"),
        ("linux/mbedtls-ce-O2/file,size=32B,action=enumerate,sync=fsync", "writes nothing that sync=fsync"),
        ("optee/mbedtls-ce-O2/storage,size=32B,storage=ree,action=replace", "action=replace is not for 'storage'"),
        ("optee/mbedtls-ce-O2/storage,size=32B,action=read", "needs a storage"),
        ("linux/mbedtls-ce-O2/file,size=32B", "needs an action"),
    ],
)
def test_what_storage_cannot_be_asked_for(case: str, problem: str) -> None:
    with pytest.raises(WorldwiseError, match=problem):
        parse_case(case)


def records(*besides: dict[str, Any], operation: str = "storage") -> list[dict[str, Any]]:
    """Those of a case of two calls, which take 500 in the TA and 900 from the client."""
    found: list[dict[str, Any]] = [
        {
            "type": "start",
            "format": 2,
            "program": "optee-client",
            "operation": operation,
            "implementation": "optee",
            "clock": "cntvct_el0",
            "unit": "instructions",
            "warmup": 0,
            "samples": 1,
            "parameters": "size=32 storage=ree action=read" if operation == "storage" else "",
        }
    ]
    for place in ("ta", "client"):
        found.append({"type": "overhead", "place": place, "clock": "cntvct_el0", "count": 2, "nested": 8})
    for index, phase in enumerate(("first", "sample")):
        for place, begin, taken, inner in (("ta", 200, 500, 0), ("client", 0, 900, 8)):
            sample = {
                "type": "sample",
                "measure": "access" if operation == "storage" else "increment",
                "place": place,
                "index": index,
                "phase": phase,
                "begin": 10_000 * index + begin,
                "end": 10_000 * index + begin + taken + 2 + inner,
                "count": taken,
            }
            found.append(sample | ({"inner": inner} if inner else {}))
    return [*found, *besides, {"type": "end", "status": 0, "idle": 0}]


REQUESTED = {"type": "outcome", "what": REQUESTS, "result": "25", "detail": ""}


def check(case: str, found: list[dict[str, Any]]) -> None:
    lines = [parse_line(json.dumps(each), "records", number) for number, each in enumerate(found, 1)]
    check_records(lines, parse_case(case, 1, 0))


def test_storage_has_an_outcome_beside_its_samples_and_no_other_operation_has() -> None:
    done = {"type": "check", "name": "state-as-it-must-be", "measure": "access", "ok": True}
    case = "optee/mbedtls-ce-O2/storage,size=32B,storage=ree,action=read"
    check(case, records(done, REQUESTED))
    check(case, records(done))
    with pytest.raises(WorldwiseError, match="'state-as-it-must-be' is missing"):
        check(case, records(REQUESTED))
    added = {"type": "check", "name": "value-incremented", "measure": "increment", "ok": True}
    check("optee/mbedtls-ce-O2/hello", records(added, operation="hello"))
    with pytest.raises(WorldwiseError, match="an outcome, which the case lacks"):
        check("optee/mbedtls-ce-O2/hello", records(added, REQUESTED, operation="hello"))
