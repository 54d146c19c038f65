# SPDX-License-Identifier: BSD-2-Clause
"""A sample of the kept validation is measured again: the same cycles, to the digit."""

import pytest

from worldwise.predict.cores import tables
from worldwise.validation.bench import Bench
from worldwise.validation.cells import CORES
from worldwise.validation.record import Row, load_run

pytestmark = pytest.mark.machine

# Its program needs nothing but the lab and a crate, and has code with SIMD and without.
SAMPLE = "s2n"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def sample() -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for row in load_run().rows:
        if row.program == SAMPLE:
            rows.setdefault(f"{row.operation}-{row.implementation}", []).append(row)
    return rows


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["x25519-dh-plain", "x25519-dh-alt", "x25519-keygen-plain", "x25519-keygen-alt"])
def test_a_cell_takes_the_cycles_that_the_kept_run_says(bench: Bench, name: str) -> None:
    rows = sample()[name]
    assert {row.core for row in rows} == set(CORES)
    passed = bench.run(rows[0].call, tables(CORES))
    for row in rows:
        spent = passed.cores[row.core]
        assert (spent.calls, spent.causes, spent.outside_instructions) == (row.cycles, row.causes, row.outside)
        assert (passed.instructions, passed.checksum) == (row.instructions, row.checksum)


def test_a_core_of_another_table_takes_other_cycles(bench: Bench) -> None:
    """The comparison can fail: a multiplier that is slower changes the cycles."""
    row = sample()["x25519-dh-alt"][0]
    table = tables([row.core])[row.core]
    slower = table.replace("class mul64 latency ", "class mul64 latency 1")
    assert slower != table
    assert bench.run(row.call, {row.core: slower}).cores[row.core].calls != row.cycles
