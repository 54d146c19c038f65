# SPDX-License-Identifier: BSD-2-Clause
"""A run's directory: written as the run goes, read by the lenses, never rewritten.

A case counts as done once its `case.json` is there. It is written last, when the rest of the case is on disk:
a tool killed at any moment loses at most the case in flight.
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from worldwise import __version__, suite
from worldwise.errors import WorldwiseError
from worldwise.suite import Budget, Case, Suite, Unavailable, did_you_mean

FORMAT: Literal[2] = 2
RUN_FILE = "run.json"
SUITE_FILE = "suite.toml"
CASE_FILE = "case.json"
RECORDS_FILE = "records.jsonl"
FINISHED_FILE = "finished.json"

FinalState = Literal["complete", "failed", "interrupted"]
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[a-z0-9-]+")


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal[2]


_M = TypeVar("_M", bound=_Manifest)


class BudgetEntry(BaseModel):
    """A budget as a run keeps it; quantities as text, such as `5 ms` and `2 GHz`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    limit: str
    clock: str
    measures: list[str]
    place: str

    @classmethod
    def of(cls, budget: Budget) -> Self:
        """The entry for a budget."""
        return cls(
            limit=budget.limit_text,
            clock=budget.clock_text,
            measures=list(budget.measures),
            place=budget.place,
        )

    def budget(self) -> Budget:
        """The budget again. Raises WorldwiseError."""
        return suite.parse_budget(f"{self.limit}@{self.clock}", self.measures, self.place)


class UnavailableEntry(BaseModel):
    """What the suite asked of a board that cannot be had, and why; see suite.Unavailable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    target: str
    implementation: str
    curve: str
    operation: str
    reason: str

    @classmethod
    def of(cls, one: Unavailable) -> Self:
        """The entry for it."""
        return cls(**vars(one))


class OwnEntry(BaseModel):
    """A library of the user's own that the run measures: its implementation.toml, and what its folder had.

    `digest` is over the names and contents of all `files`, which have a SHA-256 each.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str
    manifest: str
    digest: str
    files: dict[str, str]


class RunManifest(_Manifest):
    """`run.json`: what was asked for, where, and with what."""

    suite: str
    title: str
    started: str
    host: dict[str, JsonValue]
    worldwise: str
    git: str
    lab: str
    packages: dict[str, str]
    budget: BudgetEntry | None
    published: str
    samples: int | None
    cases: list[str]
    # Kept here: by the suite's text alone a later version, or one without the user's own library, would say otherwise.
    unavailable: list[UnavailableEntry] = []
    own: list[OwnEntry] = []
    recommended: str = ""

    def planned(self, planned: Suite) -> list[Case]:
        """The run's cases, from its own copy of the suite and the number of samples asked for instead.

        Raises WorldwiseError if the suite has not all of them.
        """
        wanted = {case.id: case for case in planned.cases}
        for case_id in self.cases:
            if case_id not in wanted:
                raise WorldwiseError(f"{RUN_FILE} has the case '{case_id}', but {SUITE_FILE} beside it has not.")
        cases = [wanted[case_id] for case_id in self.cases]
        return [replace(case, samples=self.samples) for case in cases] if self.samples else cases


class CaseManifest(_Manifest):
    """`case.json`: how one case went, and everything that went into it."""

    id: str
    target: str
    implementation: str
    optimisation: str
    operation: str
    samples: int
    warmup: int
    parameters: dict[str, str]
    state: Literal["complete", "failed"]
    error: str
    reused_from: str
    start: Literal["snapshot", "boot"]
    images: dict[str, str]
    digest: str
    command: list[str]
    wall_seconds: float
    # On a board: what the operation takes of `flash` and `ram`, in bytes.
    footprint: dict[str, int] | None = None

    def case(self) -> Case:
        """The case this is the manifest of."""
        return Case(
            self.target,
            self.implementation,
            self.optimisation,
            self.operation,
            self.samples,
            self.warmup,
            tuple(self.parameters.items()),
        )


