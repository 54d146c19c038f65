# SPDX-License-Identifier: BSD-2-Clause
"""What the key cache survives, on the machine: a few cuts, a server that must be found out, an older record, root."""

from pathlib import Path

import pytest

from worldwise.families.keycache import campaign
from worldwise.families.keycache.power_cut import BETWEEN, GOOD, LOST
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import parse_case
from worldwise.records.check import check_records
from worldwise.records.models import Outcome
from worldwise.records.parse import read_records
from worldwise.run.campaign import run_case
from worldwise.targets.all_targets import EMULATED

VARIANT = "optee/mbedtls-ce-O2"
# The TA's first start makes 64 objects; several such machines may run on a busy host.
pytestmark = pytest.mark.timeout(1800)


def outcomes(text: str, emulator: Emulator, images: ImageStore, directory: Path) -> list[Outcome]:
    """What a campaign recorded, checked as the tool does."""
    case = parse_case(f"{VARIANT}/{text}", 1, 0)
    target = EMULATED["optee"]
    run_case(emulator, images, target.machine(case, images), case, target.program(case), directory)
    records = read_records(directory / "records.jsonl")
    check_records(records, case)
    return [record for record in records if isinstance(record, Outcome)]


# On each storage, and with each stream, at both ends and between.
@pytest.mark.parametrize(("storage", "stream"), [("rpmb", "versions"), ("ree", "keys")])
def test_what_is_confirmed_outlasts_a_power_cut(
    emulator: Emulator, images: ImageStore, tmp_path: Path, storage: str, stream: str
) -> None:
    """If this fails, a SET, KEEP, FORGET or DEL that was answered is lost, or a key is there that nobody set."""
    found = outcomes(f"keycache-cut,storage={storage},points=3,stream={stream}", emulator, images, tmp_path)
    assert [each.what for each in found] == ["cut"] * 3
    assert {each.result for each in found} <= set(GOOD), found
    confirmed = [int(each.detail.split()[0]) for each in found]
    # Eight clients have keys before it begins; thirty changes follow, the last of which is confirmed with the last cut.
    assert (confirmed[0], confirmed[-1]) == (8, 38)
    assert confirmed == sorted(confirmed)


def test_a_server_that_confirms_too_early_is_found(emulator: Emulator, images: ImageStore, tmp_path: Path) -> None:
    """If this fails, the campaign cannot tell a server that loses keys: this one answers before it stores."""
    found = outcomes("keycache-cut,storage=rpmb,points=2,durability=relaxed", emulator, images, tmp_path)
    # Before the first change there is nothing to lose; with the last cut everything was confirmed.
    assert [each.result for each in found] == [BETWEEN, LOST], found
    assert "has " in found[1].detail


def test_an_older_record_is_refused(
    emulator: Emulator, images: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, the TA takes the record of a key that was replaced, or the server's counters do not tell."""
    monkeypatch.setattr(campaign, "HOLD_ATTEMPTS", ("record-older",))
    (found,) = outcomes("keycache-hold,storage=rpmb", emulator, images, tmp_path)
    assert (found.what, found.result) == ("record-older", "holds"), found.detail


def test_a_normal_world_that_was_taken_over_reads_nothing(
    emulator: Emulator, images: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, the TA gives root in the normal world what clients send whose keys are for relaying alone.

    The attempts are those of keycache/tests/ta, against the TA in OP-TEE: the same are tried natively.
    """
    monkeypatch.setattr(campaign, "HOLD_ATTEMPTS", ("normal-world",))
    (found,) = outcomes("keycache-hold,storage=ree", emulator, images, tmp_path)
    assert (found.what, found.result) == ("normal-world", "holds"), found.detail
    assert found.detail == "50 of 50 attempts hold; 50 refused, each with a control that works"
