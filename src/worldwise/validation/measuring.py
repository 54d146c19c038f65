# SPDX-License-Identifier: BSD-2-Clause
"""A run of the validation: each cell's cycles by the models, beside the figures of hardware."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from worldwise.base.files import file_sha256
from worldwise.validation.bench import Bench, Block, Passed
from worldwise.validation.cells import Call, Cell
from worldwise.validation.code import WITHOUT_MCA, Code, Place, mca_cycles, vector_share, weighted
from worldwise.validation.programs import NEW
from worldwise.validation.record import Made, Row, Run, engine_digest, figures_digests, table_digest


def measure(
    bench: Bench, cells: Sequence[Cell], tables: Mapping[str, str], workers: int, progress: Callable[[int, int], None]
) -> Run:
    """Run cells with the models of their cores.

    Args:
        bench: runs the programs.
        cells: what to run.
        tables: the table of the name that each cell has.
        workers: how many emulators run at a time.
        progress: called with the number of calls that are done, and of all.

    Raises WorldwiseError if a program cannot be built or fails.
    """
    files = {cell.call: bench.program(cell.call) for cell in cells}
    # A program is one file for all of its operations, or a file for each.
    named = {f"{call.program}/{path.stem}" if path.suffix else call.program: path for call, path in files.items()}
    bench.plugin()
    passed = _passes(bench, cells, tables, workers, progress)
    code = {path: Code(path) for path in set(files.values())}
    of = {call: code[path] for call, path in files.items()}
    mca = _mca(bench, cells, passed, of, workers)
    rows = tuple(_row(cell, passed[cell.call], of[cell.call], mca) for cell in cells)
    made = Made(
        engine=engine_digest(),
        cores={core: table_digest(table) for core, table in sorted(tables.items())},
        figures=figures_digests(),
        programs={name: file_sha256(path) for name, path in sorted(named.items())},
    )
    return Run(made=made, rows=rows)


def _passes(
    bench: Bench, cells: Sequence[Cell], tables: Mapping[str, str], workers: int, progress: Callable[[int, int], None]
) -> dict[Call, Passed]:
    """Each call once, with the models of all cores that have a figure of it."""
    cores: dict[Call, dict[str, str]] = {}
    for cell in cells:
        cores.setdefault(cell.call, {})[cell.figure.core] = tables[cell.table]
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


_Blocks = dict[tuple[Code, str], dict[Place, float]]


def _mca(
    bench: Bench, cells: Sequence[Cell], passed: Mapping[Call, Passed], code: Mapping[Call, Code], workers: int
) -> _Blocks:
    """Cycles of the blocks that were executed, by program and core, of the cores that LLVM has a model of."""
    lab = bench.lab(NEW)
    blocks: dict[tuple[Code, str], list[Sequence[Block]]] = {}
    for cell in cells:
        if cell.figure.core not in WITHOUT_MCA:
            blocks.setdefault((code[cell.call], cell.figure.core), []).append(passed[cell.call].blocks)

    def one(key: tuple[Code, str]) -> dict[Place, float]:
        return mca_cycles(lab, key[0], _places(blocks[key]), key[1])

    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(blocks, pool.map(one, blocks), strict=True))


def _places(blocks: Iterable[Iterable[Block]]) -> list[Place]:
    return sorted({(block.pc, block.instructions) for some in blocks for block in some})


def _row(cell: Cell, passed: Passed, code: Code, mca: _Blocks) -> Row:
    figure, call = cell.figure, cell.call
    spent = passed.cores[figure.core]
    blocks = mca.get((code, figure.core))
    return Row(
        core=figure.core,
        which=cell.which,
        source=figure.source,
        what=figure.what,
        file=figure.file,
        compiler=figure.compiler or call.compiler,
        program=call.program,
        operation=call.operation,
        length=call.length,
        implementation=call.implementation,
        hardware=cell.cycles,
        waits=call.flash.waits if call.flash else None if code.is_a64 else 0,
        cycles=spent.calls,
        instructions=passed.instructions,
        causes=spent.causes,
        outside=spent.outside_instructions,
        vector=round(vector_share(code, passed.blocks), 2),
        mca=round(weighted(passed.blocks, blocks) / len(spent.calls), 1) if blocks else None,
        checksum=passed.checksum,
    )
