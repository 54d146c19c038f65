# SPDX-License-Identifier: BSD-2-Clause
"""Tampering and power cuts on the machine: a few attempts of each kind, and what must come of them."""

from pathlib import Path

import pytest

from worldwise.families.faults import campaign
from worldwise.families.faults.attempts import AFTER_RESTART
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import parse_case
from worldwise.records.check import check_records
from worldwise.records.models import Outcome
from worldwise.records.parse import read_records
from worldwise.run.campaign import run_case
from worldwise.targets.all_targets import EMULATED

VARIANT = "optee/mbedtls-nist-O2"


@pytest.fixture
def tried(emulator: Emulator, images: ImageStore, tmp_path: Path) -> "Tried":
    """Runs a campaign and gives its outcomes."""
    return Tried(emulator, images, tmp_path)


class Tried:
    """Campaigns with the user's images; each leaves its outcomes, checked as the tool does."""

    def __init__(self, emulator: Emulator, images: ImageStore, directory: Path) -> None:
        self.emulator = emulator
        self.images = images
        self.directory = directory

    def outcomes(self, text: str) -> list[Outcome]:
        """The outcomes of a case of the quickest variant."""
        case = parse_case(f"{VARIANT}/{text}", 1, 0)
        target = EMULATED["optee"]
        directory = self.directory / case.operation
        directory.mkdir()
        run_case(self.emulator, self.images, target.machine(case, self.images), case, target.program(case), directory)
        records = read_records(directory / "records.jsonl")
        check_records(records, case)
        return [record for record in records if isinstance(record, Outcome)]


def test_a_renaming_that_is_cut_leaves_one_name(tried: Tried) -> None:
    """Cut at an instruction or after any write, the object has the old name or the new one, and both are met."""
    found = tried.outcomes("power-cut,size=32B,storage=ree,action=rename,points=5")
    cuts = [each for each in found if each.what == "cut"]
    stored = [each for each in found if each.what == "stored"]
    assert [cuts[0].at, cuts[0].result, cuts[-1].result] == [1, "old", "new"]
    assert len(cuts) == 5
    assert {each.result for each in stored} == {"old", "new"}
    # The one write that makes the difference is the directory's header: once it is stored, all is new.
    results = [each.result for each in stored]
    assert results == sorted(results, key=["old", "new"].index)
    assert all(each.detail.endswith("writes stored") for each in found)


def test_rollback_is_seen_with_rpmb_alone(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older copy of all files: the REE file system takes it, the one with a hash in RPMB does not."""
    attempts = ("none", "flip-data", "rollback-files")
    monkeypatch.setattr(campaign, "ATTEMPTS", {"ree": attempts, "ree-rpmb": attempts[2:]})
    alone = {each.what: (each.result, each.detail.split(";")[0]) for each in tried.outcomes("tamper,storage=ree")}
    assert alone["none"] == ("no effect", "the right content")
    assert alone["flip-data"] == ("detected", "TEE_ERROR_CORRUPT_OBJECT")
    assert alone["rollback-files"] == alone["rollback-files" + AFTER_RESTART] == ("not detected", "the older content")
    tried.directory = tried.directory / "rpmb"
    tried.directory.mkdir()
    assert {each.result for each in tried.outcomes("tamper,storage=ree-rpmb")} == {"detected"}
