# SPDX-License-Identifier: BSD-2-Clause
"""Figures and verdicts in the formats of continuous integration: JUnit XML, github-action-benchmark, Bencher."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from worldwise.base.output.safe_text import json_text, visible

State = Literal["passed", "failed", "error", "skipped"]

# What XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Figure:
    """One figure to follow over time, in the unit `measure` names (`instructions`, `flash-bytes`).

    `low` and `high` are the least and the greatest of the samples; None where there is one value.
    """

    name: str
    measure: str
    value: float
    low: float | None = None
    high: float | None = None
    extra: str = ""

    @property
    def unit(self) -> str:
        """The unit, from the measure: `flash-bytes` are bytes."""
        return self.measure.rpartition("-")[2]


@dataclass(frozen=True)
class Result:
    """One test as JUnit XML knows it."""

    group: str
    name: str
    state: State
    message: str
    details: str


def to_github_action_benchmark(figures: Iterable[Figure]) -> str:
    """What the tool `customSmallerIsBetter` of github-action-benchmark reads: the smaller the better."""
    return _json([_benchmark(figure) for figure in figures])


def _benchmark(figure: Figure) -> dict[str, object]:
    quantity = "" if figure.measure == "instructions" else f" {figure.measure.rpartition('-')[0]}"
    entry: dict[str, object] = {
        "name": figure.name + quantity,
        "unit": figure.unit,
        "value": plain(figure.value),
    }
    if figure.low is not None and figure.high is not None:
        entry["range"] = f"{plain(figure.low)} to {plain(figure.high)}"
    if figure.extra:
        entry["extra"] = figure.extra
    return entry


def to_bencher(figures: Iterable[Figure]) -> str:
    """Bencher Metric Format: benchmark, measure, value with the least and the greatest sample as its bounds."""
    content: dict[str, dict[str, dict[str, float]]] = {}
    for figure in figures:
        metric = {"value": plain(figure.value)}
        if figure.low is not None and figure.high is not None:
            metric |= {"lower_value": plain(figure.low), "upper_value": plain(figure.high)}
        content.setdefault(figure.name, {})[figure.measure] = metric
    return _json(content)


def to_junit(title: str, results: Iterable[Result], facts: Mapping[str, str]) -> str:
    """JUnit XML with one suite. It has no times: counts are not host time."""
    # Only this format needs it.
    from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

    suite = TestSuite(_xml(title))
    for name, value in facts.items():
        suite.add_property(name, _xml(value))
    for result in results:
        case = TestCase(_xml(result.name), _xml(result.group))
        if result.state != "passed":
            kind = {"failed": Failure, "error": Error, "skipped": Skipped}[result.state]
            case.result = [kind(_xml(result.message))]
        if result.details:
            case.system_out = _xml(result.details)
        suite.add_testcase(case)
    document = JUnitXml()
    document.add_testsuite(suite)
    document.update_statistics()
    text: bytes = document.tostring()
    return text.decode("utf-8").rstrip() + "\n"


def _xml(text: str) -> str:
    return visible(_NOT_XML.sub("�", text))


def plain(value: float) -> int | float:
    """A count as programs read it: a median can end in .5, all other counts are whole."""
    return int(value) if value == int(value) else value


def _json(content: object) -> str:
    return json_text(json.dumps(content, indent=1, ensure_ascii=False)) + "\n"
