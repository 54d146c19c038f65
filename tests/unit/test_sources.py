# SPDX-License-Identifier: BSD-2-Clause
"""Where a locked file comes from when its mirror has dropped it: the archive of snapshots, an artefact, an archive.

The stand-ins have the addresses of the real ones: `/archive/debian/TIME/pool/...` and `/file/SHA1`; `/v2/NAME/...`.
"""

import contextlib
import hashlib
import json
import subprocess
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from test_lab import Mirror, package, quiet

from local_web import Handler, LocalServer, no_proxy, serving
from worldwise.base.errors import VanishedError, WorldwiseError
from worldwise.lab import bundle
from worldwise.lab.debian import mirrors as mirrors_module
from worldwise.lab.debian import snapshots, web
from worldwise.lab.debian.artefact import KIND
from worldwise.lab.debian.lock import Wanted, load_lock, parse_lock, wanted_package
from worldwise.lab.debian.mirrors import APT_HELPER
from worldwise.lab.debian.second_sources import SOURCES_VARIABLE
from worldwise.lab.debian.snapshots import SNAPSHOTS_VARIABLE, addresses, parse_settings, template
from worldwise.lab.debian.sources import FROM_VARIABLE
from worldwise.lab.debian.store import Store
from worldwise.lab.image import Crate
from worldwise.lab.roots import RECIPE, ROOTS, Root
from worldwise.lab.yank_check import said_by_index, said_by_pip, yanked_crates

TIME = "20261120T211544Z"
CONTENT = b"what was locked " * 1000


