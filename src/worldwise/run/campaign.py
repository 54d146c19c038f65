# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns: cases that take many machines, each of which does one step and is gone.

A power cut is an emulator that ends at a chosen instruction of a write. What tee-supplicant had stored by then is in a
journal on the host; a fresh machine puts it back and says what its TA reads. Tampering is one machine for each attempt,
so that none inherits what another left in OP-TEE's memory. What all machines said becomes the records of one case.

The key cache has campaigns of its own: a power cut while its server takes keys, and what else it is to withstand.
"""

import json
import re
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.families.keycache import cut as keycache_cut
from worldwise.lab import image
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Bind, Lab
from worldwise.machine.emulator import (
    CONSOLE,
    EMULATOR_LOG,
    OPTEE_TARGETS,
    RECORDS,
    SECURE_CONSOLE,
    Emulator,
    Machine,
    Plugin,
    Start,
    symbol_address,
)
from worldwise.machine.emulator import Outcome as Ran
from worldwise.plan.case import Case
from worldwise.records.globalplatform import RESULTS
from worldwise.records.models import CLOCK, End, Failure, Outcome
from worldwise.records.parse import Record, read_records

TAMPER = "tamper"
POWER_CUT = "power-cut"
KEYCACHE_HOLD = "keycache-hold"
KEYCACHE_CUT = "keycache-cut"
CAMPAIGNS = (TAMPER, POWER_CUT, KEYCACHE_HOLD, KEYCACHE_CUT)

# Raised when a campaign does something else than before: kept results are then of another one.
_METHOD = 1
_PROGRAM = "/bin/linux-bench"
# Bytes of the object that is tampered with: two blocks of the REE file system, the second not full.
TAMPER_BYTES = 7000

# A case's outcomes: the machine stopped at an instruction, and every state that storing goes through.
CUT = "cut"
STORED = "stored"
AFTER_RESTART = ", after a restart"

# A machine's sign of life, while it has nothing else to say.
_PROGRESS = "progress"

_JOURNAL = "journal"
_LENGTH = "length"
# What a key cache's machine leaves besides: what its server adds to its log of records, and what its client asked for
# and got confirmed; and what there is of the first two when its cuts begin.
_SHADOW = "shadow"
_ASKED = "asked"
_BASES = {_JOURNAL: "base", _SHADOW: "base-log"}
_CUT_READY = "worldwise_cut_ready"
_STATES = ("before.state", "after.state")
# All that a machine of a campaign may leave besides what every machine may.
_STEP_LEFT = (*_STATES, _JOURNAL, _LENGTH, _SHADOW, _ASKED)
# struct journal_entry of guest/apps/faults/journal.h.
_ENTRY = struct.Struct("<IIQII32s")
_MAGIC = 0x6C6A7777
_CONSOLES = (CONSOLE, SECURE_CONSOLE, EMULATOR_LOG)

# What is tried, by what it is done to: see guest/apps/faults/linux/tamper.c.
_FILES = (
    "flip-data",
    "flip-unused",
    "flip-node",
    "flip-header",
    "flip-directory",
    "flip-directory-header",
    "truncate-object",
    "truncate-directory",
    "delete-object",
    "delete-directory",
    "delete-files",
    "swap-blocks",
    "swap-files",
    "other-file",
    "rollback-object",
    "rollback-directory",
    "rollback-files",
)
_WIRE = ("wire-flip-answer", "wire-old-answer", "wire-flip-request", "wire-old-request")
_CHIP = ("chip-flip-data", "chip-flip-entry", "chip-remove-entry", "chip-erase")
_CHIP_ROLLBACK = ("chip-rollback-blocks", "chip-rollback")
ATTEMPTS: Mapping[str, tuple[str, ...]] = {
    "ree": ("none", "other-reads", *_FILES),
    "ree-rpmb": ("none", "other-reads", *_FILES, *_WIRE, *_CHIP, *_CHIP_ROLLBACK, "rollback-all"),
    "rpmb": ("none", "other-reads", *_WIRE, *_CHIP, "chip-swap", *_CHIP_ROLLBACK),
}
# What the key cache is to withstand: see guest/apps/keycache/linux/hold.c.
HOLD_ATTEMPTS = (
    "kill-server",
    "server-within",
    "supplicant-idle",
    "supplicant-first",
    "supplicant-known",
    "supplicant-new",
    "ta-panic",
    "record-older",
    "record-flipped",
    "record-other",
    "record-removed",
    "record-damaged",
    "full",
    "storage-older",
    "storage-older-later",
    "bucket-flipped",
    "bucket-short",
    "bucket-gone",
    "idle-1000",
    "slow-clients",
)
# RPMB has no files, and nobody but the device writes to it; connections have nothing to do with storage.
NOT_TRIED: Mapping[str, tuple[str, ...]] = {
    "rpmb": (
        "ta-panic",
        "storage-older",
        "storage-older-later",
        "bucket-flipped",
        "bucket-short",
        "bucket-gone",
        "idle-1000",
        "slow-clients",
    )
}


class CutPlugin(Plugin):
    """The emulator's plugin that ends it at an instruction: see plugin/cut.c."""

    def option(self) -> str:
        """The value of QEMU's `-plugin`."""
        return ",".join(["/plugin/cut.so", *(f"{key}={value}" for key, value in self.arguments.items())])

    def binds(self) -> list[Bind]:
        """What it needs to see in the lab."""
        return [(self.file, "/plugin/cut.so", "ro")]


