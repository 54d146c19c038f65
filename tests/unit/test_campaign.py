# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns, with an emulator that plays their machines: what is tried, what is refused, what is kept."""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.base.family_stages import declared
from worldwise.families.faults.attempts import AFTER_RESTART, ATTEMPTS
from worldwise.families.faults.campaign import Journal
from worldwise.families.keycache import campaign as keycache_campaign
from worldwise.families.keycache.attempts import HOLD_ATTEMPTS, NOT_TRIED
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import Machine
from worldwise.machine.measurer import MachineEnd
from worldwise.machine.plugin import CutPlugin, Plugin
from worldwise.plan.case import Case, parse_case
from worldwise.plan.catalogue import SPECS
from worldwise.records.check import check_records
from worldwise.records.globalplatform import name_codes
from worldwise.records.models import Outcome
from worldwise.records.parse import read_records
from worldwise.run.campaign import Campaign, method_digest, run_case
from worldwise.run.power_cuts import spread

MACHINE = cast(Machine, None)
REGION = 1000
# When, in instructions, each write of the played machine is stored; two come before the region.
WRITES = (0, 0, 300, 700, 990)


def entry(number: int, length: int = 8) -> bytes:
    """An entry of a journal as guest/apps/faults/journal.h has it."""
    return struct.pack("<IIQII32s", 0x6C6A7777, 2, number, length, 0, b"2") + bytes([number]) * length


WHOLE = b"".join(map(entry, range(len(WRITES))))


class Images:
    """An image store whose images are all one folder."""

    def get(self, _recipe: object) -> "Images":
        return self

    def file(self, name: str) -> Path:
        return Path("/images", name)


def sizes(plugin: Plugin, left_at: Callable[[int], Mapping[str, bytes]]) -> str:
    """What the plugin writes of a machine that passes instructions: how long the host's files are at each."""
    names = [path.removeprefix("/run/") for path in plugin.arguments["files"].split(":")]
    points = plugin.arguments["points"].split(":")
    return "".join(
        " ".join([point, *(str(len(left_at(int(point))[name])) for name in names)]) + "\n" for point in points
    )


