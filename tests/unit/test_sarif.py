# SPDX-License-Identifier: BSD-2-Clause
"""SARIF: what the standard asks for, the lines that are marked, and no path of the machine that measured."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jsonschema  # type: ignore[import-untyped] # it has no types
import pytest
from test_baseline import CASE, OTHER, make
from test_cli import call

from command_line import Call
from worldwise.base.errors import WorldwiseError
from worldwise.cli.traces import source_marks
from worldwise.cli.traces.source_marks import Marks, of_limits
from worldwise.explain.annotated_source import begins
from worldwise.machine.symbols.inlined_functions import Inlines
from worldwise.machine.symbols.names import Function
from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.machine.symbols.table import SymbolTable
from worldwise.read.compared.comparison import Moved
from worldwise.report.formats.sarif import BASELINE, LIMIT, Finding, Mark, to_sarif
from worldwise.run.code.repository.limits import LimitVerdict
from worldwise.run.folder.rundir import open_run

__all__ = ["call"]

# What the schema of SARIF 2.1.0 asks of the parts that are written here: nothing else is, so others are refused.
MESSAGE = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "message": MESSAGE,
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri", "uriBaseId"],
                    "properties": {
                        # Relative, and a URI's own signs.
                        "uri": {"type": "string", "pattern": r"^(?!/)(?!.*\.\./)[A-Za-z0-9._~%/-]+$"},
                        "uriBaseId": {"const": "%SRCROOT%"},
                    },
                    "additionalProperties": False,
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results", "invocations"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "version", "rules"],
                                "properties": {
                                    "name": {"const": "worldwise"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string", "pattern": "^[A-Z][A-Za-z]+$"},
                                                "shortDescription": MESSAGE,
                                                "help": MESSAGE,
                                                "defaultConfiguration": {"const": {"level": "error"}},
                                            },
                                            "additionalProperties": False,
                                        },
                                    },
                                },
                                "additionalProperties": False,
                            }
                        },
                        "additionalProperties": False,
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {"level": {"const": "error"}, "message": MESSAGE},
                                        "additionalProperties": False,
                                    },
                                },
                            },
                            "additionalProperties": False,
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
                            "properties": {
                                "ruleId": {"enum": ["limit-exceeded", "baseline-exceeded"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"const": "error"},
                                "message": MESSAGE,
                                "locations": {"type": "array", "maxItems": 1, "items": LOCATION},
                                "relatedLocations": {"type": "array", "items": LOCATION},
                                "partialFingerprints": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                                "properties": {"type": "object"},
                            },
                            "additionalProperties": False,
                        },
                    },
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def read(text: str) -> dict[str, Any]:
    """The one run of a file that keeps to the standard."""
    content = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(content)
    run: dict[str, Any] = content["runs"][0]
    rules = [one["id"] for one in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    return run


def marked(location: dict[str, Any]) -> tuple[str, int]:
    physical = location["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"]


def test_a_result_has_what_the_standard_asks_for() -> None:
    """A path is a URI; what stands for arguments and links in a message is written out."""
    findings = [
        Finding(LIMIT, "own/a/f worst call", "f: worst call: 12 instructions.", Mark("a b/f.c", 3), Mark("w.toml", 9)),
        Finding(BASELINE, "own/a/g call region", "operator[](int) {x} \x1b[1m", None, facts={"before": 1}),
    ]
    first, second = read(to_sarif(findings))["results"]
    assert marked(first["locations"][0]) == ("a%20b/f.c", 3)
    assert marked(first["relatedLocations"][0]) == ("w.toml", 9)
    assert second["message"]["text"] == "operator\\[\\](int) {{x}} \\\\x1b\\[1m"
    assert (second["locations"], second["properties"]) == ([], {"before": 1})
    assert len({one["partialFingerprints"]["worldwiseRegion/v1"] for one in (first, second)}) == 2


def test_what_could_not_be_judged_is_no_success() -> None:
    """If this fails, a file without a result says that all is well where a case is missing."""
    (invocation,) = read(to_sarif([], ["own/a/f: in B failed."]))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "own/a/f: in B failed."
    assert read(to_sarif([]))["invocations"] == [{"executionSuccessful": True}]


def test_compare_writes_a_result_for_each_row_over_the_limit(
    call: Call, runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ids = [make(runs_dir, number, more) for number, more in enumerate((0, 0, 7))]
    call("compare", ids[0], "--save-baseline", "main", "--runs", runs_dir)
    same = call("compare", ids[1], "--baseline", "main", "--format", "sarif", "--runs", runs_dir)
    assert (same.status, read(same.out)["results"]) == (0, [])
    words = ("--write", "sarif=out.sarif", "--runs", runs_dir)
    assert call("compare", ids[2], "--baseline", "main", *words).status == 3
    text = (tmp_path / "out.sarif").read_text()
    assert str(tmp_path) not in text
    results = read(text)["results"]
    assert {one["properties"]["case"] for one in results} == {CASE.id, OTHER.id}
    for one in results:
        facts = one["properties"]
        assert (one["ruleId"], facts["after"] - facts["before"], facts["unit"]) == (BASELINE, 7, "instructions")
        said = f"takes {facts['after']:,} instructions; it took {facts['before']:,} in baseline main: +7."
        assert said in one["message"]["text"]
    # Beside another run, too; and a case that is missing is an error.
    assert call("compare", ids[0], ids[2], "--fail-above", "0%", *words).status == 3
    assert len(read((tmp_path / "out.sarif").read_text())["results"]) == 2
    part = make(runs_dir, 3, cases=(CASE,))
    assert call("compare", part, "--baseline", "main", *words).status == 1
    (invocation,) = read((tmp_path / "out.sarif").read_text())["invocations"]
    assert f"{OTHER.id}: in B was not measured." in str(invocation["toolExecutionNotifications"])


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("compare", "a", "b", "--format", "sarif"), 2, "sarif lists what exceeds a limit: name a limit with --fail"),
        (("compare", "a", "--save-baseline", "x", "--write", "sarif=f"), 2, "name a limit with --fail-above"),
        (("run", "quick", "--sarif", "f"), 2, "--sarif reports figures above a limit or a baseline"),
        (("run", "quick", "--sarif", "none/f", "--baseline", "x"), 1, "the directory none does not exist"),
    ],
)
def test_a_call_without_a_limit_is_refused(call: Call, words: tuple[str, ...], status: int, said: str) -> None:
    answer = call(*words)
    assert (answer.status, answer.out) == (status, "")
    assert said in answer.told


# --- which line ---

PROJECT = 'format = 1\n[measure.bench]\nprogram = "bench"\n[measure.bench.limit.crc32]\ninstructions = 9\n'


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A folder with a worldwise.toml in a repository."""
    folder = tmp_path / "repository" / "code"
    (folder / "src").mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (tmp_path / "repository" / "shared.c").write_text("int\n")
    (folder / "src" / "crc.c").write_text("int\n")
    (folder / "out.c").symlink_to("/etc/passwd")
    (folder / "worldwise.toml").write_text(PROJECT)
    return folder


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        ("/work/copy/bench/../src/crc.c", 12, Mark("code/src/crc.c", 12)),
        ("/somewhere/shared.c", 3, Mark("shared.c", 3)),
        ("/usr/lib/gone.c", 3, None),
        ("/x/out.c", 1, None),
        ("", 0, None),
        ("/work/copy/src/crc.c", 0, None),
    ],
)
def test_a_source_is_named_from_the_repositorys_root(
    code: Path, runs_dir: Path, name: str, line: int, found: Mark | None
) -> None:
    """A link out of the repository is none of its files, and a line that nobody knows is not the first."""
    assert Marks(open_run(make(runs_dir, 0), runs_dir), code).of_source(name, line) == found


