# SPDX-License-Identifier: BSD-2-Clause
"""The user's own stack: what its file may say, what images are made of with it, and what a run keeps of it."""

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_compare_gate import TEE, run_of

from synthetic import RecordList, make_records
from worldwise.base.errors import WorldwiseError
from worldwise.cli.user_code.stack import require_part
from worldwise.lab.image import Recipe
from worldwise.lab.sandbox.limits import Limits
from worldwise.libraries.own_library import own_libraries
from worldwise.libraries.stacks import copies, stack
from worldwise.libraries.stacks.config import config_of, require_known, require_settings, require_words
from worldwise.libraries.stacks.stack import BroughtStack
from worldwise.machine.diagnosis import judge
from worldwise.machine.machine import RECORDS, SECURE_CONSOLE, Machine
from worldwise.machine.snapshot import Snapshots
from worldwise.plan.case import Case
from worldwise.read import run_counts
from worldwise.read.compared import gate
from worldwise.read.compared.comparison import Setting
from worldwise.read.compared.stacks import changed_settings
from worldwise.report import comparisons
from worldwise.report.answer import measured_lines
from worldwise.run.folder.own_entries import entry_of, libraries_of
from worldwise.targets import optee_images
from worldwise.targets.architecture import QUIET
from worldwise.targets.guest import kernel, kernel_net
from worldwise.targets.inputs import boot_words, linux_words
from worldwise.targets.optee import OF_OPTEE, OPTEE_TARGETS

DEBUG = '[optee.settings]\nCFG_TEE_CORE_DEBUG = "n"\n'
PATCH = "--- a/core/x.c\n+++ b/core/x.c\n@@ -1 +1 @@\n-a\n+b\n"


def brought(folder: Path, text: str) -> BroughtStack:
    """A stack whose file has this text."""
    file = folder / "my-stack.toml"
    file.write_text(text)
    return copies.bring(file, folder / "store")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it changes nothing"),
        ("[optee]\n", "it changes nothing"),
        ("[optee]\nsetings = {}\n", "my-stack.toml:2: optee.setings: there is no such key"),
        ('[optee.settings]\nCFG_A = "n; reboot"\n', "my-stack.toml:2: optee.settings.CFG_A"),
        ('[optee.settings]\nCFG_A = "$(shell reboot)"\n', "my-stack.toml:2: optee.settings.CFG_A"),
        ('[optee.settings]\n"A B" = "n"\n', "my-stack.toml:2:"),
        ("[optee.settings]\nCFG_A = 1.5\n", 'CFG_A: must be a word of make such as "y" or "8", is a number.'),
        ('[optee.settings]\nO = "/tmp"\n', "my-stack.toml:2:"),
        ('[optee.settings]\nCFG_CORE_ASLR = "y"\n', "CFG_CORE_ASLR cannot be set: addresses are named after the run"),
        ('[tf-a.settings]\nSPD = "none"\n', "SPD cannot be set"),
        ('[linux]\nwords = ["initrd=0"]\n', "'initrd' cannot be set: it holds the machine still"),
        ('[linux]\nwords = ["a b"]\n', "my-stack.toml:2: linux.words"),
        ('[optee]\npatches = ["none.patch"]\n', "none.patch cannot be read: No such file or directory"),
        ('[optee]\npatches = ["my-stack.toml"]\n', "is no unified diff"),
        ('[optee]\nsource = "none"\n', "optee.source: there is no folder "),
        ('[optee]\nsource = "."\n', "is no source of OP-TEE OS: it has no folder core/arch/arm"),
        (
            '[optee]\nplatform = "vexpress-qemu_virt"\n',
            "my-stack.toml:2: optee.platform: vexpress-qemu_virt is OP-TEE for",
        ),
        ('[optee]\nplatform = "imx-mx8mqevk"\n', "which OP-TEE calls 'vexpress-qemu_armv8a'; leave the line out"),
        ('[optee]\ncompiler = "icc"\n', "my-stack.toml:2: optee.compiler: there is no compiler 'icc' for OP-TEE here"),
        ('[optee]\ncompiler = "gcc"\n', "it changes nothing"),
        ('[optee.settings]\nPLATFORM = "stm"\n', "PLATFORM cannot be set: it is a line of its own: [optee] platform"),
        ('[optee.settings]\nCOMPILER = "clang"\n', "COMPILER cannot be set: it is a line of its own: [optee] compiler"),
        ('[optee.settings]\nCFG_USER_TA_TARGETS = "ta_arm32"\n', "`run --ta DIR --ta-target ta_arm32` builds one of"),
        ('[optee.settings]\nCFG_CORE_SEL1_SPMC = "y"\n', "into the secure world: [tf-a] SPMC_AT_EL = 1"),
        ('[tf-a.settings]\nSPMC_AT_EL3 = "1"\n', "into the secure world: [tf-a] SPMC_AT_EL = 1"),
        ("[tf-a]\nSPMC_AT_EL = 1\n", "SPMC_AT_EL needs a Linux that speaks FF-A (CONFIG_ARM_FFA_TRANSPORT=m)"),
        ("[tf-a]\nSPMC_AT_EL = 2\n", "my-stack.toml:2: tf-a.SPMC_AT_EL: the SPMC at S-EL2 is Hafnium"),
        ('[tf-a]\nSPMC_AT_EL = "1"\n', "tf-a.SPMC_AT_EL: it is 'opteed', 1 or 3"),
        ("[tf-a]\nSPMC_AT_EL = true\n", "tf-a.SPMC_AT_EL: it is 'opteed', 1 or 3"),
        ('[tf-a]\nSPMC_AT_EL = "opteed"\n', "it changes nothing"),
        ("[linux]\npackage = []\n", "my-stack.toml:2: linux.package"),
        ('[linux]\nsource = "linux"\n', "linux: 'source' is no key of a kernel: no kernel is compiled here."),
        ('[linux]\nconfig = ".config"\n', "`make bindeb-pkg` with it makes a package"),
        ('[linux]\nversion = "6.1.0-50"\n', "`apt-get download linux-image-VERSION-cloud-arm64:arm64` fetches one"),
        ('[linux]\npackage = "none.deb"\n', "none.deb cannot be read: No such file or directory"),
        ('[linux]\npackage = "my-stack.toml"\n', "my-stack.toml is no Debian package"),
        ("optee = [", "my-stack.toml:1: not valid TOML"),
    ],
)
def test_a_bad_stack_is_refused_by_file_line_and_key(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError) as refused:
        brought(tmp_path, text)
    assert words in refused.value.message


