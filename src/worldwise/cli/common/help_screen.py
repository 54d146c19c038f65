# SPDX-License-Identifier: BSD-2-Clause
"""Help and lists that fit a screen. `--help` has what most calls need; `--help-all` explains every option, by group.

Loads no slow module.
"""

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import click

from worldwise.base.output import safe_text

# What stands behind a form feed of a command's text is for `--help-all` alone.
_REST = "\f"


class Helped(click.Command):
    """A command, or a group, with a short help and a whole one. `write_body` writes what stands below the text."""

    has_more = False
    _help_all: click.Option | None = None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, `--help-all` among them if it says more than `--help`."""
        found = super().get_params(ctx)
        if self.has_more:
            if self._help_all is None:
                self._help_all = click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_print_all,
                    help="Explain everything, and exit.",
                )
            found.append(self._help_all)
        return found

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the short help."""
        self._write(ctx, formatter, whole=False)

    def get_help_all(self, ctx: click.Context) -> str:
        """The whole help."""
        formatter = ctx.make_formatter()
        self._write(ctx, formatter, whole=True)
        return formatter.getvalue().rstrip("\n")

    def write_body(self, ctx: click.Context, formatter: click.HelpFormatter, whole: bool) -> None:
        """Write what stands below the text."""
        raise NotImplementedError

    def _write(self, ctx: click.Context, formatter: click.HelpFormatter, whole: bool) -> None:
        self.format_usage(ctx, formatter)
        text, _, rest = inspect.cleandoc(self.help or "").partition(_REST)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{text.rstrip()}\n\n{rest.strip()}" if whole and rest else text.rstrip())
        self.write_body(ctx, formatter, whole)


class Command(Helped):
    """A command with a short help and a whole one.

    `rare` groups the options that few calls need: heading -> names of parameters. `--help` names them in a line for
    each group; `--help-all` explains them. `after` is a text below the options, of both.
    """

    def __init__(
        self, *arguments: Any, rare: Mapping[str, Sequence[str]] | None = None, after: str = "", **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.rare = dict(rare or {})
        self.after = after
        self.has_more = bool(self.rare) or _REST in (self.help or "")

    def write_body(self, ctx: click.Context, formatter: click.HelpFormatter, whole: bool) -> None:
        """Write the options: those of most calls, then the others, explained or only named."""
        records = {
            str(one.name): record
            for one in self.get_params(ctx)
            if not isinstance(one, click.Argument) and (record := one.get_help_record(ctx))
        }
        few = {heading: [records.pop(name) for name in names] for heading, names in self.rare.items()}
        with formatter.section("Options"):
            formatter.write_dl(list(records.values()))
        if whole:
            for heading, group in few.items():
                with formatter.section(heading):
                    formatter.write_dl(group)
        elif few:
            write_more(ctx, formatter, {heading: ", ".join(map(_name, group)) for heading, group in few.items()})
        if self.after:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(self.after)


def _name(record: tuple[str, str]) -> str:
    """An option as it is typed, without its value."""
    return record[0].split()[0].rstrip(",")


def write_more(ctx: click.Context, formatter: click.HelpFormatter, groups: Mapping[str, str]) -> None:
    """Name what `--help` does not explain, in a line for each group: heading -> names.

    A name is not broken at its hyphens, as click would.
    """
    with formatter.section(f"More, which `{ctx.command_path} --help-all` explains"):
        indent = formatter.current_indent
        before = indent + 2 + max(map(len, groups))
        for heading, names in groups.items():
            wrapped = textwrap.fill(names, max(formatter.width - before, 20), break_on_hyphens=False)
            shown = textwrap.indent(wrapped, " " * before).lstrip()
            formatter.write(f"{' ' * indent}{heading:<{before - indent}}{shown}\n")


def _print_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        assert isinstance(ctx.command, Helped)
        safe_text.echo(ctx.command.get_help_all(ctx))
        ctx.exit()


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


SCREEN_COLUMNS = 100


def echo_line(begin: str, text: str) -> None:
    """Print `begin` and a text behind it; what does not fit goes on below the text's beginning."""
    lines = textwrap.wrap(
        safe_text.visible(text),
        SCREEN_COLUMNS,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
    safe_text.echo("\n".join(lines) or begin.rstrip())
