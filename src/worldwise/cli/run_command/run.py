# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run`: the main job. This module checks the call; worldwise.cli.run_command.measurement measures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from worldwise.base.errors import WorldwiseError
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, share, wanted_budget
from worldwise.cli.run_command.call import Call, ServerOptions, What, Where, is_default, option_of, refuse
from worldwise.cli.run_command.run_options import RARE, run_options
from worldwise.cli.user_code import kinds
from worldwise.plan.budget import Budget, check_budget
from worldwise.plan.case import Case
from worldwise.plan.inputs import DEFAULT_SEED, seed_problem
from worldwise.plan.selection import require_known, select, select_unavailable, swept
from worldwise.plan.suite import Suite, load_suite, parse_suite
from worldwise.run.folder.rundir import Run, open_run

if TYPE_CHECKING:
    from worldwise.cli.run_command.measurement import Away, RunOrder
    from worldwise.libraries.own_library.own_libraries import OwnLibrary
    from worldwise.libraries.stacks.stack import BroughtStack
    from worldwise.run.measurers import Remote

# `--resume` without a run: the newest.
_LATEST = "latest"
# `--option-sweep` without a suite.
_SWEPT = "options"
# A resumed run already has these.
_NOT_WITH_RESUME = (
    *("suite", "variants", "operations", "targets", "curves", "sweep", "samples"),
    *("reverse", "fresh", "verify", "cold", "clock", "shard", "costs", "seed", "seeds", "as_shipped"),
)


@click.command(cls=Command, rare=RARE)
@run_options
def run(**typed: Any) -> int:
    """Measure a SUITE, or a folder with a worldwise.toml; print the answer.

    \b
      worldwise run
      worldwise run mcu --target nucleo-f446re --variant 'micro-ecc-*' --curve P-256
      worldwise run --budget 5ms@2GHz --format json --output result.json
      worldwise run --program ./signer --region crypto_sign -- message.bin

    \f
    A SUITE is a name of `worldwise suites`, or a TOML file. The first time this builds the lab and the images, which
    takes minutes. Results of the very same machine come from the cache, and one of these cases is measured again as a
    check. `worldwise report --all` prints all. --variant, --operation, --target and --curve can be given again; each is
    a name or a shell pattern.

    \b
      worldwise run mcu --target nucleo-f446re --via openocd
      worldwise run linux-armv8 --via ssh://pi@raspberrypi.local
      worldwise run tee --on dask://node1:8786 --key workers.key --cache /shared/worldwise
      worldwise run tee --on slurm:16 --slurm partition=short --cache /shared/worldwise

    Exit status: 0 all is well; 1 a case failed, or nothing could be measured; 3 over a budget or baseline.
    """
    call = Call.taken(typed)
    kind = kinds.chosen()
    if call.shown.sarif:
        check_output(call.shown.sarif)
    if kind is kinds.FOLDER:
        return _own(call)
    if call.shown.sarif and not call.shown.baseline:
        raise click.UsageError("--sarif reports figures above a limit or a baseline: name one with --baseline")
    call.shown.baselines().check()
    if kind is not kinds.SUITE:
        return _own(call)
    if call.what.resume:
        refuse(_NOT_WITH_RESUME, "--resume continues a run as it was begun, so it does not accept {option}")
    call.where.check()
    if call.where.cache:
        share(call.where.cache)
    if call.what.sweep and is_default("suite"):
        call = replace(call, what=replace(call.what, suite=_SWEPT))
    if call.shown.output:
        check_output(call.shown.output)
    order, budget = _order(call)
    # These modules take long to load, so a typing error is reported before.
    from worldwise.cli.report import Wanted, show
    from worldwise.cli.run_command.measurement import measure
    from worldwise.run.options import MeasureOptions

    remote = _remote(call.where.server, order)
    order = replace(order, cases=remote.measured(order.cases)) if remote else order
    here = call.where.here
    options = MeasureOptions(
        reuse=not (here.fresh or here.verify or here.cold or remote),
        start="boot" if here.cold or remote else "snapshot",
        jobs=here.jobs or 0,
        silence_limit=here.silence,
        reverse=here.reverse,
        remote=remote,
        seeds=order.old.manifest.seeds if order.old else call.what.seeds,
    )
    answer = "worldwise report latest" + ("" if is_default("runs") else f" --runs {call.shown.runs}")
    shown = Wanted(call.shown.form, call.shown.output, budget, call.shown.full, answer=answer)
    aside = call.shown.form != "table"
    return measure(order, options, shown, lambda made, how: call.shown.baselines().judge(made, show(made, how), aside))


