# SPDX-License-Identifier: BSD-2-Clause
"""Records of clocks that were read around what was counted, and the sweep of build options as a suite."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import synthetic
from boards import private_key, sign
from suite_texts import suite_text
from synthetic import RecordList, find, lines
from worldwise.base.errors import WorldwiseError
from worldwise.families.hardclock.readings import ClocksSaid
from worldwise.families.hardclock.tables import SOURCE
from worldwise.libraries import curves
from worldwise.libraries.portable import portables
from worldwise.plan.case import Case, parse_case
from worldwise.plan.selection import swept
from worldwise.plan.suite import parse_suite
from worldwise.read.published import Published, Subject
from worldwise.read.run_counts import read_run
from worldwise.records.check import check_records
from worldwise.records.evidence import required_checks
from worldwise.records.messages import message
from worldwise.records.parse import parse_line
from worldwise.report.report import sections

ID = "linux-armv7/mbedtls28-O2/hardclock,curve=secp256r1,size=32B"
CASE = parse_case(ID, samples=2, warmup=1)
COUNTS = {"sign": 4_614_000, "loop": 2_000_001}
# What reading a clock costs here, and the counter.
READING, EMPTY = 700, 1500
SUITE = suite_text("some", "linux-armv7 / sign sha256 / mbedtls28 bearssl / O2 / curves secp256r1 / sizes 32B")


def records(case: Case = CASE) -> RecordList:
    """Those of a case that went well: virtual time goes on by 1 ns with each instruction."""
    start = {
        "type": "start",
        "format": 2,
        "program": "linux-bench",
        "operation": case.operation,
        "implementation": case.implementation,
        "clock": "perf_cpu_cycles",
        "unit": "instructions",
        "warmup": case.warmup,
        "samples": case.samples,
        "parameters": " ".join(case.arguments),
    }
    found: RecordList = [start, {"type": "overhead", "place": "linux", "clock": "perf_cpu_cycles", "count": EMPTY}]
    counter = 1_000_000
    private = private_key(case, 0)
    for measure, count in COUNTS.items():
        for index in range(case.calls):
            phase = "first" if index == 0 else "warmup" if index <= case.warmup else "sample"
            begin = counter + 3 * READING
            end = begin + count + EMPTY
            sample = {"type": "sample", "measure": measure, "place": "linux", "index": index, "phase": phase}
            found.append({**sample, "begin": begin, "end": end, "count": count})
            found.append(
                {
                    "type": "clocks",
                    "measure": measure,
                    "index": index,
                    "begin": counter,
                    "end": end + 3 * READING,
                    "hardclock": (end + READING) // 1000 - (begin - READING) // 1000,
                    "gettimeofday": (end + 2 * READING) // 1000 - (begin - 2 * READING) // 1000,
                    "monotonic": end - begin + 5 * READING,
                    "calls": 2,
                }
            )
            if measure == "sign":
                said = {"curve": case.curve, "content": "blocks", "size": case.size}
                key = {"public": curves.public_key(case.curve, private).hex()}
                signature = sign(case.curve, private, message(case.size or 0, index)).hex()
                evidence = {"type": "evidence", "measure": measure, "index": index, "signature": signature}
                found.append({**evidence, **said, **key})
            counter = end + 10_000
    found += [{"type": "check", "name": name, "measure": "sign", "ok": True} for name in required_checks(case)]
    return [*found, {"type": "end", "status": 0, "idle": 0}]


def check(found: RecordList) -> None:
    parsed = [parse_line(line, "records", number) for number, line in enumerate(lines(found).splitlines(), 1)]
    check_records(parsed, CASE, "records")


def edit(**values: Any) -> Callable[[RecordList], None]:
    return lambda found: find(found, type="clocks", measure="loop", index=2).update(values)


def drop(found: RecordList) -> None:
    found.remove(find(found, type="clocks", measure="sign", index=1))


def twice(found: RecordList) -> None:
    found.insert(-1, find(found, type="clocks", measure="sign", index=1))


def elsewhere(found: RecordList) -> None:
    clocks = find(found, type="clocks", measure="loop", index=2)
    clocks["end"] = find(found, type="sample", measure="loop", index=2)["end"] - 1


def test_good_records_of_clocks_pass() -> None:
    check(records())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop, "the clocks of sign 1 are missing"),
        (twice, "clocks of sign 1, which has no such record or has it already"),
        (elsewhere, "clocks of loop 2 that were not read around its region"),
        # As a counter of cycles would be: nearly the count.
        (edit(hardclock=2_000_001), "loop 2: mbedtls_timing_hardclock says 2000001000 ns if it says microseconds"),
        (edit(hardclock=0), "loop 2: mbedtls_timing_hardclock says 0 ns"),
        (edit(gettimeofday=1990), "loop 2: gettimeofday says 1990000 ns"),
        (edit(monotonic=2_100_000), "loop 2: CLOCK_MONOTONIC says 2100000 ns"),
    ],
)
def test_clocks_that_do_not_go_with_the_counter_are_refused(change: Callable[[RecordList], None], says: str) -> None:
    found = records()
    change(found)
    with pytest.raises(WorldwiseError, match=says):
        check(found)


def test_a_library_has_a_clock_in_plain_linux_alone() -> None:
    assert CASE.measures == {"sign": ("linux",), "loop": ("linux",)}
    for other in ("linux-armv7/bearssl-O2/hardclock", "linux-armv7/mbedtls28-O2/hardclock,curve=secp384r1"):
        with pytest.raises(WorldwiseError):
            parse_case(other if "curve" in other else f"{other},curve=secp256r1,size=32B")


def test_a_sweep_is_every_combination_of_a_librarys_options_for_what_has_a_curve() -> None:
    suite = parse_suite(SUITE, "some.toml")
    grid = portables()["mbedtls28"].grid()
    cases = swept(suite).cases
    assert [case.options for case in cases if case.implementation == "mbedtls28" and case.curve] == grid
    assert [case.options for case in cases if not case.curve] == ["", ""]
    assert {case.id for case in suite.cases} <= {case.id for case in cases}
    # What is swept already stays as it is.
    assert swept(swept(suite)).cases == cases


def test_a_suite_without_options_cannot_be_swept() -> None:
    suite = parse_suite(SUITE.replace('"mbedtls28", ', ""), "some.toml")
    with pytest.raises(WorldwiseError, match="suite some has no case of a library with build options"):
        swept(suite)


def test_a_reading_has_clocks_and_the_counts_of_published_runs(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the published table has ours of another case beside it, or the clocks are lost."""
    monkeypatch.setattr(synthetic, "make_records", records)
    reading = read_run(synthetic.write_run(runs_dir, [CASE], suite=replace(synthetic.make_suite(), published=SOURCE)))
    sign, loop = reading.part(ClocksSaid).clocks
    assert (sign.measure, sign.core, sign.n, sign.instructions) == ("sign", "cortex-a9", 2, COUNTS["sign"])
    assert sign.hardclock == pytest.approx(COUNTS["sign"] / 1000, abs=4)
    assert loop.monotonic == COUNTS["loop"] + EMPTY + 5 * READING
    assert {row.measure for row in reading.rows} == {"sign", "loop"}
    # A signature by this operation is not the published one.
    assert all(row.against.samples == () for row in reading.rows)
    assert [figure.source for figure in reading.published_table] == [SOURCE] * 6
    titles = [part.title for part in sections(reading)]
    assert [title for title in titles if "hardclock" in title]
    assert not [title for title in titles if title.startswith("ECDSA of mbed TLS")]


def test_counts_stand_beside_runs_of_the_same_and_nowhere_else() -> None:
    published = Published(SOURCE)
    assert published.has_runs(Subject("sign", "sign", "linux", "mbedtls28", "", "secp384r1", 32))
    assert not published.has_runs(Subject("sign", "sign", "linux", "mbedtls28", "", "ed25519", 32))
    assert not published.has_runs(Subject("ecdh", "ecdh", "linux", "mbedtls28", "", "secp384r1"))
    assert not Published("").has_runs(Subject("sign", "sign", "linux", "mbedtls28", "", "secp384r1", 32))
