# SPDX-License-Identifier: BSD-2-Clause
"""Figures: which there are, what stands in them, that they are the same each time. No test looks at pixels."""

import hashlib
import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

import pytest

from board_reading import BOARDS, add_library, board_reading, board_row
from worldwise.base.errors import WorldwiseError
from worldwise.families.portable.panels import compact, pareto_front
from worldwise.read.family_fields import Footprint
from worldwise.read.models import Reading
from worldwise.report.drawing import vega
from worldwise.report.drawing.charts import plots, to_file
from worldwise.report.drawing.figures import KINDS, WIDTHS, Choice, Kind, one_plot
from worldwise.report.drawing.library_colours import STYLES, outline, styles
from worldwise.report.drawing.vega import Chart


def only(reading: Reading, kind: Kind, **choice: Any) -> Chart:
    return one_plot(plots(reading, (kind,), Choice(**choice)))


def elements(chart: Chart, reading: Reading, width: str = "full") -> list[ElementTree.Element]:
    """What an SVG file has."""
    return list(ElementTree.fromstring(to_file(chart, reading, "svg", width)).iter())


def texts(chart: Chart, reading: Reading) -> list[str]:
    """Every text that is drawn; a line of a text of several for itself."""
    return [each.text for each in elements(chart, reading) if each.text and each.text.strip()]


def values(panel: Any, number: int = 0) -> list[dict[str, Any]]:
    """What a panel shows, or a layer of it that has its own."""
    data = panel.get("data") or panel["layer"][number]["data"]
    found: list[dict[str, Any]] = data["values"]
    return found


def names(found: Iterable[Chart]) -> list[str]:
    return [plot.name for plot in found]


def test_a_run_gives_these_figures(two_boards: Reading) -> None:
    """If this fails, a figure is missing, or a file is named otherwise than the documents say."""
    found = names(plots(two_boards))
    for board in BOARDS:
        for page in ("signatures", "keys", "symmetric"):
            assert {f"time-{board}-{page}", f"stack-{board}-{page}"} <= set(found)
        for operation in ("keygen", "sign", "verify", "ecdh", "symmetric"):
            assert f"pareto-{board}-{operation}" in found
    assert [name for name in found if name.startswith("boards")] == [
        f"boards-{operation}" for operation in ("keygen", "sign", "verify", "ecdh", "symmetric")
    ]
    assert len(found) == len(set(found))


def test_time_names_library_curve_count_unit_and_run(two_boards: Reading) -> None:
    """If this fails, a figure torn from its page does not say what it is."""
    plot = only(two_boards, "time", boards=("nucleo-f446re",), operations=("sign",))
    shown = texts(plot, two_boards)
    for text in (
        "Time: nucleo-f446re, ST Nucleo-F446RE (Cortex-M4)",
        "sign 32B",
        "secp256r1",
        "secp112r1: not available",
        "p256-cortex-m4",
        "480k",
        "51.0M",
        "instructions (log axis)",
        "ms at 180 MHz, one instruction per cycle",
    ):
        assert text in shown, text
    svg = elements(plot, two_boards)[0]
    words = "8 libraries, from 480k to 51.0M instructions a call."
    assert words in shown and svg.attrib["aria-label"] == f"{plot.title}. {words}"
    footer = " ".join(" ".join(shown).split())
    for part in (
        f"Run {two_boards.run.id}",
        "lab aaaaaaaaaaaaaaaa",
        "-O2",
        "Instructions, counted",
        "it is not measured",
    ):
        assert part in footer


def test_groups_of_bars_go_by_curve_then_by_count(two_boards: Reading) -> None:
    """If this fails, the order of the bars is an accident."""
    plot = only(two_boards, "time", boards=("nucleo-f446re",), operations=("sign",), curves=("secp256r1", "ed25519"))
    assert [(row.curve, row.implementation) for row in plot.rows] == [
        ("secp256r1", "p256-cortex-m4"),
        ("secp256r1", "bearssl"),
        ("secp256r1", "mbedtls36"),
        ("secp256r1", "micro-ecc"),
        ("secp256r1", "wolfssl"),
        ("secp256r1", "p256-m"),
        ("ed25519", "monocypher"),
        ("ed25519", "wolfssl"),
        ("ed25519", "wolfssl-small"),
    ]
    assert {row.size for row in plot.rows} == {32}
    assert {row.optimisation for row in plot.rows} == {"O2"}


