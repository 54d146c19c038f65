# SPDX-License-Identifier: BSD-2-Clause
"""What the first process settles for a case: what its generators begin with, and whether timers interrupt it.

guest/linux/init.c reads these settings among the words of the program's command line.
"""

from collections.abc import Sequence

from worldwise.libraries.stacks import stack
from worldwise.plan.case import Case
from worldwise.plan.inputs import DEFAULT_SEED, draws_by_seed, inputs_seed
from worldwise.targets.architecture import QUIET
from worldwise.targets.families import images_of

# What tells a setting from the program's own words.
MARK = "+"
_MASKED = f"{MARK}quiet"


def boot_words(case: Case) -> tuple[str, ...]:
    """More of Linux's command line: what keeps it quiet, unless it is as shipped, and the words of a stack in use."""
    return linux_words(() if case.as_shipped else QUIET)


def linux_words(ours: Sequence[str]) -> tuple[str, ...]:
    """More of Linux's command line: words of ours and those of a stack in use."""
    used = stack.current()
    return (*ours, *(used.stack.linux.words if used else ()))


def is_quiet(case: Case) -> bool:
    """Whether no timer interrupts a case: not if its programs wait for Linux's, or if the case is about interrupts."""
    wanted = images_of(case)
    waits = wanted.waits_for_timers(case) or wanted.beside(case) is not None
    return not (case.as_shipped or waits or ("load", "busy") in case.parameters or case.ticks_in_both_worlds)


def settings(case: Case) -> tuple[str, ...]:
    """The settings of a case, behind the program's words."""
    seed = [f"{MARK}seed={inputs_seed(case)}"] if draws_by_seed(case) else []
    draw = [f"{MARK}draw={case.seed}"] if case.seed != DEFAULT_SEED else []
    # Last: seeding the secure world takes calls of Linux's.
    return (*seed, *draw, *([_MASKED] if is_quiet(case) else []))


def with_timers(program: Sequence[str]) -> Sequence[str]:
    """A program's words without the setting that masks timers."""
    return [word for word in program if word != _MASKED]


def without_settings(program: Sequence[str]) -> Sequence[str]:
    """A program's own words: what a host is given, on which nobody settles anything."""
    return [word for word in program if not word.startswith(MARK)]
