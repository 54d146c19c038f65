# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise explain` as a user calls it wrongly: told at once, before a lab is looked for."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import command_line
from worldwise.base.errors import WorldwiseError
from worldwise.run.rundir import Run

cli_explain = importlib.import_module("worldwise.cli.watched.explain")
varied = importlib.import_module("worldwise.cli.watched.dependence")
tools = importlib.import_module("worldwise.cli.watched.tools")

CASE = "optee/mbedtls-nist-O2/empty-invoke"
ON_BOARD = "nucleo-f446re/bearssl-O2/sign,curve=secp256r1,size=32B"
SIGNED = "optee/mbedtls-nist-O2/attestdiv"

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the command. A lab is not to be had."""

    def no_lab(*_: object) -> NoReturn:
        raise AssertionError("the lab was asked for")

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(tools, "open_lab", no_lab)
        monkeypatch.setattr(varied, "open_lab", no_lab)
        answer = command_line.call(monkeypatch, capsys, "explain", *arguments)
        return answer.status, answer.out, answer.told

    return call


def test_help_names_every_way(call: Call) -> None:
    """If this fails, what the command can do is not to be found."""
    status, out, _ = call("--help")
    assert status == 0
    for word in (
        "--diff",
        "--witness",
        "--why",
        "--slow-down",
        "--inline",
        "--path",
        "--vary",
        "folded",
        "flame",
        "--fresh",
    ):
        assert word in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["optee/mbedtls-nist-O2/empty-invok"], "did you mean 'empty-invoke'?"),
        (["optee/mbedtls-nist-O3/empty-invoke"], "variant 'mbedtls-nist-O3' is not known. Similar: mbedtls-"),
        (["optee/mbedtls-nist-O3/hello"], "? all 40 variants: worldwise explain optee//hello"),
        (["optee/none/hello"], "None of the 40 is similar. all 40 variants: worldwise explain optee//hello"),
        (["optee//hello"], "a case needs a variant. There are libtomcrypt-Os, libtomcrypt-O2, libtomcrypt-ce-Os, "),
        (
            ["empty-invoke"],
            "or a case: TARGET/VARIANT/OPERATION. Of empty-invoke there are optee/mbedtls-nist-O2/empty-",
        ),
        (
            ["empty-invok"],
            "Did you mean 'empty-invoke'? Of empty-invoke there are optee/mbedtls-nist-O2/empty-invoke, ",
        ),
        (["nothing-of-that-kind"], "or a path; or a case: TARGET/VARIANT/OPERATION"),
        (["linux/mbedtls-nist-O2/empty-invoke"], "is not one of target 'linux'"),
        (["a/b"], "a case is TARGET/VARIANT/OPERATION"),
        ([CASE, "--diff", "optee/mbedtls-nist-O2"], "a case is TARGET/VARIANT/OPERATION"),
        (
            [CASE, "--diff", CASE, "--format", "folded"],
            "--diff can be printed as table or markdown or json or flame, not as folded",
        ),
        ([CASE, "--format", "svg"], "'svg' is not one of"),
        ([CASE, "--measure", "sign"], "optee/mbedtls-nist-O2/empty-invoke has no measure sign it has: "),
        ([SIGNED, "--diff", CASE, "--measure", "sign"], "optee/mbedtls-nist-O2/empty-invoke has no measure sign"),
        (
            [SIGNED, "--format", "flame"],
            "--format flame takes one region: choose with --measure, of a run with --case",
        ),
        ([CASE, "--samples", "0"], "0 is not in the range"),
        ([CASE, "--output", "/none/there/x.svg"], "the directory /none/there does not exist"),
        ([CASE, CASE], "unexpected extra argument"),
        (
            [CASE, "--vary", "key"],
            "inputs of a call are varied on boards, in plain Linux, and of 'sign' by a",
        ),
        (
            [ON_BOARD, "--vary", "nonse"],
            "--vary 'nonse' is not known. Allowed: key, nonce, message. did you mean 'nonce'?",
        ),
        (
            [ON_BOARD, "--vary", "key", "--format", "flame"],
            "--vary can be printed as table, markdown, json, not as flame",
        ),
        ([ON_BOARD, "--vary", "key", "--index", "0"], "--vary takes a CASE, and of the options only"),
        ([ON_BOARD, "--vary", "key", "--diff", CASE], "--vary takes a CASE, and of the options only --implementation"),
    ],
)
def test_a_wrong_call_is_told_before_anything_is_run(call: Call, arguments: list[str], said: str) -> None:
    """If this fails, a slip costs the user a machine's boot."""
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("option", [["--diff", CASE], ["--slow-down"]])
def test_a_run_is_not_compared_or_timed(call: Call, whole_run: Run, option: list[str]) -> None:
    """If this fails, --diff of a run does something that nobody asked for."""
    status, _, err = call(whole_run.path, *option)
    assert status == 2
    assert "--diff and --slow-down take a CASE" in err


def test_a_run_of_several_cases_is_no_flame_graph(call: Call, whole_run: Run) -> None:
    """If this fails, the first case is run before the user hears that the call is wrong."""
    status, _, err = call(whole_run.path, "--format", "flame")
    assert status == 2
    assert "--format flame takes one region" in err


def test_a_run_that_is_not_there_or_has_no_such_case_is_told(call: Call, whole_run: Run, tmp_path: Path) -> None:
    """If this fails, a wrong name is a traceback, or an empty answer."""
    status, _, err = call("latest", "--runs", tmp_path)
    assert (status, "no run" in err.lower() or "there is none" in err.lower()) == (2, True), err
    status, _, err = call(whole_run.path, "--case", "optee/none/*")
    assert status == 2
    assert "has no complete case that matches optee/none/*" in err
    assert "optee/mbedtls-nist-O2/empty-invoke" in err


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """If this fails, a wrong file name is a traceback."""
    path = tmp_path / ("x" * 300)
    with pytest.raises(WorldwiseError, match="x: could not be written: File name too long"):
        tools.Output(path)


def test_names_in_brackets_are_printed(tmp_path: Path) -> None:
    """If this fails, inlined functions and other tasks lose their marks in the tables."""
    path = tmp_path / "out"
    with tools.Output(path) as out:
        out.console.print("read_daif [inlined] (tee) [task: init] [0x1234]")
    assert path.read_text(encoding="utf-8") == "read_daif [inlined] (tee) [task: init] [0x1234]\n"
