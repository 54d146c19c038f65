# SPDX-License-Identifier: BSD-2-Clause
"""Boards, libraries for them, and runs on them as the measured program would have made them: real keys and results."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ecdsa
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from worldwise.libraries import boards as board
from worldwise.libraries import curves, portable
from worldwise.libraries.boards import Board
from worldwise.libraries.curve_table import MEASURABLE
from worldwise.libraries.portable import Manifest, Portable
from worldwise.plan.case import Case
from worldwise.plan.suite import Suite, parse_suite
from worldwise.records.evidence import owed_by, required_checks
from worldwise.records.messages import message


def _board(title: str, core: str, clock: str) -> Board:
    return Board.model_validate(
        {
            "title": title,
            "core": core,
            "clock": clock,
            "flash": "512KiB",
            "ram": "128KiB",
            "flash_wait_states": 2,
            "script": "some.ld",
            "emulated": {"machine": "mps2-an386", "clock": "25 MHz"},
        }
    )


def _library(name: str, cores: tuple[str, ...] = (), **operations: str) -> Portable:
    manifest = Manifest.model_validate(
        {
            "name": name,
            "title": name,
            "about": "a library",
            "licence": "BSD-2-Clause",
            "source": {"debian": "some"},
            "build": {},
            "operations": {curve: tuple(listed.split()) for curve, listed in operations.items()},
            "needs": {"cores": cores},
        }
    )
    return Portable(manifest, Path(f"{name}.c"))


BOARDS = {
    "microbit": _board("BBC micro:bit", "cortex-m0", "16 MHz"),
    "nucleo-f103rb": _board("ST Nucleo-F103RB", "cortex-m3", "72 MHz"),
    "nucleo-f446re": _board("ST Nucleo-F446RE", "cortex-m4", "180 MHz"),
}
_ALL = "keygen sign verify ecdh"
LIBRARIES = {
    library.name: library
    for library in (
        _library("bearssl", secp256r1=_ALL, x25519="keygen ecdh", none="sha256 sha512 aes128 aes256"),
        _library("dhrystone", none="dhrystone"),
        _library("micro-ecc", secp160r1=_ALL, secp192r1=_ALL, secp224r1=_ALL, secp256r1=_ALL, secp256k1=_ALL),
        _library("p256-cortex-m4", ("cortex-m4", "cortex-m7", "cortex-m33"), secp256r1=_ALL),
        _library("wolfssl-small", ed25519="keygen sign verify", x25519="keygen ecdh"),
    )
}

SUITE = """\
format = 1
name = "boards"
title = "Boards"
samples = 3
warmup = 1

[[cases]]
targets = ["nucleo-f446re", "nucleo-f103rb"]
operations = ["keygen", "sign", "verify", "ecdh"]
implementations = ["bearssl", "micro-ecc", "p256-cortex-m4", "wolfssl-small"]
optimisations = ["Os", "O2"]
curves = ["secp112r1", "secp160r1", "secp256r1", "ed25519", "x25519"]
sizes = ["32B", "1KiB"]

[[cases]]
targets = ["nucleo-f446re"]
operations = ["sha256", "sha512", "aes128", "aes256"]
implementations = ["bearssl", "micro-ecc"]
optimisations = ["O2"]
sizes = ["32B"]

[[cases]]
targets = ["nucleo-f446re", "nucleo-f103rb"]
operations = ["dhrystone"]
implementations = ["dhrystone"]
optimisations = ["O2"]
runs = [1000]

[published]
source = "riot-ecc-mcu"
"""

# What a call costs at -Os, in instructions: by operation, times what a library takes of it; -O2 takes two thirds.
_COST = {"keygen": 30_000, "sign": 33_000, "verify": 36_000, "ecdh": 30_000}
TIMES = {"bearssl": 150, "dhrystone": 1, "micro-ecc": 300, "p256-cortex-m4": 30, "wolfssl-small": 1500}
EMPTY, FLASH, RAM, STACK, HEAP = 6, 12_000, 640, 1_500, 256


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has worldwise know these boards and libraries, and no others.

    The tables change, not the functions that return them: a module that is first imported meanwhile would keep another
    function for good.
    """
    for known, instead in ((board.boards(), BOARDS), (portable.built_in(), LIBRARIES)):
        # Last to first: what is put back comes first to last.
        for name in reversed(list(known)):
            monkeypatch.delitem(known, name)
        for name, one in instead.items():
            monkeypatch.setitem(known, name, one)


