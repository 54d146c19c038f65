# SPDX-License-Identifier: BSD-2-Clause
"""Showing explanations: tables for people, JSON for programs."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from worldwise.explain.differences import Change, function_changes, layer_changes
from worldwise.explain.explanation import Explanation, Share, Step
from worldwise.explain.layers import Rules
from worldwise.explain.witness import Agreement
from worldwise.families.sha256.parts import HashParts
from worldwise.report import exports

FORMAT = 1
# Steps of a path that are printed; longer ones are for the trace viewers.
_MOST_STEPS = 60


def render(explanation: Explanation, rules: Rules, console: Console, top: int, path: bool) -> None:
    """Print an explanation: layers, functions, what is not known and, if asked for, the path."""
    total = explanation.instructions
    console.print(Text(explanation.title, style="bold"))
    console.print(
        f"{total:,} instructions between the two readings of the counter, of which measuring itself takes "
        f"{explanation.measuring}; {total - explanation.measuring - explanation.uncounted:,} is what `run` reports."
    )
    if explanation.uncounted:
        console.print(
            f"{explanation.uncounted:,} of them are the monitor's, which this place's counter (PMCCNTR_EL0) leaves out."
        )
    console.print()
    console.print(_layer_table(explanation, rules))
    console.print(
        f"self: executed by the layer's own functions; the column's sum is {total:,}, the counter's difference. "
        "inclusive: with everything called from there. helpers folded: memset, memcpy and the like counted for "
        "their callers.",
        style="dim",
    )
    console.print()
    console.print(_function_table(explanation, top))
    console.print()
    _print_unknown(explanation, console)
    if path:
        console.print()
        _print_path(explanation, console)
    elif explanation.steps:
        switches = len(explanation.steps) - 1
        console.print(f"{switches} changes of exception level or task; `--path` lists them.")


def _layer_table(explanation: Explanation, rules: Rules) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("layer", "self", "self %", "inclusive", "inclusive %", "helpers folded", "folded %"):
        table.add_column(name, justify="left" if name == "layer" else "right", no_wrap=True)
    total = explanation.instructions
    for name in rules.order:
        share = explanation.layers.get(name)
        if share and (share.self or share.folded):
            table.add_row(name, *_cells(share, total))
    table.add_section()
    table.add_row("sum", f"{sum(share.self for share in explanation.layers.values()):,}", "100.00")
    return table


def _cells(share: Share, total: int) -> Iterable[str]:
    for value in (share.self, share.inclusive, share.folded):
        yield f"{value:,}"
        yield _percent(value, total)


def _percent(value: int, total: int) -> str:
    return f"{100 * value / total:.2f}" if total else "-"


def _function_table(explanation: Explanation, top: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("function (image)", "self", "self %", "inclusive", "layer"):
        table.add_column(name, justify="left" if name in ("function (image)", "layer") else "right", no_wrap=True)
    layers = {(frame.function, frame.image): frame.layer for stack in explanation.stacks for frame in stack}
    ranked = sorted(explanation.functions.items(), key=lambda item: (-item[1].self, item[0]))
    for (function, image), share in ranked[:top]:
        table.add_row(
            f"{function} ({image})",
            f"{share.self:,}",
            _percent(share.self, explanation.instructions),
            f"{share.inclusive:,}",
            layers[function, image],
        )
    return table


def _print_unknown(explanation: Explanation, console: Console) -> None:
    unknown, lost = explanation.unknown, explanation.lost
    console.print(
        f"unknown: {unknown:,} instructions ({_percent(unknown, explanation.instructions)} %), of them on a stack that "
        f"could not be followed: {lost:,}"
    )
    unruled = explanation.unruled
    if unruled:
        names = ", ".join(
            f"{name} ({image}) {count:,}"
            for (name, image), count in sorted(unruled.items(), key=lambda item: (-item[1], item[0]))
        )
        console.print(f"no rule of layers.toml takes: {names}")


def _print_path(explanation: Explanation, console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("at", "instructions", "by", "runs at", "begins in"):
        table.add_column(name, justify="right" if name in ("at", "instructions") else "left", no_wrap=True)
    for step in explanation.steps[:_MOST_STEPS]:
        table.add_row(f"{step.at:,}", f"{step.instructions:,}", step.how, step.lane, str(step.frame))
    console.print(table)
    rest = len(explanation.steps) - _MOST_STEPS
    if rest > 0:
        console.print(f"... and {rest} more: `--format chrome` has them all")
    if explanation.steps_dropped:
        console.print(f"{explanation.steps_dropped} changes of level came after the last one that was recorded")


def render_parts(parts: HashParts, console: Console) -> None:
    """Print a hash in the TEE part by part, by the plugin and by the guest's counters."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("part", "by the plugin", "by the counters", "difference"):
        table.add_column(name, justify="left" if name == "part" else "right", no_wrap=True)
    for one in parts.parts:
        both = one.plugin is not None and one.counters is not None
        table.add_row(
            one.name,
            "" if one.plugin is None else f"{one.plugin:,}",
            "" if one.counters is None else f"{one.counters:,}",
            f"{(one.plugin or 0) - (one.counters or 0):+,}" if both else "",
        )
    table.add_section()
    table.add_row("total", f"{parts.total:,}", f"{parts.sample.count:,}", f"{parts.total - parts.sample.count:+,}")
    console.print(
        Text(f"SHA-256, message {parts.sample.index}: parts of the client's call, instructions", style="bold")
    )
    console.print(table)
    console.print(
        "The first two lines are parts of the third. By the counters, memory is a call that does nothing with the same "
        "buffers less one without, and the switch is the latter. The plugin puts the call's own message buffer "
        f"({parts.buffer:,}) into memory; counters have it in the switch, since an empty call has it too. The TA's "
        f"counter (PMCCNTR_EL0) stands still at EL3 once TF-A has set PMCR_EL0.DP: of the monitor's part it saw "
        f"{parts.monitor_seen:,}, which are in its algorithm. The others, and interrupts, are what counters leave as "
        "rest.",
        style="dim",
    )


