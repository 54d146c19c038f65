# SPDX-License-Identifier: BSD-2-Clause
"""What people and programs get to see of an explanation."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from traces import CASE
from worldwise.base.family_stages import declared
from worldwise.base.tables import Section
from worldwise.explain.explanation import Explained, Explanation, LevelPath, LevelStep
from worldwise.explain.frame_records import Agreement
from worldwise.explain.instruction_mix import Facts
from worldwise.explain.layers import NO_RULE, UNKNOWN, Rules, load_rules
from worldwise.explain.stacks import StackFrame
from worldwise.families.sha256.explained import HashParts, Part, parts_section
from worldwise.records.models import Sample
from worldwise.records.trace_records import Witness
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.formats.printed_sections import markdown_text, print_sections

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
        path=LevelPath(
            [LevelStep(0, 500, "region", "normal EL0", MAIN), LevelStep(500, 1500, "sync", "normal EL1", SVC)], 0
        ),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def shown(sections: Sequence[Section]) -> str:
    """What is printed, as into a file."""
    out = io.StringIO()
    print_sections(sections, Console(file=out, width=140, highlight=False))
    return out.getvalue()


def rendered(one: Explanation, rules: Rules, top: int, path: bool = False) -> str:
    """An explanation as it is printed."""
    return shown(explain_report.sections(one, rules, top, path))


def difference(before: Explanation, after: Explanation, rules: Rules) -> str:
    """A difference as it is printed."""
    return shown(explain_report.difference_sections(before, after, rules, 3))


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
    assert "300 of them are the monitor's; this place's counter (PMCCNTR_EL0) leaves them out" in text


def test_the_path_is_listed(rules: Rules) -> None:
    """If this fails, --path shows nothing, or all of a long path."""
    words = rows(rendered(explanation(), rules, 1, path=True))
    assert ["500", "1,500", "sync", "normal", "EL1", "svc", "(linux)"] in words
    long = explanation(path=LevelPath([LevelStep(n, 1, "sync", "EL3", MAIN) for n in range(70)], 3))
    text = rendered(long, rules, 1, path=True)
    assert "... and 10 more" in text
    assert sum(line[2:4] == ["sync", "EL3"] for line in rows(text)) == 60
    assert "3 changes of level came after" in text


def test_a_difference_is_shown(rules: Rules) -> None:
    """If this fails, `diff` does not say what changed."""
    after = explanation(instructions=1000, stacks={(MAIN,): 600, (MAIN, SVC): 400})
    text = difference(explanation(), after, rules)
    assert "after / before = 0.5000, -1,000 instructions" in text
    words = rows(text)
    assert ["client", "500", "600", "+100", "-10.00"] in words
    assert ["helpers", "1,000", "0", "-1,000", "100.00"] in words
    assert ["memcpy", "(linux)", "1,000", "0", "-1,000", "100.00"] in words
    same = difference(explanation(), explanation(), rules)
    assert ["client", "500", "500", "+0", "-"] in rows(same)


def test_a_difference_shows_what_functions_access(rules: Rules) -> None:
    """If this fails, `diff` is silent on loads, stores and bytes of code."""
    some = {("memcpy", "linux"): Facts(loads=8, stores=4, code={0: 4, 4: 4})}
    more = {("memcpy", "linux"): Facts(loads=10, stores=3, taken=1, code={0: 4})}
    after = replace(explanation(instructions=1000, stacks={(MAIN,): 600, (MAIN, SVC): 400}), facts=more)
    words = rows(difference(replace(explanation(), facts=some), after, rules))
    assert ["loads", "8", "10", "+2", "1.250"] in words
    assert ["taken", "0", "1", "+1", "-"] in words
    changed = ["+2", "-1", "+0", "+0", "+1", "-4"]
    assert ["memcpy", "(linux)", "1,000", "0", "-1,000", "100.00", *changed] in words


def test_agreement_is_printed() -> None:
    """If this fails, nobody sees whether the stacks are right."""
    witness = Witness.model_validate(
        {"type": "witness", "pass": 1, "pc": "0x40", "link": "0x0", "context": 1, "shadow": [], "memory": []}
    )
    text = shown([explain_report.check_section(12, Agreement(1000, 900, 80, 13, [(witness, "main (client)")] * 7))])
    assert "12 regions checked" in text
    assert "at 1,000 moments: 993 agree (900 in every caller, 80 in all but" in text.replace("\n", " ")
    assert "7 differ" in text
    assert text.count("differs in main (client) at 0x40") == 5
    unwound = shown([explain_report.check_section(2, Agreement(50, 40, 0, 7, [(witness, "f (program)")] * 3, True))])
    assert "50 moments: 47 agree (40 in every caller, 7 as far as that table goes), 3 differ" in unwound.replace(
        "\n", " "
    )
    assert "no sample was taken" in shown([explain_report.check_section(12, Agreement(0, 0, 0, 0, []))])
    assert "moment" not in shown([explain_report.check_section(12)])


def test_an_explanation_as_markdown(rules: Rules) -> None:
    """If this fails, an explanation cannot be put into a document, or a function's name is markup there."""
    text = markdown_text(explain_report.sections(explanation(), rules, 10, True))
    lines = text.splitlines()
    assert lines[0] == "## optee/mbedtls-nist-O2/empty-invoke: invoke at client, sample 2"
    assert "what `run` reports." in text
    assert "| layer | self | self % | inclusive | inclusive % | helpers folded | folded % |" in lines
    assert "| Linux | 470 | 23.50 | 1,470 | 73.50 | 1,470 | 73.50 |" in lines
    assert "| sum | 2,000 | 100.00 |  |  |  |  |" in lines
    place = lines.index("| function (image) | self | self % | inclusive | layer |")
    # Names to the left, numbers to the right.
    assert lines[place + 1] == "| --- | ---: | ---: | ---: | --- |"
    assert "| \\[0x10\\] (no image) | 10 | 0.50 | 10 | unknown |" in lines
    assert "| 500 | 1,500 | sync | normal EL1 | svc (linux) |" in lines
    changed = markdown_text(explain_report.difference_sections(explanation(), explanation(uncounted=1), rules, 3))
    assert "| layer (self) | before | after | change | of all change % |" in changed