def test_a_setting_needs_no_quotes(tmp_path: Path) -> None:
    """If this fails, who writes a number as TOML has it is refused, or make gets `True`."""
    optee = "[optee.settings]\nCFG_A = 8\nCFG_B = true\nCFG_C = false\n"
    found = brought(tmp_path, f"{optee}[tf-a.settings]\nDD = true\nEE = false\nFF = 2\n").stack
    assert found.optee.settings == {"CFG_A": "8", "CFG_B": "y", "CFG_C": "n"}
    assert found.firmware.settings == {"DD": "1", "EE": "0", "FF": "2"}


def test_the_copy_has_all_that_the_file_names(tmp_path: Path) -> None:
    """If this fails, a run's stack changes when its folder does."""
    for name in ("b.patch", "a.patch"):
        (tmp_path / name).write_text(PATCH)
    (tmp_path / "tree" / "core" / "arch" / "arm").mkdir(parents=True)
    (tmp_path / "tree" / "core" / "arch" / "arm" / "sub.mk").write_text("srcs-y += a.c\n")
    made = brought(tmp_path, '[optee]\nsource = "tree"\npatches = ["b.patch", "a.patch"]\n')
    names = ["patches/0001-b.patch", "patches/0002-a.patch", "stack.toml", "tree/core/arch/arm/sub.mk"]
    assert sorted(made.files) == names
    (tmp_path / "a.patch").write_text(PATCH.replace("+b", "+c"))
    again = copies.bring(tmp_path / "my-stack.toml", tmp_path / "store")
    assert made.digest != again.digest
    assert copies.kept(made.digest, tmp_path / "store") is not None
    assert (made.folder / "patches" / "0002-a.patch").read_text() == PATCH


