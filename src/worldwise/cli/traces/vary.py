# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise vary`: whether what is executed and accessed depends on a secret."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, format_option, locked_option, output_option
from worldwise.cli.common.progress import Notes
from worldwise.cli.traces.plugin_runs import Output
from worldwise.cli.traces.typed_calls import MORE, VARY_FORMATS, TracesShown, implementation_option, shown_options
from worldwise.explain.dependence import dependence
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries.own_library import own_libraries
from worldwise.machine.emulator import Emulator
from worldwise.machine.qemu import WATCHED_SILENCE
from worldwise.machine.symbols.inlined_functions import PROGRAM, addr2line
from worldwise.plan.case import parse_case
from worldwise.plan.catalogue import takes_portables
from worldwise.report.explaining import dependence as dependence_report
from worldwise.report.explaining.explanations import dump
from worldwise.report.first_screen import first_screen
from worldwise.run.varied_secrets import CALLS, inputs_of, require_variable
from worldwise.run.varied_secrets import vary as vary_input
from worldwise.targets.architecture import ARCHITECTURES

# The binutils of boards' programs.
_BOARDS = "arm-none-eabi-"
# What the table of places loses first where it is too wide for a screen.
_SPARE = ("first at instr", "times", "inlined in", "calls")


@click.command(cls=Command)
@click.argument("name", metavar="CASE")
@click.argument("inputs", metavar="[INPUT[,INPUT]]", default="")
@implementation_option("The folder of a library of your own, which the CASE names.")
@shown_options
@format_option(VARY_FORMATS)
@output_option
@locked_option
def vary(name: str, inputs: str, directories: tuple[Path, ...], **shown: Any) -> int:
    """Say whether what a CASE executes and accesses depends on its key, nonce or message.

    \b
      worldwise vary nucleo-f446re/bearssl-O2/sign,curve=secp256r1,size=32B key
      worldwise vary linux-armv8/nettle-O2/aes128,size=64B key,message
      worldwise vary optee/wolfssl-sp-O2/sign,curve=secp256r1,size=32B nonce

    It calls the operation with eight chosen values of each INPUT, on a board, in plain Linux or in a TA, and shows
    where the calls part.  [default: every input that the operation has]
    """
    call = TracesShown.taken(shown)
    if call.output:
        check_output(call.output)
    bring(directories)
    case = parse_case(name)
    words = list(dict.fromkeys(inputs.split(","))) if inputs else inputs_of(case)
    require_variable(case, words)
    lab, images, emulator, note = opened()
    prefix = ARCHITECTURES[case.target].prefix if case.target in ARCHITECTURES else _BOARDS
    tool = addr2line(lab, f"{prefix}addr2line" if takes_portables(case.target) else PROGRAM)
    found = []
    for word in words:
        varied = vary_input(case, word, images, emulator, CALLS, note)
        found.append(dependence(varied, partial(tool, varied.program.read_bytes())))
    with Output(call.output) as out:
        if call.form == "json":
            out.text(dump(dependence_report.to_json(found)))
        else:
            parts = dependence_report.sections(found, call.functions)
            out.show(first_screen(parts, MORE, _SPARE) if call.first_alone else parts, call.form)
    return 0


def bring(directories: Sequence[Path]) -> None:
    """Register the user's own libraries until the command ends. Raises WorldwiseError."""
    click.get_current_context().call_on_close(own_libraries.forget)
    own_libraries.announce(own_libraries.bring(directories), lambda text: safe_text.echo(text, err=True))


def opened() -> tuple[Lab, ImageStore, Emulator, Callable[[str], None]]:
    """The lab, ready; its images, an emulator, and where they say what they do. Raises WorldwiseError."""
    notes = Notes()
    lab = open_lab(notes.console)
    lab.ensure()
    lab.require_entry()
    return lab, ImageStore(lab, notes.note), Emulator(lab, notes.note, silence_limit=WATCHED_SILENCE), notes.note
