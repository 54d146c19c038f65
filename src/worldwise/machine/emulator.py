# SPDX-License-Identifier: BSD-2-Clause
"""Targets: machines that run a case and send back its records.

An emulated machine is booted once, stopped at one and the same instruction, and its state saved. Every case starts
from that state, so neither the order of the cases nor the host can change a digit.
"""

import asyncio
import contextlib
import functools
import hashlib
import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal, Protocol

from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from filelock import FileLock
from qemu.qmp import QMPClient, QMPError

from worldwise.base.errors import WorldwiseError
from worldwise.families.echo.client import HOST_FILE, EchoClient
from worldwise.families.keycache import app as keycache_app
from worldwise.families.keycache import build as keycache
from worldwise.lab import debian, image, sandbox
from worldwise.lab.image import Image, ImageStore, Recipe
from worldwise.lab.lab import Bind, Lab, refusal_in
from worldwise.lab.sandbox import Limits, Watch
from worldwise.libraries import own
from worldwise.libraries.apps import ABUSE, APPS, ATTESTATION, app_of
from worldwise.libraries.crates import Crates, crate_folder
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import NO_CURVE, find
from worldwise.machine.gdbstub import GdbStub
from worldwise.plan.case import Case

READY_SYMBOL = "worldwise_machine_ready"
RECORDS = "records.jsonl"
TRACE = "trace.jsonl"
CONSOLE = "console.log"
SECURE_CONSOLE = "secure.log"
EMULATOR_LOG = "qemu.log"
# What every machine may leave for the host. One that is saved leaves its state, one that is watched its trace, and a
# campaign names what its own leave besides.
_LEFT = (RECORDS, CONSOLE, SECURE_CONSOLE, "machine")
_STATE = "state"

# What QEMU sees of the lab: nothing that it could run, or that a guest could have run by semihosting.
_QEMU = "qemu-system-aarch64"
_QEMU_PARTS = (f"/usr/bin/{_QEMU}", "/usr/lib", "/usr/lib64")
# It starts no program and takes no other rights, whatever a guest makes of it.
_QEMU_SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")

Start = Literal["snapshot", "boot"]

# How many times as long as a boot a program may take to get where its state is saved.
_PREPARE = 5
# Boots until one stops as it must: one does, unless the host is so busy that QEMU's main loop does not get its turn.
_ATTEMPTS = 3
# Instructions: between the two readings around the stop there are three, where a reading is one.
LEAST_SKIP = 100
# Lines of each console shown when something went wrong, and bytes of its end that are looked at.
_CONSOLE_TAIL = 25
_CONSOLE_BYTES = 256 * sandbox.KIB
# Seconds between two looks at what a machine has written.
_LOOK = 0.05
_CONSOLES = (EMULATOR_LOG, CONSOLE, SECURE_CONSOLE)

# OP-TEE's words: where ldelf put a file, and one address of a call stack (E/LD of a TA, E/TC of the core).
_LOADED = re.compile(r"\[\d+\] ([0-9a-f-]{36}) @ 0x([0-9a-f]+)")
_FRAME = re.compile(r"E/(LD|TC):\S*\s+(?:\d+ +)?0x([0-9a-f]+)(?: |$)")

# Memory: firmware puts the kernel at 0x60000000; the initramfs stands well above it.
_INITRAMFS_ADDRESS = 0x68000000

# The date comes from virtual time too.
FIXED_DATE = ("-rtc", "base=2025-01-01T00:00:00,clock=vm")
# Every switch that makes a machine repeat itself to the digit. tests/machine/test_determinism.py takes each away.
DETERMINISM = (
    # One instruction is one nanosecond of virtual time, and idle time is skipped, not waited for.
    ("-icount", "shift=0,align=off,sleep=off"),
    FIXED_DATE,
)
# No random seed in the device tree, which would reach both worlds' generators.
DETERMINISTIC_MACHINE = "dtb-randomness=off"


# The id of what a network card is plugged into.
_NETWORK = "host"


class Beside(Protocol):
    """What runs on the host beside a machine and talks to it through the machine's network card.

    Such a machine follows the host's clock, not its own: nothing is counted on it.
    """

    def running(self, directory: Path, live: Path) -> contextlib.AbstractContextManager[str]:
        """Runs from before the machine starts until it has ended; gives the forwarding for QEMU's user network.

        It may put files into the case's directory. What the machine writes it may look at in `live`, not trust.
        Raises WorldwiseError at the end if it failed.
        """


