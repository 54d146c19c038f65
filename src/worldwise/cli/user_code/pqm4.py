# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run --pqm4 FOLDER`: schemes in pqm4's layout, in pqm4's own tables."""

import statistics
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import click
from rich.console import Console

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table, count_or_dash, whole
from worldwise.cli.common.options import writing
from worldwise.cli.common.process import EXIT_ERROR
from worldwise.cli.report import Wanted as Shown
from worldwise.cli.report import show
from worldwise.cli.user_code.code import OwnCall, measure_codes, tools
from worldwise.libraries.user_code.pqm4 import FUNCTIONS, KINDS, find, published
from worldwise.predict.bounds import Estimate
from worldwise.read import run_counts
from worldwise.read.models import Reading
from worldwise.report.first_screen import narrowed
from worldwise.report.formats.printed_sections import print_prose, print_section
from worldwise.report.predictions import lines_of
from worldwise.run.code.pqm4 import MeasuredScheme, Refused, measure_schemes
from worldwise.run.folder.rundir import Run

# As pqm4's tables call a kind, and its three functions.
_TITLES: Mapping[str, str] = {"crypto_kem": "Key Encapsulation Schemes", "crypto_sign": "Signature Schemes"}
_WORDS: Mapping[str, tuple[str, str, str]] = {
    "crypto_kem": ("Key Generation", "Encapsulation", "Decapsulation"),
    "crypto_sign": ("Key Generation", "Sign", "Verify"),
}
_SHORT: Mapping[str, tuple[str, str, str]] = {
    "crypto_kem": ("key\ngeneration", "encap-\nsulation", "decap-\nsulation"),
    "crypto_sign": ("key\ngeneration", "\nsign", "\nverify"),
}
# By core and case.
Predicted = Mapping[str, Mapping[str, Estimate]]
_MOST_SCHEMES, _MOST_ROWS, _COLUMNS = 200, 12, 11


def measure_pqm4(folder: Path, patterns: Sequence[str], machine: str, runs: int, call: OwnCall, shown: Shown) -> int:
    """Measure the schemes of a folder, and print pqm4's tables. Returns the exit status. Raises WorldwiseError."""
    schemes = find(folder, patterns)
    if len(schemes) > _MOST_SCHEMES:
        raise WorldwiseError(
            f"--pqm4 {folder}: has {len(schemes)} implementations. Allowed: up to {_MOST_SCHEMES}.",
            "name some: --variant 'ml-kem-*'",
        )
    images, emulator = tools(call)
    found, refused = measure_schemes(schemes, machine, runs, images, emulator, emulator.notify, call.fresh)
    if not found:
        raise WorldwiseError(
            f"--pqm4 {folder}: none of {len(refused)} implementations could be measured.",
            "the first line below names the problem of the first",
            "\n".join(f"{one.scheme.title}: {one.why}" for one in refused[:_MOST_ROWS]),
        )
    title = f"Schemes in pqm4's layout, of {folder.resolve().name}, on QEMU's {machine}"

    def screen(run: Run, how: Shown) -> int:
        predicted = _predicted(run_counts.read_run(run)) if call.cores else {}
        if how.form == "csv" and how.output:
            with writing(how.output):
                how.output.write_text(as_csv(found, _of_one_core(predicted)), encoding="utf-8")
        elif how.form == "csv":
            safe_text.echo(as_csv(found, _of_one_core(predicted)), nl=False)
        elif how.form != "table" or how.full or how.output:
            return max(show(run, how), EXIT_ERROR if refused else 0)
        else:
            _screen(found, refused, machine, predicted, safe_text.console())
        return EXIT_ERROR if refused or run.state == "failed" else 0

    return measure_codes([one.ready for one in found], title, "--pqm4", call, shown, screen)


def _predicted(reading: Reading) -> Predicted:
    """What the run keeps of predictions: of each case the warm call's."""
    found: dict[str, dict[str, Estimate]] = {}
    for line in lines_of(reading):
        if line.estimate.state == "warm":
            found.setdefault(line.estimate.core, {})[line.case.id] = line.estimate
    return found


def _of_one_core(predicted: Predicted) -> Mapping[str, Estimate]:
    """The predictions that a file in pqm4's columns has: it has room for one core."""
    if len(predicted) > 1:
        raise click.UsageError("--format csv has one column of cycles: name one core with --predict")
    return next(iter(predicted.values()), {})


