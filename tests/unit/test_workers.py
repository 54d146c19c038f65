# SPDX-License-Identifier: BSD-2-Clause
"""`run --on`: a run that workers measured is the run of one machine; a bad worker costs time and nothing else.

The workers are threads here, each with a cache of its own, and dask is not asked: tests/unit/test_cluster.py does that.
"""

import errno
import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner
from pydantic import TypeAdapter
from test_measure import (
    DIV,
    EMPTY,
    IDS,
    KEYGEN,
    LINUX,
    FakeEmulator,
    FakeTarget,
    Fault,
    Notes,
    Tool,
    cases,
    hangs,
    one_more_instruction,
    suite,
)

from worldwise import cli
from worldwise.base import files, paths
from worldwise.base.disk import require_space
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import Case
from worldwise.plan.costs import costs_of
from worldwise.plan.suite import Suite
from worldwise.run import ways
from worldwise.run.folder.run_plan import RunPlan
from worldwise.run.folder.rundir import Run, open_run
from worldwise.run.measure import Bench
from worldwise.run.options import MeasureOptions
from worldwise.run.ways import case_digest
from worldwise.run.workers import dispatch, task
from worldwise.run.workers.cluster import Cluster, DeadlyError, Place, worker_name
from worldwise.run.workers.dispatch import Workers, twice, workers_at
from worldwise.run.workers.task import TaskAnswer, TaskOrder
from worldwise.run.workers.task_messages import carried, packed, read
from worldwise.targets.all_targets import EMULATED, Target

__all__ = ["cases", "suite"]


