# SPDX-License-Identifier: BSD-2-Clause
"""A run's directory: written as the run goes, read by the lenses, never rewritten.

A case counts as done once its `case.json` is there. It is written last, when the rest of the case is on disk:
a tool killed at any moment loses at most the case in flight.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import read_text
from worldwise.base.units import INSTRUCTIONS
from worldwise.run.folder.manifests import (
    _M,
    CASE_FILE,
    FINISHED_FILE,
    RECORDS_FILE,
    RUN_FILE,
    SUITE_FILE,
    CaseManifest,
    FileEntry,
    Finished,
    RunManifest,
    check_case_manifest,
    check_run_manifest,
    parse_manifest,
)

# A larger file is refused: a case has at most some 200 MB of records (plan.tables.MAX_SAMPLES).
MOST_RECORDS = 256 * 2**20
MOST_MANIFEST = 16 * 2**20
LIMITS = files.TreeLimits(file=512 * 2**20, total=16 * 2**30, entries=200_000, depth=4)

_LATEST = re.compile(r"latest(?:~([0-9]{1,6}))?")
_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[a-z0-9-]+")


@dataclass(frozen=True)
class Run:
    """A run on disk, opened for reading."""

    path: Path
    manifest: RunManifest
    finished: Finished | None

    @property
    def id(self) -> str:
        """The run's name: its directory's."""
        return self.path.name

    @property
    def state(self) -> str:
        """As finished.json says; without it `running` while a tool writes the run, else `killed`."""
        if self.finished:
            return self.finished.state
        return "running" if _is_locked(self.path) else "killed"

    def case_directory(self, case_id: str) -> Path:
        """Where a case's files are."""
        return self.path / "cases" / case_id

    def records_path(self, case_id: str) -> Path:
        """Where a case's records are."""
        return self.case_directory(case_id) / RECORDS_FILE

    def case(self, case_id: str) -> CaseManifest | None:
        """A case's manifest, or None if the case is not done. Raises WorldwiseError if it is corrupt."""
        path = self.case_directory(case_id) / CASE_FILE
        manifest = _read(path, CaseManifest, self.path)
        return manifest and check_case_manifest(manifest, case_id, path)

    def case_file(self, case_id: str, name: str = RECORDS_FILE, manifest: CaseManifest | None = None) -> bytes:
        """The content of a case's file; `manifest` is the case's, of whoever has read it.

        Raises WorldwiseError if the file has changed since the case was done.
        """
        path = self.case_directory(case_id) / name
        try:
            content = files.read_bytes(path, MOST_RECORDS, self.path)
        except OSError as error:
            raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.") from error
        entry = self._entry(case_id, name, manifest or self.case(case_id))
        if entry is not None:
            _require_same(path, entry, len(content), hashlib.sha256(content).hexdigest())
        return content

    def check_case(self, case_id: str) -> None:
        """Raises WorldwiseError if a file of a case has changed since the case was done."""
        manifest = self.case(case_id)
        for name, entry in ((manifest and manifest.files) or {}).items():
            path = self.case_directory(case_id) / name
            try:
                found = files.sha256(path, LIMITS.file, self.path)
            except OSError as error:
                raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.", _CHANGED_HINT) from error
            _require_same(path, entry, *found)

    def _entry(self, case_id: str, name: str, manifest: CaseManifest | None) -> FileEntry | None:
        """The entry of a file in its case's manifest; None if the manifest lists no files."""
        if manifest is None or manifest.files is None:
            return None
        if name not in manifest.files:
            path = self.case_directory(case_id)
            raise WorldwiseError(f"{path / name}: came after the case was done: {path / CASE_FILE} does not list it.")
        return manifest.files[name]

    def complete_cases(self) -> list[CaseManifest]:
        """The cases that are done and went well, in the run's order."""
        manifests = (self.case(case_id) for case_id in self.manifest.cases)
        return [manifest for manifest in manifests if manifest and manifest.state == "complete"]

    def require_instructions(self, what: str) -> None:
        """Raises WorldwiseError if the run counts something else: `what` is for instructions alone."""
        if self.manifest.unit != INSTRUCTIONS:
            raise WorldwiseError(
                f"run {self.id} counts {self.manifest.unit} of a chip: {what} is for instructions alone, which repeat.",
                f"see its table: worldwise report {self.id} --all",
            )

    def suite_text(self) -> str:
        """The suite as it was when the run began. Raises WorldwiseError."""
        return read_text(self.path / SUITE_FILE, "suite", self.path)


