# SPDX-License-Identifier: BSD-2-Clause
"""A few rows of a run in predicted time, and what is kept of predictions; no machine runs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

from synthetic import write_run
from worldwise.base.errors import WorldwiseError
from worldwise.cli.common.progress import Display, Notes
from worldwise.cli.run_command import measurement as cli_session
from worldwise.cli.run_command.measurement import TimesAhead
from worldwise.cli.traces import first_screen
from worldwise.cli.traces import quick_predictions as quick_module
from worldwise.cli.traces.plugin_runs import Session
from worldwise.cli.traces.quick_predictions import Predicted, quick
from worldwise.plan.case import Case, parse_case
from worldwise.read.run_counts import read_run
from worldwise.records.check import check_records
from worldwise.records.model_predictions import Events, PredictedCase, PredictedSample
from worldwise.records.parse import read_records
from worldwise.run.folder.rundir import Run
from worldwise.run.traces.model_cache import ModelStore

CASE = parse_case("optee/mbedtls-nist-O2/attestdiv", 4, 2)
OTHER = parse_case("optee/mbedtls-O2/attestdiv", 4, 2)
CORE = "cortex-a72"
CLOCK = Fraction(1_500_000_000)


@dataclass
class FakeSession:
    """Says of each case what `says` gives, and remembers what was asked for."""

    says: Callable[[Case], PredictedCase]
    asked: list[tuple[Case, Run | None, list[str]]] = field(default_factory=list)
    stops: int = 0

    def prepare(self, cases: list[Case]) -> None:
        assert cases

    def predicted(self, case: Case, run: Run | None, cores: Mapping[str, str]) -> Mapping[str, PredictedCase]:
        self.asked.append((case, run, [*cores]))
        return dict.fromkeys(cores, self.says(case))

    def stop(self) -> None:
        self.stops += 1


def said(run: Run, case: Case, more: int = 0) -> PredictedCase:
    """Of the run's first two calls at each place: half a cycle for each instruction, of a library or of Linux."""
    records = check_records(read_records(run.records_path(case.id)), case)
    zero = dict.fromkeys(("outside", "outside_instructions", "vector_instructions", "vector_cycles"), 0)
    samples = []
    for (measure, place), series in records.samples.items():
        for one in series[:4]:
            count = one.count + more
            layer = "Linux: files" if measure == "verify" else "library"
            own = {"layer": layer, "instructions": count, "cycles": [count // 2, 0, 0, 0, 0, 0], **zero}
            data: dict[str, Any] = {"measure": measure, "place": place, "phase": "sample" if one.index else "first"}
            data |= {"index": one.index, "instructions": count, "layers": [own]}
            samples.append(PredictedSample.model_validate(data | {"events": dict.fromkeys(Events.model_fields, 0)}))
    return PredictedCase(case=case.id, samples=samples)


@pytest.fixture
def run(runs_dir: Path) -> Run:
    """A run of two cases."""
    return write_run(runs_dir, [CASE, OTHER])


def ask(session: FakeSession, run: Run, *rows: tuple[str, str, str], **more: Any) -> list[Predicted]:
    """`quick` with a session that is none."""
    return quick(cast(Session, session), run, rows, CORE, CLOCK, **more)


def test_rows_are_predicted_by_a_few_calls_of_their_cases(run: Run) -> None:
    """If this fails, a screen waits for a hundred calls, or has the time of another row."""
    session = FakeSession(lambda case: said(run, parse_case(case.id, 4, 2)))
    rows = [(CASE.id, "verify", "client"), (CASE.id, "sign", "client"), (OTHER.id, "sign", "ta")]
    found = ask(session, run, *rows)
    assert [(one.case, one.measure, one.place) for one in found] == rows
    assert sorted((case.id, case.samples, case.warmup, of, cores) for case, of, cores in session.asked) == [
        (OTHER.id, 1, 0, None, [CORE]),
        (CASE.id, 3, 0, None, [CORE]),
    ]
    verify, sign, _ = found
    assert (sign.by, verify.by) == ("error line", "rules")
    assert sign.low < sign.cycles < sign.high
    assert sign.text == "1.55 ms (1.42 to 2.04 ms)"
    assert (sign.first.state, sign.warm.state) == ("first", "warm")
    assert sign.seconds >= 0
    assert sign.command == f"worldwise predict {CASE.id} --core {CORE} --samples 3"
    assert session.stops == 0


def test_of_long_calls_fewer_are_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a first screen waits for a minute, or a short call is not yet warm."""
    session = FakeSession(lambda case: said(run, parse_case(case.id, 4, 2)))
    # Signing and verifying are 9.3 million instructions here.
    for most, samples in ((36_000_000, 2), (18_000_000, 1), (1, 1)):
        monkeypatch.setattr(quick_module, "MOST_INSTRUCTIONS", most)
        ask(session, run, (CASE.id, "sign", "client"))
        assert session.asked.pop()[0].samples == samples


def test_calls_of_another_program_are_refused(run: Run) -> None:
    """If this fails, a run's rows have the cycles of another build."""
    session = FakeSession(lambda case: said(run, parse_case(case.id, 4, 2), more=100_000))
    with pytest.raises(WorldwiseError, match=r"takes 4,[0-9,]+ instructions as it is predicted"):
        ask(session, run, (CASE.id, "sign", "client"))
    assert session.stops == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("optee/libtomcrypt-O2/attestdiv", "sign", "client"), "has no complete case 'optee/libtomcrypt-O2/attestdiv'"),
        ((CASE.id, "keygen", "client"), "has no measure keygen at client"),
        ((CASE.id, "sign", "linux"), "has no measure sign at linux"),
    ],
)
def test_a_row_that_the_run_lacks_is_told(row: tuple[str, str, str], told: str, run: Run) -> None:
    """If this fails, a row disappears from a screen without a word."""
    with pytest.raises(WorldwiseError, match=told):
        ask(FakeSession(lambda case: said(run, case)), run, row)


