# SPDX-License-Identifier: BSD-2-Clause
"""A mirror moves on: what it dropped is replaced by what it has, the lab is another, and everything says so.

The mirror is a small archive of Debian's layout in a folder, with lists that a key of the test's own signs. Its
packages are some bytes: making a root of them is left out.
"""

import email.utils
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from synthetic import make_suite, write_run
from worldwise import cli
from worldwise.base.errors import VanishedError, WorldwiseError
from worldwise.cli.lab.propose import propose
from worldwise.lab import bundle, drift, lock_differences
from worldwise.lab import lab as lab_module
from worldwise.lab.cache import survey
from worldwise.lab.debian import mirror_check, relock
from worldwise.lab.debian import mirrors as mirrors_module
from worldwise.lab.debian.lock import Lock, dump_lock, parse_lock, pool_path
from worldwise.lab.debian.mirrors import APT_HELPER, MIRROR_VARIABLE
from worldwise.lab.debian.second_sources import SOURCES_VARIABLE
from worldwise.lab.debian.snapshots import SNAPSHOTS_VARIABLE
from worldwise.lab.debian.sources import FROM_VARIABLE
from worldwise.lab.drift import LOCKED_VARIABLE
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.roots import ROOTS
from worldwise.read.run_counts import read_run
from worldwise.report.drawing.charts import run_text
from worldwise.report.report import to_json
from worldwise.run.folder.rundir import Run, open_run

WISH = """
[suites]
binary = "trixie"
source = ["trixie"]
[lab]
packages = ["gcc", "qemu-system-arm"]
[target.arm64]
packages = ["libssl-dev", "libssl3t64"]
follow = ["linux-image-cloud-arm64"]
[sources]
optee-os = "4.10.0-2"
qemu = "1:10.0.13-1"
wolfssl = "5.7.2-1"
"published-2" = { package = "published", version = "2.0-1", only = "orig" }
"""


@dataclass
class Made:
    """A package of the archive: its name, version, source and dependencies."""

    name: str
    version: str
    architecture: str = "amd64"
    source: str = ""
    depends: str = ""
    fields: str = ""

    @property
    def path(self) -> str:
        version = self.version.partition(":")[2] or self.version
        source = self.source or self.name
        return f"{pool_path(source, f'{self.name}_{version}_{self.architecture}.deb')}"

    @property
    def content(self) -> bytes:
        return f"{self.name} {self.version} {self.architecture}".encode()

    def paragraph(self) -> str:
        source = f"Source: {self.source}\n" if self.source else ""
        depends = f"Depends: {self.depends}\n" if self.depends else ""
        return (
            f"Package: {self.name}\nVersion: {self.version}\nArchitecture: {self.architecture}\n{source}{depends}"
            f"{self.fields}Maintainer: nobody\nDescription: made\nFilename: {self.path}\nSize: {len(self.content)}\n"
            f"SHA256: {digest(self.content)}\n"
        )


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def kernel(version: str) -> list[Made]:
    abi = version.partition("-")[0]
    named = f"linux-image-{abi}-cloud-arm64"
    return [
        Made(named, version, "arm64", "linux-signed-arm64"),
        Made("linux-image-cloud-arm64", version, "arm64", "linux-signed-arm64", f"{named} (= {version})"),
    ]


def openssl(version: str) -> list[Made]:
    return [Made(name, version, "arm64", "openssl") for name in ("libssl-dev", "libssl3t64")]


