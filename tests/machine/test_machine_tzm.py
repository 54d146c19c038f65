# SPDX-License-Identifier: BSD-2-Clause
"""TrustZone-M: ways between both security states are counted alike each time, and what must be refused is refused."""

import pytest

from machines import Measured, RunCase
from worldwise.plan.case import parse_case
from worldwise.plan.parameters import ACCESSES, WAYS

pytestmark = [pytest.mark.machine, pytest.mark.timeout(300)]

# The second core's gates differ in what clears registers; which ways there are is the same program on both.
_FEW_WAYS = ("plain", "empty", "callback-float", "irq-ns-in-s")


@pytest.mark.parametrize(("board", "ways"), [("tz-m33", WAYS), ("tz-m55", _FEW_WAYS)])
def test_ways_between_the_states(board: str, ways: tuple[str, ...], measured: Measured) -> None:
    """If this fails, a call does not go where it should, or its count is not the same each time."""
    counts = {}
    for way in ways:
        samples = measured(f"{board}/gateway-O2/gateway,way={way}").samples["gateway", "mcu"]
        (counts[way],) = {sample.count for sample in samples}
    assert counts["plain"] < counts["empty"] < counts["callback-float"]
    if ways == WAYS:
        assert counts["empty"] < counts["checked"] < counts["psa-call"]
        # Storing the registers that were disturbed, and clearing them, is the core's own work, not an instruction.
        assert counts["callback"] < counts["callback-lazy"] == counts["callback-float"]
        soft = measured(f"{board}/gateway-O2/gateway,way=empty,float=soft").samples["gateway", "mcu"]
        assert soft[0].count < counts["empty"]


@pytest.mark.parametrize(("board", "accesses"), [("tz-m33", ACCESSES), ("tz-m55", ("read", "veneer"))])
def test_what_must_be_refused_is_refused(board: str, accesses: tuple[str, ...], measured: Measured) -> None:
    """If this fails, non-secure code gets at secure memory or past a gate."""
    for access in accesses:
        checked = measured(f"{board}/gateway-O2/refused,access={access}", samples=1, warmup=0)
        assert checked.samples["refused", "mcu"][0].count > 0


# It works on these cores alone, so test_boards.py leaves it out.
@pytest.mark.parametrize("operation", ["ecdh,curve=secp256r1", "verify,curve=secp256r1,size=32B", "sha256,size=32B"])
def test_tf_ms_crypto_works_behind_the_gateway(operation: str, measured: Measured) -> None:
    """If this fails, mbed TLS as TF-M configures it gives a wrong answer, or takes wrong input for right."""
    checked = measured(f"tz-m33/mbedtls36-tfm-O2/{operation}", samples=1, warmup=0)
    assert all(series[0].count > 0 for series in checked.samples.values())


@pytest.mark.parametrize(
    "operation",
    [
        "bearssl-O2/sha256,size=16B",
        "bearssl-O2/sha256,size=1KiB",
        # With keys, ciphertext and signature made behind the gateway, too.
        "wolfssl-pqc-O2/decaps,scheme=ml-kem-768",
        "wolfssl-pqc-O2/dsa-verify,scheme=ml-dsa-44,size=32B",
    ],
)
def test_a_library_behind_the_gateway_does_the_same_work(operation: str, measured: Measured) -> None:
    """If this fails, a library executes other instructions behind the gateway than before it."""
    counts = []
    for board in ("mps2-an505", "tz-m33"):
        (samples,) = measured(f"{board}/{operation}", samples=1, warmup=0).samples.values()
        counts.append(samples[0].count)
    direct, behind = counts
    # The gate's own work, whatever the data's size; copies differ by where memory is aligned.
    assert 250 < behind - direct < 350


def test_a_run_of_two_programs_repeats_itself(records_of: RunCase) -> None:
    """If this fails, something other than the inputs decides a count."""
    case = parse_case("tz-m33/bearssl-O2/sha256,size=16B", samples=2)
    assert records_of(case) == records_of(case)
