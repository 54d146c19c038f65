# SPDX-License-Identifier: BSD-2-Clause
"""Runs of a board that nobody has: see gdb_board.py."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from boards import board_records
from gdb_board import FakeBoard
from remote_run import Notes, machine_with, measured, resumed
from suite_texts import suite_text
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.board.serialline import SerialAddress
from worldwise.machine.machine import Machine
from worldwise.plan.case import Case
from worldwise.plan.suite import parse_suite
from worldwise.run.folder.rundir import Run, open_run
from worldwise.run.measure import Bench
from worldwise.run.measurers import Remote
from worldwise.run.options import MeasureOptions

NAME = "nucleo-f446re"
WORDS = ("sign", "1", "2", "curve=secp256r1", "size=32")
MACHINE = machine_with({"program.elf": Path("program.elf")})

SUITE = suite_text("two", "nucleo-f446re / keygen ecdh / micro-ecc / O2 / curves secp256r1", samples=2)


class Target:
    """A target whose machines need no image."""

    def machine(self, _case: Case, _images: ImageStore) -> Machine:
        return MACHINE

    def program(self, case: Case) -> Sequence[str]:
        return (case.operation, str(case.warmup), str(case.samples), *case.arguments)


class Tool:
    """One call of the tool after another, with a board."""

    def __init__(self, root: Path, clock: str = "", serial: SerialAddress | None = None) -> None:
        self.root = root
        self.clock = clock
        self.serial = serial
        self.suite = parse_suite(SUITE, "two.toml")

    def bench(self, board: FakeBoard | None, silence: float = 5) -> Bench:
        remote = Remote(NAME, board.address, self.clock, self.serial) if board else None
        options = MeasureOptions(reuse=False, start="boot", silence_limit=silence, remote=remote)
        return Bench(Lab(load_lock(), self.root / "cache"), Notes(), options)

    def measure(self, board: FakeBoard, silence: float = 5) -> Run:
        return measured(self.bench(board, silence), self.suite, self.root / "runs")

    def latest(self) -> Run:
        return open_run("latest", self.root / "runs")

    def resume(self, board: FakeBoard | None) -> Run:
        return resumed(self.bench(board), self.suite, self.root / "runs")


def records(unit: str = "instructions", clock: str = "systick") -> Callable[[str], bytes]:
    """Records of the suite's cases, by the program's command line."""
    found = {}
    for case in parse_suite(SUITE, "two.toml").cases:
        lines = board_records(case)
        lines[0] |= {"unit": unit, "clock": clock}
        lines[1] |= {"clock": clock}
        found[" ".join(Target().program(case))] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return found.__getitem__
