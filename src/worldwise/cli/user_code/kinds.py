# SPDX-License-Identifier: BSD-2-Clause
"""What `worldwise run` measures: one of several kinds of thing, each with the options that it alone takes.

A further kind is one line of KINDS, and what measures it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from worldwise.base import paths
from worldwise.cli.common.options import TypedRecord
from worldwise.cli.user_code.given import GIVEN, NET, GivenToIt
from worldwise.libraries.user_code.kinds import TA_TARGETS
from worldwise.plan.suite_list import PROJECT_FILE

# Options that say how a run is shown or kept, which every kind takes.
_SHOWN = ("full", "runs", "form", "output", "budget", "locked", "silence", "baseline", "save_baseline", "sarif")


@dataclass(frozen=True)
class Kind:
    """A kind of thing that is measured.

    Attributes:
        name: in a sentence: "... measures SUITE".
        chosen_by: the parameters that choose it, any of them; none for what is measured if nothing else is chosen.
        takes: the other parameters that it takes; None for all that choose and belong to no other kind.
        hint: the way out for somebody who typed an option that it does not take.
    """

    name: str
    chosen_by: tuple[str, ...] = ()
    takes: tuple[str, ...] | None = None
    hint: str = ""


# Of own code. `suite` and `arguments` are the program's arguments.
_OWN = ("regions", "benchmarks", "thread", "repeat", "packages", "libraries", "files", "input_file", "net", "name")
SUITE = Kind("a suite")
PROGRAM = Kind(
    "a program of your own",
    ("program",),
    ("suite", "arguments", *_OWN, "fresh", "predict"),
    "docs/use/your-code.md says which code it takes",
)
APPLICATION = Kind(
    "an OP-TEE application of your own",
    ("ta", "client"),
    ("suite", "arguments", *_OWN, "other_tas", "beside", "log_level", "ta_target", "fresh", "predict", "stack_file"),
    "docs/use/your-code.md says which code it takes",
)
FIRMWARE = Kind(
    "firmware of your own",
    ("firmware",),
    ("machine", "until", "instructions", "regions", "benchmarks", "name", "fresh"),
    "docs/use/your-code.md says which code it takes",
)
FOLDER = Kind(
    "a folder with a worldwise.toml",
    (),
    ("suite", "fresh", "predict"),
    "the file chooses what to measure: docs/use/in-your-repository.md",
)
PQM4 = Kind(
    "a tree of pqm4",
    ("pqm4",),
    ("machine", "repeat", "variants", "fresh", "predict"),
    "docs/results/pqc.md says which code it takes",
)
KINDS = (PROGRAM, APPLICATION, FIRMWARE, PQM4, SUITE)


def chosen() -> Kind:
    """The kind that was chosen. Raises click.UsageError for an option that it does not take, naming both."""
    given = [name for name in _parameters() if is_given(name)]
    picked = [kind for kind in KINDS if any(name in given for name in kind.chosen_by)]
    if not picked and is_folder(click.get_current_context().params["suite"]):
        picked = [FOLDER]
    if len(picked) > 1:
        first, second = (_option(next(name for name in kind.chosen_by if name in given)) for kind in picked[:2])
        raise click.UsageError(f"{first} and {second} measure different things: give only one of them")
    kind = picked[0] if picked else SUITE
    for name in given:
        if not _takes(kind, name):
            owner = next((other for other in KINDS if other is not kind and name in (other.takes or ())), None)
            raise _refused(kind, name, owner)
    return kind


def is_folder(typed: str) -> bool:
    """Whether what stands where a suite does is a folder, by its path."""
    if "/" in typed or typed in (".", ".."):
        return Path(typed).is_dir()
    return Path(typed, PROJECT_FILE).is_file() and not (paths.SUITES / f"{typed}.toml").exists()


def _takes(kind: Kind, name: str) -> bool:
    if name in (*_SHOWN, *kind.chosen_by) or name in (kind.takes or ()):
        return True
    theirs = {
        *_OWN,
        "log_level",
        "ta_target",
        "machine",
        "until",
        "instructions",
        *(name for other in KINDS for name in other.chosen_by),
    }
    return kind.takes is None and name not in {*theirs, "arguments"}


def _refused(kind: Kind, name: str, owner: Kind | None) -> click.UsageError:
    if name == "arguments":
        more = click.get_current_context().params["arguments"]
        return click.UsageError(f"Got unexpected extra argument{'s' * (len(more) > 1)} ({' '.join(more)})")
    if owner and kind.takes is None:
        return click.UsageError(f"{_option(name)} is for {owner.name}: name it with {_option(owner.chosen_by[0])}")
    return click.UsageError(f"{kind.name} does not accept {_option(name)}; {kind.hint}")


def _parameters() -> Collection[str]:
    return [one.name for one in click.get_current_context().command.params if one.name]


def is_given(name: str) -> bool:
    """Whether an argument or option was typed."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP, None)


def _option(name: str) -> str:
    """How an argument or option of this name is typed."""
    return next(each.opts[0] for each in click.get_current_context().command.params if each.name == name)


