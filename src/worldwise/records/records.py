# SPDX-License-Identifier: BSD-2-Clause
"""Records: what the measured program sends back, one line of JSON each, and whether they can be believed."""

import functools
import hashlib
import io
import itertools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC, CTR
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError, model_validator

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.families.aes.spec import AES as AES_OPERATION
from worldwise.libraries import curves
from worldwise.libraries.portable import HARDCLOCK
from worldwise.plan.case import Case
from worldwise.plan.catalogue import takes_portables
from worldwise.plan.parameters import MAX_SIZE
from worldwise.plan.spec import PLAIN_TARGETS

# What each operation owes besides its samples: the measure whose results are evidence, the length of the
# signed message in bytes, and the checks that the program itself must have made.
EVIDENCE: Mapping[str, str] = {
    "keygen": "keygen",
    "attestdiv": "sign",
    "attestquorum": "sign",
    "sha256": "hash",
    "sha256sum": "hash",
    "aes": "cipher",
    "sign": "sign",
    "verify": "verify",
    "ecdh": "ecdh",
    "digest": "hash",
    "sha512": "hash",
    HARDCLOCK: "sign",
    "aes128": "encrypt",
    "aes256": "encrypt",
}
MESSAGE_BYTES: Mapping[str, int] = {"attestdiv": 48, "attestquorum": 40}
_REJECTED = ("modified-signature-rejected", "modified-message-rejected")
REQUIRED_CHECKS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("optee", "attestdiv"): _REJECTED,
    ("optee", "attestquorum"): _REJECTED,
    ("optee", "sha256"): ("known-answer", "counter-registers-restored"),
    ("optee", "storage-create"): ("content-read-back",),
    ("optee", "echo"): ("messages-echoed",),
    ("linux", "echo"): ("messages-echoed",),
    ("optee", "hello"): ("value-incremented",),
    ("optee", "storage"): ("state-as-it-must-be",),
    ("linux", "file"): ("state-as-it-must-be",),
    ("optee", "payload"): ("payload-arrived",),
    ("optee", "keycache-load"): ("requests-counted",),
    ("optee", "keycache-zipf"): ("keys-right", "hits-as-simulated"),
    ("optee", "keycache"): ("answers-right", "keys-found-where-they-must-be"),
    ("linux", "attestdiv"): _REJECTED,
    ("linux", "attestquorum"): _REJECTED,
    ("linux", "sha256"): ("known-answer",),
    ("optee", "aes"): ("known-answer", "decrypted-again"),
    **dict.fromkeys(
        (("linux", AES_OPERATION), *((target, AES_OPERATION) for target in PLAIN_TARGETS)),
        ("known-answer", "decrypted-again"),
    ),
}
# Of AES in GCM besides: in a TEE nothing may be left of what was forged.
_FORGED: Mapping[str, tuple[str, ...]] = {
    "optee": ("forged-tag-refused", "forged-plaintext-withheld"),
    **dict.fromkeys(("linux", *PLAIN_TARGETS), ("forged-tag-refused",)),
}
_SIGNATURE_CHECKS = ("known-answer", *_REJECTED, "invalid-signatures-rejected")
BOARD_CHECKS: Mapping[str, tuple[str, ...]] = {
    "sign": _SIGNATURE_CHECKS,
    "verify": _SIGNATURE_CHECKS,
    "ecdh": ("known-answer", "agreement"),
    "sha256": ("known-answer",),
    "sha512": ("known-answer",),
    "digest": ("known-answer",),
    "aes128": ("known-answer",),
    "aes256": ("known-answer",),
    "dhrystone": ("final-values",),
    HARDCLOCK: (*_SIGNATURE_CHECKS, "hardclock-is-gettimeofday"),
}

# Operations that say something besides of their calls: storage, how often tee-supplicant was asked; the key cache, what
# redis-benchmark reports, and how many requests found their key.
OUTCOMES_BESIDE = ("storage", "keycache-load", "keycache-zipf")

# Operations of a TEE that are those of the boards, with their evidence and checks.
_ON_CURVE = ("sign", "verify", "ecdh")

CLOCK = "cntvct_el0"
BOARD_CLOCK = "systick"
# Of targets whose core has no counter that everybody can read.
TARGET_CLOCKS: Mapping[str, str] = {"linux-armv7": "perf_cpu_cycles"}
# By which counter a place measures, where it is another one.
CLOCKS: Mapping[tuple[str, str], str] = {("sha256", "api"): "pmccntr_el0", ("sha256", "ta"): "pmccntr_el0"}
# Places whose samples may be the sum of several spans: (operation, place).
_SUMMED = tuple(CLOCKS)
# Places whose samples are the sum of as many spans as there were, which the case does not foretell: perhaps none.
_COUNTED = tuple(("keycache", place) for place in ("storage", "ta", "invoke"))

# The bytes of a hashed message: see guest/bench/message.h.
_BLOCK = 65536

# More is no case: one of MAX_SAMPLES samples has some 200 MB in 1,500,000 records.
MOST_BYTES = 256 * 2**20
MOST_RECORDS = 2_000_000
# A line of a guest has some hundred bytes.
MOST_LINE = 2**16

# How far in ns a clock may be off the counter: it steps by a microsecond, and so does what is told of it.
_CLOCK_STEP = 2000

Count = Annotated[int, Field(ge=0, lt=2**64)]
Text = Annotated[str, Field(min_length=1)]
Place = Literal["api", "ta", "invoke", "client", "linux", "mcu", "storage"]
Clock = Literal["cntvct_el0", "pmccntr_el0", "systick", "perf_cpu_cycles"]
Bytes = Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
CurveName = Literal["secp160r1", "secp192r1", "secp224r1", "secp256r1", "secp384r1", "secp256k1", "ed25519", "x25519"]
MessageSize = Annotated[int, Field(ge=0, le=MAX_SIZE)]