def test_what_is_kept_is_at_one_address_and_whole(tmp_path: Path, run: Run) -> None:
    """If this fails, a damaged file or another case's cycles are a prediction."""
    store = ModelStore(tmp_path)
    address, other = "a" * 64, "a" * 16 + "b" * 48
    assert store.get(address) is None
    made = {CORE: said(run, CASE), "cortex-a53": said(run, OTHER)}
    store.put(address, made)
    store.put(address, made)
    assert store.get(address) == made
    assert store.get(other) is None
    (folder,) = (tmp_path / "traces").glob("[!.]*")
    assert not list((tmp_path / "traces").glob(".watching-*"))
    content = (folder / "predicted.json").read_text()
    (folder / "predicted.json").write_text(content.replace('"index":1', '"index":2'))
    assert store.get(address) is None
    store.put(address, made)
    manifest = folder / "modelled.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"files": 1}))
    assert store.get(address) is None


class Heard(Notes):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def note(self, text: str) -> None:
        self.heard.append(text)


def test_the_screen_says_nothing_of_what_was_predicted_ahead(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a run waits at its end for predictions that it made beside its last cases."""
    session = FakeSession(lambda case: said(run, parse_case(case.id, 4, 2)))
    monkeypatch.setattr(first_screen, "Session", lambda *_, **__: session)
    reading = read_run(run)
    rows = [row for row in reading.rows if row.place == "client"]
    monkeypatch.setattr(first_screen, "leading", lambda _: [row for row in rows if row.case == CASE.id])
    notes, stops = Heard(), list[Callable[[], None]]()
    done = first_screen.predict_ahead(run, reading, notes, stops.append)
    assert (done, len(notes.heard), len(stops)) == (frozenset({CASE.id}), 1, 1)
    assert first_screen.first_times(run, reading, notes, done)
    assert len(notes.heard) == 1
    monkeypatch.setattr(first_screen, "leading", lambda _: rows)
    assert first_screen.first_times(run, reading, notes, done)
    others = len([row for row in rows if row.case == OTHER.id])
    assert notes.heard[1:] == [f"predicting {others} rows on a {CORE}"]


def test_what_predicts_ahead_ends_with_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, Ctrl-C leaves a machine, or waits for it."""
    ended: list[str] = []

    def predict(_run: Run, _reading: object, _notes: object, began: Callable[..., None]) -> frozenset[str]:
        began(lambda: ended.append("one"))
        ahead.stop()
        began(lambda: ended.append("two"))
        raise WorldwiseError("stopped")

    monkeypatch.setattr(cli_session, "leading", lambda _: ["a row"])
    monkeypatch.setattr(first_screen, "predict_ahead", predict)
    ahead = TimesAhead(None, cast(Display, None))
    ahead.begin(run)
    assert (ended, ahead.done) == (["one", "two"], frozenset())
    ahead.begin(run)
    assert ended == ["one", "two"]
