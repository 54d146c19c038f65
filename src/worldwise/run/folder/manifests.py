# SPDX-License-Identifier: BSD-2-Clause
"""The manifests of a run: what run.json, case.json and finished.json say, and which of it is refused."""

import re
from dataclasses import replace
from pathlib import Path
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
from worldwise.base.errors import WorldwiseError
from worldwise.base.json_model import parse_json
from worldwise.base.toml.toml_model import first_problem
from worldwise.base.units import INSTRUCTIONS, Unit
from worldwise.plan.budget import Budget, parse_budget
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.catalogue import operations_of
from worldwise.plan.checks import check_parameters
from worldwise.plan.inputs import MOST_SEED, MOST_SEEDS
from worldwise.plan.shards import MOST_SHARDS
from worldwise.plan.suite import Suite
from worldwise.plan.suite_file.tables import MAX_SAMPLES, MAX_WARMUP

FORMAT: Literal[2] = 2
# Of a command as it was typed.
_MOST_WORDS = 1000
FinalState = Literal["complete", "failed", "interrupted"]
# How a board or host was reached that was measured itself; empty for an emulated machine.
Via = Literal["", "gdb", "gdb+serial", "ssh"]
# A case's id has parts of this form: each is a folder's name.
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9+,.=_-]*")


RUN_FILE = "run.json"
SUITE_FILE = "suite.toml"
CASE_FILE = "case.json"
RECORDS_FILE = "records.jsonl"
# Of a host's case: the records of the same program on the emulated machine.
EMULATED_FILE = "emulated.jsonl"
FINISHED_FILE = "finished.json"
_Line = Annotated[str, Field(max_length=1000)]
_M = TypeVar("_M", bound="_Manifest")


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

    format: Literal[2]


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

    `digest` covers the names and contents of all `files`; `files` has the SHA-256 of each. `revision` is the commit of
    a stack's source, and what differs from it.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    name: str
    manifest: str
    digest: str
    files: dict[str, str]
    revision: _Line = ""

    @model_serializer(mode="wrap")
    def _without_rare(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without_defaults(handler(self), revision="")


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


def parse_manifest(data: bytes, model: type[_M], path: Path) -> _M:
    """The manifest in a file's content; `path` is for errors. Raises WorldwiseError naming file and field."""
    try:
        found = parse_json(data)
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
