# SPDX-License-Identifier: BSD-2-Clause
"""Figures of all families: which there are, that they show the figures of the tables, that each library has its colour.

No test looks at pixels."""

import hashlib
import struct
from typing import Any

import pytest

from board_reading import board_reading
from pages import traced
from readings import row, row_of
from synthetic import write_run
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import size_text
from worldwise.families.keycache.report.load_tables import hit_rates
from worldwise.families.storage.tables import TABLES
from worldwise.plan.case import parse_case
from worldwise.read.models import Attempt, Reading, Row
from worldwise.read.run_counts import read_run
from worldwise.report.drawing.charts import charts, figures, to_file
from worldwise.report.drawing.counts import by_variant, colours_of
from worldwise.report.drawing.figures import ALL_KINDS, CHART_KINDS, KINDS, Choice, one_plot
from worldwise.report.drawing.flame_graph import COLOURS, kind
from worldwise.report.drawing.library_colours import STYLES, styles
from worldwise.report.drawing.vega import Chart
from worldwise.run.folder.rundir import Run

SIZES = ("0B", "4KiB", "64KiB", "1MiB")
HASHES = [
    parse_case(f"{target}/{variant}/sha256,size={size}", 3, 1)
    for target in ("optee", "linux")
    for variant in ("mbedtls-O2", "mbedtls-ce-O2")
    for size in SIZES
]


