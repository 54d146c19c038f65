# SPDX-License-Identifier: BSD-2-Clause
"""Hashing and storage on the machine itself: small cases of every kind, in both worlds."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from machines import IMPLEMENTATION, OPTIMISATION, RunCase
from worldwise.plan.case import Case, parse_case
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.messages import HashEvidence
from worldwise.records.parse import parse_line

VARIANT = f"{IMPLEMENTATION}-{OPTIMISATION}"
Checked = Callable[[str], tuple[CheckedRecords, list[str]]]


def case(text: str) -> Case:
    """A case of the quickest variant, with three samples."""
    target, _, rest = text.partition("/")
    return parse_case(f"{target}/{VARIANT}/{rest}", 3, 1)


@pytest.fixture
def checked(records_of: RunCase) -> Checked:
    """Runs a case, checks its records as the tool does, and gives them and the digests."""

    def run(text: str) -> tuple[CheckedRecords, list[str]]:
        wanted = case(text)
        records = [parse_line(line, "r", n) for n, line in enumerate(records_of(wanted).splitlines(), 1)]
        digests = [record.digest for record in records if isinstance(record, HashEvidence)]
        return check_records(records, wanted), digests

    return run


def counts(records: CheckedRecords, measure: str, place: str) -> list[int]:
    """The counts of one measure at one place, in order of the calls."""
    return [sample.count for sample in records.samples[measure, place]]


@pytest.mark.parametrize("parameters", ["size=0", "size=100000B", "size=100000B,chunk=16KiB"])
def test_hashing_in_the_tee_adds_up(checked: Checked, parameters: str) -> None:
    """The counters of both worlds agree on one call, and both worlds on the digest."""
    records, digests = checked(f"optee/sha256,{parameters}")
    spans = case(f"optee/sha256,{parameters}").spans
    assert (records.overheads["api"].clock, records.overheads["ta"].clock) == ("pmccntr_el0", "pmccntr_el0")
    api, ta, client = (counts(records, "hash", place) for place in ("api", "ta", "client"))
    touch, empty = counts(records, "touch", "client"), counts(records, "empty", "client")
    # The algorithm does the same work for every message, and no interrupt is in what the cycle counter saw.
    assert len(set(api)) == len(set(ta)) == 1
    assert api[0] < ta[0] < client[0]
    assert ta[0] - api[0] < 100 * spans
    for whole, moved, nothing in zip(client, touch, empty, strict=True):
        assert nothing < moved < whole
        # A call is its memory and its work, but for the monitor's part and a timer interrupt now and then.
        assert abs(whole - moved - ta[0]) < 60_000 * spans
    linux, linux_digests = checked(f"linux/sha256,{parameters}")
    assert digests == linux_digests
    assert counts(linux, "hash", "linux")[1] < client[1]


def test_sha256sum_hashes_the_same_message(checked: Checked) -> None:
    """The command's digests are the library's, and it costs a process besides."""
    command, digests = checked("linux/sha256sum,size=100000B")
    _, other = checked("linux/sha256,size=100000B")
    assert digests == other
    assert min(counts(command, "hash", "linux")) > 1_000_000


def test_fresh_memory_brings_its_page_faults(checked: Checked) -> None:
    """A buffer that was never touched costs a fault for each of its 64 pages."""
    warm, _ = checked("linux/sha256,size=256KiB")
    fresh, digests = checked("linux/sha256,size=256KiB,fault=fresh")
    assert min(counts(fresh, "hash", "linux")) > min(counts(warm, "hash", "linux")) + 64 * 500
    assert len(set(digests)) == 1


def test_another_process_is_in_the_samples(checked: Checked) -> None:
    """With a busy second process some samples have its time slices in them, others do not."""
    alone, digests = checked("linux/sha256,size=1MiB")
    busy, other = checked("linux/sha256,size=1MiB,load=busy")
    assert digests == other
    assert max(counts(busy, "hash", "linux")) > max(counts(alone, "hash", "linux")) + 1_000_000
    in_tee, _ = checked("optee/empty-invoke,load=busy")
    assert min(counts(in_tee, "invoke", "client")) < 50_000


def test_storage(checked: Checked) -> None:
    """A new object costs work in the TA's region too, and the processor is never idle while Linux serves it."""
    records, _ = checked("optee/storage-create")
    for inside, around in zip(counts(records, "create", "ta"), counts(records, "create", "client"), strict=True):
        assert 100_000 < inside < around


@pytest.mark.parametrize(
    "text", ["optee/sha256,size=64KiB,chunk=16KiB", "optee/storage-create", "linux/sha256sum,size=0"]
)
def test_the_same_digits_again(records_of: RunCase, text: str) -> None:
    """From the snapshot twice and from a cold boot: every byte is the same."""
    wanted = replace(case(text), samples=2)
    first = records_of(wanted)
    assert records_of(wanted) == first
    # In the normal world it is the machine that another case has booted.
    if not text.startswith("linux/"):
        assert records_of(wanted, "boot") == first