class Web(LocalServer):
    """A server of files by path; `before` may answer in their place, and says so by True."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.busy = self.at_once = 0
        self.before: Callable[[Handler], bool] = lambda _: False
        lock = threading.Lock()

        class Answering(Handler):
            counted = False

            def do_GET(handler) -> None:
                with lock:
                    self.asked.append(handler.path)
                    self.busy += 1
                    self.at_once = max(self.at_once, self.busy)
                    handler.counted = True
                try:
                    with contextlib.suppress(OSError):
                        if not self.before(handler):
                            answer(handler, 200 if handler.path in self.files else 404, self.files.get(handler.path))
                finally:
                    handler.leave()

            def leave(handler) -> None:
                with lock:
                    self.busy -= handler.counted
                    handler.counted = False

            def end_headers(handler) -> None:
                # Who has the answer may ask again before this thread goes on.
                handler.leave()
                super().end_headers()

        super().__init__(Answering)

    def add(self, item: Wanted, content: bytes = CONTENT) -> None:
        self.files[f"/archive/debian/{item.time}/{item.path}"] = content


def answer(handler: Handler, status: int, content: bytes | None = None, **fields: str) -> bool:
    handler.send_response(status)
    for name, value in fields.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(content or b"")))
    handler.end_headers()
    handler.wfile.write(content or b"")
    return True


@pytest.fixture
def server() -> Iterator[Web]:
    with serving(Web()) as made:
        yield made


@pytest.fixture(autouse=True)
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """No proxy, a mirror that has dropped everything, one try, short pauses."""
    if not APT_HELPER.exists():
        pytest.skip("apt is not on this machine")
    no_proxy(monkeypatch)
    for name in (SOURCES_VARIABLE, FROM_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, "none")
    monkeypatch.setattr(mirrors_module, "apt_options", lambda: ["-o", "Acquire::Retries=0"])
    monkeypatch.setattr(web, "PAUSE", 0.05)
    return Mirror(tmp_path, monkeypatch)


def item(name: str = "a", content: bytes = CONTENT, time: str = TIME) -> Wanted:
    sha1 = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    return wanted_package(package(name, content, sha1=sha1), time)


def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", "trixie", quiet())


# --- what the lock says ---


@pytest.mark.parametrize("root", ROOTS.values(), ids=lambda root: root.name)
def test_a_lock_says_where_each_file_was(root: Root) -> None:
    """If this fails, the archive of snapshots cannot be asked when the mirrors have moved on."""
    ours = load_lock(root.lock)
    assert all(one.time and one.file.sha1 for one in ours.wanted())
    assert {source.suite for source in ours.sources} <= {one.suite for one in ours.snapshots}


def test_where_a_file_is_found_is_no_part_of_the_digest() -> None:
    """If this fails, every count must be measured anew because of an address."""

    def without(found: Any) -> Any:
        if isinstance(found, list):
            return [without(one) for one in found]
        if not isinstance(found, dict):
            return found
        dropped = {"sha1", "snapshots"} | ({"suite"} if "files" in found else set())
        return {key: without(value) for key, value in found.items() if key not in dropped}

    ours = load_lock()
    bare = parse_lock(json.dumps(without(asdict(ours))))
    assert bare.digest(RECIPE) == ours.digest(RECIPE)
    # As it was computed before a lock said anything of this kind.
    content = {"recipe": RECIPE, "lock": without(asdict(ours))}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == ours.digest(RECIPE)
    # All else is a part of it.
    assert replace(ours, suite="sid").digest(RECIPE) != ours.digest(RECIPE)


# --- where the archive of snapshots is ---

APT = """Acquire::Snapshots::URI "";
Acquire::Snapshots::URI::Origin "";
Acquire::Snapshots::URI::Origin::Debian "https://origin.test/archive/debian/@SNAPSHOTID@/";
Acquire::Snapshots::URI::Host "";
Acquire::Snapshots::URI::Host::mirror.test "https://host.test/archive/@PATH@/@SNAPSHOTID@/";
"""


def test_apt_knows_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_settings(APT) == "https://origin.test/archive/debian/@SNAPSHOTID@"
    over = 'Acquire::Snapshots::URI::Override::Origin::debian "http://ours.test/snap/@SNAPSHOTID@";\n'
    assert parse_settings(APT + over) == "http://ours.test/snap/@SNAPSHOTID@"
    hosts = APT.replace("Origin::Debian", "Origin::Ubuntu")
    assert parse_settings(hosts) == ""
    assert parse_settings(hosts, ["mirror.test"]) == "https://host.test/archive/debian/@SNAPSHOTID@"
    # An address that leads to a file of this machine is none.
    assert parse_settings('Acquire::Snapshots::URI::Origin::Debian "file:///@SNAPSHOTID@/";') == ""
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, "https://chosen.test/archive/debian/")
    assert template() == "https://chosen.test/archive/debian/@SNAPSHOTID@"
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, "none")
    assert template() == ""
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, "chosen.test")
    with pytest.raises(WorldwiseError, match=f"{SNAPSHOTS_VARIABLE}=chosen.test"):
        template()


def test_a_file_is_sought_by_time_then_by_sha1() -> None:
    one = item("libx++")
    where = "https://a.test/archive/debian/@SNAPSHOTID@"
    pool = "pool/main/libx/libx++/libx++_2.0-1_amd64.deb"
    sha1 = f"https://a.test/file/{one.file.sha1}"
    assert addresses(where, one) == [f"https://a.test/archive/debian/{TIME}/{pool}", sha1]
    assert addresses(where, item("libx++", time="")) == [sha1]
    # Who lays it out otherwise is asked by time alone.
    assert addresses("https://a.test/@SNAPSHOTID@", one) == [f"https://a.test/{TIME}/{pool}"]
    assert addresses(where, wanted_package(package("a"))) == []


# --- asking it ---


def test_the_archive_of_snapshots_has_what_the_mirror_dropped(
    server: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, f"{server.address}/archive/debian")
    by_time, by_sha1 = item("a"), item("b", b"another")
    server.add(by_time)
    server.files[f"/file/{by_sha1.file.sha1}"] = b"another"
    store(tmp_path).ensure([by_time, by_sha1])
    assert store(tmp_path).path(by_sha1.file).read_bytes() == b"another"
    # Kept: the second time nobody is asked.
    server.asked.clear()
    store(tmp_path).ensure([by_time, by_sha1])
    assert server.asked == []


def test_one_that_lies_is_not_believed(server: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong bytes, and more bytes than are locked: nothing of them is kept, and the next source is tried."""
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, f"{server.address}/archive/debian")
    one = item()
    for content in (CONTENT[:-1] + b"!", CONTENT + b"!"):
        server.add(one, content)
        with pytest.raises(VanishedError, match="has vanished from the mirror") as caught:
            store(tmp_path).ensure([one])
        assert "the archive of snapshots: " in caught.value.details
        assert [path.name for path in (tmp_path / "store").rglob("*") if path.is_file()] == ["lock"]
    kept = tmp_path / "kept" / "downloads" / "sha256" / one.file.sha256
    kept.parent.mkdir(parents=True)
    kept.write_bytes(CONTENT)
    monkeypatch.setenv(SOURCES_VARIABLE, str(tmp_path / "kept"))
    store(tmp_path).ensure([one])


