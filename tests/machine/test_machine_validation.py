# SPDX-License-Identifier: BSD-2-Clause
"""A sample of the kept validation is measured again: the same cycles, to the digit."""

import pytest

from worldwise.libraries.boards import table_of
from worldwise.predict.cores import tables
from worldwise.validation.bench import CellBench
from worldwise.validation.cells import CORES, cell_tables, cells
from worldwise.validation.record import FigureRow, load_run

pytestmark = pytest.mark.machine

# Its program needs nothing but the lab and a crate, and has code with SIMD and without.
SAMPLE = "s2n"


@pytest.fixture(scope="module")
def bench() -> CellBench:
    return CellBench()


def sample() -> dict[str, list[FigureRow]]:
    rows: dict[str, list[FigureRow]] = {}
    for row in load_run().rows:
        if row.program == SAMPLE:
            rows.setdefault(f"{row.operation}-{row.implementation}", []).append(row)
    return rows


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["x25519-dh-plain", "x25519-dh-alt", "x25519-keygen-plain", "x25519-keygen-alt"])
def test_a_cell_takes_the_cycles_that_the_kept_run_says(bench: CellBench, name: str) -> None:
    rows = sample()[name]
    assert {row.core for row in rows} == set(CORES)
    passed = bench.run(rows[0].call, tables(CORES))
    for row in rows:
        spent = passed.cores[row.core]
        assert (spent.calls, spent.causes, spent.outside_instructions) == (row.cycles, row.causes, row.outside)
        assert (passed.instructions, passed.checksum) == (row.instructions, row.checksum)


# A program of the lab and a crate, and one whose code is in a flash with wait states.
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("program", "operation"),
    [("p256-cortex-m4", "sign"), ("p256-cortex-m4", "decompress"), ("p256-m", "p256_gen_keypair")],
)
def test_a_cell_of_a_microcontroller_takes_the_cycles_that_the_kept_run_says(
    bench: CellBench, program: str, operation: str
) -> None:
    rows = [row for row in load_run().rows if (row.program, row.operation) == (program, operation)]
    (cell,) = (one for one in cells() if one.call == rows[0].call)
    spent = bench.run(cell.call, {"cortex-m4": cell_tables([cell])[cell.table]})
    taken = spent.cores["cortex-m4"]
    for row in rows:
        assert (taken.calls, taken.causes, taken.outside_instructions) == (row.cycles, row.causes, row.outside)
        assert (spent.instructions, spent.checksum) == (row.instructions, row.checksum)
    # The comparison can fail: with slower loads, from a flash that does not wait, it takes other cycles.
    slower = table_of("cortex-m4").replace("class load cycles 2", "class load cycles 3")
    assert slower != table_of("cortex-m4")
    assert bench.run(cell.call, {"cortex-m4": slower}).cores["cortex-m4"].calls != taken.calls


def test_a_core_of_another_table_takes_other_cycles(bench: CellBench) -> None:
    """The comparison can fail: a multiplier that is slower changes the cycles."""
    row = sample()["x25519-dh-alt"][0]
    table = tables([row.core])[row.core]
    slower = table.replace("class mul64 latency ", "class mul64 latency 1")
    assert slower != table
    assert bench.run(row.call, {row.core: slower}).cores[row.core].calls != row.cycles
