# SPDX-License-Identifier: BSD-2-Clause
"""A suite on the user's own stack: the same OP-TEE as a variant of the catalogue with the same setting, to the byte."""

import io
import json
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from machines import Tool
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.stacks import copies, stack
from worldwise.targets import optee_images
from worldwise.targets.guest import KERNEL_PACKAGE, kernel

# Few of OP-TEE's files read it, so little is compiled.
SETTING = "CFG_CORE_WORKAROUND_SPECTRE_BP_SEC"
SAME = "mbedtls-nist-nospectre"
PATCH = """\
--- a/core/kernel/assert.c
+++ b/core/kernel/no_such_file.c
@@ -1 +1 @@
-a
+b
"""


@pytest.mark.timeout(1200)
def test_a_suite_runs_on_a_stack(lab: Lab, tmp_path: Path) -> None:
    """If this fails, a stack measures something else than what it says, or a run cannot be explained on its stack."""
    file = tmp_path / "my-stack.toml"
    file.write_text(f'[optee.settings]\n{SETTING} = "n"\n')
    tool = Tool(tmp_path)

    def said(*arguments: str) -> str:
        done = tool.run(*arguments, timeout=900)
        assert done.returncode == 0, done.stderr
        return done.stdout

    words = ("attestation", "--variant", "mbedtls-nist-O2", "--operation", "empty-invoke", "--samples", "3")
    plain = said("run", *words)
    stacked = said("run", *words, "--stack", str(file))
    assert f"The stack is not the lab's: OP-TEE {SETTING}=n." in stacked
    assert "The stack is not" not in plain

    images = ImageStore(lab)
    with stack.used(copies.bring(file, lab.cache / "own")):
        ours = images.get(optee_images.optee("mbedtls-nist", "O2"))
    theirs = images.get(optee_images.optee(SAME, "O2"))
    assert {name: ours.files[name] for name in ("bl32.bin", "bl32_extra1.bin")} == {
        name: theirs.files[name] for name in ("bl32.bin", "bl32_extra1.bin")
    }

    runs = [path.name for path in sorted((tmp_path / "runs").iterdir()) if (path / "run.json").exists()]
    refused = tool.run("compare", *runs)
    assert refused.returncode
    assert "--allow stack" in refused.stderr
    compared = said("compare", *runs, "--allow", "stack", "--format", "json")
    (row,) = json.loads(compared)["rows"]
    assert row["difference"] < 0
    assert json.loads(compared)["settings"] == [
        {"image": "optee-mbedtls-nist-O2", "setting": SETTING, "a": "y", "b": "n"}
    ]
    # The sum of all layers is the count, or the command stops.
    explained = json.loads(said("explain", runs[-1], "--format", "json"))
    assert explained["instructions"] - explained["measuring"] == row["b"]["median"]
    assert explained["unknown"] == 0


@pytest.mark.timeout(300)
def test_a_patch_that_does_not_apply_is_named(lab: Lab, tmp_path: Path) -> None:
    del lab
    (tmp_path / "odd.patch").write_text(PATCH)
    file = tmp_path / "my-stack.toml"
    file.write_text('[optee]\npatches = ["odd.patch"]\n')
    refused = Tool(tmp_path).run("stack", "check", str(file))
    assert refused.returncode
    assert "my-stack.toml: the patch odd.patch does not apply" in refused.stderr


def package(file: Path, content: Mapping[str, bytes]) -> None:
    """A Debian package with these files, by their paths."""
    members = {"debian-binary": b"2.0\n", "control.tar": archive({"./control": b""}), "data.tar": archive(content)}
    with file.open("wb") as made:
        made.write(b"!<arch>\n")
        for name, data in members.items():
            made.write(f"{name:16}{0:<12}{0:<6}{0:<6}{'100644':8}{len(data):<10}`\n".encode())
            made.write(data + b"\n" * (len(data) % 2))


def archive(content: Mapping[str, bytes]) -> bytes:
    """An archive of these files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return made.getvalue()


IMAGE = {"./boot/vmlinuz-6.1": b"\0" * 56 + b"ARMd"}
MODULES = "./lib/modules/6.1/kernel/drivers/tee"
TEE = {f"{MODULES}/tee.ko": b"\0depends=\0"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "linux.package: it has 0 files boot/vmlinuz-*"),
        ({"./boot/vmlinuz-6.1": b"\0" * 80}, "boot/vmlinuz-6.1 is no image of an arm64 kernel"),
        (IMAGE, "the kernel has no module drivers/tee/tee.ko; one with CONFIG_TEE=m and CONFIG_OPTEE=m"),
        (IMAGE | TEE, "the kernel has no module drivers/tee/optee/optee.ko"),
        (
            IMAGE | {"./lib/modules/6.1/modules.builtin": b"kernel/drivers/tee/tee.ko\n"},
            "the kernel has drivers/tee/tee built in, and the machine loads it as a module: configure it as =m",
        ),
        (
            IMAGE | TEE | {f"{MODULES}/optee/optee.ko": b"\0depends=tee,arm-ffa\0"},
            "its module optee needs the module arm_ffa, which the package does not have: configure that as =y",
        ),
    ],
)
def test_a_kernel_without_a_tee_is_refused(content: Mapping[str, bytes], words: str, lab: Lab, tmp_path: Path) -> None:
    """If this fails, whoever names a kernel without OP-TEE's driver waits three minutes for a machine that hangs."""
    del lab
    package(tmp_path / "linux.deb", content)
    file = tmp_path / "my-stack.toml"
    file.write_text('[linux]\npackage = "linux.deb"\n')
    refused = Tool(tmp_path).run("stack", "check", str(file))
    assert refused.returncode
    assert f"my-stack.toml: linux.package: {words.removeprefix('linux.package: ')}" in refused.stderr