class Finished(_Manifest):
    """`finished.json`: that the run came to an end of its own, and which."""

    finished: str
    state: FinalState


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
        if not path.exists():
            return None
        manifest = _read(path, CaseManifest)
        if manifest.id != case_id or manifest.case().id != case_id:
            raise WorldwiseError(f"{path}: belongs to case '{manifest.id}', not to '{case_id}'.")
        if manifest.operation not in suite.operations_of(manifest.target):
            raise WorldwiseError(f"{path}: target '{manifest.target}' has no operation '{manifest.operation}'.")
        return manifest

    def complete_cases(self) -> list[CaseManifest]:
        """The cases that are done and went well, in the run's order."""
        manifests = (self.case(case_id) for case_id in self.manifest.cases)
        return [manifest for manifest in manifests if manifest and manifest.state == "complete"]

    def suite_text(self) -> str:
        """The suite as it was when the run began. Raises WorldwiseError."""
        path = self.path / SUITE_FILE
        try:
            return path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise WorldwiseError(f"{path}: cannot be read: {error}.") from error


@dataclass(frozen=True)
class ListedRun:
    """One entry of a list of runs: the run, or why it cannot be read."""

    id: str
    path: Path
    run: Run | None
    problem: str


def open_run(reference: str | Path, runs_dir: Path) -> Run:
    """Opens a run: a directory, `latest`, an id, or an id's unambiguous beginning. Raises WorldwiseError."""
    if isinstance(reference, Path):
        return _open(reference)
    ids = _ids(runs_dir)
    if reference == "latest":
        if not ids:
            raise WorldwiseError(f"there is no run yet in {runs_dir}.", hint="make one: worldwise run")
        return _open(runs_dir / ids[-1])
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
    raise WorldwiseError(
        f"there is no run '{reference}' in {runs_dir}. The newest: {listed}.",
        hint=did_you_mean(reference, ids) or "say 'latest', an id or its beginning, or a path",
    )


def list_runs(runs_dir: Path) -> list[ListedRun]:
    """Every run of a directory, oldest first; those that cannot be read come with the reason."""
    runs = []
    for name in _ids(runs_dir):
        path = runs_dir / name
        try:
            runs.append(ListedRun(name, path, _open(path), ""))
        except WorldwiseError as error:
            runs.append(ListedRun(name, path, None, error.message))
    return runs