def test_a_narrow_range_has_a_linear_axis_from_zero() -> None:
    """If this fails, bars of nearly the same length are told apart by an axis that begins anywhere."""
    few = board_reading([board_row(median=1_000_000), board_row(library="wolfssl", median=2_000_000)])
    (panel,) = only(few, "time").spec["concat"]
    bars = panel["layer"][0]["layer"][0]["encoding"]["x"]
    assert (bars["scale"]["type"], bars["scale"]["domain"][0]) == ("linear", 0)
    assert [(bar["from"], bar["to"]) for bar in values(panel)] == [(0, 1_000_000), (0, 2_000_000)]


def test_stack_shows_heap_beside(two_boards: Reading) -> None:
    """If this fails, a library that allocates looks frugal."""
    plot = only(two_boards, "stack", boards=("nucleo-f446re",), operations=("sign",), curves=("secp256r1",))
    shown = texts(plot, two_boards)
    assert "744" in shown
    assert "1,384 + 4,460" in shown
    assert "bytes: stack, + heap (pale)" in shown
    assert not any("nstructions" in text for text in shown)


def test_the_pareto_front() -> None:
    """If this fails, a library that is beaten in both is praised, or the best is not."""
    assert pareto_front([(3, 3), (1, 9), (2, 9), (4, 4), (5, 1), (5, 1), (5, 2)]) == [(1, 9), (3, 3), (5, 1)]
    assert pareto_front([]) == []


def test_flash_against_time_shows_both_optimisations(two_boards: Reading) -> None:
    """If this fails, what -Os saves in flash and costs in time cannot be seen."""
    plot = only(two_boards, "pareto", boards=("nucleo-f446re",), operations=("sign",))
    assert {row.optimisation for row in plot.rows} == {"Os", "O2"}
    shown = texts(plot, two_boards)
    for text in ("filled: -O2", "half filled: -Os", "Pareto front", "flash, KiB", "instructions", "ed25519", "bearssl"):
        assert text in shown, text
    only_small = only(two_boards, "pareto", boards=("nucleo-f446re",), operations=("sign",), optimisation="Os")
    assert {row.optimisation for row in only_small.rows} == {"Os"}
    assert "half filled: -Os" not in texts(only_small, two_boards)


def test_boards_side_by_side(two_boards: Reading) -> None:
    """If this fails, boards are not compared, or not in the order of their cores."""
    plot = only(two_boards, "boards", operations=("sign",), curves=("secp256r1",))
    shown = texts(plot, two_boards)
    assert shown.index("nucleo-f103rb (M3)") < shown.index("nucleo-f446re (M4)")
    # One of the libraries is not made for a Cortex-M3: its line has one point.
    (panel,) = plot.spec["concat"]
    points = [(value["look"], value["median"] is not None) for value in values(panel)]
    assert len(points) == 12
    assert [look for look, there in points if not there] == ["p256-cortex-m4"]
    with pytest.raises(WorldwiseError, match="needs at least two"):
        plots(two_boards, ("boards",), Choice(boards=("nucleo-f446re",)))


def test_every_library_of_ours_has_its_own_look() -> None:
    """If this fails, two libraries cannot be told apart."""
    for part in ("colour", "marker"):
        values = [getattr(style, part) for style in STYLES.values()]
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("marker", sorted({style.marker for style in STYLES.values()} | {"*", "d", "H"}))
def test_half_a_marker_is_within_the_whole_one(marker: str) -> None:
    """If this fails, a half filled mark looks filled, or its empty half has another shape."""
    whole, half = outline(marker), outline(marker, half=True)
    assert half.startswith(whole)
    if marker == "o":
        return

    def area(path: str) -> float:
        """Negative if it is drawn the other way round."""
        corners = [tuple(map(float, corner.split(","))) for corner in path.strip("MZ").split("L")]
        pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
        return sum(x * to_y - to_x * y for (x, y), (to_x, to_y) in pairs) / 2

    empty = half.removeprefix(whole)
    assert area(whole) > 0 > area(empty)
    assert -area(empty) == pytest.approx(area(whole) / 2, rel=0.35)
    assert max(float(corner.split(",")[1]) for corner in empty.strip("MZ").split("L")) == 0


