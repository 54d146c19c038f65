# SPDX-License-Identifier: BSD-2-Clause
"""The count lens: reads a run, checks it again, says what its figures are. Starts nothing, writes nothing."""

from collections.abc import Iterable, Mapping
from statistics import mean, median, stdev
from typing import Literal

from pydantic import BaseModel, ConfigDict

from worldwise.base.errors import WorldwiseError
from worldwise.families.echo.client import HOST_FILE, parse_host_times
from worldwise.families.hardclock.evidence import Clocks
from worldwise.families.sha256.cost import HASHING, HashReading, Series, read_hashing
from worldwise.libraries import boards as board
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import CURVES, HARDCLOCK, OPTIMISATIONS
from worldwise.plan.budget import Budget
from worldwise.plan.case import Case, parameters_of
from worldwise.plan.catalogue import BOARD_OPERATIONS, IMPLEMENTATIONS, takes_portables
from worldwise.plan.spec import PLACES
from worldwise.read.published import Figure, Published, Subject
from worldwise.records.check import check_records
from worldwise.records.evidence import owed_by
from worldwise.records.models import Outcome, Sample
from worldwise.records.parse import parse_records
from worldwise.run.rundir import CaseManifest, Run

FORMAT: Literal[4] = 4
UNIT: Literal["instructions"] = "instructions"

# Clocks in GHz at which counts are shown as time, as if a core finished one instruction in each cycle.
CLOCKS = (1.0, 1.5, 1.8, 2.0, 2.5)
CLOCK_ASSUMPTION = (
    "Times assume one instruction per cycle on a Cortex-A72 at the named clock. They are not measured: a "
    "real core does more than one, or less, and caches and memory have their say."
)
BOARD_ASSUMPTION = (
    "Times on boards assume one instruction per cycle at the board's clock. They are not measured: on a Cortex-M some "
    "instructions take more cycles than one (loads, taken branches, long multiplications, divisions), a Cortex-M7 can "
    "do two in one, and flash that is slower than the core makes it wait."
)

