# SPDX-License-Identifier: BSD-2-Clause
"""Budgets: a time limit at a clock, and the measures that must keep it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from worldwise.base import files
from worldwise.base.choices import choice_error
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import DURATIONS, FREQUENCIES, parse_duration, parse_frequency, quantity_text
from worldwise.plan.case import Case
from worldwise.plan.catalogue import MEASURES
from worldwise.plan.spec import PLACES

BUDGET_MEASURES = ("sign",)
BUDGET_PLACE = "client"


@dataclass(frozen=True)
class Budget:
    """A limit in seconds at a clock in Hz, for some measures at one place."""

    limit: Fraction
    clock: Fraction
    measures: tuple[str, ...] = BUDGET_MEASURES
    place: str = BUDGET_PLACE

    @property
    def instructions(self) -> int:
        """How many whole instructions fit, assuming one instruction per cycle."""
        return int(self.limit * self.clock)

    @property
    def limit_text(self) -> str:
        """The limit as people write it: `5 ms`."""
        return quantity_text(self.limit, DURATIONS)

    @property
    def clock_text(self) -> str:
        """The clock as people write it: `2 GHz`."""
        return quantity_text(self.clock, FREQUENCIES)


def parse_budget(text: str, measures: Sequence[str] = BUDGET_MEASURES, place: str = BUDGET_PLACE) -> Budget:
    """A budget from its command-line form `5ms@2GHz`. Raises WorldwiseError."""
    limit, at, clock = text.partition("@")
    what = f"budget '{files.quoted(text)}'"
    if not at:
        # A hint must not name a budget that the command would refuse too.
        if text.strip():
            _said_of(what, parse_duration, limit)
        raise WorldwiseError(
            f"{what}: no clock. A budget is a limit at a clock, such as '5ms@2GHz'.",
            hint=f"try '{files.quoted(text.strip())}@2GHz'" if text.strip() else "",
        )
    for measure in measures:
        if measure not in MEASURES:
            raise choice_error(f"{what}: measure", measure, MEASURES)
    if place not in PLACES:
        raise choice_error(f"{what}: place", place, PLACES)
    return Budget(_said_of(what, parse_duration, limit), _said_of(what, parse_frequency, clock), tuple(measures), place)


def _said_of(what: str, parse: Callable[[str], Fraction], text: str) -> Fraction:
    """A part of a budget. Raises WorldwiseError that names the whole of it."""
    try:
        return parse(text)
    except WorldwiseError as error:
        whole = "a budget is a limit at a clock, such as '5ms@2GHz'"
        raise WorldwiseError(f"{what}: {error.message}", f"{error.hint} {whole}".lstrip()) from error


def check_budget(budget: Budget, cases: Iterable[Case]) -> None:
    """Raises WorldwiseError if the budget applies to no case: such a budget must not pass."""
    for case in cases:
        if any(budget.place in case.measures.get(measure, ()) for measure in budget.measures):
            return
    raise WorldwiseError(
        f"the budget of {budget.limit_text} at {budget.clock_text} judges nothing: no chosen case measures "
        f"{' or '.join(budget.measures)} at place '{budget.place}'.",
        hint="choose more cases, or give the budget another place or measure",
    )
