# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise scheduler` and `worldwise worker`: those of dask, set as `run --on` needs them."""

import os
from pathlib import Path

import click

from worldwise.base.errors import WorldwiseError
from worldwise.cli.common.help_screen import Command
from worldwise.run.workers.cluster import parse_place, require_dask

_key_option = click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="The scheduler's key: `worldwise scheduler` makes it, and each worker and `run --on` needs a copy.",
)


@click.command(cls=Command)
@click.argument("address", metavar="dask://HOST:PORT")
@_key_option
def scheduler(address: str, key: Path) -> None:
    """Listen at this address of this machine: workers and `worldwise run --on` connect to it, by TLS.

    A holder of its key can run programs as you on all workers; nobody else can connect: docs/use/machines.md. The
    command makes the key if the file does not exist. Ends with Ctrl-C.

    \b
      worldwise scheduler dask://node1:8786 --key workers.key
    """
    where = _address(address, key)
    from worldwise.run.workers.keys import made_or_read
    from worldwise.run.workers.nodes import serve_scheduler

    serve_scheduler(where, made_or_read(key))


@click.command(cls=Command)
@click.argument("address", metavar="dask://HOST:PORT")
@_key_option
@click.option("--jobs", type=click.IntRange(1, 256), help="Machines at a time.  [default: one per processor]")
def worker(address: str, key: Path, jobs: int | None) -> None:
    """Measure the cases of the scheduler at this address, one per process at a time, until Ctrl-C.

    It listens at the address of this machine that faces the scheduler, for holders of the key.

    \b
      worldwise worker dask://node1:8786 --key workers.key --jobs 4
    """
    where = _address(address, key)
    from worldwise.run.workers.keys import answers, read_key
    from worldwise.run.workers.nodes import serve_workers

    read = read_key(key)
    # It may come later: a worker waits for it.
    answers(where, read, key)
    serve_workers(where, read, jobs or os.cpu_count() or 1)


def _address(address: str, key: Path) -> str:
    """The address of a scheduler as dask has it. Raises WorldwiseError."""
    place = parse_place(address, key=key) if address.startswith("dask://") else parse_place(address)
    if not place.address:
        raise WorldwiseError(f"{address}: `run --on {address}` starts its workers itself.", "name dask://HOST:PORT")
    require_dask()
    return place.address
