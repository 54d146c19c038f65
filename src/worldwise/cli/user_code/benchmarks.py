# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run --program BENCH --benchmark PATTERN`: one iteration of each benchmark that a harness lists."""

from collections.abc import Sequence

from worldwise.base import files
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table
from worldwise.cli.common.process import EXIT_ERROR
from worldwise.cli.report import Wanted as Shown
from worldwise.cli.report import show
from worldwise.cli.user_code.code import COUNTS, OwnCall, cells_of, measure_codes, tools
from worldwise.report.formats.printed_sections import print_prose, print_section
from worldwise.run.code.order import Wanted
from worldwise.run.code.region_counts import counts_of
from worldwise.run.code.repository.benchmarks import Counted, count_benchmarks
from worldwise.run.folder.rundir import Run

_MOST_REASONS = 12


def measure_benchmarks(wanted: Wanted, patterns: Sequence[str], call: OwnCall, shown: Shown) -> int:
    """Count an iteration of each benchmark like one of the patterns. Returns the exit status.

    Raises WorldwiseError for a program without a harness that is known, or if none of its benchmarks can be counted.
    """
    images, emulator = tools(call)
    counted = count_benchmarks(wanted, patterns, images, emulator, call.fresh)
    title = f"Benchmarks of {wanted.program.name}, by {counted.harness.name}"

    def screen(run: Run, how: Shown) -> int:
        status = EXIT_ERROR if counted.refused or run.state == "failed" else 0
        if how.form != "table" or how.full or how.output:
            return max(show(run, how), status)
        _print(counted, title, "latest" if call.latest else f"latest --runs {call.runs}")
        return status

    return measure_codes([one.ready for one in counted.found], title, "--program", call, shown, screen)


def _print(counted: Counted, title: str, run: str) -> None:
    console = safe_text.console()
    harness, refused = counted.harness, counted.refused
    rows = []
    for one in counted.found:
        code = one.ready.code
        for of in code.manifest.regions.values():
            cells = cells_of(counts_of(code, one.ready.counted.trace, of))
            rows.append([files.quoted(one.name), *([*cells[:2], "-", "-"] if harness.first_only else cells)])
    notes = [f"One iteration: {harness.more}."]
    print_section(Section(title, Table(["benchmark", *COUNTS], rows, 1), notes), console)
    for name, why in [*refused.items()][:_MOST_REASONS]:
        print_prose(console, f"Not counted: {files.quoted(name)}: {why.message}")
    if len(refused) > _MOST_REASONS:
        print_prose(console, f"{len(refused) - _MOST_REASONS} more could not be counted.")
    console.print()
    case = counted.found[0].ready.cases[0]
    console.print(f"worldwise explain {run} --case '{case.id}'", soft_wrap=True, markup=False)
