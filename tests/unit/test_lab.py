# SPDX-License-Identifier: BSD-2-Clause
"""The lock, the store and the way into the lab; no network, no lab needed."""

import hashlib
import io
import itertools
import json
import os
import re
import shutil
import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab import lab as lab_module
from worldwise.lab.build_root import build_error, witness_of
from worldwise.lab.debian import mirrors as mirrors_module
from worldwise.lab.debian.lock import (
    File,
    Lock,
    Package,
    SourcePackage,
    Wanted,
    differences,
    dump_lock,
    load_lock,
    parse_lock,
    pool_path,
    wanted_package,
)
from worldwise.lab.debian.mirrors import APT_HELPER, MIRROR_VARIABLE, parse_index_targets
from worldwise.lab.debian.relock import Wish, chosen_packages, load_wish
from worldwise.lab.debian.store import Store
from worldwise.lab.drift import LOCKED_VARIABLE
from worldwise.lab.lab import Lab
from worldwise.lab.roots import ROOTS, Root
from worldwise.lab.sandbox import bubblewrap, lent_folders
from worldwise.lab.sandbox.bubblewrap import SOURCE_DATE_EPOCH
from worldwise.lab.sandbox.identity import Confinement, confinement_of
from worldwise.lab.sandbox.limits import ended
from worldwise.lab.sandbox.processes import told_end


def quiet() -> Console:
    return Console(file=io.StringIO())


def package(name: str, content: bytes = b"x", **changes: str) -> Package:
    values = {
        "version": "1:2.0-1",
        "architecture": "amd64",
        "source": name,
        "file": f"{name}_2.0-1_amd64.deb",
    } | changes
    return Package(name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest(), **values)


def lock(*packages: Package, target: tuple[Package, ...] = ()) -> Lock:
    source = SourcePackage(name="s", version="1", files=[File(file="s_1.dsc", size=1, sha256="0" * 64)])
    return Lock(format=1, suite="trixie", lab=list(packages), target=list(target), sources=[source])


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("gcc-14", "pool/main/g/gcc-14/f.deb"),
        ("libteec", "pool/main/libt/libteec/f.deb"),
        ("lib", "pool/main/lib/lib/f.deb"),
        ("linux-signed-arm64", "pool/main/l/linux-signed-arm64/f.deb"),
    ],
)
def test_pool_path(source: str, path: str) -> None:
    assert pool_path(source, "f.deb") == path


@pytest.mark.parametrize("root", ROOTS.values(), ids=lambda root: root.name)
def test_the_repositorys_locks_are_whole_and_name_no_place(root: Root) -> None:
    ours = load_lock(root.lock)
    wish = load_wish(root.wish)
    assert ours.suite == wish.suites.binary
    assert set(wish.lab.packages) <= {item.qualified for item in ours.lab}
    assert {source.name: source.version for source in ours.sources} == wish.source_versions()
    for architecture, wanted in wish.target.items():
        there = [item for item in ours.target if item.architecture == architecture]
        assert set(wanted.packages) | set(wanted.follow) == {item.follows or item.name for item in there}
    assert {item.architecture for item in ours.lab} <= {"amd64", "all", *wish.foreign()}
    assert root.lock.read_text() == dump_lock(ours)
    assert "://" not in dump_lock(ours)


def test_roots_have_digests_and_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path))
    labs = [lab_module.open_lab(name=name) for name in ROOTS]
    assert len({place.directory for place in labs}) == len(labs) > 2
    assert [place.problem() for place in labs] == ["not built"] * len(labs)
    with pytest.raises(WorldwiseError) as caught:
        labs[1].require()
    assert "root render" in caught.value.message
    assert "lab build render" in caught.value.hint


def test_a_lock_reads_back_and_its_digest_is_its_content() -> None:
    one = lock(package("b"), package("a"))
    text = dump_lock(one)
    again = parse_lock(text)
    assert dump_lock(again) == text
    spread = parse_lock(json.dumps(json.loads(text), indent=4))
    assert spread.digest(1) == again.digest(1)
    assert again.digest(2) != again.digest(1)
    assert lock(package("a"), package("b", b"y")).digest(1) != again.digest(1)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("size", "1"), "size"),
        (("sha256", "123"), "sha256"),
        (("file", "../../etc/passwd"), "file"),
        (("colour", "red"), "colour"),
    ],
)
def test_a_wrong_lock_is_refused_by_key(tmp_path: Path, change: tuple[str, str], word: str) -> None:
    content = json.loads(dump_lock(lock(package("a"))))
    content["lab"][0] |= dict([change])
    path = tmp_path / "lock.json"
    path.write_text(json.dumps(content))
    with pytest.raises(WorldwiseError) as caught:
        load_lock(path)
    assert str(path) in caught.value.message
    assert f"lab.0.{word}" in caught.value.details


