# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run`: the main job. This module checks the call; worldwise.cli.session measures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from worldwise.base.errors import WorldwiseError
from worldwise.cli import what
from worldwise.cli.baselines import Baselines, baseline_options
from worldwise.cli.helped import Command
from worldwise.cli.options import check_output, locked_option, reading_options, runs_option, share, wanted_budget
from worldwise.plan.budget import Budget, check_budget
from worldwise.plan.case import Case
from worldwise.plan.inputs import DEFAULT_SEED, MOST_SEED, MOST_SEEDS, seed_problem
from worldwise.plan.selection import curve_names, require_known, select, select_unavailable, swept
from worldwise.plan.suite import Suite, load_suite, parse_suite
from worldwise.plan.tables import MAX_SAMPLES
from worldwise.run.rundir import Run, open_run

if TYPE_CHECKING:
    from worldwise.cli.session import Away, Order
    from worldwise.libraries.own import Own
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
    save_baseline: str | None
    baseline: str | None
    own: what.Typed

    def baselines(self) -> Baselines:
        """The baselines that were named."""
        return Baselines(Path(), self.baseline or "", self.save_baseline or "")

    def filters(self) -> Mapping[str, Sequence[str]]:
        """Attribute of a case -> patterns for it, as `select` takes them."""
        return {
            "variant": self.variants,
            "operation": self.operations,
            "target": self.targets,
            "curve": curve_names(self.curves),
        }


# What most calls do without, as `--help-all` lists it: heading -> parameters.
_RARE = {
    "Baselines": ("baseline", "save_baseline"),
    "Repeat and check": ("fresh", "verify", "cold", "reverse", "silence"),
    "Inputs and interrupts": ("seed", "seeds", "as_shipped"),
    "On hardware itself": ("via", "clock", "serial", "ta_key", "ta_folder"),
    "Many machines": (*("shard", "costs", "on", "key", "asked", "wait", "cross_check"), "cache"),
    "Your own code": (
        *("ta", "client", "program", "firmware", "regions", "log_level", "machine", "until", "instructions"),
        *("repeat", "packages", "libraries", "files", "input_file", "name"),
    ),
    "Also": ("sweep", "samples", "jobs", "runs", "locked"),
}


