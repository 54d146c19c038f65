# SPDX-License-Identifier: BSD-2-Clause
"""Watching: runs a case once more with the emulator's plugin attached, and keeps the trace for `explain`."""

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.json_model import parse_json
from worldwise.lab.image import MOST_MANIFEST, ImageStore, Recipe
from worldwise.lab.lab import Lab
from worldwise.libraries import own_code
from worldwise.machine.elf_files.program_addresses import symbol_address
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, Machine
from worldwise.machine.plugin import CyclesPlugin, FlatPlugin, Plugin, cycles_plugin, flat_plugin
from worldwise.machine.plugin import plugin as plugin_recipe
from worldwise.machine.symbols.machine import address_space, flat_space, program_space
from worldwise.machine.symbols.memory_layout import machine_symbols
from worldwise.machine.symbols.own_program import OWN_PROCESS
from worldwise.machine.symbols.ranges import function_ranges, pack_ranges
from worldwise.machine.symbols.space import AddressSpace
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board, takes_portables
from worldwise.plan.spec import OWN
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.flat import FlatRegion, read_regions
from worldwise.records.parse import read_content, read_records
from worldwise.records.trace import Trace, read_trace
from worldwise.run.case_check import check_run
from worldwise.run.code.region_counts import Counter, counted_of, space_of, write_records
from worldwise.run.traces.trace_cache import TRACE_MANIFEST, keep_trace, kept_trace, tables_in, write_for_plugin
from worldwise.run.ways import case_digest
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.linux import PLAIN

# Models that the plugin runs at a time: MAX_CORES of plugin/aarch64/cores.h.
MOST_CORES = 8
# SysTick's counter: the stretches of a board's program are between two readings of it.
_BOARD = {"counter": "0xe000e018", "set": "t32"}
# On Armv7-A they are between readings of the core's cycle counter, which Linux makes; its modules begin where user
# space ends, and the kernel stands behind them.
ARMV7 = "linux-armv7"
_KERNEL = 0xBF000000
_READINGS = {"reading": "pmccntr", "linux": f"{_KERNEL:#x}"}
# Linux keeps this many characters of a process's name.
_COMM_LENGTH = 15
# A first call and a sample.
_FEWEST_CALLS = 2

_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Watched:
    """A case that was run under the plugin: its machine's symbols, its checked records, its trace."""

    case: Case
    process: str
    directory: Path
    space: AddressSpace
    records: CheckedRecords
    trace: Trace


