# SPDX-License-Identifier: BSD-2-Clause
"""A user's own library on a board: what is right is measured, what is wrong ends the case and says where."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from machines import Tool
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.own_library import own_libraries
from worldwise.libraries.portable import load_adapter
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import Case
from worldwise.records.check import CheckedRecords
from worldwise.run.case_check import check_run
from worldwise.targets.all_targets import EMULATED

BOARD = "nucleo-f446re"
MANIFEST = """\
name = "own-test"
title = "A test's"
about = "hashes by the bench's SHA-256, so that there is little to compile"
licence = "BSD-2-Clause"
[build]
[operations]
none = ["sha256"]
[needs]
frame_sha256 = true
"""
HEAD = """\
#include <stdlib.h>
#include "ops.h"
const char ops_name[] = "own-test";
int ops_open(void) { return 0; }
"""
# Where the hash begins is line 6, whatever stands before it.
HASH = """\
%s
int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	ops_frame_sha256(message, length, digest);
%s
	return 0;
}
"""
SIGN = """\
int ops_keygen(uint8_t private_key[32], uint8_t public_key[32])
{
	ops_random(private_key, 32);
	ops_random(public_key, 32);
	return 0;
}
int ops_sign(const uint8_t private_key[32], const uint8_t public_key[32], const uint8_t *message, size_t length,
	uint8_t signature[64])
{
	(void)private_key; (void)public_key; (void)message; (void)length;
	ops_random(signature, 64);
	return 0;
}
int ops_verify(const uint8_t public_key[32], const uint8_t *message, size_t length, const uint8_t signature[64])
{
	(void)public_key; (void)message; (void)length; (void)signature;
	return 0;
}
"""

Measure = Callable[..., CheckedRecords]


@pytest.fixture
def measure(lab: Lab, images: ImageStore, tmp_path: Path) -> Iterator[Measure]:
    """Writes a folder, brings it and measures a case of it on the board."""

    def run(
        adapter: str, operation: str = "sha256", manifest: str = MANIFEST, silence: float = 120, on: str = BOARD
    ) -> CheckedRecords:
        folder = tmp_path / "library"
        folder.mkdir()
        (folder / "implementation.toml").write_text(manifest)
        (folder / "adapter.c").write_text(adapter)
        (brought,) = own_libraries.bring([folder])
        parameters = (("size", "16B"),) if operation == "sha256" else (("curve", "ed25519"), ("size", "16B"))
        case = Case(on, brought.name, "O2", operation, 2, 0, parameters if on == BOARD else ())
        target = EMULATED[on]
        machine = target.machine(case, images)
        directory = tmp_path / "case"
        directory.mkdir()
        emulator = Emulator(lab, silence_limit=silence)
        emulator.run(machine, target.program(case), directory)
        return check_run(case, directory, emulator, machine)

    yield run
    own_libraries.forget()


def adapter(before: str = "", within: str = "") -> str:
    """An adapter that hashes, with more around or within its hash."""
    return HEAD + HASH % (before, within)


def test_what_is_right_is_measured(measure: Measure) -> None:
    """The same count each time, as there is nothing random in a hash."""
    records = measure(adapter())
    assert len({sample.count for sample in records.samples["hash", "mcu"]}) == 1
    assert records.memory["hash"].heap == 0


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param(adapter(within="digest[0] ^= 1;"), "check failed: known-answer", id="wrong"),
        pytest.param(
            adapter(within="if (length == 16) digest[0] ^= 1;"), "it is not the SHA-256 of the message", id="later"
        ),
        pytest.param(adapter(within="return 7;"), "check failed: known-answer", id="an-error"),
        pytest.param(
            adapter("static int recurse(volatile int n) { volatile char room[64] = { 0 }; "
                    "return n ? recurse(n + 1) + room[0] : 0; }", "return recurse(1);"),
            r"stack overflow; the innermost calls: 0x[0-9a-f]{8} \(recurse \(adapter.c:5\)\)",
            id="stack-overflow",
        ),
        pytest.param(
            adapter(within="*(volatile int *)0xe0100000 = 1;"),
            r"bus fault at 0x[0-9a-f]{8} \(ops_sha256 \(adapter.c:9\)\).*could not reach 0xe0100000",
            id="bad-pointer",
        ),
        pytest.param(adapter(within="__builtin_trap();"), r"usage fault at .*ops_sha256", id="undefined"),
        pytest.param(
            adapter(within="*(volatile uint32_t *)0xe000e014 = 999;"), "the call changed SysTick", id="counter-changed"
        ),
        pytest.param(adapter(within="*(volatile uint32_t *)0xe000e010 = 0;"), "changed SysTick", id="counter-stopped"),
        pytest.param(adapter(within="abort();"), r"the program called abort\(\)", id="abort"),
        pytest.param(adapter().replace("own-test", "other"), "implementation 'other' is not that of the", id="name"),
    ],
)  # fmt: skip
def test_what_is_wrong_ends_the_case(measure: Measure, source: str, says: str) -> None:
    """With the function's name and line, where there is one."""
    with pytest.raises(WorldwiseError, match=says):
        measure(source)


