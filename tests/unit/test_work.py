# SPDX-License-Identifier: BSD-2-Clause
"""In which order a run builds and measures."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from worldwise.plan.case import Case, parse_case
from worldwise.run.work import Work

FIRST, SECOND, THIRD = (parse_case(f"optee/mbedtls-nist-{level}/{name}") for level, name in (
    ("O2", "attestdiv"),
    ("Os", "attestdiv"),
    ("Os", "keygen"),
))  # fmt: skip


def test_the_first_groups_are_built_with_nothing_beside_them() -> None:
    """If this fails, the first figure waits for two builds that share the processors."""
    building: set[str] = set()
    beside: dict[str, set[str]] = {}
    lock, together = threading.Lock(), threading.Barrier(2)

    def build(group: Sequence[Case]) -> None:
        with lock:
            building.add(group[0].id)
            beside[group[0].id] = set(building)
        if group[0] != FIRST:
            # Neither of these ends before both have begun.
            together.wait(20)
        with lock:
            building.remove(group[0].id)

    work: Work[None, None] = Work(2, [[FIRST], [SECOND], [THIRD]], build, lambda _: None, lambda _: 1, alone=1)
    with ThreadPoolExecutor(3) as pool:
        ended = [one.cases[0] for one in work.ended(pool)]
    assert ended[0] == FIRST
    assert beside[FIRST.id] == {FIRST.id}
    assert {SECOND.id, THIRD.id} in beside.values()


def test_what_is_done_beside_takes_the_place_of_a_machine() -> None:
    """If this fails, three machines share two processors, or a run ends before what was begun beside it."""
    lock = threading.Lock()
    at_a_time, most, order = 0, 0, []

    def machine(name: str) -> None:
        nonlocal at_a_time, most
        with lock:
            at_a_time += 1
            most = max(most, at_a_time)
            order.append(name)
        time.sleep(0.02)
        with lock:
            at_a_time -= 1

    work: Work[None, None] = Work(
        2, [[FIRST, SECOND, THIRD]], lambda _: None, lambda case: machine(case.id), lambda _: 1
    )
    begun = False
    with ThreadPoolExecutor(3) as pool:
        for one in work.ended(pool):
            if one.build:
                assert work.is_built
                work.add(one.cases)
            if one.measurement and not begun:
                begun = True
                work.begin_beside(lambda: machine("beside"))
    assert most == 2
    assert sorted(order) == sorted([FIRST.id, SECOND.id, THIRD.id, "beside"])


def test_an_error_of_what_is_done_beside_is_seen() -> None:
    """If this fails, a defect there passes for a slow screen."""

    def broken() -> None:
        raise RuntimeError("beside")

    work: Work[None, None] = Work(1, [[FIRST]], lambda _: None, lambda _: None, lambda _: 1)
    work.begin_beside(broken)
    with ThreadPoolExecutor(2) as pool, pytest.raises(RuntimeError, match="beside"):
        list(work.ended(pool))
