# SPDX-License-Identifier: BSD-2-Clause
"""HTML reports in a real browser: sorting, filtering, opening a row, comparing, searching a flame graph, printing."""

import base64
import importlib.resources
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.print_page_options import PrintOptions
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from browser import Browser
from flames import FLAME_STACKS
from pages import HOSTILE, hostile_run, large_page, page_of, traced
from synthetic import write_run
from worldwise.plan.case import Case
from worldwise.read.run_counts import read_run
from worldwise.report.drawing.flame_graph import flame_graph
from worldwise.report.page.history import HistoryRun, figures, sections
from worldwise.report.page.write import SiteRun, to_index
from worldwise.run.folder.rundir import Run
from worldwise.run.traces.flame_renderer import Inferno

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

_WAIT = 20


@pytest.fixture(scope="module")
def text(whole_run: Run, renderer: Inferno) -> str:
    """The page of a run of the TEE, with a trace."""
    graph = flame_graph(FLAME_STACKS, "An empty invoke", renderer)
    return page_of(whole_run, traced(whole_run, graph[graph.index("<svg") :]))


@pytest.fixture
def page(browser: Browser, text: str) -> Browser:
    """The browser, showing that page."""
    browser.open("report.html", text)
    return browser


@pytest.fixture
def dark(page: Browser) -> Iterator[Browser]:
    """The same for a reader who prefers dark."""
    page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    yield page
    page.devtools("Emulation.setEmulatedMedia", features=[])


@pytest.fixture
def plain(browser: Browser) -> Iterator[Browser]:
    """The browser without JavaScript."""
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    yield browser
    browser.devtools("Emulation.setScriptExecutionDisabled", value=False)


def picture(browser: Browser, directory: Path) -> None:
    """Leave what is shown in the test's folder, for people to look at."""
    assert browser.driver.get_screenshot_as_file(str(directory / "page.png"))


def measurements(browser: Browser) -> WebElement:
    return browser.driver.find_element(By.CSS_SELECTOR, "table.measurements")


def column(browser: Browser, number: int) -> list[str]:
    """The texts of a column of the measurements, of the rows that are shown."""
    script = (
        "return [...document.querySelectorAll('table.measurements tbody tr')].filter(line => line.offsetParent)"
        ".map(line => line.cells[arguments[0]].textContent.trim())"
    )
    found: list[str] = browser.driver.execute_script(script, number)
    return found


def click(browser: Browser, element: WebElement) -> None:
    browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_a_table_sorts_both_ways_and_back(page: Browser) -> None:
    before = column(page, 4)
    header = measurements(page).find_elements(By.CSS_SELECTOR, "thead th")[4]
    button = header.find_element(By.TAG_NAME, "button")
    click(page, button)
    assert header.get_attribute("aria-sort") == "ascending"
    assert column(page, 4) == sorted(before, key=number) != before
    click(page, button)
    assert header.get_attribute("aria-sort") == "descending"
    assert list(map(number, column(page, 4))) == sorted(map(number, before), reverse=True)
    click(page, button)
    assert header.get_attribute("aria-sort") == "none"
    assert column(page, 4) == before
    assert page.complaints() == []


def test_a_filter_shows_the_rows_with_all_words_and_says_how_many(page: Browser) -> None:
    every = len(column(page, 0))
    tools = page.driver.find_element(By.CSS_SELECTOR, "#measurements .tools")
    field = tools.find_element(By.TAG_NAME, "input")
    field.send_keys("attestdiv nist-O2 client")
    shown = list(zip(column(page, 0), column(page, 2), column(page, 3), strict=True))
    assert shown == [(f"attestdiv {name}", "mbedtls-nist-O2", "client") for name in ("sign", "verify")]
    assert tools.find_element(By.CSS_SELECTOR, "[role=status]").text == f"2 of {every} rows"
    field.send_keys(" nothing")
    assert column(page, 0) == []
    field.clear()
    field.send_keys(" ")
    assert len(column(page, 0)) == every
    assert page.complaints() == []


def test_a_row_opens_its_samples(page: Browser, tmp_path: Path) -> None:
    line = measurements(page).find_element(By.CSS_SELECTOR, "tbody tr")
    button = line.find_element(By.TAG_NAME, "summary")
    click(page, button)
    found = expected_conditions.presence_of_element_located((By.CSS_SELECTOR, "table.measurements tr.opened"))
    opened = WebDriverWait(page.driver, _WAIT).until(found)
    WebDriverWait(page.driver, _WAIT).until(lambda _: opened.find_elements(By.CSS_SELECTOR, "svg [aria-label]"))
    picture(page, tmp_path)
    assert "The first call took 240,001,000, 1.00 times the median." in opened.text
    assert "Includes: TEE_GenerateKey, inside the TA, with the work of OP-TEE's core" in opened.text
    assert "Counts: 240,000,000 (2 ×); 240,000,010 (1 ×); 240,000,020 (1 ×)." in opened.text
    bars = opened.find_elements(By.CSS_SELECTOR, "svg .mark-rect path")
    assert len(bars) == 3
    click(page, button)
    WebDriverWait(page.driver, _WAIT).until(expected_conditions.staleness_of(opened))
    assert page.complaints() == []


