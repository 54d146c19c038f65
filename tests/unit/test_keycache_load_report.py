# SPDX-License-Identifier: BSD-2-Clause
"""Tables of the key cache under load, from figures that nothing measured; and what a suite may ask of it."""

import re
from itertools import chain

import pytest

from readings import attempt, cells, reading, row
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.tables import Section
from worldwise.families.keycache.report.load_tables import keycache_load_sections
from worldwise.families.keycache.spec import WORKLOADS
from worldwise.plan.case import Case, parse_case
from worldwise.read.models import Attempt, Row

VARIANT = "optee/mbedtls-ce-O2"
# What things cost in these tests: redis-benchmark's start, a connection, a PING, a use of a key by policy.
START, CONNECTION, PING = 40_000_000, 5_000_000, 70_000
USES = {"none": 250_000, "smart": 150_000, "naive": 2_000_000}


def figure(case: Case, measure: str, mean: float) -> Row:
    return row(case.id, measure, "client", mean, mean=mean, n=5, includes=f"what is in {measure}")


def load(action: str, policy: str, connections: int, more: str = "") -> tuple[list[Row], list[Attempt]]:
    case = parse_case(
        f"{VARIANT}/keycache-load,size=256B,storage=ree,policy={policy},action={action},connections={connections},"
        f"requests=1000{more}",
        samples=5,
    )
    each = PING if action == "ping" else USES[policy]
    rest = START + connections * CONNECTION
    rows = [figure(case, "short", rest + 1000 * each), figure(case, "long", rest + 2000 * each)]
    return rows, [attempt(case.id, "redis-benchmark 0", "1.50"), attempt(case.id, "redis-benchmark 1", "4417.39")]


def zipf(policy: str, hits: int, bound: int = 10, clients: int = 1000) -> tuple[list[Row], list[Attempt]]:
    case = parse_case(
        f"{VARIANT}/keycache-zipf,storage=ree,policy={policy},clients={clients},requests=1000,bound={bound},"
        "workload=zipf-0.99",
        samples=99,
    )
    said = {"requests": "100000", "keys in the TA": "100", "hits": str(hits), "records opened": str(100_000 - hits)}
    return [figure(case, "requests", 200_000_000.0 - hits)], [attempt(case.id, *pair) for pair in said.items()]


def load_sections(*cases: tuple[list[Row], list[Attempt]]) -> list[Section]:
    rows, attempts = (chain(*parts) for parts in zip(([], []), *cases, strict=True))
    return keycache_load_sections(reading(rows, attempts))


def test_a_run_without_load_has_none_of_the_tables() -> None:
    assert load_sections() == []


def test_a_request_costs_what_two_runs_differ_in() -> None:
    first, legend = load_sections(load("seal", "smart", 8), load("ping", "smart", 8), load("ping", "smart", 1))
    assert "mbedtls-ce-O2" in first.title
    assert "5 samples" in first.title
    assert cells(first) == [
        ["PING 256B", "-", "-", "-", "1", "70,000", "1.00", "28,571", "4,417", "45,000,000"],
        ["", "", "", "", "8", "70,000", "1.00", "28,571", "4,417", "10,000,000"],
        ["SEAL 256B", "smart", "REE FS", "1", "8", "150,000", "2.14", "13,333", "4,417", "10,000,000"],
    ]
    assert first.table
    assert any("ESTIMATE" in header for header in first.table.headers)
    assert any("estimate, not measured" in note for note in first.notes)
    assert any("what is in long" in note for note in legend.notes)


def test_policies_and_keys_stand_in_their_order() -> None:
    found = [
        load("seal", "naive", 8),
        load("seal", "smart", 8, ",clients=1000"),
        load("seal", "none", 8),
        load("seal", "smart", 8),
    ]
    first, _ = load_sections(*found)
    assert [line[:4] for line in cells(first)] == [
        ["SEAL 256B", "none", "REE FS", "1"],
        ["SEAL 256B", "smart", "REE FS", "1"],
        ["SEAL 256B", "naive", "REE FS", "1"],
        ["SEAL 256B", "smart", "REE FS", "1000"],
    ]
    # Without a PING over as many connections there is no floor to compare with.
    assert {line[6] for line in cells(first)} == {"-"}


