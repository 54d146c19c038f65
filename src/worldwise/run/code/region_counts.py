# SPDX-License-Identifier: BSD-2-Clause
"""Running own code: where it lies, what it executes, and the records of each of its regions.

The machine runs with the plugin attached, so the run that counts is the run that `explain` takes apart. That the plugin
disturbs nothing is tried: without it the counter has the same values around each life of the program.
"""

import contextlib
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.libraries import own_code
from worldwise.libraries.own_code import Code, Mapped, Region
from worldwise.machine.elf_files.program_addresses import symbol_address
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import CONSOLE, EMULATOR_LOG, RECORDS, SECURE_CONSOLE, Machine
from worldwise.machine.measurer import MachineEnd, StartFrom
from worldwise.machine.plugin import FlatPlugin, Plugin, flat_plugin
from worldwise.machine.plugin import plugin as plugin_recipe
from worldwise.machine.symbols.machine import address_space
from worldwise.machine.symbols.mangled_names import demangler
from worldwise.machine.symbols.memory_layout import initramfs_files, machine_symbols
from worldwise.machine.symbols.own_program import OWN_PROCESS, map_program, own_programs, own_space
from worldwise.machine.symbols.ranges import function_ranges, pack_ranges
from worldwise.machine.symbols.space import AddressSpace
from worldwise.plan.case import Case
from worldwise.plan.spec import REGION_MEASURE, REGION_PLACE
from worldwise.records.models import CLOCK, Failure
from worldwise.records.parse import read_records
from worldwise.records.trace import Trace
from worldwise.records.trace_records import Pass
from worldwise.run.code.crash import crash_words
from worldwise.run.code.heap import heap_arguments
from worldwise.run.code.process_lives import CRASH, LAUNCHED, OUTPUT, STARTED, Life, lives_of
from worldwise.run.code.ta.calls import ta_targets
from worldwise.run.traces.trace_cache import keep_trace, kept_trace, tables_in, with_notes, write_for_plugin
from worldwise.targets import own_armv7
from worldwise.targets.own_code import is_armv7, linux_of, tee_base, telling

if TYPE_CHECKING:
    from worldwise.run.code.firmware import FirmwareCounter

MAPS, VDSO = "maps", "vdso"
# Of what a program printed, in an error.
_MOST_SHOWN, _MOST_SHOWN_LINES = 1500, 12
_MOST_MAPS, MOST_OUTPUT, _MOST_VDSO = 2**22, 2**16, 2**16
# Functions of Linux that the plugin watches.
_SWITCH, _NAME = "cpu_switch_to", "__set_task_comm"
# Of OP-TEE's core: what it does as a TA calls another one, in the order of own_code.TA_FUNCTIONS.
_TA_SYSCALLS = ("syscall_open_ta_session", "syscall_invoke_ta_command", "syscall_close_ta_session")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAPS = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ..x. ([0-9a-f]{1,16}) \S+ \d+ *(/\S.*|\[vdso\])")


@dataclass(frozen=True)
class Counted:
    """What a run of own code left: its folder, its trace, its lives, what it printed."""

    directory: Path
    trace: Trace
    lives: Sequence[Life]
    output: bytes


def is_tee(machine: Machine) -> bool:
    """Whether a machine has OP-TEE."""
    return "tee" in machine.symbols


def said_by(emulator: Emulator, images: ImageStore, machine: Machine) -> Path:
    """What a machine with the same kernel says of itself."""
    if is_tee(machine):
        return machine_symbols(emulator, tee_base(images))
    return machine_symbols(emulator, linux_of(machine).speaking(machine, images))


def find(emulator: Emulator, machine: Machine, command: Sequence[str]) -> tuple[Life, list[Mapped]]:
    """Start the program once, and return how that went and what of it is mapped as it ends.

    The kernel's code in user space is left beside the archive. Raises WorldwiseError.
    """
    with tempfile.TemporaryDirectory(prefix="ww-own-") as temporary:
        work = Path(temporary)
        run_program(emulator, machine, work, None, (MAPS, LAUNCHED, OUTPUT, VDSO))
        (life,) = lives_of(work)
        files.copy(work / VDSO, machine.files[own_code.ARCHIVE].parent / VDSO, _MOST_VDSO, work)
        mapped = list(read_maps(files.read_bytes(work / MAPS, _MOST_MAPS, work).decode("utf-8", "replace")))
        output = files.read_bytes(work / OUTPUT, MOST_OUTPUT, work)
    require_good(command[0], life, output, _crash(emulator, machine, mapped) if life.signal else "")
    return life, mapped


