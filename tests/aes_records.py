# SPDX-License-Identifier: BSD-2-Clause
"""Records of AES as the measured machine would have sent them, with real messages under the cipher."""

import zlib
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC, CTR

from worldwise.plan.case import Case
from worldwise.records.evidence import required_checks
from worldwise.records.messages import message

EMPTY_REGION = 2
NESTED = {"ta": 8, "invoke": 16, "client": 8, "linux": 8}
# What a call costs inside the TA, in instructions, and what each place around it adds.
COST = {"prepare": 14_000, "set-key": 26_000, "set-iv": 2_700, "cipher": 6_000}
PER_BYTE = {"libtomcrypt": 60, "libtomcrypt-ce": 6, "mbedtls36": 40, "mbedtls36-ce": 4, "openssl": 20, "openssl-ce": 2}
AROUND = {"ta": 0, "invoke": 30_000, "client": 30_030, "linux": -1_000}


def aes_cost(case: Case, measure: str, place: str, index: int) -> int:
    """The count of one call: samples go up and down by `index % 3`."""
    rounds = 14 if ("key", "256") in case.parameters else 10
    count = COST[measure] + AROUND[place] + index % 3
    return count + (PER_BYTE[case.implementation] * rounds * (case.size or 0) // 10 if measure == "cipher" else 0)


def aes_records(case: Case) -> list[dict[str, Any]]:
    """The records of a case of AES that went well."""
    start = {
        "type": "start",
        "format": 2,
        "program": "linux-bench" if case.target == "linux" else "optee-client",
        "operation": "aes",
        "implementation": "optee" if case.target == "optee" else case.implementation,
        "clock": "cntvct_el0",
        "unit": "instructions",
        "warmup": case.warmup,
        "samples": case.samples,
        "parameters": " ".join(case.arguments),
    }
    places = case.measures["cipher"]
    records = [start]
    for place in places:
        overhead = {"type": "overhead", "place": place, "clock": "cntvct_el0", "count": EMPTY_REGION}
        records.append(overhead | {"nested": NESTED[place]})
    records += [{"type": "check", "name": name, "measure": "cipher", "ok": True} for name in required_checks(case)]
    clock = 1_000
    for index in range(case.calls):
        phase = "first" if index == 0 else "warmup" if index <= case.warmup else "sample"
        for measure in case.measures:
            for depth, place in enumerate(places):
                count = aes_cost(case, measure, place, index)
                inner = NESTED[places[depth - 1]] if depth else 0
                begin = clock + 10 * (len(places) - depth)
                sample = {"type": "sample", "measure": measure, "place": place, "index": index, "phase": phase}
                sample |= {"begin": begin, "end": begin + count + inner + EMPTY_REGION, "count": count}
                records.append(sample | ({"inner": inner} if inner else {}))
            clock += 10_000_000
        records.append(_evidence(case, index))
    return [*records, {"type": "end", "status": 0, "idle": 0}]


def _evidence(case: Case, index: int) -> dict[str, Any]:
    given = dict(case.parameters)
    encrypts = given["direction"] == "encrypt"
    number = index if encrypts else 0
    assert case.size is not None and case.size <= 65536
    plain = message(case.size, number)
    key = bytes(range(0x40, 0x40 + int(given["key"]) // 8))
    iv = number.to_bytes(4, "little") + bytes(range(0xA4, 0xAC if given["mode"] == "gcm" else 0xB0))
    aad = bytes(range(0x10, 0x1D)) if given["mode"] == "gcm" else b""
    if given["mode"] == "gcm":
        sealed = AESGCM(key).encrypt(iv, plain, aad)
    else:
        encryptor = Cipher(AES(key), CBC(iv) if given["mode"] == "cbc" else CTR(iv)).encryptor()
        sealed = encryptor.update(plain) + encryptor.finalize()
    into, out = (plain, sealed) if encrypts else (sealed, plain)
    return {
        "type": "evidence",
        "measure": "cipher",
        "index": index,
        "mode": given["mode"],
        "direction": given["direction"],
        "message": number,
        "size": case.size,
        "key": key.hex(),
        "iv": iv.hex(),
        "aad": aad.hex(),
        "input_crc32": f"{zlib.crc32(into):08x}",
        "output_crc32": f"{zlib.crc32(out):08x}",
    }
