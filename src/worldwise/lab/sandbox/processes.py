# SPDX-License-Identifier: BSD-2-Clause
"""Programs in a sandbox: started, watched, ended."""

import contextlib
import math
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.sandbox.lent_folders import end_of, lent
from worldwise.lab.sandbox.limits import KIB, MIB, Limits, Watch, broken_limit, ended
from worldwise.lab.sandbox.refusals import refusal_in

# Bytes of what a program printed that are kept for the caller.
_MOST_PRINTED = 256 * MIB

# And of the end of a log that is looked at.
_LOG_END = 256 * KIB

# Lines that a user reads of it; and of an error that stands above them, as compilers, linkers and make say it.
_TOLD, _OF_ERROR = 30, 8
_ERROR = re.compile(r"\berror: |undefined reference|No rule to make target")


@dataclass(frozen=True)
class Job:
    """One program to run in a sandbox.

    Attributes:
        name: of the program, for messages.
        command: the whole command line, as `bubblewrap.command` gives it.
        limits: what it may use.
        writable: the folders that it may write to.
        log: a file to whose end its output goes; without one it is kept for the caller.
        stdin: what it reads.
        timeout: seconds it may take.
        check: whether a status other than 0 is an error.
    """

    name: str
    command: list[str]
    limits: Limits
    writable: Sequence[Path] = ()
    log: Path | None = None
    stdin: str | None = None
    timeout: float | None = None
    check: bool = True


@dataclass
class Runner:
    """Runs programs in sandboxes, and ends them all on request, from another thread."""

    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _stopping: bool = False

    def run(self, job: Job) -> subprocess.CompletedProcess[str]:
        """Run a program and wait for it; see `Lab.run`. Raises WorldwiseError."""
        with contextlib.ExitStack() as stack:
            # Files and not pipes, so that the limit of a file's size holds for what is printed too.
            outputs: list[IO[bytes]] = []
            if job.log is not None:
                job.log.parent.mkdir(parents=True, exist_ok=True)
                outputs.append(stack.enter_context(job.log.open("ab")))
            else:
                outputs += [stack.enter_context(tempfile.TemporaryFile()) for _ in ("out", "err")]
            given: IO[bytes] | int = subprocess.DEVNULL
            if job.stdin is not None:
                given = stack.enter_context(tempfile.TemporaryFile())
                given.write(job.stdin.encode())
                given.seek(0)
            stack.enter_context(lent(job.writable))
            if self._stopping:
                raise WorldwiseError("stopped")
            process = subprocess.Popen(job.command, stdin=given, stdout=outputs[0], stderr=outputs[-1])
            self._running.add(process)
            if self._stopping:
                process.kill()  # `stop` may have come before it could see this one
            try:
                _wait(process, job)
            finally:
                # With bubblewrap goes its pid namespace, so all that was started inside.
                if process.poll() is None:
                    process.kill()
                    process.wait()
                self._running.discard(process)
            stdout, stderr = ("", "") if job.log is not None else (_text(file, job.name) for file in outputs)
            result = subprocess.CompletedProcess(job.command, process.returncode, stdout, stderr)
        if self._stopping:
            raise WorldwiseError("stopped")
        if result.returncode != 0:
            _judge(result, job)
        return result

    def stop(self) -> None:
        """End what `run` has started, from another thread; those calls then raise, and so does every later one."""
        self._stopping = True
        for process in list(self._running):
            process.kill()


def _wait(process: subprocess.Popen[bytes], job: Job) -> None:
    """Until it has ended. Raises WorldwiseError when its time is over, and if it does not keep its limits."""
    watch = Watch(job.limits, job.writable)
    what = f"{job.name} in the lab"
    until = time.monotonic() + (math.inf if job.timeout is None else job.timeout)
    while not ended(process, min(watch.every, until - time.monotonic())):
        see = f"see {job.log}" if job.log else ""
        if time.monotonic() >= until:
            raise WorldwiseError(f"{what} did not end within {job.timeout:.0f} s", see)
        problem = watch.problem(process.pid)
        if problem:
            raise WorldwiseError(f"{what} was stopped: {problem}", see)


def _judge(result: subprocess.CompletedProcess[str], job: Job) -> None:
    """Raise WorldwiseError for a program that failed, if that is an error; for a refused bubblewrap always."""
    text = log_end(job.log) if job.log else result.stdout + result.stderr
    tail = told_end(text)
    if refusal := refusal_in(text):
        raise refusal
    if job.check:
        broken = broken_limit(result.returncode, tail, job.limits)
        raise WorldwiseError(
            f"{job.name} in the lab failed with status {result.returncode}{f': {broken}' if broken else ''}",
            f"the whole output is in {job.log}" if job.log else "",
            tail,
        )


def _text(file: IO[bytes], name: str) -> str:
    """What a program printed. Raises WorldwiseError if that is more than anyone reads."""
    size = file.seek(0, os.SEEK_END)
    if size > _MOST_PRINTED:
        raise WorldwiseError(f"{name} in the lab printed {files.size_words(size)}")
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def told_end(text: str) -> str:
    """The last lines of what a program printed, with a compiler's first error above them if warnings followed it."""
    lines = text.splitlines()
    before, last = lines[:-_TOLD], lines[-_TOLD:]
    first = next((number for number, line in enumerate(before) if _ERROR.search(line)), None)
    if first is not None:
        shown = before[first : first + _OF_ERROR]
        left = len(before) - first - len(shown)
        last = [*shown, *([f"({left} line{'s' if left > 1 else ''} left out)"] if left else []), *last]
    return "\n".join(last)


def log_end(log: Path) -> str:
    """The end of a log, however long it is."""
    return end_of(log, _LOG_END).decode("utf-8", "replace")
