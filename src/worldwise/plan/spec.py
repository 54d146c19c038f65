# SPDX-License-Identifier: BSD-2-Clause
"""What a family declares to the plan: its operations, where they are measured, what they can be asked for.

This is the file `spec.py` of a family: see worldwise.base.stages. worldwise.plan.catalogue puts them together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from worldwise.libraries.portable import OPTIMISATIONS

# What a target is, for what it can be asked: one of these, or one of PLAIN_TARGETS. Every board is one kind.
OPTEE, LINUX, BOARD = "optee", "linux", "board"
# In the order of the tables.
PLACES = ("api", "ta", "invoke", "client", "linux", "mcu", "storage")
# Of an operation in a TA, the innermost first.
IN_TEE = ("ta", "client")
# The levels at which OP-TEE, and firmware of boards, is built.
EMBEDDED_OPTIMISATIONS = ("Os", "O2")
assert set(EMBEDDED_OPTIMISATIONS) < set(OPTIMISATIONS)

# Measure -> places where it stands, the innermost first.
Measures = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Parameter:
    """What an operation can be asked for besides.

    Attributes:
        key: its name in a case's id and on the measured program's command line.
        suite_key: the key of a [[cases]] block that lists its values.
        values: those it can have; empty for a size and for a number. Families that share a key may have other values.
        default: the value that is meant when it is left out; empty if there is none.
        most: of a number, which is at least 1; None for all else.
        missing: what an operation that has it lacks without it, for an error; empty if it can do without.
        of_machine: it chooses the machine or which program runs on it; the measured program is not told.
        pattern: of a text that only the implementation can judge; empty for all else.
        names_app: its values are the apps whose TA takes wrong calls.
    """

    key: str
    suite_key: str
    values: tuple[str, ...] = ()
    default: str = ""
    most: int | None = None
    missing: str = ""
    of_machine: bool = False
    pattern: str = ""
    names_app: bool = False

    @property
    def is_size(self) -> bool:
        """Whether its values are numbers of bytes."""
        return not self.values and self.most is None and not self.pattern


@dataclass(frozen=True)
class App:
    """A folder of guest/apps: a TA and a client of its own.

    Each app has an initramfs of its own, so that what one is made of moves no address, and so no count, of another.
    The folder has the client in its C files, the TA in `ta/`, and perhaps in `linux/` what does the same without a TEE.

    Attributes:
        uuid: the TA's.
        sources: locked source packages that its programs are compiled from.
        packages: locked arm64 packages that its Linux program is compiled with.
        libraries: what its Linux program can be linked with, of what OP-TEE does not have itself.
        portable: whether its TA and its Linux program can be linked with a portable implementation.
        borrows: whose TA it is if it has none of its own: ATTESTATION, or the portable implementation that the
            attestation's TA is linked with.
        elsewhere: where wrong calls of its TA are tried, if not by the operation `abuse`.
    """

    uuid: str
    sources: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    portable: bool = False
    borrows: str = ""
    elsewhere: str = ""


# Of an app that borrows the TA that the published figures are of, which is built as it always was.
ATTESTATION = "attestation"
ATTEST_TA = "7d2f9f7c-5b0e-4b1c-9a3e-617474657374"


# (target, given) -> what is wrong with the parameters together; (target, implementation, given) -> why not.
Problem: TypeAlias = Callable[[str, Mapping[str, str]], str]
Reason: TypeAlias = Callable[[str, str, Mapping[str, str]], str]


def no_problem(_target: str, _given: Mapping[str, str]) -> str:
    """Of an operation whose parameters all go together."""
    return ""


def _available(_target: str, _implementation: str, _given: Mapping[str, str]) -> str:
    return ""


@dataclass(frozen=True)
class Operation:
    """Something that can be measured, on the kinds of target that one family measures it on.

    Attributes:
        name: in a case's id and in a suite. Two families may have one name, on different kinds.
        measures: kind -> what it yields; nothing for a campaign, which has outcomes instead.
        parameters: kind -> what it can be asked for besides, in the order in which an id has them.
        problem: (target, given) -> what is wrong with its parameters together, as a sentence; empty if nothing is.
        reason: (target, implementation, given) -> why an implementation cannot do it, without a full stop; empty if it
            can.
        app: the app that does it; empty for one of the attestation's programs and for what has no TA.
        app_parameter: the parameter that names the app, where it is not always the same.
    """

    name: str
    measures: Mapping[str, Measures]
    parameters: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    problem: Problem = no_problem
    reason: Reason = _available
    app: str = ""
    app_parameter: str = ""


@dataclass(frozen=True)
class Spec:
    """What a family declares to the plan.

    Attributes:
        operations: those it measures.
        apps: its folders of guest/apps, by name.
        published: the sources of published figures that its operations are shown beside: names of published/*.toml.
    """

    operations: tuple[Operation, ...]
    apps: Mapping[str, App] = field(default_factory=dict)
    published: tuple[str, ...] = ()
