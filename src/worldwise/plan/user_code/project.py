# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise.toml`: what a repository measures, and the limits that it keeps.

It is a stranger's file. It names files of its own folder alone, and a build that runs in the sandbox: no key of it says
where something is written, what worldwise itself does, or what it may reach.
"""

import re
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import StrictModel, parse, read_text
from worldwise.base.units import parse_limit, parse_size
from worldwise.plan.budget import Budget, parse_budget
from worldwise.plan.suite_list import PROJECT_FILE

_MOST_MEASURES, _MOST_NAMES, _MOST_BUILD = 50, 200, 4000
_NAME = re.compile("[a-z0-9][a-z0-9-]{0,62}")
_Text = Annotated[str, Field(min_length=1, max_length=1000)]
_Words = Annotated[list[Annotated[str, Field(max_length=60_000)]], Field(max_length=_MOST_NAMES)]
_Names = Annotated[list[_Text], Field(max_length=_MOST_NAMES)]
_Count = Annotated[int, Field(ge=1, le=2**62)]


def _wrong(text: str) -> PydanticCustomError:
    # The text holds a stranger's words: their braces are not placeholders.
    return PydanticCustomError("project", "{text}", {"text": text})


def _inside(value: str) -> str:
    """A path within the folder: relative, and without a step out of it."""
    plain = value.removeprefix("./").rstrip("/") or "."
    if plain == ".":
        return plain
    if problem := files.path_problem(plain):
        raise _wrong(f"must be a path within the folder of this file: {problem}")
    return str(PurePosixPath(plain))


def _bytes(value: object) -> object:
    """A size as people write it becomes bytes."""
    return _read(parse_size, value)[0] if isinstance(value, str) else value


def _listed(value: object) -> object:
    """One command is a list of one."""
    return [value] if isinstance(value, str) else value


_Size = Annotated[
    int,
    Field(ge=0, le=2**62, description="a size in bytes, such as 2048 or '2KiB'"),
    BeforeValidator(_bytes, json_schema_input_type=int | str),
]
_Commands = Annotated[
    list[str],
    Field(description="a shell command, or a list of such"),
    BeforeValidator(_listed, json_schema_input_type=str | list[str]),
]


class Limit(StrictModel):
    """What a region may cost: a limit for each kind that is named, and the change that a baseline allows."""

    instructions: _Count | None = None
    first: _Count | None = None
    change: Annotated[str, Field(description="a percentage such as '0%' or '0.5%'")] = "0%"
    time: Annotated[str, Field(description="a time at a clock, such as '2ms@1.5GHz'")] | None = None
    core: _Text | None = None
    stack: _Size | None = None
    heap: _Size | None = None

    @field_validator("change")
    @classmethod
    def _percentage(cls, value: str) -> str:
        return _read(parse_limit, value)[1]

    @field_validator("time")
    @classmethod
    def _budget(cls, value: str | None) -> str | None:
        return None if value is None else _read(parse_budget, value)[1]

    @model_validator(mode="after")
    def _together(self) -> Self:
        if (self.time is None) != (self.core is None):
            raise _wrong("time and core go together: the core whose time is predicted, such as core = 'cortex-a72'")
        return self

    @property
    def allowed(self) -> Fraction:
        """The change that is allowed, as a fraction."""
        return parse_limit(self.change)

    @property
    def budget(self) -> Budget | None:
        """The time that is allowed, for a region's calls."""
        return parse_budget(self.time, ("call",), "region") if self.time else None


