# SPDX-License-Identifier: BSD-2-Clause
"""How much heap a program, firmware or a TA needs: its allocator's functions, and what the passes of a trace say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from worldwise.base import files
from worldwise.libraries.own_code import Mapped
from worldwise.machine.elf_files.questions import ask
from worldwise.records.trace_records import Pass
from worldwise.run.code.crash import bias_of, images_in

# What a function does, as plugin/aarch64/heap.h has it, by its name: those of C.
OF_C = {
    "malloc": "malloc",
    "valloc": "malloc",
    "pvalloc": "malloc",
    "calloc": "calloc",
    "memalign": "memalign",
    "aligned_alloc": "memalign",
    "posix_memalign": "posix_memalign",
    "realloc": "realloc",
    "reallocarray": "reallocarray",
    "free": "free",
    "cfree": "free",
}
# Of firmware newlib's besides, which have a structure ahead, FreeRTOS's and Zephyr's.
OF_FIRMWARE = {
    **OF_C,
    **{f"_{name}_r": f"{name}_r" for name in ("malloc", "calloc", "realloc", "memalign", "free")},
    "pvPortMalloc": "malloc",
    "pvPortCalloc": "calloc",
    "vPortFree": "free",
    "k_malloc": "malloc",
    "k_calloc": "calloc",
    "k_realloc": "realloc",
    "k_aligned_alloc": "memalign",
    "k_free": "free",
}
# The functions without which nothing is known.
_GIVES = ("malloc", "calloc", "malloc_r")


def placed_functions(content: Mapping[str, bytes], mapped: Sequence[Mapped]) -> Iterator[tuple[str, str, int]]:
    """Every function of every file that is mapped: its symbol, the file, and where it is in memory."""
    for image, maps in images_in(content, mapped):
        segments, functions = ask(content[image], ("segments",), ("named_functions",), what=files.quoted(image))
        bias = bias_of(segments, maps)
        if bias is None:
            continue
        for name, start, _ in functions:
            address = start + bias
            # Data that says it is a function is in no executable memory.
            if any(one.begin <= address < one.end for one in maps):
                yield name, image, address


def heap_arguments(content: Mapping[str, bytes], mapped: Sequence[Mapped]) -> list[str]:
    """The functions of a program's allocator, for the plugin; none if their addresses are unknown."""
    return plugin_arguments(OF_C, ((name, address) for name, _, address in placed_functions(content, mapped)))


def firmware_heap_arguments(elf: bytes, what: str) -> list[str]:
    """The same of firmware."""
    (rows,) = ask(elf, ("named_functions",), what=what)
    return plugin_arguments(OF_FIRMWARE, ((name, address) for name, address, _ in rows))


def plugin_arguments(kinds: Mapping[str, str], functions: Iterable[tuple[str, int]]) -> list[str]:
    """The plugin's arguments for functions that allocate, by their kinds."""
    found = {address: kinds[name] for name, address in sorted(functions) if name in kinds}
    if not any(kind in _GIVES for kind in found.values()):
        return []
    return [f"heap={kind}:{address:#x}" for address, kind in sorted(found.items())]


def heap_of(passes: Sequence[Pass]) -> Pass | None:
    """The start, or call, among these that had the most heap at a time; None if nobody looked."""
    known = [one for one in passes if one.heap is not None]
    return max(known, key=lambda one: one.heap or 0, default=None)


def most_heap(passes: Sequence[Pass]) -> int | None:
    """The most bytes that a program had asked for at a time, in any of its starts; None if nobody looked."""
    most = heap_of([one for one in passes if not one.parent])
    return most.heap if most else None


# The head of the heap's free piece, and the least that OP-TEE's allocator takes.
_HEAD, _LEAST = 32, 1024
_ALIGNED = 16


def up(size: int) -> int:
    """A size in bytes that OP-TEE's allocator and stacks can have: `size`, or the next above it."""
    return -(-size // _ALIGNED) * _ALIGNED


def starts_of(passes: Sequence[Pass]) -> list[Pass]:
    """The starts of the client in a trace, of which the TA's memory is known."""
    return [one for one in passes if not one.parent and one.ta_stack is not None]


def least_data_size(starts: Sequence[Pass]) -> int:
    """The least TA_DATA_SIZE in bytes for what these starts executed, of a TA whose heap is known."""
    return max(_LEAST, up(max((one.ta_heap for one in starts), default=0) + _HEAD))