def test_pauses_that_it_asks_for_are_kept(server: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the archive shuts us out: too many connections, or no pause after 429."""
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, f"{server.address}/archive/debian")
    items = [item(f"p{number}", b"%d" % number) for number in range(8)]
    for number, one in enumerate(items):
        server.add(one, b"%d" % number)
    refused = {one.path: [503, 429] for one in items[:3]}
    moments: list[float] = []

    def before(handler: Handler) -> bool:
        time.sleep(0.02)
        path = handler.path.removeprefix(f"/archive/debian/{TIME}/")
        if not refused.get(path):
            return False
        moments.append(time.monotonic())
        return answer(handler, refused[path].pop(), Retry_After="1")

    server.before = before
    store(tmp_path).ensure(items)
    assert all(store(tmp_path).verified(one.file) for one in items)
    assert server.at_once <= web.AT_A_TIME
    # No bound on how slow: a bound on how fast.
    assert moments[-1] - moments[0] >= 1


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("86400", "it asks to wait 86400 s, which is too long"),
        ("Wed, 01 Jan 2200 00:00:00 GMT", "which is too long"),
        ("", "429  Too Many Requests"),
    ],
)
def test_one_that_asks_for_too_much_is_left(
    after: str, words: str, server: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a server keeps a user waiting for as long as it likes."""
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, f"{server.address}/archive/debian")
    monkeypatch.setattr(web, "PAUSE", 0.001)
    server.before = lambda handler: answer(handler, 429, None, **({"Retry_After": after} if after else {}))
    with pytest.raises(VanishedError) as caught:
        store(tmp_path).ensure([item(str(number), b"%d" % number) for number in range(9)])
    assert words in caught.value.details
    # It is left for all files, not for each.
    assert len(server.asked) <= (web.AT_A_TIME if after else 9 * 5)


def test_pauses_have_a_sum(monkeypatch: pytest.MonkeyPatch, server: Web, tmp_path: Path) -> None:
    monkeypatch.setattr(web, "ALL", 0.5)
    server.before = lambda handler: answer(handler, 429, Retry_After="1")
    why = web.Server("it").fetch(f"{server.address}/x", tmp_path / "x", 5)
    assert "it asked for more than 0 s of pauses in all" in why


def test_a_slow_one_is_left(server: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then, in the header or in the content, is not waited for as long as it comes."""
    monkeypatch.setattr(web, "LEAST", 0.5)
    monkeypatch.setattr(web, "SLOWEST", 10**9)

    def drip(handler: Handler) -> bool:
        for _ in range(1000):
            handler.wfile.write(b"H")
            time.sleep(0.02)
        return True

    server.before = drip
    why = web.Server("it").fetch(f"{server.address}/x", tmp_path / "x", 5)
    assert why.startswith("timed out")
    assert not (tmp_path / "x").exists()


def test_it_leads_to_no_file_of_this_machine(server: Web, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(CONTENT)
    server.before = lambda handler: answer(handler, 302, Location=f"file://{tmp_path}/secret")
    assert web.Server("it").fetch(f"{server.address}/x", tmp_path / "x", 10**6)
    assert not (tmp_path / "x").exists()


# --- one kind of source alone ---


def test_one_kind_of_source_can_be_tried_alone(
    server: Web, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, the nightly job tells that a source works when another one did."""
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, f"{server.address}/archive/debian")
    one = item()
    mirror.add(one, CONTENT)
    monkeypatch.setenv(FROM_VARIABLE, "snapshots second")
    with pytest.raises(WorldwiseError, match="from the archive of snapshots"):
        store(tmp_path).ensure([one])
    server.add(one)
    store(tmp_path).ensure([one])
    monkeypatch.setenv(FROM_VARIABLE, "snapshot")
    with pytest.raises(WorldwiseError, match="snapshot is no kind of source") as caught:
        store(tmp_path / "other").ensure([one])
    assert "snapshots" in caught.value.hint