def _hex(digits: int) -> Any:
    return Field(pattern=f"^[0-9a-f]{{{digits}}}$")


def _is_portable(case: Case) -> bool:
    """Whether a portable implementation does it, by a program of nothing else."""
    return takes_portables(case.target) and case.operation != AES_OPERATION


def required_checks(case: Case) -> tuple[str, ...]:
    """What the measured program itself must have tried."""
    if not _is_portable(case) and case.operation not in (*_ON_CURVE, "digest"):
        forged = _FORGED[case.target] if ("mode", "gcm") in case.parameters else ()
        return REQUIRED_CHECKS.get((case.target, case.operation), ()) + forged
    points = ("invalid-point-rejected",) if case.operation == "ecdh" and case.curve in curves.WEIERSTRASS else ()
    return BOARD_CHECKS.get(case.operation, ()) + points


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Start(_Record):
    """The first record: which program measures what, with which clock. A program for a board knows which."""

    type: Literal["start"]
    format: Literal[2]
    program: Text
    board: Text | None = None
    operation: Text
    implementation: Text
    clock: Clock
    unit: Literal["instructions"]
    warmup: Count
    samples: Count
    parameters: str


class Overhead(_Record):
    """What measuring costs at a place: `count` an empty region, `nested` a whole region inside another.

    `clock` is the counter of the place's regions. `nested` is in that of the region around, and has in it what regions
    within this one add.
    """

    type: Literal["overhead"]
    place: Place
    clock: Clock
    count: Count
    nested: Count | None = None


class Sample(_Record):
    """One call: the counter before and after, and what is left when the cost of measuring is taken away.

    A call that took several passes through its region has their number in `spans` and their sum in `busy`; `begin` is
    then that of the first and `end` that of the last. One that took none, where a place need not be passed, has 0 in
    all of them; `begin` and `end` then tell when the region around it began.
    """

    type: Literal["sample"]
    measure: Text
    place: Place
    index: Count
    phase: Literal["first", "warmup", "sample"]
    begin: Count
    end: Count
    spans: Count | None = None
    busy: Count | None = None
    inner: Count | None = None
    count: Count

    @property
    def raw(self) -> int:
        """What the counter showed, the cost of measuring included."""
        return self.end - self.begin if self.busy is None else self.busy


class SignEvidence(_Record):
    """A signature with all that is needed to verify it: X||Y, the message, r||s, in lower-case hex."""

    type: Literal["evidence"]
    measure: Literal["sign"]
    index: Count
    public: Annotated[str, _hex(128)]
    message: Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
    signature: Annotated[str, _hex(128)]


class KeygenEvidence(_Record):
    """A throw-away key pair made by the benchmark: X||Y and the private scalar, in lower-case hex."""

    type: Literal["evidence"]
    measure: Literal["keygen"]
    index: Count
    public: Annotated[str, _hex(128)]
    private: Annotated[str, _hex(64)]


class HashEvidence(_Record):
    """The SHA-256 of a message that anybody can make again: its content, its size, and the call's number in it."""

    type: Literal["evidence"]
    measure: Literal["hash"]
    index: Count
    content: Literal["blocks", "zeros"]
    size: Annotated[int, Field(ge=0, le=MAX_SIZE)]
    digest: Annotated[str, _hex(64)]


class _OnCurve(_Record):
    """Evidence of a board, or of a TEE's operations on any curve.

    Octet strings are as guest/ops/portable/ops.h has them, in lower-case hex.
    """

    type: Literal["evidence"]
    index: Count
    curve: CurveName

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        for name in ("private", "public", "peer", "signature", "secret"):
            text = getattr(self, name, None)
            if text is not None:
                due = getattr(curves.LENGTHS[self.curve], "public" if name == "peer" else name)
                if not due or len(text) != 2 * due:
                    raise ValueError(f"{name} has {len(text) // 2} bytes, {self.curve} has {due}")
        return self


class CurveKeygenEvidence(_OnCurve):
    """A throw-away key pair."""

    measure: Literal["keygen"]
    public: Bytes
    private: Bytes


class CurveSignatureEvidence(_OnCurve):
    """A signature that was made, or one that was accepted, of a message that anybody can make again."""

    measure: Literal["sign", "verify"]
    content: Literal["blocks"]
    size: MessageSize
    public: Bytes
    signature: Bytes


class EcdhEvidence(_OnCurve):
    """A secret with the own private and the peer's public key."""

    measure: Literal["ecdh"]
    private: Bytes
    peer: Bytes
    secret: Bytes


class DigestEvidence(_Record):
    """A digest made on a board, of a message that anybody can make again."""

    type: Literal["evidence"]
    measure: Literal["hash"]
    index: Count
    algorithm: Literal["sha256", "sha512"]
    content: Literal["blocks"]
    size: MessageSize
    digest: Annotated[str, Field(pattern="^([0-9a-f]{64}|[0-9a-f]{128})$")]


class EncryptEvidence(_Record):
    """A message that anybody can make again, encrypted on a board: a digest stands for the output."""

    type: Literal["evidence"]
    measure: Literal["encrypt"]
    index: Count
    cipher: Literal["aes128-ctr", "aes256-ctr"]
    content: Literal["blocks"]
    size: MessageSize
    key: Annotated[str, Field(pattern="^([0-9a-f]{32}|[0-9a-f]{64})$")]
    counter: Annotated[str, _hex(32)]
    output_sha256: Annotated[str, _hex(64)]


