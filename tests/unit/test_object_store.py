# SPDX-License-Identifier: BSD-2-Clause
"""What machines share in an object store, by fsspec's own systems in memory and on disk, and one that refuses."""

import errno
import hashlib
import io
import os
import re
import sys
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pytest
from click.testing import CliRunner
from fsspec.implementations.memory import MemoryFileSystem

import hostile
from received import little_disk, little_memory, sparse
from worldwise import cli
from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab.shared_store.object_store import Objects, objects_at
from worldwise.lab.shared_store.store import Shared
from worldwise.run.results import ResultStore

DIGEST = "0123456789abcdef" * 4


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store with nothing in it; that on disk has folders, and has no object until its folder is there."""
    place = tmp_path / "store"
    place.mkdir()
    MemoryFileSystem.store.clear()
    objects_at.cache_clear()
    return f"{request.param}://{place}"


@pytest.fixture
def shared(url: str, notes: list[str]) -> Shared:
    return Shared(notes.append, url)


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A folder as images have: a folder within, an empty one, and a program."""
    path = tmp_path / "good"
    (path / "more" / "deep").mkdir(parents=True)
    (path / "empty").mkdir()
    (path / "more" / "deep" / "file").write_bytes(b"good" * 1000)
    (path / "program").write_text("#!/bin/sh\n")
    (path / "program").chmod(0o755)
    return path


def tree(folder: Path) -> dict[str, tuple[bool, bytes]]:
    return {
        str(path.relative_to(folder)): (os.access(path, os.X_OK), b"" if path.is_dir() else path.read_bytes())
        for path in folder.rglob("*")
    }


def whole(_copy: Path) -> str:
    return ""


def test_what_one_machine_gives_another_takes(shared: Shared, notes: list[str], good: Path, tmp_path: Path) -> None:
    assert not shared.take("images", "a", tmp_path / "got", whole)
    shared.give("images", "a", good)
    assert shared.take("images", "a", tmp_path / "got", whole)
    assert tree(tmp_path / "got") == tree(good)
    file = good / "more" / "deep" / "file"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert not shared.take_file("downloads/sha256", digest, tmp_path / "file", 2**20)
    shared.give_file("downloads/sha256", digest, file)
    assert shared.take_file("downloads/sha256", digest, tmp_path / "file", 2**20)
    assert (tmp_path / "file").read_bytes() == file.read_bytes()
    assert notes == []


def test_a_damaged_object_is_told_and_makes_way(
    url: str, shared: Shared, notes: list[str], good: Path, tmp_path: Path
) -> None:
    """Of other bytes, cut off, and no archive at all. If this fails, what a bad disk made of an image is used."""
    digest = hashlib.sha256(b"good").hexdigest()
    objects = objects_at(url)
    bad = tmp_path / "bad"
    for content in (b"bad", b""):
        bad.write_bytes(content)
        objects.put_file("downloads", digest, bad)
        assert not shared.take_file("downloads", digest, tmp_path / "file", 2**20)
        assert f"downloads/{digest} is damaged; worldwise makes it again: its SHA-256 is" in notes[-1]
        assert not objects.has("downloads", digest)

    shared.give("images", "a", good)
    assert not shared.take("images", "a", tmp_path / "got", lambda _: "it is of another lab")
    assert notes[-1] == f"{url}/images/a is damaged; worldwise makes it again: it is of another lab"
    assert not objects.has("images", "a")
    shared.give("images", "a", good)
    archive = tmp_path / "archive"
    assert objects.fetch_file("images", "a.tar", archive, 2**20) == ""
    right = archive.read_bytes()
    for content in (b"no archive" * 100, b"", right[:-1], right[:2000], right.replace(b"good", b"evil")):
        bad.write_bytes(content)
        objects.put_file("images", "a.tar", bad)
        assert not shared.take("images", "a", tmp_path / "got", whole)
        assert "images/a is damaged" in notes[-1]
        assert not objects.has("images", "a")
    assert not (tmp_path / "got").exists()


@pytest.mark.parametrize("member", ["../out", "/tmp/out", "link"])
def test_an_archive_of_a_stranger_writes_nothing_elsewhere(member: str, tmp_path: Path, notes: list[str]) -> None:
    archive = tmp_path / "archive"
    with tarfile.open(archive, "x") as tar:
        info = tarfile.TarInfo(member)
        if member == "link":
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info, io.BytesIO())
    archive.write_bytes(archive.read_bytes() + hashlib.sha256(archive.read_bytes()).hexdigest().encode())
    objects = Objects(f"file://{tmp_path}")
    objects.put_file("images", "a.tar", archive)
    assert not Shared(notes.append, objects.url).take("images", "a", tmp_path / "got", whole)
    assert "is neither a file nor a folder in it" in notes[-1] or "leads out of the folder" in notes[-1]
    assert not (tmp_path / "got").exists()