@dataclass(frozen=True)
class Machine:
    """An emulated machine: what it is made of and how QEMU is told.

    Attributes:
        name: shown to people.
        files: file name in the machine's folder -> where it is now.
        digests: file name -> SHA-256.
        arguments: of QEMU, with file names relative to the machine's folder `/machine`.
        images: provenance: image name -> address.
        ready: address of the instruction before which the machine is stopped and saved; None for one that boots within
            milliseconds, so that every case begins at power-on.
        symbols: ELF files that name addresses of the monitor and the secure world: name or UUID -> file.
        preload: names that firmware loads from its current directory.
        footprint: bytes of `flash` and `ram` that the measured operation takes, where programs are linked for one; in
            plain Linux those of the library with all operations of the case's curve; of `ta_loaded` and `ta_file`
            where a TA is one of several that do the same.
        beside: what runs on the host beside it; only a machine that has it has a network card.
        least_skip: instructions between those two readings that are more than the readings themselves can take.
        brought: of `files`, those that a machine sees only once a case begins: no part of its saved state.
        patience: seconds for which its programs may record nothing, where that is more than other machines are given.
    """

    name: str
    files: Mapping[str, Path]
    digests: Mapping[str, str]
    arguments: tuple[str, ...]
    images: Mapping[str, str]
    ready: int | None
    symbols: Mapping[str, Path]
    preload: tuple[str, ...]
    footprint: Mapping[str, int] | None = None
    beside: Beside | None = None
    least_skip: int = LEAST_SKIP
    brought: tuple[str, ...] = ()
    patience: float = 0

    def digest(self, lab: Lab) -> str:
        """The machine's address: lab (so QEMU itself), files, arguments, stopping point."""
        return self._digest(lab, self.digests)

    def state_digest(self, lab: Lab) -> str:
        """The address of its saved state: the same without what a case brings."""
        return self._digest(lab, {name: sha for name, sha in self.digests.items() if name not in self.brought})

    def _digest(self, lab: Lab, digests: Mapping[str, str]) -> str:
        inputs = [lab.digest, sorted(digests.items()), self.arguments, self.ready]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


@dataclass(frozen=True)
class Plugin:
    """The emulator's plugin for one run. It changes no count; what it sees appears as `trace.jsonl` beside the records.

    Attributes:
        file: the plugin.
        arguments: its arguments but the output's name; see plugin/worldwise/arguments.h.
        functions: where functions begin and end, for its argument of that name; None for none.
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


@dataclass(frozen=True)
class Outcome:
    """What running a case gave: files in its directory, the command, and how the emulator ended."""

    status: int
    command: tuple[str, ...]
    wall_seconds: float


class Target(Protocol):
    """A kind of machine. Adding one is one class; targets.py names it."""

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The machine the case runs on, its images built if need be."""

    def program(self, case: Case) -> Sequence[str]:
        """The command line that runs the case on the machine."""