@pytest.mark.timeout(600)
def test_the_labs_kernel_as_a_package_of_ones_own_gives_the_same_digits(lab: Lab, tmp_path: Path) -> None:
    """If this fails, a kernel of one's own differs from its package's file."""
    shutil.copy(lab.package_file(KERNEL_PACKAGE, "arm64"), tmp_path / "linux.deb")
    file = tmp_path / "my-stack.toml"
    file.write_text('[linux]\npackage = "linux.deb"\n')
    tool = Tool(tmp_path)
    words = ("attestation", "--variant", "mbedtls-nist-O2", "--operation", "empty-invoke", "--samples", "3")
    for more in ((), ("--stack", str(file))):
        done = tool.run("run", *words, *more, timeout=500)
        assert done.returncode == 0, done.stderr
    runs = [path.name for path in sorted((tmp_path / "runs").iterdir()) if (path / "run.json").exists()]
    compared = tool.run("compare", *runs, "--allow", "stack", "--format", "json")
    assert compared.returncode == 0, compared.stderr
    assert [row["difference"] for row in json.loads(compared.stdout)["rows"]] == [0]


@pytest.mark.timeout(300)
def test_a_kernel_without_ffa_is_refused_under_a_partition_manager(lab: Lab, tmp_path: Path) -> None:
    """If this fails, whoever asks for an SPMC with Debian's 6.12 waits for a machine whose Linux never finds OP-TEE."""
    shutil.copy(lab.package_file(KERNEL_PACKAGE, "arm64"), tmp_path / "linux.deb")
    file = tmp_path / "my-stack.toml"
    file.write_text('[tf-a]\nSPMC_AT_EL = 1\n[linux]\npackage = "linux.deb"\n')
    refused = Tool(tmp_path).run("stack", "check", str(file))
    assert refused.returncode
    words = "linux.package: the kernel has no module drivers/firmware/arm_ffa/ffa-module.ko, without which Linux finds"
    assert f"my-stack.toml: {words}" in refused.stderr


@pytest.mark.timeout(300)
def test_what_a_kernels_modules_need_is_loaded_before_them(lab: Lab, tmp_path: Path) -> None:
    """If this fails, a kernel whose TEE driver needs FF-A's core, such as Debian's 7.2, does not find OP-TEE."""
    more = {
        f"{MODULES}/optee/optee.ko": b"\0depends=tee,ffa-core\0",
        "./lib/modules/6.1/kernel/drivers/firmware/arm_ffa/ffa-core.ko": b"\0depends=\0",
    }
    package(tmp_path / "linux.deb", IMAGE)
    package(tmp_path / "modules.deb", TEE | more)
    file = tmp_path / "my-stack.toml"
    file.write_text('[linux]\npackage = ["linux.deb", "modules.deb"]\n')
    with stack.used(copies.bring(file, lab.cache / "own")):
        made = ImageStore(lab).get(kernel())
    assert made.file("modules").read_text().split() == ["tee", "ffa-core", "optee"]
    with tarfile.open(made.file("more.tar")) as more_modules:
        assert more_modules.getnames() == [".", "./ffa-core.ko"]


@pytest.mark.timeout(1800)
def test_a_stack_of_clang_is_measured_and_explained(lab: Lab, tmp_path: Path) -> None:
    """If this fails, a core that clang compiled is GCC's, or `explain` does not know its functions or their files."""
    del lab
    file = tmp_path / "my-stack.toml"
    file.write_text('[optee]\ncompiler = "clang"\n')
    tool = Tool(tmp_path)
    words = ("--variant", "mbedtls-nist-O2", "--operation", "empty-invoke", "--samples", "3", "--stack", str(file))
    done = tool.run("run", "attestation", *words, timeout=1500)
    assert done.returncode == 0, done.stderr
    assert "The stack is not the lab's: OP-TEE by clang." in done.stdout
    done = tool.run("explain", "latest", "--format", "json", timeout=300)
    assert done.returncode == 0, done.stderr
    explained = json.loads(done.stdout)
    assert explained["unknown"] == 0
    assert not [layer for layer in explained["layers"] if layer["layer"] == "no rule"]