def test_a_users_own_library_never_looks_like_another() -> None:
    """If this fails, a figure shows two libraries in the same colour and marker, or the colour depends on the day."""
    own = [f"mine-{number}" for number in range(30)]
    look = styles([*STYLES, *own])
    assert {name: look[name] for name in STYLES} == STYLES
    assert len({(style.colour, style.marker) for style in look.values()}) == len(look)
    assert not {look[name].colour for name in own} & {style.colour for style in STYLES.values()}
    assert look == styles([*reversed(own), *STYLES])
    # So few get different colours.
    assert len({style.colour for style in styles(own[:6]).values()}) == 6
    assert styles(["mine-7"])["mine-7"] == styles(["mine-7", *STYLES])["mine-7"]
    with pytest.raises(WorldwiseError, match="not more"):
        styles([f"mine-{number}" for number in range(100)])


def test_one_colour_in_every_figure(two_boards: Reading) -> None:
    """If this fails, a reader who learnt a colour in one figure is misled by the next."""
    with_own = add_library(two_boards, "zebra", "aardvark")
    look = styles(row.implementation for row in with_own.rows)
    for kind in ("time", "boards"):
        own: dict[str, Any] = {} if kind == "boards" else {"boards": ("nucleo-f446re",)}
        plot = only(with_own, kind, operations=("sign",), curves=("secp256r1",), **own)
        colours = {value for each in elements(plot, with_own) for value in each.attrib.values()}
        assert {look[name].colour for name in ("zebra", "aardvark", "micro-ecc")} <= colours


_AGAIN = """
import hashlib, sys
sys.path[:0] = sys.argv[1:]
from board_reading import BOARDS, board_reading, board_row
from worldwise.report.drawing.charts import plots, to_file
few = board_reading([board_row(board, name) for board in BOARDS for name in ("micro-ecc", "mine")])
for plot in plots(few):
    for form in ("svg", "png") if plot.kind == "pareto" else ("svg",):
        print(plot.name, form, hashlib.sha256(to_file(plot, few, form)).hexdigest())
"""


def test_the_same_run_gives_the_same_bytes() -> None:
    """If this fails, a figure in a repository changes though nothing did."""
    few = board_reading([board_row(board, name) for board in BOARDS for name in ("micro-ecc", "mine")])
    first = []
    for plot in plots(few):
        for form in ("svg", "png") if plot.kind == "pareto" else ("svg",):
            data = to_file(plot, few, form)
            assert not re.search(rb"<dc:date>|tIME|Software", data)
            first.append(f"{plot.name} {form} {hashlib.sha256(data).hexdigest()}")
    again = subprocess.run([sys.executable, "-c", _AGAIN, *sys.path], stdout=subprocess.PIPE, check=True, text=True)
    assert again.stdout.splitlines() == first


def test_letters_are_those_that_vl_convert_brings() -> None:
    """If this fails, a figure depends on the fonts of the machine, which another has not."""

    def drawn(family: str) -> bytes:
        text = f'<text y="20" font-family="{family}">Mi</text>'
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="50" height="30">{text}</svg>'
        return bytes(vega.converter().svg_to_png(svg))

    nothing = drawn("No such font")
    assert drawn("Liberation Sans") != nothing
    assert {drawn(family) for family in ("DejaVu Sans", "Noto Sans", "Arial", "Helvetica", "Cantarell")} == {nothing}
    assert "FONTCONFIG_FILE" not in os.environ


@pytest.mark.parametrize("width", list(WIDTHS))
def test_print_size_and_legible_letters(two_boards: Reading, width: str) -> None:
    """If this fails, a figure does not fit its column, or its letters are too small for print."""
    two_boards = add_library(two_boards, "a-library-with-quite-a-long-name", "another-library-with-a-long-name")
    for plot in (only(two_boards, kind, operations=("sign",), boards=boards_of(kind)) for kind in KINDS):
        svg, *inner = elements(plot, two_boards, width)
        millimetres = [float(svg.attrib[side]) * 25.4 / 96 for side in ("width", "height")]
        # Panels have whole pixels.
        assert WIDTHS[width] - 1 < millimetres[0] <= WIDTHS[width] + 0.2
        assert millimetres[1] < 500
        points = {
            float(each.attrib["font-size"].removesuffix("px")) * 72 / 96 for each in inner if "font-size" in each.attrib
        }
        assert min(points) >= 8