@dataclass(frozen=True)
class OpteeMachineTarget:
    """TF-A, OP-TEE and Linux on one emulated Cortex-A72.

    The targets `optee` and `linux` differ in the program alone: both worlds are measured on one and the same machine.
    """

    executable: str
    memory_mib: int = 1024
    core: str = "cortex-a72"
    # Of every case, where the case itself has nothing on the host.
    beside: Beside | None = None

    def recipes(self, case: Case) -> Sequence[Recipe]:
        """The images the case needs."""
        common = (image.firmware(case.ticks_in_both_worlds), image.kernel())
        app = _app(case)
        if app:
            core = case.implementation if case.implementation in IMPLEMENTATIONS else image.APP_CORE
            built = _app_programs(app, case)
            initramfs = image.app_initramfs(app, built)
            return (
                *common,
                image.optee(core, case.optimisation, _feature(case)),
                built,
                image.net_initramfs(initramfs) if self._beside(case) else initramfs,
            )
        if case.implementation in IMPLEMENTATIONS:
            variant = (case.implementation, case.optimisation)
            return (*common, image.optee(*variant), image.programs(*variant), image.initramfs(*variant))
        # A library that is not OP-TEE's is compiled into the TA.
        implementation = find(case.implementation)
        source = crate_folder(implementation, Crates())
        return (
            *common,
            image.optee(own.OPTEE_VARIANT, case.optimisation),
            own.programs(implementation, case.optimisation, source),
            own.initramfs(implementation, case.optimisation, source),
        )

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The machine of the case's variant."""
        if _app(case) == keycache_app.APP:
            keycache.programs(images.notify)  # here, so that it is told
        with own.told(case.implementation):
            firmware, kernel, optee, programs, initramfs = (images.get(recipe) for recipe in self.recipes(case))
        parts = [
            (firmware, "bl1.bin"),
            (firmware, "bl2.bin"),
            (firmware, "bl31.bin"),
            (optee, "bl32.bin"),
            (optee, "bl32_extra1.bin"),
            (optee, "bl32_extra2.bin"),
            (initramfs, "initramfs.cpio"),
        ]
        files = {name: part.file(name) for part, name in parts} | {"bl33.bin": kernel.file("Image")}
        digests = {name: part.files[name] for part, name in parts} | {"bl33.bin": kernel.files["Image"]}
        app = _app(case)
        ta = APPS[app].uuid if app else image.ATTEST_TA
        beside = self._beside(case)
        used: tuple[Image, ...] = (firmware, kernel, optee, programs, initramfs)
        return Machine(
            name="-".join(
                filter(
                    None,
                    (
                        "optee",
                        app,
                        "net" * bool(beside),
                        case.variant,
                        _feature(case),
                        "ticks" * case.ticks_in_both_worlds,
                    ),
                )
            ),
            files=files,
            digests=digests,
            arguments=self._arguments(files["initramfs.cpio"].stat().st_size, bool(beside)),
            images={part.name: part.digest for part in used},
            ready=symbol_address(programs.file("init"), READY_SYMBOL),
            symbols={
                "bl31": firmware.file("bl31.elf"),
                "tee": optee.file("tee.elf"),
                "ldelf": optee.file("ldelf.elf"),
                ta: programs.file(f"{ta}.elf"),
            },
            preload=("bl2.bin", "bl31.bin", "bl32.bin", "bl32_extra1.bin", "bl32_extra2.bin", "bl33.bin"),
            footprint=ta_footprint(programs, ta) if app == own.CRYPTO else None,
            beside=beside,
            patience=keycache_app.PATIENCE if app == keycache_app.APP else 0,
        )

    def program(self, case: Case) -> Sequence[str]:
        """The measured program with the case's operation, warm-up, samples and parameters."""
        return (self.executable, case.operation, str(case.warmup), str(case.samples), *case.arguments)

    def _beside(self, case: Case) -> Beside | None:
        """What runs on the host beside the case's machine."""
        return EchoClient(case) if case.operation == "echo-host" else self.beside

    def _arguments(self, initramfs_bytes: int, network: bool) -> tuple[str, ...]:
        # cntfrq: the generic timer then ticks once per instruction, in every world.
        # cryptomgr.notests: the kernel's self-tests would share the core with the first case.
        # nokaslr, norandmaps: addresses that a later look at the run can name.
        boot = (
            f"console=ttyAMA0 loglevel=6 panic=-1 nokaslr norandmaps cryptomgr.notests "
            f"initrd={_INITRAMFS_ADDRESS:#x},{initramfs_bytes}"
        )
        return (
            "-M", f"virt,secure=on,gic-version=3,{DETERMINISTIC_MACHINE}",
            "-cpu", f"{self.core},cntfrq=1000000000",
            "-smp", "1",
            "-m", str(self.memory_mib),
            # A machine that waits for the host must not skip the time for which it waits.
            *(FIXED_DATE if network else (word for switch in DETERMINISM for word in switch)),
            *(("-device", f"virtio-net-pci,netdev={_NETWORK},mac=52:54:00:12:34:56,romfile=") if network else ()),
            "-bios", "/machine/bl1.bin",
            "-kernel", "/machine/bl33.bin",
            "-append", boot,
            "-device", f"loader,file=/machine/initramfs.cpio,addr={_INITRAMFS_ADDRESS:#x},force-raw=on",
            "-semihosting-config", "enable=on,userspace=on,target=native",
        )  # fmt: skip


def ta_footprint(programs: Image, ta: str) -> dict[str, int]:
    """The bytes of a TA: `ta_loaded` of its code, constants and initial values, `ta_file` of its signed file.

    Stack and heap are not in it, nor are the data that begin as zeros.
    """
    with programs.file(f"{ta}.elf").open("rb") as file:
        loaded = sum(
            section["sh_size"]
            for section in ELFFile(file).iter_sections()
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_type"] != "SHT_NOBITS"
        )
    return {"ta_loaded": loaded, "ta_file": programs.file(f"{ta}.ta").stat().st_size}


def _app(case: Case) -> str:
    return app_of(case.operation, dict(case.parameters))


def _app_programs(app: str, case: Case) -> Recipe:
    if app == keycache_app.APP:
        built = keycache.programs()
        measured = case.operation == keycache_app.MEASURED
        return keycache_app.app_programs(case.implementation, case.optimisation, _feature(case), measured, built)
    if app != own.CRYPTO:
        return image.app_programs(
            app, case.implementation, case.optimisation, _feature(case), _base(APPS[app].borrows, case)
        )
    curve = case.curve or (NO_CURVE if case.operation != ABUSE else own.TEE_CURVE)
    return own.crypto_programs(
        case.implementation, case.optimisation, curve, lambda library: crate_folder(library, Crates())
    )


def _base(borrowed: str, case: Case) -> Recipe | None:
    """The programs whose TA an app has that has none of its own; see App."""
    if not borrowed:
        return None
    if borrowed == ATTESTATION:
        return image.programs(case.implementation, case.optimisation)
    implementation = find(borrowed)
    return own.programs(implementation, case.optimisation, crate_folder(implementation, Crates()))


def _feature(case: Case) -> str:
    """What the case needs of OP-TEE: a key of image.FEATURES."""
    return "rpmb" if "rpmb" in dict(case.parameters).get("storage", "") else ""


OPTEE_TARGETS: Mapping[str, OpteeMachineTarget] = {
    "optee": OpteeMachineTarget("/bin/optee-client"),
    "linux": OpteeMachineTarget("/bin/linux-bench"),
}


