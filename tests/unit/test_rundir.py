# SPDX-License-Identifier: BSD-2-Clause
import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from synthetic import lines, make_records, make_suite, new_writer, write_case, write_run
from worldwise.base.errors import WorldwiseError
from worldwise.plan.budget import parse_budget
from worldwise.plan.case import Case
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome
from worldwise.run.folder.rundir import list_runs, open_run
from worldwise.run.folder.writer import RunWriter

A = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 2, 1)
B = Case("linux", "mbedtls-nist", "O2", "keygen", 2, 1)

DATA = {case.id: lines(make_records(case)) for case in (A, B)}


def test_what_is_written_is_read(runs_dir: Path) -> None:
    run = write_run(runs_dir, [A, B], budget=parse_budget("5ms@2GHz"))
    assert run.id == "20260102T030400Z-synthetic"
    again = open_run(run.path, runs_dir)
    assert again == run
    assert again.manifest.cases == [A.id, B.id]
    assert again.manifest.started == "2026-01-02T03:04:00+00:00"
    assert again.manifest.host == {"machine": "x86_64", "processors": 2}
    assert again.manifest.budget is not None
    assert again.manifest.budget.budget() == parse_budget("5ms@2GHz")
    assert again.state == "complete"
    assert again.suite_text() == make_suite().text
    assert [manifest.case() for manifest in again.complete_cases()] == [A, B]
    assert sorted(path.name for path in again.case_directory(A.id).iterdir()) == [
        "case.json",
        "console.log",
        "records.jsonl",
    ]
    assert not list(run.path.rglob("*.partial"))


def test_a_killed_run_is_resumed(runs_dir: Path) -> None:
    writer = new_writer(runs_dir, [A, B])
    assert writer.pending == [A.id, B.id]
    write_case(writer, A, DATA[A.id])
    half = writer.case_directory(B.id)
    (half / "records.jsonl").write_text('{"type":')
    assert open_run("latest", runs_dir).state == "running"
    writer.close()

    run = open_run("latest", runs_dir)
    assert run.state == "killed"
    assert run.case(B.id) is None
    with RunWriter.resume(run) as resumed:
        assert resumed.pending == [B.id]
        assert not list(resumed.case_directory(B.id).iterdir())
        write_case(resumed, B, DATA[B.id])
        assert resumed.pending == []
        assert resumed.finish("complete").state == "complete"
    assert open_run("latest", runs_dir).records_path(B.id).read_bytes() == DATA[B.id]
    with pytest.raises(WorldwiseError, match="nothing to resume"):
        RunWriter.resume(open_run("latest", runs_dir))


def test_failed_cases_are_done_again(runs_dir: Path) -> None:
    with new_writer(runs_dir, [A, B]) as writer:
        writer.case_directory(A.id)
        writer.complete_case(A, CaseInputs("boot"), CaseOutcome(error="died"))
        write_case(writer, B, DATA[B.id])
        assert writer.pending == [A.id]
        writer.finish("failed")
    run = open_run("latest", runs_dir)
    assert run.state == "failed"
    assert [manifest.id for manifest in run.complete_cases()] == [B.id]
    with RunWriter.resume(run) as resumed:
        assert resumed.pending == [A.id]
        assert resumed.run.state == "running"


def test_two_writers_on_one_run(runs_dir: Path) -> None:
    with new_writer(runs_dir, [A]) as writer:
        with pytest.raises(WorldwiseError, match="another worldwise"):
            RunWriter.resume(writer.run)
        # A second run in the same second is another directory.
        with new_writer(runs_dir, [A]) as other:
            assert other.run.id == writer.run.id + "-2"
    with RunWriter.resume(writer.run) as resumed:
        assert resumed.pending == [A.id]


