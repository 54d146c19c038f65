# SPDX-License-Identifier: BSD-2-Clause
"""Runs that a stranger made: opening, reading and resuming one touches nothing else, ends, and fails in words."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from received import little_memory, sparse
from synthetic import lines, make_records, new_writer, write_case, write_run
from worldwise import cli
from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.read import run_counts
from worldwise.read.compared.gate import GateOptions
from worldwise.read.compared.gate import compare_runs as gate_runs
from worldwise.records.parse import read_records
from worldwise.run.folder import rundir
from worldwise.run.folder.reproduction import compare_runs
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome
from worldwise.run.folder.rundir import Run, list_runs, open_run
from worldwise.run.folder.writer import RunWriter

A = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 2, 1)
B = Case("linux", "mbedtls-nist", "O2", "keygen", 2, 1)
SECRET = "the first line of a private file"

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    with little_memory():
        yield


@pytest.fixture
def killed(runs_dir: Path) -> Run:
    """A run of which one case is done, and none is being done."""
    with new_writer(runs_dir, [A, B]) as writer:
        write_case(writer, A, lines(make_records(A)))
    return open_run("latest", runs_dir)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder that is nobody's but the user's."""
    path = tmp_path / "victim"
    (path / A.operation).mkdir(parents=True)
    (path / A.operation / "precious").write_text(f"{SECRET}\n")
    (path / "precious").write_text(f"{SECRET}\n")
    return path


