# SPDX-License-Identifier: BSD-2-Clause
"""The attestation of P-256: keys, signatures and verifications of one TA, and what a call to it costs at least."""

from collections.abc import Mapping

from worldwise.plan.availability import attested_reason, core_reason
from worldwise.plan.parameters import LOAD, TICKS
from worldwise.plan.spec import IN_TEE, LINUX, OPTEE, App, Measures, Operation, Spec

ATTESTATION = "attestation"

_PARAMETERS = {OPTEE: (LOAD, TICKS), LINUX: (LOAD,)}
_CLIENT = ("client",)


def _in_both_worlds(name: str, *measures: str) -> Operation:
    return Operation(
        name,
        {OPTEE: dict.fromkeys(measures, IN_TEE), LINUX: dict.fromkeys(measures, ("linux",))},
        _PARAMETERS,
        reason=attested_reason,
        app=ATTESTATION,
    )


def _in_tee(name: str, measures: Measures) -> Operation:
    def reason(target: str, implementation: str, _given: Mapping[str, str]) -> str:
        return core_reason(target, implementation, name)

    return Operation(name, {OPTEE: measures}, _PARAMETERS, reason=reason, app=ATTESTATION)


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
    apps={ATTESTATION: App("7d2f9f7c-5b0e-4b1c-9a3e-617474657374", portable=True)},
    published=("optee-p256-a72",),
)
