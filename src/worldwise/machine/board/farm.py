# SPDX-License-Identifier: BSD-2-Clause
"""A board in a farm that labgrid keeps: its place is locked, its power switched off and on, and its GDB server found.

All of it by `labgrid-client`, as the farm's other users do; where the coordinator is it reads from LG_COORDINATOR.
"""

import ast
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from worldwise.base import files
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.machine import program_output
from worldwise.machine.board.gdbserver import Address, GdbServer

PREFIX = "labgrid:"
_CLIENT = "labgrid-client"
_PACKAGE = "the Python package labgrid has it: pipx install labgrid"
# The resource that says where the place's GDB server listens, and what a power switch's class has in its name.
RESOURCE, _CLASS = "gdb", "NetworkService"
_POWER = re.compile("Power|PDU")
_PLACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}", re.ASCII)
_ACQUIRED = re.compile(
    r"^Acquired resource '([^'\n]+)' \([^\n]*/(\w+)/[^/\n]+\):\n((?:[ ][^\n]*\n?)+)", re.ASCII | re.MULTILINE
)
# What the client says of a place that this user has locked already, on this computer.
_OWN = re.compile(r"You have already acquired place \S+\.$", re.MULTILINE)
# Seconds for the client, and for the server to listen after the power was away.
_ANSWER, LISTENS = 60.0, 30.0
_MOST_SAID = 64 * 1024


@dataclass(frozen=True)
class FarmPlace:
    """A place by its name."""

    name: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}"


@dataclass(frozen=True)
class PlaceResources:
    """What a locked place has: where its GDB server listens, and whether its power can be switched."""

    host: str
    port: int
    power: bool


def parse_place(text: str) -> FarmPlace:
    """The place in `labgrid:PLACE`. Raises WorldwiseError, also if labgrid's client is not there."""
    name = text.removeprefix(PREFIX)
    if not _PLACE.fullmatch(name):
        raise WorldwiseError(
            f"--via {files.quoted(text)}: is not the name of a place.",
            "write labgrid:PLACE; `labgrid-client places` lists them",
        )
    if shutil.which(_CLIENT) is None:
        raise WorldwiseError(f"--via {text}: there is no program {_CLIENT} in PATH.", _PACKAGE)
    return FarmPlace(name)


class FarmServer:
    """The GDB server of a place, which is locked from the first connection until `stop`.

    A place that its user has locked already stays locked.
    """

    def __init__(self, place: FarmPlace) -> None:
        self._place = place
        self._found: PlaceResources | None = None
        self._locked = False

    def connect(self) -> GdbServer:
        """A connection to it; the first one locks the place and switches its power off and on. Raises HostError."""
        found = self._found or self._begin()
        self._found = found
        address = Address(found.host, found.port, str(self._place))
        deadline = time.monotonic() + LISTENS
        while True:
            try:
                connection = socket.create_connection((found.host, found.port), 5)
            except OSError as error:
                if time.monotonic() < deadline:
                    time.sleep(0.2)
                    continue
                raise HostError(
                    f"{address}: no GDB server can be reached at {found.host}:{found.port}: {error.strerror or error}.",
                    f"it must listen on the computer of the place's resource {RESOURCE}; then: worldwise run --resume "
                    f"--via {address}",
                ) from None
            return GdbServer(address, connection)

    def explained(self, error: HostError) -> HostError:
        """The error of a connection: nothing more is known here."""
        return error

    def stop(self) -> None:
        """Give the place back, if it was locked here."""
        locked, self._locked, self._found = self._locked, False, None
        if locked:
            self._client("release")

    def _begin(self) -> PlaceResources:
        if not self._locked:
            status, said = self._client("acquire")
            # A place that is locked already is used, and not given back.
            self._locked = status == 0
            if status and not _OWN.search(said):
                raise self._refused("cannot be locked", said)
        status, said = self._client("show")
        if status:
            raise self._refused("cannot be looked at", said)
        found = self._resources(said)
        if found.power:
            status, said = self._client("power", "cycle")
            if status:
                raise self._refused("has no power switch that the farm controls", said)
        return found

    def _resources(self, said: str) -> PlaceResources:
        resources = [(name, kind, _parameters(text)) for name, kind, text in _ACQUIRED.findall(said)]
        for name, kind, parameters in resources:
            if (name, kind) != (RESOURCE, _CLASS):
                continue
            host, port, extra = parameters.get("address"), parameters.get("port"), parameters.get("extra")
            if isinstance(extra, dict) and extra.get("proxy_required"):
                raise self._refused("is behind a proxy", f"reach it by `ssh -L {port}:{host}:{port}` and --via gdb://")
            if isinstance(host, str) and isinstance(port, int) and 0 < port < 65536:
                return PlaceResources(host, port, any(_POWER.search(kind) for _, kind, _ in resources))
        known = ", ".join(f"{name} ({kind})" for name, kind, _ in resources) or "none"
        raise HostError(
            f"{self._place}: the place has no {_CLASS} of the name '{RESOURCE}' with the address of a GDB server.",
            f"its resources: {known}; docs/use/board.md says how the exporter names it",
        )

    def _client(self, *words: str) -> tuple[int, str]:
        """The status of labgrid's client, and what it said. Raises HostError if it does not answer."""
        try:
            # Ctrl-C reaches the tool alone, which then gives the place back.
            status, said = program_output.answer([_CLIENT, "-p", self._place.name, *words], _ANSWER, _MOST_SAID)
        except subprocess.TimeoutExpired:
            raise HostError(f"{self._place}: `{_CLIENT} {' '.join(words)}` does not end.", _HINT) from None
        except OSError as error:
            raise HostError(f"{self._place}: {_CLIENT} cannot be started: {error.strerror}.", _PACKAGE) from None
        return status, said.decode("utf-8", "replace")

    def _refused(self, what: str, said: str) -> HostError:
        return HostError(f"{self._place}: the place {what}: {_last_line(said)}", _HINT)


_HINT = "`labgrid-client places` and `labgrid-client who` list the places and their owners (LG_COORDINATOR)"


def _last_line(said: str) -> str:
    lines: Sequence[str] = said.strip().splitlines()
    return files.quoted(lines[-1], 300) if lines else f"{_CLIENT} says nothing"


def _parameters(text: str) -> dict[str, object]:
    """The parameters of a resource as the client prints them, a Python value; empty for other text."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    found = value.get("params") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
