# SPDX-License-Identifier: BSD-2-Clause
"""Own code that was counted, taken apart as `explain` does it: for the tests of the machine."""

from pathlib import Path

from worldwise.explain.layers import load_rules
from worldwise.explain.own_code import FirmwareExplainer, OwnExplainer
from worldwise.lab.image import ImageStore
from worldwise.libraries import own_code
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS
from worldwise.machine.symbols.own_program import OWN_PROCESS
from worldwise.records.check import check_records
from worldwise.records.parse import read_records
from worldwise.run.code.prepare import Ready
from worldwise.run.code.region_counts import Counter, calls_of, space_of, write_records
from worldwise.targets.own_code import firmware_machine, machine_of


def explained(ready: Ready, region: str, images: ImageStore, emulator: Emulator, folder: Path) -> OwnExplainer:
    """The explainer of a region's case, whose records are written into a folder and pass every check."""
    manifest = ready.code.manifest
    case = next(one for one in ready.cases if one.operation == region)
    write_records(case, ready.code, ready.counted, folder / RECORDS)
    machine = machine_of(images, manifest.kind, ready.code.folder, ready.code.name, own_code.COUNT)
    space = Counter(emulator, images).space(machine, manifest.mapped)
    records = check_records(read_records(folder / RECORDS), case)
    return OwnExplainer(case, records, ready.counted.trace, space, load_rules(), OWN_PROCESS)


def explained_firmware(
    ready: Ready, region: str, images: ImageStore, emulator: Emulator, folder: Path, board: str = "mps2-an386"
) -> FirmwareExplainer:
    """The same of firmware that was counted on a machine of QEMU."""
    case = next(one for one in ready.cases if one.operation == region)
    write_records(case, ready.code, ready.counted, folder / RECORDS)
    machine = firmware_machine(ready.code.folder, ready.code.name, board)
    space = space_of(ready.code, Counter(emulator, images), machine)
    records = check_records(read_records(folder / RECORDS), case)
    return FirmwareExplainer(case, records, ready.counted.trace, space, load_rules(), OWN_PROCESS)


def counts(ready: Ready, region: str) -> list[int]:
    """The instructions of the calls of a region."""
    manifest = ready.code.manifest
    calls, _ = calls_of(ready.counted.trace, manifest.addresses, manifest.regions[region])
    return [one.instructions for one in calls]


def check_regions(made: Ready, lives: int) -> None:
    """Asserts what own_codes.PROGRAM does in each of its lives: which of its functions are called, and how often."""
    assert {name: len(counts(made, name)) for name in made.code.manifest.regions} == {
        "climb": lives,
        "jump": lives,
        "last": lives,
        "work": 3 * lives,
    }
    assert made.unentered == ["never"]
    assert set(counts(made, "work")) == {counts(made, "work")[0]}
    notes = " ".join(made.code.manifest.notes)
    assert f"jump: {lives} calls did not return" in notes
    assert "climb calls itself" in notes
    assert "last never returned" in notes


def check_sums(made: Ready) -> None:
    """Asserts that each life is what the counter says of it, and that the regions stand inside."""
    trace, lives = made.counted.trace, made.counted.lives
    outer = [one for one in trace.passes if not one.parent]
    assert [(one.begin, one.end, one.instructions) for one in outer] == [
        (life.begin, life.end, life.end - life.begin) for life in lives
    ]
    assert all(
        any(life.begin < one.begin and one.end < life.end for life in lives) for one in trace.passes if one.parent
    )
