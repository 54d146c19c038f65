# SPDX-License-Identifier: BSD-2-Clause
"""Traces in the cache: a folder each, with what the run left that it is of, and the digests of all that."""

import gzip
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.base.json_model import parse_json
from worldwise.lab.cache_locks import mark_used
from worldwise.lab.image import MOST_MANIFEST, check_files
from worldwise.machine.machine import TRACE
from worldwise.records.trace import Trace, TraceTooLargeError, read_trace

TRACE_MANIFEST = "watched.json"
KEPT_TRACE = f"{TRACE}.gz"
# Fast, and the trace still becomes ten times smaller.
_COMPRESSION = 3
# Seconds without a line, and calls of which the reader is told how many they are.
SILENT, MANY = 10.0, 50_000
_Read = TypeVar("_Read")


def with_notes(what: str, notify: Callable[[str], None]) -> Callable[[Path], Trace]:
    """How a trace of `what` is read, with a line every ten seconds: own code may have 400,000 calls in it."""

    def read(path: Path) -> Trace:
        began = said = time.monotonic()

        def tell(passes: int) -> None:
            nonlocal said
            if (now := time.monotonic()) - said >= SILENT:
                said = now
                notify(f"{what}: read {passes:,} calls so far, in {now - began:.0f} s")

        trace = read_trace(path, tell)
        if len(trace.passes) >= MANY:
            notify(f"{what}: read {len(trace.passes):,} calls in {time.monotonic() - began:.1f} s")
        return trace

    return read


def kept_trace(
    cache: Path,
    digest: str,
    make: Callable[[Path], Path],
    read: Callable[[Path], _Read],
    too_large: WorldwiseError,
    fresh: bool = False,
) -> tuple[Path, _Read]:
    """The folder in `cache` of the trace with this digest, and the trace as `read` reads it.

    If none is there, or with `fresh`, `make` gets an empty folder and returns the one below it that `keep_trace` has
    closed. Raises `too_large` for a trace that is too large to be read; it is not kept.
    """
    traces = cache / "traces"
    traces.mkdir(parents=True, exist_ok=True)
    final = traces / digest[:16]
    with FileLock(traces / f".{digest[:16]}.lock"):
        if fresh or not is_whole(final, digest):
            with tempfile.TemporaryDirectory(dir=traces, prefix=".watching-") as work:
                directory = make(Path(work))
                shutil.rmtree(final, ignore_errors=True)
                directory.rename(final)
        try:
            found = read(final / KEPT_TRACE)
        except TraceTooLargeError as error:
            # Whoever asks again would be refused again, and it is the largest in the cache.
            shutil.rmtree(final, ignore_errors=True)
            raise WorldwiseError(f"{too_large.message}: it has {error.limit}", too_large.hint) from None
    mark_used(final)
    return final, found


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
        manifest = parse_json(files.read_bytes(directory / TRACE_MANIFEST, MOST_MANIFEST, directory))
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
