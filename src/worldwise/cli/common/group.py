# SPDX-License-Identifier: BSD-2-Clause
"""A group of commands whose help says what each does, in its first sentence."""

import click

from worldwise.cli.common.help_screen import Command

# More than any first sentence has.
_WHOLE = 1000


class Group(click.Group):
    """click's own cuts the sentences to a line each. Its commands have a short and a whole help."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their first sentences."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE)) for name, one in commands if one])
