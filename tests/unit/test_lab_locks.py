# SPDX-License-Identifier: BSD-2-Clause
"""Locks of the lab: who makes a root, who downloads, and what a process that dies leaves locked: nothing."""

import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from filelock import FileLock
from rich.console import Console

from worldwise.base import paths
from worldwise.base.disk import space_text
from worldwise.lab import cache_locks
from worldwise.lab import lab as lab_module
from worldwise.lab.build_root import Making
from worldwise.lab.debian.lock import Lock, Package, Wanted, wanted_package
from worldwise.lab.debian.store import Store
from worldwise.lab.lab import Lab

# Seconds after which a test that waits for another thread or process has failed.
PATIENCE = 30


def make_lock(name: str) -> Lock:
    package = Package(
        name=name, version="1", architecture="amd64", source=name, file=f"{name}_1.deb", size=3, sha256="d" * 64
    )
    return Lock(format=1, suite="trixie", lab=[package], target=[], sources=[])


class Said(io.StringIO):
    """What is printed, and a signal once a word was."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word
        self.heard = threading.Event()

    def write(self, text: str) -> int:
        done = super().write(text)
        if self.word in self.getvalue():
            self.heard.set()
        return done


def console(file: io.StringIO) -> Console:
    return Console(file=file, width=200)


@pytest.fixture(autouse=True)
def nothing_to_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "ensure", lambda *_: None)
    monkeypatch.setattr(lab_module, "require_host", lambda: None)


def finish(making: Making, directory: Path) -> None:
    """A root of nothing, as `Lab.problem` wants it."""
    (directory / "root").mkdir(parents=True)
    (directory / "lab.json").write_text(f'{{"digest": "{making.digest}", "witness": {{}}}}')
    (directory / "files.jsonl").write_text("")


def test_one_makes_a_root_and_who_also_wants_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, two processes make the same root at once, or the second makes it again."""
    waits = Said("another worldwise is at work on the lab; waiting for it")
    built: list[str] = []

    def make(making: Making, directory: Path) -> None:
        built.append(making.digest)
        second.start()
        assert waits.heard.wait(PATIENCE)
        finish(making, directory)

    monkeypatch.setattr(Making, "make", make)
    monkeypatch.setattr(Lab, "list_contents", lambda _: "")
    monkeypatch.setattr("worldwise.lab.contents.Contents.problem", lambda *_: "")
    found: list[bool] = []
    later = Lab(make_lock("a"), cache=tmp_path, console=console(waits))
    second = threading.Thread(target=lambda: found.append(later.ensure()))
    assert Lab(make_lock("a"), cache=tmp_path, console=console(io.StringIO())).ensure()
    second.join(PATIENCE)
    assert (len(built), found) == (1, [False])


def test_two_roots_are_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a root waits for an unrelated one."""
    both = threading.Barrier(2)

    def make(making: Making, directory: Path) -> None:
        both.wait(PATIENCE)
        finish(making, directory)

    monkeypatch.setattr(Making, "make", make)
    labs = [Lab(make_lock(name), cache=tmp_path, console=console(io.StringIO())) for name in ("a", "b")]
    found: list[bool] = []
    threads = [threading.Thread(target=lambda place=place: found.append(place.ensure())) for place in labs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert found == [True, True]


def test_a_build_leaves_what_another_root_is_made_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a build removes the folder in which another process is just unpacking."""
    one, other = (Lab(make_lock(name), cache=tmp_path, console=console(io.StringIO())) for name in ("a", "b"))
    one.labs.mkdir()
    left = one.labs / f".building-{one.digest[:12]}-killed00"
    busy = one.labs / f".building-{other.digest[:12]}-atwork00"
    for folder in (left, busy):
        folder.mkdir()
    for method in ("make_repository", "make_root", "require_programs", "describe"):
        monkeypatch.setattr(Making, method, lambda *_: None)
    monkeypatch.setattr("worldwise.lab.build_root.settle_root", lambda _: None)
    one.build()
    assert not left.exists()
    assert busy.is_dir()
    assert one.directory.is_dir()


def use_by_ensure(place: Lab) -> None:
    assert place.ensure()


def use_by_require(place: Lab) -> None:
    place.require()


def use_by_command(place: Lab) -> None:
    assert place.command(["true"])


