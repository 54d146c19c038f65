# SPDX-License-Identifier: BSD-2-Clause
"""`run --on slurm`: workers as jobs of a queue that stands in for SLURM; its jobs are processes of this machine.

Whatever happens, no job is left in the queue.
"""

import builtins
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from listeners import listening, says
from machines import wait_for
from worldwise.base import paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.run.workers import cluster as module
from worldwise.run.workers import slurm
from worldwise.run.workers.cluster import Cluster, opened, parse_place

# A job is a script that runs in a session of its own, or waits while there is a file `hold`. sbatch refuses in the
# words of a file `refuse`; while there is a file `mute`, it is killed before it has said the job's number. A folder
# `one` lets it take one job, of all that are submitted at once.
PROGRAMS = {
    "sbatch": """
[ ! -e "$queue/refuse" ] || { cat "$queue/refuse" >&2; exit 1; }
[ ! -e "$queue/one" ] || mkdir "$queue/one/taken" 2>/dev/null || { echo "sbatch: error: enough" >&2; exit 1; }
for word in "$@"; do script=$word; done
number=$$
name=$(sed -n 's/^#SBATCH -J //p' "$script")
errors=$(sed -n 's/^#SBATCH -e //p' "$script" | sed "s/%J/$number/")
cp "$script" "$queue/$number.sh"
if [ ! -e "$queue/hold" ]; then
	# Whether its number is still a process says little: where the first process collects nobody, it stays one.
	setsid sh -c 'sh "$1"; : >"$2"' sh "$queue/$number.sh" "$queue/$number.ended" </dev/null >/dev/null 2>"$errors" &
	echo $! >"$queue/$number.pid"
fi
echo "$name" >"$queue/$number.name"
[ ! -e "$queue/mute" ] || kill -s KILL $$
echo "Submitted batch job $number"
""",
    "squeue": """
for each in "$queue"/*.name; do
	job=${each%.name}
	[ -e "$each" ] && case "$*" in *"--name=$(cat "$each")"*) ;; *) false ;; esac || continue
	if [ ! -e "$job.pid" ]; then
		echo "${job##*/} PENDING Resources"
	elif [ ! -e "$job.ended" ]; then
		echo "${job##*/} RUNNING None"
	fi
done
""",
    "scancel": """
for each in "$queue"/*.name; do
	[ -e "$each" ] || continue
	job=${each%.name}
	case "$*" in *"--name=$(cat "$each")"* | "${job##*/}") ;; *) continue ;; esac
	[ ! -e "$job.pid" ] || kill -s KILL -- "-$(cat "$job.pid")" 2>/dev/null
	rm -f "$each"
done
""",
}


class Queue:
    """The queue: its jobs, and what its user is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: list[str] = []

    @property
    def jobs(self) -> list[str]:
        """The numbers of all jobs that run or wait."""
        return sorted(path.stem for path in self.folder.glob("*.name"))

    def end(self, job: str) -> None:
        """End a job, as SLURM does."""
        subprocess.run(["scancel", job], check=True)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def told(self, text: str, times: int = 1) -> None:
        """Wait until so many notes have a text."""
        wait_for(lambda: sum(text in note for note in self.notes) >= times, f"a note with '{text}'", timeout=20)


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    found = Queue(tmp_path / "queue")
    found.folder.mkdir()
    (tmp_path / "bin").mkdir()
    for name, text in PROGRAMS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\nqueue={shlex.quote(str(found.folder))}\n{text}")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv(paths.SHARED_VARIABLE, str(tmp_path / "shared"))
    for name in ("shared", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(slurm, "LOOK", 0.2)
    monkeypatch.setattr(module, "LOOK", 0.2)
    yield found
    left = found.jobs
    for job in left:
        found.end(job)
    assert not left
    assert not list((tmp_path / "shared").iterdir())


def call(cluster: Cluster, *words: str) -> Any:
    return cluster.call(subprocess.check_output, list(words), reads=TypeAdapter(bytes), what="a case", rank=1)


def test_jobs_are_workers_until_the_run_ends(queue: Queue, tmp_path: Path) -> None:
    """One job is killed with a case: another job has it. If this fails, a queue's limit of time ends a run."""
    asked = ("partition=short", "comment=two words", "exclusive")
    with opened(parse_place("slurm:1@127.0.0.1", asked), queue.note, 30) as cluster:
        script = 'test -e "$0" && exit; touch "$0"; sleep 60'
        (job,) = queue.jobs
        text = (queue.folder / f"{job}.sh").read_text()
        assert {"#SBATCH --partition=short", "#SBATCH --comment='two words'", "#SBATCH --exclusive"} <= set(
            text.splitlines()
        )
        assert "#SBATCH -t" not in text
        assert "--mem=" not in text
        wait_for(lambda: bool(cluster.workers), "a worker")
        # Nobody else can connect, from another machine or without this run's key.
        assert all(address.startswith("tls://127.0.0.1:") for address in cluster.workers)
        (folder,) = (tmp_path / "shared").iterdir()
        assert folder.stat().st_mode & 0o77 == 0
        assert (folder / "key").stat().st_mode & 0o777 == 0o600
        # The scheduler here, and the job's nanny and worker: none serves pages, or has a folder that others can name.
        (process,) = (int(path.read_text()) for path in queue.folder.glob("*.pid"))
        found = listening(os.getpid()), listening(process)
        assert [len(each) for each in found] == [1, 2]
        assert all(str(host) == "127.0.0.1" for each in found for host, _ in each)
        assert not says(found[0][0][1], b"GET / HTTP/1.0\r\n\r\n")
        assert sorted(tmp_path.glob("tmp/*/*")) == sorted(tmp_path.glob("tmp/ww-dask-*/dask-scratch-space"))

        def kill(number: str, begun: Path) -> None:
            wait_for(begun.exists, "the case")
            queue.end(number)

        killer = threading.Thread(target=kill, args=(job, tmp_path / "tried"))
        killer.start()
        assert call(cluster, "sh", "-c", script, str(tmp_path / "tried")) == b""
        killer.join()
        queue.told(f"job {job} ended, and printed nothing")
        queue.told("has come", times=2)
        (other,) = queue.jobs
        assert other != job
        # With a case in hand, and no job left that could take it, the run does not wait for ever.
        (queue.folder / "refuse").write_text("enough\n")
        killer = threading.Thread(target=kill, args=(other, tmp_path / "again"))
        killer.start()
        with pytest.raises(HostError, match="no job is left; sbatch takes no more: enough"):
            call(cluster, "sh", "-c", script, str(tmp_path / "again"))
        killer.join()
    assert not queue.jobs


