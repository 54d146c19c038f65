# SPDX-License-Identifier: BSD-2-Clause
"""Harnesses of benchmarks, known by their symbols: which command counts one iteration, without their statistics.

A harness measures a closure for seconds, to be sure of a mean. Here one iteration is enough: it has a count. But a
closure that the compiler has put into the harness has no symbol, so the command names the function that calls it.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.libraries.own_code import case_name

_MOST_PROGRAM = 512 * 2**20
# A benchmark's name where none was typed.
_PLACEHOLDER = "NAME"
# A function of a program that takes Google Benchmark's state, as its symbol has it, by its length and its name.
_TAKES_STATE = re.compile(rb"\0_ZL?(\d{1,3})([A-Za-z_]\w{0,199})RN9benchmark5StateE(?=\0)")


@dataclass(frozen=True)
class Harness:
    """A harness.

    Attributes:
        name: as its users call it.
        symbol: what a symbol of a program with its benchmarks has in it.
        once: arguments with which it already does as little as it can: there is nothing to say then.
        words: from the program's content and arguments, the case's name, the region, and the arguments that count.
        more: what a reader of the table must know, if anything.
    """

    name: str
    symbol: bytes
    once: tuple[str, ...]
    words: Callable[[bytes, Sequence[str]], tuple[str, str, Sequence[str]]]
    more: str = ""


def _criterion(_: bytes, arguments: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    # Its filter is the one word that is no option; cargo itself adds --bench.
    wanted = next((one for one in arguments if not one.startswith("-")), _PLACEHOLDER)
    return wanted, "criterion::bencher::*", ("--bench", "--test", wanted)


def _google(content: bytes, _: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    names = sorted(
        name[: int(size)].decode("ascii")
        for size, name in _TAKES_STATE.findall(content)
        if len(name) == int(size) and name.isascii()
    )
    name = names[0] if names else _PLACEHOLDER
    # One with arguments is called NAME/8.
    return name, name, (f"--benchmark_filter=^{name}(/|$)", "--benchmark_min_time=1x")


def _catch2(_: bytes, arguments: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    wanted = next((one for one in arguments if not one.startswith("-")), _PLACEHOLDER)
    least = ("--benchmark-samples", "1", "--benchmark-warmup-time", "0", "--benchmark-no-analysis")
    return wanted, "Catch::Benchmark::*::call", (wanted, *least)


HARNESSES = (
    Harness("criterion", b"9criterion7bencher", ("--test", "--list"), _criterion),
    Harness(
        "Google Benchmark",
        b"9benchmark22RunSpecifiedBenchmarks",
        ("--benchmark_min_time=1x", "--benchmark_list_tests"),
        _google,
    ),
    Harness(
        "Catch2",
        b"5Catch9Benchmark6Detail17BenchmarkFunction5model",
        ("--benchmark-samples", "--skip-benchmarks"),
        _catch2,
        "the first call of a start is one iteration",
    ),
)


def recognised(content: bytes) -> Harness | None:
    """The harness whose symbols a program has; None for none, and for a program that was stripped."""
    return next((one for one in HARNESSES if one.symbol in content), None)


def harness_line(program: Path, arguments: Sequence[str]) -> str:
    """The harness of a program and the command that counts one iteration, on one line; empty if there is none.

    `arguments` are those that it was started with: a benchmark that they choose is the one of the command.
    """
    try:
        content = files.read_bytes(program, _MOST_PROGRAM)
    except OSError:
        return ""
    found = recognised(content)
    if found is None or any(word.startswith(found.once) for word in arguments):
        return ""
    name, region, words = found.words(content, arguments)
    called = name if name == _PLACEHOLDER else case_name(name)
    command = ["worldwise", "run", "--program", str(program), "--name", called, "--region", region, "--", *words]
    more = f" ({found.more})" * bool(found.more)
    return (
        f"{program.name} has benchmarks of {found.name}. One iteration{more}: {files.quoted(shlex.join(command), 2000)}"
    )