# What a count takes in: (measure, place) -> text. Interrupts in a region count; they are part of the call.
_CLIENT_CALL = (
    "the client's whole TEEC_InvokeCommand: libteec, Linux, the secure monitor, OP-TEE's core, the TA, and the way back"
)
_IN_TA = "inside the TA, with the work of OP-TEE's core; not the way there and back"
_IN_LINUX = "by the library's own calls in a Linux process"
_ON_BOARD = "by the library's own calls on the bare core; no interrupts but the counter's own, which is subtracted"
# What is not measured but added up, of AES.
AES_WHOLE = "whole"
_AES_CALLS = {
    "prepare": "an operation and an object for its key, allocated",
    "set-key": "the key, set",
    "set-iv": "the vector or first counter, set; of GCM the nonce, and 13 bytes that are authenticated alone",
    "cipher": "the whole message in one call; of GCM with its tag, made or checked",
}
_INCLUDES = {
    ("keygen", "ta"): f"TEE_GenerateKey, {_IN_TA}",
    ("keygen", "client"): _CLIENT_CALL,
    ("keygen", "linux"): f"a key pair made, {_IN_LINUX}",
    ("sign", "ta"): f"SHA-256 of the input and the signature, {_IN_TA}",
    ("sign", "client"): _CLIENT_CALL,
    ("sign", "linux"): f"SHA-256 of the input and the signature, {_IN_LINUX}",
    ("verify", "ta"): f"SHA-256 of the input and the verification, {_IN_TA}",
    ("verify", "client"): _CLIENT_CALL,
    ("verify", "linux"): f"SHA-256 of the input and the verification, {_IN_LINUX}",
    ("invoke", "client"): f"{_CLIENT_CALL}; the TA does nothing and has no parameters",
    ("open", "client"): "the client's whole TEEC_OpenSession, with the TA already loaded",
    (
        "load",
        "client",
    ): "the client's whole TEEC_OpenSession, with the TA loaded and its signature checked anew",
    ("hash", "api"): "TEE_DigestUpdate and TEE_DigestDoFinal as the TA calls them, with the work of OP-TEE's core",
    ("hash", "ta"): "the TA's whole command, from its first instruction to its last",
    ("hash", "client"): f"{_CLIENT_CALL}; of all calls that one message takes",
    ("hash", "linux"): "the whole message, by the library's own calls in a Linux process; sha256sum: from fork to wait",
    ("touch", "client"): "as many calls with the same memory, of a command that does nothing",
    ("empty", "client"): "as many calls without parameters, of a command that does nothing",
    ("create", "ta"): f"TEE_CreatePersistentObject of 4 KiB in the REE's file system, {_IN_TA}, but with "
    "tee-supplicant's work in Linux",
    ("create", "client"): _CLIENT_CALL,
    ("access", "ta"): f"the object opened, the access, the object closed, {_IN_TA}, but with tee-supplicant's work "
    "in Linux",
    ("access", "client"): f"{_CLIENT_CALL}; the content goes over in shared memory made for the call",
    ("access", "linux"): "the file opened, the access, the file closed, by system calls of a Linux process on a tmpfs",
    ("increment", "ta"): "one addition inside the TA",
    ("increment", "client"): f"{_CLIENT_CALL}; one value goes over and comes back",
    ("call", "client"): f"{_CLIENT_CALL}; the memory is ready, the TA does not touch it",
    ("read", "ta"): "the payload copied from shared memory into the TA's own, in pieces of 4 KiB",
    ("read", "client"): f"{_CLIENT_CALL}; before it, of allocated memory, the client's copy into it",
    ("once", "ta"): "the payload copied from shared memory into the TA's own, in pieces of 4 KiB",
    ("once", "client"): "shared memory registered or allocated, the call of `read`, and the memory released",
    ("oldest", "client"): f"{_CLIENT_CALL}; a command that does nothing, of the session that was opened first",
    ("newest", "client"): f"{_CLIENT_CALL}; a command that does nothing, of the session that was opened last",
    **{(call, "ta"): f"{text}, by the GlobalPlatform API {_IN_TA}" for call, text in _AES_CALLS.items()},
    **{(call, "linux"): f"{text}, {_IN_LINUX}" for call, text in _AES_CALLS.items()},
    **dict.fromkeys(((call, "invoke") for call in _AES_CALLS), "TEEC_InvokeCommand alone, from call to return"),
    **dict.fromkeys(
        ((call, "client") for call in _AES_CALLS), f"the function around {_CLIENT_CALL}; with the call's preparation"
    ),
    **dict.fromkeys(
        ((AES_WHOLE, place) for place in ("ta", "invoke", "client", "linux")),
        f"the sum of {', '.join(_AES_CALLS)} of each sample",
    ),
    **dict.fromkeys(
        (("round-trip", "client"), ("round-trip", "linux")),
        "all that the processor executes from the client's send until it has the whole message back: client, server, "
        "the kernel's TCP between them, and of a server with a TA both worlds",
    ),
    **dict.fromkeys(
        (("stream", "client"), ("stream", "linux")),
        "the same for 32 messages, sent without waiting for an answer",
    ),
    ("request", "storage"): "the TA's calls of persistent objects (opened, read, written, closed), with the work of "
    "OP-TEE's core and of tee-supplicant",
    ("request", "ta"): f"the key cache's TA, from a command's first instruction to its last, {_IN_TA}",
    (
        "request",
        "invoke",
    ): "the server's TEEC_InvokeCommand: libteec, Linux, the secure monitor, OP-TEE's core, the TA, and the way back",
    ("request", "client"): "all that the processor executes from the client's call of libkeycache until it has the "
    "answer: TLS in the client and in the server, the kernel's TCP between them, the server, and both worlds",
    ("short", "client"): "redis-benchmark from its start to its end, and all that the processor executes meanwhile: "
    "handshakes, TLS in it and in the server, the kernel's TCP between them, the server, and both worlds",
    ("long", "client"): "the same with twice as many requests",
    ("requests", "client"): "all that the processor executes while the requests of a batch are asked and answered: TLS "
    "in the client and in the server, the kernel's TCP between them, the server, and both worlds",
    ("ecdh", "ta"): f"the shared secret, with what refuses a bad public key of the peer, {_IN_TA}",
    ("ecdh", "client"): _CLIENT_CALL,
    ("ecdh", "linux"): f"the shared secret, with what refuses a bad public key of the peer, {_IN_LINUX}",
    ("keygen", "mcu"): f"a private key from random bytes and its public key, {_ON_BOARD}",
    (
        "sign",
        "mcu",
    ): "the signature; for ECDSA with SHA-256 of the message, for Ed25519 with the SHA-512 that is part of "
    f"it, {_ON_BOARD}",
    (
        "verify",
        "mcu",
    ): "the verification, with the check that the public key is on the curve; for ECDSA with SHA-256 of "
    f"the message, {_ON_BOARD}",
    ("ecdh", "mcu"): f"the shared secret from the own private and the peer's public key, with its check, {_ON_BOARD}",
    ("hash", "mcu"): f"the whole message, {_ON_BOARD}",
    ("encrypt", "mcu"): f"the whole message in counter mode, with the key's expansion, {_ON_BOARD}",
    ("run", "mcu"): f"all runs through the benchmark's loop, {_ON_BOARD}",
    ("encrypt", "linux"): f"the whole message in counter mode, with the key's expansion, {_IN_LINUX}",
    ("loop", "linux"): "a loop of one million turns of two instructions, in a Linux process",
}


