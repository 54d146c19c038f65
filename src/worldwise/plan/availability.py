# SPDX-License-Identifier: BSD-2-Clause
"""What an implementation cannot do, and why: a library may lack a curve, or a core what the library needs."""

from collections.abc import Mapping, Sequence

from worldwise.libraries import boards, portable
from worldwise.libraries.cores import FEATURES, PLAIN_TARGETS, TEE_CORE
from worldwise.libraries.curve_table import CURVES
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import NO_CURVE, PACKAGED_OPTIMISATION, Portable
from worldwise.plan.spec import LINUX, TEE_TARGETS, Reason

# What the attestation does, and on which curve: a library that lacks one of these cannot make it.
TEE_CURVE = "secp256r1"
TEE_NEEDS = ("keygen", "sign", "verify")

# By curve: the operations that the crypto app's TA gets from OP-TEE's core through the GlobalPlatform API; see
# guest/apps/crypto/ta/gp.c.
CORE_HAS: Mapping[str, tuple[str, ...]] = {
    "secp256r1": ("sign", "verify", "ecdh"),
    "ed25519": ("sign", "verify"),
    "x25519": ("ecdh",),
    NO_CURVE: ("sha256",),
}


def is_not_for(curve: str, operation: str) -> bool:
    """Whether an operation does not exist for a curve in any library, so that reports need not list it as missing."""
    return curve in CURVES and operation in CURVES[curve].not_for


def portable_reason(operation: str) -> Reason:
    """What a family declares as the reason of an operation of a portable implementation, by its name in ops.h."""

    def reason(target: str, implementation: str, given: Mapping[str, str]) -> str:
        if given.get("options") and implementation in IMPLEMENTATIONS:
            return f"{implementation} is OP-TEE's: it has no build options"
        return _portable_reason(target, implementation, given.get("curve", ""), operation)

    return reason


def attested_reason(_target: str, implementation: str, _given: Mapping[str, str]) -> str:
    """Why a library cannot be compiled into the attestation's TA, without a full stop; empty if it can.

    Raises WorldwiseError for a wrong file.
    """
    if implementation in IMPLEMENTATIONS:
        return ""
    library = portable.portables().get(implementation)
    if library is None:
        return f"{implementation} is only for 'aes'"
    for needed in TEE_NEEDS:
        if not library.has(needed, TEE_CURVE):
            return f"{implementation} has no {needed} on {TEE_CURVE}"
    if library.manifest.needs.linux:
        return f"{implementation} needs Linux around it"
    return "" if library.runs_on(TEE_CORE) else f"{implementation} is not for {TEE_CORE}"


def core_reason(target: str, implementation: str, operation: str) -> str:
    """Why an operation of OP-TEE's own libraries alone is unavailable, without a full stop; empty if it is not."""
    if implementation in IMPLEMENTATIONS:
        return ""
    return f"{operation} on {target} is measured only for OP-TEE's own libraries"


def level_reason(target: str, implementation: str, optimisation: str) -> str:
    """Why a library lacks an optimisation level, without a full stop; empty if it has it."""
    if target not in PLAIN_TARGETS or optimisation == PACKAGED_OPTIMISATION:
        return ""
    library = portable.portables().get(implementation)
    if library is None or not library.packaged:
        return ""
    return f"{implementation} comes compiled, so it has only {PACKAGED_OPTIMISATION}"


def _portable_reason(target: str, implementation: str, curve: str, operation: str) -> str:
    """Why an operation of a portable implementation is unavailable, without a full stop; empty if it is available.

    `target` is a known target, `operation` one of ops.h. Raises WorldwiseError for a wrong file.
    """
    if is_not_for(curve, operation):
        return f"{curve} is not for {' or '.join(CURVES[curve].not_for)}"
    if implementation in IMPLEMENTATIONS:
        return _core_reason(target, implementation, curve, operation)
    library = portable.portables().get(implementation)
    if library is None:
        return f"{implementation} is only for 'aes'"
    if library.manifest.needs.linux and target not in PLAIN_TARGETS:
        return f"{implementation} needs Linux around it"
    return _lacking(library, target, curve, operation) or _core_problem(library, target)


def _core_reason(target: str, implementation: str, curve: str, operation: str) -> str:
    """As `portable_reason`, for a library in OP-TEE's core."""
    if TEE_TARGETS.get(target) == LINUX:
        return f"{implementation} is OP-TEE's; attestdiv and sha256 measure its library in Linux"
    if operation not in CORE_HAS.get(curve or NO_CURVE, ()):
        return f"the TA asks OP-TEE's core for {', '.join(name for name in CORE_HAS if name in CURVES)}"
    return ""


def _lacking(library: Portable, target: str, curve: str, operation: str) -> str:
    if library.has(operation, curve or NO_CURVE):
        return ""
    if curve and nobody_has(curve, target):
        elsewhere = _having(curve)
        return f"only {_listed(elsewhere)} has {curve}, in Linux" if elsewhere else f"no library here has {curve}"
    if not curve:
        return f"{library.name} has no {operation}"
    if curve not in library.curves:
        return without_curve(library.name, curve)
    return f"{library.name} has no {operation} on {curve}"


def nobody_has(curve: str, target: str) -> bool:
    """Whether no portable library that can be on a target has a curve."""
    there = portable.portables()
    return all(there[name].manifest.needs.linux and target not in PLAIN_TARGETS for name in _having(curve))


def _having(curve: str) -> list[str]:
    """The names of the portable libraries that have a curve."""
    return [name for name, library in portable.portables().items() if curve in library.curves]


def without_curve(library: str, curve: str) -> str:
    """Why a library cannot do anything on a curve that others have."""
    return f"{library} has no {curve}"


def _core_problem(library: Portable, target: str) -> str:
    core = PLAIN_TARGETS.get(target) or (TEE_CORE if target in TEE_TARGETS else boards.boards()[target].core)
    if library.runs_on(core):
        return ""
    needs = library.manifest.needs
    titles = [_core_title(name) for name in needs.cores]
    groups = [_listed([*titles[:1], *(title.removeprefix("Cortex-") for title in titles[1:])])] if titles else []
    groups += [f"Cortex-M with {_listed([FEATURES[name] for name in needs.features])}"] if needs.features else []
    return f"{library.name} is for {', and for '.join(groups)}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _core_title(name: str) -> str:
    return name.title() if name in PLAIN_TARGETS.values() else boards.load_core(name).title
