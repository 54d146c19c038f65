# SPDX-License-Identifier: BSD-2-Clause
"""A run of the validation: each cell's cycles by the models, beside the figures of hardware."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from worldwise.base.files import file_sha256
from worldwise.validation.bench import Bench, Block, Passed
from worldwise.validation.cells import Call, Cell
from worldwise.validation.code import Code, Place, mca_cycles, vector_share, weighted
from worldwise.validation.programs import NEW
from worldwise.validation.record import Made, Row, Run, engine_digest, figures_digests, table_digest


def measure(
    bench: Bench, cells: Sequence[Cell], tables: Mapping[str, str], workers: int, progress: Callable[[int, int], None]
) -> Run:
    """Run cells with the models of their cores.

    Args:
        bench: runs the programs.
        cells: what to run.
        tables: the table of each core that a cell names.
        workers: how many emulators run at a time.
        progress: called with the number of calls that are done, and of all.

    Raises WorldwiseError if a program cannot be built or fails.
    """
    programs = sorted({cell.call.program for cell in cells})
    digests = {name: file_sha256(bench.program(name)) for name in programs}
    bench.plugin()
    passed = _passes(bench, cells, tables, workers, progress)
    code = {name: Code(bench.program(name)) for name in programs}
    mca = _mca(bench, cells, passed, code, workers)
    rows = tuple(_row(cell, passed[cell.call], code[cell.call.program], mca) for cell in cells)
    made = Made(
        engine=engine_digest(),
        cores={core: table_digest(table) for core, table in sorted(tables.items())},
        figures=figures_digests(),
        programs=digests,
    )
    return Run(made=made, rows=rows)


def _passes(
    bench: Bench, cells: Sequence[Cell], tables: Mapping[str, str], workers: int, progress: Callable[[int, int], None]
) -> dict[Call, Passed]:
    """Each call once, with the models of all cores that have a figure of it."""
    cores: dict[Call, dict[str, str]] = {}
    for cell in cells:
        cores.setdefault(cell.call, {})[cell.figure.core] = tables[cell.figure.core]
    lock, done = threading.Lock(), 0

    def one(call: Call) -> Passed:
        nonlocal done
        passed = bench.run(call, cores[call])
        with lock:
            done += 1
            progress(done, len(cores))
        return passed

    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(cores, pool.map(one, cores), strict=True))


def _mca(
    bench: Bench, cells: Sequence[Cell], passed: Mapping[Call, Passed], code: Mapping[str, Code], workers: int
) -> dict[tuple[str, str], dict[Place, float]]:
    """Cycles of the blocks that were executed, by program and core."""
    lab = bench.lab(NEW)
    wanted = sorted({(cell.call.program, cell.figure.core) for cell in cells})

    def one(key: tuple[str, str]) -> dict[Place, float]:
        some = (passed[cell.call].blocks for cell in cells if (cell.call.program, cell.figure.core) == key)
        return mca_cycles(lab, code[key[0]], _places(some), key[1])

    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(wanted, pool.map(one, wanted), strict=True))


def _places(blocks: Iterable[Iterable[Block]]) -> list[Place]:
    return sorted({(block.pc, block.instructions) for some in blocks for block in some})


def _row(cell: Cell, passed: Passed, code: Code, mca: Mapping[tuple[str, str], Mapping[Place, float]]) -> Row:
    figure, call = cell.figure, cell.call
    spent = passed.cores[figure.core]
    blocks = mca[call.program, figure.core]
    return Row(
        core=figure.core,
        which=cell.which,
        source=figure.source,
        what=figure.what,
        file=figure.file,
        compiler=figure.compiler,
        program=call.program,
        operation=call.operation,
        length=call.length,
        implementation=call.implementation,
        hardware=float(figure.value),
        cycles=spent.calls,
        instructions=passed.instructions,
        causes=spent.causes,
        outside=spent.outside_instructions,
        vector=round(vector_share(code, passed.blocks), 2),
        mca=round(weighted(passed.blocks, blocks) / len(spent.calls), 1),
        checksum=passed.checksum,
    )
