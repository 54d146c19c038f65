# SPDX-License-Identifier: BSD-2-Clause
"""The blind test: published figures that nobody had compared with a prediction, and what one commit predicted of them.

They are facts of published/hardware/blind.toml. Their sources are in no registry, so no run makes these predictions
again; what has changed in the engine and the cores since is told by the digests of both. Those of some cores were made
again by hand: the file has what a later engine said of the same figures beside what the first one did. A later test is
of other figures, by an engine of its own.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from worldwise.base import paths
from worldwise.base.json_model import load_json
from worldwise.base.toml.rows import parse_rows
from worldwise.base.toml.toml_model import StrictModel, Text, read_text
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
# What, the hardware's cycles, the predicted ones if any were, and what was predicted of it again.
_Entry = Annotated[list[Text | _Number], Field(min_length=2, max_length=4)]
_BLIND, _AGAIN = 2, 3


class PredictionOrigin(StrictModel):
    """What made predictions: the day, and the SHA-256 of engine and cores' tables.

    `behaviour`: by core, the SHA-256 of the cycles that this engine gave to code by chance, with the table that it had
    (of the blind test's engine: with today's).
    """

    made: Text
    engine: _Digest
    cores: dict[str, _Digest]
    behaviour: dict[str, _Digest] = Field(default_factory=dict)


class Test(PredictionOrigin):
    """What made the blind predictions, with the engine's commit."""

    commit: Annotated[str, Field(pattern="^[0-9a-f]{7,40}$")]


class Again(PredictionOrigin):
    """What predicted the figures of some cores again, of which it had seen the first predictions; with the compiler."""

    compiler: Text


class Engine(BaseModel):
    """SHA-256 of an engine's sources, and of the cycles that it gives to code by chance: tests/engine_behaviour.py."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: _Digest
    cores: dict[str, _Digest]


class FigureSet(StrictModel):
    """Figures of one source, core and domain; attributes as published/hardware/blind.toml says.

    `test`: the commit of the later test that they are of; empty if they are of the first.
    `per`: of what the cycles are.
    """

    source: Text
    test: str = ""
    core: Text
    code: Code
    by: By
    waits: Annotated[int, Field(ge=0)] | None = None
    role: Role
    per: Literal["call", "block", "byte"] = "call"
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
        return self._numbered(_BLIND)

    @property
    def again(self) -> list[tuple[str, float, float]]:
        """The figures that were predicted again: the same."""
        return self._numbered(_AGAIN)

    def _numbered(self, at: int) -> list[tuple[str, float, float]]:
        return [(str(one[0]), float(one[at]), float(one[1])) for one in self.figures if len(one) > at]


class BlindFigures(StrictModel):
    """The file of the blind test."""

    test: Test
    again: Again | None = None
    later: list[Test] = Field(default_factory=list)
    source: list[Source]
    set: list[FigureSet]

    @model_validator(mode="after")
    def _sources(self) -> "BlindFigures":
        known = {one.id for one in self.source}
        for one in self.set:
            if one.source not in known:
                raise ValueError(f"'{one.source}' is not a source of the file")
            if one.test and one.test not in {test.commit for test in self.later}:
                raise ValueError(f"'{one.test}' is no later test of the file")
            if one.predicted and one.core not in self.test_of(one).cores:
                raise ValueError(f"'{one.core}' has predictions, and no digest of its table")
            # A line is made of all of a core's figures or of none: the better half would be too proud. Those of a later
            # test may be of today's engine as they are.
            wanted = len(one.predicted) if self.again and one.core in self.again.cores else 0
            if len(one.again) != wanted and not (one.test and not one.again):
                raise ValueError(f"'{one.core}': {len(one.again)} figures are predicted again, not {wanted}")
        return self

    @property
    def tests(self) -> list[Test]:
        """The blind test, and those after it."""
        return [self.test, *self.later]

    def test_of(self, one: FigureSet) -> Test:
        """The test that a set is of."""
        return next(test for test in self.tests if test.commit == (one.test or self.test.commit))


def load_blind(path: Path = BLIND) -> BlindFigures:
    """The figures of the blind test. Raises WorldwiseError if the file is wrong."""
    return parse_rows(BlindFigures, "set", read_text(path, "the figures"), path)


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


def changed(test: PredictionOrigin, cores: Iterable[str], engine: Engine | None = None) -> set[str]:
    """The cores of which today's engine or table would predict something else than what `test` is of.

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


def of_today(found: BlindFigures, cores: Iterable[str], engine: Engine | None = None) -> set[str]:
    """The cores whose figures today's engine was asked for again, since it predicts something else than the test's.

    As soon as it has changed once more, what it said again counts for nothing.
    """
    old = changed(found.test, cores, engine)
    return old & set(found.again.cores) - changed(found.again, old, engine) if found.again else set()