class Emulator:
    """Boots machines, keeps their snapshots, and runs cases on them. Safe for threads.

    Args:
        lab: holds QEMU.
        notify: called with a line of text when a machine is booted.
        boot_limit: seconds a machine may take to get ready.
        silence_limit: seconds without a new record after which a machine counts as hanging.
        time_limit: seconds after which a machine is stopped even if records still come.
        limits: what a machine may use of the host.
    """

    def __init__(
        self,
        lab: Lab,
        notify: Callable[[str], None] = lambda _: None,
        boot_limit: float = 180,
        silence_limit: float = 120,
        time_limit: float = 4 * 3600,
        limits: Limits = sandbox.EMULATOR,
    ) -> None:
        self.lab = lab
        self.notify = notify
        self.boot_limit = boot_limit
        self.silence_limit = silence_limit
        self.time_limit = time_limit
        self.limits = limits
        self.directory = lab.cache / "snapshots"
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopping = False

    # --- snapshots ---

    def snapshot(self, machine: Machine) -> Path:
        """The machine's saved state, made if it is not there or damaged. Returns its folder.

        Raises WorldwiseError if the machine does not get ready; the consoles' ends are in the details.
        """
        digest = machine.state_digest(self.lab)
        final = self._snapshot_directory(machine)
        self.directory.mkdir(parents=True, exist_ok=True)
        with FileLock(self.directory / f".{digest[:12]}.lock"):
            problem = _snapshot_problem(final, digest)
            if not problem:
                return final
            if final.exists():
                self.notify(f"snapshot of {machine.name}: {problem}; booting anew")
                shutil.rmtree(final)
            self.notify(f"booting {machine.name}")
            debian.require_space(self.directory, 300_000_000, "a machine's snapshot")
            work = Path(tempfile.mkdtemp(dir=self.directory, prefix=".booting-"))
            try:
                for attempt in range(1, _ATTEMPTS + 1):
                    self._boot_and_save(machine, work)
                    if self._snapshot_stopped_well(machine, work):
                        break
                    self._not_stopped_well(machine, attempt)
                manifest = {
                    "digest": digest,
                    "machine": machine.name,
                    "files": {_STATE: debian.file_sha256(work / _STATE)},
                }
                (work / "snapshot.json").write_text(json.dumps(manifest) + "\n", encoding="utf-8")
                work.rename(final)
            finally:
                shutil.rmtree(work, ignore_errors=True)
        return final

    def prepare(
        self, machine: Machine, program: Sequence[str], address: int, directory: Path, left: Sequence[str] = ()
    ) -> Path:
        """The state of a machine whose program has got to an instruction, saved for `run`. Returns its folder.

        Args:
            machine: what to run on.
            program: its command line on the machine. It has no file of the host open there: none would be later.
            address: virtual, of an instruction that no other program of the machine has there.
            directory: an empty folder, in which the program's files appear, and the state.
            left: files that the program leaves besides those of every machine.

        Raises WorldwiseError if the program does not get there.
        """
        (directory / "case").write_text("\n".join(program) + "\n", encoding="ascii")
        snapshot = _state_of(self.snapshot(machine))
        with self._sockets() as sockets, self._room(directory, (*left, _STATE)) as room:
            extra = [*_stopped_options(), "-incoming", "file:/snapshot/state"]
            process = self._start(self._command(machine, room, sockets, extra, [snapshot]), directory)
            try:
                limit = _PREPARE * self.boot_limit
                debugger = GdbStub(sockets / "gdb", limit, lambda: process.poll() is None)
                with debugger:
                    asyncio.run(_restored_by(sockets / "qmp", self.boot_limit))
                    debugger.run_to(address)
                    asyncio.run(_save(sockets / "qmp", f"/run/{_STATE}"))
            except (WorldwiseError, QMPError, OSError, EOFError) as error:
                self._end(process)
                _raise_refusal(directory)
                raise WorldwiseError(
                    f"{program[0]} on {machine.name} did not get where its state is saved: {error}",
                    details=self.diagnosis(directory, machine, room),
                ) from None
            finally:
                self._end(process)
        for file in ("case", "machine"):
            (directory / file).unlink(missing_ok=True)
        return directory

    def _snapshot_stopped_well(self, machine: Machine, snapshot: Path) -> bool:
        """Restore a new snapshot once, for the two readings around the stop."""
        with tempfile.TemporaryDirectory(dir=snapshot) as work:
            directory = Path(work)
            (directory / "case").write_text("/bin/faults\n", encoding="ascii")
            with self._room(directory) as room:
                self._restored(machine, _state_of(snapshot), directory, room, lambda _: None)
            return _stopped_well(directory, machine.least_skip)

    def _snapshot_directory(self, machine: Machine) -> Path:
        return self.directory / machine.state_digest(self.lab)[:12]

    def _boot_and_save(self, machine: Machine, work: Path) -> None:
        began = time.monotonic()
        with (
            self._sockets() as sockets,
            self._room(work, (_STATE,)) as room,
            self._booted(machine, work, room, sockets),
        ):
            try:
                asyncio.run(_save(sockets / "qmp", f"/run/{_STATE}"))
            except (QMPError, OSError, EOFError) as error:
                raise WorldwiseError(f"the state of {machine.name} could not be saved: {error}") from None
        self.notify(f"booted {machine.name} in {time.monotonic() - began:.1f} s")

    @contextlib.contextmanager
    def _booted(
        self, machine: Machine, directory: Path, room: Path, sockets: Path, forward: str = ""
    ) -> Iterator[tuple[subprocess.Popen[bytes], GdbStub, list[str]]]:
        """A machine from power-on to the instruction before which it is ready, stopped there; ended on exit."""
        command = self._command(machine, room, sockets, _stopped_options(), forward=forward)
        for name in machine.preload:
            # Firmware opens these by bare name in QEMU's current directory.
            (room / name).symlink_to(f"/machine/{name}")
        process = self._start(command, directory)
        try:
            try:
                debugger = GdbStub(sockets / "gdb", self.boot_limit, lambda: process.poll() is None)
                assert machine.ready is not None
                debugger.run_to(machine.ready)
            except WorldwiseError as error:
                started = process.poll() is None
                self._end(process)
                _raise_refusal(directory)
                said = "" if started else _last_line(directory / EMULATOR_LOG)
                problem = _panic(room) or (f"QEMU did not start: {said}" if said else error.message)
                raise WorldwiseError(
                    f"machine {machine.name} did not boot: {problem}",
                    details=self.diagnosis(directory, machine, room),
                ) from None
            with debugger:
                yield process, debugger, command
        finally:
            self._end(process)

    @contextlib.contextmanager
    def _sockets(self) -> Iterator[Path]:
        """A folder with a short name for a machine's sockets."""
        with tempfile.TemporaryDirectory(prefix="ww-") as name, sandbox.lent([Path(name)]):
            yield Path(name)

    @contextlib.contextmanager
    def _room(self, directory: Path, left: Sequence[str] = ()) -> Iterator[Path]:
        """The folder that a machine writes to, with a copy of the files in a case's directory.

        When the machine has ended, what it left of the files it may leave is moved to that directory. Raises
        WorldwiseError if one of these is not a regular file.
        """
        with sandbox.scratch(self.lab.cache) as place:
            room = place / "run"
            sandbox.copy_in(directory, room, _CONSOLES.__contains__)
            try:
                with sandbox.lent([room]):
                    yield room
            finally:
                for name in (*_LEFT, *left):
                    sandbox.take_file(room / name, directory / name, self.limits.disk, "the emulated machine")

    # --- cases ---

    def run(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        start: Start = "snapshot",
        progress: Callable[[int], None] = lambda _: None,
        plugin: Plugin | None = None,
        prepared: Path | None = None,
        left: Sequence[str] = (),
    ) -> Outcome:
        """Run one program on the machine; records and consoles appear in `directory` as they are written.

        Args:
            machine: what to run on.
            program: its command line on the machine.
            directory: an empty folder.
            start: from the saved state, or from a cold boot.
            progress: called now and then with the size of the records so far, in bytes.
            plugin: attached to the emulator of a restored machine.
            prepared: the folder that `prepare` gave: the program goes on from there, not from its begin.
            left: files that the machine leaves besides those of every machine.

        Raises WorldwiseError if the machine hangs, QEMU cannot start, or the tool is being stopped.
        """
        began = time.monotonic()
        if plugin:
            left = (*left, TRACE)
        if machine.ready is None:
            with self._room(directory, left) as room:
                status, command = self._at_once(machine, program, directory, room, progress, plugin)
            self._judge(status, directory, machine)
            return Outcome(status, tuple(self._plain(command)), time.monotonic() - began)
        if plugin and start != "snapshot":
            raise ValueError("a plugin watches restored machines")
        snapshot = _state_of(prepared or self.snapshot(machine)) if start == "snapshot" else None
        for attempt in range(1, _ATTEMPTS + 1):
            (directory / "case").write_text("\n".join(program) + "\n", encoding="ascii")
            try:
                with (
                    self._room(directory, left) as room,
                    machine.beside.running(directory, room)
                    if machine.beside
                    else contextlib.nullcontext("") as forward,
                ):
                    if snapshot:
                        status, command = self._restored(machine, snapshot, directory, room, progress, plugin, forward)
                    else:
                        status, command = self._from_power_on(machine, directory, room, progress, forward)
                stopped_well = _stopped_well(directory, machine.least_skip)
            finally:
                for name in ("case", "machine"):
                    (directory / name).unlink(missing_ok=True)
            if snapshot or stopped_well:
                break
            self._not_stopped_well(machine, attempt)
            (directory / RECORDS).unlink(missing_ok=True)
        self._judge(status, directory, machine)
        return Outcome(status, tuple(self._plain(command)), time.monotonic() - began)

    def _at_once(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        room: Path,
        progress: Callable[[int], None],
        plugin: Plugin | None,
    ) -> tuple[int, list[str]]:
        """A machine whose program gets its command line from the emulator."""
        words = "".join(f",arg={word.replace(',', ',,')}" for word in program)
        extra = ["-semihosting-config", f"enable=on,target=native{words}"]
        return self._to_the_end(machine, directory, room, progress, extra, [], plugin)

    def _restored(
        self,
        machine: Machine,
        snapshot: Bind,
        directory: Path,
        room: Path,
        progress: Callable[[int], None],
        plugin: Plugin | None = None,
        forward: str = "",
    ) -> tuple[int, list[str]]:
        extra = ["-incoming", "file:/snapshot/state"]
        return self._to_the_end(machine, directory, room, progress, extra, [snapshot], plugin, forward)

    def _to_the_end(
        self,
        machine: Machine,
        directory: Path,
        room: Path,
        progress: Callable[[int], None],
        extra: Sequence[str],
        binds: Sequence[Bind],
        plugin: Plugin | None,
        forward: str = "",
    ) -> tuple[int, list[str]]:
        if plugin:
            extra = [*extra, "-plugin", plugin.option()]
            binds = [*binds, *plugin.binds()]
        command = self._command(machine, room, None, extra, binds, forward)
        process = self._start(command, directory)
        try:
            self._watch(process, directory, room, machine, progress)
        finally:
            self._end(process)
        return process.returncode, command

    def _from_power_on(
        self, machine: Machine, directory: Path, room: Path, progress: Callable[[int], None], forward: str
    ) -> tuple[int, list[str]]:
        with (
            self._sockets() as sockets,
            self._booted(machine, directory, room, sockets, forward) as (process, debugger, command),
        ):
            debugger.go()
            self._watch(process, directory, room, machine, progress)
        return process.returncode, command

    def _not_stopped_well(self, machine: Machine, attempt: int) -> None:
        """See machine_ready() in guest/linux/init.c. Another attempt, or an error if this was the last."""
        if attempt == _ATTEMPTS:
            raise WorldwiseError(
                f"machine {machine.name} was never stopped as it must be, in {_ATTEMPTS} attempts",
                "try again with less load on this machine",
            )
        self.notify(f"{machine.name} was not stopped as it must be; booting anew")

    def diagnosis(self, directory: Path, machine: Machine, room: Path | None = None) -> str:
        """The ends of the consoles in a case's directory, for a person to read.

        A backtrace of the secure world gets its functions and source lines. `room`: where the machine's consoles still
        are while it is there.
        """
        parts = []
        for name, title in zip(_CONSOLES, ("QEMU", "Linux console", "OP-TEE console"), strict=True):
            text = _console(directory if name == EMULATOR_LOG else room or directory, name)
            lines = [line.rstrip() for line in text.splitlines() if line.strip()][-_CONSOLE_TAIL:]
            if name == SECURE_CONSOLE:
                lines = symbolise(lines, machine.symbols, self.lab)
            if lines:
                parts.append(f"--- {title} ---\n" + "\n".join(lines))
        return "\n".join(parts)

    def stop(self) -> None:
        """End every emulator this object started; `run` and `snapshot` then raise."""
        self._stopping = True
        for process in list(self._running):
            self._end(process)

    def _watch(
        self,
        process: subprocess.Popen[bytes],
        directory: Path,
        room: Path,
        machine: Machine,
        progress: Callable[[int], None],
    ) -> None:
        size = -1
        began = heard = time.monotonic()
        limit = max(self.silence_limit, machine.patience)
        watch = Watch(self.limits, [room])
        while not sandbox.ended(process, _LOOK):
            now = 0
            for path in (room / RECORDS, directory / HOST_FILE):
                with contextlib.suppress(FileNotFoundError):
                    now += path.lstat().st_size
            if now != size:
                size, heard = now, time.monotonic()
                progress(size)
            elif time.monotonic() - heard > limit:
                self._end(process)
                problem = _panic(room) or f"hangs: no record for {limit:.0f} s; it was stopped"
                raise WorldwiseError(
                    f"machine {machine.name}: {problem}",
                    "`--silence` gives it more time; the consoles are kept beside the records",
                    self.diagnosis(directory, machine, room),
                )
            problem = watch.problem(process.pid)
            if not problem and time.monotonic() - began > self.time_limit:
                problem = f"it did not end within {self.time_limit:.0f} s"
            if problem:
                self._end(process)
                raise WorldwiseError(
                    f"machine {machine.name} was stopped: {problem}",
                    "no program of worldwise's own needs as much: look at what the library does",
                    self.diagnosis(directory, machine, room),
                )
        if self._stopping:
            raise WorldwiseError("stopped")

    def _judge(self, status: int, directory: Path, machine: Machine) -> None:
        """Raise if the machine did not end of its own: by the program's status, 0 or 1, through init."""
        panic = _panic(directory)
        if not (directory / RECORDS).exists():
            _raise_refusal(directory)
        if panic:
            problem = panic
        elif not (directory / RECORDS).exists() and (said := _last_line(directory / EMULATOR_LOG)):
            problem = f"QEMU did not start: {said}"
        elif status not in (0, 1):
            # bubblewrap reports a child ended by a signal as a shell does.
            cause = signal.Signals(status - 128).name if status - 128 in list(signal.Signals) else f"status {status}"
            problem = f"QEMU ended with {cause} before the case was done"
            broken = sandbox.broken_limit(status, "", self.limits)
            problem += f": {broken}" if broken else ""
        else:
            return
        raise WorldwiseError(f"machine {machine.name}: {problem}", details=self.diagnosis(directory, machine))

    # --- processes ---

    def _command(
        self,
        machine: Machine,
        run: Path,
        sockets: Path | None,
        extra: Sequence[str],
        binds: Sequence[Bind] = (),
        forward: str = "",
    ) -> list[str]:
        """The command in the lab, which sees the host's network only if something is forwarded."""
        # Of this network the guest sees what is forwarded and no more.
        user = ",".join(filter(None, (f"user,id={_NETWORK},restrict=on", forward)))
        argv = [
            _QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            *_QEMU_SANDBOX,
            *machine.arguments,
            *(("-netdev", user) if machine.beside else ()),
            "-serial", f"file:/run/{CONSOLE}",
            "-serial", f"file:/run/{SECURE_CONSOLE}",
            *extra,
        ]  # fmt: skip
        files: list[Bind] = [(path, f"/machine/{name}", "ro") for name, path in machine.files.items()]
        sockets_bind: list[Bind] = [(sockets, "/sockets", "rw")] if sockets else []
        seen = [*files, *binds, *sockets_bind, (run, "/run", "rw")]
        return self.lab.command(
            argv, binds=seen, chdir="/run", network=bool(forward), limits=self.limits, parts=_QEMU_PARTS
        )

    @staticmethod
    def _plain(command: Sequence[str]) -> Sequence[str]:
        """QEMU's own command line, the same on every host: what stands behind those that make the sandbox."""
        return command[command.index(_QEMU) :]

    def _start(self, command: Sequence[str], directory: Path) -> subprocess.Popen[bytes]:
        if self._stopping:
            raise WorldwiseError("stopped")
        with (directory / EMULATOR_LOG).open("wb") as log:
            # A session of its own: Ctrl-C is the tool's to handle, which ends QEMU in an orderly way.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running.add(process)
        if self._stopping:
            process.kill()  # `stop` may have come before it could see this one
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End bubblewrap, and with it its pid namespace: QEMU cannot stay behind."""
        if process.poll() is None:
            process.kill()
            process.wait()
        self._running.discard(process)


def _state_of(folder: Path) -> Bind:
    """A machine's saved state, for a machine to begin from."""
    return (folder / _STATE, f"/snapshot/{_STATE}", "ro")