def test_a_family_takes_its_calls_apart() -> None:
    """If this fails, a hash is not shown part by part, or where no family says so."""
    one = declared("explained", Explained)["sha256"]
    hashing = replace(CASE, operation="sha256", parameters=(("size", "1MiB"),))
    assert (one.measure, one.takes(hashing), one.takes(CASE)) == ("hash", True, False)
    assert not one.takes(replace(hashing, target="linux"))
    sample = Sample.model_validate(
        {"type": "sample", "measure": "hash", "place": "client", "index": 2, "phase": "sample"}
        | {"begin": 100, "end": 2100, "count": 1990}
    )
    parts = [Part("algorithm", 1000, 990), Part("memory", 1000, None), Part("rest", None, 1000)]
    section = parts_section(HashParts(sample, parts, 16, 3, 2000))
    assert section.table
    assert section.table.rows == [
        ["algorithm", "1,000", "990", "+10"],
        ["memory", "1,000", "", ""],
        ["rest", "", "1,000", ""],
        ["total", "2,000", "1,990", "+10"],
    ]
    assert "own message buffer (16)" in section.notes[0]
    assert "monitor's part it saw 3" in section.notes[0]


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
    """If this fails, `diff --format json` cannot be read."""
    after = explanation(instructions=1000, stacks={(MAIN,): 600, (MAIN, SVC): 400})
    document = json.loads(explain_report.dump(explain_report.difference_json(explanation(), after, rules)))
    assert {"name": "client", "before": 500, "after": 600} in document["layers"]
    assert document["functions"][0] == {"name": "memcpy (linux)", "before": 1000, "after": 0}
    assert (document["before"]["instructions"], document["after"]["instructions"]) == (2000, 1000)


def test_slices_have_a_length() -> None:
    """If this fails, time lines have bars that cannot be seen."""
    steps = [*explanation().path.steps, LevelStep(2000, 0, "eret", "normal EL0", MAIN)]
    assert [(one.begin, one.end) for one in explain_report.slices(steps)] == [(0, 500), (500, 2000)]