def render_difference(before: Explanation, after: Explanation, rules: Rules, console: Console, top: int) -> None:
    """Print what changed from one explanation to another: by layer, then the functions that changed most."""
    console.print(Text(f"before: {before.title}: {before.instructions:,} instructions", style="bold"))
    console.print(Text(f"after:  {after.title}: {after.instructions:,} instructions", style="bold"))
    change = after.instructions - before.instructions
    console.print(f"after / before = {after.instructions / before.instructions:.4f}, {change:+,} instructions")
    console.print()
    layers = layer_changes(before, after, rules.order)
    console.print(_change_table("layer (self)", layers, change))
    console.print()
    console.print(_change_table("function (image), self", function_changes(before, after)[:top], change))


def _change_table(first: str, changes: Sequence[Change], whole: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (first, "before", "after", "change", "of all change %"):
        table.add_column(name, justify="left" if name == first else "right", no_wrap=True)
    for one in changes:
        share = f"{100 * one.difference / whole:.2f}" if whole else "-"
        table.add_row(one.name, f"{one.before:,}", f"{one.after:,}", f"{one.difference:+,}", share)
    return table


def render_agreement(agreement: Agreement, console: Console, shown: int = 5) -> None:
    """Print how far the plugin's stacks agree with the frame records in the machine's memory."""
    if not agreement.samples:
        console.print("stacks against the frame records in memory: no moment was sampled")
        return
    console.print(
        f"stacks against the frame records in memory, at {agreement.samples:,} moments: {agreement.agreeing:,} agree "
        f"({agreement.same:,} in every caller, {agreement.entering:,} in all but the innermost, of a function that has "
        f"no record yet, {agreement.frameless:,} in all but the callers of assembly that makes none), "
        f"{len(agreement.differing):,} differ"
    )
    for witness, where in agreement.differing[:shown]:
        console.print(f"  differs in {where} at {witness.pc:#x}")


def to_json(explanation: Explanation, rules: Rules) -> dict[str, Any]:
    """An explanation as data: instructions everywhere."""
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
            for name in rules.order
            if name in explanation.layers
        ],
        "functions": [
            {"function": function, "image": image, **_share_json(share)}
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
            for step in explanation.steps
        ],
        "steps_dropped": explanation.steps_dropped,
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
        "layers": rows(layer_changes(before, after, rules.order)),
        "functions": rows(function_changes(before, after)),
    }


def dump(document: Any) -> str:
    """JSON text, the same bytes for the same content."""
    return json.dumps(document, indent=1) + "\n"


def slices(steps: Iterable[Step]) -> list[exports.Slice]:
    """The path as slices of a time line, one lane an exception level."""
    return [
        exports.Slice(step.lane, str(step.frame), step.at, step.at + step.instructions)
        for step in steps
        if step.instructions
    ]
