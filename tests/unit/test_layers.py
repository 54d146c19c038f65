# SPDX-License-Identifier: BSD-2-Clause
"""Rules of layers: how they are read, which one decides, and what those of the tool say of well-known functions."""

from pathlib import Path

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.explain.layers import NO_RULE, OTHER_PROCESS, UNKNOWN, Rules, load_rules


def load(directory: Path, text: str) -> Rules:
    """Rules from a file of that text."""
    path = directory / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return load_rules(path)


SMALL = """helpers = ["memset", "__mem*"]
[[layer]]
name = "b"
images = ["tee"]
sources = ["core/*"]
functions = ["thread_*", "exact"]

[[layer]]
name = "a"
images = ["tee", "ta*"]

[[layer]]
name = "b"
images = ["linux"]
"""


def test_the_first_rule_that_takes_a_function_decides(tmp_path: Path) -> None:
    """If this fails, the order of the file means nothing, or a pattern that is given does not count."""
    rules = load(tmp_path, SMALL)
    assert rules.layer("tee", "core/thread.c", "thread_init") == "b"
    assert rules.layer("tee", "core/thread.c", "exact") == "b"
    assert rules.layer("tee", "core/thread.c", "exactly") == "a"
    assert rules.layer("tee", "lib/thread.c", "thread_init") == "a"
    assert rules.layer("ta2", "", "any") == "a"
    assert rules.layer("linux", "", "any") == "b"
    assert rules.layer("Linux", "", "any") == NO_RULE
    assert rules.rule("bl31", "", "any") is None


def test_a_rule_says_where_it_stands_and_what_it_takes(tmp_path: Path) -> None:
    """If this fails, --why cannot be followed."""
    rules = load(tmp_path, SMALL)
    rule = rules.rule("tee", "core/thread.c", "exact")
    assert rule
    assert rule.line == 2
    assert rule.reason("tee", "core/kernel/thread.c", "exact") == "image tee, source core/*, function exact"
    other = rules.rules[1]
    assert other.reason("ta", "", "any") == "image ta*"


def test_layers_stand_in_the_order_of_their_first_rules(tmp_path: Path) -> None:
    """If this fails, tables have another order than the file."""
    assert load(tmp_path, SMALL).order == ("b", "a", OTHER_PROCESS, NO_RULE, UNKNOWN)


