# SPDX-License-Identifier: BSD-2-Clause
"""The command line: one group, a file for each kind of command."""

import io
import signal
import sys
from types import FrameType
from typing import NoReturn

import click
from rich.text import Text

from worldwise import __version__, outgoing
from worldwise.cli.compare import compare
from worldwise.cli.explain import explain
from worldwise.cli.keycache import keycache
from worldwise.cli.lab import lab
from worldwise.cli.plot import plot
from worldwise.cli.report import list_command, report, schema, suites
from worldwise.cli.run import run
from worldwise.errors import WorldwiseError

# As shells report a program ended by Ctrl-C.
EXIT_INTERRUPTED = 130
EXIT_ERROR = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="worldwise")
def cli() -> None:
    """What cryptography costs on Arm, in the secure world and the normal one: counted exactly, without a board.

    `worldwise run` is the main job: it boots TF-A, OP-TEE and Linux in QEMU, measures an attestation's signatures
    from inside the TA, from its client and in plain Linux, and prints the table. Every figure can be had again to the
    digit.
    """


for command in (run, explain, report, compare, plot, list_command, suites, schema, lab, keycache):
    cli.add_command(command)


def main() -> NoReturn:
    """Run the command line. Exit status: 0 done, 1 measured but failed or over budget, 2 could not, 130 Ctrl-C."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        status = cli.main(prog_name="worldwise", standalone_mode=False)
    except WorldwiseError as error:
        _print_error(error)
        status = EXIT_ERROR
    except click.exceptions.Abort:
        _plain("interrupted")
        status = EXIT_INTERRUPTED
    except KeyboardInterrupt:
        _plain("interrupted")
        status = EXIT_INTERRUPTED
    except click.ClickException as error:
        # What click says repeats the arguments, which may come from a list that somebody else made.
        said = io.StringIO()
        error.show(said)
        outgoing.echo(said.getvalue(), err=True, nl=False)
        status = error.exit_code
    except BrokenPipeError:
        # The reader has what it wanted (`| head`); Python must not complain about it at exit either.
        sys.stderr.close()
        status = EXIT_ERROR
    sys.exit(status)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _plain(text: str) -> None:
    outgoing.console(stderr=True).print(Text(f"worldwise: {text}"), soft_wrap=True)


def _print_error(error: WorldwiseError) -> None:
    console = outgoing.console(stderr=True, highlight=False)
    if error.details:
        console.print(Text(error.details, style="dim"), soft_wrap=True)
    console.print(Text("worldwise: ", style="bold red").append(error.message, style="default not bold"), soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {error.hint}"), soft_wrap=True)
