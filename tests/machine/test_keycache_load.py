# SPDX-License-Identifier: BSD-2-Clause
"""The key cache under load, in the machine: hits are those that were foretold, and redis-benchmark repeats itself."""

from pathlib import Path

import pytest

from machines import RunCase
from worldwise.base import paths
from worldwise.families.keycache import build as keycache
from worldwise.lab.image import ImageStore
from worldwise.plan.case import Case, parse_case
from worldwise.records.check import check_records
from worldwise.records.models import Outcome
from worldwise.records.parse import parse_line
from worldwise.targets.all_targets import EMULATED

# The first that needs an image builds it, and the root of the key cache.
pytestmark = pytest.mark.timeout(1800)

CLIENTS, KEPT, BATCH, SAMPLES = 50, 10, 50, 3
# As keycache-sim names them.
POLICIES = {"lru": "lru", "smart": "s3-fifo"}


def run(case: Case, records_of: RunCase) -> dict[str, Outcome]:
    """The outcomes of a case by what they are of; its records are checked as the tool does."""
    lines = records_of(case).splitlines()
    records = [parse_line(line, "records", number) for number, line in enumerate(lines, 1)]
    check_records(records, case)
    return {record.what: record for record in records if isinstance(record, Outcome)}


def test_the_machines_hits_are_the_simulators(records_of: RunCase, tmp_path: Path) -> None:
    """Server and TA on arm64, keycache-sim on the host's architecture: the same stream, the same hits, to the last."""
    workload, requests = "zipf-0.99", BATCH * (SAMPLES + 1)
    root = keycache.root()
    root.run(
        ["make", "--directory=/keycache", "O=/build", "/build/keycache-sim"],
        binds=[(paths.KEYCACHE, "/keycache", "ro"), (tmp_path, "/build", "rw")],
        timeout=300,
    )
    words = ["/build/keycache-sim", workload, str(CLIENTS), str(KEPT), str(requests)]
    tmp_path.chmod(0o755)  # what runs in the root is another user
    printed = root.run(words, binds=[(tmp_path, "/build", "ro")], timeout=60).stdout
    foretold = dict(line.split() for line in printed.splitlines())
    found = {}
    for policy in POLICIES:
        parameters = f"policy={policy},clients={CLIENTS},requests={BATCH},bound={KEPT},workload={workload}"
        said = run(parse_case(f"optee/mbedtls-ce-O2/keycache-zipf,storage=rpmb,{parameters}", SAMPLES), records_of)
        assert int(said["requests"].result) == requests
        assert int(said["keys in the TA"].result) == CLIENTS * KEPT // 100
        assert int(said["hits"].result) + int(said["records opened"].result) == requests
        found[policy] = said["hits"].result
    assert found == {policy: foretold[name] for policy, name in POLICIES.items()}
    # Of a stream without hits, or with the same for both, this would say little.
    assert 0 < int(found["lru"]) < int(found["smart"]) < requests


def test_redis_benchmark_says_the_same_twice(records_of: RunCase, images: ImageStore) -> None:
    """Its report goes by the machine's clock, in which the one processor was never idle: it is a count as well."""
    parameters = "size=256B,storage=rpmb,policy=smart,action=seal,connections=4,clients=4,requests=60"
    case = parse_case(f"optee/mbedtls-ce-O2/keycache-load,{parameters}", 1)
    machine = EMULATED[case.target].machine(case, images)
    first = records_of(case, on=machine)
    assert records_of(case, on=machine) == first
    said = [parse_line(line, "records", number) for number, line in enumerate(first.splitlines(), 1)]
    reports = [record for record in said if isinstance(record, Outcome)]
    assert [report.what for report in reports] == ["redis-benchmark 0", "redis-benchmark 1"]
    assert all(100 < float(report.result) < 10_000 for report in reports)
    assert all(report.detail.startswith("avg ") and report.detail.endswith(" ms") for report in reports)