FactorKind = Literal["nist-optim", "crypto-extension", "world", "optimisation"]


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedFigure(_Result):
    """Someone else's figure beside a row. `ratio` is our mean divided by it."""

    source: str
    value: float
    unit: str
    instructions: float
    statistic: str
    conditions: str
    note: str
    ratio: float


class Verdict(_Result):
    """A row against the budget: its worst call, the first one included."""

    worst: int
    limit: int
    fits: bool


class Row(_Result):
    """One measure of one case at one place. Counts are instructions; statistics are over the n samples.

    `parameters` are those of the case as its id has them, `size` and `chunk` of them in bytes; `calls` is how many
    calls of the TA a message takes.

    On a board: `board` is its name, `curve` and `runs` are the case's parameters (empty or None if it has none),
    `clock_mhz` is the board's clock. `stack` and `heap` are the peaks of one call, `flash` and `ram` what the operation
    takes of them (static RAM, without stack and heap), all in bytes. `rank` is 1 for the fewest instructions by the
    median among the libraries that do the same on the same board at the same optimisation; those with the same count
    have the same rank, and a library alone has none. `published_gap` says what stands in a published table instead of
    a figure. All of these are empty or None elsewhere.

    `ta_loaded` and `ta_file` are the bytes of a TA that is one of several that do the same: its code, constants and
    initial values, and its signed file; `stack` then is that of one call in the TA, at place ta.

    `microseconds` are by clock: those of CLOCKS, or the board's own. `samples` are the counts of all n, in order, and
    there only where a published table has single runs of the same.
    """

    case: str
    target: str
    board: str
    implementation: str
    optimisation: str
    variant: str
    operation: str
    parameters: str
    curve: str
    size: int | None
    chunk: int | None
    calls: int
    runs: int | None
    measure: str
    place: str
    unit: Literal["instructions"]
    includes: str
    n: int
    warmup: int
    first: int
    median: float
    mean: float
    stdev: float | None
    min: int
    max: int
    worst: int
    ratio_to_linux: float | None
    rank: int | None
    stack: int | None
    heap: int | None
    flash: int | None
    ram: int | None
    ta_loaded: int | None = None
    ta_file: int | None = None
    clock_mhz: float | None
    microseconds: dict[str, float]
    published: tuple[PublishedFigure, ...]
    published_gap: str
    verdict: Verdict | None
    samples: tuple[int, ...] = ()


class Factor(_Result):
    """How many times as many instructions one side takes as the other, by their medians; `board` as in a row."""

    kind: FactorKind
    board: str
    operation: str
    parameters: str
    measure: str
    place: str
    implementation: str
    optimisation: str
    numerator: str
    denominator: str
    value: float


