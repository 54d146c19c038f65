# SPDX-License-Identifier: BSD-2-Clause
"""Workers by dask, real processes: a task that kills them, one that is given to another, one that is kept from some."""

import builtins
import importlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from pydantic import TypeAdapter

from worldwise.base.errors import HostError, WorldwiseError
from worldwise.run.workers.cluster import (
    DEATHS,
    SETTINGS,
    Cluster,
    DeadlyError,
    Place,
    opened,
    parse_place,
    require_dask,
)
from worldwise.run.workers.keys import new_key, write_key


@pytest.mark.parametrize(
    "text", ["", "local", "local:0", "local:9999", "dask://", "dask://a", "dask://a:0", "slurm:", "slurm:0", "slurm@"]
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(WorldwiseError, match="no place for workers") as caught:
        parse_place(text)
    assert "docs/use/machines.md" in caught.value.hint


def test_places() -> None:
    assert parse_place("local:4") == Place(processes=4)
    key = Path("workers.key")
    assert parse_place("dask://node-1.example:8786", (), key) == Place(address="tls://node-1.example:8786", key=key)
    assert str(parse_place("dask://[::1]:8786", (), key)) == "dask://[::1]:8786"
    assert parse_place("slurm") == Place(jobs=8)
    asked = ("partition=short", "exclusive")
    assert parse_place("slurm:16@ib0", asked) == Place(jobs=16, listen="ib0", asked=asked)
    assert parse_place("slurm@[fe80::1]").listen == "fe80::1"
    assert str(parse_place("slurm:16@ib0")) == "slurm:16"


def test_a_missing_package_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, who lacks the optional package sees a traceback."""
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name == "distributed":
            raise ModuleNotFoundError("No module named 'distributed'")
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(WorldwiseError, match=r"--on needs dask\.distributed") as caught:
        require_dask()
    assert "WORLDWISE_WITH=dask ./worldwise run" in caught.value.hint
    assert "--require-hashes" in caught.value.hint


notes: list[str] = []


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with opened(Place(processes=2), notes.append) as found:
        yield found


def call(cluster: Cluster, function: Callable[..., Any], *arguments: object, avoid: tuple[str, ...] = ()) -> Any:
    return cluster.call(function, *arguments, reads=TypeAdapter(Any), what="a case", rank=1, avoid=avoid)


def test_workers_are_processes_of_this_machine_alone(cluster: Cluster) -> None:
    """If this fails, a run by local workers listens to the network."""
    assert len(cluster.workers) == 2
    assert all(address.startswith("tls://127.0.0.1:") for address in cluster.workers)
    assert call(cluster, os.getpid) != os.getpid()


def test_workers_are_set_as_they_should_be(cluster: Cluster) -> None:
    """If this fails, each worker takes 3 % of a processor for nothing."""
    for name, value in SETTINGS.items():
        assert call(cluster, dask.config.get, name) == value


def test_a_worker_can_be_avoided(cluster: Cluster) -> None:
    """If this fails, a case that two workers should measure is measured twice by one."""
    first, second = cluster.workers
    pids = {avoided: call(cluster, os.getpid, avoid=(avoided,)) for avoided in (first, second)}
    assert len(set(pids.values())) == 2
    assert call(cluster, os.getpid, avoid=(first,)) == pids[first]


def test_what_a_killed_worker_did_another_does(cluster: Cluster, tmp_path: Path) -> None:
    """If this fails, a worker that the system kills takes its case with it."""
    script = 'test -e "$0" && exit 7; touch "$0"; kill -9 $PPID; sleep 9'
    assert call(cluster, subprocess.call, ["sh", "-c", script, str(tmp_path / "tried")]) == 7


def test_a_task_that_kills_workers_is_given_up(cluster: Cluster) -> None:
    """If this fails, one bad case kills workers for ever."""
    with pytest.raises(DeadlyError, match=f"a case: {DEATHS} workers died while they did it"):
        call(cluster, signal.raise_signal, signal.SIGKILL)
    assert call(cluster, os.getpid)
    end = time.monotonic() + 20
    while not any("is gone" in note for note in notes) and time.monotonic() < end:
        time.sleep(0.05)
    assert any("is gone; another one does its work" in note for note in notes)


def test_a_function_that_workers_lack_is_told(cluster: Cluster) -> None:
    """If this fails, a worker of another checkout ends in a traceback."""
    with pytest.raises(HostError, match="cannot run it"):
        call(cluster, importlib.import_module, "worldwise.no_such_module")


def test_no_scheduler_is_told(tmp_path: Path) -> None:
    write_key(new_key(), tmp_path / "key")
    with (
        pytest.raises(HostError, match="no scheduler of dask answers"),
        opened(parse_place("dask://127.0.0.1:1", (), tmp_path / "key"), print),
    ):
        pass


def test_what_is_stopped_ends(cluster: Cluster) -> None:
    """If this fails, Ctrl-C waits for the cases. The last of these tests: nothing works after it."""
    cluster.stop()
    with pytest.raises(WorldwiseError, match="stopped"):
        call(cluster, time.sleep, 1)
