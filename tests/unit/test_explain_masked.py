# SPDX-License-Identifier: BSD-2-Clause
"""Where the normal world could not take an interrupt: read from a trace, and shown."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from test_explain import whole_call

from pages import page_of
from traces import CASE, CLIENT, CORE, LINUX, MARK, MONITOR, PROCESS, TraceBuilder, address_space, checked, place
from traces import samples_of as samples
from worldwise.base.tables import Section
from worldwise.explain.explanation import Explanation
from worldwise.explain.layers import load_rules
from worldwise.explain.masked_interrupts import Masked, Worst
from worldwise.explain.owners import Explainer
from worldwise.records.trace import read_trace
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.explaining import masked_interrupts as masked_report
from worldwise.report.page.content import Traced
from worldwise.run.folder.rundir import Run

# In the whole call: the monitor and the core's vector, 7 + 4 instructions from 40 on; and Linux's vector, 3 from 30 on.
STRETCHES = [
    [40, 11, 5, place(MONITOR, "smc_handler"), 6, place(CORE, "thread_vector_table", 12)],
    [30, 3, 3, place(LINUX, "vectors"), 3, place(LINUX, "vectors", 8)],
]


def explainer_of(trace: TraceBuilder, spans: Sequence[tuple[int, int]], directory: Path) -> Explainer:
    """An explainer with the tool's rules."""
    trace.end()
    read = read_trace(trace.write(directory / "trace.jsonl"))
    return Explainer(CASE, checked(samples(spans)), read, address_space(), load_rules(), PROCESS)


def whole(directory: Path, **fields: object) -> Explanation:
    """The whole call, with fields of its pass changed."""
    trace = whole_call()
    trace.records[-1].update(fields)
    explainer = explainer_of(trace, [(1000, 1061)], directory)
    return explainer.explain(explainer.sample("invoke", "client"))


def names(stack: Sequence[object]) -> list[str]:
    return [str(frame).partition(" ")[0] for frame in stack]


def told(section: Section) -> str:
    return " ".join(section.notes)


def test_a_stretch_has_both_its_stacks(tmp_path: Path) -> None:
    """If this fails, the wrong function is blamed for the longest stretch."""
    masked = whole(tmp_path, masked=14, stretches=STRETCHES).masked
    assert masked
    assert masked.longest == masked.stretches[0]
    assert [(one.at, one.instructions) for one in masked.stretches] == [(40, 11), (30, 3)]
    longest, other = masked.stretches
    normal = ["main", "invoke", "el0_svc", "__arm_smccc_smc"]
    assert names(longest.begin) == [*normal, "smc_handler"]
    assert names(longest.end) == [*normal, "thread_vector_table"]
    assert names(longest.shared) == normal
    # It begins and ends in one function, whose stack is the same.
    assert names(other.begin) == names(other.end) == names(other.shared) == ["main", "invoke", "vectors"]
    assert masked.worst == Worst(11, "sample", 0, 1, 1)


def test_an_inner_pass_has_the_stacks_from_its_own_function(tmp_path: Path) -> None:
    """If this fails, the stacks of a stretch are not those of the tables above it."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    inner = trace.frame(region, "call", ids.client, place(CLIENT, "invoke"), place(CLIENT, "main"))
    entry = trace.frame(inner, "exception", ids.linux, place(LINUX, "vectors"), place(CLIENT, "invoke"))
    trace.run(2, entry, ids.linux, place(LINUX, "vectors"), 6)
    row = [0, 4, entry, place(LINUX, "vectors"), entry, place(LINUX, "vectors")]
    trace.close(2, inner, 1010, parent=1, masked=4, stretches=[row])
    trace.run(1, region, ids.client, MARK + 8, 10)
    trace.close(1, region, 1000, masked=4, stretches=[row])
    explainer = explainer_of(trace, [(1000, 1016), (1010, 1016)], tmp_path)
    outer, within = (explainer.explain(one).masked for one in explainer.records.samples["invoke", "client"])
    assert outer
    assert within
    assert names(outer.stretches[0].begin) == ["main", "invoke", "vectors"]
    assert names(within.stretches[0].begin) == ["invoke", "vectors"]


def test_the_call_with_the_longest_is_named(tmp_path: Path) -> None:
    """If this fails, the median call hides a worse one."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    for number, length in enumerate([9, 20, 5, 20, 7], 1):
        trace.run(number, region, ids.client, MARK + 8, 50)
        row = [3, length, region, MARK, region, MARK]
        trace.close(number, region, 1000 * number, masked=length, stretches=[row])
    explainer = explainer_of(trace, [(1000 * n, 1000 * n + 50) for n in range(1, 6)], tmp_path)
    one = explainer.explain(explainer.sample("invoke", "client", 2))
    assert one.masked
    assert one.masked.longest
    assert one.masked.longest.instructions == 5
    assert one.masked.worst == Worst(20, "sample", 1, 2, 5)
    text = told(masked_report.section(one, one.masked))
    assert "followed: 5; the longest stretch of all has 20 instructions, in sample 1 and 1 more." in text


def test_all_calls_alike(tmp_path: Path) -> None:
    """One call, or many with one as long."""
    one = whole(tmp_path, masked=14, stretches=STRETCHES)
    assert one.masked
    assert "followed: 1; the longest stretch of all has 11 instructions, in each of them." in told(
        masked_report.section(one, one.masked)
    )