def method_digest(lab: Lab, case: Case) -> tuple[str, ...]:
    """What a campaign's result depends on besides its machine and its parameters; empty for any other case."""
    if case.operation not in CAMPAIGNS:
        return ()
    return (f"campaign {_METHOD}", image.cut_plugin().digest(lab))


def run_case(
    emulator: Emulator,
    images: ImageStore,
    machine: Machine,
    case: Case,
    program: Sequence[str],
    directory: Path,
    start: Start = "snapshot",
    progress: Callable[[int], None] = lambda _: None,
) -> Ran:
    """Run a case, whether one machine does it or a campaign of many; its records appear in `directory`.

    Raises WorldwiseError as Emulator.run does, and if a machine of a campaign does not do its step.
    """
    if case.operation not in CAMPAIGNS:
        return emulator.run(machine, program, directory, start, progress)
    if start != "snapshot":
        raise WorldwiseError(
            f"{case.id}: a campaign starts its machines from the saved state, never from power-on",
            "run it without `--cold`",
        )
    campaign = _Campaign(emulator, images, machine, case, directory, progress)
    campaign.run()
    return Ran(0, tuple(campaign.command), campaign.seconds)


@dataclass
class Journal:
    """A machine's journal: its bytes, and where each entry ends."""

    data: bytes
    ends: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.ends = []
        at = 0
        while at < len(self.data):
            if at + _ENTRY.size > len(self.data):
                raise WorldwiseError("a journal ends within the head of an entry: a write of the guest's was torn")
            magic, _, _, length, _, _ = _ENTRY.unpack_from(self.data, at)
            at += _ENTRY.size + length
            if magic != _MAGIC or at > len(self.data):
                raise WorldwiseError(f"a journal has no whole entry at byte {self.ends[-1] if self.ends else 0}")
            self.ends.append(at)


