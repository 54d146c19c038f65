# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of the key cache include, and the published figures beside them."""

from worldwise.read.published import PublishedSource
from worldwise.read.readings import IN_TA, Readings

_PUBLISHED = PublishedSource(
    name="mqttz-keys",
    reason=(
        "Why they differ: the published figures are times of a clock; the source states neither core, clock "
        "rate and versions nor what the times contain. Only their ratios can be compared: secure storage to "
        "memory of the TA, and a "
        "message to many subscribers to one to a single subscriber."
    ),
    has_tables=True,
)

READINGS = Readings(
    includes={
        ("request", "storage"): "the TA's calls of persistent objects (opened, read, written, closed), with the work "
        "of OP-TEE's core and of tee-supplicant",
        ("request", "ta"): f"the key cache's TA, from a command's first instruction to its last, {IN_TA}",
        ("request", "invoke"): "the server's TEEC_InvokeCommand: libteec, Linux, the secure monitor, OP-TEE's core, "
        "the TA, and the way back",
        ("request", "client"): "all that the processor executes from the client's call of libkeycache until it has the "
        "answer: TLS in the client and in the server, the kernel's TCP between them, the server, and both worlds",
        ("message", "storage"): "the TA's calls of persistent objects, with the work of OP-TEE's core and of "
        "tee-supplicant",
        ("message", "ta"): f"the key cache's TA, from a command's first instruction to its last, {IN_TA}",
        ("message", "invoke"): "the server's TEEC_InvokeCommand: libteec, Linux, the secure monitor, OP-TEE's core, "
        "the TA, and the way back",
        ("message", "relay"): "the plugin's request to the key cache: TLS in both, the kernel's TCP between them, the "
        "server, and both worlds",
        ("message", "client"): "all that the processor executes from the publisher's PUBLISH until every subscriber "
        "has the message and each confirmation that a client waits for has come: TLS in the clients and in the "
        "broker, the kernel's TCP between them, the broker, and the plugin's request. The broker's work on "
        "confirmations that nobody waits for is not in it",
        ("burst", "client"): "the same of 8 messages that are published one after the other before the first is "
        "received",
        ("short", "client"): "redis-benchmark from its start to its end, and all that the processor executes "
        "meanwhile: handshakes, TLS in it and in the server, the kernel's TCP between them, the server, and both "
        "worlds",
        ("long", "client"): "the same with twice as many requests",
        ("requests", "client"): "all that the processor executes while the requests of a batch are asked and answered: "
        "TLS in the client and in the server, the kernel's TCP between them, the server, and both worlds",
    },
    published=_PUBLISHED,
)