def _own(call: Call) -> int:
    """Code of the user's own. Raises WorldwiseError."""
    if call.shown.output:
        check_output(call.shown.output)
    if call.shown.budget:
        raise click.UsageError("--budget judges operations of a suite; of your own code `worldwise predict` judges one")
    from worldwise.cli.report import Wanted
    from worldwise.cli.user_code.code import OwnCall, measure_typed

    # What stands where a suite does is the first of the program's arguments.
    words = (*(() if is_default("suite") else (call.what.suite,)), *call.own.linux.arguments)
    shown, here = call.shown, call.where.here
    usual = is_default("runs")
    how = OwnCall(
        shown.runs, here.fresh, here.silence, shown.predict, usual, shown.baselines(), _stack(call.what, None)
    )
    wanted = Wanted(shown.form, shown.output, None, shown.full)
    if kinds.chosen() is kinds.FOLDER:
        from worldwise.cli.user_code.project import measure_project

        return measure_project(Path(call.what.suite), how, wanted)
    micro = call.own.micro
    if micro.pqm4:
        from worldwise.cli.user_code.pqm4 import measure_pqm4

        return measure_pqm4(micro.pqm4, call.what.variants, micro.machine, call.own.region.repeat, how, wanted)
    return measure_typed(call.own, words, how, wanted)


def _order(call: Call) -> tuple["RunOrder", Budget | None]:
    """What to measure, and the budget that was typed. Raises WorldwiseError."""
    what, where, runs = call.what, call.where, call.shown.runs
    given = wanted_budget(call.shown.budget)
    old = open_run(what.resume, runs) if what.resume else None
    brought = _brought(what.directories)
    stacks = _stack(what, old)
    filters = what.filters()
    if old:
        suite, cases = _resumed(old, brought)
    else:
        suite = _with_own(load_suite(what.suite), brought)
        suite = swept(suite) if what.sweep else suite
        for kind, values in filters.items():
            require_known(suite.cases, suite.name, kind, values)
        cases = select(suite.cases, *filters.values())
        if what.samples:
            cases = [replace(case, samples=what.samples) for case in cases]
        cases = _drawn(what, cases)
        if where.here.reverse:
            cases = cases[::-1]
    if stacks:
        from worldwise.cli.user_code.stack import require_part

        require_part(stacks[0], cases)
    limit = given or suite.budget
    if limit:
        check_budget(limit, cases)
    unavailable = select_unavailable(suite.unavailable, *filters.values())
    from worldwise.cli.run_command.measurement import RunOrder

    cores = _cores(call.shown.predict, cases)
    shard = old.manifest.shard if old else None
    if where.shard:
        from worldwise.cli.run_command.shards import sharded

        cases, shard = sharded(where.shard, where.costs, cases, call.shown.predict, runs)
    away = _away(where, cases, runs)
    order = RunOrder(
        suite,
        cases,
        unavailable,
        what.samples,
        limit,
        [*brought, *stacks],
        runs,
        old,
        where.here.verify,
        cores,
        shard,
        away,
    )
    return order, given


