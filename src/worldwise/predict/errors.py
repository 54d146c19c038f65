# SPDX-License-Identifier: BSD-2-Clause
"""Error lines: how far predictions of a core were from published figures, by the domain that the code is of.

They come from a committed run of the validation suite and from the blind test (measured/validation/errors.json), never
typed. Median, 90 % and worst are of the absolute value, in per cent of the hardware's cycles, over figures to which
nothing was fitted. An interval is made from `least` and `most`, which are of what is predicted: an error of +50 % says
that hardware took two thirds of the prediction, and one of -50 % that it took twice as much. They are order
statistics: of so many figures, so many lie outside, and so many more of the same kind are expected to.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from worldwise.base import paths
from worldwise.base.json_model import load_json
from worldwise.predict.domains import Domain
from worldwise.predict.rules import CONFIDENCE, LEAST_FIGURES, ONE_SIDED, ONE_SIDED_BIAS, TAIL

ERRORS = paths.MEASURED / "validation" / "errors.json"
ALL = "all"
# A kind of line that is no validation: the figures to which numbers of the core may be fitted, or that were looked at
# while its rules were made.
FITTED = "fitted"
_MOST_BYTES = 2**20
# Decimals of ratios, which are rounded away from the figures.
_DECIMALS = 4
# In per cent: `worst` is rounded to two decimals.
_ROUNDED = 0.01
_BOTH = "of both, for nothing says who wrote the code"
# Ratios so close to 1 have a third decimal.
_CLOSE = 0.05

_Percent = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Name = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9+.-]*$")]
_Count = Annotated[int, Field(ge=0)]
_AtMostOne = Annotated[float, Field(ge=0, le=1)]
_AtLeastOne = Annotated[float, Field(ge=1, allow_inf_nan=False)]


class ErrorLine(BaseModel):
    """The errors of a core for a kind of code.

    Attributes:
        figures: the number of held-out figures.
        median, p90, worst: of the sizes of their errors, in per cent of the hardware's cycles.
        bias: the mean of the errors with their signs; below 0 where the model is too fast.
        low: how many figures were predicted too low.
        least, most: hardware took between so many times what was predicted, in `expected` of such figures; the
            prediction itself is between them.
        lowest, highest: the same of every figure.
        assembly: how many of the figures are of hand-written assembly.
        blind: how many are of the blind test, and were predicted before anybody saw them.
        calibrating: how many of these a core may be fitted to from now on; a line needs others beside them.
        engine: the commit of the engine and cores that predicted the blind ones; empty if there is none.
        old: whether engine or core have changed since, so that a figure of the blind test says what they were.
        again: whether they have, and today's engine predicted those figures again. Then its rules may have been chosen
            by the calibrating ones, and median and p90 are the larger of all figures' and of the others'.
        newer: how many of the blind ones are of a later test: of other figures, by the engine of another commit.
        newer_engine, newer_old: that commit, and whether engine or core have changed since.
        shortest: the cycles of its shortest figure of a whole call, on hardware; 0 if there is none.
        joined: why the line stands for code that has too few figures of its own, in words; empty if it has enough.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    core: _Name
    kind: _Name
    figures: Annotated[int, Field(ge=1)]
    median: _Percent
    p90: _Percent
    worst: _Percent
    bias: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    low: _Count = 0
    least: _AtMostOne
    most: _AtLeastOne
    lowest: _AtMostOne
    highest: _AtLeastOne
    assembly: _Count = 0
    blind: _Count = 0
    calibrating: _Count = 0
    engine: str = ""
    old: bool = False
    again: bool = False
    newer: _Count = 0
    newer_engine: str = ""
    newer_old: bool = False
    shortest: _Count = 0
    joined: str = ""

    @model_validator(mode="after")
    def _in_order(self) -> "ErrorLine":
        if not self.median <= self.p90 <= self.worst:
            raise ValueError("median, p90 and worst must not fall")
        if not self.lowest <= self.least or not self.most <= self.highest:
            raise ValueError("lowest, least, most and highest must not fall")
        if max(self.low, self.assembly, self.blind) > self.figures or max(self.calibrating, self.newer) > self.blind:
            raise ValueError(f"more than the {self.figures} figures that there are")
        if self.again and (self.old or not self.blind):
            raise ValueError("what is predicted again is of the blind test, and of no older engine")
        high = 100 / self.lowest - 100 if self.lowest else math.inf
        if max(high, 100 - 100 / self.highest) < self.worst - _ROUNDED:
            raise ValueError(
                f"no figure that is off by {self.worst:g} % took {self.lowest:g} to {self.highest:g} times"
            )
        return self

    @property
    def expected(self) -> float:
        """The part of further figures, drawn as these were, that is expected between `least` and `most`."""
        return 1 - 2 * rank(self.figures) / (self.figures + 1)

    @property
    def sure(self) -> float:
        """The part of further figures that is between them at least, with the rules' CONFIDENCE."""
        return content(self.figures, 2 * rank(self.figures))

    @property
    def one_sided(self) -> bool:
        """Whether the model is too fast, or too slow, for nearly all of the figures."""
        most = max(self.low, self.figures - self.low)
        return most >= ONE_SIDED * self.figures and abs(self.bias) >= ONE_SIDED_BIAS

    @property
    def bias_text(self) -> str:
        """`too low in 8 of 9, by 4.6 % in the mean`; empty if errors are of both signs."""
        if not self.one_sided:
            return ""
        below = self.bias < 0
        number = self.low if below else self.figures - self.low
        way = "low" if below else "high"
        return f"predicted too {way} in {number} of {self.figures}, by {abs(self.bias):.1f} % in the mean"

    @property
    def validates(self) -> bool:
        """Whether enough of its figures do nothing but judge."""
        return self.figures - self.calibrating >= LEAST_FIGURES

    @property
    def ratios_text(self) -> str:
        """`0.91 to 1.32`; with three decimals where the two are close to 1."""
        decimals = 3 if max(1 - self.least, self.most - 1) < _CLOSE else 2
        return f"{self.least:.{decimals}f} to {self.most:.{decimals}f}"

    @property
    def took_text(self) -> str:
        """How many times what is predicted hardware took, in which part of such figures."""
        return (
            f"hardware took {self.ratios_text} times as much in {100 * self.expected:.0f} % of such "
            f"figures (in at least {100 * self.sure:.0f} %, with a confidence of {100 * CONFIDENCE:.0f} %)"
        )

    @property
    def blind_text(self) -> str:
        """Which part is of the blind tests, and of which engines; empty if none is."""
        first = self.blind - self.newer
        parts = []
        if first and self.again:
            parts.append(f"{self._part(first)} of the blind test, predicted again by today's engine{self._seen_text}")
        elif first:
            parts.append(self._blind_by(first, self.engine, self.old))
        if self.newer:
            parts.append(self._blind_by(self.newer, self.newer_engine, self.newer_old))
        return "; ".join(parts)

    def _part(self, number: int) -> str:
        return "all" if number == self.figures else str(number)

    def _blind_by(self, number: int, engine: str, old: bool) -> str:
        since = ", which has changed since: they cannot be predicted again here" if old else ""
        return f"{self._part(number)} blind, by the engine of {engine}{since}"

    @property
    def _seen_text(self) -> str:
        if self.calibrating in (0, self.figures):
            return ", whose makers had seen them"
        return (
            f"; its rules may have been chosen by {self.calibrating}, so median and 90 % are the larger of all "
            "figures' and of the others'"
        )

    @property
    def by_text(self) -> str:
        """Who wrote the code of the figures, where it is not all of one kind or the line is joined."""
        if not self.joined:
            return ""
        compiled = self.figures - self.assembly
        who = "all are assembly" if not compiled else "all are compiled" if not self.assembly else ""
        return f"{self.joined}: {who or f'{self.assembly} assembly, {compiled} compiled'}"

    def text(self) -> str:
        """`± 2.6 % (41 held-out figures; 90 %: 16 %; worst 18 %; hardware took 0.85 to 1.08 times ...)`."""
        figures = "1 held-out figure" if self.figures == 1 else f"{self.figures} held-out figures"
        blind = f", {self.blind_text}" if self.blind else ""
        parts = [figures + blind, self.by_text, f"90 %: {self.p90:g} %", f"worst {self.worst:g} %"]
        parts += [self.bias_text, self.took_text]
        return f"± {self.median:g} % ({'; '.join(part for part in parts if part)})"


