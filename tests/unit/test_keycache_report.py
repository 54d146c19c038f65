# SPDX-License-Identifier: BSD-2-Clause
"""Tables of the key cache's requests, from figures that nothing measured; what a suite may ask; and its records."""

import json
from typing import Any

import pytest

from readings import cells, reading, row
from worldwise.base.errors import WorldwiseError
from worldwise.base.tables import Section
from worldwise.families.keycache.tables import SOURCE, keycache_sections
from worldwise.plan.case import Case, parse_case
from worldwise.plan.suite import load_suite
from worldwise.read.models import Row
from worldwise.records.check import check_records
from worldwise.records.parse import parse_line
from worldwise.report.sections import counts

VARIANT = "mbedtls-ce-O2"
EMPTY = 30_000
AES = {"set-key": 20_000, "set-iv": 5_000, "cipher": 7_000}
# Inside each other.
PLACES = {"storage": 0, "ta": 1_000, "invoke": 40_000, "client": 120_000}
CASE = "optee/mbedtls-ce-O2/keycache,size=16B,storage=ree,policy=smart,action=seal-hit"


def figure(operation: str, parameters: str, measure: str, place: str, median: float) -> Row:
    return row(
        f"optee/{VARIANT}/{operation},{parameters}",
        measure,
        place,
        median,
        n=20,
        max=int(median) + 10,
        includes=f"what is included at {place}",
    )


def request(action: str, policy: str = "smart", storage: str = "ree", size: str = "16B", more: int = 0) -> list[Row]:
    parameters = f"size={size},storage={storage},policy={policy},action={action}"
    slow = more if policy == "naive" else 0
    return [
        figure("keycache", parameters, "request", place, median + (more if place != "storage" else slow))
        for place, median in PLACES.items()
    ]


def measured_by() -> list[Row]:
    found = [figure("call", "size=0B", "oldest", "client", EMPTY)]
    for direction in ("encrypt", "decrypt"):
        parameters = f"size=16B,key=256,mode=gcm,direction={direction}"
        found += [figure("aes", parameters, call, "ta", median) for call, median in AES.items()]
    return found


def tables(found: list[Row]) -> dict[str, Section]:
    return {
        section.title.partition(",")[2].strip()[:5]: section
        for section in keycache_sections(reading(found, published=SOURCE))
    }


def test_a_place_where_nothing_happens_has_no_factor() -> None:
    """If this fails, the whole report of a run with hits ends in a division by zero."""
    zeros = dict.fromkeys(("first", "warmup", "mean", "stdev", "min"), 0)
    found = [one.model_copy(update=zeros) for one in request("seal-hit")]
    (section,) = counts.count_sections(found)
    assert [line[:4] for line in cells(section)] == [
        [VARIANT, place, "0", "-" if place == "storage" else "0.00"] for place in PLACES
    ]


def test_a_run_without_the_key_cache_has_no_such_tables() -> None:
    assert keycache_sections(reading(measured_by())) == []


def test_a_hit_stands_beside_what_it_may_cost() -> None:
    found = measured_by() + request("seal-hit", more=30_000)
    (line,) = cells(tables(found)["a hit"])
    # 1.5 * 30,000 + 32,000; (70,000 - 32,000) / 30,000; 1.5 * 62,000.
    assert line[4:] == ["70,000", "70,010", "30,000", "32,000", "77,000", "1.27", "yes", "93,000", "yes", "-", "-"]


def test_reencrypt_may_cost_the_aes_of_both_its_messages_and_get_that_of_none() -> None:
    found = measured_by() + request("reencrypt-hit", more=65_000) + request("get-hit", more=6_000)
    get, reencrypt = cells(tables(found)["a hit"])
    assert (get[7], get[8], get[10]) == ("0", "45,000", "NO")
    assert (reencrypt[7], reencrypt[8], reencrypt[10]) == ("64,000", "109,000", "yes")


def test_the_median_is_what_may_not_be_above_it() -> None:
    found = measured_by() + request("get-hit", more=5_000)
    (line,) = cells(tables(found)["a hit"])
    assert (line[4], line[5], line[8], line[10]) == ("45,000", "45,010", "45,000", "yes")


def test_the_miss_and_the_naive_design_stand_beside_the_hit() -> None:
    found = (
        measured_by()
        + request("get-hit")
        + request("get-miss", more=20_000)
        + request("get-miss", "naive", more=5_000_000)
    )
    (line,) = cells(tables(found)["a hit"])
    assert line[-2:] == ["60,000", "5,040,000"]


def test_without_what_a_hit_is_measured_by_there_is_no_such_table() -> None:
    assert "a hit" not in tables(request("seal-hit"))


def test_what_stands_between_two_places_is_their_difference() -> None:
    found = measured_by() + request("get-hit") + request("get-miss", "naive", more=100) + request("set-new")
    hit, naive, new = cells(tables(found)["a req"])
    assert hit[:4] == ["GET hit", "16B", "REE FS", "smart"]
    assert hit[4:10] == ["120,000", "80,000", "39,000", "1,000", "0", "40,000"]
    assert naive[:4] == ["GET miss", "16B", "REE FS", "naive"]
    assert naive[4:10] == ["120,100", "80,000", "39,000", "1,000", "100", "40,100"]
    assert new[:4] == ["SET new", "16B", "REE FS", "smart"]