class NoRunError(WorldwiseError):
    """There is no run of that name."""


@dataclass(frozen=True)
class ListedRun:
    """One entry of a list of runs: the run, or why it cannot be read."""

    id: str
    path: Path
    run: Run | None
    problem: str


def open_run(reference: str | Path, runs_dir: Path) -> Run:
    """Opens a run: a directory, `latest`, an id, or an id's unambiguous beginning. `latest~1` is the one before the
    latest, as git counts. Raises WorldwiseError.
    """
    if isinstance(reference, Path):
        return _open(reference)
    ids = _ids(runs_dir)
    if latest := _LATEST.fullmatch(reference):
        back = int(latest[1] or 0)
        if not ids:
            raise WorldwiseError(f"there is no run yet in {runs_dir}.", hint="make one: worldwise run")
        if back >= len(ids):
            raise NoRunError(
                f"there is no run '{reference}' in {runs_dir}: that has {len(ids)}.",
                hint=f"the oldest is {'latest' if len(ids) == 1 else f'latest~{len(ids) - 1}'}, {ids[0]}",
            )
        return _open(runs_dir / ids[-1 - back])
    if reference in ids:
        return _open(runs_dir / reference)
    if "/" in reference or Path(reference).is_dir():
        return _open(Path(reference).expanduser())
    found = [name for name in ids if reference and name.startswith(reference)]
    if len(found) == 1:
        return _open(runs_dir / found[0])
    if found:
        raise WorldwiseError(f"'{reference}' begins more than one run: {', '.join(found)}.")
    listed = ", ".join(ids[-5:]) if ids else "none"
    raise NoRunError(
        f"there is no run '{reference}' in {runs_dir}. The newest: {listed}.",
        hint=did_you_mean(reference, ids)
        or "say 'latest', 'latest~1' (the run before it), an id or its beginning, or a path",
    )


def list_runs(runs_dir: Path) -> list[ListedRun]:
    """Every run of a directory, oldest first; an unreadable run comes with the reason."""
    runs = []
    for name in _ids(runs_dir):
        path = runs_dir / name
        try:
            runs.append(ListedRun(name, path, _open(path), ""))
        except WorldwiseError as error:
            runs.append(ListedRun(name, path, None, error.message))
    return runs


def _open(path: Path) -> Run:
    if not path.is_dir():
        raise WorldwiseError(f"{path}: there is no such directory.")
    path = path.resolve()
    manifest_path = path / RUN_FILE
    if not os.path.lexists(manifest_path):
        raise WorldwiseError(f"{path}: not a run: it has no {RUN_FILE}.")
    files.check_tree(path, LIMITS, _is_unfinished)
    manifest = _read(manifest_path, RunManifest, path)
    if manifest is None:
        raise WorldwiseError(f"{path}: not a run: it has no {RUN_FILE}.")
    check_run_manifest(manifest, manifest_path)
    return Run(path, manifest, _read(path / FINISHED_FILE, Finished, path))


def _is_unfinished(relative: PurePath, names: Sequence[str]) -> bool:
    """Whether a folder of a run belongs to a case that is not done: nothing in it is read."""
    return len(relative.parts) == 4 and relative.parts[0] == "cases" and CASE_FILE not in names


_CHANGED_HINT = "copy the run again from its source, or measure again: worldwise run"


def _require_same(path: Path, entry: FileEntry, size: int, sha256: str) -> None:
    if (size, sha256) != (entry.size, entry.sha256):
        what = f"has {size:,} bytes instead of {entry.size:,}" if size != entry.size else "has another SHA-256"
        raise WorldwiseError(
            f"{path}: has changed since the case was done: according to {CASE_FILE} it {what}.", _CHANGED_HINT
        )


def _ids(runs_dir: Path) -> list[str]:
    # Ids begin with the time, so they sort in the order of the runs; "-2", a second run in one second, sorts after it.
    if not runs_dir.is_dir():
        return []
    return sorted(path.name for path in runs_dir.iterdir() if _ID.fullmatch(path.name) and path.is_dir())


def _read(path: Path, model: type[_M], within: Path) -> _M | None:
    """A manifest below a run's folder; None if it is not there. Raises WorldwiseError."""
    try:
        data = files.read_bytes(path, MOST_MANIFEST, within)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.") from error
    return parse_manifest(data, model, path)


def _is_locked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return not files.try_lock(descriptor, unknown=True)
    finally:
        os.close(descriptor)
