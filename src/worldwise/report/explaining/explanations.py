# SPDX-License-Identifier: BSD-2-Clause
"""Showing explanations: sections with tables for people, JSON for programs."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from worldwise.base.output.safe_text import Prose
from worldwise.base.tables import Section, Table
from worldwise.explain.differences import Change, fact_changes, function_changes, layer_changes
from worldwise.explain.explanation import Explanation, LevelStep, Share
from worldwise.explain.instruction_mix import Facts, PeakStack
from worldwise.explain.layers import Rules
from worldwise.plan.catalogue import is_board
from worldwise.report.explaining import masked_interrupts as masked_report
from worldwise.report.first_screen import first_screen
from worldwise.report.formats import exports

if TYPE_CHECKING:
    # It reads symbols, in the sandbox.
    from worldwise.explain.frame_records import Agreement

FORMAT = 1
# Of a function's facts, the heads of the columns, and what they are.
_FACT_COLUMNS = ("loads", "stores", "mul", "div", "taken", "code bytes")
_FACTS = (
    "loads, stores, mul, div: instructions of the function's own; taken: branches, calls and returns after "
    "which the core did not continue at the next instruction; code bytes: of the instructions that were executed."
)
# The most steps of a path that are printed; longer paths are for trace viewers.
_MOST_STEPS = 60
# The most moments with differing stacks that are named.
_MOST_DIFFERING = 5


def sections(explanation: Explanation, rules: Rules, top: int, path: bool) -> list[Section]:
    """An explanation: layers, the `top` functions, unknown code and, with `path`, the way through the levels."""
    functions = Section("Functions", _function_table(explanation, top), _unknown_notes(explanation))
    if explanation.facts:
        functions.notes.append(_FACTS)
    peak = peak_sections(explanation)
    if explanation.masked:
        peak += masked_report.sections(explanation, explanation.masked)
    if path:
        return [*_layer_sections(explanation, rules), functions, *peak, _path_section(explanation)]
    if explanation.path.steps:
        switches = len(explanation.path.steps) - 1
        functions.notes.append(Prose(f"{switches} changes of exception level or task; `--path` lists them."))
    return [*_layer_sections(explanation, rules), functions, *peak]


# What the first screen has room for: layers in its table, and layers that it names of each of several regions.
_MOST_LAYERS = 11
_MOST_NAMED_LAYERS = 2


def first_sections(
    found: Sequence[tuple[Explanation, Sequence[Section]]], rules: Rules, regions: int, top: int, more: str
) -> list[Section]:
    """The first screen of explanations: all of one, or a line for each of several. `more` prints the rest.

    Each comes with the sections of families that take its call apart; `regions` were checked.
    """
    checks = f"{regions} regions checked: in each, the functions' sum is the difference of the guest's counter."
    if len(found) != 1:
        return first_screen([_regions_section([one for one, _ in found], checks)], more)
    one, parts = found[0]
    title, layers = _layer_sections(one, rules)
    few = _largest_layers(one, rules).without([5, 6])
    layers = Section(layers.title, few, ["inclusive: with everything called from there."])
    functions = _function_table(one, top)
    facts = [at for at, head in enumerate(functions.headers) if head in _FACT_COLUMNS]
    masked = [Prose(masked_report.line(one, one.masked))] if one.masked else []
    unknown = [] if not (one.unknown or one.unruled) else _unknown_notes(one)
    shown = Section("Functions", functions.without(facts), [*unknown, *masked, checks])
    peak = [Section(section.title, None, section.notes[:1]) for section in peak_sections(one)]
    return first_screen([title, layers, shown, *peak, *parts], more, whole=2)


def _largest_layers(one: Explanation, rules: Rules) -> Table:
    """The table of layers with the small ones in one line, above that of the sum."""
    shown = _shown_layers(one, rules)
    table = _layer_table(one, shown)
    if len(shown) <= _MOST_LAYERS:
        return table
    large = sorted(shown, key=lambda name: one.layers[name].self)[len(shown) - _MOST_LAYERS + 1 :]
    small = [name for name in shown if name not in large]
    count = sum(one.layers[name].self for name in small)
    other = [f"{len(small)} smaller layers", f"{count:,}", _percent(count, one.instructions), *[""] * 4]
    *rows, last = _layer_table(one, [name for name in shown if name in large]).rows
    return replace(table, rows=[*rows, other, last])


def _regions_section(found: Sequence[Explanation], checks: str) -> Section:
    """A line for each region: how many instructions, and which layers and function execute most of them."""
    rows = []
    for one in found:
        layers = sorted(one.layers.items(), key=lambda item: -item[1].self)[:_MOST_NAMED_LAYERS]
        shares = ", ".join(f"{_rounded(share.self, one)} {name}" for name, share in layers if share.self)
        (function, _), most = max(one.functions.items(), key=lambda item: (item[1].self, item[0]))
        cells = [one.measure, one.place, f"{one.instructions:,}", f"{_rounded(most.self, one)} {function}", shares]
        rows.append([one.case.id, *cells])
    headers = ["case", "measure", "place", "instr", "most in the function", "most in the layers"]
    table = Table(headers, rows, 3, (4, 5))
    title = "Who executes what"
    if len({row[0] for row in rows}) == 1:
        title = f"{rows[0][0]}: who executes what"
        table = table.without([0])
    return Section(title, table, [*_longest_masked(found), checks])


def _longest_masked(found: Sequence[Explanation]) -> list[str]:
    """A line on the region that has the longest stretch with interrupts masked; none if no region has one."""
    having = [(longest.instructions, one) for one in found if one.masked and (longest := one.masked.longest)]
    if not having:
        return []
    _, most = max(having, key=lambda pair: pair[0])
    assert most.masked
    return [Prose(f"{most.measure} at {most.place}: {masked_report.line(most, most.masked)}")]


def first_differences(
    pairs: Sequence[tuple[Explanation, Explanation]], rules: Rules, top: int, more: str
) -> list[Section]:
    """The first screen of what changed: all of one pair of explanations, or a line for each pair."""
    if len(pairs) != 1:
        return first_screen([_pairs_section(pairs)], more)
    before, after = pairs[0]
    head, layers, *others = difference_sections(before, after, rules, top)
    changes = [one for one in layer_changes(before, after, _order(rules, before, after)) if one.difference]
    largest = sorted(changes, key=lambda one: -abs(one.difference))[:_MOST_LAYERS]
    few = replace(layers, table=_change_table("layer (self)", largest, after.instructions - before.instructions))
    functions = others[-1]
    assert functions.table
    facts = [at for at, name in enumerate(functions.table.headers) if name in _FACT_COLUMNS]
    return first_screen([head, few, replace(functions, table=functions.table.without(facts), notes=[])], more, whole=2)


def _pairs_section(pairs: Sequence[tuple[Explanation, Explanation]]) -> Section:
    """A line for each pair: how many instructions before and after, and which functions the change is of."""
    rows = []
    for before, after in pairs:
        functions = function_changes(before, after)[:_MOST_NAMED_LAYERS]
        names = ", ".join(f"{one.name.partition(' ')[0]} {one.difference:+,}" for one in functions if one.difference)
        counts = [f"{before.instructions:,}", f"{after.instructions:,}"]
        change = f"{after.instructions - before.instructions:+,}"
        rows.append([after.case.id, after.measure, after.place, *counts, change, names or "-"])
    headers = ["case", "measure", "place", "before", "after", "change", "most of it in"]
    return Section("What changed, in instructions", Table(headers, rows, 3, (6,)))


def _rounded(count: int, one: Explanation) -> str:
    return f"{100 * count / one.instructions:.0f} %" if one.instructions else "-"


def _layer_sections(explanation: Explanation, rules: Rules) -> list[Section]:
    total = explanation.instructions
    notes: list[str] = [
        Prose(
            f"{total:,} instructions between the two readings of the counter, and measuring itself takes "
            f"{explanation.measuring}; {total - explanation.measuring - explanation.uncounted:,} is what `run` reports."
        )
    ]
    if explanation.uncounted:
        whose = (
            "the counter's own interrupt; the program subtracts it"
            if is_board(explanation.case.target)
            else "the monitor's; this place's counter (PMCCNTR_EL0) leaves them out"
        )
        notes.append(f"{explanation.uncounted:,} of them are {whose}.")
    columns = (
        f"self: executed by the layer's own functions; the column's sum is {total:,}, the counter's difference. "
        "inclusive: with everything called from there. helpers folded: memset, memcpy and the like counted for "
        "their callers."
    )
    return [
        Section(explanation.title, None, notes),
        Section("Layers", _layer_table(explanation, _shown_layers(explanation, rules)), [columns]),
    ]


def _order(rules: Rules, *explanations: Explanation) -> list[str]:
    """The layers in the order of the tables; those of own code, which no rule has, come first, the largest first."""
    found = {name: share.self for one in explanations for name, share in one.layers.items() if name not in rules.order}
    return [*sorted(found, key=lambda name: (-found[name], name)), *rules.order]


def _shown_layers(explanation: Explanation, rules: Rules) -> list[str]:
    """The layers that have an instruction of their own, or a helper's, in the order of the tables."""
    order = _order(rules, explanation)
    return [name for name in order if (share := explanation.layers.get(name)) and (share.self or share.folded)]


