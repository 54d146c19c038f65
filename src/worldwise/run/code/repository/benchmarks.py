# SPDX-License-Identifier: BSD-2-Clause
"""The benchmarks that a program's harness lists, each counted by one iteration."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from worldwise.base import files
from worldwise.base.choices import choice_error
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.libraries.user_code.harness import HARNESSES, Harness, harness_of
from worldwise.libraries.user_code.kinds import case_names
from worldwise.machine.emulator import Emulator
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import Ready, prepare
from worldwise.run.code.program_wrapper import execute

_MOST_BENCHMARKS, _MOST_LINES, _MOST_SAID = 100, 10_000, 40


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


def count_benchmarks(
    wanted: Wanted,
    patterns: Sequence[str],
    images: ImageStore,
    emulator: Emulator,
    fresh: bool = False,
    measure: str = "",
) -> Counted:
    """List the benchmarks of a program, and count those like one of the patterns, each with one iteration.

    Their names in cases begin with that of the `measure` of a worldwise.toml, if it is one's. Raises WorldwiseError for
    a program without a harness that is known, or if none of its benchmarks can be counted.
    """
    harness = harness_of(wanted.program)
    if harness is None:
        known = ", ".join(one.name for one in HARNESSES)
        raise WorldwiseError(
            f"--program {wanted.program} has no benchmarks that worldwise knows.",
            f"it knows {known} by the symbols of a program that is not stripped; others: --region FUNCTION",
        )
    listed = _listed(wanted, harness, images, emulator)
    option = "benchmarks" if measure else "--benchmark"
    chosen = [name for name in listed if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not chosen:
        raise choice_error(option, patterns[0], [files.quoted(name) for name in listed[:_MOST_SAID]])
    if len(chosen) > _MOST_BENCHMARKS:
        raise WorldwiseError(
            f"{option} {' '.join(patterns)}: {len(chosen):,} benchmarks have such names. Allowed: up to "
            f"{_MOST_BENCHMARKS}.",
            "a longer pattern matches fewer",
        )
    found: list[Benchmark] = []
    refused: dict[str, WorldwiseError] = {}
    for name, called in zip(chosen, case_names(f"{measure} {name}" for name in chosen), strict=True):
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