class BudgetResult(_Result):
    """The whole budget: `fits` is None when nothing exceeds it but not all of it was measured."""

    limit: str
    clock: str
    instructions: int
    measures: tuple[str, ...]
    place: str
    judged: int
    exceeded: int
    fits: bool | None


class Attempt(_Result):
    """One attempt of a campaign, as observed: see the record `outcome` in docs/format.md. `at` is in instructions."""

    case: str
    operation: str
    parameters: str
    what: str
    result: str
    detail: str
    at: int | None


class HostTime(_Result):
    """Times that a client on the host measured of a machine's server, in microseconds of the host's clock.

    They are of an emulator and of a host that does other things too: no counts, never compared, not repeatable.
    `messages` is how many messages of `size` bytes one sample has, `load` the host's load average when it began.
    """

    case: str
    target: str
    variant: str
    parameters: str
    size: int
    measure: str
    messages: int
    n: int
    median: float
    min: float
    max: float
    load: float


class ClockReading(_Result):
    """What clocks said around an operation that was counted too: medians over the n samples after the warm-up.

    `hardclock` is what mbedtls_timing_hardclock() returned, in a unit that is to be found out; `gettimeofday` is in
    microseconds, `monotonic` in nanoseconds, both of virtual time. `calls` is how often mbedtls_timing_hardclock()
    asked gettimeofday() between the two readings of a sample, the most of all samples.
    """

    case: str
    target: str
    core: str
    variant: str
    measure: str
    n: int
    instructions: float
    hardclock: float
    gettimeofday: float
    monotonic: float
    calls: int


class FailedCase(_Result):
    """A case that ended with an error."""

    case: str
    error: str


class NotAvailable(_Result):
    """What was asked of a board and cannot be had, and why, for every optimisation and size.

    `target` is the board; `curve` is empty for an operation that needs none.
    """

    target: str
    implementation: str
    curve: str
    operation: str
    reason: str


class RunSummary(_Result):
    """Which run was read, and what it was made with."""

    id: str
    suite: str
    title: str
    state: str
    started: str
    worldwise: str
    git: str
    lab: str
    packages: dict[str, str]


class Reading(_Result):
    """All that the lens sees in a run; every report is made from this.

    `published_table` are all figures of the suite's source, if they stand in tables of their own shape. `recommended`
    is the id of the case that the suite recommends; empty for none.
    """

    format: Literal[4]
    run: RunSummary
    rows: tuple[Row, ...]
    factors: tuple[Factor, ...]
    hashing: HashReading
    attempts: tuple[Attempt, ...]
    host: tuple[HostTime, ...] = ()
    clocks: tuple[ClockReading, ...] = ()
    assumption: str
    board_assumption: str
    published_reason: str
    published_table: tuple[Figure, ...] = ()
    budget: BudgetResult | None
    failed: tuple[FailedCase, ...]
    missing: tuple[str, ...]
    unavailable: tuple[NotAvailable, ...]
    recommended: str = ""