def test_what_sbatch_refuses_is_told(queue: Queue) -> None:
    """If this fails, a typing error in a partition's name is a traceback, or waits for an hour."""
    (queue.folder / "refuse").write_text("sbatch: error: invalid partition\nsbatch: error: failed\n")
    place = parse_place("slurm:2@127.0.0.1", ("partition=shrot",))
    refused = pytest.raises(HostError, match="takes no job: sbatch: error: invalid partition / sbatch: error: failed")
    with refused as caught, opened(place, queue.note):
        pass
    assert "--slurm KEY=VALUE" in caught.value.hint


def test_the_run_goes_on_with_the_jobs_that_sbatch_takes(queue: Queue) -> None:
    """If this fails, a limit of jobs ends a run that could do with fewer, or sbatch is asked for ever."""
    (queue.folder / "hold").touch()
    (queue.folder / "one").mkdir()
    with opened(parse_place("slurm:3@127.0.0.1"), queue.note, 0.1) as cluster:
        queue.told("slurm:3: 1 job left; sbatch takes no more: sbatch: error: enough")
        assert len(queue.jobs) == 1
        queue.end(queue.jobs[0])
        queue.told("slurm:3: 0 jobs left")
        with pytest.raises(HostError, match="no job is left; sbatch takes no more: sbatch: error: enough"):
            call(cluster, "true")


def test_a_queue_that_starts_nothing_is_told(queue: Queue) -> None:
    """If this fails, nobody learns what the jobs wait for. They are taken out of the queue."""
    (queue.folder / "hold").touch()
    with opened(parse_place("slurm:3@127.0.0.1"), queue.note, 1.0) as cluster:
        queue.told("slurm:3 has no worker: 3 jobs PENDING (Resources)")
        with pytest.raises(HostError, match=r"no worker for it for 1 s; 3 jobs PENDING \(Resources\)"):
            call(cluster, "true")
        assert len(queue.jobs) == 3


def test_jobs_that_end_at_once_are_told(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, jobs are submitted for ever to nodes that lack something, and nobody learns what."""
    monkeypatch.setattr(slurm, "BARREN", 1)
    monkeypatch.setattr(slurm, "prologue", lambda: ["echo first >&2; echo 'no such thing here' >&2", "exit 3"])
    with opened(parse_place("slurm:1@127.0.0.1"), queue.note) as cluster:
        queue.told("ended without a worker: first / no such thing here")
        with pytest.raises(HostError, match=r"2 jobs ended before a worker was there; job .* no such thing here"):
            call(cluster, "true")


def test_an_interrupted_run_leaves_no_job(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, Ctrl-C leaves jobs that wait for days, and then for a scheduler that is gone."""
    (queue.folder / "hold").touch()
    for name in [name for name in sys.modules if name.startswith("dask_jobqueue")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(KeyboardInterrupt), opened(parse_place("slurm:2@127.0.0.1"), queue.note):
        assert len(queue.jobs) == 2
        # dask-jobqueue would end the tool without a word, and with status 0, from its import on.
        signal.raise_signal(signal.SIGINT)


def test_a_job_whose_number_nobody_knows_is_ended(queue: Queue) -> None:
    """Ctrl-C reaches sbatch too, when the job is there and its number not yet said."""
    for name in ("hold", "mute"):
        (queue.folder / name).touch()
    with pytest.raises(HostError, match="sbatch takes no job"), opened(parse_place("slurm:2@127.0.0.1"), queue.note):
        pass
    assert len(list(queue.folder.glob("*.sh"))) == 2


def test_what_is_missing_is_told(queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name == "dask_jobqueue":
            raise ModuleNotFoundError("No module named 'dask_jobqueue'")
        return real(name, *arguments)

    place = parse_place("slurm:2@no-such-interface.invalid")
    with pytest.raises(HostError, match="has no such interface, and nothing has that name"), opened(place, queue.note):
        pass
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", without)
        with pytest.raises(WorldwiseError, match="--on slurm needs dask-jobqueue"), opened(place, queue.note):
            pass
    (tmp_path / "bin" / "squeue").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(HostError, match="squeue is not on this machine"), opened(place, queue.note):
        pass


def test_a_node_without_this_python_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a node whose cache is on a local disk has no worker."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "host.sh").write_text('prepare_host() { python="made in $repository with $WORLDWISE_WITH"; }\n')
    monkeypatch.setattr(paths, "REPOSITORY", tmp_path)
    for executable, wanted in (("/no/such/python", f"made in {tmp_path} with dask"), ("/bin/sh", "/bin/sh")):
        monkeypatch.setattr("sys.executable", executable)
        script = "\n".join([*slurm.prologue(), 'echo "$python"'])
        assert subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout.strip() == wanted
