# SPDX-License-Identifier: BSD-2-Clause
"""Wrong calls: every command of a TA with wrong parameters, from a table and at random."""

from worldwise.plan.parameters import LOAD, TICKS
from worldwise.plan.spec import ATTESTATION, OPTEE, App, Operation, Parameter, Spec

ABUSE = "abuse"
MAX_CALLS = 10_000_000
_TA = Parameter("ta", "tas", missing="a TA, such as ta=hello", names_app=True)
_CALLS = Parameter("calls", "calls", most=MAX_CALLS, missing="a number of calls: calls=100000")
_ATTEST_TA = "7d2f9f7c-5b0e-4b1c-9a3e-617474657374"

SPEC = Spec(
    operations=(Operation(ABUSE, {OPTEE: {}}, {OPTEE: (LOAD, TICKS, _TA, _CALLS)}, app_parameter="ta"),),
    apps={
        # Clients that call the attestation's TAs wrongly, and do nothing else.
        "attest": App(_ATTEST_TA, borrows=ATTESTATION),
        "attest-own": App(_ATTEST_TA, borrows="bearssl"),
    },
)
