# SPDX-License-Identifier: BSD-2-Clause
"""Plain Linux on Armv7-A and Armv8-A: exact counts, programs that come with a case, the libraries."""

import dataclasses
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from machines import Measured, RunCase, assert_boots_differ
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import CURVELESS, HARDCLOCK, NO_CURVE, portables
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import DETERMINISTIC_MACHINE
from worldwise.plan.case import Case, parse_case
from worldwise.records.messages import message
from worldwise.targets.all_targets import EMULATED

SIGN = "nettle-O2/sign,curve=secp256r1,size=32B"
ECDH = "nettle-O2/ecdh,curve=secp256r1"
# Of operations that have a message.
_SIZES = {**dict.fromkeys(("sign", "verify", HARDCLOCK), "32B"), **dict.fromkeys(CURVELESS, "1KiB")}


@pytest.mark.parametrize("target", PLAIN_TARGETS)
def test_a_cold_boot_and_a_restored_machine_agree(records_of: RunCase, images: ImageStore, target: str) -> None:
    """A boot and two restores: the same bytes."""
    wanted = parse_case(f"{target}/{SIGN}", samples=3, warmup=1)
    machine = EMULATED[target].machine(wanted, images)
    restored = records_of(wanted, on=machine)
    assert restored == records_of(wanted, on=machine)
    assert restored == records_of(wanted, on=machine, start="boot")


@pytest.mark.parametrize("target", PLAIN_TARGETS)
def test_no_seed_is_the_hosts(records_of: RunCase, images: ImageStore, target: str) -> None:
    """Without what keeps the host's random bytes out of the device tree no two boots are the same."""
    wanted = parse_case(f"{target}/{SIGN}", samples=1, warmup=0)
    machine = EMULATED[target].machine(wanted, images)
    words = [word.replace(f",{DETERMINISTIC_MACHINE}", "") for word in machine.arguments]
    if "-seed" in words:
        del words[words.index("-seed") : words.index("-seed") + 2]
    loose = dataclasses.replace(machine, arguments=tuple(words))
    assert loose.arguments != machine.arguments
    assert_boots_differ(lambda: records_of(wanted, on=loose, start="boot"))


@pytest.mark.parametrize("target", PLAIN_TARGETS)
def test_one_saved_state_serves_every_program(images: ImageStore, lab: Lab, target: str) -> None:
    """What a library is made of can then move no address, and so no count, of another."""
    one, other = (
        EMULATED[target].machine(parse_case(f"{target}/{text}"), images)
        for text in (SIGN, "libsodium-O2/sign,curve=ed25519,size=32B")
    )
    assert one.digest(lab) != other.digest(lab)
    assert one.state_digest(lab) == other.state_digest(lab)


def test_the_core_makes_another_machine(images: ImageStore, lab: Lab) -> None:
    """And the same program runs on it."""
    one, other = (
        EMULATED["linux-armv8"].machine(parse_case(f"linux-armv8/{SIGN}{more}"), images)
        for more in ("", ",core=cortex-a76")
    )
    assert one.state_digest(lab) != other.state_digest(lab)
    assert one.digests["program"] == other.digests["program"]


@pytest.mark.parametrize("target", PLAIN_TARGETS)
def test_the_counter_counts_instructions(measured: Measured, target: str) -> None:
    """A loop of two million, and one more before it: by the generic timer, and by perf's cycles where there is none."""
    checked = measured(f"{target}/mbedtls28-O2/hardclock,curve=secp256r1,size=32B")
    # The call of the loop and its return are in it, and in some of the samples a tick of Linux's timer.
    assert 2_000_000 < min(sample.count for sample in checked.samples["loop", "linux"]) < 2_000_050


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name, one in portables().items() if one.manifest.needs.linux])
def test_every_library_works(measured: Measured, name: str) -> None:
    """If this fails, a library gives a wrong answer in one of its operations, or takes wrong input for right."""
    for curve, operations in portables()[name].manifest.operations.items():
        for operation in operations:
            parameters = {"curve": "" if curve == NO_CURVE else curve, "size": _SIZES.get(operation, "")}
            text = ",".join(filter(None, (f"{key}={value}" if value else "" for key, value in parameters.items())))
            checked = measured(f"linux-armv8/{name}-O2/{operation},{text}".rstrip(","), samples=1, warmup=0)
            assert all(series[0].count > 0 for series in checked.samples.values())


@pytest.mark.parametrize(
    "text",
    [
        ECDH,
        "openssl-O2/sign,curve=secp384r1,size=32B",
        "openssl-O2/sign,curve=secp112r1,size=32B",
        "lib25519-O2/verify,curve=ed25519,size=32B",
        "libsodium-O2/sha512,size=64KiB",
        "mbedtls28-O2/verify,curve=secp256k1,size=32B,options=window-2+asm-off",
        "openssl-O2/aes,size=4KiB,key=256,mode=gcm,direction=decrypt",
    ],
)
def test_libraries_on_armv7(measured: Measured, text: str) -> None:
    """Each kind once: every evidence is checked on the host."""
    checked = measured(f"linux-armv7/{text}", samples=2, warmup=0)
    assert all(sample.count > 0 for samples in checked.samples.values() for sample in samples)


def test_nonces_by_rfc_6979(records_of: RunCase) -> None:
    """s2n-bignum's signatures are those that another library makes of the same key and message, to the bit."""

    def evidence(wanted: Case) -> list[dict[str, str]]:
        records = map(json.loads, records_of(wanted).splitlines())
        return [record for record in records if record["type"] == "evidence"]

    case = "linux-armv8/s2n-bignum-O2/{},curve=secp256r1{}"
    key, *_ = evidence(parse_case(case.format("keygen", ""), samples=1, warmup=0))
    # Both programs draw their first key from the first random bytes.
    private = ec.derive_private_key(int(key["private"], 16), ec.SECP256R1())
    signatures = evidence(parse_case(case.format("sign", ",size=32B"), samples=8, warmup=0))
    assert len(signatures) >= 8
    for index, one in enumerate(signatures):
        assert one["public"] == key["public"]
        expected = private.sign(message(32, index), ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        assert one["signature"] == "".join(f"{part:064x}" for part in decode_dss_signature(expected))


def test_a_program_that_is_not_there_is_told(emulator: Emulator, images: ImageStore, tmp_path: Path) -> None:
    wanted = parse_case(f"linux-armv8/{SIGN}")
    machine = EMULATED["linux-armv8"].machine(wanted, images)
    without = dataclasses.replace(
        machine, files={name: path for name, path in machine.files.items() if name != "program"}
    )
    outcome = emulator.run(without, EMULATED["linux-armv8"].program(wanted), tmp_path)
    assert outcome.status == 1
    assert "fetch: /machine/program: " in (tmp_path / "records.jsonl").read_text()


@pytest.mark.parametrize(("how", "says"), [("kernel-panic", "the guest's kernel panicked"), ("hang", "hangs")])
@pytest.mark.parametrize("target", PLAIN_TARGETS)
def test_failures_are_told(lab: Lab, images: ImageStore, tmp_path: Path, target: str, how: str, says: str) -> None:
    machine = EMULATED[target].machine(parse_case(f"{target}/{SIGN}"), images)
    with pytest.raises(WorldwiseError, match=says):
        Emulator(lab, silence_limit=2 if how == "hang" else 120).run(machine, ("/bin/faults", how), tmp_path)
