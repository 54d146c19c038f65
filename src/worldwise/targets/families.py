# SPDX-License-Identifier: BSD-2-Clause
"""What a family's machine needs besides what every machine has.

A family declares it in its file `images.py`: see worldwise.base.family_stages. A family without needs has no such file.
"""

from collections.abc import Callable
from dataclasses import dataclass

from worldwise.base.family_stages import declared
from worldwise.base.units import Unit
from worldwise.lab.image import Recipe
from worldwise.libraries.boards import Board
from worldwise.libraries.crates import Crates
from worldwise.libraries.portable import NO_CURVE
from worldwise.machine.machine import HostProgram
from worldwise.plan.case import Case
from worldwise.plan.catalogue import app_of, family_of_app, operation_of
from worldwise.targets.architecture import Architecture


def _nothing_beside(_case: Case) -> HostProgram | None:
    return None


def _never(_case: Case) -> bool:
    return False


def always(_case: Case) -> bool:
    """For a family all of whose programs do."""
    return True


def _of_curve(case: Case) -> str:
    return case.curve or NO_CURVE


def _nothing_first(_notify: Callable[[str], None]) -> None:
    pass


@dataclass(frozen=True)
class Images:
    """What the machine of a family's app, or of its own programs, needs: for every case that these do.

    Attributes:
        programs: (case, feature of OP-TEE) -> its programs; None for the usual programs of an app.
        plain_programs: (case, architecture) -> the case's program for plain Linux; None for a portable
            implementation's.
        board_programs: (case, board, unit, whether records go over its serial line, crates) -> the case's programs for
            a board, one for each name that `board_program` gives; None for a portable implementation's.
        board_program: case -> which of these is its own.
        build_first: builds what `programs` needs besides recipes; its argument is called when a build begins.
        sizes_ta: whether the TA's size is a result, because several TAs do the same.
        beside: case -> the host program that runs beside the machine.
        host_files: names of the files that this host program leaves in the case's directory.
        patience: seconds for which its programs may record nothing, if more than others get.
        waits_for_timers: case -> whether its programs sleep or wait with a limit, so that Linux needs its timer.
        counts_cycles: whether its TA reads the cycle counter by our pseudo-TA, as on a board.
        private_storage: whether its TA leaves it to OP-TEE where objects are: they are in RPMB where nothing else is.
    """

    programs: Callable[[Case, str], Recipe] | None = None
    plain_programs: Callable[[Case, Architecture], Recipe] | None = None
    board_programs: Callable[[Case, Board, Unit, bool, Crates], Recipe] | None = None
    board_program: Callable[[Case], str] = _of_curve
    build_first: Callable[[Callable[[str], None]], object] = _nothing_first
    sizes_ta: bool = False
    beside: Callable[[Case], HostProgram | None] = _nothing_beside
    host_files: tuple[str, ...] = ()
    patience: float = 0
    waits_for_timers: Callable[[Case], bool] = _never
    counts_cycles: bool = False
    private_storage: bool = False


def images_of(case: Case) -> Images:
    """What the family of a case's app, or of its own programs, declares; or the defaults."""
    found = operation_of(case.target, case.operation)
    app = found.own.name if found and found.own else case_app(case)
    return declared("images", Images).get(family_of_app(app), Images())


def case_app(case: Case) -> str:
    """The name of the app that does a case in a TEE; empty for a case without a TEE."""
    return app_of(case.operation, dict(case.parameters))


def host_files() -> tuple[str, ...]:
    """Every file that only some cases leave in their directory, by name."""
    return tuple(name for images in declared("images", Images).values() for name in images.host_files)
