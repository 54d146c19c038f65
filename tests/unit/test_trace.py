# SPDX-License-Identifier: BSD-2-Clause
"""Traces of the plugin: what adds up is read, what does not is refused with file and line."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from traces import CLIENT, MARK, TraceBuilder, place
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.records.trace import WAYS_OUT, Trace, json_schema, read_trace
from worldwise.records.trace_records import FORMAT, KnownRows
from worldwise.run.traces.trace_cache import with_notes


def small() -> TraceBuilder:
    """Two passes, one inside the other: 30 instructions, of them 20 in the inner one."""
    trace = TraceBuilder()
    client = trace.context(CLIENT)
    region = trace.region(client)
    trace.run(1, region, client, MARK + 8, 1)
    inner = trace.frame(region, "call", client, place(CLIENT, "invoke"), place(CLIENT, "main"))
    trace.run(2, inner, client, place(CLIENT, "invoke"), 4, times=5)
    trace.close(2, inner, 110, parent=1, at=1)
    trace.run(1, region, client, MARK + 16, 9)
    trace.close(1, region, 100)
    trace.end()
    return trace


def read(trace: TraceBuilder, directory: Path, name: str = "trace.jsonl") -> Trace:
    """As it is read from a file."""
    return read_trace(trace.write(directory / name))


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz"])
def test_a_trace_is_read(tmp_path: Path, name: str) -> None:
    """If this fails, kept (packed) and fresh traces are not the same to what reads them."""
    trace = read(small(), tmp_path, name)
    assert (trace.start.mode, trace.start.task_switch) == ("stack", 0x2300)
    assert [(one.id, one.instructions) for one in trace.passes] == [(2, 20), (1, 30)]
    assert (trace.passes[0].begin, trace.passes[0].end) == (110, 130)
    assert trace.frames[2].target == 0x1100
    assert trace.frames[2].site == 0x1000
    assert trace.blocks[2].instructions == 4


def test_an_outer_pass_has_the_rows_of_the_inner_one(tmp_path: Path) -> None:
    """If this fails, what runs inside an inner region has no place in the outer one's sum."""
    trace = read(small(), tmp_path)
    found = {
        one.id: sum(row.times * trace.blocks[row.block].instructions for row in trace.rows(one)) for one in trace.passes
    }
    assert found == {1: 30, 2: 20}
    assert trace.find(110, 130) is trace.passes[0]
    assert trace.find(110, 131) is None


def called_often(trace: TraceBuilder, calls: int) -> TraceBuilder:
    """A pass with so many equal calls in it, and one other; it has a line of counts between two of them."""
    client = trace.context(CLIENT)
    region = trace.region(client)
    inner = trace.frame(region, "call", client, place(CLIENT, "invoke"), place(CLIENT, "main"))
    for number in range(2, calls + 3):
        trace.run(1, region, client, MARK + 8, 3)
        trace.add("taken", **{"pass": 1}, rows=[[1, 1]])
        trace.run(number, inner, client, place(CLIENT, "invoke"), 4, times=5 if number < calls + 2 else 6)
        trace.add("taken", **{"pass": number}, rows=[[2, 1], [2, 3]])
        trace.close(number, inner, 100 * number, parent=1)
    trace.close(1, region, 100)
    trace.end()
    return trace


def test_equal_rows_are_kept_once(tmp_path: Path) -> None:
    """If this fails, own code with 300,000 calls takes minutes and more than a gigabyte, or other calls' counts."""
    trace = read(called_often(TraceBuilder(), 4), tmp_path)
    assert [one.instructions for one in trace.passes] == [20, 20, 20, 20, 24, 4 * 20 + 24 + 5 * 3]
    assert all(trace.own[number] is trace.own[2] for number in (3, 4, 5))
    assert trace.own[6] == [(2, 2, 6)]
    assert trace.own[1] == [(1, 1, 5)]
    assert (trace.taken[1], trace.taken[2], trace.taken[5]) == ({1: 5}, {2: 4}, {2: 4})
    assert not hasattr(trace.passes[0], "__dict__")


def test_rows_in_other_words_are_the_same_rows(tmp_path: Path) -> None:
    """If this fails, a trace that another program has written over is read with what is missing, or refused."""
    path = called_often(TraceBuilder(), 3).write(tmp_path / "plain.jsonl")
    text = path.read_text(encoding="ascii")
    spaced = tmp_path / "spaced.jsonl"
    spaced.write_text(text.replace(',"', ', "').replace('{"', '{ "'), encoding="ascii")
    one, other = read_trace(path), read_trace(spaced)
    assert (one.own, one.taken, one.passes) == (other.own, other.taken, other.passes)
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(text.replace("[[2,1],[2,3]]", "[[2,1],[2,-3]]"), encoding="ascii")
    with pytest.raises(WorldwiseError, match=r"wrong\.jsonl:\d+: not a record of a trace: '1': "):
        read_trace(wrong)


