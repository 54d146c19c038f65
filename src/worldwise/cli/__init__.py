# SPDX-License-Identifier: BSD-2-Clause
"""The command line: one group, a file for each kind of command."""

import errno
import io
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import NoReturn

import click
from rich.text import Text

from worldwise import __version__
from worldwise.base import outgoing, paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli import ending
from worldwise.cli.compare import compare
from worldwise.cli.explain import explain
from worldwise.cli.keycache import keycache
from worldwise.cli.lab import lab
from worldwise.cli.plot import plot
from worldwise.cli.report import list_command, report, schema, suites
from worldwise.cli.run import run

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
    signals = ending.Signals()
    signals.listen()
    ending.outlast_terminal()
    sys.excepthook = _print_defect
    try:
        status = cli.main(prog_name="worldwise", standalone_mode=False)
        sys.stdout.flush()
    except WorldwiseError as error:
        _print_error(error)
        status = EXIT_ERROR
    except (click.exceptions.Abort, KeyboardInterrupt):
        signals.end()
        _plain("interrupted")
        status = EXIT_INTERRUPTED
    except click.ClickException as error:
        # What click says repeats the arguments, which may come from a list that somebody else made.
        said = io.StringIO()
        error.show(said)
        outgoing.echo(said.getvalue(), err=True, nl=False)
        status = error.exit_code
    except OSError as error:
        if error.errno in outgoing.GONE:
            # The reader has what it wanted (`| head`), or the terminal is closed.
            ending.drop_results()
        elif not _is_of_cache(error):
            raise
        else:
            cache, place = paths.cache_directory(), Path(str(error.filename))
            _print_error(paths.cache_error(cache, place, error.strerror or str(error)))
        status = EXIT_ERROR
    sys.exit(status)


def _is_of_cache(error: OSError) -> bool:
    """Whether something in the cache could not be written for want of permission."""
    if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM) or not isinstance(error.filename, str):
        return False
    try:
        return Path(error.filename).is_relative_to(paths.cache_directory())
    except WorldwiseError:
        return False


def _print_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A traceback; what the error says may be a stranger's words."""
    outgoing.echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)


def _plain(text: str) -> None:
    outgoing.console(stderr=True).print(Text(f"worldwise: {text}"), soft_wrap=True)


def _print_error(error: WorldwiseError) -> None:
    console = outgoing.console(stderr=True, highlight=False)
    if error.details:
        console.print(Text(error.details, style="dim"), soft_wrap=True)
    console.print(Text("worldwise: ", style="bold red").append(error.message, style="default not bold"), soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {error.hint}"), soft_wrap=True)