def test_a_rows_samples_are_in_reach_in_a_narrow_window(page: Browser, tmp_path: Path) -> None:
    """A wide table scrolls within the page: what opens a row stood beyond its edge."""
    page.driver.set_window_size(800, 700)
    try:
        summary = measurements(page).find_element(By.CSS_SELECTOR, "tbody summary")
        # To the row, and not to the summary: that would scroll the table sideways.
        name = measurements(page).find_element(By.CSS_SELECTOR, "tbody th")
        page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", name)
        picture(page, tmp_path)
        box, wide = summary.rect, page.driver.execute_script("return document.documentElement.clientWidth")
        table = measurements(page).rect["width"]
        assert table > wide and box["x"] + box["width"] <= wide
        summary.click()
        WebDriverWait(page.driver, _WAIT).until(
            lambda _: measurements(page).find_elements(By.CSS_SELECTOR, "tr.opened")
        )
    finally:
        page.driver.set_window_size(1280, 720)
    assert page.complaints() == []


def test_two_variants_stand_side_by_side(page: Browser) -> None:
    place = page.driver.find_element(By.ID, "comparison")
    first, second = (Select(one) for one in place.find_elements(By.TAG_NAME, "select"))
    first.select_by_value("optee mbedtls-nist-O2")
    second.select_by_value("optee libtomcrypt-Os")
    lines = [
        [cell.text for cell in line.find_elements(By.XPATH, "./*")]
        for line in place.find_elements(By.CSS_SELECTOR, "tbody tr")
    ]
    assert ["attestdiv sign", "client", "4,660,005", "240,060,005", "51.515", "+235,400,000"] in lines
    second.select_by_value("linux mbedtls-nist-O2")
    shown = [line.text for line in place.find_elements(By.CSS_SELECTOR, "tbody tr")]
    assert "attestdiv sign client, linux 4,660,005 2,300,005 0.494 -2,360,000" in shown
    assert page.complaints() == []


def test_a_figure_is_drawn_anew_with_its_values(page: Browser, tmp_path: Path) -> None:
    figures = page.driver.find_elements(By.TAG_NAME, "figure")
    figure = next(one for one in figures if one.text.startswith("keygen."))
    drawn = figure.find_elements(By.CSS_SELECTOR, "svg .mark-symbol path")
    page.driver.execute_script("arguments[0].scrollIntoView()", figure)
    WebDriverWait(page.driver, _WAIT).until(lambda _: figure.find_elements(By.CSS_SELECTOR, ".vega-embed svg"))
    picture(page, tmp_path)
    marks = figure.find_elements(By.CSS_SELECTOR, ".vega-embed .mark-symbol.role-mark path")
    assert len(marks) == 18 and drawn
    assert "median: 240,000,005" in (marks[0].get_attribute("aria-label") or "")
    assert page.complaints() == []


def test_the_flame_graph_of_a_case_is_searched_and_zoomed(page: Browser, tmp_path: Path) -> None:
    summary = page.driver.find_element(By.CSS_SELECTOR, "details.flame summary")
    click(page, summary)
    frame = page.driver.find_element(By.CSS_SELECTOR, "details.flame iframe")
    page.driver.switch_to.frame(frame)
    try:
        root = WebDriverWait(page.driver, _WAIT).until(
            lambda driver: next(
                (
                    group
                    for group in driver.find_elements(By.CSS_SELECTOR, "#frames > g")
                    if (group.find_element(By.TAG_NAME, "title").get_attribute("textContent") or "").startswith("all")
                    and group.find_element(By.TAG_NAME, "rect").rect["width"] > 800
                ),
                None,
            )
        )
        assert root
        page.driver.find_element(By.ID, "search").click()
        prompt = WebDriverWait(page.driver, _WAIT).until(expected_conditions.alert_is_present())
        prompt.send_keys(r"\(ta\)")
        prompt.accept()
        matched = page.driver.find_element(By.ID, "matched").text
        ours = sum(count for stack, count in FLAME_STACKS.items() if any(item.image == "ta" for item in stack))
        assert matched == f"Matched: {100 * ours / sum(FLAME_STACKS.values()):.1f}%"
        picture(page, tmp_path)
    finally:
        page.driver.switch_to.default_content()
    assert page.complaints() == []


def test_it_prints(page: Browser, tmp_path: Path) -> None:
    options = PrintOptions()
    options.background = True
    printed = base64.b64decode(page.driver.print_page(options))
    (tmp_path / "page.pdf").write_bytes(printed)
    assert printed.startswith(b"%PDF-")
    pages = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
    assert len(pages) >= 5
    assert page.complaints() == []


def test_it_asks_the_network_for_nothing(page: Browser) -> None:
    """The browser has none; what it tried would stand here."""
    page.driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    page.driver.execute_script("window.scrollTo(0, document.body.scrollHeight)")
    asked = page.driver.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert [name for name in asked if not name.startswith(("data:", "blob:", "about:"))] == []
    assert page.complaints() == []


