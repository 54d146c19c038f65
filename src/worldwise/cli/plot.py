# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise plot`: figures of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import TypedCall, TypedRecord, check_output, runs_option, writing
from worldwise.libraries.portable import OPTIMISATIONS
from worldwise.read import run_counts
from worldwise.report.drawing import figures
from worldwise.run.folder.rundir import open_run

if TYPE_CHECKING:
    from worldwise.explain.explanation import Explanation

# In the current directory, unless --output names another.
PLOTS = Path("plots")
# More files than a screen has lines are not named one by one.
_MOST_NAMED = 38


@dataclass(frozen=True)
class _Drawn(TypedRecord):
    """The run, and what is drawn of it."""

    reference: str
    kinds: tuple[str, ...]
    runs: Path


@dataclass(frozen=True)
class _Files(TypedRecord):
    """The files that are written."""

    output: Path | None
    form: str | None
    width: str


@dataclass(frozen=True)
class _Only(TypedRecord):
    """The rows that are drawn; an empty field chooses all."""

    boards: tuple[str, ...]
    operations: tuple[str, ...]
    curves: tuple[str, ...]
    sizes: tuple[str, ...]
    optimisation: str | None

    def choice(self) -> figures.Choice:
        """The same, as figures take it."""
        return figures.Choice(self.boards, self.operations, self.curves, self.sizes, self.optimisation or "")


@dataclass(frozen=True)
class _PlotCall(TypedCall):
    """All that was typed after `worldwise plot`."""

    drawn: _Drawn
    files: _Files
    only: _Only


# What most calls do without, as `--help-all` lists it: heading -> parameters.
_RARE = {"Also": ("width", "boards", "sizes", "optimisation", "runs")}


@click.command(cls=Command, rare=_RARE)
@click.argument("reference", metavar="[RUN]", default="latest")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(figures.ALL_KINDS),
    metavar="KIND",
    help=f"What to draw: {', '.join(figures.ALL_KINDS)}; can be given again.  [default: all]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A file for one figure (.svg or .png), or a directory for all.  [default: plots/RUN]",
)
@click.option(
    "--format", "form", type=click.Choice(figures.FORMATS), help="Of the files.  [default: a file's suffix, or svg]"
)
@click.option(
    "--width",
    type=click.Choice(list(figures.WIDTHS)),
    default="full",
    show_default=True,
    help="170 mm for the whole page, or 85 mm for one of two columns.",
)
@click.option("--board", "boards", multiple=True, metavar="NAME", help="Only this board; can be given again.")
@click.option("--operation", "operations", multiple=True, metavar="NAME", help="Only this operation, such as sign.")
@click.option("--curve", "curves", multiple=True, metavar="NAME", help="Only this curve, such as secp256r1.")
@click.option("--size", "sizes", multiple=True, metavar="SIZE", help="Messages of this size.  [default: the commonest]")
@click.option(
    "--optimisation",
    type=click.Choice(OPTIMISATIONS),
    help="Compiled this way.  [default: all; of boards O2, but both where flash is compared]",
)
@runs_option
def plot(**typed: Any) -> int:
    """Draw a run: RUN is a directory, an id, the beginning of an id, `latest` or `latest~1`.

    \b
      worldwise plot
      worldwise plot latest --kind price --operation attestdiv -o price.svg
      worldwise plot latest --kind pareto --operation sign --curve secp256r1 -o front.svg

    \f
    variants: instructions by variant and place. layers: where they go, of cases with a trace (`explain`). price: the
    TEE against Linux. sizes: instructions against the size of a message or object, with the fitted line. rates: hits of
    the key cache. cycles: predicted cycles against counted instructions.

    Of boards: time: instructions and time by library and curve. pareto: flash against instructions, with the front of
    those that none beats in both. stack: stack and heap of a call. boards: the same libraries on every board.

    The same run gives the same files, to the byte. docs/use/report.md says what each figure shows.
    """
    call = _PlotCall.taken(typed)
    drawn, files = call.drawn, call.files
    output, form = files.output, files.form
    suffix = output.suffix.removeprefix(".").lower() if output else ""
    single = output is not None and bool(suffix) and not output.is_dir()
    if single and output:
        check_output(output)
        if not form and suffix not in figures.FORMATS:
            raise WorldwiseError(
                f"{output}: figures are written as {' or '.join(figures.FORMATS)}, not as '{suffix}'.",
                "choose one of these suffixes, or give --format",
            )
    # What reads traces, and what draws, takes long to load.
    from worldwise.cli.traces.kept_explanations import explanations
    from worldwise.report.drawing import charts

    run = open_run(drawn.reference, drawn.runs)
    run.require_instructions("a figure")
    reading = run_counts.read_run(run)
    untold: list[str] = []

    def explained() -> "list[Explanation]":
        found, others = explanations(run)
        untold.extend(others)
        return found

    found = charts.figures(reading, explained, drawn.kinds, call.only.choice())
    if "layers" in drawn.kinds:
        for line in untold:
            safe_text.echo(f"left out: {line}", err=True)
    if single and output:
        targets = [(figures.one_plot(found), output, form or suffix)]
    else:
        directory = output or PLOTS / run.id
        form = form or "svg"
        targets = [(each, directory / f"{each.name}.{form}", form) for each in found]
    for each, path, written in targets:
        content = charts.to_file(each, reading, written, files.width)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if len(targets) <= _MOST_NAMED:
            safe_text.echo(path)
    if len(targets) > _MOST_NAMED:
        safe_text.echo(f"{len(targets)} figures are in {targets[0][1].parent}")
    return 0
