# SPDX-License-Identifier: BSD-2-Clause
"""Flame graphs in a real browser: what is shown, and what clicking and searching does."""

import re
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.color import Color
from selenium.webdriver.support.wait import WebDriverWait

from browser import Browser, chromium
from flames import FLAME_STACKS, frame
from worldwise.base.errors import WorldwiseError
from worldwise.explain.stacks import StackFrame, Stacks
from worldwise.lab.lab import open_lab
from worldwise.report.drawing.flame_graph import COLOURS, colour, differential, flame_graph, kind
from worldwise.run.traces.flame_renderer import Inferno

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

TOTAL = sum(FLAME_STACKS.values())


@pytest.fixture
def graph(browser: Browser, renderer: Inferno) -> Browser:
    """The browser, showing a flame graph."""
    browser.open("graph.svg", flame_graph(FLAME_STACKS, "An empty invoke", renderer))
    return browser


def picture(browser: Browser, directory: Path) -> None:
    """Leave what is shown in the test's folder, for people to look at."""
    assert browser.driver.get_screenshot_as_file(str(directory / "page.png"))


def inclusive(stacks: Stacks) -> dict[StackFrame, int]:
    """Instructions of each frame and all above it. In these stacks a frame stands in one place."""
    found: dict[StackFrame, int] = {}
    for stack, count in stacks.items():
        for item in stack:
            found[item] = found.get(item, 0) + count
    return found


def groups(browser: Browser) -> dict[str, WebElement]:
    """Each drawn bar by the name in its title, which is shown when the mouse is over it."""
    found = {}
    for group in browser.driver.find_elements(By.CSS_SELECTOR, "#frames > g"):
        title = group.find_element(By.TAG_NAME, "title").get_attribute("textContent") or ""
        found[title.rpartition(" (")[0]] = group
    return found


def title(group: WebElement) -> str:
    return group.find_element(By.TAG_NAME, "title").get_attribute("textContent") or ""


def width(group: WebElement) -> float:
    """Of the drawn bar, in pixels; 0 if it is hidden."""
    return group.find_element(By.TAG_NAME, "rect").rect["width"] if group.is_displayed() else 0


def fill(group: WebElement) -> tuple[int, int, int]:
    """Red, green and blue that the browser paints the bar in."""
    shown = Color.from_string(group.find_element(By.TAG_NAME, "rect").value_of_css_property("fill"))
    return int(shown.red), int(shown.green), int(shown.blue)


def full_width(browser: Browser) -> float:
    return width(groups(browser)["all"])


def test_every_frame_is_there_with_its_instructions_and_its_worlds_colour(graph: Browser, tmp_path: Path) -> None:
    picture(graph, tmp_path)
    shown = groups(graph)
    wanted = inclusive(FLAME_STACKS)
    assert set(shown) == {"all"} | {str(item) for item in wanted}
    whole = full_width(graph)
    for item, count in wanted.items():
        group = shown[str(item)]
        assert title(group) == f"{item} ({count:,} instructions, {100 * count / TOTAL:.2f}%)"
        assert width(group) == pytest.approx(whole * count / TOTAL, abs=1)
        assert fill(group) == colour(item)
    assert {kind(item) for item in wanted} == set(COLOURS)
    heading = graph.driver.find_element(By.ID, "title").text
    legend = graph.driver.find_element(By.ID, "subtitle").text
    assert heading == "An empty invoke"
    assert all(f"■ {name}" in legend for name in COLOURS)
    assert graph.complaints() == []


def test_a_click_zooms_and_reset_zoom_goes_back(graph: Browser, tmp_path: Path) -> None:
    before = {name: width(group) for name, group in groups(graph).items()}
    name = str(frame("entry"))
    groups(graph)[name].click()
    picture(graph, tmp_path)
    zoomed = groups(graph)
    assert width(zoomed[name]) == pytest.approx(full_width(graph), abs=1)
    # What called it is drawn over the whole width too, what is beside it is gone.
    assert width(zoomed[str(frame("smc"))]) == pytest.approx(full_width(graph), abs=1)
    assert width(zoomed[str(frame("ldelf"))]) == 0
    assert title(zoomed[name]).startswith(name)
    graph.driver.find_element(By.ID, "unzoom").click()
    assert {name: width(group) for name, group in groups(graph).items()} == before
    assert graph.complaints() == []


