# SPDX-License-Identifier: BSD-2-Clause
"""Tables of a library's build options: the whole grid, and the options that matter."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from worldwise.base.tables import Section, Table, count, factor, section_name
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import CURVES, OF_CURVE, portables
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.row_words import level_rank, machine_of, machine_text, options_text, samples_text

_DEFAULT = "default"
_LEADING = ("sign", "verify")
# An option matters if it changes the geometric mean by more than this share.
_MATTERS = 0.01


@dataclass(frozen=True)
class Effect:
    """The effect of one value of an option, with the rest of the grid equal.

    Attributes:
        option, value, usual: the option, its value, and its default.
        ratios: operation -> count with the value / count with the default, for each rest of the grid.
    """

    option: str
    value: str
    usual: str
    ratios: Mapping[str, tuple[float, ...]]

    def mean(self, operation: str) -> float:
        """The ratios' geometric mean; 1 if the operation was not measured."""
        found = self.ratios.get(operation, ())
        return math.exp(sum(map(math.log, found)) / len(found)) if found else 1.0

    @property
    def size(self) -> float:
        """The size of the effect on the operation that it changes most."""
        return max((abs(math.log(self.mean(operation))) for operation in self.ratios), default=0.0)


class OptionValues:
    """The options of a library, and their values in a case's text."""

    def __init__(self, implementation: str, texts: Iterable[str]) -> None:
        """Takes options and defaults from the manifest; for a library that is not here, from the cases."""
        known = portables().get(implementation)
        self._defaults = {name: option.default for name, option in known.manifest.options.items()} if known else {}
        for text in texts:
            for name in _chosen(text):
                self._defaults.setdefault(name, _DEFAULT)

    @property
    def names(self) -> tuple[str, ...]:
        """Every option, in the manifest's order."""
        return tuple(self._defaults)

    def usual(self, name: str) -> str:
        """An option's default."""
        return self._defaults[name]

    def values(self, text: str) -> tuple[str, ...]:
        """The value of every option, in the order of `names`: `nist-off+window-2` names those that are not default."""
        return tuple((self._defaults | _chosen(text)).values())


def _chosen(text: str) -> dict[str, str]:
    """The values in a case's text, option by option: the value stands behind the last dash of a word."""
    words = (word.rpartition("-") for word in text.split("+") if word)
    return {name: value for name, _, value in words}


