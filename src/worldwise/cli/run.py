# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run`: the main job."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from worldwise.base import outgoing
from worldwise.base.errors import WorldwiseError
from worldwise.cli.report import check_output, reading_options, runs_option, show, wanted_budget
from worldwise.lab.lab import open_lab
from worldwise.libraries import own
from worldwise.plan.block import MAX_SAMPLES
from worldwise.plan.budget import check_budget
from worldwise.plan.case import Case
from worldwise.plan.selection import select, select_unavailable, swept
from worldwise.plan.suite import Suite, load_suite, parse_suite
from worldwise.run import reproduction as compare
from worldwise.run.measure import Bench, Options
from worldwise.run.rundir import Run, open_run

# `--resume` without a run: the newest.
_LATEST = "latest"
# `--option-sweep` without a suite.
_SWEPT = "options"


class _Display:
    """Progress: a live bar on a terminal, a plain line per event elsewhere.

    On standard error, so that results stay clean.
    """

    def __init__(self, cases: int) -> None:
        self.console = outgoing.console(stderr=True, highlight=False)
        self.live = self.console.is_terminal
        self.began = time.monotonic()
        self.total = cases
        self.done = 0
        self.lock = threading.Lock()
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.live,
        )
        self.task = self.bar.add_task("cases", total=cases)
        self.running: dict[str, int] = {}

    def note(self, text: str) -> None:
        elapsed = int(time.monotonic() - self.began)
        self.console.print(f"[{elapsed // 60:02d}:{elapsed % 60:02d}] {text}", soft_wrap=True)

    def case_started(self, case: Case) -> None:
        with self.lock:
            self.running[case.id] = 0
            self._describe()

    def case_progress(self, case: Case, records_bytes: int) -> None:
        with self.lock:
            self.running[case.id] = records_bytes
            self._describe()

    def case_done(self, case: Case, how: str) -> None:
        with self.lock:
            self.running.pop(case.id, None)
            self.done += 1
            self.bar.advance(self.task)
            self._describe()
            done = self.done
        if how != "reused":
            self.note(f"{done:>3}/{self.total} {case.id}: {how}")

    def _describe(self) -> None:
        names = ", ".join(f"{name} ({size // 1024} kB)" for name, size in self.running.items())
        self.bar.update(self.task, description=names or "cases")