def _layer_table(explanation: Explanation, shown: Sequence[str]) -> Table:
    total = explanation.instructions
    rows = [[name, *_cells(explanation.layers[name], total)] for name in shown]
    rows.append(["sum", f"{sum(share.self for share in explanation.layers.values()):,}", "100.00", *[""] * 4])
    return Table(["layer", "self", "self %", "inclusive", "inclusive %", "helpers folded", "folded %"], rows, 1)


def _cells(share: Share, total: int) -> Iterable[str]:
    for value in (share.self, share.inclusive, share.folded):
        yield f"{value:,}"
        yield _percent(value, total)


def _percent(value: int, total: int) -> str:
    return f"{100 * value / total:.2f}" if total else "-"


def _function_table(explanation: Explanation, top: int) -> Table:
    layers = {(frame.function, frame.image): frame.layer for stack in explanation.stacks for frame in stack}
    ranked = sorted(explanation.functions.items(), key=lambda item: (-item[1].self, item[0]))
    rows = [
        [
            f"{function} ({image})",
            f"{share.self:,}",
            _percent(share.self, explanation.instructions),
            f"{share.inclusive:,}",
            *_fact_cells(explanation, function, image),
            layers[function, image],
        ]
        for (function, image), share in ranked[:top]
    ]
    facts = list(_FACT_COLUMNS) if explanation.facts else []
    columns = ["function (image)", "self", "self %", "inclusive", *facts, "layer"]
    return Table(columns, rows, 1, (len(columns) - 1,))


