# SPDX-License-Identifier: BSD-2-Clause
"""Attacks on workers: by who has no key, and by who has it and lies. docs/how/security.md says what
listens where.

As root, who has no key is another user of this machine (rogue.py).
"""

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic import TypeAdapter

import rogue
from listeners import listening, says
from machines import wait_for
from worldwise import cli
from worldwise.base import paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.run.workers import nodes, task_messages
from worldwise.run.workers.cluster import Cluster, Place, opened, parse_place
from worldwise.run.workers.keys import answers, new_key, read_key, write_key

TESTS = Path(__file__).resolve().parents[1]
SECRET = "the user's own\n"


def attack(what: str, address: str, mark: Path, key: Path | None = None) -> BaseProcess:
    """Start the one who attacks: in a process of one that has loaded dask once, and that knows nothing of this one."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload([rogue.__name__])
    words = (what, address, str(mark), *([str(key)] if key else []))
    process = forks.Process(target=rogue.main, args=words, daemon=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{TESTS}:{paths.REPOSITORY / 'src'}")
        process.start()
    return process


def end(process: "subprocess.Popen[bytes]") -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(timeout=30)


def answer(cluster: Cluster) -> object:
    return cluster.call(os.getpid, reads=TypeAdapter(object), what="a case", rank=1)


def trap(folder: Path) -> Path:
    """A file of this user, and another user's folder with the name that dask's would have, with a link to the file."""
    secret = folder / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    place = folder / "tmp" / "dask-scratch-space"
    place.mkdir(parents=True)
    for name in ("global.lock", "evil.lock"):
        (place / name).symlink_to(secret)
    (place / "worldwise_evil.py").touch()
    place.chmod(0o777)
    if os.geteuid() == 0:
        for each in (place, *place.iterdir()):
            os.chown(each, rogue.NOBODY, rogue.NOBODY, follow_symlinks=False)
    return secret


def has_fallen(secret: Path) -> bool:
    """Whether dask has used the folder of a trap."""
    place = secret.parent / "tmp" / "dask-scratch-space"
    names = {"global.lock", "evil.lock", "worldwise_evil.py"}
    return secret.read_text() != SECRET or {each.name for each in place.iterdir()} != names


# --- run --on local:N ---


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of this user, that a trap in the folder of temporary files has a link to."""
    found = trap(tmp_path_factory.mktemp("trap"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(found.parent / "tmp"))
        patch.setenv("TMPDIR", str(found.parent / "tmp"))
        yield found


@pytest.fixture(scope="module")
def local(secret: Path) -> Iterator[Cluster]:
    assert secret
    with opened(Place(processes=1), print) as found:
        yield found


def test_local_workers_listen_on_loopback_without_http(local: Cluster) -> None:
    """If this fails, a run by local workers is seen from the network, or answers who lacks its key."""
    assert local.workers
    found = listening(os.getpid())
    # Scheduler, nanny, worker.
    assert len(found) == 3
    assert all(host.is_loopback for host, _ in found)
    for _, port in found:
        assert not says(port, b"GET / HTTP/1.0\r\n\r\n")


@pytest.mark.parametrize("how", ["steal-plainly", "steal"])
def test_another_user_gets_nothing_of_local_workers(how: str, local: Cluster, tmp_path: Path) -> None:
    """If this fails, every user of this machine can run programs as the one who measures."""
    assert local.workers
    everywhere = ",".join(f"tls://127.0.0.1:{port}" for _, port in listening(os.getpid()))
    attack(how, everywhere, tmp_path / "mark").join(40)
    assert not (tmp_path / "mark").exists()
    assert answer(local)


def test_temporary_files_are_in_a_folder_of_the_tools_own(local: Cluster, secret: Path) -> None:
    """If this fails, another user's link empties a file of this user, and their modules are imported."""
    assert answer(local)
    assert not has_fallen(secret)
    assert not any("dask-scratch-space" in each for each in sys.path)
    assert not [
        each
        for each in task_messages.read(
            local.client.submit(
                task_messages.carried, task_messages.packed(eval, ("__import__('sys').path",)), pure=False
            ).result(),
            TypeAdapter(list[str]),
        )
        if "dask-scratch-space" in each
    ]


# --- the scheduler inside `run`, as `--on slurm` has it, and who has its key ---


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A scheduler in this process: its address, and the file of its key."""
    key = new_key()
    path = tmp_path_factory.mktemp("inside") / "key"
    write_key(key, path)
    with nodes.scratch(), task_messages.refuse_pickles(task_messages.TASKS), nodes.local_cluster(0, key) as cluster:
        yield cluster.scheduler_address, path


@pytest.mark.parametrize("what", rogue.REQUESTS)
def test_who_has_the_key_runs_nothing_in_the_scheduler(what: str, inside: tuple[str, Path], tmp_path: Path) -> None:
    """If this fails, a node of the cluster can run programs on the machine of `run`, or write its files."""
    address, key = inside
    attack(what, address, tmp_path / "mark", key).join(40)
    assert not list(tmp_path.iterdir())
    assert answers(address, read_key(key), key)


# --- scheduler and worker as commands ---


@pytest.fixture(scope="module")
def shared(secret: Path) -> Iterator[tuple[str, Path, int]]:
    """A scheduler: its address as `--on` has it, the file of its key, its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"dask://127.0.0.1:{free.getsockname()[1]}"
    path = secret.parent / "workers.key"
    process = command("scheduler", address, "--key", str(path))
    wait_for(lambda: path.exists() and bool(listening(process.pid)), "the scheduler", timeout=30)
    yield address, path, process.pid
    assert end(process) == 0


def command(*words: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PYTHONPATH": str(paths.REPOSITORY / "src")}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "worldwise", *words], env=environment, stderr=subprocess.DEVNULL
    )


def test_scheduler_and_worker_listen_where_they_must(shared: tuple[str, Path, int], secret: Path) -> None:
    """If this fails, a worker listens to the whole network, or one of them serves pages to who has no key."""
    address, key, process = shared
    assert key.stat().st_mode & 0o777 == 0o600
    before = set((secret.parent / "tmp").iterdir())
    port = int(address.rpartition(":")[2])
    assert [(str(host), each) for host, each in listening(process)] == [("127.0.0.1", port)]
    worker = command("worker", address, "--key", str(key), "--jobs", "1")
    try:
        # The nanny, and its worker.
        wait_for(lambda: len(listening(worker.pid)) == 2, "the worker", timeout=30)
        ports = [port]
        for host, each in listening(worker.pid):
            assert str(host) == "127.0.0.1"
            ports.append(each)
        for each in ports:
            assert not says(each, b"GET /status HTTP/1.0\r\n\r\n")
        with opened(parse_place(address, (), key), print, 30) as cluster:
            wait_for(lambda: bool(cluster.workers), "the worker", timeout=30)
            assert answer(cluster) != worker.pid
            # One case at a time.
            assert [each["nthreads"] for each in cluster.client.scheduler_info()["workers"].values()] == [1]
    finally:
        assert end(worker) == 0
    assert not has_fallen(secret)
    assert set((secret.parent / "tmp").iterdir()) == before


@pytest.mark.parametrize("how", ["steal-plainly", "steal"])
def test_who_has_no_key_gets_nothing_of_a_scheduler(how: str, shared: tuple[str, Path, int], tmp_path: Path) -> None:
    """If this fails, whoever reaches the scheduler can run programs on all workers."""
    attack(how, shared[0].replace("dask", "tls"), tmp_path / "mark").join(40)
    assert not (tmp_path / "mark").exists()


def test_another_key_is_told(shared: tuple[str, Path, int], tmp_path: Path) -> None:
    """If this fails, a worker with the wrong file waits for ever, or nobody learns why."""
    address, key, _ = shared
    other = tmp_path / "other.key"
    write_key(new_key(), other)
    result = CliRunner().invoke(cli.cli, ["worker", address, "--key", str(other)])
    assert "the scheduler there has another key than" in str(result.exception)
    with pytest.raises(HostError, match="has another key"), opened(parse_place(address, (), other), print):
        pass
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        plain = f"tls://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("worldwise.run.workers.keys.ANSWER", 0.2)
            with pytest.raises(HostError, match="is not a scheduler with a key"):
                answers(plain, read_key(key), key)


@pytest.mark.parametrize("how", rogue.WORKERS)
def test_a_worker_that_lies_runs_nothing_here(how: str, shared: tuple[str, Path, int], tmp_path: Path) -> None:
    """A process that has the key, and answers with a pickle. If this fails, a worker owns the machine of `run`."""
    address, key, _ = shared
    # A worker whose message the scheduler cannot read is gone.
    with opened(parse_place(address, (), key), print, 3) as cluster:
        process = attack(how, address.replace("dask", "tls"), tmp_path / "mark", key)
        try:
            wait_for(lambda: bool(cluster.workers), "the worker", timeout=30)
            if how in ("returns", "raises"):
                with pytest.raises(HostError, match=r"a case: --on dask://.* cannot run it"):
                    answer(cluster)
            else:
                # What dask's client does with a message that it cannot read is to connect anew, or to end.
                with contextlib.suppress(WorldwiseError):
                    answer(cluster)
        finally:
            process.kill()
            process.join(30)
    assert not (tmp_path / "mark").exists()
