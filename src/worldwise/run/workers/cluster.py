# SPDX-License-Identifier: BSD-2-Clause
"""Workers by dask.distributed, an optional package: on this machine, wherever a scheduler has some, or as SLURM's jobs.

Dask finds a worker that is free, and gives the task of one that died to another. What it leaves to its users is here:
a task that kills its workers, a worker that is avoided, a scheduler that is gone, no worker at all.
"""

import contextlib
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from worldwise.base import paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.base.files import quoted
from worldwise.run.workers import keys, task_messages

_T = TypeVar("_T")

FORMS = (
    "local:N for N processes on this machine, dask://HOST:PORT for the workers of a scheduler, slurm:N or "
    "slurm:N@HOST for N jobs of SLURM"
)
# A task that has killed so many workers is not tried again; of another's scheduler its own setting counts.
DEATHS = 3
# How dask is set, here and by `worldwise scheduler` and `worldwise worker`. Its own profile of each worker, and what
# looks after its loop, take some 3 % of a processor of an idle worker; without them it is 0.5 %.
SETTINGS = {
    "distributed.scheduler.allowed-failures": DEATHS - 1,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500 ms",
    # No source of the tool's own goes along with each task.
    "distributed.diagnostics.computations.nframes": 0,
    # Nobody serves these pages: see worldwise.run.workers.nodes.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
# More processes than this are a typing error.
_MOST_LOCAL = 256
# `--on slurm`.
_JOBS = 8
# Seconds: how often what waits looks around, how long a scheduler may take to answer, and how long there may be no
# worker that can do a task, without `--wait`; a queue takes its time.
LOOK = 2.0
_ANSWER = 30
_PATIENCE = 300.0
_PATIENCE_SLURM = 3600.0


@dataclass(frozen=True)
class Place:
    """Where workers are: `processes` here, those of the scheduler at `address`, or `jobs` of SLURM.

    Attributes:
        listen: with jobs, the name, address or interface of this machine where they reach it; empty for the usual one.
        asked: with jobs, what each asks of SLURM: options of sbatch without their dashes, such as `time=2:00:00`.
        key: with an address, the file that has the scheduler's key.
    """

    processes: int = 0
    address: str = ""
    jobs: int = 0
    listen: str = ""
    asked: tuple[str, ...] = ()
    key: Path | None = None

    def __str__(self) -> str:
        if self.jobs:
            return f"slurm:{self.jobs}"
        return f"dask://{self.address.removeprefix('tls://')}" if self.address else f"local:{self.processes}"


class DeadlyError(WorldwiseError):
    """A task that killed one worker after another."""


def parse_place(text: str, asked: Sequence[str] = (), key: Path | None = None) -> Place:
    """Where `--on` has its workers; `asked` has what each `--slurm` asks, and `key` is that of `--key`.

    Raises WorldwiseError.
    """
    local = re.fullmatch(r"local:([0-9]{1,4})", text)
    dask = re.fullmatch(r"dask://([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})", text)
    slurm = re.fullmatch(r"slurm(?::([1-9][0-9]{0,3}))?(?:@([A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\]))?", text)
    if key and not dask:
        raise WorldwiseError(
            f"--key {key}: --on {quoted(text)} makes a key of its own, for one run.",
            "leave it out, or name dask://HOST:PORT",
        )
    if slurm:
        from worldwise.run.workers.slurm import check_asked

        for option in asked:
            check_asked(option)
        return Place(jobs=int(slurm[1] or _JOBS), listen=(slurm[2] or "").strip("[]"), asked=tuple(asked))
    if asked:
        raise WorldwiseError(f"--slurm asks SLURM for something, and --on {quoted(text)} does not.", "--on slurm:N")
    if local and 1 <= int(local[1]) <= _MOST_LOCAL:
        return Place(processes=int(local[1]))
    if dask and 1 <= int(dask[2]) <= 65535:
        if key is None:
            raise WorldwiseError(
                f"{text}: which key does this scheduler have?",
                f"--key FILE: `worldwise scheduler {text} --key FILE` makes it; docs/use/machines.md",
            )
        return Place(address=f"tls://{dask[1]}:{dask[2]}", key=key)
    raise WorldwiseError(f"--on {quoted(text)}: no place for workers: {FORMS}.", "see docs/use/machines.md")


def require_dask() -> None:
    """Raise WorldwiseError, with the way out, if the optional package is not there."""
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise lacks("--on", "dask.distributed", error) from error


def lacks(option: str, package: str, error: ImportError) -> WorldwiseError:
    """What to say, with the way out, if an optional package of requirements/dask.txt is not there."""
    pip = f"{sys.executable} -I -m pip install --require-hashes -r {paths.REQUIREMENTS / 'dask.txt'}"
    again = "WORLDWISE_WITH=dask ./worldwise run ... makes one that has it, pinned; elsewhere: "
    return WorldwiseError(
        f"{option} needs {package}, and this Python's environment lacks it ({error}).",
        pip if paths.INSTALLED else again + pip,
    )


@contextlib.contextmanager
def opened(place: Place, notify: Callable[[str], None], wait: float | None = None) -> Iterator["Cluster"]:
    """The workers of a place; those on this machine, and jobs of SLURM, are started, and ended.

    `wait` is for how many seconds there may be no worker; None for the default. Raises WorldwiseError.
    """
    require_dask()
    import dask
    from distributed import Client

    from worldwise.run.workers import nodes

    for name in ("distributed", "distributed.client", "distributed.protocol", "distributed.comm"):
        # What matters of it is an error of ours, or a note; a message that cannot be read is `critical` to dask.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    reason: Callable[[], str] = str
    patience = _PATIENCE
    with contextlib.ExitStack() as stack:
        stack.enter_context(nodes.scratch())
        stack.enter_context(dask.config.set(SETTINGS))
        # With a scheduler in this process its tasks are unpickled here, though not what they carry.
        stack.enter_context(task_messages.refuse_pickles(task_messages.PLAIN if place.address else task_messages.TASKS))
        target: Any = place.address
        if place.processes:
            key = keys.new_key()
            target = stack.enter_context(nodes.local_cluster(place.processes, key))
        elif place.jobs:
            from worldwise.run.workers import slurm

            jobs = stack.enter_context(slurm.started(place, notify))
            key, target, reason, patience = jobs.key, jobs.cluster, jobs.reason, _PATIENCE_SLURM
        else:
            key = _key_of(place)
        try:
            client = stack.enter_context(
                # Whatever a message says of itself, only bytes are made of it.
                Client(
                    target,
                    timeout=_ANSWER,
                    set_as_default=False,
                    security=key.security(),
                    serializers=["dask", "pickle"],
                    deserializers=["dask", "error"],
                )
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise _no_scheduler(place, str(error)) from error
        cluster = Cluster(client, place, notify, patience if wait is None else wait, reason)
        stack.callback(cluster.close)
        yield cluster


def _key_of(place: Place) -> keys.Key:
    """The key of the scheduler at an address. Raises HostError if there is none, WorldwiseError for a bad key."""
    assert place.key
    key = keys.read_key(place.key)
    if not keys.answers(place.address, key, place.key):
        raise _no_scheduler(place, "nobody listens")
    return key


def _no_scheduler(place: Place, why: str) -> HostError:
    return HostError(
        f"--on {place}: no scheduler of dask answers there: {why}",
        "start one: `worldwise scheduler`, and workers: docs/use/machines.md",
    )


class Cluster:
    """The workers of a place. Every method may be called by several threads.

    Args:
        client: dask's client.
        place: where that is.
        notify: called with a line of text when a worker comes or goes.
        patience: for how many seconds there may be no worker for a task.
        reason: says why there is none; raises HostError if there will be none.
    """

    def __init__(
        self,
        client: Any,
        place: Place,
        notify: Callable[[str], None],
        patience: float = _PATIENCE,
        reason: Callable[[], str] = str,
    ) -> None:
        self.place = place
        self.client = client
        self._notify = notify
        self._patience = patience
        self._reason = reason
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._waiting: set[Any] = set()
        self._workers: dict[str, str] = {}
        # Who was there before is no news.
        self._looked = False
        self._look()
        self._watch = threading.Thread(target=self._look_around, daemon=True, name="workers")
        self._watch.start()

    @property
    def workers(self) -> dict[str, str]:
        """The workers that there are: address -> what people call it."""
        return dict(self._workers)

    def call(
        self,
        function: Callable[..., object],
        *arguments: object,
        reads: TypeAdapter[_T],
        what: str,
        rank: int,
        avoid: Collection[str] = (),
    ) -> _T:
        """Have a worker call a function, and return what `reads` reads of its answer; the highest `rank` goes first.

        `avoid` has addresses of workers that must not do it, `what` is for messages. Raises DeadlyError if workers died
        of it, HostError if none is left, the scheduler is gone, or the answer is none, WorldwiseError after `stop`.
        """
        task = task_messages.packed(function, arguments)
        without = 0.0
        while True:
            chosen = self._chosen(avoid)
            if chosen == []:
                # All that could do it are gone: others may come.
                without += LOOK
                self._require_hope(what, without)
                if self._stopped.wait(LOOK):
                    raise WorldwiseError("stopped")
                continue
            try:
                return task_messages.read(self._once(task, what, rank, chosen), reads)
            except (task_messages.RaisedError, task_messages.NoAnswerError) as error:
                raise self._cannot(what, error.message) from None
            except _AgainError:
                without = 0.0

    def stop(self) -> None:
        """Drop all tasks: what waits for one raises WorldwiseError."""
        self._stopped.set()
        with self._lock:
            waiting = list(self._waiting)

        def cancel() -> None:
            # The connection may be what is gone.
            with contextlib.suppress(Exception):
                self.client.cancel(waiting, force=True)

        # Nor may it keep who waits: dask has no limit for this.
        cancelling = threading.Thread(target=cancel, daemon=True, name="cancelling")
        cancelling.start()
        cancelling.join(LOOK)

    def close(self) -> None:
        """Look at the workers no more."""
        self._stopped.set()
        self._watch.join(LOOK)

    def _chosen(self, avoid: Collection[str]) -> list[str] | None:
        """The workers that may do a task; None for all that there are or will be."""
        if self._workers and not avoid:
            return None
        return [address for address in self._workers if address not in avoid]

    def _once(self, task: bytes, what: str, rank: int, chosen: list[str] | None) -> object:
        """What came back for a task, as it came."""
        future: Any = None
        without = 0.0
        try:
            # Not `pure`: dask would take what another run's task of the same name has left.
            future = self.client.submit(task_messages.carried, task, pure=False, priority=rank, workers=chosen)
            with self._lock:
                self._waiting.add(future)
            # Waiting for dask's own result would cost milliseconds each time that it looks up.
            done = threading.Event()
            future.add_done_callback(lambda _future: done.set())
            while True:
                if self._stopped.is_set():
                    raise WorldwiseError("stopped")
                # The latter is how dask's client ends a wait that was cancelled from inside, as a timeout may be.
                with contextlib.suppress(TimeoutError, UnboundLocalError):
                    if done.wait(LOOK):
                        return future.result(timeout=LOOK)
                if self.client.status == "closed":
                    raise HostError(f"{what}: the scheduler of --on {self.place} is gone", _RESUME)
                if chosen and not set(chosen) & self._workers.keys():
                    raise _AgainError
                # It stays submitted meanwhile: dask counts the workers that have died of it.
                without = 0.0 if self._workers else without + LOOK
                if without:
                    self._require_hope(what, without)
        except (WorldwiseError, _AgainError):
            raise
        except CancelledError:
            self._await_scheduler(what)
            raise _AgainError from None
        # Of dask, in many kinds; one that a worker sent is bytes, and is not unpickled.
        except Exception as error:
            died = task_messages.deaths(error)
            if not died:
                raise self._cannot(what, task_messages.words(error)) from None
            raise DeadlyError(
                f"{what}: {died[0]} workers died while they did it, the last one {died[1]}",
                "measure this case alone, and see why: worldwise run SUITE --variant ... without --on",
            ) from None
        finally:
            with self._lock:
                self._waiting.discard(future)

    def _cannot(self, what: str, why: str) -> HostError:
        return HostError(
            f"{what}: --on {self.place} cannot run it: {why}",
            "every worker needs this version of worldwise, and its requirements: docs/use/machines.md",
        )

    def _require_hope(self, what: str, without: float) -> None:
        """Raise HostError if there will be no worker, or has been none for too many seconds."""
        reason = self._reason()
        if without > self._patience:
            because = f"; {reason}" if reason else ""
            raise HostError(f"{what}: there was no worker for it for {self._patience:.0f} s{because}", _RESUME)

    def _await_scheduler(self, what: str) -> None:
        """Wait while the client connects anew. Raises HostError if it gives up, WorldwiseError after `stop`."""
        end = time.monotonic() + _ANSWER + 2 * LOOK
        while not self._stopped.wait(LOOK / 4):
            if self.client.status == "running":
                return
            if self.client.status == "closed" or time.monotonic() > end:
                raise HostError(f"{what}: the scheduler of --on {self.place} is gone", _RESUME)
        raise WorldwiseError("stopped")

    def _look_around(self) -> None:
        while not self._stopped.wait(LOOK):
            self._look()

    def _look(self) -> None:
        try:
            found = self.client.scheduler_info()["workers"]
        except Exception:
            # Dask raises many kinds while it connects anew; whoever waits for a task finds out.
            return
        now = {address: worker_name(each["name"], address) for address, each in found.items()}
        before, self._workers = self._workers, now
        for address in before.keys() - now.keys():
            self._notify(f"{before[address]} is gone; another one does its work")
        come = sorted(now.keys() - before.keys())
        if come and self._looked:
            self._notify(f"{now[come[0]]} has come" if len(come) == 1 else f"{len(come)} workers have come")
        self._looked = True


class _AgainError(Exception):
    """A task is to be submitted again."""


_RESUME = "complete cases are kept: worldwise run --resume --on ..."


def worker_name(name: object, address: str) -> str:
    """What people call a worker: `worker 0 (tls://127.0.0.1:39291)`."""
    return f"worker {address}" if name == address else f"worker {name} ({address})"