def test_a_link_out_of_the_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree" / "core" / "arch" / "arm").mkdir(parents=True)
    (tmp_path / "secret").write_text("")
    (tmp_path / "tree" / "core" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(WorldwiseError, match="that is not in the folder"):
        brought(tmp_path, '[optee]\nsource = "tree"\n')


def optee() -> Recipe:
    return optee_images.optee(optee_images.APP_CORE, "O2")


def user_space() -> Recipe:
    return optee_images.initramfs("attestation", Recipe("programs-attestation", "programs-app.sh", ()))


def test_images_are_made_with_the_stack_in_use_alone(tmp_path: Path) -> None:
    """If this fails, a stack has no effect, or stays in effect."""
    plain = (optee(), optee_images.firmware(), boot_words(TEE))
    text = f'{DEBUG}[tf-a.settings]\nENABLE_FEAT_RNG = "0"\n[linux]\nwords = ["quiet"]\n'
    with stack.used(brought(tmp_path, text)):
        settings = optee().needs["objects"].settings["OPTIMISATION"]
        assert settings == "CFG_CC_OPT_LEVEL=2 CFG_CRYPTO_SIZE_OPTIMIZATION=n CFG_TEE_CORE_DEBUG=n"
        assert optee_images.firmware().settings == {"SETTINGS": "ENABLE_FEAT_RNG=0"}
        assert optee_images.firmware(ticks_in_both_worlds=True).settings == {
            "SETTINGS": "NS_TIMER_SWITCH=0 ENABLE_FEAT_RNG=0"
        }
        assert boot_words(TEE) == (*plain[2], "quiet")
        # The source is the same, so what the settings leave the same is kept.
        with stack.used(None):
            lab = optee().needs["objects"]
        assert optee().needs["objects"].needs["objects"] == lab
        # Of Linux alone nothing depends on it.
        with stack.used(None):
            assert (optee(), optee_images.firmware(), boot_words(TEE)) == plain
    assert (optee(), optee_images.firmware(), boot_words(TEE)) == plain


def test_another_source_is_compiled_whole(tmp_path: Path) -> None:
    """If this fails, objects of the lab's OP-TEE are in a core that is made of patched files: make looks at times."""
    (tmp_path / "a.patch").write_text(PATCH)
    with stack.used(brought(tmp_path, '[optee]\npatches = ["a.patch"]\n')):
        objects = optee().needs["objects"]
        assert "objects" not in objects.needs
        assert objects.needs["source"].script == "optee-patched.sh"
        assert objects.needs["source"].needs["source"].script == "optee-source.sh"


def test_what_a_ta_asks_for_is_in_another_source_too(tmp_path: Path) -> None:
    """If this fails, SHA-256 on a user's source ends when its TA asks for the cycle counter, or other cores moved."""
    (tmp_path / "tree" / "core" / "arch" / "arm").mkdir(parents=True)
    (tmp_path / "tree" / "core" / "arch" / "arm" / "sub.mk").write_text("srcs-y += a.c\n")
    hashing = Case("optee", "mbedtls-nist", "O2", "sha256", 1, 0, (("size", "1KiB"),))
    signing = Case("optee", "mbedtls-nist", "O2", "attestdiv", 1, 0)
    target = OPTEE_TARGETS["optee"]
    with stack.used(None):
        assert optee() in target.recipes(hashing)
    with stack.used(brought(tmp_path, '[optee]\nsource = "tree"\n')):
        assert optee() in target.recipes(signing)
        assert "CFG_WORLDWISE_COUNTER_PTA=n" in optee().needs["objects"].settings["OPTIMISATION"]
        counting = optee_images.optee(optee_images.APP_CORE, "O2", optee_images.COUNTER)
        assert counting in target.recipes(hashing)
        assert "CFG_WORLDWISE_COUNTER_PTA=n" not in counting.needs["objects"].settings["OPTIMISATION"]
        # The programs are built by the same core's dev kit, so that no other is compiled.
        (programs,) = (one for one in target.recipes(hashing) if one.name.startswith("programs-sha256"))
        assert programs.needs["optee"] == counting


def test_another_kernel_is_of_its_package(tmp_path: Path) -> None:
    """If this fails, a stack with a kernel of its own is measured on the lab's, or another stack on that."""
    (tmp_path / "linux-image-6.1.deb").write_bytes(b"!<arch>\ndebian-binary   1")
    made = brought(tmp_path, '[linux]\npackage = "linux-image-6.1.deb"\n')
    assert sorted(made.files) == ["linux-image.deb", "stack.toml"]
    assert stack.words(made.stack) == ("Linux of linux-image-6.1.deb",)
    with stack.used(made):
        for recipe, module in ((kernel(), "optee.ko"), (kernel_net(), "virtio_net.ko")):
            assert recipe.script == "linux-own.sh"
            assert recipe.trees == {"linux-image.deb": made.folder / "linux-image.deb"}
            assert module in recipe.outputs
            assert not recipe.packages
            assert "arm_ffa" not in recipe.settings["MODULES"]
        # What the kernel's modules need besides is laid over the user space.
        assert user_space().script == "initramfs-modules.sh"
        assert optee_images.net_initramfs(user_space()).needs.keys() == {"initramfs", "linux", "linux-net"}
    assert user_space().script == "initramfs.sh"
    assert kernel().script == "linux.sh"
    with stack.used(brought(tmp_path, DEBUG)):
        assert (kernel().script, kernel_net().script) == ("linux.sh", "linux-net.sh")


SPMC = '[tf-a]\nSPMC_AT_EL = {level}\n[linux]\npackage = ["linux-binary-7.2.deb", "linux-modules-7.2.deb"]\n'


@pytest.mark.parametrize(
    ("level", "firmware", "core", "header"),
    [
        (1, "SPMC_OPTEE=1", "CFG_CORE_SEL1_SPMC=y", "bl32.bin"),
        (3, "SPMC_AT_EL3=1", "CFG_CORE_EL3_SPMC=y CFG_DT_ADDR=0x40000000", "bl32_extra1.bin"),
    ],
)
def test_a_secure_partition_manager_is_in_firmware_core_and_linux(
    level: int, firmware: str, core: str, header: str, tmp_path: Path
) -> None:
    """If this fails, TF-A and OP-TEE disagree on who manages partitions, and the machine hangs at boot."""
    for name in ("binary", "modules"):
        (tmp_path / f"linux-{name}-7.2.deb").write_bytes(b"!<arch>\ndebian-binary   1")
    made = brought(tmp_path, SPMC.format(level=level))
    assert sorted(made.files) == ["linux-image-2.deb", "linux-image.deb", "stack.toml"]
    assert stack.words(made.stack)[0] == f"TF-A SPMC_AT_EL={level}"
    plain = optee_images.firmware()
    with stack.used(made):
        built = optee_images.firmware()
        assert firmware in built.settings["SETTINGS"]
        assert "SPD=spmd" in built.settings["SETTINGS"]
        assert optee_images.firmware(ticks_in_both_worlds=True).settings == built.settings
        assert optee_images.SPMC_MANIFEST in built.outputs
        assert core in optee().needs["objects"].settings["OPTIMISATION"]
        assert kernel().settings["MODULES"].startswith("drivers/firmware/arm_ffa/ffa-module drivers/tee/tee ")
        assert sorted(kernel().trees) == ["linux-image-2.deb", "linux-image.deb"]
        assert OPTEE_TARGETS["optee"].secure_files(level)["bl32.bin"] == header
    assert optee_images.firmware() == plain
    assert OPTEE_TARGETS["optee"].secure_files(0) == {name: name for name in OF_OPTEE}


def test_clang_builds_the_core_in_a_root_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a core that GCC compiled is measured as clang's, or Linux's library of GCC beside clang's core."""
    asked = []

    def built(name: str, _source: Recipe, settings: Mapping[str, str], *_others: object) -> Path:
        asked.append((name, settings))
        return tmp_path

    monkeypatch.setattr("worldwise.libraries.stacks.clang.built", built)
    made = brought(tmp_path, '[optee]\ncompiler = "clang"\n')
    assert stack.words(made.stack) == ("OP-TEE by clang",)
    with stack.used(made):
        assert optee().trees == {"objects": tmp_path}
        kit = optee_images.whole_dev_kit(optee_images.APP_CORE, "O2")
    (core, whole) = asked
    assert (core[0], core[1]["TA_MBEDTLS"]) == ("optee-mbedtls-nist-O2-clang", "few")
    # A user's TA may be linked with all of Mbed TLS, and is with clang's.
    assert (whole[0], whole[1]) == ("optee-devkit-mbedtls-nist-O2-clang", {**core[1], "TA_MBEDTLS": "whole"})
    assert (kit.outputs, kit.trees) == (("devkit.tar",), {"objects": tmp_path})
    assert optee().script == "optee-built.sh"
    assert not optee().trees
    with pytest.raises(WorldwiseError, match="is OP-TEE's library in Linux, which GCC alone compiles"):
        require_part(made, [TEE, Case("linux", "mbedtls-nist", "O2", "attestdiv", 3, 1)])
    require_part(made, [TEE])


def test_the_dev_kit_of_32_bits_is_the_stacks_and_an_image_of_its_own(tmp_path: Path) -> None:
    """If this fails, a TA of 32 bits is linked with another OP-TEE's libraries, or the catalogue's images move."""
    plain = optee_images.dev_kit_of_32_bits(optee_images.APP_CORE, "O2")
    assert plain.outputs == ("devkit.tar",)
    assert plain.settings["TA_MBEDTLS"] == "whole"
    assert list(plain.needs) == ["source"]
    made = brought(tmp_path, '[optee.settings]\nCFG_TEE_CORE_DEBUG = "n"\n')
    with stack.used(made):
        of_stack = optee_images.dev_kit_of_32_bits(optee_images.APP_CORE, "O2")
    assert "CFG_TEE_CORE_DEBUG=n" in of_stack.settings["OPTIMISATION"]
    by_clang = brought(tmp_path, '[optee]\ncompiler = "clang"\n')
    with stack.used(by_clang), pytest.raises(WorldwiseError, match="clang has no libraries for 32-bit Arm") as refused:
        optee_images.dev_kit_of_32_bits(optee_images.APP_CORE, "O2")
    assert refused.value.hint == "--ta-target ta_arm64, or compiler = 'gcc'"


def core(folder: Path, conf: str) -> Path:
    """An image's folder of an OP-TEE with this conf.h."""
    folder.mkdir(parents=True)
    with tarfile.open(folder / "flags.tar", "w") as archive:
        member = tarfile.TarInfo("./include/generated/conf.h")
        member.size = len(conf)
        archive.addfile(member, io.BytesIO(conf.encode()))
    return folder


CONF = '#define CFG_A 1\n/* CFG_B is not set */\n#define CFG_N 4\n#define CFG_S "word"\n#define CFG_P (2 + 2)\n'


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"CFG_A": "y", "CFG_B": "n", "CFG_N": "4", "CFG_S": "word", "CFG_STEERS_MAKE": "y"}, ""),
        ({"CFG_A": "n"}, "CFG_A=n has no effect: OP-TEE's own makefiles made it y"),
        ({"CFG_B": "y"}, "CFG_B=y has no effect: OP-TEE's own makefiles made it n"),
        ({"CFG_N": "8"}, "CFG_N=8 has no effect: OP-TEE's own makefiles made it 4"),
    ],
)
def test_a_setting_that_the_build_overrules_is_told(settings: Mapping[str, str], problem: str, tmp_path: Path) -> None:
    lines = "".join(f'{name} = "{value}"\n' for name, value in settings.items())
    made = brought(tmp_path, f"[optee.settings]\n{lines}")
    image = core(tmp_path / "image", CONF)
    if not problem:
        require_settings(made, image)
        return
    with pytest.raises(WorldwiseError, match=problem):
        require_settings(made, image)