def options_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on build options; empty if the run has no such rows.

    Unless `full`, a curve with signatures shows only these.
    """
    groups: dict[tuple[tuple[str, str], str, str], list[Row]] = {}
    for row in reading.rows:
        if row.target in PLAIN_TARGETS and row.operation in OF_CURVE and is_quiet(row):
            key = (machine_of(row), row.variant, row.curve)
            groups.setdefault(key, []).append(row)
    swept = {key: rows for key, rows in groups.items() if any(options_text(row) for row in rows)}
    order = sorted(
        swept,
        key=lambda key: (
            CURVES.index(key[2]) if key[2] in CURVES else len(CURVES),
            key[0],
            key[1].rpartition("-")[0],
            level_rank(key[1].rpartition("-")[2]),
        ),
    )
    parts: list[Section] = []
    for key in order:
        parts += _sweep_sections(key, swept[key], full)
    if parts:
        parts.append(_legend_section())
    return parts


def effects(options: OptionValues, counts: Mapping[str, Mapping[tuple[str, ...], float]]) -> list[Effect]:
    """The effect of every value that is not the default, the greatest first.

    `counts` are, by operation, those of each point of the grid (the options' values in the order of `options.names`).
    A value is compared with the default at every point that has both; a grid with gaps gives fewer ratios.
    """
    found = []
    for at, name in enumerate(options.names):
        usual = options.usual(name)
        values = dict.fromkeys(point[at] for points in counts.values() for point in points)
        for value in values:
            if value == usual:
                continue
            ratios = {
                operation: tuple(
                    points[point] / points[other]
                    for point in points
                    if point[at] == value and (other := (*point[:at], usual, *point[at + 1 :])) in points
                )
                for operation, points in counts.items()
            }
            kept = {operation: each for operation, each in ratios.items() if each}
            if kept:
                found.append(Effect(name, value, usual, kept))
    return sorted(found, key=lambda effect: -effect.size)


def _sweep_sections(key: tuple[tuple[str, str], str, str], rows: Sequence[Row], full: bool) -> Iterable[Section]:
    machine, variant, curve = key
    operations = [name for name in OF_CURVE if any(row.operation == name for row in rows)]
    leading = [name for name in _LEADING if name in operations]
    shown = operations if full or not leading else leading
    options = OptionValues(rows[0].implementation, map(options_text, rows))
    points: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        points.setdefault(options.values(options_text(row)), {})[row.operation] = row
    usual = points.get(options.values(""), {})
    first = (*leading, *operations)[0]
    ranked = sorted(points, key=lambda point: points[point][first].median if first in points[point] else math.inf)
    title = f"{variant}, {curve}; {machine_text(machine)}"
    memory = [
        (label, attribute)
        for label, attribute in (("code", "flash"), ("static RAM", "ram"), ("stack", "stack"), ("heap", "heap"))
        if any(getattr(row.footprint, attribute) is not None for row in rows)
    ]
    headers = [*(f"{name}\n({options.usual(name)})" for name in options.names)]
    for name in shown:
        headers += [f"{name}\ninstr", "/ default\n"]
    headers += [f"{label}, at most\nbytes" for label, _ in memory]
    cells = []
    for point in ranked:
        line = [*point]
        for name in shown:
            here, base = points[point].get(name), usual.get(name)
            line += [count(here.median) if here else "-", factor(here.median / base.median) if here and base else "-"]
        line += [_most(points[point].values(), attribute) for _, attribute in memory]
        cells.append(line)
    yield Section(
        f"Build options of {title}: medians {samples_text(rows)}",
        Table(headers, cells, len(options.names)),
        [] if usual else ["The library's default is not among them: there is nothing to divide by."],
        name=section_name("options", *machine, variant, curve),
    )
    counts = {name: {point: found[name].median for point, found in points.items() if name in found} for name in shown}
    found = effects(options, counts)
    if found:
        yield _effect_section(section_name("options-that-matter", *machine, variant, curve), title, found, shown, curve)


def _most(rows: Iterable[Row], attribute: str) -> str:
    values = [value for row in rows if (value := getattr(row.footprint, attribute)) is not None]
    return f"{max(values):,}" if values else "-"


def _effect_section(called: str, title: str, found: Sequence[Effect], operations: Sequence[str], curve: str) -> Section:
    headers = ["option", "value", "against", "pairs"]
    for name in operations:
        headers += [f"{name}\nmean x", "\nleast x", "\nmost x"]
    cells = []
    for effect in found:
        line = [effect.option, effect.value, effect.usual]
        line.append(str(max(map(len, effect.ratios.values()))))
        for name in operations:
            ratios = effect.ratios.get(name)
            line += [f"{effect.mean(name):.3f}", f"{min(ratios):.3f}", f"{max(ratios):.3f}"] if ratios else ["-"] * 3
        cells.append(line)
    return Section(
        f"Which options matter: {title}", Table(headers, cells, 3), [_matters(found, operations, curve)], name=called
    )


def _matters(found: Sequence[Effect], operations: Sequence[str], curve: str) -> str:
    """A sentence on the options that matter, the greatest effect first."""
    greatest: dict[str, Effect] = {}
    for effect in found:
        greatest.setdefault(effect.option, effect)
    matter = [effect for effect in greatest.values() if effect.size > math.log1p(_MATTERS)]
    rest = [effect.option for effect in greatest.values() if effect not in matter]
    told = [
        f"{effect.option} ({effect.value} instead of {effect.usual}: "
        + ", ".join(f"{name} x {effect.mean(name):.2f}" for name in operations if name in effect.ratios)
        + ")"
        for effect in matter
    ]
    text = f"On {curve}, by the greatest change: {'; '.join(told)}." if told else f"On {curve} none matters."
    return text + (f" Less than {100 * _MATTERS:g} % on average: {', '.join(rest)}." if rest and told else "")


def _legend_section() -> Section:
    return Section(
        "How to read the tables of build options",
        None,
        [
            "Each row is a program of its own, with the library compiled with these options; the default stands in "
            "brackets in the header. / default: how many times as many instructions as with all defaults.",
            "mean x: the geometric mean, over all points of the grid that differ in nothing else, of the count with "
            "the value divided by that with the option's default; least and most: of those ratios. Above 1 the value "
            "costs, below 1 it saves. Where least and most are far apart, what the option does depends on the others.",
        ],
        name="options-legend",
    )