def test_a_limit_is_marked_at_its_function_else_where_it_is_said(
    code: Path, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"own/bench/crc32": Mark("code/src/crc.c", 4)}
    monkeypatch.setattr(source_marks.Marks, "function_mark", lambda _, case: known.get(case))
    marks = Marks(open_run(make(runs_dir, 0), runs_dir), code)
    over = [
        LimitVerdict("own/bench/crc32", "worst call", "11 instructions", "9", f"{code}/worldwise.toml:5", False),
        LimitVerdict("own/bench", "flash", "11 B", "9 B", f"{code}/worldwise.toml:3", False),
    ]
    text = to_sarif(of_limits(over, marks))
    assert str(code) not in text
    first, second = read(text)["results"]
    assert marked(first["locations"][0]) == ("code/src/crc.c", 4)
    assert marked(first["relatedLocations"][0]) == ("code/worldwise.toml", 5)
    assert first["message"]["text"] == "own/bench/crc32: worst call: 11 instructions; the limit is 9."
    assert marked(second["locations"][0]) == ("code/worldwise.toml", 3)
    assert "relatedLocations" not in second
    # Of a region without a known function it is the measure's line; of what is no measure there is none.
    assert marks.of_case("own/bench/other") == Mark("code/worldwise.toml", 2)
    assert marks.of_case("own/else/other") is None
    assert marks.of_case(CASE.id) is None


