# SPDX-License-Identifier: BSD-2-Clause
"""The options of `worldwise run`, and which of them `--help` only names."""

from collections.abc import Callable
from pathlib import Path

import click

from worldwise.cli.baselines import baseline_options
from worldwise.cli.common.options import locked_option, reading_options, runs_option
from worldwise.cli.user_code.kinds import own_options
from worldwise.plan.inputs import DEFAULT_SEED, MOST_SEED, MOST_SEEDS
from worldwise.plan.suite_file.tables import MAX_SAMPLES

# `--resume` without a run: the newest.
LATEST = "latest"
# What most calls do without, as `--help-all` lists it: heading -> parameters.
RARE = {
    "Baselines": ("baseline", "save_baseline", "sarif"),
    "Repeat and check": ("fresh", "verify", "cold", "reverse", "silence"),
    "Inputs and interrupts": ("seed", "seeds", "as_shipped"),
    "On hardware itself": ("via", "clock", "serial", "ta_key", "ta_folder"),
    "Many machines": (*("shard", "costs", "on", "key", "asked", "wait", "cross_check"), "cache"),
    "Your own code": (
        *("ta", "client", "program", "firmware", "pqm4", "regions", "benchmarks", "log_level", "machine", "until"),
        *("instructions", "thread", "repeat", "packages", "libraries", "files", "input_file", "net", "name"),
        *("other_tas", "beside", "ta_target", "stack_file"),
    ),
    "Also": ("sweep", "samples", "jobs", "runs", "locked"),
}


