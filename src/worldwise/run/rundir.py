# SPDX-License-Identifier: BSD-2-Clause
"""A run's directory: written as the run goes, read by the lenses, never rewritten.

A case counts as done once its `case.json` is there. It is written last, when the rest of the case is on disk:
a tool killed at any moment loses at most the case in flight.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from worldwise import __version__
from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.counted import INSTRUCTIONS, Unit
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml_model import first_problem, read_text
from worldwise.plan.budget import Budget, parse_budget
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.catalogue import operations_of
from worldwise.plan.checks import check_parameters
from worldwise.plan.inputs import MOST_SEED, MOST_SEEDS
from worldwise.plan.shards import MOST_SHARDS
from worldwise.plan.suite import Suite
from worldwise.plan.tables import MAX_SAMPLES, MAX_WARMUP

FORMAT: Literal[2] = 2
RUN_FILE = "run.json"
SUITE_FILE = "suite.toml"
CASE_FILE = "case.json"
RECORDS_FILE = "records.jsonl"
# Of a host's case: the records of the same program on the emulated machine.
EMULATED_FILE = "emulated.jsonl"
FINISHED_FILE = "finished.json"

# A larger file is refused: a case has at most some 200 MB of records (plan.tables.MAX_SAMPLES).
MOST_RECORDS = 256 * 2**20
MOST_MANIFEST = 16 * 2**20
# Of a command as it was typed.
_MOST_WORDS = 1000
LIMITS = files.TreeLimits(file=512 * 2**20, total=16 * 2**30, entries=200_000, depth=4)

FinalState = Literal["complete", "failed", "interrupted"]
# How a board or host was reached that was measured itself; empty for an emulated machine.
Via = Literal["", "gdb", "gdb+serial", "ssh"]
_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[a-z0-9-]+")
# A case's id has parts of this form: each is a folder's name.
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9+,.=_-]*")


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

    format: Literal[2]


_M = TypeVar("_M", bound=_Manifest)
_Line = Annotated[str, Field(max_length=1000)]


def _without_defaults(found: dict[str, Any], **defaults: object) -> dict[str, Any]:
    """A manifest without the fields that have their default: older versions read it."""
    return {name: value for name, value in found.items() if name not in defaults or value != defaults[name]}


class BudgetEntry(BaseModel):
    """A budget as a run keeps it; quantities as text, such as `5 ms` and `2 GHz`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

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
        return parse_budget(f"{self.limit}@{self.clock}", self.measures, self.place)


class UnavailableEntry(BaseModel):
    """What the suite asked of a board and is unavailable, and why; see plan.case.Unavailable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

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
    """A library of the user's own that the run measures: its implementation.toml and the files of its folder.

    `digest` covers the names and contents of all `files`; `files` has the SHA-256 of each.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    name: str
    manifest: str
    digest: str
    files: dict[str, str]


class ShardEntry(BaseModel):
    """A run that is a shard: which it is, and all that the split was made from.

    Attributes:
        number: its number, from 1.
        count: how many shards there are.
        whole: every case of all shards in the order of the whole run, with its cost in milliseconds.
        costs: where these costs come from.
        predict: what `--predict` asked for.
        command: what was typed, without the shard, the folder of runs and what changes no record.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    number: Annotated[int, Field(ge=1)]
    count: Annotated[int, Field(ge=1, le=MOST_SHARDS)]
    whole: dict[str, Annotated[int, Field(ge=1)]]
    costs: _Line
    predict: list[_Line]
    command: Annotated[list[_Line], Field(max_length=_MOST_WORDS)]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.number <= self.count <= len(self.whole):
            raise ValueError("the shards are no more than the cases, and its number is one of theirs")
        return self


class MergedEntry(BaseModel):
    """A shard that a merged run was made from: what of its provenance is its own."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    run: _Line
    number: int
    started: _Line
    host: dict[str, JsonValue]
    cases: int


