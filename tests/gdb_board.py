# SPDX-License-Identifier: BSD-2-Clause
"""A GDB server with a board behind it that nobody has: it answers as OpenOCD does, and fails where a test says so."""

import contextlib
import re
import socket
import threading
import zlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from worldwise.machine.board.firmware import SEMIHOSTING, Firmware
from worldwise.machine.board.gdbserver import Address

FLASH, RAM, FLASH_SIZE = 0x08000000, 0x20000000, 0x8000
CPUID_M4 = 0x410FC241
_BLOCK, _BUFFER, _NAME, _TEXT = RAM + 0x100, RAM + 0x200, RAM + 0x300, RAM + 0x400
_CODE = bytes(range(256)) + b"#$}*" * 8 + SEMIHOSTING + bytes(30)
# Where its semihosting calls are, and where a program that hangs goes round.
CALL = FLASH + _CODE.index(SEMIHOSTING, 256)
ROUND = FLASH + 0x40
FIRMWARE = Firmware(
    segments=((FLASH, _CODE), (FLASH + 0x1000, b"data" * 50)),
    vectors=FLASH,
    stack=RAM + 0x8000,
    entry=FLASH + 0x20,
    words_at=FLASH + 0x60,
    ends_at=FLASH + 0x80,
    sent_at=RAM + 0x500,
)
_MAP = (
    f'<memory-map><memory type="ram" start="{RAM:#x}" length="0x10000"/>'
    f'<memory type="flash" start="{FLASH:#x}" length="{FLASH_SIZE:#x}">'
    '<property name="blocksize">0x800</property></memory>'
    "</memory-map>"
)
# As OpenOCD numbers them: xPSR is not where GDB's own order has it.
_TARGET = '<target><xi:include href="core.xml"/></target>'
_CORE = (
    "".join(f'<reg name="r{number}" bitsize="32" regnum="{number}"/>' for number in range(13))
    + '<reg name="sp" bitsize="32"/><reg name="lr" bitsize="32"/><reg name="pc" bitsize="32"/>'
    + '<reg name="xPSR" bitsize="32" regnum="42"/>'
)

_PACKET = re.compile(rb"\$((?:[^#}]|}.)*)#(..)", re.DOTALL)
Program = Generator[str, str, None]


def packet(text: str | bytes) -> bytes:
    """A packet of the protocol."""
    data = text.encode("latin-1") if isinstance(text, str) else text
    return b"$" + data + b"#%02x" % (sum(data) % 256)


def framed(number: int, record: bytes) -> bytes:
    """A record as guest/board-serial/serial.c sends it."""
    named = b"%08x %s" % (number, record)
    return b"~%s %08x %s\n" % (named[:8], zlib.crc32(named), record)


