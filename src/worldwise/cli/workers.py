# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise scheduler` and `worldwise worker`: those of dask, set as `run --on` needs them."""

import os
import sys
import tempfile
from typing import NoReturn

import click

from worldwise.base.errors import WorldwiseError
from worldwise.run.cluster import Place, parse_place, require_dask, settings_as_environment


@click.command()
@click.argument("address", metavar="dask://HOST:PORT")
def scheduler(address: str) -> NoReturn:
    """Listen at this address of this machine: workers and `worldwise run --on` connect to it.

    Whoever reaches the port can run programs as you on all workers: listen where nobody else is (docs/workers.md).
    Ends with Ctrl-C.

    \b
      worldwise scheduler dask://node1:8786
    """
    host, _, port = _place(address).address.removeprefix("tcp://").rpartition(":")
    _become("dask_scheduler", "--host", host.strip("[]"), "--port", port, "--no-dashboard")


@click.command()
@click.argument("address", metavar="dask://HOST:PORT")
@click.option("--jobs", type=click.IntRange(1, 256), help="Machines at a time.  [default: one per processor]")
def worker(address: str, jobs: int | None) -> NoReturn:
    """Measure what the scheduler at this address has, one case per process at a time, until Ctrl-C.

    \b
      worldwise worker dask://node1:8786 --jobs 4
    """
    place = _place(address)
    count = jobs or os.cpu_count() or 1
    # A worker's own memory is small: what takes memory is QEMU, a process of its own.
    sizes = ("--nworkers", str(count), "--nthreads", "1", "--memory-limit", "0")
    local = ("--local-directory", tempfile.gettempdir(), "--no-dashboard")
    _become("dask_worker", place.address, *sizes, *local)


def _place(address: str) -> Place:
    """The place of an address. Raises WorldwiseError."""
    place = parse_place(address)
    if not place.address:
        raise WorldwiseError(f"{address}: `run --on {address}` starts its workers itself.", "name dask://HOST:PORT")
    require_dask()
    return place


def _become(module: str, *arguments: str) -> NoReturn:
    os.environ.update(settings_as_environment())
    os.execv(sys.executable, [sys.executable, "-P", "-m", f"distributed.cli.{module}", *arguments])
