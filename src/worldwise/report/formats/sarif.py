# SPDX-License-Identifier: BSD-2-Clause
"""What is over a limit or above a baseline as SARIF 2.1.0, which marks lines of source in a change.

The format is OASIS's "Static Analysis Results Interchange Format (SARIF) Version 2.1.0". Paths are relative to the
repository's root: a path of the machine that measured is nobody else's.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from worldwise import __version__
from worldwise.base.output.safe_text import json_text, visible
from worldwise.base.tables import count, signed
from worldwise.plan.spec import OWN
from worldwise.read.compared.comparison import ComparedRow, Comparison
from worldwise.report.formats.ci_formats import plain

VERSION = "2.1.0"
# The base of relative paths by which GitHub means the repository's root.
_ROOT = "%SRCROOT%"
LIMIT, BASELINE = "limit-exceeded", "baseline-exceeded"
_RULES = {
    LIMIT: ("LimitExceeded", "A limit of worldwise.toml is exceeded.", "docs/use/in-your-repository.md#limits"),
    BASELINE: (
        "BaselineExceeded",
        "A count is above that of the baseline, or of the run that it is compared with.",
        "docs/use/in-your-repository.md#baselines",
    ),
}
_MOST_MOVED = 3


@dataclass(frozen=True)
class Mark:
    """A line of a file: its path from the repository's root, with slashes, and the number of the line."""

    path: str
    line: int


@dataclass(frozen=True)
class Finding:
    """One limit or baseline that is exceeded.

    Attributes:
        rule: LIMIT or BASELINE.
        name: its subject, the same in every run: the case, and its measure or limit.
        text: a sentence with the figures and their unit.
        mark: the line that is to be marked; None if none is known.
        said: the line that says the limit, if there is one.
        facts: the figures for programs.
    """

    rule: str
    name: str
    text: str
    mark: Mark | None
    said: Mark | None = None
    facts: Mapping[str, object] = field(default_factory=dict)


def of_comparison(comparison: Comparison, mark: Callable[[str], Mark | None]) -> list[Finding]:
    """The rows that are over the gate's limit, the worst first; `mark` knows the line of a case."""
    return [_of_row(row, comparison, mark(row.case_b)) for row in comparison.exceeding]


def _of_row(row: ComparedRow, comparison: Comparison, mark: Mark | None) -> Finding:
    name = row.case if row.target == OWN else row.name
    what, before, after = "the median call", row.a.median, row.b.median
    if row.judged == "calls" and row.worst:
        what, before, after = f"call {row.worst.index}", float(row.worst.a), float(row.worst.b)
    text = (
        f"{name}: {what} takes {count(after)} {row.unit}; it took {count(before)} in {comparison.a.label}: "
        f"{signed(after - before)}."
    )
    moved = [one for one in comparison.moved if one.case == row.case]
    if moved:
        words = ", ".join(f"{one.function} {one.b - one.a:+,}" for one in moved[:_MOST_MOVED])
        text += f" Functions that moved most: {words}."
    facts = {"case": row.case_b, "before": plain(before), "after": plain(after), "unit": row.unit}
    return Finding(BASELINE, row.name, text, mark, facts=facts)


def lost(comparison: Comparison) -> list[str]:
    """What the comparison lacks, a sentence each: without it a file with no result would mislead."""
    gate = comparison.gate
    return [f"{one.case}: {one.reason}." for one in comparison.unpaired if one.lost] if gate and gate.lost else []


def to_sarif(findings: Iterable[Finding], problems: Sequence[str] = ()) -> str:
    """The file's text, with one run; `problems` are what could not be judged."""
    invocation: dict[str, object] = {"executionSuccessful": not problems}
    if problems:
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": _message(one)} for one in problems]
    content = {
        "version": VERSION,
        "runs": [
            {
                "tool": {"driver": {"name": "worldwise", "version": __version__, "rules": list(map(_rule, _RULES))}},
                "invocations": [invocation],
                "results": [_result(one) for one in findings],
            }
        ],
    }
    return json_text(json.dumps(content, indent=1, ensure_ascii=False)) + "\n"


def _rule(name: str) -> dict[str, object]:
    title, text, page = _RULES[name]
    return {
        "id": name,
        "name": title,
        "shortDescription": {"text": text},
        "help": {"text": f"{text} {page} of worldwise says how it is judged."},
        "defaultConfiguration": {"level": "error"},
    }


def _result(finding: Finding) -> dict[str, object]:
    mark, said = finding.mark or finding.said, finding.said
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": list(_RULES).index(finding.rule),
        "level": "error",
        "message": _message(finding.text),
        "locations": [_location(mark)] if mark else [],
        # A reader that follows a result from run to run knows it by this, not by its figures.
        "partialFingerprints": {"worldwiseRegion/v1": f"{finding.rule} {finding.name}"},
    }
    if said and mark != said:
        result["relatedLocations"] = [_location(said) | {"message": {"text": "The limit."}}]
    if finding.facts:
        result["properties"] = dict(finding.facts)
    return result


def _message(text: str) -> dict[str, str]:
    # By section 3.11 braces hold places for arguments, and brackets links: names of functions have both.
    text = visible(text)
    for sign, escaped in (("\\", "\\\\"), ("{", "{{"), ("}", "}}"), ("[", "\\["), ("]", "\\]")):
        text = text.replace(sign, escaped)
    return {"text": text}


def _location(mark: Mark) -> dict[str, object]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(mark.path), "uriBaseId": _ROOT},
            "region": {"startLine": mark.line},
        }
    }