@dataclass
class FakeBoard:
    """The board and its server, on a port of its own until `close`.

    Attributes:
        records: a program's command line -> the records that it writes.
        emulated: whether it says that it is QEMU.
        served: whether the server passes semihosting on to its client, or leaves it to it.
        has_map: whether it knows where its flash is; without, a write to flash is not carried out.
        binary: whether it knows X packets.
        cpuid, idcode: what the chip's registers say.
        answers: command -> what it answers instead of what it should; None to hang up, bytes as they are.
        ends: the program's status.
        stays: after so many records the program goes round and round; None for never.
        halts: whether the core can be halted while it does.
        drops: after so many records the server goes away.
        port: where it listens; any that is free without one.
        chip: what the chip makes of its registers, after each write to one.
        line: where its program sends its records, framed, instead of to the server.
        hertz: what its SysTick counts while it runs another program than the one that was loaded, whatever that takes.
    """

    records: Callable[[str], bytes] = lambda _: b""
    emulated: bool = False
    served: bool = True
    has_map: bool = True
    binary: bool = True
    cpuid: int = CPUID_M4
    idcode: int = 0x10006421
    answers: dict[str, str | bytes | None] = field(default_factory=dict)
    ends: int = 0
    stays: int | None = None
    halts: bool = True
    drops: int | None = None
    port: int = 0
    chip: Callable[["FakeBoard"], None] = lambda _: None
    hertz: int = 16_000_000
    line: Callable[[bytes], None] | None = None
    commands: list[str] = field(default_factory=list)
    begun: list[tuple[int, int, int]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory: dict[int, int] = {}
        self.registers = dict.fromkeys([*range(16), 42], 0)
        self._erased: set[int] = set()
        self._breakpoints: set[int] = set()
        self._program: Program | None = None
        self._passed = False
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.address = Address("127.0.0.1", self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def put(self, address: int, content: bytes) -> None:
        """Write memory."""
        self.memory.update(enumerate(content, address))

    def take(self, address: int, size: int) -> bytes:
        """Read memory."""
        return bytes(self.memory.get(at, 0) for at in range(address, address + size))

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                waiting = b""
                while data := connection.recv(65536):
                    waiting += data
                    if b"\x03" in waiting and b"$" not in waiting and self.halts:
                        waiting = b""
                        if self._program is None:
                            # The last round came when the loop was halted.
                            rounds = self.hertz >> 24
                            self.registers[0] = max(rounds - 1, 0)
                            self.put(0xE000E010, (5 | (rounds > 0) << 16).to_bytes(4, "little"))
                            self.put(0xE000E018, (0xFFFFFF - self.hertz % 2**24).to_bytes(4, "little"))
                        self.registers[15] = ROUND
                        connection.sendall(packet("T02"))
                    while match := _PACKET.search(waiting):
                        waiting = waiting[match.end() :]
                        assert int(match[2], 16) == sum(match[1]) % 256
                        command = re.sub(rb"}(.)", lambda found: bytes([found[1][0] ^ 0x20]), match[1], flags=re.DOTALL)
                        answer = self._answer(command.decode("latin-1"))
                        if answer is None:
                            connection.shutdown(socket.SHUT_RDWR)
                            break
                        connection.sendall(answer)

    def _answer(self, command: str) -> bytes | None:
        self.commands.append(command)
        for begin, answer in self.answers.items():
            if command.startswith(begin):
                return packet(answer) if isinstance(answer, str) else answer
        said = self._said(command)
        return said if said is None else b"+" + (packet(said) if said != "nothing" else b"")

    def _said(self, command: str) -> str | None:
        """The answer to a command; None to hang up, `nothing` for none yet."""
        name, _, rest = command.partition(":")
        if command in ("c",) or command.startswith("F"):
            return self._run(command)
        if command.startswith("qSupported"):
            more = "qXfer:features:read+;qXfer:memory-map:read+" if self.has_map else "qXfer:features:read+"
            return f"PacketSize=100;{more}"
        if command.startswith("qXfer:"):
            _, kind, _, annex, place = command.split(":")
            text = _MAP if kind == "memory-map" else {"target.xml": _TARGET, "core.xml": _CORE}[annex]
            begin, size = (int(part, 16) for part in place.split(","))
            return ("l" if begin + size >= len(text) else "m") + text[begin : begin + size]
        if command == "qqemu.sstepbits":
            return "ENABLE=1" if self.emulated else ""
        if command == "?":
            return "S05"
        if command.startswith("qRcmd,"):
            return self._monitor(bytes.fromhex(command[6:]).decode())
        if command.startswith("m"):
            begin, size = (int(part, 16) for part in command[1:].split(","))
            self.put(0xE000ED00, self.cpuid.to_bytes(4, "little"))
            self.put(0xE0042000, self.idcode.to_bytes(4, "little"))
            return self.take(begin, size).hex()
        if name[0] in "MX" and rest is not None:
            begin, size = (int(part, 16) for part in name[1:].split(","))
            if name[0] == "X" and not self.binary:
                return ""
            if FLASH <= begin < FLASH + 0x8000 and not self.emulated:
                return "OK"
            self.put(begin, bytes.fromhex(rest) if name[0] == "M" else rest.encode("latin-1"))
            self.chip(self)
            assert size == len(rest) // (2 if name[0] == "M" else 1)
            return "OK"
        if command.startswith("p"):
            return self.registers[int(command[1:], 16)].to_bytes(4, "little").hex()
        if command.startswith("P"):
            number, _, value = command[1:].partition("=")
            self.registers[int(number, 16)] = int.from_bytes(bytes.fromhex(value), "little")
            return "OK"
        if command.startswith(("Z1", "z1")):
            (self._breakpoints.add if command[0] == "Z" else self._breakpoints.discard)(int(command.split(",")[1], 16))
            return "OK"
        return self._flash(name, rest)

    def _monitor(self, command: str) -> str:
        if command != ("system_reset" if self.emulated else "reset halt"):
            return "E01"
        self._program = None
        self.registers = dict.fromkeys(self.registers, 0xAAAAAAAA)
        return "OK"

    def _flash(self, name: str, rest: str) -> str:
        if name.startswith("vFlashErase") or name == "vFlashErase":
            begin, size = (int(part, 16) for part in rest.split(","))
            assert begin % 0x800 == size % 0x800 == 0
            self._erased |= set(range(begin, begin + size))
            return "OK"
        if name == "vFlashWrite":
            place, _, content = rest.partition(":")
            data = content.encode("latin-1")
            begin = int(place, 16)
            if not set(range(begin, begin + len(data))) <= self._erased:
                return "E.memtype"
            self.put(begin, data)
            return "OK"
        return "OK" if name == "vFlashDone" else ""

    def _run(self, command: str) -> str | None:
        """What the server says next of a core that runs."""
        try:
            if self._program is None and self.registers[15] != FIRMWARE.entry:
                return "nothing"
            if self._program is None:
                self.begun.append((self.registers[42], self.registers[13], self.registers[15]))
                self._program = self._runs()
                return next(self._program)
            if command.endswith(",C"):
                # QEMU halts behind the call.
                self._passed, self._answered = True, command
                return "T02"
            if self._passed:
                self._passed, command = False, self._answered
            return self._program.send(command)
        except ConnectionError:
            return None

    def _runs(self) -> Program:
        """The program, from its reset to its end; yields what the server says, and gets the client's next command."""
        assert all(self.take(address, len(content)) == content for address, content in FIRMWARE.segments)
        assert self._breakpoints == {FIRMWARE.words_at, FIRMWARE.ends_at}
        self.put(_BLOCK, _BUFFER.to_bytes(4, "little"))
        self.registers.update({1: _BLOCK, 0: 0xFFFFFFFF, 15: FIRMWARE.words_at})
        yield "T05"
        assert self.registers[0] == 0
        words = self.take(_BUFFER, 160).split(b"\0")[0].decode()
        lines = self.records(words).splitlines(keepends=True)
        if self.line:
            for count, line in enumerate(lines):
                self.line(framed(count, line.rstrip(b"\n")))
            self.put(FIRMWARE.sent_at, len(lines).to_bytes(4, "little"))
            self.registers.update({0: self.ends, 15: FIRMWARE.ends_at})
            yield "T05"
            return
        for name in ("/etc/passwd", "records.jsonl"):
            self.put(_NAME, name.encode() + b"\0")
            handle = yield from self._call("open", 1, (_NAME, 8, len(name)), f"{_NAME:x}/{len(name) + 1:x},209,1a4")
            if name != "records.jsonl":
                self.refused.append(handle)
        number = handle.split(",")[0]
        for count, line in enumerate(lines):
            if self.drops == count:
                raise ConnectionError
            if self.stays == count:
                yield "nothing"
            self.put(_TEXT, line)
            block = (int(number, 16), _TEXT, len(line))
            yield from self._call("write", 5, block, f"{number},{_TEXT:x},{len(line):x}")
        self.registers.update({0: self.ends, 15: FIRMWARE.ends_at})
        yield "T05thread:1;"

    def _call(self, name: str, number: int, block: tuple[int, int, int], words: str) -> Generator[str, str, str]:
        """A semihosting call, and what it comes to."""
        if self.served:
            answer = yield f"F{name},{words}"
            assert answer.startswith("F")
            return answer[1:].removesuffix(",C")
        self.put(_BLOCK, b"".join(one.to_bytes(4, "little") for one in block))
        self.registers.update({0: number, 1: _BLOCK, 15: CALL})
        yield "S05"
        assert self.registers[15] == CALL + 2
        return f"{self.registers[0]:x}"