@dataclass
class Archive:
    """An archive in a folder, signed by a key of its own."""

    folder: Path
    home: Path
    packages: list[Made] = field(
        default_factory=lambda: [
            Made("base-files", "13.8", fields="Essential: yes\n"),
            Made("gcc", "14.2.0-19", depends="libc6 (>= 2.41)"),
            Made("libc6", "2.41-12", source="glibc"),
            Made("qemu-system-arm", "1:10.0.13-1", source="qemu"),
            *kernel("6.12.48-1"),
            *openssl("3.5.7-1"),
        ]
    )
    sources: dict[str, str] = field(
        default_factory=lambda: {
            "optee-os": "4.10.0-2",
            "qemu": "1:10.0.13-1",
            "wolfssl": "5.7.2-1",
            "published": "2.0-1",
        }
    )

    def publish(self) -> None:
        """Write the pool's files and the signed lists of what it has today."""
        dists = self.folder / "dists" / "trixie"
        shutil.rmtree(dists, ignore_errors=True)
        listed: dict[str, str] = {}
        for architecture in ("amd64", "arm64"):
            these = [one for one in self.packages if one.architecture == architecture]
            listed[f"main/binary-{architecture}/Packages"] = "\n".join(one.paragraph() for one in these)
        listed["main/source/Sources"] = "\n".join(self._source(*one) for one in self.sources.items())
        for one in self.packages:
            self._write(one.path, one.content)
        for name, text in listed.items():
            (dists / name).parent.mkdir(parents=True, exist_ok=True)
            (dists / name).write_text(text)
        sums = "".join(f" {digest(text.encode())} {len(text)} {name}\n" for name, text in listed.items())
        date = email.utils.format_datetime(email.utils.parsedate_to_datetime("Sat, 21 Nov 2026 09:15:44 +0000"))
        release = (
            f"Origin: Debian\nLabel: Debian\nSuite: stable\nCodename: trixie\nDate: {date}\n"
            f"Architectures: amd64 arm64\nComponents: main\nSHA256:\n{sums}"
        )
        (dists / "Release").write_text(release)
        words = ["--batch", "--yes", "--clearsign", "--output", str(dists / "InRelease"), str(dists / "Release")]
        subprocess.run(["gpg", "--homedir", str(self.home), *words], check=True, capture_output=True, timeout=60)

    def _write(self, path: str, content: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(content)

    def _source(self, name: str, version: str) -> str:
        bare = version.partition(":")[2] or version
        rows = []
        for file in (f"{name}_{bare}.dsc", f"{name}_{bare.rpartition('-')[0]}.orig.tar.xz"):
            content = f"{file} of {version}".encode()
            self._write(pool_path(name, file), content)
            rows.append(f" {digest(content)} {len(content)} {file}")
        sums = "\n".join(rows)
        return (
            f"Package: {name}\nBinary: {name}\nVersion: {version}\nMaintainer: nobody\nArchitecture: any\n"
            f"Directory: {pool_path(name, 'x').rpartition('/')[0]}\nFiles:\n{sums}\nChecksums-Sha256:\n{sums}\n"
        )

    def move_on(self, *newer: Made, **sources: str) -> None:
        """Have newer versions of packages and sources, and drop the older ones."""
        names = {(one.source or one.name, one.architecture) for one in newer}
        older = [one for one in self.packages if (one.source or one.name, one.architecture) in names]
        self.packages = [one for one in self.packages if one not in older] + list(newer)
        for one in older:
            (self.folder / one.path).unlink()
        for name, version in sources.items():
            name = name.replace("_", "-")
            shutil.rmtree(self.folder / "pool/main" / name[0] / name)
            self.sources[name] = version
        self.publish()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a key."""
    if not shutil.which("gpg") or not APT_HELPER.exists():
        pytest.skip("gpg or apt is not on this machine")
    # gpg's agent listens at a path of at most 108 characters.
    made = Path(tmp_path_factory.mktemp("g"))
    made.chmod(0o700)
    command = ["gpg", "--homedir", str(made), "--batch", "--passphrase", ""]
    for words in (["--quick-gen-key", "test", "rsa3072", "sign"], ["--output", str(made / "ring.gpg"), "--export"]):
        subprocess.run([*command, *words], check=True, capture_output=True, timeout=120)
    yield made
    subprocess.run(["gpgconf", "--homedir", made, "--kill", "all"], check=False, capture_output=True, timeout=60)


@pytest.fixture
def archive(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """An archive, the one mirror of a root `main` that is locked from it."""
    for name in (SOURCES_VARIABLE, FROM_VARIABLE, LOCKED_VARIABLE, "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(SNAPSHOTS_VARIABLE, "none")
    monkeypatch.setenv(MIRROR_VARIABLE, f"file://{tmp_path}/mirror")
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(mirrors_module, "apt_options", lambda: ["-o", "Acquire::Retries=0"])
    monkeypatch.setattr(relock, "apt_options", lambda: ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=0"])
    monkeypatch.setattr(relock, "KEYRING", home / "ring.gpg")
    monkeypatch.setattr(lab_module, "require_host", lambda: None)
    monkeypatch.setattr(Lab, "build", make)
    monkeypatch.setattr(drift, "patched", lambda source: source.name == "optee-os")
    made = Archive(tmp_path / "mirror", home)
    made.publish()
    (tmp_path / "main.toml").write_text(WISH)
    root = replace(ROOTS["main"], wish=tmp_path / "main.toml", lock=tmp_path / "lock.json")
    root.lock.write_text(dump_lock(relock.resolve(relock.load_wish(root.wish))))
    monkeypatch.setitem(ROOTS, "main", root)
    return made


def make(lab: Lab) -> None:
    """Count as made."""
    (lab.root / "usr").mkdir(parents=True, exist_ok=True)
    lab.contents.record({}, {})
    lab.manifest.write_text(json.dumps({"digest": lab.digest, "witness": {}}))


def opened() -> tuple[Lab, io.StringIO]:
    said = io.StringIO()
    return open_lab(Console(file=said, width=1000)), said


def test_a_lock_knows_its_suites_and_times(archive: Archive) -> None:
    lock = open_lab().lock
    # Half a day after the Release, when the archive of snapshots has taken it in.
    assert [(one.suite, one.time) for one in lock.snapshots] == [("trixie", "20261121T211544Z")]
    assert {source.suite for source in lock.sources} == {"trixie"}
    store = open_lab().store
    store.ensure(lock.wanted())
    known = relock.with_sha1(lock, {}, store.path)
    assert {len(one.file.sha1) for one in known.wanted()} == {40}
    assert known.digest(1) == lock.digest(1)
    assert archive.packages


GONE = {
    "the kernel": (kernel("6.12.57-1"), {}, "linux 6.12.57 for 6.12.48"),
    "QEMU": (
        [Made("qemu-system-arm", "1:10.0.14-1", source="qemu")],
        {"qemu": "1:10.0.14-1"},
        "qemu 10.0.14 for 10.0.13",
    ),
    "a compiler": ([Made("gcc", "14.3.0-1", depends="libc6 (>= 2.41)")], {}, "gcc 14.3.0 for 14.2.0"),
    "a source that nobody patches": ([], {"wolfssl": "5.7.4-1"}, "wolfssl 5.7.4 for 5.7.2"),
}


@pytest.mark.parametrize("what", GONE)
def test_what_is_gone_is_replaced_and_said(what: str, archive: Archive) -> None:
    """If this fails, a newcomer's first command ends with an error after the next point release."""
    newer, sources, words = GONE[what]
    locked = open_lab().lock
    archive.move_on(*newer, **sources)
    lab, said = opened()
    lab.ensure()
    assert lab.differing == [words]
    assert f"the lab differs from the lock: {words}; figures are of this lab" in said.getvalue()
    assert "is gone from every source" in said.getvalue()
    assert lab.digest != locked.digest(1)
    # What stayed is the same, to the bit.
    assert len({one.file.sha256 for one in lab.lock.wanted()} - {one.file.sha256 for one in locked.wanted()}) <= 3
    # Once more, without a network: the same lab.
    shutil.rmtree(archive.folder)
    again, repeated = opened()
    assert not again.ensure()
    assert (again.digest, again.differing) == (lab.digest, lab.differing)
    assert words in repeated.getvalue()
    # And back.
    assert drift.forget(again.cache, locked)
    assert open_lab().digest == locked.digest(1)
    assert not drift.forget(again.cache, locked)


def test_all_at_once(archive: Archive) -> None:
    newer = [one for each, _, _ in GONE.values() for one in each]
    archive.move_on(*newer, *openssl("3.5.8-1"), qemu="1:10.0.14-1", wolfssl="5.7.4-1")
    lab, _ = opened()
    lab.ensure()
    assert lock_differences.sentence(lab.differing) == (
        "the lab differs from the lock: linux 6.12.57 for 6.12.48, openssl 3.5.8 for 3.5.7, gcc 14.3.0 for 14.2.0, "
        "qemu 10.0.14 for 10.0.13 and wolfssl 5.7.4 for 5.7.2; figures are of this lab"
    )
    assert lock_differences.sentence([*lab.differing, "a 2 for 1"]).count("and 2 more") == 1
    twice, _ = opened()
    assert twice.digest == lab.digest
    # Cleaning the cache leaves both.
    assert lab.locked
    kinds = {item.path: item.standing for item in survey(lab.cache) if item.kind in ("drift", "labs")}
    assert kinds == {f"labs/{lab.digest[:12]}": "needed", f"drift/{lab.locked.digest(1)[:12]}.json": "needed"}


def test_locked_refuses(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a gate in continuous integration compares what does not compare, and says so to nobody."""
    locked = open_lab().lock
    archive.move_on(*GONE["QEMU"][0])
    monkeypatch.setenv("CI", "true")
    lab, said = opened()
    with pytest.raises(VanishedError, match=r"qemu-system-arm 1:10.0.13-1 .amd64. has vanished") as caught:
        lab.ensure()
    assert "--unlocked or WORLDWISE_LOCKED=0 does" in caught.value.hint
    assert (caught.value.root, lab.digest) == ("", locked.digest(1))
    assert not (lab.cache / drift.FOLDER).exists()
    monkeypatch.setenv(LOCKED_VARIABLE, "0")
    lab, said = opened()
    lab.ensure()
    assert "differs from the lock" in said.getvalue()
    # A lab that differs is there, and is not taken.
    monkeypatch.setenv(LOCKED_VARIABLE, "1")
    assert open_lab().digest == locked.digest(1)
    monkeypatch.setenv(LOCKED_VARIABLE, "maybe")
    with pytest.raises(WorldwiseError, match=f"{LOCKED_VARIABLE}=maybe"):
        open_lab()


def test_what_we_patch_stays(archive: Archive) -> None:
    """OP-TEE is gone: boards are measured without, in the lab of the lock, and what needs it says what keeps it."""
    locked = open_lab().lock
    archive.move_on(optee_os="4.11.0-1")
    lab, said = opened()
    lab.ensure()
    assert (lab.digest, lab.differing) == (locked.digest(1), [])
    assert "differs" not in said.getvalue()
    with pytest.raises(VanishedError) as caught:
        lab.source_files("optee-os")
    assert caught.value.root == "main"
    with pytest.raises(WorldwiseError, match=r"optee-os 4.10.0-2 .source. is gone from every source") as refused:
        lab.replace(caught.value.items)
    for word in ("worldwise patches it", "20261121T211544Z", SNAPSHOTS_VARIABLE, "lab import", "`worldwise run mcu`"):
        assert word in refused.value.message + refused.value.hint
    # So does one that published figures are of.
    shutil.rmtree(archive.folder / "pool/main/p/published")
    with pytest.raises(VanishedError) as caught:
        lab.source_files("published-2")
    with pytest.raises(WorldwiseError, match="published figures are of this version"):
        lab.replace(caught.value.items)


def test_what_vanishes_later_is_replaced_then(archive: Archive) -> None:
    """The lab was made, and the kernel is asked for a month later."""
    first, _ = opened()
    first.ensure()
    archive.move_on(*kernel("6.12.57-1"))
    lab, said = opened()
    lab.ensure()
    assert lab.differing == []
    with pytest.raises(VanishedError) as caught:
        lab.package_file("linux-image-cloud-arm64", "arm64")
    assert caught.value.root == "main"
    lab.replace(caught.value.items)
    again, _ = opened()
    assert again.package_file("linux-image-cloud-arm64", "arm64").read_bytes().startswith(b"linux-image-6.12.57")
    assert again.digest != first.digest
    assert "linux 6.12.57 for 6.12.48" in said.getvalue()


def test_signatures_must_hold(archive: Archive) -> None:
    """If this fails, whoever answers in a mirror's place chooses the compiler."""
    archive.move_on(*kernel("6.12.57-1"))
    path = archive.folder / "dists/trixie/InRelease"
    path.write_text(path.read_text().replace("Codename: trixie", "Codename: trixie\nX: y"))
    lab, _ = opened()
    with pytest.raises(WorldwiseError, match=r"nothing can take the place of .*: apt could not resolve"):
        lab.ensure()
    assert not (lab.cache / drift.FOLDER).exists()
    # A list that is signed, and another than it says.
    archive.publish()
    path = archive.folder / "dists/trixie/main/binary-arm64/Packages"
    path.write_text(path.read_text().replace("6.12.57", "6.12.66"))
    with pytest.raises(WorldwiseError, match="nothing can take the place of"):
        opened()[0].ensure()
    # The newest version is listed, and its file is not there.
    archive.publish()
    for one in kernel("6.12.57-1"):
        (archive.folder / one.path).unlink()
    with pytest.raises(VanishedError, match=r"linux-image-6.12.57-cloud-arm64 .* has vanished"):
        lab = opened()[0]
        lab.ensure()
        lab.package_file("linux-image-cloud-arm64", "arm64")


def test_a_kept_lock_that_cannot_be_read_says_so(archive: Archive) -> None:
    archive.move_on(*kernel("6.12.57-1"))
    lab, _ = opened()
    lab.ensure()
    assert lab.locked
    path = drift.place(lab.cache, lab.locked)
    path.write_text("{")
    with pytest.raises(WorldwiseError) as caught:
        open_lab()
    assert str(path) in caught.value.message
    assert f"delete {path}" in caught.value.hint


def test_a_proposal_is_lock_list_and_words(archive: Archive, tmp_path: Path) -> None:
    """If this fails, the nightly job proposes a lock that no lab can be made of, or none."""
    root = ROOTS["main"]
    assert not propose(root, tmp_path / "words.md", lambda new: new, "")
    before = open_lab().lock
    archive.move_on(*kernel("6.12.57-1"), wolfssl="5.7.4-1", optee_os="4.11.0-1", published="3.0-1")
    assert propose(root, tmp_path / "words.md", lambda new: new, "")
    text = root.wish.read_text()
    assert text == WISH.replace("5.7.2-1", "5.7.4-1")
    new = open_lab().lock
    versions = {source.name: source.version for source in new.sources}
    assert versions == {"optee-os": "4.10.0-2", "qemu": "1:10.0.13-1", "wolfssl": "5.7.4-1", "published-2": "2.0-1"}
    # Those that stay are the same files, found at the same time.
    assert new.sources[0] == before.sources[0]
    assert new.time("trixie")
    words = (tmp_path / "words.md").read_text()
    for line in (
        f"Lab: {before.digest(1)[:12]} -> {new.digest(1)[:12]}",
        "- linux 6.12.57 for 6.12.48",
        "- wolfssl 5.7.4 for 5.7.2",
        "- optee-os 4.10.0-2 (trixie)",
        "Counts of different labs do not compare: measure the cited figures again.",
    ):
        assert line in words.splitlines() or line in words
    assert not propose(root, tmp_path / "words.md", lambda new: new, "")


def test_a_proposal_measures_both_labs(archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old lab before its lock is written over, the new one after."""
    seen: list[tuple[str, str]] = []

    def call(words: list[str], allowed: tuple[int, ...]) -> None:
        assert allowed == ((0,) if words[0] == "compare" else (0, 1))
        seen.append((words[0], open_lab().digest))
        if words[0] == "explain":
            count = 100 if open_lab().digest == before else 140
            functions = [
                {"function": name, "image": "tee", "self": size}
                for name, size in (("memset", count), ("main", 7), *([("fresh", 3)] if count > 100 else []))
            ]
            said = {"case": words[3], "measure": words[5], "place": "client", "instructions": count + 10}
            Path(words[9]).write_text(json.dumps({**said, "functions": functions}), encoding="utf-8")
        elif words[0] == "run":
            Path(words[3], "20260102T030405Z-attestation").mkdir(parents=True)
        else:
            assert words[3:9] == ["--allow", "lab", "--allow", "images", "--allow", "worldwise"]
            Path(words[-1].partition("=")[2]).write_text("| it |\n")

    monkeypatch.setattr("worldwise.cli.lab.propose.call_tool", call)
    archive.move_on(*kernel("6.12.57-1"))
    before = open_lab().digest
    assert propose(ROOTS["main"], tmp_path / "words.md", lambda new: new, "attestation")
    after = open_lab().digest
    # Two cases come first in the suite: one signs and verifies, the other signs.
    explained = [("explain", lab) for lab in (before, after) for _ in range(3)]
    assert seen == [("run", before), *explained[:3], ("run", after), *explained[3:], ("compare", after)]
    text = (tmp_path / "words.md").read_text()
    assert "## attestation, in both labs\n\n| it |" in text
    assert text.count("| memset (tee) | 100 | 140 | +40 |\n| fresh (tee) | 0 | 3 | +3 |") == 3
    assert "| the whole call | 110 | 150 | +40 |" in text and "main (tee)" not in text


def test_words_of_versions() -> None:
    def lock(*versions: str) -> Lock:
        names = ("gcc-14", "linux-signed-arm64", "zlib")
        packages = [
            {"name": name, "version": version, "architecture": "amd64", "source": name, "file": f"{name}.deb"}
            | {"size": 1, "sha256": digest(version.encode())}
            for name, version in zip(names, versions, strict=True)
        ]
        return parse_lock(json.dumps({"format": 1, "suite": "s", "lab": packages, "target": [], "sources": []}))

    old = lock("14.2.0-19", "6.12.48-1", "1:1.3.dfsg+really1.3.1-1+b1")
    assert lock_differences.changes(old, old) == []
    new = lock("14.2.0-20", "6.12.57+deb13-1", "1:1.3.dfsg+really1.3.1-1+deb13u1")
    assert lock_differences.changes(old, new) == [
        "linux 6.12.57+deb13 for 6.12.48",
        "gcc-14 14.2.0-20 for 14.2.0-19",
        "zlib 1.3.dfsg+really1.3.1-1+deb13u1 for 1.3.dfsg+really1.3.1-1",
    ]
    assert lock_differences.sentence([]) == lock_differences.whole([]) == ""
    assert lock_differences.whole(["a 2 for 1"]) == "The lab differs from the lock: a 2 for 1; figures are of this lab."


def test_without_a_network_a_bundle_makes_the_lab_of_the_lock(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, five years from now nobody repeats a figure, whatever was kept."""
    lab, _ = opened()
    lab.fetch()
    entries = [
        bundle.Entry(one.file.sha256, False, one.label, lab.store.path(one.file), one.file.size) for one in lab.wanted()
    ]
    bundle.export(tmp_path / "lab.tar", {"main": lab.digest}, entries)
    shutil.rmtree(lab.cache)
    shutil.rmtree(archive.folder)
    # Nobody listens on port 9 of this machine.
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(MIRROR_VARIABLE, "http://127.0.0.1:9/debian")
    monkeypatch.setattr(mirror_check, "PAUSE", 0.0)
    alone, said = opened()
    with pytest.raises(WorldwiseError, match="cannot be reached"):
        alone.ensure()
    # An unreachable mirror is no reason for another lab.
    assert not (alone.cache / drift.FOLDER).exists()
    monkeypatch.setenv(SOURCES_VARIABLE, str(tmp_path / "lab.tar"))
    alone, said = opened()
    alone.ensure()
    alone.fetch()
    assert (alone.digest, alone.differing) == (lab.digest, [])
    assert "differs" not in said.getvalue()


def test_wrong_bytes_are_no_reason_for_another_lab(archive: Archive) -> None:
    """A proxy that spoils a file must not choose the compiler."""
    gcc = next(one for one in archive.packages if one.name == "gcc")
    (archive.folder / gcc.path).write_bytes(b"x" * len(gcc.content))
    lab, _ = opened()
    with pytest.raises(WorldwiseError, match="is not the file that was locked"):
        lab.ensure()
    assert not (lab.cache / drift.FOLDER).exists()


# --- what everything says ---


@pytest.fixture(scope="module")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of a lab that differs from its lock."""
    run = write_run(tmp_path_factory.mktemp("runs"), make_suite().cases)
    path = run.path / "run.json"
    assert "drift" not in json.loads(path.read_text())
    path.write_text(json.dumps(json.loads(path.read_text()) | {"drift": [WORDS]}))
    return open_run(str(run.path), run.path.parent)


WORDS = "linux 6.12.57 for 6.12.48"
SAID = f"differs from the lock: {WORDS}; figures are of this lab"


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["report", "--full"],
        *(["report", "--format", form] for form in ("markdown", "latex", "html")),
        ["cite"],
        ["compare", "{run}", "--allow", "cases"],
    ],
    ids=" ".join,
)
def test_every_report_says_it(words: list[str], drifted: Run) -> None:
    """If this fails, figures of another kernel are cited as those of the locked one."""
    words = [words[0], str(drifted.path), *(word.format(run=drifted.path) for word in words[1:])]
    result = CliRunner().invoke(cli.cli, words, standalone_mode=False)
    assert result.exception is None, result.exception
    assert SAID in " ".join(re.sub(r"<[^>]*>|\\", "", result.output).split())


def test_json_and_figures_say_it(drifted: Run) -> None:
    reading = read_run(drifted)
    assert json.loads(to_json(reading))["run"]["drift"] == [WORDS]
    assert SAID in run_text(reading)
    # Without a difference nothing is there, and older readers read on.
    locked = reading.model_copy(update={"run": reading.run.model_copy(update={"drift": ()})})
    assert "drift" not in json.loads(to_json(locked))["run"]
    assert "differs" not in run_text(locked)


# --- what vanishes while a command runs ---


def test_a_command_begins_again_once(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a lab that was made a month ago, when the kernel was there."""
    opened()[0].ensure()
    archive.move_on(*kernel("6.12.57-1"))
    begun: list[list[str]] = []

    def execv(_: str, words: list[str]) -> None:
        begun.append(words)
        raise SystemExit(0)

    def command(**_: object) -> None:
        open_lab().package_file("linux-image-cloud-arm64", "arm64")

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(cli.cli, "main", command)
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-m", "worldwise", "run"])
    monkeypatch.delenv("WORLDWISE_BEGAN_AGAIN", raising=False)
    monkeypatch.setenv(LOCKED_VARIABLE, "1")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, begun) == (1, [])
    monkeypatch.setenv(LOCKED_VARIABLE, "0")
    with pytest.raises(SystemExit):
        cli.main()
    assert [words[1:] for words in begun] == [["-m", "worldwise", "run"]]
    assert open_lab().differing == [WORDS]
    command()
    # Once: whatever vanishes after that is an error.
    drift.forget(open_lab().cache, open_lab().locked or open_lab().lock)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, len(begun)) == (1, 1)