def test_without_javascript_all_of_it_can_be_read(plain: Browser, text: str, tmp_path: Path) -> None:
    plain.open("plain.html", text)
    shown = plain.driver.find_element(By.TAG_NAME, "main").text
    picture(plain, tmp_path)
    for part in (
        "P-256 sign 48B fits with 2 of 6 variants, best mbedtls-nist-O2 (2.330 ms)",
        "240,000,005",
        "How each number was made",
        "Measure it again",
    ):
        assert part in shown, part
    assert plain.driver.find_elements(By.CSS_SELECTOR, "figure svg")
    summary = plain.driver.find_element(By.CSS_SELECTOR, "table.measurements details summary")
    click(plain, summary)
    opened = plain.driver.find_element(By.CSS_SELECTOR, "table.measurements details[open]")
    assert "Counts: 240,000,000 (2 ×)" in opened.text
    # What only a script can do is not offered.
    assert not plain.driver.find_elements(By.CSS_SELECTOR, ".tools, thead button")


def _violations(browser: Browser) -> list[str]:
    axe = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    browser.driver.execute_script(axe)
    browser.driver.set_script_timeout(50)
    # A file's origin is no origin. The frame has the graph that inferno made, whose figures stand in tables beside it.
    found = browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.configure({allowedOrigins: ['<unsafe_all_origins>']});"
        "axe.run(document, {resultTypes: ['violations'], iframes: false}).then("
        "result => done(result.violations), error => done([{id: String(error), help: '', nodes: [{html: ''}]}]))"
    )
    return [f"{one['id']}: {one['help']}: {node['html'][:200]}" for one in found for node in one["nodes"][:3]]


def test_it_is_accessible(page: Browser) -> None:
    """axe-core's rules: contrast, names, headers of tables, order of headings, keyboard."""
    click(page, measurements(page).find_element(By.CSS_SELECTOR, "tbody summary"))
    assert _violations(page) == []


def test_it_is_accessible_in_the_dark(dark: Browser, tmp_path: Path) -> None:
    picture(dark, tmp_path)
    colour = dark.driver.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
    assert colour.startswith(("rgb(20, 23, 28", "rgba(20, 23, 28"))
    assert _violations(dark) == []


def test_the_index_of_a_site(browser: Browser, tmp_path: Path) -> None:
    case = Case("optee", "mbedtls-nist", "O2", "attestdiv", 3, 1)
    other = replace(case, operation="keygen")
    runs = [write_run(tmp_path, [case, other][: 1 + second], second=second) for second in (0, 1)]
    measured = [HistoryRun(read_run(run)) for run in runs]
    # As if the second revision took longer.
    reading = measured[1].reading
    rows = tuple(
        row.model_copy(update={"median": row.median + 700, "max": row.counts.max + 700}) for row in reading.rows
    )
    run = reading.run.model_copy(update={"git": "fedcba9876543210"})
    measured[1] = HistoryRun(reading.model_copy(update={"rows": rows, "run": run}))
    listed = [SiteRun.of(one.reading) for one in measured]
    browser.open("index.html", to_index(listed, ["a-run: cannot be read"], sections(measured), figures(measured)))
    picture(browser, tmp_path)
    links = browser.driver.find_elements(By.CSS_SELECTOR, "tbody a")
    assert [link.text for link in links] == [run.id for run in reversed(runs)]
    steps = browser.driver.find_element(By.ID, "s-steps")
    assert "worldwise 0123456789abc -> fedcba9876543" in steps.text and "+700" in steps.text
    header = steps.find_elements(By.CSS_SELECTOR, "thead th")[7]
    click(browser, header.find_element(By.TAG_NAME, "button"))
    assert header.get_attribute("aria-sort") == "ascending"
    assert browser.driver.find_elements(By.CSS_SELECTOR, "figure svg")
    assert _violations(browser) == []
    assert browser.complaints() == []


def test_a_strangers_title_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    page = page_of(hostile_run(tmp_path, Case("optee", "mbedtls-nist", "O2", "attestdiv", 3, 1)))
    browser.open("hostile.html", page)
    heading = browser.driver.find_element(By.TAG_NAME, "h1").text
    assert heading == HOSTILE.replace("\x1b", "\\x1b")
    assert browser.complaints() == []


def test_a_page_of_the_size_of_suite_tee(browser: Browser, whole_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Its 4,634 rows and 421,000 samples. Prints how long it takes to open: of no test is wall time asserted."""
    large = large_page(whole_run, 4634, 91)
    size = len(large.encode())
    assert size < 10 * 10**6
    begin = time.monotonic()
    browser.open("large.html", large)
    seconds = time.monotonic() - begin
    assert len(column(browser, 0)) == 4634
    assert browser.complaints() == []
    with capsys.disabled():
        print(f"\na page of {size / 10**6:.1f} MB opened in {seconds:.2f} s")  # noqa: T201
