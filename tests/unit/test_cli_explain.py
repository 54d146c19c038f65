# SPDX-License-Identifier: BSD-2-Clause
"""`explain`, `diff`, `vary` and their checks as a user calls them wrongly: told at once, before a lab is looked for."""

import contextlib
import importlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from command_line import Call
from synthetic import write_run
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.machine import qemu
from worldwise.plan.case import Case, parse_case
from worldwise.run.folder.rundir import Run

varied = importlib.import_module("worldwise.cli.traces.vary")
tools = importlib.import_module("worldwise.cli.traces.plugin_runs")
between = importlib.import_module("worldwise.cli.traces.diff")

CASE = "optee/mbedtls-nist-O2/empty-invoke"
ON_BOARD = "nucleo-f446re/bearssl-O2/sign,curve=secp256r1,size=32B"
SIGNED = "optee/mbedtls-nist-O2/attestdiv"
SIGNED_CASE, HELLO = parse_case(SIGNED, 4, 2), parse_case("optee/mbedtls-nist-O2/hello", 4, 2)

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(call: Call, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Calls a command, without a lab."""

    def no_lab(*_: object) -> NoReturn:
        raise AssertionError("the lab was asked for")

    monkeypatch.setattr(tools, "open_lab", no_lab)
    monkeypatch.setattr(varied, "open_lab", no_lab)

    def typed(*arguments: str | Path) -> tuple[int, str, str]:
        answer = call(*arguments)
        return answer.status, answer.out, answer.told

    return typed


def test_help_names_every_way(typed: Typed) -> None:
    """If this fails, a user does not find what the command can do."""
    status, out, _ = typed("explain", "--help-all")
    assert status == 0
    for word in ("--why", "--inline", "--path", "folded", "flame", "--fresh", "`worldwise diff`"):
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
        ([CASE, "--format", "svg"], "'svg' is not one of"),
        ([CASE, "--measure", "sign"], "optee/mbedtls-nist-O2/empty-invoke has no measure sign it has: "),
        (
            [SIGNED, "--format", "flame"],
            "--format flame takes one region: choose with --measure, of a run with --case",
        ),
        ([CASE, "--samples", "0"], "0 is not in the range"),
        ([CASE, "--output", "/none/there/x.svg"], "the directory /none/there does not exist"),
        ([CASE, CASE], "unexpected extra argument"),
        ([CASE, "--clock", "1GHz"], "--clock is for --core"),
        ([CASE, "--core", "cortex-a72", "--why", "memcpy"], "--core excludes --why and --annotate"),
        ([CASE, "--core", "cortex-a72", "--format", "flame"], "its formats: table, markdown, json"),
        ([CASE, "--core", "cortex-a73"], "cortex-a73"),
        ([CASE, "--core", "cortex-m4"], "its code is A64, and a cortex-m4 cannot run it"),
        (
            [ON_BOARD, "--core", "cortex-m4"],
            "the stretches with interrupts masked, which are followed on Armv8-A alone",
        ),
    ],
)
def test_a_wrong_call_is_told_before_anything_is_run(typed: Typed, arguments: list[str], said: str) -> None:
    """If this fails, a slip costs the user a machine's boot."""
    status, out, err = typed("explain", *arguments)
    assert out == "" and status in (1, 2)
    assert said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["diff", CASE], "Missing argument 'AFTER'"),
        (["diff", CASE, "latest"], "BEFORE and AFTER are two cases, or two runs"),
        (["diff", "optee/mbedtls-nist-O2", CASE], "a case is TARGET/VARIANT/OPERATION"),
        (["diff", CASE, CASE, "--format", "folded"], "'folded' is not one of"),
        (["diff", SIGNED, SIGNED, "--format", "flame"], "--format flame takes one region: choose with --measure"),
        (["diff", CASE, SIGNED, "--measure", "sign"], "optee/mbedtls-nist-O2/empty-invoke has no measure sign"),
        (["diff", CASE, SIGNED], "have no measure in common choose two cases of one operation"),
        (["vary", CASE, "key"], "inputs of a call are varied on boards, in plain Linux, and of 'sign' by a"),
        (["vary", CASE], "inputs of a call are varied on boards, in plain Linux, and of 'sign' by a"),
        (
            ["vary", ON_BOARD, "nonse"],
            "input 'nonse' is not known. Allowed: key, nonce, message. did you mean 'nonce'?",
        ),
        (["vary", ON_BOARD, "key", "--format", "flame"], "'flame' is not one of"),
        (["vary", "latest", "key"], "a case is TARGET/VARIANT/OPERATION"),
        (["validation", "slow-down", "latest"], "a case is TARGET/VARIANT/OPERATION"),
        (["validation", "slow-down", ON_BOARD, "--vary", "nonse"], "did you mean 'nonce'?"),
        (["validation", "stacks", CASE, "--measure", "sign"], "has no measure sign"),
    ],
)
def test_a_wrong_difference_or_input_is_told_before_anything_is_run(typed: Typed, words: list[str], said: str) -> None:
    """If this fails, a slip costs the user a machine's boot."""
    status, out, err = typed(*words)
    assert out == "" and status in (1, 2)
    assert said in err