def rank(figures: int) -> int:
    """Which figure from either end an interval of some figures ends with: 1 is the outermost."""
    return max(1, math.floor(TAIL * (figures + 1)))


@cache
def content(figures: int, outside: int) -> float:
    """The least part of a population that is between two order statistics, with the rules' CONFIDENCE.

    Between them are all gaps of the ordered figures but `outside` ones: so the part is distributed as Beta(figures + 1
    - outside, outside), whatever the population is (Wilks 1941). It is found by halving.
    """
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        # The chance that the part is above `middle`: that at least `outside` of the figures are in the rest.
        few = sum(
            math.comb(figures, number) * (1 - middle) ** number * middle ** (figures - number)
            for number in range(outside)
        )
        low, high = (middle, high) if 1 - few >= CONFIDENCE else (low, middle)
    return low


def took(figures: Iterable[tuple[float, float]], at: int = 1) -> tuple[float, float]:
    """Between how many times what is predicted hardware took: the `at`-th figure from below and from above.

    `figures` are of predicted and measured cycles, all above 0. 1 is between the two: the prediction itself is in its
    interval even where the model was too fast each time. They are rounded outwards, so that no figure is left out.
    """
    ratios = sorted(Fraction(measured) / Fraction(predicted) for predicted, measured in figures)
    scale = 10**_DECIMALS
    return (
        math.floor(min(Fraction(1), ratios[at - 1]) * scale) / scale if ratios else 1.0,
        math.ceil(max(Fraction(1), ratios[-at]) * scale) / scale if ratios else 1.0,
    )