def read_run(run: Run, budget: Budget | None = None) -> Reading:
    """Reads every complete case of a run. `budget` takes the place of the run's own.

    Every record is checked and every signature verified again. Raises WorldwiseError naming file and line.
    """
    manifests = {case_id: run.case(case_id) for case_id in run.manifest.cases}
    done = [manifest for manifest in manifests.values() if manifest and manifest.state == "complete"]
    if budget is None and run.manifest.budget is not None:
        budget = run.manifest.budget.budget()
    published = Published(run.manifest.published)
    rows = [row for manifest in done for row in _case_rows(run, manifest, published, budget)]
    rows = _with_ranks(_with_ratios(rows))
    parameters = {manifest.id: manifest.case().parameters for manifest in done}
    hashing = read_hashing(
        [
            Series(
                row.case,
                row.variant,
                row.operation,
                row.measure,
                row.place,
                parameters[row.case],
                row.size,
                row.chunk,
                row.calls,
                row.median,
            )
            for row in in_reading_order(rows)
            if row.operation in HASHING and row.size is not None and not takes_portables(row.target)
        ],
        published.hashing,
        published.reason,
    )
    failed = [manifest for manifest in manifests.values() if manifest and manifest.state == "failed"]
    missing = tuple(case_id for case_id, manifest in manifests.items() if manifest is None)
    return Reading(
        format=FORMAT,
        run=RunSummary(
            id=run.id,
            suite=run.manifest.suite,
            title=run.manifest.title,
            state=run.state,
            started=run.manifest.started,
            worldwise=run.manifest.worldwise,
            git=run.manifest.git,
            lab=run.manifest.lab,
            packages=run.manifest.packages,
        ),
        rows=tuple(rows),
        # Of plain Linux the tables of its own say what options and levels give.
        factors=tuple(_factors(in_reading_order(row for row in rows if row.target not in PLAIN_TARGETS))),
        hashing=hashing,
        attempts=tuple(attempt for manifest in done for attempt in _attempts(run, manifest)),
        host=tuple(times for manifest in done for times in _host_times(run, manifest)),
        clocks=tuple(reading for manifest in done for reading in _clock_readings(run, manifest)),
        assumption=CLOCK_ASSUMPTION,
        board_assumption=BOARD_ASSUMPTION if any(row.board for row in rows) else "",
        published_reason=published.reason
        if published.table or any(row.published or row.published_gap for row in rows)
        else "",
        published_table=published.table,
        budget=_budget_result(rows, budget, whole=not failed and not missing) if budget else None,
        failed=tuple(FailedCase(case=manifest.id, error=manifest.error) for manifest in failed),
        missing=missing,
        unavailable=tuple(NotAvailable(**entry.model_dump()) for entry in run.manifest.unavailable),
        recommended=run.manifest.recommended,
    )


def _case_rows(run: Run, manifest: CaseManifest, published: Published, budget: Budget | None) -> Iterable[Row]:
    case = manifest.case()
    path = run.records_path(case.id)
    checked = check_records(parse_records(run.case_file(case.id), str(path)), case, str(path))
    clock_mhz = _clock_mhz(case.board) if case.board else None
    footprint = manifest.footprint or {}
    for (measure, place), series in (*checked.samples.items(), *_sums(case, checked.samples)):
        counts = [sample.count for sample in series if sample.phase == "sample"]
        worst = max(sample.count for sample in series)
        middle = float(median(counts))
        average = float(mean(counts))
        judged = budget is not None and measure in budget.measures and place == budget.place
        memory = checked.memory.get(measure)
        what = Subject(case.operation, measure, place, case.implementation, case.board, case.curve, case.size)
        yield Row(
            case=case.id,
            target=case.target,
            board=case.board,
            implementation=case.implementation,
            optimisation=case.optimisation,
            variant=case.variant,
            operation=case.operation,
            parameters=case.parameter_text,
            curve=case.curve,
            size=case.size,
            chunk=case.chunk,
            calls=case.spans,
            runs=case.runs,
            measure=measure,
            place=place,
            unit=UNIT,
            includes=_INCLUDES[measure, place],
            n=len(counts),
            warmup=case.warmup,
            first=series[0].count,
            median=middle,
            mean=average,
            # One sample has no spread, which is not a spread of 0.
            stdev=float(stdev(counts)) if len(counts) > 1 else None,
            min=min(counts),
            max=max(counts),
            worst=worst,
            ratio_to_linux=None,
            rank=None,
            stack=memory.stack if memory and memory.place == place else None,
            heap=memory.heap if memory and memory.place == place else None,
            flash=footprint.get("flash"),
            ram=footprint.get("ram"),
            ta_loaded=footprint.get("ta_loaded"),
            ta_file=footprint.get("ta_file"),
            clock_mhz=clock_mhz,
            microseconds={f"{clock_mhz:g} MHz": middle / clock_mhz}
            if clock_mhz
            else {f"{clock} GHz": middle / (clock * 1000) for clock in CLOCKS},
            published=tuple(
                PublishedFigure(
                    source=beside.figure.source,
                    value=beside.figure.value,
                    unit=beside.figure.unit,
                    instructions=beside.instructions,
                    statistic=beside.figure.statistic,
                    conditions=beside.figure.conditions,
                    note=beside.figure.note,
                    ratio=average / beside.instructions,
                )
                for beside in published.beside(what)
            ),
            published_gap=published.gap(what),
            samples=tuple(counts) if published.has_runs(what) else (),
            verdict=Verdict(worst=worst, limit=budget.instructions, fits=worst <= budget.instructions)
            if judged and budget
            else None,
        )