_OPTIONS = (
    click.argument("suite", default="attestation"),
    click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS]", type=click.UNPROCESSED),
    own_options,
    click.option(
        "--variant",
        "variants",
        multiple=True,
        metavar="PATTERN",
        help="Only variants like this: mbedtls-nist-O2, 'mbedtls-*'.",
    ),
    click.option(
        "--operation",
        "operations",
        multiple=True,
        metavar="PATTERN",
        help="Only operations like this: sign, 'attest*'.",
    ),
    click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="PATTERN",
        help="Only targets like this: optee, 'linux-*'.",
    ),
    click.option(
        "--curve",
        "curves",
        multiple=True,
        metavar="PATTERN",
        help="Only curves like this: P-256, prime256v1, 'secp*'.",
    ),
    click.option(
        "--implementation",
        "directories",
        multiple=True,
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Measure a library of your own too: docs/use/own.md.",
    ),
    click.option(
        "--stack",
        "stack_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Measure your own OP-TEE, its settings and patches, in place of the lab's: docs/use/stack.md.",
    ),
    click.option(
        "--option-sweep",
        "sweep",
        is_flag=True,
        help="Measure every combination of each library's build options, and show which matter; without "
        "SUITE, of options.",
    ),
    click.option("--samples", type=click.IntRange(1, MAX_SAMPLES), help="Samples a case, instead of the suite's."),
    click.option("--fresh", is_flag=True, help="Measure everything, even cases already measured on the same machine."),
    click.option("--verify", is_flag=True, help="Measure everything twice and compare: every byte must be the same."),
    click.option("--cold", is_flag=True, help="Boot the machine for every case, instead of restoring its snapshot."),
    click.option(
        "--reverse",
        is_flag=True,
        help="Measure the cases in reverse order, the cheapest first: no digit may change.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, MOST_SEED),
        default=DEFAULT_SEED,
        show_default=True,
        metavar="N",
        help="Draw other keys, messages, nonces and blinding: draw N of each case's inputs.",
    ),
    click.option(
        "--seeds",
        type=click.IntRange(1, MOST_SEEDS),
        default=1,
        metavar="K",
        help="Measure K draws of each case's inputs, and show how far each figure depends on the draw.",
    ),
    click.option(
        "--as-shipped",
        is_flag=True,
        help="Leave timer interrupts and Linux's random stack offset on, and show what they add to each "
        "call's own path.",
    ),
    click.option(
        "--resume",
        is_flag=False,
        flag_value=LATEST,
        metavar="[RUN]",
        help="Resume a run that was interrupted.",
    ),
    click.option("--jobs", type=click.IntRange(1, 64), help="Machines at a time.  [default: one per processor]"),
    click.option(
        "--silence",
        type=click.IntRange(5, 86400),
        default=120,
        show_default=True,
        help="Seconds without a record after which a machine counts as hanging; one with the key cache has "
        "900 at least.",
    ),
    click.option(
        "--via",
        metavar="openocd|pyocd|gdb://HOST:PORT|labgrid:PLACE|ssh://USER@HOST",
        help="Measure the board itself, by its GDB server: OpenOCD or pyOCD, which is started, or one that "
        "listens there "
        "(J-Link and probe-rs too): docs/use/board.md, of a farm too; or a Linux host by ssh: docs/use/board-linux.md.",
    ),
    click.option(
        "--clock",
        metavar="NAME",
        help="With --via, set the board's clock and flash as this entry of its file says, such as 180MHz; without it "
        "the board keeps the values after its reset.",
    ),
    click.option(
        "--serial",
        metavar="DEVICE[@BAUD]",
        help="With --via, take the records from the board's serial line, such as /dev/ttyACM0@115200, and "
        "not through the "
        "debugger.",
    ),
    click.option(
        "--ta-key",
        metavar="FILE|development",
        help="With --via ssh:// and --target optee, the RSA key in PEM that signs TAs for the host's OP-TEE; or the "
        "development key, which everybody has: docs/use/board-linux.md.",
    ),
    click.option(
        "--ta-folder",
        metavar="DIR",
        help="Where that host's tee-supplicant looks for TAs.  [default: /lib/optee_armtz]",
    ),
    click.option(
        "--predict",
        multiple=True,
        metavar="CORE[,CORE]",
        help="Predict the cycles of each case too, and keep them.",
    ),
    click.option(
        "--shard",
        metavar="I/N",
        help="Measure the I-th of N shards of the chosen cases, for N machines; `worldwise merge` makes one "
        "run of them: "
        "docs/use/machines.md.",
    ),
    click.option(
        "--costs",
        metavar="RUN",
        help="Balance shards, or workers, by the time that each case took in this run, instead of by "
        "measured/costs.toml.",
    ),
    click.option(
        "--on",
        metavar="local:N|dask://HOST:PORT|slurm[:N][@HOST]",
        help="Have workers measure: N processes on this machine, those of a scheduler of dask.distributed, "
        "or N jobs of "
        "SLURM that end with the run (8), which reach this machine at HOST, an address or interface. With optional "
        "packages: docs/use/machines.md.",
    ),
    click.option(
        "--key",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="With --on dask://HOST:PORT, the key that `worldwise scheduler` made for it: docs/use/machines.md.",
    ),
    click.option(
        "--slurm",
        "asked",
        multiple=True,
        metavar="KEY[=VALUE]",
        help="With --on slurm, an option of each job, as sbatch's long options have it: partition=short, time=2:00:00, "
        "cpus-per-task=2, mem=4G, exclusive; can be given again.",
    ),
    click.option(
        "--wait",
        type=click.IntRange(1, 30 * 86400),
        metavar="SECONDS",
        help="With --on, how long to wait while there is no worker.  [default: 300; with slurm 3600]",
    ),
    click.option(
        "--cross-check",
        "cross_check",
        type=click.IntRange(0),
        metavar="K",
        help="With --on, measure K cases on two workers and compare.  [default: 1 if there are two workers]",
    ),
    click.option(
        "--cache",
        metavar="DIR|URL",
        help="Share downloads, images and results with other machines in this folder, or at "
        "an address that fsspec knows, such as s3://bucket/prefix: docs/use/machines.md.",
    ),
    click.option("--full", is_flag=True, help="Print the whole report, not the answer alone."),
    click.option(
        "--sarif",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write each limit of a worldwise.toml and each count of the baseline that is exceeded there, as SARIF: "
        "with the line of its function.",
    ),
    baseline_options,
    locked_option,
    runs_option,
    reading_options,
)


def run_options(command: Callable[..., int]) -> Callable[..., int]:
    """The arguments and options of the command `run`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