def test_an_endless_loop_is_stopped(measure: Measure) -> None:
    """After the silence limit."""
    with pytest.raises(WorldwiseError, match="hangs: no record for 2 s"):
        measure(adapter(within="for (;;) __asm__ volatile(\"nop\");"), silence=2)  # fmt: skip


@pytest.mark.parametrize("operation", ["sign", "verify"])
def test_a_verify_that_accepts_anything_is_not_measured(measure: Measure, operation: str) -> None:
    """Nor is a signature that is no signature."""
    manifest = MANIFEST.replace('none = ["sha256"]', 'ed25519 = ["keygen", "sign", "verify"]')
    with pytest.raises(WorldwiseError, match=r"check failed: (known-answer|modified-signature-rejected)"):
        measure(HEAD + SIGN, operation, manifest)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param(adapter("int f(void) { return 1 }"), r"/library/adapter.c:5: expected ';'", id="syntax"),
        pytest.param(HEAD, "adapter.c does not define ops_sha256 for none, which implementation.toml", id="missing"),
        pytest.param(HEAD.replace("ops_open", "opsopen") + HASH % ("", ""), "does not define ops_open", id="no-open"),
        pytest.param(
            adapter("extern int far(void);", "return far();"), r"ops_sha256\(\) needs far, which nothing", id="needs"
        ),
        pytest.param(adapter("int main(void) { return 0; }"), "adapter.c defines main, which is", id="main"),
        pytest.param(adapter("void SysTick_Handler(void) {}"), "defines SysTick_Handler", id="handler"),
        pytest.param(
            adapter("void *malloc(size_t size) { return size ? (void *)0 : (void *)1; }"), "defines malloc", id="malloc"
        ),
        pytest.param(
            adapter("int memcmp(const void *a, const void *b, size_t n) { (void)a; (void)b; return (int)n & 0; }"),
            "defines memcmp",
            id="memcmp",
        ),
        pytest.param(adapter("uint32_t counter_rounds;"), "defines counter_rounds", id="counter"),
        pytest.param(
            adapter("extern volatile uint32_t counter_rounds;", "counter_rounds = 0;"),
            "uses counter_rounds, which is the bench's own",
            id="uses-counter",
        ),
        pytest.param(
            adapter("__attribute__((constructor)) static void early(void) { abort(); }"),
            r"code that runs before or after the program \(\.init_array",
            id="constructor",
        ),
        pytest.param(
            adapter('__attribute__((section(".vectors"), used)) static int table[4] = { 1 };'),
            r"has a section '.vectors'",
            id="section",
        ),
        pytest.param(
            adapter(within='__asm__ volatile("cpsid i");'), r"ops_sha256\(\) has the instruction 'cpsid'", id="cpsid"
        ),
        pytest.param(adapter(within='__asm__ volatile("bkpt 0xab");'), "has the instruction 'bkpt'", id="semihosting"),
    ],
)  # fmt: skip
def test_what_could_deceive_is_not_built(measure: Measure, source: str, says: str) -> None:
    """In one line that names the user's file."""
    with pytest.raises(WorldwiseError, match=says) as caught:
        measure(source)
    assert caught.value.message.startswith("own-test: ")


