# SPDX-License-Identifier: BSD-2-Clause
"""What was hashed a little while ago is not hashed again, unless it was written since, or the time is over."""

import os
import time
from pathlib import Path

import pytest

from worldwise.base.files import file_sha256
from worldwise.lab.contents import LIST, STATE, Contents
from worldwise.lab.image import check_files
from worldwise.lab.recent_hashes import HASHED as hashed_by_process
from worldwise.lab.recent_hashes import Recent


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, str]]:
    """A folder with a file that nobody wrote for some seconds, and what its manifest says."""
    monkeypatch.setattr("worldwise.lab.recent_hashes.SETTLED", -1)
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "file").write_text("as it was")
    return tmp_path / "image", {"file": file_sha256(tmp_path / "image" / "file")}


def test_a_file_is_hashed_once(
    image: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next start too; a start that does not ask for it hashes as ever."""
    first = Recent(tmp_path, 600)
    assert not check_files(*image, first)
    first.save()
    seen: list[Path] = []

    def sha256(path: Path, *_: object) -> tuple[int, str]:
        seen.append(path)
        return 9, image[1]["file"]

    monkeypatch.setattr("worldwise.base.files.sha256", sha256)
    for recent, hashes in ((Recent(tmp_path, 600), 0), (Recent(tmp_path, -1), 1), (None, 2)):
        # As a new process has it.
        hashed_by_process.clear()
        assert not check_files(*image, recent)
        assert len(seen) == hashes


def test_a_file_that_was_written_is_hashed_at_once(image: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """Though it has the size and the time of before: its change time is another."""
    recent = Recent(tmp_path, 600)
    assert not check_files(*image, recent)
    path = image[0] / "file"
    before = path.stat()
    time.sleep(0.02)
    path.write_text("as it is!")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "has changed since it was made" in check_files(*image, recent)
    assert check_files(image[0], {"file": "0" * 64}, recent)


def test_a_damaged_list_is_none(image: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    recent = Recent(tmp_path, 600)
    assert not check_files(*image, recent)
    recent.save()
    for text in ("", "[]", '{"%s": [1]}' % (image[0] / "file"), '{"%s": null}' % (image[0] / "file")):
        (tmp_path / "recent.json").write_text(text)
        assert not Recent(tmp_path, 600).has(image[0] / "file", image[1]["file"])


def test_a_lab_that_a_start_found_whole_says_when(tmp_path: Path) -> None:
    """Of this list, and only without damage."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "program").write_text("program")
    contents = Contents(root, tmp_path)
    total, _ = contents.record(["program"])
    assert abs(contents.found_whole(total) - time.time()) < 3600
    assert contents.found_whole("0" * 64) == 0
    (root / "program").write_text("other")
    assert contents.verify().problems
    assert contents.found_whole(total) == 0
    assert (tmp_path / LIST).exists()
    (tmp_path / STATE).write_text("{}")
    assert contents.found_whole(total) == 0
