# SPDX-License-Identifier: BSD-2-Clause
"""Runs the programs of the validation in the emulator, under the plugin that asks the models of cores."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import Image, ImageStore
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.roots import MAIN
from worldwise.lab.sandbox.lent_folders import scratch
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.plugin import cycles_plugin
from worldwise.validation.cells import CellCall
from worldwise.validation.programs import PROGRAMS, Origins

# Seconds that a cell may take: the longest has 25 million instructions a call.
_TIMEOUT = 900
_MOST_OUTPUT = 256 * 2**20
# What stands for the checksum of a program that has none.
NO_CHECKSUM = "-"
_QUIET = ("-display", "none", "-nodefaults", "-monitor", "none", "-serial", "none")


@dataclass(frozen=True)
class ExecutedBlock:
    """A block of instructions that was executed in regions: its address, its length, and how often."""

    pc: int
    instructions: int
    times: int


@dataclass(frozen=True)
class CoreCycles:
    """What a core's model says: cycles of each call, and of the last one by cause and outside the validated domain."""

    calls: tuple[int, ...]
    causes: tuple[int, ...]
    outside_instructions: int


@dataclass(frozen=True)
class Passed:
    """What calls took: instructions of the last one, each core's cycles, the checksum, and the blocks of all calls."""

    instructions: int
    cores: Mapping[str, CoreCycles]
    checksum: str
    blocks: tuple[ExecutedBlock, ...]


class CellBench:
    """Builds what is needed at first use, and runs cells. Safe for threads once `prepare` was called.

    Args:
        notify: called with a line of text when something is built.
    """

    def __init__(self, notify: Callable[[str], None] = lambda _: None) -> None:
        self.notify = notify
        self._labs: dict[str, Lab] = {}
        self._stores: dict[str, ImageStore] = {}
        self._images: dict[str, Image] = {}
        self._plugin: Path | None = None

    def lab(self, root: str) -> Lab:
        """A root, made if missing."""
        if root not in self._labs:
            self._labs[root] = open_lab(name=root)
            self._labs[root].ensure()
        return self._labs[root]

    def store(self, root: str) -> ImageStore:
        """The images of a root."""
        if root not in self._stores:
            self._stores[root] = ImageStore(self.lab(root), self.notify)
        return self._stores[root]

    def image(self, name: str) -> Image:
        """The image of a program of PROGRAMS, built if missing."""
        if name not in self._images:
            program = PROGRAMS[name]
            self._images[name] = self.store(program.root).get(program.recipe(Origins(self.store, self.notify)))
        return self._images[name]

    def program(self, call: CellCall) -> Path:
        """The file of the program that makes a call, built if missing."""
        return self.image(call.program).file(PROGRAMS[call.program].file(call.operation))

    def plugin(self) -> Path:
        """The plugin's file, built if missing."""
        if self._plugin is None:
            self._plugin = self.store(MAIN).get(cycles_plugin()).file("cycles.so")
        return self._plugin

    def run(self, call: CellCall, tables: Mapping[str, str]) -> Passed:
        """Make calls with models of cores, whose caches and predictors are empty before the first.

        Args:
            call: what to call.
            tables: each core's table, by its name.

        Raises WorldwiseError if the program fails or says something else than it should.
        """
        program, plugin, lab = self.program(call), self.plugin(), self.lab(MAIN)
        built = PROGRAMS[call.program]
        with scratch(lab.cache) as folder:
            out, cores = folder / "out", folder / "cores"
            for made in (out, cores):
                made.mkdir()
            for core, table in tables.items():
                (cores / core).write_text(table, encoding="utf-8")
            words = ("cells", str(built.calls), call.operation, call.implementation, call.compiler)
            options = ["/plugin.so", *(f"core=/cores/{core}" for core in tables), "out=/out/cycles", *built.plugin]
            command = [
                *(*built.emulator, *_QUIET, "-kernel", "/program"),
                *("-semihosting-config", "enable=on,target=native" + "".join(f",arg={word}" for word in words)),
                *("-plugin", ",".join(options)),
            ]
            binds: list[Bind] = [
                (program, "/program", "ro"),
                (plugin, "/plugin.so", "ro"),
                (cores, "/cores", "ro"),
                (out, "/out", "rw"),
            ]
            result = lab.run(command, binds=binds, timeout=_TIMEOUT)
            lines = files.read_bytes(out / "cycles", _MOST_OUTPUT, out).decode().splitlines()
        return read_passes(call, built.calls, result.stdout, [json.loads(line) for line in lines])


def read_passes(call: CellCall, calls: int, said: str, lines: list[dict[str, Any]]) -> Passed:
    """What the program and the plugin said, checked against each other."""
    regions = [line for line in lines if line["type"] == "region"]
    words = said.split()
    wanted = [call.operation, str(call.length), call.implementation, str(calls)]
    if PROGRAMS[call.program].silent:
        words = [*wanted, NO_CHECKSUM, call.compiler]
    if words[:4] != wanted or len(words) != 6 or words[5] != call.compiler or len(regions) != calls:
        raise WorldwiseError(f"{call}: the program said {files.quoted(said)!r}, with {len(regions)} regions")
    last = regions[-1]
    cores = {
        core: CoreCycles(
            calls=tuple(region["cores"][core]["cycles"] for region in regions),
            causes=tuple(spent["causes"]),
            outside_instructions=spent["outside_instructions"],
        )
        for core, spent in last["cores"].items()
    }
    blocks = tuple(
        ExecutedBlock(line["pc"], line["instructions"], line["times"]) for line in lines if line["type"] == "block"
    )
    return Passed(last["instructions"], cores, words[4], blocks)
