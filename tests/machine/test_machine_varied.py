# SPDX-License-Identifier: BSD-2-Clause
"""Chosen secrets on machines: code that is known to leak is found at its line, code that does not is silent."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from worldwise.explain.dependence import Dependence, dependence
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.own_library import own_libraries
from worldwise.machine.emulator import Emulator
from worldwise.machine.symbols.inlined_functions import addr2line
from worldwise.plan.case import Case, parse_case
from worldwise.run.varied_secrets import vary

BOARD = "nucleo-f446re"
MANIFEST = """\
name = "own-leak"
title = "A test's"
about = "hashes by the bench's SHA-256, and looks at a bit of the message"
licence = "BSD-2-Clause"
constant_time = "yes: a test's word"
[build]
[operations]
none = ["sha256"]
[needs]
frame_sha256 = true
"""
# What is planted stands on lines 9 (a branch, in a function that is inlined), 15 and 16.
ADAPTER = """\
#include "ops.h"
const char ops_name[] = "own-leak";
int ops_open(void) { return 0; }
static volatile uint8_t seen;
static const uint8_t table[256] = { 1 };
static inline void look(uint8_t byte)
{
	seen = 0;
	if (byte & 1)
		seen = (uint8_t)(seen + seen * 3);
}
int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	ops_frame_sha256(message, length, digest);
	seen = table[message[0]];
	look(message[0]);
	return 0;
}
"""

Judge = Callable[..., Dependence]


@pytest.fixture
def judge(lab: Lab, images: ImageStore) -> Judge:
    """Varies an input of a case in so many calls."""

    def judge(case: Case, word: str, calls: int = 4) -> Dependence:
        varied = vary(case, word, images, Emulator(lab), calls)
        tool = addr2line(lab, "arm-none-eabi-addr2line" if case.target == BOARD else "aarch64-linux-gnu-addr2line")
        return dependence(varied, partial(tool, varied.program.read_bytes()))

    return judge


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Case]:
    """A hash of a library of one's own that branches on a bit of the message and looks a byte of it up."""
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "implementation.toml").write_text(MANIFEST)
    (folder / "adapter.c").write_text(ADAPTER)
    (brought,) = own_libraries.bring([folder])
    yield Case(BOARD, brought.name, "O2", "sha256", 1, 0, (("size", "16B"),))
    own_libraries.forget()


def test_a_planted_leak_is_found_at_its_line(judge: Judge, planted: Case) -> None:
    """The table's access and the branch, in what was inlined; and nothing in the hash around them."""
    found = judge(planted, "message")
    assert found.verdict == "depends on message: control flow, addresses"
    assert found.claim == "yes: a test's word"
    address, flow = found.sites
    assert (address.kind, address.frames[-1].line, address.data) == ("address", "adapter.c:15", "table")
    assert address.times == (1, 1)
    assert (flow.kind, flow.times) == ("flow", (1, 1))
    assert [(frame.function, frame.line) for frame in flow.frames] == [
        ("ops_sha256", "adapter.c:16"),
        ("look", "adapter.c:9"),
    ]
    # The reference's first byte is odd, as is that of all ones; that of all zeros and the other random one are not.
    assert len(flow.partings) < len(address.partings) == 3


def test_tables_leak_the_key_and_bitslicing_does_not(judge: Judge) -> None:
    """mbed TLS's AES looks up tables, BearSSL's has none."""
    found = judge(parse_case(f"{BOARD}/mbedtls36-O2/aes128,size=64B"), "key")
    assert found.verdict == "depends on key: addresses"
    assert {site.data for site in found.sites} == {"FSb", "FT0", "FT1", "FT2", "FT3"}
    assert all(site.frames[-1].line.startswith("aes.c:") for site in found.sites)
    assert judge(parse_case(f"{BOARD}/bearssl-O2/aes128,size=64B"), "key").verdict == "no difference seen"


def test_linux_and_its_interrupts_are_no_difference(judge: Judge) -> None:
    """In a process: what Linux does meanwhile is left out. A deterministic signature draws nothing."""
    found = judge(parse_case("linux-armv8/bearssl-O2/sign,curve=secp256r1,size=32B"), "nonce")
    assert found.verdict == "draws no random bytes"
    # Long enough for a tick of Linux's timer, 4 ms, in most of the calls.
    assert found.instructions > 4_000_000


def test_a_ta_is_stopped_and_followed(judge: Judge) -> None:
    """In the secure world: each call of the TA is seen whole, gets the inputs that were written, and none parts."""
    found = judge(parse_case("optee/monocypher-O2/sign,curve=ed25519,size=32B"), "message", 2)
    assert found.verdict == "no difference seen"
    assert (found.sites, found.unrepeatable, found.joined) == ([], [], True)
    assert len(set(found.names)) == 2
    assert found.instructions > 400_000
