# SPDX-License-Identifier: BSD-2-Clause
"""Runs as the measured machine would have made them, with real P-256 keys and signatures."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from boards import board_records, footprint
from worldwise.families.attestation.evidence import MESSAGE_BYTES
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.plan.budget import Budget
from worldwise.plan.case import Case
from worldwise.plan.suite import Suite, parse_suite
from worldwise.records.evidence import owed_by, required_checks
from worldwise.records.messages import message_digest
from worldwise.run.folder.manifests import RECORDS_FILE
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome, Counting, RunPlan, RunProvenance
from worldwise.run.folder.rundir import Run
from worldwise.run.folder.writer import RunWriter

RecordList = list[dict[str, Any]]

EMPTY_REGION = {"api": 2, "ta": 4, "client": 5, "linux": 3}
NESTED = 11

# What a call costs, in instructions: (place, implementation). -O2 takes two thirds, the first call 1,000
# more.
COST = {
    ("ta", "libtomcrypt"): 240_000_000,
    ("ta", "mbedtls"): 32_000_000,
    ("ta", "mbedtls-nist"): 6_900_000,
    ("linux", "libtomcrypt"): 120_000_000,
    ("linux", "mbedtls"): 16_000_000,
    ("linux", "mbedtls-nist"): 3_450_000,
}
CLIENT_EXTRA = 60_000

# SHA-256: instructions a byte, with and without the crypto extensions, and what else each span takes.
PER_BYTE = {"libtomcrypt": 30, "libtomcrypt-ce": 2, "mbedtls": 20, "mbedtls-ce": 4}
DIGEST_FIXED, WRAPPER, SWITCH, PER_PAGE, REST = 6_000, 14, 30_000, 200, 300
SHA256SUM = 500_000


def hash_cost(case: Case, measure: str, place: str, index: int) -> int:
    """The count of one call of an operation that hashes."""
    size, spans = case.size or 0, case.spans
    if case.operation == "sha256sum":
        return SHA256SUM + 3 * size + index % 3
    algorithm = spans * DIGEST_FIXED + size * PER_BYTE[case.implementation]
    touched = spans * (SWITCH + PER_PAGE) + size // 4096 * PER_PAGE
    if measure != "hash":
        return spans * SWITCH if measure == "empty" else touched
    inside = {"linux": algorithm // 2, "api": algorithm, "ta": algorithm + spans * WRAPPER}
    return inside[place] + index % 3 if place in inside else inside["ta"] + touched + REST + index % 3


def cost(case: Case, place: str, index: int, measure: str = "") -> int:
    """The count of one call: samples go up and down by `index % 3`, so that there is a spread."""
    if case.size is not None and case.operation != "call":
        return hash_cost(case, measure, place, index)
    # One that tries a change costs here as the one it is tried on.
    implementation = IMPLEMENTATIONS[case.implementation].tries or case.implementation
    inside = COST["linux" if place == "linux" else "ta", implementation]
    if case.operation == "storage-create":
        inside = 1_400_000
    elif not owed_by(case).measure:
        inside = 0
    base = inside * 2 // 3 if case.optimisation == "O2" else inside
    if place == "client":
        base += CLIENT_EXTRA
    return base + (1000 if index == 0 else 10 * (index % 3))


def make_records(case: Case) -> RecordList:
    """The records of a case that went well."""
    if case.board:
        return board_records(case)
    records: RecordList = [
        {
            "type": "start",
            "format": 2,
            "program": "linux-bench" if case.target == "linux" else "optee-client",
            "operation": case.operation,
            "implementation": "optee" if case.target == "optee" else case.implementation.partition("-")[0],
            "clock": "cntvct_el0",
            "unit": "instructions",
            "warmup": case.warmup,
            "samples": case.samples,
            "parameters": " ".join(case.arguments),
        }
    ]
    places = {place for places in case.measures.values() for place in places}
    for place in sorted(places, reverse=True):
        clock_name = owed_by(case).clocks.get(place, "cntvct_el0")
        overhead: dict[str, Any] = {"type": "overhead", "place": place, "clock": clock_name}
        overhead["count"] = EMPTY_REGION[place]
        if place in ("api", "ta"):
            overhead["nested"] = NESTED
        records.append(overhead)
    clock = 1_000_000
    key = ec.generate_private_key(ec.SECP256R1())
    for index in range(case.calls):
        phase = "first" if index == 0 else "warmup" if index <= case.warmup else "sample"
        for measure, measured in case.measures.items():
            begin = clock
            for depth, place in enumerate(measured):
                count = cost(case, place, index, measure)
                summed = place in owed_by(case).summed
                inner = NESTED * case.spans if depth else 0
                busy = count + inner + EMPTY_REGION[place] * (case.spans if summed else 1)
                sample: dict[str, Any] = {
                    "type": "sample",
                    "measure": measure,
                    "place": place,
                    "index": index,
                    "phase": phase,
                    "begin": begin + {"ta": 100, "api": 110}.get(place, 0),
                    "count": count,
                }
                sample["end"] = sample["begin"] + busy + (50 * (case.spans - 1) if summed else 0)
                if summed:
                    sample |= {"spans": case.spans, "busy": busy}
                if inner:
                    sample["inner"] = inner
                clock = max(clock, sample["end"] + 500)
                records.append(sample)
        if owed_by(case).measure:
            records.append(_evidence(case, index, key))
    for name in required_checks(case):
        measure = [*case.measures][-1] if case.size is None else "hash"
        records.append({"type": "check", "name": name, "measure": measure, "ok": True})
    records.append({"type": "end", "status": 0, "idle": 0})
    return records


def lines(records: RecordList) -> bytes:
    """The records as the guest writes them."""
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def find(records: RecordList, **fields: Any) -> dict[str, Any]:
    """The first record with these fields."""
    return next(r for r in records if all(r.get(name) == value for name, value in fields.items()))


def make_suite(name: str = "synthetic", **top: Any) -> Suite:
    """A small suite of both worlds with every operation, implementation and optimisation; none of boards."""
    values: dict[str, Any] = {"samples": 4, "warmup": 2, **top}
    return parse_suite(
        f"""format = 1
