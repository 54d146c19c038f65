# SPDX-License-Identifier: BSD-2-Clause
"""Showing predictions: cycles and time beside the count, each with its error line or its interval."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from worldwise.base.tables import Section, Table, count
from worldwise.base.units import FREQUENCIES, quantity_text
from worldwise.libraries.boards import boards
from worldwise.plan.budget import Budget, parse_budget
from worldwise.plan.case import Case
from worldwise.plan.spec import OWN
from worldwise.predict.bounds import STATES, Estimate, estimates
from worldwise.predict.errors import ErrorLines, load_errors
from worldwise.predict.rules import OUTSIDE_FACTOR, is_inside
from worldwise.predict.sampling import SamplingError
from worldwise.predict.verdict import (
    FITS,
    FITS_NOT,
    NOT_JUDGED,
    OPEN,
    WOULD,
    Judged,
    judged,
    seconds,
    time_text,
    worst,
)
from worldwise.read.models import Reading, Row
from worldwise.records.model_predictions import CAUSES
from worldwise.report.tables import operation_name

if TYPE_CHECKING:
    # It loads what reads the machine's symbols, which a report needs not.
    from worldwise.predict.attribution import Attributed

FORMAT = 1
# The clock of tables if nothing names one, off the boards.
CLOCK = Fraction(1_500_000_000)
# That of a user's own firmware, which is on no board.
MICRO_CLOCK = Fraction(100_000_000)
WHAT = (
    "Predicted, not measured: a model of the core ran through the exact trace. ± is the median error against published "
    "hardware figures to which no number of the model was fitted; 90 % of these figures are within the '90 %' value "
    "below."
)
INTERVAL = (
    "from and to: cycles are taken between so many times as hardware took them in the part of such held-out figures "
    "that the error line names: what was seen, and no guarantee. Code that no published figure validates is bounded by "
    "rules (docs/use/predict.md): from below by the worst error of such code to either side; from above "
    f"{OUTSIDE_FACTOR:g} times as much, and a price "
    "for each exception, world switch, barrier and maintenance of the TLB. outside %: the share of such code."
)

SAMPLED = (
    "sampling: of a long call the model ran through the beginning, then through about one instruction in 20. In 95 % "
    "of such samples the cycles are within this of a whole run's (`worldwise predict --whole`); "
    "from and to include it. -: the model ran through everything."
)


@dataclass(frozen=True)
class PredictionLine:
    """An estimate with the case that it is of.

    Attributes:
        count: the count beside it; None for the sample's own instructions.
        clock: in Hz, what times are at; None for that of the board, CLOCK or MICRO_CLOCK.
        flash: the flash that was taken in place of the board's own, in words; empty for the board's.
        others: the predicted cycles of other draws of the inputs.
    """

    case: Case
    estimate: Estimate
    count: float | None = None
    clock: Fraction | None = None
    flash: str = ""
    others: tuple[int, ...] = ()

    @property
    def draws(self) -> list[int]:
        """The predicted cycles of every draw, from the least to the most."""
        return sorted((self.estimate.cycles, *self.others))

    @property
    def hertz(self) -> Fraction:
        """The clock that times are at."""
        if self.clock:
            return self.clock
        if self.case.board:
            return Fraction(boards()[self.case.board].clock)
        return CLOCK if self.estimate.domain.waits is None else MICRO_CLOCK

    @property
    def microseconds(self) -> float:
        """The predicted time."""
        return 1e6 * seconds(self.estimate.cycles, self.hertz)

    @property
    def instructions(self) -> float:
        """The count beside the cycles."""
        return self.estimate.instructions if self.count is None else self.count

    @property
    def label(self) -> str:
        """Operation, measure and parameters, in words."""
        case, measure = self.case, self.estimate.sample.measure
        words = operation_name(case) if case.operation == measure else f"{case.operation} {measure}"
        return f"{words} {case.parameter_text}" if case.parameter_text else words


def lines_of(reading: Reading, errors: ErrorLines | None = None) -> list[PredictionLine]:
    """The predictions of a run, in the order of its cores and cases, with the counts of its rows."""
    if not reading.predictions:
        return []
    errors = load_errors() if errors is None else errors
    rows = {(row.case, row.measure, row.place): row for row in reading.rows}
    budget = budget_of(reading)
    clock = budget.clock if budget else None
    return [
        PredictionLine(predicted_case(row), one, row.counts.first if one.state == "first" else row.median, clock)
        for predicted in reading.predictions
        for case in predicted.cases
        for one in estimates(case, predicted.core, errors)
        if (row := rows.get((case.case, one.sample.measure, one.sample.place)))
    ]


def predicted_case(row: Row) -> Case:
    """The case of a row, as far as tables need it."""
    pairs = (part.partition("=") for part in row.parameters.split(",") if part)
    parameters = tuple((key, value) for key, _, value in pairs)
    return Case(
        row.target, row.implementation, row.optimisation, row.operation, row.counts.n, row.counts.warmup, parameters
    )


def budget_of(reading: Reading) -> Budget | None:
    """The budget that the run was judged by."""
    found = reading.budget
    return parse_budget(f"{found.limit}@{found.clock}", found.measures, found.place) if found else None


# --- tables ---


def summary(lines: Sequence[PredictionLine], budget: Budget | None, every: Sequence[PredictionLine] = ()) -> Section:
    """Estimates in one table, with their error lines below it.

    The verdict is that of `every` line, where the table has a part of them.
    """
    verdicts = {id(one.estimate): one for one in judged((line.estimate for line in lines), budget)} if budget else {}
    headers = ["measure", "variant", "place", "core", "call", "count\ninstr", "predicted\ncycles", "error\n± %"]
    headers += [
        "from\ncycles",
        "to\ncycles",
        "instr /\ncycle",
        "clock",
        "predicted\nus",
        "outside\n%",
    ]
    sampled = any(line.estimate.sampling for line in lines)
    headers += ["sampling\n± %"] if sampled else []
    headers += ["verdict"] if verdicts else []
    cells = [
        _cells(line) + ([_sampling_cell(line)] if sampled else []) + ([said(verdicts, line)] if verdicts else [])
        for line in lines
    ]
    notes = [WHAT, INTERVAL, *error_notes(line.estimate for line in lines)]
    notes += [SAMPLED] if sampled else []
    if budget and verdicts:
        notes.append(verdict_note(every or lines, budget))
    return Section(
        "Predicted cycles", Table(headers, cells, 5, (len(headers) - 1,) if verdicts else ()), notes, "predicted"
    )


def _cells(line: PredictionLine) -> list[str]:
    one = line.estimate
    return [
        line.label,
        line.case.variant,
        one.sample.place,
        one.core,
        STATES[one.state],
        count(line.instructions),
        count(one.cycles),
        f"{one.line.median:g}" if one.line and one.inside else "-",
        count(one.whole.low),
        count(one.whole.high),
        f"{one.per_cycle:.2f}",
        quantity_text(line.hertz, FREQUENCIES),
        f"{line.microseconds:,.1f}",
        f"{100 * (one.cycles - one.inside) / one.cycles:.1f}" if one.cycles else "-",
    ]


def _sampling_cell(line: PredictionLine) -> str:
    sampling = line.estimate.sampling
    return f"{sampling.percent:.2g}" if sampling else "-"


def said(verdicts: Mapping[int, Judged], line: PredictionLine) -> str:
    found = verdicts.get(id(line.estimate))
    return found.text() if found else f"{NOT_JUDGED} (at {line.estimate.sample.place})"


def error_notes(found: Iterable[Estimate]) -> list[str]:
    """A sentence for each core and error line, with the largest error by sampling if there is one."""
    said: dict[str, list[SamplingError]] = {}
    for one in found:
        said.setdefault(f"{one.core}, {one.domain.words}: {one.error}", []).extend(
            [one.sampling] if one.sampling else []
        )
    worst = {text: max(some, key=lambda one: one.relative).text() for text, some in said.items() if some}
    return [f"{text}; {worst[text]}." if text in worst else f"{text}." for text in said]


def verdict_note(lines: Sequence[PredictionLine], budget: Budget) -> str:
    """What of some lines was judged by a budget, and how: by core and measure; then what was not, and why."""
    found = [(line, one) for line in lines for one in judged([line.estimate], budget)]
    parts = []
    for core in dict.fromkeys(one.estimate.core for _, one in found):
        own = [(line, one) for line, one in found if one.estimate.core == core]
        said = [_of_measure(some) for some in _by_measure(own, decides=True)]
        said = said or [f"nothing of {_listed(map(doing, budget.measures))} was predicted, so nothing is judged"]
        parts.append(f"on {core} {', '.join(said)}")
    note = f"Budget of {budget.limit_text} at {budget.clock_text}, by predicted cycles: {'; '.join(parts)}."
    beside = []
    for core in dict.fromkeys(one.estimate.core for _, one in found):
        own = [(line, one) for line, one in found if one.estimate.core == core]
        said = [_of_measure(some) for some in _by_measure(own, decides=False)]
        beside += [f"on {core} {', '.join(said)}"] if said else []
    if beside:
        named = _listed(map(doing, budget.measures))
        note += f" The budget is for {named} alone; against the same limit {'; '.join(beside)}."
    places = list(dict.fromkeys(line.estimate.sample.place for line in lines))
    others = [place for place in places if place != budget.place]
    if others:
        note += f" Not judged: what is measured at {_listed(others)}, for the budget is of place {budget.place}."
    return note


_Told = list[tuple[PredictionLine, Judged]]


def _by_measure(found: _Told, decides: bool) -> list[_Told]:
    measures = dict.fromkeys(one.estimate.sample.measure for _, one in found if one.decides == decides)
    return [[each for each in found if each[1].estimate.sample.measure == measure] for measure in measures]


def _of_measure(found: _Told) -> str:
    """What is said of one measure on one core: of all its cases and calls together, or how many of them fit."""
    what = what_is_done([line for line, _ in found])
    verdicts = {one.verdict for _, one in found}
    if len(verdicts) == 1:
        return _verdict_text(what, [one for _, one in found])
    by_case: dict[str, list[Judged]] = {}
    for line, one in found:
        by_case.setdefault(line.case.id, []).append(one)
    if len(by_case) == 1:
        calls = {"first": f"a first call of {what}", "warm": f"a warm one of {what}"}
        states = dict.fromkeys(one.estimate.state for _, one in found)
        return " and ".join(
            _verdict_text(calls[state], [one for _, one in found if one.estimate.state == state]) for state in states
        )
    ended = {case: worst(some) for case, some in by_case.items()}
    fitting = [case for case, verdict in ended.items() if verdict == FITS]
    best = min(fitting, key=lambda case: (max(one.estimate.whole.high for one in by_case[case]), case), default="")
    said: list[str] = []
    for verdict in (FITS, FITS_NOT, OPEN):
        number = sum(one == verdict for one in ended.values())
        if number:
            text = verdict if found[0][1].decides else WOULD.get(verdict, verdict)
            said.append(f"{text} in {number}" + ("" if said else f" of {len(ended)} cases"))
            said[-1] += f" (the shortest is {best}, {_most(by_case[best])})" if verdict == FITS else ""
    return f"{what} {_listed(said)}"


def _verdict_text(what: str, found: Sequence[Judged]) -> str:
    """The one verdict of some estimates of what is done, with the end of the interval that gives it."""
    one, low = found[0], min(each.estimate.whole.low for each in found)
    if one.verdict == FITS:
        return f"{what} {FITS if one.decides else WOULD[FITS]} ({_most(found)})"
    if one.verdict == FITS_NOT:
        return f"{what} {FITS_NOT if one.decides else WOULD[FITS_NOT]} (at least {time_text(low, one.clock)})"
    high = max(each.estimate.whole.high for each in found)
    why = "" if one.estimate.line else "; this core has no error line"
    return f"whether {what} fits is {OPEN} (between {time_text(low, one.clock)} and {time_text(high, one.clock)}{why})"


def _most(found: Sequence[Judged]) -> str:
    return f"at most {time_text(max(one.estimate.whole.high for one in found), found[0].clock)}"


def doing(measure: str) -> str:
    """A measure as something that is done: `signing`."""
    return _DOING.get(measure, measure)


def what_is_done(lines: Sequence[PredictionLine]) -> str:
    """The one measure of some lines as something that is done; of a user's own code the region that is called."""
    regions = list(dict.fromkeys(operation_name(line.case) for line in lines if line.case.target == OWN))
    if len(regions) == 1:
        return f"`{regions[0]}`"
    return "a call" if regions else doing(lines[0].estimate.sample.measure)


