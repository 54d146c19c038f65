# SPDX-License-Identifier: BSD-2-Clause
"""What processes listen to on this machine, by what the kernel says."""

import contextlib
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_LISTENS = "0A"


def family(process: int) -> list[int]:
    """A process and all that it has started, and so on."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def listening(process: int) -> list[tuple[IPv4Address | IPv6Address, int]]:
    """The addresses and ports of TCP where a process and its children listen."""
    owned = set()
    for each in family(process):
        with contextlib.suppress(OSError):
            for descriptor in Path(f"/proc/{each}/fd").iterdir():
                with contextlib.suppress(OSError):
                    owned.add(str(descriptor.readlink()))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and f"socket:[{fields[9]}]" in owned:
                host, port = fields[1].split(":")
                words = [bytes.fromhex(host[start : start + 8])[::-1] for start in range(0, len(host), 8)]
                found.append((ip_address(b"".join(words)), int(port, 16)))
    return sorted(found, key=str)


def says(port: int, sent: bytes) -> bytes:
    """What a port on loopback answers to some bytes within a second, before it closes."""
    answer = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(sent)
        while piece := connection.recv(4096):
            answer += piece
    return answer