class ChipClock(BaseModel):
    """How the clock of a board's chip was set: its name in the board's file, Hz, and what that is in words."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    name: _Line
    hertz: Annotated[int, Field(gt=0, le=10**9)]
    words: _Line


class RunManifest(_Manifest):
    """`run.json`: what was asked for, where, and with what."""

    suite: _Line
    title: _Line
    started: _Line
    host: dict[str, JsonValue]
    worldwise: _Line
    git: _Line
    lab: _Line
    packages: dict[str, str]
    budget: BudgetEntry | None
    published: _Line
    samples: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] | None
    cases: list[str]
    # Kept here because the suite's text gives another answer in a later version, or without the user's library.
    unavailable: list[UnavailableEntry] = []
    own: list[OwnEntry] = []
    recommended: _Line = ""
    # What its counters count, and how its board or host was reached; absent in older runs, which emulate.
    unit: Unit = INSTRUCTIONS
    via: Via = ""
    # Of a run that is a shard, and of one that was merged from shards; absent in older runs.
    shard: ShardEntry | None = None
    merged: list[MergedEntry] = []
    # None for an emulated machine, and for a chip as its reset leaves it.
    chip_clock: ChipClock | None = None
    # What the host is that was measured.
    measured_on: dict[str, JsonValue] = {}
    # What its lab has for what the lock names, `linux 6.12.57 for 6.12.48`; absent if that is the same.
    drift: list[_Line] = []
    # Which draw of its inputs each case has, and how many draws of each; None in a run from before inputs were given.
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] | None = None
    seeds: Annotated[int, Field(ge=1, le=MOST_SEEDS)] = 1
    # With the machine's interrupts, and with Linux's random stack offset.
    as_shipped: bool = False

    @model_serializer(mode="wrap")
    def _without_rare(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Older versions read a run of a locked lab."""
        return _without_defaults(handler(self), drift=[], seed=None, seeds=1, as_shipped=False)

    def planned(self, planned: Suite) -> list[Case]:
        """The run's cases, from its own copy of the suite and the number of samples that was asked for.

        Raises WorldwiseError if the suite lacks one of them.
        """
        wanted = {case.id: case for case in planned.cases}
        for case_id in self.cases:
            if case_id not in wanted:
                raise WorldwiseError(f"{RUN_FILE} lists the case '{case_id}', but {SUITE_FILE} beside it lacks it.")
        cases = [wanted[case_id] for case_id in self.cases]
        cases = [replace(case, seed=self.seed or 0, as_shipped=self.as_shipped) for case in cases]
        return [replace(case, samples=self.samples) for case in cases] if self.samples else cases


