# SPDX-License-Identifier: BSD-2-Clause
"""A process hashes a file once, unless somebody wrote it since."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from worldwise.base.files import file_sha256
from worldwise.lab.image import check_files, tree_digest
from worldwise.lab.recent_hashes import is_settled, stat_of


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were hashed, in order."""
    seen: list[Path] = []

    def hash_it(path: Path) -> str:
        seen.append(path)
        return file_sha256(path)

    monkeypatch.setattr("worldwise.lab.image.file_sha256", hash_it)
    return seen


def _settle(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let some seconds pass since the file was written, for the tool alone."""
    later = time.time() + 10
    monkeypatch.setattr("worldwise.lab.recent_hashes.time.time", lambda: later)
    assert is_settled(stat_of(path))


def test_a_tree_is_hashed_once(tmp_path: Path, counted: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.c").write_text("int a;")
    _settle(tmp_path / "a.c", monkeypatch)
    first = tree_digest(tmp_path)
    assert tree_digest(tmp_path) == first
    assert counted == [tmp_path / "a.c"]


def test_a_file_that_was_written_since_is_hashed_again(
    tmp_path: Path, counted: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it has the size and the time of before: its change time is another."""
    path = tmp_path / "a.c"
    path.write_text("int a;")
    _settle(path, monkeypatch)
    first, before = tree_digest(tmp_path), path.stat()
    # Longer than a step of the kernel's clock.
    time.sleep(0.02)
    path.write_text("int b;")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert tree_digest(tmp_path) != first
    assert len(counted) == 2


def test_a_file_that_was_just_written_is_hashed_each_time(tmp_path: Path, counted: list[Path]) -> None:
    """Within a step of the kernel's clock, it could be written again without another time."""
    (tmp_path / "a.c").write_text("int a;")
    tree_digest(tmp_path)
    tree_digest(tmp_path)
    assert len(counted) == 2


def test_what_a_link_names_is_hashed_each_time(
    tmp_path: Path, counted: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link's own times say nothing of it."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "a.c").write_text("int a;")
    (tmp_path / "tree" / "a.c").symlink_to(tmp_path / "a.c")
    _settle(tmp_path / "a.c", monkeypatch)
    first = tree_digest(tmp_path / "tree")
    (tmp_path / "a.c").write_text("int b;")
    assert tree_digest(tmp_path / "tree") != first
    assert len(counted) == 2


def test_a_tree_has_one_order_and_no_compiled_python(tmp_path: Path) -> None:
    """By folders, as paths are compared; the addresses of all images rest on it."""
    for name in ("a/b", "a.b", "a/c/d", "Z", "__pycache__/x.pyc", "a/__pycache__/y.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    expected = "".join(
        f"{path.relative_to(tmp_path)}\0{file_sha256(path)}\n"
        for path in sorted(tmp_path.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    )
    assert tree_digest(tmp_path) == hashlib.sha256(expected.encode()).hexdigest()


def test_an_image_that_changes_after_its_check_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("as it was")
    listed = {"file": file_sha256(path)}
    _settle(path, monkeypatch)
    assert not check_files(tmp_path, listed)
    time.sleep(0.02)
    path.write_text("as it is!")
    assert "has changed since it was made" in check_files(tmp_path, listed)
