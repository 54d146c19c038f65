# SPDX-License-Identifier: BSD-2-Clause
"""The file of a scheduler's key: made once, for its user alone; every other file is refused in words."""

import datetime
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from worldwise.base.errors import HostError, WorldwiseError
from worldwise.run.workers import keys
from worldwise.run.workers.keys import Key, answers, facing, made_or_read, new_key, read_key, write_key


@pytest.fixture(scope="module")
def key() -> Key:
    return new_key()


@pytest.fixture
def path(key: Key, tmp_path: Path) -> Path:
    """A file with the key."""
    found = tmp_path / "workers.key"
    write_key(key, found)
    return found


def test_a_key_is_made_once_and_for_its_user_alone(tmp_path: Path) -> None:
    """If this fails, another user reads the key, or a scheduler that is started anew locks its workers out."""
    before = os.umask(0)
    try:
        made = made_or_read(tmp_path / "key")
    finally:
        os.umask(before)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert made_or_read(tmp_path / "key") == made
    assert made.secret not in repr(made)
    assert [each.name for each in tmp_path.iterdir()] == ["key"]
    with pytest.raises(FileExistsError):
        write_key(made, tmp_path / "key")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(WorldwiseError, match="there is no such key"):
        made_or_read(tmp_path / "link")
    with pytest.raises(WorldwiseError, match="the key cannot be written: No such file or directory"):
        made_or_read(tmp_path / "no" / "key")


def cut(path: Path) -> None:
    path.write_text(path.read_text()[:-200])


def mix(path: Path) -> None:
    other = new_key()
    path.write_text(Key(other.secret, keys.read_key(path).certificate).text)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def fill(path: Path) -> None:
    path.write_bytes(b"\0" * 70_000)


@pytest.mark.parametrize(
    ("spoil", "says", "way_out"),
    [
        (Path.unlink, "there is no such key", "worldwise scheduler"),
        (lambda path: path.chmod(0o640), r"other users may read or change this key \(its mode is 0640\)", "chmod 600"),
        (lambda path: path.chmod(0o602), "other users may read or change", "new one"),
        (cut, "not a complete key of a worldwise scheduler", "once more"),
        (mix, "not a complete key of a worldwise scheduler", "once more"),
        (lambda path: path.write_text("key"), "not a complete key of a worldwise scheduler", "once more"),
        (fill, "it has more than", ""),
        (pipe, "a FIFO, not a file", ""),
    ],
)
def test_what_is_no_key_is_refused(spoil: Callable[[Path], object], says: str, way_out: str, path: Path) -> None:
    spoil(path)
    with pytest.raises(WorldwiseError, match=says) as caught:
        read_key(path)
    assert str(path) in caught.value.message
    assert way_out in caught.value.hint


def test_a_key_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wrote it knows it."""
    owner = os.geteuid()
    if owner == 0:
        os.chown(path, 65534, 65534)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(WorldwiseError, match="this key belongs to another user"):
        read_key(path)


def test_an_old_key_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "end_of", lambda _key: datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))
    with pytest.raises(WorldwiseError, match="this key expired on 2026-01-02") as caught:
        read_key(path)
    assert "make a new one" in caught.value.hint


def test_nobody_there_is_no_error(key: Key, path: Path) -> None:
    assert not answers("tls://127.0.0.1:1", key, path)


def test_a_worker_listens_where_it_faces_its_scheduler() -> None:
    """If this fails, a worker of a scheduler on loopback listens to the network."""
    assert facing("tls://127.0.0.1:8786") == "127.0.0.1"
    if socket.has_ipv6 and Path("/proc/net/if_inet6").read_text():
        assert facing("tls://[::1]:8786") == "::1"
    with pytest.raises(HostError, match="this machine has no route there"):
        facing("tls://no-such-host.invalid:8786")