def replace(path: Path, make: Callable[[Path], object]) -> None:
    """Something else in a file's place."""
    path.unlink()
    make(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        # A socket's path may have but 107 bytes.
        with_cwd = Path.cwd()
        os.chdir(path.parent)
        try:
            one.bind(path.name)
        finally:
            os.chdir(with_cwd)


# --- links and what is no file ---


def test_a_link_in_place_of_a_folder_removes_nothing(killed: Run, victim: Path) -> None:
    """If this fails, `--resume` of a received run deletes the user's files."""
    variant = killed.path / "cases" / "linux"
    variant.mkdir()
    (variant / B.variant).symlink_to(victim)
    with pytest.raises(WorldwiseError, match=rf"cases/linux/{B.variant}: is a link"), little_memory():
        open_run(killed.path, killed.path.parent)
    # And a run that was opened before the link came.
    (victim / B.operation).mkdir()
    (victim / B.operation / "precious").write_text("mine")
    with pytest.raises(WorldwiseError, match=r"cannot be read: 'mbedtls-nist-O2' is a link"):
        RunWriter.resume(killed)
    # And one that was being written.
    (variant / B.variant).unlink()
    with RunWriter.resume(killed) as writer:
        (variant / B.variant).symlink_to(victim)
        with pytest.raises(WorldwiseError, match=r"'mbedtls-nist-O2' is a link"):
            writer.case_directory(B.id)
    assert (victim / B.operation / "precious").exists()
    assert (victim / "precious").exists()


def test_a_link_in_place_of_a_case_is_removed_itself(killed: Run, victim: Path) -> None:
    """If this fails, removing what an earlier attempt left follows a link."""
    (killed.path / "cases" / "linux" / B.variant).mkdir(parents=True)
    with RunWriter.resume(killed) as writer:
        killed.case_directory(B.id).symlink_to(victim)
        made = writer.case_directory(B.id)
    assert made.is_dir()
    assert not made.is_symlink()
    assert (victim / "precious").exists()


def test_links_within_an_unfinished_case_are_not_followed(killed: Run, victim: Path) -> None:
    """If this fails, a run of `--cold` that was killed cannot be gone on with, or what its links lead to is removed."""
    half = killed.case_directory(B.id)
    half.mkdir(parents=True)
    (half / "bl2.bin").symlink_to("/machine/bl2.bin")
    (half / "folder").symlink_to(victim)
    os.mkfifo(half / "pipe")
    with RunWriter.resume(open_run(killed.path, killed.path.parent)) as writer:
        assert list(writer.case_directory(B.id).iterdir()) == []
    assert (victim / "precious").exists()


def test_a_link_that_comes_while_a_run_is_written_leads_nowhere(runs_dir: Path, victim: Path) -> None:
    """If this fails, what the tool writes into a run goes through a link to a file of the user's."""
    with new_writer(runs_dir, [A]) as writer:
        directory = writer.case_directory(A.id)
        (directory / "records.jsonl").write_bytes(lines(make_records(A)))
        (directory / "case.json.partial").symlink_to(victim / "precious")
        (directory / "case.json").symlink_to(victim / "precious")
        (writer.run.path / "finished.json.partial").symlink_to(victim / "precious")
        (directory / "case.json").unlink()
        # The machine left a link: the case is not done.
        with pytest.raises(WorldwiseError, match=r"case\.json\.partial: the measured machine left it"):
            write_again(writer)
        (directory / "case.json.partial").unlink()
        write_again(writer)
        writer.finish("complete")
    assert (victim / "precious").read_text() == f"{SECRET}\n"
    assert open_run("latest", runs_dir).state == "complete"


def write_again(writer: RunWriter, error: str = "") -> None:
    writer.complete_case(A, CaseInputs("boot"), CaseOutcome(error=error))


@pytest.mark.parametrize("make", [os.mkfifo, make_socket, lambda path: path.symlink_to("/etc/passwd")])
def test_what_a_machine_left_that_is_no_file(make: Callable[[Path], object], runs_dir: Path) -> None:
    """If this fails, a FIFO in a case's folder hangs the tool for ever."""
    with new_writer(runs_dir, [A]) as writer:
        directory = writer.case_directory(A.id)
        (directory / "records.jsonl").write_bytes(lines(make_records(A)))
        make(directory / "pipe")
        with pytest.raises(WorldwiseError, match=r"/pipe: the measured machine left it, and it is a|'pipe' is a link"):
            write_again(writer)
        # Of a case that failed it is removed, so that the run can be read.
        write_again(writer, "died")
        writer.finish("failed")
    run = open_run("latest", runs_dir)
    assert not (run.case_directory(A.id) / "pipe").exists()
    assert run.state == "failed"


SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to a file": (lambda path: path.symlink_to("/etc/passwd"), "is a link"),
    "a link to /dev/zero": (lambda path: path.symlink_to("/dev/zero"), "is a link"),
    "a link to /proc/self/environ": (lambda path: path.symlink_to("/proc/self/environ"), "is a link"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "is a link"),
    "a link to nothing": (lambda path: path.symlink_to("gone"), "is a link"),
    "a FIFO": (os.mkfifo, "is a FIFO"),
    "a socket": (make_socket, "is a socket"),
    "20 GB of nothing": (lambda path: sparse(path, 20 * 2**30), "more than 512 MiB"),
}


@pytest.mark.parametrize("file", ["run.json", "suite.toml", "finished.json", "case.json", "records.jsonl", "extra"])
@pytest.mark.parametrize("what", SPECIAL)
def test_special_files_are_refused_and_others_listed(what: str, file: str, runs_dir: Path) -> None:
    """If this fails, one received run stops `list`, hangs it, or reads what lies elsewhere."""
    make, says = SPECIAL[what]
    good, bad = write_run(runs_dir, [A]), write_run(runs_dir, [A], second=1)
    path = (bad.case_directory(A.id) if file in ("case.json", "records.jsonl") else bad.path) / file
    path.touch()
    replace(path, make)
    if file == "case.json" and path.is_symlink():
        says = r"is a link"
    with pytest.raises(WorldwiseError, match=f"{file}: .*{says}"):
        open_run(bad.path, runs_dir)
    listed = list_runs(runs_dir)
    assert [entry.run for entry in listed] == [good, None]
    assert says in listed[1].problem
    answer = CliRunner().invoke(cli.cli, ["list", "--runs", str(runs_dir)], standalone_mode=False)
    assert answer.exception is None
    assert good.id in answer.output