def board_suite(text: str = SUITE) -> Suite:
    """The suite above. Needs `use`."""
    return parse_suite(text, "boards.toml")


def board_cost(case: Case, index: int) -> int:
    """The count of one call."""
    base = _COST.get(case.operation, 1000) * TIMES[case.implementation] + (case.size or 0) * 100
    if case.board == "nucleo-f103rb":
        base += base // 10
    return (base * 2 // 3 if case.optimisation == "O2" else base) + index % 3


def footprint(case: Case) -> Mapping[str, int]:
    """What the operation takes of flash and RAM."""
    return {"flash": FLASH + len(case.implementation), "ram": RAM}


def board_records(case: Case) -> list[dict[str, Any]]:
    """The records of a board's case that went well."""
    (measure,) = case.measures
    records: list[dict[str, Any]] = [
        {
            "type": "start",
            "format": 2,
            "program": "mcu-bench",
            "board": case.board,
            "operation": case.operation,
            "implementation": case.implementation,
            "clock": "systick",
            "unit": "instructions",
            "warmup": case.warmup,
            "samples": case.samples,
            "parameters": " ".join(case.arguments),
        },
        {"type": "overhead", "place": "mcu", "clock": "systick", "count": EMPTY},
    ]
    clock = 1000
    for index in range(case.calls):
        count = board_cost(case, index)
        phase = "first" if index == 0 else "warmup" if index <= case.warmup else "sample"
        sample = {"type": "sample", "measure": measure, "place": "mcu", "index": index, "phase": phase, "begin": clock}
        clock += count + EMPTY
        records.append({**sample, "end": clock, "count": count})
        clock += 100
        if owed_by(case).measure:
            records.append({"type": "evidence", "measure": measure, "index": index, **_evidence(case, index)})
    memory = {"stack": STACK, "heap": HEAP, "heap_left": 0}
    records.append({"type": "memory", "measure": measure, "place": "mcu", **memory})
    for name in required_checks(case):
        records.append({"type": "check", "name": name, "measure": measure, "ok": True})
    records.append({"type": "end", "status": 0, "idle": 0})
    return records


def private_key(case: Case, index: int) -> bytes:
    """A private key, another for each index."""
    length = MEASURABLE[case.curve].private
    return bytes(length - 16) + hashlib.sha256(f"{case.curve} {index}".encode()).digest()[:16]


def _evidence(case: Case, index: int) -> dict[str, Any]:
    text = message(case.size or 0, index)
    said = {"content": "blocks", "size": case.size}
    if case.operation.startswith("sha"):
        return {"algorithm": case.operation, **said, "digest": hashlib.new(case.operation, text).hexdigest()}
    if case.operation.startswith("aes"):
        key, counter = bytes(range(int(case.operation[3:]) // 8)), bytes(15) + b"\1"
        encryptor = Cipher(AES(key), CTR(counter)).encryptor()
        output = hashlib.sha256(encryptor.update(text)).hexdigest()
        inputs = {"cipher": f"{case.operation}-ctr", **said, "key": key.hex(), "counter": counter.hex()}
        return {**inputs, "output_sha256": output}
    private = private_key(case, index if case.operation == "keygen" else 0)
    public = curves.public_key(case.curve, private)
    if case.operation == "keygen":
        return {"curve": case.curve, "public": public.hex(), "private": private.hex()}
    if case.operation == "ecdh":
        peer = curves.public_key(case.curve, private_key(case, 1))
        secret = curves.shared_secret(case.curve, private, peer)
        return {"curve": case.curve, "private": private.hex(), "peer": peer.hex(), "secret": secret.hex()}
    signature = sign(case.curve, private, text)
    return {"curve": case.curve, **said, "public": public.hex(), "signature": signature.hex()}


def sign(curve: str, private: bytes, text: bytes) -> bytes:
    """A signature as ops.h has it."""
    if curve == "ed25519":
        return ed25519.Ed25519PrivateKey.from_private_bytes(private).sign(text)
    kind: type[ec.EllipticCurve] | None = getattr(ec, curve.upper(), None)
    if kind is None:
        slow = ecdsa.SigningKey.from_string(private, getattr(ecdsa.curves, curve.replace("secp", "SECP")))
        return bytes(slow.sign_deterministic(text, hashfunc=hashlib.sha256))
    key = ec.derive_private_key(int.from_bytes(private), kind())
    r, s = decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
    half = len(private)
    return r.to_bytes(half) + s.to_bytes(half)