@pytest.fixture(scope="module")
def hashing(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    return read_run(write_run(tmp_path_factory.mktemp("runs"), HASHES))


def of_kind(found: list[Chart], kind: str) -> list[Chart]:
    return [chart for chart in found if chart.kind == kind]


def values(chart: Chart) -> list[dict[str, Any]]:
    """Its data."""
    found: list[dict[str, Any]] = chart.spec["data"]["values"]
    return found


def test_the_price_of_the_tee_is_that_of_the_table(reading: Reading) -> None:
    """If this fails, a figure says another price than the report."""
    chart = next(one for one in of_kind(charts(reading), "price") if one.name == "price-attestdiv")
    shown = {(value["what"], value["place"]): value["times"] for value in values(chart)}
    wanted = {
        (f"{row.measure}, {row.variant}", row.place): round(row.against.ratio_to_linux, 4)
        for row in reading.rows
        if row.operation == "attestdiv" and row.place != "linux" and row.against.ratio_to_linux is not None
    }
    assert shown == wanted
    dearest = max(wanted.values())
    assert f"{dearest:.2f} times Linux" in chart.words


def test_a_line_is_the_best_one_through_the_counts_of_all_sizes(hashing: Reading) -> None:
    """If this fails, a figure's fixed cost and cost per byte are not those of its points, or a point is missing."""
    (chart,) = [one for one in of_kind(charts(hashing), "sizes") if "hash" in one.name]
    points = {(one["variant"], one["place"], one["bytes"]): one["median"] for one in values(chart) if "median" in one}
    outermost = {"optee": "client", "linux": "linux"}
    assert points == {
        (row.variant, row.place, row.parameters.removeprefix("size=")): row.median
        for row in hashing.rows
        if row.measure == "hash" and row.place == outermost[row.target] and row.size
    }
    fits = {one["fit"] for one in values(chart) if "fitted" in one}
    assert len(fits) == 4
    # Of synthetic runs a byte costs the same everywhere, so that the line goes through its points.
    lines = [one for one in values(chart) if one["variant"] == "mbedtls-O2" and one["place"] == "linux"]
    (line,) = {one["fit"] for one in lines if "fit" in one}
    fixed, per_byte = (float(part.removesuffix(" per byte").replace(",", "")) for part in line.split(" + "))
    assert fixed + per_byte * 2**20 == pytest.approx(points["mbedtls-O2", "linux", "1MiB"], rel=1e-3)
    # Both axes are logarithmic, so the message of no bytes has no place.
    assert not any(one.get("size") == 0 for one in values(chart))


def access(kind: str, size: int) -> Row:
    """A reading of an object, in a storage or in a plain file."""
    place, operation = ("linux", "file") if kind == "none" else ("client", "storage")
    storage = "" if kind == "none" else f"storage={kind},"
    parameters = f"size={size_text(size)},{storage}action=read"
    case = f"{'linux' if kind == 'none' else 'optee'}/mbedtls-ce-O2/{operation},{parameters}"
    return row(case, operation, place, 1000.0 + size)


def test_storage_has_a_line_for_each_storage() -> None:
    """If this fails, secure storage cannot be compared with a plain file at a glance."""
    rows = tuple(access(kind, size) for kind in ("ree", "rpmb", "none") for size in (32, 4096, 65536))
    charted = TABLES.charts
    assert charted
    (chart,) = charted(Reading.model_construct(rows=rows, attempts=(), unavailable=()))
    assert chart.name == "sizes-storage-read"
    assert {value["storage"] for value in values(chart)} == {"REE FS", "RPMB", "plain file"}
    assert {value["fit"] for value in values(chart) if "fit" in value} == {"1,000 + 1.00 per byte"}


def test_words_compare_whole_calls(reading: Reading) -> None:
    """If this fails, a library is praised for a part of its call, such as a store that never happened."""
    inside = [row for row in reading.rows if row.target == "optee"]
    nested = [
        chart
        for chart in by_variant(inside, colours_of(reading))
        if {value["place"] for value in values(chart)} == {"ta", "client"}
    ]
    assert nested
    for chart in nested:
        assert "at ta" not in chart.words and " at client" in chart.words


def test_hit_rates_are_those_that_the_server_counted() -> None:
    """If this fails, a policy is praised for another's hits."""
    rows, said = [], []
    for policy, hits in (("none", 0), ("lru", 61_250), ("smart", 70_004)):
        case = parse_case(
            f"optee/mbedtls-ce-O2/keycache-zipf,storage=ree,policy={policy},clients=1000,requests=1000,bound=10,"
            "workload=zipf-0.99"
        )
        rows.append(
            row_of(
                {
                    "case": case.id,
                    "operation": case.operation,
                    "parameters": case.parameter_text,
                    "mean": 1e6,
                    "n": 99,
                    "place": "client",
                }
            )
        )
        said += [
            Attempt(case=case.id, operation="", parameters="", what=what, result=result, detail="", at=None)
            for what, result in (("requests", "100000"), ("hits", str(hits)))
        ]
    (chart,) = hit_rates(Reading.model_construct(rows=tuple(rows), attempts=tuple(said)))
    assert {value["policy"]: value["rate"] for value in values(chart)} == {"none": 0, "lru": 61.25, "smart": 70.0}
    assert "policy smart" in chart.words
    # One legend says colour and shape.
    assert chart.svg().count(">policy<") == 1


def test_a_bar_of_layers_is_the_whole_call_in_the_flame_graphs_colours(reading: Reading, whole_run: Run) -> None:
    """If this fails, a bar leaves instructions out, or a colour means something else than in the flame graph."""
    one = traced(whole_run).explanation
    (chart,) = of_kind(charts(reading, [one]), "layers")
    assert sum(value["instructions"] for value in values(chart)) == one.instructions
    for value in values(chart):
        own = sum(
            n
            for stack, n in one.stacks.items()
            if (kind(stack[-1]), stack[-1].layer) == (value["where"], value["layer"])
        )
        assert value["instructions"] == own
    scale = chart.spec["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        name: "rgb({},{},{})".format(*colour) for name, colour in COLOURS.items()
    }


def test_a_library_has_its_colour_in_every_figure(reading: Reading, hashing: Reading) -> None:
    """If this fails, a reader who learnt a colour in one figure, or one run, is misled by the next."""

    def colours(part: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        if isinstance(part, dict):
            if part.get("field") == "library":
                found = dict(zip(part["scale"]["domain"], part["scale"]["range"], strict=True))
            for inner in part.values():
                found |= colours(inner)
        elif isinstance(part, list | tuple):
            for inner in part:
                found |= colours(inner)
        return found

    seen: dict[str, set[str]] = {}
    for each in (reading, hashing, board_reading()):
        for chart in charts(each):
            for name, colour in colours(chart.spec).items():
                seen.setdefault(name, set()).add(colour)
    assert {"mbedtls", "mbedtls-ce", "libtomcrypt", "micro-ecc"} <= set(seen)
    assert all(len(each) == 1 for each in seen.values()), seen
    # Whatever else the run has.
    others = [*STYLES, *(f"mine-{number}" for number in range(28))]
    for name in ("mbedtls", "mbedtls-nist", "mbedtls-ce", "libtomcrypt", "libtomcrypt-ce", "openssl", "openssl-ce"):
        assert styles([name])[name] == styles([name, *others])[name]


def test_what_is_not_there_is_refused_and_what_is_chosen_is_alone(reading: Reading) -> None:
    """If this fails, a typing error gives another figure, or none without a word."""
    found = figures(reading, list, ("variants",), Choice(operations=("attestdiv",)))
    assert {one.name for one in found} == {"variants-attestdiv-sign", "variants-attestdiv-verify"}
    with pytest.raises(WorldwiseError) as caught:
        one_plot(found)
    assert "these are 2: variants-attestdiv-sign" in caught.value.message
    with pytest.raises(WorldwiseError, match="operation 'attestdif' is not in this run"):
        figures(reading, list, (), Choice(operations=("attestdif",)))
    with pytest.raises(WorldwiseError, match="it has nothing for a figure of kind cycles") as caught:
        figures(reading, list, ("cycles",))
    assert "run --predict CORE" in caught.value.hint


def test_a_run_of_boards_has_the_figures_of_boards_alone() -> None:
    """If this fails, `plot` gives each figure of a board twice, once without flash, stack and clock."""
    found = figures(board_reading(), list)
    assert {one.kind for one in found} == set(KINDS)


def test_traces_are_read_only_for_layers(reading: Reading) -> None:
    """If this fails, every call of `plot` reads all traces, which takes seconds each."""

    def asked() -> list[Any]:
        raise AssertionError

    assert not any(one.kind == "layers" for one in figures(reading, asked))
    with pytest.raises(AssertionError):
        figures(reading, asked, ("layers",))


@pytest.mark.parametrize(("width", "pixels"), [("full", 2009), ("column", 1003)])
def test_a_file_is_as_wide_as_asked_and_the_same_each_time(hashing: Reading, width: str, pixels: int) -> None:
    """If this fails, a figure does not fit its column, or a file in a repository changes though nothing did."""
    (chart,) = [one for one in of_kind(charts(hashing), "sizes") if "hash" in one.name]
    png = to_file(chart, hashing, "png", width)
    (found,) = struct.unpack(">I", png[16:20])
    assert found == pytest.approx(pixels, abs=3)
    svg = to_file(chart, hashing, "svg", width)
    assert hashlib.sha256(to_file(chart, hashing, "svg", width)).digest() == hashlib.sha256(svg).digest()
    text = " ".join(svg.decode().split())
    assert "Liberation Sans, Arial" in text
    for words in ("hash against the size", hashing.run.id, "Instructions, counted; medians."):
        assert words in text


def test_the_kinds_are_those_of_the_command() -> None:
    """If this fails, `--kind` offers what nothing draws."""
    assert set(CHART_KINDS) < set(ALL_KINDS)
    assert len(ALL_KINDS) == len(set(ALL_KINDS)) == 10
