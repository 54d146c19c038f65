# SPDX-License-Identifier: BSD-2-Clause
"""The main job, end to end, on the smallest suite."""

import hashlib
import json
from pathlib import Path

import pytest

from machines import Tool, emulators


def test_a_run_and_a_second_one(lone_tool: Tool) -> None:
    """The answer stands there, the report has the rest, and the second time results are taken, one measured again."""
    first = lone_tool.run("run", "quick", "--fresh")
    assert first.returncode == 0, first.stderr
    assert "mbedtls-nist-O2" in first.stdout
    assert len(first.stdout.splitlines()) <= 40
    report = lone_tool.run("report", "latest", "--all")
    assert report.returncode == 0, report.stderr
    for text in ("mbedtls-nist-O2", "Price of the TEE", "Published figures", "empty-invoke"):
        assert text in report.stdout
    second = lone_tool.run("run", "quick")
    assert second.returncode == 0, second.stderr
    assert "3 cases reused" in second.stderr
    assert "measured again as a check: identical" in second.stderr
    assert lone_tool.records(0) == lone_tool.records(1)
    # What is measured and what is reused read the same, but for the run's name and time.
    assert first.stdout.splitlines()[3:] == second.stdout.splitlines()[3:]


def test_verify_measures_twice(tool: Tool) -> None:
    """`--verify` makes two runs and finds no difference."""
    result = tool.run("run", "quick", "--verify", "--samples", "2")
    assert result.returncode == 0, result.stderr
    assert "3 cases measured twice, every record the same" in result.stderr
    assert len(list((tool.directory / "runs").iterdir())) == 2


def test_a_changed_sample_is_found(tool: Tool) -> None:
    """One digit changed in a run's records: the report refuses it by their digest, and by the line that is wrong."""
    assert tool.run("run", "quick", "--operation", "empty-invoke").returncode == 0
    path = next((tool.directory / "runs").rglob("records.jsonl"))
    lines = path.read_text().splitlines()
    sample = json.loads(lines[5])
    lines[5] = lines[5].replace(f'"count":{sample["count"]}', f'"count":{sample["count"] + 1}')
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text("\n".join(lines) + "\n")
    result = tool.run("report")
    assert result.returncode == 1
    assert "records.jsonl" in result.stderr and "another SHA-256" in result.stderr
    # Who changes the digest too is found by the sample that does not add up.
    manifest = path.with_name("case.json")
    text = manifest.read_text()
    assert before in text
    manifest.write_text(text.replace(before, hashlib.sha256(path.read_bytes()).hexdigest()))
    result = tool.run("report")
    assert result.returncode == 1
    assert "records.jsonl:6" in result.stderr


def test_a_changed_stored_result_is_found(lone_tool: Tool) -> None:
    """A stored result that the machine does not give again is found by the check on the way."""
    assert lone_tool.run("run", "quick", "--operation", "empty-invoke", "--samples", "4").returncode == 0
    digest = json.loads(next((lone_tool.directory / "runs").rglob("case.json")).read_text())["digest"]
    stored = lone_tool.cache / "results" / digest[:16]
    records = stored / "records.jsonl"
    original, manifest = records.read_bytes(), (stored / "result.json").read_text()
    lines = original.decode().splitlines()
    sample = json.loads(lines[5])
    for key in ("end", "count"):
        lines[5] = lines[5].replace(f'"{key}":{sample[key]}', f'"{key}":{sample[key] + 1}')
    changed = ("\n".join(lines) + "\n").encode()
    records.write_bytes(changed)
    (stored / "result.json").write_text(
        manifest.replace(hashlib.sha256(original).hexdigest(), hashlib.sha256(changed).hexdigest())
    )
    result = lone_tool.run("run", "quick", "--operation", "empty-invoke", "--samples", "4")
    assert result.returncode == 1, result.stdout
    assert "differs when it is measured again" in result.stderr
    assert "invoke" in result.stderr
    assert f"{sample['count']:,}" in result.stderr


@pytest.mark.parametrize(("limit", "status"), [("5ms@2GHz", 0), ("1ms@2GHz", 3)])
def test_a_budget_decides_the_exit_status(tool: Tool, limit: str, status: int) -> None:
    """The quickest variant signs in 2.4 ms at 2 GHz and one instruction per cycle."""
    result = tool.run("run", "quick", "--budget", limit)
    assert result.returncode == status, result.stderr
    assert "budget" in result.stdout.lower()


def test_every_format(tool: Tool, tmp_path: Path) -> None:
    """JSON, CSV and Markdown of one run say the same counts."""
    assert tool.run("run", "quick").returncode == 0
    reading = json.loads(tool.run("report", "--format", "json").stdout)
    count = next(row for row in reading["rows"] if row["measure"] == "invoke")["median"]
    assert f"{count:g}" in tool.run("report", "--format", "csv").stdout
    target = tmp_path / "table.md"
    assert tool.run("report", "--format", "markdown", "--output", str(target)).returncode == 0
    assert f"{count:,.10g}" in target.read_text()


def test_bad_input_starts_nothing(tool: Tool) -> None:
    """A suite with a wrong key is refused with file and line before anything is started."""
    suite = tool.directory / "mine.toml"
    suite.write_text('format = 1\nname = "mine"\ntitle = "t"\nsample = 3\n')
    before = emulators()
    result = tool.run("run", str(suite))
    assert result.returncode == 1
    assert "mine.toml:4" in result.stderr
    assert "samples" in result.stderr
    assert emulators() == before
    assert not (tool.directory / "runs").exists()
