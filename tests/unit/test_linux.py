# SPDX-License-Identifier: BSD-2-Clause
"""Plain Linux as a target: what a case may ask of it, and what that builds."""

import json

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import find
from worldwise.plan.case import parse_case
from worldwise.plan.suite import load_suite
from worldwise.targets.linux import PLAIN


def plan(text: str) -> dict[str, object]:
    """What is compiled and linked for a case."""
    case = parse_case(text)
    library = find(case.implementation)
    recipe = PLAIN[case.target].programs(library, case.optimisation, case.curve or "none", case.options, None)
    found: dict[str, object] = json.loads(recipe.settings["PLAN"])
    return found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("linux-armv7/openssl-O0/sign,curve=secp256r1,size=32B", "openssl comes compiled, so it has only O2"),
        ("linux-armv7/bearssl-O2/sign,curve=ed25519,size=32B", "bearssl has no ed25519"),
        ("linux-armv7/bearssl-O2/sha256,size=2MiB", "Allowed: up to 1MiB"),
        ("linux-armv7/bearssl-O2/sign,curve=secp256r1", "needs a size"),
        ("linux-armv7/bearssl-O2/dhrystone,runs=1", "'dhrystone' is not one of target 'linux-armv7'"),
        ("linux-armv7/bearssl-O2/sha256,size=64B,core=cortex-a53", "parameter 'core'"),
        ("linux-armv8/bearssl-O2/sha256,size=64B,core=cortex-a55", "Allowed: cortex-a72, cortex-a53, cortex-a76"),
        ("linux-armv8/bearssl-O2/sha256,size=64B,options=nist-off", "'nist-off' is no build option of bearssl"),
        ("linux-armv8/mbedtls28-O2/sha256,size=64B,options=Nist", "is not a text such as"),
        ("linux-armv8/mbedtls36-ce-O2/aes,size=16B,key=128,mode=ctr,direction=encrypt,options=nist-off", "'options'"),
        ("linux-armv8/p256-cortex-m4-O2/keygen,curve=secp256r1", "p256-cortex-m4 is for Cortex-M"),
        ("linux-armv7/openssl-ce-O2/aes,size=16B,key=128,mode=ctr,direction=encrypt", "which Armv7-A lacks"),
        ("linux-armv8/nettle-O2/aes,size=16B,key=128,mode=ctr,direction=encrypt", "nettle has AES in counter mode"),
        ("optee/openssl-O2/sign,curve=secp256r1,size=32B", "openssl needs Linux around it"),
        ("nucleo-f446re/nettle-O2/sign,curve=secp256r1,size=32B", "nettle needs Linux around it"),
        ("nucleo-f446re/bearssl-O3/keygen,curve=secp256r1", "variant 'bearssl-O3'"),
        ("optee/mbedtls-nist-O3/attestdiv", "variant 'mbedtls-nist-O3'"),
    ],
)
def test_what_cannot_be_is_refused(text: str, says: str) -> None:
    with pytest.raises(WorldwiseError, match=says):
        parse_case(text)


def test_options_are_written_one_way() -> None:
    """Those that are the default are left out, the others stand in the manifest's order."""
    case = parse_case("linux-armv8/mbedtls28-O2/sign,curve=secp256r1,size=32B,options=window-2+asm-on+nist-off")
    assert case.options == "nist-off+window-2"
    assert "options" not in " ".join(case.arguments)
    assert parse_case("linux-armv8/mbedtls28-O2/keygen,curve=x25519,options=asm-on").options == ""


def test_options_and_architecture_are_in_what_is_compiled() -> None:
    text = "mbedtls28-O0/sign,curve=secp256r1,size=32B,options=window-2"
    armv7, armv8 = (plan(f"{target}/{text}") for target in PLAIN_TARGETS)
    for one in (armv7, armv8):
        assert one["optimisation"] == "O0"
        assert "MBEDTLS_ECP_WINDOW_SIZE=2" in str(one["defines"])
    assert armv7["triplet"] == "arm-linux-gnueabihf"
    assert armv7["counter"] == ["linux/perf_counter.c"]
    assert armv8["counter"] == []


def test_a_packaged_library_is_of_the_targets_architecture() -> None:
    case = parse_case("linux-armv7/nettle-O2/keygen,curve=secp256r1")
    recipe = PLAIN["linux-armv7"].programs(find("nettle"), "O2", "secp256r1", "", None)
    assert recipe.architecture == "armhf"
    assert recipe.packages == ("nettle-dev", "libgmp-dev")
    assert plan(case.id)["archives"] == ["libhogweed.a", "libnettle.a", "libgmp.a"]


def test_the_sweep_is_the_whole_grid() -> None:
    suite = load_suite("options")
    library = find("mbedtls28")
    for target in PLAIN_TARGETS:
        found = [case.options for case in suite.cases if (case.target, case.implementation) == (target, "mbedtls28")]
        assert sorted(set(found)) == sorted(library.grid())


def test_the_published_table_has_its_cases() -> None:
    suite = load_suite("linux-armv7")
    of_signatures = [case for case in suite.cases if case.operation in ("sign", "verify") and not case.options]
    published = [case for case in of_signatures if case.samples == 12]
    assert len(published) == 2 * 3 * 4
    assert {case.optimisation for case in published} == {"O0", "Os", "O2", "O3"}
