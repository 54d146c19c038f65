# SPDX-License-Identifier: BSD-2-Clause
"""Tables of the kept runs, in which nothing stands twice.

What all rows have alike stands once; texts that come again are numbers. Of what follows from a case's id there is no
column. Rows that differ in their case alone are one line, with the numbers of the cases: the lines are in an order in
which each case finds its own in theirs. Neighbours that differ in one column are one line, with all values there.
If many lines come again each stands once, and `order` has their numbers.
"""

import difflib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from worldwise.base.errors import WorldwiseError
from worldwise.base.units import parse_size
from worldwise.plan.case import parameters_of

_TIMES = "microseconds"
_EACH = "each"
_CASE = "case"
# What a reason says of its own row, and what stands for it.
_IN_REASON = {"implementation": "{implementation}", "curve": "{curve}"}


def packed(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The table that stands for some rows."""
    rows = [dict(row) for row in rows]
    for row in rows:
        times = row.get(_TIMES)
        # What a row has by its median and the clocks.
        if times and all(value == row["median"] / _mhz(clock) for clock, value in times.items()):
            row[_TIMES] = " ".join(clock.replace(" ", "") for clock in times)
        if _is_reason(row):
            for name, sign in _IN_REASON.items():
                row["reason"] = row["reason"].replace(row[name] or sign, sign)
    told = [_of_case(row.get(_CASE, "")) for row in rows]
    follow = [
        name
        for name in told[0]
        if all(name in row and row[name] == one[name] for row, one in zip(rows, told, strict=True))
    ]
    rows = [{name: value for name, value in row.items() if name not in follow} for row in rows]
    same = {name: value for name, value in rows[0].items() if all(row[name] == value for row in rows)}
    columns = [name for name in rows[0] if name not in same]
    words: dict[str, list[str]] = {}
    for name in columns:
        texts = [row[name] for row in rows]
        if all(isinstance(text, str) for text in texts) and (name == _CASE or len(set(texts)) <= len(texts) / 2):
            words[name] = list(dict.fromkeys(texts))
            number = {text: place for place, text in enumerate(words[name])}
            for row in rows:
                row[name] = number[row[name]]
    lines = [[row[name] for name in columns] for row in rows]
    if columns[:1] == [_CASE] and (cases := [line[0] for line in lines]) == sorted(cases):
        lines = _by_case(lines)
    table = {"follow": follow, "same": same, "words": words, "columns": columns}
    return {**table, **_once(_shared(lines))}


def unpacked(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows that a table stands for."""
    once = table["lines"]
    each = (once[number] for number in _numbers(table["order"])) if "order" in table else once
    lines = list(itertools.chain.from_iterable(map(_each, each)))
    if table["columns"][:1] == [_CASE] and any(isinstance(line[0], str) for line in lines):
        lines = [
            [case, *line[1:]] for case, lines_of_case in sorted(_of_cases(lines).items()) for line in lines_of_case
        ]
    rows = []
    for line in lines:
        row = table["same"] | dict(zip(table["columns"], line, strict=True))
        for name, words in table["words"].items():
            row[name] = words[row[name]]
        told = _of_case(row.get(_CASE, ""))
        row |= {name: told[name] for name in table["follow"]}
        if isinstance(row.get(_TIMES), str):
            clocks = [re.sub(r"(?=[GM]Hz)", " ", clock) for clock in row[_TIMES].split()]
            row[_TIMES] = {clock: row["median"] / _mhz(clock) for clock in clocks}
        if _is_reason(row):
            row["reason"] = row["reason"].format_map(row)
        rows.append(row)
    return rows


def written(document: Mapping[str, Any]) -> str:
    """JSON with a line for each key; a table has a line for each of its lines, or for neighbours of the same cases."""
    parts = []
    for key, value in document.items():
        text = _json(value)
        if isinstance(value, dict) and "lines" in value:
            rest = {name: part for name, part in value.items() if name != "lines"}
            lines = ",\n".join(_by_cases(value["columns"], value["lines"]))
            text = _json(rest)[:-1] + f',"lines":[\n{lines}\n]}}'
        parts.append(f"{json.dumps(key)}:{text}")
    return "{" + ",\n".join(parts) + "}"


def _by_cases(columns: Sequence[str], lines: Sequence[Sequence[Any]]) -> Iterator[str]:
    if columns[:1] != [_CASE]:
        return map(_json, lines)
    return (",".join(map(_json, group)) for _, group in itertools.groupby(lines, lambda line: line[0]))


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _is_reason(row: Mapping[str, Any]) -> bool:
    """Whether a row says why a library lacks a curve."""
    return {"reason", *_IN_REASON} <= row.keys()


def _mhz(clock: str) -> float:
    figure, unit = clock.split()
    return float(figure) * {"GHz": 1000, "MHz": 1}[unit]


def _of_case(case: str) -> dict[str, Any]:
    """What a case's id says."""
    if case.count("/") < 2:
        return {}
    target, variant, rest = case.split("/", 2)
    implementation, _, optimisation = variant.rpartition("-")
    operation, _, parameters = rest.partition(",")
    given = parameters_of(parameters)
    try:
        size = parse_size(given["size"]) if "size" in given else None
    except WorldwiseError:
        size = None
    return {
        "target": target,
        "variant": variant,
        "implementation": implementation,
        "optimisation": optimisation,
        "operation": operation,
        "parameters": parameters,
        "curve": given.get("curve", ""),
        "size": size,
    }


def _by_case(lines: Sequence[list[Any]]) -> list[list[Any]]:
    """Lines without those that differ from another in their case alone; the first column has the cases of each."""
    found: list[tuple[str, list[int]]] = []
    for case, some in itertools.groupby(lines, lambda line: line[0]):
        own = [json.dumps(line[1:]) for line in some]
        # What is there already, in this order; the rest is put between.
        matcher = difflib.SequenceMatcher(None, [text for text, _ in found], own, autojunk=False)
        merged: list[tuple[str, list[int]]] = []
        for tag, begin, end, first, last in matcher.get_opcodes():
            if tag == "equal":
                merged += [(text, [*cases, case]) for text, cases in found[begin:end]]
            else:
                merged += [*found[begin:end], *((text, [case]) for text in own[first:last])]
        found = merged
    return [[_ranges(cases), *json.loads(text)] for text, cases in found]


def _ranges(numbers: Sequence[int]) -> str:
    """`0-3 7` for 0, 1, 2, 3 and 7."""
    groups = [
        [number for _, number in group]
        for _, group in itertools.groupby(enumerate(numbers), lambda one: one[1] - one[0])
    ]
    return " ".join(str(group[0]) if len(group) == 1 else f"{group[0]}-{group[-1]}" for group in groups)


def _numbers(ranges: str) -> Iterator[int]:
    """0, 1, 2, 3 and 7 for `0-3 7`."""
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _once(lines: list[list[Any]]) -> dict[str, Any]:
    """Lines without those that come again, and the order in which they come, if that is shorter."""
    texts = [json.dumps(line) for line in lines]
    number = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if len(number) > len(lines) * 3 / 4:
        return {"lines": lines}
    return {"order": _ranges([number[text] for text in texts]), "lines": [json.loads(text) for text in number]}


def _of_cases(lines: Sequence[Sequence[Any]]) -> dict[int, list[Sequence[Any]]]:
    """The lines of each case, in their order."""
    found: dict[int, list[Sequence[Any]]] = {}
    for line in lines:
        for case in _numbers(line[0]):
            found.setdefault(case, []).append(line)
    return found


def _shared(lines: Sequence[list[Any]]) -> list[list[Any]]:
    """Neighbours that differ in one column alone are one line, with all values there; then again, as in matrices.py."""
    found = [[[cell] for cell in line] for line in lines]
    for place in reversed(range(len(found[0]) if found else 0)):
        merged: list[list[list[Any]]] = []
        for line in found:
            if merged and all(one == line[at] for at, one in enumerate(merged[-1]) if at != place):
                merged[-1][place] = merged[-1][place] + line[place]
            else:
                merged.append(list(line))
        found = merged
    return [[cells[0] if len(cells) == 1 else {_EACH: cells} for cells in line] for line in found]


def _each(line: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The lines that a line stands for."""
    cells = [cell[_EACH] if isinstance(cell, dict) and _EACH in cell else [cell] for cell in line]
    return itertools.product(*cells)
