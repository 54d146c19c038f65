# SPDX-License-Identifier: BSD-2-Clause
"""Saved machines: which are used as they are, and how often their bytes are hashed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from worldwise.base import files
from worldwise.base.files import file_sha256
from worldwise.lab import recent_hashes
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
    seen, sha256 = list[Path](), files.sha256

    def counted(path: Path, most: int, within: Path) -> tuple[int, str]:
        seen.append(path)
        return sha256(path, most, within)

    monkeypatch.setattr(files, "sha256", counted)
    monkeypatch.setattr(recent_hashes, "SETTLED", -1)
    assert [snapshot.problem_of(saved, DIGEST) for _ in range(3)] == [""] * 3
    assert seen == [saved / "state"]


def test_a_state_that_changed_after_it_was_hashed_is_found(saved: Path) -> None:
    """Its size and its time may be as before: the time of the last change of its entry is not."""
    state = saved / "state"
    assert not snapshot.problem_of(saved, DIGEST)
    before = state.stat()
    state.write_bytes(b"A machine")
    os.utime(state, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "has changed since it was made" in snapshot.problem_of(saved, DIGEST)
    state.write_bytes(b"a machine")
    assert not snapshot.problem_of(saved, DIGEST)


def test_what_is_not_the_machines_is_not_used(saved: Path) -> None:
    assert not snapshot.problem_of(saved, DIGEST)
    assert snapshot.problem_of(saved, "6" * 64) == "it is another machine's"
    (saved / "state").unlink()
    assert snapshot.problem_of(saved, DIGEST) == "not there"


def test_a_machine_that_is_gone_leaves_no_words_of_asyncio(tmp_path: Path) -> None:
    """If this fails, Ctrl-C while a state is saved ends with pages about futures whose exceptions nobody retrieved."""
    program = """
import json, socket, sys, threading
from pathlib import Path
from worldwise.machine.snapshot import save_state
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
def qemu():
    heard, _ = listener.accept()
    heard.sendall(b'{"QMP": {"version": {}, "capabilities": []}}\\n')
    while b"query-migrate" not in (words := heard.recv(4096, socket.MSG_PEEK)):
        heard.recv(len(words))
        heard.sendall(json.dumps({"return": {}, "id": json.loads(words).get("id")}).encode() + b"\\n")
    # A request lies unread, as when QEMU is killed: the kernel resets the connection.
    heard.close()
threading.Thread(target=qemu, daemon=True).start()
try:
    save_state(Path(sys.argv[1]), "state")
except Exception as error:
    print(type(error).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(tmp_path / "qmp")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["OSError"]
    assert done.stderr == ""
