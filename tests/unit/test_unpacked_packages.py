# SPDX-License-Identifier: BSD-2-Clause
"""Large packages that are unpacked beside mmdebstrap."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.lab.build_root import Making
from worldwise.lab.debian import plain_packages
from worldwise.lab.debian.lock import Package
from worldwise.lab.debian.plain_packages import FOLDER, PackageFile, PlainPackages
from worldwise.lab.debian.unpacked_packages import UnpackingThread, goes_beside, with_empty_files
from worldwise.lab.lab import open_lab
from worldwise.lab.roots import RECIPE
from worldwise.lab.sandbox import without_sync

EMPTY = ("/usr/share/doc",)


def package(file: Path, name: str = "gcc-14-arm-none-eabi", size: int = 6_000_000) -> Package:
    return Package(
        file=file.name,
        size=size,
        sha256=hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "0" * 64,
        name=name,
        version="1",
        architecture="amd64",
        source=name,
    )


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A package with a program, a link to it, a file that only its owner reads, and a document."""
    tree = tmp_path / "tree"
    for path, text in {
        "DEBIAN/control": "Package: gcc-14-arm-none-eabi\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@x>\n"
        "Description: x\n",
        "DEBIAN/preinst": "#!/bin/sh\nexit 0\n",
        "usr/bin/cc-14": "program",
        "usr/lib/cc/secret": "read by one",
        "usr/share/doc/cc/copyright": "words",
    }.items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if path in ("usr/bin/cc-14", "DEBIAN/preinst") else 0o644)
    (tree / "usr/lib/cc/secret").chmod(0o600)
    (tree / "usr/bin/cc").symlink_to("cc-14")
    sums = [
        f"{hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()}  {file.relative_to(tree)}\n"
        for file in sorted((tree / "usr").rglob("*"))
        if file.is_file() and not file.is_symlink()
    ]
    (tree / "DEBIAN/md5sums").write_text("".join(sums))
    deb = tmp_path / "gcc_1_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, deb], check=True, capture_output=True)
    return deb


def listing(deb: Path) -> dict[str, tuple[str, str]]:
    """Mode and size of each path of a package."""
    out = subprocess.run(["dpkg-deb", "--contents", deb], check=True, capture_output=True, text=True).stdout
    return {line.split()[5]: (line.split()[0], line.split()[2]) for line in out.splitlines()}


def test_a_package_with_empty_files_installs_as_the_whole_one(built: Path, tmp_path: Path) -> None:
    """If this fails, dpkg installs another package than the lock names, or runs other scripts."""
    hollow = tmp_path / "hollow.deb"
    hollow.write_bytes(with_empty_files(built))
    fields = [subprocess.run(["dpkg-deb", "--field", deb], check=True, capture_output=True) for deb in (built, hollow)]
    assert fields[0].stdout == fields[1].stdout
    control = [
        subprocess.run(["dpkg-deb", "--ctrl-tarfile", deb], check=True, capture_output=True) for deb in (built, hollow)
    ]
    assert control[0].stdout == control[1].stdout
    found = listing(hollow)
    # Nobody can start an empty file by mistake, as an empty script would pass for a program that did its work.
    assert found["./usr/bin/cc-14"] == ("-rw-r--r--", "0")
    assert {path.rstrip("/") for path in found} == {
        path.rstrip("/") for path, (mode, _) in listing(built).items() if mode[0] != "l"
    }
    assert with_empty_files(built) == hollow.read_bytes()


