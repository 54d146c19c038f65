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
from worldwise.machine.emulator import Emulator
from worldwise.machine.gdbstub import GdbStub
from worldwise.machine.machine import RECORDS, TRACE, Machine
from worldwise.machine.plugin import SecretsPlugin, secrets_plugin
from worldwise.machine.symbols.ranges import pack_ranges
from worldwise.machine.variables import code_at, functions, static_variable
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board, takes_portables
from worldwise.records.evidence import EvidenceRecord
from worldwise.records.models import End, Failure, Fault
from worldwise.records.parse import read_records
from worldwise.records.varied import Compared, read_compared
from worldwise.targets.known import EMULATED

# What can be varied of an operation, and what it is to an attacker.
SECRET, PUBLIC, EITHER = "secret", "public", "secret or public"
_HASH = {"message": EITHER}
_AES = {"key": SECRET, "message": EITHER, "nonce": PUBLIC}
INPUTS: Mapping[str, Mapping[str, str]] = {
    "keygen": {"key": SECRET},
    "sign": {"key": SECRET, "nonce": SECRET, "message": PUBLIC},
    "ecdh": {"key": SECRET},
    "sha256": _HASH,
    "sha512": _HASH,
    "aes128": _AES,
    "aes256": _AES,
}
WORDS = ("key", "message", "nonce")
# Calls with different inputs.
CALLS = 8
MOST_CALLS = 64

# The source files of the measured program that have the inputs: see guest/portable.
_OPERATIONS, _RANDOM = "portable/operations.c", "portable/random.c"
# On a board a call before all others measures memory, on a stack of another depth.
_INTERRUPT = "SysTick_Handler"
# Where Linux begins: modules on Armv7-A, and on Armv8-A all that is not user space.
_LINUX = {"linux-armv7": 0xBF000000, "linux-armv8": 1 << 48}
_ALL = 2**64 - 1


@dataclass(frozen=True)
class Choice:
    """The inputs of a call: what they are, members of the program's `io` by name, and the generator's state."""

    name: str
    fields: Mapping[str, bytes]
    state: bytes


@dataclass(frozen=True)
class Varied:
    """What was seen as one input varied.

    Attributes:
        case: which operation.
        word: what varied: key, message or nonce.
        choices: the inputs of the calls that were compared; the first is the reference, and the last is the same.
        first: the number of the reference among the plugin's calls.
        drawn: whether a call drew random bytes, where these are what varied; else True.
        compared: what the plugin saw.
        program: the measured program.
        seconds: the emulator's wall time.
    """

    case: Case
    word: str
    choices: Sequence[Choice]
    first: int
    drawn: bool
    compared: Compared
    program: Path
    seconds: float


def require_variable(case: Case, words: Sequence[str]) -> None:
    """Raise WorldwiseError unless these inputs of the case's operation can be varied."""
    if not takes_portables(case.target):
        raise WorldwiseError(
            f"{case.id}: the inputs of a call are varied on boards and in plain Linux",
            "such as nucleo-f446re/bearssl-O2/sign,curve=secp256r1,size=32B, or the same library with linux-armv8",
        )
    known = INPUTS.get(case.operation)
    if known is None:
        why = "a verifier has no secrets" if case.operation == "verify" else "it has no secrets"
        raise WorldwiseError(f"{case.id}: {why}", f"operations with secrets are {', '.join(INPUTS)}")
    for word in words:
        if word not in known:
            raise choice_error(f"{case.id}: --vary", word, known)


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
    # The first call of a program is not like those behind it.
    case = replace(case, samples=len(chosen), warmup=0)
    first = 2 if is_board(case.target) else 1
    machine = EMULATED[case.target].machine(case, images)
    steer = _Steering(machine, case, [chosen[0]] * first + chosen)
    notify(f"varying the {word} of {case.id}")
    with tempfile.TemporaryDirectory(prefix="ww-vary-") as name:
        work = Path(name)
        plugin = _plugin(machine, case, images, first, work / "functions")
        (directory := work / "run").mkdir()
        seconds = _run(machine, case, emulator, plugin, steer, directory)
        check_results(case, [chosen[0], *chosen], directory / RECORDS)
        compared = read_compared(directory / TRACE, first + len(chosen))
    notify(f"varied the {word} of {case.id} in {seconds:.1f} s")
    drawn = steer.drawn or word != "nonce" or case.operation != "sign"
    return Varied(case, word, chosen, first, drawn, compared, machine.symbols["program"], seconds)


