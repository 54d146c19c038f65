# SPDX-License-Identifier: BSD-2-Clause
"""Every target there is, by its name in cases."""

from collections.abc import Iterator, Mapping

from worldwise.libraries.boards import boards
from worldwise.machine.emulator import OPTEE_TARGETS, Target
from worldwise.targets.board import BoardTarget
from worldwise.targets.linux import PLAIN

_MACHINES: Mapping[str, Target] = {**OPTEE_TARGETS, **PLAIN}


class _Targets(Mapping[str, Target]):
    """Boards are read when they are first asked for."""

    def _all(self) -> dict[str, Target]:
        return {**_MACHINES, **{name: BoardTarget(name, board) for name, board in boards().items()}}

    def __getitem__(self, name: str) -> Target:
        return _MACHINES[name] if name in _MACHINES else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


TARGETS: Mapping[str, Target] = _Targets()