def test_helpers_are_patterns(tmp_path: Path) -> None:
    """If this fails, a function that is not inlined is folded into its callers, or the other way round."""
    rules = load(tmp_path, SMALL)
    assert [rules.is_helper(name) for name in ("memset", "__memcpy", "memset2", "main")] == [True, True, False, False]
    assert not load(tmp_path, '[[layer]]\nname = "a"\nimages = ["*"]\n').is_helper("memset")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[layer]\n", r"rules\.toml:1: "),
        ('\nlayers = 1\n[[layer]]\nname = "a"\nimages = ["*"]\n', r"rules\.toml:2: 'layers' is not known"),
        ('[[layer]]\nimages = ["*"]\n', r"rules\.toml:1: a layer needs a name"),
        ('[[layer]]\nname = ""\nimages = ["*"]\n', r"rules\.toml:1: a layer needs a name"),
        ('[[layer]]\nname = "a"\n', r"rules\.toml:1: a rule needs the key 'images'"),
        ('[[layer]]\nname = "a"\nimages = "*"\n', r"rules\.toml:3: must be a list of patterns"),
        ('[[layer]]\nname = "a"\nimages = []\n', r"rules\.toml:3: must be a list of patterns"),
        ('[[layer]]\nname = "a"\nimages = ["*"]\nfunctions = [1]\n', r"rules\.toml:4: must be a list of patterns"),
        ('[[layer]]\nname = "a"\nimages = ["*"]\nsource = ["x"]\n', r"rules\.toml:4: 'source' is not known"),
        ('helpers = ["memset"]\n', r"rules\.toml: there are no rules"),
        ('helpers = "memset"\n[[layer]]\nname = "a"\nimages = ["*"]\n', r"rules\.toml:1: must be a list of patterns"),
        ("layer = 1\n", r"rules\.toml:1: must be \[\[layer\]\] tables"),
        ("layer = [1]\n", r"rules\.toml:1: must be \[\[layer\]\] tables"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    """If this fails, a slip in a rule goes unnoticed or cannot be found."""
    with pytest.raises(WorldwiseError, match=message):
        load(tmp_path, text)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """If this fails, a wrong path is a traceback."""
    with pytest.raises(WorldwiseError, match=r"none\.toml: cannot be read"):
        load_rules(tmp_path / "none.toml")


# --- the tool's own rules ---


@pytest.mark.parametrize(
    "layer",
    [
        "client",
        "libteec",
        "libc and the dynamic linker",
        "Linux: system call entry",
        "Linux: TEE driver",
        "Linux: memory",
        "Linux: scheduler and interrupts",
        "Linux: randomness",
        "monitor",
        "OP-TEE: entry and threads",
        "OP-TEE: sessions and user maps",
        "OP-TEE: memory management",
        "OP-TEE: system calls",
        "OP-TEE: copying",
        "OP-TEE: cryptography",
        "OP-TEE: storage",
        "ldelf",
        "TA runtime",
        "TA code",
    ],
)
def test_every_layer_of_a_call_is_there(layer: str) -> None:
    """If this fails, a part of the system has no layer of its own."""
    assert layer in load_rules().layers


@pytest.mark.parametrize(
    ("image", "source", "function", "layer"),
    [
        ("client", "guest/apps/attestation/client.c", "main", "client"),
        ("linux-bench", "lib/libmbedtls/mbedtls/library/bignum.c", "mbedtls_mpi_grow", "client: cryptography"),
        ("linux-bench", "guest/linux/bench.c", "main", "client"),
        ("libteec", "", "TEEC_InvokeCommand", "libteec"),
        ("libc", "malloc/malloc.c", "malloc", "libc and the dynamic linker"),
        ("ld.so", "", "_dl_runtime_resolve", "libc and the dynamic linker"),
        ("tee-supplicant", "", "process_one_request", "tee-supplicant"),
        ("linux", "", "el0t_64_sync_handler", "Linux: system call entry"),
        ("linux", "", "invoke_syscall", "Linux: system call entry"),
        ("linux", "", "get_random_u16", "Linux: randomness"),
        ("linux", "", "chacha_block_generic", "Linux: randomness"),
        ("linux", "", "__arm_smccc_smc", "Linux: TEE driver"),
        ("linux:optee", "", "optee_smc_do_call_with_arg", "Linux: TEE driver"),
        ("linux:tee", "", "tee_ioctl", "Linux: TEE driver"),
        ("linux", "", "kmem_cache_alloc_noprof", "Linux: memory"),
        ("linux", "", "handle_mm_fault", "Linux: memory"),
        ("linux", "", "__arch_copy_from_user", "Linux: memory"),
        ("linux", "", "cpu_switch_to", "Linux: scheduler and interrupts"),
        ("linux", "", "gic_handle_irq", "Linux: scheduler and interrupts"),
        ("linux", "", "hrtimer_interrupt", "Linux: scheduler and interrupts"),
        ("bl31", "services/spd/opteed/opteed_main.c", "opteed_smc_handler", "monitor"),
        ("tee", "lib/libutils/isoc/newlib/memset.c", "memset", "OP-TEE: helpers"),
        ("tee", "core/arch/arm/kernel/thread_optee_smc_a64.S", "thread_vector_table", "OP-TEE: entry and threads"),
        ("tee", "core/arch/arm/kernel/thread.c", "thread_state_suspend", "OP-TEE: entry and threads"),
        ("tee", "core/kernel/tee_ta_manager.c", "tee_ta_invoke_command", "OP-TEE: sessions and user maps"),
        ("tee", "core/mm/vm.c", "vm_map_pad", "OP-TEE: sessions and user maps"),
        ("tee", "core/arch/arm/mm/core_mmu.c", "core_mmu_set_user_map", "OP-TEE: memory management"),
        ("tee", "core/tee/tee_svc_cryp.c", "syscall_asymm_operate", "OP-TEE: system calls"),
        ("tee", "core/kernel/user_access.c", "copy_from_user", "OP-TEE: copying"),
        ("tee", "lib/libmbedtls/mbedtls/library/ecp.c", "mbedtls_ecp_mul", "OP-TEE: cryptography"),
        ("tee", "core/lib/libtomcrypt/src/hashes/sha2/sha256.c", "sha256_process", "OP-TEE: cryptography"),
        ("tee", "core/tee/tee_ree_fs.c", "ree_fs_open", "OP-TEE: storage"),
        ("ldelf", "ldelf/ta_elf.c", "ta_elf_load_main", "ldelf"),
        ("ta", "ta/arch/arm/user_ta_header.c", "__ta_entry", "TA runtime"),
        ("ta", "lib/libutee/tee_api.c", "TEE_Malloc", "TA runtime"),
        ("ta", "guest/apps/attestation/ta/attestation_ta.c", "TA_InvokeCommandEntryPoint", "TA code"),
        ("program", "guest/pqc-adapters/wolfssl-pqc.c", "pqc_encaps", "adapter"),
        ("program", "guest/pqc-operations/operations.c", "run_encaps", "bench"),
        ("program", "guest/tzm/pqc-behind.c", "pqc_encaps", "non-secure caller"),
        ("secure", "guest/tzm/pqc-library.c", "carry_out", "gateway"),
        ("secure", "guest/pqc-adapters/wolfssl-pqc.c", "pqc_encaps", "secure"),
        ("a.out", "", "main", NO_RULE),
    ],
)
def test_well_known_functions_are_where_they_belong(image: str, source: str, function: str, layer: str) -> None:
    """If this fails, a layer's figure has another's instructions in it."""
    assert load_rules().layer(image, source, function) == layer


@pytest.mark.parametrize(
    "function", ["memset", "__pi_memset_generic", "memcpy", "__memcpy_generic", "strlen", "clear_page"]
)
def test_helpers_of_every_world_are_known(function: str) -> None:
    """If this fails, a world's copying is not folded into those who asked for it."""
    assert load_rules().is_helper(function)
    assert not load_rules().is_helper("malloc")
