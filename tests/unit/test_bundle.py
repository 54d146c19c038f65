# SPDX-License-Identifier: BSD-2-Clause
"""Archives of what the locks name, and second sources: the lab outlives its mirrors."""

import contextlib
import dataclasses
import functools
import hashlib
import http.server
import io
import json
import os
import random
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from test_image import HostLab, make_lock

import hostile
from command_line import Call
from received import little_disk, little_memory
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.lab import bundle
from worldwise.lab.debian.lock import Package, Wanted, wanted_package
from worldwise.lab.debian.mirrors import APT_HELPER, MIRROR_VARIABLE
from worldwise.lab.debian.second_sources import CRATES, PACKAGES, SOURCES_VARIABLE, second_sources
from worldwise.lab.debian.store import Store
from worldwise.lab.image import Crate, Fetch, ImageStore, Recipe

CONTENTS = (b"one", b"two" * 1000, b"three")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def entries(cache: Path, *, there: bool = True) -> list[bundle.Entry]:
    """Two packages and a crate, in the cache or to be taken there."""
    found = []
    for number, content in enumerate(CONTENTS):
        folder = cache / "downloads" / ("crates" if number == 2 else "sha256")
        label, path = f"package{number} 1.0 (amd64)", folder / digest(content)
        entry = bundle.Entry(digest(content), number == 2, label, path, 2**20)
        if there:
            folder.mkdir(parents=True, exist_ok=True)
            entry.path.write_bytes(content)
        found.append(entry)
    return found


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "lab.tar"
    assert bundle.export(path, {"main": "a" * 64}, entries(tmp_path / "one")) == path.stat().st_size
    return path


def test_what_is_exported_is_imported(archive: Path, tmp_path: Path) -> None:
    wanted = entries(tmp_path / "other", there=False)
    assert bundle.take(archive, wanted) == bundle.Imported(3, 0, 0)
    assert [entry.path.read_bytes() for entry in wanted] == list(CONTENTS)
    assert {entry.path.stat().st_mode & 0o777 for entry in wanted} == {0o644}
    assert bundle.take(archive, wanted) == bundle.Imported(0, 3, 0)
    # What another lock names is left out; what is damaged is replaced.
    wanted[0].path.write_bytes(b"ONE")
    assert bundle.take(archive, wanted[:2]) == bundle.Imported(1, 1, 1)
    assert not [path for path in tmp_path.rglob("*") if "partial" in path.name]


def test_the_same_files_give_the_same_archive(archive: Path, tmp_path: Path) -> None:
    """If this fails, nobody can tell by its digest that an archive is of a lock."""
    again = tmp_path / "again.tar"
    found = entries(tmp_path / "two")
    bundle.export(again, {"main": "a" * 64}, [*reversed(found), found[0]])
    assert again.read_bytes() == archive.read_bytes()
    with tarfile.open(archive) as opened:
        names = opened.getnames()
    assert names == ["bundle.json", *sorted(entry.member for entry in found)]


@pytest.mark.parametrize("size", [0, 300, 2000, 5000, -11_000])
def test_a_cut_archive_is_told(size: int, archive: Path, tmp_path: Path) -> None:
    """Wherever it ends: what was whole is kept, and nothing else."""
    archive.write_bytes(archive.read_bytes()[:size])
    wanted = entries(tmp_path / "other", there=False)
    with pytest.raises(WorldwiseError, match=r"is cut off|is not an archive") as caught:
        bundle.take(archive, wanted)
    assert str(archive) in caught.value.message
    assert "lab export" in caught.value.hint
    for entry in wanted:
        assert not entry.path.exists() or digest(entry.path.read_bytes()) == entry.sha256


def test_another_content_is_told_and_not_kept(archive: Path, tmp_path: Path) -> None:
    archive.write_bytes(archive.read_bytes().replace(b"twotwo", b"TWOtwo", 1))
    wanted = entries(tmp_path / "other", there=False)
    with pytest.raises(WorldwiseError, match=r"package1 1.0 \(amd64\) is not the file that was locked") as caught:
        bundle.take(archive, wanted)
    assert wanted[1].sha256 in caught.value.message
    assert not wanted[1].path.exists()


