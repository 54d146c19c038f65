# SPDX-License-Identifier: BSD-2-Clause
"""Dask's scheduler and workers as `run --on` needs them: by TLS alone, at one address, without HTTP and dask's folder.

Whoever imports this has dask.distributed, an optional package. As a program it is one worker, for a job of SLURM.
"""

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dask
import distributed

from worldwise.base.errors import HostError, WorldwiseError
from worldwise.run.workers.cluster import SETTINGS
from worldwise.run.workers.keys import Key, facing, host_and_port, read_key
from worldwise.run.workers.task_messages import TASKS, refuse_pickles

# What workers and clients of ours ask of a scheduler; dask's has many more requests: functions to run, plugins to load,
# a file to write. Of all that, here is nothing.
_REQUESTS = frozenset(
    (
        "connection_stream",
        "gather",
        "get_metadata",
        "heartbeat_worker",
        "identity",
        "register-client",
        "register-worker",
        "register_nanny",
        "retire_workers",
        "set_metadata",
        "subscribe_worker_status",
        "terminate",
        "unregister",
        "versions",
        "who_has",
    )
)
# Ctrl-C reaches all processes of a terminal. This machine's run ends the workers, in order.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds for workers to end, after which they are killed.
_ENDING = 10.0


class _Plain:
    """What is the same for all of dask's servers."""

    def start_http_server(self, *_arguments: object, **_named: object) -> None:
        """Dask would listen once more, without TLS, for whoever asks."""

    def leave_path(self) -> None:
        """Dask has Python look for every module in its folder of temporary files first."""
        with contextlib.suppress(ValueError):
            sys.path.remove(self.local_directory)  # type: ignore[attr-defined]


class Scheduler(_Plain, distributed.Scheduler):
    """Dask's, which answers what workers and clients of ours ask, and nothing else."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.leave_path()
        for name in self.handlers.keys() - _REQUESTS:
            del self.handlers[name]


class Worker(_Plain, distributed.Worker):
    """Dask's, without HTTP."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.leave_path()


class Nanny(_Plain, distributed.Nanny):
    """Dask's, which starts such a worker in a process, and a new one if it dies."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{"worker_class": Worker, **named})
        self.leave_path()


def worker_options(host: str, key: Key) -> dict[str, Any]:
    """What is the same for all workers: one case at a time, at one address of this machine."""
    # A worker's own memory is small: what takes memory is QEMU, a process of its own.
    return {"host": host, "protocol": "tls://", "security": key.security(), "nthreads": 1, "memory_limit": 0}


def local_cluster(count: int, key: Key) -> Any:
    """A scheduler in this process and so many workers in processes of their own, on loopback."""
    host = "127.0.0.1"
    security = key.security()
    worker = {"cls": Nanny, "options": worker_options(host, key) | {"preload": [_DEAF], "silence_logs": "CRITICAL"}}
    return distributed.SpecCluster(
        scheduler={"cls": Scheduler, "options": {"host": host, "protocol": "tls://", "security": security}},
        workers=dict.fromkeys(range(count), worker),
        worker=worker,
        security=security,
        silence_logs="CRITICAL",
    )


@contextlib.contextmanager
def scratch(within: str | None = None) -> Iterator[None]:
    """A new folder for all temporary files of dask, which is removed; dask's own has a name that others can take first.

    Raises HostError.
    """
    try:
        made = tempfile.TemporaryDirectory(dir=within, prefix="ww-dask-")
    except OSError as error:
        raise HostError(
            f"{within or tempfile.gettempdir()}: no folder can be made: {error.strerror or error}."
        ) from None
    with made as folder, dask.config.set({"temporary-directory": folder}):
        yield


def serve_scheduler(address: str, key: Key) -> None:
    """Be the scheduler at `tls://HOST:PORT` of this machine until a signal ends it. Raises HostError."""
    host, port = host_and_port(address)
    options = {"host": host, "port": port, "protocol": "tls://", "security": key.security()}
    with dask.config.set(SETTINGS), scratch(), refuse_pickles(TASKS):
        try:
            asyncio.run(_until_signal([Scheduler], [options]))
        except OSError as error:
            raise HostError(f"{address.replace('tls', 'dask', 1)}: cannot listen there: {error}.") from None


def serve_workers(
    address: str,
    key: Key,
    count: int,
    *,
    name: str | None = None,
    host: str = "",
    within: str | None = None,
    patience: float | None = None,
) -> None:
    """Be so many workers of the scheduler at `tls://HOST:PORT` until a signal, or the scheduler, ends them.

    Args:
        address, key: of the scheduler.
        count: how many.
        name: what one worker is called.
        host: the address where they listen; the one that faces the scheduler if empty.
        within: the folder for temporary ones; the usual one if None.
        patience: for how many seconds they look for the scheduler.

    Raises HostError.
    """
    options = worker_options(host or facing(address), key) | {"name": name, "death_timeout": patience}
    with dask.config.set(SETTINGS), scratch(within):
        asyncio.run(_until_signal([Nanny] * count, [{"scheduler_ip": address, **options}] * count))


async def _until_signal(kinds: Sequence[Any], options: Sequence[dict[str, Any]]) -> None:
    """Start servers, and close them when a signal comes; return as soon as all have ended, however."""
    asked = asyncio.Event()
    for one in _ENDS:
        asyncio.get_running_loop().add_signal_handler(one, asked.set)
    servers = [kind(**each) for kind, each in zip(kinds, options, strict=True)]

    async def serve() -> None:
        await asyncio.gather(*servers)
        await asyncio.gather(*(server.finished() for server in servers))

    serving, waiting = asyncio.create_task(serve()), asyncio.create_task(asked.wait())
    try:
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        waiting.cancel()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(asyncio.gather(*(server.close() for server in servers)), _ENDING)
        serving.cancel()


def main(words: Sequence[str] | None = None) -> int:
    """One worker, with the options that dask-jobqueue gives to its own; returns the exit status."""
    parser = argparse.ArgumentParser(prog="worldwise.run.workers.nodes", allow_abbrev=False)
    parser.add_argument("address")
    for option in ("--name", "--interface", "--host", "--local-directory", "--tls-cert"):
        parser.add_argument(option)
    parser.add_argument("--death-timeout", type=float)
    # It says these too; they are always the same here.
    for option in ("--nthreads", "--memory-limit", "--protocol", "--tls-key", "--tls-ca-file"):
        parser.add_argument(option)
    given = parser.parse_args(words)
    try:
        host = given.host or (distributed.utils.get_ip_interface(given.interface) if given.interface else "")
        key = read_key(Path(given.tls_cert))
        named = {"name": given.name, "host": host, "within": given.local_directory, "patience": given.death_timeout}
        serve_workers(given.address, key, 1, **named)
    except (WorldwiseError, ValueError) as error:
        logging.getLogger("worldwise").error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
