# SPDX-License-Identifier: BSD-2-Clause
"""What a real machine says of itself, and what its images say of it."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from machines import fresh_cache
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import Machine
from worldwise.machine.symbols import memory_layout as asked
from worldwise.machine.symbols.machine import address_space
from worldwise.machine.symbols.space import AddressSpace, Level


@pytest.fixture
def space(emulator: Emulator, machine: Machine, images: ImageStore) -> AddressSpace:
    """The machine's symbols at their places."""
    return address_space(emulator, machine, images)


def address_of(space: AddressSpace, context: Level, image: str, function: str) -> int:
    """Where a function of an image is in a context."""
    for mapping in space.mappings(context):
        if mapping.table.image == image:
            for one in mapping.table.functions:
                if one.name == function:
                    return one.start + mapping.bias
    raise LookupError(f"{function} of {image} is not in {context}")


@pytest.mark.parametrize(
    ("context", "image", "function", "source"),
    [
        (Level("normal", 0, "optee-client"), "client", "main", "guest/apps/common/main.c"),
        (Level("normal", 0, "optee-client"), "libteec", "TEEC_InvokeCommand", ""),
        (Level("normal", 0, "optee-client"), "libteec", "teec_pre_process_operation", "libteec/src/tee_client_api.c"),
        (Level("normal", 0, "optee-client"), "libteec", "ioctl@plt", ""),
        (Level("normal", 0, "linux-bench"), "libc", "malloc", "malloc/malloc.c"),
        (Level("normal", 0, "linux-bench"), "linux:vdso", "__kernel_clock_gettime", ""),
        (Level("normal", 0, "tee-supplicant"), "tee-supplicant", "process_one_request", None),
        (Level("normal", 0, "init"), "init", "main", "guest/linux/init.c"),
        (Level("normal", 1), "linux", "el0t_64_sync_handler", ""),
        (Level("normal", 1), "linux:optee", "optee_smc_do_call_with_arg", ""),
        (Level("monitor", 3), "bl31", "opteed_smc_handler", "services/spd/opteed/opteed_main.c"),
        (Level("secure", 1), "tee", "thread_handle_std_smc", "core/arch/arm/kernel/thread_optee_smc.c"),
    ],
)
def test_every_level_has_names(
    context: Level, image: str, function: str, source: str | None, space: AddressSpace
) -> None:
    """If this fails, a layer of the machine is unknown, or its source files are."""
    address = address_of(space, context, image, function)
    found = space.lookup(context, address)
    assert found
    assert (found.function, found.image, found.offset) == (function, image, 0)
    if source is not None:
        assert found.source == source


def test_whole_images_have_names(space: AddressSpace) -> None:
    """If this fails, part of an image that a call may pass through is unknown."""
    for context in space.contexts():
        for mapping in space.mappings(context):
            table = mapping.table
            # Packaged programs whose static functions nothing names: those that a call may pass through are in
            # names.toml, the others count as unknown.
            if table.has_code and table.image not in ("tee-supplicant", "sha256sum", "libcrypto", "libz", "libzstd"):
                unknown = sum(end - start for start, end in table.gaps())
                # Constants between functions, and code that the kernel writes over others.
                assert unknown <= 64, f"{context} {table.image}: {unknown} bytes"


@pytest.fixture
def apart(emulator: Emulator, machine: Machine, tmp_path: Path) -> Emulator:
    """An emulator with a copy of what the machine has said: other tests read that at the same time."""
    other = Emulator(dataclasses.replace(emulator.lab, cache=fresh_cache(tmp_path / "cache")))
    other.directory.mkdir()
    snapshot = emulator.snapshot(machine)
    (other.directory / snapshot.name).symlink_to(snapshot)
    said = asked.machine_symbols(emulator, machine)
    shutil.copytree(said, other.directory / said.name)
    return other


def test_the_machine_is_asked_once(apart: Emulator, machine: Machine) -> None:
    """If this fails, each look at a run starts a machine, or a damaged file names addresses."""
    said = asked.machine_symbols(apart, machine)
    before = {path.name: path.read_bytes() for path in said.iterdir()}
    stamp = (said / "kallsyms").stat().st_mtime_ns
    assert (asked.machine_symbols(apart, machine) / "kallsyms").stat().st_mtime_ns == stamp
    (said / "kallsyms").write_bytes(before["kallsyms"][:-1])
    told: list[str] = []
    apart.notify = told.append
    assert asked.machine_symbols(apart, machine) == said
    assert {path.name: path.read_bytes() for path in said.iterdir()} == before
    assert "kallsyms has changed since it was made" in told[0]


def test_a_machine_that_cannot_say_is_told(apart: Emulator, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, addresses are named by half of what there is to know."""
    files = asked.initramfs_files(machine.files["initramfs.cpio"])
    monkeypatch.setattr(asked, "problem_of", lambda _directory, _digest: "not there")
    monkeypatch.setattr(asked, "initramfs_files", lambda _path: files | {"bin/none": b"\x7fELF"})
    with pytest.raises(WorldwiseError, match=r"does not give its memory layout: symbols: /bin/none: "):
        asked.machine_symbols(apart, machine)
