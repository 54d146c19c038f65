# SPDX-License-Identifier: BSD-2-Clause
"""`--save-baseline` and `--baseline`: a run's counts as a file for the repository, and a run beside such a file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.process import EXIT_ERROR, EXIT_EXCEEDED
from worldwise.plan.spec import OWN
from worldwise.run.folder.rundir import Run

_Command = TypeVar("_Command", bound=Callable[..., Any])
NO_CHANGE = "0%"


def baseline_options(command: _Command) -> _Command:
    """`--save-baseline` and `--baseline`."""
    for option in (
        click.option(
            "--save-baseline",
            metavar="NAME",
            help="Keep the counts as baselines/NAME.toml, a text file to commit.",
        ),
        click.option(
            "--baseline",
            metavar="NAME",
            help="Compare with baselines/NAME.toml; exit status 3 if a median is above it.",
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Baselines:
    """The baselines that were named: where they are, the one to compare with, the one to write; empty for none.

    `sarif` is the file for what is exceeded, if one was named.
    """

    folder: Path
    compared: str = ""
    saved: str = ""
    sarif: Path | None = None

    def check(self) -> None:
        """Raise WorldwiseError, before anything is measured, for a bad name and for a missing file."""
        if not (self.compared or self.saved):
            return
        from worldwise.read.compared import baseline

        if self.saved:
            baseline.path_of(self.saved, self.folder)
        if self.compared:
            baseline.load(self.compared, self.folder)

    def judge(self, run: Run, status: int, aside: bool) -> int:
        """Compare a run that was just measured, and keep it, as was asked. Returns the exit status.

        `status` is the run's own; `aside` prints on standard error. Raises WorldwiseError.
        """
        if not (self.compared or self.saved):
            return status
        from worldwise.read.compared import baseline, gate
        from worldwise.report import comparisons

        functions = functions_of(run)
        if self.compared:
            options = gate.GateOptions(limit=gate.parse_limit(NO_CHANGE), limit_text=NO_CHANGE)
            named = baseline.load(self.compared, self.folder)
            from worldwise.cli.traces.source_marks import Marks, write_sarif

            marks = Marks(run, self.folder)
            comparison = marks.with_lines(baseline.compare_baseline(named, run, functions, options))
            console = safe_text.console(stderr=aside)
            console.print()
            comparisons.render_brief(comparison, console)
            status = worst(status, gated_status(comparison.gate))
            if self.sarif:
                write_sarif(self.sarif, marks, (), comparison)
        if self.saved:
            save(run, self.saved, self.folder, functions)
        return status


def worst(*statuses: int) -> int:
    """The exit status of several: an error comes before what is over a limit."""
    return next((one for one in (EXIT_ERROR, EXIT_EXCEEDED) if one in statuses), 0)


def gated_status(gate: Any) -> int:
    """The exit status of a gate: what is not there comes before what is over the limit."""
    if gate is None or gate.passed:
        return 0
    return EXIT_ERROR if gate.lost else EXIT_EXCEEDED


def save(run: Run, name: str, folder: Path, functions: Any, pattern: str = "") -> None:
    """Write a run's counts as a baseline, over an older one of that name. Raises WorldwiseError."""
    from worldwise.cli.common.options import writing
    from worldwise.read.compared import baseline

    made = baseline.baseline_of(run, functions, pattern)
    path = baseline.path_of(name, folder)
    counts = f"{len(made.count)} count{'s' * (len(made.count) > 1)}"
    with writing(path):
        path.parent.mkdir(exist_ok=True)
        # The folder may be a stranger's: no link in it is followed.
        text = baseline.text_of(made, f"--baseline {name}")
        files.write_whole(folder, path.relative_to(folder), text.encode())
    safe_text.echo(f"{path} has {counts}: commit it, and compare with --baseline {name}", err=True)


def functions_of(run: Run, pattern: str = "") -> dict[str, dict[str, int]]:
    """The functions of the median call of each case of own code, by case; none for the catalogue's cases.

    Own code that the cache has lost has none, and a line says so.
    """
    from fnmatch import fnmatchcase

    own = [one for one in run.complete_cases() if one.target == OWN and (not pattern or fnmatchcase(one.id, pattern))]
    if not own:
        return {}
    from worldwise.cli.traces.plugin_runs import Session, outermost, with_own
    from worldwise.explain.layers import load_rules
    from worldwise.libraries import own_code

    if not all(own_code.is_known(one.implementation) for one in own):
        with_own(run, ())
    session = Session(load_rules(), fresh=False)
    found: dict[str, dict[str, int]] = {}
    for manifest in own:
        case = manifest.case()
        ((measure, places),) = case.measures.items()
        try:
            explainer = session.explainer(case, run)
            explanation = explainer.explain(explainer.sample(measure, outermost(places)))
        except WorldwiseError as error:
            safe_text.echo(f"{case.id}: its functions are not known: {error.message}", err=True)
            continue
        counts = found.setdefault(case.id, {})
        for (name, image), share in explanation.functions.items():
            key = f"{name} ({image})"[:1000]
            counts[key] = counts.get(key, 0) + share.self
    return found