def test_passes_of_a_sample_stand_behind_one_another(tmp_path: Path) -> None:
    """A hash in pieces: the second pass's stretch is as far behind the first's begin as both are executed."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    for number, (begin, length) in enumerate([(1000, 4), (1100, 8)], 1):
        trace.run(number, region, ids.client, MARK + 8, 30)
        trace.close(number, region, begin, masked=length, stretches=[[2, length, region, MARK, region, MARK]])
    (sample,) = samples([(1000, 1130)])
    sample = sample.model_copy(update={"spans": 2, "busy": 60, "count": 50})
    trace.end()
    read = read_trace(trace.write(tmp_path / "trace.jsonl"))
    explainer = Explainer(CASE, checked([sample]), read, address_space(), load_rules(), PROCESS)
    masked = explainer.explain(sample).masked
    assert masked
    assert masked.instructions == 12
    assert [(one.at, one.instructions) for one in masked.stretches] == [(32, 8), (2, 4)]


def test_a_page_has_a_line_for_each_region(tmp_path: Path, whole_run: Run) -> None:
    """If this fails, a report on a page has no masked interrupts, or others than `explain` prints."""
    long = whole(tmp_path, masked=14, stretches=STRETCHES)
    short = replace(whole(tmp_path, masked=3, stretches=STRETCHES[1:]), measure="other")
    never = replace(whole(tmp_path, masked=0, stretches=[]), measure="never")
    found = masked_report.overview([never, short, replace(short, masked=None), long])
    assert found
    assert found.table
    assert [row[1:6] for row in found.table.rows] == [
        ["invoke", "client", "23.0", "11", "40"],
        ["other", "client", "4.9", "3", "30"],
        ["never", "client", "0.0", "0", "-"],
    ]
    assert long.masked
    own = masked_report.section(long, long.masked)
    assert own.table
    assert found.table.rows[0][4:] == own.table.rows[0]
    assert masked_report.overview([replace(short, masked=None)]) is None
    parts = explain_report.sections(long, load_rules(), 5, path=False)
    page = page_of(whole_run, Traced(long, parts, ""))
    assert f"<h3>{masked_report.OVERVIEW_TITLE}</h3>" in page
    assert f"<h4>{masked_report.TITLE}</h4>" in page
    assert page.count("thread_vector_table") >= 2
    assert masked_report.OVERVIEW_TITLE not in page_of(whole_run)


def test_nothing_is_said_where_nobody_looked(tmp_path: Path) -> None:
    """A trace of another plugin, or of an older one: silence, not `never`."""
    one = whole(tmp_path)
    assert one.masked is None
    assert "masked" not in explain_report.to_json(one, load_rules())
    assert all("masked" not in part.title for part in explain_report.sections(one, load_rules(), 5, path=False))


def test_never(tmp_path: Path) -> None:
    """A region in which an interrupt could always be taken."""
    one = whole(tmp_path, masked=0, stretches=[])
    assert one.masked == Masked(0, [], Worst(0, "sample", 0, 1, 1))
    assert masked_report.line(one, one.masked).startswith("Interrupts masked: never")
    section = masked_report.section(one, one.masked)
    assert section.table is None
    assert "0 of 61 instructions (0.0 %)" in told(section)


@pytest.mark.parametrize("measures", [1, 2])
def test_the_first_screen_has_a_line(tmp_path: Path, measures: int) -> None:
    """Of one region, or of several the one that has the longest."""
    one = whole(tmp_path, masked=14, stretches=STRETCHES)
    parts = explain_report.first_sections([(one, ())] * measures, load_rules(), 7, 5, "More.")
    notes = "\n".join(note for part in parts for note in part.notes)
    line = (
        "Interrupts masked: 23.0 %; observed worst 11 instructions in a row, from smc_handler (bl31) to "
        "thread_vector_table (tee), within __arm_smccc_smc (linux)"
    )
    assert (line if measures == 1 else f"invoke at client: {line}") in notes


def test_the_section_and_the_data_agree(tmp_path: Path) -> None:
    """A row for each stretch, the stacks of the longest, and the same for programs."""
    one = whole(tmp_path, masked=14, stretches=STRETCHES)
    (section,) = [part for part in explain_report.sections(one, load_rules(), 5, path=False) if "masked" in part.title]
    assert section.table
    assert [row[:3] for row in section.table.rows] == [
        ["11", "40", "smc_handler (bl31)"],
        ["3", "30", "vectors (linux)"],
    ]
    assert [row[-1] for row in section.table.rows] == ["__arm_smccc_smc (linux)", "vectors (linux)"]
    text = told(section)
    assert "14 of 61 instructions (23.0 %)" in text
    assert "ends: thread_vector_table (tee)" in text
    data = json.loads(explain_report.dump(explain_report.to_json(one, load_rules())))["masked"]
    assert data["instructions"] == 14
    assert [(row["at"], row["instructions"]) for row in data["stretches"]] == [(40, 11), (30, 3)]
    assert data["stretches"][0]["end"][-1] == {"function": "thread_vector_table", "image": "tee"}
    assert data["worst_call"] == {"instructions": 11, "phase": "sample", "index": 0, "alike": 1, "calls": 1}