class Machines:
    """An emulator whose machines do what the test says."""

    def __init__(self, found: Callable[[int], str] = lambda stored: "new" if stored == len(WRITES) else "old") -> None:
        self.found = found
        self.steps: list[str] = []
        self.spoil: Callable[[int, bytes], bytes] = lambda _at, data: data
        self.misread: Callable[[str], str] = str
        self.passes = 0
        self.idle = 0
        self.error = ""

    def run(
        self,
        _machine: Machine,
        program: Sequence[str],
        directory: Path,
        *,
        plugin: Plugin | None = None,
        prepared: Path | None = None,
        left: Sequence[str] = (),
    ) -> MachineEnd:
        assert set(left) == {"journal", "length", "sizes", "before.state", "after.state"}
        assert program[0] == "/bin/linux-bench"
        assert prepared is None
        step = program[1]
        self.steps.append(" ".join(program[1:]))
        at = int(plugin.arguments.get("at", 0)) if plugin else 0
        lines: list[dict[str, str | int]] = [{"type": "outcome", "what": step, "result": "ready", "detail": ""}]
        if step == "cut-write":
            self.end(at, plugin, directory)
        elif step == "cut-read":
            stored = len((directory / "journal").read_bytes()) // len(entry(0))
            lines[0]["result"] = self.found(stored)
        elif step == "tamper-write":
            for name in ("before.state", "after.state"):
                (directory / name).write_bytes(name.encode())
        else:
            assert step == "tamper"
            if program[3] == "later":
                assert (directory / "after.state").read_bytes() == b"after.state"
            lines[0] |= {"result": "detected", "detail": "0xf0100001"}
        if self.error:
            lines.append({"type": "error", "message": self.error})
        elif not at:
            lines.append({"type": "end", "status": 0, "idle": self.idle})
        (directory / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return MachineEnd(0, ("qemu",), 0.5)

    def end(self, at: int, plugin: Plugin | None, directory: Path) -> None:
        """Leave what a machine leaves that ends at an instruction; 0 for the end of its step."""
        for name, data in self.left_at(at).items():
            (directory / name).write_bytes(self.spoil(at, data))
        if plugin and "points" in plugin.arguments:
            self.passes += 1
            text = sizes(plugin, self.left_at)
            (directory / "sizes").write_text(self.misread(text))
        elif not at:
            (directory / "length").write_text(f"{REGION}\n")

    def left_at(self, at: int) -> dict[str, bytes]:
        """The host's files at an instruction; 0 for the end."""
        stored = len(WRITES) if not at else sum(when < at for when in WRITES)
        return {"journal": WHOLE[: stored * len(entry(0))]}

    def diagnosis(self, _directory: Path, _machine: Machine) -> str:
        return "what the consoles say"


def power_cut(points: int = 6) -> Case:
    parameters = (("size", "32B"), ("storage", "ree"), ("action", "overwrite"), ("points", str(points)))
    return Case("optee", "mbedtls-nist", "O2", "power-cut", 1, 0, parameters)


def tampering(storage: str) -> Case:
    return Case("optee", "mbedtls-nist", "O2", "tamper", 1, 0, (("storage", storage),))


def outcomes(machines: Machines, case: Case, directory: Path) -> list[Outcome]:
    """What a campaign recorded, found to be in order as the tool does."""
    ran = run_case(cast(Emulator, machines), cast(ImageStore, Images()), MACHINE, case, ("/bin/x",), directory)
    assert ran.wall_seconds == pytest.approx(0.5 * len(machines.steps))
    records = read_records(directory / "records.jsonl")
    check_records(records, case)
    return [record for record in records if isinstance(record, Outcome)]


def test_points_are_spread_from_the_first_to_the_last_instruction() -> None:
    """If this fails, a write's begin or end is not tried."""
    assert spread(1000, 5) == [1, 250, 500, 750, 1000]
    assert spread(1000, 200)[0] == 1
    assert spread(1000, 200)[-1] == 1000
    assert len(spread(25_589_761, 200)) == 200
    assert spread(3, 200) == [1, 2, 3]
    assert spread(7, 1) == [7]


def test_a_power_cut_tries_instructions_and_all_stored_states(tmp_path: Path) -> None:
    """If this fails, a state that the write goes through is not tried, or told of wrongly."""
    machines = Machines()
    found = outcomes(machines, power_cut(), tmp_path)
    cuts = [(each.at, each.result, each.detail) for each in found if each.what == "cut"]
    assert cuts == [
        (1, "old", "0 of 3 writes stored"),
        (200, "old", "0 of 3 writes stored"),
        (400, "old", "1 of 3 writes stored"),
        (600, "old", "1 of 3 writes stored"),
        (800, "old", "2 of 3 writes stored"),
        (1000, "new", "3 of 3 writes stored"),
    ]
    stored = [(each.result, each.detail.split()[0]) for each in found if each.what == "stored"]
    assert stored == [("old", "0"), ("old", "1"), ("old", "2"), ("new", "3")]
    # One machine for each state, however many cuts met it.
    assert sum(step.startswith("cut-read") for step in machines.steps) == 4


def test_what_a_machine_finds_is_told_as_it_is(tmp_path: Path) -> None:
    """If this fails, a broken object is taken for a whole one."""
    machines = Machines(lambda stored: "error: 0xf0100001" if stored == 3 else "mixture")
    found = outcomes(machines, power_cut(), tmp_path)
    assert {each.result for each in found} == {"error: TEE_ERROR_CORRUPT_OBJECT", "mixture"}


def test_a_journal_of_another_machine_is_refused(tmp_path: Path) -> None:
    """If this fails, cuts are taken for prefixes of a write that they are no part of."""
    machines = Machines()
    machines.spoil = lambda at, data: data[:-1] + b"x" if at == 400 else data
    with pytest.raises(
        WorldwiseError, match="up to instruction 400 is not the beginning of what the whole write stores"
    ):
        outcomes(machines, power_cut(), tmp_path)


def test_one_machine_passes_most_instructions_and_three_end(tmp_path: Path) -> None:
    """If this fails, a campaign takes a machine for each cut again, or none of them was ended."""
    machines = Machines()
    outcomes(machines, power_cut(), tmp_path)
    assert machines.passes == 1
    # The whole step, the machine that passes, and the first, the middle and the last of the six.
    assert sum(step.startswith("cut-write") for step in machines.steps) == 5
    few = Machines()
    (tmp_path / "few").mkdir()
    outcomes(few, power_cut(3), tmp_path / "few")
    assert few.passes == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        # One write fewer at the middle instruction, where a machine ends.
        (lambda text: text.replace("400 192", "400 128"), "up to instruction 400 is not the beginning"),
        (lambda text: text.replace("800 256", "800 999"), "up to instruction 800 is not the beginning"),
        (lambda text: text.replace("800 256", "801 256"), "up to instruction 800 is not the beginning"),
        (lambda text: text[: text.index("800")], "passed 4 of 6 instructions"),
    ],
)
def test_what_a_passing_machine_tells_is_checked(change: Callable[[str], str], problem: str, tmp_path: Path) -> None:
    """If this fails, a cut is judged by files that no machine would have left."""
    machines = Machines()
    machines.misread = change
    with pytest.raises(WorldwiseError, match=problem):
        outcomes(machines, power_cut(), tmp_path)