class FileEntry(BaseModel):
    """Size and SHA-256 of a case's file when the case was done."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class CaseManifest(_Manifest):
    """`case.json`: the result of one case, and all its inputs."""

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
    # On a board: bytes of `flash` and `ram` that the operation takes.
    footprint: dict[str, int] | None = None
    # Absent in older runs.
    files: dict[str, FileEntry] | None = None
    # Which draw of its inputs it has, and what its generators began with, as hexadecimal digits; see plan.inputs.
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = 0
    inputs: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""
    as_shipped: bool = False

    @model_serializer(mode="wrap")
    def _without_rare(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without_defaults(handler(self), seed=0, inputs="", as_shipped=False)

    def case(self) -> Case:
        """The case that this manifest describes."""
        return Case(
            self.target,
            self.implementation,
            self.optimisation,
            self.operation,
            self.samples,
            self.warmup,
            tuple(self.parameters.items()),
            self.seed,
            self.as_shipped,
        )


class Finished(_Manifest):
    """`finished.json`: how the run ended. A run that was killed has no such file."""

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
        manifest = _read(path, CaseManifest, self.path)
        return manifest and check_case_manifest(manifest, case_id, path)

    def case_file(self, case_id: str, name: str = RECORDS_FILE) -> bytes:
        """The content of a case's file. Raises WorldwiseError if it has changed since the case was done."""
        path = self.case_directory(case_id) / name
        try:
            content = files.read_bytes(path, MOST_RECORDS, self.path)
        except OSError as error:
            raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.") from error
        entry = self._entry(case_id, name)
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

    def _entry(self, case_id: str, name: str) -> FileEntry | None:
        """The entry of a file in its case's manifest; None if the manifest lists no files."""
        manifest = self.case(case_id)
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
    raise NoRunError(
        f"there is no run '{reference}' in {runs_dir}. The newest: {listed}.",
        hint=did_you_mean(reference, ids) or "say 'latest', an id or its beginning, or a path",
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


def check_id(case_id: str, where: str) -> None:
    """Raises WorldwiseError, naming `where`, if a text cannot be a case's id, and so cannot be its folder."""
    parts = case_id.split("/")
    problem = next(filter(None, map(files.name_problem, parts)), "") if len(parts) == 3 else ""
    if problem:
        raise WorldwiseError(f"{where}: '{files.quoted(case_id)}' is not the id of a case: {problem}.")
    if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
        raise WorldwiseError(f"{where}: '{files.quoted(case_id)}' is not the id of a case.")


def check_run_manifest(manifest: RunManifest, path: Path) -> RunManifest:
    """The same manifest. Raises WorldwiseError if it lists a case twice or under an impossible id."""
    for case_id in (*manifest.cases, *(manifest.shard.whole if manifest.shard else ())):
        check_id(case_id, str(path))
    if len(set(manifest.cases)) != len(manifest.cases):
        raise WorldwiseError(f"{path}: names a case twice.")
    return manifest


def check_case_manifest(manifest: CaseManifest, case_id: str, path: Path) -> CaseManifest:
    """The same manifest. Raises WorldwiseError if it belongs to a case of another id, or lists an impossible file."""
    if manifest.id != case_id or manifest.case().id != case_id:
        raise WorldwiseError(
            f"{path}: belongs to case '{files.quoted(manifest.id)}', not to '{files.quoted(case_id)}'."
        )
    if manifest.operation not in operations_of(manifest.target):
        target, operation = files.quoted(manifest.target), files.quoted(manifest.operation)
        raise WorldwiseError(f"{path}: target '{target}' has no operation '{operation}'.")
    if not (1 <= manifest.samples <= MAX_SAMPLES and 0 <= manifest.warmup <= MAX_WARMUP):
        raise WorldwiseError(
            f"{path}: corrupt: samples or warmup is out of range: no suite can ask for more than "
            f"{MAX_SAMPLES:,} samples and {MAX_WARMUP:,} warm-up."
        )
    check_parameters(manifest.parameters, manifest.target, manifest.operation, str(path))
    for name in manifest.files or {}:
        problem = files.name_problem(name)
        if problem:
            raise WorldwiseError(f"{path}: corrupt: files: {problem}.")
    return manifest


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


def parse_manifest(data: bytes, model: type[_M], path: Path) -> _M:
    """The manifest in a file's content; `path` is for errors. Raises WorldwiseError naming file and field."""
    try:
        found = files.parse_json(data)
        if not isinstance(found, dict):
            raise ValueError("it is another value")
    except ValueError as error:
        raise WorldwiseError(f"{path}: corrupt: not a JSON object: {files.quoted(str(error))}.") from error
    if found.get("format") != FORMAT:
        raise WorldwiseError(
            f"{path}: format {files.quoted(repr(found.get('format')), 40)} is not known to worldwise {__version__}, "
            f"which reads format {FORMAT}.",
            hint="read it with the version that wrote it",
        )
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        field, problem = first_problem(error)
        raise WorldwiseError(f"{path}: corrupt: {f'{field}: ' if field else ''}{problem}.") from error


def _is_locked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return not files.try_lock(descriptor, unknown=True)
    finally:
        os.close(descriptor)