class CipherEvidence(_Record):
    """A message that anybody can make again, encrypted by AES, or decrypted again: checksums stand for both.

    `message` is its number, of which its first bytes are made. What is encrypted in GCM has the tag at its end, and
    `aad` is what was authenticated with it.
    """

    type: Literal["evidence"]
    measure: Literal["cipher"]
    index: Count
    mode: Literal["cbc", "ctr", "gcm"]
    direction: Literal["encrypt", "decrypt"]
    message: Count
    size: Annotated[int, Field(ge=1, le=MAX_SIZE)]
    key: Annotated[str, Field(pattern="^([0-9a-f]{32}|[0-9a-f]{64})$")]
    iv: Annotated[str, Field(pattern="^([0-9a-f]{24}|[0-9a-f]{32})$")]
    aad: Bytes
    input_crc32: Annotated[str, _hex(8)]
    output_crc32: Annotated[str, _hex(8)]


class Memory(_Record):
    """What one call takes at its peak, in bytes: found in a call of its own, outside the samples.

    `heap_left` is what the call leaves allocated. In a TA the heap is not looked at.
    """

    type: Literal["memory"]
    measure: Text
    place: Literal["mcu", "ta"]
    stack: Annotated[int, Field(ge=1, lt=2**32)]
    heap: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    heap_left: Annotated[int, Field(ge=0, lt=2**32)] | None = None

    @model_validator(mode="after")
    def _heap(self) -> Self:
        of_board = self.place == "mcu"
        if (self.heap is None) == of_board or (self.heap_left is None) == of_board:
            raise ValueError("'heap' and 'heap_left' are there on a board, and only there")
        return self


class Fault(_Record):
    """The program on a board was stopped by its core: where (`pc`, called from `lr`), and what the core says of it.

    `address` is the one that could not be reached, if the core knows it; `status` its fault status register, 0 if it
    has none. A stack that overflowed has lost where; `call0` and up are then what looks like return addresses on it,
    the innermost first.
    """

    type: Literal["fault"]
    kind: Literal["hard fault", "bus fault", "usage fault", "memory fault", "unexpected exception", "stack overflow"]
    pc: Count | None = None
    lr: Count | None = None
    address: Count | None = None
    call0: Count | None = None
    call1: Count | None = None
    call2: Count | None = None
    call3: Count | None = None
    call4: Count | None = None
    call5: Count | None = None
    status: Count

    @property
    def calls(self) -> tuple[int, ...]:
        """What looks like return addresses on a stack that overflowed, the innermost first."""
        calls = (self.call0, self.call1, self.call2, self.call3, self.call4, self.call5)
        return tuple(call for call in calls if call is not None)

    def describe(self, symbol: Callable[[int], str] = lambda _: "") -> str:
        """One line for a person. `symbol` names an address, such as `sign+0x12`, or gives nothing."""

        def named(address: int, *, return_to: bool = False) -> str:
            # The call is the instruction before.
            name = symbol(address - 2 if return_to else address)
            return f"{address:#010x} ({name})" if name else f"{address:#010x}"

        text = f"the measured program stopped with {'an' if self.kind.startswith('unex') else 'a'} {self.kind}"
        if self.pc is not None:
            text += f" at {named(self.pc)}"
        if self.lr is not None:
            text += f", called from {named(self.lr, return_to=True)}"
        if self.address is not None:
            text += f"; it could not reach {named(self.address)}"
        if self.calls:
            text += f"; the innermost calls: {', '.join(named(call, return_to=True) for call in self.calls)}"
        return f"{text}; fault status {self.status:#x}" if self.status else text


class Clocks(_Record):
    """What clocks say around one call, read in turn before it and in the opposite order after it.

    `begin` and `end` are the counter around all of them, outside the region; the others are differences: what
    mbedtls_timing_hardclock() returned, microseconds of gettimeofday(), nanoseconds of CLOCK_MONOTONIC. `calls` is how
    often mbedtls_timing_hardclock() called gettimeofday() for it.
    """

    type: Literal["clocks"]
    measure: Text
    index: Count
    begin: Count
    end: Count
    hardclock: Count
    gettimeofday: Count
    monotonic: Count
    calls: Count


class Check(_Record):
    """Something the program tried on its own result, and whether it went as it must."""

    type: Literal["check"]
    name: Text
    measure: Text
    ok: bool


class Outcome(_Record):
    """One attempt of a campaign and how it went, as observed: `what` was tried, `result` a word for tables.

    `at` is the instruction of a machine that was stopped, counted from the attempt's begin.
    """

    type: Literal["outcome"]
    what: Text
    result: Text
    detail: str = ""
    at: Count | None = None


class Failure(_Record):
    """The program could not go on."""

    type: Literal["error"]
    message: str


class End(_Record):
    """The last record; status 0 if all went well.

    `idle` is how often the processor had nothing to do during the case. Virtual time goes on then without
    instructions, so that the counts would not be counts.
    """

    type: Literal["end"]
    status: int
    idle: int = Field(ge=0)


Evidence = SignEvidence | KeygenEvidence | HashEvidence | CipherEvidence
BoardEvidence = CurveKeygenEvidence | CurveSignatureEvidence | EcdhEvidence | DigestEvidence | EncryptEvidence


# The tag of evidence of a board, by its measure.
_BOARD_KINDS = {
    "keygen": "keygen on a curve",
    "sign": "signature on a curve",
    "verify": "signature on a curve",
    "hash": "digest",
}


