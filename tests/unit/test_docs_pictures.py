# SPDX-License-Identifier: BSD-2-Clause
"""The flame graphs of docs/pictures are those of their commands, and show what the kept outputs say."""

import re

import pytest

import doc_pages
import doc_pictures
import doc_records

NAMES = list(doc_pictures.declared())
# A page on a code host is no place for more.
MOST_BYTES = 50_000
# What a bar may be off by, in pixels: as it is rounded.
_ROUNDED = 0.02


def picture(name: str) -> str:
    """A kept picture."""
    return doc_pictures.path_of(name).read_text(encoding="utf-8")


def test_every_picture_is_declared_and_on_a_page() -> None:
    """If this fails, nobody knows which command drew a picture, or nobody finds it."""
    kept = {path.stem for path in doc_pictures.PICTURES.glob("*.svg")}
    assert kept == set(NAMES)
    pages = "".join(map(doc_pages.read, doc_pages.names()))
    assert [name for name in NAMES if f"pictures/{name}.svg" not in pages] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_is_of_its_command_and_small(name: str) -> None:
    text = picture(name)
    command = doc_pictures.declared()[name]
    assert f"<desc>{command}</desc>" in text
    assert len(text.encode()) < MOST_BYTES
    assert "<script" not in text


@pytest.mark.parametrize("name", NAMES)
def test_its_bars_add_up(name: str) -> None:
    """If this fails, somebody has drawn in it: each bar is as wide as its instructions, and stands on its caller."""
    bars = doc_pictures.bars_of(picture(name))
    whole = max(bars, key=lambda one: one.count)
    for one in bars:
        assert one.width == pytest.approx(whole.width * one.count / whole.count, abs=_ROUNDED)
        below = [
            each
            for each in bars
            if each.y == one.y + 16
            and each.x - _ROUNDED <= one.x
            and one.x + one.width <= each.x + each.width + _ROUNDED
        ]
        assert len(below) == (one.y < max(each.y for each in bars))
        assert one.count <= min((each.count for each in below), default=one.count)


@pytest.mark.parametrize("name", NAMES)
def test_it_shows_what_the_kept_output_says(name: str) -> None:
    """If this fails, picture and table are of two measurements."""
    output = doc_records.output(name)
    assert output
    bars = doc_pictures.bars_of(picture(name))
    assert f"{max(one.count for one in bars):,} instructions between the two readings" in output.text
    layer = re.search(r"^monitor +([0-9,]+) ", output.text, re.MULTILINE)
    assert layer
    monitor = [one for one in bars if one.name.endswith("(bl31)")]
    # The lowest of each: what stands on another of the monitor's bars is in that one.
    lowest = [
        one
        for one in monitor
        if not any(each.y == one.y + 16 and each.x <= one.x + _ROUNDED < each.x + each.width for each in monitor)
    ]
    found = sum(one.count for one in lowest)
    # Some of its bars are too small, of a signature all.
    told = int(layer[1].replace(",", ""))
    assert (told / 2 if name.endswith("-call") else 0) <= found <= told


def test_small_bars_are_left_out_and_names_written() -> None:
    """If this fails, a picture has no names where no script runs, or all the bars that nobody sees."""
    bar = '<g><title>{} ({} instructions, {:.2f}%)</title><rect x="{}%" y="{}" width="{}%" fill="rgb(1,2,3)"/></g>'
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" height="200"><text id="title">a &lt;b&gt;</text>'
        '<text id="subtitle"><tspan fill="rgb(9,9,9)">x</tspan> Linux</text><script>no</script>'
        + bar.format("all", "1,000", 100, 0, 150, 100)
        + bar.format("memset &lt;fast&gt; (linux)", "996", 99.6, 0, 134, 99.6)
        + bar.format("seen (tee)", "5", 0.5, 0, 118, 0.5)
        + bar.format("unseen (tee)", "4", 0.4, 99.6, 134, 0.4)
        + "</svg>"
    )
    made = doc_pictures.still(svg, "./worldwise explain <x>")
    assert [(one.name, one.count) for one in doc_pictures.bars_of(made)] == [
        ("all", 1000),
        ("memset <fast> (linux)", 996),
        ("seen (tee)", 5),
    ]
    assert ">memset &lt;fast&gt; (linux)</text>" in made
    assert ">seen (tee)</text>" not in made
    assert "<desc>./worldwise explain &lt;x&gt;</desc>" in made
    assert ">a &lt;b&gt;</text>" in made
