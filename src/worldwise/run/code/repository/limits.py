# SPDX-License-Identifier: BSD-2-Clause
"""Whether the measures of a worldwise.toml keep its limits: instructions, stack, flash and heap, as counted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.machine.symbols.machine import is_of_32_bits
from worldwise.run.code.heap import heap_of
from worldwise.run.code.region_counts import calls_of, counts_of
from worldwise.run.code.repository.project import Made, Opened
from worldwise.targets.own_code import TA_ELF

_NO_ALLOCATOR = "the allocator of this program is: none of its functions is called malloc or calloc"


@dataclass(frozen=True)
class LimitVerdict:
    """One limit, and what was measured.

    Attributes:
        case: the region's case; of a measure as a whole `own/NAME`.
        what: what is limited: "worst call", "first call", "stack", "flash", "heap", "predicted time".
        found, limit: with their units.
        where: the file and the line that say the limit.
        kept: whether it is kept.
    """

    case: str
    what: str
    found: str
    limit: str
    where: str
    kept: bool


def verdicts(opened: Opened, made: Sequence[Made]) -> list[LimitVerdict]:
    """Every limit that counts decide, in the file's order."""
    return [verdict for one in made for verdict in _of(opened, one)]


def _no_heap_of_ta(elf: Path) -> str:
    """Why it is unknown where the heap of a TA is."""
    if is_of_32_bits(elf):
        return "the heap of this TA is: the TA has 32 bits, and QEMU shows no register of such code"
    return "the heap of this TA is: its symbols were stripped"


def _of(opened: Opened, one: Made) -> Iterator[LimitVerdict]:
    code = one.ready.code
    if one.measure.flash is not None:
        where = opened.where("measure", one.name, "flash")
        yield _bytes(f"own/{one.name}", "flash", one.flash or 0, one.measure.flash, where)
    if one.measure.heap is not None:
        where = opened.where("measure", one.name, "heap")
        heap = one.heap
        if heap is None:
            why = _no_heap_of_ta(code.folder / TA_ELF) if one.measure.ta else _NO_ALLOCATOR
            raise WorldwiseError(f"{where}: it is unknown where {why}.", "take it out")
        yield _bytes(f"own/{one.name}", "heap", heap, one.measure.heap, where)
    for key_of, region, limit in one.limits:
        counts = counts_of(code, one.ready.counted.trace, code.manifest.regions[region])
        # Of more iterations than one nobody said a limit.
        counts = counts[:1] if one.first_only else counts
        case = f"own/{code.name}/{region}"
        for key, what, found, most in (
            ("instructions", "worst call", max(counts), limit.instructions),
            ("first", "first call", counts[0], limit.first),
        ):
            if most is not None:
                where = opened.where("measure", one.name, "limit", key_of, key)
                yield LimitVerdict(case, what, f"{found:,} instructions", f"{most:,}", where, found <= most)
        if limit.stack is not None:
            where = opened.where("measure", one.name, "limit", key_of, "stack")
            deepest = stack_of(one, region)
            if deepest is None:
                raise WorldwiseError(
                    f"{where}: the stack of {case} was not seen, so no limit can be kept or exceeded.", "take it out"
                )
            yield _bytes(case, "stack", deepest, limit.stack, where)
        if limit.heap is not None:
            where = opened.where("measure", one.name, "limit", key_of, "heap")
            most = heap_of_region(one, region)
            if most is None:
                raise WorldwiseError(f"{where}: it is unknown where {_NO_ALLOCATOR}.", "take it out")
            yield _bytes(case, "heap", most, limit.heap, where)


def stack_of(one: Made, region: str) -> int | None:
    """How many bytes deep the stack got in the calls of a region; None if the plugin did not see that."""
    manifest = one.ready.code.manifest
    calls, _ = calls_of(one.ready.counted.trace, manifest.addresses, manifest.regions[region])
    depths = [call.stack for call in calls if call.stack is not None]
    return max(depths) if len(depths) == len(calls) else None


def heap_of_region(one: Made, region: str) -> int | None:
    """How many bytes of heap the calls of a region had at a time, at most; None if the plugin did not look."""
    manifest = one.ready.code.manifest
    calls, _ = calls_of(one.ready.counted.trace, manifest.addresses, manifest.regions[region])
    most = heap_of(calls)
    return most.heap if most else None


def _bytes(case: str, what: str, found: int, most: int, where: str) -> LimitVerdict:
    return LimitVerdict(case, what, f"{found:,} B", f"{most:,} B", where, found <= most)