def _stopped_options() -> list[str]:
    """Options of QEMU for a machine that a debugger lets run to where its state is saved."""
    return [
        "-S",
        *("-gdb", "unix:/sockets/gdb,server=on,wait=off"),
        *("-qmp", "unix:/sockets/qmp,server=on,wait=off"),
        # Where a machine was stopped by the debugger is not a state it could be restored to.
        *("-global", "migration.store-global-state=off"),
    ]


async def _restored_by(socket: Path, limit: float) -> None:
    """Wait until QEMU has read the state that it begins from."""
    client = QMPClient("worldwise")
    with sandbox.socket_of(socket) as path:
        await client.connect(path)
    deadline = time.monotonic() + limit
    while True:
        answer = await client.execute("query-status")
        assert isinstance(answer, dict)
        if answer["status"] != "inmigrate":
            break
        if time.monotonic() > deadline:
            raise WorldwiseError(f"its saved state was not read within {limit:.0f} s")
        await asyncio.sleep(0.02)
    await client.disconnect()


async def _save(socket: Path, inside: str) -> None:
    """Have QEMU write the stopped machine's state to a file, then leave."""
    client = QMPClient("worldwise")
    with sandbox.socket_of(socket) as path:
        await client.connect(path)
    await client.execute("migrate", {"uri": f"file:{inside}"})
    while True:
        answer = await client.execute("query-migrate")
        assert isinstance(answer, dict)
        if answer["status"] == "completed":
            break
        if answer["status"] == "failed":
            raise WorldwiseError(f"its state could not be saved: {answer.get('error-desc', 'no reason given')}")
        await asyncio.sleep(0.02)
    try:
        await client.execute("quit")
        await client.disconnect()
    except (QMPError, EOFError, OSError):
        pass  # QEMU hangs up as it leaves


