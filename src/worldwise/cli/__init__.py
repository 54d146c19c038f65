# SPDX-License-Identifier: BSD-2-Clause
"""The command line: one group, a file for each kind of command."""

import errno
import io
import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import NoReturn

import click

from worldwise import __version__
from worldwise.base import paths
from worldwise.base.errors import VanishedError, WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common import process
from worldwise.cli.common.lazy_group import LazyGroup, ListedCommand
from worldwise.cli.common.process import EXIT_ERROR, EXIT_INTERRUPTED

# Set in a command that begins again.
_AGAIN = "WORLDWISE_BEGAN_AGAIN"


_COMMANDS = {
    "Measure": (
        ListedCommand("run", "Measure a SUITE and print its answers", "worldwise.cli.run_command.run:run", first=True),
        ListedCommand("init", "Write a worldwise.toml for your repository", "worldwise.cli.user_code.init:init"),
        ListedCommand(
            "exec", "Run a program on the measured machine, as a wrapper", "worldwise.cli.user_code.exec:exec_command"
        ),
        ListedCommand("merge", "Make one run of the shards of `run --shard`", "worldwise.cli.run_command.merge:merge"),
        ListedCommand(
            "explain",
            "Say which code executes a case's instructions",
            "worldwise.cli.traces.explain:explain",
            first=True,
        ),
        ListedCommand(
            "diff",
            "Say which code two cases, or two runs, differ by",
            "worldwise.cli.traces.diff:diff",
            first=True,
        ),
        ListedCommand("vary", "Say whether what a case executes depends on a secret", "worldwise.cli.traces.vary:vary"),
        ListedCommand(
            "predict",
            "Predict the cycles of a case on a named core",
            "worldwise.cli.traces.predict:predict",
            first=True,
        ),
        ListedCommand(
            "judge", "Put a board's cycles beside the count and the prediction", "worldwise.cli.hardware.judge:judge"
        ),
        ListedCommand(
            "calibrate", "Fit a core to a board's cycles, and hold out half", "worldwise.cli.hardware.judge:calibrate"
        ),
    ),
    "Look at what was measured": (
        ListedCommand(
            "report",
            "Print a run again: all of it, or some of its sections",
            "worldwise.cli.report:report",
            first=True,
        ),
        ListedCommand(
            "compare", "Compare two runs, or two variants of one run", "worldwise.cli.compare:compare", first=True
        ),
        ListedCommand("site", "Write pages of all kept runs, with an index and a history", "worldwise.cli.site:site"),
        ListedCommand(
            "cite", "Print a run's method paragraph, and BibTeX of all that it measured", "worldwise.cli.cite:cite"
        ),
        ListedCommand(
            "plot",
            "Draw figures of a run: variants, price, sizes, layers, boards",
            "worldwise.cli.plot:plot",
            first=True,
        ),
    ),
    "See what there is": (
        ListedCommand("list", "List the runs, the newest last", "worldwise.cli.listing:list_command", first=True),
        ListedCommand("suites", "List the suites that come with worldwise", "worldwise.cli.listing:suites", first=True),
        ListedCommand("schema", "Print the JSON schema of records, traces or figures", "worldwise.cli.listing:schema"),
    ),
    "Other tools": (
        ListedCommand("scheduler", "Give the cases of `run --on` to workers", "worldwise.cli.workers:scheduler"),
        ListedCommand("worker", "Measure cases of `run --on` that a scheduler gives", "worldwise.cli.workers:worker"),
        ListedCommand("doctor", "Check this machine, and say what to do", "worldwise.cli.doctor:doctor", first=True),
        ListedCommand("cache", "Show the cache's content, and remove unused parts", "worldwise.cli.cache:cache"),
        ListedCommand(
            "lab",
            "Make, check and enter the lab: the pinned Debian root",
            "worldwise.cli.lab:lab",
            first=True,
        ),
        ListedCommand(
            "stack", "Check your own OP-TEE, its settings and patches", "worldwise.cli.user_code.stack:stack_group"
        ),
        ListedCommand(
            "validation", "Compare predicted cycles with hardware's", "worldwise.cli.hardware.validation:validation"
        ),
        ListedCommand(
            "contribute", "Pack a board's run as a file for others", "worldwise.cli.hardware.contribute:contribute"
        ),
        ListedCommand("keycache", "Try, package and fuzz the secure key cache", "worldwise.cli.keycache:keycache"),
    ),
}