def _sums(
    case: Case, samples: Mapping[tuple[str, str], tuple[Sample, ...]]
) -> Iterable[tuple[tuple[str, str], tuple[Sample, ...]]]:
    """Of AES what a message costs in all: each sample's four calls together, at each place."""
    if case.operation != "aes":
        return
    for place in dict.fromkeys(place for _, place in samples):
        calls = zip(*(series for (_, at), series in samples.items() if at == place), strict=True)
        yield (
            (AES_WHOLE, place),
            tuple(
                four[0].model_copy(update={"measure": AES_WHOLE, "count": sum(one.count for one in four)})
                for four in calls
            ),
        )


def _attempts(run: Run, manifest: CaseManifest) -> Iterable[Attempt]:
    case = manifest.case()
    if case.measures and not owed_by(case).outcomes:
        return
    for record in parse_records(run.case_file(case.id), str(run.records_path(case.id))):
        if isinstance(record, Outcome):
            yield Attempt(
                case=case.id,
                operation=case.operation,
                parameters=case.parameter_text,
                what=record.what,
                result=record.result,
                detail=record.detail,
                at=record.at,
            )


def _host_times(run: Run, manifest: CaseManifest) -> Iterable[HostTime]:
    case = manifest.case()
    if case.operation != "echo-host":
        return
    times = parse_host_times(run.case_file(case.id, HOST_FILE), run.records_path(case.id).with_name(HOST_FILE))
    for measure, series in times.samples.items():
        yield HostTime(
            case=case.id,
            target=case.target,
            variant=case.variant,
            parameters=case.parameter_text,
            size=times.start.size,
            measure=measure,
            messages=times.start.stream_messages if measure == "stream" else 1,
            n=len(series),
            median=median(series) / 1000,
            min=min(series) / 1000,
            max=max(series) / 1000,
            load=times.start.load,
        )


def _clock_readings(run: Run, manifest: CaseManifest) -> Iterable[ClockReading]:
    case = manifest.case()
    if case.operation != HARDCLOCK:
        return
    records = parse_records(run.case_file(case.id), str(run.records_path(case.id)))
    for measure in case.measures:
        samples = {
            record.index: record
            for record in records
            if isinstance(record, Sample) and record.measure == measure and record.phase == "sample"
        }
        clocks = [
            record
            for record in records
            if isinstance(record, Clocks) and record.measure == measure and record.index in samples
        ]
        yield ClockReading(
            case=case.id,
            target=case.target,
            core=case.core,
            variant=case.variant,
            measure=measure,
            n=len(clocks),
            instructions=median(sample.count for sample in samples.values()),
            hardclock=median(record.hardclock for record in clocks),
            gettimeofday=median(record.gettimeofday for record in clocks),
            monotonic=median(record.monotonic for record in clocks),
            calls=max(record.calls for record in clocks),
        )


def _clock_mhz(name: str) -> float:
    """Raises WorldwiseError if the board is not there any more."""
    boards = board.boards()
    if name not in boards:
        raise WorldwiseError(
            f"board '{name}' is not known any more: without its clock there are no times.",
            f"known boards: {', '.join(boards)}",
        )
    return boards[name].clock_mhz


def _with_ranks(rows: list[Row]) -> list[Row]:
    def key(row: Row) -> tuple[str, ...]:
        return (row.board, row.operation, row.parameters, row.measure, row.optimisation)

    contests: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        if row.board:
            contests.setdefault(key(row), []).append(row.median)
    return [
        row.model_copy(update={"rank": 1 + sum(median < row.median for median in contests[key(row)])})
        if len(contests.get(key(row), ())) > 1
        else row
        for row in rows
    ]


