# SPDX-License-Identifier: BSD-2-Clause
"""The emulator's plugins: their recipes, and QEMU's options for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import paths
from worldwise.lab.image import Recipe
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.machine import TRACE


@dataclass(frozen=True)
class Plugin:
    """The tracing plugin for one run. It changes no count; it writes `trace.jsonl` beside the records.

    Attributes:
        file: the plugin.
        arguments: its arguments except the output's name; see plugin/aarch64/arguments.h.
        functions: the file that says where functions begin and end, for its argument `functions`; None for none.
        cores: the tables of cores whose models run with it, for its argument `core`.
        calls: where functions begin whose calls are regions, for its argument `call`.
        labels: further arguments, as plugin/aarch64/labels.h has them.
    """

    file: Path
    arguments: Mapping[str, str]
    functions: Path | None = None
    cores: tuple[Path, ...] = ()
    calls: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()

    def option(self) -> str:
        """The value of QEMU's `-plugin`."""
        arguments = dict(self.arguments) | {"out": f"/run/{TRACE}"}
        if self.functions:
            arguments["functions"] = "/plugin/functions"
        given = [f"{key}={value}" for key, value in arguments.items()]
        given += [f"core=/plugin/core-{number}" for number in range(len(self.cores))]
        given += [f"call={address:#x}" for address in self.calls]
        return ",".join(["/plugin/worldwise.so", *given, *self.labels])

    def binds(self) -> list[Bind]:
        """What it needs to see in the lab."""
        binds: list[Bind] = [(self.file, "/plugin/worldwise.so", "ro")]
        if self.functions:
            binds.append((self.functions, "/plugin/functions", "ro"))
        binds += [(path, f"/plugin/core-{number}", "ro") for number, path in enumerate(self.cores)]
        return binds


class CutPlugin(Plugin):
    """The plugin that ends the emulator at an instruction: see plugin/cut.c."""

    def option(self) -> str:
        """The value of QEMU's `-plugin`."""
        return ",".join(["/plugin/cut.so", *(f"{key}={value}" for key, value in self.arguments.items())])

    def binds(self) -> list[Bind]:
        """What it needs to see in the lab."""
        return [(self.file, "/plugin/cut.so", "ro")]


class CyclesPlugin(Plugin):
    """The plugin that runs models of cores with a flat program: see plugin/cycles/main.c."""

    def option(self) -> str:
        """The value of QEMU's `-plugin`."""
        given = [f"{key}={value}" for key, value in self.arguments.items()]
        given += [f"core=/plugin/core-{number}" for number in range(len(self.cores))]
        return ",".join(["/plugin/cycles.so", f"out=/run/{TRACE}", *given])

    def binds(self) -> list[Bind]:
        """What it needs to see in the lab."""
        tables: list[Bind] = [(path, f"/plugin/core-{number}", "ro") for number, path in enumerate(self.cores)]
        return [(self.file, "/plugin/cycles.so", "ro"), *tables]


class SecretsPlugin(Plugin):
    """The plugin that compares the calls of one function: see plugin/secrets/main.c."""

    def option(self) -> str:
        """The value of QEMU's `-plugin`."""
        given = [f"{key}={value}" for key, value in self.arguments.items()]
        return ",".join(["/plugin/secrets.so", f"out=/run/{TRACE}", "functions=/plugin/functions", *given])

    def binds(self) -> list[Bind]:
        """What it needs to see in the lab."""
        assert self.functions is not None
        return [(self.file, "/plugin/secrets.so", "ro"), (self.functions, "/plugin/functions", "ro")]


class FlatPlugin(Plugin):
    """The plugin that follows the stacks of flat programs: see plugin/arm32/main.c."""

    def option(self) -> str:
        """The value of QEMU's `-plugin`."""
        arguments = dict(self.arguments) | {"out": f"/run/{TRACE}"}
        if self.functions:
            arguments["functions"] = "/plugin/functions"
        calls = [f"call={address:#x}" for address in self.calls]
        given = [f"{key}={value}" for key, value in arguments.items()]
        given += [f"core=/plugin/core-{number}" for number in range(len(self.cores))]
        return ",".join(["/plugin/flat.so", *given, *calls, *self.labels])

    def binds(self) -> list[Bind]:
        """What it needs to see in the lab."""
        functions: list[Bind] = [(self.functions, "/plugin/functions", "ro")] if self.functions else []
        tables: list[Bind] = [(path, f"/plugin/core-{number}", "ro") for number, path in enumerate(self.cores)]
        return [(self.file, "/plugin/flat.so", "ro"), *functions, *tables]


def plugin() -> Recipe:
    """The plugin that counts regions, follows stacks and runs models of cores."""
    return Recipe(
        name="plugin",
        script="plugin.sh",
        outputs=("worldwise.so",),
        sources=("qemu",),
        trees={f"plugin/{room}": paths.PLUGIN / room for room in ("aarch64", "model")}
        # How A32 and T32 direct the flow, which a TA of 32 bits is of.
        | {f"plugin/arm32/decode.{suffix}": paths.PLUGIN / "arm32" / f"decode.{suffix}" for suffix in ("c", "h")},
    )


def cut_plugin() -> Recipe:
    """The plugin that ends the emulator in the midst of a write."""
    return Recipe(
        name="cut",
        script="cut.sh",
        outputs=("cut.so",),
        sources=("qemu",),
        trees={"cut.c": paths.PLUGIN / "cut.c"},
    )


def cycles_plugin() -> Recipe:
    """The plugin that gives cycles on named cores, for programs of user mode and microcontrollers."""
    return Recipe(
        name="cycles",
        script="cycles.sh",
        outputs=("cycles.so",),
        sources=("qemu",),
        trees={"plugin/cycles": paths.PLUGIN / "cycles", "plugin/model": paths.PLUGIN / "model"},
    )


def secrets_plugin() -> Recipe:
    """The plugin that says whether calls with other secrets execute and access the same."""
    return Recipe(
        name="secrets",
        script="secrets.sh",
        outputs=("secrets.so",),
        sources=("qemu",),
        trees={"secrets": paths.PLUGIN / "secrets"},
    )


def flat_plugin() -> Recipe:
    """The plugin that follows the stacks of microcontrollers and of programs of Linux on Armv7-A."""
    rooms = ("aarch64", "arm32", "model")
    return Recipe(
        name="flat",
        script="flat.sh",
        outputs=("flat.so",),
        sources=("qemu",),
        trees={f"plugin/{room}": paths.PLUGIN / room for room in rooms},
    )