def test_a_device_is_refused(runs_dir: Path) -> None:
    """If this fails, a received run reads or sets a device."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a device")
    run = write_run(runs_dir, [A])
    # The numbers of /dev/zero.
    replace(run.records_path(A.id), lambda path: os.mknod(path, 0o20666, os.makedev(1, 5)))
    with pytest.raises(WorldwiseError, match="is a device"):
        open_run(run.path, runs_dir)
    with pytest.raises(WorldwiseError, match="it is a device"):
        read_records(run.records_path(A.id))


def test_another_users_file_is_refused(runs_dir: Path) -> None:
    """If this fails, another user can change a run while it is read."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    run = write_run(runs_dir, [A])
    os.chown(run.records_path(A.id), 4321, -1)
    with pytest.raises(WorldwiseError, match=r"records\.jsonl: belongs to another user \(4321\)"):
        open_run(run.path, runs_dir)


def test_a_second_name_is_refused(runs_dir: Path, victim: Path) -> None:
    """If this fails, writing into a received run writes into a file of the user's."""
    run = write_run(runs_dir, [A])
    replace(run.path / "suite.toml", lambda path: path.hardlink_to(victim / "precious"))
    with pytest.raises(WorldwiseError, match=r"suite\.toml: has 2 names \(hard links\)"):
        open_run(run.path, runs_dir)


def test_records_that_are_a_link_print_nothing(runs_dir: Path, victim: Path) -> None:
    """If this fails, an error prints the first line of any file."""
    run = write_run(runs_dir, [A])
    replace(run.records_path(A.id), lambda path: path.symlink_to(victim / "precious"))
    for read in (
        lambda: run_counts.read_run(run),
        lambda: read_records(run.records_path(A.id)),
        lambda: run.case_file(A.id),
    ):
        with pytest.raises(WorldwiseError, match=r"records\.jsonl: cannot be read: it is a link") as caught:
            read()
        assert SECRET not in f"{caught.value.message}{caught.value.details}"


def test_a_fifo_that_comes_after_opening_hangs_nobody(runs_dir: Path) -> None:
    """If this fails, whoever changes a run while it is read hangs the tool for ever."""
    run = write_run(runs_dir, [A])
    for path in (run.records_path(A.id), run.case_directory(A.id) / "case.json", run.path / "suite.toml"):
        replace(path, os.mkfifo)
    for read in (lambda: run.case_file(A.id), lambda: run.case(A.id), run.suite_text):
        with pytest.raises(WorldwiseError, match="cannot be read: it is a FIFO, not a file"):
            read()