def test_a_setting_that_nobody_reads_is_told(tmp_path: Path) -> None:
    made = brought(tmp_path, '[optee.settings]\nCFG_TEE_CORE_DEBG = "n"\n')
    names = tmp_path / "names"
    names.write_text("CFG_TEE_CORE_DEBUG\nCFG_WERROR\n")
    with pytest.raises(WorldwiseError, match="CFG_TEE_CORE_DEBG is in no file of this OP-TEE") as refused:
        require_known(made, "optee.settings", made.stack.optee.settings, names)
    assert refused.value.hint == "did you mean 'CFG_TEE_CORE_DEBUG'?"
    firmware = brought(tmp_path, '[tf-a.settings]\nENABLE_FEAT_RNGG = "0"\n')
    names.write_text("ENABLE_FEAT_RNG\nSPD\n")
    with pytest.raises(WorldwiseError, match=r"tf-a\.settings: ENABLE_FEAT_RNGG is in no makefile of TF-A") as refused:
        require_known(firmware, "tf-a.settings", firmware.stack.firmware.settings, names)
    assert refused.value.hint == "did you mean 'ENABLE_FEAT_RNG'?"


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("mitigations=off", True),
        ("quiet", True),
        ("rcu-nocbs=0", True),
        ("optee.any=1", True),
        ("mitigation=off", False),
        ("itigations=off", False),
    ],
)
def test_a_word_that_linux_would_ignore_is_told(word: str, known: bool, tmp_path: Path) -> None:
    made = brought(tmp_path, f'[linux]\nwords = ["{word}"]\n')
    kernel = tmp_path / "Image"
    kernel.write_bytes(b"\xff\0mitigations=\0quiet\0rcu_nocbs\0")
    if known:
        require_words(made, kernel)
        return
    with pytest.raises(WorldwiseError, match=r"linux\.words: Linux has no parameter") as refused:
        require_words(made, kernel)
    assert word[0] != "m" or refused.value.hint == "did you mean 'mitigations'?"


