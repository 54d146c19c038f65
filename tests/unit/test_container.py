# SPDX-License-Identifier: BSD-2-Clause
"""`lab image`: an archive that container programs take, with worldwise, the lab and what the cache has warm."""

import gzip
import hashlib
import json
import os
import stat
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from worldwise import cli
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli.lab import container
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.oci import Layer
from worldwise.lab.sandbox.bubblewrap import SOURCE_DATE_EPOCH

CACHE = container.CACHE


def make_root(name: str) -> Lab:
    """A made root of some files."""
    place = open_lab(name=name)
    (place.root / "etc" / "apt").mkdir(parents=True)
    (place.root / "etc" / "apt" / "sources.list").write_text("deb copy:/here ./\n")
    (place.root / "tool").write_text(f"of {name}\n")
    (place.root / "tool").chmod(0o755)
    (place.root / "twin").hardlink_to(place.root / "tool")
    (place.root / "link").symlink_to("/etc/nowhere")
    place.manifest.write_text(json.dumps({"format": 1, "digest": place.digest, "witness": {}, "seconds": time.time()}))
    (place.directory / "checked.json").write_text(str(time.time()))
    return place


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    file = tmp_path / "worldwise-9.8.7-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("worldwise/repository/revision", "abc+\n")
        archive.writestr("worldwise/repository/lab/lock.json", (paths.LAB / "lock.json").read_bytes())
    return file


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the two roots, an image used now and one used last week; pip puts a package and its notes."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Lab, "ensure", lambda _: False)
    for name in ("main", "container"):
        make_root(name)
    for age, name in ((0, "new"), (7, "old")):
        folder = tmp_path / "cache" / "images" / name
        folder.mkdir(parents=True)
        (folder / "image.json").write_text("{}")
        os.utime(folder, (time.time() - age * 86400,) * 2)
    (tmp_path / "cache" / "images" / "new.log").touch()
    (tmp_path / "cache" / "results").mkdir()
    (tmp_path / "cache" / "results" / "r").touch()
    crate = tmp_path / "cache" / "downloads" / "crates" / ("a" * 64)
    crate.parent.mkdir(parents=True)
    crate.write_bytes(b"crate")

    def install(_wheel: Path, target: Path, python: str) -> None:
        assert python == "3.13"
        for name in ("worldwise/__init__.py", "bin/worldwise", "a.dist-info/RECORD", "a.dist-info/METADATA"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(f"{target}" if name != "worldwise/__init__.py" else "")
        (target / "a.dist-info/METADATA").write_text("a\n")

    monkeypatch.setattr(container, "install_wheel", install)
    return tmp_path / "cache"


def call(monkeypatch: pytest.MonkeyPatch, *words: object) -> object:
    monkeypatch.setattr(sys, "argv", ["worldwise", "lab", "image", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return caught.value.code or 0


def unpacked(file: Path) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, tarfile.TarInfo]]]:
    """Manifest, configuration and layers, every blob being what its name and its descriptor say."""
    with tarfile.open(file) as archive:
        members = {one.name: archive.extractfile(one) for one in archive}
        contents = {name: found.read() for name, found in members.items() if found}
    assert json.loads(contents.pop("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
    (named,) = json.loads(contents.pop("index.json"))["manifests"]
    for name, content in contents.items():
        assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"

    def blob(described: dict[str, Any]) -> bytes:
        content = contents[f"blobs/{described['digest'].replace(':', '/')}"]
        assert len(content) == described["size"]
        return content

    manifest = json.loads(blob(named))
    config = json.loads(blob(manifest["config"]))
    layers = []
    plain = [gzip.decompress(blob(layer)) for layer in manifest["layers"]]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(one).hexdigest()}" for one in plain]
    assert len(config["history"]) == len(plain)
    for number, one in enumerate(plain):
        path = file.with_name(f"layer{number}.tar")
        path.write_bytes(one)
        with tarfile.open(path) as archive:
            layers.append({member.name: member for member in archive})
    return manifest, config, layers


@pytest.mark.usefixtures("cache")
def test_the_image_has_the_lab_and_what_is_warm(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "image.tar"
    assert call(monkeypatch, file, "--wheel", wheel, "--used", "1d") == 0
    manifest, config, (system, program, lab, warm) = unpacked(file)
    assert (config["architecture"], config["os"]) == ("amd64", "linux")
    assert f"WORLDWISE_CACHE=/{CACHE}" in config["config"]["Env"]
    assert manifest["annotations"]["org.opencontainers.image.version"] == "9.8.7"
    assert manifest["annotations"]["org.opencontainers.image.revision"] == "abc+"
    for layer in (system, program, lab, warm):
        assert {(one.uid, one.gid, one.uname, one.gname) for one in layer.values()} == {(0, 0, "", "")}
        assert all(one.mtime <= SOURCE_DATE_EPOCH for one in layer.values())
        # A folder comes before what is in it.
        for name in layer:
            assert "/" not in name or list(layer).index(name.rpartition("/")[0]) < list(layer).index(name)
    assert system["etc/apt/sources.list"].size == 0
    assert (system["tool"].mode, system["twin"].islnk(), system["twin"].linkname) == (0o755, True, "tool")
    assert (system["link"].issym(), system["link"].linkname) == (True, "/etc/nowhere")
    assert system["work"].isdir()
    python = "usr/local/lib/python3.13/dist-packages"
    files = {name for name, one in program.items() if one.isfile()}
    notes = {f"{python}/a.dist-info/METADATA", f"{python}/worldwise/__init__.py"}
    assert files == notes | {"usr/local/bin/worldwise"}
    assert program["usr/local/bin/worldwise"].mode == 0o755
    root = f"{CACHE}/labs/{open_lab().directory.name}"
    assert {f"{root}/lab.json", f"{root}/root/tool"} <= set(lab)
    assert f"{root}/checked.json" not in lab
    assert {name for name, one in warm.items() if one.isfile()} == {
        f"{CACHE}/images/new/image.json",
        f"{CACHE}/downloads/crates/{'a' * 64}",
    }
    assert not list(tmp_path.glob(".image.tar-*"))


def test_the_same_cache_gives_the_same_bytes(
    cache: Path, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one.tar", tmp_path / "two.tar"
    assert call(monkeypatch, one, "--wheel", wheel) == 0
    # Times, and what a start notes, are no part of it.
    for path in cache.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (SOURCE_DATE_EPOCH + 5,) * 2)
    (open_lab().directory / "checked.json").unlink()
    assert call(monkeypatch, two, "--wheel", wheel) == 0
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.usefixtures("cache")
def test_another_wheel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "worldwise-9.8.7-py3-none-any.whl"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("worldwise/repository/revision", "abc\n")
        archive.writestr("worldwise/repository/lab/lock.json", (paths.LAB / "container.lock.json").read_bytes())
    assert call(monkeypatch, tmp_path / "x.tar", "--wheel", other) == 1
    assert "is of the lab" in capsys.readouterr().err
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("worldwise/repository/revision", bytes(17 * 2**20))
    assert call(monkeypatch, tmp_path / "x.tar", "--wheel", other) == 1
    assert "its revision has more than 16,777,216 bytes" in capsys.readouterr().err
    # Packed in a way that no Python knows; and a sum that is wrong.
    for at, byte in ((other.read_bytes().rindex(b"PK\x01\x02") + 10, 99), (100, 255)):
        spoilt = bytearray(other.read_bytes())
        spoilt[at] = byte
        other.write_bytes(spoilt)
        assert call(monkeypatch, tmp_path / "x.tar", "--wheel", other) == 1
        assert "is not a wheel of worldwise" in capsys.readouterr().err
    other.write_bytes(b"nothing")
    assert call(monkeypatch, tmp_path / "x.tar", "--wheel", other) == 1
    assert "is not a wheel of worldwise" in capsys.readouterr().err
    assert call(monkeypatch, tmp_path / "x.tar", "--wheel", other.rename(tmp_path / "renamed.whl")) == 1
    assert "its name is not that of a wheel" in capsys.readouterr().err
    assert not (tmp_path / "x.tar").exists()


def test_what_an_image_cannot_have_is_told(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "tree").mkdir()
    os.mkfifo(tmp_path / "tree" / "pipe")
    assert stat.S_ISFIFO((tmp_path / "tree" / "pipe").stat().st_mode)
    with pytest.raises(WorldwiseError, match="pipe: an image takes"), Layer(tmp_path / "blobs", "x") as layer:
        layer.tree(tmp_path / "tree", "x")


def test_the_container_has_what_worldwise_needs() -> None:
    have = {package.name for package in load_lock(paths.LAB / "container.lock.json").lab}
    # As lab/host.sh asks of a host; root needs no uidmap.
    needed = {
        "apt",
        "bubblewrap",
        "debian-archive-keyring",
        "dpkg",
        "libseccomp2",
        "mmdebstrap",
        "python3",
        "util-linux",
    }
    assert needed | {"git", "ca-certificates", "tar"} <= have
