# SPDX-License-Identifier: BSD-2-Clause
"""The folder that machines share: many writers and readers at once, killed ones, and no lock anywhere."""

import errno
import fcntl
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from received import little_disk, sparse
from synthetic import make_suite, new_writer
from worldwise.base import files, paths
from worldwise.lab.shared_store import store as module
from worldwise.lab.shared_store.store import NEW, Shared
from worldwise.run.folder.rundir import open_run
from worldwise.run.results import ResultStore

DIGEST = "0123456789abcdef" * 4
LOGS = ("console.log", "secure.log", "qemu.log")

# What a process of another machine does. It has no locks: whoever asks for one is told that there are none.
BEGIN = """
import errno, fcntl, hashlib, json, os, sys, time
from pathlib import Path
def no_locks(*_):
    raise OSError(errno.ENOLCK, "no locks available")
fcntl.flock = fcntl.lockf = no_locks
from worldwise.lab.shared_store import store as module
from worldwise.lab.shared_store.store import Shared
place, own = Path(sys.argv[1]), Path(sys.argv[2])
own.mkdir()
notes = []
shared = Shared(notes.append, place)
def folder(name):
    path = own / name
    (path / "more").mkdir(parents=True)
    for number in range(3):
        (path / "more" / str(number)).write_text(f"{name} {number}\\n" * 2000)
    return path
def problem(copy):
    name = next((copy / "more").iterdir()).read_text().split()[0]
    wrong = [n for n in range(3) if (copy / "more" / str(n)).read_text() != f"{name} {n}\\n" * 2000]
    return f"{wrong} differ" if wrong else ""
"""
WRITER = """
for turn in range(30):
    name = f"address-{turn}"
    path = folder(name)
    shared.give("images", name, path)
    assert shared.take("images", name, own / f"got-{turn}", problem), (name, notes)
    text = f"file {turn}\\n" * 500
    digest = hashlib.sha256(text.encode()).hexdigest()
    (own / digest).write_text(text)
    shared.give_file("downloads", digest, own / digest)
    assert shared.take_file("downloads", digest, own / f"file-{turn}", 2**20), (digest, notes)
assert not notes, notes
"""
# Stops for ever with a part copied, or with all copied and nothing named.
HALF = """
copied = 0
whole = module.copy_file
def one_then_stop(*words, **named):
    global copied
    size = whole(*words, **named)
    copied += 1
    if copied == 2:
        print("now", flush=True)
        time.sleep(60)
    return size
module.copy_file = one_then_stop
shared.give("images", "address-1", folder("address-1"))
"""
UNNAMED = """
def stop(*_):
    print("now", flush=True)
    time.sleep(60)
module.settle = stop
shared.give("images", "address-1", folder("address-1"))
"""


def start(code: str, place: Path, own: Path) -> subprocess.Popen[str]:
    source = [str(paths.REPOSITORY / "src")]
    return subprocess.Popen(
        [sys.executable, "-P", "-c", BEGIN + code, str(place), str(own)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(source)},
    )


def no_locks(*_: object) -> NoReturn:
    raise OSError(errno.ENOLCK, "no locks available")


def test_many_writers_at_once_leave_whole_things_alone(tmp_path: Path) -> None:
    """Six processes without locks give and take the same thirty addresses. If this fails, half an image is used."""
    place = tmp_path / "shared"
    place.mkdir()
    running = [start(WRITER, place, tmp_path / str(number)) for number in range(6)]
    ended = [(process.wait(100), process.communicate()[1]) for process in running]
    assert [status for status, _ in ended] == [0] * 6, "\n".join(said for _, said in ended)
    assert len(list((place / "images").iterdir())) == len(list((place / "downloads").iterdir())) == 30
    assert not list(place.rglob(f"{NEW}*"))
    for path in (place / "downloads").iterdir():
        assert files.file_sha256(path) == path.name


@pytest.mark.parametrize("code", [HALF, UNNAMED], ids=["while it copies", "before it names"])
def test_a_killed_writer_leaves_nothing_that_is_read(code: str, tmp_path: Path) -> None:
    """If this fails, a job that its queue kills spoils the folder for all others."""
    place = tmp_path / "shared"
    place.mkdir()
    process = start(code, place, tmp_path / "killed")
    assert process.stdout
    assert process.stdout.readline() == "now\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (left,) = (place / "images").iterdir()
    assert left.name.startswith(NEW)
    notes: list[str] = []
    shared = Shared(notes.append, place)
    assert not shared.take("images", "address-1", tmp_path / "got", lambda _: "")

    good = tmp_path / "good"
    good.mkdir()
    (good / "file").write_text("good")
    shared.give("images", "address-1", good)
    assert shared.take("images", "address-1", tmp_path / "got", lambda _: "")
    assert (tmp_path / "got" / "file").read_text() == "good"
    # Another writer may still be at work on what is young; what is old goes.
    assert left.exists()
    old = time.time() - 3 * 86400
    os.utime(left, (old, old))
    shared.give("images", "address-2", good)
    assert sorted(path.name for path in (place / "images").iterdir()) == ["address-1", "address-2"]
    assert notes == []


