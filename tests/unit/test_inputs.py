# SPDX-License-Identifier: BSD-2-Clause
"""What cases draw, what interrupts them, and what a run has of other draws and of their own path."""

import hashlib
import hmac
import io
import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from test_compare_gate import grown

import boards
from synthetic import RecordList, lines, make_records, new_writer, write_case
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case, parse_case
from worldwise.plan.inputs import OWN_PATH_FILE, draw_file, inputs_seed, others, seed_problem
from worldwise.plan.spec import OWN
from worldwise.read.compared import gate
from worldwise.read.run_counts import read_run
from worldwise.report import report
from worldwise.run.folder.manifests import CASE_FILE, RUN_FILE
from worldwise.run.folder.rundir import Run, open_run
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.inputs import boot_words, is_quiet, settings, without_settings

TEE = Case("optee", "mbedtls-nist", "O2", "attestdiv", 3, 1)
BOARD = Case("nucleo-f446re", "bearssl", "Os", "sign", 3, 1, (("curve", "secp256r1"), ("size", "32B")))
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

PROGRAM = """
#include <stdio.h>
#include "drbg.h"
int main(void)
{
	static uint8_t out[300];
	static uint8_t seed[80];
	struct drbg drbg;

	for (size_t i = 0; i < sizeof(seed); i++)
		seed[i] = (uint8_t)(3 * i);
	for (size_t length = 0; length <= sizeof(seed); length += 16) {
		drbg_start(&drbg, seed, length);
		for (size_t size = 1; size <= sizeof(out); size += 131) {
			drbg_generate(&drbg, out, size);
			for (size_t i = 0; i < size; i++)
				printf("%02x", out[i]);
			printf("\\n");
		}
	}
	return 0;
}
"""


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def _expected() -> Iterable[str]:
    """The same by the standard's own words: SP 800-90A, 10.1.2.2 to 10.1.2.5."""
    for length in range(0, 81, 16):
        key, value = b"\0" * 32, b"\1" * 32

        seed = bytes(3 * i % 256 for i in range(length))
        for mark in (b"\0", b"\1")[: 2 if seed else 1]:
            key = _hmac(key, value + mark + seed)
            value = _hmac(key, value)
        for size in range(1, 301, 131):
            out = b""
            while len(out) < size:
                value = _hmac(key, value)
                out += value
            key = _hmac(key, value + b"\0")
            value = _hmac(key, value)
            yield out[:size].hex()


@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_the_generator_is_that_of_the_standard(tmp_path: Path) -> None:
    assert COMPILER
    (tmp_path / "main.c").write_text(PROGRAM)
    inputs = paths.GUEST / "inputs"
    words = [COMPILER, "-std=c11", f"-I{inputs}", "-o", str(tmp_path / "main"), str(tmp_path / "main.c")]
    subprocess.run([*words, str(inputs / "drbg.c")], check=True)
    said = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == list(_expected())


def test_a_seed_is_the_task_s() -> None:
    """Stated here to the digit: another one moves every figure of a signature."""
    assert inputs_seed(TEE) == hashlib.sha256(b"worldwise inputs\nattestdiv\n0\n").hexdigest()
    same = [replace(TEE, target="linux"), replace(TEE, optimisation="Os"), replace(TEE, samples=9), TEE]
    assert {inputs_seed(case) for case in same} == {inputs_seed(TEE)}
    others = [replace(TEE, operation="keygen"), replace(TEE, seed=1), replace(TEE, seed=2)]
    assert len({inputs_seed(case) for case in (TEE, *others)}) == 4


def test_own_code_has_one_draw() -> None:
    """If this fails, `--seeds` on a user's own code says that it measures nothing."""
    assert "your own code" in seed_problem(Case(OWN, "app-0", "", "work", 2, 0))


@pytest.mark.parametrize(
    ("name", "draws", "quiet", "problem"),
    [
        ("optee/mbedtls-nist-O2/attestdiv", True, True, ""),
        ("linux/libtomcrypt-Os/keygen", True, True, ""),
        ("optee/mbedtls-nist-O2/attestdiv,load=busy", True, False, ""),
        ("optee/mbedtls-nist-O2/attestdiv,ticks=both", True, False, ""),
        ("optee/wolfssl-sp-O2/sign,curve=secp256r1,size=48B", True, True, "random=tee"),
        ("optee/wolfssl-sp-O2/sign,curve=secp256r1,size=48B,random=tee", True, True, ""),
        ("linux-armv8/micro-ecc-O2/sign,curve=secp256r1,size=32B", False, True, ""),
        ("nucleo-f446re/micro-ecc-O2/sign,curve=secp256r1,size=32B", False, True, "compiled in"),
    ],
)
def test_what_is_settled_for_a_case(name: str, draws: bool, quiet: bool, problem: str) -> None:
    case = parse_case(name)
    assert any(word.startswith("+seed=") for word in settings(case)) == draws
    assert is_quiet(case) == quiet
    assert bool(problem) == bool(seed_problem(case))
    assert problem in seed_problem(case)
    if case.board:
        return
    program = EMULATED[case.target].program(case)
    assert set(settings(case)) <= set(program)
    assert list(without_settings(program)) == [word for word in program if word[0] != "+"]
    assert "randomize_kstack_offset=off" in boot_words(case)
    shipped = replace(case, as_shipped=True)
    assert "+quiet" not in settings(shipped)
    assert not boot_words(shipped)


