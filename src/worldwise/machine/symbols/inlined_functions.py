# SPDX-License-Identifier: BSD-2-Clause
"""Functions that the compiler put into others: addr2line, a tool of the lab, says it of many addresses at once."""

from collections.abc import Callable, Iterable

from worldwise.base.errors import WorldwiseError
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.lent_folders import scratch

# The content of an ELF file with debug information, and lines of addresses in hexadecimal: what addr2line prints.
Addr2line = Callable[[bytes, str], str]
# For each address: itself, then for each function it is in, the innermost first, two lines: name, and file with line.
OPTIONS = ("--addresses", "--functions", "--inlines", "--demangle")
# The file of an address that debug information does not know.
_NOWHERE = "??"
# Before the name by which the C library calls a function of its own: __GI_memcpy is memcpy.
_OWN_CALLS = "__GI_"
PROGRAM = "aarch64-linux-gnu-addr2line"
# For 32-bit cores, microcontrollers and others.
ARM_PROGRAM = "arm-none-eabi-addr2line"


def addr2line(lab: Lab, program: str = PROGRAM) -> Addr2line:
    """The lab's addr2line, in a sandbox: a file with debug information may be a stranger's."""

    def run(elf: bytes, addresses: str) -> str:
        with scratch(lab.cache) as place:
            place.chmod(0o755)
            path = place / "elf"
            path.write_bytes(elf)
            argv = [program, *OPTIONS, "--exe", "/elf"]
            return lab.run(argv, binds=[(path, "/elf", "ro")], stdin=addresses).stdout

    return run


class Inlines:
    """Functions inlined into those of one ELF file.

    Args:
        image: the file's name, for errors.
        content: the file, with its debug information if it has any.
        run: the tool that reads it; None if it has no debug information.
    """

    def __init__(self, image: str, content: bytes, run: Addr2line | None) -> None:
        self._image = image
        self._content = content
        self._run = run
        self._known: dict[int, list[str]] = {}

    def __contains__(self, address: int) -> bool:
        return address in self._known

    def read(self, addresses: Iterable[int]) -> None:
        """Ask for all link-time addresses that are not known yet, in one call. Raises WorldwiseError if that fails."""
        wanted = sorted(set(addresses) - self._known.keys())
        if not wanted:
            return
        if self._run is None:
            self._known.update({address: [] for address in wanted})
            return
        printed = self._run(self._content, "".join(f"{address:#x}\n" for address in wanted))
        try:
            chains = parse_addr2line(printed)
        except ValueError:
            # A function's name may have lines that look like an address.
            chains = []
        if [address for address, _ in chains] != wanted:
            raise WorldwiseError(f"{self._image}: its debug information cannot be read: addr2line lost the thread")
        self._known.update(chains)

    @property
    def content(self) -> bytes:
        """The file."""
        return self._content

    def lines(self, addresses: Iterable[int]) -> dict[int, tuple[str, int]]:
        """The source file and line of each of many link-time addresses. Raises WorldwiseError if that fails."""
        wanted = sorted(set(addresses))
        unknown = dict.fromkeys(wanted, ("", 0))
        if self._run is None or not wanted:
            return unknown
        chains = parse_frames(self._run(self._content, "".join(f"{address:#x}\n" for address in wanted)))
        for address, frames in chains:
            if address in unknown and frames:
                # The innermost: what was put into a function stands at its own source.
                file, _, line = frames[-1][1].partition(" (discriminator")[0].rpartition(":")
                if line.isascii() and line.isdigit() and file != _NOWHERE:
                    unknown[address] = (file, int(line))
        return unknown

    def chain(self, address: int) -> list[str]:
        """Names of the functions inlined at an address that was read, outermost first."""
        return self._known[address]


def parse_addr2line(printed: str) -> list[tuple[int, list[str]]]:
    """What addr2line says with OPTIONS: each address, and the functions inlined there, outermost first."""
    # The first is the function that all others were put into.
    return [(address, [name for name, _ in frames][1:]) for address, frames in parse_frames(printed)]


def parse_frames(printed: str) -> list[tuple[int, list[tuple[str, str]]]]:
    """The same with the function that the others were put into, and behind each name the file and line: `path:12`."""
    chains: list[tuple[int, list[tuple[str, str]]]] = []
    lines = iter(printed.split("\n"))
    for line in lines:
        if line.startswith("0x"):
            chains.append((int(line, 16), []))
        elif line and chains:
            chains[-1][1].insert(0, (line.removeprefix(_OWN_CALLS), next(lines, "")))
    return chains