def test_a_damaged_thing_is_told_and_makes_way(tmp_path: Path) -> None:
    place, good = tmp_path / "shared", tmp_path / "good"
    for path in (place / "images" / "a", place / "downloads", good):
        path.mkdir(parents=True)
    (place / "images" / "a" / "file").write_text("bad")
    (good / "file").write_text("good")
    digest, bad = (hashlib.sha256(content).hexdigest() for content in (b"good", b"bad"))
    (place / "downloads" / digest).write_text("bad")
    notes: list[str] = []
    shared = Shared(notes.append, place)

    def problem(copy: Path) -> str:
        return "" if (copy / "file").read_text() == "good" else "it is bad"

    assert not shared.take("images", "a", tmp_path / "got", problem)
    assert not shared.take_file("downloads", digest, tmp_path / "file", 2**20)
    assert not (tmp_path / "got").exists()
    assert not (tmp_path / "file").exists()
    assert notes == [
        f"{place / 'images' / 'a'} is damaged; worldwise makes it again: it is bad",
        f"{place / 'downloads' / digest} is damaged; worldwise makes it again: its SHA-256 is {bad}",
    ]
    shared.give("images", "a", good)
    shared.give_file("downloads", digest, good / "file")
    assert shared.take("images", "a", tmp_path / "got", problem)
    assert shared.take_file("downloads", digest, tmp_path / "file", 2**20)


def test_links_and_missing_folders_are_no_end(tmp_path: Path) -> None:
    """The folder is other people's: a link in it is not followed, and without it work goes on."""
    place = tmp_path / "shared"
    (place / "images" / "a").mkdir(parents=True)
    (place / "images" / "a" / "file").symlink_to("/etc/passwd")
    (place / "images" / "b").mkdir()
    (place / "images" / "b" / "folder").symlink_to("/etc")
    notes: list[str] = []
    shared = Shared(notes.append, place)
    for name in ("a", "b"):
        assert not shared.take("images", name, tmp_path / "got", lambda _: "")
        assert "is a link" in notes[-1]
    (place / "results").write_text("no folder")
    shared.give("results", "a", place / "images")
    assert notes[-1].startswith(f"the shared {place / 'results' / 'a'} cannot be used: ")
    nothing = Shared(notes.append)
    assert not nothing.take("images", "a", tmp_path / "got", lambda _: "")


@pytest.fixture
def shared_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "shared"
    path.mkdir()
    monkeypatch.setenv(paths.SHARED_VARIABLE, str(path))
    return path


def test_a_result_of_one_machine_is_anothers(shared_place: Path, tmp_path: Path) -> None:
    case = tmp_path / "case"
    case.mkdir()
    (case / "records.jsonl").write_text('{"type":"end","status":0}\n')
    for name in LOGS:
        (case / name).write_text(name)
    ResultStore(tmp_path / "one").put(DIGEST, case, "20260102T030400Z-a", 1.25, ("qemu",))
    notes: list[str] = []
    other = ResultStore(tmp_path / "other", notes.append)
    found = other.get(DIGEST)
    assert found is not None
    assert found.directory == tmp_path / "other" / "results" / DIGEST[:16]
    assert (found.run, found.wall_seconds) == ("20260102T030400Z-a", 1.25)
    assert not other.get(DIGEST[:16] + "f" * 48)

    path = shared_place / "results" / DIGEST[:16] / "records.jsonl"
    path.write_bytes(path.read_bytes() + b"{}\n")
    assert ResultStore(tmp_path / "third", notes.append).get(DIGEST) is None
    assert "is damaged; worldwise makes it again" in notes[-1]


