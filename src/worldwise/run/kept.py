# SPDX-License-Identifier: BSD-2-Clause
"""Traces in the cache: a folder each, with what the run left that it is of, and the digests of all that."""

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from worldwise.base import files
from worldwise.base.files import file_sha256
from worldwise.lab.image import MOST_MANIFEST, check_files
from worldwise.machine.machine import TRACE

TRACE_MANIFEST = "watched.json"
KEPT_TRACE = f"{TRACE}.gz"
# Fast, and the trace still becomes ten times smaller.
_COMPRESSION = 3


def keep_trace(directory: Path, digest: str, models: bool) -> None:
    """Leave the records, the consoles and the compressed trace, with their digests, and whether models of cores ran."""
    trace = directory / TRACE
    with (
        trace.open("rb") as plain,
        (directory / KEPT_TRACE).open("wb") as file,
        # Without name and date the same trace gives the same bytes.
        gzip.GzipFile("", "wb", _COMPRESSION, file, mtime=0) as packed,
    ):
        shutil.copyfileobj(plain, packed)
    trace.unlink()
    kept = {path.name: file_sha256(path) for path in sorted(directory.iterdir())}
    (directory / TRACE_MANIFEST).write_text(
        json.dumps({"digest": digest, "models": models, "files": kept}) + "\n", encoding="utf-8"
    )


def is_whole(directory: Path, digest: str) -> bool:
    """Whether a kept trace is there, is that of this digest, and has not changed."""
    try:
        manifest = files.parse_json(files.read_bytes(directory / TRACE_MANIFEST, MOST_MANIFEST, directory))
        return bool(manifest["digest"] == digest and not check_files(directory, manifest["files"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def write_for_plugin(path: Path, content: bytes) -> None:
    """Let the plugin read it: if root runs the tool, the plugin runs as another user."""
    path.write_bytes(content)
    path.chmod(0o644)


def tables_in(tables: Sequence[str], work: Path) -> tuple[Path, ...]:
    """The tables of cores as files in `work`, for the plugin."""
    paths = []
    for number, table in enumerate(tables):
        write_for_plugin(path := work / f"core-{number}", table.encode())
        paths.append(path)
    return tuple(paths)