P256 = MANIFEST.replace('none = ["sha256"]', 'secp256r1 = ["keygen", "sign", "verify"]')


@pytest.mark.parametrize(("target", "place"), [("optee", "ta"), ("linux", "linux")])
def test_a_library_in_the_ta_and_in_linux(measure: Measure, target: str, place: str) -> None:
    """The example of the documentation, with its sources from a crate."""
    example = paths.REPOSITORY / "docs" / "examples" / "micro-ecc"
    crate = load_adapter(paths.PORTABLE / "micro-ecc.c").manifest.source
    assert crate is not None
    pinned = "\n".join(f'{key} = "{value}"' for key, value in crate.model_dump(exclude_defaults=True).items())
    manifest = (example / "implementation.toml").read_text().replace("[build]", f"[source]\n{pinned}\n[build]")
    records = measure((example / "adapter.c").read_text(), "attestdiv", manifest, on=target)
    assert all(sample.count > 1_000_000 for sample in records.samples["sign", place])


def test_a_verify_that_accepts_anything_is_not_measured_in_the_ta(measure: Measure) -> None:
    """The TA's words say why its session could not be opened."""
    source = HEAD + SIGN.replace("public_key[32]", "public_key[64]").replace("public_key, 32", "public_key, 64")
    with pytest.raises(WorldwiseError, match="open failed: 0xffff0007") as caught:
        measure(source, "attestdiv", P256, on="optee")
    assert "check failed: modified-signature-rejected" in caught.value.details


def test_what_calls_optee_is_not_built(measure: Measure) -> None:
    """OP-TEE's cryptography would be measured then."""
    source = HEAD + SIGN.replace("public_key[32]", "public_key[64]").replace(
        "ops_random(signature, 64);", "extern void TEE_GenerateRandom(void *to, size_t length); "
        "TEE_GenerateRandom(signature, 64);"
    )  # fmt: skip
    with pytest.raises(WorldwiseError, match=r"needs TEE_GenerateRandom|calls TEE_GenerateRandom"):
        measure(source, "attestdiv", P256, on="optee")


def test_what_the_linker_would_compile_is_not_built(measure: Measure) -> None:
    """It could not be looked at."""
    source = adapter('__attribute__((section(".gnu.lto_x"), used)) static const char later[4] = "abc";')
    with pytest.raises(WorldwiseError, match="leave -flto out of the flags"):
        measure(source)


def test_the_benchs_hash_is_used_only_if_it_is_said(measure: Measure) -> None:
    """For tables that tell whose hash it is."""
    with pytest.raises(WorldwiseError, match=r"calls ops_frame_sha256: \[needs\] must say"):
        measure(adapter(), manifest=MANIFEST.replace("frame_sha256 = true", ""))


def test_the_command_line(tool: Tool) -> None:
    """A run has the library and can be read without its folder; what does not compile leaves no run behind."""
    folder = tool.directory / "library"
    folder.mkdir()
    (folder / "implementation.toml").write_text(MANIFEST)
    (folder / "adapter.c").write_text(adapter())
    words = ("run", "mcu", "--implementation", "library", "--target", BOARD, "--variant", "own-test-O2", "--verify")
    result = tool.run(*words)
    assert result.returncode == 0, result.stderr
    assert "2 cases measured twice, every record the same" in result.stderr
    assert "own-test has no aes128" in tool.run("report", "latest", "--all").stdout
    run = sorted((tool.directory / "runs").iterdir())[-1]
    (kept,) = json.loads((run / "run.json").read_text())["own"]
    assert kept["manifest"] == MANIFEST
    assert sorted(kept["files"]) == ["adapter.c", "implementation.toml"]
    assert str(tool.directory) not in (run / "run.json").read_text()

    (folder / "adapter.c").write_text(adapter("int f(void) { return 1 }"))
    result = tool.run(*words[:-1])
    assert result.returncode == 1
    assert "worldwise: own-test: library/adapter.c:5: expected" in result.stderr
    assert sorted((tool.directory / "runs").iterdir())[-1] == run

    shutil.rmtree(folder)
    assert tool.run("report", run.name).returncode == 0