def _crash(emulator: Emulator, machine: Machine, mapped: Sequence[Mapped]) -> str:
    """Where a signal ends the program, as it follows the signal's name: it is started once more for that."""
    content = initramfs_files(machine.files[own_code.ARCHIVE])
    with tempfile.TemporaryDirectory(prefix="ww-own-") as temporary:
        run_program(emulator, telling(machine), Path(temporary), None, (CRASH,))
        return crash_words(Path(temporary), content, mapped, demangler(emulator.lab))


def read_maps(maps: str) -> Iterator[Mapped]:
    """What a process has mapped, of the text of its /proc/PID/maps."""
    for line in maps.splitlines():
        if match := _MAPS.fullmatch(line):
            yield Mapped(begin=int(match[1], 16), end=int(match[2], 16), offset=int(match[3], 16), path=match[4])


def require_good(program: str, life: Life, output: bytes, where: str = "") -> None:
    """Raise WorldwiseError, with the end of what it printed, if a life of the program went wrong; `where` it ended."""
    if life.problem:
        raise WorldwiseError(
            f"{program} {life.problem}{where}.",
            "try it first: a program that fails is not measured"
            if not life.idle
            else "let it compute without sleeping, or measure a program of the same functions that does",
            printed_end(output),
        )


def printed_end(output: bytes) -> str:
    """The last lines of what a program printed, made fit for a terminal, for the details of an error."""
    lines = output[-_MOST_SHOWN:].decode("utf-8", "replace").splitlines()
    shown = [files.quoted(line, 200) for line in lines if line.strip()][-_MOST_SHOWN_LINES:]
    return "\n".join(["the end of its output:", *(f"  {line}" for line in shown)] if shown else ["it printed nothing"])


def run_program(
    emulator: Emulator,
    machine: Machine,
    directory: Path,
    plugin: Plugin | None,
    left: tuple[str, ...],
    progress: Callable[[int], None] = lambda _: None,
) -> MachineEnd:
    """Boots a machine until its program has ended. Raises WorldwiseError if it did not end well."""
    # A file of records says that the machine started, whatever the program does with its own.
    (directory / RECORDS).touch()
    try:
        left = (*left, STARTED)
        ended = emulator.run(machine, ("/bin/fetch",), directory, plugin=plugin, left=left, progress=progress)
        # What starts the program, and, if that cannot be started itself, the first process.
        said = directory / STARTED if (directory / STARTED).exists() else directory / RECORDS
        records = read_records(said)
    except OSError as error:
        raise WorldwiseError(f"machine {machine.name}: {error.strerror}") from None
    for record in records:
        if isinstance(record, Failure):
            raise WorldwiseError(
                f"machine {machine.name}: {files.quoted(record.message)}",
                details=emulator.diagnosis(directory, machine),
            )
    return ended