def test_a_difference_of_runs_called_wrongly_is_told(typed: Typed, whole_run: Run, tmp_path: Path) -> None:
    """If this fails, a machine boots before somebody hears that two runs have nothing in common."""
    other = write_run(tmp_path / "other", [Case("optee", "mbedtls-nist", "O2", "empty-invoke", 5, 2)])
    elsewhere = write_run(tmp_path / "other", [Case("optee", "mbedtls", "Os", "hello", 5, 2)], second=7)
    library = tmp_path / "library"
    shutil.copytree(paths.REPOSITORY / "docs/examples/c25519", library)
    for words, said in (
        ([whole_run.path, CASE], "BEFORE and AFTER are two cases, or two runs"),
        ([whole_run.path, "2031", "--runs", tmp_path], "no run '2031'"),
        ([whole_run.path, whole_run.path, "--format", "flame"], "choose with --measure, of runs with --case"),
        ([whole_run.path, whole_run.path, "--case", "optee/none/*"], "no complete case that matches"),
        ([whole_run.path, other.path, "--case", CASE], "do not have the same number of calls in both"),
        ([whole_run.path, elsewhere.path], "do not have a case in common"),
        ([whole_run.path, whole_run.path, "--implementation", tmp_path], "has no implementation.toml"),
    ):
        status, out, err = typed("diff", *words)
        assert (out, status in (1, 2)) == ("", True), words
        assert said in err, (words, err)


class Explaining:
    """A session whose explainers say what was asked of them."""

    def __init__(self, registered: list[str]) -> None:
        self.registered = registered
        self.asked: list[tuple[Any, ...]] = []

    def explainer(self, case: Case, run: Run) -> Any:
        here = tuple(self.registered)

        def sample(measure: str, place: str, index: int | None) -> Any:
            self.asked.append((run.id, case.id, here, measure, place, index))
            return SimpleNamespace(measure=measure, place=place, index=3)

        return SimpleNamespace(sample=sample, explain=lambda sample: sample)


def test_a_difference_of_runs_is_of_the_same_calls_each_with_its_own_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, calls with other inputs are put side by side, or both runs are explained with one library."""
    old, new = (write_run(tmp_path / "runs", [SIGNED_CASE, HELLO], second=second) for second in (1, 2))
    registered: list[str] = []

    @contextlib.contextmanager
    def kept(recorded: Mapping[str, str]) -> Iterator[list[object]]:
        registered.append(repr(dict(recorded)))
        yield []
        registered.pop()

    monkeypatch.setattr(between.own_libraries, "kept", kept)
    session = Explaining(registered)
    cases = between.cases_between(old, new, ["*attestdiv"])
    assert cases == [SIGNED_CASE]
    found = list(between.differences(session, old, new, cases, "sign", lambda name, place: (name, place, None)))
    assert [len(one) for one in found[0]] == [1, 1]
    assert session.asked == [
        (old.id, SIGNED, ("{}",), "sign", "client", None),
        (new.id, SIGNED, ("{}",), "sign", "client", 3),
    ]
    assert registered == []


def test_a_run_of_several_cases_is_no_flame_graph(typed: Typed, whole_run: Run) -> None:
    """If this fails, the first case is run before the user hears that the call is wrong."""
    status, _, err = typed("explain", whole_run.path, "--format", "flame")
    assert status == 2
    assert "--format flame takes one region" in err


def test_a_run_that_is_not_there_or_has_no_such_case_is_told(typed: Typed, whole_run: Run, tmp_path: Path) -> None:
    """If this fails, a wrong name is a traceback, or an empty answer."""
    status, _, err = typed("explain", "latest", "--runs", tmp_path)
    assert (status, "no run" in err.lower() or "there is none" in err.lower()) == (1, True), err
    status, _, err = typed("explain", whole_run.path, "--case", "optee/none/*")
    assert status == 1
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


def test_a_watched_machine_may_be_silent_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, `predict` ends on a busy machine with a hint at an option that it does not have."""
    said: list[float] = []
    monkeypatch.setattr(tools, "open_lab", lambda *_: SimpleNamespace(ensure=lambda: None, require_entry=lambda: None))
    for name in ("ImageStore", "Watcher"):
        monkeypatch.setattr(tools, name, lambda *_: None)
    monkeypatch.setattr(tools, "Emulator", lambda *_, silence_limit: said.append(silence_limit))
    tools.Session(SimpleNamespace(), fresh=False)
    assert said == [qemu.WATCHED_SILENCE] == [1200]
    assert "--silence" not in qemu.MORE_TIME[qemu.WATCHED_SILENCE]