@pytest.fixture
def tool(tmp_path: Path, suite: Suite, cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> Tool:
    targets: dict[str, Target] = dict.fromkeys(EMULATED, FakeTarget())
    monkeypatch.setattr(ways, "EMULATED", targets)
    monkeypatch.setenv(paths.SHARED_VARIABLE, str(tmp_path / "shared"))
    return Tool(tmp_path, suite, cases)


class Threads:
    """In place of the cluster: workers `a`, `b`, ..., each a thread with an emulator and a cache of its own.

    Attributes:
        emulators: of each worker.
        asked: every task: its name, and the workers that were kept from it.
        ranks: the rank of each task, by its name.
        refuse: called with a worker and a task's name before the task, which may raise.
    """

    def __init__(self, root: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.emulators = {chr(ord("a") + number): FakeEmulator() for number in range(count)}
        self.asked: list[tuple[str, frozenset[str]]] = []
        self.ranks: dict[str, int] = {}
        self.refuse: Callable[[str, str], None] = lambda _worker, _what: None
        self.stopped = False
        self._here = threading.local()
        self._turn = 0
        self._caches = {name: root / f"cache-{name}" for name in self.emulators}
        # One task at a time: what it says is then its own.
        self._lock = threading.Lock()
        monkeypatch.setattr(task, "this_worker", lambda: TaskAnswer(self.here, worker_name(self.here, "tcp")))
        monkeypatch.setattr(task, "bench_of", self._bench)

    @property
    def workers(self) -> dict[str, str]:
        return {name: f"worker {name}" for name in self.emulators}

    def call(
        self,
        function: Callable[..., Any],
        *arguments: object,
        reads: TypeAdapter[Any],
        what: str,
        rank: int,
        avoid: Collection[str] = (),
    ) -> Any:
        with self._lock:
            self.asked.append((what, frozenset(avoid)))
            self.ranks[what] = rank
            free = [name for name in self.emulators if name not in avoid]
            self._turn += 1
            self._here.name = free[self._turn % len(free)]
            return read(carried(packed(function, arguments)), reads)

    @property
    def ran(self) -> list[str]:
        """Every case that a worker measured."""
        return [case_id for each in self.emulators.values() for case_id in each.ran]

    @property
    def here(self) -> str:
        """The worker that does the task."""
        return str(self._here.name)

    def stop(self) -> None:
        self.stopped = True

    def _bench(self, _order: TaskOrder) -> Bench:
        name = self.here
        self.refuse(name, self.asked[-1][0])
        self._caches[name].mkdir(exist_ok=True)
        bench = Bench(Lab(load_lock(), self._caches[name]), task.said_by_worker, MeasureOptions(reuse=False, jobs=1))
        bench.emulator = cast(Emulator, self.emulators[name])
        return bench


@pytest.fixture
def threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Threads:
    return Threads(tmp_path, 2, monkeypatch)


def spoil(threads: Threads, case_id: str, fault: Fault, workers: Sequence[str] = ("a", "b")) -> None:
    for name in workers:
        threads.emulators[name].faults[case_id] = fault


ORDER = TaskOrder("lab", "version", "revision", 5)


def away(
    tool: Tool,
    threads: Threads,
    here: FakeEmulator | None = None,
    check: int = 0,
    options: MeasureOptions | None = None,
) -> Run:
    """A new run of all cases by the workers."""
    bench = by_workers(tool, threads, here, check, options)
    with bench.new_run(tool.runs, RunPlan(tool.suite, tool.cases)) as writer:
        return bench.measure(writer, tool.cases)


def by_workers(
    tool: Tool,
    threads: Threads,
    here: FakeEmulator | None = None,
    check: int = 0,
    options: MeasureOptions | None = None,
) -> Bench:
    bench = tool.bench(here or FakeEmulator())
    costs = costs_of(tool.cases, {})
    order = replace(ORDER, reuse=options is None)
    bench = Bench(
        bench.lab,
        tool.notes,
        options or MeasureOptions(),
        Workers(cast(Cluster, threads), order, tool.notes.note, costs, twice(costs, check)),
    )
    bench.emulator = cast(Emulator, here or FakeEmulator())
    return bench


def tree(run: Run) -> dict[str, bytes]:
    return {
        str(path.relative_to(run.path)): path.read_bytes()
        for path in run.path.rglob("*")
        if path.is_file() and path.name not in ("run.json", "finished.json")
    }


def test_a_run_by_workers_is_the_run_of_one_machine(tool: Tool, threads: Threads, tmp_path: Path) -> None:
    """Each file of each case, byte for byte. If this fails, `--on` makes another run than none."""
    here = FakeEmulator()
    run = away(tool, threads, here)
    assert run.state == "complete"
    assert here.ran == []
    assert sorted(threads.ran) == sorted(IDS)
    assert len(list((tmp_path / "shared" / "results").iterdir())) == len(IDS)
    assert tool.notes.done[DIV] == "0.5 s, sign 4,660,005 instructions"
    alone = tool.measure(FakeEmulator(), MeasureOptions(reuse=False, jobs=1))
    assert tree(run) == tree(alone)
    one, other = run.manifest.model_dump(), alone.manifest.model_dump()
    assert {name for name in one if one[name] != other[name]} <= {"started"}


def test_what_the_store_has_no_worker_measures(tool: Tool, threads: Threads) -> None:
    """If this fails, a second run on a cluster takes as long as the first."""
    first = away(tool, threads)
    before = len(threads.asked)
    second = away(tool, threads)
    assert all(what.startswith("building ") for what, _ in threads.asked[before:])
    assert {manifest.reused_from for manifest in second.complete_cases()} == {first.id}


def test_two_runs_at_once_measure_once(tool: Tool, threads: Threads) -> None:
    """The other run is done after this one has asked. If this fails, two users on one cluster wait twice as long."""
    real = threads.call
    others: list[Run] = []
    first = threading.Lock()

    def call(*arguments: Any, **named: Any) -> Any:
        # Two workers may ask at the same time: one of them begins the other run.
        if named["what"] in IDS and first.acquire(blocking=False):
            threads.call = real  # type: ignore[method-assign]
            others.append(away(tool, threads))
        return real(*arguments, **named)

    bench = by_workers(tool, threads)
    threads.call = call  # type: ignore[method-assign]
    with bench.new_run(tool.runs, RunPlan(tool.suite, tool.cases)) as writer:
        run = bench.measure(writer, tool.cases)
    assert sorted(threads.ran) == sorted(IDS)
    assert run.state == "complete"
    reused = [manifest for manifest in run.complete_cases() if manifest.reused_from]
    assert reused
    assert {manifest.reused_from for manifest in reused} == {others[0].id}


def test_what_a_worker_has_it_gives_to_the_store(tool: Tool, threads: Threads, tmp_path: Path) -> None:
    """If this fails, a worker that measured a case for itself once is taken for a liar, and left out."""
    away(tool, threads)
    for name in ("shared", "cache"):
        files.remove(tmp_path / name, "results")
    run = away(tool, threads)
    assert run.state == "complete"
    assert not any("gets no more work" in note for note in tool.notes.notes)
    assert len(list((tmp_path / "shared" / "results").iterdir())) == len(IDS)


def test_the_dearest_case_is_the_first(tool: Tool, threads: Threads, cases: list[Case]) -> None:
    """If this fails, the longest case begins when all others are done."""
    away(tool, threads)
    costs = costs_of(cases, {})
    assert {name: rank for name, rank in threads.ranks.items() if name in costs} == costs
    assert min(rank for name, rank in threads.ranks.items() if name not in costs) > max(costs.values())


def test_a_case_that_fails_is_measured_here(tool: Tool, threads: Threads) -> None:
    """If this fails, a worker's own trouble fails a case, or a failed case lacks its consoles."""
    spoil(threads, DIV, hangs)
    here = FakeEmulator()
    run = away(tool, threads, here)
    assert (run.state, here.ran) == ("complete", [DIV])
    assert any(f"{DIV}: failed on worker" in note and "machine hangs" in note for note in tool.notes.notes)
    both = FakeEmulator({DIV: hangs})
    run = away(tool, threads, both, options=MeasureOptions(reuse=False))
    assert (run.state, both.ran) == ("failed", [DIV])
    failed = run.case(DIV)
    assert failed
    assert "machine hangs" in failed.error
    assert [manifest.id for manifest in run.complete_cases()] == [EMPTY, LINUX, KEYGEN]


@pytest.mark.parametrize("how", ["full", "fuller", "refuses"])
def test_a_worker_that_is_the_problem_is_left_out(
    how: str, tool: Tool, threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a machine with a full disk fails the cases of the whole cluster, one after the other."""

    def full(_data: bytes) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/disk/of/a/records.jsonl")

    def refuse(worker: str, _what: str) -> None:
        if worker == "a":
            raise HostError("its lab is abc, and the run's is def")

    if how == "full":
        for case_id in IDS:
            spoil(threads, case_id, full, ["a"])
    elif how == "fuller":
        # The machine cannot write its records and says that in its own way; the disk knows better.
        for case_id in IDS:
            spoil(threads, case_id, hangs, ["a"])
        real = require_space

        def space(directory: Path, needed: int, purpose: str) -> None:
            real(directory, needed if threads.here == "b" else 10**18, purpose)

        monkeypatch.setattr("worldwise.run.workers.task.require_space", space)
    else:
        threads.refuse = refuse
    here = FakeEmulator()
    run = away(tool, threads, here)
    assert (run.state, here.ran) == ("complete", [])
    assert sorted(set(threads.emulators["b"].ran)) == sorted(IDS)
    said = [note for note in tool.notes.notes if "worker a (tcp) gets no more work" in note]
    assert len(said) == 1
    says = {"full": "/disk/of/a/records.jsonl: No space left", "fuller": "not enough disk space in"}
    assert says.get(how, "its lab is abc") in said[0]
    assert frozenset("a") in {avoided for _, avoided in threads.asked}


def test_without_any_good_worker_the_run_ends(tool: Tool, threads: Threads) -> None:
    """If this fails, a run goes round between bad workers for ever, or nobody learns why."""

    def refuse(worker: str, what: str) -> None:
        if not what.startswith("building "):
            raise HostError(f"the disk of {worker} is read-only")

    threads.refuse = refuse
    with pytest.raises(HostError, match="no worker is left to do it") as caught:
        away(tool, threads)
    assert "the disk of a is read-only" in caught.value.message
    assert "the disk of b is read-only" in caught.value.message
    assert threads.stopped
    cut = open_run("latest", tool.runs)
    assert cut.state == "failed"
    threads.refuse = lambda _worker, _what: None
    bench = by_workers(tool, threads)
    with bench.resume_run(cut) as writer:
        assert bench.measure(writer, tool.cases).state == "complete"


def test_a_case_that_kills_workers_fails_and_no_other(tool: Tool, threads: Threads) -> None:
    """If this fails, it is tried on this machine too, or ends the run."""

    def refuse(_worker: str, what: str) -> None:
        if what == LINUX:
            raise Death

    class Death(BaseException):
        pass

    real = threads.call

    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return real(*arguments, **named)
        except Death:
            raise DeadlyError(f"{named['what']}: 3 workers died while they did it") from None

    threads.refuse = refuse
    threads.call = call  # type: ignore[method-assign]
    here = FakeEmulator()
    run = away(tool, threads, here)
    assert (run.state, here.ran) == ("failed", [])
    failed = run.case(LINUX)
    assert failed
    assert failed.error == f"{LINUX}: 3 workers died while they did it"
    assert len(run.complete_cases()) == len(IDS) - 1


def test_a_result_that_is_damaged_on_the_way_is_measured_elsewhere(
    tool: Tool, threads: Threads, tmp_path: Path
) -> None:
    """If this fails, what a bad disk made of a result stands in a run, or the run ends with it."""
    real = threads.call
    damaged: list[str] = []

    def call(*arguments: Any, **named: Any) -> Any:
        answer = real(*arguments, **named)
        if named["what"] == DIV and not damaged:
            path = tmp_path / "shared" / "results" / answer.digest[:16] / RECORDS
            path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
            damaged.append(answer.worker)
        return answer

    threads.call = call  # type: ignore[method-assign]
    run = away(tool, threads)
    notes = tool.notes.notes
    assert run.state == "complete"
    assert tree(run) == tree(tool.measure(FakeEmulator(), MeasureOptions(reuse=False, jobs=1)))
    assert any("is damaged; worldwise makes it again" in note for note in notes)
    said = next(note for note in notes if "gets no more work" in note)
    assert f"worker {damaged[0]} (tcp) gets no more work: the worker says that it measured {DIV}" in said


def test_a_worker_with_other_sources_is_left_out(tool: Tool, threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, counts of two versions stand in one run."""
    real = case_digest
    other = "worldwise.run.workers.task.case_digest"
    monkeypatch.setattr(other, lambda *given: "f" * 64 if threads.here == "a" else real(*given))
    run = away(tool, threads)
    said = next(note for note in tool.notes.notes if "gets no more work" in note)
    assert tree(run) == tree(tool.measure(FakeEmulator(), MeasureOptions(reuse=False, jobs=1)))
    assert said.startswith("worker a (tcp) gets no more work: its checkout has different sources: ")
    assert "has the address ffffffffffffffff there" in said


# --- two workers measure one case ---


def test_a_case_is_measured_on_two_workers(tool: Tool, threads: Threads) -> None:
    """If this fails, a processor that counts otherwise is not found."""
    run = away(tool, threads, check=2)
    assert run.state == "complete"
    assert len(threads.ran) == len(IDS) + 2
    assert sum("identical" in note for note in tool.notes.notes) == 2
    again = [what for what, avoided in threads.asked if avoided]
    assert sorted(again) == sorted(twice(costs_of(tool.cases, {}), 2))


@pytest.mark.parametrize("fresh", [False, True])
def test_two_workers_that_differ_stop_the_run(fresh: bool, tool: Tool, threads: Threads) -> None:
    """If this fails, a run has the figures of whoever was first. Both digests are named."""
    if fresh:
        away(tool, threads)
        for case_id in IDS:
            spoil(threads, case_id, one_more_instruction)
        options = MeasureOptions(reuse=False)
    else:
        spoil(threads, EMPTY, one_more_instruction, ["a"])
        options = None
    with pytest.raises(WorldwiseError, match="two measurements differ") as caught:
        away(tool, threads, check=0 if fresh else len(IDS), options=options)
    words = caught.value.message.split()
    assert sum(len(word.strip(".,")) == 64 for word in words) == 2
    assert "serious defect" in caught.value.hint


def test_the_sample_is_spread_over_the_costs() -> None:
    costs = {name: cost for cost, name in enumerate("abcdefgh")}
    assert twice(costs, 0) == frozenset()
    assert twice(costs, 1) == {"a"}
    assert twice(costs, 2) == {"a", "e"}
    assert twice(costs, 99) == set(costs)


# --- how workers are opened ---


class Opened:
    """In place of worldwise.run.workers.cluster.opened: so many workers."""

    def __init__(self, count: int) -> None:
        self.workers = {f"tcp://{number}": f"worker {number}" for number in range(count)}

    def __call__(self, _place: Place, _notify: object, _wait: object) -> "Opened":
        return self

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("count", "asked", "checked"), [(0, None, 0), (1, None, 0), (2, None, 1), (3, 2, 2), (3, 0, 0)]
)
def test_by_default_one_case_is_measured_twice(
    count: int, asked: int | None, checked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "opened", Opened(count))
    notes = Notes()
    with workers_at(Place(processes=4), ORDER, notes.note, {"a": 1, "b": 2}, asked) as workers:
        # A case that two workers measure goes first: its cost is above all that cases take.
        ranks = [workers.cost(cast(Case, SimpleNamespace(id=name))) for name in ("a", "b")]
        assert sum(rank > 2 for rank in ranks) == checked
    assert ("workers at local:4" in notes.notes[0]) == (count > 1)


def test_two_workers_are_needed_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "opened", Opened(1))
    with (
        pytest.raises(WorldwiseError, match="--cross-check 1: it needs two workers, and local:1 has 1"),
        workers_at(Place(processes=1), ORDER, print, {"a": 1}, 1),
    ):
        pass


def test_other_machines_need_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, each case is measured on a worker and then nowhere to be found."""
    monkeypatch.delenv(paths.SHARED_VARIABLE, raising=False)
    with (
        pytest.raises(WorldwiseError, match="no store to put their results into") as caught,
        workers_at(Place(address="tls://a:1"), ORDER, print, {"a": 1}, None),
    ):
        pass
    assert "--cache DIR" in caught.value.hint


# --- the command line ---


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("--on", "local:2", "--jobs", "2"), "does not accept --jobs"),
        (("--on", "local:2", "--cold"), "does not accept --cold"),
        (("--on", "local:2", "--shard", "1/2"), "does not accept --shard"),
        (("--on", "slurm:0"), "no place for workers"),
        (("--on", "slurm:2", "--slurm", "ntasks=4"), "--slurm ntasks: worldwise sets that itself"),
        (("--on", "slurm:2", "--slurm", "-p short"), "not a long option of sbatch"),
        (("--on", "local:2", "--slurm", "exclusive"), "asks SLURM for something, and --on local:2 does not"),
        (("--slurm", "partition=short"), "--slurm is for workers: say where they are with --on"),
        (("--wait", "9"), "--wait is for workers"),
        (("--cross-check", "1"), "say where they are with --on"),
        (("--costs", "latest"), "needs --shard or --on"),
    ],
)
def test_what_does_not_go_together_is_refused(typed: tuple[str, ...], says: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.cli, ["run", "quick", *typed, "--runs", str(tmp_path)])
    assert result.exit_code != 0
    assert says in " ".join(f"{result.output} {result.exception}".split())
    assert list(tmp_path.iterdir()) == []


def test_a_worker_needs_a_scheduler_and_its_key(tmp_path: Path) -> None:
    for typed, says in {
        ("worker", "local:2", "--key", "key"): "starts its workers itself",
        ("worker", "dask://node1:8786"): "Missing option '--key'",
        ("scheduler", "dask://node1:8786"): "Missing option '--key'",
        ("worker", "dask://node1:8786", "--key", str(tmp_path / "key")): "there is no such key",
        ("run", "quick", "--on", "dask://node1:8786"): "which key does this scheduler have?",
        ("run", "quick", "--on", "local:2", "--key", "key"): "makes a key of its own",
        ("run", "quick", "--key", "key"): "--key is for workers",
    }.items():
        result = CliRunner().invoke(cli.cli, typed)
        assert result.exit_code != 0
        assert says in " ".join(f"{result.output} {result.exception}".split())
