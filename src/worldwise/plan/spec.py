# SPDX-License-Identifier: BSD-2-Clause
"""What a family declares to the plan: its operations, where they are measured, and their parameters.

A family declares it in its file `spec.py`: see worldwise.base.family_stages. worldwise.plan.catalogue collects them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from worldwise.libraries.portable import OPTIMISATIONS

# The worlds that execute instructions; the monitor is EL3.
World = Literal["normal", "monitor", "secure"]
# The kinds of target: one of these, or one of PLAIN_TARGETS. All boards are of one kind.
OPTEE, LINUX, BOARD = "optee", "linux", "board"
# Target and kind of code that somebody else wrote, and that is measured as it is: its regions are its operations.
OWN = "own"
# What is measured of such a region, and where: from its entry to its return.
REGION_MEASURE, REGION_PLACE = "call", "region"
# Target that runs on a machine with OP-TEE -> its kind. worldwise.targets.optee has their machines.
TEE_TARGETS: Mapping[str, str] = {"optee": OPTEE, "linux": LINUX}
# In the order of the tables.
PLACES = ("api", "ta", "invoke", "client", "linux", "mcu", "storage", "relay", REGION_PLACE)
# The places of an operation in a TA, the innermost first.
TA = "ta"
IN_TEE = (TA, "client")
# The levels at which OP-TEE, and firmware of boards, is built.
EMBEDDED_OPTIMISATIONS = ("Os", "O2")
assert set(EMBEDDED_OPTIMISATIONS) < set(OPTIMISATIONS)

# Measure -> places where it is measured, the innermost first.
Measures = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation.

    Attributes:
        key: its name in a case's id and on the measured program's command line.
        suite_key: the key of a [[cases]] block that lists its values.
        values: its allowed values; empty for a size and for a number. Families that share a key may have other values.
        default: the value if it is left out; empty if there is no default.
        most: the largest number, the least is 1; None if it is no number.
        missing: for an error, what the operation needs if it is left out; empty if it may be left out.
        of_machine: whether it chooses the machine or its program; the measured program does not get it.
        pattern: the form of a text that only the implementation can judge; empty for other parameters.
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

    Each app has an initramfs of its own, so that a change in one moves no address, and so no count, of another.
    The folder has the client in its C files, the TA in `ta/`, and perhaps in `linux/` the same without a TEE.

    Attributes:
        uuid: the TA's.
        sources: locked source packages that its programs are compiled from.
        packages: locked arm64 packages that its Linux program is compiled with.
        libraries: libraries that its Linux program can be linked with, besides those of OP-TEE.
        portable: whether its TA and its Linux program can be linked with a portable implementation.
        elsewhere: where wrong calls to its TA are tried, if not by the operation `abuse`.
        ta_of: the app whose TA it has; empty if it has one of its own.
    """

    uuid: str
    sources: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    portable: bool = False
    elsewhere: str = ""
    ta_of: str = ""


# (kind of target, given) -> what is wrong with the parameters together;
# (target, implementation, given) -> why unavailable.
Problem: TypeAlias = Callable[[str, Mapping[str, str]], str]
Reason: TypeAlias = Callable[[str, str, Mapping[str, str]], str]


def no_problem(_target: str, _given: Mapping[str, str]) -> str:
    """For an operation whose parameters all go together."""
    return ""


def _available(_target: str, _implementation: str, _given: Mapping[str, str]) -> str:
    return ""


@dataclass(frozen=True)
class FamilyPrograms:
    """Programs of a family's own, on boards and in plain Linux, in place of those of portable implementations.

    Attributes:
        name: theirs; the family's images.py says by it how they are built.
        libraries: the implementations that they have, besides those of the target.
    """

    name: str
    libraries: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    """Something that can be measured, on the kinds of target on which one family measures it.

    Attributes:
        name: its name in a case's id and in a suite. Two families may use one name on different kinds.
        measures: kind -> its measures; none for a campaign, which has outcomes instead.
        parameters: kind -> its parameters, in the order of a case's id.
        problem: (kind of target, given) -> what is wrong with its parameters together, as a sentence; empty if nothing
            is.
        reason: (target, implementation, given) -> why an implementation cannot do it, without a full stop; empty if it
            can.
        app: the app that does it; empty if no app of guest/apps does.
        app_parameter: the parameter that names the app, where it is not always the same.
        own: the family's own programs that do it, if they do.
    """

    name: str
    measures: Mapping[str, Measures]
    parameters: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    problem: Problem = no_problem
    reason: Reason = _available
    app: str = ""
    app_parameter: str = ""
    own: FamilyPrograms | None = None


@dataclass(frozen=True)
class Spec:
    """What a family declares to the plan.

    Attributes:
        operations: the operations that it measures.
        apps: its folders of guest/apps, by name.
        published: names of published/*.toml: sources of published figures shown beside its operations.
        also: families whose rows have a part in its tables too: they are built for runs with such rows alone.
    """

    operations: tuple[Operation, ...]
    apps: Mapping[str, App] = field(default_factory=dict)
    published: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
