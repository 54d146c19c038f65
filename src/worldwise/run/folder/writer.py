# SPDX-License-Identifier: BSD-2-Clause
"""Writing a run: case by case as it goes, so that a tool killed at any moment loses at most the case in flight."""

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Self

from pydantic import BaseModel

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.run.folder.manifests import (
    CASE_FILE,
    FINISHED_FILE,
    FORMAT,
    RUN_FILE,
    SUITE_FILE,
    CaseManifest,
    FileEntry,
    FinalState,
    Finished,
    RunManifest,
)
from worldwise.run.folder.run_plan import (
    CaseInputs,
    CaseOutcome,
    Counting,
    RunPlan,
    RunProvenance,
    case_manifest_of,
    manifest_of,
)
from worldwise.run.folder.rundir import LIMITS, Run

_FULL = (errno.ENOSPC, errno.EDQUOT)


class RunWriter:
    """Writes a run. While it is open, the directory is locked against a second writer: use it in a `with`.

    A full disk raises a WorldwiseError that says what is kept, from every method and from `guard()`.
    """

    def __init__(self, run: Run) -> None:
        """Use `create` or `resume`."""
        self.run = run
        self._lock: int | None = _lock(run.path)

    @classmethod
    def create(
        cls,
        runs_dir: Path,
        plan: RunPlan,
        made: RunProvenance,
        counting: Counting,
        now: datetime | None = None,
    ) -> Self:
        """Makes the directory of a new run. Raises WorldwiseError."""
        started = (now or datetime.now(UTC)).astimezone(UTC)
        return cls.begin(runs_dir, manifest_of(plan, made, counting, started), plan.suite.text, started)

    @classmethod
    def begin(cls, runs_dir: Path, manifest: RunManifest, suite_text: str, now: datetime) -> Self:
        """Makes the directory of a new run of a manifest, named by the time and what is run. Raises WorldwiseError."""
        shard = manifest.shard
        part = f"-shard-{shard.number}-of-{shard.count}" if shard else ""
        with _disk(runs_dir, lambda: "nothing of this run is kept"):
            runs_dir.mkdir(parents=True, exist_ok=True)
            path = _new_directory(runs_dir, f"{now:%Y%m%dT%H%M%SZ}-{manifest.suite}{part}")
            files.write_whole(path, SUITE_FILE, suite_text.encode())
            files.write_whole(path, RUN_FILE, _json(manifest))
        return cls(Run(path, manifest, None))

    @classmethod
    def resume(cls, run: Run) -> Self:
        """Resumes a run that did not complete.

        Raises WorldwiseError if the run is complete, is still being written, or a complete case has changed since.
        """
        if run.finished and run.finished.state == "complete":
            raise WorldwiseError(f"run {run.id} is complete: there is nothing to resume.")
        writer = cls(Run(run.path, run.manifest, None))
        try:
            for manifest in run.complete_cases():
                run.check_case(manifest.id)
            with writer.guard():
                files.remove(run.path, FINISHED_FILE)
        except BaseException:
            writer.close()
            raise
        return writer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unlocks the directory for another writer."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def pending(self) -> list[str]:
        """The ids of the cases still to do, in order; failed cases are done again."""
        done = {manifest.id for manifest in self.run.complete_cases()}
        return [case_id for case_id in self.run.manifest.cases if case_id not in done]

    def case_directory(self, case_id: str) -> Path:
        """An empty directory for the next case; files of an earlier attempt are removed."""
        if case_id not in self.run.manifest.cases:
            raise WorldwiseError(f"run {self.run.id} has no case '{case_id}'.")
        path = self.run.case_directory(case_id)
        with self.guard():
            relative = path.relative_to(self.run.path)
            # case.json goes first: a half-removed case must not look done.
            try:
                files.remove(self.run.path, relative / CASE_FILE)
            except OSError as error:
                # The folder itself is a link: it is removed next.
                if error.errno != errno.ELOOP:
                    raise
            files.remove(self.run.path, relative)
            with files.folder(self.run.path, relative, make=True):
                pass
        return path

    def complete_case(self, case: Case, inputs: CaseInputs, outcome: CaseOutcome) -> None:
        """Marks a case as done: brings its files to disk, then writes `case.json`. Raises WorldwiseError."""
        self._finish_case(case_manifest_of(case, inputs, outcome))

    def take_case(self, other: Run, manifest: CaseManifest) -> None:
        """Takes a case from another run as it is: its files, then its `case.json`.

        Raises WorldwiseError, also if a file has changed since the case was done.
        """
        directory = self.case_directory(manifest.id)
        other.check_case(manifest.id)
        with self.guard():
            for name in manifest.files or {}:
                files.copy(other.case_directory(manifest.id) / name, directory / name, LIMITS.file, other.path)
        self._finish_case(manifest)

    def finish(self, state: FinalState, now: str = "") -> Run:
        """Writes how and when the run ended, and returns the run for reading. Raises WorldwiseError."""
        now = now or datetime.now(UTC).isoformat(timespec="seconds")
        finished = Finished(format=FORMAT, finished=now, state=state)
        with self.guard():
            files.write_whole(self.run.path, FINISHED_FILE, _json(finished))
        self.run = Run(self.run.path, self.run.manifest, finished)
        return self.run

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Turns an OSError inside (a full disk above all) into a WorldwiseError that says what is kept."""
        with _disk(self.run.path, self._kept):
            yield

    def _kept(self) -> str:
        total = len(self.run.manifest.cases)
        return f"{total - len(self.pending)} of {total} cases are kept in {self.run.path}"

    def _finish_case(self, manifest: CaseManifest) -> None:
        path = self.run.case_directory(manifest.id)
        relative = path.relative_to(self.run.path)
        with self.guard():
            entries = self._to_disk(relative, keep=manifest.state == "complete")
            manifest = manifest.model_copy(update={"files": entries})
            files.write_whole(self.run.path, relative / CASE_FILE, _json(manifest))
            # The directories above may be new as well.
            for parent in relative.parents:
                with files.folder(self.run.path, parent) as descriptor:
                    os.fsync(descriptor)

    def _to_disk(self, relative: PurePath, *, keep: bool) -> dict[str, FileEntry]:
        """Brings a case's files to disk and returns their entries.

        A link or a special file is removed from a failed case; in any other case it raises WorldwiseError.
        """
        entries: dict[str, FileEntry] = {}
        with files.folder(self.run.path, relative) as descriptor:
            names = files.listing(descriptor)
        for name in names:
            path = self.run.path / relative / name
            try:
                with files.open_regular(path, LIMITS.file, self.run.path) as stream:
                    os.fsync(stream.fileno())
                    size = os.fstat(stream.fileno()).st_size
                    entries[name] = FileEntry(size=size, sha256=hashlib.file_digest(stream, "sha256").hexdigest())
            except OSError as error:
                if error.errno in _FULL:
                    raise
                if keep:
                    raise WorldwiseError(f"{path}: the measured machine left it, and {error.strerror}.") from error
                files.remove(self.run.path, relative / name)
        return entries


def _json(manifest: BaseModel) -> bytes:
    return f"{manifest.model_dump_json(indent=2)}\n".encode()


def _new_directory(runs_dir: Path, name: str) -> Path:
    number = 1
    while True:
        path = runs_dir / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def _lock(path: Path) -> int:
    # The lock is on the directory itself, so no file is left behind; the kernel drops it however the tool ends.
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    # A few tries: a reader that checks for the lock holds it for a moment itself.
    for _ in range(5):
        if files.try_lock(descriptor, unknown=True):
            return descriptor
        time.sleep(0.02)
    os.close(descriptor)
    raise WorldwiseError(f"run {path.name} is being written by another worldwise.", hint="wait for it to end")


@contextlib.contextmanager
def _disk(path: Path, kept: Callable[[], str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise WorldwiseError(
                f"the disk is full: {error.filename or path} could not be written; {kept()}.",
                hint="make room there, then: worldwise run --resume",
            ) from error
        raise WorldwiseError(
            f"{error.filename or path} could not be written: {error.strerror or error}; {kept()}."
        ) from error