def _off(line: ErrorLine, which: str, of: str) -> str:
    one = line.figures == 1
    which = f"{which} figure{'' if one else 's'}{of} {'is' if one else 'are'}"
    return f"{line.figures} {which} off by {line.median:g} % in the median, {line.worst:g} % at worst"


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
        """The line of a core and kind, if it has enough figures: LEAST_FIGURES that do nothing but judge."""
        found = self._find(core, kind)
        return found if found and found.validates else None

    def _find(self, core: str, kind: str) -> ErrorLine | None:
        return next((line for line in self.lines if (line.core, line.kind) == (core, kind)), None)

    def has_neon(self, core: str) -> bool:
        """Whether a core has a line of NEON integer code."""
        return self.exact(core, "neon") is not None

    def unvalidated(self, core: str, domain: Domain) -> str:
        """What is known of a core that has no line for a domain, in words."""
        # Of the widest join for which there are figures, then of other code.
        kinds = [domain.kind, *(kind for kind, _ in domain.joined())]
        own = next((line for kind in reversed(kinds) if (line := self._find(core, kind))), None)
        if own:
            which = "blind" if own.blind == own.figures else "held-out"
            may = " to which the core may be fitted," if own.calibrating == own.figures else ""
            parts = (", predicted again," if own.again else "," if may else "") + may
            return f"unvalidated: its {_off(own, which, f' of such or like code{parts}')}"
        if line := self._find(core, ALL):
            return f"unvalidated: no held-out figure of {domain.words}; its {_off(line, 'held-out', ' of other code')}"
        if line := self._find(core, FITTED):
            return f"unvalidated: no held-out figure of this core; its {_off(line, 'calibration', '')}"
        return "unvalidated: no held-out figure of this core"

    def line(self, core: str, domain: Domain) -> ErrorLine | None:
        """The line of a core for a domain, or for what is joined with it if it has too few figures.

        None: the code is unvalidated on this core.
        """
        own = self.exact(core, domain.kind)
        if own:
            # Of code of which nobody says who wrote it, the figures are of both.
            return own if domain.by else own.model_copy(update={"joined": _BOTH})
        few = self._find(core, domain.kind)
        number = few.figures if few else 0
        figures = {0: "no figure is", 1: "one figure alone is"}.get(number, f"only {number} figures are")
        for kind, what in domain.joined():
            line = self.exact(core, kind)
            if line:
                return line.model_copy(update={"joined": f"{what} joined, for {figures} of {domain.words}"})
        return None


def load_errors(path: Path = ERRORS) -> ErrorLines:
    """The lines of a file; none if there is no such file. Raises WorldwiseError if it is not one of error lines."""
    if not path.exists():
        return ErrorLines()
    return load_json(ErrorLines, path, _MOST_BYTES)