def _snapshot_problem(directory: Path, digest: str) -> str:
    try:
        manifest = json.loads((directory / "snapshot.json").read_text(encoding="utf-8"))
        if manifest["digest"] != digest:
            return "it is another machine's"
        return image.check_files(directory, manifest["files"])
    except FileNotFoundError:
        return "not there"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"it cannot be read ({error})"


def _stopped_well(directory: Path, least_skip: int) -> bool:
    """Whether virtual time was skipped when the machine was stopped, as it is unless QEMU's main loop was busy.

    True too for a machine that did not get far enough to say.
    """
    try:
        ready, resumed = map(int, (directory / "machine").read_text(encoding="ascii").split())
    except (FileNotFoundError, ValueError):
        return True
    return resumed - ready > least_skip


def _console(directory: Path, name: str) -> str:
    """The end of a console, which a machine may be writing; empty if it is not there, or is not a file."""
    return sandbox.end_of(directory / name, _CONSOLE_BYTES).decode("utf-8", "replace")


def _panic(directory: Path) -> str:
    """What the consoles say of a panic of the kernel or of OP-TEE's core; empty if neither did."""
    for name, pattern, who in (
        (CONSOLE, r"Kernel panic - not syncing: (.*)", "the guest's kernel panicked"),
        (SECURE_CONSOLE, r"E/TC.*?(Panic (?:at|in|\S*').*)", "OP-TEE's core panicked"),
    ):
        match = re.search(pattern, _console(directory, name))
        if match:
            return f"{who}: {match[1].strip()}"
    return ""