def spread(length: int, points: int) -> list[int]:
    """So many instructions of a region of `length`, evenly spread, the first and the last among them."""
    if points == 1 or length == 1:
        return [length]
    return sorted({1 + (length - 1) * number // (points - 1) for number in range(points)})


def name_codes(text: str) -> str:
    """The text with the names of GlobalPlatform's result codes in their place."""

    def named(match: re.Match[str]) -> str:
        return RESULTS.get(int(match[0], 16), match[0]).partition(":")[0]

    return re.sub(r"0x[0-9a-f]{8}\b", named, text)


class _Campaign:
    def __init__(
        self,
        emulator: Emulator,
        images: ImageStore,
        machine: Machine,
        case: Case,
        directory: Path,
        progress: Callable[[int], None],
    ) -> None:
        self._emulator = emulator
        self._images = images
        self._machine = machine
        self._case = case
        self._directory = directory
        self._progress = progress
        parameters = dict(case.parameters)
        self._storage = parameters["storage"]
        self._action = parameters.get("action", "")
        self._points = int(parameters.get("points", 0))
        self._idle = 0
        # What each cut goes on from; None for the machine's own saved state.
        self._prepared: Path | None = None
        self.command: Sequence[str] = ()
        self.seconds = 0.0

    def run(self) -> None:
        case = self._case
        self._write(
            {
                "type": "start",
                "format": 2,
                "program": "optee-campaign",
                "operation": case.operation,
                "implementation": "optee",
                "clock": CLOCK,
                "unit": "instructions",
                "warmup": case.warmup,
                "samples": case.samples,
                "parameters": " ".join(case.arguments),
            }
        )
        tried = {
            TAMPER: self._tamper,
            POWER_CUT: self._power_cut,
            KEYCACHE_HOLD: self._keycache_hold,
            KEYCACHE_CUT: self._keycache_cut,
        }
        tried[case.operation]()
        self._write({"type": "end", "status": 0, "idle": self._idle})

    # --- what is tried ---

    def _tamper(self) -> None:
        size = str(TAMPER_BYTES)
        with self._step("tamper-write", self._storage, size) as work:
            states = {name: (work / name).read_bytes() for name in _STATES}
        for attempt in ATTEMPTS[self._storage]:
            with self._step("tamper", attempt, "same", self._storage, size) as work:
                self._outcome(attempt, self._said(work))
            if attempt in _WIRE:
                continue
            with self._step("tamper", attempt, "later", self._storage, size, files=states) as work:
                self._outcome(attempt + AFTER_RESTART, self._said(work))

    def _power_cut(self) -> None:
        length, files = self._uncut(_JOURNAL)
        if not files[_JOURNAL]:
            raise WorldwiseError(f"{self._case.id}: the write stores nothing: its machine left no journal")
        whole = Journal(files[_JOURNAL])
        before = len(self._cut(1, files)[_JOURNAL])
        found: dict[int, Outcome] = {}
        first = whole.ends.index(before) if before else -1

        def after(stored: int) -> Outcome:
            if stored not in found:
                found[stored] = self._recovered(whole.data[:stored])
            return found[stored]

        count = len(whole.ends) - 1 - first
        for at in spread(length, self._points):
            stored = len(self._cut(at, files)[_JOURNAL])
            if stored and stored not in whole.ends:
                raise self._other(at)
            done = (whole.ends.index(stored) if stored else -1) - first
            self._outcome(CUT, after(stored), at, f"{done} of {count} writes stored")
        # The states between those that a cut has met: with them every one that the write goes through is tried.
        for done in range(count + 1):
            stored = whole.ends[first + done] if first + done >= 0 else 0
            self._outcome(STORED, after(stored), None, f"{done} of {count} writes stored")

    def _keycache_hold(self) -> None:
        for attempt in HOLD_ATTEMPTS:
            if attempt not in NOT_TRIED.get(self._storage, ()):
                with self._step("hold", f"storage={self._storage}", f"attempt={attempt}") as work:
                    for said in _outcomes(read_records(work / RECORDS)):
                        if said.what != _PROGRESS:
                            self._outcome(said.what, said)

    def _keycache_cut(self) -> None:
        found: dict[tuple[int, int], list[Outcome]] = {}
        recipes = OPTEE_TARGETS[self._case.target].recipes(self._case)
        built = self._images.get(next(recipe for recipe in recipes if recipe.name.startswith("programs-")))
        address = symbol_address(built.file(Path(_PROGRAM).name), _CUT_READY)
        with tempfile.TemporaryDirectory(prefix="ww-campaign-") as temporary:
            program = [_PROGRAM, *self._write_step()]
            self._prepared = self._emulator.prepare(
                self._machine, program, address, Path(temporary), tuple(_BASES.values())
            )
            base = {name: (self._prepared / file).read_bytes() for name, file in _BASES.items()}
            length, whole = self._uncut(*base, _ASKED)
            for at in spread(length, self._points):
                left = self._cut(at, whole)
                stored = len(left[_JOURNAL]), len(left[_SHADOW])
                if stored not in found:
                    files = {name: content + left[name] for name, content in base.items()}
                    with self._step("cut-read", f"storage={self._storage}", files=files) as work:
                        found[stored] = _outcomes(read_records(work / RECORDS))
                self._outcome(CUT, keycache_cut.judge(left[_ASKED].decode("ascii"), found[stored]), at)

    def _uncut(self, *names: str) -> tuple[int, dict[str, bytes]]:
        """A machine that is not stopped. Returns its region's length and the files of these names that it left."""
        with self._step(*self._write_step(), plugin=self._plugin({"out": f"/run/{_LENGTH}"})) as work:
            try:
                length = int((work / _LENGTH).read_text(encoding="ascii"))
            except (OSError, ValueError) as error:
                raise WorldwiseError(
                    f"{self._case.id}: the plugin did not say how long the write is: {error}"
                ) from None
            return length, _left(work, names)

    def _cut(self, at: int, whole: Mapping[str, bytes]) -> dict[str, bytes]:
        """A machine that is stopped at an instruction. Returns what it left of the files of the whole."""
        with self._step(*self._write_step(), plugin=self._plugin({"at": str(at)}), whole=False) as work:
            records = read_records(work / RECORDS)
            if any(isinstance(record, End) for record in records):
                raise WorldwiseError(f"{self._case.id}: the machine was to be stopped at instruction {at}, it was not")
            left = _left(work, whole)
        if any(data != whole[name][: len(data)] for name, data in left.items()):
            raise self._other(at)
        return left

    def _other(self, at: int) -> WorldwiseError:
        return WorldwiseError(
            f"{self._case.id}: what was stored up to instruction {at} is not the begin of what the whole write stores",
            "this is a defect of the first order: machines do not repeat themselves",
        )

    def _write_step(self) -> tuple[str, ...]:
        if self._case.operation == KEYCACHE_CUT:
            return ("cut-write", *(word for word in self._case.arguments if not word.startswith("points=")))
        return ("cut-write", self._storage, self._action, str(self._case.size))

    def _recovered(self, journal: bytes) -> Outcome:
        step = ("cut-read", self._storage, self._action, str(self._case.size))
        with self._step(*step, files={_JOURNAL: journal}) as work:
            return self._said(work)

    # --- machines ---

    def _plugin(self, arguments: Mapping[str, str]) -> CutPlugin:
        return CutPlugin(self._images.get(image.cut_plugin()).file("cut.so"), arguments)

    @contextmanager
    def _step(
        self,
        *arguments: str,
        files: Mapping[str, bytes] | None = None,
        plugin: Plugin | None = None,
        whole: bool = True,
    ) -> Iterator[Path]:
        """One machine; yields its folder, which is gone afterwards. One that is not stopped must end well."""
        with tempfile.TemporaryDirectory(prefix="ww-campaign-") as temporary:
            work = Path(temporary)
            for name, content in (files or {}).items():
                (work / name).write_bytes(content)
            try:
                ran = self._emulator.run(
                    self._machine,
                    [_PROGRAM, *arguments],
                    work,
                    plugin=plugin,
                    prepared=self._prepared if plugin else None,
                    left=_STEP_LEFT,
                )
                self.seconds += ran.wall_seconds
                self.command = self.command or ran.command
                if whole:
                    self._check(work, arguments)
                yield work
            finally:
                self._keep_consoles(work, arguments)

    def _keep_consoles(self, work: Path, arguments: Sequence[str]) -> None:
        """What a machine said goes behind what those before it said."""
        for name in _CONSOLES:
            text = (work / name).read_bytes() if (work / name).exists() else b""
            with (self._directory / name).open("ab") as file:
                if text.strip():
                    file.write(f"== {' '.join(arguments)}\n".encode() + text)

    def _check(self, work: Path, arguments: Sequence[str]) -> None:
        records = read_records(work / RECORDS)
        for record in records:
            if isinstance(record, Failure):
                raise WorldwiseError(
                    f"{self._case.id}: {' '.join(arguments)}: {name_codes(record.message)}",
                    details=self._emulator.diagnosis(work, self._machine),
                )
        if not isinstance(records[-1], End) or records[-1].status:
            raise WorldwiseError(
                f"{self._case.id}: {' '.join(arguments)}: the machine did not finish its step",
                details=self._emulator.diagnosis(work, self._machine),
            )
        self._idle += records[-1].idle

    def _said(self, work: Path) -> Outcome:
        return _only_outcome(read_records(work / RECORDS), self._case.id)

    # --- records ---

    def _outcome(self, what: str, said: Outcome, at: int | None = None, more: str = "") -> None:
        record: dict[str, str | int] = {
            "type": "outcome",
            "what": what,
            "result": name_codes(said.result),
            "detail": "; ".join(filter(None, (more, name_codes(said.detail)))),
        }
        if at is not None:
            record["at"] = at
        self._write(record)

    def _write(self, record: Mapping[str, str | int]) -> None:
        with (self._directory / RECORDS).open("a", encoding="ascii") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            self._progress(file.tell())


def _left(work: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Files that a machine left; one that it did not come to is empty."""
    return {name: (work / name).read_bytes() if (work / name).exists() else b"" for name in names}


def _outcomes(records: Sequence[Record]) -> list[Outcome]:
    return [record for record in records if isinstance(record, Outcome)]


def _only_outcome(records: Sequence[Record], case: str) -> Outcome:
    found = _outcomes(records)
    if len(found) != 1:
        raise WorldwiseError(f"{case}: a machine told of {len(found)} outcomes instead of one")
    return found[0]
