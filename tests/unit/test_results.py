# SPDX-License-Identifier: BSD-2-Clause
"""Stored results: given back as they were put, or not at all."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from worldwise.run.results import ResultStore

DIGEST = "0123456789abcdef" * 4
OTHER = "0123456789abcdef" + "f" * 48  # the same directory, another result
FILES = {
    "records.jsonl": b'{"type":"end","status":0}\n' * 50,
    "console.log": b"booted\r\n",
    "secure.log": b"",
    "qemu.log": b"",
}


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """The directory of a measured case."""
    path = tmp_path / "case"
    path.mkdir()
    for name, data in FILES.items():
        (path / name).write_bytes(data)
    return path


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "cache")


def put(store: ResultStore, case: Path, digest: str = DIGEST, run: str = "20260102T030400Z-a") -> Path:
    """Keep the case, and tell where."""
    store.put(digest, case, run, 1.25, ("qemu-system-aarch64", "-m", "1024"))
    return store.directory / digest[:16]


def test_what_is_put_is_got(store: ResultStore, case: Path, tmp_path: Path) -> None:
    """If this fails, a reused case is not the one that was measured."""
    assert store.get(DIGEST) is None
    directory = put(store, case)
    result = store.get(DIGEST)
    assert result is not None
    assert result.run == "20260102T030400Z-a"
    assert result.wall_seconds == 1.25
    assert result.command == ("qemu-system-aarch64", "-m", "1024")
    assert result.directory == directory

    target = tmp_path / "another case"
    target.mkdir()
    result.copy_to(target)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == FILES
    # Nothing half-made stays in the store.
    assert list(store.directory.iterdir()) == [directory]


def test_put_again_replaces(store: ResultStore, case: Path) -> None:
    """If this fails, a result measured anew (`--fresh`) does not take the old one's place."""
    put(store, case)
    (case / "records.jsonl").write_bytes(b"new\n")
    directory = put(store, case, run="20260102T030500Z-b")
    result = store.get(DIGEST)
    assert result is not None
    assert result.run == "20260102T030500Z-b"
    assert (directory / "records.jsonl").read_bytes() == b"new\n"


def test_a_result_is_found_by_its_whole_digest(store: ResultStore, case: Path) -> None:
    """If this fails, a result of another machine is taken because its address begins the same."""
    put(store, case)
    assert store.get(OTHER) is None
    put(store, case, OTHER)
    assert store.get(DIGEST) is None
    assert store.get(OTHER) is not None


def change(name: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        data = bytearray(FILES[name] or b"x")
        data[len(data) // 2] ^= 1
        (directory / name).write_bytes(data)

    return damage


def cut(name: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        path = directory / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


def rewrite(**fields: object) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        path = directory / "result.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(change("records.jsonl"), id="a flipped bit in the records"),
        pytest.param(cut("records.jsonl"), id="records cut off"),
        pytest.param(change("console.log"), id="a flipped bit in a log"),
        pytest.param(change("secure.log"), id="a log that was empty"),
        pytest.param(lambda directory: (directory / "qemu.log").unlink(), id="a file lost"),
        pytest.param(cut("result.json"), id="manifest cut off"),
        pytest.param(lambda directory: (directory / "result.json").write_bytes(b""), id="manifest empty"),
        pytest.param(lambda directory: (directory / "result.json").write_bytes(b"\xff\xfe"), id="manifest not text"),
        pytest.param(lambda directory: (directory / "result.json").write_text("[]"), id="manifest a list"),
        pytest.param(lambda directory: (directory / "result.json").unlink(), id="manifest lost"),
        pytest.param(rewrite(files=[]), id="files a list"),
        pytest.param(rewrite(wall_seconds=None), id="no time"),
        pytest.param(rewrite(command=None), id="no command"),
        pytest.param(rewrite(digest=OTHER), id="another digest"),
    ],
)
def test_a_damaged_result_is_not_used(damage: Callable[[Path], None], store: ResultStore, case: Path) -> None:
    """If this fails, a broken cache entry becomes a figure in a table, or a traceback."""
    damage(put(store, case))
    assert store.get(DIGEST) is None
    put(store, case)
    assert store.get(DIGEST) is not None


def test_the_least_recently_checked_is_known(store: ResultStore, case: Path) -> None:
    """If this fails, the check of reused results looks at the same one every time."""
    digests = [f"{number:064x}"[::-1] for number in (1, 2, 3)]
    for age, digest in enumerate(digests):
        path = put(store, case, digest) / "result.json"
        os.utime(path, (1_000_000 - age, 1_000_000 - age))

    def oldest_first() -> list[str]:
        found = [result for digest in digests if (result := store.get(digest))]
        return [result.directory.name for result in sorted(found, key=lambda result: result.checked)]

    one, two, three = (digest[:16] for digest in digests)
    assert oldest_first() == [three, two, one]
    result = store.get(digests[2])
    assert result is not None
    store.mark_checked(result)
    assert oldest_first() == [two, one, three]
    # A result that was only read has not been checked.
    assert store.get(digests[1]) is not None
    assert oldest_first() == [two, one, three]


def test_a_case_without_all_its_files_is_not_kept(store: ResultStore, case: Path) -> None:
    """If this fails, half a result lies in the store."""
    (case / "qemu.log").unlink()
    with pytest.raises(FileNotFoundError):
        put(store, case)
    assert store.get(DIGEST) is None
    assert list(store.directory.iterdir()) == []