def _raise_refusal(directory: Path) -> None:
    """Raise HostError if bubblewrap did not let QEMU begin."""
    if refusal := refusal_in(_last_line(directory / EMULATOR_LOG)):
        raise refusal


def _last_line(path: Path) -> str:
    lines = _console(path.parent, path.name).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


# Every case of a machine asks, and a program with a C library in it has thousands of symbols.
@functools.cache
def symbol_address(elf: Path, name: str) -> int:
    """The address of a symbol of an ELF file. Raises WorldwiseError if it has none of that name."""
    with elf.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.get_symbol_by_name(name) or ():
                    return int(symbol["st_value"])
    raise WorldwiseError(f"{elf} has no symbol {name}")


def address_name(elf: Path, address: int) -> str:
    """What is at an address of a program: `recurse (adapter.c:12)`; empty for an address that is in no function.

    Empty too for a program that cannot be read: a library of a stranger has a say in what its sections are.
    """
    try:
        return _address_name(elf, address)
    except Exception:
        # pyelftools promises no kind of error for what no compiler would make.
        return ""


def _address_name(elf: Path, address: int) -> str:
    with elf.open("rb") as file:
        read = ELFFile(file)
        name = ""
        table = read.get_section_by_name(".symtab")
        for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
            # In Thumb code the lowest bit says that it is one.
            start = int(symbol["st_value"]) & ~1
            if symbol["st_info"]["type"] == "STT_FUNC" and start <= address < start + int(symbol["st_size"]):
                name = str(symbol.name)
                break
        if not name or not read.has_dwarf_info():
            return name
        line = _source_line(read.get_dwarf_info(), address)
    return f"{name} ({line})" if line else name


