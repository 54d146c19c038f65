# SPDX-License-Identifier: BSD-2-Clause
"""Wrong calls: every command of a TA with wrong parameters, from a table and at random."""

from worldwise.plan.availability import attested_reason
from worldwise.plan.parameters import LOAD, TICKS
from worldwise.plan.spec import OPTEE, Operation, Parameter, Spec

ABUSE = "abuse"
MAX_CALLS = 10_000_000
_TA = Parameter("ta", "tas", missing="a TA, such as ta=hello", names_app=True)
_CALLS = Parameter("calls", "calls", most=MAX_CALLS, missing="a number of calls: calls=100000")

SPEC = Spec(
    operations=(
        Operation(ABUSE, {OPTEE: {}}, {OPTEE: (LOAD, TICKS, _TA, _CALLS)}, reason=attested_reason, app_parameter="ta"),
    ),
)
