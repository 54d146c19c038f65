# SPDX-License-Identifier: BSD-2-Clause
"""What was typed after `worldwise run`: what to measure, where, and how to show it.

Each place (this machine, workers, a board or host) is a class with the options that it alone takes, and says which
options of other places it refuses. A new place is one such class, and a field of `Where`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click
from click.core import ParameterSource

from worldwise.cli.baselines import Baselines
from worldwise.cli.common.options import TypedCall, TypedRecord
from worldwise.cli.user_code import kinds
from worldwise.plan.selection import curve_names


def is_default(name: str) -> bool:
    """Whether an argument or option was not given."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.DEFAULT


def option_of(name: str) -> str:
    """How an argument or option of this name is typed."""
    return next(each.opts[0] for each in click.get_current_context().command.params if each.name == name)


def refuse(names: Sequence[str], words: str) -> None:
    """Raises click.UsageError for the first of these options that was given; `words` has a place for it."""
    for name in names:
        if not is_default(name):
            raise click.UsageError(words.format(option=option_of(name)))


@dataclass(frozen=True)
class What(TypedRecord):
    """What is measured: a suite and a choice of its cases, with libraries or a stack of the user's own."""

    suite: str
    variants: tuple[str, ...]
    operations: tuple[str, ...]
    targets: tuple[str, ...]
    curves: tuple[str, ...]
    directories: tuple[Path, ...]
    sweep: bool
    samples: int | None
    seed: int
    seeds: int
    as_shipped: bool
    stack_file: Path | None
    resume: str | None

    def filters(self) -> Mapping[str, Sequence[str]]:
        """Attribute of a case -> patterns for it, as `select` takes them."""
        return {
            "variant": self.variants,
            "operation": self.operations,
            "target": self.targets,
            "curve": curve_names(self.curves),
        }


class PlaceOptions(TypedRecord):
    """A place to measure, named by one option.

    Attributes:
        NAMED_BY: that option; empty for this machine, which nobody names.
        OWN: options that this place alone takes.
        ALONE: what is said of one of them without the place.
        REFUSES: options of other places, and what this one cannot do.
        REFUSED: what is said of one of them.
    """

    NAMED_BY: ClassVar[str] = ""
    OWN: ClassVar[tuple[str, ...]] = ()
    ALONE: ClassVar[str] = ""
    REFUSES: ClassVar[tuple[str, ...]] = ()
    REFUSED: ClassVar[str] = ""

    def check(self) -> None:
        """Raises click.UsageError for an option that does not go with the place, or only with it."""
        if getattr(self, self.NAMED_BY) is None:
            refuse(self.OWN, self.ALONE)
        else:
            refuse(self.REFUSES, self.REFUSED)


@dataclass(frozen=True)
class HereOptions(TypedRecord):
    """This machine, which emulates: how many machines at a time, and from where they start."""

    jobs: int | None
    silence: int
    fresh: bool
    verify: bool
    cold: bool
    reverse: bool


@dataclass(frozen=True)
class ServerOptions(PlaceOptions):
    """A board by its GDB server, or a Linux host by ssh."""

    NAMED_BY = "via"
    OWN = ("clock", "serial", "ta_key", "ta_folder")
    ALONE = "{option} is for a board itself: name its server with --via"
    REFUSES = ("verify", "jobs", "predict", "baseline", "save_baseline", "sarif")
    REFUSED = "--via measures a board itself, case by case, so it does not accept {option}"

    via: str | None
    clock: str | None
    serial: str | None
    ta_key: str | None
    ta_folder: str | None


@dataclass(frozen=True)
class WorkersOptions(PlaceOptions):
    """Workers that measure in place of this machine."""

    NAMED_BY = "on"
    OWN = ("cross_check", "asked", "wait", "key")
    ALONE = "{option} is for workers: say where they are with --on"
    REFUSES = ("via", "jobs", "cold", "shard")
    REFUSED = "--on has workers measure from saved machines, so it does not accept {option}"

    on: str | None
    asked: tuple[str, ...]
    key: Path | None
    wait: int | None
    cross_check: int | None


@dataclass(frozen=True)
class Where(TypedRecord):
    """Where it is measured: here, on a board or host, by workers; whole or as a shard; and the cache that is shared."""

    here: HereOptions
    server: ServerOptions
    workers: WorkersOptions
    shard: str | None
    costs: str | None
    cache: str | None

    def check(self) -> None:
        """Raises click.UsageError for options of places that exclude each other."""
        self.workers.check()
        self.server.check()
        if self.costs and not (self.shard or self.workers.on):
            raise click.UsageError("--costs balances shards or workers, so it needs --shard or --on")


@dataclass(frozen=True)
class Shown(TypedRecord):
    """How the result is shown, judged and kept."""

    form: str
    output: Path | None
    full: bool
    budget: str | None
    predict: tuple[str, ...]
    baseline: str | None
    save_baseline: str | None
    sarif: Path | None
    runs: Path

    def baselines(self) -> Baselines:
        """The baselines that were named."""
        return Baselines(Path(), self.baseline or "", self.save_baseline or "", self.sarif)


@dataclass(frozen=True)
class Call(TypedCall):
    """All that was typed; `own` are the options of own code."""

    what: What
    where: Where
    shown: Shown
    own: kinds.Typed