def _evidence_kind(value: Any) -> str | None:
    """Which model evidence is of, by its tag: that of a board names its curve or algorithm."""
    fields = value if isinstance(value, dict) else vars(value)
    measure = fields.get("measure")
    on_board = measure == "verify" or "curve" in fields or "algorithm" in fields
    return _BOARD_KINDS.get(str(measure), measure) if on_board else measure


Record = (
    Start
    | Overhead
    | Sample
    | Annotated[
        Annotated[SignEvidence, Tag("sign")]
        | Annotated[KeygenEvidence, Tag("keygen")]
        | Annotated[HashEvidence, Tag("hash")]
        | Annotated[CurveKeygenEvidence, Tag("keygen on a curve")]
        | Annotated[CurveSignatureEvidence, Tag("signature on a curve")]
        | Annotated[EcdhEvidence, Tag("ecdh")]
        | Annotated[DigestEvidence, Tag("digest")]
        | Annotated[EncryptEvidence, Tag("encrypt")]
        | Annotated[CipherEvidence, Tag("cipher")],
        Discriminator(_evidence_kind),
    ]
    | Memory
    | Clocks
    | Fault
    | Check
    | Outcome
    | Failure
    | End
)

_ADAPTER: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="type")])


@dataclass(frozen=True)
class CheckedRecords:
    """The records of a case after every check: `samples` by (measure, place), each in index order.

    `memory` is by measure, and empty but on boards and where a TA's own is looked at.
    """

    start: Start
    overheads: Mapping[str, Overhead]
    samples: Mapping[tuple[str, str], tuple[Sample, ...]]
    memory: Mapping[str, Memory] = field(default_factory=dict)


def json_schema() -> dict[str, Any]:
    """The JSON schema of one record."""
    return _ADAPTER.json_schema()


def parse_line(line: str | bytes, file: str, number: int) -> Record:
    """The record on one line. Raises WorldwiseError naming `file`, the line `number` and the field."""
    try:
        return _ADAPTER.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        # The location begins with the discriminators' values; only the field's own name says something. What is wrong
        # with several fields at once has no field.
        name = str(first["loc"][-1]) if len(first["loc"]) > 1 and first["type"] != "value_error" else ""
        problem = first["msg"].removeprefix("Value error, ")
        where = f"{files.quoted(name, 40)}: " if name else ""
        raise WorldwiseError(
            f"{file}:{number}: not a record: {where}{files.quoted(problem, 400)}.",
            details=files.quoted(line.rstrip(b"\n") if isinstance(line, bytes) else line.rstrip("\n")),
        ) from error


def read_records(path: Path) -> list[Record]:
    """Every record of a file, in order: record i stands on line i + 1. Raises WorldwiseError."""
    try:
        return parse_records(files.read_bytes(path, MOST_BYTES, path.parent), str(path))
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.") from error


def parse_records(data: bytes, file: str) -> list[Record]:
    """Every record in a file's content, in order. Raises WorldwiseError naming `file` and the line."""
    if not data:
        raise WorldwiseError(f"{file}: empty: the measured program sent nothing.")
    records: list[Record] = []
    stream = io.BytesIO(data)
    while line := stream.readline(MOST_LINE):
        number = len(records) + 1
        if number > MOST_RECORDS:
            raise WorldwiseError(f"{file}: has more than {MOST_RECORDS:,} records.")
        if not line.endswith(b"\n"):
            long = len(line) == MOST_LINE
            problem = f"the line has more than {MOST_LINE:,} bytes" if long else "the last line is cut off"
            raise WorldwiseError(f"{file}:{number}: {problem}.")
        records.append(parse_line(line[:-1], file, number))
    return records


def check_records(
    records: Sequence[Record],
    case: Case,
    file: str = "records.jsonl",
    symbol: Callable[[int], str] = lambda _: "",
) -> CheckedRecords:
    """Verifies that the records are those of `case`, complete, consistent and right.

    Every sample that the case owes must be there once, with its arithmetic right; every signature is verified
    and every key checked here again, by another library than the one measured. Raises WorldwiseError at the
    first thing that is wrong, naming `file` and the line. `symbol` names an address of the measured program for the
    message of a fault.
    """
    return _Checker(records, case, file, symbol).check()