@dataclass(frozen=True)
class ProgramOptions(TypedRecord):
    """A program of Linux, with the words behind --."""

    program: Path | None
    input_file: Path | None
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class ApplicationOptions(TypedRecord):
    """An OP-TEE application: its TAs and its client."""

    ta: Path | None
    client: Path | None
    other_tas: tuple[Path, ...]
    beside: tuple[Path, ...]
    log_level: int | None
    ta_target: str | None


@dataclass(frozen=True)
class FirmwareOptions(TypedRecord):
    """Firmware of a Cortex-M or a tree of pqm4, on a machine of QEMU."""

    firmware: Path | None
    pqm4: Path | None
    machine: str
    until: str | None
    instructions: int | None


@dataclass(frozen=True)
class RegionOptions(TypedRecord):
    """What of own code is measured, how often, and what it is called."""

    regions: tuple[str, ...]
    benchmarks: tuple[str, ...]
    thread: str | None
    repeat: int
    name: str | None


@dataclass(frozen=True)
class Typed(TypedRecord):
    """What was typed of own code: a record has each parameter of `own_options`."""

    linux: ProgramOptions
    tee: ApplicationOptions
    micro: FirmwareOptions
    region: RegionOptions
    given: GivenToIt


def own_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options of own code, for the command `run`."""
    path = click.Path(path_type=Path)
    for option in reversed(
        (
            click.option(
                "--program",
                metavar="PROGRAM",
                type=path,
                help="Measure your own program of Linux for AArch64 or Armv7, unchanged, with the arguments behind --: "
                "docs/use/your-code.md.",
            ),
            click.option(
                "--ta",
                metavar="DIR|UUID.ta",
                type=path,
                help="Measure your own OP-TEE application, unchanged: this TA, called by --client. Folders are "
                "built: by make, or the client by CMake or Meson.",
            ),
            click.option("--client", metavar="DIR|PROGRAM", type=path, help="The client of --ta."),
            click.option(
                "--other-ta",
                "other_tas",
                metavar="DIR|UUID.ta",
                type=path,
                multiple=True,
                help="A further TA, which the TA of --ta or the client calls. Can be given again.",
            ),
            click.option(
                "--beside",
                metavar="DIR",
                type=path,
                multiple=True,
                help="A further folder that --ta or --client needs beside it when built: ../DIR leads there. Can be "
                "given again.",
            ),
            click.option(
                "--log-level",
                type=click.IntRange(0, 4),
                metavar="N",
                help="CFG_TEE_TA_LOG_LEVEL of a TA that is built.  [default: what its Makefile says]",
            ),
            click.option(
                "--ta-target",
                type=click.Choice(TA_TARGETS),
                metavar="TARGET",
                help="What TAs are built for: ta_arm64, or ta_arm32 for 32 bits.  [default: ta_arm64]",
            ),
            click.option(
                "--firmware",
                metavar="APP.elf",
                type=path,
                help="Measure your own firmware of a Cortex-M, unchanged, on --machine.",
            ),
            click.option(
                "--pqm4",
                metavar="FOLDER",
                type=path,
                help="Measure the schemes in a clone of pqm4 or PQClean, or in a folder within one, on --machine; "
                "--variant names some: 'ml-kem-*'.",
            ),
            click.option(
                "--machine",
                metavar="NAME",
                default="mps2-an386",
                help="The machine of QEMU that --firmware and --pqm4 start on; a wrong name lists them.  "
                "[default: mps2-an386]",
            ),
            click.option(
                "--until", metavar="FUNCTION", help="End --firmware when this function is called.  [default: its exit]"
            ),
            click.option(
                "--instructions",
                type=click.IntRange(1),
                metavar="N",
                help="End --firmware after so many instructions, to a few.",
            ),
            click.option(
                "--region",
                "regions",
                multiple=True,
                metavar="FUNCTION",
                help="Measure the calls of this function of the program or the TA, or of all like 'EVP_DigestSign*'; "
                "without it, the whole program, or every TEEC call.",
            ),
            click.option(
                "--benchmark",
                "benchmarks",
                multiple=True,
                metavar="PATTERN",
                help="Measure one iteration of each benchmark like this, of the program's harness (criterion, Google "
                "Benchmark, Catch2) or the firmware's (ztest), by its name; '*' for all.",
            ),
            click.option(
                "--thread",
                metavar="FUNCTION",
                help="Measure the calls of one thread alone: the one that begins with FUNCTION, or has it as its name.",
            ),
            click.option(
                "--repeat",
                type=click.IntRange(2, 100),
                default=5,
                metavar="N",
                help="Start it this many times.  [default: 5]",
            ),
            *GIVEN,
            click.option("--input", "input_file", metavar="FILE", type=path, help="Its standard input."),
            NET,
            click.option("--name", metavar="NAME", help="Its name in cases: own/NAME/FUNCTION.  [default: the file's]"),
        )
    ):
        command = option(command)
    return command
