# SPDX-License-Identifier: BSD-2-Clause
"""Error lines: how far predictions of a core were from published figures, by kind of code.

They come from a committed run of the validation suite (measured/validation/errors.json), never typed. Median, 90 % and
worst are of the absolute value, in per cent of the hardware's cycles, over held-out figures alone. An interval is made
from `least` and `most`, which are of what is predicted: an error of +50 % says that hardware took two thirds of the
prediction, and one of -50 % that it took twice as much.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from worldwise.base import paths
from worldwise.base.json_model import load_json
from worldwise.predict.rules import FEW_FIGURES, LEAST_FIGURES

ERRORS = paths.MEASURED / "validation" / "errors.json"
ALL = "all"
# A kind of line that is no validation: the figures to which numbers of the core may be fitted, or that were looked at
# while its rules were made.
FITTED = "fitted"
_MOST_BYTES = 2**20
# Decimals of `least` and `most`, which are rounded away from the figures.
_DECIMALS = 4
# In per cent: `worst` is rounded to two decimals.
_ROUNDED = 0.01

_Percent = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Name = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9+.-]*$")]


class ErrorLine(BaseModel):
    """The errors of a core for a kind of code.

    Attributes:
        figures: the number of held-out figures.
        median, p90, worst: of the sizes of their errors, in per cent of the hardware's cycles.
        least, most: hardware took between so many times what was predicted, in every figure; the prediction itself is
            between them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    core: _Name
    kind: _Name
    figures: Annotated[int, Field(ge=1)]
    median: _Percent
    p90: _Percent
    worst: _Percent
    least: Annotated[float, Field(ge=0, le=1)]
    most: Annotated[float, Field(ge=1, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _in_order(self) -> "ErrorLine":
        if not self.median <= self.p90 <= self.worst:
            raise ValueError("median, p90 and worst must not fall")
        high = 100 / self.least - 100 if self.least else math.inf
        if max(high, 100 - 100 / self.most) < self.worst - _ROUNDED:
            raise ValueError(f"no figure that is off by {self.worst:g} % took {self.least:g} to {self.most:g} times")
        return self

    @property
    def next_outside(self) -> float:
        """The chance that one more figure, drawn as these were, lies outside their interval: at most this."""
        return 2 / (self.figures + 1)

    def text(self) -> str:
        """`± 2.6 % (41 held-out figures; 90 %: 16 %; worst 18 %; hardware took 0.85 to 1.08 times as much)`."""
        figures = "1 held-out figure" if self.figures == 1 else f"{self.figures} held-out figures"
        took = f"hardware took {self.least:.2f} to {self.most:.2f} times as much"
        chance = f"{100 * self.next_outside:.0f} %"
        few = f"; so few that another one lies outside with a chance of {chance}" if self.figures < FEW_FIGURES else ""
        return f"± {self.median:g} % ({figures}; 90 %: {self.p90:g} %; worst {self.worst:g} %; {took}{few})"


def took(figures: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Between how many times what is predicted hardware took, in every one of some figures: `least` and `most`.

    `figures` are of predicted and measured cycles, all above 0. 1 is between the two: the prediction itself is in its
    interval even where the model was too fast each time. They are rounded outwards, so that no figure is left out.
    """
    ratios = [Fraction(measured) / Fraction(predicted) for predicted, measured in figures]
    scale = 10**_DECIMALS
    return (
        math.floor(min(1, *ratios) * scale) / scale if ratios else 1.0,
        math.ceil(max(1, *ratios) * scale) / scale if ratios else 1.0,
    )


class ErrorLines(BaseModel):
    """The file of all lines."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    format: Literal[1] = 1
    made_by: str = ""
    lines: tuple[ErrorLine, ...] = ()

    @model_validator(mode="after")
    def _once_each(self) -> "ErrorLines":
        keys = [(line.core, line.kind) for line in self.lines]
        if len(set(keys)) < len(keys):
            raise ValueError("a second line of one core and kind")
        return self

    def exact(self, core: str, kind: str) -> ErrorLine | None:
        """The line of a core and kind, if it has enough figures: LEAST_FIGURES, of held-out ones."""
        found = self._find(core, kind)
        return found if found and found.figures >= LEAST_FIGURES else None

    def _find(self, core: str, kind: str) -> ErrorLine | None:
        return next((line for line in self.lines if (line.core, line.kind) == (core, kind)), None)

    def unvalidated(self, core: str) -> str:
        """What is known of a core that has no line for all code, in words."""
        for kind, figures in ((ALL, "held-out"), (FITTED, "calibration")):
            known = self._find(core, kind)
            if known:
                none = "" if kind == ALL else "no held-out figure of this core; "
                number = f"its {known.figures} {figures} figure{'' if known.figures == 1 else 's'}"
                return (
                    f"unvalidated: {none}{number} {'is' if known.figures == 1 else 'are'} off by "
                    f"{known.median:g} % in the median, {known.worst:g} % at worst"
                )
        return "unvalidated: no held-out figure of this core"

    def line(self, core: str, kinds: Sequence[str]) -> ErrorLine | None:
        """The line of a core for the first of `kinds` that has one, else for all code; None: it is unvalidated."""
        return next((line for kind in (*kinds, ALL) if (line := self.exact(core, kind))), None)


def load_errors(path: Path = ERRORS) -> ErrorLines:
    """The lines of a file; none if there is no such file. Raises WorldwiseError if it is not one of error lines."""
    if not path.exists():
        return ErrorLines()
    return load_json(ErrorLines, path, _MOST_BYTES)
