# SPDX-License-Identifier: BSD-2-Clause
"""What requests to the key cache cost, in the machine: where a key is found decides it, and it repeats."""

from statistics import median

import pytest

from machines import Measured, RunCase
from worldwise.lab.image import ImageStore
from worldwise.plan.case import Case, parse_case
from worldwise.targets.all_targets import EMULATED

# The first that needs an image builds it, and the root of the key cache.
pytestmark = pytest.mark.timeout(1800)

# A call of a TA that does nothing, and how much of it a hit may cost beside the AES of its payload. GET has none.
EMPTY = 30_508
ALLOWED = 1.5


def case_of(action: str, size: str, policy: str = "smart") -> Case:
    """In RPMB, where the TA's first start is quick; what is found in the TA or in a record takes no storage."""
    parameters = f"size={size},storage=rpmb,policy={policy},action={action}"
    return parse_case(f"optee/mbedtls-ce-O2/keycache,{parameters}", 3, 1)


def medians(measured: Measured, case: Case) -> dict[str, float]:
    samples = measured(case.id).samples
    return {place: median(one.count for one in samples["request", place][1:]) for place in case.measures["request"]}


def test_where_a_key_is_found_decides_what_it_costs(measured: Measured) -> None:
    """Every key was compared with the one that was set, and the TA's counters said where it came from."""
    hit = medians(measured, case_of("get-hit", "32B"))
    short = medians(measured, case_of("get-hit", "16B"))
    miss = medians(measured, case_of("get-miss", "32B", "none"))
    naive = medians(measured, case_of("get-miss", "32B", "naive"))
    assert hit["invoke"] <= ALLOWED * EMPTY
    assert hit["ta"] < 3_000
    assert (short["storage"], short["ta"] < 3_000) == (0, True)
    # A record is opened: one AES-GCM of 32 bytes.
    assert hit["invoke"] + 10_000 < miss["invoke"] < 2 * hit["invoke"]
    assert (hit["storage"], miss["storage"]) == (0, 0)
    # An object of secure storage is opened and read, with tee-supplicant's help.
    assert naive["storage"] > 500_000
    assert naive["invoke"] > 10 * miss["invoke"]


def test_a_request_costs_the_same_twice(records_of: RunCase, images: ImageStore) -> None:
    case = case_of("reencrypt-hit", "256B")
    machine = EMULATED[case.target].machine(case, images)
    assert records_of(case, on=machine) == records_of(case, on=machine)
