# SPDX-License-Identifier: BSD-2-Clause
"""The bytes of a root: what was changed, added or taken away is seen, with its name and since when."""

import importlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from command_line import Call
from worldwise.base.errors import WorldwiseError
from worldwise.lab import contents
from worldwise.lab import lab as lab_module
from worldwise.lab.build_root import witness_of
from worldwise.lab.contents import LIST, STATE, Contents
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab

QEMU = "usr/bin/qemu-system-aarch64"
SMALL = "etc/gai.conf"
ALL = 1e9


def flip(path: Path, bit: int = 3) -> None:
    """One bit of a file; its size and its time of change stay."""
    entry = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1 << bit
    path.write_bytes(content)
    os.utime(path, ns=(entry.st_atime_ns, entry.st_mtime_ns))


def make_root(root: Path) -> None:
    """A root with programs, a link, small files, and a dynamic program in QEMU's place with its libraries."""
    for name, size in (("usr/bin/gcc", 3000), ("usr/lib/large", 300_000), (SMALL, 500), ("etc/plan 9/ü", 5)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(number % 251 for number in range(size)))
    (root / "usr/bin/cc").symlink_to("gcc")
    (root / "bin").symlink_to("usr/bin")
    (root / "lib64").symlink_to("usr/lib64")
    shutil.copyfile(shutil.which("true") or "/bin/true", root / QEMU)
    # Links of a root are followed as they are inside.
    libraries = root / "usr/lib/x86_64-linux-gnu"
    libraries.mkdir()
    (root / "usr/lib64").mkdir()
    shutil.copyfile("/lib64/ld-linux-x86-64.so.2", libraries / "ld-2.so")
    (root / "usr/lib64/ld-linux-x86-64.so.2").symlink_to("/usr/lib/x86_64-linux-gnu/ld-2.so")
    shutil.copyfile("/lib/x86_64-linux-gnu/libc.so.6", libraries / "libc-2.so")
    (libraries / "libc.so.6").symlink_to("../x86_64-linux-gnu/libc-2.so")


@pytest.fixture
def said() -> io.StringIO:
    """What the lab says."""
    return io.StringIO()


@pytest.fixture
def old(tmp_path: Path, said: io.StringIO) -> Lab:
    """A lab as older versions made it: without a list."""
    lab = Lab(load_lock(), tmp_path / "cache", Console(file=said, width=500))
    make_root(lab.root)
    witness = witness_of(lab.root)
    lab.manifest.write_text(json.dumps({"digest": lab.digest, "witness": witness}))
    return lab


@pytest.fixture
def lab(old: Lab) -> Lab:
    """A lab with a list, as its marker says."""
    manifest = json.loads(old.manifest.read_text())
    total, wrong = old.contents.record(manifest["witness"])
    assert wrong == ""
    old.manifest.write_text(json.dumps(manifest | {"files": total}))
    return old


def state(lab: Lab) -> dict[str, object]:
    found: dict[str, object] = json.loads((lab.directory / STATE).read_text())
    return found


def forget_times(lab: Lab) -> None:
    """As if nothing had touched the files since they were hashed: a disk that changed a bit by itself."""
    found = state(lab)
    witness = json.loads(lab.manifest.read_text())["witness"]
    (lab.directory / STATE).write_text(json.dumps(found | {"stats": lab.contents.stats_of(witness)}))


# --- what a start sees ---


def test_a_whole_lab_is_whole(lab: Lab) -> None:
    """However often it is asked."""
    assert [lab.problem(), lab.problem(ALL), lab.problem(0), lab.problem()] == [""] * 4


@pytest.mark.parametrize("name", ["usr/bin/gcc", "usr/lib/large", QEMU])
def test_one_changed_bit_of_a_program_is_seen_at_once(lab: Lab, name: str) -> None:
    """The same size, the same time of change: the file is named, and since when it may be so."""
    flip(lab.root / name)
    assert lab.problem().startswith(f"{lab.root / name} has other bytes than when the lab was made; what was built and")
    assert re.search(r"measured since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\+00:00 may be wrong$", lab.problem())


@pytest.mark.parametrize("name", [QEMU, "usr/lib/x86_64-linux-gnu/libc-2.so", "usr/lib/x86_64-linux-gnu/ld-2.so"])
def test_what_decides_a_count_is_hashed_at_every_start(lab: Lab, name: str) -> None:
    """The emulator, its loader and its libraries: a disk that turns a bit leaves no trace in the file's times."""
    flip(lab.root / name)
    forget_times(lab)
    assert lab.problem().startswith(f"{lab.root / name} has other bytes")