class RunWriter:
    """Writes a run. While it lives the directory is locked against a second writer: use it in a `with`.

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
        suite: Suite,
        *,
        cases: Sequence[Case],
        host: Mapping[str, JsonValue],
        git: str,
        lab: str,
        packages: Mapping[str, str],
        budget: Budget | None,
        samples: int | None = None,
        unavailable: Sequence[Unavailable] | None = None,
        own: Sequence[OwnEntry] = (),
        now: datetime | None = None,
    ) -> Self:
        """Makes the directory of a new run. `cases` are those to be done, in order.

        `samples` is the number asked for instead of the suite's own, if any; `unavailable` is what cannot be had of
        what was asked for, all that the suite names if left out; `own` are the libraries of the user's own.
        Raises WorldwiseError.
        """
        started = (now or datetime.now(UTC)).astimezone(UTC)
        manifest = RunManifest(
            format=FORMAT,
            suite=suite.name,
            title=suite.title,
            started=started.isoformat(timespec="seconds"),
            host=dict(host),
            worldwise=__version__,
            git=git,
            lab=lab,
            packages=dict(packages),
            budget=BudgetEntry.of(budget) if budget else None,
            published=suite.published,
            samples=samples,
            cases=[case.id for case in cases],
            unavailable=[
                UnavailableEntry.of(one) for one in (suite.unavailable if unavailable is None else unavailable)
            ],
            own=list(own),
            recommended=suite.recommended,
        )
        with _disk(runs_dir, lambda: "nothing of this run is kept"):
            runs_dir.mkdir(parents=True, exist_ok=True)
            path = _new_directory(runs_dir, f"{started:%Y%m%dT%H%M%SZ}-{suite.name}")
            _write(path / SUITE_FILE, suite.text)
            _write(path / RUN_FILE, _json(manifest))
        return cls(Run(path, manifest, None))

    @classmethod
    def resume(cls, run: Run) -> Self:
        """Goes on with a run that did not complete. Raises WorldwiseError if it did, or is still written."""
        if run.finished and run.finished.state == "complete":
            raise WorldwiseError(f"run {run.id} is complete: there is nothing to resume.")
        writer = cls(Run(run.path, run.manifest, None))
        with writer.guard():
            (run.path / FINISHED_FILE).unlink(missing_ok=True)
        return writer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the directory free for another writer."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def pending(self) -> list[str]:
        """The ids of the cases still to be done, in order; failed ones are to be done again."""
        done = {manifest.id for manifest in self.run.complete_cases()}
        return [case_id for case_id in self.run.manifest.cases if case_id not in done]

    def case_directory(self, case_id: str) -> Path:
        """An empty directory for a case about to be done; what an earlier attempt left there is removed."""
        if case_id not in self.run.manifest.cases:
            raise WorldwiseError(f"run {self.run.id} has no case '{case_id}'.")
        path = self.run.case_directory(case_id)
        with self.guard():
            # case.json goes first: a half-removed case must not look done.
            (path / CASE_FILE).unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
        return path

    def complete_case(
        self,
        case: Case,
        *,
        state: Literal["complete", "failed"] = "complete",
        error: str = "",
        reused_from: str = "",
        start: Literal["snapshot", "boot"],
        images: Mapping[str, str],
        digest: str,
        command: Sequence[str],
        wall_seconds: float,
        footprint: Mapping[str, int] | None = None,
    ) -> None:
        """Marks a case as done: brings its files to disk, then writes `case.json`. Raises WorldwiseError."""
        self._finish_case(
            CaseManifest(
                format=FORMAT,
                id=case.id,
                target=case.target,
                implementation=case.implementation,
                optimisation=case.optimisation,
                operation=case.operation,
                samples=case.samples,
                warmup=case.warmup,
                parameters=dict(case.parameters),
                state=state,
                error=error,
                reused_from=reused_from,
                start=start,
                images=dict(images),
                digest=digest,
                command=list(command),
                wall_seconds=wall_seconds,
                footprint=None if footprint is None else dict(footprint),
            )
        )

    def finish(self, state: FinalState) -> Run:
        """Says how the run ended and gives the run for reading. Raises WorldwiseError."""
        finished = Finished(format=FORMAT, finished=datetime.now(UTC).isoformat(timespec="seconds"), state=state)
        with self.guard():
            _write(self.run.path / FINISHED_FILE, _json(finished))
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
        with self.guard():
            for file in path.iterdir():
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
            _write(path / CASE_FILE, _json(manifest))
            # The directories above may be new as well.
            for parent in path.relative_to(self.run.path).parents:
                _sync_directory(self.run.path / parent)


def _open(path: Path) -> Run:
    if not path.is_dir():
        raise WorldwiseError(f"{path}: there is no such directory.")
    manifest_path = path / RUN_FILE
    if not manifest_path.exists():
        raise WorldwiseError(f"{path}: not a run: it has no {RUN_FILE}.")
    manifest = _read(manifest_path, RunManifest)
    for case_id in manifest.cases:
        if len(Path(case_id).parts) != 3 or ".." in Path(case_id).parts or case_id.startswith("/"):
            raise WorldwiseError(f"{manifest_path}: '{case_id}' is not the id of a case.")
    finished_path = path / FINISHED_FILE
    finished = _read(finished_path, Finished) if finished_path.exists() else None
    return Run(path.resolve(), manifest, finished)


def _ids(runs_dir: Path) -> list[str]:
    # Ids begin with the time, so their order is that of the runs; an "-2" for the same second sorts after it.
    if not runs_dir.is_dir():
        return []
    return sorted(path.name for path in runs_dir.iterdir() if path.is_dir() and _ID.fullmatch(path.name))


def _read(path: Path, model: type[_M]) -> _M:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.") from error
    try:
        found = json.loads(data).get("format")
    except (ValueError, AttributeError) as error:
        raise WorldwiseError(f"{path}: corrupt: not a JSON object: {error}.") from error
    if found != FORMAT:
        raise WorldwiseError(
            f"{path}: format {found!r} is not known to worldwise {__version__}, which reads format {FORMAT}.",
            hint="read it with the version that wrote it",
        )
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise WorldwiseError(f"{path}: corrupt: {field}: {first['msg']}.") from error


def _json(manifest: BaseModel) -> str:
    return manifest.model_dump_json(indent=2) + "\n"


def _write(path: Path, text: str) -> None:
    """Writes a file whole or not at all, and returns when it is on disk."""
    temporary = path.with_name(path.name + ".partial")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    # On the directory itself, so that no file is left behind; the kernel lets go of it however the tool ends.
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    # A few tries: a reader that looks whether the run is locked holds the lock for a moment itself.
    for _ in range(5):
        if _try_lock(descriptor):
            return descriptor
        time.sleep(0.02)
    os.close(descriptor)
    raise WorldwiseError(f"run {path.name} is being written by another worldwise.", hint="wait for it to end")


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


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
