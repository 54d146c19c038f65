# SPDX-License-Identifier: BSD-2-Clause
"""Every target, by its name in cases."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from worldwise.lab.image import ImageStore
from worldwise.libraries.boards import Board, boards
from worldwise.machine.machine import Machine
from worldwise.plan.case import Case
from worldwise.plan.spec import OWN
from worldwise.targets.board import BoardTarget
from worldwise.targets.linux import PLAIN
from worldwise.targets.optee import OPTEE_TARGETS
from worldwise.targets.own_code import OwnTarget
from worldwise.targets.trustzone import TrustZoneTarget


class Target(Protocol):
    """A kind of machine. A new one is one class, which is named below."""

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The machine that the case runs on; builds missing images."""

    def program(self, case: Case) -> Sequence[str]:
        """The command line that runs the case on the machine."""


_MACHINES: Mapping[str, Target] = {**OPTEE_TARGETS, **PLAIN, OWN: OwnTarget()}


def _of_board(name: str, board: Board) -> BoardTarget:
    return TrustZoneTarget(name, board) if board.secure else BoardTarget(name, board)


class _Targets(Mapping[str, Target]):
    """The targets by name; the boards are read at first use."""

    def _all(self) -> dict[str, Target]:
        return {**_MACHINES, **{name: _of_board(name, board) for name, board in boards().items()}}

    def __getitem__(self, name: str) -> Target:
        return _MACHINES[name] if name in _MACHINES else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


EMULATED: Mapping[str, Target] = _Targets()