def test_what_is_unpacked_takes_the_places_of_the_empty_files(built: Path, tmp_path: Path) -> None:
    """If this fails, a root has empty programs, other modes, or a database that knows other files."""
    root = tmp_path / "root"
    for folder in ("usr/bin", "usr/lib/cc", "usr/share/doc", "var/lib/dpkg/info"):
        (root / folder).mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    for name in ("usr/bin/cc-14", "usr/lib/cc/secret", "var/lib/dpkg/info/gcc-14-arm-none-eabi.list"):
        (root / name).touch()
    (root / "usr/bin/other").write_text("stays")
    beside = UnpackingThread([(package(built), built)], tmp_path / "beside", EMPTY)
    beside.start()
    beside.move_to(root)
    beside.stop()
    assert (root / "usr/bin/cc-14").read_text() == "program"
    assert (root / "usr/bin/cc-14").stat().st_mode & 0o777 == 0o755
    assert (root / "usr/lib/cc/secret").stat().st_mode & 0o777 == 0o600
    assert (root / "usr/bin/cc").readlink() == Path("cc-14")
    assert (root / "usr/bin/other").read_text() == "stays"
    assert list((root / "usr/share/doc").iterdir()) == []
    known = (root / "var/lib/dpkg/info/gcc-14-arm-none-eabi.list").read_text().splitlines()
    assert known[0] == "/."
    assert {"/usr/bin/cc", "/usr/bin/cc-14", "/usr/lib/cc/secret", "/usr/share/doc/cc/copyright"} <= set(known)
    assert not (tmp_path / "beside").exists()


def test_a_package_that_cannot_be_unpacked_is_named(built: Path, tmp_path: Path) -> None:
    """If this fails, a root is made with empty compilers."""
    broken = tmp_path / "broken_1_amd64.deb"
    content = built.read_bytes()
    broken.write_bytes(content[:-200])
    beside = UnpackingThread([(package(broken), broken)], tmp_path / "beside", EMPTY)
    beside.start()
    with pytest.raises(WorldwiseError, match=r"broken_1_amd64\.deb could not be unpacked: "):
        beside.move_to(tmp_path)
    beside.stop()
    broken.write_bytes(b"no package")
    with pytest.raises(WorldwiseError, match="is not a package dpkg-deb can read"):
        with_empty_files(broken)


def test_unpacking_ends_when_it_is_told_to(built: Path, tmp_path: Path) -> None:
    """If this fails, Ctrl-C waits until all compilers are unpacked."""
    many = [(package(built, f"gcc-{number}-arm-none-eabi"), built) for number in range(200)]
    beside = UnpackingThread(many, tmp_path / "beside", EMPTY)
    beside.start()
    beside.stop()
    assert len(beside.unpacked_lists.result()) < len(many)


def test_large_cross_compilers_go_beside(tmp_path: Path) -> None:
    """If this fails, a root is made on one processor, or a script asks for a program that is not there yet."""
    lab = open_lab()
    names = {one.name for one in lab.lock.lab if goes_beside(one)}
    assert {"gcc-arm-none-eabi", "libnewlib-arm-none-eabi", "qemu-system-arm", "gcc-14-aarch64-linux-gnu"} <= names
    assert not names & {"gcc-14-x86-64-linux-gnu", "coreutils", "python3.13-minimal"}
    assert not goes_beside(package(tmp_path / "x", "gcc-arm-none-eabi", 4_000_000))


@pytest.fixture
def owners(monkeypatch: pytest.MonkeyPatch) -> list[Package]:
    """The packages of all roots, one after the other, in place of those of lab/."""
    packages: list[Package] = []
    monkeypatch.setattr(plain_packages, "ROOTS", dict.fromkeys("a", SimpleNamespace(lock=None)))
    monkeypatch.setattr(plain_packages, "load_lock", lambda _: SimpleNamespace(lab=packages))
    return packages


