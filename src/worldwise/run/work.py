# SPDX-License-Identifier: BSD-2-Clause
"""A run's parallel work: it builds images of later cases while it measures earlier ones."""

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from worldwise.plan.case import Case

_Built = TypeVar("_Built")
_Measured = TypeVar("_Measured")


@dataclass(frozen=True)
class WorkEnd(Generic[_Built, _Measured]):
    """A build or a measurement that has ended; one of the futures is set. `cases` are the cases that it was for."""

    cases: Sequence[Case]
    build: Future[_Built] | None = None
    measurement: Future[_Measured] | None = None


class Work(Generic[_Built, _Measured]):
    """Builds groups of cases one after another, and measures the cases that `add` brings. Measuring goes first.

    At most `jobs` cases are measured at a time. The other threads build, and at least one thread always may: so a
    machine never waits for a build that could have been done before.

    Args:
        jobs: machines at a time.
        groups: cases that are built together, in the order in which they are to be built.
        build: builds a group; called in a thread.
        measure: measures a case; called in a thread.
        cost: what a case is expected to cost: of those that are built, the dearest goes first.
        alone: so many of the first groups are built with no other build beside them.
    """

    def __init__(
        self,
        jobs: int,
        groups: Sequence[Sequence[Case]],
        build: Callable[[Sequence[Case]], _Built],
        measure: Callable[[Case], _Measured],
        cost: Callable[[Case], int],
        alone: int = 0,
    ) -> None:
        self._jobs = jobs
        self._alone = list(groups[:alone])
        self._groups = deque(groups)
        # The dearest first, of equals the first that came.
        self._ready: list[tuple[int, int, Case]] = []
        self._came = itertools.count()
        self._build = build
        self._measure = measure
        self._cost = cost
        self._building: dict[Future[_Built], Sequence[Case]] = {}
        self._running: dict[Future[_Measured], Case] = {}
        self._beside: Callable[[], None] | None = None
        self._besides: set[Future[None]] = set()

    def add(self, cases: Sequence[Case]) -> None:
        """Queue these cases for measuring, behind those already queued that cost as much or more."""
        for case in cases:
            heapq.heappush(self._ready, (-self._cost(case), next(self._came), case))

    @property
    def is_built(self) -> bool:
        """Whether the last group is built."""
        return not self._groups and not self._building

    def begin_beside(self, task: Callable[[], None]) -> None:
        """Have this done before further cases, in the place of one machine; called in a thread."""
        self._beside = task

    def build_no_more(self) -> None:
        """Begin no further build; cases already built are still measured."""
        self._groups.clear()

    def ended(self, pool: ThreadPoolExecutor) -> Iterator[WorkEnd[_Built, _Measured]]:
        """Yields each piece of work as it ends, until all is done; `pool` has room for one thread more than `jobs`."""
        self._begin(pool)
        while self._building or self._running or self._besides:
            waiting: list[Future[Any]] = [*self._building, *self._running, *self._besides]
            done = wait(waiting, return_when=FIRST_COMPLETED).done
            for built in [future for future in self._building if future in done]:
                yield WorkEnd(self._building.pop(built), build=built)
            for measured in [future for future in self._running if future in done]:
                yield WorkEnd([self._running.pop(measured)], measurement=measured)
            for task in self._besides & done:
                self._besides.remove(task)
                task.result()
            self._begin(pool)

    def _begin(self, pool: ThreadPoolExecutor) -> None:
        if self._beside and self._machines() < self._jobs:
            self._besides.add(pool.submit(self._beside))
            self._beside = None
        while self._ready and self._machines() < self._jobs:
            _, _, case = heapq.heappop(self._ready)
            self._running[pool.submit(self._measure, case)] = case
        while self._groups and len(self._building) < self._builds():
            group = self._groups.popleft()
            self._building[pool.submit(self._build, group)] = group

    def _builds(self) -> int:
        """How many groups may be built at a time now."""
        if any(group in self._alone for group in self._building.values()):
            return 1
        return max(1, self._jobs - self._machines())

    def _machines(self) -> int:
        return len(self._running) + len(self._besides)


def by_variant(cases: Sequence[Case]) -> list[list[Case]]:
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.variant, []).append(case)
    return list(groups.values())


def compile_order(cases: Sequence[Case]) -> list[Case]:
    """Each implementation in all its optimisations, then the next: neighbours share few objects, followers many."""
    implementations = list(dict.fromkeys(case.implementation for case in cases))
    return sorted(cases, key=lambda case: implementations.index(case.implementation))