def _fact_cells(explanation: Explanation, function: str, image: str) -> list[str]:
    """Of a function, a cell for each of _FACT_COLUMNS; no cells where nobody has looked."""
    if not explanation.facts:
        return []
    return [f"{value:,}" for value in explanation.facts.get((function, image), Facts()).values.values()]


def _peak_section(peak: PeakStack) -> Section:
    """The deepest stack: the functions on the way to it, and the figure by painting."""
    below = 0
    rows = []
    for frame, size in peak.path:
        below += size
        rows.append([str(frame), f"{size:,}", f"{below:,}"])
    table = Table(["function (image)", "own bytes", "deep"], rows, 1)
    if peak.painted is None:
        notes = [f"{peak.bytes:,} bytes by the stack pointer, from the call's first instruction on."]
        return Section("Deepest stack", table, notes)
    notes = [f"{peak.bytes:,} bytes by the stack pointer; {peak.painted:,} by painting, with the input of call 0."]
    if peak.written is not None:
        notes.append(
            f"The lowest store is {peak.written:,} bytes deep: {peak.bytes - peak.written:,} bytes at the lower end "
            "are reserved and never written, and painting cannot see them."
        )
        if peak.like_painted and peak.written != peak.painted:
            notes.append(f"Painting differs from that by {peak.painted - peak.written:+,} bytes: its call was another.")
    elif peak.bytes != peak.painted and peak.like_painted:
        notes.append(Prose("Painting cannot see reserved, unwritten memory; `validation stacks` looks at the stores."))
    elif peak.bytes != peak.painted:
        notes.append(Prose("This call has other input than the painted one: `--index 0` has the same."))
    return Section("Deepest stack", table, notes)


