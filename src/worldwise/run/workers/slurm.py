# SPDX-License-Identifier: BSD-2-Clause
"""Workers as jobs of SLURM, by dask-jobqueue, an optional package: one worker a job, and no job outlives the run.

dask-jobqueue writes a job's script and calls sbatch. What it leaves to its users is here: what sbatch refuses, a job
that waits, one that ends without a worker, and that nothing stays in the queue whatever happens.
"""

import contextlib
import ipaddress
import itertools
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from worldwise.base import paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.base.files import quoted
from worldwise.run.workers import keys
from worldwise.run.workers.cluster import Place, lacks

# Seconds between two looks at the queue, how long SLURM's programs may take, and how long all sbatch together may.
LOOK = 10.0
_ANSWER = 60
_SUBMITTING = 600.0
# So many jobs for each that was asked may end without ever having been a worker.
BARREN = 3
# Lines of a job's log that an error shows, and what the lines of a worker have that goes on as it should.
_LINES = 3
# The file of the run's key.
_KEY = "key"
_DASK = " - INFO - "
# dask-jobqueue's own time limit, which worldwise does not use: SLURM's partition has one.
_NOT_ASKED = "00:30:00"
# Where dask-jobqueue's error has the words of the program.
_WORDS = "stderr:\n"
# Options of sbatch that worldwise sets, or that make another thing of a job than one worker.
_OURS = ("array", "error", "job-name", "ntasks", "output", "parsable", "test-only", "wait", "wrap")


class Jobs:
    """The jobs of one run, from the first sbatch to the last scancel.

    Args:
        place: how many, and what each asks.
        notify: called with a line of text when a job ends too early, or why all wait.
        name: the name of all its jobs, which no other job has.
        folder: their logs, and the key: this machine and the nodes have it under the same name.

    Attributes:
        key: what this run's scheduler and its jobs show each other, and no other run.
    """

    def __init__(self, place: Place, notify: Callable[[str], None], name: str, folder: Path) -> None:
        self._place = place
        self._notify = notify
        self._name = name
        self._folder = folder
        self._stopped = threading.Event()
        self._counted = threading.Condition()
        self._submitted = 0
        self._refused: list[str] = []
        # So many there should be; what became of the last one that failed.
        self._wanted = place.jobs
        self._barren = 0
        self._last = ""
        self._waiting = ""
        # Names of all workers that there have been.
        self._came: set[str] = set()
        self._watch = threading.Thread(target=self._look_around, daemon=True, name="queue")
        self.key = keys.new_key()
        keys.write_key(self.key, folder / _KEY)
        self.cluster = _cluster(place, name, folder, self.key, self._answered)
        self.cluster.scheduler.add_plugin(_arrivals(self._came.add))

    def start(self) -> None:
        """Submit all jobs. Raises HostError with the words of sbatch if it takes none of them."""
        self.cluster.scale(self._place.jobs)
        with self._counted:
            done = self._counted.wait_for(
                lambda: self._submitted + len(self._refused) >= self._place.jobs, timeout=_SUBMITTING
            )
        if not self._submitted:
            refused = self._refused[-1] if done else f"it has not answered for {_SUBMITTING:.0f} s"
            raise HostError(
                f"--on {self._place}: sbatch takes no job: {refused}",
                "`--slurm KEY=VALUE` passes an option to it, such as partition, account, time: docs/use/machines.md",
            )
        self._watch.start()

    def reason(self) -> str:
        """Why there is no worker. Raises HostError if there will be none."""
        if self._barren > BARREN * self._place.jobs:
            raise HostError(
                f"--on {self._place}: {self._barren} jobs ended before a worker was there; {self._last}",
                "a job needs on its node: this checkout, and a way to this machine's network (docs/use/machines.md)",
            )
        if not self._wanted:
            raise HostError(f"--on {self._place}: no job is left; {self._last}", "correct that, and --resume")
        return self._waiting or "squeue says nothing of its jobs"

    def end(self) -> None:
        """Leave no job in the queue."""
        self._stopped.set()
        if self._watch.ident:
            self._watch.join(_ANSWER)
        # First what does not depend on dask; then again, for a job that was on its way.
        self._cancel()
        with contextlib.suppress(Exception):
            self.cluster.close(timeout=_ANSWER)
        self._cancel()

    def _cancel(self) -> None:
        ended = _slurm("scancel", "--quiet", f"--name={self._name}")
        if isinstance(ended, str):
            self._notify(f"jobs may be left in the queue: {ended}; end them: scancel --name={self._name}")

    def _answered(self, refused: str) -> None:
        """What sbatch said to a job; nothing if it took it."""
        with self._counted:
            if refused:
                self._refused.append(refused)
            else:
                self._submitted += 1
            self._counted.notify_all()

    def _look_around(self) -> None:
        while not self._stopped.wait(LOOK):
            # dask raises many kinds while its loop ends.
            with contextlib.suppress(Exception):
                self._look()

    def _look(self) -> None:
        """Put new jobs in place of those that have ended, and say why there is no worker."""
        jobs: dict[str, str | None] = {name: job.job_id for name, job in list(self.cluster.workers.items())}
        workers = {worker["name"] for worker in list(self.cluster.scheduler_info["workers"].values())}
        listed = self._listed()
        if listed is None:
            return
        # dask-jobqueue knows a job when sbatch has answered: one without a number was refused.
        refused = [name for name, number in jobs.items() if number is None]
        ended = [name for name, number in jobs.items() if number and number not in listed and name not in workers]
        for name in ended:
            end = self._end_of(jobs[name], name in self._came)
            self._notify(end)
            if name not in self._came:
                self._barren += 1
                self._last = end
        if refused:
            # It would be so again, and every few seconds.
            self._wanted -= len(refused)
            self._last = f"sbatch takes no more: {self._refused[-1]}"
            self._notify(f"{self._place}: {_jobs(self._wanted)} left; {self._last}")
        if self._stopped.is_set():
            return
        if refused or ended:
            self.cluster.sync(self.cluster.scale_down, refused + ended)
        if self._barren <= BARREN * self._place.jobs:
            self.cluster.scale(self._wanted)
        self._tell("" if workers else _summary(listed))

    def _tell(self, waiting: str) -> None:
        if waiting and waiting != self._waiting:
            self._notify(f"{self._place} has no worker: {waiting}")
        self._waiting = waiting

    def _listed(self) -> dict[str, str] | None:
        """The jobs that are in the queue: number -> state, with what it waits for. None if squeue does not answer."""
        ended = _slurm("squeue", "--noheader", f"--name={self._name}", "--format=%i %T %r")
        if isinstance(ended, str):
            self._tell(ended)
            return None
        found = {}
        for line in ended.stdout.splitlines():
            number, state, reason = line.split(maxsplit=2)
            found[number] = f"{state} ({reason})" if state == "PENDING" else state
        return found

    def _end_of(self, number: str | None, came: bool) -> str:
        """What a job that ended left."""
        lines = [
            line.strip()
            for path in sorted(self._folder.glob(f"*-{number}*.err"))
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
            if line.strip() and _DASK not in line
        ]
        # SLURM's own word is the reason, whatever else stands there.
        lines = [line for line in lines if line.startswith("slurmstepd")] or lines[-_LINES:]
        said = f": {' / '.join(lines)}" if lines else ""
        return f"job {number} ended{'' if came else ' without a worker'}{said or ', and printed nothing'}"