def test_a_torn_journal_is_refused() -> None:
    """If this fails, a journal is read past its end."""
    assert Journal(WHOLE).ends == [len(entry(0)) * number for number in range(1, 6)]
    assert Journal(b"").ends == []
    with pytest.raises(WorldwiseError, match="ends within the head"):
        Journal(WHOLE[:-60] + entry(9)[:20])
    with pytest.raises(WorldwiseError, match="no whole entry at byte 256"):
        Journal(WHOLE[:-1])


@pytest.mark.parametrize("storage", ATTEMPTS)
def test_tampering_tries_everything_twice(storage: str, tmp_path: Path) -> None:
    """If this fails, an attempt is left out in the boot that wrote the object, or after a restart."""
    found = outcomes(Machines(), tampering(storage), tmp_path)
    at_once = [each.what for each in found if not each.what.endswith(AFTER_RESTART)]
    later = [each.what.removesuffix(AFTER_RESTART) for each in found if each.what.endswith(AFTER_RESTART)]
    assert tuple(at_once) == ATTEMPTS[storage]
    assert later == [name for name in at_once if not name.startswith("wire-")]
    assert {each.detail for each in found} == {"TEE_ERROR_CORRUPT_OBJECT"}


def test_a_machine_that_fails_ends_the_campaign(tmp_path: Path) -> None:
    """If this fails, an attempt that was never made counts as one."""
    machines = Machines()
    machines.error = "the object's creation failed: 0xffff000c"
    with pytest.raises(WorldwiseError, match="tamper-write ree 7000: the object's creation failed: TEE_ERROR_OUT_OF_M"):
        outcomes(machines, tampering("ree"), tmp_path)


def test_a_campaign_is_never_cold(tmp_path: Path) -> None:
    """If this fails, a run says of a campaign that its machines began at power-on."""
    with pytest.raises(WorldwiseError, match="from the saved state"):
        run_case(
            cast(Emulator, Machines()), cast(ImageStore, Images()), MACHINE, tampering("ree"), (), tmp_path, "boot"
        )


def test_campaigns_are_operations_of_their_family_and_measure_nothing() -> None:
    """If this fails, a campaign is never tried, or what it measures is lost."""
    for family, campaign in declared("campaign", Campaign).items():
        without = {each.name for each in SPECS[family].operations if not any(each.measures.values())}
        assert set(campaign.tries) == without