def test_every_file_has_its_turn(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no time at all each start hashes one batch, so a round takes as many starts as there are batches."""
    monkeypatch.setattr(contents, "BATCH_FILES", 2)
    assert lab.problem(0) == ""
    flip(lab.root / "etc/plan 9/ü")
    entries = len((lab.directory / LIST).read_text().splitlines()) - 2
    found = [bool(lab.problem(0)) for _ in range(entries // 2 + 2)]
    assert any(found)
    assert f"{lab.root}/etc/plan 9/ü has other bytes" in lab.problem(ALL)


def test_a_round_says_since_when_all_is_whole(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beginning, not its end: a file verified first may have changed while the last one was."""
    times = iter(f"2030-01-01 00:00:0{number}+00:00" for number in range(9))
    monkeypatch.setattr(contents, "stamp", lambda: next(times))
    made = state(lab)["whole"]
    assert lab.problem(ALL) == ""
    assert state(lab)["whole"] == made
    assert lab.problem(ALL) == ""
    assert state(lab)["whole"] == "2030-01-01 00:00:01+00:00"
    assert state(lab)["started"] == "2030-01-01 00:00:02+00:00"
    flip(lab.root / SMALL)
    assert lab.problem(ALL).endswith("since 2030-01-01 00:00:01+00:00 may be wrong")
    flip(lab.root / QEMU)
    assert lab.problem().endswith("since 2030-01-01 00:00:02+00:00 may be wrong")


def test_a_file_that_was_touched_is_hashed_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a copy of the cache to another disk."""
    os.utime(lab.root / "usr/bin/gcc", (1, 1))
    hashed: list[str] = []
    wrong = Contents.wrong_entry

    def counted(self: Contents, entry: contents.Entry) -> str:
        hashed.append(entry.path)
        return wrong(self, entry)

    monkeypatch.setattr(Contents, "wrong_entry", counted)
    assert lab.problem() == lab.problem() == ""
    assert hashed.count("usr/bin/gcc") == 1
    assert hashed.count(QEMU) == 2


def test_an_added_program_is_seen(lab: Lab) -> None:
    """It may stand before another in the search path."""
    (lab.root / "usr/bin/as").write_text("")
    assert lab.problem().startswith(f"{lab.root}/usr/bin/as was added")


def test_a_link_that_leads_elsewhere_is_seen(lab: Lab) -> None:
    """A link has no bytes, but a target."""
    (lab.root / "usr/bin/cc").unlink()
    (lab.root / "usr/bin/cc").symlink_to("as")
    assert f"{lab.root}/usr/bin/cc has other bytes" in lab.problem()


@pytest.mark.parametrize("spoil", ["", "{}", "[1]", '{"sum": "other"}', '{"colour": 1}'])
def test_without_its_state_all_is_looked_at_again(lab: Lab, spoil: str) -> None:
    """A state is a short cut; the list is what counts."""
    (lab.directory / STATE).write_text(spoil)
    assert lab.problem() == ""
    (lab.directory / STATE).write_text(spoil)
    flip(lab.root / "usr/lib/large")
    assert "usr/lib/large has other bytes" in lab.problem()


def test_a_changed_list_is_seen(lab: Lab) -> None:
    """The list itself, and another list in its place."""
    path = lab.directory / LIST
    text = path.read_text()
    path.write_text(text.replace('"etc/gai.conf"', '"etc/gai.cone"'))
    assert "its bytes are not those that were written" in lab.problem()
    path.write_text(text)
    (lab.root / SMALL).write_text("changed")
    lab.contents.record(json.loads(lab.manifest.read_text())["witness"])
    assert "is not the list that was made with the lab" in lab.problem()
    path.unlink()
    assert "cannot be read" in lab.problem()


def test_a_state_that_cannot_be_written_is_no_reason_to_fail(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lab on a read-only disk can be entered."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert lab.problem(ALL) == ""


# --- a full verification ---


def test_a_full_verification_finds_everything(lab: Lab) -> None:
    """Changed, added, gone, a link to elsewhere; each by name."""
    whole = lab.contents.verify()
    assert whole.problems == ()
    assert (whole.files, whole.links) == (7, 5)
    files = [path for path in lab.root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert whole.size == sum(path.stat().st_size for path in files)
    flip(lab.root / SMALL)
    (lab.root / "etc/plan 9/ü").unlink()
    (lab.root / "etc/new").symlink_to("/")
    (lab.root / "bin").unlink()
    (lab.root / "bin").symlink_to("usr/sbin")
    problems = lab.contents.verify().problems
    assert sorted(problem.removeprefix(f"{lab.root}/") for problem in problems) == [
        "bin has other bytes than when the lab was made",
        "etc/gai.conf has other bytes than when the lab was made",
        "etc/new was added",
        "etc/plan 9/ü is missing",
    ]
    # From then on every start knows.
    assert "etc/plan 9/ü is missing; what was built and measured since" in lab.problem()


Check = Callable[[], tuple[int, str]]


@pytest.fixture
def check(lab: Lab, monkeypatch: pytest.MonkeyPatch, call: Call) -> Check:
    """`worldwise lab check`: status and output."""

    def check() -> tuple[int, str]:
        monkeypatch.setattr(importlib.import_module("worldwise.cli.lab.root"), "open_lab", lambda **_: lab)
        answer = call("lab", "check")
        return answer.status, answer.out

    return check


def test_lab_check_tells_files_bytes_and_seconds(lab: Lab, check: Check) -> None:
    """And each file that differs, with status 1."""
    size = lab.contents.verify().size
    status, out = check()
    assert status == 0
    assert re.fullmatch(
        rf"the lab \({lab.digest[:12]}\): 7 files with {size:,} bytes, 5 links, \d+\.\d s: all are as they were made\n",
        out,
    )
    flip(lab.root / SMALL)
    status, out = check()
    assert status == 1
    assert out.splitlines()[0] == f"{lab.root}/{SMALL} has other bytes than when the lab was made"
    assert out.endswith("1 differ\n")


# --- what follows ---


def rebuilt(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `ensure` makes of it: the files of the root at the time when it is made anew."""
    calls: list[str] = []
    monkeypatch.setattr(lab_module, "require_host", lambda: None)
    monkeypatch.setattr(lab.store, "ensure", lambda *_: None)
    monkeypatch.setattr(lab, "build", lambda: calls.append("built"))
    lab.ensure()
    return calls


def test_a_damaged_lab_is_made_anew_and_what_it_made_is_doubted(
    lab: Lab, said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the name of the file, the time, and what to delete."""
    assert rebuilt(lab, monkeypatch) == []
    flip(lab.root / SMALL)
    assert rebuilt(lab, monkeypatch) == ["built"]
    text = said.getvalue()
    assert f"the lab is damaged; worldwise makes it again: {lab.root}/{SMALL} has other bytes" in text
    assert "what was built and measured since 20" in text
    assert f"delete the folders images, snapshots, results and traces in {lab.cache}" in text


def test_an_old_lab_gets_a_list_once(old: Lab, said: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """By size it is whole as it was; its bytes are taken as they are, and that is said."""
    assert old.problem() == ""
    assert rebuilt(old, monkeypatch) == rebuilt(old, monkeypatch) == []
    assert said.getvalue().count("was made when its files had no digests") == 1
    assert old.problem() == ""
    flip(old.root / "usr/bin/gcc")
    assert "usr/bin/gcc has other bytes" in old.problem()


def test_an_old_lab_is_held_against_its_packages(old: Lab, said: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its packages' own sums are in it: one that differs is not taken as it is."""
    info = old.root / "var/lib/dpkg/info"
    info.mkdir(parents=True)
    (info / "gcc.md5sums").write_text(f"{'0' * 32}  usr/bin/gcc\n{'1' * 32}  usr/share/doc/left-out\n")
    assert rebuilt(old, monkeypatch) == ["built"]
    assert f"makes it again: {old.root}/usr/bin/gcc differs from its package's file" in said.getvalue()
    assert not old.contents.listed


def test_a_lab_that_nobody_may_write_to_stays_without_a_list(old: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is usable as it was."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert old.ensure() is False
    assert not old.contents.listed


def test_a_root_that_is_damaged_is_refused_where_nothing_is_built(lab: Lab) -> None:
    """`require` names the file too."""
    flip(lab.root / QEMU)
    with pytest.raises(WorldwiseError, match="qemu-system-aarch64 has other bytes"):
        lab.require()