@dataclass
class Counter:
    """Runs own code under the plugin, and keeps what it left in the cache, by all that decides it."""

    emulator: Emulator
    images: ImageStore
    notify: Callable[[str], None] = lambda _: None

    def space(self, machine: Machine, mapped: Sequence[Mapped]) -> AddressSpace:
        """The symbols of the machine with the program in it."""
        said = said_by(self.emulator, self.images, machine)
        archive = machine.files[own_code.ARCHIVE]
        content = initramfs_files(archive) | {"[vdso]": (archive.parent / VDSO).read_bytes()}
        programs = own_programs(self.emulator, self.images, content, said, is_armv7(machine))
        if not is_tee(machine):
            return own_space(machine, programs, mapped, OWN_PROCESS, is_armv7(machine))
        # The machine says what it has itself; TAs are found where they ran.
        named = replace(tee_base(self.images), symbols={n: p for n, p in machine.symbols.items() if n != "launcher"})
        space = address_space(self.emulator, named, self.images)
        map_program(space, machine, programs, mapped, OWN_PROCESS)
        return space

    def count(
        self,
        machine: Machine,
        mapped: Sequence[Mapped],
        command: Sequence[str],
        entry: int,
        addresses: Sequence[int],
        fresh: bool = False,
        progress: Callable[[int], None] = lambda _: None,
        cores: Mapping[str, str] | None = None,
        whole: bool = False,
        labels: Sequence[str] = (),
    ) -> Counted:
        """Run the program as often as its order says; functions at these addresses are regions, and so is what
        `labels` say (own_code.labels_of).

        `cores` are models that run with it: see worldwise.run.traces.watch.Watcher.watch. What an equal run left is
        taken, unless `fresh`. Raises WorldwiseError.
        """
        lab = self.emulator.lab
        key: _Key = (machine.digest(lab), entry, (*addresses, *labels), tuple((cores or {}).values()), whole)
        if not fresh and key in _done:
            return _done[key]
        space = self.space(machine, mapped)
        ranges = pack_ranges(function_ranges(space, OWN_PROCESS))
        flat = is_armv7(machine)
        plugin = self.images.get(flat_plugin() if flat else plugin_recipe())
        given = (*labels, *heap_arguments(initramfs_files(machine.files[own_code.ARCHIVE]), mapped))
        tables = list((cores or {}).values())
        calls = own_code.functions_in(addresses)
        # Models of flat programs run through everything.
        sampled = cores and not whole and not flat
        arguments = self.plugin_arguments(machine, entry, addresses) | ({"sampling": "yes"} if sampled else {})
        parts = [machine.digest(lab), plugin.digest, arguments, list(addresses), hashlib.sha256(ranges).hexdigest()]
        parts += [hashlib.sha256(table.encode()).hexdigest() for table in tables]
        parts += given
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

        def make(work: Path) -> Path:
            write_for_plugin(functions := work / "functions", ranges)
            placed = tables_in(tables, work)
            if flat:
                file = plugin.file("flat.so")
                made: Plugin = FlatPlugin(file, arguments, functions, placed, calls, given)
            else:
                made = Plugin(plugin.file("worldwise.so"), arguments, functions, placed, calls, given)
            directory = work / "run"
            directory.mkdir()
            self.notify(f"counting {command[0]}")
            ended = run_program(self.emulator, machine, directory, made, (LAUNCHED, OUTPUT), progress)
            self.notify(f"counted {command[0]} in {ended.wall_seconds:.1f} s")
            if not cores:
                self._verify(machine, directory, command, progress)
            (directory / RECORDS).unlink(missing_ok=True)
            keep_trace(directory, digest, bool(cores))
            return directory

        too_large = WorldwiseError(
            f"{command[0]}: its regions are called more often than a trace can say, and it is not kept",
            "choose functions further out with --region, or let it do less: its arguments, --repeat",
        )
        final, trace = kept_trace(lab.cache, digest, make, with_notes(command[0], self.notify), too_large, fresh)
        counted = Counted(final, trace, lives_of(final), files.read_bytes(final / OUTPUT, MOST_OUTPUT, final))
        for life in counted.lives:
            require_good(command[0], life, counted.output)
        _check(counted, command[0])
        _keep(key, counted)
        return counted

    def _verify(
        self, machine: Machine, directory: Path, command: Sequence[str], progress: Callable[[int], None]
    ) -> None:
        """Run it again without the plugin: raise WorldwiseError unless the counter has the same values."""
        with tempfile.TemporaryDirectory(prefix="ww-own-") as temporary:
            work = Path(temporary)
            ended = run_program(self.emulator, machine, work, None, (LAUNCHED, OUTPUT), progress)
            for number, (one, other) in enumerate(zip(lives_of(directory), lives_of(work), strict=True), 1):
                if one != other:
                    raise WorldwiseError(
                        f"{command[0]}: a second run of it differs: start {number} took {one.end - one.begin:,} "
                        f"instructions and then {other.end - other.begin:,}",
                        "the machine repeats itself to the digit: this is a defect of worldwise; please report it",
                    )
            self.notify(f"the same in a second run, without the plugin, in {ended.wall_seconds:.1f} s")

    def plugin_arguments(self, machine: Machine, entry: int, addresses: Sequence[int]) -> dict[str, str]:
        """The plugin's arguments for a program with this entry, and functions at these addresses."""
        if is_armv7(machine):
            started = machine.symbols["launcher"]
            begin, end = (symbol_address(started, name) & ~1 for name in (own_armv7.BEGINS, own_armv7.ENDS))
            found = {"mode": "stack", "begin": f"{begin:#x}", "end": f"{end:#x}", "entry": f"{entry:#x}"}
            return found | {"kernel": f"{own_armv7.KERNEL:#x}"}
        said = said_by(self.emulator, self.images, machine) / "kallsyms"
        lines = said.read_text(encoding="ascii").splitlines()
        named = {word[2]: word[0] for word in map(str.split, lines) if word[2] in (_SWITCH, _NAME)}
        found = {"mode": "stack", "task-switch": f"0x{named[_SWITCH]}", "entry": f"{entry:#x}"}
        if _NAME in named:
            found["task-name"] = f"0x{named[_NAME]}"
        if not is_tee(machine):
            return found | {"monitor": "no"}
        core = machine.symbols["tee"]
        return (
            found
            | _of_ta(machine)
            | _ta_calls(core, addresses)
            | {
                "thread-suspend": f"{symbol_address(core, 'thread_state_suspend'):#x}",
                "thread-resume": f"{symbol_address(core, 'thread_resume'):#x}",
            }
        )


