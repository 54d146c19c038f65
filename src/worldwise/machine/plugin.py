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
        arguments: its arguments except the output's name; see plugin/worldwise/arguments.h.
        functions: the file that says where functions begin and end, for its argument `functions`; None for none.
    """

    file: Path
    arguments: Mapping[str, str]
    functions: Path | None = None

    def option(self) -> str:
        """The value of QEMU's `-plugin`."""
        arguments = dict(self.arguments) | {"out": f"/run/{TRACE}"}
        if self.functions:
            arguments["functions"] = "/plugin/functions"
        return ",".join(["/plugin/worldwise.so", *(f"{key}={value}" for key, value in arguments.items())])

    def binds(self) -> list[Bind]:
        """What it needs to see in the lab."""
        binds: list[Bind] = [(self.file, "/plugin/worldwise.so", "ro")]
        if self.functions:
            binds.append((self.functions, "/plugin/functions", "ro"))
        return binds


class CutPlugin(Plugin):
    """The plugin that ends the emulator at an instruction: see plugin/cut.c."""

    def option(self) -> str:
        """The value of QEMU's `-plugin`."""
        return ",".join(["/plugin/cut.so", *(f"{key}={value}" for key, value in self.arguments.items())])

    def binds(self) -> list[Bind]:
        """What it needs to see in the lab."""
        return [(self.file, "/plugin/cut.so", "ro")]


def plugin() -> Recipe:
    """The plugin that counts regions and follows stacks."""
    return Recipe(
        name="plugin",
        script="plugin.sh",
        outputs=("worldwise.so",),
        sources=("qemu",),
        trees={"plugin": paths.PLUGIN / "worldwise"},
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
