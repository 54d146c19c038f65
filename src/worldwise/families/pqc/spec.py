# SPDX-License-Identifier: BSD-2-Clause
"""Post-quantum schemes on boards and in plain Linux: ML-KEM of FIPS 203, ML-DSA of FIPS 204."""

from collections.abc import Mapping

from worldwise.families.pqc.libraries import NAMES, Library, libraries
from worldwise.families.pqc.schemes import KEMS, SCHEMES, SIGNATURES
from worldwise.libraries import boards
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.parameters import MAX_BOARD_SIZE, SIZE, in_plain_linux, on_plain, signed_size_problem
from worldwise.plan.spec import BOARD, Operation, Own, Parameter, Reason, Spec, no_problem

OWN = Own("pqc", NAMES)
# The operations of which the bench needs the results, on the board, before it can do one; and its check after encaps.
_BEFORE: Mapping[str, tuple[str, ...]] = {
    "encaps": ("keygen", "decaps"),
    "decaps": ("keygen", "encaps"),
    "sign": ("keygen",),
    "verify": ("keygen", "sign"),
}
# What the programs of boards have in RAM besides: records, a handler's stack, the stack of what calls the operation.
_FRAME_RAM = 4608


def _scheme(*names: str) -> Parameter:
    # A program has one scheme, so the scheme chooses the program.
    return Parameter(
        "scheme", "schemes", names, missing="a scheme, such as scheme=ml-kem-768 or scheme=ml-dsa-65", of_machine=True
    )


# Name in a suite -> the operation of a library.
CALLS: Mapping[str, str] = {
    "kem-keygen": "keygen",
    "encaps": "encaps",
    "decaps": "decaps",
    "dsa-keygen": "keygen",
    "dsa-sign": "sign",
    "dsa-verify": "verify",
}


def _reason(operation: str) -> Reason:
    def reason(target: str, implementation: str, given: Mapping[str, str]) -> str:
        if implementation not in NAMES:
            return f"{implementation} has no post-quantum scheme"
        library = libraries()[implementation]
        core = PLAIN_TARGETS.get(target) or boards.boards()[target].core
        if library.manifest.needs.cores and core not in library.manifest.needs.cores:
            return f"{implementation} is not for {core}"
        scheme = given.get("scheme")
        if scheme is None:
            return ""
        if scheme not in library.manifest.operations:
            return f"{implementation} has no {scheme}"
        return "" if target in PLAIN_TARGETS else too_large(library, scheme, operation, target)

    return reason


def kept(scheme: str) -> int:
    """The bytes of RAM of a board's program outside of an operation's own: keys, result, message, and the bench's."""
    of = SCHEMES[scheme]
    return of.private + of.public + of.output + (MAX_BOARD_SIZE if scheme in SIGNATURES else 0) + _FRAME_RAM


def too_large(library: Library, scheme: str, operation: str, target: str) -> str:
    """Why a board has not enough RAM, in words; empty if it has, or if nobody knows what the operation takes.

    The bench makes an operation's input on the board, so that must fit too.
    """
    board = boards.boards()[target]
    # Of two programs the secure one has the library.
    ram = (board.secure or board).ram
    for call in (*_BEFORE.get(operation, ()), operation):
        peak = library.peak(scheme, call)
        # An eighth of the heap for what first fit leaves unused between blocks.
        needed = peak.stack + peak.heap * 9 // 8 + kept(scheme) if peak else 0
        if peak and needed > ram:
            first = "" if call == operation else f"{operation} needs what {call} makes: "
            return (
                f"{first}{call} of {scheme} takes {peak.stack:,} bytes of stack and {peak.heap:,} of heap; with gaps "
                f"in the heap, keys, result and the bench that is {needed:,}, and there are {ram:,}"
            )
    return ""


def _operation(name: str, scheme: Parameter, *more: Parameter) -> Operation:
    return Operation(
        name,
        {BOARD: {name: ("mcu",)}, **in_plain_linux({name: ("linux",)})},
        {BOARD: (scheme, *more), **on_plain(scheme, *more)},
        signed_size_problem if SIZE in more else no_problem,
        _reason(CALLS[name]),
        own=OWN,
    )


_KEM, _DSA = _scheme(*KEMS), _scheme(*SIGNATURES)
SPEC = Spec(
    operations=(
        _operation("kem-keygen", _KEM),
        _operation("encaps", _KEM),
        _operation("decaps", _KEM),
        _operation("dsa-keygen", _DSA),
        _operation("dsa-sign", _DSA, SIZE),
        _operation("dsa-verify", _DSA, SIZE),
    ),
    published=("pqm4",),
)