_DOING = {"sign": "signing", "verify": "verifying", "keygen": "making a key", "ecdh": "agreeing on a key"}


def _listed(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *some, last = words
    return f"{', '.join(some)} and {last}" if some else last


def causes_section(lines: Sequence[PredictionLine]) -> Section:
    """Where the cycles of each estimate go: by cause, in per cent."""
    cells = [
        [line.label, line.case.variant, line.estimate.sample.place, line.estimate.core, STATES[line.estimate.state]]
        + [_share(cycles, line.estimate.cycles) for cycles in line.estimate.causes.values()]
        for line in lines
    ]
    headers = ["measure", "variant", "place", "core", "call", *(f"{cause}\n%" for cause in CAUSES)]
    return Section("Causes of the predicted cycles", Table(headers, cells, 5), [], "predicted-causes")


def draws_section(lines: Sequence[PredictionLine]) -> Section:
    """The estimates over all draws of their inputs: from the least to the most, beside the interval of the first."""
    cells = []
    for line in lines:
        one, draws = line.estimate, line.draws
        cells.append(
            [line.label, line.case.variant, one.sample.place, one.core, one.state]
            + [count(number) for number in (one.cycles, draws[0], draws[-1])]
            + [f"{100 * (draws[-1] - draws[0]) / one.cycles:.1f}", count(one.whole.low), count(one.whole.high)]
        )
    headers = ["measure", "variant", "place", "core", "call", "cycles", "least", "most", "apart\n%", "from", "to"]
    notes = [
        "least, most: predicted for other keys, messages and nonces too, which is no error of the model; apart: these "
        "two, in % of cycles; from, to: what hardware may take for the first draw."
    ]
    title = f"Predicted cycles over {len(lines[0].draws)} draws of the inputs" if lines else ""
    return Section(title, Table(headers, cells, 5), notes, "predicted-draws")


def _domain(layer: str, one: Estimate) -> str:
    """Whether published figures judge a layer. A core or a call can be outside as a whole."""
    return "inside" if one.inside and is_inside(layer) else "outside"


def layer_section(line: PredictionLine, order: Sequence[str]) -> Section:
    """The layers of one estimate, in the order of `order`, then others."""
    one = line.estimate
    by_name = {layer.layer: layer for layer in one.sample.layers}
    names = [name for name in order if name in by_name] + sorted(by_name.keys() - set(order))
    cells = [
        [name, *_spent_cells(layer.cycles, one.cycles, layer.instructions), _domain(name, one)]
        for name in names
        if (layer := by_name[name]).instructions
    ]
    cells.append(["sum", *_spent_cells(list(one.causes.values()), one.cycles, one.instructions), ""])
    notes = [f"{reason}: {cycles:,} cycles, {_share(cycles, one.cycles)} %" for reason, cycles in one.reasons.items()]
    if notes:
        notes = ["Outside the validated domain, and bounded by rules: " + "; ".join(notes) + "."]
    return Section(f"Layers: {title(line)}", Table(["layer", *_SPENT, "domain"], cells, 1, (11,)), notes)


def function_section(line: PredictionLine, attributed: "Attributed", top: int) -> Section:
    """The functions of one estimate that take the most cycles themselves."""
    ranked = sorted(attributed.functions.items(), key=lambda item: (-item[1].total, str(item[0])))
    cells = [
        [str(frame), *_spent_cells(spent.cycles, attributed.total, spent.instructions)] for frame, spent in ranked[:top]
    ]
    return Section(f"Functions: {title(line)}", Table(["function (image)", *_SPENT], cells, 1))


_SPENT = ["instr", "cycles", "cycles\n%", "instr /\ncycle", *(f"{cause}\n%" for cause in CAUSES)]


def _spent_cells(cycles: Sequence[int], whole: int, instructions: int) -> list[str]:
    own = sum(cycles)
    cells = [count(instructions), count(own), _share(own, whole), f"{instructions / own:.2f}" if own else "-"]
    return cells + [_share(one, own) for one in cycles]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def title(line: PredictionLine) -> str:
    """Case, measure, place, core and state, in one line."""
    one = line.estimate
    flash = f", {line.flash}" if line.flash else ""
    return f"{line.case.id}: {one.sample.measure} at {one.sample.place}, {one.core}{flash}, {STATES[one.state]}"


# --- parts of a run's report ---


def sections(reading: Reading, full: bool) -> list[Section]:
    """A run's predictions; none if it has none. With `full` also each layer of each warm call, at each place."""
    lines = lines_of(reading)
    if not lines:
        return []
    budget = budget_of(reading)
    parts = [summary(lines, budget), causes_section(lines)]
    warm = [line for line in lines if line.estimate.state == "warm"]
    parts.append(world_section(warm))
    if full:
        parts += [layer_section(line, ()) for line in warm]
    return parts


def world_section(lines: Sequence[PredictionLine]) -> Section:
    """The cycles of each estimate by part of the system, in per cent."""
    cells = []
    for line in lines:
        one = line.estimate
        own = dict.fromkeys(_WORLDS, 0)
        for layer in one.sample.layers:
            own[next(name for name, takes in _WORLDS.items() if takes(layer.layer))] += sum(layer.cycles)
        cells.append(
            [line.label, line.case.variant, one.sample.place, one.core, count(one.cycles)]
            + [_share(cycles, one.cycles) for cycles in own.values()]
        )
    headers = ["measure", "variant", "place", "core", "predicted\ncycles", *(f"{name}\n%" for name in _WORLDS)]
    return Section("Predicted cycles by layer, warm calls", Table(headers, cells, 4), [], "predicted-layers")


_TA = ("ldelf", "TA runtime", "TA code")
_WORLDS: Mapping[str, Callable[[str], bool]] = {
    "Linux": lambda layer: layer.startswith("Linux: "),
    "monitor": lambda layer: layer == "monitor",
    "cryptography\nin OP-TEE": lambda layer: layer in ("OP-TEE: cryptography", "OP-TEE: helpers"),
    "other\nOP-TEE": lambda layer: layer.startswith("OP-TEE: "),
    "TA": lambda layer: layer in _TA,
    "programs": is_inside,
    "other": lambda _: True,
}


def verdict_line(reading: Reading) -> str:
    """A sentence for the answer on one screen: the verdict by predicted cycles, or where they are; else empty."""
    budget = budget_of(reading)
    lines = lines_of(reading)
    if budget and judged((line.estimate for line in lines), budget):
        return verdict_note(lines, budget)
    cores = ", ".join(one.core for one in reading.predictions)
    return f"Predicted cycles on {cores}: --section predicted" if cores else ""


# --- data ---