def _unknown_notes(explanation: Explanation) -> list[str]:
    unknown, lost = explanation.unknown, explanation.lost
    notes = [
        f"unknown: {unknown:,} instructions ({_percent(unknown, explanation.instructions)} %), of them on a stack that "
        f"could not be followed: {lost:,}"
    ]
    unruled = explanation.unruled
    if unruled:
        names = ", ".join(
            f"{name} ({image}) {count:,}"
            for (name, image), count in sorted(unruled.items(), key=lambda item: (-item[1], item[0]))
        )
        notes.append(f"no rule of layers.toml takes: {names}")
    return notes


def _path_section(explanation: Explanation) -> Section:
    rows = [
        [f"{step.at:,}", f"{step.instructions:,}", step.how, step.lane, str(step.frame)]
        for step in explanation.path.steps[:_MOST_STEPS]
    ]
    notes: list[str] = []
    rest = len(explanation.path.steps) - _MOST_STEPS
    if rest > 0:
        notes.append(Prose(f"... and {rest} more: `--format chrome` has them all"))
    if explanation.path.dropped:
        notes.append(f"{explanation.path.dropped} changes of level came after the last one that was recorded")
    return Section("Path", Table(["at", "instructions", "by", "runs at", "begins in"], rows, 0, (2, 3, 4)), notes)


def difference_sections(before: Explanation, after: Explanation, rules: Rules, top: int) -> list[Section]:
    """What changed from one explanation to another: by layer, then the `top` functions that changed most."""
    change = after.instructions - before.instructions
    facts = fact_changes(before, after)
    functions = function_changes(before, after)[:top]
    return [
        Section(
            "Difference",
            None,
            [
                f"before: {before.title}: {before.instructions:,} instructions",
                f"after:  {after.title}: {after.instructions:,} instructions",
                f"after / before = {after.instructions / before.instructions:.4f}, {change:+,} instructions",
            ],
        ),
        Section(
            "Layers", _change_table("layer (self)", layer_changes(before, after, _order(rules, before, after)), change)
        ),
        *([Section("Memory and code", _fact_change_table(facts), [_FACTS])] if facts else []),
        Section(
            "Functions",
            _change_table("function (image), self", functions, change),
            [f"{_FACT_COLUMNS[0]} to {_FACT_COLUMNS[-1]}: the change of each."] if facts else [],
        ),
    ]


def _fact_change_table(changes: Sequence[Change]) -> Table:
    """Of all functions together; a row for each of _FACT_COLUMNS."""
    rows = [
        [
            head,
            f"{one.before:,}",
            f"{one.after:,}",
            f"{one.difference:+,}",
            f"{one.after / one.before:.3f}" if one.before else "-",
        ]
        for head, one in zip(_FACT_COLUMNS, changes, strict=True)
    ]
    return Table(["all functions", "before", "after", "change", "after / before"], rows, 1)


def _change_table(first: str, changes: Sequence[Change], whole: int) -> Table:
    rows = [
        [
            one.name,
            f"{one.before:,}",
            f"{one.after:,}",
            f"{one.difference:+,}",
            f"{100 * one.difference / whole:.2f}" if whole else "-",
            *(f"{value:+,}" for value in one.facts.values()),
        ]
        for one in changes
    ]
    facts = _FACT_COLUMNS if any(one.facts for one in changes) else ()
    return Table([first, "before", "after", "change", "of all change %", *facts], rows, 1)


def peak_sections(explanation: Explanation) -> list[Section]:
    """The deepest stack of a call, where it is known."""
    return [_peak_section(explanation.peak)] if explanation.peak else []


def check_section(regions: int, agreement: "Agreement | None" = None) -> Section:
    """The checks of a trace: its regions, and how far its stacks agree with the frame records in memory."""
    notes = [
        f"{regions} regions checked: in each the blocks' sum, the plugin's count and the difference of the guest's "
        "counter are the same, and its stack ended as it began."
    ]
    return Section("Checks", None, notes + (_agreement_notes(agreement) if agreement else []))


