# SPDX-License-Identifier: BSD-2-Clause
"""Measuring by workers for `run --on`: they put images and results into the store, and this machine's run takes them.

So a run is written by the same code whoever measured it, and is the same but for its times. A worker that is itself the
problem (its disk, its lab) is left out for the rest of the run; a case that fails on one is measured here, and what
comes of that stands in the run.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from worldwise.base import paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.base.progress_notes import REUSED, CaseEnd
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import Case
from worldwise.plan.costs import build_cost
from worldwise.run.options import WorkerResult
from worldwise.run.results import ResultStore
from worldwise.run.workers import task
from worldwise.run.workers.cluster import Cluster, Place, opened
from worldwise.run.workers.task import TaskAnswer, TaskOrder

# So many tasks at least wait at the scheduler: none of the workers that come later is idle.
_IN_FLIGHT = 64
# Builds go before all cases: what is not built cannot be measured.
_BUILDS_FIRST, _CHECKS_FIRST = 10**12, 10**11
_DEFECT = "this is a serious defect: keep the cache and the workers' machines as they are, and report it"


class Workers:
    """The workers of one run; see worldwise.run.options.Elsewhere.

    Args:
        cluster: has them.
        order: what their tasks have in common.
        notify: called with a line of text.
        costs: what each case is expected to cost, by its id.
        twice: cases that two workers measure.
    """

    def __init__(
        self,
        cluster: Cluster,
        order: TaskOrder,
        notify: Callable[[str], None],
        costs: Mapping[str, int],
        twice: frozenset[str] = frozenset(),
    ) -> None:
        self.jobs = max(_IN_FLIGHT, 2 * len(cluster.workers))
        self._cluster = cluster
        self._order = order
        self._notify = notify
        self._costs = costs
        self._twice = twice
        self._lock = threading.Lock()
        # Workers that are left out, by address, with the reason.
        self._out: dict[str, str] = {}

    def cost(self, case: Case) -> int:
        """What a case is expected to cost; cases that are measured twice go first, since a difference ends the run."""
        return self._costs[case.id] + (_CHECKS_FIRST if case.id in self._twice else 0)

    def build(self, cases: Sequence[Case]) -> None:
        """Have a worker build what cases of one variant need. What cannot be built there, this machine tries."""
        first = cases[0]
        what = f"building {first.target}/{first.variant}"
        rank = _BUILDS_FIRST + build_cost(first) + sum(map(self.cost, cases))
        answer = self._ask(what, rank, frozenset(), task.build, list(cases))
        if answer.problem:
            self._notify(f"{what}: {answer.name} could not: {answer.problem}; this machine tries it")

    def measure(self, run: str, case: Case, digest: str, results: ResultStore) -> WorkerResult | None:
        """Have a worker measure a case; see worldwise.run.options.Elsewhere."""
        while True:
            answer = self._ask(case.id, self.cost(case), frozenset(), task.measure, case, run, True)
            if answer.problem:
                self._notify(f"{case.id}: failed on {answer.name}: {answer.problem}; this machine measures it")
                return None
            if answer.digest != digest:
                here, there = digest[:16], answer.digest[:16]
                why = f"its checkout has different sources: {case.id} has the address {there} there, and {here} here"
                self._leave_out(answer, why)
                continue
            result = results.get(digest)
            if result is None:
                self._leave_out(answer, f"the worker says that it measured {case.id}, but the store has no such result")
                continue
            self._require_same(case, (f"the store ({result.directory})", result.files[RECORDS]), answer)
            if case.id in self._twice:
                self._measure_again(run, case, answer)
            if not answer.found and not answer.seconds:
                # Another run was quicker.
                return WorkerResult(result, result.run, 0.0, REUSED)
            return WorkerResult(result, "", answer.seconds, CaseEnd(f"{answer.seconds:.1f} s{answer.found}"))

    def stop(self) -> None:
        """Drop all tasks."""
        self._cluster.stop()

    def _measure_again(self, run: str, case: Case, first: TaskAnswer) -> None:
        """Have another worker measure a case. Raises HostError unless it comes to the same records."""
        again = self._ask(case.id, self.cost(case), frozenset({first.worker}), task.measure, case, run, False)
        if again.problem:
            raise HostError(
                f"{case.id}: {first.name} measured it, but on {again.name} it failed: {again.problem}", _DEFECT
            )
        self._require_same(case, (first.name, first.content), again)
        self._notify(f"{case.id} measured on {first.name} and {again.name}: identical")

    def _require_same(self, case: Case, one: tuple[str, str], answer: TaskAnswer) -> None:
        where, content = one
        if content != answer.content:
            raise HostError(
                f"{case.id}: two measurements differ: {where} has the records {content}, {answer.name} has "
                f"{answer.content}.",
                _DEFECT,
            )

    def _ask(
        self, what: str, rank: int, but: frozenset[str], function: Callable[..., TaskAnswer], *arguments: object
    ) -> TaskAnswer:
        """The answer of a worker that is not itself the problem. Raises WorldwiseError if none is left."""
        while True:
            with self._lock:
                out = dict(self._out)
            workers = self._cluster.workers
            if out and not workers.keys() - out.keys():
                raise HostError(
                    f"{what}: no worker is left to do it; {'; '.join(out.values())}",
                    "correct that, then: worldwise run --resume --on ...",
                )
            answer = self._cluster.call(
                function, self._order, *arguments, reads=task.ANSWER, what=what, rank=rank, avoid=out.keys() | but
            )
            for note in answer.said:
                self._notify(f"{answer.name}: {note}")
            if not answer.of_host:
                return answer
            self._leave_out(answer, answer.problem)

    def _leave_out(self, answer: TaskAnswer, why: str) -> None:
        with self._lock:
            known = answer.worker in self._out
            self._out[answer.worker] = f"{answer.name}: {why}"
        if not known:
            self._notify(f"{answer.name} gets no more work: {why}")


@contextlib.contextmanager
def workers_at(
    place: Place,
    order: TaskOrder,
    notify: Callable[[str], None],
    costs: Mapping[str, int],
    cross_check: int | None,
    wait: float | None = None,
) -> Iterator[Workers]:
    """The workers of a place for one call of the tool; `cross_check` is the number of cases that two workers measure.

    Without a number it is one, if there are two workers. `wait` is for how many seconds there may be no worker; None
    for the default. Raises WorldwiseError.
    """
    if not place.processes and paths.shared_place() is None:
        raise WorldwiseError(
            f"--on {place}: the workers have no store to put their results into.",
            "name one that this machine and theirs have under the same name: --cache DIR or URL, or WORLDWISE_SHARED",
        )
    with opened(place, notify, wait) as cluster:
        count = len(cluster.workers)
        if not count:
            notify(f"{place} has no worker yet; waiting")
        if max(count, place.jobs) < 2 and cross_check:
            raise WorldwiseError(
                f"--cross-check {cross_check}: it needs two workers, and {place} has {count or place.jobs or 'none'}.",
                "leave it out, or start more workers",
            )
        if count:
            notify(f"{count} {'worker' if count == 1 else 'workers'} at {place}")
        number = (1 if count > 1 else 0) if cross_check is None else cross_check
        yield Workers(cluster, order, notify, costs, twice(costs, number))


def twice(costs: Mapping[str, int], number: int) -> frozenset[str]:
    """So many cases, evenly over their costs, the cheapest among them."""
    ordered = sorted(costs, key=lambda case_id: costs[case_id])
    number = min(number, len(ordered))
    return frozenset(ordered[place * len(ordered) // number] for place in range(number))
