# SPDX-License-Identifier: BSD-2-Clause
"""The blind test: published figures that nobody had compared with a prediction, and what one commit predicted of them.

They are facts of published/hardware/blind.toml. Their sources are in no registry, so no run makes these predictions
again; the digests of engine and cores show what has changed since.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from worldwise.base import paths
from worldwise.base.json_model import load_json
from worldwise.base.toml.toml_model import StrictModel, Text, parse, read_text
from worldwise.libraries.boards import table_of
from worldwise.predict.domains import By, Code, Domain
from worldwise.validation.figures import HARDWARE, Source
from worldwise.validation.record import engine_digest, table_digest

BLIND = HARDWARE / "blind.toml"
# What today's engine does with each core: see Engine.
ENGINE = paths.MEASURED / "validation" / "engine.json"
_MOST_BYTES = 2**16

Role = Literal["judge", "calibrate"]
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Number = Annotated[float, Field(gt=0)] | Annotated[int, Field(gt=0)]
# What, the hardware's cycles, and the predicted ones if any were.
_Entry = Annotated[list[Text | _Number], Field(min_length=2, max_length=3)]


class Test(StrictModel):
    """What made the predictions: the engine's commit, the day, and the SHA-256 of engine and cores' tables.

    `behaviour`: by core, the SHA-256 of the cycles that this engine gave to code by chance, with today's table.
    """

    commit: Annotated[str, Field(pattern="^[0-9a-f]{7,40}$")]
    made: Text
    engine: _Digest
    cores: dict[str, _Digest]
    behaviour: dict[str, _Digest] = Field(default_factory=dict)


class Engine(BaseModel):
    """SHA-256 of an engine's sources, and of the cycles that it gives to code by chance: tests/engine_behaviour.py."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: _Digest
    cores: dict[str, _Digest]


class FigureSet(StrictModel):
    """Figures of one source, core and domain; attributes as published/hardware/blind.toml says."""

    source: Text
    core: Text
    code: Code
    by: By
    waits: Annotated[int, Field(ge=0)] | None = None
    role: Role
    figures: Annotated[list[_Entry], Field(min_length=1)]

    @model_validator(mode="after")
    def _numbers(self) -> "FigureSet":
        for what, *numbers in self.figures:
            if not isinstance(what, str) or any(isinstance(one, str) for one in numbers):
                raise ValueError(f"'{what}': a figure is its name, the hardware's cycles and the predicted ones")
        names = [what for what, *_ in self.figures]
        if len(set(names)) < len(names):
            raise ValueError("a figure is there twice")
        return self

    @property
    def domain(self) -> Domain:
        """What the code is."""
        return Domain(self.code, None if self.waits is None else self.waits > 0, self.by)

    @property
    def predicted(self) -> list[tuple[str, float, float]]:
        """The figures that were predicted: what, predicted and measured cycles."""
        return [(str(one[0]), float(one[2]), float(one[1])) for one in self.figures if len(one) > 2]


class BlindFigures(StrictModel):
    """The file of the blind test."""

    test: Test
    source: list[Source]
    set: list[FigureSet]

    @model_validator(mode="after")
    def _sources(self) -> "BlindFigures":
        known = {one.id for one in self.source}
        for one in self.set:
            if one.source not in known:
                raise ValueError(f"'{one.source}' is not a source of the file")
            if one.predicted and one.core not in self.test.cores:
                raise ValueError(f"'{one.core}' has predictions, and no digest of its table")
        return self


def load_blind(path: Path = BLIND) -> BlindFigures:
    """The figures of the blind test. Raises WorldwiseError if the file is wrong."""
    return parse(BlindFigures, read_text(path, "the figures"), path)


@cache
def kept_blind() -> BlindFigures:
    """Those of the repository."""
    return load_blind()


def names(core: str, source: str) -> bool:
    """Whether a core's file names a source: then its numbers were made with that source's figures in view."""
    path = paths.CORES / f"{core}.toml"
    return path.exists() and source in path.read_text(encoding="utf-8")


def judging(found: BlindFigures) -> list[FigureSet]:
    """The sets that say how far predictions of a core are off: those to which nothing was fitted."""
    return [one for one in found.set if one.predicted and not (one.role == "calibrate" and names(one.core, one.source))]


def broken(found: BlindFigures) -> list[str]:
    """Cores whose file names a source that only judges them; none if all is well."""
    return sorted(
        {f"{one.core}: {one.source}" for one in found.set if one.role == "judge" and names(one.core, one.source)}
    )


def changed(test: Test, cores: Iterable[str], engine: Engine | None = None) -> set[str]:
    """The cores of which today's engine or table would predict something else than the test's.

    Another engine does the same with a core if its cycles for thousands of blocks of code by chance are the same: see
    `Engine`, of which the repository's file is `engine`'s default. What it says of another engine than today's counts
    for nothing.
    """
    today = engine_digest()
    engine = engine or load_json(Engine, ENGINE, _MOST_BYTES)
    same = engine.cores if engine.engine == today else {}

    def other(core: str) -> bool:
        if test.cores.get(core) != table_digest(table_of(core)):
            return True
        return test.engine != today and test.behaviour.get(core, "then") != same.get(core, "today")

    return {core for core in cores if other(core)}
