# SPDX-License-Identifier: BSD-2-Clause
"""Whether what an operation executes and accesses depends on an input: where its calls part, and how often."""

import bisect
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from worldwise.libraries.portable import find
from worldwise.machine.elf_files.program_addresses import functions, objects
from worldwise.machine.symbols.inlined_functions import parse_frames
from worldwise.plan.case import Case
from worldwise.records.secrets_report import INPUTS, Parting
from worldwise.run.varied_secrets import Varied

NO_DIFFERENCE = "no difference seen"
NOT_DRAWN = "draws no random bytes"
NOT_REPEATABLE = "not repeatable"
FLOW, ADDRESSES = "control flow", "addresses"
# addr2line knows better which of several ways led to a line, and nobody asks.
_DISCRIMINATOR = re.compile(r" \(discriminator \d+\)$")

# Addresses in hexadecimal, a line each: what addr2line prints of them.
Lines = Callable[[str], str]


@dataclass(frozen=True)
class Frame:
    """A function, and the line of it that is executed: `curve25519.c:120`, empty where nothing says."""

    function: str
    line: str


@dataclass(frozen=True)
class Site:
    """An instruction at which calls part from the reference.

    Attributes:
        kind: flow, address or made: see records.varied.Parting.
        pc: the instruction.
        frames: the function it is in, and those inlined there, the outermost first.
        callers: the functions around it the first time, the outermost first.
        data: what the addresses are of: names of static objects, or where nothing has a name.
        partings: those of each call that parts here, by the call's number.
    """

    kind: str
    pc: int
    frames: tuple[Frame, ...]
    callers: tuple[str, ...]
    data: str
    partings: Mapping[int, Parting]

    def without(self, number: int) -> "Site":
        """The same for the calls but one."""
        return replace(self, partings={call: one for call, one in self.partings.items() if call != number})

    @property
    def times(self) -> tuple[int, int]:
        """How often a call parts here: the least and the most of those that do."""
        found = [one.times for one in self.partings.values()]
        return min(found), max(found)

    @property
    def before(self) -> int:
        """Instructions of the reference before the first parting here."""
        return min(one.before for one in self.partings.values())

    @property
    def alone(self) -> bool:
        """Whether a call parts here before its flow has parted anywhere, so not just because of that."""
        return any(one.alone for one in self.partings.values())

    @property
    def difference(self) -> int:
        """Instructions by which a call's ways from here on differ from the reference's, the most of all calls."""
        return max(abs(one.other_instructions - one.reference_instructions) for one in self.partings.values())

    @property
    def bytes(self) -> int:
        """From the lowest address that was accessed here to the highest one."""
        return max(one.high for one in self.partings.values()) - min(one.low for one in self.partings.values())


@dataclass(frozen=True)
class Dependence:
    """What was seen as one input of an operation varied.

    Attributes:
        case: which operation.
        word: the input that varied.
        publicity: what the input is to an attacker.
        names: the inputs of the calls, the reference first.
        instructions: of the reference.
        sites: where calls part from the reference, in the order in which it comes there.
        unrepeatable: where the call parts that has the reference's inputs again.
        drawn: whether the operation draws random bytes, if these are what varied.
        joined: whether all calls came together again each time, so that all of them was compared.
        claim: what the library's authors claim, and where.
        seconds: the emulator's wall time.
    """

    case: Case
    word: str
    publicity: str
    names: Sequence[str]
    instructions: int
    sites: Sequence[Site]
    unrepeatable: Sequence[Site]
    drawn: bool
    joined: bool
    claim: str
    seconds: float

    @property
    def ways(self) -> tuple[str, ...]:
        """In what the calls differ: control flow, addresses. Addresses count if they differ before the flow does."""
        flow = any(site.kind == "flow" for site in self.sites)
        addresses = any(site.kind != "flow" and site.alone for site in self.sites)
        return tuple(way for way, there in ((FLOW, flow), (ADDRESSES, addresses)) if there)

    @property
    def verdict(self) -> str:
        """In words: not repeatable, no difference seen, or what depends on the input."""
        if self.unrepeatable:
            return NOT_REPEATABLE
        if self.ways:
            return f"depends on {self.word}: {', '.join(self.ways)}"
        return NO_DIFFERENCE if self.drawn else NOT_DRAWN

    @property
    def differing(self) -> int:
        """How many of the calls part from the reference somewhere."""
        return len({number for site in self.sites for number in site.partings})


def dependence(varied: Varied, lines: Lines) -> Dependence:
    """What a comparison of calls says; `lines` is asked once, for what addr2line knows of the program."""
    control = varied.first + varied.every * (len(varied.choices) - 1)
    sites = _sites(varied.compared.partings, _Names(varied, lines))
    return Dependence(
        varied.case,
        varied.word,
        INPUTS[varied.case.operation][varied.word],
        [one.name for one in varied.choices[:-1]],
        varied.compared.passes[0].instructions,
        [one for site in sites if (one := site.without(control)).partings],
        [site for site in sites if control in site.partings],
        varied.drawn,
        all(parting.joined for parting in varied.compared.partings),
        find(varied.case.implementation).manifest.constant_time,
        varied.seconds,
    )


class _Names:
    """The functions, lines and data of a program at all addresses that partings name."""

    def __init__(self, varied: Varied, lines: Lines) -> None:
        self._functions = functions(varied.program)
        self._objects = objects(varied.program)
        self._bias = varied.bias
        wanted = sorted({one.pc - varied.bias for one in varied.compared.partings})
        printed = lines("".join(f"{address:#x}\n" for address in wanted)) if wanted else ""
        self._frames = dict(parse_frames(printed))

    def frames(self, pc: int) -> tuple[Frame, ...]:
        found = [Frame(name, _short(line)) for name, line in self._frames.get(pc - self._bias, []) if name != "??"]
        return tuple(found) or (Frame(self.function(pc), ""),)

    def function(self, pc: int) -> str:
        return _of(self._functions, pc - self._bias) or f"{pc:#x}"

    def data(self, low: int, high: int) -> str:
        """What is at the first and at the last address."""
        names = [_of(self._objects, address - self._bias) or f"{address:#x}" for address in (low, high)]
        return names[0] if names[0] == names[1] else " to ".join(names)


def _of(ranges: Sequence[tuple[int, int, str]], address: int) -> str:
    """The name of the range that an address is in; empty if there is none."""
    place = bisect.bisect_right(ranges, address, key=lambda one: one[0]) - 1
    return ranges[place][2] if place >= 0 and address < ranges[place][1] else ""


def _short(line: str) -> str:
    """A file's name and the line, of what addr2line prints."""
    line = _DISCRIMINATOR.sub("", line)
    return "" if line.startswith("??") else PurePath(line).name


def _sites(partings: Sequence[Parting], names: _Names) -> list[Site]:
    found: defaultdict[tuple[str, int], dict[int, Parting]] = defaultdict(dict)
    for one in partings:
        found[one.kind, one.pc][one.number] = one
    sites = []
    for (kind, pc), by_call in found.items():
        first = min(by_call.values(), key=lambda one: one.before)
        data = ""
        if kind != "flow":
            data = names.data(min(one.low for one in by_call.values()), max(one.high for one in by_call.values()))
        # What a function returns to is behind its call.
        callers = tuple(names.function(address - 1) for address in first.callers)
        sites.append(Site(kind, pc, names.frames(pc), callers, data, by_call))
    return sorted(sites, key=lambda one: (one.before, one.pc))
