# SPDX-License-Identifier: BSD-2-Clause
"""The client for a host with OP-TEE, and its TA without a counter, signed anew, on the machine that has one."""

import struct
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from elftools.elf.elffile import ELFFile

from worldwise.base.errors import WorldwiseError
from worldwise.base.units import NANOSECONDS
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.sandbox.limits import Limits
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.emulator import Emulator
from worldwise.machine.linux_host.signed_tas import trust_of
from worldwise.machine.machine import PROGRAM, RECORDS, TA_SUFFIX, Machine
from worldwise.plan.case import parse_case
from worldwise.plan.catalogue import APPS
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.globalplatform import name_results
from worldwise.records.parse import read_records
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.families import case_app
from worldwise.targets.optee import programs_of
from worldwise.targets.optee_images import optee, whole_dev_kit
from worldwise.targets.silicon import SiliconTee

CASE = parse_case("optee/mbedtls-nist-O2/attestdiv", samples=2)
OTHERS = tuple(map(parse_case, ("optee/mbedtls-nist-O2/call,size=0B", "optee/mbedtls-nist-O2/hello")))
_INITRAMFS = "initramfs.cpio"
# MRS of CNTVCT_EL0 into any register.
_MRS, _REGISTER = 0xD53BE040, 0x1F


def archive(files: Mapping[str, bytes]) -> bytes:
    """A cpio archive: what Linux unpacks later takes the place of what it unpacked before."""
    found = b""
    for path, data in (*files.items(), ("TRAILER!!!", b"")):
        fields = (0, 0o100755, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + path.encode() + b"\0"
        found += head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
    return found


def over(machine: Machine, files: Mapping[str, bytes], folder: Path) -> Machine:
    """The machine with other files in its user space."""
    old = machine.files[_INITRAMFS].read_bytes()
    new = folder / _INITRAMFS
    new.write_bytes(old + bytes(-len(old) % 4) + archive(files))
    size = f",{len(old)}", f",{new.stat().st_size}"
    arguments = tuple(word.replace(*size) if "initrd=" in word else word for word in machine.arguments)
    return replace(machine, files={**machine.files, _INITRAMFS: new}, arguments=arguments)


def called(images: ImageStore, emulator: Emulator, key: Path, folder: Path) -> CheckedRecords:
    """What the client of a host records, with a TA that is signed with a key."""
    brought, target = SiliconTee().machine(CASE, images), EMULATED["optee"]
    name, ta = next((name, path) for name, path in brought.files.items() if name.endswith(TA_SUFFIX))
    signed = trust_of(str(key), "").signed(ta.read_bytes())
    files = {"bin/optee-client": brought.files[PROGRAM].read_bytes(), f"lib/optee_armtz/{name}": signed}
    (folder / "case").mkdir()
    emulator.run(over(target.machine(CASE, images), files, folder), SiliconTee().program(CASE), folder / "case", "boot")
    path = folder / "case" / RECORDS
    return check_records(read_records(path), CASE, str(path), unit=NANOSECONDS)


def reads_the_counter(program: Path) -> bool:
    """Whether an AArch64 program has an instruction that reads the timer."""
    with program.open("rb") as file:
        code = next(one.data() for one in ELFFile(file).iter_segments("PT_LOAD") if one.header.p_flags & 1)
    return any(word & ~_REGISTER == _MRS for (word,) in struct.iter_unpack("<I", code[: len(code) & ~3]))


def test_a_tas_counter_is_taken_out(images: ImageStore) -> None:
    """If this fails, the TA panics in an OP-TEE that lets no TA read a counter, which the emulated one does."""
    name = f"{APPS[case_app(CASE)].uuid}.elf"
    assert reads_the_counter(images.get(programs_of(CASE)).file(name))
    assert not reads_the_counter(images.get(SiliconTee().programs(CASE)).file(name))


def test_the_client_starts_with_what_it_brings(images: ImageStore) -> None:
    """If this fails, a host of another distribution has not the libraries, or not the loader, that the client wants."""
    host = open_lab(name="host")
    host.ensure()
    brought = SiliconTee().machine(CASE, images).files

    def said(*words: str, **files: Path) -> str:
        binds: list[Bind] = [(path, f"/tmp/{name}", "ro") for name, path in files.items()]
        # qemu-user asks for more addresses than a sandbox's program gets.
        limits = Limits(address_space=None)
        done = host.run(
            ["sh", "-c", f"cd /tmp && qemu-aarch64 {' '.join(words)}"], binds=binds, limits=limits, check=False
        )
        return done.stdout + done.stderr

    started = said("./loader", "--library-path", ".", "./program", **brought)
    assert "usage: optee-client [-] OPERATION" in started
    assert '"unit":"nanoseconds"' in said("./probe", probe=images.get(SiliconTee().probe()).file("probe"))


def test_the_client_calls_a_ta_that_was_signed_here(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """If this fails, what goes to a host with OP-TEE calls no TA, or a TA that the tool signed is none for OP-TEE."""
    for case in OTHERS:
        images.get(SiliconTee().client(case))
    with tarfile.open(images.get(optee("mbedtls-nist", "O2")).file("devkit.tar")) as kit:
        found = kit.extractfile("./keys/default_ta.pem")
        assert found
        (tmp_path / "key.pem").write_bytes(found.read())
    checked = called(images, emulator, tmp_path / "key.pem", tmp_path)
    # TF-A stops the counters in the secure world, and nobody stops the time: an instruction is a nanosecond here.
    assert checked.start.clock == "clock_monotonic_raw"
    (tmp_path / "plain").mkdir()
    target = EMULATED["optee"]
    emulator.run(target.machine(CASE, images), target.program(CASE), tmp_path / "plain")
    whole = check_records(read_records(tmp_path / "plain" / RECORDS), CASE).samples
    for measure in ("sign", "verify"):
        ours, plain = (median(one.count for one in series[measure, "client"]) for series in (checked.samples, whole))
        assert 0.9 * plain < ours < 1.1 * plain


def test_optee_refuses_a_ta_of_another_key(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """If this fails, the emulated OP-TEE checks no signature, and the test above shows nothing of ours."""
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(pem)
    with pytest.raises(WorldwiseError) as caught:
        called(images, emulator, tmp_path / "key.pem", tmp_path)
    assert "open failed: 0xffff000f (TEE_ERROR_SECURITY)" in name_results(caught.value.message)


def test_a_users_ta_has_all_of_mbedtls_and_ours_what_libutee_needs(images: ImageStore, lab: Lab) -> None:
    """If this fails, a user's TA that uses Mbed TLS is not linked, or every OP-TEE takes two fifths longer to build."""

    def objects(kit: Path) -> set[str]:
        words = "tar -xf /kit.tar -C /tmp ./lib/libmbedtls.a && aarch64-linux-gnu-ar t /tmp/lib/libmbedtls.a"
        return set(lab.run(["sh", "-c", words], binds=[(kit, "/kit.tar", "ro")]).stdout.split())

    ours = objects(images.get(optee("mbedtls-nist", "O2")).file("devkit.tar"))
    whole = objects(images.get(whole_dev_kit("mbedtls-nist", "O2")).file("devkit.tar"))
    assert ours == {"bignum.o", "bignum_core.o", "constant_time.o", "platform_util.o"}
    assert {"aes.o", "ecdsa.o", "rsa.o", "ssl_tls.o", "x509_crt.o", *ours} <= whole
