# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise validation stacks` and `slow-down`: whether the plugin follows right, and how long it takes."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import click

from worldwise.base.output import safe_text
from worldwise.base.tables import Section
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import locked_option, runs_option
from worldwise.cli.traces.plugin_runs import Output, Session, measures_of
from worldwise.cli.traces.typed_calls import (
    RARE_FOLLOWED,
    ExplainedRegion,
    NamedCases,
    case_option,
    followed_options,
    implementation_option,
    region_options,
)
from worldwise.cli.traces.vary import bring, opened
from worldwise.explain.layers import load_rules
from worldwise.plan.case import parse_case
from worldwise.report.explaining.explanations import check_section, peak_sections
from worldwise.run.traces.slowdown import measure_slowdown
from worldwise.run.varied_secrets import require_variable
from worldwise.run.varied_secrets import slow_down as slow_down_of_inputs

# Instructions between two comparisons with the stack in memory.
_EVERY = 10_000


@click.command(cls=Command, rare={"Look closer": ("index", "inline"), "Also": RARE_FOLLOWED})
@click.argument("what", metavar="CASE|RUN", default="latest")
@case_option
@implementation_option("The folder of a library of your own that the RUN measured.")
@region_options
@followed_options
@locked_option
@runs_option
def stacks(fresh: bool, inline: bool, **typed: object) -> None:
    """Compare the stacks that the plugin follows with those in the machine's memory.

    At every 10,000th instruction it says whether the callers are the same; on boards also how deep the lowest store
    of a call is, which the stack pointer alone does not say.

    \b
      worldwise validation stacks optee/mbedtls-nist-O2/empty-invoke
      worldwise validation stacks mps2-an386/p256-m-Os/sign,curve=secp256r1,size=32B
    """
    named, region = NamedCases.taken(typed), ExplainedRegion.taken(typed)
    cases = named.cases()
    # Every error in the call is reported before anything runs.
    for case, _ in cases:
        measures_of(case, region.measure)
    session = Session(load_rules(), fresh, inline, _EVERY)
    with Output(None) as out:
        for case, run in cases:
            explainer = session.explainer(case, run)
            parts: list[Section] = [part for one in region.explanations(explainer) for part in peak_sections(one)]
            out.show([*parts, check_section(explainer.check(), explainer.agreement())], "table")


@click.command()
@click.argument("name", metavar="CASE")
@click.option("--vary", "varied", metavar="INPUT", help="With the plugin of `worldwise vary CASE INPUT`.")
@implementation_option("The folder of a library of your own, which the CASE names.")
@locked_option
def slow_down(name: str, varied: str | None, directories: Sequence[Path]) -> None:
    """Time a case with the plugin and without, in pairs.

    \b
      worldwise validation slow-down optee/mbedtls-nist-O2/empty-invoke
      worldwise validation slow-down nucleo-f446re/bearssl-O2/sign,curve=secp256r1,size=32B --vary key
    """
    bring(directories)
    case = parse_case(name)
    if varied:
        require_variable(case, [varied])
        _, images, emulator, _ = opened()
        _say(varied, slow_down_of_inputs(case, varied, images, emulator))
        return
    result = measure_slowdown(Session(load_rules(), fresh=False).watcher, case)
    for mode in ("count", "stack"):
        _say(mode, result.ratios(mode))


def _say(what: str, ratios: Sequence[float]) -> None:
    pairs = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    safe_text.echo(f"{what}: {median(ratios):.2f} times the wall time without the plugin (pairs: {pairs})")
