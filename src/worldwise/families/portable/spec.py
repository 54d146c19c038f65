# SPDX-License-Identifier: BSD-2-Clause
"""Portable implementations on boards and in plain Linux: curves, hashes, AES in counter mode, a benchmark."""

from collections.abc import Mapping

from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.availability import portable_reason
from worldwise.plan.parameters import CURVE, SIZE, in_plain_linux, on_plain, signed_size_problem
from worldwise.plan.spec import BOARD, Operation, Parameter, Spec, no_problem

# Runs through the loop of a benchmark program.
MAX_RUNS = 100_000
_RUNS = Parameter("runs", "runs", most=MAX_RUNS, missing="the number of runs, such as runs=1000")


def _signed_problem(target: str, given: Mapping[str, str]) -> str:
    # A board's message is never longer.
    return signed_size_problem(target, given) if target in PLAIN_TARGETS else ""


def _everywhere(name: str, measure: str, *parameters: Parameter) -> Operation:
    return Operation(
        name,
        {BOARD: {measure: ("mcu",)}, **in_plain_linux({measure: ("linux",)})},
        {BOARD: parameters, **on_plain(*parameters, options=True)},
        _signed_problem if name in ("sign", "verify") else no_problem,
        portable_reason(name),
    )


SPEC = Spec(
    operations=(
        _everywhere("keygen", "keygen", CURVE),
        _everywhere("sign", "sign", CURVE, SIZE),
        _everywhere("verify", "verify", CURVE, SIZE),
        _everywhere("ecdh", "ecdh", CURVE),
        _everywhere("sha256", "hash", SIZE),
        _everywhere("sha512", "hash", SIZE),
        _everywhere("aes128", "encrypt", SIZE),
        _everywhere("aes256", "encrypt", SIZE),
        Operation("dhrystone", {BOARD: {"run": ("mcu",)}}, {BOARD: (_RUNS,)}, reason=portable_reason("dhrystone")),
    ),
    published=("riot-ecc-mcu",),
)