def evil(path: Path, listed: list[str], name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> None:
    manifest = json.dumps({"format": 1, "roots": {}, "files": dict.fromkeys(listed, "")}).encode()
    with tarfile.open(path, "w") as archive:
        for member, content in (("bundle.json", manifest), (name, b"content")):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            if member == name:
                info.type, info.linkname = kind, target
            archive.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../../outside", tarfile.REGTYPE),
        ("/etc/outside", tarfile.REGTYPE),
        (f"{PACKAGES}/../{'a' * 64}", tarfile.REGTYPE),
        (f"{PACKAGES}/{'a' * 64}", tarfile.SYMTYPE),
        (f"{PACKAGES}/{'a' * 64}", tarfile.CHRTYPE),
        ("unlisted", tarfile.REGTYPE),
    ],
)
def test_a_strangers_archive_writes_nothing_elsewhere(name: str, kind: bytes, tmp_path: Path) -> None:
    path = tmp_path / "evil.tar"
    evil(path, [name] if name != "unlisted" else [], name, kind, "/etc/passwd")
    with pytest.raises(WorldwiseError, match=r"is not part of this archive|is neither a file nor a folder in it"):
        bundle.take(path, entries(tmp_path / "other", there=False))
    assert not (tmp_path / "other").exists()


def test_what_is_no_archive_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(WorldwiseError, match="x: No such file"):
        bundle.take(path, [])
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("README"))
    with pytest.raises(WorldwiseError, match=r"is not an archive of `lab export`"):
        bundle.take(path, [])