def test_only_campaigns_depend_on_a_method() -> None:
    """If this fails, results of other cases are measured anew, or those of a changed campaign are not."""
    assert method_digest(cast(Lab, None), Case("optee", "mbedtls-nist", "O2", "hello", 1, 0)) == ()


def test_the_plugin_is_told_when_to_cut() -> None:
    """If this fails, QEMU does not find the plugin, or it never cuts."""
    plugin = CutPlugin(Path("/images/cut.so"), {"at": "17"})
    assert plugin.option() == "/plugin/cut.so,at=17"
    assert plugin.binds() == [(Path("/images/cut.so"), "/plugin/cut.so", "ro")]


def test_codes_get_their_names() -> None:
    """If this fails, a report shows numbers."""
    assert name_codes("0xf0100001; then 0xffff3024") == "TEE_ERROR_CORRUPT_OBJECT; then TEE_ERROR_TARGET_DEAD"
    assert name_codes("0x00000001") == "0x00000001"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "power-cut,size=32B,storage=ree,action=read,points=5",
            "action=read is not for 'power-cut'. Allowed: create, over",
        ),
        ("power-cut,size=0B,storage=ree,action=create,points=5", "size 0B is out of range. Allowed: 1B to 64KiB"),
        ("power-cut,size=33KiB,storage=ree,action=append,points=5", "out of range. Allowed: 1B to 32KiB"),
        ("power-cut,size=32B,storage=ree,action=create", "'power-cut' needs a number of points"),
        ("tamper", "'tamper' needs a storage"),
        ("storage,size=32B,storage=ree,action=replace", "action=replace is not for 'storage'. Allowed: create, read"),
    ],
)
def test_what_cannot_be_tried_is_refused(text: str, problem: str) -> None:
    """If this fails, a campaign ends in the midst of it with an error of the guest's."""
    with pytest.raises(WorldwiseError) as caught:
        parse_case(f"optee/mbedtls-nist-O2/{text}", 1, 0)
    assert problem in caught.value.message


NOTES = "set 0 1\ndone 0 1\nset 0 2\ndone 0 2\n"


