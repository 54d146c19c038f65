# SPDX-License-Identifier: BSD-2-Clause
"""Reports as HTML, without a browser; tests/browser looks at the page."""

import html
import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import test_predict_report

from board_reading import board_reading
from golden_reports import READINGS
from pages import HOSTILE, hostile_run, page_of, text_of, traced
from synthetic import make_suite, write_run
from worldwise.base.errors import WorldwiseError
from worldwise.cli import report as command_line
from worldwise.lab.cache import survey
from worldwise.plan.case import Case
from worldwise.read.models import Reading
from worldwise.read.run_counts import read_run, samples_of
from worldwise.records.models import Sample
from worldwise.report import predictions
from worldwise.report.drawing import vega
from worldwise.report.page import content
from worldwise.report.page.charts import MOST, charts
from worldwise.report.page.write import Material, to_html
from worldwise.report.report import sections
from worldwise.run.folder.predictions import store
from worldwise.run.folder.rundir import Run
from worldwise.run.traces.watch import traced_records

CASE = Case("optee", "mbedtls-nist", "O2", "attestdiv", 4, 2)


@pytest.fixture(scope="module")
def page(whole_run: Run) -> str:
    return page_of(whole_run)


def test_the_first_screen_has_answer_best_worst_and_verdict(page: str) -> None:
    """If this fails, who opens the page has to look for what the run says."""
    first = text_of(page[page.index('id="answer"') : page.index('id="figures"')])
    for part in (
        "Budget of 5 ms at 2 GHz: P-256 sign 48B fits with 2 of 6 variants, best mbedtls-nist-O2 (2.330 ms)",
        "P-256 sign 48B, optee, at client best mbedtls-nist-O2 4,660,005 instructions worst libtomcrypt-Os 240,060,005 "
        ", 51.51 times as many",
        "What a client of the TEE waits for",
    ):
        assert part in first, part


def test_predictions_stand_on_the_first_screen_with_their_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a reader takes a count for the time on a core, or a prediction for a measurement."""
    monkeypatch.setattr(predictions, "load_errors", lambda: test_predict_report.ERRORS)
    run = write_run(tmp_path, [test_predict_report.CASE])
    store(run, test_predict_report.prediction())
    page = page_of(run)
    first = text_of(page[page.index('id="answer"') : page.index('id="compare"')])
    for part in (
        "Predicted cycles",
        "cortex-a72",
        "6,000,000",
        "2.6",
        "Predicted, not measured",
        "by predicted cycles",
    ):
        assert part in first, part
    assert page.count('id="s-predicted"') == 1


def test_every_section_of_the_report_is_there(page: str, reading: Reading) -> None:
    """If this fails, the page lacks a table that a terminal prints."""
    for section in sections(reading, full=True):
        assert f'id="s-{section.name}"' in page, section.name
    shown = html.unescape(text_of(page))
    for section in sections(reading, full=True):
        for note in section.notes:
            assert " ".join(note.replace("`", " ").split()) in " ".join(shown.replace("`", " ").split()), note


def test_it_needs_nothing_else(page: str) -> None:
    """If this fails, a page that is passed on is broken without a network, or tells somebody that it is read."""
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy and policy[1].startswith("default-src 'none';")
    assert "http" not in policy[1] and "unsafe-eval" not in policy[1]
    assert not re.findall(r"<script[^>]* src=", page)
    plain = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert not re.findall(r"<(?:link|img|object|embed|base)\b", plain)
    assert not re.findall(r'href="(?!#)', plain)
    assert "@import" not in plain and "url(" not in plain[: plain.index("</style>")]


def test_the_same_run_gives_the_same_bytes(page: str, whole_run: Run) -> None:
    """If this fails, two pages of one run cannot be compared."""
    assert page_of(whole_run) == page


def test_a_strangers_words_are_text(tmp_path: Path) -> None:
    """If this fails, a run from somebody else runs a script in the reader's browser."""
    page = page_of(hostile_run(tmp_path, CASE))
    assert "<script>alert" not in page and "<img src=x" not in page
    assert "{{ 7 * 7 }}" in page
    assert "\x1b" not in page
    assert html.unescape(text_of(page)).count(" ".join(HOSTILE.replace("\x1b", "\\x1b").split())) >= 1


