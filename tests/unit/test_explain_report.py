# SPDX-License-Identifier: BSD-2-Clause
"""What people and programs get to see of an explanation."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from traces import CASE
from worldwise.explain.explanation import Explanation, Step
from worldwise.explain.layers import NO_RULE, UNKNOWN, Rules, load_rules
from worldwise.explain.stacks import StackFrame
from worldwise.explain.witness import Agreement
from worldwise.records.trace import Witness
from worldwise.report import explained as explain_report

MAIN = StackFrame("main", "client", "client", "normal")
SVC = StackFrame("svc", "linux", "Linux", "normal")
COPY = StackFrame("memcpy", "linux", "helpers", "normal")
ODD = StackFrame("odd", "linux", NO_RULE, "normal")
NOWHERE = StackFrame("[0x10]", "no image", UNKNOWN, "secure")


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    """Three layers."""
    path = tmp_path / "rules.toml"
    layers = ("client", "Linux", "helpers")
    path.write_text("".join(f'[[layer]]\nname = "{name}"\nimages = ["x"]\n' for name in layers), encoding="ascii")
    return load_rules(path)


def explanation(**fields: object) -> Explanation:
    """2,000 instructions, of which 1,000 are in a helper."""
    made = Explanation(
        case=CASE,
        measure="invoke",
        place="client",
        index=2,
        phase="sample",
        instructions=2000,
        measuring=5,
        uncounted=0,
        stacks={(MAIN,): 500, (MAIN, SVC): 470, (MAIN, SVC, COPY): 1000, (MAIN, ODD): 20, (MAIN, NOWHERE): 10},
        lost=4,
        helpers=frozenset({"memcpy"}),
        steps=[Step(0, 500, "region", "normal EL0", MAIN), Step(500, 1500, "sync", "normal EL1", SVC)],
        steps_dropped=0,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def shown(draw: Callable[[Console], None]) -> str:
    """What is printed, as into a file."""
    out = io.StringIO()
    draw(Console(file=out, width=140, highlight=False))
    return out.getvalue()


def rendered(one: Explanation, rules: Rules, top: int, path: bool = False) -> str:
    """An explanation as it is printed."""
    return shown(lambda console: explain_report.render(one, rules, console, top, path))


def difference(before: Explanation, after: Explanation, rules: Rules) -> str:
    """A difference as it is printed."""
    return shown(lambda console: explain_report.render_difference(before, after, rules, console, 3))


def rows(text: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in text.splitlines()]


def test_the_table_has_every_layer_and_the_sum(rules: Rules) -> None:
    """If this fails, the table does not say whose the instructions are."""
    text = rendered(explanation(), rules, 10)
    words = rows(text)
    assert "optee/mbedtls-nist-O2/empty-invoke: invoke at client, sample 2" in text
    assert ["client", "500", "25.00", "2,000", "100.00", "500", "25.00"] in words
    assert ["Linux", "470", "23.50", "1,470", "73.50", "1,470", "73.50"] in words
    assert ["helpers", "1,000", "50.00", "1,000", "50.00", "0", "0.00"] in words
    assert ["sum", "2,000", "100.00"] in words
    assert "takes 5; 1,995 is what `run` reports" in text.replace("\n", " ")
    assert "unknown: 10 instructions (0.50 %), of them on a stack that could not be followed: 4" in text
    assert "no rule of layers.toml takes: odd (linux) 20" in text
    assert "1 changes of exception level or task" in text
    assert "PMCCNTR" not in text


def test_functions_are_shown_by_their_own_instructions(rules: Rules) -> None:
    """If this fails, the top functions are not the top ones."""
    text = rendered(explanation(), rules, 2)
    words = rows(text)
    assert ["memcpy", "(linux)", "1,000", "50.00", "1,000", "helpers"] in words
    assert ["main", "(client)", "500", "25.00", "2,000", "client"] in words
    assert "svc (linux)" not in text


def test_what_the_counter_left_out_is_said(rules: Rules) -> None:
    """If this fails, a place's sum is not what `run` says, and nobody knows why."""
    text = rendered(explanation(uncounted=300), rules, 2).replace("\n", " ")
    assert "1,695 is what `run` reports" in text
    assert "300 of them are the monitor's, which this place's counter (PMCCNTR_EL0) leaves out" in text