def check_asked(option: str) -> None:
    """Raise WorldwiseError for what is no option of sbatch by its form, and for one that is worldwise's own."""
    name = option.partition("=")[0]
    if not re.fullmatch(r"[a-z][a-z-]+(=[^\x00-\x1f\x7f]+)?", option):
        raise WorldwiseError(
            f"--slurm {quoted(option)}: not a long option of sbatch.",
            "without its dashes: partition=short, time=2:00:00, exclusive",
        )
    if name in _OURS:
        raise WorldwiseError(f"--slurm {name}: worldwise sets that itself.", "leave it out")


@contextlib.contextmanager
def started(place: Place, notify: Callable[[str], None]) -> Iterator[Jobs]:
    """The jobs of a place, submitted; at the end, however it comes, none is left. Raises WorldwiseError."""
    for program in ("sbatch", "squeue", "scancel"):
        if shutil.which(program) is None:
            raise HostError(
                f"--on {place}: {program} is not on this machine.",
                "start it where SLURM's programs are, such as the cluster's login node",
            )
    # dask-jobqueue takes Ctrl-C for itself as soon as it is imported.
    handler = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue  # noqa: F401
    except ImportError as error:
        raise lacks("--on slurm", "dask-jobqueue", error) from error
    finally:
        signal.signal(signal.SIGINT, handler)
    import dask

    # What a job needs of this machine lies where the nodes see it: in the store, if that is a folder.
    within = _in_sight()
    with contextlib.ExitStack() as stack:
        try:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=within, prefix=".worldwise-slurm-")))
        except OSError as error:
            raise HostError(
                f"--on {place}: {within} cannot be written: {error.strerror or error}.",
                "start it in a folder that you may write, and that the nodes have under the same name",
            ) from error
        # The queue reports a worker's end, not a pause of the network.
        stack.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}))
        jobs = Jobs(place, notify, f"worldwise-{secrets.token_hex(4)}", folder)
        stack.callback(jobs.end)
        jobs.start()
        yield jobs


def _in_sight() -> Path:
    """A folder that the nodes see under the same name. Raises WorldwiseError."""
    shared = paths.shared_place()
    within = Path.cwd() if shared is None or paths.is_url(shared) else Path(shared)
    if shlex.quote(str(within)) != str(within):
        raise WorldwiseError(
            f"--on slurm: {within}: a job's script cannot have this name.", "use a folder without blanks and quotes"
        )
    return within