def _ta_calls(core: Path, addresses: Sequence[int]) -> dict[str, str]:
    """Where OP-TEE's core does what a TA asks of another one, for the plugin, if that is asked for."""
    if own_code.TA_CALLS not in addresses:
        return {}
    places = zip(("ta-opens", "ta-invokes", "ta-closes"), _TA_SYSCALLS, strict=True)
    found = {key: f"{symbol_address(core, name):#x}" for key, name in places}
    return {"ta-calls": str(addresses.index(own_code.TA_CALLS) + 1)} | found


def _of_ta(machine: Machine) -> dict[str, str]:
    """Where the TA of a machine has its stack and its heap, for the plugin."""
    names = ("ta-entry", "ta-word", "ta-stack", "ta-heap", "ta-heap-bytes")
    for uuid, path in machine.symbols.items():
        # One that is not as OP-TEE's own build makes them runs, and its memory is not looked at.
        with contextlib.suppress(WorldwiseError):
            if _UUID.fullmatch(uuid):
                return {name: f"{value:#x}" for name, value in zip(names, *ask(path, ("ta_memory",)), strict=True)}
    return {}


# The last runs that were read, by all that decides them: each case of a run asks for the same one, which takes seconds,
# and a repository has several programs.
_Key = tuple[str, int, tuple[int | str, ...], tuple[str, ...], bool]
_done: dict[_Key, Counted] = {}
# Rows of these runs' traces together, of which a million takes 100 MB; the last one may have more.
_MOST_KEPT_ROWS = 1_000_000


def _keep(key: _Key, counted: Counted) -> None:
    """Keep a run that was read; the oldest goes if they are too many."""
    _done[key] = counted
    while len(_done) > 1 and sum(_rows(one.trace) for one in _done.values()) > _MOST_KEPT_ROWS:
        del _done[next(iter(_done))]


def _rows(trace: Trace) -> int:
    return sum(len(rows) for passes in (trace.own, *trace.cycles.values()) for rows in passes.values())


def _check(counted: Counted, program: str) -> None:
    """Raise WorldwiseError unless each life is a pass whose instructions are the counter's difference."""
    outer = [one for one in counted.trace.passes if not one.parent]
    for number, (one, life) in enumerate(zip(outer, counted.lives, strict=False), 1):
        if (one.begin, one.end) != (life.begin, life.end) or one.instructions != life.end - life.begin:
            raise WorldwiseError(
                f"{program}: start {number}: the plugin counted {one.instructions:,} instructions from {one.begin} to "
                f"{one.end}, the counter went from {life.begin} to {life.end}",
                "a program that has marks of its own must end each region that it begins",
            )
    if len(outer) != len(counted.lives):
        raise WorldwiseError(f"{program}: was started {len(counted.lives)} times, but {len(outer)} were seen")


def _of_firmware(counter: Counter) -> "FirmwareCounter":
    # It needs what is here.
    from worldwise.run.code.firmware import FirmwareCounter

    return FirmwareCounter(counter.emulator, counter.images, counter.notify)


def space_of(code: Code, counter: Counter, machine: Machine) -> AddressSpace:
    """The symbols of the machine of own code."""
    manifest = code.manifest
    if manifest.kind == own_code.FIRMWARE:
        return _of_firmware(counter).space(machine)
    return counter.space(machine, manifest.mapped)


def counted_of(
    code: Code,
    counter: Counter,
    machine: Machine,
    fresh: bool = False,
    cores: Mapping[str, str] | None = None,
    whole: bool = False,
) -> Counted:
    """The run of own code in the cache, made anew if it is gone. Raises WorldwiseError."""
    manifest = code.manifest
    labels = own_code.labels_of(manifest.addresses, manifest.marks)
    if manifest.kind == own_code.FIRMWARE:
        return _of_firmware(counter).count(machine, manifest.command, manifest.addresses, fresh, labels, cores)
    return counter.count(
        machine,
        manifest.mapped,
        manifest.command,
        manifest.entry,
        manifest.addresses,
        fresh,
        cores=cores,
        whole=whole,
        labels=labels,
    )


