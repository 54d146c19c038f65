# SPDX-License-Identifier: BSD-2-Clause
"""Post-quantum schemes on boards, in Linux and in a TA: right answers, exact counts, no more memory than is said."""

import pytest

from machines import Measured, RunCase
from worldwise.families.pqc.libraries import libraries
from worldwise.families.pqc.schemes import SCHEMES
from worldwise.families.pqc.spec import CALLS
from worldwise.lab.image import ImageStore
from worldwise.plan.case import parse_case
from worldwise.targets.all_targets import EMULATED

BOARD = "nucleo-f446re"


@pytest.mark.parametrize(
    "text",
    [
        "wolfssl-pqc-O2/decaps,scheme=ml-kem-768",
        "wolfssl-pqc-asm-O2/encaps,scheme=ml-kem-768",
        "wolfssl-pqc-small-O2/kem-keygen,scheme=ml-kem-768",
        "wolfssl-pqc-asm-O2/encaps,scheme=x25519-ml-kem-768",
        "wolfssl-pqc-small-O2/dsa-keygen,scheme=ml-dsa-44",
        "wolfssl-pqc-small-O2/dsa-sign,scheme=ml-dsa-44,size=32B",
        "wolfssl-pqc-small-O2/dsa-verify,scheme=ml-dsa-44,size=32B",
        "wolfssl-pqc-O2/dsa-verify,scheme=slh-dsa-sha2-128f,size=32B",
    ],
)
def test_a_board_computes_what_the_standards_say(measured: Measured, text: str) -> None:
    """If this fails, a library gives a wrong answer, or takes more memory than its file says."""
    case = parse_case(f"{BOARD}/{text}")
    checked = measured(case.id, samples=1, warmup=0)
    assert all(sample.count > 100_000 for samples in checked.samples.values() for sample in samples)
    call = CALLS[case.operation]
    scheme = dict(case.parameters)["scheme"]
    assert call in SCHEMES[scheme].operations
    peak, found = libraries()[case.implementation].peak(scheme, call), checked.memory[case.operation]
    assert peak
    assert found.stack <= peak.stack
    assert (found.heap or 0) <= peak.heap
    assert not found.heap_left


@pytest.mark.parametrize(
    "text",
    [
        "linux-armv8/wolfssl-pqc-asm-O2/decaps,scheme=ml-kem-768",
        "linux-armv7/wolfssl-pqc-asm-O2/decaps,scheme=ml-kem-768",
        "linux-armv8/wolfssl-pqc-O2/dsa-sign,scheme=ml-dsa-44,size=32B",
    ],
)
def test_linux_computes_what_the_standards_say(measured: Measured, text: str) -> None:
    """With the assembly of each architecture, and in C."""
    checked = measured(text, samples=1, warmup=0)
    assert all(sample.count > 100_000 for samples in checked.samples.values() for sample in samples)


def test_a_board_repeats_itself(records_of: RunCase, images: ImageStore) -> None:
    """If this fails, something other than the inputs decides a count."""
    case = parse_case(f"{BOARD}/wolfssl-pqc-asm-O2/decaps,scheme=ml-kem-768", 2, 0)
    machine = EMULATED[BOARD].machine(case, images)
    assert records_of(case, on=machine) == records_of(case, on=machine)


@pytest.mark.parametrize(
    "text",
    [
        "optee/wolfssl-pqc-asm-O2/decaps,scheme=x25519-ml-kem-768",
        "optee/wolfssl-pqc-O2/dsa-sign,scheme=ml-dsa-44,size=32B",
        "optee/wolfssl-pqc-O2/dsa-keygen,scheme=slh-dsa-sha2-128f",
    ],
)
def test_a_ta_computes_what_the_standards_say(measured: Measured, text: str) -> None:
    """If this fails, the TA gives a wrong answer, or its figures are not those of a TA with this library."""
    case = parse_case(text)
    checked = measured(case.id, samples=1, warmup=0)
    inside, client = (checked.samples[case.operation, place] for place in ("ta", "client"))
    assert all(20_000 < whole.count - part.count < 200_000 for part, whole in zip(inside, client, strict=True))
    peak = libraries()[case.implementation].peak(dict(case.parameters)["scheme"], CALLS[case.operation])
    found = checked.memory[case.operation]
    assert peak
    # Nearly what a board takes: the allocator is another, and pointers have twice the bytes. Nothing stays nothing.
    assert found.heap is not None
    assert 0.9 * peak.heap <= found.heap <= 1.1 * peak.heap
    assert 1_000 < found.stack < 20_000
