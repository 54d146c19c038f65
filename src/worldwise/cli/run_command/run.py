# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run`: the main job. This module checks the call; worldwise.cli.run_command.measurement measures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from worldwise.base.errors import WorldwiseError
from worldwise.cli.baselines import Baselines
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output, share, wanted_budget
from worldwise.cli.run_command.run_options import RARE, run_options
from worldwise.cli.user_code import kinds
from worldwise.plan.budget import Budget, check_budget
from worldwise.plan.case import Case
from worldwise.plan.inputs import DEFAULT_SEED, seed_problem
from worldwise.plan.selection import curve_names, require_known, select, select_unavailable, swept
from worldwise.plan.suite import Suite, load_suite, parse_suite
from worldwise.run.folder.rundir import Run, open_run

if TYPE_CHECKING:
    from worldwise.cli.run_command.measurement import Away, Order
    from worldwise.libraries.own_library.own_libraries import Own
    from worldwise.libraries.stacks.stack import BroughtStack
    from worldwise.run.measurers import Remote

# `--resume` without a run: the newest.
_LATEST = "latest"
# `--option-sweep` without a suite.
_SWEPT = "options"
# No suite of cases: predictions against hardware. It takes these options alone.
_VALIDATION = "validation"
_WITH_VALIDATION = ("suite", "jobs", "runs")
# A resumed run already has these.
_NOT_WITH_RESUME = (
    *("suite", "variants", "operations", "targets", "curves", "sweep", "samples"),
    *("reverse", "fresh", "verify", "cold", "clock", "shard", "costs", "seed", "seeds", "as_shipped"),
)


@dataclass(frozen=True)
class _Call:
    """What was typed: a field for each parameter of the command, by its name there."""

    suite: str
    variants: tuple[str, ...]
    operations: tuple[str, ...]
    targets: tuple[str, ...]
    curves: tuple[str, ...]
    directories: tuple[Path, ...]
    sweep: bool
    samples: int | None
    fresh: bool
    verify: bool
    cold: bool
    reverse: bool
    resume: str | None
    jobs: int | None
    silence: int
    full: bool
    runs: Path
    form: str
    output: Path | None
    budget: str | None
    via: str | None
    clock: str | None
    serial: str | None
    ta_key: str | None
    ta_folder: str | None
    predict: tuple[str, ...]
    shard: str | None
    costs: str | None
    on: str | None
    asked: tuple[str, ...]
    key: Path | None
    wait: int | None
    cross_check: int | None
    cache: str | None
    seed: int
    seeds: int
    as_shipped: bool
    stack_file: Path | None
    save_baseline: str | None
    baseline: str | None
    sarif: Path | None
    own: kinds.Typed

    def baselines(self) -> Baselines:
        """The baselines that were named."""
        return Baselines(Path(), self.baseline or "", self.save_baseline or "", self.sarif)

    def filters(self) -> Mapping[str, Sequence[str]]:
        """Attribute of a case -> patterns for it, as `select` takes them."""
        return {
            "variant": self.variants,
            "operation": self.operations,
            "target": self.targets,
            "curve": curve_names(self.curves),
        }


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
    call = _Call(own=kinds.Typed.taken(typed), **typed)
    kind = kinds.chosen()
    if kind is kinds.SUITE and call.suite == _VALIDATION:
        return _validation(call)
    if call.sarif:
        check_output(call.sarif)
    if kind is kinds.FOLDER:
        return _own(call)
    if call.sarif and not call.baseline:
        raise click.UsageError("--sarif has what is over a limit or a baseline: name one with --baseline")
    call.baselines().check()
    if kind is not kinds.SUITE:
        return _own(call)
    if call.resume:
        _refuse_with_resume()
    if call.cache:
        share(call.cache)
    if call.sweep and _is_default("suite"):
        call = replace(call, suite=_SWEPT)
    if call.output:
        check_output(call.output)
    order, budget = _order(call)
    # These modules take long to load, so a typing error is reported before.
    from worldwise.cli.report import Wanted, show
    from worldwise.cli.run_command.measurement import measure
    from worldwise.run.options import Options

    remote = _remote(call, order)
    order = replace(order, cases=remote.measured(order.cases)) if remote else order
    options = Options(
        reuse=not (call.fresh or call.verify or call.cold or remote),
        start="boot" if call.cold or remote else "snapshot",
        jobs=call.jobs or 0,
        silence_limit=call.silence,
        reverse=call.reverse,
        remote=remote,
        seeds=order.old.manifest.seeds if order.old else call.seeds,
    )
    answer = "worldwise report latest" + ("" if _is_default("runs") else f" --runs {call.runs}")
    shown = Wanted(call.form, call.output, budget, call.full, answer=answer)
    aside = call.form != "table"
    return measure(order, options, shown, lambda made, how: call.baselines().judge(made, show(made, how), aside))


