# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise explain CASE --vary INPUT`: whether what is executed and accessed depends on a secret."""

from functools import partial

import click

from worldwise.base.output import safe_text
from worldwise.cli.common.progress import Notes
from worldwise.cli.traces.plugin_runs import Output
from worldwise.cli.traces.typed_calls import ExplainCall
from worldwise.explain.dependence import dependence
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import open_lab
from worldwise.libraries.own_library import own_libraries
from worldwise.machine.emulator import Emulator
from worldwise.machine.qemu import WATCHED_SILENCE
from worldwise.machine.symbols.inlined_functions import PROGRAM, addr2line
from worldwise.plan.case import parse_case
from worldwise.plan.catalogue import takes_portables
from worldwise.report.explaining import dependence as dependence_report
from worldwise.report.explaining.explanations import dump
from worldwise.report.first_screen import first_screen
from worldwise.run.varied_secrets import CALLS, require_variable, slow_down, vary
from worldwise.targets.architecture import ARCHITECTURES

FORMATS = ("table", "markdown", "json")
# The binutils of boards' programs.
_BOARDS = "arm-none-eabi-"
# What the table of places loses first where it is too wide for a screen.
_SPARE = ("first at instr", "times", "inlined in", "calls")


def show_dependence(call: ExplainCall, words: str, more: str) -> None:
    """Vary the inputs of a case, one after the other, and show what depends on them. Raises WorldwiseError.

    `words` name the inputs. `more` says how to print the rest, if only the first screen is printed; else it is empty.
    """
    named, shown = call.named, call.shown
    if shown.form not in FORMATS:
        raise click.UsageError(f"--vary can be printed as {', '.join(FORMATS)}, not as {shown.form}")
    click.get_current_context().call_on_close(own_libraries.forget)
    own_libraries.announce(own_libraries.bring(named.directories), lambda text: safe_text.echo(text, err=True))
    case = parse_case(named.what)
    inputs = list(dict.fromkeys(words.split(",")))
    require_variable(case, inputs)
    notes = Notes()
    lab = open_lab(notes.console)
    lab.ensure()
    lab.require_entry()
    images = ImageStore(lab, notes.note)
    emulator = Emulator(lab, notes.note, silence_limit=WATCHED_SILENCE)
    if call.instead.slow_down:
        ratios = slow_down(case, inputs[0], images, emulator)
        with Output(shown.output) as out:
            pairs = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            out.text(
                f"{sorted(ratios)[len(ratios) // 2]:.2f} times the wall time without the plugin (pairs: {pairs})\n"
            )
        return
    prefix = ARCHITECTURES[case.target].prefix if case.target in ARCHITECTURES else _BOARDS
    tool = addr2line(lab, f"{prefix}addr2line" if takes_portables(case.target) else PROGRAM)
    found = []
    for word in inputs:
        varied = vary(case, word, images, emulator, CALLS, notes.note)
        found.append(dependence(varied, partial(tool, varied.program.read_bytes())))
    with Output(shown.output) as out:
        if shown.form == "json":
            out.text(dump(dependence_report.to_json(found)))
        else:
            parts = dependence_report.sections(found, shown.functions)
            out.show(first_screen(parts, more, _SPARE) if more else parts, shown.form)