def test_import_by_the_command_line(tmp_path: Path, archive: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    answer = call("lab", "import", archive)
    said = "0 files taken, 0 were there, 3 left out: no lock of this checkout names them\n"
    assert (answer.status, answer.out) == (0, said)
    answer = call("lab", "import", tmp_path / "no.tar")
    assert answer.status == 1
    assert "no.tar: No such file" in answer.err
    if APT_HELPER.exists():
        answer = call("lab", "import", f"file://{archive}")
        assert (answer.status, answer.out.split(",")[0]) == (0, "0 files taken")
        answer = call("lab", "import", f"file://{tmp_path}/no.tar")
        assert answer.status == 1
        assert "could not be fetched" in answer.err


# --- second sources ---


@pytest.fixture
def unpacked(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive, unpacked; the only mirror is empty."""
    if not APT_HELPER.exists():
        pytest.skip("apt is not on this machine")
    path = tmp_path / "second"
    path.mkdir()
    # tarfile's filters begin with Python 3.11.4, and Debian 12 has 3.11.2.
    subprocess.run(["tar", "-xf", archive, "-C", path], check=True)
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv(MIRROR_VARIABLE, f"file://{tmp_path / 'mirror'}")
    return path


@pytest.fixture
def served(unpacked: Path) -> Iterator[str]:
    """The same behind HTTP, on loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(unpacked)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", "trixie", safe_text.console(stderr=True))


def wanted(content: bytes) -> Wanted:
    package = Package(
        name="gone",
        version="1.0",
        architecture="amd64",
        source="gone",
        file="gone_1.0_amd64.deb",
        size=len(content),
        sha256=digest(content),
    )
    return wanted_package(package)


def test_a_second_source_is_tried_before_the_error(
    unpacked: Path, served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, the first command of a newcomer ends at the next point release."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    item, other = wanted(CONTENTS[0]), wanted(CONTENTS[1])
    with pytest.raises(WorldwiseError, match=r"gone 1.0 .* has vanished from the mirror") as caught:
        store(tmp_path).ensure([item])
    assert "`worldwise lab import FILE`" in caught.value.hint
    assert SOURCES_VARIABLE in caught.value.hint

    monkeypatch.setenv(SOURCES_VARIABLE, str(unpacked))
    store(tmp_path).ensure([item])
    assert store(tmp_path).path(item.file).read_bytes() == CONTENTS[0]
    assert not store(tmp_path).path(item.file).is_symlink()
    monkeypatch.setenv(SOURCES_VARIABLE, f"{tmp_path / 'mirror'} {served}")
    store(tmp_path).ensure([item, other])
    assert store(tmp_path).path(other.file).read_bytes() == CONTENTS[1]
    crate = store(tmp_path).crate(digest(CONTENTS[2]))
    assert crate is not None
    assert crate.read_bytes() == CONTENTS[2]


def test_a_second_source_is_verified(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, content in ((PACKAGES, CONTENTS[0]), (CRATES, CONTENTS[2])):
        (unpacked / folder / digest(content)).write_bytes(b"wrong")
    monkeypatch.setenv(SOURCES_VARIABLE, str(unpacked))
    with pytest.raises(WorldwiseError, match="has vanished"):
        store(tmp_path).ensure([wanted(CONTENTS[0])])
    assert not store(tmp_path).path(wanted(CONTENTS[0]).file).exists()
    assert store(tmp_path).crate(digest(CONTENTS[2])) is None
    assert not store(tmp_path).crate_path(digest(CONTENTS[2])).exists()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("endless", ["of a length", "without an end"])
def test_a_server_that_never_ends_is_left(endless: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a second source that lies fills the disk."""
    if not APT_HELPER.exists():
        pytest.skip("apt is not on this machine")
    sent = [0]

    class Endless(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            if endless == "of a length":
                self.send_header("Content-Length", str(2**40))
            self.end_headers()
            with contextlib.suppress(OSError):
                while sent[0] < 2**29:
                    sent[0] += self.wfile.write(bytes(2**20))

        def log_message(self, *_: object) -> None:
            pass

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv(MIRROR_VARIABLE, f"file://{tmp_path / 'mirror'}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        monkeypatch.setenv(SOURCES_VARIABLE, f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(WorldwiseError, match="has vanished"):
            store(tmp_path).ensure([wanted(CONTENTS[0])])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    # apt tries three times; without the limit it would have taken all.
    assert sent[0] < 2**28


def test_second_sources_are_folders_and_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SOURCES_VARIABLE, " /a/b/ http://127.0.0.1:80/x/  c http://127.0.0.1:80/x file:///d ")
    assert second_sources() == ["file:///a/b", "http://127.0.0.1:80/x", f"file://{Path.cwd()}/c", "file:///d"]


def test_a_crate_that_is_there_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a lab without network has no libraries."""
    scripts = tmp_path / "recipes"
    scripts.mkdir()
    (scripts / "common.sh").write_text("set -u\n")
    (scripts / "fetch.sh").write_text("echo tried >&2; exit 1\n")
    (scripts / "make.sh").write_text("cp -r small /out/source\n")
    monkeypatch.setattr("worldwise.lab.image.RECIPES", scripts)
    monkeypatch.setattr("worldwise.lab.image.require_space", lambda *_: None)
    packed = tmp_path / "small.crate"
    (tmp_path / "lib.c").write_text("int x;\n")
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(tmp_path / "lib.c", "small-1.0.0/src/lib.c")
    crate = Crate("small", "1.0.0", digest(packed.read_bytes()))
    recipe = Recipe("crate-small", "make.sh", ("source/src/lib.c",), fetch=Fetch("fetch.sh", "it", "look", crate))
    (tmp_path / "cache").mkdir()

    class Unconnected(HostLab):
        """Has no network, whoever asks for it."""

        def command(self, argv: Sequence[str | Path], **options: Any) -> list[str]:
            return super().command(argv, **options | {"network": False})

    lab = Unconnected(make_lock(), tmp_path / "cache")
    with pytest.raises(WorldwiseError, match="it could not be fetched"):
        ImageStore(lab).get(recipe)
    kept = lab.store.crate_path(crate.sha256)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(packed.read_bytes())
    assert ImageStore(lab).get(recipe).file("source/src/lib.c").read_text() == "int x;\n"
    assert ImageStore(lab).crate_file(recipe) == kept


def test_a_spoilt_archive_is_an_error_or_the_same_files(archive: Path, tmp_path: Path) -> None:
    """A hundred and fifty archives, each with some bytes changed. If this fails, one of them ends in a traceback."""
    chance = random.Random(21)
    good = archive.read_bytes()
    refused = 0
    for number in range(150):
        data = bytearray(good)
        # The headers are most of what can go wrong: every one begins a block.
        begin = chance.choice((0, *range(0, len(data) - 512, 512)))
        for _ in range(chance.randint(1, 4)):
            data[begin + chance.randrange(512)] = chance.randrange(256)
        archive.write_bytes(data)
        wanted = entries(tmp_path / str(number), there=False)
        try:
            bundle.take(archive, wanted)
        except WorldwiseError:
            refused += 1
        for entry in wanted:
            assert not entry.path.exists() or digest(entry.path.read_bytes()) == entry.sha256
    assert refused > 75


# --- archives that are attacks ---


MANIFEST = json.dumps({"format": 1, "roots": {}, "files": {f"{PACKAGES}/{digest(CONTENTS[0])}": ""}}).encode()
FIRST = hostile.file(b"bundle.json", MANIFEST)
LOCKED = f"{PACKAGES}/{digest(CONTENTS[0])}".encode()
ATTACKS: dict[str, tuple[bytes, str]] = {
    "bundle.json is a link to a sparse file": (
        bytes(hostile.header(b"bundle.json", 0, tarfile.SYMTYPE, b"large")) + hostile.sparse(b"large", 4 * 2**30),
        "'bundle.json' is neither a file nor a folder",
    ),
    "bundle.json is sparse": (bytes(hostile.sparse(b"bundle.json", 4 * 2**30)), "is neither a file nor a folder"),
    "bundle.json is a link to itself": (
        bytes(hostile.header(b"bundle.json", 0, tarfile.SYMTYPE, b"bundle.json")),
        "is neither a file nor a folder",
    ),
    "a locked file is sparse": (FIRST + hostile.sparse(LOCKED, 3 * 2**30), "is neither a file nor a folder"),
    "a locked file is longer than it was locked": (
        FIRST + hostile.file(LOCKED, b"one" + bytes(8 * 2**20)),
        r"of at most 3 bytes; it has 8,388,611",
    ),
    "a locked file is there twice": (FIRST + hostile.file(LOCKED, CONTENTS[0]) * 2, "is not part of this archive"),
    "no end": (FIRST + hostile.file(LOCKED, CONTENTS[0]), "is cut off"),
    **{what: (FIRST + member, "") for what, member in (hostile.MEMBERS | hostile.NAMES).items()},
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("what", ATTACKS)
def test_an_attack_by_an_archive_is_told(what: str, tmp_path: Path) -> None:
    """If this fails, an archive of two kilobytes fills the memory or the disk, hangs the tool or is a traceback."""
    data, says = ATTACKS[what]
    path = tmp_path / "evil.tar"
    path.write_bytes(data if what == "no end" else data + hostile.END)
    wanted = entries(tmp_path / "cache", there=False)
    wanted[0] = dataclasses.replace(wanted[0], most=len(CONTENTS[0]))
    with little_memory(), little_disk(), pytest.raises(WorldwiseError, match=says or ".") as caught:
        bundle.take(path, wanted)
    assert caught.value.message.startswith(f"{path}: ")
    assert caught.value.message.isprintable()
    assert "lab export" in caught.value.hint
    for entry in wanted:
        assert not entry.path.exists() or digest(entry.path.read_bytes()) == entry.sha256


def test_a_pipe_is_no_archive(tmp_path: Path) -> None:
    """If this fails, `lab import` of a FIFO waits for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WorldwiseError, match="pipe: it is a FIFO, not a file"):
        bundle.take(tmp_path / "pipe", [])