def _own(call: _Call) -> int:
    """Code of the user's own. Raises WorldwiseError."""
    if call.output:
        check_output(call.output)
    if call.budget:
        raise click.UsageError("--budget judges operations of a suite; of your own code `worldwise predict` judges one")
    from worldwise.cli.report import Wanted as Shown
    from worldwise.cli.user_code.code import OwnCall, measure_typed

    # What stands where a suite does is the first of the program's arguments.
    words = (*(() if _is_default("suite") else (call.suite,)), *call.own.arguments)
    stacks = _stack(call, None)
    how = OwnCall(call.runs, call.fresh, call.silence, call.predict, _is_default("runs"), call.baselines(), stacks)
    if kinds.chosen() is kinds.FOLDER:
        from worldwise.cli.user_code.project import measure_project

        return measure_project(Path(call.suite), how, Shown(call.form, call.output, None, call.full))
    if call.own.pqm4:
        from worldwise.cli.user_code.pqm4 import measure_pqm4

        given = (call.own.pqm4, call.variants, call.own.machine, call.own.repeat)
        return measure_pqm4(*given, how, Shown(call.form, call.output, None, call.full))
    return measure_typed(call.own, words, how, Shown(call.form, call.output, None, call.full))


def _order(call: _Call) -> tuple["Order", Budget | None]:
    """What to measure, and the budget that was typed. Raises WorldwiseError."""
    given = wanted_budget(call.budget)
    old = open_run(call.resume, call.runs) if call.resume else None
    brought = _brought(call.directories)
    stacks = _stack(call, old)
    filters = call.filters()
    if old:
        suite, cases = _resumed(old, brought)
    else:
        suite = _with_own(load_suite(call.suite), brought)
        suite = swept(suite) if call.sweep else suite
        for kind, values in filters.items():
            require_known(suite.cases, suite.name, kind, values)
        cases = select(suite.cases, *filters.values())
        if call.samples:
            cases = [replace(case, samples=call.samples) for case in cases]
        cases = _drawn(call, cases)
        if call.reverse:
            cases = cases[::-1]
    if stacks:
        from worldwise.cli.user_code.stack import require_part

        require_part(stacks[0], cases)
    limit = given or suite.budget
    if limit:
        check_budget(limit, cases)
    unavailable = select_unavailable(suite.unavailable, *filters.values())
    from worldwise.cli.run_command.measurement import Order

    cores = _cores(call, cases)
    shard = old.manifest.shard if old else None
    if call.shard:
        from worldwise.cli.run_command.shards import sharded

        cases, shard = sharded(call.shard, call.costs, cases, call.predict, call.runs)
    elif call.costs and not call.on:
        raise click.UsageError("--costs balances shards or workers, so it needs --shard or --on")
    away = _away(call, cases)
    order = Order(
        suite,
        cases,
        unavailable,
        call.samples,
        limit,
        [*brought, *stacks],
        call.runs,
        old,
        call.verify,
        cores,
        shard,
        away,
    )
    return order, given


def _drawn(call: _Call, cases: Sequence[Case]) -> list[Case]:
    """The cases with the inputs and the interrupts that were asked for.

    Raises WorldwiseError for a case that has one draw only, and click.UsageError where nobody can choose.
    """
    asked = [name for name in ("seed", "seeds", "as_shipped") if not _is_default(name)]
    for name in ("via", "on", "shard"):
        if asked and not _is_default(name):
            raise click.UsageError(f"{_option(asked[0])} is for machines that are emulated here, not for --{name}")
    for case in cases if call.seed != DEFAULT_SEED else ():
        if problem := seed_problem(case):
            raise WorldwiseError(
                f"--seed {call.seed}: {case.id} has one draw only: {problem}.",
                "choose other cases with --target, --variant or --operation: docs/how/repeat.md",
            )
    return [replace(case, seed=call.seed, as_shipped=call.as_shipped) for case in cases]


def _away(call: _Call, cases: Sequence[Case]) -> "Away | None":
    """The workers of `--on`. Raises WorldwiseError, and click.UsageError for options that they do not have."""
    if call.on is None:
        for name in ("cross_check", "asked", "wait", "key"):
            if not _is_default(name):
                raise click.UsageError(f"{_option(name)} is for workers: say where they are with --on")
        return None
    for name in ("via", "jobs", "cold", "shard"):
        if not _is_default(name):
            raise click.UsageError(f"--on has workers measure from saved machines, so it does not accept --{name}")
    from worldwise.cli.run_command.measurement import Away
    from worldwise.cli.run_command.shards import expected_costs
    from worldwise.run.workers.cluster import parse_place

    costs, _ = expected_costs(call.costs, cases, call.runs)
    return Away(parse_place(call.on, call.asked, call.key), costs, call.cross_check, call.wait)


