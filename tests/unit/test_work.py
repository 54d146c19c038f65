# SPDX-License-Identifier: BSD-2-Clause
"""In which order a run builds and measures."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

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