name = "{name}"
title = "A synthetic run"
samples = {values["samples"]}
warmup = {values["warmup"]}
[[cases]]
targets = ["optee", "linux"]
operations = ["keygen", "attestdiv", "attestquorum"]
implementations = ["libtomcrypt", "mbedtls", "mbedtls-nist"]
optimisations = ["Os", "O2"]
[[cases]]
targets = ["optee"]
operations = ["empty-invoke", "session-open", "ta-load"]
implementations = ["libtomcrypt", "mbedtls", "mbedtls-nist"]
optimisations = ["Os", "O2"]
[published]
source = "optee-p256-a72"
""",
        "synthetic.toml",
    )


def new_writer(
    runs_dir: Path, cases: Sequence[Case], budget: Budget | None = None, second: int = 0, **fields: Any
) -> RunWriter:
    """A writer on a new run of these cases, started on 2026-01-02 at 03:04 and `second` seconds."""

    def own(kind: type, **usual: Any) -> Any:
        """A record of the fields that are its own; `fields` replace the usual ones."""
        chosen = {one.name: fields.pop(one.name) for one in dataclasses.fields(kind) if one.name in fields}
        return kind(**usual | chosen)

    plan = own(RunPlan, suite=make_suite(), cases=cases, budget=budget)
    made = own(
        RunProvenance,
        host={"machine": "x86_64", "processors": 2},
        git="0123456789abcdef",
        lab="a" * 64,
        packages={"qemu-system-arm": "1:10.0"},
    )
    counting = own(Counting)
    assert not fields, fields
    return RunWriter.create(runs_dir, plan, made, counting, datetime(2026, 1, 2, 3, 4, second, tzinfo=UTC))


def write_case(
    writer: RunWriter,
    case: Case,
    data: bytes,
    images: Mapping[str, str] | None = None,
    beside: Mapping[str, bytes] | None = None,
) -> None:
    """One case as the tool would have written it; `beside` are further files of it."""
    directory = writer.case_directory(case.id)
    for name, content in (beside or {}).items():
        (directory / name).write_bytes(content)
    (directory / RECORDS_FILE).write_bytes(data)
    (directory / "console.log").write_text("booted\n")
    size = footprint(case) if case.board else None
    inputs = CaseInputs("snapshot", images or {"optee": "b" * 64}, "c" * 64, size)
    writer.complete_case(case, inputs, CaseOutcome(["qemu-system-aarch64"], 0.5))


def write_run(
    runs_dir: Path,
    cases: Sequence[Case],
    change: Callable[[Case, RecordList], None] | None = None,
    budget: Budget | None = None,
    second: int = 0,
    **fields: Any,
) -> Run:
    """A complete run; `change` may spoil the records of each case first."""
    with new_writer(runs_dir, cases, budget, second, **fields) as writer:
        for case in cases:
            records = make_records(case)
            if change:
                change(case, records)
            write_case(writer, case, lines(records))
        return writer.finish("complete")


def _evidence(case: Case, index: int, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    evidence: dict[str, Any] = {"type": "evidence", "measure": owed_by(case).measure, "index": index}
    if case.size is not None:
        content: Literal["blocks", "zeros"] = "zeros" if "fault=fresh" in case.arguments else "blocks"
        digest = message_digest(content, case.size, index)
        return {**evidence, "content": content, "size": case.size, "digest": digest}
    if case.operation == "keygen":
        key = ec.generate_private_key(ec.SECP256R1())
        return {**evidence, "public": _public(key), "private": f"{key.private_numbers().private_value:064x}"}
    message = bytes((index + n) % 256 for n in range(MESSAGE_BYTES[case.operation]))
    r, s = decode_dss_signature(key.sign(message, ec.ECDSA(hashes.SHA256())))
    return {**evidence, "public": _public(key), "message": message.hex(), "signature": f"{r:064x}{s:064x}"}


def _public(key: ec.EllipticCurvePrivateKey) -> str:
    numbers = key.public_key().public_numbers()
    return f"{numbers.x:064x}{numbers.y:064x}"