def test_what_a_stack_names_is_sought_where_it_is_read(tmp_path: Path) -> None:
    """If this fails, a misspelt setting of OP-TEE or TF-A, or a word for Linux, changes nothing and nobody says so."""
    text = f'{DEBUG}[tf-a.settings]\nENABLE_FEAT_RNG = "0"\n[linux]\nwords = ["quiet"]\n'
    asked = []

    class Images:
        def get(self, recipe: Recipe) -> "Images":
            asked.append(recipe.name)
            return self

        def file(self, name: str) -> Path:
            path = tmp_path / name
            path.write_bytes(b"\0quiet\0" if name == "Image" else b"CFG_TEE_CORE_DEBUG\nENABLE_FEAT_RNG\n")
            return path

    with stack.used(made := brought(tmp_path, text)):
        optee_images.require_understood(made, Images())  # type: ignore[arg-type]
    assert asked == ["optee-names", "tf-a-names", "linux"]
    assert linux_words(QUIET) == QUIET
    with stack.used(made):
        assert linux_words(QUIET) == (*QUIET, "quiet")


@pytest.mark.parametrize("content", [b"", b"no archive", b"\0" * 10240])
def test_a_spoilt_archive_has_no_settings(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "flags.tar").write_bytes(content)
    assert config_of(tmp_path) == {}


