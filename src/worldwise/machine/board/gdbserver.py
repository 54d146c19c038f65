# SPDX-License-Identifier: BSD-2-Clause
"""A Cortex-M behind a GDB server: its registers and memory, loading its flash, and resetting it.

The server is OpenOCD, pyOCD, J-Link, probe-rs or QEMU. Errors of the server are reported apart from those of the board.
"""

import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn, Self
from urllib.parse import urlsplit

from worldwise.base import files
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.machine.board.firmware import Firmware
from worldwise.machine.gdbstub import GarbageError, GdbClient, escaped

CPUID = 0xE000ED00
VTOR = 0xE000ED08
# xPSR.T: the core executes Thumb code. A core without it faults at its first instruction.
_THUMB = 1 << 24
# Seconds for a reply; erasing a large sector of flash takes some of them.
REPLY, ERASING = 10.0, 60.0
# Bytes of a packet that are no data: `vFlashWrite:`, an address, a length, the frame.
_FRAME = 32
_LEAST_PACKET, _MOST_PACKET = 128, 16384
# Of parts of a target's description in one another.
_DEPTH = 4
# Numbers of the registers where the server does not describe its target: GDB's own for a Cortex-M.
_USUAL = {**{f"r{number}": number for number in range(13)}, "sp": 13, "lr": 14, "pc": 15, "xpsr": 25}
_HINT = "look at the messages of the GDB server, start it again, then: worldwise run --resume --via {via}"


@dataclass(frozen=True)
class Address:
    """Where a GDB server listens.

    Attributes:
        host, port: there.
        name: what messages and `--via` call it, if not by these.
    """

    host: str
    port: int
    name: str = ""

    def __str__(self) -> str:
        if self.name:
            return self.name
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"gdb://{host}:{self.port}"