def test_links_that_come_and_go_while_reading(runs_dir: Path, victim: Path) -> None:
    """If this fails, a race leads the tool to a file that is no part of the run."""
    run = write_run(runs_dir, [A])
    folder = run.case_directory(A.id)
    (victim / "records.jsonl").write_text(SECRET)
    (victim / "case.json").write_text(SECRET)
    aside = folder.with_name("aside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            folder.rename(aside)
            folder.symlink_to(victim)
            folder.unlink()
            aside.rename(folder)

    swapper = threading.Thread(target=swap)
    swapper.start()
    found = set()
    try:
        for _ in range(3000):
            try:
                found.add(files.read_bytes(folder / "records.jsonl", 2**20, run.path))
            except OSError as error:
                assert SECRET not in str(error)
    finally:
        stop.set()
        swapper.join()
    assert found <= {lines(make_records(A)), run.records_path(A.id).read_bytes()}
    assert SECRET.encode() not in found


# --- sizes ---


def test_limits_of_a_run(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a received run of millions of files, or of folders in folders, takes all time and memory."""
    run = write_run(runs_dir, [A])
    deep = run.path / "a" / "b" / "c" / "d" / "e"
    deep.mkdir(parents=True)
    with pytest.raises(WorldwiseError, match="more than 4 nested folders"):
        open_run(run.path, runs_dir)
    deep.rmdir()
    for change, says in (({"entries": 5}, "more than 5 files and folders"), ({"total": 100}, "more than 100 bytes")):
        with monkeypatch.context() as patch:
            patch.setattr(rundir, "LIMITS", files.TreeLimits(**{**vars(rundir.LIMITS), **change}))
            with pytest.raises(WorldwiseError, match=says):
                open_run(run.path, runs_dir)
    assert open_run(run.path, runs_dir) == run


def test_long_records_are_refused(runs_dir: Path) -> None:
    """If this fails, records without an end fill the memory."""
    run = write_run(runs_dir, [A])
    path = run.records_path(A.id)
    sparse(path, 300 * 2**20)
    with pytest.raises(WorldwiseError, match=r"records\.jsonl: cannot be read: it has more than 256 MiB"):
        read_records(path)
    sparse(path, 100 * 2**20)
    with pytest.raises(WorldwiseError, match=r"records\.jsonl:1: the line has more than 65,536 bytes"):
        read_records(path)


def test_a_corrupt_line_is_repeated_in_part(tmp_path: Path) -> None:
    """If this fails, an error fills the screen, or writes control characters to it."""
    path = tmp_path / "records.jsonl"
    for line in (b'{"type":"\x1b]0;owned\x07' + b"x" * 50_000, b"\x1b[2J\x9b31m\xff\xfe", '{"type":"‮"}'.encode()):
        path.write_bytes(line + b"\n")
        with pytest.raises(WorldwiseError) as caught:
            read_records(path)
        said = caught.value.message + caught.value.details
        assert len(said) < 1500
        assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 or character == "‮" for character in said)


# --- manifests ---

DEEP = "[" * 200_000 + "]" * 200_000
MANIFESTS: dict[str, tuple[Callable[[str], str | bytes], str]] = {
    "nested 200,000 deep": (lambda _: DEEP, "nested too deeply|more than 300,000 values"),
    "nested 100,000 deep": (lambda _: "[" * 100_000, "nested too deeply"),
    "nested in a field": (
        lambda text: text.replace('"host": {', f'"host": {{"x": {DEEP[:9000]}{DEEP[-9000:]}, '),
        "nested too deeply",
    ),
    "nested 65 deep in a field": (
        lambda text: text.replace('"host": {', f'"host": {{"x": {"[" * 63}{"]" * 63}, '),
        "nested too deeply: more than 64",
    ),
    "brackets in a string": (lambda text: text.replace("A synth", "[" * 1000 + r"\" {"), "title"),
    "a number of 100,000 digits": (
        lambda text: text.replace('"samples": null', f'"samples": {"9" * 100_000}'),
        "a number of more than 400 digits",
    ),
    "a number that is too large": (
        lambda text: text.replace('"samples": null', '"samples": 1e999'),
        "a number is too large",
    ),
    "NaN": (lambda text: text.replace('"samples": null', '"samples": NaN'), "NaN is not a JSON number"),
    "Infinity": (
        lambda text: text.replace('"processors": 2', '"processors": -Infinity'),
        "Infinity is not a JSON number",
    ),
    "a key twice": (lambda text: text.replace('"samples": null', '"samples": null, "samples": 3'), "'samples' appears"),
    "no UTF-8": (lambda text: text.encode().replace(b"A synth", b"A \xff\xfe"), "not a JSON object"),
    "half a character": (lambda text: text.replace("A synth", "A \\ud800"), "half a character"),
    "a zero byte": (lambda text: text.replace("A synth", "A \0"), "not a JSON object"),
    "a million values": (
        lambda text: text.replace('"samples"', f'"x": [{"1," * 400_000}1], "samples"'),
        "300,000 values",
    ),
    "a long title": (lambda text: text.replace("A synth", "A" * 2000), "title: "),
    "a long key": (lambda text: text.replace('"samples"', f'"{"k" * 5000}": 1, "samples"'), r"k \.\.\.: "),
    "a list": (lambda _: "[]", "not a JSON object"),
    "too many samples": (lambda text: text.replace('"samples": null', '"samples": 1000000000'), "samples"),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_strange_manifest_is_refused_in_words(what: str, runs_dir: Path) -> None:
    """If this fails, a received run is a traceback, and stops `list`."""
    change, says = MANIFESTS[what]
    good, bad = write_run(runs_dir, [A]), write_run(runs_dir, [A], second=1)
    path = bad.path / "run.json"
    text = change(path.read_text())
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(WorldwiseError, match=f"run\\.json: corrupt: .*({says})") as caught:
        open_run(bad.path, runs_dir)
    assert len(caught.value.message) < 1000
    assert [entry.run for entry in list_runs(runs_dir)] == [good, None]


@pytest.mark.parametrize(
    "case_id",
    [
        f"optee/mbedtls-O2/{'x' * 5000}",
        "optee/mbedtls-O2/..",
        "../../x",
        "/etc/x",
        "optee//x",
        "optee/./x",
        "optee/mbedtls-O2/sign\n",
        "optee/mbedtls-O2/\x1b[2J",
        "optee/mbedtls-O2/.hidden",
        "optee/mbedtls-O2/a\\b",
        "optee/mbedtls-O2/x/../../../../y",
        "optee/mbedtls-O2/\u202e",
    ],
)
def test_an_id_that_is_no_folder_is_refused(case_id: str, runs_dir: Path) -> None:
    """If this fails, a case's id leads out of the run, or is a traceback."""
    run = write_run(runs_dir, [A])
    path = run.path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "cases": [case_id]}))
    with pytest.raises(WorldwiseError, match="is not the id of a case") as caught:
        open_run(run.path, runs_dir)
    assert len(caught.value.message) < 1000
    assert caught.value.message.isprintable()
    assert list_runs(runs_dir)[0].run is None


