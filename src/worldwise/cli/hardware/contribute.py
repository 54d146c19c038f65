# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise contribute`: a run on silicon as one file that others can have."""

import re
import socket
from pathlib import Path

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, runs_option, writing
from worldwise.read.run_counts import read_run
from worldwise.report.first_screen import first_screen
from worldwise.report.formats.printed_sections import print_sections
from worldwise.run.folder.rundir import open_run
from worldwise.validation.figures import (
    SETS,
    check_contributed,
    contributed_files,
    figures_file,
    load_file,
    require_said,
)
from worldwise.validation.silicon.contribution import packed
from worldwise.validation.silicon.judgement_report import hardware_section

_WHOLE = "The files are measured/hardware/*.toml and those of published/hardware."
# What the list loses first where it is too wide for a screen.
_SPARE = ("unit",)


@click.command(cls=Command)
@click.argument("run", default="latest")
@click.option("--silicon", metavar="TEXT", help="The chip and its revision, as printed on it or read from its ID.")
@click.option("--firmware", metavar="TEXT", help="That of the probe and of the board; of a Linux host its kernel.")
@click.option("--core", metavar="NAME", help="The core, where the target does not say it.")
@click.option("--note", metavar="TEXT", default="", help="What is special about the board or the measurement.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="The file, for measured/hardware/.")
@click.option("--check", "checked", is_flag=True, help="Check the files of measured/hardware, and pack nothing.")
@click.option("--list", "listed", is_flag=True, help="List the known figures of hardware, and pack nothing.")
@runs_option
def contribute(
    run: str,
    silicon: str | None,
    firmware: str | None,
    core: str | None,
    note: str,
    output: Path | None,
    checked: bool,
    listed: bool,
    runs: Path,
) -> None:
    """Pack a RUN that --via measured as one file, for measured/hardware: every sample, board, versions.

    The file has no path, no address, and no name of a computer or a person. docs/use/board.md says how to send it.

    \b
      worldwise contribute latest --silicon "STM32F446RET6 revision A" \\
          --firmware "ST-LINK V2J43" --output f446.toml
      worldwise contribute --check
    """
    if checked:
        files = contributed_files()
        for path in files:
            check_contributed(path)
        safe_text.echo(f"checked {len(files)} contributed file{'' if len(files) == 1 else 's'}: all is well")
        return
    if listed:
        paths = [*(figures_file(which) for which in SETS), *contributed_files()]
        found = hardware_section({path.stem: load_file(path) for path in paths})
        print_sections(first_screen([found], _WHOLE, _SPARE), safe_text.console())
        return
    if not (silicon and firmware and output):
        raise click.UsageError("a contributed run needs --silicon, --firmware and --output")
    for option, text in (("--silicon", silicon), ("--firmware", firmware)):
        require_said(option, text)
    for option, text in (("--silicon", silicon), ("--firmware", firmware), ("--note", note)):
        _require_nobody(option, text)
    check_output(output)
    if output.exists():
        raise WorldwiseError(f"{output} exists, and no contributed file is overwritten", "choose another name")
    measured = open_run(run, runs)
    text = packed(measured, read_run(measured), silicon, firmware, core, note)
    with writing(output):
        output.write_text(text, encoding="utf-8")
    try:
        figures = check_contributed(output)
    except WorldwiseError:
        output.unlink()
        raise
    safe_text.echo(f"{output} has {len(figures.figure)} figures; read it before you send it: docs/use/board.md")


def _require_nobody(option: str, text: str) -> None:
    """Raises WorldwiseError if a text that was typed names this computer or its user."""
    words = {word.casefold() for word in re.findall(r"[\w.-]+", text)}
    for name in (socket.gethostname(), Path.home().name):
        if name.casefold() in words:
            raise WorldwiseError(
                f"{option}: '{name}' is the name of this computer or of its user", "describe the board, not its owner"
            )