def test_a_run_is_written_where_there_are_no_locks(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs may stand on a network file system. Without locks nobody can say that a run is still being written."""
    monkeypatch.setattr(fcntl, "flock", no_locks)
    case = make_suite().cases[0]
    with new_writer(runs_dir, [case]) as writer:
        assert open_run(writer.run.path, runs_dir).state == "killed"
        writer.finish("failed")
    assert open_run("latest", runs_dir).state == "failed"


# --- other people's folders ---


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "shared"
    path.mkdir()
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder that another user's link leads to, with what only its owner may touch."""
    path = tmp_path / "victim"
    (path / f"{NEW}old").mkdir(parents=True)
    (path / f"{NEW}old" / "precious").write_text("precious")
    (path / "a").mkdir()
    (path / "a" / "precious").write_text("precious")
    (path / DIGEST).write_text("precious")
    os.utime(path / f"{NEW}old", (1, 1))
    return path


def below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_link_at_a_kind_is_not_followed(place: Path, victim: Path, tmp_path: Path) -> None:
    """If this fails, another user's link makes the tool write, and remove, wherever that user likes."""
    before = below(victim)
    for kind in ("images", "downloads"):
        (place / kind).symlink_to(victim)
    good = tmp_path / "good"
    good.mkdir()
    (good / "file").write_text("good")
    notes: list[str] = []
    shared = Shared(notes.append, place)
    shared.give("images", "new", good)
    shared.give_file("downloads", "f" * 64, good / "file")
    assert not shared.take("images", "a", tmp_path / "got", lambda _: "it is bad")
    assert not shared.take_file("downloads", DIGEST, tmp_path / "file", 2**20)
    assert below(victim) == before
    assert len(notes) == 4
    assert all("cannot be used: 'images' is a link" in note or "'downloads' is a link" in note for note in notes)


def test_the_place_itself_may_be_a_link(place: Path, tmp_path: Path) -> None:
    """The user named it."""
    (tmp_path / "named").symlink_to(place)
    notes: list[str] = []
    good = tmp_path / "good"
    good.mkdir()
    (good / "program").write_text("#!/bin/sh\n")
    (good / "program").chmod(0o700)
    shared = Shared(notes.append, tmp_path / "named")
    shared.give("images", "a", good)
    assert shared.take("images", "a", tmp_path / "got", lambda _: "")
    assert (tmp_path / "got" / "program").stat().st_mode & 0o777 == 0o755
    assert notes == []


def test_a_link_in_the_way_of_a_writer_is_not_followed(
    place: Path, victim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user may write to the folder while the tool does, and put a link where it has just made something."""
    (victim / "copy" / "deep").mkdir(parents=True)
    before = below(victim)
    good = tmp_path / "good"
    (good / "deep").mkdir(parents=True)
    (good / "file").write_text("good")
    (good / "deep" / "file").write_text("good")
    copied = module.copy_file

    def swap(*words: Any, **named: Any) -> int:
        (work,) = (place / "images").glob(f"{NEW}*")
        if not (place / "images" / "aside").exists():
            work.rename(place / "images" / "aside")
            work.symlink_to(victim)
        return copied(*words, **named)

    monkeypatch.setattr(module, "copy_file", swap)
    notes: list[str] = []
    Shared(notes.append, place).give("images", "new", good)
    assert below(victim) == before


THINGS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (lambda path: (path / "file").symlink_to("/etc/passwd"), "'file' is a link|it is a link"),
    "a link to a folder": (lambda path: (path / "folder").symlink_to("/etc"), "a link"),
    "a FIFO": (lambda path: os.mkfifo(path / "pipe"), "it is a FIFO"),
    "a sparse file": (lambda path: sparse(path / "file", 2**40), "it has more than 4 KiB"),
    "many files": (
        lambda path: [(path / str(n)).write_bytes(b"") for n in range(30)],
        "more than 20 files and folders",
    ),
    "folders in folders": (lambda path: (path / "/".join("d" * 12)).mkdir(parents=True), "nested more than 8 deep"),
    "more than its limit": (
        lambda path: [(path / name).write_bytes(bytes(3000)) for name in "ab"],
        "'b': it has more than 2 KiB",
    ),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("what", THINGS)
def test_what_no_folder_of_ours_has_is_damage(
    what: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, who may write there fills the disk of all others, or hangs them."""
    make, says = THINGS[what]
    monkeypatch.setattr(module, "LIMITS", files.TreeLimits(file=4096, total=5120, entries=20, depth=8))
    (place / "images" / "a").mkdir(parents=True)
    make(place / "images" / "a")
    notes: list[str] = []
    with little_disk():
        assert not Shared(notes.append, place).take("images", "a", tmp_path / "got", lambda _: "")
    assert re.search(f"a is damaged; worldwise makes it again: .*({says})", notes[-1])
    assert not (place / "images" / "a").exists()
    assert not (tmp_path / "got").exists()


def test_a_file_is_as_long_as_what_is_wanted(place: Path, tmp_path: Path) -> None:
    (place / "downloads").mkdir()
    sparse(place / "downloads" / DIGEST, 2**40)
    notes: list[str] = []
    with little_disk():
        assert not Shared(notes.append, place).take_file("downloads", DIGEST, tmp_path / "file", 5000)
    assert "is damaged; worldwise makes it again: " in notes[-1]
    assert "it has more than 4 KiB" in notes[-1]


@pytest.mark.parametrize("seconds", ["1" + "0" * 400, '"nan"', "-1", "null", "[]", "true"])
def test_a_strange_time_of_a_result_is_damage(seconds: str, shared_place: Path, tmp_path: Path) -> None:
    """If this fails, a result of a stranger ends the run that looks for it."""
    case = tmp_path / "case"
    case.mkdir()
    (case / "records.jsonl").write_text('{"type":"end","status":0}\n')
    for name in LOGS:
        (case / name).write_text(name)
    ResultStore(tmp_path / "one").put(DIGEST, case, "20260102T030400Z-a", 1.25, ("qemu",))
    path = shared_place / "results" / DIGEST[:16] / "result.json"
    path.write_text(path.read_text().replace("1.25", seconds))
    notes: list[str] = []
    assert ResultStore(tmp_path / "other", notes.append).get(DIGEST) is None
    assert "is damaged; worldwise makes it again" in notes[-1]