def test_hits_stand_beside_each_other_by_policy() -> None:
    first, _ = load_sections(zipf("smart", 65_000), zipf("lru", 56_789), zipf("smart", 35_000, bound=1))
    assert first.table
    assert first.table.headers[-6:] == [
        "hits:\nlru",
        "smart",
        "%:\nlru",
        "smart",
        "instr:\nlru",
        "smart",
    ]
    assert cells(first) == [
        ["zipf-0.99", "REE FS", "1,000", "1 %", "100,000", "-", "35,000", "-", "35.0", "-", "199,965"],
        [
            *("zipf-0.99", "REE FS", "1,000", "10 %", "100,000"),
            *("56,789", "65,000", "56.8", "65.0", "199,943", "199,935"),
        ],
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("keycache-load,storage=ree,policy=smart,action=seal,connections=8,requests=10", "needs a size"),
        ("keycache-load,size=256B,storage=ree,policy=smart,action=seal,requests=10", "needs a number of connections"),
        ("keycache-load,size=256B,storage=ree,policy=smart,action=seal,connections=8", "needs a number of requests"),
        ("keycache-load,size=256B,storage=ree,policy=lfu,action=seal,connections=8,requests=10", "'lfu' is not known"),
        (
            "keycache-load,size=256B,storage=ree,policy=smart,action=create,connections=8,requests=10",
            "action=create is not for 'keycache-load'. Allowed: ping, seal, reencrypt",
        ),
        (
            "keycache-load,size=256B,storage=ree-rpmb,policy=smart,action=seal,connections=8,requests=10",
            "storage=ree-rpmb is not for 'keycache",
        ),
        ("keycache-load,size=9KiB,storage=ree,policy=smart,action=seal,connections=8,requests=10", "1B to 8KiB"),
        (
            "keycache-load,size=256B,storage=ree,policy=smart,action=ping,connections=8,clients=9,requests=10",
            "action=ping uses no key",
        ),
        ("keycache-load,size=256B,storage=ree,policy=smart,action=seal,connections=1001,requests=10", "1 to 1000"),
        (
            "keycache-load,size=256B,storage=ree,policy=smart,action=seal,connections=8,requests=7",
            "not even one for each of connections=8",
        ),
        ("storage,size=256B,storage=ree,action=ping", "action=ping is not for 'storage'"),
        ("keycache-zipf,storage=ree,policy=smart,clients=1000,requests=10,bound=10", "needs a workload"),
        (
            "keycache-zipf,storage=ree,policy=smart,clients=1000,requests=10,workload=zipf-0.99",
            "needs how many percent",
        ),
        (
            "keycache-zipf,storage=ree,policy=naive,clients=1000,requests=10,bound=10,workload=zipf-0.99",
            "policy=naive has no cache",
        ),
        (
            "keycache-zipf,storage=ree,policy=smart,clients=99,requests=10,bound=1,workload=zipf-0.99",
            "a cache without a key",
        ),
        (
            "keycache-zipf,storage=ree,policy=smart,clients=99,requests=10,bound=3,workload=zipf-0.99",
            "'3' is not known",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way_out(text: str, problem: str) -> None:
    with pytest.raises(WorldwiseError, match=problem.replace("(", r"\(")):
        parse_case(f"{VARIANT}/{text}")


def test_the_default_number_of_keys_is_left_out() -> None:
    base = f"{VARIANT}/keycache-load,size=256B,storage=ree,policy=smart,action=seal,connections=8"
    assert parse_case(f"{base},clients=1,requests=10").id == f"{base},requests=10"


def test_a_suite_may_ask_for_the_workloads_that_there_are() -> None:
    text = (paths.KEYCACHE / "tests/policies/workload.c").read_text(encoding="utf-8")
    assert tuple(re.findall(r'\{ "(zipf-[^"]*)"', text)) == WORKLOADS