def _screen(
    found: Sequence[MeasuredScheme], refused: Sequence[Refused], machine: str, predicted: Predicted, console: Console
) -> None:
    print_prose(console, f"{len(found)} implementations on QEMU's {machine}; instructions, counted exactly.", "bold")
    for kind in KINDS:
        if rows := [one for one in found if one.scheme.kind == kind]:
            console.print()
            print_section(_speed(kind, rows), console)
            console.print()
            print_section(_memory(kind, rows), console)
            for core, cycles in predicted.items():
                console.print()
                print_section(_cycles(kind, rows, core, cycles), console)
    console.print()
    for line in _checked(found):
        print_prose(console, line)
    for one in refused:
        print_prose(console, f"Not measured: {one.scheme.title}: {one.why}.")
    dearest = max(found, key=lambda one: sum(one.instructions(FUNCTIONS[one.scheme.kind][1])))
    case = dearest.case(FUNCTIONS[dearest.scheme.kind][1])
    console.print()
    for line in (
        f"worldwise explain latest --case '{case}'",
        "worldwise run --pqm4 FOLDER --format csv     # pqm4's own columns",
    ):
        console.print(line, soft_wrap=True, markup=False)


def _speed(kind: str, rows: Sequence[MeasuredScheme]) -> Section:
    cells = [
        [one.scheme.name, one.scheme.implementation, *(_mean(one.instructions(name)) for name in FUNCTIONS[kind])]
        for one in rows
    ]
    headers = ["scheme", "implementation", *(f"{word}\ninstr" for word in _one_line(kind))]
    notes = [f"The mean of {len(rows[0].instructions(FUNCTIONS[kind][0]))} executions, each with keys of its own."]
    return Section(f"{_TITLES[kind]}: speed", Table(headers, cells, 2), notes)


def _one_line(kind: str) -> list[str]:
    return [word.replace("-\n", "").strip().replace("\n", " ") for word in _SHORT[kind]]


def _mean(counts: Sequence[int]) -> str:
    return whole(float(Fraction(sum(counts), len(counts))))


def _memory(kind: str, rows: Sequence[MeasuredScheme]) -> Section:
    cells = [
        [
            one.scheme.name,
            one.scheme.implementation,
            *(count_or_dash(one.stack(name)) for name in FUNCTIONS[kind]),
            *(f"{size:,}" for size in (one.heap, *one.sizes)),
        ]
        for one in rows
    ]
    stacks = [f"{word}\nstack" for word in _one_line(kind)]
    headers = ["scheme", "implementation", *stacks, "\nheap", "\ntext", "\ndata", "\nbss"]
    notes = [
        "Bytes. Stack: of the deepest call. Heap: the most that malloc took, in all calls. Text, data and bss: of the "
        "scheme's own files, without common code."
    ]
    if any("-" in row for row in cells):
        notes.append("-: the code sets its stack pointer from a register, so its depth is unknown.")
    return Section(f"{_TITLES[kind]}: memory", Table(headers, cells, 2), notes)


def _cycles(kind: str, rows: Sequence[MeasuredScheme], core: str, predicted: Mapping[str, Estimate]) -> Section:
    """Predicted cycles, and how far they are from those that the tree says pqm4 has measured."""
    known = published(rows[0].scheme.tree)
    cells = []
    offs: list[float] = []
    for one in rows:
        given = known.get((one.scheme.name, one.scheme.implementation))
        line = [one.scheme.name, one.scheme.implementation]
        for at, name in enumerate(FUNCTIONS[kind]):
            estimate = predicted.get(one.case(name))
            if estimate and given:
                offs.append(100 * (estimate.cycles / given[at] - 1))
            line.append(f"{estimate.cycles:,}" if estimate else "-")
            line.append(f"{offs[-1]:+.1f}" if estimate and given else "-")
        cells.append(line)
    off = "off\n%"
    words = _one_line(kind)
    headers = ["scheme", "implementation", *(head for word in words for head in (f"{word}\ncycles", off))]
    notes = ["Cycles of a warm call, predicted: `worldwise predict latest` has their intervals and the model's errors."]
    if offs:
        half = statistics.median(map(abs, offs))
        notes.append(
            f"off: from the means in the tree's benchmarks.csv, to which no number of the model was fitted; half of "
            f"{len(offs)} are off by at most {half:.1f} %. A signature's mean depends on which messages were drawn."
        )
    table = Table(headers, cells, 2)
    return Section(f"{_TITLES[kind]}: predicted on a {core}", narrowed(table, [off]), notes)


