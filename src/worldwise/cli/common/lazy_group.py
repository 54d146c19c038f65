# SPDX-License-Identifier: BSD-2-Clause
"""A group of commands that are loaded only when they run: its help and its answer to a typing error load none.

As a command's, its `--help` is one screen, and `--help-all` has the rest.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from worldwise.cli.common.help_screen import Helped, write_more


@dataclass(frozen=True)
class ListedCommand:
    """A command as the group's help lists it.

    Attributes:
        name: the word that calls it.
        summary: what it does, in one line without a full stop.
        where: the module, and the command's name in it: `worldwise.cli.run_command.run:run`.
        first: whether `--help` says what it does; else it only names it.
    """

    name: str
    summary: str
    where: str
    first: bool = False

    def load(self) -> click.Command:
        """The command itself; imports its module."""
        module, _, attribute = self.where.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


class LazyGroup(Helped, click.Group):
    """A group that lists its commands under headings. `headings` has them: heading -> commands."""

    def __init__(self, *arguments: Any, headings: Mapping[str, Sequence[ListedCommand]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.headings = headings
        self._listed = {listed.name: listed for commands in headings.values() for listed in commands}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names of all commands, in the order of the help."""
        return [*self._listed, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, loaded now; None if there is none."""
        listed = self._listed.get(cmd_name)
        return listed.load() if listed else super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with. Raises click.NoSuchCommand with the names that are close."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(error.command_name, possibilities=self._listed, ctx=ctx) from None

    has_more = True

    def write_body(self, ctx: click.Context, formatter: click.HelpFormatter, whole: bool) -> None:
        """Write the commands: the first ones in one list, or all under their headings, each with its summary."""
        widest = max(map(len, self._listed))
        lists = self.headings if whole else {"Commands": [one for one in self._listed.values() if one.first]}
        for heading, commands in lists.items():
            with formatter.section(heading):
                formatter.write_dl([(listed.name.ljust(widest), listed.summary) for listed in commands])
        # A group's own would list the commands too.
        click.Command.format_options(self, ctx, formatter)
        if not whole:
            others = {
                heading: ", ".join(one.name for one in commands if not one.first)
                for heading, commands in self.headings.items()
            }
            write_more(ctx, formatter, others)
