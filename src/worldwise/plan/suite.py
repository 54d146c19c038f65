# SPDX-License-Identifier: BSD-2-Clause
"""Suites: what to measure. A TOML file becomes a list of cases, or an error with file, line and way out."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from worldwise.base import files, paths, toml_model
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml_lines import Path as TomlPath
from worldwise.base.toml_lines import TomlLines
from worldwise.libraries import apps, portable
from worldwise.libraries import boards as board
from worldwise.libraries.cores import ARMV8_CORES, PLAIN_TARGETS, TEE_CORE
from worldwise.libraries.implementation import IMPLEMENTATIONS as IMPLEMENTATION_TABLE
from worldwise.read import published

FORMAT = 1

# What every board can be asked for: operation -> measure -> places.
_ON_BOARD = ("mcu",)
BOARD_OPERATIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "keygen": {"keygen": _ON_BOARD},
    "sign": {"sign": _ON_BOARD},
    "verify": {"verify": _ON_BOARD},
    "ecdh": {"ecdh": _ON_BOARD},
    "sha256": {"hash": _ON_BOARD},
    "sha512": {"hash": _ON_BOARD},
    "aes128": {"encrypt": _ON_BOARD},
    "aes256": {"encrypt": _ON_BOARD},
    "dhrystone": {"run": _ON_BOARD},
}
# In its four calls, by OP-TEE's libraries or by one of Linux.
AES = "aes"
_AES_CALLS = ("prepare", "set-key", "set-iv", "cipher")
# Linux without a secure world is asked the same, but for what is a board's benchmark.
_PLAIN_OPERATIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    **{
        operation: dict.fromkeys(measures, ("linux",))
        for operation, measures in BOARD_OPERATIONS.items()
        if operation != "dhrystone"
    },
    portable.HARDCLOCK: dict.fromkeys(("sign", "loop"), ("linux",)),
    AES: dict.fromkeys(_AES_CALLS, ("linux",)),
}
# Everything a suite may ask for, one line each: target -> operation -> measure -> places where it stands, the
# innermost first. Every board is a target besides; see `operations_of`.
_IN_TEE = ("ta", "client")
TARGETS: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "optee": {
        "keygen": {"keygen": _IN_TEE},
        "attestdiv": {"sign": _IN_TEE, "verify": _IN_TEE},
        "attestquorum": {"sign": _IN_TEE, "verify": _IN_TEE},
        "empty-invoke": {"invoke": ("client",)},
        "session-open": {"open": ("client",)},
        "ta-load": {"load": ("client",)},
        "sha256": {"hash": ("api", *_IN_TEE), "touch": ("client",), "empty": ("client",)},
        "storage-create": {"create": _IN_TEE},
        "hello": {"increment": _IN_TEE},
        AES: dict.fromkeys(_AES_CALLS, ("ta", "invoke", "client")),
        "payload": {"call": ("client",), "read": _IN_TEE, "once": _IN_TEE},
        "call": {"oldest": ("client",), "newest": ("client",)},
        "storage": {"access": _IN_TEE},
        "tamper": {},
        "power-cut": {},
        "keycache": {"request": ("storage", "ta", "invoke", "client")},
        "keycache-load": {"short": ("client",), "long": ("client",)},
        "keycache-zipf": {"requests": ("client",)},
        "keycache-hold": {},
        "keycache-cut": {},
        "abuse": {},
        "sign": {"sign": _IN_TEE},
        "verify": {"verify": _IN_TEE},
        "ecdh": {"ecdh": _IN_TEE},
        "digest": {"hash": _IN_TEE},
        "echo": {"round-trip": ("client",), "stream": ("client",)},
        "echo-host": {},
    },
    "linux": {
        "keygen": {"keygen": ("linux",)},
        "attestdiv": {"sign": ("linux",), "verify": ("linux",)},
        "attestquorum": {"sign": ("linux",), "verify": ("linux",)},
        "sha256": {"hash": ("linux",)},
        "sha256sum": {"hash": ("linux",)},
        AES: dict.fromkeys(_AES_CALLS, ("linux",)),
        "file": {"access": ("linux",)},
        "sign": {"sign": ("linux",)},
        "verify": {"verify": ("linux",)},
        "ecdh": {"ecdh": ("linux",)},
        "digest": {"hash": ("linux",)},
        "echo": {"round-trip": ("linux",), "stream": ("linux",)},
        "echo-host": {},
    },
    **dict.fromkeys(PLAIN_TARGETS, _PLAIN_OPERATIONS),
}
# Those of the targets that have a TEE.
IMPLEMENTATIONS = tuple(IMPLEMENTATION_TABLE)
OPTIMISATIONS = portable.OPTIMISATIONS
# The levels at which OP-TEE, and firmware of boards, is built.
_EMBEDDED_OPTIMISATIONS = ("Os", "O2")

_ALL_OPERATIONS = (*TARGETS.values(), BOARD_OPERATIONS)
OPERATIONS = tuple(dict.fromkeys(operation for operations in _ALL_OPERATIONS for operation in operations))
MEASURES = tuple(
    dict.fromkeys(measure for operations in _ALL_OPERATIONS for measures in operations.values() for measure in measures)
)
PLACES = ("api", "ta", "invoke", "client", "linux", "mcu", "storage")

MAX_SIZE = 64 * 2**20
# One call to a TA. OP-TEE maps what it brings by page tables of 2 MiB each, and has eight (CFG_PGT_CACHE_ENTRIES): the
# TA itself takes one, and a message that begins within one takes one more than its size says.
MAX_MEMREF = 12 * 2**20
# With less a message of the greatest size is millions of calls.
MIN_CHUNK = 1024
# A message on a board, where it stands in RAM.
MAX_BOARD_SIZE = 1024
# In plain Linux it stands in a buffer, for which worldwise.targets.linux sets FRAME_MESSAGE_BYTES.
MAX_PLAIN_SIZE = 2**20
# Runs through the loop of a benchmark program.
MAX_RUNS = 100_000

# A message that AES takes: a call brings it and what becomes of it, and of MAX_MEMREF's page tables each needs its own.
MAX_AES = 4 * 2**20

_KEYCACHE = apps.APPS["keycache"].operations
# The key cache: a key's possible bytes, and the longest plaintext, KEYCACHE_MOST in keycache/client/keycache.h.
KEYCACHE_KEYS = (16, 32)
MAX_KEYCACHE = 64 * 1024
# Who decides what the TA keeps; naive keeps nothing, and reads secure storage for every use.
KEYCACHE_POLICIES = ("none", "lru", "smart", "naive")
# A request, and where it finds its keys: in the TA (hit), in a record with it (miss), in secure storage (cold).
KEYCACHE_ACTIONS = (
    "get-hit",
    "get-miss",
    "get-cold",
    "seal-hit",
    "seal-miss",
    "open-hit",
    "open-miss",
    "reencrypt-hit",
    "reencrypt-miss",
    "set-known",
    "set-new",
)

# What redis-benchmark asks of it, and over how many connections.
LOAD_ACTIONS = ("ping", "seal", "reencrypt")
MAX_CONNECTIONS = 1000
# Of one request. A longer one takes several TLS records, and redis-benchmark, with Nagle's algorithm on, sends the
# last of them when the first is acknowledged: Linux puts that off by 40 ms, in which the processor would be idle.
MAX_LOAD = 8 * 1024
# Streams of requests, those of keycache/server/workload.c, by so many clients; percent of the keys that the TA keeps.
WORKLOADS = (
    "zipf-0.8",
    "zipf-0.99",
    "zipf-1.2",
    "zipf-0.8-scans",
    "zipf-0.99-scans",
    "zipf-1.2-scans",
    "zipf-0.99-drift",
)
KEYCACHE_BOUNDS = ("1", "5", "10", "25")
MAX_CLIENTS = 100_000
MAX_REQUESTS = 1_000_000

# A message to an echo server, ECHO_MAX_BYTES in guest/apps/echo/echo.h.
MAX_ECHO = 64 * 1024

# Sessions of one client that are open at a time, points of a power-cut campaign, calls of a campaign of bad parameters.
MAX_SESSIONS = 64
MAX_POINTS = 10_000
MAX_CALLS = 10_000_000
# Where a TA keeps objects: REE file system; the same, with the hash of its directory in RPMB; RPMB.
STORAGES = ("ree", "ree-rpmb", "rpmb")
# What an object or a file can have: see guest/apps/storage/access.c.
STORAGE_LEAST, STORAGE_MOST = 32, 2**20
# Actions that a power cut can fall into, and the largest object there: FAULTS_MAX_OBJECT in guest/apps/faults/faults.h.
CUT_ACTIONS = ("create", "overwrite", "append", "replace", "rename", "delete")
MAX_CUT = 64 * 1024
# What the device has that tee-supplicant emulates, and the largest object, in whole KiB, that was found to fit: by
# action, of which some need room for the object twice, since RPMB's file system writes the new one beside the old one,
# and enumerating is tried with three. Beside it are three objects of a block each.
RPMB_DEVICE = 256 * 1024
RPMB_MOST = {"": 252 * 1024, "overwrite": 126 * 1024, "append": 126 * 1024, "enumerate": 84 * 1024}

# Far above any use; they keep a slip of the finger from filling a disk.
MAX_SAMPLES = 100_000
MAX_WARMUP = 10_000
# And from filling the memory: a few lists of a block give their product in cases.
MAX_CASES = 50_000
MAX_TEXT = 1000

BUDGET_MEASURES = ("sign",)
BUDGET_PLACE = "client"

_SIZE = re.compile(r"([0-9]{1,15})(B|KiB|MiB)?")
_SIZE_UNITS = {"MiB": 2**20, "KiB": 2**10, "B": 1}
# A run's folder has the name in its own.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_QUANTITY = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([A-Za-z\u00b5\u03bc]+)\s*")
_DURATIONS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "\u00b5s": Fraction(1, 10**6),
    "\u03bcs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_FREQUENCIES = {"GHz": Fraction(10**9), "MHz": Fraction(10**6), "kHz": Fraction(10**3), "Hz": Fraction(1)}


def operations_of(target: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """What a target can be asked for: operation -> measure -> places, the innermost first.

    Every name that is not in TARGETS is taken for a board's, so that a run of a board that is gone can be read.
    """
    return TARGETS.get(target, BOARD_OPERATIONS)


def target_names() -> tuple[str, ...]:
    """Every target: those of TARGETS, then the boards. Raises WorldwiseError if a board's file is wrong."""
    return (*TARGETS, *board.boards())