class Measure(StrictModel):
    """One program, OP-TEE application or firmware, and which of its regions are measured."""

    folder: Annotated[str, Field(max_length=1000)] = "."
    build: Annotated[_Commands, Field(default_factory=list)]
    program: _Text | None = None
    ta: _Text | None = None
    client: _Text | None = None
    firmware: _Text | None = None
    other_tas: Annotated[_Names, Field(default_factory=list)]
    beside: Annotated[_Names, Field(default_factory=list)]
    log_level: Annotated[int, Field(ge=0, le=4)] | None = None
    ta_target: Literal["ta_arm64", "ta_arm32"] | None = None
    machine: _Text | None = None
    until: _Text | None = None
    instructions: _Count | None = None
    arguments: Annotated[_Words, Field(default_factory=list)]
    files: Annotated[_Names, Field(default_factory=list)]
    input: _Text | None = None
    packages: Annotated[_Names, Field(default_factory=list)]
    libraries: Annotated[_Names, Field(default_factory=list)]
    net: Literal["loopback"] | None = None
    regions: Annotated[_Names, Field(default_factory=list)]
    benchmarks: Annotated[_Names, Field(default_factory=list)]
    thread: _Text | None = None
    repeat: Annotated[int, Field(ge=2, le=100)] | None = None
    flash: _Size | None = None
    heap: _Size | None = None
    limit: Annotated[dict[str, Limit], Field(default_factory=dict)]

    @field_validator("folder", "program", "ta", "client", "firmware", "input")
    @classmethod
    def _path(cls, value: str | None) -> str | None:
        return None if value is None else _inside(value)

    @field_validator("files", "libraries", "other_tas", "beside")
    @classmethod
    def _paths(cls, value: list[str]) -> list[str]:
        return [_inside(one) for one in value]

    @field_validator("build")
    @classmethod
    def _short(cls, value: list[str]) -> list[str]:
        size = sum(map(len, value))
        if size > _MOST_BUILD or any("\0" in one for one in value):
            raise _wrong(f"has {size:,} characters. Allowed: up to {_MOST_BUILD:,}; a longer one is a script.")
        return value

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        given = [name for name in ("program", "ta", "firmware") if getattr(self, name)]
        if self.client and "ta" not in given:
            given.append("client")
        if len(given) != 1 or bool(self.ta) != bool(self.client):
            raise _wrong("measures one thing: program, or ta with client, or firmware")
        of = "firmware" if self.firmware else "ta" if self.ta else "program"
        for name, kinds in _ONLY.items():
            if getattr(self, name) not in (None, [], "") and of not in kinds:
                raise _wrong(f"{name} is for {' and '.join(kinds)}, and this is a {of}")
        if self.benchmarks and (also := [name for name in ("regions", "arguments", "thread") if getattr(self, name)]):
            raise _wrong(f"benchmarks and {also[0]} exclude each other: the harness chooses the calls")
        if self.firmware and not self.machine:
            raise _wrong("firmware needs the machine that it starts on, such as machine = 'mps2-an386'")
        if self.firmware and any(one.time for one in self.limit.values()):
            raise _wrong(
                "limit.time is for program and ta: worldwise predicts no firmware without readings of a counter"
            )
        return self

    @property
    def commands(self) -> str:
        """The build's commands; empty for none."""
        return "\n".join(self.build)

    @property
    def named(self) -> list[str]:
        """The files that a build must leave, or that are there."""
        one = [name for name in (self.program, self.firmware, self.input) if name]
        return [*one, *self.files, *self.libraries]


# Keys that not every kind has.
_ONLY = {
    "other_tas": ("ta",),
    "beside": ("ta",),
    "log_level": ("ta",),
    "ta_target": ("ta",),
    "machine": ("firmware",),
    "until": ("firmware",),
    "instructions": ("firmware",),
    "arguments": ("program", "ta"),
    "files": ("program", "ta"),
    "input": ("program", "ta"),
    "packages": ("program", "ta"),
    "libraries": ("program", "ta"),
    "net": ("program", "ta"),
    "benchmarks": ("program",),
    "thread": ("program", "ta"),
    "repeat": ("program", "ta"),
    "flash": ("firmware",),
}


class Project(StrictModel):
    """The file."""

    format: Literal[1]
    baseline: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] | None = None
    measure: Annotated[
        dict[str, Measure], Field(min_length=1, max_length=_MOST_MEASURES, description="tables: [measure.NAME]")
    ]

    @field_validator("measure")
    @classmethod
    def _names(cls, value: dict[str, Measure]) -> dict[str, Measure]:
        for name in value:
            if not _NAME.fullmatch(name):
                raise _wrong(f"'{files.quoted(name)}' is no name for a measure: small letters, digits and dashes")
        return value


def load_project(folder: Path) -> Project:
    """The worldwise.toml of a folder. Raises WorldwiseError naming file, line and key."""
    path = folder / PROJECT_FILE
    if not path.exists():
        raise WorldwiseError(
            f"{folder} has no {PROJECT_FILE}, which says what to measure.",
            f"`worldwise init {folder}` looks at the folder and writes one",
        )
    return parse(Project, read_text(path, "project", folder), path)


def json_schema() -> dict[str, Any]:
    """The JSON schema of the file."""
    return Project.model_json_schema()


def _read(reader: Any, value: str) -> tuple[Any, str]:
    try:
        return reader(value), value
    except WorldwiseError as error:
        message = error.message.rstrip(".")
        raise _wrong(f"{message}; {error.hint}" if error.hint else message) from None