@pytest.mark.parametrize("name", ["hello", "gcc-14-arm-none-eabi"])
def test_a_package_of_two_roots_is_decompressed_once(
    built: Path, tmp_path: Path, owners: list[Package], name: str
) -> None:
    """If this fails, a root is made of other bytes than the lock names, or each decompresses its compilers again."""
    one = package(built, name)
    owners += [one, one]
    (tmp_path / FOLDER).mkdir()
    found = PlainPackages(tmp_path).file(one, built)
    assert found.path.parent == tmp_path / FOLDER
    assert (found.size, found.sha256) == (found.path.stat().st_size, file_sha256(found.path))
    for question in ("--ctrl-tarfile", "--fsys-tarfile", "--field"):
        answers = {
            subprocess.run(["dpkg-deb", question, deb], check=True, capture_output=True).stdout
            for deb in (built, found.path)
        }
        assert len(answers) == 1, question
    assert b"data.tar  " in found.path.read_bytes()
    assert PlainPackages(tmp_path).file(one, tmp_path / "nothing is read") == found
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [f"{one.sha256}-{found.sha256}"]


def test_a_package_of_one_root_stays_as_it_is(built: Path, tmp_path: Path, owners: list[Package]) -> None:
    """If this fails, a user's disk has every package twice."""
    one = package(built)
    owners += [one]
    assert PlainPackages(tmp_path).file(one, built).path == built
    (tmp_path / FOLDER).mkdir()
    assert PlainPackages(tmp_path).file(one, built) == PackageFile(built, one.size, one.sha256)
    # Nor has that of a user who makes no roots by the dozen.
    (tmp_path / FOLDER).rmdir()
    owners += [one]
    assert PlainPackages(tmp_path).file(one, built).path == built


def test_a_damaged_compiler_is_decompressed_anew(built: Path, tmp_path: Path, owners: list[Package]) -> None:
    """If this fails, a root has a damaged compiler: apt looks at the bytes of the other packages alone."""
    one = package(built)
    owners += [one, one]
    (tmp_path / FOLDER).mkdir()
    found = PlainPackages(tmp_path).file(one, built)
    whole = found.path.read_bytes()
    found.path.write_bytes(whole[:-1] + b"x")
    assert PlainPackages(tmp_path).file(one, built) == found
    assert found.path.read_bytes() == whole
    built.write_bytes(b"no package")
    owners += 2 * [replace(one, sha256="1" * 64)]
    with pytest.raises(WorldwiseError, match="is not a package dpkg-deb can read"):
        PlainPackages(tmp_path).file(replace(one, sha256="1" * 64), built)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a root with it")
def test_a_program_waits_for_no_disk() -> None:
    """If this fails, dpkg waits for the disk a thousand times while it makes a root."""
    sync = "import os; os.fsync(1000)"  # no such file: the kernel would say so
    assert subprocess.run([sys.executable, "-I", "-c", sync], capture_output=True, check=False).returncode != 0
    subprocess.run([sys.executable, "-I", without_sync.__file__, sys.executable, "-I", "-c", sync], check=True)


def test_a_root_without_its_programs_is_refused(tmp_path: Path) -> None:
    """If this fails, a root is taken for whole whose compiler is missing; empty files count as there before the end."""
    lab = open_lab()
    making = Making(lab.name, "a lab", lab.lock, lab.digest, tmp_path, lab.store, lab.console)
    with pytest.raises(WorldwiseError, match="a lab was made, but has no aarch64-linux-gnu-gcc"):
        making.require_programs(tmp_path)


def test_a_roots_own_files_are_laid_and_its_digest_says_so(tmp_path: Path) -> None:
    """If this fails, the TeX of the tests dumps fourteen formats, or a root of another making is taken for it."""
    lab = open_lab(name="tex")
    Making(lab.name, "a TeX", lab.lock, lab.digest, tmp_path, lab.store, lab.console).lay_own_files(tmp_path / "laid")
    left_out = (tmp_path / "laid/etc/texmf/web2c/fmtutil.cnf").read_text(encoding="ascii")
    assert "\n#! lualatex " in left_out
    assert " pdflatex " not in left_out
    assert lab.digest != lab.lock.digest(RECIPE)
    assert open_lab().digest == open_lab().lock.digest(RECIPE)