def _cores(call: _Call, cases: Sequence[Case]) -> Mapping[str, str]:
    """The cores of `--predict`, with their tables. Raises WorldwiseError."""
    if not call.predict:
        return {}
    from worldwise.cli.traces.run_predictions import asked

    return asked(call.predict, cases)


def _remote(call: _Call, order: "Order") -> "Remote | None":
    """The board or host of `--via`. Raises WorldwiseError, and click.UsageError for options that it does not have."""
    if call.via is None:
        for name in ("clock", "serial", "ta_key", "ta_folder"):
            if not _is_default(name):
                raise click.UsageError(f"{_option(name)} is for a board itself: name its server with --via")
        return None
    from worldwise.run.measurers import remote_of

    for name in ("verify", "jobs", "predict", "baseline", "save_baseline", "sarif"):
        if not _is_default(name):
            raise click.UsageError(
                f"--via measures a board itself, case by case, so it does not accept {_option(name)}"
            )
    begun = order.old.manifest.chip_clock if order.old else None
    clock = begun.name if begun else call.clock or ""
    return remote_of(call.via, order.cases, clock, call.serial or "", call.ta_key or "", call.ta_folder or "")


def _brought(directories: Iterable[Path]) -> "list[Own]":
    """The user's own libraries, until the command ends. Raises WorldwiseError."""
    directories = list(directories)
    if not directories:
        return []
    from worldwise.libraries.own_library import own_libraries

    click.get_current_context().call_on_close(own_libraries.forget)
    return own_libraries.bring(directories)


def _stack(call: _Call, old: Run | None) -> "list[BroughtStack]":
    """The stack of a new or a resumed run. Raises WorldwiseError, and click.UsageError where it cannot be."""
    entry = None
    if old:
        from worldwise.run.folder.own_entries import stack_of

        entry = stack_of(old)
    if not call.stack_file and not entry:
        return []
    from worldwise.cli.user_code.stack import use, use_kept

    if call.stack_file:
        for name in ("via", "on", "shard", "resume"):
            if not _is_default(name):
                raise click.UsageError(
                    f"--stack is measured on this machine and whole, so it does not go with --{name}"
                )
        return use(call.stack_file)
    return use_kept(entry.digest) if entry else []


def _with_own(suite: Suite, brought: "Sequence[Own]") -> Suite:
    if not brought:
        return suite
    from worldwise.plan.user_code.own_library_cases import with_own

    return with_own(suite, brought)


def _resumed(old: Run, brought: "Sequence[Own]") -> tuple[Suite, list[Case]]:
    """The suite and the cases of a resumed run. Raises WorldwiseError."""
    from worldwise.run.folder.own_entries import check_same

    check_same(old.id, old.manifest.own, brought)
    suite = _with_own(parse_suite(old.suite_text(), str(old.path / "suite.toml")), brought)
    return suite, old.manifest.planned(_with_swept(suite))


def _is_default(name: str) -> bool:
    """Whether an argument or option was not given."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.DEFAULT


def _with_swept(planned: Suite) -> Suite:
    """All cases that a run of the suite can have, with --option-sweep or without."""
    try:
        return swept(planned)
    except WorldwiseError:
        return planned


def _validation(call: _Call) -> int:
    """Runs the validation of the models. Raises click.UsageError for an option that only cases have."""
    from worldwise.cli.hardware.validation import FOLDER, measure_into

    for parameter in click.get_current_context().command.params:
        if parameter.name and parameter.name not in _WITH_VALIDATION and not _is_default(parameter.name):
            raise click.UsageError(f"the validation has no cases, so it does not accept {parameter.opts[0]}")
    measure_into(call.runs / FOLDER, call.jobs)
    return 0


def _refuse_with_resume() -> None:
    """Raises click.UsageError for an option that a resumed run already has: suite, cases, samples."""
    for name in _NOT_WITH_RESUME:
        if not _is_default(name):
            raise click.UsageError(f"--resume continues a run as it was begun, so it does not accept {_option(name)}")


def _option(name: str) -> str:
    """How an argument or option of this name is typed."""
    return next(each.opts[0] for each in click.get_current_context().command.params if each.name == name)
