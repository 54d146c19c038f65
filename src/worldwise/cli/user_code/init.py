# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise init`: a worldwise.toml for a folder, with comments."""

from pathlib import Path

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import writing


@click.command(cls=Command)
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite an existing worldwise.toml.")
def init(folder: Path, force: bool) -> int:
    """Look at a FOLDER and write its worldwise.toml: what is measured there, and the limits it keeps.

    It looks for an OP-TEE application (ta/ and host/), programs and firmware that are built, Cargo.toml,
    CMakeLists.txt, meson.build and west.yml, and, if there is nothing else, for a Makefile. It starts nothing.

    \b
      worldwise init
      worldwise run .
    """
    from worldwise.plan.suite_list import PROJECT_FILE
    from worldwise.plan.user_code.project import Project
    from worldwise.run.code.repository.measurable_files import look, text_of

    path = folder / PROJECT_FILE
    if not folder.is_dir():
        raise WorldwiseError(f"{folder} is no folder.", "name the folder of your repository")
    if path.exists() and not force:
        raise WorldwiseError(f"{path} exists already.", "`worldwise init --force` writes over it")
    found, outside = look(folder)
    text = text_of(found, outside)
    if found:
        from worldwise.base.toml.toml_model import parse

        parse(Project, text, path)
    with writing(path):
        path.write_text(text, encoding="utf-8")
    for one in found:
        safe_text.echo(f"{one.name}: {one.why}")
    for sentence in outside:
        safe_text.echo(f"{sentence}.")
    if found:
        safe_text.echo(f"{path} is written: look at it, then `worldwise run {folder}`")
    else:
        safe_text.echo(f"{path} is written: it names nothing to measure yet, so name your programs there")
    return 0
