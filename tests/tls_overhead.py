# SPDX-License-Identifier: BSD-2-Clause
"""What TLS costs a task of `run --on local:1`: python tests/tls_overhead.py [TASKS [ROUNDS]]; see docs/use/machines.md.

Two clusters as `run` makes them, the other one with dask's plain connections: the same trivial tasks on each, one after
the other, in turns, so that a busy machine is so for both.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import dask
import distributed

from worldwise.run.workers import nodes, task_messages
from worldwise.run.workers.cluster import SETTINGS
from worldwise.run.workers.keys import Key, new_key


class PlainKey(Key):
    """No key."""

    def security(self, _file: object = None) -> Any:
        return distributed.Security()


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def plainly(start: Callable[[], Any]) -> Any:
    """What a function starts, with connections of TCP alone."""
    real: Any = distributed.SpecCluster

    def cluster(**named: Any) -> Any:
        for each in (named["scheduler"], named["worker"]):
            each["options"]["protocol"] = "tcp://"
        return real(**named)

    with mock.patch.object(distributed, "SpecCluster", cluster):
        return start()


def seconds(client: Any, tasks: int) -> tuple[float, float]:
    """The wall time of a task in milliseconds, and this process's processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(tasks):
        client.submit(task_messages.carried, task_messages.packed(os.getpid, ()), pure=False).result()
    return (time.perf_counter() - wall) * 1000 / tasks, (time.process_time() - processor) * 1000 / tasks


def main(tasks: int = 500, rounds: int = 6) -> None:
    """Measure, and print each round."""
    key = new_key()
    with (
        dask.config.set(SETTINGS),
        nodes.scratch(),
        nodes.local_cluster(1, key) as secure,
        plainly(lambda: nodes.local_cluster(1, PlainKey("", ""))) as plain,
        distributed.Client(secure, set_as_default=False) as by_tls,
        distributed.Client(plain, set_as_default=False) as by_tcp,
    ):
        assert secure.scheduler_address.startswith("tls://")
        assert plain.scheduler_address.startswith("tcp://")
        for client in (by_tls, by_tcp):
            seconds(client, 50)
        found = []
        for number in range(rounds):
            order = (by_tcp, by_tls) if number % 2 else (by_tls, by_tcp)
            took = {client: seconds(client, tasks) for client in order}
            found.append((*took[by_tcp], *took[by_tls]))
            say("tcp {:.2f} ms ({:.2f} of the processor), tls {:.2f} ms ({:.2f})".format(*found[-1]))
        wall = statistics.median(each[2] - each[0] for each in found)
        processor = statistics.median(each[3] - each[1] for each in found)
        say(f"TLS costs {wall:.2f} ms a task, {processor:.2f} ms of the processor here (medians of {rounds} pairs)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