def calls_of(trace: Trace, addresses: Sequence[int], region: Region) -> tuple[list[Pass], int]:
    """The calls of a region that count, in the order of time, and how many others there are.

    Calls that returned count; if none did, those that the end of the program ended.
    """
    number = addresses.index(region.address) + 1
    every = [
        one for one in trace.calls(number) if region.command is None or one.given[1] & 0xFFFFFFFF == region.command
    ]
    if region.target:
        targets = ta_targets(trace, addresses)
        every = [one for one in every if targets[one.id] == region.target]
    if region.thread is not None:
        every = [one for one in every if _is_below(trace, one.frame, region.thread)]
    if region.thread_name:
        every = [one for one in every if one.thread == region.thread_name]
    for how in ("returned", "exit"):
        if found := [one for one in every if one.how == how]:
            return sorted(found, key=lambda one: one.begin), len(every) - len(found)
    return [], len(every)


def _is_below(trace: Trace, frame: int, address: int) -> bool:
    """Whether a frame is one of the function at an address, or stands on one."""
    while frame in trace.frames:
        if trace.frames[frame].kind == "call" and trace.frames[frame].target == address:
            return True
        frame = trace.frames[frame].parent
    return False


def calls_for_records(code: Code, trace: Trace, region: Region) -> list[Pass]:
    """The calls of a region that are samples: of firmware that is called once, that of a second power-on too."""
    calls, _ = calls_of(trace, code.manifest.addresses, region)
    if code.manifest.kind != own_code.FIRMWARE or len(calls) != 1:
        return calls
    (whole,) = [one for one in trace.passes if not one.parent]
    (one,) = calls
    # Every power-on is the same, which was tried.
    return [one, replace(one, begin=one.begin + whole.end, end=one.end + whole.end)]


def counts_of(code: Code, trace: Trace, region: Region) -> list[int]:
    """The instructions of these calls, in the order of time."""
    return [one.instructions for one in calls_for_records(code, trace, region)]


def write_records(case: Case, code: Code, counted: Counted, path: Path) -> None:
    """Write the records of a case: a sample for each call of its region."""
    region = code.manifest.regions.get(case.operation)
    if region is None:
        raise WorldwiseError(f"{case.id}: that code has no region {files.quoted(case.operation)}")
    calls = calls_for_records(code, counted.trace, region)
    lines: list[Mapping[str, str | int]] = [
        {
            "type": "start",
            "format": 2,
            "program": "own-code",
            "operation": case.operation,
            "implementation": case.implementation,
            "clock": CLOCK,
            "unit": "instructions",
            "warmup": 0,
            "samples": len(calls) - 1,
            "parameters": "",
        },
        {"type": "overhead", "place": REGION_PLACE, "clock": CLOCK, "count": 0},
    ]
    lines += [
        {
            "type": "sample",
            "measure": REGION_MEASURE,
            "place": REGION_PLACE,
            "index": index,
            "phase": "sample" if index else "first",
            "begin": one.begin,
            "end": one.end,
            "count": one.instructions,
        }
        for index, one in enumerate(calls)
    ]
    lines.append({"type": "end", "status": 0, "idle": sum(life.idle for life in counted.lives)})
    # json.dumps makes an encoder for each line.
    encode = json.JSONEncoder(separators=(",", ":")).encode
    path.write_text("".join(encode(line) + "\n" for line in lines), encoding="ascii")


def run_case(
    emulator: Emulator,
    images: ImageStore,
    machine: Machine,
    case: Case,
    directory: Path,
    start: StartFrom,
    progress: Callable[[int], None],
) -> MachineEnd:
    """Write the records of a case of own code into its directory, from the run of all its regions."""
    if start != "snapshot":
        raise WorldwiseError(f"{case.id}: own code starts from a saved machine", "run it without `--cold`")
    code = own_code.find(case.implementation)
    counted = counted_of(code, Counter(emulator, images, emulator.notify), machine)
    write_records(case, code, counted, directory / RECORDS)
    for name in (OUTPUT, CONSOLE, SECURE_CONSOLE, EMULATOR_LOG):
        if (counted.directory / name).exists():
            shutil.copyfile(counted.directory / name, directory / name)
    progress((directory / RECORDS).stat().st_size)
    return MachineEnd(0, tuple(code.manifest.command), 0.0)
