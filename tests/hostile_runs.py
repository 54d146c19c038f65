# SPDX-License-Identifier: BSD-2-Clause
"""Runs of strangers: with their words wherever a run has any, and good ones that say something else in a few places."""

import copy
import dataclasses
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import synthetic
from worldwise.plan.case import Case
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome
from worldwise.run.folder.rundir import Run, open_run

# What stands in the place of a value.
_STRANGE: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 2**31, 2**53, 2**63 - 1, 2**64, 10**30, 10**400, 0.0, -0.5, 1e-300, 1e308, True, False),
    *(None, "", "x", "x" * 3000, "../x", "a\0b", "\x1b[2J", "cycles", "instructions", "optee", "linux-armv8", [], {}),
    *([[]], {"a": 1}, ["x"] * 50),
)


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    if above:
        yield above
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*above, key))


def changed(value: Any, chance: random.Random) -> Any:
    """The same with a value somewhere replaced, taken out or doubled."""
    value = copy.deepcopy(value)
    *above, key = chance.choice(list(places(value)))
    inside = value
    for step in above:
        inside = inside[step]
    what = chance.random()
    if what < 0.15:
        del inside[key]
    elif what < 0.2 and isinstance(inside, list):
        inside.insert(key, inside[key])
    elif what < 0.4 and type(inside[key]) in (int, float):
        inside[key] = inside[key] + chance.choice((-1, 1, 1000, -1000)) if what < 0.3 else 0
    else:
        inside[key] = chance.choice(_STRANGE)
    return value


def run_of_words(runs: Path, words: str) -> Run:
    """A run from a stranger: title, revision, lab, version and a case's error are these words."""
    case = Case("linux", "mbedtls", "Os", "keygen", 2, 0)
    failing = dataclasses.replace(case, optimisation="O2")
    suite = dataclasses.replace(synthetic.make_suite(), title=words)
    with synthetic.new_writer(runs, [case, failing], suite=suite, git=words, lab=words) as writer:
        synthetic.write_case(writer, case, synthetic.lines(synthetic.make_records(case)))
        writer.case_directory(failing.id)
        writer.complete_case(failing, CaseInputs("boot"), CaseOutcome(error=words))
        run = writer.finish("failed")
    path = run.path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"worldwise": words}))
    return open_run(run.path, runs)


def hostile_run(good: Path, target: Path, chance: random.Random) -> None:
    """A copy of a run with one to three changes; its files' digests, which would tell, are taken out."""
    shutil.copytree(good, target)
    for path in target.rglob("case.json"):
        fields = json.loads(path.read_text())
        fields["files"] = None
        path.write_text(json.dumps(fields))
    found = sorted(path for path in target.rglob("*.json*") if path.is_file())
    for _ in range(chance.randint(1, 3)):
        path = chance.choice([*found, target / "run.json"])
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        if path.suffix == ".jsonl" and chance.random() < 0.3:
            # In every record the same: a clock that stands, counts that are nothing.
            new = chance.choice((0, 1, 2**63 - 1, 10**18))
            keys = chance.choice((("count", "end", "begin"), ("count",), ("index",)))
            records = [json.loads(line) for line in lines]
            for record in records:
                for key in keys:
                    if key in record:
                        record[key] = 0 if key != "count" and len(keys) == 3 else new
                        record[key] = new if key in ("end", "count") and len(keys) == 3 else record[key]
            lines = [json.dumps(record) for record in records]
        else:
            number = chance.randrange(len(lines))
            lines[number] = json.dumps(changed(json.loads(lines[number]), chance))
        path.write_text("".join(f"{line}\n" for line in lines))