def _agreement_notes(agreement: "Agreement") -> list[str]:
    if not agreement.samples:
        return ["stacks against those in memory: no sample was taken"]
    if agreement.unwound:
        against = "those that the program's table .debug_frame finds in memory"
        how = f"{agreement.same:,} in every caller, {agreement.frameless:,} as far as that table goes"
    else:
        against = "the frame records in memory"
        how = (
            f"{agreement.same:,} in every caller, {agreement.entering:,} in all but the innermost, whose function has "
            f"no record yet, {agreement.frameless:,} in all but the callers of assembly that makes none"
        )
    return [
        f"stacks against {against}, at {agreement.samples:,} moments: {agreement.agreeing:,} agree ({how}), "
        f"{len(agreement.differing):,} differ",
        *(f"differs in {where} at {witness.pc:#x}" for witness, where in agreement.differing[:_MOST_DIFFERING]),
    ]


def to_json(explanation: Explanation, rules: Rules) -> dict[str, Any]:
    """An explanation as data; all counts are instructions."""
    return {
        "format": FORMAT,
        "case": explanation.case.id,
        "measure": explanation.measure,
        "place": explanation.place,
        "index": explanation.index,
        "phase": explanation.phase,
        "unit": "instructions",
        "instructions": explanation.instructions,
        "measuring": explanation.measuring,
        "uncounted": explanation.uncounted,
        "unknown": explanation.unknown,
        "lost": explanation.lost,
        "layers": [
            {"layer": name, **_share_json(explanation.layers[name])}
            for name in _order(rules, explanation)
            if name in explanation.layers
        ],
        "functions": [
            {"function": function, "image": image, **_share_json(share), **_facts_json(explanation, function, image)}
            for (function, image), share in sorted(
                explanation.functions.items(), key=lambda item: (-item[1].self, item[0])
            )
        ],
        "unruled": [
            {"function": name, "image": image, "self": count}
            for (name, image), count in sorted(explanation.unruled.items())
        ],
        "steps": [
            {
                "at": step.at,
                "instructions": step.instructions,
                "by": step.how,
                "lane": step.lane,
                "function": step.frame.function,
                "image": step.frame.image,
            }
            for step in explanation.path.steps
        ],
        "steps_dropped": explanation.path.dropped,
        **({"stack": _peak_json(explanation.peak)} if explanation.peak else {}),
        **({"masked": masked_report.to_json(explanation.masked)} if explanation.masked else {}),
    }


def _facts_json(explanation: Explanation, function: str, image: str) -> dict[str, int]:
    facts = explanation.facts.get((function, image))
    return dict(facts.values) if facts else {}


def _peak_json(peak: PeakStack) -> dict[str, Any]:
    return {
        "bytes": peak.bytes,
        **({} if peak.painted is None else {"painted": peak.painted, "like_painted": peak.like_painted}),
        **({} if peak.written is None else {"written": peak.written}),
        "path": [{"function": frame.function, "image": frame.image, "bytes": size} for frame, size in peak.path],
    }


def _share_json(share: Share) -> dict[str, int]:
    return {"self": share.self, "inclusive": share.inclusive, "helpers_folded": share.folded}


def difference_json(before: Explanation, after: Explanation, rules: Rules) -> dict[str, Any]:
    """The difference of two explanations as data."""

    def rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
        return [{"name": one.name, "before": one.before, "after": one.after} for one in changes]

    return {
        "format": FORMAT,
        "unit": "instructions",
        "before": to_json(before, rules),
        "after": to_json(after, rules),
        "layers": rows(layer_changes(before, after, _order(rules, before, after))),
        "functions": rows(function_changes(before, after)),
        **({"facts": rows(facts)} if (facts := fact_changes(before, after)) else {}),
    }


def dump(document: Any) -> str:
    """JSON text, the same bytes for the same content."""
    return json.dumps(document, indent=1) + "\n"


def slices(steps: Iterable[LevelStep]) -> list[exports.Slice]:
    """The path as slices of a time line, one lane for each exception level."""
    return [
        exports.Slice(step.lane, str(step.frame), step.at, step.at + step.instructions)
        for step in steps
        if step.instructions
    ]
