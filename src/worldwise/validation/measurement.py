# SPDX-License-Identifier: BSD-2-Clause
"""A run of the validation: each cell's cycles by the models, beside the figures of hardware."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from worldwise.base.errors import WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.validation.bench import CellBench, ExecutedBlock, Passed
from worldwise.validation.cells import Cell, CellCall
from worldwise.validation.code import WITHOUT_MCA, Code, Place, mca_cycles, vector_share, weighted
from worldwise.validation.programs import NEW
from worldwise.validation.record import FigureRow, Made, Run, engine_digest, figures_digests, table_digest


def measure(
    bench: CellBench,
    cells: Sequence[Cell],
    tables: Mapping[str, str],
    workers: int,
    progress: Callable[[int, int], None],
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


def measure_changed(
    bench: CellBench,
    kept: Run,
    cells: Sequence[Cell],
    tables: Mapping[str, str],
    workers: int,
    progress: Callable[[int, int], None],
) -> Run:
    """A run of which only the cells are measured whose table is another one than in `kept`; the others' rows are its.

    Arguments as of `measure`. Raises WorldwiseError as that does, if engine or figures have changed, and if no table
    has, or a program that both ran.
    """
    digests = {name: table_digest(table) for name, table in tables.items()}
    changed = {name for name, digest in digests.items() if kept.made.cores.get(name) != digest}
    if kept.made.engine != engine_digest() or dict(kept.made.figures) != figures_digests():
        raise WorldwiseError("the engine or the figures have changed, and with them every row", "measure all of it")
    if len(cells) != len(kept.rows) or not changed:
        raise WorldwiseError("no core's table has changed", "measure all of it, or nothing")
    run = measure(bench, [one for one in cells if one.table in changed], tables, workers, progress)
    other = [name for name, digest in run.made.programs.items() if kept.made.programs.get(name) != digest]
    if other:
        raise WorldwiseError(f"the program {other[0]} has changed, and other cores run it too", "measure all of it")
    rows = iter(run.rows)
    return Run(
        made=run.made.model_copy(update={"cores": dict(sorted(digests.items())), "programs": kept.made.programs}),
        rows=tuple(next(rows) if cell.table in changed else row for cell, row in zip(cells, kept.rows, strict=True)),
    )


def _passes(
    bench: CellBench,
    cells: Sequence[Cell],
    tables: Mapping[str, str],
    workers: int,
    progress: Callable[[int, int], None],
) -> dict[CellCall, Passed]:
    """Each call once, with the models of all cores that have a figure of it."""
    cores: dict[CellCall, dict[str, str]] = {}
    for cell in cells:
        cores.setdefault(cell.call, {})[cell.figure.core] = tables[cell.table]
    lock, done = threading.Lock(), 0

    def one(call: CellCall) -> Passed:
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
    bench: CellBench,
    cells: Sequence[Cell],
    passed: Mapping[CellCall, Passed],
    code: Mapping[CellCall, Code],
    workers: int,
) -> _Blocks:
    """Cycles of the blocks that were executed, by program and core, of the cores that LLVM has a model of."""
    lab = bench.lab(NEW)
    blocks: dict[tuple[Code, str], list[Sequence[ExecutedBlock]]] = {}
    for cell in cells:
        if cell.figure.core not in WITHOUT_MCA:
            blocks.setdefault((code[cell.call], cell.figure.core), []).append(passed[cell.call].blocks)

    def one(key: tuple[Code, str]) -> dict[Place, float]:
        return mca_cycles(lab, key[0], _places(blocks[key]), key[1])

    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(blocks, pool.map(one, blocks), strict=True))


def _places(blocks: Iterable[Iterable[ExecutedBlock]]) -> list[Place]:
    return sorted({(block.pc, block.instructions) for some in blocks for block in some})


def _row(cell: Cell, passed: Passed, code: Code, mca: _Blocks) -> FigureRow:
    figure, call = cell.figure, cell.call
    spent = passed.cores[figure.core]
    blocks = mca.get((code, figure.core))
    return FigureRow(
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
