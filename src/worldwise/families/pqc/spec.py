# SPDX-License-Identifier: BSD-2-Clause
"""Post-quantum schemes on boards, in plain Linux and in a TA: ML-KEM, ML-DSA, SLH-DSA of FIPS 203, 204, 205."""

from collections.abc import Mapping

from worldwise.families.pqc.libraries import NAMES, Library, libraries
from worldwise.families.pqc.schemes import KEMS, SCHEMES, SIGNATURES
from worldwise.libraries import boards
from worldwise.libraries.cores import PLAIN_TARGETS, TEE_CORE
from worldwise.plan.parameters import (
    LOAD,
    MAX_BOARD_SIZE,
    SIZE,
    TICKS,
    in_plain_linux,
    on_plain,
    signed_size_problem,
)
from worldwise.plan.spec import (
    BOARD,
    IN_TEE,
    OPTEE,
    TEE_TARGETS,
    App,
    FamilyPrograms,
    Measures,
    Operation,
    Parameter,
    Reason,
    Spec,
    no_problem,
)

OWN = FamilyPrograms("pqc", NAMES)
# Of the TA that gets wrong calls.
ABUSED_SCHEME = "ml-dsa-44"
# Target -> its core, where memory decides nothing.
_ROOMY: Mapping[str, str] = {**dict.fromkeys(TEE_TARGETS, TEE_CORE), **PLAIN_TARGETS}
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
        core = _ROOMY.get(target) or boards.boards()[target].core
        if not library.manifest.needs.met_by(core):
            return f"{implementation} is not for {core}"
        scheme = given.get("scheme")
        if scheme is None:
            return ""
        if scheme not in library.manifest.operations:
            return f"{implementation} has no {scheme}"
        return "" if target in _ROOMY else too_large(library, scheme, operation, target)

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


_KEM, _DSA = _scheme(*KEMS), _scheme(*SIGNATURES)
_PARAMETERS: Mapping[str, tuple[Parameter, ...]] = {
    "kem-keygen": (_KEM,),
    "encaps": (_KEM,),
    "decaps": (_KEM,),
    "dsa-keygen": (_DSA,),
    "dsa-sign": (_DSA, SIZE),
    "dsa-verify": (_DSA, SIZE),
}


def _operation(
    name: str, measures: Mapping[str, Measures], parameters: Mapping[str, tuple[Parameter, ...]], app: str = ""
) -> Operation:
    problem = signed_size_problem if SIZE in _PARAMETERS[name] else no_problem
    return Operation(name, measures, parameters, problem, _reason(CALLS[name]), app=app, own=OWN)


SPEC = Spec(
    operations=(
        *(
            _operation(
                name,
                {BOARD: {name: ("mcu",)}, **in_plain_linux({name: ("linux",)})},
                {BOARD: given, **on_plain(*given)},
            )
            for name, given in _PARAMETERS.items()
        ),
        # The same in a TA, which an app does.
        *(
            _operation(name, {OPTEE: {name: IN_TEE}}, {OPTEE: (*given, LOAD, TICKS)}, OWN.name)
            for name, given in _PARAMETERS.items()
        ),
    ),
    apps={OWN.name: App("a1f5c2de-000b-4b1c-9a3e-707163000000")},
    published=("pqm4",),
)