def test_reading_many_calls_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, own code with many calls is read for a minute without a line."""
    monkeypatch.setattr("worldwise.run.traces.trace_cache.SILENT", 0.0)
    monkeypatch.setattr("worldwise.run.traces.trace_cache.MANY", 5)
    monkeypatch.setattr("worldwise.records.trace.EACH", 3)
    said: list[str] = []
    with_notes("app", said.append)(called_often(TraceBuilder(), 4).write(tmp_path / "trace.jsonl"))
    assert [line.rsplit(", in ", 1)[0].rsplit(" in ", 1)[0] for line in said] == [
        "app: read 3 calls so far",
        "app: read 6 calls so far",
        "app: read 6 calls",
    ]


def overlapping(of: tuple[int, ...] = (2, 3)) -> TraceBuilder:
    """Two threads in calls: 20 instructions in the first one's call alone, 8 in both, 4 in the other's alone."""
    trace = TraceBuilder()
    client = trace.context(CLIENT)
    region = trace.region(client)
    call = trace.frame(region, "call", client, place(CLIENT, "invoke"), place(CLIENT, "main"))
    for number, times in ((2, 5), (4, 2), (3, 1)):
        trace.run(number, call, client, place(CLIENT, "invoke"), 4, times=times)
    trace.add("shared", id=4, of=list(of))
    trace.close(2, call, 100, parent=1, instructions=28, end=128)
    trace.close(3, call, 120, parent=1, instructions=12, end=132)
    trace.close(1, region, 100, instructions=32, end=132)
    trace.end()
    return trace


def test_what_two_threads_share_is_in_both_and_once_around_them(tmp_path: Path) -> None:
    """If this fails, a call of a thread lacks what was executed in it, or what is around both has that twice."""
    trace = read(overlapping(), tmp_path)
    found = {
        one.id: sum(row.times * trace.blocks[row.block].instructions for row in trace.rows(one)) for one in trace.passes
    }
    assert found == {1: 32, 2: 28, 3: 12}
    assert [sorted(trace.with_inner(one)) for one in trace.passes] == [[2, 4], [3, 4], [1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ((2, 2), "the blocks of pass 3 have 4 instructions, the plugin counted 12"),
        ((2, 7), "7 is shared, but not between passes"),
        ((2,), "not a record of a trace"),
    ],
)
def test_what_is_shared_with_nobody_is_refused(tmp_path: Path, of: tuple[int, ...], said: str) -> None:
    with pytest.raises(WorldwiseError, match=said):
        read(overlapping(of), tmp_path)


def spoil(change: Callable[[TraceBuilder], object]) -> TraceBuilder:
    """The small trace, changed."""
    trace = small()
    change(trace)
    return trace


def _twice(trace: TraceBuilder) -> None:
    trace.records.insert(3, trace.records[0])


def _stretches(trace: TraceBuilder, rows: list[list[int]], masked: int | None = None) -> None:
    """The outer pass has stretches with interrupts masked."""
    (outer,) = [one for one in trace.records if one["type"] == "pass" and one["id"] == 1]
    outer.update(masked=sum(row[1] for row in rows) if masked is None else masked, stretches=rows)


LARGE = '"pass":1' + "0" * 20


@pytest.mark.parametrize("kind", ["counts", "taken"])
@pytest.mark.parametrize("head", ['"pass":01', '"pass":-1', '"pass":1.0', '"pass":true', LARGE, '"x":1,"pass":1'])
def test_rows_that_were_right_once_make_no_wrong_line_right(kind: str, head: str) -> None:
    """If this fails, a hostile trace gets a line past all checks behind an equal one."""
    rows = "[[2,2,5]]" if kind == "counts" else "[[2,5]]"
    reader = KnownRows()

    def read(head: str, by: KnownRows = reader) -> tuple[int, list[Any]] | None:
        try:
            found = getattr(by, kind)(f'{{"type":"{kind}",{head},"rows":{rows}}}\n'.encode())
        except ValidationError:
            return None
        return found.pass_, found.rows

    for number in (1, 7):
        found = read(f'"pass":{number}')
        assert found and found[0] == number
    # A line of taken branches may have a number that large; no pass has it.
    assert read(head) == read(head, KnownRows())
    assert read(head) is None or (kind, head) == ("taken", LARGE)


BROKEN: dict[str, tuple[Callable[[TraceBuilder], object], str]] = {
    "cut off": (lambda t: t.records.pop(), r"{file}: the trace is cut off"),
    "no beginning": (lambda t: t.records.pop(0), r"{file}:1: a 'context' where none may stand"),
    "second start": (_twice, r"{file}:4: a 'start' where none may stand"),
    "after the end": (lambda t: t.end(), r"{file}:14: a 'end' where none may stand"),
    "unknown type": (lambda t: t.records[2].update(type="frames"), r"{file}:3: not a record of a trace"),
    "unknown key": (lambda t: t.records[2].update(colour="red"), r"{file}:3: not a record of a trace: colour"),
    "negative": (lambda t: t.records[2].update(id=-1), r"{file}:3: not a record of a trace: id"),
    "other format": (lambda t: t.records[0].update(format=2), r"{file}:1: not a record of a trace: format"),
    "no address": (lambda t: t.records[2].update(site="here"), r"{file}:3: not a record of a trace: .*site"),
    "counts without rows": (lambda t: t.records[4].pop("rows"), r"{file}:5: not a record of a trace: 'rows'"),
    "a problem": (
        lambda t: t.records[-1].update(problem="a mark crosses a page", problem_at="0x1ffc"),
        r"{file}: .*cannot be trusted: a mark crosses a page, at 0x1ffc",
    ),
    "too many at once": (
        lambda t: t.records[-1].update(
            problem="calls that are regions stand in one another too deeply", problem_at="0x1ffc"
        ),
        r"^calls that are regions stand in one another too deeply, at 0x1ffc\.$",
    ),
    "too few counted": (
        lambda t: t.records[7].update(rows=[[2, 2, 4]]),
        r"{file}: the blocks of pass 2 have 16 instructions, the plugin counted 20",
    ),
    "half a row": (lambda t: t.records[7].update(rows=[[2, 2]]), r"{file}:8: not a record of a trace"),
    "a frame that is not there": (
        lambda t: t.records[7].update(rows=[[7, 2, 5]]),
        r"{file}: pass 2 names frame 7, and it does not exist",
    ),
    "a block that is not there": (
        lambda t: t.records[7].update(rows=[[2, 9, 5]]),
        r"{file}: pass 2 names block 9, and it does not exist",
    ),
    "stretches that overlap": (
        lambda t: _stretches(t, [[0, 9, 1, 4096, 1, 4096], [8, 9, 1, 4096, 1, 4096]]),
        r"{file}: stretches of pass 1 overlap, or go on behind it",
    ),
    "a stretch behind the pass": (
        lambda t: _stretches(t, [[20, 11, 1, 4096, 1, 4096]]),
        r"{file}: stretches of pass 1 overlap, or go on behind it",
    ),
    "stretches longer than all that is masked": (
        lambda t: _stretches(t, [[0, 9, 1, 4096, 1, 4096]], 8),
        r"{file}: pass 1 has 30 instructions, 8 of them masked, and its stretches have 9",
    ),
    "more masked than there is": (
        lambda t: _stretches(t, [], 31),
        r"{file}: pass 1 has 30 instructions, 31 of them masked, and its stretches have 0",
    ),
    "a stretch on a frame that is not there": (
        lambda t: _stretches(t, [[0, 9, 1, 4096, 7, 4096]]),
        r"{file}: pass 1 names frame 7, and it does not exist",
    ),
}


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz"])
@pytest.mark.parametrize("what", BROKEN)
def test_what_does_not_add_up_is_refused(tmp_path: Path, what: str, name: str) -> None:
    """If this fails, instructions get owners from a trace that is not whole."""
    change, message = BROKEN[what]
    with pytest.raises(WorldwiseError, match=message.format(file=tmp_path / name)):
        read(spoil(change), tmp_path, name)


@pytest.mark.parametrize("line", [b"{", b"[]", b"\xff\xfe", b'{"type":"counts"', b'{"type":"counts","pass":1}'])
def test_what_is_no_record_is_refused(tmp_path: Path, line: bytes) -> None:
    """If this fails, a damaged file is a traceback."""
    path = small().write(tmp_path / "trace.jsonl")
    lines = path.read_bytes().splitlines()
    lines[5] = line
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(WorldwiseError, match=f"{path}:6: not a record of a trace"):
        read_trace(path)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """If this fails, a missing or damaged file is a traceback."""
    with pytest.raises(WorldwiseError, match=r"none\.jsonl: cannot be read"):
        read_trace(tmp_path / "none.jsonl")
    (tmp_path / "plain.gz").write_text("{}\n", encoding="ascii")
    with pytest.raises(WorldwiseError, match=r"plain\.gz: cannot be read"):
        read_trace(tmp_path / "plain.gz")
    packed = gzip.compress(small().text().encode())
    (tmp_path / "half.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(WorldwiseError, match=r"half\.gz:\d+: not a record of a trace"):
        read_trace(tmp_path / "half.gz")


def test_mode_count_has_no_blocks_to_add_up(tmp_path: Path) -> None:
    """If this fails, a trace of counts alone is refused."""
    trace = TraceBuilder("count")
    client = trace.context(CLIENT)
    trace.close(1, trace.region(client), 100, instructions=40, end=140)
    trace.end()
    assert [one.instructions for one in read(trace, tmp_path).passes] == [40]


def test_there_is_a_schema() -> None:
    """If this fails, other tools cannot know what a trace has."""
    assert FORMAT == 1
    assert "witness" in str(json_schema())


def test_the_plugin_says_what_has_a_way_out() -> None:
    """If this fails, the plugin was reworded, and what it cannot do is called a defect."""
    said = "".join(path.read_text(encoding="utf-8") for path in sorted(paths.PLUGIN.glob("*/*.c")))
    assert [problem for problem in WAYS_OUT if f'trace_give_up("{problem}"' not in said] == []