# --- an artefact of a registry, and an archive that is not unpacked ---


class Registry:
    """What a registry does for `HOST/lab/kept`: a manifest and blobs by digest, and a token for who asks."""

    def __init__(self, server: Web, contents: list[bytes]) -> None:
        self.server = server
        digests = [hashlib.sha256(content).hexdigest() for content in contents]
        layers = [{"mediaType": KIND, "digest": f"sha256:{digest}", "size": 1} for digest in digests]
        manifest = json.dumps({"schemaVersion": 2, "layers": layers}).encode()
        self.digest = hashlib.sha256(manifest).hexdigest()
        self.manifest = f"/v2/lab/kept/manifests/sha256:{self.digest}"
        server.files[self.manifest] = manifest
        server.files |= {
            f"/v2/lab/kept/blobs/sha256:{digest}": content for digest, content in zip(digests, contents, strict=True)
        }
        server.files["/token?service=it&scope=repository%3Alab%2Fkept%3Apull"] = b'{"token": "secret-1"}'
        server.before = self.guard

    def guard(self, handler: Handler) -> bool:
        if handler.path.startswith("/token") or handler.headers.get("Authorization") == "Bearer secret-1":
            return False
        challenge = f'Bearer realm="{self.server.address}/token",service="it",scope="repository:lab/kept:pull"'
        return answer(handler, 401, WWW_Authenticate=challenge)

    @property
    def address(self) -> str:
        return f"oci+{self.server.address}/lab/kept@sha256:{self.digest}"