def test_a_link_in_the_place_of_the_settings_is_not_followed(tmp_path: Path) -> None:
    """If this fails, what a stranger's build leaves makes the host read another file, or more than there is."""
    with tarfile.open(tmp_path / "flags.tar", "w") as archive:
        member = tarfile.TarInfo("include/generated/conf.h")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    assert config_of(tmp_path) == {}


def test_a_failed_build_is_told_in_words_of_the_stack(tmp_path: Path) -> None:
    made = brought(tmp_path, DEBUG)
    log = "cc a.c\ncore/a.c:3:1: error: expected ';'\nmake: *** [a.o] Error 1\n"
    for details, words in (
        (log, "core/a.c:3:1: error: expected ';'"),
        ("== x\nworldwise: the patch a.patch does not apply\n", "the patch a.patch does not apply"),
    ):
        with stack.used(made), pytest.raises(WorldwiseError) as refused, own_libraries.told("mbedtls-nist"):
            raise WorldwiseError("the build of optee failed", "see the log", details)
        assert refused.value.message == f"{made.origin}: {words}"
    with pytest.raises(WorldwiseError, match="the build of optee failed"), own_libraries.told("mbedtls-nist"):
        raise WorldwiseError("the build of optee failed", "see the log", log)


@pytest.mark.parametrize(("header", "old"), [("uint32_t *count);", True), ("__GP11_TEE_ReadObjectData();", False)])
def test_an_old_release_is_named_where_a_build_fails(header: str, old: bool, tmp_path: Path) -> None:
    """If this fails, whoever measures 3.20 reads of a pointer's type and not that no suite's TA builds there."""
    for name in ("core/arch/arm", "lib/libutee/include"):
        (tmp_path / "tree" / name).mkdir(parents=True)
    (tmp_path / "tree" / "lib" / "libutee" / "include" / "tee_internal_api.h").write_text(header)
    with (
        stack.used(brought(tmp_path, '[optee]\nsource = "tree"\n')),
        pytest.raises(WorldwiseError) as refused,
        own_libraries.told("mbedtls-nist"),
    ):
        raise WorldwiseError("the build of programs failed", "see the log", "ta.c:1:1: error: wrong type\n")
    assert ("older than 3.21" in refused.value.hint) == old
    assert "see the log" in refused.value.hint


