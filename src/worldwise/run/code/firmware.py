# SPDX-License-Identifier: BSD-2-Clause
"""Firmware of a user's own: an ELF file that starts on one of QEMU's machines of the M profile.

It has no counter that worldwise could read, so the plugin's count stands alone: tests/machine compares it with QEMU's
own log of executed instructions. Every power-on is the same, so one of them is enough; a second one is tried.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.choices import choice_error
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.libraries import own_code
from worldwise.libraries.own_code import FIRMWARE_ELF, CodeManifest, Mark, Region, case_name
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import CONSOLE, EMULATOR_LOG, RECORDS, Machine
from worldwise.machine.plugin import FlatPlugin, flat_plugin
from worldwise.machine.symbols.machine import flat_space
from worldwise.machine.symbols.mangled_names import Demangle, demangler
from worldwise.machine.symbols.own_program import OWN_PROCESS
from worldwise.machine.symbols.ranges import function_ranges, pack_ranges
from worldwise.machine.symbols.space import AddressSpace
from worldwise.run.code.faults import fault_of
from worldwise.run.code.function_names import (
    Function,
    as_functions,
    functions_of,
    inlined_words,
    is_asked,
    marks_of,
    matches,
    nearest_words,
)
from worldwise.run.code.heap import firmware_heap_arguments
from worldwise.run.code.order import NO_RECORDS, check_glob, check_machine, read_firmware
from worldwise.run.code.prepare import MAIN, Ready, beside_of, case_names
from worldwise.run.code.process_lives import Life
from worldwise.run.code.region_counts import Counted, calls_of, printed_end
from worldwise.run.traces.trace_cache import keep_trace, kept_trace, tables_in, with_notes, write_for_plugin
from worldwise.targets.own_code import firmware_machine

_MOST_OUTPUT = 2**16
_MOST_REGIONS, _MOST_CLOSE, _MOST_SAID = 500, 6, 40


@dataclass(frozen=True)
class WantedFirmware:
    """What was asked for.

    Attributes:
        elf: the ELF file.
        machine: one of M_MACHINES.
        regions: patterns of the functions whose calls are measured; none for main.
        until: the function at whose call the machine ends; empty for none.
        instructions: after how many instructions it ends; 0 for never.
        name: its name in cases; empty for one made of the file's.
        benchmarks: patterns of benchmarks of Zephyr's ztest, which are measured in place of regions.
    """

    elf: Path
    machine: str
    regions: tuple[str, ...] = ()
    until: str = ""
    instructions: int = 0
    name: str = ""
    benchmarks: tuple[str, ...] = ()


def prepare_firmware(
    wanted: WantedFirmware, images: ImageStore, emulator: Emulator, notify: Callable[[str], None], fresh: bool = False
) -> Ready:
    """Run the firmware and find its regions. Raises WorldwiseError."""
    check_machine(wanted.machine)
    for pattern in (*wanted.regions, *wanted.benchmarks, *([wanted.until] if wanted.until else [])):
        check_glob(pattern)
    content = read_firmware(wanted.elf, "--firmware ")
    marks = marks_of({wanted.elf.name: (content, 0)})
    # A benchmark is chosen alone.
    wished = not wanted.benchmarks
    marks = [one for one in marks if wished and (not wanted.regions or matches(one.name, wanted.regions))]
    chosen, until = _chosen(wanted, content, marks, demangler(images.lab))
    addresses = sorted({one.address for one in chosen.values()})
    store = images.lab.cache / "own"
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store, prefix=".making-") as temporary:
        work = Path(temporary, "code")
        work.mkdir()
        (work / FIRMWARE_ELF).write_bytes(content)
        command = [f"/{FIRMWARE_ELF}", wanted.machine, f"{until or 0:#x}", str(wanted.instructions)]
        machine = firmware_machine(work, case_name(wanted.name or wanted.elf.name), wanted.machine)
        counter = FirmwareCounter(emulator, images, notify)
        counted = counter.count(machine, command, addresses, fresh, own_code.labels_of(addresses, marks))
        regions, unentered, notes = _entered(chosen, counted, addresses, wanted)
        manifest = CodeManifest(
            format=1,
            name=wanted.name or case_name(wanted.elf.name),
            kind="firmware",
            command=command,
            lives=2,
            entry=0,
            addresses=addresses,
            regions=regions,
            mapped=[],
            marks=marks,
            notes=notes,
        )
        code = own_code.keep(work, manifest, store, wanted.elf)
    return Ready(code, counted, unentered)


def _chosen(
    wanted: WantedFirmware, content: bytes, marks: Sequence[Mark], demangle: Demangle
) -> tuple[dict[str, Function], int]:
    """The functions that were asked for, by their names in cases, and the address of the one that ends it."""
    (rows,) = ask(content, ("named_functions",), what=f"--firmware {wanted.elf}")
    # Whoever marks a part of it asks for that.
    patterns = wanted.regions or (() if marks or wanted.benchmarks else (MAIN,))
    ends = [wanted.until] if wanted.until else []
    every = functions_of(((name, FIRMWARE_ELF, start) for name, start, _ in rows), demangle, (*patterns, *ends))
    for pattern in (*patterns, *ends):
        known = (*every, *(as_functions(marks) if pattern in patterns else ()))
        if not any(is_asked(one, [pattern]) for one in known):
            inlined = inlined_words(pattern, {wanted.elf.name: content}, demangle)
            why = (
                f"{inlined[0].upper()}{inlined[1:]}, so it has no address"
                if inlined
                else "One that the compiler put into all its callers has no address"
            )
            stripped = "" if every else "its symbols were stripped"
            raise WorldwiseError(
                f"{wanted.elf} has no function {files.quoted(pattern)}. {why}: `-fno-inline` keeps it.",
                stripped or nearest_words(pattern, every) or "no name is near it",
            )
    end = next((one.address for one in every if ends and is_asked(one, ends)), 0)
    if wanted.benchmarks:
        return _benchmarks(wanted, content), end
    found = [*(one for one in every if is_asked(one, patterns)), *as_functions(marks)]
    if len(found) > _MOST_REGIONS:
        raise WorldwiseError(f"--region: {len(found):,} functions have such names. Allowed: up to {_MOST_REGIONS}.")
    ordered = sorted(found, key=lambda one: (one.name, one.address))
    named = dict(zip(case_names((one.name, one.address) for one in ordered), ordered, strict=True))
    return named, end


def _benchmarks(wanted: WantedFirmware, content: bytes) -> dict[str, Function]:
    """The benchmarks of ztest that were asked for, each the function that is one iteration of it."""
    (rows,) = ask(content, ("ztest_benchmarks",), what=f"--firmware {wanted.elf}")
    if not rows:
        raise WorldwiseError(
            f"--firmware {wanted.elf} has no benchmarks that worldwise knows.",
            "it knows those of Zephyr's ztest (ZTEST_BENCHMARK) by the symbols of a file that is not stripped; others: "
            "--region FUNCTION",
        )
    every = [
        Function(f"{suite}.{name}", FIRMWARE_ELF, address, frozenset((name, f"{suite}.{name}")))
        for suite, name, _, address in rows
    ]
    if not (found := [one for one in every if is_asked(one, wanted.benchmarks)]):
        raise choice_error("--benchmark", wanted.benchmarks[0], [files.quoted(one.name) for one in every[:_MOST_SAID]])
    if len(found) > _MOST_REGIONS:
        raise WorldwiseError(f"--benchmark: {len(found):,} have such names. Allowed: up to {_MOST_REGIONS}.")
    return dict(zip(case_names((one.name, one.address) for one in found), found, strict=True))


@dataclass
class FirmwareCounter:
    """Runs firmware under the plugin, and keeps what it left in the cache."""

    emulator: Emulator
    images: ImageStore
    notify: Callable[[str], None] = lambda _: None

    def space(self, machine: Machine) -> AddressSpace:
        """The symbols of the firmware."""
        return flat_space(self.emulator, machine, OWN_PROCESS, None)

    def count(
        self,
        machine: Machine,
        command: Sequence[str],
        addresses: Sequence[int],
        fresh: bool = False,
        labels: Sequence[str] = (),
        cores: Mapping[str, str] | None = None,
    ) -> Counted:
        """Run the firmware from its reset to its end; functions at these addresses are regions, and so is what
        `labels` say.

        `cores` are models that run with it: see worldwise.run.traces.watch.Watcher.watch. Raises WorldwiseError.
        """
        lab = self.emulator.lab
        plugin = self.images.get(flat_plugin())
        ranges = pack_ranges(function_ranges(self.space(machine), OWN_PROCESS))
        arguments = {"mode": "stack", "until": command[2], "limit": command[3]}
        parts = [machine.digest(lab), plugin.digest, arguments, list(addresses), hashlib.sha256(ranges).hexdigest()]
        given = (*labels, *firmware_heap_arguments(machine.files[FIRMWARE_ELF].read_bytes(), machine.name))
        parts += given
        tables = list((cores or {}).values())
        parts += [hashlib.sha256(table.encode()).hexdigest() for table in tables]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        if not fresh and digest in _done:
            return _done[digest]

        def make(work: Path) -> Path:
            calls = own_code.functions_in(addresses)
            write_for_plugin(functions := work / "functions", ranges)
            placed = tables_in(tables, work)
            made = FlatPlugin(plugin.file("flat.so"), arguments, functions, placed, calls, given)
            directory = self._run(machine, made, work / "run")
            other = self._run(machine, made, work / "again")
            if (directory / "trace.jsonl").read_bytes() != (other / "trace.jsonl").read_bytes():
                raise WorldwiseError(
                    f"{machine.name}: a second power-on executed something else",
                    "the machine repeats itself to the digit: this is a defect of worldwise; please report it",
                )
            keep_trace(directory, digest, bool(cores))
            return directory

        too_large = WorldwiseError(
            f"{machine.name}: its regions are called more often than a trace can say, and it is not kept",
            "choose functions further out with --region, or end it sooner: --until FUNCTION, --instructions N",
        )
        final, trace = kept_trace(lab.cache, digest, make, with_notes(machine.name, self.notify), too_large, fresh)
        (whole,) = [one for one in trace.passes if not one.parent]
        printed = b"".join(
            files.read_bytes(final / name, 2**24, final)[-_MOST_OUTPUT:] for name in (EMULATOR_LOG, CONSOLE)
        )
        counted = Counted(final, trace, [Life(whole.begin, whole.end, 0, 0, 0)] * 2, printed)
        _done.clear()
        _done[digest] = counted
        return counted

    def _run(self, machine: Machine, plugin: FlatPlugin, directory: Path) -> Path:
        directory.mkdir()
        # No program of ours runs there and says how it ended.
        (directory / RECORDS).write_text(NO_RECORDS, encoding="ascii")
        self.notify(f"starting {machine.name}")
        try:
            ended = self.emulator.run(machine, (), directory, plugin=plugin)
        except WorldwiseError as error:
            raise fault_of(self.emulator, machine, directory, error) from None
        (directory / RECORDS).unlink(missing_ok=True)
        self.notify(f"{machine.name} ended in {ended.wall_seconds:.1f} s")
        return directory


# The last run that was read, by all that decides it: each case of a run asks for the same one, which takes seconds.
_done: dict[str, Counted] = {}


def _entered(
    chosen: Mapping[str, Function], counted: Counted, addresses: Sequence[int], wanted: WantedFirmware
) -> tuple[dict[str, Region], list[str], list[str]]:
    regions: dict[str, Region] = {}
    unentered: list[str] = []
    notes: list[str] = []
    once: list[str] = []
    for name, one in chosen.items():
        region = Region(function=one.name[:1000], image=f"/{FIRMWARE_ELF}", address=one.address)
        calls, others = calls_of(counted.trace, addresses, region)
        if not calls:
            unentered.append(name)
            continue
        if others:
            notes.append(f"{name}: {others} calls did not return and are not counted")
        if calls[0].how == "exit":
            notes.append(f"{name} never returned: it is counted until the machine ended")
        if counted.trace.shared and (beside := beside_of(calls)):
            notes.append(
                f"{name}: in {beside:,} of {len(calls):,} calls another task was in it too; what that one executed "
                "meanwhile is the layer other tasks"
            )
        if inner := sum(call.recursions for call in calls):
            notes.append(f"{name} calls itself: {inner:,} such calls are part of the ones around them")
        if len(calls) == 1:
            once.append(one.name)
        regions[name] = region.model_copy(update={"calls": max(2, len(calls))})
    if not regions:
        raise WorldwiseError(
            f"no region was entered: {wanted.elf.name} did not call {', '.join(unentered[:_MOST_CLOSE])} in "
            f"{counted.lives[0].end:,} instructions.",
            "does it start on this machine (--machine), and does it end later (--until, --instructions)?",
            printed_end(counted.output),
        )
    if once:
        notes.append(once_words(once))
    return regions, unentered, notes


def once_words(names: Sequence[str]) -> str:
    """What a reader must know of functions that are called once at each power-on."""
    more = f" and {len(names) - _MOST_CLOSE} others" if len(names) > _MOST_CLOSE else ""
    shown = f"{', '.join(names[:_MOST_CLOSE])}{more}"
    if len(names) == 1:
        return f"{shown} is called once at each power-on: its second call is that of a second one, the same."
    return f"{shown} are called once at each power-on: their second calls are those of a second one, the same."