def verify_evidence(evidence: Evidence | BoardEvidence, file: str = "records.jsonl", line: int = 0) -> None:
    """Verifies one result: a signature, a key pair, a secret, a digest or a cipher text. Raises WorldwiseError."""
    where = f"{file}:{line}: {evidence.measure} {evidence.index}"
    if isinstance(evidence, BoardEvidence):
        problem = _board_problem(evidence)
        if problem:
            raise WorldwiseError(f"{where}: {problem}.")
        return
    if isinstance(evidence, HashEvidence):
        if evidence.digest != message_digest(evidence.content, evidence.size, evidence.index):
            raise WorldwiseError(f"{where}: the digest is wrong: it is not the SHA-256 of the message.")
        return
    if isinstance(evidence, CipherEvidence):
        problem = _aes_problem(evidence)
        if problem:
            raise WorldwiseError(f"{where}: {problem}.")
        return
    x, y = int(evidence.public[:64], 16), int(evidence.public[64:], 16)
    try:
        public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    except ValueError as error:
        raise WorldwiseError(f"{where}: the public key is not a point of P-256.") from error
    if isinstance(evidence, KeygenEvidence):
        try:
            derived = ec.derive_private_key(int(evidence.private, 16), ec.SECP256R1()).public_key()
        except ValueError as error:
            raise WorldwiseError(f"{where}: the private key is out of range.") from error
        if derived.public_numbers() != public.public_numbers():
            raise WorldwiseError(f"{where}: the public key does not belong to the private key.")
        return
    r, s = int(evidence.signature[:64], 16), int(evidence.signature[64:], 16)
    try:
        public.verify(encode_dss_signature(r, s), bytes.fromhex(evidence.message), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as error:
        raise WorldwiseError(f"{where}: the signature is wrong: it does not verify.") from error


def _board_problem(evidence: BoardEvidence) -> str:
    """What is wrong with a board's evidence; empty if it is right."""
    if isinstance(evidence, DigestEvidence):
        digest = hashlib.new(evidence.algorithm, message(evidence.size, evidence.index)).hexdigest()
        name = evidence.algorithm.replace("sha", "SHA-")
        return "" if evidence.digest == digest else f"the digest is wrong: it is not the {name} of the message"
    if isinstance(evidence, EncryptEvidence):
        return _cipher_problem(evidence)
    try:
        if isinstance(evidence, CurveKeygenEvidence):
            if curves.public_key(evidence.curve, bytes.fromhex(evidence.private)).hex() != evidence.public:
                return "the public key does not belong to the private key"
        elif isinstance(evidence, CurveSignatureEvidence):
            curves.check_signature(
                evidence.curve,
                bytes.fromhex(evidence.public),
                message(evidence.size, evidence.index),
                bytes.fromhex(evidence.signature),
            )
        else:
            own, peer = bytes.fromhex(evidence.private), bytes.fromhex(evidence.peer)
            if curves.shared_secret(evidence.curve, own, peer).hex() != evidence.secret:
                return "the secret is wrong: it is not that of the two keys"
    except curves.CurveError as error:
        return str(error)
    return ""


def _cipher_problem(evidence: EncryptEvidence) -> str:
    bits = int(evidence.cipher.removeprefix("aes").removesuffix("-ctr"))
    if len(evidence.key) * 4 != bits:
        return f"the key has {len(evidence.key) * 4} bits, {evidence.cipher} has {bits}"
    encryptor = Cipher(AES(bytes.fromhex(evidence.key)), CTR(bytes.fromhex(evidence.counter))).encryptor()
    output = encryptor.update(message(evidence.size, evidence.index)) + encryptor.finalize()
    if hashlib.sha256(output).hexdigest() == evidence.output_sha256:
        return ""
    return f"the output is wrong: it is not the message under {evidence.cipher}"


def _aes_problem(evidence: CipherEvidence) -> str:
    """What is wrong with it, by another library than the one measured; empty if nothing is."""
    if len(evidence.iv) != (24 if evidence.mode == "gcm" else 32):
        return f"{evidence.mode} has no vector of {len(evidence.iv) // 2} bytes"
    if evidence.mode == "cbc" and evidence.size % 16:
        return f"cbc cannot be of {evidence.size} bytes"
    plain, sealed = _aes_checksums(
        evidence.mode, evidence.key, evidence.iv, evidence.aad, evidence.size, evidence.message
    )
    due = (plain, sealed) if evidence.direction == "encrypt" else (sealed, plain)
    for what, found, wanted in zip(
        ("input", "output"), (evidence.input_crc32, evidence.output_crc32), due, strict=True
    ):
        if found != wanted:
            return f"the {what} is wrong: it is not that of AES-{len(evidence.key) * 4} in {evidence.mode} mode"
    return ""


# Every implementation has the same messages, and a report reads them all.
@functools.lru_cache(maxsize=16384)
def _aes_checksums(mode: str, key: str, iv: str, aad: str, size: int, index: int) -> tuple[str, str]:
    """The CRC-32 of a message and of what AES makes of it, in hex."""
    plain = b"".join(
        message(_BLOCK, index)[: size - done] if done == 0 else _message_block()[: size - done]
        for done in range(0, size, _BLOCK)
    )
    secret, start = bytes.fromhex(key), bytes.fromhex(iv)
    if mode == "gcm":
        sealed = AESGCM(secret).encrypt(start, plain, bytes.fromhex(aad))
    else:
        encryptor = Cipher(AES(secret), CBC(start) if mode == "cbc" else CTR(start)).encryptor()
        sealed = encryptor.update(plain) + encryptor.finalize()
    return f"{zlib.crc32(plain):08x}", f"{zlib.crc32(sealed):08x}"


def message(size: int, index: int) -> bytes:
    """The message of `size` bytes, up to 64 KiB, that call `index` takes: see guest/bench/message.h."""
    return (index.to_bytes(4, "little") + bytes(4) + _message_block()[8:])[:size]


# Every case of a size has the same messages, and a report reads them all.
@functools.lru_cache(maxsize=4096)
def message_digest(content: Literal["blocks", "zeros"], size: int, index: int) -> str:
    """The SHA-256 of the message that call `index` hashes, in hex."""
    block = bytes(_BLOCK) if content == "zeros" else _message_block()
    digest = hashlib.sha256()
    first = block if content == "zeros" else message(_BLOCK, index)
    for done in range(0, size, _BLOCK):
        digest.update((first if done == 0 else block)[: size - done])
    return digest.hexdigest()


@functools.cache
def _message_block() -> bytes:
    state = 1
    block = bytearray()
    for _ in range(_BLOCK):
        state = (state * 1664525 + 1013904223) % 2**32
        block.append(state >> 24)
    return bytes(block)


class _Checker:
    def __init__(self, records: Sequence[Record], case: Case, file: str, symbol: Callable[[int], str]) -> None:
        self._records = records
        self._case = case
        self._file = file
        self._symbol = symbol
        self._clock = BOARD_CLOCK if case.board else TARGET_CLOCKS.get(case.target, CLOCK)

    def check(self) -> CheckedRecords:
        self._no_errors()
        start = self._frame()
        overheads = self._overheads()
        samples = self._samples(overheads)
        memory = self._memory()
        self._clocks(samples)
        self._evidence()
        self._outcomes()
        self._checks()
        return CheckedRecords(start, overheads, samples, memory)

    def _fail(self, number: int | None, problem: str, hint: str = "") -> NoReturn:
        where = self._file if number is None else f"{self._file}:{number}"
        # Much of it is what the measured program said.
        raise WorldwiseError(f"{where}: case {self._case.id}: {files.quoted(problem, 2000)}", hint)

    def _numbered(self) -> Iterable[tuple[int, Record]]:
        return enumerate(self._records, 1)

    def _no_errors(self) -> None:
        # First of all: what the program says went wrong explains all that is missing after it.
        for number, record in self._numbered():
            if isinstance(record, Failure):
                self._fail(number, f"the measured program reports: {record.message}")
            if isinstance(record, Fault):
                self._fail(number, f"{record.describe(self._symbol)}.")

    def _frame(self) -> Start:
        if not self._records:
            self._fail(None, "there are no records.")
        start, end = self._records[0], self._records[-1]
        if not isinstance(start, Start):
            self._fail(1, f"begins with '{start.type}', not with 'start'.")
        if not isinstance(end, End):
            self._fail(len(self._records), "the records stop before 'end': the measured program did not finish.")
        if end.status != 0:
            self._fail(len(self._records), f"the measured program ended with status {end.status}.")
        if end.idle:
            self._fail(
                len(self._records),
                f"the processor was idle {end.idle} times during the case: counts would include time that no "
                "instruction took.",
            )
        for number, record in self._numbered():
            if isinstance(record, Start) and number > 1:
                self._fail(number, "a second 'start'.")
            if isinstance(record, End) and number < len(self._records):
                self._fail(number, "records follow 'end'.")
        case = self._case
        expected = (
            ("operation", start.operation, case.operation),
            ("samples", start.samples, case.samples),
            ("warmup", start.warmup, case.warmup),
            ("parameters", start.parameters, " ".join(case.arguments)),
            ("clock", start.clock, self._clock),
            ("board", start.board, case.board or None),
        )
        for key, found, wanted in expected:
            if found != wanted:
                self._fail(1, f"{key} is {found!r}, the case has {wanted!r}.")
        if start.program.partition("-")[0] != ("mcu" if case.board else case.target.partition("-")[0]):
            self._fail(1, f"program '{start.program}' does not run on target '{case.target}'.")
        if not self._knows_itself(start.implementation):
            self._fail(1, f"implementation '{start.implementation}' is not that of the case.")
        return start

    def _knows_itself(self, name: str) -> bool:
        """Whether a program that calls its implementation by `name` can be that of the case."""
        case = self._case
        if takes_portables(case.target):
            return name == case.implementation
        # A client does not know what OP-TEE was built with, nor a program how its library was configured.
        return name == "optee" if case.target == "optee" else f"{case.implementation}-".startswith(f"{name}-")

    def _overheads(self) -> dict[str, Overhead]:
        places = {place for places in self._case.measures.values() for place in places}
        overheads: dict[str, Overhead] = {}
        for number, record in self._numbered():
            if isinstance(record, Overhead):
                if record.place not in places:
                    self._fail(number, f"an overhead for '{record.place}', where nothing is measured.")
                if record.place in overheads:
                    self._fail(number, f"a second overhead for '{record.place}'.")
                clock = CLOCKS.get((self._case.operation, record.place), self._clock)
                if record.clock != clock:
                    self._fail(number, f"the clock at '{record.place}' is {record.clock}, must be {clock}.")
                overheads[record.place] = record
        for place in sorted(places - overheads.keys()):
            self._fail(None, f"the overhead of measuring at '{place}' is missing.")
        for nested in self._case.measures.values():
            for inside, around in itertools.pairwise(nested):
                if overheads[inside].nested is None:
                    self._fail(None, f"the overhead at '{inside}' lacks 'nested', which counts at '{around}' need.")
        return overheads

    def _samples(self, overheads: Mapping[str, Overhead]) -> dict[tuple[str, str], tuple[Sample, ...]]:
        case = self._case
        found: dict[tuple[str, str], list[Sample]] = {
            (measure, place): [] for measure, places in case.measures.items() for place in places
        }
        for number, record in self._numbered():
            if isinstance(record, Sample):
                series = found.get((record.measure, record.place))
                if series is None:
                    self._fail(number, f"a sample of '{record.measure}' at '{record.place}', which it has not.")
                self._sample(number, record, len(series), overheads, found)
                if series and record.begin < series[-1].end:
                    self._fail(number, f"{record.measure} {record.index}: begins before its predecessor ends.")
                series.append(record)
        for (measure, place), series in found.items():
            if len(series) != case.calls:
                self._fail(
                    None,
                    f"{measure} at {place} has {len(series)} samples instead of {case.calls} "
                    f"(1 first call, {case.warmup} warm-up, {case.samples} samples): "
                    f"index {len(series)} is missing.",
                )
        for measure, places in case.measures.items():
            for inside, around in itertools.pairwise(places):
                for inner, outer in zip(found[measure, inside], found[measure, around], strict=True):
                    self._inside(inner, outer, overheads)
        return {key: tuple(series) for key, series in found.items()}

    def _inside(self, inner: Sample, outer: Sample, overheads: Mapping[str, Overhead]) -> None:
        """Refuses a region that was not within the one around it, as far as their counters can tell."""
        what = f"{inner.measure} {inner.index}: the region at '{inner.place}'"
        comparable = overheads[inner.place].clock == overheads[outer.place].clock
        if comparable and not outer.begin <= inner.begin <= inner.end <= outer.end:
            self._fail(
                None,
                f"{what} ({inner.begin} to {inner.end}) is not inside the one at '{outer.place}' "
                f"({outer.begin} to {outer.end}).",
            )
        if inner.raw > outer.raw:
            self._fail(None, f"{what} took {inner.raw}, more than the {outer.raw} at '{outer.place}' around it.")

    def _sample(
        self,
        number: int,
        sample: Sample,
        index: int,
        overheads: Mapping[str, Overhead],
        found: Mapping[tuple[str, str], Sequence[Sample]],
    ) -> None:
        """Refuses a sample that cannot be; `found` are those before it, by measure and place."""
        case = self._case
        name = f"{sample.measure} {sample.index} at {sample.place}"
        if sample.index != index:
            self._fail(number, f"{name}: index {index} was due: a sample is missing or out of order.")
        if index >= case.calls:
            self._fail(number, f"{name}: one sample too many, {case.calls} are due.")
        phase = "first" if index == 0 else "warmup" if index <= case.warmup else "sample"
        if sample.phase != phase:
            self._fail(number, f"{name}: phase is '{sample.phase}', must be '{phase}'.")
        counted = (case.operation, sample.place) in _COUNTED
        summed = counted or (case.operation, sample.place) in _SUMMED
        spans = (sample.spans if counted else case.spans) if summed else None
        if (sample.spans, sample.busy is None) != (spans, not summed) or (counted and spans is None):
            self._fail(
                number,
                f"{name}: spans is {sample.spans} and busy {sample.busy}, must be "
                + ("a number and their sum." if counted else f"{spans} and their sum." if summed else "absent."),
            )
        if summed and sample.raw > sample.end - sample.begin:
            self._fail(number, f"{name}: its spans take {sample.raw}, but from begin to end is less.")
        inner = self._inner(number, sample, overheads, found)
        if (sample.inner or 0) != inner:
            self._fail(number, f"{name}: inner is {sample.inner}, the declared overhead makes it {inner or None}.")
        overhead = overheads[sample.place].count * (1 if sample.spans is None else sample.spans)
        due = sample.raw - overhead - inner
        if sample.count != due:
            self._fail(
                number,
                f"{name}: count is {sample.count}, but "
                f"{'busy' if summed else 'end - begin'} - overhead{' - inner' if inner else ''} = {due}.",
            )
        if sample.count == 0 and sample.spans != 0:
            self._fail(number, f"{name}: counts nothing: the operation cannot have run.")

    def _inner(
        self,
        number: int,
        sample: Sample,
        overheads: Mapping[str, Overhead],
        found: Mapping[tuple[str, str], Sequence[Sample]],
    ) -> int:
        """What the measuring of the regions within a sample's own added to it."""
        case = self._case
        places = case.measures[sample.measure]
        if sample.place == places[0]:
            return 0
        within = places[places.index(sample.place) - 1]
        nested = overheads[within].nested or 0
        if (case.operation, within) not in _COUNTED:
            # An outer region is passed as often as its measure says, or once around all that is inside.
            return nested * case.spans
        inside = found[sample.measure, within]
        if len(inside) <= sample.index:
            self._fail(
                number,
                f"{sample.measure} {sample.index} at {sample.place}: comes before what is inside, at '{within}'.",
            )
        return nested * (inside[sample.index].spans or 0)

    def _memory(self) -> dict[str, Memory]:
        """What a call takes of memory, once for each measure of a board or of a TA that is one of several."""
        case = self._case
        in_ta = case.target == "optee" and case.operation in (*_ON_CURVE, "digest")
        place = "mcu" if case.board else "ta" if in_ta else ""
        found: dict[str, Memory] = {}
        for number, record in self._numbered():
            if isinstance(record, Memory):
                if record.place != place or record.measure not in case.measures:
                    self._fail(number, f"the memory of '{record.measure}', which it has not.")
                if record.measure in found:
                    self._fail(number, f"a second record of the memory of {record.measure}.")
                if (record.heap_left or 0) > (record.heap or 0):
                    self._fail(
                        number,
                        f"{record.measure} leaves {record.heap_left} bytes of heap, but never had more than "
                        f"{record.heap}.",
                    )
                found[record.measure] = record
        for measure in case.measures:
            if place and measure not in found:
                self._fail(None, f"the record of the memory of {measure} is missing.")
        return found

    def _clocks(self, samples: Mapping[tuple[str, str], tuple[Sample, ...]]) -> None:
        """What clocks say goes with the counter, where virtual time goes on by 1 ns an instruction."""
        due = (
            {(measure, sample.index): sample for (measure, _), series in samples.items() for sample in series}
            if self._case.operation == HARDCLOCK
            else {}
        )
        for number, record in self._numbered():
            if not isinstance(record, Clocks):
                continue
            sample = due.pop((record.measure, record.index), None)
            if sample is None:
                self._fail(number, f"clocks of {record.measure} {record.index}, which has none or has them already.")
            if not record.begin <= sample.begin <= sample.end <= record.end:
                self._fail(number, f"clocks of {record.measure} {record.index} that were not read around its region.")
            for name, nanoseconds in (
                ("mbedtls_timing_hardclock", 1000 * record.hardclock),
                ("gettimeofday", 1000 * record.gettimeofday),
                ("CLOCK_MONOTONIC", record.monotonic),
            ):
                least, most = sample.raw - _CLOCK_STEP, record.end - record.begin + _CLOCK_STEP
                if not least <= nanoseconds <= most:
                    self._fail(
                        number,
                        f"{record.measure} {record.index}: {name} says {nanoseconds} ns if it says microseconds, the "
                        f"counter {least} to {most}.",
                    )
        for measure, index in due:
            self._fail(None, f"the clocks of {measure} {index} are missing.")

    def _evidence(self) -> None:
        case = self._case
        measure = EVIDENCE.get(case.operation)
        seen: set[int] = set()
        keys: dict[str, int] = {}
        nonces: dict[tuple[str, str], tuple[int, bytes]] = {}
        for number, record in self._numbered():
            if not isinstance(record, Evidence | BoardEvidence):
                continue
            on_curve = _is_portable(case) or case.operation in _ON_CURVE
            if record.measure != measure or isinstance(record, BoardEvidence) != on_curve:
                self._fail(number, f"evidence for '{record.measure}', which it has not.")
            if record.index in seen:
                self._fail(number, f"a second evidence for {record.measure} {record.index}.")
            if record.index >= case.calls:
                self._fail(number, f"evidence for {record.measure} {record.index}, a call that never was.")
            seen.add(record.index)
            if isinstance(record, SignEvidence):
                length = len(record.message) // 2
                due = MESSAGE_BYTES[case.operation]
                if length != due:
                    self._fail(number, f"{record.measure} {record.index}: the message has {length} bytes, not {due}.")
            if isinstance(record, HashEvidence):
                self._message(number, record)
            if isinstance(record, CipherEvidence):
                self._cipher(number, record)
            if isinstance(record, BoardEvidence):
                self._of_the_case(number, record)
            try:
                verify_evidence(record, self._file, number)
            except WorldwiseError as error:
                raise WorldwiseError(
                    error.message,
                    hint="the measured implementation gave a wrong answer: its counts are worth nothing",
                    details=f"case {case.id}",
                ) from error
            if isinstance(record, KeygenEvidence | CurveKeygenEvidence):
                before = keys.setdefault(record.public, record.index)
                if before != record.index:
                    self._fail(number, f"keygen {record.index} made the key that keygen {before} had made.")
            elif isinstance(record, CipherEvidence) and record.direction == "encrypt":
                before = keys.setdefault(record.iv, record.index)
                if before != record.index:
                    self._fail(number, f"cipher {record.index} used the vector of cipher {before} again.")
            elif isinstance(record, SignEvidence | CurveSignatureEvidence):
                signed = (
                    bytes.fromhex(record.message)
                    if isinstance(record, SignEvidence)
                    else message(record.size, record.index)
                )
                nonce = record.signature[: len(record.signature) // 2]
                twin, twin_signed = nonces.setdefault((record.public, nonce), (record.index, signed))
                if twin_signed != signed:
                    self._fail(
                        number, f"{record.measure} {record.index} used the nonce of {record.measure} {twin} again."
                    )
        if measure is None:
            return
        missing = sorted(set(range(case.calls)) - seen)
        if missing:
            self._fail(None, f"no evidence for {measure} {missing[0]} ({len(missing)} of {case.calls} are missing).")

    def _of_the_case(self, number: int, evidence: BoardEvidence) -> None:
        """Refuses evidence of another curve, algorithm or size than the case's."""
        case = self._case
        due = {
            "curve": case.curve,
            "algorithm": case.operation,
            "cipher": f"{case.operation}-ctr",
            "size": case.size,
        }
        for key, wanted in due.items():
            found = getattr(evidence, key, wanted)
            if found != wanted:
                self._fail(number, f"{evidence.measure} {evidence.index}: {key} is {found!r}, the case has {wanted!r}.")

    def _cipher(self, number: int, evidence: CipherEvidence) -> None:
        """Refuses evidence of another key, mode, direction or message than the case's."""
        given = dict(self._case.parameters)
        # What is decrypted is the same message every time.
        due: dict[str, object] = {
            "mode": given["mode"],
            "direction": given["direction"],
            "size": self._case.size,
            "message": evidence.index if given["direction"] == "encrypt" else 0,
        }
        found: dict[str, object] = {key: getattr(evidence, key) for key in due}
        due["key"], found["key"] = given["key"], str(len(evidence.key) * 4)
        for key, wanted in due.items():
            if found[key] != wanted:
                self._fail(number, f"cipher {evidence.index}: {key} is {found[key]!r}, must be {wanted!r}.")

    def _message(self, number: int, evidence: HashEvidence) -> None:
        """Refuses the digest of another message than the case's."""
        case = self._case
        content = "zeros" if dict(case.parameters).get("fault") == "fresh" else "blocks"
        if (evidence.size, evidence.content) != (case.size, content):
            self._fail(
                number,
                f"hash {evidence.index}: a message of {evidence.size} bytes ({evidence.content}), the case has "
                f"{case.size} ({content}).",
            )

    def _outcomes(self) -> None:
        """A campaign has outcomes and no samples; all else has samples and, but for a few operations, no outcomes."""
        found = [number for number, record in self._numbered() if isinstance(record, Outcome)]
        if found and self._case.measures and self._case.operation not in OUTCOMES_BESIDE:
            self._fail(found[0], "an outcome, which it has not.")
        if not found and not self._case.measures:
            self._fail(None, "there is no outcome: nothing was tried.")

    def _checks(self) -> None:
        passed = set()
        for number, record in self._numbered():
            if isinstance(record, Check):
                if self._case.measures and record.measure not in self._case.measures:
                    self._fail(number, f"check '{record.name}' of '{record.measure}', which it has not.")
                if not record.ok:
                    self._fail(number, f"check '{record.name}' of {record.measure} failed.")
                passed.add(record.name)
        for name in required_checks(self._case):
            if name not in passed:
                self._fail(None, f"the check '{name}' is missing: it was never tried.")
