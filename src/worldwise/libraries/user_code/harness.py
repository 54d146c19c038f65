# SPDX-License-Identifier: BSD-2-Clause
"""Harnesses of benchmarks, known by their symbols: how they list their benchmarks, and how one runs once.

A harness measures a closure for seconds, to be sure of a mean. Here one iteration is enough: it has a count. But a
closure that the compiler has put into the harness has no symbol, so the region is the function that calls it.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files

_MOST_PROGRAM = 512 * 2**20
# What firmware has that was linked with benchmarks of Zephyr's ztest.
_ZTEST = b"\0_ztest_benchmark_list_start\0"
# A line that lists a benchmark of criterion.
_LISTED = re.compile(r"(.+): benchmark")
# What means something in regular expressions, of Rust's crate and of POSIX.
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
# What means something in a specification of Catch2's tests.
_SPECIAL_TO_CATCH2 = re.compile(r'[\\,\[\]"*~]')


@dataclass(frozen=True)
class Harness:
    """A harness.

    Attributes:
        name: as its users call it.
        symbol: what a symbol of a program with its benchmarks has in it.
        once: arguments with which it already does as little as it can: there is nothing to say then.
        listing: the arguments with which it lists its benchmarks.
        listed: a benchmark's name, of a line of that list; empty for another line.
        region: the function whose call is one iteration, of a benchmark's name.
        words: the arguments with which it runs one benchmark, as seldom as it can.
        more: what is in a call of the region, for a reader of the table.
        first_only: later calls of a start are more iterations than one.
    """

    name: str
    symbol: bytes
    once: tuple[str, ...]
    listing: tuple[str, ...]
    listed: Callable[[str], str]
    region: Callable[[str], str]
    words: Callable[[str], Sequence[str]]
    more: str
    first_only: bool = False

    def names(self, text: str) -> list[str]:
        """The benchmarks that a list names, in its order."""
        return list(dict.fromkeys(filter(None, (self.listed(line) for line in text.splitlines()))))


def _exactly(name: str) -> str:
    return f"^{_SPECIAL.sub(lambda found: chr(92) + found[0], name)}$"


def _listed_by_criterion(line: str) -> str:
    found = _LISTED.fullmatch(line)
    return found[1] if found else ""


HARNESSES = (
    Harness(
        "criterion",
        b"9criterion7bencher",
        ("--test", "--list"),
        ("--bench", "--list"),
        _listed_by_criterion,
        lambda _: "criterion::bencher::*",
        # --test calls each closure once.
        lambda name: ("--bench", "--test", _exactly(name)),
        "the closure and what Bencher::iter does around it",
    ),
    Harness(
        "Google Benchmark",
        b"9benchmark22RunSpecifiedBenchmarks",
        ("--benchmark_min_time=1x", "--benchmark_list_tests"),
        ("--benchmark_list_tests",),
        str.strip,
        # One with arguments is called NAME/8.
        lambda name: name.partition("/")[0],
        lambda name: (f"--benchmark_filter={_exactly(name)}", "--benchmark_min_time=1x"),
        "the benchmark's function, with what it does before its loop",
    ),
    Harness(
        "Catch2",
        b"5Catch9Benchmark6Detail17BenchmarkFunction5model",
        ("--benchmark-samples", "--skip-benchmarks"),
        ("*", "--list-tests", "--verbosity", "quiet"),
        str.strip,
        lambda _: "Catch::Benchmark::*::call",
        lambda name: (
            _SPECIAL_TO_CATCH2.sub(lambda found: chr(92) + found[0], name),
            *("--benchmark-samples", "1", "--benchmark-warmup-time", "0", "--benchmark-no-analysis"),
        ),
        "the first call of a start; later ones are many iterations, as the harness tunes itself",
        first_only=True,
    ),
)


def recognised(content: bytes) -> Harness | None:
    """The harness whose symbols a program has; None for none, and for a program that was stripped."""
    return next((one for one in HARNESSES if one.symbol in content), None)


def harness_of(program: Path) -> Harness | None:
    """The harness of a program's file; None for none, and for a file that cannot be read."""
    try:
        return recognised(files.read_bytes(program, _MOST_PROGRAM))
    except OSError:
        return None


def harness_line(program: Path, arguments: Sequence[str]) -> str:
    """The harness of a program and the command that counts one iteration, on one line; empty if there is none.

    `arguments` are those that it was started with: benchmarks that they choose are those of the command.
    """
    found = harness_of(program)
    if found is None or any(word.startswith(found.once) for word in arguments):
        return ""
    # Its filter is the one word that is no option; a number is an option's value.
    words = (one for one in arguments if not one.startswith("-") and not _NUMBER.fullmatch(one))
    # What criterion takes for a regular expression often has its ends marked.
    wanted = next(words, "*").removeprefix("^").removesuffix("$")
    command = shlex.join(["worldwise", "run", "--program", str(program), "--benchmark", wanted])
    return f"{program.name} has benchmarks of {found.name}. One iteration of each: {files.quoted(command, 2000)}"


def firmware_line(elf: Path, machine: str) -> str:
    """The command that counts one iteration of each benchmark of Zephyr's ztest, on one line; empty without one."""
    try:
        if _ZTEST not in files.read_bytes(elf, _MOST_PROGRAM):
            return ""
    except OSError:
        return ""
    command = shlex.join(["worldwise", "run", "--firmware", str(elf), "--machine", machine, "--benchmark", "*"])
    return f"{elf.name} has benchmarks of ztest. One iteration of each: {files.quoted(command, 2000)}"
