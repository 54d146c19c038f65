# SPDX-License-Identifier: BSD-2-Clause
"""Where a measured call takes its inputs from, and how a debugger writes them as it begins: in a program, in a TA."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from worldwise.base.errors import WorldwiseError
from worldwise.machine.elf_files.program_addresses import Variable, code_at, functions, static_variable
from worldwise.machine.gdbstub import GdbStub
from worldwise.machine.machine import Machine
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board, takes_portables

# The source files of the measured program that have the inputs: see guest/operations.
_OPERATIONS, _RANDOM = "guest/operations/operations.c", "guest/operations/random.c"
# A board's only interrupt while it measures.
_INTERRUPT = "SysTick_Handler"
# Where Linux begins: modules on Armv7-A, and on Armv8-A all that is not user space.
_LINUX = {"linux-armv7": 0xBF000000, "linux-armv8": 1 << 48}
_ALL = 2**64 - 1
# Signing and verifying in a TA: see guest/apps/crypto/ta/engine.h. The engine begins with the private key and the
# public one behind it.
_TA_SIGN, _TA_VERIFY = "engine_sign", "engine_verify"


@dataclass(frozen=True)
class CallInputs:
    """The inputs of a call: what they are, members of the program's `io` by name, and the generator's state."""

    name: str
    fields: Mapping[str, bytes]
    state: bytes


class Steering(Protocol):
    """Stops a program as each call of its operation begins and writes the call's inputs.

    Attributes:
        program: the ELF file of what is measured.
        bias: how far above its own addresses it is on the machine.
        first: the number of the first call that is compared: those before are on another stack, or the first of all.
        every: of those behind it every so many-th is compared. Where the C library's heap depends on what the calls
            before it took, a call with the first one's inputs is before each.
        drawn: whether the call drew random bytes, once it has run.
    """

    program: Path
    bias: int
    first: int
    every: int
    drawn: bool

    def arguments(self) -> dict[str, str]:
        """The plugin's arguments: which function is measured, and what is looked at."""

    def run(self, debugger: GdbStub, calls: Sequence[CallInputs]) -> None:
        """Let the machine run up to the beginning of the last call, with the inputs of each."""


@dataclass
class _Generator:
    """The state of the generator of guest/operations/random.c; None in a program that draws nothing."""

    state: Variable | None
    bias: int
    written: bytes = b""

    def write(self, debugger: GdbStub, state: bytes) -> bool:
        """Set the state; whether it had changed since it was set before."""
        if self.state is None:
            return False
        address = self.state.address + self.bias
        changed = bool(self.written) and debugger.read(address, len(state)) != self.written
        debugger.write(address, state)
        self.written = state
        return changed


@dataclass
class InProgram:
    """On boards and in plain Linux: see guest/operations/operations.c."""

    machine: Machine
    case: Case
    bias: int = 0
    drawn: bool = False
    program: Path = field(init=False)
    first: int = field(init=False)
    every: int = field(init=False)

    def __post_init__(self) -> None:
        self.program = self.machine.symbols["program"]
        # On a board a call before all others measures memory, on a stack of another depth.
        self.first = 2 if is_board(self.case.target) else 1
        self.every = 1 if is_board(self.case.target) else 2
        self._entry, self._code = entry_of(self.program, f"run_{self.case.operation}")

    def arguments(self) -> dict[str, str]:
        start, end = _LINUX.get(self.case.target, 0), _ALL
        if is_board(self.case.target):
            start, end = next((start, end) for start, end, name in functions(self.program) if name == _INTERRUPT)
        return {"function": f"{self._entry:#x}", "code": self._code.hex(), "skip": f"{start:#x}-{end:#x}"}

    def run(self, debugger: GdbStub, calls: Sequence[CallInputs]) -> None:
        inputs = static_variable(self.program, _OPERATIONS, "io")
        if inputs is None:
            raise WorldwiseError(f"{self.program}: does not say where a call's inputs are")
        generator = _Generator(static_variable(self.program, _RANDOM, "state"), 0)
        for number, call in enumerate(calls):
            _stop_at(debugger, self._entry, self._code)
            for name, value in call.fields.items():
                offset, size = inputs.members[name]
                assert len(value) <= size
                debugger.write(inputs.address + offset, value)
            # Before the first calls, and with other operations than `sign` before each, a key is made.
            changed = generator.write(debugger, call.state)
            self.drawn |= changed and number >= self.first
            # The breakpoint is where the machine stands.
            debugger.step()


@dataclass
class InTa:
    """Signing by a library in a TA: guest/apps/crypto. The client signs and verifies with a message of its own.

    The first stop takes a minute: behind it Linux is busy with its clock for so long, since virtual time jumps while
    a machine is stopped in the secure world.
    """

    machine: Machine
    bias: int = 0
    first: int = 2
    every: int = 2
    drawn: bool = False
    program: Path = field(init=False)

    def __post_init__(self) -> None:
        symbols = self.machine.symbols
        self.program = next(path for name, path in symbols.items() if name not in ("bl31", "tee", "ldelf"))
        self._sign = entry_of(self.program, _TA_SIGN)
        self._verify = entry_of(self.program, _TA_VERIFY)

    def anywhere(self) -> dict[str, str]:
        """The plugin's arguments for finding where the TA is."""
        entry, code = self._sign
        return {"function": f"{entry:#x}", "code": code.hex(), "anywhere": "yes"}

    def found(self, entry: int) -> None:
        """The TA is where its function was seen."""
        self.bias = entry - self._sign[0]

    def arguments(self) -> dict[str, str]:
        entry, code = self._sign
        known = functions(self.program)
        start, end = known[0][0] + self.bias, known[-1][1] + self.bias
        return {"function": f"{entry + self.bias:#x}", "code": code.hex(), "only": f"{start:#x}-{end:#x}"}

    def run(self, debugger: GdbStub, calls: Sequence[CallInputs]) -> None:
        generator = _Generator(static_variable(self.program, _RANDOM, "state"), self.bias)
        for number, call in enumerate(calls):
            self._stop(debugger, self._sign)
            debugger.write(debugger.register(0), call.fields["private_key"] + call.fields["public_key"])
            debugger.write(debugger.register(1), call.fields["message"])
            changed = generator.write(debugger, call.state)
            self.drawn |= changed and number >= self.first
            debugger.step()
            # The call that measures memory is not verified.
            if number:
                self._stop(debugger, self._verify)
                debugger.write(debugger.register(1), call.fields["message"])
                debugger.step()

    def _stop(self, debugger: GdbStub, entry: tuple[int, bytes]) -> None:
        _stop_at(debugger, entry[0] + self.bias, entry[1])


def steering(machine: Machine, case: Case) -> InProgram | InTa:
    """How the calls of a case get their inputs. Raises WorldwiseError if the program does not say."""
    return InProgram(machine, case) if takes_portables(case.target) else InTa(machine)


def entry_of(program: Path, name: str) -> tuple[int, bytes]:
    """The address and the code of a function. Raises WorldwiseError if the program has none of that name."""
    for start, end, function in functions(program):
        if function == name:
            return start, code_at(program, start, end)
    raise WorldwiseError(f"{program}: has no function {name}: so the begin of a call is unknown")


def _stop_at(debugger: GdbStub, entry: int, code: bytes) -> None:
    """Let the machine run to a function. Another program may have been at its address before."""
    debugger.run_to(entry)
    while debugger.read(entry, len(code)) != code:
        debugger.step()
        debugger.run_to(entry)