def test_runs_of_two_stacks_are_compared_if_that_is_allowed(tmp_path: Path) -> None:
    """If this fails, an upgrade looks like a change of the code, or a report does not say what it was measured on."""
    made = brought(tmp_path, DEBUG)
    records: dict[Case, RecordList] = {TEE: make_records(TEE)}
    runs = tmp_path / "runs"
    digests = {"optee-mbedtls-nist-O2": "a" * 64}
    old = run_of(runs, 1, records, images=digests)
    new = run_of(runs, 2, records, images={"optee-mbedtls-nist-O2": "b" * 64}, own=[entry_of(made)])
    assert libraries_of(new) == []
    said = "The stack is not the lab's: OP-TEE CFG_TEE_CORE_DEBUG=n."
    assert said in measured_lines(run_counts.read_run(new))
    assert not any("stack" in line for line in measured_lines(run_counts.read_run(old)))
    with pytest.raises(WorldwiseError, match="stack: the lab's / OP-TEE CFG_TEE_CORE_DEBUG=n") as refused:
        gate.compare_runs(old, new, gate.GateOptions())
    assert "--allow stack" in refused.value.hint
    assert gate.compare_runs(old, new, gate.GateOptions(allow=frozenset({"stack"})))


def test_the_settings_that_differ_are_named(tmp_path: Path) -> None:
    digests = [letter * 64 for letter in "ab"]
    for digest, conf in zip(digests, (CONF, CONF.replace("CFG_A 1", "CFG_C 1")), strict=True):
        core(tmp_path / f"optee-x-{digest[:12]}", conf)

    class Manifest:
        def __init__(self, digest: str) -> None:
            self.images = {"optee-x": digest, "linux": "c" * 64, "optee-source": digest}

    def changed(a: str, b: str) -> tuple[list[Setting], list[str]]:
        return changed_settings([(Manifest(a), Manifest(b))], tmp_path)  # type: ignore[list-item]

    settings, notes = changed(*digests)
    assert settings == [
        Setting(image="optee-x", setting="CFG_A", a="y", b="absent"),
        Setting(image="optee-x", setting="CFG_C", a="absent", b="y"),
    ]
    assert notes == ["optee-x: 2 settings of OP-TEE differ."]
    assert changed(digests[0], digests[0]) == ([], ["optee-x: all 5 settings of OP-TEE are the same."])
    settings, notes = changed(digests[0], "d" * 64)
    assert not settings
    assert "no longer has both images" in notes[0]


def test_a_comparison_shows_the_settings_as_a_table(tmp_path: Path) -> None:
    """If this fails, whoever upgrades does not see which settings the new release chose otherwise."""
    records: dict[Case, RecordList] = {TEE: make_records(TEE)}
    run = run_of(tmp_path / "runs", 1, records)
    plain = gate.compare_runs(run, run, gate.GateOptions())
    assert "settings" not in json.loads(comparisons.to_json(plain))
    assert not any(section.title.startswith("Settings") for section in comparisons.sections(plain))
    settings = tuple(Setting(image="optee-x", setting=f"CFG_{number}", a="y", b="n") for number in range(8))
    changed = plain.model_copy(update={"settings": settings})
    (section,) = (
        each for each in comparisons.sections(changed, True) if each.title == "Settings of OP-TEE that differ"
    )
    assert section.table
    assert section.table.headers == ["setting", "A", "B"]
    assert section.table.rows == [[one.setting, "y", "n"] for one in settings]
    (section,) = (each for each in comparisons.brief_sections(changed) if each.title.startswith("Settings"))
    assert section.table
    assert len(section.table.rows) == 6
    assert section.notes == ["2 more settings differ (`--full` lists them)."]
    assert json.loads(comparisons.to_json(changed))["settings"][0] == {
        "image": "optee-x",
        "setting": "CFG_0",
        "a": "y",
        "b": "n",
    }
    two = (*settings, settings[0].model_copy(update={"image": "optee-y"}))
    (section,) = (
        each
        for each in comparisons.sections(plain.model_copy(update={"settings": two}))
        if each.title.startswith("Settings")
    )
    assert section.table
    assert section.table.headers == ["OP-TEE", "setting", "A", "B"]


