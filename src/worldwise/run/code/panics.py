# SPDX-License-Identifier: BSD-2-Clause
"""A TA that panicked, by what OP-TEE's core and ldelf print on the secure console: why, and in which functions."""

import re
from collections.abc import Iterator
from pathlib import Path

from worldwise.base import files
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.machine import SECURE_CONSOLE
from worldwise.records.globalplatform import name_results
from worldwise.run.code.application import Application

# Far more than a machine of own code prints.
_MOST_CONSOLE = 2**24
_WHY = re.compile(
    r"TA panicked with code (?P<code>0x[0-9a-f]{1,8})\b"
    r"|User mode (?P<abort>[a-z-]{1,30} at address 0x[0-9a-f]{1,16} \([a-z ]{1,40}\))"
)
# The first object that ldelf has loaded is the TA itself.
_BASE = re.compile(r"\[0\] [0-9a-f-]{36} @ 0x([0-9a-f]{1,16})\b")
_CALLED = re.compile(r"E/LD:   0x([0-9a-f]{1,16})\b")
_MOST_CALLED = 6


def panic_notes(directory: Path, application: Application) -> list[str]:
    """What a reader must know of a TA that panicked in the run of that folder; empty if it did not.

    Raises WorldwiseError if the console is no regular file.
    """
    try:
        text = files.read_bytes(directory / SECURE_CONSOLE, _MOST_CONSOLE, directory).decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    found = list(_WHY.finditer(text))
    if not found:
        return []
    first = found[0]
    told = text[first.end() : found[1].start() if len(found) > 1 else None]
    # GlobalPlatform's own codes have names.
    why = name_results(f"code {int(first['code'], 16):#010x}") if first["code"] else first["abort"]
    where = " < ".join(_functions(told, application))
    times = "once" if len(found) == 1 else f"{len(found)} times"
    return [f"the TA {application.uuid} panicked {times}, first with {why}{f' in {where}' if where else ''}"]


def _functions(told: str, application: Application) -> Iterator[str]:
    """The TA's functions on the stack as it panicked, the innermost first."""
    base = _BASE.search(told)
    if not base:
        return
    (rows,) = ask(application.elf, ("named_functions",), what=f"the TA {application.uuid}")
    for match in list(_CALLED.finditer(told, base.end()))[:_MOST_CALLED]:
        at = int(match[1], 16) - int(base[1], 16)
        yield next((files.quoted(name, 60) for name, start, size in rows if start <= at < start + size), f"{at:#x}")
