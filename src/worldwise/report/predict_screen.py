# SPDX-License-Identifier: BSD-2-Clause
"""The one screen of `worldwise predict`: verdicts and times with their intervals, then all rows, then the errors."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from worldwise.base.output.safe_text import Prose
from worldwise.base.tables import Section, Table, count
from worldwise.base.units import FREQUENCIES, quantity_text
from worldwise.plan.budget import Budget
from worldwise.predict.bounds import STATES
from worldwise.predict.rules import CONFIDENCE
from worldwise.predict.verdict import FITS, FITS_NOT, NOT_JUDGED, OPEN, WOULD, Judged, judged, time_text
from worldwise.report.first_screen import narrowed
from worldwise.report.predictions import PredictionLine, verdict_note, what_is_done

# More do not fit the screen with all that stands around them.
_MOST_ROWS = 12
_MOST_SENTENCES = 4
_MOST_ERRORS = 3
# Calls that differ by more get a sentence: a median says little of them. In parts of the shortest.
_APART = 1.2


def screen(
    lines: Sequence[PredictionLine], budget: Budget | None, outermost: Callable[[PredictionLine], bool]
) -> list[Section]:
    """The sections of the screen, at most 40 lines of 100 columns.

    `outermost` says of a line whether nothing is measured around it: those are told first, where no budget names a
    place.
    """
    verdicts = {id(one.estimate): one for one in judged((line.estimate for line in lines), budget)} if budget else {}
    told = [line for line in lines if (id(line.estimate) in verdicts if budget else outermost(line))]
    whole = _Whole(lines, budget)
    cases = {line.case.id for line in lines}
    if len(cases) == 1 and (not budget or any(one.decides for one in verdicts.values())):
        sentences = _sentences(told, verdicts, budget)
        notes = sentences[:_MOST_SENTENCES]
        if len(sentences) > len(notes):
            notes.append(Prose(f"{len(sentences) - len(notes)} more are in the tables of `--full`."))
        if budget and len(told) < len(lines):
            notes.append(f"Not judged: what is measured elsewhere, for the budget is of place {budget.place}.")
    else:
        notes = [verdict_note(lines, budget)] if budget else []
    rows = [*told, *(line for line in lines if all(line is not one for one in told))]
    shown = rows[: _MOST_ROWS if len(notes) <= _MOST_SENTENCES // 2 else _MOST_ROWS - 2]
    left = [Prose(f"({len(rows) - len(shown)} more lines: `--full`)")] if len(rows) > len(shown) else []
    return [
        Section(whole.title, None, notes),
        Section(
            "Times and their intervals",
            _table(shown, verdicts, whole),
            [*left, *_worth(lines, bool(told) and len(cases) == 1, told)],
        ),
    ]


@dataclass(frozen=True)
class _Whole:
    """Properties that all lines share stand once, above them."""

    lines: Sequence[PredictionLine]
    budget: Budget | None

    def _one(self, value: Callable[[PredictionLine], str]) -> str:
        """What all lines have in common; empty if they differ."""
        found = {value(line) for line in self.lines}
        return found.pop() if len(found) == 1 else ""

    @property
    def case(self) -> str:
        return self._one(lambda line: line.case.id)

    @property
    def core(self) -> str:
        return self._one(lambda line: line.estimate.core)

    @property
    def clock(self) -> str:
        return self._one(_clock)

    @property
    def title(self) -> str:
        what = self.case or f"{len({line.case.id for line in self.lines})} cases"
        core = f" on a {self.core}" if self.core else ""
        clock = f" at {self.clock}" if self.clock else ""
        flash = self._one(lambda line: line.flash)
        return f"{what}{core}{clock}{f', {flash}' if flash else ''}: predicted, not measured"


def _clock(line: PredictionLine) -> str:
    return quantity_text(line.hertz, FREQUENCIES)


def _sentences(told: Sequence[PredictionLine], verdicts: dict[int, Judged], budget: Budget | None) -> list[str]:
    """One for each measure and core of a case, what decides first."""
    groups: dict[tuple[str, str], list[PredictionLine]] = {}
    for line in told:
        groups.setdefault((line.estimate.core, line.label), []).append(line)
    several = len({core for core, _ in groups}) > 1
    deciding = sorted(
        groups.items(), key=lambda item: not any(verdicts[id(one.estimate)].decides for one in item[1]) if budget else 0
    )
    return [
        _upper((f"on a {core} " if several else "") + _sentence(found, verdicts, budget))
        for (core, _), found in deciding
    ]


def _sentence(found: Sequence[PredictionLine], verdicts: dict[int, Judged], budget: Budget | None) -> str:
    """`signing fits 5 ms: a warm call takes 1.46 ms, between 1.28 and 2.72 ms; a first one 1.72 ms, ...`."""
    what = what_is_done(found)
    # The warm call is what a client waits for again and again.
    ordered = sorted(found, key=lambda line: line.estimate.state != "warm")
    if not budget:
        return f"{what}: {_times(ordered)}."
    said: list[str] = []
    for verdict in dict.fromkeys(verdicts[id(line.estimate)].verdict for line in ordered):
        own = [line for line in ordered if verdicts[id(line.estimate)].verdict == verdict]
        said.append(f"{_judgement(what, verdicts[id(own[0].estimate)], budget)}: {_times(own)}")
    return "; ".join(said) + "."


def _judgement(what: str, one: Judged, budget: Budget) -> str:
    if one.verdict == OPEN:
        return f"whether {what} fits {budget.limit_text} is {OPEN}"
    verdict = one.verdict if one.decides else WOULD[one.verdict]
    return f"{what} {verdict} {budget.limit_text}" if one.verdict in (FITS, FITS_NOT) else f"{what}: {verdict}"


def _times(found: Sequence[PredictionLine]) -> str:
    return "; ".join(
        f"a {one.estimate.state} {'one' if number else 'call takes'} {_time(one)}" for number, one in enumerate(found)
    )


def _time(line: PredictionLine) -> str:
    """`1.46 ms, between 1.28 and 2.72 ms`."""
    predicted, low, high = (
        time_text(cycles, line.hertz)
        for cycles in (line.estimate.cycles, line.estimate.whole.low, line.estimate.whole.high)
    )
    same_unit = low.split()[1] == high.split()[1]
    return f"{predicted}, between {low.split()[0] if same_unit else low} and {high}"


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _table(lines: Sequence[PredictionLine], verdicts: dict[int, Judged], whole: _Whole) -> Table:
    """Times with their intervals beside count and cycles; what is the same in all lines is not repeated."""
    columns: list[tuple[str, Callable[[PredictionLine], str], bool]] = [
        ("measure", lambda line: line.label, True),
        *([] if whole.case else [("variant", lambda line: line.case.variant, True)]),
        ("place", lambda line: line.estimate.sample.place, True),
        *([] if whole.core else [("core", lambda line: line.estimate.core, True)]),
        ("call", lambda line: STATES[line.estimate.state].removesuffix(" call"), True),
        *([] if whole.clock else [("clock", _clock, False)]),
        ("predicted\ntime", lambda line: time_text(line.estimate.cycles, line.hertz), False),
        ("from", lambda line: time_text(line.estimate.whole.low, line.hertz), False),
        ("to", lambda line: time_text(line.estimate.whole.high, line.hertz), False),
        ("count\ninstr", lambda line: count(line.instructions), False),
        ("predicted\ncycles", lambda line: count(line.estimate.cycles), False),
    ]
    if whole.budget:
        columns.append(("verdict", lambda line: _verdict(verdicts.get(id(line.estimate))), True))
    table = Table(
        [head for head, _, _ in columns],
        [[cell(line) for _, cell, _ in columns] for line in lines],
        sum(1 for _, _, name in columns if name) - bool(whole.budget),
        (len(columns) - 1,) if whole.budget else (),
    )
    # A case's id has no limit. The figures can be had with --full, the intervals are what was asked for.
    same_place = len({line.estimate.sample.place for line in lines}) == 1
    spare = ["predicted\ncycles", "count\ninstr", *(["place"] if same_place else []), "verdict", "place"]
    return narrowed(table, spare)


def _verdict(one: Judged | None) -> str:
    if one is None:
        return NOT_JUDGED
    return one.verdict if one.decides or one.verdict == OPEN else WOULD[one.verdict]


def _worth(lines: Sequence[PredictionLine], with_causes: bool, told: Sequence[PredictionLine]) -> list[str]:
    """What the cycles go on, what the figures are worth, and how to see more."""
    notes = []
    warm = next((line for line in told if line.estimate.state == "warm"), None)
    if with_causes and warm and warm.estimate.cycles:
        causes = sorted(warm.estimate.causes.items(), key=lambda item: -item[1])[:4]
        shares = ", ".join(f"{name} {100 * cycles / warm.estimate.cycles:.0f} %" for name, cycles in causes if cycles)
        notes.append(f"A warm call of {what_is_done([warm])} spends its cycles on: {shares}.")
    if warm and (apart := warm.estimate.apart) and apart[1] > _APART * apart[0]:
        shortest, longest = (time_text(cycles, warm.hertz) for cycles in apart)
        notes.append(
            f"A warm call is the median of {warm.estimate.samples}, which differ: the shortest takes {shortest}, the "
            f"longest {longest}, on a {warm.estimate.core}. No verdict is of the longest."
        )
    if any(line.estimate.sampling for line in lines):
        notes.append("Long calls were sampled; from and to include the error of that.")
    notes += _errors(lines)
    notes.append(
        Prose(
            "Published figures bound the code of libraries and programs; rules bound the kernel, OP-TEE's core and "
            "first calls (docs/use/predict.md). `--full` prints all tables, `--format json` all figures."
        )
    )
    return notes


def _errors(lines: Iterable[PredictionLine]) -> list[str]:
    """What each core's predictions were worth on hardware's figures."""
    said: dict[str, None] = {}
    for one in (line.estimate for line in lines):
        if one.line is None:
            said[f"{one.core}: {one.error}."] = None
            continue
        line = one.line
        blind = f" ({line.blind_text})" if line.blind else ""
        joined = f" ({line.by_text})" if line.joined else ""
        bias = f" {_upper(line.bias_text)}." if line.bias_text else ""
        said[
            f"{one.core}, {one.domain.words}{joined}: of {line.figures} hardware figures that no number was fitted to"
            f"{blind}, half are off by at most {line.median:g} %, 90 % by {line.p90:g} %, one by {line.worst:g} %; "
            f"{100 * line.expected:.0f} % of such (at {100 * CONFIDENCE:.0f} % confidence {100 * line.sure:.0f} %) "
            f"took {line.ratios_text} times as predicted.{bias}"
        ] = None
    shown = list(said)[:_MOST_ERRORS]
    left = len(said) - len(shown)
    return (
        [*shown, f"{left} more error line{'s are' if left > 1 else ' is'} in the tables of `--full`."]
        if left
        else shown
    )