def test_json_ends_no_script() -> None:
    """If this fails, a name can end the page's data and begin a script."""
    text = vega.in_page({"a": "</script><!--&"})
    assert "<" not in text and "&" not in text
    assert json.loads(text) == {"a": "</script><!--&"}


def test_samples_are_those_of_the_records(whole_run: Run, reading: Reading) -> None:
    """If this fails, a row opens the samples of another one."""
    samples = samples_of(whole_run)
    for row in reading.rows:
        counts = [one.count for one in samples[row.case, row.measure, row.place] if one.phase == "sample"]
        assert (len(counts), min(counts), max(counts)) == (row.counts.n, row.counts.min, row.counts.max)
    [one] = [
        one
        for one in content.measurements(reading, samples)
        if (one.row.case, one.row.measure, one.row.place) == ("optee/mbedtls-nist-O2/attestdiv", "sign", "ta")
    ]
    assert one.counts == [4_600_000, 4_600_000, 4_600_010, 4_600_020]
    assert one.steps == [4_600_000, 0, 10, 10]
    assert one.words == [
        "The first call took 4,601,000, 1.00 times the median. Then came 2 warm-up calls.",
        "Counts: 4,600,000 (2 ×); 4,600,010 (1 ×); 4,600,020 (1 ×).",
    ]
    assert one.best == "1.00"


def test_a_far_sample_is_named_with_the_reason_that_the_records_know(reading: Reading, whole_run: Run) -> None:
    """If this fails, an outlier is shown without its reason, or with one that nobody measured."""
    row = next(row for row in reading.rows if row.place == "ta")
    key = (row.case, row.measure, row.place)
    series = list(samples_of(whole_run)[key])

    def said(**change: object) -> str:
        far = series[-1].model_copy(update={"count": 2 * row.counts.max, **change})
        changed: dict[tuple[str, str, str], list[Sample]] = {key: [*series[:-1], far]}
        return next(one for one in content.measurements(reading, changed) if one.row is row).words[-1]

    assert said().startswith(
        f"Sample {series[-1].index} took {2 * row.counts.max:,}, 100.0 % over the median: the records"
    )
    series = [one.model_copy(update={"spans": 1, "busy": one.raw}) for one in series]
    assert said(spans=3).endswith("it passed the measured region 3 times, most samples 1 times.")


def test_charts_are_data_with_words(reading: Reading) -> None:
    """If this fails, a figure says nothing to who does not see it, or shows other figures than the tables."""
    found, more = charts(reading)
    assert len([one for one in found if one.kind == "variants"]) <= MOST["variants"] and more >= 0
    chart = next(one for one in found if one.title == "attestdiv sign")
    assert chart.words == (
        "mbedtls-nist-O2 at client takes the fewest instructions, 4,660,005; libtomcrypt-Os at client the most, "
        "240,060,005, 51.51 times as many."
    )
    values = {(value["variant"], value["place"]): value["median"] for value in chart.spec["data"]["values"]}
    for row in reading.rows:
        if (row.operation, row.measure) == ("attestdiv", "sign"):
            assert values[row.variant, row.place] == row.median
    assert chart.svg().startswith("<svg") and 'aria-label="mbedtls-nist-O2 at client' in chart.svg()


def test_boards_have_figures_without_any_word_on_boards() -> None:
    """If this fails, a family must do something for the page that it need not for a terminal."""
    found, _ = charts(board_reading())
    titles = [one.title for one in found]
    assert any(title.startswith("sign curve=secp256r1,size=32B on nucleo-f446re") for title in titles)
    colours = {
        name: colour
        for one in found
        for scale in [one.spec.get("encoding", {}).get("color", {}).get("scale", {"domain": (), "range": ()})]
        for name, colour in zip(scale["domain"], scale["range"], strict=True)
    }
    assert colours["micro-ecc"] == "#0072b2"


def test_the_command_measures_these_cases_again(tmp_path: Path) -> None:
    """If this fails, who types the command measures something else."""
    suite = make_suite()
    whole = write_run(tmp_path, suite.cases)
    assert content.command(whole) == "./worldwise run synthetic"
    some = [case for case in suite.cases if case.target == "optee" and case.operation == "attestdiv"]
    part = write_run(tmp_path, some, second=1, samples=7)
    assert content.command(part) == "./worldwise run synthetic --target optee --operation attestdiv --samples 7"
    odd = write_run(tmp_path, [suite.cases[0], suite.cases[-1]], second=2)
    assert content.command(odd).endswith("# and of its cases those listed below")