def test_other_draws_and_the_own_path_stand_beside_a_case() -> None:
    assert list(others(TEE, 1)) == []
    assert list(others(TEE, 3)) == [(draw_file(1), replace(TEE, seed=1)), (draw_file(2), replace(TEE, seed=2))]
    assert list(others(BOARD, 3)) == []
    shipped = replace(TEE, as_shipped=True)
    assert list(others(shipped, 1)) == [(OWN_PATH_FILE, TEE)]


def _run(runs_dir: Path, case: Case, records: RecordList, beside: dict[str, RecordList], second: int = 0) -> Run:
    with new_writer(runs_dir, [case], second=second, seeds=1 + len(beside)) as writer:
        write_case(writer, case, lines(records), beside={name: lines(content) for name, content in beside.items()})
        return writer.finish("complete")


@pytest.fixture(scope="module")
def records() -> RecordList:
    return make_records(TEE)


def _said(run: Run) -> str:
    console = Console(file=io.StringIO(), width=200)
    report.render(read_run(run), console)
    assert isinstance(console.file, io.StringIO)
    return " ".join(console.file.getvalue().split())


def test_a_run_keeps_its_seed(runs_dir: Path, records: RecordList) -> None:
    run = _run(runs_dir, TEE, records, {})
    assert json.loads((run.path / RUN_FILE).read_text())["seed"] == 0
    kept = json.loads((run.case_directory(TEE.id) / CASE_FILE).read_text())
    assert kept["inputs"] == inputs_seed(TEE)
    assert "as_shipped" not in kept
    manifest = open_run(run.path, runs_dir).case(TEE.id)
    assert manifest is not None
    assert manifest.case() == TEE


def test_draws_are_a_section(runs_dir: Path, records: RecordList) -> None:
    """Least to most of the draws' medians, of each row."""
    more = grown(records, dict.fromkeys(range(5), 700), "verify", "client")
    run = _run(runs_dir, TEE, records, {draw_file(1): more, draw_file(2): records})
    rows = {(row.measure, row.place): row for row in read_run(run).inputs}
    assert (rows["sign", "client"].least, rows["sign", "client"].most) == (rows["sign", "client"].median,) * 2
    found = rows["verify", "client"]
    assert (found.draws, found.most - found.least) == (3, 700)
    assert "Inputs: how far a figure depends on the draw" in _said(run)
    assert len(json.loads(report.to_json(read_run(run)))["inputs"]) == len(rows)


def test_interrupts_are_a_section_and_the_own_path_is_compared(runs_dir: Path, records: RecordList) -> None:
    shipped = replace(TEE, as_shipped=True)
    noisy = grown(records, {0: 20, 2: 9000, 3: 52, 4: 52}, "sign", "client")
    run = _run(runs_dir, shipped, noisy, {OWN_PATH_FILE: records})
    (row,) = (row for row in read_run(run).interrupts if (row.measure, row.place) == ("sign", "client"))
    assert (row.added, row.most) == (52, 9000)
    said = _said(run)
    assert "Interrupts: what a machine in its shipped state executes beside the own path" in said
    assert "The machine is as it is shipped" in said
    quiet = _run(runs_dir, TEE, records, {}, 1)
    comparison = gate.compare_runs(quiet, run, gate.GateOptions(limit=gate.parse_limit("0%"), limit_text="0%"))
    assert {(row.verdict, row.calls_differ) for row in comparison.rows} == {("same", 0)}
    assert any("the own path is compared" in note for note in comparison.notes)


def test_another_draw_is_not_compared_silently(runs_dir: Path, records: RecordList) -> None:
    a = _run(runs_dir, TEE, records, {})
    b = _run(runs_dir, replace(TEE, seed=7), records, {}, 1)
    with pytest.raises(WorldwiseError, match="seed 0 / seed 7") as refused:
        gate.compare_runs(a, b)
    assert "--allow inputs" in (refused.value.hint or "")
    assert gate.compare_runs(a, b, gate.GateOptions(allow=["inputs"])).rows


def test_a_board_has_one_draw(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So its runs are comparable whatever a run's seed says, one from before there were seeds too."""
    boards.use(monkeypatch)
    data = make_records(BOARD)
    a, b = (_run(runs_dir, case, data, {}, second) for second, case in enumerate((BOARD, replace(BOARD, seed=7))))
    path = a.path / RUN_FILE
    old = {key: value for key, value in json.loads(path.read_text()).items() if key != "seed"}
    path.write_text(json.dumps(old))
    assert gate.compare_runs(open_run(a.path, runs_dir), b).rows