def parse_address(text: str) -> Address:
    """The address in `gdb://HOST:PORT`. Raises WorldwiseError."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port or text not in (f"gdb://{host}:{port}", f"gdb://[{host}]:{port}"):
        raise WorldwiseError(
            f"--via {files.quoted(text)}: is not the address of a GDB server.",
            "write gdb://HOST:PORT, such as gdb://localhost:3333, where OpenOCD listens; or openocd, pyocd, "
            "labgrid:PLACE, ssh://USER@HOST",
        )
    return Address(host, port)


class GdbServer:
    """A connection to a GDB server with a halted core.

    Its methods raise HostError if the server is absent, goes away, or does not speak GDB's protocol.

    Args:
        address: where it listens.
        connection: to it, if there is one already.
    """

    def __init__(self, address: Address, connection: socket.socket | None = None) -> None:
        self.address = address
        try:
            connection = connection or socket.create_connection((address.host, address.port), REPLY)
        except OSError as error:
            raise HostError(
                f"{address}: no GDB server can be reached there: {error.strerror or error}.",
                "start OpenOCD, pyOCD, the J-Link GDB server, probe-rs or QEMU there: docs/use/board.md",
            ) from None
        # Packets are small, and each waits for a reply.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client = GdbClient(connection, REPLY)
        # Bytes of a packet, and whether binary data may be written: the server is asked, or tried.
        self._packet, self._binary = _LEAST_PACKET, True
        try:
            self._features = self._supported()
            self._halt()
            self.emulated = bool(self.ask("qqemu.sstepbits"))
            self._numbers = self._registers()
        except BaseException:
            self.client.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()

    def ask(self, command: str | bytes, timeout: float | None = None) -> str:
        """The reply to a command; empty if the server does not know it."""
        try:
            return self.client.request(command, timeout)
        except (OSError, GarbageError) as error:
            self.lost(error)

    def wait(self, timeout: float) -> str | None:
        """The next packet of a server whose core runs; None if there is none in so many seconds."""
        try:
            return self.client.reply(timeout)
        except TimeoutError:
            return None
        except (OSError, GarbageError) as error:
            self.lost(error)

    def send(self, command: str) -> None:
        """Send what lets the core run on."""
        try:
            self.client.send(command)
        except OSError as error:
            self.lost(error)

    def interrupt(self) -> bool:
        """Halt a core that runs. Returns whether it did."""
        try:
            self.client.interrupt()
        except OSError as error:
            self.lost(error)
        said = self.wait(REPLY)
        # What it was just about to say comes first.
        while said and said[0] in "OF":
            said = self.wait(REPLY)
        return said is not None and said.startswith(("S", "T"))

    def lost(self, error: Exception) -> NoReturn:
        """Raise HostError for what went wrong with the connection."""
        if isinstance(error, GarbageError):
            problem = f"the program that answers there does not speak GDB's protocol: {files.quoted(str(error))}"
            hint = "look whether the port is that of the GDB server, not its console or another program's"
        elif isinstance(error, TimeoutError):
            problem = "the GDB server does not answer"
            hint = _HINT.format(via=self.address)
        else:
            problem = f"the GDB server has gone away: {error.strerror or error}" if isinstance(error, OSError) else ""
            hint = _HINT.format(via=self.address)
        raise HostError(f"{self.address}: {problem}.", hint) from None

    def refused(self, what: str, reply: str) -> NoReturn:
        """Raise HostError for a reply that says no."""
        said = f"it says {files.quoted(reply, 60)}" if reply else "it does not know that command"
        raise HostError(f"{self.address}: the GDB server cannot {what}: {said}.", _HINT.format(via=self.address))

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory."""
        content = b""
        while len(content) < size:
            begin = address + len(content)
            wanted = min(size - len(content), (self._packet - _FRAME) // 2)
            reply = self.ask(f"m{begin:x},{wanted:x}")
            part = bytes.fromhex(reply) if re.fullmatch(r"([0-9a-fA-F]{2})+", reply) else b""
            if not 0 < len(part) <= wanted:
                self.refused(f"read memory at {begin:#010x}", reply)
            content += part
        return content

    def read_word(self, address: int) -> int:
        """A word of memory."""
        return int.from_bytes(self.read(address, 4), "little")

    def write_word(self, address: int, value: int) -> None:
        """Write a word of memory: a register of the chip."""
        reply = self.write(address, value.to_bytes(4, "little"))
        if reply != "OK":
            self.refused(f"write {address:#010x}", reply)

    def write(self, address: int, content: bytes) -> str:
        """Write memory that is no flash; returns what the server says, `OK` if it did."""
        size = (self._packet - _FRAME) // 2
        for at in range(0, len(content), size):
            part = content[at : at + size]
            reply = self.ask(b"X%x,%x:%s" % (address + at, len(part), escaped(part))) if self._binary else ""
            if not reply:
                self._binary = False
                reply = self.ask(f"M{address + at:x},{len(part):x}:{part.hex()}")
            if reply != "OK":
                return reply
        return "OK"

    def register(self, name: str) -> int:
        """The value of a register: r0 to r12, sp, lr, pc, xpsr."""
        reply = self.ask(f"p{self._numbers[name]:x}")
        if not re.fullmatch(r"[0-9a-fA-F]{8}", reply):
            self.refused(f"read the register {name}", reply)
        return int.from_bytes(bytes.fromhex(reply), "little")

    def set_register(self, name: str, value: int) -> None:
        """Set a register."""
        reply = self.ask(f"P{self._numbers[name]:x}={value.to_bytes(4, 'little').hex()}")
        if reply != "OK":
            self.refused(f"set the register {name}", reply)

    def break_at(self, address: int) -> None:
        """Halt at an instruction, by one of the core's own breakpoints: it may stand in flash."""
        reply = self.ask(f"Z1,{address:x},2")
        if reply != "OK":
            self.refused("set a hardware breakpoint", reply)

    def break_no_more(self, address: int) -> None:
        """Undo `break_at`."""
        reply = self.ask(f"z1,{address:x},2")
        if reply != "OK":
            self.refused("remove a hardware breakpoint", reply)

    def monitor(self, command: str) -> bool:
        """Have the server carry out a command of its own. Returns whether it did."""
        reply = self.ask("qRcmd," + command.encode().hex(), ERASING)
        # What the command prints comes first.
        while re.fullmatch("O([0-9a-fA-F]{2})+", reply):
            reply = self.wait(ERASING) or ""
        # The last of it may stand in the place of OK.
        return reply == "OK" or bool(re.fullmatch("([0-9a-fA-F]{2})+", reply))

    def load(self, firmware: Firmware) -> bool:
        """Put a program where it belongs, unless it stands there. Returns whether it was written."""
        if self._holds(firmware):
            return False
        flash = list(self._flash())
        in_flash = [one for one in firmware.segments if any(region.holds(one[0]) for region in flash)]
        if in_flash:
            self._write_flash(flash, in_flash)
        for address, content in firmware.segments:
            if (address, content) not in in_flash:
                reply = self.write(address, content)
                if reply != "OK":
                    self.refused(f"write memory at {address:#010x}", reply)
        if not self._holds(firmware):
            raise HostError(
                f"{self.address}: the server wrote the program, but memory at {firmware.vectors:#010x} does "
                "not hold it.",
                "the server must know the chip, so that it can write its flash, and the flash must not be protected",
            )
        return True

    def reset(self, firmware: Firmware) -> None:
        """Reset the chip and halt its core where the program begins."""
        commands = ("system_reset",) if self.emulated else ("reset halt", "reset")
        if not any(self.monitor(command) for command in commands):
            self.refused("reset the chip by " + " or ".join(f"'monitor {command}'" for command in commands), "")
        if not self.emulated:
            # Boot pins may have put a ROM's vector table first. An Armv6-M without VTOR ignores it.
            self.write(VTOR, firmware.vectors.to_bytes(4, "little"))
        self.set_register("xpsr", _THUMB)
        self.set_register("sp", firmware.stack)
        self.set_register("pc", firmware.entry)

    def _holds(self, firmware: Firmware) -> bool:
        return all(self.read(address, len(content)) == content for address, content in firmware.segments)

    def _supported(self) -> str:
        reply = self.ask("qSupported:xmlRegisters=arm;fork-events-")
        size = re.search(r"PacketSize=([0-9a-fA-F]{1,6})", reply)
        self._packet = min(max(int(size[1], 16) if size else 0, _LEAST_PACKET), _MOST_PACKET)
        return reply

    def _halt(self) -> None:
        """A server halts its core for a client; this waits for one that does so late."""
        reply = self.ask("?")
        if not reply.startswith(("S", "T")) and not self.interrupt():
            raise HostError(
                f"{self.address}: the core does not halt: the server says {files.quoted(reply, 60)}.",
                "reset the board, or switch its power off for a moment; look at the server's messages",
            )

    def _document(self, kind: str, annex: str) -> str:
        """A document of the server; empty if it has none."""
        text = ""
        while self._features and f"qXfer:{kind}:read+" in self._features:
            reply = self.ask(f"qXfer:{kind}:read:{annex}:{len(text):x},{self._packet - _FRAME:x}")
            if reply[:1] not in ("m", "l"):
                self.refused(f"read its {kind}", reply)
            text += reply[1:]
            if reply[0] == "l" or not reply[1:]:
                break
        return text

    def _described(self, annex: str, depth: int) -> Iterator[re.Match[str]]:
        """The registers of a target's description, in order, those of the documents that it includes too."""
        for found in re.finditer(
            r"<(?:(reg)\s[^>]*|xi:include\s[^>]*href=\"([^\"]+)\"[^>]*)>", self._document("features", annex)
        ):
            if found[1]:
                yield found
            elif depth < _DEPTH:
                yield from self._described(found[2], depth + 1)

    def _registers(self) -> dict[str, int]:
        """The numbers of the registers by which the server calls them."""
        numbers: dict[str, int] = {}
        number = -1
        for found in self._described("target.xml", 0):
            name = re.search(r"\bname=\"([^\"]+)\"", found[0])
            given = re.search(r"\bregnum=\"([0-9]{1,4})\"", found[0])
            number = int(given[1]) if given else number + 1
            if name:
                numbers.setdefault(name[1].lower(), number)
        missing = _USUAL.keys() - numbers.keys()
        if numbers and missing:
            raise HostError(
                f"{self.address}: the GDB server describes a core that is not a Cortex-M: it has no register "
                f"{min(missing)}.",
                "look which chip the server was started for",
            )
        return numbers or _USUAL

    def _flash(self) -> Iterator["_Region"]:
        """The flash of the server's map of memory; nothing if it has no map."""
        for found in re.finditer(
            r"<memory\s+([^>]*type=\"flash\"[^>]*)>(.*?)</memory>", self._document("memory-map", ""), re.DOTALL
        ):
            values = dict(re.findall(r"\b(start|length)=\"((?:0x)?[0-9a-fA-F]{1,16})\"", found[1]))
            block = re.search(r"name=\"blocksize\"\s*>\s*((?:0x)?[0-9a-fA-F]{1,16})\s*<", found[2])
            if values.keys() == {"start", "length"} and block and int(block[1], 0):
                yield _Region(int(values["start"], 0), int(values["length"], 0), int(block[1], 0))

    def _write_flash(self, flash: Sequence["_Region"], segments: Sequence[tuple[int, bytes]]) -> None:
        for region in flash:
            for begin, end in region.blocks(segments):
                self._flash_command(b"vFlashErase:%x,%x" % (begin, end - begin))
        # An escaped byte takes two.
        size = (self._packet - _FRAME) // 2
        for address, content in segments:
            for at in range(0, len(content), size):
                self._flash_command(b"vFlashWrite:%x:%s" % (address + at, escaped(content[at : at + size])))
        self._flash_command(b"vFlashDone")

    def _flash_command(self, command: bytes) -> None:
        reply = self.ask(command, ERASING)
        if reply != "OK":
            self.refused(f"write the flash ({command.partition(b':')[0].decode()})", reply)


@dataclass(frozen=True)
class _Region:
    """Flash of blocks of one size."""

    start: int
    length: int
    block: int

    def holds(self, address: int) -> bool:
        return self.start <= address < self.start + self.length

    def blocks(self, segments: Sequence[tuple[int, bytes]]) -> list[tuple[int, int]]:
        """Begin and end of the runs of blocks that hold parts of the segments."""
        touched: set[int] = set()
        for address, content in segments:
            first = max(address, self.start) - self.start
            last = min(address + len(content), self.start + self.length) - self.start
            touched.update(range(first // self.block, -(-last // self.block)) if first < last else ())
        runs: list[tuple[int, int]] = []
        for number in sorted(touched):
            begin = self.start + number * self.block
            if runs and runs[-1][1] == begin:
                runs[-1] = (runs[-1][0], begin + self.block)
            else:
                runs.append((begin, begin + self.block))
        return runs