@pytest.mark.parametrize(
    ("least", "most", "written"),
    [(800, 900_000, [1e3, 1e4, 1e5]), (9, 400, [10, 30, 100, 300]), (0.04, 0.9, [0.05, 0.1, 0.2, 0.5])],
)
def test_a_logarithmic_axis_has_round_numbers_at_all_ranges(least: float, most: float, written: list[float]) -> None:
    """If this fails, an axis has no number, or more than it has room for."""
    assert vega.axis(least, most, "instructions")["axis"]["values"] == written


def boards_of(kind: Kind) -> tuple[str, ...]:
    return () if kind == "boards" else ("nucleo-f446re",)


def test_a_png_has_300_dots_per_inch() -> None:
    """If this fails, a printed figure is coarse."""
    few = board_reading([board_row(), board_row(library="wolfssl")])
    data = to_file(only(few, "time"), few, "png", "column")
    (width,) = struct.unpack(">I", data[16:20])
    assert width == pytest.approx(85 / 25.4 * 300, abs=4)


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"boards": ("nucleo-f446",)}, ["board 'nucleo-f446'", "There is: nucleo-f103rb, nucleo-f446re", "did you"]),
        ({"operations": ("sing",)}, ["operation 'sing'", "keygen, sign, verify, ecdh", "did you mean 'sign'?"]),
        ({"curves": ("secp521r1",)}, ["curve 'secp521r1'", "secp160r1"]),
        ({"sizes": ("64B",)}, ["size '64B'", "32B"]),
        ({"sizes": ("64",)}, ["'64' is not a size"]),
        ({"operations": ("ecdh",), "curves": ("ed25519",)}, ["curve 'ed25519'", "x25519"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_is_not_there_is_refused_with_what_is(
    two_boards: Reading, choice: dict[str, tuple[str, ...]], says: list[str]
) -> None:
    """If this fails, a typing error gives an empty figure."""
    with pytest.raises(WorldwiseError) as caught:
        plots(two_boards, KINDS, Choice(**choice))  # type: ignore[arg-type]
    for words in says:
        assert words in f"{caught.value.message} {caught.value.hint}"


def test_a_file_takes_one_figure(two_boards: Reading) -> None:
    """If this fails, a figure is overwritten by the next, or nobody says how to choose."""
    with pytest.raises(WorldwiseError) as caught:
        one_plot(plots(two_boards, ("pareto",)))
    assert "one file takes one figure" in caught.value.message
    for words in ("name a directory", "--board: nucleo-f103rb, nucleo-f446re", "--operation: keygen, sign"):
        assert words in caught.value.hint


def test_a_run_without_boards_is_refused(two_boards: Reading) -> None:
    """If this fails, a run of a TEE gives a traceback."""
    with pytest.raises(WorldwiseError, match="has no measured case of a board"):
        plots(two_boards.model_copy(update={"rows": ()}))


def test_rows_without_footprint_or_stack_do_not_stop_the_rest() -> None:
    """If this fails, a run of an older build gives no figure at all."""
    bare = board_row().with_part(Footprint())
    few = board_reading([bare])
    assert names(plots(few)) == ["time-nucleo-f446re-signatures"]
    with pytest.raises(WorldwiseError, match="has nothing for a figure of kind pareto"):
        plots(few, ("pareto",))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (950, "950"), (999.9, "1.00k"), (1234, "1.23k"), (99_960, "100k"), (999_600, "1.00M"), (5.1e7, "51.0M")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    """If this fails, bars carry more digits than they have room for, or wrong ones."""
    assert compact(value) == text


def test_no_other_command_waits_for_the_plot_library() -> None:
    """If this fails, every call of the tool takes longer for figures that it does not draw."""
    program = "import sys; sys.path[:0] = sys.argv[1:]; import worldwise.cli; assert 'vl_convert' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, *sys.path], check=True)