def _checked(found: Sequence[MeasuredScheme]) -> list[str]:
    """What the test vectors say: which schemes have several implementations that agree, and which are alone."""
    several: dict[str, list[str]] = {}
    for one in found:
        several.setdefault(one.scheme.name, []).append(one.scheme.implementation)
    agreed = [name for name, implementations in several.items() if len(implementations) > 1]
    alone = [name for name, implementations in several.items() if len(implementations) == 1]
    words = []
    if agreed:
        words.append(f"The test vectors of all implementations agree: {', '.join(agreed)}.")
    if alone:
        words.append(f"One implementation alone, so its test vectors are compared with no other: {', '.join(alone)}.")
    return words


def as_csv(found: Sequence[MeasuredScheme], predicted: Mapping[str, Estimate] = MappingProxyType({})) -> str:
    """The rows in the columns of pqm4's benchmarks.csv; instructions stand where that has cycles.

    With predictions a second table has the predicted cycles of a warm call, and their interval as least and greatest.
    """
    lines: list[list[object]] = []

    def line(*cells: object) -> None:
        lines.append([*cells, *[""] * (_COLUMNS - len(cells))])

    def part(title: str, heads: Mapping[str, Sequence[str]], rows: Mapping[str, Sequence[Sequence[object]]]) -> None:
        line(f"{title} Evaluation")
        for kind in KINDS:
            if rows[kind]:
                line(_TITLES[kind])
                line("Scheme", "Implementation", *heads[kind])
                for cells in rows[kind]:
                    line(*cells)

    kinds = {kind: [one for one in found if one.scheme.kind == kind] for kind in KINDS}
    speed_heads = {
        kind: [f"{word} [instructions] ({what})" for word in _WORDS[kind] for what in ("mean", "min", "max")]
        for kind in KINDS
    }
    speed = {
        kind: [
            [
                f"{one.scheme.name} ({len(one.instructions(FUNCTIONS[kind][0]))} executions)",
                one.scheme.implementation,
                *(
                    value
                    for name in FUNCTIONS[kind]
                    for counts in (one.instructions(name),)
                    for value in (round(statistics.mean(counts)), min(counts), max(counts))
                ),
            ]
            for one in rows
        ]
        for kind, rows in kinds.items()
    }
    part("Speed", speed_heads, speed)
    if predicted:
        cycles_heads = {
            kind: [f"{word} [cycles] ({what})" for word in _WORDS[kind] for what in ("predicted", "from", "to")]
            for kind in KINDS
        }
        cycles = {
            kind: [
                [
                    one.scheme.name,
                    one.scheme.implementation,
                    *(
                        value
                        for name in FUNCTIONS[kind]
                        for estimate in (predicted.get(one.case(name)),)
                        for value in (
                            (estimate.cycles, estimate.whole.low, estimate.whole.high) if estimate else ("", "", "")
                        )
                    ),
                ]
                for one in rows
            ]
            for kind, rows in kinds.items()
        }
        part("Predicted Speed", cycles_heads, cycles)
    memory_heads = {kind: [f"{word} [bytes]" for word in _WORDS[kind]] for kind in KINDS}
    memory = {
        kind: [[one.scheme.name, one.scheme.implementation, *map(one.stack, FUNCTIONS[kind])] for one in rows]
        for kind, rows in kinds.items()
    }
    part("Memory", memory_heads, memory)
    heaps = {
        kind: [[one.scheme.name, one.scheme.implementation, one.heap] for one in rows] for kind, rows in kinds.items()
    }
    part("Heap", dict.fromkeys(KINDS, ("Heap [bytes]",)), heaps)
    size_heads = dict.fromkeys(KINDS, (".text [bytes]", ".data [bytes]", ".bss [bytes]", "Total [bytes]"))
    sizes = {
        kind: [[one.scheme.name, one.scheme.implementation, *one.sizes, sum(one.sizes)] for one in rows]
        for kind, rows in kinds.items()
    }
    part("Size", size_heads, sizes)
    return safe_text.csv_text(lines)