@click.command(cls=Command, rare=_RARE)
@click.argument("suite", default="attestation")
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS]", type=click.UNPROCESSED)
@what.own_options
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="PATTERN",
    help="Only variants like this: mbedtls-nist-O2, 'mbedtls-*'.",
)
@click.option(
    "--operation", "operations", multiple=True, metavar="PATTERN", help="Only operations like this: sign, 'attest*'."
)
@click.option("--target", "targets", multiple=True, metavar="PATTERN", help="Only targets like this: optee, 'linux-*'.")
@click.option(
    "--curve",
    "curves",
    multiple=True,
    metavar="PATTERN",
    help="Only curves like this: P-256 (also secp256r1, prime256v1), 'secp*'.",
)
@click.option(
    "--implementation",
    "directories",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Measure a library of your own too: docs/own.md.",
)
@click.option(
    "--option-sweep",
    "sweep",
    is_flag=True,
    help="Measure every combination of each library's build options, and show which matter; without SUITE, of options.",
)
@click.option("--samples", type=click.IntRange(1, MAX_SAMPLES), help="Samples a case, instead of the suite's.")
@click.option("--fresh", is_flag=True, help="Measure everything, even what was measured on the same machine before.")
@click.option("--verify", is_flag=True, help="Measure everything twice and compare: every byte must be the same.")
@click.option("--cold", is_flag=True, help="Boot the machine anew for every case, instead of restoring its snapshot.")
@click.option(
    "--reverse", is_flag=True, help="Measure the cases in reverse order, the cheapest first: no digit may change."
)
@click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    default=DEFAULT_SEED,
    show_default=True,
    metavar="N",
    help="Draw other keys, messages, nonces and blinding: draw N of each case's inputs.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    default=1,
    metavar="K",
    help="Measure K draws of each case's inputs, and show how far each figure depends on the draw.",
)
@click.option(
    "--as-shipped",
    is_flag=True,
    help="Leave timer interrupts and Linux's random stack offset on, and show what they add to each call's own path.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value=_LATEST,
    metavar="[RUN]",
    help="Resume a run that was interrupted.",
)
@click.option("--jobs", type=click.IntRange(1, 64), help="Machines at a time.  [default: one per processor]")
@click.option(
    "--silence",
    type=click.IntRange(5, 86400),
    default=120,
    show_default=True,
    help="Seconds without a record after which a machine counts as hanging; one with the key cache has 900 at least.",
)
@click.option(
    "--via",
    metavar="openocd|pyocd|gdb://HOST:PORT|labgrid:PLACE|ssh://USER@HOST",
    help="Measure the board itself, by its GDB server: OpenOCD or pyOCD, which is started, or one that listens there "
    "(J-Link and probe-rs too): docs/board.md; of a farm: docs/farm.md; or a Linux host by ssh: docs/board-linux.md.",
)
@click.option(
    "--clock",
    metavar="NAME",
    help="With --via, how the board's clock and flash are set, by a name of the board's file, such as 180MHz; without, "
    "they are as its reset leaves them.",
)
@click.option(
    "--serial",
    metavar="DEVICE[@BAUD]",
    help="With --via, take the records from the board's serial line, such as /dev/ttyACM0@115200, and not through the "
    "debugger.",
)
@click.option(
    "--ta-key",
    metavar="FILE|development",
    help="With --via ssh:// and --target optee, the RSA key in PEM that signs TAs for the host's OP-TEE; or the "
    "development key, which everybody has: docs/board-optee.md.",
)
@click.option(
    "--ta-folder",
    metavar="DIR",
    help="Where that host's tee-supplicant looks for TAs.  [default: /lib/optee_armtz]",
)
@click.option(
    "--predict",
    multiple=True,
    metavar="CORE[,CORE]",
    help="Predict the cycles of each case too, and keep them.",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Measure the I-th of N shards of the chosen cases, for N machines; `worldwise merge` makes one run of them: "
    "docs/shards.md.",
)
@click.option(
    "--costs",
    metavar="RUN",
    help="Balance shards, or workers, by the time that each case took in this run, instead of by measured/costs.toml.",
)
@click.option(
    "--on",
    metavar="local:N|dask://HOST:PORT|slurm[:N][@HOST]",
    help="Have workers measure: N processes on this machine, those of a scheduler of dask.distributed, or N jobs of "
    "SLURM that end with the run (8), which reach this machine at HOST, an address or interface. With optional "
    "packages: docs/workers.md.",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --on dask://HOST:PORT, the key that `worldwise scheduler` made for it: docs/workers.md.",
)
@click.option(
    "--slurm",
    "asked",
    multiple=True,
    metavar="KEY[=VALUE]",
    help="With --on slurm, what each job asks, as sbatch's long options have it: partition=short, time=2:00:00, "
    "cpus-per-task=2, mem=4G, exclusive; can be given again.",
)
@click.option(
    "--wait",
    type=click.IntRange(1, 30 * 86400),
    metavar="SECONDS",
    help="With --on, for how long there may be no worker.  [default: 300; with slurm 3600]",
)
@click.option(
    "--cross-check",
    "cross_check",
    type=click.IntRange(0),
    metavar="K",
    help="With --on, measure K cases on two workers and compare.  [default: 1 if there are two workers]",
)
@click.option(
    "--cache",
    metavar="DIR|URL",
    help="Share downloads, images and results with other machines in this folder, or at s3://bucket/prefix and what "
    "else fsspec knows: docs/shards.md.",
)
@click.option("--full", is_flag=True, help="Print the whole report, not the answer alone.")
@baseline_options
@locked_option
@runs_option
@reading_options
def run(**typed: Any) -> int:
    """Measure a SUITE, or a folder with a worldwise.toml; print the answer.

    \b
      worldwise run
      worldwise run quick
      worldwise run mcu --target nucleo-f446re --variant 'micro-ecc-*' --curve P-256
      worldwise run --budget 5ms@2GHz --format json --output result.json
      worldwise run --program ./signer --region crypto_sign -- message.bin

    \f
    A SUITE is a name of `worldwise suites`, or a TOML file. The first time this builds the lab and the images, which
    takes minutes. What was measured before on the very same machine is taken from the cache, and
    one such case is measured again as a check. `worldwise report --all` prints
    all. --variant, --operation, --target and --curve can be given again; each is a name or a shell pattern.

    \b
      worldwise run mcu --target nucleo-f446re --via openocd
      worldwise run linux-armv8 --via ssh://pi@raspberrypi.local
      worldwise run tee --on dask://node1:8786 --key workers.key --cache /shared/worldwise
      worldwise run tee --on slurm:16 --slurm partition=short --cache /shared/worldwise

    Exit status: 0 all is well; 1 a case failed, or it could not be measured; 3 over a budget or baseline.
    """
    call = _Call(own=what.Typed.taken(typed), **typed)
    kind = what.chosen()
    if kind is what.SUITE and call.suite == _VALIDATION:
        return _validation(call)
    if kind is what.FOLDER:
        return _own(call)
    call.baselines().check()
    if kind is not what.SUITE:
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
    from worldwise.cli.session import measure
    from worldwise.run.measure import Options

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
    from worldwise.cli.code import OwnCall, measure_typed
    from worldwise.cli.report import Wanted as Shown

    # What stands where a suite does is the first of the program's arguments.
    words = (*(() if _is_default("suite") else (call.suite,)), *call.own.arguments)
    how = OwnCall(call.runs, call.fresh, call.silence, call.predict, _is_default("runs"), call.baselines())
    if what.chosen() is what.FOLDER:
        from worldwise.cli.project import measure_project

        return measure_project(Path(call.suite), how, Shown(call.form, call.output, None, call.full))
    return measure_typed(call.own, words, how, Shown(call.form, call.output, None, call.full))