def test_a_full_disk_says_what_is_kept(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with new_writer(runs_dir, [A, B]) as writer:
        write_case(writer, A, DATA[A.id])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(WorldwiseError, match=r"disk is full.*1 of 2 cases are kept") as caught:
                write_case(writer, B, DATA[B.id])
            assert "--resume" in caught.value.hint
            with pytest.raises(WorldwiseError, match="disk is full"):
                writer.finish("failed")
            with pytest.raises(WorldwiseError, match="nothing of this run is kept"):
                new_writer(runs_dir, [A], second=1)
        with pytest.raises(WorldwiseError, match="disk is full"), writer.guard():
            raise OSError(errno.ENOSPC, "full", "records.jsonl")
        denied = r"console\.log could not be written: Permission denied"
        with pytest.raises(WorldwiseError, match=denied), writer.guard():
            raise PermissionError(errno.EACCES, "Permission denied", "console.log")
        assert not list(writer.run.path.rglob("*.partial"))
    run = open_run("20260102T030400Z-synthetic", runs_dir)
    assert run.case(B.id) is None
    with RunWriter.resume(run) as resumed:
        assert resumed.pending == [B.id]


def test_case_json_is_written_last(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    with new_writer(runs_dir, [A]) as writer:
        monkeypatch.setattr(os, "fsync", watch)
        write_case(writer, A, DATA[A.id])
    assert set(synced[:2]) == {"records.jsonl", "console.log"}
    assert synced[2] == "case.json.partial"
    assert {"empty-invoke", "mbedtls-nist-O2", "optee", "cases"} <= set(synced[3:])


def test_runs_are_found_by_what_people_type(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorldwiseError, match="no run yet"):
        open_run("latest", runs_dir)
    first, second = write_run(runs_dir, [A]), write_run(runs_dir, [A], second=1)
    assert open_run("latest", runs_dir) == second
    assert open_run("latest~0", runs_dir) == second
    assert open_run("latest~1", runs_dir) == first
    with pytest.raises(WorldwiseError, match=r"no run 'latest~2' in .*: that has 2") as beyond:
        open_run("latest~2", runs_dir)
    assert beyond.value.hint == f"the oldest is latest~1, {first.id}"
    assert open_run(first.id, runs_dir) == first
    assert open_run("20260102T030401", runs_dir) == second
    assert open_run(str(first.path), runs_dir) == first
    monkeypatch.chdir(runs_dir.parent)
    assert open_run(f"runs/{first.id}", Path("elsewhere")) == first
    with pytest.raises(WorldwiseError, match="more than one run"):
        open_run("2026", runs_dir)
    with pytest.raises(WorldwiseError, match="there is no run 'x'") as caught:
        open_run("x", runs_dir)
    assert second.id in caught.value.message
    with pytest.raises(WorldwiseError, match="no such directory"):
        open_run("runs/absent", runs_dir)
    with pytest.raises(WorldwiseError, match="not a run"):
        open_run(runs_dir, runs_dir)


def spoil(path: Path, **fields: Any) -> None:
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, **fields}))


@pytest.mark.parametrize(
    ("file", "fields", "says"),
    [
        ("run.json", {"format": 1}, r"run\.json: format 1 is not known"),
        ("run.json", {"suite": 1}, r"run\.json: corrupt: suite: "),
        ("run.json", {"more": 1}, r"run\.json: corrupt: more: Extra"),
        ("run.json", {"cases": ["../../etc/x"]}, "not the id of a case"),
        ("run.json", {"cases": ["one"]}, "not the id of a case"),
        ("finished.json", {"state": "fine"}, r"finished\.json: corrupt: state"),
        (f"cases/{A.id}/case.json", {"samples": "2"}, r"case\.json: corrupt: samples"),
        (f"cases/{A.id}/case.json", {"id": B.id}, f"belongs to case '{B.id}'"),
        (f"cases/{A.id}/case.json", {"optimisation": "Os"}, "belongs to case"),
    ],
)
def test_corrupt_manifests_are_named(file: str, fields: dict[str, Any], says: str, runs_dir: Path) -> None:
    run = write_run(runs_dir, [A])
    spoil(run.path / file, **fields)
    with pytest.raises(WorldwiseError, match=says):
        open_run(run.path, runs_dir).complete_cases()


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1', "\0\0\0"])
def test_torn_files_are_named(text: str, runs_dir: Path) -> None:
    run = write_run(runs_dir, [A])
    (run.path / "run.json").write_text(text)
    with pytest.raises(WorldwiseError, match=r"run\.json: corrupt: not a JSON object"):
        open_run(run.path, runs_dir)


def test_lists_have_the_unreadable_too(runs_dir: Path) -> None:
    good, bad = write_run(runs_dir, [A]), write_run(runs_dir, [A], second=1)
    (bad.path / "run.json").write_text("{}")
    (runs_dir / "notes").mkdir()
    listed = list_runs(runs_dir)
    assert [(entry.id, entry.run) for entry in listed] == [(good.id, good), (bad.id, None)]
    assert "format None" in listed[1].problem
    assert list_runs(runs_dir / "absent") == []


def test_missing_files_of_a_run(runs_dir: Path) -> None:
    run = write_run(runs_dir, [A])
    (run.path / "suite.toml").unlink()
    with pytest.raises(WorldwiseError, match=r"suite\.toml: cannot be read"):
        run.suite_text()
    shutil.rmtree(run.path / "cases")
    assert run.complete_cases() == []
    with pytest.raises(WorldwiseError, match="has no case"):
        new_writer(runs_dir, [A], second=1).case_directory(B.id)
