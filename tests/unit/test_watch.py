# SPDX-License-Identifier: BSD-2-Clause
"""What the plugin is told of functions, and what is kept of a watched run."""

import gzip
import json
import struct
from pathlib import Path

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.machine.machine import RECORDS, TRACE
from worldwise.machine.plugin import FlatPlugin, Plugin
from worldwise.machine.symbols import ranges
from worldwise.machine.symbols.names import Function
from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.machine.symbols.table import SymbolTable
from worldwise.plan.case import Case, parse_case
from worldwise.records import trace
from worldwise.records.trace import read_trace
from worldwise.run.traces import trace_cache as kept_traces
from worldwise.run.traces import watch

MEASURED, OTHER = Level("normal", 0, "optee-client"), Level("normal", 0, "init")
CASE = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 3, 1)


def table(image: str, *ranges: tuple[int, int]) -> SymbolTable:
    """An image with functions from start to end."""
    return SymbolTable(image, [Function(f"f{start:x}", start, end - start) for start, end in ranges])


def put(space: AddressSpace, context: Level, image: SymbolTable, bias: int = 0) -> None:
    """Map a whole image."""
    low, high = image.bounds
    space.map(context, low + bias, high + bias, bias, image)


def test_functions_are_in_order_and_at_their_places() -> None:
    """If this fails, the plugin takes an address for another function's."""
    space = AddressSpace()
    put(space, Level("secure", 1), table("tee", (0x5000, 0x5100), (0x5100, 0x5180)))
    put(space, MEASURED, table("client", (0x100, 0x140)), 0x1000)
    assert ranges.function_ranges(space, "optee-client") == [(0x1100, 0x1140), (0x5000, 0x5100), (0x5100, 0x5180)]


def test_what_is_two_things_at_one_address_is_left_out() -> None:
    """If this fails, calls of another process are taken for those of the measured one."""
    space = AddressSpace()
    put(space, MEASURED, table("client", (0x1000, 0x1100), (0x1100, 0x1200), (0x1200, 0x1300), (0x1300, 0x1400)))
    # The same function, one that overlaps two, and one beyond.
    put(space, OTHER, table("init", (0x1000, 0x1100), (0x11F0, 0x1210), (0x9000, 0x9100)))
    assert ranges.function_ranges(space, "optee-client") == [(0x1000, 0x1100), (0x1300, 0x1400)]
    assert ranges.function_ranges(space, "init") == [(0x1000, 0x1100), (0x9000, 0x9100)]


def test_maps_that_overlap_are_refused() -> None:
    """If this fails, the plugin searches a list that is in no order."""
    space = AddressSpace()
    put(space, MEASURED, table("client", (0x1000, 0x1100)))
    put(space, Level("normal", 1), table("linux", (0x1080, 0x1180)))
    with pytest.raises(WorldwiseError, match=r"two functions are at one address, 0x1080"):
        ranges.function_ranges(space, "optee-client")


def test_ranges_are_merged() -> None:
    """If this fails, what another process has there is not found."""
    assert ranges.merged([]) == []
    assert ranges.merged([(5, 9), (1, 3), (3, 4), (6, 7), (20, 21)]) == [(1, 4), (5, 9), (20, 21)]
    merged = ranges.merged([(10, 20), (30, 40)])
    assert [ranges.meets(merged, one) for one in ((0, 10), (0, 11), (19, 25), (20, 30), (39, 50), (40, 41))] == [
        False,
        True,
        True,
        False,
        True,
        False,
    ]


def test_ranges_are_packed_for_the_plugin() -> None:
    """If this fails, the plugin reads other addresses."""
    packed = ranges.pack_ranges([(0x1000, 0x1100), (0xFFFF800080000000, 0xFFFF800080000010)])
    assert struct.unpack("<4Q", packed) == (0x1000, 0x1100, 0xFFFF800080000000, 0xFFFF800080000010)
    assert ranges.pack_ranges([]) == b""


def test_the_plugin_is_given_its_arguments(tmp_path: Path) -> None:
    """If this fails, the plugin writes elsewhere or finds no functions."""
    plain = Plugin(tmp_path / "worldwise.so", {"mode": "count"})
    assert plain.option() == f"/plugin/worldwise.so,mode=count,out=/run/{TRACE}"
    assert len(plain.binds()) == 1
    full = Plugin(tmp_path / "worldwise.so", {"mode": "stack"}, tmp_path / "functions")
    assert full.option().endswith(",functions=/plugin/functions")
    assert (tmp_path / "functions", "/plugin/functions", "ro") in full.binds()
    flat = FlatPlugin(tmp_path / "flat.so", {"mode": "stack"}, None, (tmp_path / "core-0",), (0x80,))
    assert flat.option() == f"/plugin/flat.so,mode=stack,out=/run/{TRACE},core=/plugin/core-0,call=0x80"
    assert (tmp_path / "core-0", "/plugin/core-0", "ro") in flat.binds()