def _cluster(place: Place, name: str, folder: Path, key: keys.Key, answered: Callable[[str], None]) -> Any:
    """dask-jobqueue's cluster, with no job yet; `answered` gets what sbatch says to each. Raises WorldwiseError."""
    import dask
    from dask_jobqueue.slurm import SLURMCluster, SLURMJob
    from distributed.core import Status

    from worldwise.run.workers.nodes import Scheduler

    class Job(SLURMJob):  # type: ignore[misc]
        async def start(self) -> None:
            try:
                await super().start()
            except (OSError, RuntimeError, ValueError) as error:
                # It has no number, and so will be taken for one that has ended.
                self.status = Status.running
                words = str(error).partition(_WORDS)[2].strip() or str(error)
                answered(" / ".join(line.strip() for line in words.splitlines() if line.strip()))
            else:
                answered("")

    class Cluster(SLURMCluster):  # type: ignore[misc]
        _numbers = itertools.count()

        def _new_worker_name(self, _number: int) -> str:
            # No name twice: a new job must not be taken for one that has ended.
            return f"{name}-{next(self._numbers)}"

    # A site's settings of dask-jobqueue, if it has any.
    site: Mapping[str, Any] = dask.config.get("jobqueue.slurm")
    # SLURM's own default of memory holds, and of processors, one.
    skipped = ["--mem=", "--cpus-per-task="]
    if site["walltime"] == _NOT_ASKED:
        skipped.append("#SBATCH -t ")
    host = _listening(place, site)
    try:
        return Cluster(
            job_cls=Job,
            name=name,
            job_name=name,
            # One worker. Its memory is not what SLURM is asked for: see `skipped`.
            cores=1,
            processes=1,
            memory="1GB",
            worker_command="worldwise.run.workers.nodes",
            worker_extra_args=_loopback(host),
            job_extra_directives=[*site["job-extra-directives"], *map(_directive, place.asked)],
            job_directives_skip=[*site["job-directives-skip"], *skipped],
            job_script_prologue=[*site["job-script-prologue"], *prologue()],
            python='exec "$python" -P',
            shebang="#!/bin/sh",
            local_directory=site["local-directory"] or '"${TMPDIR:-/tmp}"',
            log_directory=str(folder),
            security=key.security(folder / _KEY),
            scheduler_cls=Scheduler,
            scheduler_options={"host": host},
            silence_logs="CRITICAL",
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise HostError(
            f"--on {place}: no scheduler of dask can listen at {host}: {error}",
            "name an address or interface of this machine that the nodes reach: --on slurm:N@HOST",
        ) from error


def _arrivals(came: Callable[[str], object]) -> Any:
    """For dask's scheduler: `came` gets the name of each worker that comes."""
    from distributed import SchedulerPlugin

    class Arrivals(SchedulerPlugin):
        def add_worker(self, scheduler: Any, worker: str) -> None:
            came(scheduler.workers[worker].name)

    return Arrivals()


def _listening(place: Place, site: Mapping[str, Any]) -> str:
    """The address of this machine where workers connect. Raises HostError."""
    from distributed.utils import get_ip, get_ip_interface

    wanted = place.listen or site["interface"] or ""
    if not wanted:
        with warnings.catch_warnings():
            # Of a machine without a default route, whose own name is then taken.
            warnings.simplefilter("ignore")
            return str(get_ip())
    # ValueError: no interface, but a name or an address.
    with contextlib.suppress(ValueError):
        return str(get_ip_interface(wanted))
    try:
        return str(socket.getaddrinfo(wanted, None)[0][4][0])
    except OSError as error:
        raise HostError(
            f"--on {place}@{wanted}: this machine has no such interface, and nothing has that name: {error.strerror}.",
            "see `ip address`",
        ) from error


def _loopback(host: str) -> list[str]:
    """Nor does a worker listen to the network if the scheduler does not."""
    return ["--host", host] if ipaddress.ip_address(host).is_loopback else []


def _directive(asked: str) -> str:
    name, equals, value = asked.partition("=")
    return f"--{name}{equals}{shlex.quote(value) if value else ''}"


def prologue() -> list[str]:
    """What a job's script does before its worker: it finds a Python with all packages, this one or the checkout's."""
    lines = [f"python={shlex.quote(sys.executable)}"]
    if not paths.INSTALLED:
        lines += [
            f"repository={shlex.quote(str(paths.REPOSITORY))}",
            'export WORLDWISE_WITH=dask PYTHONPATH="$repository/src"',
            '[ -x "$python" ] || { . "$repository/lab/host.sh" && prepare_host; } || exit',
        ]
    return lines


def _slurm(*words: str) -> "subprocess.CompletedProcess[str] | str":
    """What a program of SLURM gives, or a line that says why it gives nothing."""
    try:
        ended = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=_ANSWER, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{words[0]}: {error}"
    if ended.returncode:
        return f"{words[0]}: {ended.stderr.strip() or f'status {ended.returncode}'}"
    return ended


def _summary(listed: Mapping[str, str]) -> str:
    """`3 jobs PENDING (Resources), 1 job RUNNING`."""
    counted = Counter(listed.values()).most_common()
    return ", ".join(f"{_jobs(number)} {state}" for state, number in counted)


def _jobs(number: int) -> str:
    return f"{number} {'job' if number == 1 else 'jobs'}"
