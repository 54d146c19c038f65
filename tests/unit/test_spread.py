# SPDX-License-Identifier: BSD-2-Clause
"""How the tests themselves are spread over the processors, and whose a QEMU is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import machines
import spread

DEMO = "tests/machine/test_keycache_demo.py::"
MQTT = "tests/machine/test_keycache_mqtt.py::"
EXPLAIN = "tests/machine/test_machine_explain.py::"


def test_what_shares_a_costly_fixture_stays_together() -> None:
    assert spread.unit_of(DEMO + "test_redis_cli_sets_and_uses_a_key") == spread.unit_of(DEMO + "test_x")
    assert spread.unit_of(DEMO + "test_a_command_has_the_server") != spread.unit_of(DEMO + "test_x")
    assert spread.unit_of(MQTT + "test_what_is_printed_can_be_typed") == spread.unit_of(MQTT + "test_x")
    assert spread.unit_of(MQTT + "test_a_message_goes_to_all_by_one_call") != spread.unit_of(MQTT + "test_x")
    case = "[optee/sha256,size=64KiB,chunk=16KiB]"
    assert spread.unit_of(f"{EXPLAIN}test_one{case}") == spread.unit_of(f"{EXPLAIN}test_two{case}")
    assert spread.unit_of(f"{EXPLAIN}test_one{case}") != spread.unit_of(f"{EXPLAIN}test_one[linux/attestdiv]")
    code = "tests/machine/test_machine_code.py::"
    assert (
        spread.unit_of(f"{code}test_one[a::b]") == spread.unit_of(f"{code}test_two") != spread.unit_of(f"{EXPLAIN}test")
    )
    predict = "tests/machine/test_machine_predict.py::"
    assert spread.unit_of(f"{predict}test_a") == spread.unit_of(f"{predict}test_b")
    assert spread.unit_of(f"{predict}test_a_long_call_is_sampled") != spread.unit_of(f"{predict}test_b")
    clang = "tests/machine/test_clang.py::test_clang_finds_nothing"
    assert spread.unit_of(f"{clang}[adapter of a]") == spread.unit_of(f"{clang}[adapter of b]")
    assert spread.unit_of(f"{clang}[adapter of a]") != spread.unit_of(f"{clang}[plugins]")
    assert spread.unit_of("tests/unit/test_a.py::test_one[a::b]") == spread.unit_of("tests/unit/test_a.py::test_two")


def test_other_machines_are_spread_one_by_one() -> None:
    one = "tests/machine/test_boards.py::test_every_board_works[microbit]"
    assert spread.unit_of(one) == one
    assert spread.unit_of("tests/keycache/test_native.py::test_x") == "tests/keycache/test_native.py::test_x"


def test_one_machine_begins_then_what_needs_no_lab_then_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"tests/machine/a": 5.0, "tests/machine/b": 60.0, "tests/machine/c": 30.0, "tests/unit/y": 7.0}
    monkeypatch.setattr(spread, "known_durations", lambda: known)
    units = [*known, "tests/unit/x", "tests/browser/z", "tests/keycache/k", "tests/machine/new"]
    assert spread.ordered(units) == [
        "tests/machine/b",
        "tests/unit/y",
        "tests/unit/x",
        "tests/keycache/k",
        "tests/browser/z",
        "tests/machine/c",
        "tests/machine/a",
        "tests/machine/new",
    ]


def test_what_is_written_down_of_durations_exists() -> None:
    """A unit that was renamed would begin last."""
    for unit in spread.known_durations():
        file = unit.partition("::")[0].partition("[")[0]
        assert (Path(spread.__file__).parents[1] / file).exists(), f"{unit}: run ./test --record-durations"


@pytest.fixture
def like_qemu(tmp_path: Path) -> Iterator[Path]:
    """A program that looks like a QEMU with a machine of ours, and waits for its input to end."""
    program = tmp_path / "qemu-system-aarch64"
    program.symlink_to(sys.executable)
    yield program


def started(program: Path, worker: str) -> "subprocess.Popen[bytes]":
    """A parent with a worker's variable, as bubblewrap, and its child, whose environment is cleared."""
    child = f"[{str(program)!r}, '-c', 'input()', '/machine/x']"
    parent = f"import subprocess; p = subprocess.Popen({child}, env={{}}); print(p.pid, flush=True); p.wait()"
    return subprocess.Popen(
        [sys.executable, "-c", parent],
        env=os.environ | {"WORLDWISE_TEST_WORKER": worker},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


@pytest.mark.parametrize("ours", [True, False])
def test_a_worker_sees_its_own_emulators_alone(like_qemu: Path, ours: bool) -> None:
    """If this fails, a test ends the machine of another worker, or does not see one that it has left behind."""
    with started(like_qemu, os.environ["WORLDWISE_TEST_WORKER"] if ours else "another") as parent:
        try:
            assert parent.stdout
            pid = int(parent.stdout.readline())
            machines.wait_for(lambda: b"/machine/x" in Path(f"/proc/{pid}/cmdline").read_bytes(), "the child")
            assert (pid in machines.emulators()) is ours
        finally:
            assert parent.stdin
            parent.stdin.close()
            parent.wait()