def machine(stack_file: str) -> Machine:
    return Machine("optee-x", {}, {}, (), {}, 0x1000, {}, (), stack=stack_file)


@pytest.mark.parametrize(("stack_file", "boots"), [("my-stack.toml", 1), ("", 2)])
def test_a_stack_that_does_not_boot_is_tried_once(stack_file: str, boots: int, tmp_path: Path) -> None:
    """If this fails, each case of a stack that hangs at boot is waited for; or a busy host spoils all of a suite."""
    tried = []

    class Failing(Snapshots):
        def _boot_and_save(self, machine: Machine, work: Path) -> None:
            tried.append(work)
            raise WorldwiseError(f"{machine.shown} did not boot")

    lab = SimpleNamespace(cache=tmp_path, digest="0" * 64, recent=None)
    snapshots = Failing(SimpleNamespace(lab=lab), lambda _: None, 1)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(WorldwiseError, match="machine optee-x did not boot") as refused:
            snapshots.get(machine(stack_file))
        assert refused.value.message.startswith(stack_file or "machine")
    assert len(tried) == boots


def test_a_core_that_panics_is_blamed_on_its_stack(tmp_path: Path) -> None:
    (tmp_path / SECURE_CONSOLE).write_text("E/TC:0 0 Panic 'no heap' at core/kernel/boot.c:1 <init>\n")
    (tmp_path / RECORDS).write_text("")
    with pytest.raises(WorldwiseError) as refused:
        judge(1, tmp_path, machine("my-stack.toml"), SimpleNamespace(), Limits())  # type: ignore[arg-type]
    assert refused.value.message == (
        "my-stack.toml: machine optee-x: OP-TEE's core panicked: Panic 'no heap' at core/kernel/boot.c:1 <init>"
    )


def test_a_stack_that_is_gone_is_not_replaced_by_the_labs(tmp_path: Path) -> None:
    """If this fails, a run's instructions are explained by those of another OP-TEE."""
    with (
        pytest.raises(WorldwiseError, match="no longer has the stack abcdef"),
        own_libraries.kept({"stack": "abcdef" * 10}, tmp_path),
    ):
        pass
    made = brought(tmp_path, DEBUG)
    with stack.used(made):
        with own_libraries.kept({"stack": made.digest}, tmp_path):
            assert stack.current() == made
        with own_libraries.kept({}, tmp_path):
            assert stack.current() is None
        assert stack.current() == made


def test_a_stack_of_no_use_is_refused(tmp_path: Path) -> None:
    made = brought(tmp_path, DEBUG)
    board = Case("nucleo-f446re", "bearssl", "Os", "sign", 3, 1, (("curve", "secp256r1"), ("size", "32B")))
    with pytest.raises(WorldwiseError, match="no case that was chosen runs on the machine with OP-TEE"):
        require_part(made, [board])
    require_part(made, [board, TEE])
    (tmp_path / "tree" / "core" / "arch" / "arm").mkdir(parents=True)
    (tmp_path / "tree" / "core" / "arch" / "arm" / "sub.mk").write_text("")
    other = brought(tmp_path, '[optee]\nsource = "tree"\n')
    lean = Case("optee", "mbedtls-nist-lean", "O2", "empty-invoke", 3, 1)
    with pytest.raises(WorldwiseError, match="linux/mbedtls-nist-O2/attestdiv is OP-TEE's library in Linux"):
        require_part(other, [TEE, Case("linux", "mbedtls-nist", "O2", "attestdiv", 3, 1)])
    with pytest.raises(WorldwiseError, match="mbedtls-nist-lean-O2/empty-invoke changes OP-TEE 4"):
        require_part(other, [lean])
    require_part(made, [lean])
