# SPDX-License-Identifier: BSD-2-Clause
"""Parameters that several families share, and the limits of all families' parameters."""

from collections.abc import Mapping

from worldwise.base.units import parse_size, size_text
from worldwise.libraries.cores import ARMV8_CORES, PLAIN_TARGETS
from worldwise.libraries.portable import CURVES
from worldwise.plan.spec import LINUX, OPTEE, Measures, Parameter

MAX_SIZE = 64 * 2**20
# Bytes that one call to a TA can pass. OP-TEE maps them by page tables of 2 MiB each and has eight
# (CFG_PGT_CACHE_ENTRIES): the TA itself takes one, and a message that begins inside one takes one more than its size.
MAX_MEMREF = 12 * 2**20
# With smaller chunks the largest message would take millions of calls.
MIN_CHUNK = 1024
# Bytes of a message on a board, where it is in RAM; and of a message that is signed.
MAX_BOARD_SIZE = 1024
# In plain Linux the message is in a buffer, whose size FRAME_MESSAGE_BYTES worldwise.targets.linux sets.
MAX_PLAIN_SIZE = 2**20
# Points of a power-cut campaign.
MAX_POINTS = 10_000

CURVE = Parameter("curve", "curves", CURVES, missing="a curve, such as curve=secp256r1")
SIZE = Parameter("size", "sizes", missing="a size, such as size=1MiB")
CHUNK = Parameter("chunk", "chunks")
LOAD = Parameter("load", "loads", ("none", "busy"), "none")
TICKS = Parameter("ticks", "ticks", ("normal", "both"), "normal", of_machine=True)
# How a call to a TA passes memory.
MEMORY = Parameter("memory", "memories", ("temporary", "registered", "partial", "allocated"), "temporary")
# Where a TA keeps objects: REE file system; the same with the hash of its directory in RPMB; RPMB.
STORAGES = ("ree", "ree-rpmb", "rpmb")
STORAGE = Parameter("storage", "storages", STORAGES, missing="a storage, such as storage=ree")
POINTS = Parameter("points", "points", most=MAX_POINTS, missing="a number of points: points=200")
CORE = Parameter("core", "cores", ARMV8_CORES, ARMV8_CORES[0], of_machine=True)
# Values for build options: every combination of them; only the library's defaults.
GRID, DEFAULT = "grid", "default"
OPTIONS = Parameter("options", "options", of_machine=True, pattern="[a-z0-9-]+([+][a-z0-9-]+)*")


def action(*values: str) -> Parameter:
    """The parameter `action` with the actions of one family."""
    return Parameter("action", "actions", values, missing="an action, such as action=create")


def on_plain(
    *first: Parameter, then: tuple[Parameter, ...] = (), options: bool = False
) -> dict[str, tuple[Parameter, ...]]:
    """The same parameters on each target of plain Linux, with those of its machine and its program added."""
    last = (OPTIONS,) if options else ()
    return {
        target: (*first, LOAD, *then, *((CORE,) if target == "linux-armv8" else ()), *last) for target in PLAIN_TARGETS
    }


def in_plain_linux(measures: Measures) -> dict[str, Measures]:
    """The same measures on each target of plain Linux."""
    return dict.fromkeys(PLAIN_TARGETS, measures)


def most_size(target: str) -> int:
    """The size of the largest message, in bytes, on a target."""
    if target in PLAIN_TARGETS:
        return MAX_PLAIN_SIZE
    return MAX_SIZE if target in (OPTEE, LINUX) else MAX_BOARD_SIZE


def size_problem(target: str, size: str, chunk: str | None) -> str:
    """What is wrong with a message's size or with its chunk's size; empty if nothing is."""
    most = most_size(target)
    if parse_size(size) > most:
        return f"size {size} is too much. Allowed: up to {size_text(most)}."
    if chunk is not None and not MIN_CHUNK <= parse_size(chunk) <= MAX_MEMREF:
        return f"chunk {chunk} is out of range. Allowed: {size_text(MIN_CHUNK)} to {size_text(MAX_MEMREF)}."
    if target == OPTEE and chunk is None and parse_size(size) > MAX_MEMREF:
        return (
            f"size {size} is more than one call to a TA can bring, {size_text(MAX_MEMREF)}: OP-TEE has no "
            "more page tables to map it into the TA. Give it a chunk."
        )
    return ""


def out_of_range(size: str, least: int, most: int) -> str:
    """What is wrong with a size outside `least` to `most` bytes; empty if it is within."""
    if least <= parse_size(size) <= most:
        return ""
    return f"size {size} is out of range. Allowed: {size_text(least)} to {size_text(most)}."


def signed_size_problem(_target: str, given: Mapping[str, str]) -> str:
    """What is wrong with the size of a message that is signed, off the boards; empty if nothing is."""
    if parse_size(given["size"]) > MAX_BOARD_SIZE:
        return f"size {given['size']} is too much to be signed. Allowed: up to {size_text(MAX_BOARD_SIZE)}."
    return ""


# The implementation that stands for no library: adapter guest/adapters/gateway.c.
GATEWAY = "gateway"
# Ways between the states. irq-A-in-B: an interrupt of state A while B executes; s is secure, ns is not.
WAYS = (
    "plain",
    "empty",
    "checked",
    "psa-call",
    "callback",
    "callback-lazy",
    "callback-float",
    "irq-s-in-s",
    "irq-ns-in-s",
    "irq-s-in-ns",
)
# What must be refused, tried from the non-secure state.
ACCESSES = ("read", "write", "execute", "veneer", "controller", "pointer")
# How functions pass floating-point numbers, and so whether a gate has floating-point registers to clear.
FLOATS = ("hard", "soft")