def test_what_moved_is_marked_at_the_dearest_line_of_its_function(
    code: Path, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a call of a TA nobody knows a region's line; and a line out of the repository is none of its."""
    crc = str(code / "src" / "crc.c")
    lines = {("/usr/include/x.h", 3): 900, (crc, 12): 50, (crc, 14): 70, ("", 0): 10}
    part = SimpleNamespace(
        name="crc", image="ta", lines={at: SimpleNamespace(instructions=n) for at, n in lines.items()}
    )

    def annotate(_: object, __: object, name: str) -> list[object]:
        if name != "crc":
            raise WorldwiseError(f"executes no function {name}")
        return [part]

    monkeypatch.setattr(source_marks, "annotate", annotate)
    monkeypatch.setattr(source_marks.Marks, "own_manifest", lambda *_: "manifest")
    monkeypatch.setattr(source_marks.Marks, "bring_code", lambda *_: None)
    monkeypatch.setattr(source_marks.Marks, "explained_runs", lambda *_: (None, None))
    marks = Marks(open_run(make(runs_dir, 0), runs_dir), code)
    moved = [
        Moved(case=case, function=name, a=1, b=2)
        for case, name in (("own/ta/x", "(others)"), ("own/ta/x", "crc (ta)"), ("own/ta/y", "crc (ta)"))
    ]
    rows = [SimpleNamespace(case_b="own/ta/x")]
    seen: dict[str, Any] = {}
    marks.with_lines(
        cast(Any, SimpleNamespace(exceeding=rows, moved=moved, model_copy=lambda update: seen.update(update)))
    )
    # What is not over the limit has none, and costs nothing.
    assert [one.line for one in seen["moved"]] == ["", "code/src/crc.c:14", ""]


def test_a_function_begins_where_debug_information_says() -> None:
    """At its first address, not at the first that was executed; a function of another name is not it."""
    asked: list[str] = []

    def addr2line(_: bytes, addresses: str) -> str:
        asked.append(addresses)
        return f"{addresses.strip()}\ncrc\n/copy/src/crc.c:7\n"

    level = Level("normal", 0, "bench")
    table = SymbolTable(
        "bench", [Function("main", 0x10, 16, ""), Function("crc", 0x20, 32, "")], inlines=Inlines("b", b"", addr2line)
    )
    space = AddressSpace()
    space.map(level, 0x1000, 0x1100, 0x1000, table)
    block = SimpleNamespace(addresses=[0x1014, 0x1028, 0x102C])
    trace = SimpleNamespace(
        rows=lambda _: [SimpleNamespace(frame=1, block=1, times=2)],
        frames={1: SimpleNamespace(context=0)},
        blocks={1: block},
    )
    explainer = cast(Any, SimpleNamespace(regions=lambda _: [1], trace=trace, space=space, level=lambda _: level))
    assert begins(explainer, cast(Any, None), "crc") == ("/copy/src/crc.c", 7)
    assert asked == ["0x20\n"]
    assert begins(explainer, cast(Any, None), "none") == ("", 0)