def test_a_missing_lock_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError) as caught:
        load_lock(tmp_path / "lock.json")
    assert "lab relock" in caught.value.hint


def test_foreign_packages_are_named_with_their_architecture() -> None:
    one, other = package("libuv1-dev"), package("libuv1-dev", architecture="arm64")
    both = lock(one, other, package("dpkg-dev", architecture="all"))
    assert both.versions().keys() >= {"libuv1-dev", "libuv1-dev:arm64", "dpkg-dev"}
    assert [item.foreign for item in both.lab] == [False, True, False]
    wish = Wish.model_validate(
        {
            "suites": {"binary": "trixie"},
            "lab": {"packages": ["gcc", "libuv1-dev:armhf"]},
            "target": {"arm64": {"packages": []}},
        }
    )
    assert wish.foreign() == ["arm64", "armhf"]
    plan = """NOTE: This is only a simulation!
Inst gcc (4:14.2.0-1 Debian:13.1/stable [amd64])
Inst libuv1-dev:armhf (1.50.0-2 Debian:13.1/stable [armhf])
Inst po-debconf (1.0.21 Debian:13.1/stable [all])
Conf gcc (4:14.2.0-1 Debian:13.1/stable [amd64])
"""
    assert chosen_packages(plan) == ["gcc:amd64=4:14.2.0-1", "libuv1-dev:armhf=1.50.0-2", "po-debconf:amd64=1.0.21"]


def test_the_roots_agree_on_what_the_measured_machine_has() -> None:
    """Programs of one root run with libraries of another, so these must be the same files."""
    ours, theirs = (
        {(item.name, item.architecture): item.sha256 for item in (*found.lab, *found.target) if item.foreign}
        for found in (load_lock(ROOTS[name].lock) for name in ("main", "keycache"))
    )
    shared = ours.keys() & theirs.keys()
    assert {("libc6", "arm64"), ("libssl3t64", "arm64"), ("libteec2", "arm64")} <= shared
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


def test_differences_name_what_came_went_and_changed() -> None:
    old = lock(package("a"), package("b"), package("c"))
    new = lock(package("a", version="1:3.0-1", file="a_3.deb"), package("b", b"y"), package("d"))
    found = {name: (before, after) for name, before, after in differences(old, new)}
    assert found["a"] == ("1:2.0-1", "1:3.0-1")
    assert found["c"] == ("1:2.0-1", "")
    assert found["d"] == ("", "1:2.0-1")
    assert found["b"][0].startswith("sha256 ")
    assert differences(old, old) == []


