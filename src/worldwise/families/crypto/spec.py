# SPDX-License-Identifier: BSD-2-Clause
"""Signatures, shared secrets and digests in a TA: by OP-TEE's core, or by a portable implementation linked into it."""

from collections.abc import Mapping

from worldwise.base.units import parse_size
from worldwise.plan.availability import portable_reason
from worldwise.plan.parameters import CURVE, LOAD, OPTIONS, SIZE, TICKS, signed_size_problem
from worldwise.plan.spec import IN_TEE, LINUX, OPTEE, App, Operation, Parameter, Problem, Spec, no_problem

_MEMORY = Parameter("memory", "memories", ("temporary", "allocated"), "temporary")
_RANDOM = Parameter("random", "randoms", ("bench", "tee"), "bench")
# OP-TEE as it is, or with the changes of docs/results/findings.md that make a call short.
_OPTEE = Parameter("optee", "optees", ("stock", "lean"), "stock", of_machine=True)


def _digest_problem(_target: str, given: Mapping[str, str]) -> str:
    return "" if parse_size(given["size"]) else "the TA does not take an empty message."


def _signature_problem(target: str, given: Mapping[str, str]) -> str:
    return _digest_problem(target, given) or signed_size_problem(target, given)


def _operation(
    name: str,
    measure: str,
    first: tuple[Parameter, ...],
    last: tuple[Parameter, ...] = (),
    problem: Problem = no_problem,
    portable_name: str = "",
) -> Operation:
    """An operation of the app: `first` are its parameters, `last` those that it has only in the TEE."""
    return Operation(
        name,
        {OPTEE: {measure: IN_TEE}, LINUX: {measure: ("linux",)}},
        {OPTEE: (*first, LOAD, TICKS, *last), LINUX: (*first, LOAD)},
        problem,
        portable_reason(portable_name or name),
        app="crypto",
    )


SPEC = Spec(
    operations=(
        _operation("sign", "sign", (CURVE, SIZE), (_MEMORY, _RANDOM, _OPTEE, OPTIONS), _signature_problem),
        _operation("verify", "verify", (CURVE, SIZE), (_MEMORY, _OPTEE, OPTIONS), _signature_problem),
        _operation("ecdh", "ecdh", (CURVE,)),
        _operation("digest", "hash", (SIZE,), (), _digest_problem, "sha256"),
    ),
    apps={"crypto": App("a1f5c2de-0006-4b1c-9a3e-63727970746f", portable=True)},
)
