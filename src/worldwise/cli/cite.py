# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise cite`: what a paper says of a run, and what it cites."""

from pathlib import Path

import click

from worldwise.base.output import safe_text
from worldwise.base.toml.toml_model import parse
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, format_option, output_option, runs_option, writing
from worldwise.libraries.portable import MANIFEST, Manifest
from worldwise.read import run_counts
from worldwise.report.citation.citation import FORMATS, cited, first_sections
from worldwise.report.formats.printed_sections import print_sections
from worldwise.run.folder.own_entries import libraries_of
from worldwise.run.folder.rundir import Run, open_run

_MORE = "The entries: --format bibtex. The paragraph for LaTeX: --format latex. Both whole: --full."


@click.command(cls=Command)
@click.argument("reference", metavar="[RUN]", default="latest")
@format_option(FORMATS)
@output_option
@click.option("--full", is_flag=True, help="Print the BibTeX entries below the paragraph, not a line for each.")
@runs_option
def cite(reference: str, form: str, output: Path | None, full: bool, runs: Path) -> int:
    """Print a paragraph on a run for a paper's method section, and BibTeX of everything measured.

    RUN is a directory, an id, the beginning of an id, `latest` or `latest~1`. Each entry has version, source and
    licence.

    text is both, for reading; latex the paragraph with \\cite, bibtex the entries, as files for a paper.

    \b
      worldwise cite
      worldwise cite latest --format latex --output method.tex
      worldwise cite latest --format bibtex --output worldwise.bib
    """
    if output:
        check_output(output)
    run = open_run(reference, runs)
    run.require_instructions("a method section")
    reading, own = run_counts.read_run(run), _own(run)
    if form == FORMATS[0] and not output and not full:
        print_sections(first_sections(reading, own, _MORE), safe_text.console())
        return 0
    text = cited(reading, own, form)
    if output:
        with writing(output):
            output.write_text(text, encoding="utf-8")
    else:
        safe_text.echo(text, nl=False)
    return 0


def _own(run: Run) -> dict[str, tuple[Manifest, str]]:
    """The user's own libraries that the run measured. Raises WorldwiseError if the text of one is spoilt."""
    return {
        entry.name: (parse(Manifest, entry.manifest, run.path / MANIFEST), entry.digest) for entry in libraries_of(run)
    }
