# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run --program BENCH --benchmark PATTERN`: one iteration of each benchmark that a harness lists."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from worldwise.base import files
from worldwise.base.choices import choice_error
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table
from worldwise.cli.common.process_end import EXIT_ERROR
from worldwise.cli.report import Wanted as Shown
from worldwise.cli.report import show
from worldwise.cli.user_code.code import COUNTS, OwnCall, cells_of, measure_codes, tools
from worldwise.lab.image import ImageStore
from worldwise.libraries.own_code import case_names
from worldwise.libraries.user_code.harness import HARNESSES, Harness, harness_of
from worldwise.machine.emulator import Emulator
from worldwise.report.formats.terminal import print_prose, print_section
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import Ready, prepare
from worldwise.run.code.program_wrapper import execute
from worldwise.run.code.region_counts import counts_of
from worldwise.run.folder.rundir import Run

_MOST_BENCHMARKS, _MOST_LINES, _MOST_REASONS, _MOST_SAID = 100, 10_000, 12, 40


@dataclass(frozen=True)
class Benchmark:
    """A benchmark that was counted: its name in the harness, and the code that runs it once."""

    name: str
    ready: Ready


@dataclass(frozen=True)
class Counted:
    """The benchmarks of a program.

    Attributes:
        harness: theirs.
        found: those that were counted, in its order.
        refused: why the others were not, by their names there.
    """

    harness: Harness
    found: Sequence[Benchmark]
    refused: Mapping[str, WorldwiseError]


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


def count_benchmarks(
    wanted: Wanted, patterns: Sequence[str], images: ImageStore, emulator: Emulator, fresh: bool = False
) -> Counted:
    """List the benchmarks of a program, and count those like one of the patterns, each with one iteration.

    Raises WorldwiseError for a program without a harness that is known, or if none of its benchmarks can be counted.
    """
    harness = harness_of(wanted.program)
    if harness is None:
        known = ", ".join(one.name for one in HARNESSES)
        raise WorldwiseError(
            f"--program {wanted.program} has no benchmarks that worldwise knows.",
            f"it knows {known} by the symbols of a program that is not stripped; others: --region FUNCTION",
        )
    listed = _listed(wanted, harness, images, emulator)
    chosen = [name for name in listed if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not chosen:
        raise choice_error("--benchmark", patterns[0], [files.quoted(name) for name in listed[:_MOST_SAID]])
    if len(chosen) > _MOST_BENCHMARKS:
        raise WorldwiseError(
            f"--benchmark {' '.join(patterns)}: {len(chosen):,} benchmarks have such names. Allowed: up to "
            f"{_MOST_BENCHMARKS}.",
            "a longer pattern has fewer",
        )
    found: list[Benchmark] = []
    refused: dict[str, WorldwiseError] = {}
    for name, called in zip(chosen, case_names(chosen), strict=True):
        one = replace(wanted, arguments=tuple(harness.words(name)), regions=(harness.region(name),), name=called)
        try:
            found.append(Benchmark(name, prepare(one, images, emulator, emulator.notify, fresh)))
        except WorldwiseError as error:
            refused[name] = error
    if not found:
        name, first = next(iter(refused.items()))
        raise WorldwiseError(f"{files.quoted(name)}: {first.message}", first.hint, first.details)
    return Counted(harness, found, refused)


def _listed(wanted: Wanted, harness: Harness, images: ImageStore, emulator: Emulator) -> list[str]:
    """The benchmarks that the program lists."""
    done = execute(replace(wanted, arguments=harness.listing), images, emulator)
    text = done.output.decode("utf-8", "replace")
    names = harness.names("\n".join(text.splitlines()[:_MOST_LINES]))
    if done.status or not names:
        said = (done.errors + done.output).decode("utf-8", "replace")
        raise WorldwiseError(
            f"{wanted.program.name} {shlex.join(harness.listing)} lists no benchmark of {harness.name}: "
            f"exit status {done.status}.",
            "run it by itself: worldwise exec -- PROGRAM",
            files.quoted(said, 2000),
        )
    return names


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