@click.command()
@click.argument("suite", default="attestation")
@click.option(
    "--variant", "variants", multiple=True, metavar="NAME", help="Only this variant, such as mbedtls-nist-O2."
)
@click.option("--operation", "operations", multiple=True, metavar="NAME", help="Only this operation.")
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this target.")
@click.option("--curve", "curves", multiple=True, metavar="NAME", help="Only this curve, such as secp256r1.")
@click.option(
    "--implementation",
    "directories",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Measure a library of your own too: a folder with implementation.toml, adapter.c and sources (docs/own.md).",
)
@click.option(
    "--option-sweep",
    "sweep",
    is_flag=True,
    help="Measure every combination of each library's build options, and show which matter; without SUITE, of options.",
)
@click.option("--samples", type=click.IntRange(1, MAX_SAMPLES), help="Samples a case, instead of the suite's.")
@click.option("--fresh", is_flag=True, help="Measure everything, even what was measured on the same machine before.")
@click.option("--verify", is_flag=True, help="Measure everything twice and compare: every byte must be the same.")
@click.option("--cold", is_flag=True, help="Boot the machine anew for every case, instead of restoring its snapshot.")
@click.option("--reverse", is_flag=True, help="Measure the cases in reverse order: no digit may change.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value=_LATEST,
    metavar="[RUN]",
    help="Go on with a run that was cut short.",
)
@click.option("--jobs", type=click.IntRange(1, 64), help="Machines at a time.  [default: one per processor]")
@click.option(
    "--silence",
    type=click.IntRange(5, 86400),
    default=120,
    show_default=True,
    help="Seconds without a record after which a machine counts as hanging; one with the key cache has 900 at least.",
)
@runs_option
@reading_options
def run(
    suite: str,
    variants: tuple[str, ...],
    operations: tuple[str, ...],
    targets: tuple[str, ...],
    curves: tuple[str, ...],
    directories: tuple[Path, ...],
    sweep: bool,
    samples: int | None,
    fresh: bool,
    verify: bool,
    cold: bool,
    reverse: bool,
    resume: str | None,
    jobs: int | None,
    silence: int,
    runs: Path,
    form: str,
    output: Path | None,
    budget: str | None,
    full: bool,
) -> int:
    """Measure a SUITE (a name of `worldwise suites`, or a TOML file) and print the result.

    The first time this builds the lab and the images, which takes minutes. What was measured before on the very same
    machine is taken from the cache, and one such case is measured again as a check.

    Exit status: 0 all is well; 1 a case failed or the budget is not met; 2 it could not be measured.
    """
    if resume:
        _refuse_with_resume()
    if sweep and _is_default("suite"):
        suite = _SWEPT
    if output:
        check_output(output)
    options = Options(
        reuse=not (fresh or verify or cold),
        start="boot" if cold else "snapshot",
        jobs=jobs or 0,
        silence_limit=silence,
    )
    given = wanted_budget(budget)
    old = open_run(resume, runs) if resume else None
    click.get_current_context().call_on_close(own.forget)
    brought = own.bring(directories)
    if old:
        own.check_same(old.id, old.manifest.own, brought)
        planned = own.with_own(parse_suite(old.suite_text(), str(old.path / "suite.toml")), brought)
        cases = old.manifest.planned(_with_swept(planned))
    else:
        planned = own.with_own(load_suite(suite), brought)
        planned = swept(planned) if sweep else planned
        cases = select(planned.cases, variants, operations, targets, curves)
        if samples:
            cases = [replace(case, samples=samples) for case in cases]
        if reverse:
            cases = cases[::-1]
    limit = given or planned.budget
    if limit:
        check_budget(limit, cases)

    display = _Display(len(cases) * (2 if verify else 1))
    own.announce(brought, display.note)
    lab = open_lab(display.console)
    lab.ensure()
    lab.require_entry()
    bench = Bench(lab, display, options)
    unavailable = select_unavailable(planned.unavailable, variants, operations, targets, curves)
    names = [each.name for each in brought]
    made: list[Run] = []
    try:
        with display.bar:
            # What does not compile is told before there is a run.
            bench.build([case for case in cases if case.implementation in names])
            for _ in range(2 if verify else 1):
                writer = (
                    bench.resume_run(old)
                    if old
                    else bench.new_run(
                        runs, planned, cases, limit, samples, unavailable, [each.entry() for each in brought]
                    )
                )
                with writer:
                    display.note(f"run {writer.run.path}")
                    made.append(bench.measure(writer, cases))
    except KeyboardInterrupt:
        bench.stop()
        display.note("interrupted; what is complete is kept: go on with `worldwise run --resume`")
        raise
    status = show(made[0], form, output, given, full)
    if verify:
        status = max(status, _verify(made[0], made[1], display))
    return status


def _is_default(name: str) -> bool:
    """Whether an argument or option was not given."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.DEFAULT


def _with_swept(planned: Suite) -> Suite:
    """All cases that a run of the suite can have, with --option-sweep or without."""
    try:
        return swept(planned)
    except WorldwiseError:
        return planned


def _refuse_with_resume() -> None:
    """A run that is gone on with has its suite, cases and samples already. Raises click.UsageError."""
    context = click.get_current_context()
    for name in (
        "suite",
        "variants",
        "operations",
        "targets",
        "curves",
        "sweep",
        "samples",
        "reverse",
        "fresh",
        "verify",
        "cold",
    ):
        if not _is_default(name):
            option = next(parameter for parameter in context.command.params if parameter.name == name)
            raise click.UsageError(f"--resume goes on with a run as it was begun: {option.opts[0]} does not go with it")


def _verify(first: Run, second: Run, display: _Display) -> int:
    difference = compare.first_difference(first, second)
    if difference:
        raise WorldwiseError(
            f"runs {first.id} and {second.id} are not the same: {difference.describe()}",
            "this is a defect of the first order: keep both runs and report it",
        )
    twice = len(first.complete_cases())
    failed = len(first.manifest.cases) - twice
    but = f"; {failed} failed twice and are not verified" if failed else ""
    display.note(f"verified: {twice} cases measured twice, every record the same{but}")
    return 0
