# SPDX-License-Identifier: BSD-2-Clause
"""What own code takes of memory: stacks by region, code and data, and for a TA the sizes to write into its header."""

from collections.abc import Callable, Sequence

from worldwise.base.tables import Section, Table
from worldwise.explain.instruction_mix import PeakStack
from worldwise.explain.own_code import OwnExplainer
from worldwise.libraries import own_code
from worldwise.libraries.own_code import ARCHIVE, FIRMWARE_ELF, Code
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.symbols.machine import is_of_32_bits
from worldwise.machine.symbols.memory_layout import initramfs_files
from worldwise.records.trace_records import Pass
from worldwise.run.code.heap import heap_of, least_data_size, starts_of, up
from worldwise.run.code.prepare import MAIN, Ready
from worldwise.run.code.region_counts import calls_of
from worldwise.targets.own_code import TA_ELF

# What OP-TEE 4.10 adds to TA_STACK_SIZE, and what it puts on the stack before the TA begins: the parameters.
_FRAMEWORK, _PARAMETERS = 2048, 80
_LEAST_STACK = 16
_FIRST, _LAST = 3, 2
# Characters of a way, so that a line of the screen holds it beside the figures.
_MOST_WAY = 64
# Characters of a function's name in a table.
_MOST_NAME = 60
_TA_POINTS = "TA_"


def memory_section(explainer: OwnExplainer, ready: Ready, regions: Sequence[tuple[str, str]]) -> Section:
    """The deepest stack of each region, by its name and how it is shown, and the bytes of code and data."""
    manifest = ready.code.manifest
    is_ta = manifest.kind == own_code.TA
    heap = heap_of([one for one in explainer.trace.passes if not one.parent])
    rows = []
    for region, shown in regions:
        calls, _ = calls_of(explainer.trace, manifest.addresses, manifest.regions[region])
        own = _deepest(calls, lambda one: one.stack)
        row = [shown, f"{own.stack:,}" if own and own.stack is not None else "-"]
        peak = explainer.peak(own) if own else None
        if is_ta:
            within = _deepest(calls, lambda one: one.ta_stack)
            row.append(f"{within.ta_stack:,}" if within and within.ta_stack is not None else "-")
            peak = explainer.ta_peak(within) if within else peak
        most = heap_of(calls)
        row += [f"{most.heap:,}"] if most else ["-"] if heap else []
        rows.append([*row, way_words(peak)])
    headers = ["region", "stack\nbytes", *(["TA's\nbytes"] if is_ta else []), *(["heap\nbytes"] if heap else [])]
    notes = ["stack: of the deepest call, from its first instruction on, without interrupts and signals."]
    notes += ["heap: that the call had asked for, more than at its begin, at a time."] if heap else []
    table = Table([*headers, "the deepest way"], rows, 1, names=(len(headers),))
    return Section("Memory", table, [*notes, *_sizes(ready.code), _heap_words(explainer, heap)])


def _heap_words(explainer: OwnExplainer, most: Pass | None) -> str:
    """What a program or firmware had asked its allocator for at a time, and where."""
    if most is None:
        return (
            "heap: not measured: no function of an allocator has a name there (malloc or calloc; a stripped static "
            "program, and one in Go, have none)."
        )
    if not most.heap_blocks:
        return "heap: it asked its allocator for nothing."
    names = [frame.function for frame in explainer.heap_way(most)]
    names = names[names.index(MAIN) :] if MAIN in names else names
    left = f"; {most.heap_left:,} were there at its end" if most.heap_left else "; none was there at its end"
    return (
        f"heap: {most.heap:,} bytes at a time at the most, by malloc and its like, in {_shortened(names)}. It asked "
        f"for {most.heap_blocks:,} block{'s' if most.heap_blocks > 1 else ''}{left}."
    )


def _deepest(calls: Sequence[Pass], of: Callable[[Pass], int | None]) -> Pass | None:
    known = [one for one in calls if of(one) is not None]
    return max(known, key=lambda one: of(one) or 0, default=None)


