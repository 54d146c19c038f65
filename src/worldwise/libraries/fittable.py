# SPDX-License-Identifier: BSD-2-Clause
"""What numbers of a core or board may be fitted to a run on silicon, and what a fitted core's file says of its fit."""

from typing import Annotated

from pydantic import Field, model_validator

from worldwise.base.toml.toml_model import StrictModel, Text

_Percent = Annotated[float, Field(ge=0)] | Annotated[int, Field(ge=0)]
# The most values of one number: validation/silicon/calibration.py tries them with all values of the others.
_MOST = 16


class Fittable(StrictModel):
    """Between which whole numbers a number may be fitted, and the document that says so."""

    least: Annotated[int, Field(ge=0, le=1000)]
    most: Annotated[int, Field(ge=0, le=1000)]
    source: Text

    @model_validator(mode="after")
    def _some(self) -> "Fittable":
        if not self.least < self.most < self.least + _MOST:
            raise ValueError(f"'most' must be above 'least', and by less than {_MOST}")
        return self

    def values(self) -> range:
        """Every value that it may have."""
        return range(self.least, self.most + 1)


class FitErrors(StrictModel):
    """The error of some cases, before numbers were fitted and after: mean and worst, of the absolute value, in %."""

    mean_before: _Percent
    mean_after: _Percent
    worst_before: _Percent
    worst_after: _Percent


class Calibration(StrictModel):
    """What the numbers of a core were fitted to: one run on one board.

    Attributes:
        base: the core whose file it was made from.
        board: the board that was measured; the core stands for this board's alone.
        clock: the one of the board's clocks that it was set to; empty for what its reset leaves.
        run, started, worldwise: the run's id, when it began, and the version that measured it.
        changed: number -> its value, of those that are not as in `base`; the board's wait states are among them.
        flash_wait_states: the board's, as they are now.
        undetermined: numbers that could be fitted and on which the cases' cycles do not depend enough to say.
        split: how cases were chosen to be held out.
        fitted_on, held_out: the cases; no number saw those that are held out.
        errors_fitted, errors_held_out: how far off each half is.
    """

    base: Text
    board: Text
    clock: str = ""
    run: Text
    started: Text
    worldwise: Text
    changed: dict[str, int]
    flash_wait_states: Annotated[int, Field(ge=0, le=15)]
    undetermined: list[Text] = Field(default_factory=list)
    split: Text
    fitted_on: Annotated[list[Text], Field(min_length=1)]
    held_out: Annotated[list[Text], Field(min_length=1)]
    errors_fitted: FitErrors
    errors_held_out: FitErrors

    @model_validator(mode="after")
    def _apart(self) -> "Calibration":
        both = set(self.fitted_on) & set(self.held_out)
        if both:
            raise ValueError(f"the case '{min(both)}' is fitted to and held out")
        return self