@dataclass
class Watcher:
    """Runs cases under the plugin and keeps the traces in the cache; the address covers everything that decides one."""

    lab: Lab
    images: ImageStore
    emulator: Emulator
    notify: Callable[[str], None] = lambda _: None
    # Without it a case without a kept trace is refused, and no machine is started.
    may_run: bool = True

    def watch(
        self,
        case: Case,
        *,
        passes: int = 0,
        witness: int = 0,
        exact_sites: bool = False,
        fresh: bool = False,
        expected: Path | None = None,
        cores: Mapping[str, str] | None = None,
        whole: bool = False,
        before: Watched | None = None,
    ) -> Watched:
        """Run a case in mode stack, or take the kept trace of an equal run.

        Args:
            case: what to run.
            passes: outermost regions of a kind that are followed; 0 for all.
            witness: instructions between two comparisons with the stack in memory; 0 for no comparison.
            exact_sites: tell calls apart by their instruction, not only by the calling function.
            fresh: run it even if the trace of an equal run is kept.
            expected: the records that the run must repeat, byte for byte.
            cores: the models that run with it, by the name of the core: their tables as core_model.table_of writes
                them. At most MOST_CORES.
            whole: every instruction runs through them; else long regions are sampled.
            before: what was watched before: own code whose trace is the same has its symbols.

        Raises WorldwiseError as measuring does, if records differ from the expected, or if the trace does not add up.
        """
        machine = EMULATED[case.target].machine(case, self.images)
        if case.target == OWN:
            return self._watch_own(case, machine, fresh, expected, cores, whole, before)
        process = _process(case)
        space = self._space(case, machine, named_kernel=not cores)
        arguments = self._stack_arguments(case, machine, named_kernel=not cores)
        if witness:
            arguments["witness"] = str(witness)
        if passes and not is_flat(case.target):
            arguments["passes"] = str(passes)
        if witness and is_board(case.target):
            arguments["stores"] = "yes"
        if cores and not whole and not is_flat(case.target):
            arguments["sampling"] = "yes"
        ranges = b"" if exact_sites else pack_ranges(function_ranges(space, process))
        plugin = self.images.get(_recipe_of(case))
        tables = list((cores or {}).values())
        parts = [case_digest(self.lab, machine, case), plugin.digest, arguments, hashlib.sha256(ranges).hexdigest()]
        parts += [hashlib.sha256(table.encode()).hexdigest() for table in tables]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

        def attached(work: Path) -> Plugin:
            write_for_plugin(functions := work / "functions", ranges)
            if is_flat(case.target):
                made = plugin.file("flat.so")
                return FlatPlugin(made, arguments, functions if ranges else None, tables_in(tables, work))
            made = plugin.file("worldwise.so")
            return Plugin(made, arguments, functions if ranges else None, tables_in(tables, work))

        final, trace = self._kept(case, machine, digest, fresh, attached, read_trace, len(tables), bool(expected))
        return Watched(case, process, final, space, _checked(final, case, expected), trace)

    def _watch_own(
        self,
        case: Case,
        machine: Machine,
        fresh: bool,
        expected: Path | None,
        cores: Mapping[str, str] | None,
        whole: bool,
        before: Watched | None,
    ) -> Watched:
        """Own code: one trace has all its regions, and the records of each are made of it."""
        code = own_code.find(case.implementation)
        counter = Counter(self.emulator, self.images, self.notify)
        counted = counted_of(code, counter, machine, fresh, cores, whole)
        if before and before.trace is counted.trace and before.case.implementation == case.implementation:
            space = before.space
        else:
            space = space_of(code, counter, machine)
        with tempfile.TemporaryDirectory(prefix="ww-own-") as work:
            write_records(case, code, counted, Path(work) / RECORDS)
            records = _checked(Path(work), case, expected)
        return Watched(case, OWN_PROCESS, counted.directory, space, records, counted.trace)

    def watch_flat(
        self, case: Case, cores: Mapping[str, str], fresh: bool = False, expected: Path | None = None
    ) -> tuple[CheckedRecords, Sequence[FlatRegion]]:
        """Run a flat case with models of cores: its records, and the stretches between readings of its counter.

        Arguments and errors as those of `watch`.
        """
        machine = EMULATED[case.target].machine(case, self.images)
        plugin = self.images.get(cycles_plugin())
        tables = list(cores.values())
        arguments = _BOARD if is_board(case.target) else _READINGS
        parts = [case_digest(self.lab, machine, case), plugin.digest, arguments, *tables]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()

        def attached(work: Path) -> Plugin:
            return CyclesPlugin(plugin.file("cycles.so"), arguments, None, tables_in(tables, work))

        final, regions = self._kept(case, machine, digest, fresh, attached, read_regions, len(tables), bool(expected))
        return _checked(final, case, expected), regions

    def _kept(
        self,
        case: Case,
        machine: Machine,
        digest: str,
        fresh: bool,
        attached: Callable[[Path], Plugin],
        read: Callable[[Path], _Read],
        cores: int,
        of_run: bool,
    ) -> tuple[Path, _Read]:
        """The folder of what an equal run left, or of one that is run now with a plugin, and its trace as `read` reads
        it; `attached` gets a folder. A trace that is too large to be read is not kept.
        """

        def make(work: Path) -> Path:
            if not self.may_run:
                raise WorldwiseError(f"{case.id}: no such trace is kept", "worldwise explain RUN makes one")
            return self._run(case, machine, attached(work), work, digest)

        return kept_trace(self.lab.cache, digest, make, read, too_large(case, cores, of_run), fresh)

    def count_plugin(self, case: Case, machine: Machine) -> Plugin:
        """The plugin in mode count."""
        if is_flat(case.target):
            arguments = _flat_arguments(case, machine) | {"mode": "count"}
            return FlatPlugin(self.images.get(flat_plugin()).file("flat.so"), arguments)
        return Plugin(self.images.get(plugin_recipe()).file("worldwise.so"), {"mode": "count"})

    def stack_plugin(self, case: Case, machine: Machine, functions: Path) -> Plugin:
        """The plugin in mode stack; the addresses of functions are written to `functions`."""
        space = self._space(case, machine)
        write_for_plugin(functions, pack_ranges(function_ranges(space, _process(case))))
        arguments = self._stack_arguments(case, machine)
        if is_flat(case.target):
            return FlatPlugin(self.images.get(flat_plugin()).file("flat.so"), arguments, functions)
        plugin = self.images.get(plugin_recipe()).file("worldwise.so")
        return Plugin(plugin, arguments, functions)

    def _run(self, case: Case, machine: Machine, plugin: Plugin, work: Path, digest: str) -> Path:
        """Run a case in `work`, and return the folder with the files to keep."""
        directory = work / "run"
        directory.mkdir()
        self.notify(f"watching {case.id}")
        program = EMULATED[case.target].program(case)
        outcome = self.emulator.run(machine, program, directory, plugin=plugin)
        check_run(case, directory, self.emulator, machine)
        self.notify(f"watched {case.id} in {outcome.wall_seconds:.1f} s")
        keep_trace(directory, digest, bool(plugin.cores))
        return directory

    def _said(self, case: Case, machine: Machine) -> Path:
        """What a machine says of itself; of plain Linux one with the same kernel."""
        if takes_portables(case.target):
            machine = PLAIN[case.target].speaking(machine, self.images)
        return machine_symbols(self.emulator, machine)

    def _space(self, case: Case, machine: Machine, named_kernel: bool = True) -> AddressSpace:
        """The machine's symbols; plain Linux's kernel's only if they are wanted: a machine has to boot for them."""
        if is_flat(case.target):
            said = None if is_board(case.target) else self._said(case, machine)
            return flat_space(self.emulator, machine, _process(case), said)
        if takes_portables(case.target):
            said = self._said(case, machine) if named_kernel else None
            return program_space(self.emulator, machine, _process(case), said)
        return address_space(self.emulator, machine, self.images)

    def _stack_arguments(self, case: Case, machine: Machine, named_kernel: bool = True) -> dict[str, str]:
        """Mode stack, with the addresses at which tasks and threads switch; in plain Linux without."""
        if is_flat(case.target):
            return _flat_arguments(case, machine) | {"mode": "stack"}
        if takes_portables(case.target) and not named_kernel:
            return {"mode": "stack", "monitor": "no"}
        said = self._said(case, machine) / "kallsyms"
        switch = [
            line.split()[0] for line in said.read_text(encoding="ascii").splitlines() if line.endswith(" cpu_switch_to")
        ]
        if len(switch) != 1:
            raise WorldwiseError(f"{said}: Linux has {len(switch)} functions cpu_switch_to instead of one")
        if takes_portables(case.target):
            return {"mode": "stack", "monitor": "no", "task-switch": f"0x{switch[0]}"}
        return {
            "mode": "stack",
            "task-switch": f"0x{switch[0]}",
            "thread-suspend": f"{symbol_address(machine.symbols['tee'], 'thread_state_suspend'):#x}",
            "thread-resume": f"{symbol_address(machine.symbols['tee'], 'thread_resume'):#x}",
        }