def _order(call: _Call) -> tuple["Order", Budget | None]:
    """What to measure, and the budget that was typed. Raises WorldwiseError."""
    given = wanted_budget(call.budget)
    old = open_run(call.resume, call.runs) if call.resume else None
    brought = _brought(call.directories)
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
    limit = given or suite.budget
    if limit:
        check_budget(limit, cases)
    unavailable = select_unavailable(suite.unavailable, *filters.values())
    from worldwise.cli.session import Order

    cores = _cores(call, cases)
    shard = old.manifest.shard if old else None
    if call.shard:
        from worldwise.cli.sharding import sharded

        cases, shard = sharded(call.shard, call.costs, cases, call.predict, call.runs)
    elif call.costs and not call.on:
        raise click.UsageError("--costs balances shards or workers, so it needs --shard or --on")
    away = _away(call, cases)
    order = Order(
        suite, cases, unavailable, call.samples, limit, brought, call.runs, old, call.verify, cores, shard, away
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
                "choose other cases with --target, --variant or --operation: docs/nothing-moved.md",
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
    from worldwise.cli.session import Away
    from worldwise.cli.sharding import expected_costs
    from worldwise.run.cluster import parse_place

    costs, _ = expected_costs(call.costs, cases, call.runs)
    return Away(parse_place(call.on, call.asked, call.key), costs, call.cross_check, call.wait)


def _cores(call: _Call, cases: Sequence[Case]) -> Mapping[str, str]:
    """The cores of `--predict`, with their tables. Raises WorldwiseError."""
    if not call.predict:
        return {}
    from worldwise.cli.watched.predicting import asked

    return asked(call.predict, cases)


def _remote(call: _Call, order: "Order") -> "Remote | None":
    """The board or host of `--via`. Raises WorldwiseError, and click.UsageError for options that it does not have."""
    if call.via is None:
        for name in ("clock", "serial", "ta_key", "ta_folder"):
            if not _is_default(name):
                raise click.UsageError(f"{_option(name)} is for a board itself: name its server with --via")
        return None
    from worldwise.run.measurers import remote_of

    for name in ("verify", "jobs", "predict", "baseline", "save_baseline"):
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
    from worldwise.libraries import own

    click.get_current_context().call_on_close(own.forget)
    return own.bring(directories)


def _with_own(suite: Suite, brought: "Sequence[Own]") -> Suite:
    if not brought:
        return suite
    from worldwise.plan.own import with_own

    return with_own(suite, brought)


def _resumed(old: Run, brought: "Sequence[Own]") -> tuple[Suite, list[Case]]:
    """The suite and the cases of a resumed run. Raises WorldwiseError."""
    from worldwise.run.own import check_same

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
    from worldwise.cli.validation import FOLDER, measure_into

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