@click.group(
    cls=LazyGroup,
    headings=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="worldwise")
def cli() -> None:
    """What cryptography costs on Arm, in the secure world and the normal one: counted without a board.

    \b
      What does it cost? (the main job)           worldwise run
      Where do the instructions go?               worldwise explain optee/mbedtls-nist-O2/attestdiv
      Will it fit my time, flash and RAM?         worldwise run --budget 5ms@2GHz; worldwise run mcu
      How long on this core, and how sure?        worldwise predict CASE --core cortex-a72
      Did this commit make it slower?             worldwise compare RUN_A RUN_B --fail-above 0.1%
      Which library is best on which core?        worldwise run linux-armv8; worldwise run cores
      How many cycles does my own board take?     worldwise run mcu --target BOARD --via openocd

    \f
    It boots TF-A, OP-TEE and Linux, or the firmware of a Cortex-M board, in QEMU and counts every instruction. The
    same command gives the same figures, to the digit.

    `worldwise run` is the main job: it measures an attestation's signatures from inside the TA, from its client and
    in plain Linux, and prints the answer on one screen. `worldwise report --all` prints all of it.
    """


def main() -> NoReturn:
    """Run the command line. Exit status: 0 done, 1 could not or a case failed, 2 usage, 3 over a limit, 130 Ctrl-C."""
    paths.whole_path()
    signals = process.Signals()
    signals.listen()
    process.outlast_terminal()
    sys.excepthook = _print_defect
    process.collect_seldom()
    # It would look through all installed packages for plugins of its own, of which none has a say here.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        status = _status()
    except (click.exceptions.Abort, KeyboardInterrupt):
        signals.end()
        _plain("interrupted")
        status = EXIT_INTERRUPTED
    sys.exit(status)


def _status() -> int:
    """Run the command line, and say what went wrong. An interrupt may come at any time, also while that is said."""
    try:
        status: int = cli.main(prog_name="worldwise", standalone_mode=False)
        sys.stdout.flush()
    except WorldwiseError as error:
        status = EXIT_ERROR
        try:
            if isinstance(error, VanishedError):
                _begin_again(error)
            print_error(error)
        except WorldwiseError as other:
            print_error(other)
    except click.ClickException as error:
        # click's message repeats the arguments, which may come from a stranger's list.
        said = io.StringIO()
        error.show(said)
        safe_text.echo(said.getvalue(), err=True, nl=False)
        status = error.exit_code
    except OSError as error:
        if error.errno in safe_text.GONE:
            # The reader stopped reading (`| head`), or the terminal is closed.
            process.drop_results()
        elif not _is_of_cache(error):
            raise
        else:
            cache, place = paths.cache_directory(), Path(str(error.filename))
            print_error(paths.cache_error(cache, place, error.strerror or str(error)))
        status = EXIT_ERROR
    return status


def _begin_again(error: VanishedError) -> None:
    """Begin the command again, once, in a lab with other versions of files that vanished after the lab was made.

    Returns if that may not be. Raises WorldwiseError if nothing can take a file's place.
    """
    from worldwise.lab import drift
    from worldwise.lab.lab import open_lab

    if not error.root or os.environ.get(_AGAIN):
        return
    # The command that ended has taken its options back.
    os.environ[drift.LOCKED_VARIABLE] = "0"
    open_lab(name=error.root).replace(error.items)
    _plain("begins again, in this lab")
    sys.stdout.flush()
    os.environ[_AGAIN] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _is_of_cache(error: OSError) -> bool:
    """Whether something in the cache could not be written for want of permission."""
    if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM) or not isinstance(error.filename, str):
        return False
    try:
        return Path(error.filename).is_relative_to(paths.cache_directory())
    except WorldwiseError:
        return False


def _print_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints a traceback; the error's text may be a stranger's words."""
    safe_text.echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)


def _plain(text: str) -> None:
    from rich.text import Text

    safe_text.console(stderr=True).print(Text(f"worldwise: {text}"), soft_wrap=True)


def print_error(error: WorldwiseError) -> None:
    """Print an error, its details and its hint on standard error."""
    from rich.text import Text

    console = safe_text.console(stderr=True, highlight=False)
    if error.details:
        console.print(Text(error.details, style="dim"), soft_wrap=True)
    console.print(Text("worldwise: ", style="bold red").append(error.message, style="default not bold"), soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {error.hint}"), soft_wrap=True)