def implementations_of(target: str, operations: Iterable[str] = ()) -> tuple[str, ...]:
    """The implementations that a target can have for any of some operations, by name.

    Raises WorldwiseError if a file of one is wrong.
    """
    if takes_portables(target):
        # One block may ask for AES in all modes of what a portable implementation has as well.
        of_aes = apps.APPS[AES].libraries if target in PLAIN_TARGETS and AES in operations else ()
        return tuple(dict.fromkeys([*portable.portables(), *of_aes]))
    known = dict.fromkeys(IMPLEMENTATIONS)
    for app in filter(None, map(apps.app_named, operations)):
        known |= dict.fromkeys(app.libraries if target == "linux" else ())
        known |= dict.fromkeys(portable.portables() if app.portable else ())
    return tuple(known)


def takes_portables(target: str) -> bool:
    """Whether a target runs the portable implementations, by programs of nothing else: a board, or plain Linux."""
    return target in PLAIN_TARGETS or target not in TARGETS


def optimisations_of(target: str) -> tuple[str, ...]:
    """The levels at which a target's programs can be built."""
    return OPTIMISATIONS if target in PLAIN_TARGETS else _EMBEDDED_OPTIMISATIONS


def is_target(name: str) -> bool:
    """Whether there is a target of this name; boards are looked at only if it is none of the others."""
    return name in TARGETS or name in board.boards()


@dataclass(frozen=True)
class Parameter:
    """What an operation can be asked for besides.

    Attributes:
        key: its name in a case's id and on the measured program's command line.
        suite_key: the key of a [[cases]] block that lists its values.
        operations: which have it: (target, operation); `*` for each, `board` for every board.
        values: those it can have; empty for a size and for a number.
        default: the value that is meant when it is left out; empty if there is none.
        most: of a number, which is at least 1; None for all else.
        missing: what an operation that has it lacks without it, for an error; empty if it can do without.
        of_machine: it chooses the machine or which program runs on it; the measured program is not told.
        pattern: of a text that only the implementation can judge; empty for all else.
    """

    key: str
    suite_key: str
    operations: tuple[tuple[str, str], ...]
    values: tuple[str, ...] = ()
    default: str = ""
    most: int | None = None
    missing: str = ""
    of_machine: bool = False
    pattern: str = ""

    @property
    def is_size(self) -> bool:
        """Whether its values are numbers of bytes."""
        return not self.values and self.most is None and not self.pattern

    def fits(self, target: str, operation: str) -> bool:
        """Whether an operation has it."""
        kind = target if target in TARGETS else "board"
        return any(fnmatchcase(f"{kind}/{operation}", "/".join(pattern)) for pattern in self.operations)


# Campaigns, whose programs start no load, and the key cache, whose guest does not survive one.
_WITHOUT_LOAD = (*apps.APPS["faults"].operations, *_KEYCACHE)
_TEE_MESSAGES = ("sign", "verify", "digest", "aes", "echo", "echo-host")
_MESSAGES = ("sign", "verify", "sha256", "sha512", "aes128", "aes256")