def test_published_retrieval_stands_beside_ours() -> None:
    found = request("get-hit") + request("get-cold", more=9_000) + request("get-miss", "naive", more=360_000)
    ours, theirs = cells(tables(found)["a key"])
    assert ours[2:] == ["40,000", "20.0", "-", "-", "49,000", "24.5", "400,000", "200.0", "10.00"]
    assert theirs[2:4] == ["-", "1,080"]
    assert theirs[-2:] == ["14,490", "13.42"]


def test_a_loaded_machine_is_in_no_table() -> None:
    disturbed = [one.model_copy(update={"parameters": f"{one.parameters},load=busy"}) for one in request("get-hit")]
    assert keycache_sections(reading(disturbed)) == []


# --- what a suite may ask ---


def test_the_suite_can_be_read() -> None:
    suite = load_suite("keycache")
    actions = {dict(case.parameters)["action"] for case in suite.cases if case.operation == "keycache"}
    assert {"get-hit", "get-miss", "get-cold", "set-known", "set-new", "reencrypt-hit", "reencrypt-miss"} <= actions


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("size=32B,storage=ree,policy=none,action=get-hit", "policy=none keeps no key"),
        ("size=32B,storage=ree,policy=naive,action=get-hit", "policy=naive keeps no key"),
        ("size=32B,storage=ree,policy=lru,action=get-cold", "the TA keeps it while servers come and go"),
        ("size=32B,storage=ree,policy=naive,action=get-cold", "there are no records to be lost"),
        ("size=20B,storage=ree,policy=smart,action=get-hit", "16B and 32B"),
        ("size=20B,storage=ree,policy=smart,action=set-new", "16B and 32B"),
        ("size=128KiB,storage=ree,policy=smart,action=seal-hit", "1B to 64KiB"),
        ("size=16B,storage=ree-rpmb,policy=smart,action=seal-hit", "storage=ree-rpmb is not for 'keycache"),
        ("size=16B,storage=ree,policy=smart,action=create", "create"),
        ("size=16B,storage=ree,action=seal-hit", "a policy, such as"),
        ("size=16B,storage=ree,policy=smart", "an action, such as"),
    ],
)
def test_what_cannot_be_is_refused(parameters: str, problem: str) -> None:
    with pytest.raises(WorldwiseError, match=problem):
        parse_case(f"optee/mbedtls-ce-O2/keycache,{parameters}")


def test_another_operation_has_none_of_its_actions() -> None:
    with pytest.raises(WorldwiseError, match="get-hit"):
        parse_case("optee/mbedtls-ce-O2/storage,size=32B,storage=ree,action=get-hit")


# --- records ---


def records(**changes: Any) -> list[dict[str, Any]]:
    """Those of one call, its storage passed twice; `changes` are of the sample at `storage`."""
    storage = {"begin": 400, "end": 500, "spans": 2, "busy": 60, "count": 56} | changes
    spans = storage["spans"]
    inner = {"inner": spans * 10} if spans else {}
    return [
        {
            "type": "start",
            "format": 2,
            "program": "optee-client",
            "operation": "keycache",
            "implementation": "optee",
            "clock": "cntvct_el0",
            "unit": "instructions",
            "warmup": 0,
            "samples": 0,
            "parameters": "size=16 storage=ree policy=smart action=seal-hit",
        },
        *(
            {"type": "overhead", "place": place, "clock": "cntvct_el0", "count": 2, "nested": 10}
            for place in ("storage", "ta", "invoke", "client")
        ),
        sample("storage", **storage),
        sample("ta", begin=300, end=600, spans=1, busy=300, count=298 - spans * 10, **inner),
        sample("invoke", begin=200, end=700, spans=1, busy=500, inner=10, count=488),
        sample("client", begin=100, end=800, inner=10, count=688),
        {"type": "check", "name": "answers-right", "measure": "request", "ok": True},
        {"type": "check", "name": "keys-found-where-they-must-be", "measure": "request", "ok": True},
        {"type": "end", "status": 0, "idle": 0},
    ]


def sample(place: str, **fields: int) -> dict[str, Any]:
    return {"type": "sample", "measure": "request", "place": place, "index": 0, "phase": "first"} | fields


def check(lines: list[dict[str, Any]]) -> None:
    case: Case = parse_case(CASE, samples=0)
    check_records([parse_line(json.dumps(line), "records.jsonl", 1) for line in lines], case)


def test_a_place_is_passed_as_often_as_it_was() -> None:
    check(records())


def test_a_place_that_nobody_passed_counts_nothing() -> None:
    check(records(begin=300, end=300, spans=0, busy=0, count=0))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"count": 60}, "end - begin|busy - overhead"),
        ({"busy": 200, "count": 196}, "from begin to end is less"),
        ({"begin": 100, "end": 160}, "is not inside"),
        ({"begin": 300, "end": 300, "spans": 1, "busy": 0, "count": 0}, "count is 0"),
    ],
)
def test_a_place_that_does_not_add_up_is_refused(changes: dict[str, int], problem: str) -> None:
    with pytest.raises(WorldwiseError, match=problem):
        check(records(**changes))


def test_a_place_without_its_number_of_spans_is_refused() -> None:
    lines = records()
    for field in ("spans", "busy"):
        del lines[7][field]
    with pytest.raises(WorldwiseError, match="a number and their sum"):
        check(lines)


def test_what_is_inside_comes_first() -> None:
    lines = records()
    lines[5], lines[6] = lines[6], lines[5]
    with pytest.raises(WorldwiseError, match="comes before the inner sample"):
        check(lines)
