# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run --predict`: several machines at a time, and what is stored does not depend on which one ends first."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.cli.common.progress import Notes
from worldwise.cli.traces import further_predictions
from worldwise.predict import cores

CORE = "cortex-a72"
NAMES = ["first", "second", "third"]


@dataclass
class Tools:
    """In place of the machines: cases are predicted by `one`, and what was stopped and stored is kept."""

    one: Any
    stops: int = 0
    stored: list[Any] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def session(self, *_: object, **__: object) -> SimpleNamespace:
        """In place of Session."""
        return SimpleNamespace(
            predicted=lambda case, _, wanted: {core: self.one(case.id) for core in wanted},
            stop=self.stop,
            images=SimpleNamespace(get=lambda *_: SimpleNamespace(files={"worldwise.so": "0" * 64})),
        )

    def stop(self) -> None:
        self.stops += 1
        self.ended.set()


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    """predict_run with these tools, and with every case on every core."""

    def cores_of(_: object, tables: Mapping[str, str]) -> Mapping[str, str]:
        return tables

    made = Tools(None)
    monkeypatch.setattr(further_predictions, "Session", made.session)
    monkeypatch.setattr(further_predictions, "Predicted", SimpleNamespace)
    monkeypatch.setattr(further_predictions, "store", lambda *wanted: made.stored.append(wanted[1]))
    monkeypatch.setattr(cores, "cores_of", cores_of)
    return made


def predict(jobs: int) -> None:
    """Predict a run of three cases."""
    done = [SimpleNamespace(case=lambda name=name: SimpleNamespace(id=name)) for name in NAMES]
    run: Any = SimpleNamespace(complete_cases=lambda: done)
    further_predictions.predict_run(run, {CORE: "a table"}, Notes(), jobs)


def test_cases_are_predicted_side_by_side_and_stored_in_the_run_s_order(tools: Tools) -> None:
    last = threading.Event()

    def one(name: str) -> str:
        # The first one ends when the last one has, which needs the second machine.
        if name == "first":
            assert last.wait(30)
        elif name == "third":
            last.set()
        return f"cycles of {name}"

    tools.one = one
    predict(2)
    assert [(each.core, each.cases) for each in tools.stored] == [(CORE, [f"cycles of {name}" for name in NAMES])]
    assert not tools.stops


def test_a_case_that_fails_ends_the_other_machines(tools: Tools) -> None:
    begun: list[str] = []
    first = threading.Event()

    def one(name: str) -> str:
        begun.append(name)
        if name == "first":
            first.set()
            assert tools.ended.wait(30)
            raise WorldwiseError("stopped")
        assert first.wait(30)
        raise WorldwiseError(f"{name} fails")

    tools.one = one
    with pytest.raises(WorldwiseError, match="second fails"):
        predict(2)
    assert tools.stops == 1
    assert tools.stored == []
    # What had not begun does not begin, unless a thread had taken it already.
    assert sorted(begun[:2]) == ["first", "second"]


def test_one_machine_at_a_time_may_be_asked_for(tools: Tools) -> None:
    running = threading.Lock()

    def one(name: str) -> str:
        assert running.acquire(blocking=False)
        # Long enough for a second one to come, if there were one.
        threading.Event().wait(0.05)
        running.release()
        return name

    tools.one = one
    predict(1)
    assert tools.stored[0].cases == NAMES