def test_the_best_of_whole_calls_that_differ(whole_run: Run) -> None:
    """If this fails, a variant is praised for 1.00 times, or for a part of its call such as a store of nothing."""
    reading = read_run(whole_run)
    rows = [row for row in reading.rows if row.place != "linux"]
    stores = [row.model_copy(update={"place": "storage", "median": 0.0}) for row in rows if row.place == "client"]
    found = content.cards(reading.model_copy(update={"rows": (*rows, *stores)}))
    assert found and {one.best.place for one in found} == {"client"}
    level = [row.model_copy(update={"median": 1000.0 + len(row.variant) / 10}) for row in rows]
    assert content.cards(reading.model_copy(update={"rows": tuple(level)})) == []


def test_a_trace_has_its_tables_and_its_graph(whole_run: Run) -> None:
    """If this fails, a case that was explained says nothing of it, or its graph does not open."""
    svg = '<svg version="1.1" width="1200" height="345" onload="init(evt)"><text>"a" &amp; b</text></svg>'
    page = page_of(whole_run, traced(whole_run, svg))
    frame = re.search(
        r'<iframe title="Flame graph of [^"]*" loading="lazy" style="height: 369px" srcdoc="([^"]*)"', page
    )
    assert frame
    assert '<text>"a" &amp; b</text>' in html.unescape(frame[1]) and "onload" not in html.unescape(frame[1])
    assert 'id="trace-optee-libtomcrypt-os' in page
    assert "--format flame" in page_of(whole_run, traced(whole_run))


def test_a_kept_trace_is_known_by_its_records(tmp_path: Path) -> None:
    """If this fails, a page has the trace of another case, a spoilt file in the cache ends the report, or a trace that
    `predict` left costs seconds for each case."""
    kept = {
        "a": '{"digest": "x", "files": {"records.jsonl": "f00"}}',
        "b": "{",
        ".c": '{"files": 1}',
        "d": '{"digest": "x", "models": false, "files": {"records.jsonl": "f01"}}',
        "e": '{"digest": "x", "models": true, "files": {"records.jsonl": "f02"}}',
        "f": "[]",
    }
    for name, text in kept.items():
        (tmp_path / "traces" / name).mkdir(parents=True)
        (tmp_path / "traces" / name / "watched.json").write_text(text)
    assert traced_records(tmp_path) == {"f00", "f01"}
    assert traced_records(tmp_path / "none") == frozenset()


def test_a_page_is_not_printed_to_a_terminal(whole_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a megabyte of HTML runs through somebody's terminal."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    with pytest.raises(Exception, match="--format html needs --output FILE"):
        command_line.show(whole_run, command_line.Wanted("html", None, None))
    with pytest.raises(WorldwiseError, match="does not exist"):
        command_line.show(whole_run, command_line.Wanted("html", Path("/nowhere/page.html"), None))


@pytest.mark.parametrize("name", list(READINGS))
def test_every_family_has_its_page(name: str, whole_run: Run, tmp_path: Path) -> None:
    """If this fails, the page of some family's run is not made, though its report is."""
    reading = READINGS[name](tmp_path)
    page = to_html(reading, Material(whole_run, {}))
    for section in sections(reading, full=True):
        assert f'id="s-{section.name}"' in page, section.name
    names = re.findall(r' id="([^"]*)"', re.sub(r"<script\b.*?</script>|<svg\b.*?</svg>", "", page, flags=re.DOTALL))
    assert len(names) == len(set(names))


def test_the_libraries_of_pages_are_put_together_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, each page takes two seconds more, or has what somebody left half-written in the cache."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path))
    bundles = iter(["one</script>", "two", "three", "four"])
    monkeypatch.setattr(vega, "converter", lambda: SimpleNamespace(javascript_bundle=lambda **_: next(bundles)))
    made = vega.libraries.__wrapped__
    assert made() == made() == "one<\\/script>"
    (kept,) = (tmp_path / vega.FOLDER).iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert made() == made() == "two"
    assert [item.kind for item in survey(tmp_path, {})] == ["pages"]
    monkeypatch.setenv("WORLDWISE_CACHE", "/proc/none")
    assert (made(), made()) == ("three", "four")
