# SPDX-License-Identifier: BSD-2-Clause
"""Varying secrets: calls of one operation with chosen inputs, compared by a plugin in the emulator.

The measured program is the same to the bit. A debugger stops it as each call begins and writes the inputs into the
program's own variables, so that nothing else differs and no instruction is added.
"""

import hashlib
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from worldwise.base.choices import choice_error
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.libraries import curves
from worldwise.libraries.curve_table import MEASURABLE, WEIERSTRASS
from worldwise.libraries.portable import portables
from worldwise.machine.elf_files.program_addresses import functions
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, TRACE
from worldwise.machine.plugin import SecretsPlugin, secrets_plugin
from worldwise.machine.symbols.ranges import pack_ranges
from worldwise.plan.case import Case
from worldwise.plan.catalogue import kind_of, takes_portables
from worldwise.plan.spec import OPTEE
from worldwise.records.evidence import EvidenceRecord
from worldwise.records.models import End, Failure, Fault
from worldwise.records.parse import read_records
from worldwise.records.secrets_report import INPUTS, Compared, read_compared, read_entry
from worldwise.run.input_injection import CallInputs, InTa, steering
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.inputs import with_timers

WORDS = ("key", "message", "nonce")
# Calls with different inputs.
CALLS = 8
# The operation whose inputs are varied in a TA.
_IN_TA = "sign"


@dataclass(frozen=True)
class Varied:
    """What was seen as one input varied.

    Attributes:
        case: which operation.
        word: what varied: key, message or nonce.
        choices: the inputs of the calls that were compared; the first is the reference, and the last is the same.
        first: the number of the reference among the plugin's calls.
        every: of those behind it every so many-th was compared.
        drawn: whether a call drew random bytes, where these are what varied; else True.
        compared: what the plugin saw.
        program: the measured program, or the TA.
        bias: how far above its own addresses it was on the machine.
        seconds: the emulator's wall time.
    """

    case: Case
    word: str
    choices: Sequence[CallInputs]
    first: int
    every: int
    drawn: bool
    compared: Compared
    program: Path
    bias: int
    seconds: float


def inputs_of(case: Case) -> Sequence[str]:
    """The inputs of a case's operation that can be varied. Raises WorldwiseError if there are none."""
    known = INPUTS.get(case.operation)
    in_ta = kind_of(case.target) == OPTEE
    if not takes_portables(case.target) and not (
        in_ta and case.implementation in portables() and case.operation == _IN_TA and case.curve
    ):
        raise WorldwiseError(
            f"{case.id}: the inputs of a call are varied on boards, in plain Linux, and of 'sign' by a library in a TA",
            "such as nucleo-f446re/bearssl-O2/sign,curve=secp256r1,size=32B; the same with linux-armv8 or optee",
        )
    if known is None:
        why = "a verifier has no secrets" if case.operation == "verify" else "it has no secrets"
        raise WorldwiseError(f"{case.id}: {why}", f"operations with secrets are {', '.join(INPUTS)}")
    return tuple(known)


def require_variable(case: Case, words: Sequence[str]) -> None:
    """Raise WorldwiseError unless these inputs of the case's operation can be varied."""
    known = inputs_of(case)
    for word in words:
        if word not in known:
            raise choice_error(f"{case.id}: input", word, known)


def _program(case: Case) -> Sequence[str]:
    """A case's program. A stopped machine without a timer would never wake: QEMU skips idle time to the next one."""
    return with_timers(EMULATED[case.target].program(case))


