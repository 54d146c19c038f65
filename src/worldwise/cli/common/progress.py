# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a command at work: one changing line on a terminal, a few plain lines elsewhere."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from worldwise.base.output import safe_text
from worldwise.base.progress_notes import Begun, CaseEnd, Done
from worldwise.plan.case import Case

# Without a terminal, a run of more cases than this prints a line for each tenth of them and for each failed case.
_EACH = 20
_PARTS = 10


class Notes:
    """Lines with the time since the start. On standard error, so that results stay clean."""

    def __init__(self) -> None:
        self.console = safe_text.console(stderr=True, highlight=False)
        self.began = time.monotonic()

    def note(self, text: str) -> None:
        """Print a line."""
        elapsed = int(time.monotonic() - self.began)
        self.console.print(f"[{elapsed // 60:02d}:{elapsed % 60:02d}] {text}", soft_wrap=True)


class Steps(Notes):
    """Notes of one step after another; on a terminal also the time that a build or a boot has taken so far."""

    def __init__(self) -> None:
        super().__init__()
        self.live: Progress | None = None

    def note(self, text: str) -> None:
        """Print a line. One that says that work begins is shown, with its time, until the next."""
        self.end()
        super().note(text)
        if self.console.is_terminal and isinstance(text, Begun) and not isinstance(text, Done):
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self.live = Progress(*columns, console=self.console, transient=True)
            self.live.add_task(text)
            self.live.start()

    def end(self) -> None:
        """Take the live line away."""
        if self.live:
            self.live.stop()
            self.live = None


class Display(Notes):
    """The progress of a run: a live bar on a terminal, plain lines elsewhere.

    Args:
        costs: what each case is expected to cost, by its id.
        times: how often each is measured.
    """

    def __init__(self, costs: Mapping[str, int], times: int = 1) -> None:
        super().__init__()
        self.live = self.console.is_terminal
        self.total = cases = len(costs) * times
        self.done = 0
        self.failed = 0
        self.lock = threading.Lock()
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[found]}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.live,
        )
        self.task = self.bar.add_task("starting", total=cases, found="")
        self.running: dict[str, int] = {}
        # The builds in progress, and the last result.
        self.builds: list[str] = []
        self.found = ""
        # When the first case began, how many were measured since, and what these and all that are left were expected to
        # cost: the time left is estimated from these.
        self._first = 0.0
        self._measured = 0
        self._costs = costs
        self._spent = 0
        self._rest = sum(costs.values()) * times
        # What is printed of a case as soon as it is measured, beside its line.
        self.figures: Callable[[Case], Sequence[str]] = lambda _: ()

    def note(self, text: str) -> None:
        """Print a line with the time since the start, and remember the builds in progress."""
        with self.lock:
            if isinstance(text, Begun) and text.kind == "build":
                if not isinstance(text, Done):
                    self.builds.append(text.name)
                elif text.name in self.builds:
                    self.builds.remove(text.name)
            self._describe()
        super().note(text)

    def case_started(self, case: Case) -> None:
        """Show that a case is being measured."""
        with self.lock:
            self._first = self._first or time.monotonic()
            self.running[case.id] = 0
            self._describe()

    def case_progress(self, case: Case, records_bytes: int) -> None:
        """Show how many bytes of records a case has."""
        with self.lock:
            self.running[case.id] = records_bytes
            self._describe()

    def case_done(self, case: Case, how: CaseEnd) -> None:
        """Show that a case is done, and how."""
        with self.lock:
            self.running.pop(case.id, None)
            self.done += 1
            self.failed += how.failed
            self._rest -= self._costs[case.id]
            if not how.reused:
                self._measured += 1
                self._spent += self._costs[case.id]
            if how.measured:
                self.found = f"{case.id}: {how.words}"
            self.bar.advance(self.task)
            self._describe()
            done, line = self.done, f"{self.done:>3}/{self.total} {case.id}: {how.words}{self._left()}"
        if how.measured:
            for figure in self.figures(case):
                self.note(figure)
        if how.failed or (not how.reused and (self.total <= _EACH or self._is_part(done))):
            self.note(line)

    def _is_part(self, done: int) -> bool:
        """Whether this case completes a tenth of all; on a terminal the bar shows that."""
        parts = range(1, _PARTS + 1)
        return not self.live and done in {max(1, part * self.total // _PARTS) for part in parts}

    def _left(self) -> str:
        """An estimate of the time left; empty as long as there is nothing to estimate from."""
        if self._measured < 2:
            return ""
        minutes = (time.monotonic() - self._first) / self._spent * self._rest / 60
        return f"; about {minutes:.0f} min left" if minutes >= 1 else ""

    def _describe(self) -> None:
        """The live line: the work in progress, and the last result."""
        names = [f"{name} ({size // 1024} kB)" for name, size in self.running.items()]
        names += [f"building {name}" for name in self.builds]
        found = [f"{self.failed} FAILED"] if self.failed else []
        found += [self.found] if self.found else []
        self.bar.update(
            self.task,
            description=(names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")) if names else "waiting",
            found="; ".join(found) + self._left(),
        )
