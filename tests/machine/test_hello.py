# SPDX-License-Identifier: BSD-2-Clause
"""The smallest app on the machine: what every other app relies on."""

from machines import Measured, RunCase
from worldwise.lab.image import ImageStore
from worldwise.plan.case import parse_case
from worldwise.targets.all_targets import EMULATED

HELLO = "optee/mbedtls-nist-O2/hello"


def test_hello_counts_its_one_addition(measured: Measured) -> None:
    """A load, an addition and a store, whatever the call around them costs."""
    records = measured(HELLO)
    assert [sample.count for sample in records.samples["increment", "ta"]] == [3] * 5
    assert all(20_000 < sample.count < 60_000 for sample in records.samples["increment", "client"])


def test_hello_is_the_same_twice(records_of: RunCase, images: ImageStore) -> None:
    """The app's own machine repeats itself to the byte."""
    case = parse_case(HELLO, 3, 1)
    machine = EMULATED["optee"].machine(case, images)
    assert records_of(case, on=machine) == records_of(case, on=machine)