def way_words(peak: PeakStack | None) -> str:
    """The functions on the way to the deepest point: of many the first and the last ones; of a TA from its own entry
    point on, which OP-TEE's library has called.
    """
    if peak is None:
        return "-"
    return _shortened([frame.function for frame, _ in peak.path])


def _shortened(names: Sequence[str]) -> str:
    own = next((at for at, name in enumerate(names) if name.startswith(_TA_POINTS)), 0)
    names = names[own:]
    ways = [names] if len(names) <= _FIRST + _LAST else []
    # Its last functions say most: those at its beginning go first.
    ways += [
        [*names[:first], "...", *names[-last:]]
        for first, last in ((_FIRST, _LAST), (2, _LAST), (1, _LAST), (1, 1))
        if len(names) > first + last
    ]
    lines = [" > ".join(way) for way in ways]
    # Rust's names alone fill a line.
    lines.append(" > ".join(short(name, _MOST_WAY // 2 - 4) for name in ways[-1]))
    return next((line for line in lines if len(line) <= _MOST_WAY), lines[-1])


def short(name: str, most: int = _MOST_NAME) -> str:
    """A function's name with its middle left out, if it has more characters than `most`."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}...{name[2 - most // 2 :]}"


def _sizes(code: Code) -> list[str]:
    """A line for each file of the user's: its bytes of code and data."""
    kind = code.manifest.kind
    if kind == own_code.FIRMWARE:
        named = {code.origin.name: (code.folder / FIRMWARE_ELF).read_bytes()}
    else:
        path = code.manifest.command[0]
        named = {path.rpartition("/")[2]: initramfs_files(code.folder / ARCHIVE)[path.lstrip("/")]}
        if kind == own_code.TA:
            named["the TA"] = (code.folder / TA_ELF).read_bytes()
    found = []
    for name, content in named.items():
        ((executed, constants, data, zeros),) = ask(content, ("memory",), what=name)
        found.append(
            f"{name}: {executed:,} bytes of code, {constants:,} of constants, {data:,} of data with values and "
            f"{zeros:,} that begin as zeros."
        )
    return found


def ta_words(explainer: OwnExplainer, ready: Ready) -> list[str]:
    """The values that a TA's user_ta_header_defines.h needs at least, by what was executed."""
    code = ready.code
    if code.manifest.kind != own_code.TA:
        return []
    starts = starts_of(explainer.trace.passes)
    if not starts and is_of_32_bits(code.folder / TA_ELF):
        return [
            "TA_STACK_SIZE and TA_DATA_SIZE are not measured: QEMU shows no stack pointer of a TA of 32 bits on this "
            "machine, whose core is of 64."
        ]
    if not starts:
        return []
    ((_, _, stack, heap, heap_bytes),) = ask(code.folder / TA_ELF, ("ta_memory",), what="the TA")
    deepest = max(starts, key=lambda one: one.ta_stack or 0)
    taken = (deepest.ta_stack or 0) + _PARAMETERS
    words = [stack_words(taken, stack - _FRAMEWORK, way_words(explainer.ta_peak(deepest)))]
    if heap:
        least = least_data_size(starts)
        words.append(f"TA_DATA_SIZE: {least:,} is the least for what was executed, and it is {heap_bytes:,}.")
    else:
        words.append("TA_DATA_SIZE: unknown, since the TA's symbols were stripped and its heap has no name.")
    return words


def stack_words(taken: int, now: int, way: str) -> str:
    """The least TA_STACK_SIZE of a TA that took `taken` bytes of stack along a way, and that has `now`."""
    least = max(_LEAST_STACK, up(taken - _FRAMEWORK))
    added = (
        f", of which OP-TEE adds {_FRAMEWORK:,} by itself."
        if taken > _FRAMEWORK
        else f"; OP-TEE adds {_FRAMEWORK:,} by itself, which is enough for them."
    )
    return (
        f"TA_STACK_SIZE: {least:,} is the least for what was executed, and it is {now:,}. The TA took {taken:,} bytes "
        f"({way}){added}"
    )
