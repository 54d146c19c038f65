# SPDX-License-Identifier: BSD-2-Clause
"""The attestation of P-256: keys, signatures and verifications of one TA, and what a call to it costs at least."""

from worldwise.plan.parameters import LOAD, TICKS
from worldwise.plan.spec import IN_TEE, LINUX, OPTEE, Measures, Operation, Spec

_PARAMETERS = {OPTEE: (LOAD, TICKS), LINUX: (LOAD,)}
_CLIENT = ("client",)


def _in_both_worlds(name: str, *measures: str) -> Operation:
    return Operation(
        name, {OPTEE: dict.fromkeys(measures, IN_TEE), LINUX: dict.fromkeys(measures, ("linux",))}, _PARAMETERS
    )


def _in_tee(name: str, measures: Measures) -> Operation:
    return Operation(name, {OPTEE: measures}, _PARAMETERS)


SPEC = Spec(
    operations=(
        _in_both_worlds("keygen", "keygen"),
        _in_both_worlds("attestdiv", "sign", "verify"),
        _in_both_worlds("attestquorum", "sign", "verify"),
        _in_tee("empty-invoke", {"invoke": _CLIENT}),
        _in_tee("session-open", {"open": _CLIENT}),
        _in_tee("ta-load", {"load": _CLIENT}),
        _in_tee("storage-create", {"create": IN_TEE}),
    ),
    published=("optee-p256-a72",),
)
