# SPDX-License-Identifier: BSD-2-Clause
"""A message that the broker relays, by the programs and levels that work on it."""

from collections import Counter
from collections.abc import Sequence

from worldwise.base.output.safe_text import Prose
from worldwise.base.tables import Section, Table
from worldwise.explain.explanation import Explained
from worldwise.explain.owners import Explainer
from worldwise.explain.stacks import StackFrame
from worldwise.families.keycache.spec import KEYCACHE_MQTT
from worldwise.plan.case import Case

# Images of the plugin: its own with libkeycache in it, and the library that only that one needs.
_PLUGIN = ("mosquitto_keycache", "libhiredis")
_TASK = "[task: "
_BROKER, _SERVER = "mosquitto", ("keycached", "keycached-native")

_CLIENTS, _OTHERS = "clients", "other processes, kernel threads"
_OWN = "broker"
_ASKING = "plugin"
_ANSWERING = "key cache's server"
_MONITOR, _CORE, _TA = "secure monitor", "OP-TEE's core", "TA"
_PROGRAMS = (_CLIENTS, _OWN, _ASKING, _ANSWERING, _OTHERS)


def _is_message(case: Case) -> bool:
    return case.operation == KEYCACHE_MQTT


def _program(stack: Sequence[StackFrame]) -> str:
    """The program that an instruction of the normal world was executed for."""
    if not stack[0].function.startswith(_TASK):
        return _CLIENTS
    task = stack[0].function[len(_TASK) : -1]
    if task == _BROKER:
        return _ASKING if any(frame.image in _PLUGIN for frame in stack) else _OWN
    return _ANSWERING if task in _SERVER else _OTHERS


def _part(stack: Sequence[StackFrame]) -> tuple[str, str]:
    """Program or level, and whether it is the program itself or the kernel."""
    leaf = stack[-1]
    if leaf.world == "monitor":
        return _MONITOR, ""
    if leaf.world == "secure":
        return (_TA if leaf.image == "ta" else _CORE), ""
    return _program(stack), "kernel" if leaf.image.startswith("linux") else "itself"


def _sections(explainer: Explainer, index: int | None) -> list[Section]:
    sample = explainer.sample("message", "client", index)
    found: Counter[tuple[str, str]] = Counter()
    for region in explainer.regions(sample):
        for stack, count in explainer.stacks(region).items():
            found[_part(stack)] += count
    receivers = int(dict(explainer.case.parameters)["subscribers"])
    rows = []
    for name in _PROGRAMS:
        own, kernel = found[name, "itself"], found[name, "kernel"]
        rows.append([name, f"{own:,}", f"{kernel:,}", f"{own + kernel:,}", f"{(own + kernel) / receivers:,.0f}"])
    for name in (_MONITOR, _CORE, _TA):
        rows.append([name, "", "", f"{found[name, '']:,}", f"{found[name, ''] / receivers:,.0f}"])
    total = sum(found.values())
    rows.append(["sum", "", "", f"{total:,}", f"{total / receivers:,.0f}"])
    headers = ["program or level", "itself", "Linux for it", "together", "per receiver"]
    return [
        Section(
            f"Message {sample.index} through the broker, by who works on it (instructions)",
            Table(headers, rows, 1),
            [
                Prose(
                    "itself: a program's own code and that of its libraries (TLS among them). Linux for it: the kernel "
                    "in that program's process, with interrupts that came meanwhile; what the network does as one "
                    "program sends is mostly the receiving end's work, too. plugin: whatever has a function of the "
                    "plugin, of libkeycache or of hiredis among its callers. OP-TEE's core has all of the secure world "
                    "but the TA's own code and its libraries."
                )
            ],
        )
    ]


EXPLAINED = Explained(measure="message", takes=_is_message, sections=_sections)
