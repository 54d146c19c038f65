# SPDX-License-Identifier: BSD-2-Clause
"""Secure storage on the machine: every action in every storage, and what a plain file takes."""

from pathlib import Path
from statistics import median

import pytest

from machines import Measured, RunCase
from worldwise.base.units import size_text
from worldwise.families.storage.spec import RPMB_MOST
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import Case, parse_case
from worldwise.plan.parameters import STORAGES
from worldwise.records.check import CheckedRecords
from worldwise.records.models import Outcome
from worldwise.records.parse import parse_line
from worldwise.targets.all_targets import EMULATED

ACTIONS = ("create", "read", "overwrite", "append", "rename", "enumerate", "delete")
VARIANT = "mbedtls-ce-O2"


def cost(records: CheckedRecords, place: str) -> float:
    return median(sample.count for sample in records.samples["access", place] if sample.phase == "sample")


@pytest.mark.parametrize("storage", STORAGES)
def test_every_action_does_what_it_must(measured: Measured, storage: str) -> None:
    """The client reads back what each call did, and fails if it is not that."""
    spent = {
        action: measured(f"optee/{VARIANT}/storage,size=256B,storage={storage},action={action}") for action in ACTIONS
    }
    for action, records in spent.items():
        inside, around = cost(records, "ta"), cost(records, "client")
        assert 300_000 < inside < around < 5_000_000, action
        # The way there and back, and the content in shared memory.
        assert around - inside < 250_000, action


def test_a_larger_object_costs_more_of_its_content_than_of_its_name(measured: Measured) -> None:
    """Reading follows the size, renaming hardly; nothing of RPMB's directory depends on it."""
    for action, least, most in (("read", 4, 100), ("rename", 0.9, 1.1)):
        small, large = (
            cost(measured(f"optee/{VARIANT}/storage,size={size},storage=rpmb,action={action}"), "client")
            for size in ("32B", "64KiB")
        )
        assert least < large / small < most, action


def test_plain_files_cost_far_less(measured: Measured) -> None:
    for action in ACTIONS:
        plain = cost(measured(f"linux/{VARIANT}/file,size=7000B,action={action}"), "linux")
        assert 5_000 < plain < 60_000, action
        if action in ("create", "rename", "delete"):
            synchronised = cost(measured(f"linux/{VARIANT}/file,size=7000B,action={action},sync=fsync"), "linux")
            assert plain < synchronised < plain + 20_000, action


def test_requests_to_the_supplicant_are_told(records_of: RunCase, images: ImageStore) -> None:
    """A block of RPMB is written by each; an object in RPMB alone is found without any file."""
    found = {}
    for storage, size in (("ree", "32B"), ("ree-rpmb", "32B"), ("rpmb", "32B"), ("rpmb", "7000B")):
        case = parse_case(f"optee/{VARIANT}/storage,size={size},storage={storage},action=create", 4, 1)
        machine = EMULATED["optee"].machine(case, images)
        records = [parse_line(line, "records", 1) for line in records_of(case, on=machine).splitlines()]
        (told,) = (record for record in records if isinstance(record, Outcome))
        assert told.what == "requests to tee-supplicant"
        found[storage, size] = int(told.result)
    assert found["rpmb", "32B"] < found["ree", "32B"] < found["ree-rpmb", "32B"]
    assert found["rpmb", "7000B"] - found["rpmb", "32B"] == pytest.approx(7000 / 256, abs=3)


@pytest.mark.parametrize("action", ["create", "overwrite", "append", "enumerate"])
def test_the_largest_object_fits_rpmb_and_a_larger_one_does_not(
    images: ImageStore, emulator: Emulator, tmp_path: Path, action: str
) -> None:
    """What a suite refuses is what the device has no room for, to the KiB."""
    most = RPMB_MOST.get(action, RPMB_MOST[""])
    found = []
    for size in (most, most + 1024):
        given = (("size", size_text(size)), ("storage", "rpmb"), ("action", action))
        case = Case("optee", "mbedtls-ce", "O2", "storage", 1, 0, given)
        directory = tmp_path / str(size)
        directory.mkdir()
        target = EMULATED["optee"]
        emulator.run(target.machine(case, images), target.program(case), directory)
        found.append((directory / "records.jsonl").read_text())
    fits, does_not = found
    assert '"type":"end"' in fits
    # TEE_ERROR_STORAGE_NO_SPACE.
    assert "failed: 0xffff3041" in does_not


@pytest.mark.parametrize("storage", ["ree", "rpmb"])
def test_storage_is_the_same_twice(records_of: RunCase, images: ImageStore, storage: str) -> None:
    """Keys and nonces of objects are random, and still the same in every run."""
    case = parse_case(f"optee/{VARIANT}/storage,size=7000B,storage={storage},action=overwrite", 3, 1)
    machine = EMULATED["optee"].machine(case, images)
    assert records_of(case, on=machine) == records_of(case, on=machine)
