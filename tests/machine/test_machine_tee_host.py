# SPDX-License-Identifier: BSD-2-Clause
"""The client for a host with OP-TEE, and a TA signed anew, on the machine that has one; there perf counts too."""

import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from worldwise.base.counted import CYCLES
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import PROGRAM, RECORDS, TA_SUFFIX, Machine
from worldwise.machine.trusted import trust_of
from worldwise.plan.case import parse_case
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.globalplatform import name_results
from worldwise.records.parse import read_records
from worldwise.targets.known import EMULATED
from worldwise.targets.optee_images import optee
from worldwise.targets.silicon import SiliconTee

INVOKE, CALL = "optee/mbedtls-nist-O2/empty-invoke", "optee/mbedtls-nist-O2/call,size=0B"
CASE = parse_case(INVOKE, samples=5, warmup=1)
_INITRAMFS = "initramfs.cpio"


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
    emulator.run(over(target.machine(CASE, images), files, folder), target.program(CASE), folder / "case", "boot")
    path = folder / "case" / RECORDS
    return check_records(read_records(path), CASE, str(path), unit=CYCLES)


def test_the_client_calls_a_ta_and_perf_counts(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """If this fails, what goes to a host with OP-TEE calls no TA, or a TA that the tool signed is none for OP-TEE."""
    images.get(SiliconTee().client(parse_case(CALL)))
    with tarfile.open(images.get(optee("mbedtls-nist", "O2")).file("devkit.tar")) as kit:
        found = kit.extractfile("./keys/default_ta.pem")
        assert found
        (tmp_path / "key.pem").write_bytes(found.read())
    checked = called(images, emulator, tmp_path / "key.pem", tmp_path)
    assert checked.start.clock == "perf_cycles"
    for sample in checked.samples["invoke", "client"]:
        # TF-A stops the counters in the secure world, and nobody stops the time: a cycle is a nanosecond here.
        assert 1000 < sample.count < checked.conditions["invoke", sample.index].enabled / 3


def test_optee_refuses_a_ta_of_another_key(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """If this fails, the emulated OP-TEE checks no signature, and the test above shows nothing of ours."""
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(pem)
    with pytest.raises(WorldwiseError) as caught:
        called(images, emulator, tmp_path / "key.pem", tmp_path)
    assert "session 0 failed: 0xffff000f (TEE_ERROR_SECURITY)" in name_results(caught.value.message)