class Mirror:
    """A mirror in a directory, chosen through the environment."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory / "mirror"
        self.directory.mkdir()
        monkeypatch.setenv(MIRROR_VARIABLE, f"file://{self.directory}")

    def add(self, wanted: Wanted, content: bytes) -> None:
        path = self.directory / wanted.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    if not APT_HELPER.exists():
        pytest.skip("apt is not on this machine")
    return Mirror(tmp_path, monkeypatch)


def test_a_file_is_fetched_once_and_a_damaged_one_again(tmp_path: Path, mirror: Mirror) -> None:
    store = Store(tmp_path / "store", "trixie", quiet())
    # a "+" in the name and a version with an epoch, as the archive has them
    item = wanted_package(package("libx++", b"content", file="libx++_2.0-1+b1_amd64.deb"))
    mirror.add(item, b"content")
    store.ensure([item])
    path = store.path(item.file)
    assert path.read_bytes() == b"content"
    assert not path.is_symlink()
    assert not list(store.directory.glob("partial-*"))
    path.write_bytes(b"CONTENT")
    store.ensure([item])
    assert path.read_bytes() == b"content"
    (mirror.directory / item.path).unlink()
    store.ensure([item])


def test_a_vanished_package_is_named_with_the_way_out(tmp_path: Path, mirror: Mirror) -> None:
    store = Store(tmp_path / "store", "trixie", quiet())
    there, gone = wanted_package(package("here", b"1")), wanted_package(package("gone"))
    mirror.add(there, b"1")
    with pytest.raises(WorldwiseError) as caught:
        store.ensure([there, gone])
    for word in ("gone", "1:2.0-1", "amd64", "vanished"):
        assert word in caught.value.message
    for word in (MIRROR_VARIABLE, "lab relock", "measure every count again"):
        assert word in caught.value.hint
    # what was there is kept
    assert store.verified(there.file)


def test_a_changed_file_is_told_by_both_digests_and_not_kept(tmp_path: Path, mirror: Mirror) -> None:
    store = Store(tmp_path / "store", "trixie", quiet())
    item = wanted_package(package("a", b"right"))
    mirror.add(item, b"wrong")
    with pytest.raises(WorldwiseError) as caught:
        store.ensure([item])
    assert item.file.sha256 in caught.value.message
    assert hashlib.sha256(b"wrong").hexdigest() in caught.value.message
    assert not store.path(item.file).exists()


@pytest.mark.usefixtures("mirror")
def test_no_network_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    # port 9 on this machine: nobody listens
    monkeypatch.setenv(MIRROR_VARIABLE, "http://127.0.0.1:9/debian")
    monkeypatch.setattr(mirrors_module, "apt_options", lambda: ["-o", "Acquire::Retries=0"])
    with pytest.raises(WorldwiseError) as caught:
        Store(tmp_path / "store", "trixie", quiet()).ensure([wanted_package(package("a"))])
    assert "cannot be reached" in caught.value.message


@pytest.mark.usefixtures("mirror")
def test_a_full_disk_is_told_before_the_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 0

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage)
    with pytest.raises(WorldwiseError) as caught:
        Store(tmp_path / "store", "trixie", quiet()).ensure([wanted_package(package("a"))])
    assert "not enough disk space" in caught.value.message


@pytest.mark.parametrize(
    ("line", "codename", "taken"),
    [
        ("http://m/debian|bookworm|main|Debian|Debian", "bookworm", True),
        ("http://m/debian|trixie|main|Debian|Debian", "", True),
        ("http://m/debian|bookworm|main||", "bookworm", True),
        ("http://m/debian|bookworm|main||", "", False),
        ("http://m/debian-security|bookworm-security|main|Debian|Debian-Security", "bookworm", False),
        ("http://m/debian|bookworm-updates|main|Debian|Debian", "bookworm", False),
        ("http://m/ubuntu|noble|main|Ubuntu|Ubuntu", "", False),
        ("https://m/sdk|cloud-sdk|main|sdk|sdk", "bookworm", False),
        ("http://m/debian|bookworm|contrib|Debian|Debian", "bookworm", False),
        ("cdrom:[disc]/|bookworm|main|Debian|Debian", "bookworm", False),
    ],
)
def test_the_hosts_mirror(line: str, codename: str, taken: bool) -> None:
    assert bool(parse_index_targets(line + "\n", codename)) is taken


def make_root(directory: Path) -> None:
    for name in ("usr/bin", "etc", "var", "dev", "proc"):
        (directory / name).mkdir(parents=True)
    (directory / "bin").symlink_to("usr/bin")
    (directory / "usr/bin/cc").write_bytes(b"program")
    (directory / "usr/bin/gcc").symlink_to("cc")


@pytest.fixture
def made(tmp_path: Path) -> Lab:
    """A lab that counts as built."""
    lab = Lab(lock(package("a")), tmp_path, quiet())
    make_root(lab.root)
    witness = witness_of(lab.root)
    assert witness == {"usr/bin/cc": 7, "usr/bin/gcc": 0}
    lab.manifest.write_text(json.dumps({"digest": lab.digest, "witness": witness}))
    return lab


def pairs(command: list[str], option: str) -> list[tuple[str, str]]:
    return [(command[at + 1], command[at + 2]) for at, word in enumerate(command) if word == option]


def test_the_command_shuts_the_host_out(made: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    work = tmp_path / "work"
    work.mkdir()
    command = made.command(
        ["make", "-j2"], binds=[(work, "/w", "rw"), (tmp_path, "/s", "ro")], chdir="/w", env={"A": "b"}
    )
    assert command[:2] == ["env", "-i"]
    assert not any("SECRET" in word for word in command)
    assert "bwrap" in command
    assert command[-2:] == ["make", "-j2"]
    for option in ("--die-with-parent", "--unshare-pid", "--unshare-net", "--clearenv", "--new-session"):
        assert option in command
    assert pairs(command, "--bind") == [(str(work), "/w")]
    shown = pairs(command, "--ro-bind")
    assert [pair for pair in shown if not pair[1].startswith("/proc/")] == [
        (str(made.root / "etc"), "/etc"),
        (str(made.root / "usr"), "/usr"),
        (str(made.root / "var"), "/var"),
        (str(tmp_path), "/s"),
    ]
    assert ("/proc/sys", "/proc/sys") in shown
    assert pairs(command, "--symlink") == [("usr/bin", "/bin")]
    assert dict(pairs(command, "--setenv")) == {
        "A": "b",
        "HOME": "/tmp",
        "LC_ALL": "C.UTF-8",
        "PATH": "/usr/sbin:/usr/bin",
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "TZ": "UTC",
    }


def test_the_network_comes_with_proxy_and_authorities(
    made: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "ca.crt"
    bundle.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    command = made.command(["true"], network=True, tty=True)
    assert "--unshare-net" not in command
    assert "--new-session" not in command
    environment = dict(pairs(command, "--setenv"))
    assert environment["https_proxy"] == "http://proxy:1"
    assert (str(bundle), environment["SSL_CERT_FILE"]) in pairs(command, "--ro-bind")


def test_what_is_started_by_hand_is_the_same_user_each_time_and_nobody_else() -> None:
    """If this fails, a program cannot write what one before it made; or it can write what a build makes."""
    for text in ("0 0 4294967295\n", "0 0 65536\n", "0 0 60005\n"):
        by_hand = confinement_of(0, text, text, None)
        others = {confinement_of(0, text, text, pid).uid for pid in range(5000)}
        assert by_hand == confinement_of(0, text, text, None)
        assert by_hand.kind == "another user" and by_hand.uid > 0
        assert len(others) > 900 and by_hand.uid not in others
        # It is mapped: root can take it.
        assert by_hand.uid < int(text.split()[2])
    assert confinement_of(1000, "", "", None).kind == "user namespace"


def test_what_was_lent_goes_back_to_whom_it_belonged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, `lab enter --lend .` makes root the owner of a user's folder, or gives away a file elsewhere."""
    if os.geteuid() != 0:
        pytest.skip("only root changes owners")
    monkeypatch.setattr(
        lent_folders, "confinement", lambda steady: Confinement("another user", 4712 if steady else 4711)
    )
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    for name in ("mine", "sub/theirs", "sub/groups"):
        (folder / name).write_text("x")
    (tmp_path / "elsewhere").write_text("secret")
    (folder / "linked").hardlink_to(tmp_path / "elsewhere")
    (folder / "to").symlink_to(tmp_path / "elsewhere")
    for path, owner in ((folder, 1000), (folder / "mine", 1000), (folder / "sub", 1000), (folder / "sub/theirs", 1001)):
        os.chown(path, owner, owner)
    os.chown(folder / "sub/groups", 1000, 27)
    (folder / "sub/theirs").chmod(0o4755)

    def owners() -> dict[str, tuple[int, int]]:
        every = (folder, *folder.rglob("*"), tmp_path / "elsewhere")
        return {str(path.relative_to(tmp_path)): (path.lstat().st_uid, path.lstat().st_gid) for path in every}

    before = owners()
    with lent_folders.lent([folder], steady=True):
        during = owners()
        assert {during.pop(name) for name in ("elsewhere", "project/linked")} == {(0, 0)}
        assert set(during.values()) == {(4712, 4712)}
        (folder / "sub/new").write_text("y")
        os.chown(folder / "sub/new", 4712, 4712)
        (folder / "sub/new").chmod(0o4755)
    after = owners()
    assert after.pop("project/sub/new") == (1000, 1000)
    assert after == before
    assert stat.S_IMODE((folder / "sub/new").stat().st_mode) == 0o755