class KeyCaches(Machines):
    """Machines of a key cache: a client's key is replaced, which is stored at instruction 500 and confirmed at 600."""

    def __init__(self, early: bool = False) -> None:
        super().__init__()
        self.confirmed = 300 if early else 600

    def prepare(
        self, _machine: Machine, program: Sequence[str], address: int, directory: Path, left: Sequence[str] = ()
    ) -> Path:
        assert set(left) == {"base", "base-log"}
        self.steps.append("prepare " + " ".join(program[1:]))
        assert address == 7
        (directory / "base").write_bytes(b"B")
        (directory / "base-log").write_bytes(b"L")
        return directory

    def run(
        self,
        _machine: Machine,
        program: Sequence[str],
        directory: Path,
        *,
        plugin: Plugin | None = None,
        prepared: Path | None = None,
        left: Sequence[str] = (),
    ) -> MachineEnd:
        assert set(left) == {"journal", "length", "sizes", "shadow", "asked"}
        step, *arguments = program[1:]
        self.steps.append(" ".join(program[1:]))
        at = int(plugin.arguments.get("at", 0)) if plugin else 0
        lines: list[dict[str, str | int]] = [{"type": "outcome", "what": "prepared", "result": "ready", "detail": ""}]
        if step == "cut-write":
            assert prepared
            self.end(at, plugin, directory)
        elif step == "cut-read":
            assert prepared is None
            key = 2 if (directory / "journal").read_bytes() == b"BJ" else 1
            assert (directory / "shadow").read_bytes() in (b"L", b"LS")
            detail = f"0={key}; stale 0 forged 0 damaged 0 lost 0 slow 0"
            lines = [{"type": "outcome", "what": what, "result": "read", "detail": detail} for what in ("kept", "lost")]
        else:
            assert step == "hold"
            what = arguments[1].removeprefix("attempt=")
            lines = [
                {"type": "outcome", "what": "progress", "result": "alive", "detail": ""},
                {"type": "outcome", "what": what, "result": "holds", "detail": ""},
            ]
        if not at:
            lines.append({"type": "end", "status": 0, "idle": 0})
        (directory / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return MachineEnd(0, ("qemu",), 0.5)

    def left_at(self, at: int) -> dict[str, bytes]:
        notes = NOTES if not at or at > self.confirmed else NOTES[:24]
        return {
            "journal": b"J" if not at or at > 500 else b"",
            "shadow": b"S" if not at or at > 550 else b"",
            "asked": notes.encode(),
        }


def key_cache(operation: str, *parameters: tuple[str, str]) -> Case:
    return Case("optee", "mbedtls-ce", "O2", operation, 1, 0, parameters)


def key_cache_outcomes(machines: KeyCaches, case: Case, directory: Path) -> list[Outcome]:
    run_case(cast(Emulator, machines), cast(ImageStore, Images()), MACHINE, case, ("/bin/x",), directory)
    records = read_records(directory / "records.jsonl")
    check_records(records, case)
    return [record for record in records if isinstance(record, Outcome)]


@pytest.fixture
def no_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built to learn where the program is to be stopped."""

    class Target:
        def recipes(self, _case: Case) -> list[SimpleNamespace]:
            return [SimpleNamespace(name="programs-keycache")]

    monkeypatch.setattr(keycache_campaign, "OPTEE_TARGETS", {"optee": Target()})
    monkeypatch.setattr(keycache_campaign, "symbol_address", lambda _file, _name: 7)


CUT_CASE = key_cache("keycache-cut", ("storage", "ree"), ("points", "5"))


@pytest.mark.usefixtures("no_images")
def test_each_cut_of_a_key_cache_goes_on_from_one_state(tmp_path: Path) -> None:
    """If this fails, cuts are prepared anew, a state is read twice, or its base is not put back with it."""
    machines = KeyCaches()
    found = key_cache_outcomes(machines, CUT_CASE, tmp_path)
    assert [(each.at, each.result) for each in found] == [
        (1, "old"),
        (250, "old"),
        (500, "old"),
        (750, "between"),
        (1000, "between"),
    ]
    assert machines.steps[0] == "prepare cut-write storage=ree"
    # The whole step, one machine for all instructions, and three that end.
    assert machines.steps.count("cut-write storage=ree") == 5
    assert machines.steps.count("cut-read storage=ree") == 2


@pytest.mark.usefixtures("no_images")
def test_a_key_cache_that_confirms_too_early_is_found(tmp_path: Path) -> None:
    """If this fails, a SET that is answered and not stored passes."""
    found = key_cache_outcomes(KeyCaches(early=True), CUT_CASE, tmp_path)
    assert [each.result for each in found] == ["old", "old", "lost", "between", "between"]
    assert "client 0 has 1 and not 2" in found[2].detail


@pytest.mark.usefixtures("no_images")
def test_a_key_cache_that_does_not_repeat_itself_is_refused(tmp_path: Path) -> None:
    """If this fails, the notes of one run judge the storage of another."""
    machines = KeyCaches()
    machines.spoil = lambda at, data: data if at != 500 else b"x" + data
    with pytest.raises(WorldwiseError, match="up to instruction 500 is not the begin"):
        key_cache_outcomes(machines, CUT_CASE, tmp_path)


@pytest.mark.parametrize("storage", ["ree", "rpmb"])
def test_what_a_key_cache_is_put_through(storage: str, tmp_path: Path) -> None:
    """If this fails, an attempt is left out, or a sign of life is taken for one."""
    machines = KeyCaches()
    found = key_cache_outcomes(machines, key_cache("keycache-hold", ("storage", storage)), tmp_path)
    tried = [what for what in HOLD_ATTEMPTS if what not in NOT_TRIED.get(storage, ())]
    assert [each.what for each in found] == tried
    assert machines.steps == [f"hold storage={storage} attempt={what}" for what in tried]
