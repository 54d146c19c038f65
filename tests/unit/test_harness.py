# SPDX-License-Identifier: BSD-2-Clause
"""Harnesses of benchmarks, by their symbols: which is which, and the command that counts one iteration."""

import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from worldwise import cli
from worldwise.cli.user_code import kinds
from worldwise.libraries.own_code import case_names
from worldwise.libraries.user_code.harness import HARNESSES, firmware_line, harness_line, recognised

# Symbols as compilers write them: criterion's in both manners of Rust.
CRITERION = (
    "main",
    "_ZN9criterion7bencher16Bencher$LT$M$GT$4iter17hb296cbe908dca41cE",
    "_ZN9criterion14criterion_main17h0123456789abcdefE",
)
CRITERION_V0 = ("main", "_RINvMs_NtCs1a2b3c_9criterion7bencherINtB5_7BencherNtNtB7_11measurement8WallTimeE4iterE")
GOOGLE = (
    "main",
    "_ZN9benchmark22RunSpecifiedBenchmarksEv",
    "_ZL7BM_SignRN9benchmark5StateE",
    "_Z7BM_HashRN9benchmark5StateE",
    "_Z5otherRi",
)
CATCH2 = (
    "main",
    "_ZN5Catch7SessionC1Ev",
    "_ZNK5Catch9Benchmark6Detail17BenchmarkFunction5modelIZL4testvEUlvE_E4callENS0_11ChronometerE",
)
NONE = ("main", "_ZN5Catch7SessionC1Ev", "_ZN9criterion_like4iterE", "benchmark", "_ZN9benchmark5other3runEv")


def program(folder: Path, symbols: tuple[str, ...]) -> Path:
    """A file with a table of symbols, as a program has it."""
    path = folder / "bench"
    path.write_bytes(b"\x7fELF" + b"\0" + b"".join(one.encode() + b"\0" for one in symbols))
    return path


@pytest.mark.parametrize(
    ("symbols", "arguments", "said", "wanted"),
    [
        (
            CRITERION,
            ("--bench", "crc 1 KiB"),
            "bench has benchmarks of criterion. One iteration of each: ",
            "'crc 1 KiB'",
        ),
        (CRITERION_V0, ("--bench",), "criterion", "'*'"),
        # A number is an option's value, and the ends of a regular expression are no part of the name.
        (CRITERION_V0, ("--warm-up-time", "0.1", "--sample-size", "10", "^crc$"), "criterion", "crc"),
        (GOOGLE, (), "bench has benchmarks of Google Benchmark. One iteration of each: ", "'*'"),
        (CATCH2, ("hashes",), "of Catch2. One iteration of each: ", "hashes"),
    ],
)
def test_a_harness_is_known_and_its_command_is_said(
    tmp_path: Path, symbols: tuple[str, ...], arguments: tuple[str, ...], said: str, wanted: str
) -> None:
    path = program(tmp_path, symbols)
    line = harness_line(path, arguments)
    assert said in line
    assert line.endswith(f": worldwise run --program {path} --benchmark {wanted}")
    assert "\n" not in line


def test_firmware_with_benchmarks_is_known_too(tmp_path: Path) -> None:
    path = program(tmp_path, ("main", "_ztest_benchmark_list_start"))
    words = f"worldwise run --firmware {path} --machine mps2-an385 --benchmark '*'"
    assert firmware_line(path, "mps2-an385") == f"bench has benchmarks of ztest. One iteration of each: {words}"
    assert not firmware_line(program(tmp_path, ("main", "a_ztest_benchmark_list_start")), "mps2-an385")
    assert not firmware_line(tmp_path / "none", "mps2-an385")


@pytest.mark.parametrize(
    ("harness", "text", "name", "region", "words"),
    [
        (
            "criterion",
            "crc 1 KiB: benchmark\n\nsizes/a+b: benchmark\nGnuplot not found\n",
            "sizes/a+b",
            "criterion::bencher::*",
            ("--bench", "--test", r"^sizes/a\+b$"),
        ),
        (
            "Google Benchmark",
            "BM_Mix\nBM_Sum/8/threads:2\n",
            "BM_Sum/8/threads:2",
            "BM_Sum",
            ("--benchmark_filter=^BM_Sum/8/threads:2$", "--benchmark_min_time=1x"),
        ),
        (
            "Catch2",
            "mix, short\n  [a] long\n",
            "mix, short",
            "Catch::Benchmark::*::call",
            (
                r"mix\, short",
                *("--benchmark-samples", "1", "--benchmark-warmup-time", "0", "--benchmark-no-analysis"),
            ),
        ),
    ],
)
def test_each_benchmark_of_a_list_is_run_alone(
    harness: str, text: str, name: str, region: str, words: tuple[str, ...]
) -> None:
    """If this fails, a benchmark has the count of another, or of several."""
    found = next(one for one in HARNESSES if one.name == harness)
    assert len(found.names(text + text)) == 2
    assert name in found.names(text)
    assert (found.region(name), tuple(found.words(name))) == (region, words)


@pytest.mark.parametrize(("symbols"), [CRITERION, GOOGLE, CATCH2])
def test_the_command_is_one_of_the_tools(tmp_path: Path, symbols: tuple[str, ...]) -> None:
    """If this fails, who pastes it reads a typing error of ours."""
    line = harness_line(program(tmp_path, symbols), ("a",))
    words = shlex.split(line[line.index("worldwise run ") :])
    command = cli.cli.get_command(None, "run")  # type: ignore[arg-type] # a name alone is looked up
    assert command
    above = click.Context(cli.cli, **cli.cli.context_settings)
    with command.make_context("run", words[2:], parent=above) as context:
        typed: dict[str, Any] = context.params
        assert kinds.chosen() is kinds.PROGRAM
    assert typed["benchmarks"] == ("a",)


@pytest.mark.parametrize(
    ("symbols", "arguments"),
    [
        (NONE, ()),
        ((), ()),
        # It is asked to do no more already.
        (CRITERION, ("--bench", "--test", "crc")),
        (GOOGLE, ("--benchmark_min_time=1x",)),
        (CATCH2, ("--skip-benchmarks",)),
    ],
)
def test_there_is_nothing_to_say(tmp_path: Path, symbols: tuple[str, ...], arguments: tuple[str, ...]) -> None:
    assert harness_line(program(tmp_path, symbols), arguments) == ""


def test_a_file_that_is_not_there_is_no_harness(tmp_path: Path) -> None:
    assert harness_line(tmp_path / "none", ()) == ""


def test_each_benchmark_has_a_case_of_its_own() -> None:
    """If this fails, two benchmarks are one case, or a long name is none that a case may have."""
    long = "x" * 70
    names = case_names(["a/1", "a:1", "a 1", "b", f"{long}1", f"{long}2", "..."])
    assert names == ["a-1", "a-1-2", "a-1-3", "b", "x" * 63, "x" * 61 + "-2", "program"]


def test_no_program_has_two_harnesses() -> None:
    for harness, symbols in zip(HARNESSES, (CRITERION, GOOGLE, CATCH2), strict=True):
        found = recognised("\0".join(symbols).encode())
        assert found is harness