def test_a_suite_whose_case_has_too_long_an_id_is_refused(runs_dir: Path) -> None:
    """If this fails, a long name is a traceback of the file system."""
    long = Case("nucleo-f446re", "x" * 300, "O2", "keygen", 2, 1)
    with pytest.raises(WorldwiseError, match=r"is not the id of a case: .* has 303 bytes; a name has at most 255"):
        new_writer(runs_dir, [long])


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "a file elsewhere": ({"files": {"../../../../x": {"size": 1, "sha256": "0" * 64}}}, "has a slash in it"),
    "a negative size": ({"files": {"x": {"size": -1, "sha256": "0" * 64}}}, r"files\.x\.size"),
    "no digest": ({"files": {"x": {"size": 1, "sha256": "0"}}}, r"files\.x\.sha256"),
    "a time that is none": ({"wall_seconds": 1e999}, "not a JSON number|finite"),
    "too many samples": ({"samples": 10**12}, "samples or warmup is out of range"),
}


@pytest.mark.parametrize("what", CASES)
def test_a_strange_case_is_refused_in_words(what: str, runs_dir: Path) -> None:
    """If this fails, a received case is a traceback, or is looked for elsewhere."""
    change, says = CASES[what]
    run = write_run(runs_dir, [A])
    path = run.case_directory(A.id) / "case.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(WorldwiseError, match=f"case\\.json: corrupt: .*({says})"):
        open_run(run.path, runs_dir).complete_cases()


