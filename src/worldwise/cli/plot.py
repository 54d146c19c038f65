# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise plot`: figures of a run's boards."""

from pathlib import Path

import click

from worldwise.base import outgoing
from worldwise.base.errors import WorldwiseError
from worldwise.cli.options import check_output, runs_option, writing
from worldwise.libraries.portable import OPTIMISATIONS
from worldwise.read import lens
from worldwise.report.drawing import figures
from worldwise.report.drawing import plot as plots
from worldwise.run.rundir import open_run


@click.command()
@click.argument("reference", metavar="[RUN]", default="latest")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(figures.KINDS),
    help="What to draw; can be given again.  [default: all]",
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
    help="Compiled this way.  [default: O2; both where flash is compared]",
)
@runs_option
def plot(
    reference: str,
    kinds: tuple[figures.Kind, ...],
    output: Path | None,
    form: str | None,
    width: str,
    boards: tuple[str, ...],
    operations: tuple[str, ...],
    curves: tuple[str, ...],
    sizes: tuple[str, ...],
    optimisation: str | None,
    runs: Path,
) -> int:
    """Draw what boards take: RUN is a directory, an id, the beginning of an id, or `latest`.

    time: instructions and time by library and curve. pareto: flash against instructions, with the front of those that
    none beats in both. stack: stack and heap of a call. boards: the same libraries on every board.

    The same run gives the same files, to the byte. docs/plots.md says what each figure shows.

    \b
      worldwise plot
      worldwise plot latest --kind pareto --operation sign --curve secp256r1 -o front.svg
    """
    suffix = output.suffix.removeprefix(".").lower() if output else ""
    single = output is not None and bool(suffix) and not output.is_dir()
    if single and output:
        check_output(output)
        if not form and suffix not in figures.FORMATS:
            raise WorldwiseError(
                f"{output}: figures are written as {' or '.join(figures.FORMATS)}, not as '{suffix}'.",
                "choose such a suffix, or say --format",
            )
    run = open_run(reference, runs)
    run.require_instructions("a figure")
    reading = lens.read_run(run)
    choice = figures.Choice(boards, operations, curves, sizes, optimisation or "")
    found = plots.plots(reading, kinds or figures.KINDS, choice)
    if single and output:
        targets = [(figures.one_plot(found), output, form or suffix)]
    else:
        directory = output or Path("plots") / run.id
        form = form or "svg"
        targets = [(each, directory / f"{each.name}.{form}", form) for each in found]
    for each, path, written in targets:
        content = plots.to_bytes(each, reading, written, width)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        outgoing.echo(path)
    return 0