def keep(directory: Path) -> Path:
    """A watched run as it is kept."""
    directory.mkdir()
    (directory / TRACE).write_text('{"type":"end"}\n', encoding="ascii")
    (directory / RECORDS).write_text("{}\n", encoding="ascii")
    kept_traces.keep_trace(directory, "d" * 64, False)
    return directory


def test_a_kept_run_is_whole_or_not_used(tmp_path: Path) -> None:
    """If this fails, a damaged trace is explained."""
    kept = keep(tmp_path / "kept")
    assert sorted(path.name for path in kept.iterdir()) == [RECORDS, f"{TRACE}.gz", "watched.json"]
    assert gzip.decompress((kept / f"{TRACE}.gz").read_bytes()) == b'{"type":"end"}\n'
    assert kept_traces.is_whole(kept, "d" * 64)
    assert not kept_traces.is_whole(kept, "e" * 64)
    assert not kept_traces.is_whole(tmp_path / "none", "d" * 64)
    (kept / RECORDS).write_text("{ }\n", encoding="ascii")
    assert not kept_traces.is_whole(kept, "d" * 64)


@pytest.mark.parametrize("content", ["", "[]", "{}", json.dumps({"digest": "d" * 64})])
def test_a_damaged_manifest_is_no_manifest(tmp_path: Path, content: str) -> None:
    """If this fails, a damaged cache is a traceback."""
    kept = keep(tmp_path / "kept")
    (kept / "watched.json").write_text(content, encoding="ascii")
    assert not kept_traces.is_whole(kept, "d" * 64)


def test_the_same_trace_is_kept_in_the_same_bytes(tmp_path: Path) -> None:
    """If this fails, a date is in the cache."""
    first, second = (keep(tmp_path / name) / f"{TRACE}.gz" for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    # Where gzip has the date (RFC 1952).
    assert first.read_bytes()[4:8] == bytes(4)


def test_a_trace_that_cannot_be_read_for_its_size_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the cache keeps its largest traces, which nobody can read."""
    ran = []

    def run(work: Path) -> Path:
        ran.append(work)
        return keep(work / "run")

    def kept() -> None:
        kept_traces.kept_trace(tmp_path, "d" * 64, run, read_trace, watch.too_large(CASE, 1, of_run=False))

    monkeypatch.setattr(trace, "MOST_BYTES", 10)
    for _ in range(2):
        with pytest.raises(
            WorldwiseError,
            match=r"empty-invoke: its trace is too large .* not kept: it has more than 10 bytes, unpacked",
        ) as refused:
            kept()
        assert "--samples" in refused.value.hint
        assert not list((tmp_path / "traces").glob("[!.]*"))
    assert len(ran) == 2
    # One that is packed too large.
    monkeypatch.setattr(trace, "MOST_PACKED", 10)
    with pytest.raises(WorldwiseError, match=r"not kept: it has more than 10 bytes of a file"):
        kept()
    # One that is wrong otherwise stays, for whoever looks for the reason.
    monkeypatch.undo()
    with pytest.raises(WorldwiseError, match=r"passes: Field required"):
        kept()
    assert (tmp_path / "traces" / ("d" * 16) / "watched.json").exists()


def test_the_way_out_of_a_trace_that_is_too_large_is_one_that_there_is() -> None:
    """If this fails, who explains a case with many calls and a core is told to do what he has done."""
    large = "optee/mbedtls-ce-O2/storage,size=64KiB,storage=rpmb,action=create"
    case = parse_case(large, samples=3, warmup=1)
    assert watch.too_large(case, 2, of_run=False).hint == (
        "fewer than 5 calls: --samples 1 --warmup 0; one --core at a time; a smaller size"
    )
    assert watch.too_large(case, 1, of_run=True).hint.startswith(
        f"name the case in place of the run, and fewer calls: {case.id} --samples 1 --warmup 0; without --core"
    )
    few = parse_case("optee/mbedtls-nist-O2/empty-invoke", samples=1, warmup=0)
    assert watch.too_large(few, 0, of_run=False).hint == "measure less in a call"


def test_records_must_be_the_same(tmp_path: Path) -> None:
    """If this fails, a plugin that changes a count is not noticed."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"1")
    second.write_bytes(b"1")
    watch.require_same(first, second, CASE)
    second.write_bytes(b"2")
    with pytest.raises(WorldwiseError, match=r"under the plugin the records are not those of the run"):
        watch.require_same(first, second, CASE)