@pytest.mark.parametrize("text", ["size=x", "size=" + "9" * 5000, "nonsense=1", "runs=0"])
def test_parameters_that_nobody_wrote_are_refused(text: str, runs_dir: Path) -> None:
    """If this fails, a parameter of a received case is a traceback."""
    key, value = text.split("=")
    case = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 2, 1, ((key, value),))
    run = write_run(runs_dir, [A])
    old = run.case_directory(A.id)
    for path in (run.path / "run.json", old / "case.json"):
        fields = json.loads(path.read_text())
        new = {"cases": [case.id]} if path.name == "run.json" else {"id": case.id, "parameters": {key: value}}
        path.write_text(json.dumps({**fields, **new}))
    if len(value) < 100:
        old.rename(run.case_directory(case.id))
    with pytest.raises(WorldwiseError, match=r"corrupt: parameter|is not the id of a case"):
        open_run(run.path, runs_dir).complete_cases()


# --- checksums ---


def test_a_case_names_its_files(runs_dir: Path) -> None:
    """If this fails, a change of records cannot be noticed."""
    run = write_run(runs_dir, [A])
    manifest = run.case(A.id)
    assert manifest
    assert manifest.files
    assert sorted(manifest.files) == ["console.log", "records.jsonl"]
    data = run.records_path(A.id).read_bytes()
    assert manifest.files["records.jsonl"].size == len(data)
    assert run.case_file(A.id) == data
    run.check_case(A.id)


def lower_all_counts(run: Run) -> None:
    """A change that adds up: the end and the count of each sample are one less."""
    path = run.records_path(A.id)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        if record["type"] == "sample":
            record["end"] -= 1
            record["count"] -= 1
    path.write_bytes(lines(records))


READERS: dict[str, Callable[[Run, Run], object]] = {
    "report": lambda run, _: run_counts.read_run(run),
    "compare": lambda run, other: gate_runs(other, run, GateOptions()),
    "verify": lambda run, other: compare_runs(other, run),
    "explain": lambda run, _: run.case_file(A.id),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_change_that_adds_up_is_noticed(reader: str, runs_dir: Path) -> None:
    """If this fails, somebody's figure stands for the machine's."""
    other, run = write_run(runs_dir, [A]), write_run(runs_dir, [A], second=1)
    READERS[reader](run, other)
    lower_all_counts(run)
    with pytest.raises(WorldwiseError, match=r"records\.jsonl: has changed since the case was done") as caught:
        READERS[reader](run, other)
    assert "worldwise run" in caught.value.hint


@pytest.mark.parametrize("file", ["records.jsonl", "console.log"])
def test_a_run_that_changed_is_not_gone_on_with(file: str, killed: Run) -> None:
    """If this fails, half of a run is not what was measured."""
    path = killed.case_directory(A.id) / file
    before = path.read_bytes()
    path.write_bytes(before.replace(b"o", b"0", 1))
    with pytest.raises(WorldwiseError, match=rf"{file}: has changed since the case was done"):
        RunWriter.resume(killed)
    path.unlink()
    with pytest.raises(WorldwiseError, match=rf"{file}: cannot be read: No such file"):
        RunWriter.resume(killed)
    path.write_bytes(before)
    with RunWriter.resume(killed) as writer:
        assert writer.pending == [B.id]


def test_a_file_that_came_later_is_not_read(runs_dir: Path) -> None:
    """If this fails, times that were never taken stand in a report."""
    run = write_run(runs_dir, [A])
    (run.case_directory(A.id) / "host.jsonl").write_text("{}\n")
    with pytest.raises(WorldwiseError, match=r"host\.jsonl: came after the case was done"):
        run.case_file(A.id, "host.jsonl")


def test_a_run_of_before_is_read(runs_dir: Path) -> None:
    """If this fails, runs that were made before cases named their files cannot be read any more."""
    run = write_run(runs_dir, [A])
    path = run.case_directory(A.id) / "case.json"
    fields = json.loads(path.read_text())
    del fields["files"]
    path.write_text(json.dumps(fields))
    again = open_run(run.path, runs_dir)
    assert len(run_counts.read_run(again).rows) == 1
    again.check_case(A.id)