def test_a_search_is_highlighted_and_counted(graph: Browser, tmp_path: Path) -> None:
    before = {name: fill(group) for name, group in groups(graph).items()}
    graph.driver.find_element(By.ID, "search").click()
    prompt = WebDriverWait(graph.driver, 10).until(expected_conditions.alert_is_present())
    prompt.send_keys(r"\(ta\)")
    prompt.accept()
    picture(graph, tmp_path)
    matched = graph.driver.find_element(By.ID, "matched")
    ours = inclusive(FLAME_STACKS)[frame("entry")]
    assert matched.text == f"Matched: {100 * ours / TOTAL:.1f}%"
    changed = {name for name, group in groups(graph).items() if fill(group) != before[name]}
    assert changed == {str(item) for item in inclusive(FLAME_STACKS) if item.image == "ta"}
    # The same button takes the search back.
    graph.driver.find_element(By.ID, "search").click()
    assert {name: fill(group) for name, group in groups(graph).items()} == before
    assert graph.complaints() == []


def test_a_differential_graph_is_red_where_more_was_executed(
    browser: Browser, renderer: Inferno, tmp_path: Path
) -> None:
    grown, shrunk, same = frame("entry"), frame("handler"), frame("ldelf")
    factors = {grown: 3, shrunk: 0.5}
    after = {stack: round(count * factors.get(stack[-1], 1)) for stack, count in FLAME_STACKS.items()}
    browser.open("difference.svg", differential(FLAME_STACKS, after, "Before and after", renderer))
    picture(browser, tmp_path)
    shown = groups(browser)
    assert set(shown) == {"all"} | {str(item) for item in inclusive(FLAME_STACKS)}
    red, green, blue = fill(shown[str(grown)])
    assert red > green == blue
    red, green, blue = fill(shown[str(shrunk)])
    assert red == green < blue
    assert len(set(fill(shown[str(same)]))) == 1
    change = f"{sum(after.values()) - TOTAL:+,}"
    subtitle = browser.driver.find_element(By.ID, "subtitle").text
    assert change in subtitle
    assert "Red: the function itself executes more" in subtitle
    assert re.search(r"; \+\d+\.\d\d%\)$", title(shown[str(grown)]))
    assert browser.complaints() == []


def test_the_same_stacks_give_the_same_bytes(renderer: Inferno) -> None:
    turned = dict(reversed(FLAME_STACKS.items()))
    assert flame_graph(FLAME_STACKS, "x", renderer) == flame_graph(turned, "x", renderer)
    assert differential(FLAME_STACKS, turned, "x", renderer) == differential(turned, FLAME_STACKS, "x", renderer)


def test_a_registry_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Port 9 of this machine: nobody listens.
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("CARGO_NET_RETRY", "0")
    lab = open_lab(name="render")
    monkeypatch.setattr(lab, "cache", tmp_path)
    with pytest.raises(WorldwiseError) as caught:
        Inferno(lab=lab).run("inferno-flamegraph", [], {})
    assert "could not be fetched" in caught.value.message
    assert "--format folded" in caught.value.hint
    assert "Could not connect" in caught.value.details


def test_nothing_of_the_browser_is_left_when_a_test_fails() -> None:
    lab = open_lab(name="browser")
    lab.ensure()
    with pytest.raises(ZeroDivisionError), chromium(lab) as running:
        running.open("page.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>')
        assert running.process.poll() is None
        assert running.pages.exists()
        raise ZeroDivisionError
    # With it, the first process of the root's pid namespace, have ended all in there.
    assert running.process.returncode is not None
    assert not running.pages.exists()