# In the order in which they stand in a case's id.
PARAMETERS = (
    Parameter(
        "curve",
        "curves",
        tuple(
            (target, operation)
            for target in ("board", "optee", "linux", *PLAIN_TARGETS)
            for operation in portable.OF_CURVE
            if target not in ("optee", "linux") or operation != "keygen"
        )
        + tuple((target, portable.HARDCLOCK) for target in PLAIN_TARGETS),
        portable.CURVES,
        missing="a curve, such as curve=secp256r1",
    ),
    Parameter(
        "size",
        "sizes",
        (
            ("optee", "sha256"),
            ("linux", "sha256"),
            ("linux", "sha256sum"),
            *((target, operation) for target in ("board", *PLAIN_TARGETS) for operation in _MESSAGES),
            *((target, AES) for target in PLAIN_TARGETS),
            *((target, portable.HARDCLOCK) for target in PLAIN_TARGETS),
            *((target, operation) for target in ("optee", "linux") for operation in _TEE_MESSAGES),
            ("optee", "payload"),
            ("optee", "call"),
            ("optee", "storage"),
            ("optee", "power-cut"),
            ("optee", "keycache"),
            ("optee", "keycache-load"),
            ("linux", "file"),
        ),
        missing="a size, such as size=1MiB",
    ),
    Parameter("chunk", "chunks", (("optee", "sha256"), ("linux", "sha256"))),
    Parameter("fault", "faults", (("linux", "sha256"),), ("none", "fresh"), "none"),
    Parameter(
        "load",
        "loads",
        (
            *(("optee", operation) for operation in TARGETS["optee"] if operation not in _WITHOUT_LOAD),
            ("linux*", "*"),
        ),
        ("none", "busy"),
        "none",
    ),
    Parameter("ticks", "ticks", (("optee", "*"),), ("normal", "both"), "normal", of_machine=True),
    Parameter(
        "runs", "runs", (("board", "dhrystone"),), most=MAX_RUNS, missing="the number of runs, such as runs=1000"
    ),
    Parameter("key", "keys", (("*", "aes"),), ("128", "256"), missing="a key's length in bits, such as key=128"),
    Parameter("mode", "modes", (("*", "aes"),), ("cbc", "ctr", "gcm"), missing="a mode, such as mode=ctr"),
    Parameter(
        "direction", "directions", (("*", "aes"),), ("encrypt", "decrypt"), missing="a direction: direction=encrypt"
    ),
    Parameter(
        "memory",
        "memories",
        (("optee", "payload"), ("optee", "sign"), ("optee", "verify")),
        ("temporary", "registered", "partial", "allocated"),
        "temporary",
    ),
    Parameter("random", "randoms", (("optee", "sign"),), ("bench", "tee"), "bench"),
    Parameter("sessions", "sessions", (("optee", "call"),), most=MAX_SESSIONS, default="1"),
    Parameter("parameters", "parameters", (("optee", "call"),), ("0", "1", "2", "3", "4"), "0"),
    Parameter(
        "storage",
        "storages",
        tuple(("optee", operation) for operation in ("storage", "tamper", "power-cut", *_KEYCACHE)),
        STORAGES,
        missing="a storage, such as storage=ree",
    ),
    Parameter(
        "policy",
        "policies",
        tuple(("optee", operation) for operation in ("keycache", "keycache-load", "keycache-zipf")),
        KEYCACHE_POLICIES,
        missing="a policy, such as policy=smart",
    ),
    Parameter(
        "action",
        "actions",
        (
            ("linux", "file"),
            *(("optee", operation) for operation in ("storage", "power-cut", "keycache", "keycache-load")),
        ),
        (
            *("create", "read", "overwrite", "append", "replace", "rename", "enumerate", "delete"),
            *KEYCACHE_ACTIONS,
            *LOAD_ACTIONS,
        ),
        missing="an action, such as action=create",
    ),
    Parameter("sync", "syncs", (("linux", "file"),), ("none", "fsync"), "none"),
    Parameter(
        "points",
        "points",
        (("optee", "power-cut"), ("optee", "keycache-cut")),
        most=MAX_POINTS,
        missing="a number of points: points=200",
    ),
    Parameter("durability", "durabilities", (("optee", "keycache-cut"),), ("full", "relaxed"), "full"),
    Parameter("ta", "tas", (("optee", "abuse"),), apps.ABUSED, missing="a TA, such as ta=hello"),
    Parameter("calls", "calls", (("optee", "abuse"),), most=MAX_CALLS, missing="a number of calls: calls=100000"),
    Parameter(
        "server",
        "servers",
        (("*", "echo"), ("*", "echo-host")),
        ("linux", "call", "socket"),
        missing="a server, such as server=call",
    ),
    Parameter(
        "connections",
        "connections",
        (("optee", "keycache-load"),),
        most=MAX_CONNECTIONS,
        missing="a number of connections: connections=8",
    ),
    Parameter(
        "clients", "clients", (("optee", "keycache-load"), ("optee", "keycache-zipf")), most=MAX_CLIENTS, default="1"
    ),
    Parameter(
        "requests",
        "requests",
        (("optee", "keycache-load"), ("optee", "keycache-zipf")),
        most=MAX_REQUESTS,
        missing="a number of requests: requests=1000",
    ),
    Parameter(
        "bound",
        "bounds",
        (("optee", "keycache-zipf"),),
        KEYCACHE_BOUNDS,
        missing="how many percent of the keys the TA keeps: bound=10",
    ),
    Parameter(
        "workload", "workloads", (("optee", "keycache-zipf"),), WORKLOADS, missing="a workload: workload=zipf-0.99"
    ),
    Parameter("core", "cores", (("linux-armv8", "*"),), ARMV8_CORES, ARMV8_CORES[0], of_machine=True),
    # AES in all modes is a program of its own, whose library is configured as Debian has it.
    Parameter(
        "options",
        "options",
        tuple((target, operation) for target in PLAIN_TARGETS for operation in _PLAIN_OPERATIONS if operation != AES),
        of_machine=True,
        pattern="[a-z0-9-]+([+][a-z0-9-]+)*",
    ),
)
_BY_KEY = {parameter.key: parameter for parameter in PARAMETERS}
# Of build options: every combination of them; none but the library's own.
GRID, DEFAULT = "grid", "default"