def test_a_link_is_not_given(shared: Shared, notes: list[str], good: Path) -> None:
    (good / "link").symlink_to("/etc/passwd")
    shared.give("images", "a", good)
    assert "is a link" in notes[-1]


def test_many_writers_at_once_leave_whole_things(
    notes: list[str], good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, two machines that build the same image spoil it for both."""

    def put(system: MemoryFileSystem, source: str, path: str) -> None:
        system.pipe_file(path, Path(source).read_bytes())

    def get(system: MemoryFileSystem, path: str, copy: str, **_: object) -> None:
        if path not in system.store:
            raise FileNotFoundError(path)
        Path(copy).write_bytes(system.store[path].getvalue())

    # In one step each, as an object store does it; fsspec's memory copies piece by piece.
    monkeypatch.setattr(MemoryFileSystem, "put_file", put)
    monkeypatch.setattr(MemoryFileSystem, "get_file", get)
    MemoryFileSystem.store.clear()
    shared = Shared(notes.append, "memory://many")

    def work(number: int) -> None:
        for turn in range(10):
            shared.give("images", f"address-{turn}", good)
            final = tmp_path / f"got-{number}-{turn}"
            assert shared.take("images", f"address-{turn}", final, whole)
            assert tree(final) == tree(good)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, number) for number in range(4)]:
            done.result()
    assert notes == []
    assert len(MemoryFileSystem.store) == 10


def test_a_result_of_one_machine_is_anothers(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(paths.SHARED_VARIABLE, url.replace("file://", "local://"))
    case = tmp_path / "case"
    case.mkdir()
    (case / "records.jsonl").write_text('{"type":"end","status":0}\n')
    for name in ("console.log", "secure.log", "qemu.log"):
        (case / name).write_text(name)
    ResultStore(tmp_path / "one").put(DIGEST, case, "20260102T030400Z-a", 1.25, ("qemu",))
    notes: list[str] = []
    found = ResultStore(tmp_path / "other", notes.append).get(DIGEST)
    assert found is not None
    assert (found.run, found.wall_seconds, notes) == ("20260102T030400Z-a", 1.25, [])


# --- what is wrong with a store ---


def raising(error: Exception) -> Callable[..., Any]:
    def refuse(*_: object, **__: object) -> None:
        raise error

    return refuse


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            FileNotFoundError("The specified bucket does not exist"),
            "no such bucket or place: The specified bucket does",
        ),
        (PermissionError("Access Denied"), "no right to write and read there: Access Denied"),
        (RuntimeError("Unable to locate credentials"), "cannot be used: Unable to locate credentials"),
    ],
)
def test_a_store_that_cannot_be_used_is_told_before_anything(
    error: Exception, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a run of hours ends with nothing in the store."""
    objects_at.cache_clear()
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", raising(error))
    result = CliRunner().invoke(cli.cli, ["run", "quick", "--cache", "memory://bucket/prefix"])
    assert isinstance(result.exception, WorldwiseError)
    assert f"memory://bucket/prefix: {says}" in result.exception.message
    assert paths.SHARED_VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("url", "says", "hint"),
    [
        ("s3://bucket/prefix", "lacks a package for s3://", f"pip install s3fs=={fsspec.__version__}"),
        ("nothing://a", "no store: Protocol not known: nothing", "such as s3://bucket"),
    ],
)
def test_what_a_protocol_lacks_is_told(url: str, says: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(WorldwiseError) as caught:
        Objects(url)
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_without_fsspec_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(WorldwiseError, match="needs fsspec") as caught:
        Objects("s3://bucket")
    assert "WORLDWISE_WITH=dask" in caught.value.hint


def test_from_a_store_that_nobody_writes_things_are_taken(
    good: Path, notes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told once that nothing can be written; of a web server it is known."""
    MemoryFileSystem.store.clear()
    objects_at.cache_clear()
    shared = Shared(notes.append, "memory://web")
    shared.give("images", "a", good)
    for name in ("pipe_file", "put_file"):
        monkeypatch.setattr(MemoryFileSystem, name, raising(NotImplementedError()))
    objects_at("memory://web").check()
    assert shared.take("images", "a", tmp_path / "got", whole)
    for name in ("b", "c"):
        shared.give("images", name, good)
    assert notes == ["the shared memory://web/images/b cannot be used: nothing can be written there"]
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda url: (MemoryFileSystem(), url))
    objects_at("http://web").check()
    Shared(notes.append, "http://web").give("images", "a", good)
    assert len(notes) == 1


def test_a_store_that_fails_later_costs_time_alone(
    good: Path, notes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects_at.cache_clear()
    shared = Shared(notes.append, "memory://a")
    monkeypatch.setattr(MemoryFileSystem, "get_file", raising(OSError(errno.ETIMEDOUT, "timed out")))
    monkeypatch.setattr(MemoryFileSystem, "put_file", raising(ValueError("no such endpoint")))
    assert not shared.take("images", "a", tmp_path / "got", whole)
    shared.give("images", "b", good)
    assert notes == [
        "the shared memory://a/images/a cannot be used: timed out",
        "the shared memory://a/images/b cannot be used: no such endpoint",
    ]


# --- objects that are attacks ---


def more_than(name: bytes, size: int) -> bytes:
    return hostile.file(name, bytes(size))


ATTACKS: dict[str, tuple[bytes, str]] = {
    **{what: (member, "") for what, member in (hostile.MEMBERS | hostile.NAMES).items()},
    "more than its limit": (more_than(b"a", 3000) + more_than(b"b", 3000), "its files have more than 5 KiB"),
    "a file that is more than its limit": (more_than(b"a", 4500), "it has a file of more than 4 KiB"),
    "many members": (hostile.file(b"a", b"") * 30, "it has more than 20 members|'a': File exists"),
    "many folders": (bytes(hostile.header(b"a/", 0, tarfile.DIRTYPE)) * 30, "it has more than 20 members"),
    "folders in folders": (hostile.file(b"d/" * 9 + b"f", b""), "it has folders nested more than 8 deep"),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("what", ATTACKS)
def test_an_attack_by_an_object_is_damage(
    what: str, tmp_path: Path, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, who may write to a store fills the disk or the memory of all, hangs them or ends their runs."""
    data, says = ATTACKS[what]
    monkeypatch.setattr(
        "worldwise.lab.shared_store.object_store.LIMITS", files.TreeLimits(file=4096, total=5120, entries=20, depth=8)
    )
    (tmp_path / "store" / "images").mkdir(parents=True)
    path = tmp_path / "store" / "images" / "a.tar"
    path.write_bytes(hostile.with_digest(data + hostile.END))
    objects_at.cache_clear()
    shared = Shared(notes.append, f"file://{tmp_path / 'store'}")
    with little_memory(), little_disk():
        assert not shared.take("images", "a", tmp_path / "got", whole)
    assert re.search(f"images/a is damaged; worldwise makes it again: .*({says})", notes[-1])
    assert notes[-1].isprintable()
    # It makes way, and nothing of it stays.
    assert not path.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


class Endless(MemoryFileSystem):  # type: ignore[misc] # fsspec has no types
    """Says that an object is small, and never ends."""

    protocol = "endless"
    async_impl = True
    sent = 0

    def get_file(self, _path: str, copy: str, callback: Any = None, **_: object) -> None:
        with Path(copy).open("wb") as file:
            while True:
                file.write(bytes(2**20))
                type(self).sent += 2**20
                callback.relative_update(2**20)


@pytest.mark.timeout(30)
def test_a_server_that_never_ends_is_left(tmp_path: Path, notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a server that sends for ever fills the disk."""
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda url: (Endless(), url))
    monkeypatch.setattr("worldwise.lab.shared_store.object_store.MOST_ARCHIVE", 5 * 2**20)
    objects_at.cache_clear()
    shared = Shared(notes.append, "endless://store")
    with little_disk():
        assert not shared.take("images", "a", tmp_path / "got", whole)
        assert not shared.take_file("downloads", DIGEST, tmp_path / "file", 3000)
    assert [note.partition("again: ")[2] for note in notes] == ["it has more than 5 MiB", "it has more than 2 KiB"]
    assert Endless.sent == 7 * 2**20
    assert not list(tmp_path.iterdir())


def test_an_object_is_as_long_as_what_is_wanted(tmp_path: Path, notes: list[str]) -> None:
    """A store on a disk copies without counting: it is asked first."""
    (tmp_path / "store" / "downloads").mkdir(parents=True)
    sparse(tmp_path / "store" / "downloads" / DIGEST, 2**40)
    objects_at.cache_clear()
    shared = Shared(notes.append, f"file://{tmp_path / 'store'}")
    with little_disk():
        assert not shared.take_file("downloads", DIGEST, tmp_path / "file", 3000)
    assert notes[-1].endswith("is damaged; worldwise makes it again: it has more than 2 KiB")


def test_long_names_are_given_and_taken(url: str, notes: list[str], tmp_path: Path) -> None:
    """If this fails, an image with paths of more than 100 bytes, or beyond ASCII, is damaged for all others."""
    good = tmp_path / "good"
    deep = good / ("d" * 120) / ("é" * 90) / ("f" * 200)
    deep.parent.mkdir(parents=True)
    deep.write_bytes(b"deep")
    shared = Shared(notes.append, url)
    shared.give("images", "a", good)
    assert shared.take("images", "a", tmp_path / "got", whole)
    assert tree(tmp_path / "got") == tree(good)
    assert notes == []
