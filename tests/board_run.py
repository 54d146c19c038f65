# SPDX-License-Identifier: BSD-2-Clause
"""A run of a board that no board made: tests/data/board-run, whose cycles are a model's with planted numbers.

The counts, the evidence and the checks are those of the emulated machine. Where a chip would have counted cycles stand
those of the model of its core with PLANTED numbers, and a little more or less for each sample, as on silicon. After
a change of the libraries, the compiler or the model it is made again:

    PYTHONPATH=src:tests python tests/board_run.py
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from worldwise.base.units import CYCLES
from worldwise.cli.traces.plugin_runs import Session
from worldwise.explain.layers import load_rules
from worldwise.libraries.boards import boards, load_core
from worldwise.libraries.core_model import flat_table
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import Case
from worldwise.plan.suite import parse_suite
from worldwise.records.model_predictions import PredictedSample
from worldwise.run.folder.manifests import RECORDS_FILE
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome, Counting, RunPlan, RunProvenance
from worldwise.run.folder.rundir import Run
from worldwise.run.folder.writer import RunWriter
from worldwise.targets.all_targets import EMULATED
from worldwise.validation.silicon.calibration import WAITS, with_numbers

FOLDER = Path(__file__).parent / "data" / "board-run"
RUN = "20260102T030400Z-synthetic"
BOARD, CORE = "nucleo-f446re", "cortex-m4"
PLANTED = {"refill": 2, WAITS: 3}
# Of a sample's cycles, so many in 100,000 more or less.
NOISE = 200
# What an empty region costs on a chip, in cycles.
OVERHEAD = 9

SUITE = f"""# A run that no board made: see tests/board_run.py.
format = 1
name = "synthetic"
title = "SYNTHETIC, made by a model and by no chip: hashes and AES on a Nucleo-F446RE"
samples = 3
warmup = 0

[[cases]]
targets = ["{BOARD}"]
operations = ["sha256", "aes128", "aes256"]
implementations = ["bearssl"]
optimisations = ["Os", "O2"]
sizes = ["16B", "128B", "1KiB"]
"""

# A case's records on the emulated machine, and its samples as predicted with a table of this name.
Source = Callable[[Case, Mapping[str, str]], tuple[list[dict[str, Any]], list[PredictedSample]]]


def planted_table() -> str:
    """The table of the core with the planted numbers, on the board."""
    model = load_core(CORE).model
    assert model
    return flat_table(CORE, with_numbers(model, PLANTED, "planted"), boards()[BOARD].memory, PLANTED[WAITS])


def noisy(cycles: int, key: str) -> int:
    """As many cycles, or some fewer or more: the same for the same key."""
    draw = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") % (2 * NOISE + 1) - NOISE
    return cycles + cycles * draw // 100_000


def of_chip(case: Case, records: list[dict[str, Any]], predicted: list[PredictedSample]) -> list[dict[str, Any]]:
    """The records as a chip would have sent them."""
    cycles = {one.index: one.cycles for one in predicted}
    made: list[dict[str, Any]] = []
    clock = 1000
    for record in records:
        one = dict(record)
        if one["type"] == "start":
            one |= {"clock": "dwt_cyccnt", "unit": CYCLES}
        elif one["type"] == "overhead":
            one |= {"clock": "dwt_cyccnt", "count": OVERHEAD}
        elif one["type"] == "sample":
            count = noisy(cycles[one["index"]], f"{case.id} {one['index']}")
            one |= {"begin": clock, "end": clock + count + OVERHEAD, "count": count}
            clock = one["end"] + 100
        made.append(one)
    return made


def make(runs: Path, source: Source) -> Run:
    """The run, in a new folder of `runs`."""
    suite = parse_suite(SUITE, "synthetic.toml")
    host = {"synthetic": "made by tests/board_run.py; no chip was measured"}
    now = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    packages = {"gcc-arm-none-eabi": "15:14.2.rel1-1"}
    made = RunProvenance(host, git="", lab="", packages=packages)
    with RunWriter.create(runs, RunPlan(suite, suite.cases), made, Counting(unit=CYCLES, via="gdb"), now) as writer:
        for case in suite.cases:
            records, predicted = source(case, {CORE: planted_table()})
            lines = (json.dumps(one, separators=(",", ":")) for one in of_chip(case, records, predicted))
            directory = writer.case_directory(case.id)
            (directory / RECORDS_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
            writer.complete_case(case, CaseInputs("boot", digest="0" * 64), CaseOutcome(["synthetic"]))
        return writer.finish("complete")


def emulated(session: Session) -> Source:
    """Takes records and predictions from the emulated machine."""

    def source(case: Case, tables: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[PredictedSample]]:
        target = EMULATED[case.target]
        with tempfile.TemporaryDirectory() as folder:
            session.emulator.run(target.machine(case, session.images), target.program(case), Path(folder))
            lines = (Path(folder) / RECORDS).read_text(encoding="utf-8").splitlines()
        return list(map(json.loads, lines)), session.modelled(case, None, tables).predicted(CORE).samples

    return source


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    make(FOLDER, emulated(Session(load_rules(), fresh=False)))