@dataclass
class _Bench:
    """A case with its machine, and calls of it with other inputs."""

    case: Case
    images: ImageStore
    emulator: Emulator

    def __post_init__(self) -> None:
        self.machine = EMULATED[self.case.target].machine(self.case, self.images)
        self.steering = steering(self.machine, self.case)

    def find(self, work: Path) -> None:
        """Find where a TA is, by a run without a debugger."""
        if isinstance(self.steering, InTa):
            (directory := work / "find").mkdir()
            plugin = self._plugin(self.steering.anywhere(), work)
            self.emulator.run(self.machine, _program(self.case), directory, plugin=plugin)
            self.steering.found(read_entry(directory / TRACE))

    def plugin(self, work: Path) -> SecretsPlugin:
        """The plugin that compares the calls."""
        return self._plugin(
            self.steering.arguments() | {"first": str(self.steering.first), "every": str(self.steering.every)}, work
        )

    def _plugin(self, arguments: Mapping[str, str], work: Path) -> SecretsPlugin:
        bias = self.steering.bias
        known = functions(self.steering.program)
        ranges = work / "functions"
        ranges.write_bytes(pack_ranges([(start + bias, end + bias) for start, end, _ in known]))
        # If root runs the tool, the plugin runs as another user.
        ranges.chmod(0o644)
        return SecretsPlugin(self.images.get(secrets_plugin()).file("secrets.so"), arguments, ranges)

    def run(self, calls: Sequence[CallInputs], plugin: SecretsPlugin | None, directory: Path) -> float:
        """Run the calls, after those that are not compared; the wall time. Errors that the program tells go first."""
        directory.mkdir()
        between = [calls[0]] * (self.steering.every - 1)
        made = [calls[0]] * self.steering.first + [one for call in calls for one in (call, *between)]
        # The first of all calls is a sample besides; on some targets a call that measures memory is before it.
        samples = len(calls) * self.steering.every
        case = replace(self.case, samples=samples, warmup=0)
        try:
            ended = self.emulator.steered(
                self.machine, _program(case), directory, plugin, lambda debugger: self.steering.run(debugger, made)
            )
        except WorldwiseError:
            if (directory / RECORDS).exists():
                for record in read_records(directory / RECORDS):
                    if isinstance(record, Failure):
                        raise WorldwiseError(f"{case.id}: the measured program reports: {record.message}") from None
            raise
        check_results(case, made[-samples - 1 :], directory / RECORDS)
        return ended.wall_seconds


def vary(
    case: Case,
    word: str,
    images: ImageStore,
    emulator: Emulator,
    number: int = CALLS,
    notify: Callable[[str], None] = lambda _: None,
) -> Varied:
    """Run an operation with `number` different inputs, and once more with the first of them.

    Raises WorldwiseError as measuring does, and if a result is not that of the inputs that were written.
    """
    require_variable(case, [word])
    chosen = choices(case, word, number)
    chosen.append(chosen[0])
    bench = _Bench(case, images, emulator)
    notify(f"varying the {word} of {case.id}")
    with tempfile.TemporaryDirectory(prefix="ww-vary-") as name:
        work = Path(name)
        bench.find(work)
        seconds = bench.run(chosen, bench.plugin(work), work / "run")
        compared = read_compared(work / "run" / TRACE, bench.steering.first + len(chosen) * bench.steering.every)
    notify(f"varied the {word} of {case.id} in {seconds:.1f} s")
    where = bench.steering
    drawn = where.drawn or word != "nonce" or case.operation != "sign"
    return Varied(case, word, chosen, where.first, where.every, drawn, compared, where.program, where.bias, seconds)


def slow_down(case: Case, word: str, images: ImageStore, emulator: Emulator, rounds: int = 3) -> list[float]:
    """How many times as long a run takes with the plugin as without, both under the debugger, for pairs of runs."""
    require_variable(case, [word])
    chosen = choices(case, word, CALLS)
    bench = _Bench(case, images, emulator)
    with tempfile.TemporaryDirectory(prefix="ww-vary-") as name:
        work = Path(name)
        bench.find(work)
        plugin = bench.plugin(work)
        pairs = [
            [bench.run(chosen, attached, work / f"{number}-{attached is None}") for attached in (None, plugin)]
            for number in range(rounds)
        ]
    return [watched / alone for alone, watched in pairs]


def choices(case: Case, word: str, number: int) -> list[CallInputs]:
    """Different inputs of an operation: the extremes that its keys or messages have, and random ones."""
    base = {"key": _random("key"), "message": _random("message"), "nonce": _random("nonce")}
    found = []
    for name, value in _shapes(case, word, number):
        found.append(_choice(case, name, base | {word: value}))
    return found


def check_results(case: Case, calls: Sequence[CallInputs], records: Path) -> None:
    """Raise WorldwiseError unless every call's recorded result is that of the inputs that were written for it."""
    found: dict[int, EvidenceRecord] = {}
    ended = False
    for record in read_records(records):
        if isinstance(record, Failure):
            raise WorldwiseError(f"{case.id}: the measured program reports: {record.message}")
        if isinstance(record, Fault):
            raise WorldwiseError(f"{case.id}: {record.describe(lambda _: '')}")
        if isinstance(record, EvidenceRecord):
            found[record.index] = record
        ended = ended or isinstance(record, End)
    if not ended or sorted(found) != list(range(len(calls))):
        raise WorldwiseError(f"{case.id}: the records are not those of {len(calls)} calls")
    for index, call in enumerate(calls):
        problem = _problem(case, call, found[index])
        if problem:
            raise WorldwiseError(f"{case.id}: call {index} ({call.name}): {problem}")