def _drawn(what: What, cases: Sequence[Case]) -> list[Case]:
    """The cases with the inputs and the interrupts that were asked for.

    Raises WorldwiseError for a case that has one draw only, and click.UsageError for a place that has one draw only.
    """
    asked = [name for name in ("seed", "seeds", "as_shipped") if not is_default(name)]
    if asked:
        refuse(
            ("via", "on", "shard"), f"{option_of(asked[0])} is for machines that are emulated here, not for {{option}}"
        )
    for case in cases if what.seed != DEFAULT_SEED else ():
        if problem := seed_problem(case):
            raise WorldwiseError(
                f"--seed {what.seed}: {case.id} has one draw only: {problem}.",
                "choose other cases with --target, --variant or --operation: docs/how/repeat.md",
            )
    return [replace(case, seed=what.seed, as_shipped=what.as_shipped) for case in cases]


def _away(where: Where, cases: Sequence[Case], runs: Path) -> "Away | None":
    """The workers of `--on`. Raises WorldwiseError."""
    workers = where.workers
    if workers.on is None:
        return None
    from worldwise.cli.run_command.measurement import Away
    from worldwise.cli.run_command.shards import expected_costs
    from worldwise.run.workers.cluster import parse_place

    costs, _ = expected_costs(where.costs, cases, runs)
    return Away(parse_place(workers.on, workers.asked, workers.key), costs, workers.cross_check, workers.wait)


def _cores(predict: Sequence[str], cases: Sequence[Case]) -> Mapping[str, str]:
    """The cores of `--predict`, with their tables. Raises WorldwiseError."""
    if not predict:
        return {}
    from worldwise.cli.traces.further_predictions import asked

    return asked(predict, cases)


def _remote(server: ServerOptions, order: "RunOrder") -> "Remote | None":
    """The board or host of `--via`. Raises WorldwiseError."""
    if server.via is None:
        return None
    from worldwise.run.measurers import remote_of

    begun = order.old.manifest.chip_clock if order.old else None
    clock = begun.name if begun else server.clock or ""
    return remote_of(server.via, order.cases, clock, server.serial or "", server.ta_key or "", server.ta_folder or "")


def _brought(directories: Iterable[Path]) -> "list[OwnLibrary]":
    """The user's own libraries, until the command ends. Raises WorldwiseError."""
    directories = list(directories)
    if not directories:
        return []
    from worldwise.libraries.own_library import own_libraries

    click.get_current_context().call_on_close(own_libraries.forget)
    return own_libraries.bring(directories)


def _stack(what: What, old: Run | None) -> "list[BroughtStack]":
    """The stack of a new or a resumed run. Raises WorldwiseError, and click.UsageError where it cannot be."""
    entry = None
    if old:
        from worldwise.run.folder.own_entries import stack_of

        entry = stack_of(old)
    if not what.stack_file and not entry:
        return []
    from worldwise.cli.user_code.stack import use, use_kept

    if what.stack_file:
        refuse(
            ("via", "on", "shard", "resume"),
            "--stack is measured on this machine and whole, so it does not go with {option}",
        )
        return use(what.stack_file)
    return use_kept(entry.digest) if entry else []


def _with_own(suite: Suite, brought: "Sequence[OwnLibrary]") -> Suite:
    if not brought:
        return suite
    from worldwise.plan.user_code.own_library_cases import with_own

    return with_own(suite, brought)


def _resumed(old: Run, brought: "Sequence[OwnLibrary]") -> tuple[Suite, list[Case]]:
    """The suite and the cases of a resumed run. Raises WorldwiseError."""
    from worldwise.run.folder.own_entries import check_same

    check_same(old.id, old.manifest.own, brought)
    suite = _with_own(parse_suite(old.suite_text(), str(old.path / "suite.toml")), brought)
    return suite, old.manifest.planned(_with_swept(suite))


def _with_swept(planned: Suite) -> Suite:
    """All cases that a run of the suite can have, with --option-sweep or without."""
    try:
        return swept(planned)
    except WorldwiseError:
        return planned