def _with_ratios(rows: list[Row]) -> list[Row]:
    def key(row: Row) -> tuple[str, ...]:
        return (row.variant, row.operation, row.parameters, row.measure)

    # Plain Linux runs on other machines: its medians say nothing about what the TEE adds.
    linux = {key(row): row.median for row in rows if row.target == "linux"}
    return [
        row.model_copy(update={"ratio_to_linux": row.median / linux[key(row)]})
        if row.target == "optee" and key(row) in linux
        else row
        for row in rows
    ]


def _factors(rows: Iterable[Row]) -> Iterable[Factor]:
    parts = ("board", "operation", "parameters", "measure", "place", "implementation", "optimisation")
    medians = {tuple(getattr(row, part) for part in parts): row.median for row in rows}
    # Each kind changes one part of the key and keeps the rest.
    worlds = [("place", place, "linux") for place in ("ta", "client")]
    extension = [("implementation", name, f"{name}-ce") for name in ("libtomcrypt", "mbedtls")]
    kinds: list[tuple[FactorKind, list[tuple[str, str, str]]]] = [
        ("nist-optim", [("implementation", "mbedtls", "mbedtls-nist")]),
        ("crypto-extension", extension),
        ("world", worlds),
        ("optimisation", [("optimisation", "Os", "O2")]),
    ]
    for kind, pairs in kinds:
        for part, numerator, denominator in pairs:
            at = parts.index(part)
            for key, value in medians.items():
                other = (*key[:at], denominator, *key[at + 1 :])
                if key[at] == numerator and other in medians:
                    named = dict(zip(parts, key, strict=True))
                    yield Factor(
                        kind=kind,
                        board=named["board"],
                        operation=named["operation"],
                        parameters=named["parameters"],
                        measure=named["measure"],
                        place=named["place"],
                        implementation=named["implementation"],
                        optimisation=named["optimisation"],
                        numerator=numerator,
                        denominator=denominator,
                        value=value / medians[other],
                    )


def _budget_result(rows: list[Row], budget: Budget, whole: bool) -> BudgetResult:
    verdicts = [row.verdict for row in rows if row.verdict]
    exceeded = sum(not verdict.fits for verdict in verdicts)
    fits = False if exceeded else True if verdicts and whole else None
    return BudgetResult(
        limit=budget.limit_text,
        clock=budget.clock_text,
        instructions=budget.instructions,
        measures=budget.measures,
        place=budget.place,
        judged=len(verdicts),
        exceeded=exceeded,
        fits=fits,
    )


def is_quiet(row: Row) -> bool:
    """Whether nothing disturbed a row: what something did is not compared with what nothing does."""
    return not {"load", "ticks"} & parameters_of(row.parameters).keys()


def in_reading_order(rows: Iterable[Row]) -> list[Row]:
    """Rows as people compare them: by board, operation, parameters and measure, then by variant, then by place."""
    listed = list(rows)
    boards = _ranks(sorted(row.board for row in listed))
    operations = _ranks(row.operation for row in listed if not row.board)
    on_boards = _ranks(BOARD_OPERATIONS)
    measures = _ranks(row.measure for row in listed)
    parameters = _ranks(row.parameters for row in listed)
    # Those of boards by their names: one of the user's own is known only while it is measured.
    implementations = _ranks((*IMPLEMENTATIONS, *sorted(row.implementation for row in listed)))
    curves = _ranks(("", *CURVES))

    def rank(row: Row) -> tuple[int, ...]:
        return (
            boards[row.board],
            on_boards[row.operation] if row.board else operations[row.operation],
            curves[row.curve],
            row.chunk or 0,
            row.size or 0,
            row.runs or 0,
            parameters[row.parameters],
            measures[row.measure],
            implementations[row.implementation],
            OPTIMISATIONS.index(row.optimisation),
            PLACES.index(row.place),
        )

    return sorted(listed, key=rank)


def _ranks(names: Iterable[str]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(dict.fromkeys(names))}