def _source_line(dwarf: DWARFInfo, address: int) -> str:
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        # Directories and files count from 1 before version 5.
        first = 0 if program["version"] >= 5 else 1
        before = None
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if before and before.address <= address < state.address:
                file = program["file_entry"][before.file - first]
                return f"{PurePath(file.name.decode()).name}:{before.line}"
            before = None if state.end_sequence else state
    return ""


def symbolise(lines: Sequence[str], symbols: Mapping[str, Path], lab: Lab) -> list[str]:
    """Adds functions and source lines to the addresses of OP-TEE's backtraces; other lines are left as they are.

    A TA's addresses are relative to where ldelf says it put it; the core's are those it was linked at.
    """
    loaded = {match[1]: int(match[2], 16) for line in lines if (match := _LOADED.search(line))}
    wanted: dict[str, dict[int, int]] = {}
    for number, line in enumerate(lines):
        match = _FRAME.match(line)
        if not match:
            continue
        address = int(match[2], 16)
        if match[1] == "TC":
            wanted.setdefault("tee", {})[number] = address
        else:
            # Of several loaded files the one with the highest start below the address.
            below = [(start, name) for name, start in loaded.items() if start <= address]
            if below:
                start, name = max(below)
                wanted.setdefault(name, {})[number] = address - start
    result = list(lines)
    for name, addresses in wanted.items():
        if name not in symbols:
            continue
        answer = lab.run(
            ["aarch64-linux-gnu-addr2line", "-e", "/elf", "-f", "-p", "-C", *map(hex, addresses.values())],
            binds=[(symbols[name], "/elf", "ro")],
            check=False,
        )
        for number, text in zip(addresses, answer.stdout.splitlines(), strict=False):
            if not text.startswith("??"):
                result[number] += "  " + text.replace("/build/", "")
    return result