def slow_down(case: Case, word: str, images: ImageStore, emulator: Emulator, rounds: int = 3) -> list[float]:
    """How many times as long a run takes with the plugin as without, both under the debugger, for pairs of runs."""
    require_variable(case, [word])
    chosen = choices(case, word, 2)
    case = replace(case, samples=len(chosen), warmup=0)
    first = 2 if is_board(case.target) else 1
    machine = EMULATED[case.target].machine(case, images)
    steer = _Steering(machine, case, [chosen[0]] * first + chosen)
    ratios = []
    with tempfile.TemporaryDirectory(prefix="ww-vary-") as name:
        plugin = _plugin(machine, case, images, first, Path(name, "functions"))
        for number in range(rounds):
            seconds: list[float] = []
            for attached in (None, plugin):
                directory = Path(name, f"{number}-{len(seconds)}")
                directory.mkdir()
                seconds.append(_run(machine, case, emulator, attached, steer, directory))
            ratios.append(seconds[1] / seconds[0])
    return ratios


def choices(case: Case, word: str, number: int) -> list[Choice]:
    """Different inputs of an operation: the extremes that its keys or messages have, and random ones."""
    base = {"key": _random("key"), "message": _random("message"), "nonce": _random("nonce")}
    found = []
    for name, value in _shapes(case, word, number):
        found.append(_choice(case, name, base | {word: value}))
    return found


def check_results(case: Case, calls: Sequence[Choice], records: Path) -> None:
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


def _run(
    machine: Machine,
    case: Case,
    emulator: Emulator,
    plugin: SecretsPlugin | None,
    steer: Callable[[GdbStub], None],
    directory: Path,
) -> float:
    """Run the calls; the wall time. An error of the measured program comes before one of the debugger's."""
    try:
        return emulator.steered(machine, EMULATED[case.target].program(case), directory, plugin, steer).wall_seconds
    except WorldwiseError:
        if (directory / RECORDS).exists():
            for record in read_records(directory / RECORDS):
                if isinstance(record, Failure):
                    raise WorldwiseError(f"{case.id}: the measured program reports: {record.message}") from None
        raise


def _plugin(machine: Machine, case: Case, images: ImageStore, first: int, ranges: Path) -> SecretsPlugin:
    program = machine.symbols["program"]
    known = functions(program)
    entry, code = _entry(program, case)
    if is_board(case.target):
        start, end = next((start, end) for start, end, name in known if name == _INTERRUPT)
    else:
        start, end = _LINUX[case.target], _ALL
    ranges.write_bytes(pack_ranges([(start, end) for start, end, _ in known]))
    # If root runs the tool, the plugin runs as another user.
    ranges.chmod(0o644)
    arguments = {
        "function": f"{entry:#x}",
        "code": code.hex(),
        "first": str(first),
        "skip": f"{start:#x}-{end:#x}",
    }
    return SecretsPlugin(images.get(secrets_plugin()).file("secrets.so"), arguments, ranges)


def _entry(program: Path, case: Case) -> tuple[int, bytes]:
    """The function of guest/portable/operations.c that is measured, and nothing else: its address and its code."""
    name = f"run_{case.operation}"
    for start, end, function in functions(program):
        if function == name:
            return start, code_at(program, start, end)
    raise WorldwiseError(f"{case.id}: its program has no function {name}: nothing tells where a call begins")


class _Steering:
    """What the debugger does: it stops as each call begins and writes the call's inputs.

    Attributes:
        drawn: whether the generator's state changed between the beginnings of two calls. No more than that of `sign`
            says that the call itself draws: other operations make keys before it.
    """

    def __init__(self, machine: Machine, case: Case, calls: Sequence[Choice]) -> None:
        program = machine.symbols["program"]
        self._calls = calls
        self._entry, self._code = _entry(program, case)
        inputs = static_variable(program, _OPERATIONS, "io")
        if inputs is None:
            raise WorldwiseError(f"{case.id}: its program does not say where its inputs are")
        self._inputs = inputs
        # A program that draws nothing has no generator.
        self._state = static_variable(program, _RANDOM, "state")
        self.drawn = False

    def __call__(self, debugger: GdbStub) -> None:
        before: Choice | None = None
        for call in self._calls:
            debugger.run_to(self._entry)
            # In Linux another program may have been at this address before.
            while debugger.read(self._entry, len(self._code)) != self._code:
                debugger.step()
                debugger.run_to(self._entry)
            for name, value in call.fields.items():
                offset, size = self._inputs.members[name]
                assert len(value) <= size
                debugger.write(self._inputs.address + offset, value)
            if self._state:
                self.drawn |= before is not None and debugger.read(self._state.address, 4) != before.state
                debugger.write(self._state.address, call.state)
            # The breakpoint is where the machine stands.
            debugger.step()
            before = call


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


def _choice(case: Case, name: str, values: Mapping[str, bytes]) -> Choice:
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
    return Choice(name, fields, state)


def _pair(curve: str, key: bytes) -> tuple[bytes, bytes]:
    """A private key of a curve, from its first bytes, and its public key. All are below every curve's order."""
    lengths = MEASURABLE[curve]
    private = key[: lengths.secret or lengths.private]
    if curve in WEIERSTRASS:
        private = private.rjust(lengths.private, b"\0")
    return private, curves.public_key(curve, private)


def _problem(case: Case, call: Choice, record: EvidenceRecord) -> str:
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