def test_an_artefact_by_digest_is_a_second_source(server: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(server, [CONTENT, b"crate"])
    monkeypatch.setenv(SOURCES_VARIABLE, registry.address)
    store(tmp_path).ensure([item()])
    crate = store(tmp_path).crate(hashlib.sha256(b"crate").hexdigest())
    assert crate
    assert crate.read_bytes() == b"crate"
    asked = [path for path in server.asked if "/blobs/" in path]
    with pytest.raises(VanishedError) as caught:
        store(tmp_path).ensure([item("b", b"not in it")])
    assert "it is not in the artefact" in caught.value.details
    # What the manifest does not list is not asked for.
    assert [path for path in server.asked if "/blobs/" in path] == asked


def test_what_is_exported_for_a_registry_is_taken_from_one(
    server: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive's own manifest and blobs, put where a registry has them; any program that pushes such an archive."""
    one = item()
    (tmp_path / "one").write_bytes(CONTENT)
    entry = bundle.Entry(one.file.sha256, False, one.label, tmp_path / "one", len(CONTENT))
    digest = bundle.export_artefact(tmp_path / "lab.oci.tar", {"main": "a" * 64}, [entry])
    assert bundle.export_artefact(tmp_path / "again.tar", {"main": "a" * 64}, [entry]) == digest
    assert (tmp_path / "again.tar").read_bytes() == (tmp_path / "lab.oci.tar").read_bytes()
    with tarfile.open(tmp_path / "lab.oci.tar") as archive:
        blobs = {
            member.name.rpartition("/")[2]: archive.extractfile(member) for member in archive if "blobs" in member.name
        }
        contents = {name: file.read() for name, file in blobs.items() if file}
        index = archive.extractfile("index.json")
        assert index
        assert json.load(index)["manifests"][0]["digest"] == f"sha256:{digest}"
    assert all(hashlib.sha256(content).hexdigest() == name for name, content in contents.items())
    server.files |= {f"/v2/a/b/blobs/sha256:{name}": content for name, content in contents.items()}
    server.files[f"/v2/a/b/manifests/sha256:{digest}"] = contents[digest]
    monkeypatch.setenv(SOURCES_VARIABLE, f"oci+{server.address}/a/b@sha256:{digest}")
    store(tmp_path).ensure([one])
    assert store(tmp_path).path(one.file).read_bytes() == CONTENT


def test_an_artefact_is_what_its_digest_says(server: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(server, [CONTENT])
    server.files[registry.manifest] += b" "
    monkeypatch.setenv(SOURCES_VARIABLE, registry.address)
    with pytest.raises(VanishedError) as caught:
        store(tmp_path).ensure([item()])
    assert "its manifest has another SHA-256" in caught.value.details
    monkeypatch.setenv(SOURCES_VARIABLE, "oci://host.test/lab:latest")
    with pytest.raises(WorldwiseError, match="is no artefact by digest"):
        store(tmp_path).ensure([item()])


def test_an_archive_is_a_second_source_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network at all, and nothing unpacked."""
    one, digest = item(), hashlib.sha256(b"crate").hexdigest()
    made = tmp_path / "made"
    made.mkdir()
    for name, content in ((one.file.sha256, CONTENT), (digest, b"crate")):
        (made / name).write_bytes(content)
    entries = [
        bundle.Entry(one.file.sha256, False, "a", made / one.file.sha256, len(CONTENT)),
        bundle.Entry(digest, True, "crate", made / digest, 100),
    ]
    bundle.export(tmp_path / "lab.tar", {"main": "a" * 64}, entries)
    monkeypatch.setenv(SOURCES_VARIABLE, str(tmp_path / "lab.tar"))
    store(tmp_path).ensure([one])
    assert store(tmp_path).path(one.file).read_bytes() == CONTENT
    crate = store(tmp_path).crate(digest)
    assert crate
    assert crate.read_bytes() == b"crate"
    (tmp_path / "lab.tar").write_bytes(b"no archive" * 100)
    with pytest.raises(VanishedError) as caught:
        store(tmp_path).ensure([item("b", b"other")])
    assert "lab.tar: it is" in caught.value.details


def test_snapshots_are_asked_after_the_mirrors(server: Web, mirror: Mirror, tmp_path: Path) -> None:
    """They count requests; mirrors do not."""
    assert snapshots.template() == ""
    one = item()
    mirror.add(one, CONTENT)
    server.add(one)
    store(tmp_path).ensure([one])
    assert server.asked == []


# --- registries that keep every version ---


def test_what_was_yanked_is_told() -> None:
    """If this fails, a crate that its author withdrew is measured for years and nobody knows."""
    lines = [
        '{"name":"a","vers":"1.0.0","yanked":true}',
        '{"name":"a","vers":"1.0.1","yanked":false}',
        "1.0",
        "{",
        "[]",
    ]
    assert said_by_index(lines) == {("a", "1.0.0"): True, ("a", "1.0.1"): False}
    warning = (
        "WARNING: The candidate selected for download or install is a yanked version: 'b' candidate (version 2 at "
        "https://host.test/b-2.whl (requires-python:>=3))\nReason for being yanked: it was wrong\n"
    )
    assert said_by_pip(f"{warning}WARNING: another\n") == ["b 2"]
    assert said_by_pip("") == []

    class Said:
        def run(self, argv: list[str], **_: Any) -> Any:
            assert argv[-2:] == ["a@1.0.0", "a@1.0.1"]
            return subprocess.CompletedProcess(argv, 0, "\n".join(lines), "")

    crates = [Crate("a", "1.0.0", "0" * 64), Crate("a", "1.0.1", "1" * 64)]
    said: Any = Said()
    assert yanked_crates(said, crates) == ["a 1.0.0"]
    lines.clear()
    with pytest.raises(WorldwiseError, match=r"does not know the crate a 1.0.0"):
        yanked_crates(said, crates)
