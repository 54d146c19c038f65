# SPDX-License-Identifier: BSD-2-Clause
"""Prometheus' text format 0.0.4, read strictly: what its documentation demands and recommends is demanded here."""

import math
import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\+Inf|-Inf|NaN|[-+]?[0-9]+(?:\.[0-9]+)?)")
UNITS = ("_seconds", "_bytes", "_ratio")

Labels = tuple[tuple[str, str], ...]


@dataclass
class Family:
    kind: str
    text: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def value(self, **labels: str) -> float:
        (found,) = (value for (_, own), value in self.samples.items() if dict(own) == labels)
        return found


def parse(text: str) -> dict[str, Family]:
    assert text.endswith("\n")
    families: dict[str, Family] = {}
    described: dict[str, str] = {}
    current = ""
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            assert re.fullmatch(NAME, name) and words and name not in described, line
            assert "\\" not in words.replace("\\\\", "").replace("\\n", ""), line
            described[name] = words
        elif line.startswith("# TYPE "):
            name, _, kind = line[7:].partition(" ")
            assert kind in ("counter", "gauge", "histogram") and name in described and name not in families, line
            families[name], current = Family(kind, described[name]), name
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            labels = tuple(re.findall(LABEL, match[2])) if match[2] else ()
            assert len({label for label, _ in labels}) == len(labels), line
            family = families[current]
            suffixes = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
            # All lines of one metric stand together.
            assert match[1] in [current + suffix for suffix in suffixes], line
            assert (match[1], labels) not in family.samples, line
            family.samples[match[1], labels] = float(match[7].replace("Inf", "inf"))
    for name, family in families.items():
        check(name, family)
    return families


def check(name: str, family: Family) -> None:
    assert family.samples, name
    assert family.text.endswith("."), family.text
    assert name.endswith("_total") == (family.kind == "counter"), name
    assert all(value >= 0 for value in family.samples.values()), name
    if family.kind == "histogram":
        assert name.endswith(UNITS)
        series = {own for (sample, own) in family.samples if sample == f"{name}_count"}
        for labels in series:
            check_histogram(name, family, labels)
        assert len(family.samples) % len(series) == 0


def check_histogram(name: str, family: Family, labels: Labels) -> None:
    steps = [
        (float(dict(own)["le"].replace("Inf", "inf")), value)
        for (sample, own), value in family.samples.items()
        if sample == f"{name}_bucket" and tuple(one for one in own if one[0] != "le") == labels
    ]
    assert steps == sorted(steps) and len({bound for bound, _ in steps}) == len(steps) > 2
    counts = [value for _, value in steps]
    assert counts == sorted(counts)
    assert steps[-1] == (math.inf, family.samples[f"{name}_count", labels])
    total = family.samples[f"{name}_sum", labels]
    # No sum is more than all samples at their steps' upper ends, nor less than all at the lower ones.
    low = sum(
        bound * (after - before)
        for (bound, before), (_, after) in zip([(0.0, 0.0), *steps[:-1]], steps, strict=True)
        if bound < math.inf
    )
    assert total >= low
    if counts[-2] == counts[-1]:
        within = zip([0.0, *counts[:-2]], steps[:-1], strict=True)
        high = sum(bound * (after - before) for before, (bound, after) in within)
        assert total <= high