def test_the_path_is_listed(rules: Rules) -> None:
    """If this fails, --path shows nothing, or all of a long path."""
    words = rows(rendered(explanation(), rules, 1, path=True))
    assert ["500", "1,500", "sync", "normal", "EL1", "svc", "(linux)"] in words
    long = explanation(steps=[Step(n, 1, "sync", "EL3", MAIN) for n in range(70)], steps_dropped=3)
    text = rendered(long, rules, 1, path=True)
    assert "... and 10 more" in text
    assert sum(line[2:4] == ["sync", "EL3"] for line in rows(text)) == 60
    assert "3 changes of level came after" in text


def test_a_difference_is_shown(rules: Rules) -> None:
    """If this fails, --diff does not say what changed."""
    after = explanation(instructions=1000, stacks={(MAIN,): 600, (MAIN, SVC): 400})
    text = difference(explanation(), after, rules)
    assert "after / before = 0.5000, -1,000 instructions" in text
    words = rows(text)
    assert ["client", "500", "600", "+100", "-10.00"] in words
    assert ["helpers", "1,000", "0", "-1,000", "100.00"] in words
    assert ["memcpy", "(linux)", "1,000", "0", "-1,000", "100.00"] in words
    same = difference(explanation(), explanation(), rules)
    assert ["client", "500", "500", "+0", "-"] in rows(same)


def test_agreement_is_printed() -> None:
    """If this fails, nobody sees whether the stacks are right."""
    witness = Witness.model_validate(
        {"type": "witness", "pass": 1, "pc": "0x40", "link": "0x0", "context": 1, "shadow": [], "memory": []}
    )
    out = io.StringIO()
    console = Console(file=out, width=400, highlight=False)
    explain_report.render_agreement(Agreement(1000, 900, 80, 13, [(witness, "main (client)")] * 7), console)
    assert "at 1,000 moments: 993 agree (900 in every caller, 80 in all but" in out.getvalue()
    assert "7 differ" in out.getvalue()
    assert out.getvalue().count("differs in main (client) at 0x40") == 5
    explain_report.render_agreement(Agreement(0, 0, 0, 0, []), console)
    assert "no moment was sampled" in out.getvalue()


def test_json_has_every_figure_and_is_stable(rules: Rules) -> None:
    """If this fails, programs get other figures than people, or other bytes each time."""
    document = explain_report.to_json(explanation(), rules)
    assert document["instructions"] == sum(one["self"] for one in document["layers"])
    assert document["instructions"] == sum(one["self"] for one in document["functions"])
    assert [one["layer"] for one in document["layers"]] == ["client", "Linux", "helpers", NO_RULE, UNKNOWN]
    assert document["unruled"] == [{"function": "odd", "image": "linux", "self": 20}]
    assert document["steps"][1] == {
        "at": 500,
        "instructions": 1500,
        "by": "sync",
        "lane": "normal EL1",
        "function": "svc",
        "image": "linux",
    }
    backwards = explanation(stacks=dict(reversed(list(explanation().stacks.items()))))
    text = explain_report.dump(document)
    assert json.loads(text) == document
    assert explain_report.dump(explain_report.to_json(backwards, rules)) == text


def test_a_difference_as_json(rules: Rules) -> None:
    """If this fails, --diff --format json cannot be read."""
    after = explanation(instructions=1000, stacks={(MAIN,): 600, (MAIN, SVC): 400})
    document = json.loads(explain_report.dump(explain_report.difference_json(explanation(), after, rules)))
    assert {"name": "client", "before": 500, "after": 600} in document["layers"]
    assert document["functions"][0] == {"name": "memcpy (linux)", "before": 1000, "after": 0}
    assert (document["before"]["instructions"], document["after"]["instructions"]) == (2000, 1000)


def test_slices_have_a_length() -> None:
    """If this fails, time lines have bars that cannot be seen."""
    steps = [*explanation().steps, Step(2000, 0, "eret", "normal EL0", MAIN)]
    assert [(one.begin, one.end) for one in explain_report.slices(steps)] == [(0, 500), (500, 2000)]