def _random(*words: object) -> bytes:
    """Bytes that look random and are the same each time; enough for any input."""
    return hashlib.shake_256(" ".join(map(str, ("worldwise", *words))).encode()).digest(2**16)


def _shapes(case: Case, word: str, number: int) -> list[tuple[str, bytes]]:
    """Names and values of an input; of a key on a Weierstrass curve the number, big-endian."""
    curve = MEASURABLE.get(case.curve)
    if (word == "nonce" and curve) or case.operation == "keygen":
        shaped = []
    elif word == "key" and curve and case.curve in WEIERSTRASS:
        length = curve.secret
        top = 1 << (8 * length - 1)
        half = length // 2
        shaped = [
            ("few bits set", (top + 1).to_bytes(length)),
            ("most bits set", (top - 1).to_bytes(length)),
            ("upper half zero", bytes(length - half) + _random("half")[:half]),
        ]
    else:
        shaped = [("all zero", bytes(2**16)), ("all one", b"\xff" * 2**16), ("one bit", b"\x01" + bytes(2**16 - 1))]
    shaped = shaped[: max(0, number - 2)]
    rest = [(f"random {n}", _random(word, n)) for n in range(1, number - len(shaped) + 1)]
    return [rest[0], *shaped, *rest[1:]]


def _choice(case: Case, name: str, values: Mapping[str, bytes]) -> CallInputs:
    # Never zero, which the generator would not leave.
    state = struct.pack("<I", int.from_bytes(values["nonce"][:4]) | 1)
    fields: dict[str, bytes] = {}
    match case.operation:
        case "keygen":
            state = struct.pack("<I", int.from_bytes(values["key"][:4]) | 1)
        case "sign" | "ecdh":
            fields["private_key"], fields["public_key"] = _pair(case.curve, values["key"])
            if case.operation == "ecdh":
                fields["peer_private"], fields["peer"] = _pair(case.curve, _random("peer"))
        case "aes128" | "aes256":
            fields["key"] = values["key"][: int(case.operation[3:]) // 8]
            fields["counter"] = values["nonce"][:16]
    if case.size is not None:
        fields["message"] = values["message"][: case.size]
    return CallInputs(name, fields, state)


def _pair(curve: str, key: bytes) -> tuple[bytes, bytes]:
    """A private key of a curve, from its first bytes, and its public key. All are below every curve's order."""
    lengths = MEASURABLE[curve]
    private = key[: lengths.secret or lengths.private]
    if curve in WEIERSTRASS:
        private = private.rjust(lengths.private, b"\0")
    return private, curves.public_key(curve, private)


def _problem(case: Case, call: CallInputs, record: EvidenceRecord) -> str:
    """What is wrong with a call's result; empty if nothing is."""
    said = {name: value for name, value in record if isinstance(value, str)}
    fields = call.fields
    try:
        match case.operation:
            case "keygen":
                public = curves.public_key(case.curve, bytes.fromhex(said["private"])).hex()
                return _same("the public key", said["public"], public)
            case "sign":
                signature = bytes.fromhex(said["signature"])
                curves.check_signature(case.curve, fields["public_key"], fields["message"], signature)
                return ""
            case "ecdh":
                secret = curves.shared_secret(case.curve, fields["private_key"], fields["peer"]).hex()
                return _same("the secret", said["secret"], secret)
            case "aes128" | "aes256":
                encryptor = Cipher(AES(fields["key"]), CTR(fields["counter"])).encryptor()
                output = hashlib.sha256(encryptor.update(fields["message"]) + encryptor.finalize()).hexdigest()
                return _same("the output", said["output_sha256"], output)
            case _:
                return _same("the digest", said["digest"], hashlib.new(case.operation, fields["message"]).hexdigest())
    except curves.CurveError as error:
        return str(error)


def _same(what: str, found: str, wanted: str) -> str:
    return "" if found == wanted else f"{what} is not that of the inputs that were written"
