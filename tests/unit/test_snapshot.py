# SPDX-License-Identifier: BSD-2-Clause
"""Saved machines: which are used as they are, and how often their bytes are hashed."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from worldwise.base.files import file_sha256
from worldwise.lab import image
from worldwise.machine import snapshot

DIGEST = "5" * 64


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The folder of a saved state."""
    (tmp_path / "state").write_bytes(b"a machine")
    listed = {"digest": DIGEST, "machine": "x", "files": {"state": file_sha256(tmp_path / "state")}}
    (tmp_path / "snapshot.json").write_text(json.dumps(listed))
    return tmp_path


def test_a_state_is_hashed_once_by_a_process(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []

    def check_files(directory: Path, listed: Mapping[str, str]) -> str:
        hashed.append(directory)
        return image.check_files(directory, listed)

    monkeypatch.setattr(snapshot, "check_files", check_files)
    assert [snapshot._problem(saved, DIGEST) for _ in range(3)] == [""] * 3
    assert hashed == [saved]


def test_a_state_that_changed_after_it_was_hashed_is_found(saved: Path) -> None:
    """Its size and its time may be as before: the time of the last change of its entry is not."""
    state = saved / "state"
    assert not snapshot._problem(saved, DIGEST)
    before = state.stat()
    state.write_bytes(b"A machine")
    os.utime(state, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "has changed since it was made" in snapshot._problem(saved, DIGEST)
    state.write_bytes(b"a machine")
    assert not snapshot._problem(saved, DIGEST)


def test_what_is_not_the_machines_is_not_used(saved: Path) -> None:
    assert not snapshot._problem(saved, DIGEST)
    assert snapshot._problem(saved, "6" * 64) == "it is another machine's"
    (saved / "state").unlink()
    assert snapshot._problem(saved, DIGEST) == "not there"
