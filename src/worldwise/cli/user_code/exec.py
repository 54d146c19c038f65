# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise exec`: a prefix that any build system can put before a program of Linux for Arm, or firmware."""

import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from worldwise.base import paths
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import DEFAULT_RUNS, TypedCall
from worldwise.cli.user_code.given import GivenToIt, given_to_it

RUN_VARIABLE = "WORLDWISE_RUN"
_FILE = "exec.jsonl"
_MOST_INPUT = 256 * 2**20
# Seconds for which what was hashed is not hashed again.
_RECENT = 600


@dataclass(frozen=True)
class _ExecCall(TypedCall):
    """All that was typed after `worldwise exec`."""

    program: Path
    arguments: tuple[str, ...]
    kept: Path | None
    quiet: bool
    no_input: bool
    given: GivenToIt
    machine: str | None
    silence: int


@click.command(cls=Command, name="exec", context_settings={"allow_interspersed_args": False})
@click.argument("program", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--run",
    "kept",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=f"The file for the count, a line of JSON.  [default: {RUN_VARIABLE}, or {DEFAULT_RUNS / _FILE}]",
)
@click.option("--quiet", is_flag=True, help="Print no line of worldwise's own.")
@click.option("--no-input", is_flag=True, help="Give it an empty standard input.")
@given_to_it
@click.option("--machine", metavar="NAME", help="PROGRAM is firmware, and starts on this machine of QEMU.")
@click.option(
    "--silence",
    type=click.IntRange(1),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Stop it after this time: a program of Linux from its start, firmware from its last output.",
)
def exec_command(**typed: Any) -> int:
    """Run and count a PROGRAM of Linux for Arm, or firmware of a Cortex-M; end with its status.

    Standard input, output and error are the program's; a signal gives 128 plus its number. Firmware writes by its
    first UART and by semihosting, which ends it too. The count goes to a file and a printed line.

    \b
      worldwise exec -- ./bench 100 <input.txt
      CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='worldwise exec --' cargo test
      cmake -DCMAKE_CROSSCOMPILING_EMULATOR='worldwise;exec;--' ..
      worldwise exec --machine mps2-an386 -- app.elf
    """
    from worldwise.lab.image import ImageStore
    from worldwise.lab.lab import open_lab
    from worldwise.lab.recent_hashes import Recent
    from worldwise.libraries.user_code.harness import firmware_line, harness_line
    from worldwise.machine.emulator import Emulator
    from worldwise.run.code.order import Wanted
    from worldwise.run.code.program_wrapper import append, execute, execute_firmware

    call = _ExecCall.taken(typed)
    program, arguments, machine, given, quiet = call.program, call.arguments, call.machine, call.given, call.quiet
    if machine and (given.libraries or given.packages):
        raise click.UsageError("firmware has no shared libraries: --library and --package are for a program of Linux")
    if machine and given.net:
        raise click.UsageError("firmware has no network: --net is for a program of Linux")
    # A suite of tests starts it again and again.
    lab = open_lab()
    lab.recent = Recent(lab.cache, _RECENT)
    lab.ensure()
    paths.require_writable(lab.cache)
    note = (lambda _: None) if quiet else (lambda text: safe_text.echo(text, err=True))
    images, emulator = ImageStore(lab, note), Emulator(lab, note, silence_limit=call.silence)
    with tempfile.TemporaryDirectory(prefix="ww-input-") as temporary:
        if machine:
            done = execute_firmware(program, machine, arguments, given.files, images, emulator)
        else:
            standard = None if call.no_input else _input(Path(temporary) / "input")
            brought = (given.packages, given.libraries, given.files)
            wanted = Wanted(program, arguments, (), 1, *brought, standard, loopback=given.net is not None)
            done = execute(wanted, images, emulator)
    lab.recent.save()
    sys.stdout.flush()
    sys.stdout.buffer.write(done.output)
    sys.stdout.buffer.flush()
    sys.stderr.flush()
    with open(2, "wb", closefd=False) as errors:
        errors.write(done.errors)
    path = call.kept or Path(os.environ.get(RUN_VARIABLE) or DEFAULT_RUNS / _FILE)
    append(path, program, arguments, done, lab.digest)
    if not quiet:
        count = done.instructions
        said = f"{count:,} instructions" if count is not None else "not counted, because it slept or waited"
        safe_text.echo(f"worldwise: {program.name}: {said}, status {done.status} ({path})", err=True)
        if line := firmware_line(program, machine) if machine else harness_line(program, arguments):
            safe_text.echo(f"worldwise: {line}", err=True)
    return done.status


def _input(path: Path) -> Path | None:
    """What stands at standard input, as a file; None if that is a terminal or nothing."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return None
    if os.isatty(0) or not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return None
    content = sys.stdin.buffer.read(_MOST_INPUT + 1)
    if len(content) > _MOST_INPUT:
        raise click.UsageError(f"standard input has more than {_MOST_INPUT // 2**20} MiB")
    if not content:
        return None
    path.write_bytes(content)
    return path
