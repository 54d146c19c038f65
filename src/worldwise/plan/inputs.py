# SPDX-License-Identifier: BSD-2-Clause
"""What a case draws: its keys, messages, nonces and blinding come from a seed that belongs to the case.

The seed is made of what the case asks, not of who answers: every variant of a task, and every build of a variant, has
the same one. docs/how/repeat.md says what follows from it.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board
from worldwise.plan.spec import LINUX, OPTEE, OWN

DEFAULT_SEED = 0
# Of a case as it is shipped: the file with the records of the same case without interrupts and without
# the random offset of the stack.
OWN_PATH_FILE = "own-path.jsonl"
# Each takes a step of a million bytes in the sequence of guest/operations/random.c.
MOST_SEED = 1000
# The most draws of one run.
MOST_SEEDS = 100
# Parameters that say what is computed; the others say how.
_TASK = ("curve", "size", "key", "mode", "direction", "scheme")


def inputs_seed(case: Case) -> str:
    """The 32 bytes that a case's generators begin with, as hexadecimal digits."""
    given = dict(case.parameters)
    words = [case.operation, *(f"{key}={given[key]}" for key in _TASK if key in given)]
    return hashlib.sha256(f"worldwise inputs\n{','.join(words)}\n{case.seed}\n".encode()).hexdigest()


def draws_by_seed(case: Case) -> bool:
    """Whether the core's generator, or the one that stands for Linux's, makes what the case draws."""
    return case.target in (OPTEE, LINUX)


def seed_problem(case: Case) -> str:
    """Why a case has one draw only, without a full stop; empty if `--seed` gives it another."""
    if case.target == OWN:
        return "your own code has what you give it: it draws nothing by a seed"
    if is_board(case.target):
        return "the programs of a board draw from a generator whose start is compiled in"
    if not (case.measures and case.target in (OPTEE, LINUX, *PLAIN_TARGETS)):
        return "it is no operation with counts"
    inside = case.target == OPTEE and case.implementation not in IMPLEMENTATIONS
    if inside and ("random", "tee") not in case.parameters:
        return "a library in a TA draws from the bench's generator, whose start is compiled in, unless random=tee"
    return ""


def draw_file(seed: int) -> str:
    """The file with a case's records of another draw."""
    return f"seed-{seed}.jsonl"


def others(case: Case, seeds: int) -> Iterator[tuple[str, Case]]:
    """Name of a file -> the case whose records it has. A case with one draw only has no others."""
    if case.as_shipped:
        yield OWN_PATH_FILE, replace(case, as_shipped=False)
    if not seed_problem(case):
        for seed in range(case.seed + 1, case.seed + seeds):
            yield draw_file(seed), replace(case, seed=seed)