@pytest.mark.parametrize("use", [use_by_ensure, use_by_require, use_by_command])
def test_who_uses_a_root_holds_it(use: Callable[[Lab], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, `cache clean` can remove the root of a command at work."""
    place = Lab(make_lock("a"), cache=tmp_path, console=console(io.StringIO()))
    monkeypatch.setattr(Making, "make", finish)
    monkeypatch.setattr("worldwise.lab.sandbox.bubblewrap.shutil.which", lambda name: f"/usr/bin/{name}")
    if use is not use_by_ensure:
        (place.root).mkdir(parents=True)
        monkeypatch.setattr(Lab, "problem", lambda *_: "")
    try:
        with cache_locks.alone(place.cache / cache_locks.CACHE_LOCK) as free:
            assert free
        use(place)
        for path in (place.cache / cache_locks.CACHE_LOCK, cache_locks.root_lock(place.directory)):
            with cache_locks.alone(path) as free:
                assert not free
    finally:
        cache_locks.release(tmp_path)


def python(script: str, *words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", script, *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(paths.REPOSITORY / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_process_that_is_killed_leaves_nothing_locked(tmp_path: Path) -> None:
    """If this fails, a root can never be made again after a crash."""
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom worldwise.lab.debian.lock import load_lock\n"
        "from worldwise.lab.lab import Lab\n"
        "place = Lab(load_lock(), cache=Path(sys.argv[1]))\nplace.labs.mkdir()\n"
        "with place.locked_folder():\n    print(place.directory.name, flush=True)\n    time.sleep(600)"
    )
    process = python(script, tmp_path)
    try:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        lock = FileLock(tmp_path / "labs" / f"{name}.lock")
        with pytest.raises(TimeoutError):
            lock.acquire(timeout=0)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    lock.acquire(timeout=0)
    lock.release()


# --- downloads ---


def serve(folder: Path, content: bytes, name: str = "a") -> Wanted:
    """A mirror with one package in a folder."""
    package = Package(
        name=name,
        version="1",
        architecture="amd64",
        source=name,
        file=f"{name}_1_amd64.deb",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    item = wanted_package(package)
    path = folder / item.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return item


FETCH = """
import json, sys
from pathlib import Path
from worldwise.lab.debian.lock import Package, wanted_package
from worldwise.lab.debian.store import Store
store, package, purpose = sys.argv[1:]
Store(Path(store), "trixie").ensure([wanted_package(Package(**json.loads(package)))], purpose)
"""


def test_two_roots_that_want_the_same_file_download_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, two processes write the same file, or each downloads all that the other has already."""
    item = serve(tmp_path / "mirror", b"content")
    monkeypatch.setenv("WORLDWISE_DEBIAN_MIRROR", f"file:{tmp_path / 'mirror'}")
    store = tmp_path / "store"
    (store / "sha256").mkdir(parents=True)
    assert isinstance(item.file, Package)
    words = json.dumps(vars(item.file))
    with FileLock(store / "lock"):
        processes = [python(FETCH, store, words, purpose) for purpose in ("the lab", "the root render")]
        for process in processes:
            assert process.stderr is not None
            assert "another worldwise is downloading; waiting for it" in process.stderr.readline()
    said = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    lines = re.findall(r"worldwise: downloading .*", "".join(said))
    assert len(lines) == 1
    assert re.fullmatch(r"worldwise: downloading the (lab|root render): 1 file, 7 bytes", lines[0])
    assert Store(store, "trixie").verified(item.file)
    assert sorted(path.name for path in store.iterdir()) == ["lock", "sha256"]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (3_449_000, "3.4 MB"),
        (999_949_999, "999.9 MB"),
        (999_950_000, "1.00 GB"),
        (12_345_000_000, "12.35 GB"),
    ],
)
def test_a_size_is_said_as_it_is(size: int, text: str) -> None:
    """If this fails, a download is `0 MB`."""
    assert space_text(size) == text


def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, items: Sequence[Wanted]) -> str:
    monkeypatch.undo()
    monkeypatch.setenv("WORLDWISE_DEBIAN_MIRROR", f"file:{tmp_path / 'mirror'}")
    said = io.StringIO()
    Store(tmp_path / "store", "trixie", console(said)).ensure(items, "tf-a")
    return said.getvalue()


def test_one_line_tells_what_is_downloaded_and_for_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a first run says `1 files, 0 MB`, again and again."""
    one = serve(tmp_path / "mirror", b"x" * 2000)
    two = serve(tmp_path / "mirror", b"y" * 3000, "b")
    # What two images need is downloaded once.
    assert fetched(tmp_path, monkeypatch, [one, two, one]) == "worldwise: downloading tf-a: 2 files, 5 kB\n"
    assert fetched(tmp_path, monkeypatch, [one, two]) == ""