def traced_records(cache: Path) -> frozenset[str]:
    """The SHA-256 of the records of every trace that `explain` left: a case with the same records has a trace.

    One that `predict` left is another plugin's, or its plugin had other arguments.
    """
    found = set()
    for path in sorted((cache / "traces").glob(f"[!.]*/{TRACE_MANIFEST}")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            manifest = parse_json(files.read_bytes(path, MOST_MANIFEST, path.parent))
            if not manifest.get("models"):
                found.add(str(manifest["files"][RECORDS]))
    return frozenset(found)


def too_large(case: Case, cores: int, of_run: bool) -> WorldwiseError:
    """What is said of a trace that nobody can read, and the way out: fewer calls of a case, above all."""
    ways = []
    if of_run:
        # A case of a run is followed in as many calls as all others of it.
        ways.append(f"name the case in place of the run, and fewer calls: {case.id} --samples 1 --warmup 0")
    elif case.calls > _FEWEST_CALLS:
        ways.append(f"fewer than {case.calls} calls: --samples 1 --warmup 0")
    if cores:
        ways.append("one --core at a time" if cores > 1 else "without --core it is smaller")
    ways += ["a smaller size"] if "size" in dict(case.parameters) else []
    return WorldwiseError(
        f"{case.id}: its trace is too large to be read, and is not kept", "; ".join(ways) or "measure less in a call"
    )


def is_flat(target: str) -> bool:
    """Whether a target's programs are flat, on 32-bit cores: those of boards, and of Linux on Armv7-A.

    Another plugin follows their stacks than of the other targets, and models of cores run with them without stacks.
    """
    return is_board(target) or target == ARMV7


def _recipe_of(case: Case) -> Recipe:
    """The plugin that follows the stacks of a case."""
    return flat_plugin() if is_flat(case.target) else plugin_recipe()


def _flat_arguments(case: Case, machine: Machine) -> dict[str, str]:
    """Where the flat plugin sees the counter read, and in Linux where the program begins and the kernel stands."""
    if is_board(case.target):
        return {"counter": _BOARD["counter"]}
    # The lowest bit marks Thumb code.
    start = symbol_address(machine.symbols["program"], "main") & ~1
    return {"start": f"{start:#x}", "kernel": f"{_KERNEL:#x}"}


def _process(case: Case) -> str:
    """The measured program, as Linux names the process."""
    return Path(EMULATED[case.target].program(case)[0]).name[:_COMM_LENGTH]


def _checked(directory: Path, case: Case, expected: Path | None) -> CheckedRecords:
    """The records that a run left, checked; the same as those expected, if there are such."""
    records = directory / RECORDS
    if expected:
        require_same(records, expected, case)
    return check_records(read_records(records), case, str(records))


def require_same(found: Path, expected: Path, case: Case) -> None:
    """Raise WorldwiseError unless two files of records are the same: the plugin must not change a digit."""
    if read_content(found) != read_content(expected):
        raise WorldwiseError(
            f"{case.id}: under the plugin the records are not those of the run ({found} against {expected})",
            "this is a serious defect: keep both files and report it",
        )
