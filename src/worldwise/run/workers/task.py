# SPDX-License-Identifier: BSD-2-Clause
"""What a worker of `run --on` does: it builds what cases need, or measures one, into the store that all machines share.

Only digests and words go back: whoever asked reads the images and the records from the store.
"""

import contextlib
import functools
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter

from worldwise import __version__
from worldwise.base import paths
from worldwise.base.disk import require_space
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.base.progress_notes import CaseEnd
from worldwise.lab.host.facts import revision
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries.own_library import own_libraries
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import Case
from worldwise.run.case_check import found_words
from worldwise.run.measure import RECORD_SPACE, Bench
from worldwise.run.options import MeasureOptions
from worldwise.run.ways import case_digest
from worldwise.run.workers.cluster import worker_name


@dataclass(frozen=True)
class TaskOrder:
    """What all tasks of a run have in common.

    Attributes:
        lab: the lab's digest.
        worldwise: the version of worldwise.
        git: the revision of its checkout.
        silence_limit, reuse: see worldwise.run.options.MeasureOptions.
        shared: what the machines share, for a worker whose WORLDWISE_SHARED names nothing; empty for nothing.
        libraries: the folder and the digest of each library of the user's own.
    """

    lab: str
    worldwise: str
    git: str
    silence_limit: float
    reuse: bool = True
    shared: str = ""
    libraries: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, lab: Lab, options: MeasureOptions, brought: Sequence[own_libraries.Brought]) -> "TaskOrder":
        """The order of a run that this machine makes."""
        libraries = tuple((str(Path(each.origin).absolute()), each.digest) for each in brought)
        shared = paths.shared_place()
        limit, reuse = options.silence_limit, options.reuse
        return cls(lab.digest, __version__, revision(), limit, reuse, shared or "", libraries)


# What a worker that lies can say is bounded in its length and its form.
_MOST_TEXT, _MOST_NOTES = 4000, 1000
_Text = Annotated[str, Field(max_length=_MOST_TEXT)]
_Digest = Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]


@dataclass(frozen=True)
class TaskAnswer:
    """What came of a task. It comes as JSON, and is read as ANSWER.

    Attributes:
        worker: the worker's address.
        name: what people call it.
        said: what it had to say on the way.
        digest: the address of the result in the store.
        content: the SHA-256 of its records.
        seconds: how long measuring took.
        found: what was counted, in a few words.
        problem: why it was not done; empty if it was.
        of_host: whether the worker is the problem, whatever the case.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    worker: _Text
    name: _Text
    said: Annotated[tuple[_Text, ...], Field(max_length=_MOST_NOTES)] = ()
    digest: _Digest = ""
    content: _Digest = ""
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    found: _Text = ""
    problem: _Text = ""
    of_host: bool = False


ANSWER = TypeAdapter(TaskAnswer)


class _Said:
    """Keeps what a worker's bench says until the next answer takes it along."""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        # An answer carries plain text alone.
        self._notes.append(str(text))

    def case_started(self, case: Case) -> None:
        """The asker knows."""

    def case_progress(self, case: Case, records_bytes: int) -> None:
        """The run gets the answer at the end."""

    def case_done(self, case: Case, how: CaseEnd) -> None:
        """The answer says it."""

    def taken(self) -> tuple[str, ...]:
        """All notes so far, which are then forgotten."""
        notes, self._notes = self._notes, []
        return tuple(notes)


# What the worker was started with.
_SHARED = os.environ.get(paths.SHARED_VARIABLE)
said_by_worker = _Said()
_opening = threading.Lock()


def build(order: TaskOrder, cases: Sequence[Case]) -> TaskAnswer:
    """Build what cases of one variant need."""

    def do(bench: Bench, answer: TaskAnswer) -> TaskAnswer:
        bench.build(cases)
        return answer

    return _answer(order, do)


def measure(order: TaskOrder, case: Case, run: str, keep: bool) -> TaskAnswer:
    """Measure a case for a run; `keep` its result in the store, or only say what it is.

    A result that is to be kept is not measured if the worker has it, or another run has put it there in the meantime.
    """

    def do(bench: Bench, answer: TaskAnswer) -> TaskAnswer:
        machine = bench.target(case.target).machine(case, bench.images)
        digest = case_digest(bench.lab, machine, case)
        if keep and order.reuse and (stored := bench.results.get(digest)):
            # This machine may have it from a run of its own.
            bench.results.share(stored)
            return replace(answer, digest=digest, content=stored.files[RECORDS])
        with tempfile.TemporaryDirectory(prefix="ww-worker-") as work:
            directory = Path(work)
            with _blaming(directory):
                ended, checked = bench.run(case, machine, directory)
            seconds = round(ended.wall_seconds, 2)
            if keep:
                bench.results.put(digest, directory, run, seconds, ended.command)
            content = file_sha256(directory / RECORDS)
        return replace(answer, digest=digest, content=content, seconds=seconds, found=found_words(case, checked))

    return _answer(order, do)


def _answer(order: TaskOrder, do: Callable[[Bench, TaskAnswer], TaskAnswer]) -> TaskAnswer:
    answer = this_worker()
    try:
        with _opening:
            bench = bench_of(order)
        answer = do(bench, answer)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        answer = replace(answer, problem=f"{where}{error.strerror or error}", of_host=True)
    except WorldwiseError as error:
        answer = replace(answer, problem=error.message[:_MOST_TEXT], of_host=isinstance(error, HostError))
    return replace(answer, said=tuple(note[:_MOST_TEXT] for note in said_by_worker.taken()[-_MOST_NOTES:]))


@functools.lru_cache(maxsize=1)
def bench_of(order: TaskOrder) -> Bench:
    """The bench of an order, with its lab. Raises WorldwiseError, HostError if this is another worldwise or lab."""
    lab = open_lab()
    here = {"lab": lab.digest, "worldwise": __version__, "revision": revision()}
    wanted = {"lab": order.lab, "worldwise": order.worldwise, "revision": order.git}
    for name, value in wanted.items():
        if here[name] != value:
            raise HostError(f"its {name} is {here[name] or 'unknown'}, and the run's is {value or 'unknown'}")
    os.environ[paths.SHARED_VARIABLE] = _SHARED or order.shared
    own_libraries.forget()
    for brought, (_, digest) in zip(
        own_libraries.bring(Path(path) for path, _ in order.libraries), order.libraries, strict=True
    ):
        if brought.digest != digest:
            raise HostError(f"{brought.origin} has another content there")
    lab.ensure()
    if lab.digest != order.lab:
        raise HostError(f"its lab is {lab.digest} by now, and the run's is {order.lab}")
    lab.require_entry()
    return Bench(lab, said_by_worker, MeasureOptions(reuse=False, jobs=1, silence_limit=order.silence_limit))


@contextlib.contextmanager
def _blaming(directory: Path) -> Iterator[None]:
    """Whatever fails inside while the directory's disk is full is the disk's fault, in whose words it may be said."""
    try:
        yield
    except WorldwiseError as error:
        try:
            require_space(directory, RECORD_SPACE, "the records")
        except WorldwiseError as full:
            raise HostError(full.message, full.hint, error.message) from error
        raise


def this_worker() -> TaskAnswer:
    """An empty answer of the worker that this process is."""
    # An optional package, which whoever calls this has.
    from distributed import get_worker

    worker = get_worker()
    return TaskAnswer(worker.address, worker_name(worker.name, worker.address))