@dataclass(frozen=True)
class Case:
    """One thing to measure: an operation of one implementation, built one way, on one target.

    `parameters` are (key, value) in the order of PARAMETERS, without those that have their default; sizes are as
    `size_text` writes them.
    """

    target: str
    implementation: str
    optimisation: str
    operation: str
    samples: int
    warmup: int
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def variant(self) -> str:
        """Implementation and optimisation, such as `mbedtls-nist-O2`."""
        return f"{self.implementation}-{self.optimisation}"

    @property
    def id(self) -> str:
        """The case's name, and its directory in a run: `optee/mbedtls-O2/sha256,size=1MiB`."""
        return ",".join(filter(None, (f"{self.target}/{self.variant}/{self.operation}", self.parameter_text)))

    @property
    def parameter_text(self) -> str:
        """The parameters as the id has them: `size=1MiB,chunk=64KiB`; empty for none. See `parameters_of`."""
        return ",".join(map("=".join, self.parameters))

    @property
    def calls(self) -> int:
        """How often the operation is called: once cold, then warm-up, then samples."""
        return 1 + self.warmup + self.samples

    @property
    def measures(self) -> Mapping[str, tuple[str, ...]]:
        """What the case yields: measure -> places, the innermost first."""
        return operations_of(self.target)[self.operation]

    @property
    def board(self) -> str:
        """The board it is measured on; empty if its target is none."""
        return "" if self.target in TARGETS else self.target

    @property
    def core(self) -> str:
        """The core of its machine, in plain Linux; empty on other targets, which have one each."""
        return dict(self.parameters).get("core", PLAIN_TARGETS.get(self.target, ""))

    @property
    def options(self) -> str:
        """The library's build options that are not the default; see `Portable.options`."""
        return dict(self.parameters).get("options", "")

    @property
    def curve(self) -> str:
        """The curve, of a portable implementation; empty for an operation that needs none."""
        return dict(self.parameters).get("curve", "")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The parameters for the measured program: `curve=secp256r1`, `size=1048576`, sizes in bytes."""
        return tuple(
            f"{key}={parse_size(value) if _BY_KEY[key].is_size else value}"
            for key, value in self.parameters
            if not _BY_KEY[key].of_machine
        )

    @property
    def runs(self) -> int | None:
        """How often a benchmark program goes through its loop in one call; None for what is no such program."""
        value = dict(self.parameters).get("runs")
        return None if value is None else int(value)

    @property
    def ticks_in_both_worlds(self) -> bool:
        """Whether Linux's timer interrupts the secure world too."""
        return ("ticks", "both") in self.parameters

    @property
    def size(self) -> int | None:
        """The message's bytes, for an operation that has messages of any size."""
        return self._bytes("size")

    @property
    def chunk(self) -> int | None:
        """How many bytes of a message go over at a time; None if it goes over whole."""
        return self._bytes("chunk")

    @property
    def spans(self) -> int:
        """How many calls of the TA one call of the operation takes."""
        if not self.size or not self.chunk:
            return 1
        return -(-self.size // self.chunk)

    def _bytes(self, key: str) -> int | None:
        value = dict(self.parameters).get(key)
        return None if value is None else parse_size(value)


@dataclass(frozen=True)
class Budget:
    """A limit in seconds at a clock in Hz, for some measures at one place."""

    limit: Fraction
    clock: Fraction
    measures: tuple[str, ...] = BUDGET_MEASURES
    place: str = BUDGET_PLACE

    @property
    def instructions(self) -> int:
        """What fits: whole instructions, at the assumed one instruction per cycle."""
        return int(self.limit * self.clock)

    @property
    def limit_text(self) -> str:
        """The limit as people write it: `5 ms`."""
        return _quantity_text(self.limit, _DURATIONS)

    @property
    def clock_text(self) -> str:
        """The clock as people write it: `2 GHz`."""
        return _quantity_text(self.clock, _FREQUENCIES)


@dataclass(frozen=True)
class Unavailable:
    """What a suite asks that cannot be had, and why. It is no case, but a report must not be silent on it.

    `curve` is empty for an operation that needs none. It is the same at every optimisation, and for
    every size unless the reason names one.
    """

    target: str
    implementation: str
    curve: str
    operation: str
    reason: str


@dataclass(frozen=True)
class Suite:
    """A suite that has passed every check; `text` is the file as it was read.

    `recommended` is the id of the case that the suite recommends; empty if it recommends none.
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    budget: Budget | None
    published: str
    text: str
    unavailable: tuple[Unavailable, ...] = ()
    recommended: str = ""


def parameters_of(text: str) -> dict[str, str]:
    """Parameters by key, from the text that a case's id has of them."""
    return dict(word.split("=", 1) for word in text.split(",") if word)


def check_parameters(given: Mapping[str, str], target: str, operation: str, where: str) -> None:
    """Refuses a case's parameters, as a run has them, that no version of worldwise can have written.

    Raises WorldwiseError naming `where` they stand.
    """
    for key, value in given.items():
        parameter = _BY_KEY.get(key)
        problem = "" if parameter else "is not known"
        if parameter and parameter.is_size and not _SIZE.fullmatch(value):
            problem = f"is '{files.quoted(value)}', which is no size"
        elif parameter and parameter.most is not None and not re.fullmatch("[1-9][0-9]{0,14}", value):
            problem = f"is '{files.quoted(value)}', which is no number"
        if problem:
            raise WorldwiseError(f"{where}: corrupt: parameter '{files.quoted(key)}' {problem}.")
    for parameter in PARAMETERS:
        if parameter.missing and parameter.key not in given and parameter.fits(target, operation):
            raise WorldwiseError(f"{where}: corrupt: parameter '{parameter.key}' of '{operation}' is missing.")


def parse_size(text: str) -> int:
    """Bytes from `64KiB`, `4MiB`, `100B` or `0`. Raises WorldwiseError."""
    match = _SIZE.fullmatch(text.strip())
    if not match or not (match[2] or int(match[1]) == 0):
        raise WorldwiseError(f"'{files.quoted(text)}' is not a size such as '64KiB', '4MiB', '100B' or '0'.")
    return int(match[1]) * _SIZE_UNITS[match[2] or "B"]


def size_text(size: int) -> str:
    """A size as people write it, the one way that a case's id has it: `64KiB`, `4MiB`, `0B`."""
    unit, scale = next(
        (unit, scale) for unit, scale in _SIZE_UNITS.items() if (size >= scale and size % scale == 0) or scale == 1
    )
    return f"{size // scale}{unit}"


def parse_case(text: str, samples: int = 1, warmup: int = 0) -> Case:
    """A case from its id, such as `optee/mbedtls-O2/sha256,size=1MiB`. Raises WorldwiseError."""
    what = f"case '{files.quoted(text)}'"
    parts = text.strip().split("/")
    if len(parts) != 3:
        raise WorldwiseError(
            f"{what}: a case is TARGET/VARIANT/OPERATION, with parameters behind a comma.",
            hint="such as optee/mbedtls-nist-O2/attestdiv or linux/mbedtls-O2/sha256,size=1MiB",
        )
    target, variant, rest = parts
    operation, *words = rest.split(",")
    if not is_target(target):
        raise _choice_error(f"{what}: target", target, target_names())
    operations = operations_of(target)
    if operation not in operations:
        raise _choice_error(f"{what}: operation", operation, operations, what=f"is not one of target '{target}'")
    variants = [
        f"{name}-{level}" for name in implementations_of(target, [operation]) for level in optimisations_of(target)
    ]
    if variant not in variants:
        raise _choice_error(f"{what}: variant", variant, variants)
    allowed = [parameter for parameter in PARAMETERS if parameter.fits(target, operation)]
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in [parameter.key for parameter in allowed]:
            raise _choice_error(f"{what}: parameter", key, [parameter.key for parameter in allowed])
        if not equals or key in given:
            raise WorldwiseError(f"{what}: parameter '{files.quoted(key)}' must be there once, as {key}=VALUE.")
        try:
            given[key] = _value(_BY_KEY[key], value)
        except WorldwiseError as error:
            raise WorldwiseError(f"{what}: {key}{error.message}", error.hint) from error
    problem = _combination_problem(target, operation, given)
    if problem:
        raise WorldwiseError(f"{what}: {problem}")
    implementation, _, optimisation = variant.rpartition("-")
    reason = unavailable_reason(target, implementation, given.get("curve", ""), operation, given)
    reason = reason or _level_reason(target, implementation, optimisation)
    if reason:
        raise WorldwiseError(f"{what}: {reason}.")
    if "options" in given:
        library = portable.portables()[implementation]
        try:
            given["options"] = library.options_text(library.options(given["options"]))
        except WorldwiseError as error:
            raise WorldwiseError(f"{what}: options: {error.message}") from error
    return Case(target, implementation, optimisation, operation, samples, warmup, _in_order(given))


def _value(parameter: Parameter, text: str) -> str:
    """A parameter's value as a case has it. Raises WorldwiseError whose message goes on after the parameter's name."""
    if parameter.values:
        if text not in parameter.values:
            raise _choice_error("", text, parameter.values)
        return text
    if parameter.pattern:
        if not re.fullmatch(parameter.pattern, text):
            raise WorldwiseError(f": '{files.quoted(text)}' is not a text such as 'nist-off+window-2'.")
        return text
    if parameter.most is not None:
        if not re.fullmatch("[1-9][0-9]{0,14}", text) or int(text) > parameter.most:
            raise WorldwiseError(f": '{files.quoted(text)}' is not a whole number from 1 to {parameter.most}.")
        return text
    try:
        return size_text(parse_size(text))
    except WorldwiseError as error:
        raise WorldwiseError(f": {error.message}", error.hint) from error


# What a curve is never used for, whatever a library has.
_NOT_FOR = {"ed25519": ("ecdh",), "x25519": ("sign", "verify")}


# What the crypto app's TA has of OP-TEE's core by the GlobalPlatform API, by curve: see guest/apps/crypto/ta/gp.c.
CORE_HAS: Mapping[str, tuple[str, ...]] = {
    "secp256r1": ("sign", "verify", "ecdh"),
    "ed25519": ("sign", "verify"),
    "x25519": ("ecdh",),
    portable.NO_CURVE: ("sha256",),
}


def _storage_reason(given: Mapping[str, str]) -> str:
    """Why an object cannot be stored, without a full stop; empty if it can."""
    if given["storage"] != "rpmb":
        return ""
    most = RPMB_MOST.get(given["action"], RPMB_MOST[""])
    if parse_size(given["size"]) <= most:
        return ""
    return (
        f"an object of {given['size']} is too large to {given['action']} in RPMB: tee-supplicant's device has "
        f"{size_text(RPMB_DEVICE)}, enough for {size_text(most)}"
    )


def unavailable_reason(
    target: str, implementation: str, curve: str, operation: str, given: Mapping[str, str] | None = None
) -> str:
    """Why a case cannot be, without a full stop; empty if it can. Raises WorldwiseError for a wrong file.

    The target and the implementation must be known ones; off the boards there is an answer for an operation alone that
    portable implementations have as well, and for what is too large for the storage among the other parameters `given`.
    """
    if given and operation == "storage":
        return _storage_reason(given)
    app = apps.app_named(operation)
    if not takes_portables(target) and (app is None or not app.portable):
        return ""
    if target in PLAIN_TARGETS and operation == AES:
        return _plain_aes_reason(target, implementation)
    wanted = "sha256" if operation == "digest" else operation
    if operation in _NOT_FOR.get(curve, ()):
        return f"{curve} is not for {' or '.join(_NOT_FOR[curve])}"
    if implementation in IMPLEMENTATION_TABLE:
        if target == "linux":
            return f"{implementation} is OP-TEE's; what its library does in Linux is measured by attestdiv and sha256"
        if wanted not in CORE_HAS.get(curve or portable.NO_CURVE, ()):
            return f"the TA asks OP-TEE's core for {', '.join(name for name in CORE_HAS if name in portable.CURVES)}"
        return ""
    library = portable.portables().get(implementation)
    if library is None:
        return f"{implementation} is for '{AES}' alone"
    if library.manifest.needs.linux and target not in PLAIN_TARGETS:
        return f"{implementation} needs Linux around it"
    core = PLAIN_TARGETS.get(target) or (TEE_CORE if target in TARGETS else board.boards()[target].core)
    if not library.has(wanted, curve or portable.NO_CURVE):
        if curve and not any(curve in other.curves for other in portable.portables().values()):
            return f"no library here has {curve}"
        if not curve:
            return f"{implementation} has no {wanted}"
        if curve not in library.curves:
            return f"{implementation} has no {curve}"
        return f"{implementation} has no {wanted} on {curve}"
    if not library.runs_on(core):
        titles = [_core_title(name) for name in library.manifest.needs.cores]
        short = [titles[0], *(title.removeprefix("Cortex-") for title in titles[1:])]
        listed = " and ".join(filter(None, (", ".join(short[:-1]), short[-1])))
        return f"{implementation} is for {listed}"
    return ""


def _plain_aes_reason(target: str, implementation: str) -> str:
    """Why plain Linux cannot have AES in all modes by a library, without a full stop; empty if it can."""
    if implementation not in apps.APPS[AES].libraries:
        return f"{implementation} has AES in counter mode alone here: aes128 and aes256"
    if implementation.endswith("-ce") and target == "linux-armv7":
        return f"{implementation} needs the Cryptographic Extension, which Armv7-A has not"
    return ""


def _level_reason(target: str, implementation: str, optimisation: str) -> str:
    """Why a library has no such level, without a full stop; empty if it has."""
    if target not in PLAIN_TARGETS or optimisation == portable.PACKAGED_OPTIMISATION:
        return ""
    library = portable.portables().get(implementation)
    if library is None or not library.packaged:
        return ""
    return f"{implementation} comes compiled, so it stands at {portable.PACKAGED_OPTIMISATION} alone"


def _core_title(name: str) -> str:
    return name.title() if name in PLAIN_TARGETS.values() else board.load_core(name).title


def _in_order(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (parameter.key, given[parameter.key])
        for parameter in PARAMETERS
        if given.get(parameter.key, parameter.default) != parameter.default
    )


def _combination_problem(target: str, operation: str, given: Mapping[str, str]) -> str:
    """What is wrong with the parameters of an operation, each of which is one that it has; empty if nothing is."""
    for parameter in PARAMETERS:
        if parameter.missing and parameter.key not in given and parameter.fits(target, operation):
            missing = parameter.missing if not takes_portables(target) else parameter.missing.replace("1MiB", "32B")
            return f"'{operation}' needs {missing}."
    if operation in _KEYCACHE and given["storage"] == "ree-rpmb":
        return "the key cache is measured with storage=ree and storage=rpmb."
    if operation == "keycache-zipf":
        return _zipf_problem(given)
    if "size" not in given:
        return ""
    size = parse_size(given["size"])
    chunk = parse_size(given["chunk"]) if "chunk" in given else None
    most = MAX_PLAIN_SIZE if target in PLAIN_TARGETS else MAX_SIZE if target in TARGETS else MAX_BOARD_SIZE
    if size > most:
        return f"size {given['size']} is too much. Allowed: up to {size_text(most)}."
    if chunk is not None and not MIN_CHUNK <= chunk <= MAX_MEMREF:
        return f"chunk {given['chunk']} is out of range. Allowed: {size_text(MIN_CHUNK)} to {size_text(MAX_MEMREF)}."
    if target == "optee" and chunk is None and size > MAX_MEMREF:
        return (
            f"size {given['size']} is more than one call to a TA can bring, {size_text(MAX_MEMREF)}: OP-TEE has no "
            "more page tables to map it into the TA. Give it a chunk."
        )
    if operation in ("echo", "echo-host"):
        if not 1 <= size <= MAX_ECHO:
            return f"size {given['size']} is out of range. Allowed: 1B to {size_text(MAX_ECHO)}."
        if (target == "linux") != (given["server"] == "linux"):
            return "target 'linux' has server=linux, target 'optee' has server=call and server=socket."
    if operation == "aes":
        if not 1 <= size <= MAX_AES:
            return f"size {given['size']} is out of range. Allowed: 1B to {size_text(MAX_AES)}."
        if given["mode"] == "cbc" and size % 16:
            return f"size {given['size']} is not whole blocks of 16 bytes, and mode=cbc has no padding here."
    if not takes_portables(target) and operation in ("sign", "verify", "digest") and not size:
        return "the TA takes no message of no bytes."
    if target in TARGETS and operation in ("sign", "verify", portable.HARDCLOCK) and size > MAX_BOARD_SIZE:
        return f"size {given['size']} is too much to be signed. Allowed: up to {size_text(MAX_BOARD_SIZE)}."
    if operation in ("sign", "verify") and given.get("memory", "temporary") not in ("temporary", "allocated"):
        return "the memory of a signature is temporary or allocated."
    if operation == "payload" and size == 0:
        return "a payload has at least one byte."
    if operation == "call" and size and given.get("parameters") == "4":
        return "a call has four parameters: with memory there are at most 3 values."
    if operation == "power-cut":
        if given["action"] not in CUT_ACTIONS:
            return f"action={given['action']} writes nothing. Allowed: {', '.join(CUT_ACTIONS)}."
        most = MAX_CUT // 2 if given["action"] == "append" else MAX_CUT
        if not 1 <= size <= most:
            return f"size {given['size']} is out of range. Allowed: 1B to {size_text(most)}."
    if operation == "keycache-load":
        return _load_problem(given, size)
    if given.get("action") in LOAD_ACTIONS:
        return f"action={given['action']} is for 'keycache-load'."
    if "action" in given and (given["action"] in KEYCACHE_ACTIONS) != (operation == "keycache"):
        which = "is for" if given["action"] in KEYCACHE_ACTIONS else "is not for"
        return f"action={given['action']} {which} 'keycache'."
    if operation == "keycache":
        return _keycache_problem(given, size)
    if operation in ("storage", "file") and given["action"] == "replace":
        return "action=replace is for 'power-cut' alone."
    if operation in ("storage", "file") and not STORAGE_LEAST <= size <= STORAGE_MOST:
        allowed = f"{size_text(STORAGE_LEAST)} to {size_text(STORAGE_MOST)}"
        return f"size {given['size']} is out of range for '{operation}'. Allowed: {allowed}."
    if operation == "file" and given.get("sync") == "fsync" and given["action"] in ("read", "enumerate"):
        return f"'{given['action']}' writes nothing that sync=fsync could bring to the disk."
    if given.get("fault") == "fresh" and size == 0:
        return "a message of no bytes has no page that could be fresh."
    return ""


def _keycache_problem(given: Mapping[str, str], size: int) -> str:
    """What is wrong with the parameters of the key cache's requests; empty if nothing is."""
    verb, _, state = given["action"].partition("-")
    if state == "hit" and given["policy"] not in ("lru", "smart"):
        return f"policy={given['policy']} keeps no key, so that nothing is a hit."
    if state == "cold" and given["policy"] not in ("none", "smart"):
        return f"policy={given['policy']} has no cold key: {_NO_COLD[given['policy']]}."
    if verb in ("get", "set") and size not in KEYCACHE_KEYS:
        allowed = " and ".join(map(size_text, KEYCACHE_KEYS))
        return f"size {given['size']} is not that of a key, of which '{given['action']}' has one. Allowed: {allowed}."
    if not 1 <= size <= MAX_KEYCACHE:
        return f"size {given['size']} is out of range. Allowed: 1B to {size_text(MAX_KEYCACHE)}."
    return ""


def _load_problem(given: Mapping[str, str], size: int) -> str:
    """What is wrong with the parameters of a load on the key cache; empty if nothing is."""
    if given["action"] not in LOAD_ACTIONS:
        return f"action={given['action']} is not for 'keycache-load'. Allowed: {', '.join(LOAD_ACTIONS)}."
    if not 1 <= size <= MAX_LOAD:
        return f"size {given['size']} is out of range. Allowed: 1B to {size_text(MAX_LOAD)}."
    if int(given["requests"]) < int(given["connections"]):
        return f"requests={given['requests']} is not even one for each of connections={given['connections']}."
    if given["action"] == "ping" and "clients" in given:
        return "action=ping uses no key: it takes no clients."
    return ""


def _zipf_problem(given: Mapping[str, str]) -> str:
    """What is wrong with the parameters of a workload of many clients; empty if nothing is."""
    clients = int(given.get("clients", "1"))
    if given["policy"] == "naive":
        return "policy=naive has no cache, so that there is no rate of hits."
    if clients * int(given["bound"]) < 100:
        return f"clients={clients} with bound={given['bound']} is a cache without a key: give it more clients."
    return ""


# Why a policy has no key of which the server has lost the record, and the TA has not the key.
_NO_COLD = {"lru": "the TA keeps it while servers come and go", "naive": "there are no records to be lost"}


def parse_duration(text: str) -> Fraction:
    """Seconds from `5ms`, `5 ms` or `800us`. Raises WorldwiseError."""
    return _quantity(text, _DURATIONS, "a duration such as '5 ms' or '800us'")


def parse_frequency(text: str) -> Fraction:
    """Hz from `2GHz`, `1.5 GHz` or `180MHz`. Raises WorldwiseError."""
    return _quantity(text, _FREQUENCIES, "a clock such as '2 GHz' or '180MHz'")


def parse_budget(text: str, measures: Sequence[str] = BUDGET_MEASURES, place: str = BUDGET_PLACE) -> Budget:
    """A budget from its command-line form `5ms@2GHz`. Raises WorldwiseError."""
    limit, at, clock = text.partition("@")
    what = f"budget '{files.quoted(text)}'"
    if not at:
        raise WorldwiseError(
            f"{what}: no clock. A budget is a limit at a clock, such as '5ms@2GHz'.",
            hint=f"try '{files.quoted(text.strip())}@2GHz'" if text.strip() else "",
        )
    for measure in measures:
        if measure not in MEASURES:
            raise _choice_error(f"{what}: measure", measure, MEASURES)
    if place not in PLACES:
        raise _choice_error(f"{what}: place", place, PLACES)
    try:
        return Budget(parse_duration(limit), parse_frequency(clock), tuple(measures), place)
    except WorldwiseError as error:
        raise WorldwiseError(f"{what}: {error.message}", hint=error.hint) from error


def check_budget(budget: Budget, cases: Iterable[Case]) -> None:
    """Raises WorldwiseError if no case would be judged: a budget that judges nothing must not pass."""
    for case in cases:
        if any(budget.place in case.measures.get(measure, ()) for measure in budget.measures):
            return
    raise WorldwiseError(
        f"the budget of {budget.limit_text} at {budget.clock_text} would judge nothing: no chosen case "
        f"measures {' or '.join(budget.measures)} at place '{budget.place}'.",
        hint="choose more cases, or give the budget another place or measure",
    )


def swept(suite: Suite) -> Suite:
    """The suite with every case of a curve once for each combination of its library's build options.

    Cases of libraries without options stay as they are. Raises WorldwiseError if that is all of them.
    """
    cases: dict[str, Case] = {}
    found = False
    for case in suite.cases:
        library = portable.portables().get(case.implementation)
        texts = [case.options]
        optional = case.target in PLAIN_TARGETS and case.operation in portable.OF_CURVE
        if optional and library and library.manifest.options:
            texts = [*library.grid(), case.options]
            found = True
        for text in texts:
            given = {key: value for key, value in case.parameters if key != "options"}
            chosen = replace(case, parameters=_in_order(given | ({"options": text} if text else {})))
            cases.setdefault(chosen.id, chosen)
    if not found:
        raise WorldwiseError(
            f"suite {suite.name} has no case of a library with build options on {' or '.join(PLAIN_TARGETS)}: there is "
            "nothing to sweep.",
            "without a suite, --option-sweep takes suite options",
        )
    return replace(suite, cases=tuple(cases.values()))


def select(
    cases: Sequence[Case],
    variants: Collection[str] = (),
    operations: Collection[str] = (),
    targets: Collection[str] = (),
    curves: Collection[str] = (),
) -> list[Case]:
    """The cases that pass every filter, in their order. An empty filter passes everything.

    A filter's values are names or shell patterns (`mbedtls-nist-*`). Raises WorldwiseError if a value matches
    no case of the suite, or if together they leave nothing.
    """
    filters = (("variant", variants), ("operation", operations), ("target", targets), ("curve", curves))
    for kind, values in filters:
        present = [name for name in dict.fromkeys(getattr(case, kind) for case in cases) if name]
        for value in values:
            if not any(fnmatchcase(name, value) for name in present):
                raise _choice_error(kind, value, present, what="is in no case of this suite")
    chosen = [
        case
        for case in cases
        if all(
            not values or (getattr(case, kind) and any(fnmatchcase(getattr(case, kind), value) for value in values))
            for kind, values in filters
        )
    ]
    if not chosen:
        asked = ", ".join(f"{kind} {' or '.join(values)}" for kind, values in filters if values)
        raise WorldwiseError(
            f"no case of this suite is {asked} at once." if asked else "the suite has no cases.",
            hint="the suite's cases: " + ", ".join(case.id for case in cases),
        )
    return chosen


def select_unavailable(
    unavailable: Iterable[Unavailable],
    variants: Collection[str] = (),
    operations: Collection[str] = (),
    targets: Collection[str] = (),
    curves: Collection[str] = (),
) -> list[Unavailable]:
    """What cannot be had of that which the same filters of `select` ask for, in its order. Never an error."""

    def passes(one: Unavailable) -> bool:
        built = [f"{one.implementation}-{level}" for level in OPTIMISATIONS]
        filters = ((variants, built), (operations, [one.operation]), (targets, [one.target]), (curves, [one.curve]))
        return all(
            not values or any(name and fnmatchcase(name, value) for name in names for value in values)
            for values, names in filters
        )

    return [one for one in unavailable if passes(one)]


def load_suite(path_or_name: str | Path, directory: Path = paths.SUITES) -> Suite:
    """Reads and checks a suite: a path, or the bare name of one in `directory`. Raises WorldwiseError."""
    return _load(path_or_name, directory, ())


def _load(path_or_name: str | Path, directory: Path, within: tuple[str, ...]) -> Suite:
    wanted = str(path_or_name)
    is_name = not isinstance(path_or_name, Path) and "/" not in wanted and not wanted.endswith(".toml")
    path = directory / f"{wanted}.toml" if is_name else Path(path_or_name).expanduser()
    try:
        text = toml_model.decode(files.read_bytes(path, toml_model.MOST_BYTES), f"suite {path}")
    except FileNotFoundError:
        names = sorted(file.stem for file in directory.glob("*.toml"))
        if is_name:
            raise _choice_error("suite", wanted, names, what=f"is not in {directory}") from None
        raise WorldwiseError(
            f"suite {path}: there is no such file.",
            hint=f"suites known by name: {', '.join(names)}" if names else "",
        ) from None
    except OSError as error:
        raise WorldwiseError(f"suite {path}: cannot be read: {error.strerror}.") from error
    return parse_suite(text, str(path), directory, (*within, path.stem))


def parse_suite(text: str, file: str, directory: Path = paths.SUITES, within: tuple[str, ...] = ()) -> Suite:
    """A suite from its text; `file` is the name errors give, `directory` has the suites that it includes.

    `within` names those that include it. Raises WorldwiseError.
    """
    document = toml_model.load(text, file)
    return _Parser(text, file, directory, within).suite(document)


class _Parser:
    """Checks a parsed document. Every refusal goes through `_refuse`, which knows the line."""

    def __init__(self, text: str, file: str, directory: Path, within: tuple[str, ...]) -> None:
        self._text = text
        self._file = file
        self._lines = TomlLines(text)
        # Where included suites are, and those that this one is included by, itself the last.
        self._directory = directory
        self._within = within
        self._unavailable: dict[Unavailable, None] = {}

    def suite(self, document: dict[str, Any]) -> Suite:
        required = ("format", "name", "title", "samples", "warmup", "cases")
        self._keys((), document, required, ("include", "budget", "published", "recommended"))
        if document["format"] != FORMAT or isinstance(document["format"], bool):
            shown = files.quoted(repr(document["format"]))
            self._refuse(("format",), f"{shown} is not a known suite format. Allowed: {FORMAT}.")
        name = self._string(("name",), document["name"])
        if not _NAME.fullmatch(name):
            shown = files.quoted(name)
            self._refuse(("name",), f"'{shown}' does not fit. Allowed: a-z, 0-9 and '-', not starting with '-'.")
        title = self._string(("title",), document["title"])
        samples = self._samples(("samples",), document["samples"])
        warmup = self._warmup(("warmup",), document["warmup"])
        cases = self._cases(document["cases"], samples, warmup)
        cases += self._included(document.get("include", []), {case.id for case in cases})
        budget = self._budget(document["budget"], cases) if "budget" in document else None
        source = self._published(document["published"]) if "published" in document else ""
        chosen = self._recommended(document["recommended"], cases) if "recommended" in document else ""
        return Suite(name, title, tuple(cases), budget, source, self._text, tuple(self._unavailable), chosen)

    def _cases(self, blocks: Any, samples: int, warmup: int) -> list[Case]:
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            self._refuse(("cases",), "must be one or more [[cases]] blocks.")
        if not blocks:
            self._refuse(("cases",), "is empty: nothing would be measured.")
        seen: dict[str, int] = {}
        cases: list[Case] = []
        for number, block in enumerate(blocks):
            path: TomlPath = ("cases", number)
            line = self._lines.line(path)
            found = self._block(path, block, samples, warmup)
            self._few(path, len(cases) + len(found))
            for case in found:
                if case.id in seen:
                    self._refuse(path, f"the case {case.id} is already in the block on line {seen[case.id]}.")
                seen[case.id] = line
                cases.append(case)
        return cases

    def _few(self, path: TomlPath, number: int) -> None:
        if number > MAX_CASES:
            self._refuse(path, f"gives {number:,} cases or more. Allowed: up to {MAX_CASES:,}.")

    def _included(self, value: Any, seen: set[str]) -> list[Case]:
        """The cases of the suites that this one includes, by name, each with its own numbers of samples."""
        path: TomlPath = ("include",)
        if not isinstance(value, list):
            self._refuse(path, f"must be a list of names of suites, is {_kind(value)}.")
        cases: list[Case] = []
        for number, item in enumerate(value):
            name = self._string((*path, number), item)
            # A path would lead to any file.
            if not _NAME.fullmatch(name):
                self._refuse((*path, number), f"'{files.quoted(name)}' is no name of a suite: a-z, 0-9 and '-'.")
            # It would include itself for ever.
            if self._within and name in self._within:
                self._refuse((*path, number), f"suite '{name}' includes this one.")
            included = _load(name, self._directory, self._within)
            self._few((*path, number), len(seen) + len(included.cases))
            for case in included.cases:
                if case.id in seen:
                    self._refuse((*path, number), f"the case {case.id} of suite '{name}' is here already.")
                seen.add(case.id)
                cases.append(case)
            self._unavailable |= dict.fromkeys(included.unavailable)
        return cases

    def _block(self, path: TomlPath, block: dict[str, Any], samples: int, warmup: int) -> list[Case]:
        lists = ("targets", "operations", "implementations", "optimisations")
        keys = [parameter.suite_key for parameter in PARAMETERS]
        self._keys(path, block, lists, ("samples", "warmup", *keys))
        targets = self._targets((*path, "targets"), block["targets"])
        operations = self._choices((*path, "operations"), block["operations"], OPERATIONS)
        for target in targets:
            there = operations_of(target)
            for number, operation in enumerate(operations):
                if operation not in there:
                    self._refuse(
                        (*path, "operations", number),
                        f"'{operation}' does not exist on target '{target}'. Allowed there: {', '.join(there)}.",
                        hint="give it a [[cases]] block of its own, with the targets that have it",
                    )
        implementations = self._implementations(
            (*path, "implementations"), block["implementations"], targets, operations
        )
        levels = dict.fromkeys(level for target in targets for level in optimisations_of(target))
        optimisations = self._choices((*path, "optimisations"), block["optimisations"], tuple(levels))
        if "samples" in block:
            samples = self._samples((*path, "samples"), block["samples"])
        if "warmup" in block:
            warmup = self._warmup((*path, "warmup"), block["warmup"])
        parameters = self._parameters(path, block, targets, operations)
        self._few(path, len(implementations) * len(optimisations) * sum(map(len, parameters.values())))
        cases: list[Case] = []
        reasons: dict[str, None] = {}
        for target in targets:
            for implementation in implementations:
                for optimisation in optimisations:
                    for operation in operations:
                        for given in parameters[target, operation]:
                            curve = dict(given).get("curve", "")
                            reason = unavailable_reason(target, implementation, curve, operation, dict(given))
                            level = _level_reason(target, implementation, optimisation)
                            if operation in _NOT_FOR.get(curve, ()):
                                reasons[reason] = None  # not a gap of any library: nobody would look for it
                            elif reason:
                                self._unavailable[Unavailable(target, implementation, curve, operation, reason)] = None
                                reasons[reason] = None
                            elif level:
                                reasons[level] = None  # it is there, at its own level
                            else:
                                cases += [
                                    Case(target, implementation, optimisation, operation, samples, warmup, chosen)
                                    for chosen in self._with_options(path, implementation, given)
                                ]
        if not cases:
            self._refuse(path, f"gives no case: {'; '.join(reasons)}.")
        return cases

    def _with_options(
        self, path: TomlPath, implementation: str, given: tuple[tuple[str, str], ...]
    ) -> list[tuple[tuple[str, str], ...]]:
        """The parameters with the build options as a library has them; for GRID each combination of them."""
        text = dict(given).get("options", "")
        if not text:
            return [given]
        library = portable.portables()[implementation]
        try:
            chosen = library.grid() if text == GRID else [library.options_text(library.options(text))]
        except WorldwiseError as error:
            self._refuse((*path, "options"), error.message)
        return [_in_order(dict(given) | {"options": one}) for one in dict.fromkeys(chosen)]

    def _targets(self, path: TomlPath, value: Any) -> list[str]:
        # A suite without a board needs no board's file.
        needed = not isinstance(value, list) or any(name not in TARGETS for name in value if isinstance(name, str))
        return self._choices(path, value, target_names() if needed else tuple(TARGETS))

    def _implementations(self, path: TomlPath, value: Any, targets: list[str], operations: list[str]) -> list[str]:
        known = {target: implementations_of(target, operations) for target in targets}
        chosen = self._choices(path, value, tuple(dict.fromkeys(name for names in known.values() for name in names)))
        for target, names in known.items():
            for number, name in enumerate(chosen):
                if name not in names:
                    self._refuse(
                        (*path, number),
                        f"'{name}' does not exist on target '{target}'. Allowed there: {', '.join(names)}.",
                        hint="give it a [[cases]] block of its own, with the targets that have it",
                    )
        return chosen

    def _parameters(
        self, path: TomlPath, block: dict[str, Any], targets: list[str], operations: list[str]
    ) -> dict[tuple[str, str], list[tuple[tuple[str, str], ...]]]:
        """Of each target and operation every combination of the parameters' values, in their order.

        Every operation of the block must have all of them, but on boards: there one block may ask for operations with
        a curve and others with a size, and a parameter goes to those that have it.
        """
        pairs = [(target, operation) for target in targets for operation in operations]
        combinations: dict[tuple[str, str], list[dict[str, str]]] = {pair: [{}] for pair in pairs}
        for parameter in PARAMETERS:
            if parameter.suite_key not in block:
                continue
            where = (*path, parameter.suite_key)
            values = self._values(where, parameter, block[parameter.suite_key])
            having = [pair for pair in pairs if parameter.fits(*pair)]
            for target, operation in pairs:
                if (target, operation) not in having and not (takes_portables(target) and having):
                    keys = [other.suite_key for other in PARAMETERS if other.fits(target, operation)]
                    self._refuse(
                        where,
                        f"'{operation}' on target '{target}' has no {parameter.key}.",
                        f"allowed there: {', '.join(keys)}" if keys else "",
                    )
            for pair in having:
                self._few(where, len(combinations[pair]) * len(values))
                combinations[pair] = [
                    given | {parameter.key: value} for given in combinations[pair] for value in values
                ]
        for (target, operation), listed in combinations.items():
            for given in listed:
                problem = _combination_problem(target, operation, given)
                if problem:
                    self._refuse(self._parameter_path(path, block, given), problem)
        return {pair: [_in_order(given) for given in listed] for pair, listed in combinations.items()}

    def _values(self, path: TomlPath, parameter: Parameter, value: Any) -> list[str]:
        if parameter.values:
            return self._choices(path, value, parameter.values)
        if parameter.pattern:
            return self._texts(path, value, parameter)
        return self._sizes(path, value) if parameter.most is None else self._numbers(path, value, parameter.most)

    def _texts(self, path: TomlPath, value: Any, parameter: Parameter) -> list[str]:
        if not isinstance(value, list) or not value:
            self._refuse(path, f"must be a list of strings such as ['{GRID}'].")
        texts: list[str] = []
        for at, item in enumerate(value):
            text = self._string((*path, at), item)
            try:
                texts.append("" if text == DEFAULT else _value(parameter, text))
            except WorldwiseError as error:
                self._refuse((*path, at), error.message.removeprefix(": "))
        return texts

    def _numbers(self, path: TomlPath, value: Any, most: int) -> list[str]:
        if not isinstance(value, list) or not value:
            self._refuse(path, "must be a list of whole numbers such as [1000].")
        numbers: list[str] = []
        for at, item in enumerate(value):
            number = str(self._integer((*path, at), item, 1, most))
            if number in numbers:
                self._refuse((*path, at), f"{number} stands there twice.")
            numbers.append(number)
        return numbers

    def _parameter_path(self, path: TomlPath, block: dict[str, Any], given: Mapping[str, str]) -> TomlPath:
        """The size in question, if sizes are given; else the block."""
        for number, text in enumerate(block.get("sizes", ())):
            if size_text(parse_size(text)) == given.get("size"):
                return (*path, "sizes", number)
        return path

    def _sizes(self, path: TomlPath, value: Any) -> list[str]:
        if not isinstance(value, list) or not value:
            self._refuse(path, "must be a list of sizes such as ['64KiB', '4MiB'].")
        sizes: list[str] = []
        for number, item in enumerate(value):
            text = self._string((*path, number), item)
            try:
                size = size_text(parse_size(text))
            except WorldwiseError as error:
                self._refuse((*path, number), error.message)
            if size in sizes:
                self._refuse((*path, number), f"'{text}' stands there twice.")
            sizes.append(size)
        return sizes

    def _budget(self, table: Any, cases: list[Case]) -> Budget:
        path: TomlPath = ("budget",)
        if not isinstance(table, dict):
            self._refuse(path, "must be a [budget] table.")
        self._keys(path, table, ("limit", "clock"), ("measures", "place"))
        limit = self._quantity((*path, "limit"), table["limit"], parse_duration)
        clock = self._quantity((*path, "clock"), table["clock"], parse_frequency)
        measures: tuple[str, ...] = BUDGET_MEASURES
        if "measures" in table:
            measures = tuple(self._choices((*path, "measures"), table["measures"], MEASURES))
        place = BUDGET_PLACE
        if "place" in table:
            place = self._choice((*path, "place"), self._string((*path, "place"), table["place"]), PLACES)
        budget = Budget(limit, clock, measures, place)
        try:
            check_budget(budget, cases)
        except WorldwiseError as error:
            self._refuse(path, error.message, error.hint)
        return budget

    def _recommended(self, table: Any, cases: list[Case]) -> str:
        path: TomlPath = ("recommended",)
        if not isinstance(table, dict):
            self._refuse(path, "must be a [recommended] table.")
        self._keys(path, table, ("case",), ())
        chosen = self._string((*path, "case"), table["case"])
        ids = [case.id for case in cases]
        if chosen not in ids:
            self._refuse((*path, "case"), f"'{chosen}' is no case of this suite.", did_you_mean(chosen, ids))
        return chosen

    def _published(self, table: Any) -> str:
        path: TomlPath = ("published",)
        if not isinstance(table, dict):
            self._refuse(path, "must be a [published] table.")
        self._keys(path, table, ("source",), ())
        source = self._string((*path, "source"), table["source"])
        return self._choice((*path, "source"), source, published.SOURCES)

    def _keys(self, path: TomlPath, table: dict[str, Any], required: Sequence[str], optional: Sequence[str]) -> None:
        allowed = [*required, *optional]
        for key in table:
            if key not in allowed:
                self._refuse(
                    (*path, key),
                    f"there is no such key. Allowed: {', '.join(allowed)}.",
                    did_you_mean(key, allowed),
                )
        for key in required:
            if key not in table:
                self._refuse(path, f"the key '{key}' is missing. Required: {', '.join(required)}.")

    def _choices(self, path: TomlPath, value: Any, allowed: Collection[str]) -> list[str]:
        if not isinstance(value, list):
            self._refuse(path, f"must be a list of strings, is {_kind(value)}. Allowed: {', '.join(allowed)}.")
        if not value:
            self._refuse(path, f"is empty: nothing would be chosen. Allowed: {', '.join(allowed)}.")
        chosen: list[str] = []
        for number, item in enumerate(value):
            name = self._choice((*path, number), self._string((*path, number), item), allowed)
            if name in chosen:
                self._refuse((*path, number), f"'{name}' stands there twice.")
            chosen.append(name)
        return chosen

    def _choice(self, path: TomlPath, value: str, allowed: Collection[str]) -> str:
        if value not in allowed:
            known = ", ".join(allowed)
            self._refuse(path, f"'{files.quoted(value)}' is not known. Allowed: {known}.", did_you_mean(value, allowed))
        return value

    def _string(self, path: TomlPath, value: Any) -> str:
        if not isinstance(value, str):
            self._refuse(path, f"must be a string, is {_kind(value)}.")
        if not value.strip():
            self._refuse(path, "is empty.")
        if len(value) > MAX_TEXT:
            self._refuse(path, f"has {len(value):,} characters. Allowed: up to {MAX_TEXT:,}.")
        return value

    def _samples(self, path: TomlPath, value: Any) -> int:
        return self._integer(path, value, 1, MAX_SAMPLES)

    def _warmup(self, path: TomlPath, value: Any) -> int:
        return self._integer(path, value, 0, MAX_WARMUP)

    def _integer(self, path: TomlPath, value: Any, least: int, most: int) -> int:
        allowed = f"Allowed: whole numbers from {least} to {most}."
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse(path, f"must be a whole number, is {_kind(value)}. {allowed}")
        if not least <= value <= most:
            self._refuse(path, f"{value} is out of range. {allowed}")
        return value

    def _quantity(self, path: TomlPath, value: Any, parse: Any) -> Fraction:
        try:
            quantity: Fraction = parse(self._string(path, value))
        except WorldwiseError as error:
            if error.message.startswith(self._file):
                raise
            self._refuse(path, error.message, error.hint)
        return quantity

    def _refuse(self, path: TomlPath, problem: str, hint: str = "") -> NoReturn:
        where = f"{self._file}:{self._lines.line(path)}"
        name = files.quoted(_path_text(path))
        # Much of it stands in the file.
        problem, hint = files.quoted(problem, 4000), files.quoted(hint, 4000)
        raise WorldwiseError(f"{where}: {name}: {problem}" if path else f"{where}: {problem}", hint)


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """`did you mean 'sign'?`, or nothing if no allowed value is close."""
    by_lower = {name.lower(): name for name in allowed}
    close = difflib.get_close_matches(value.lower(), by_lower, n=1)
    return f"did you mean '{by_lower[close[0]]}'?" if close else ""


def _choice_error(kind: str, value: str, allowed: Collection[str], what: str = "is not known") -> WorldwiseError:
    listed = ", ".join(allowed) if allowed else "none"
    return WorldwiseError(
        f"{kind} '{files.quoted(value)}' {what}. Allowed: {listed}.", hint=did_you_mean(value, allowed)
    )


def _path_text(path: TomlPath) -> str:
    """`cases[2].targets`: blocks counted from 1, as people do; the line already points at the element."""
    text = ""
    for number, part in enumerate(path):
        if isinstance(part, str):
            text += f".{part}" if text else part
        elif number < len(path) - 1 or path[0] == "cases" == path[number - 1]:
            text += f"[{part + 1}]"
    return text


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "a table" if isinstance(value, dict) else "a date or time")


def _quantity(text: str, units: Mapping[str, Fraction], what: str) -> Fraction:
    shown = files.quoted(text)
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise WorldwiseError(f"'{shown}' is not {what}.")
    number, unit = match.groups()
    # GHz is written in many ways; ms and Ms must stay apart.
    by_name = {name.lower(): value for name, value in units.items()} if "Hz" in units else dict(units)
    value = by_name.get(unit.lower() if "Hz" in units else unit)
    if value is None:
        plain = [name for name in units if name.isascii()]
        raise WorldwiseError(
            f"'{shown}': the unit '{files.quoted(unit)}' is not known. Allowed: {', '.join(plain)}.",
            hint=did_you_mean(unit, plain),
        )
    if Fraction(number) == 0:
        raise WorldwiseError(f"'{shown}' is zero; it must be more.")
    return Fraction(number) * value


def _quantity_text(value: Fraction, units: Mapping[str, Fraction]) -> str:
    name, scale = next(((n, s) for n, s in units.items() if value >= s), list(units.items())[-1])
    return f"{float(value / scale):g} {name}"