def test_root_needs_no_user_namespace(made: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "confinement", lambda steady: Confinement("another user", 4712 if steady else 4711))
    assert "--reuid=4712" in made.command(["true"], steady=True)
    command = made.command(["true"])
    assert "--unshare-user" not in command
    assert ("--cap-drop", "ALL") in itertools.pairwise(command)
    assert "--reuid=4711" in command
    assert "--bounding-set=-all" in command
    monkeypatch.setattr(bubblewrap, "confinement", lambda _: Confinement("user namespace", 1000))
    command = made.command(["true"])
    assert "--unshare-user" in command
    assert not any(word.startswith("--reuid") for word in command)


def test_a_bind_that_is_not_there_is_named(made: Lab) -> None:
    with pytest.raises(WorldwiseError) as caught:
        made.command(["true"], binds=[("/nowhere/at/all", "/w", "ro")])
    assert "/nowhere/at/all" in caught.value.message


def test_a_refusal_shows_bubblewraps_own_words(made: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    fake = tools / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    with pytest.raises(WorldwiseError) as caught:
        made.run(["true"])
    assert "bubblewrap" in caught.value.message
    assert "uid map" in caught.value.details
    fake.write_text("#!/bin/sh\necho one; echo two >&2; exit 3\n")
    log = tmp_path / "logs" / "build.log"
    with pytest.raises(WorldwiseError) as caught:
        made.run(["make"], log=log)
    assert "make" in caught.value.message
    assert "3" in caught.value.message
    assert "two" in caught.value.details
    assert log.read_text() == "one\ntwo\n"


def test_cargo_gets_the_way_to_its_registry_and_nothing_else(
    made: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "cargo"
    home.mkdir()
    authorities = tmp_path / "company.crt"
    authorities.touch()
    (home / "config.toml").write_text(
        f"""
        [build]
        rustc-wrapper = "/opt/sccache"
        [source.crates-io]
        replace-with = "company \\"mirror\\""
        [http]
        cainfo = "{authorities}"
        multiplexing = false
        """
    )
    monkeypatch.setenv("CARGO_HOME", str(home))
    monkeypatch.setenv("CARGO_NET_RETRY", "1")
    monkeypatch.setenv("CARGO_BUILD_JOBS", "7")
    monkeypatch.delenv("CARGO_HTTP_CAINFO", raising=False)
    command = made.command(["cargo"], network=True)
    environment = dict(pairs(command, "--setenv"))
    assert tomllib.loads(environment["CARGO_CONFIG"]) == {
        "source": {"crates-io": {"replace-with": 'company "mirror"'}},
        "http": {"cainfo": str(authorities), "multiplexing": False},
    }
    assert environment["CARGO_NET_RETRY"] == "1"
    assert "CARGO_BUILD_JOBS" not in environment
    assert (str(authorities), environment["CARGO_HTTP_CAINFO"]) in pairs(command, "--ro-bind")
    assert not any(name.startswith("CARGO") for name, _ in pairs(made.command(["cargo"]), "--setenv"))
    (home / "config.toml").write_text("[")
    with pytest.raises(WorldwiseError) as caught:
        made.command(["cargo"], network=True)
    assert str(home / "config.toml") in caught.value.message


def test_building_fetches_the_labs_own_packages_alone(made: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made.manifest.unlink()
    lab = Lab(lock(package("a"), target=(package("t", architecture="arm64"),)), made.cache, quiet())
    fetched: list[str] = []
    monkeypatch.setattr(lab.store, "ensure", lambda wanted, _: fetched.extend(item.file.file for item in wanted))
    monkeypatch.setattr(lab, "build", lambda: None)
    monkeypatch.setattr(lab_module, "require_host", lambda: None)
    # Nothing is asked for that may not be replaced.
    monkeypatch.setenv(LOCKED_VARIABLE, "1")
    lab.ensure()
    assert fetched == ["a_2.0-1_amd64.deb"]
    lab.fetch()
    assert fetched[1:] == ["a_2.0-1_amd64.deb", "t_2.0-1_amd64.deb", "s_1.dsc"]


def test_a_damaged_lab_is_seen(made: Lab) -> None:
    assert made.problem() == ""
    made.require()
    (made.root / "usr/bin/cc").write_bytes(b"cut")
    assert "another size" in made.problem()
    (made.root / "usr/bin/cc").unlink()
    assert "missing" in made.problem()
    with pytest.raises(WorldwiseError) as caught:
        made.require()
    assert "lab build" in caught.value.hint
    made.manifest.write_text("{")
    assert "cannot be read" in made.problem()
    made.manifest.unlink()
    assert made.problem() == "not built"


def test_a_followed_package_is_found_by_both_names(tmp_path: Path) -> None:
    kernel = package("linux-image-6.1-cloud-arm64", architecture="arm64", follows="linux-image-cloud-arm64")
    lab = Lab(lock(target=(kernel,)), tmp_path, quiet())
    assert lab.package("linux-image-cloud-arm64", "arm64") is lab.package("linux-image-6.1-cloud-arm64", "arm64")
    with pytest.raises(WorldwiseError):
        lab.package("linux-image-cloud-arm64", "armhf")
    with pytest.raises(WorldwiseError):
        lab.source("nothing")


def test_clean_keeps_the_locked_lab(made: Lab) -> None:
    other = made.labs / "0123456789ab"
    other.mkdir()
    (other / "x").mkdir(mode=0o500)
    assert lab_module.remove_labs([made], everything=False) == [other]
    assert made.problem() == ""
    assert lab_module.remove_labs([made], everything=True) == [made.directory]
    assert lab_module.labs_in(made.cache) == []


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("dpkg: error processing package libc-bin:amd64 (--configure):\n", "script of package libc-bin"),
        ("tar: x: Cannot write: No space left on device\n", "disk is full"),
        ("E: whatever\n", "status 25"),
    ],
)
def test_a_failed_build_says_why(tmp_path: Path, log: str, words: str) -> None:
    path = tmp_path / "log"
    path.write_text(log)
    error = build_error(path, (25, 0), "the lab")
    assert words in error.message
    assert re.search(re.escape(log.strip()), error.details)


def test_a_process_that_another_thread_waited_for_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a command that ends a machine may end in a traceback, when two threads look at the same moment."""
    process = subprocess.Popen(["true"])
    process.wait()
    # Between the two looks of this thread the other one has been faster.
    monkeypatch.setattr(process, "poll", lambda: None)
    assert ended(process, 0.0)


def test_a_download_of_one_machine_is_anothers(tmp_path: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, each machine of a cluster asks the mirror for everything."""
    monkeypatch.setenv(paths.SHARED_VARIABLE, str(tmp_path / "shared"))
    item = wanted_package(package("a", b"content"))
    mirror.add(item, b"content")
    Store(tmp_path / "one", "trixie", quiet()).ensure([item])
    (mirror.directory / item.path).unlink()
    other = Store(tmp_path / "other", "trixie", quiet())
    other.ensure([item])
    assert other.path(item.file).read_bytes() == b"content"
    assert other.path(item.file).stat().st_mode & 0o777 == 0o644
    assert not list((tmp_path / "other" / "sha256").glob("partial-*"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda it: it.pop("suite"), "suite: is missing"),
        (lambda it: it.update(Suite="x"), "Suite: there is no such key"),
        (lambda it: it.update(format=True), "format: is no whole number"),
        (lambda it: it.update(lab={}), "lab: is no list"),
        (lambda it: it["lab"].append("x"), "lab.1: is no object"),
        (lambda it: it["lab"][0].update(size="1"), "lab.0.size: is no whole number"),
        (lambda it: it["lab"][0].update(size=0), "lab.0.size: 0 is not above 0"),
        (lambda it: it["lab"][0].update(file="../a"), "lab.0.file: '../a' does not have the form"),
        (lambda it: it["sources"][0]["files"][0].update(sha256="A"), "sources.0.files.0.sha256: 'A' does not have"),
    ],
)
def test_what_is_wrong_in_a_lock_is_said_with_its_key(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    document = json.loads(dump_lock(lock(package("a"))))
    change(document)
    path = tmp_path / "lock.json"
    path.write_text(json.dumps(document))
    with pytest.raises(WorldwiseError, match="not a valid lock") as caught:
        load_lock(path)
    assert caught.value.details.startswith(said)


def test_an_error_above_many_warnings_is_told() -> None:
    """If this fails, whoever's code does not compile reads thirty lines of warnings, and not why."""
    warnings = [f"a.c:{number}:1: warning: unused" for number in range(40)]
    error = ["a.c:9:2: error: unknown type", "    9 | size x;", "a.c:9:2: error: again"]
    told = told_end("\n".join(["make: entering", *error, *warnings, "make: *** Error 1"])).splitlines()
    assert told[:3] == error
    assert told[8] == "(6 lines left out)"
    assert told[9:] == [*warnings[-29:], "make: *** Error 1"]
    assert told_end("\n".join([*warnings, *error])).splitlines() == [*warnings[-27:], *error]
