# SPDX-License-Identifier: BSD-2-Clause
"""Cores that are predicted: their tables, and which of them can run a case's code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.libraries import own_code
from worldwise.libraries.boards import boards, core_name, load_core, table_of
from worldwise.machine.elf_files.questions import ask
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board
from worldwise.predict.domains import Waits
from worldwise.run.traces.watch import ARMV7, MOST_CORES

# What stands for a flash that never waits.
NO_FLASH = "none"
# Where code can be; in RAM it never waits either.
RAM = "ram"
MEMORIES = (RAM, "flash")
# The architecture whose code Linux on Armv7-A is, in a core's file; those of microcontrollers have an M in them.
_ARMV7 = "Armv7-A"
_V6, _V7, _V7E = "Armv6-M", "Armv7-M", "Armv7E-M"
_BASELINE, _MAINLINE, _HELIUM = "Armv8-M Baseline", "Armv8-M Mainline", "Armv8.1-M Mainline"
# Of a microcontroller's code, by its architecture: which others execute it, besides its own. A core of the mainline has
# the DSP instructions of Armv7E-M here, as those of cores/ do.
_ALSO = {
    _V6: {_V7, _V7E, _BASELINE, _MAINLINE, _HELIUM},
    _V7: {_V7E, _MAINLINE, _HELIUM},
    _V7E: {_MAINLINE, _HELIUM},
    _BASELINE: {_MAINLINE, _HELIUM},
    _MAINLINE: {_HELIUM},
}
# A core for each, to name.
_SUCH = {
    "": "cortex-m4",
    _V6: "cortex-m0",
    _V7: "cortex-m3",
    _V7E: "cortex-m4",
    _BASELINE: "cortex-m33",
    _MAINLINE: "cortex-m33",
    _HELIUM: "cortex-m55",
}
# As Tag_CPU_arch of an ELF file says it (Addenda to, and Errata in, the ABI for the Arm Architecture).
_BY_TAG = {10: _V7, 11: _V6, 12: _V6, 13: _V7E, 16: _BASELINE, 17: _MAINLINE, 21: _HELIUM}


def tables(names: Sequence[str]) -> dict[str, str]:
    """The tables of cores, by name; a text may have several names, with commas between. Raises WorldwiseError."""
    wanted = list(dict.fromkeys(core_name(part.strip()) for name in names for part in name.split(",") if part.strip()))
    if not wanted:
        raise WorldwiseError("no core is named", "such as `--core cortex-a72,cortex-a53`")
    if len(wanted) > MOST_CORES:
        raise WorldwiseError(f"{len(wanted)} cores are named; at most {MOST_CORES} run at a time")
    return {name: table_of(name) for name in wanted}


def can_predict(case: Case) -> bool:
    """Whether models can run with a case: it measures something."""
    return bool(case.measures)


def is_micro(case: Case) -> bool:
    """Whether a case is a microcontroller's: of a board, or a user's own firmware."""
    return is_board(case.target) or own_code.is_firmware(case.implementation)


def is_armv7(case: Case) -> bool:
    """Whether a case's code is that of Linux on Armv7-A: of the target for such cores, or a user's own program."""
    return case.target == ARMV7 or own_code.is_armv7(case.implementation)


def memory_of(case: Case, wanted: "Flash | None") -> "Flash | None":
    """The memory of a case: the one that is wanted; without, firmware of a user's own is in one that never waits, and
    a board has its own, which is None."""
    return wanted or (None if is_board(case.target) or not is_micro(case) else Flash(NO_FLASH))


def check(case: Case, cores: Mapping[str, str]) -> None:
    """Raise WorldwiseError, with what to do, if a case cannot be predicted on each of these cores."""
    if not can_predict(case):
        raise WorldwiseError(f"{case.id}: it has no measure whose cycles can be predicted")
    for name in cores:
        if _runs(case, name):
            continue
        if is_micro(case):
            of = _micro_architecture(case)
            raise WorldwiseError(
                f"{case.id}: its code is T32 of {of or 'a Cortex-M'}, which a {load_core(name).title} cannot run",
                f"choose a core such as {boards()[case.target].core if is_board(case.target) else _SUCH[of]}"
                + ("" if is_board(case.target) else ", or build the firmware for that core and run it again"),
            )
        if is_armv7(case):
            raise WorldwiseError(
                f"{case.id}: its code is A32 and T32 of Armv7-A, and {name}'s file has no times of these",
                "choose cortex-a9 or cortex-a7",
            )
        raise WorldwiseError(
            f"{case.id}: its code is A64, and a {name} cannot run it",
            "choose a core of Armv8-A, such as cortex-a72 or cortex-a53",
        )


def cores_of(case: Case, cores: Mapping[str, str]) -> Mapping[str, str]:
    """Those of the cores that a case among others is predicted on: a board's on its own, others on all that run it."""
    if not can_predict(case):
        return {}
    own = is_board(case.target)
    return with_memory(
        case,
        {name: table for name, table in cores.items() if _runs(case, name) and (not own or _is_of(case.target, name))},
    )


def with_memory(case: Case, cores: Mapping[str, str], flash: "Flash | None" = None) -> Mapping[str, str]:
    """The tables with the flash of the case's board, where it is on one and the core is the board's.

    `flash` is another one, for all of the cores. Raises WorldwiseError if there is no such flash.
    """
    if not is_micro(case):
        return cores
    if flash:
        board, waits = flash.of(case.target)
        stores = flash.stores
        return {
            name: table_of(name, board, waits, stores) if board else table_of(name, store_waits=stores, misses=False)
            for name in cores
        }
    if not is_board(case.target):
        return cores
    return {name: table_of(name, case.target) if _is_of(case.target, name) else table for name, table in cores.items()}


@dataclass(frozen=True)
class Flash:
    """A flash that a prediction takes in place of the board's own.

    Attributes:
        name: the board that has it; NO_FLASH or RAM for a memory that never waits; empty for that of the case's board.
        waits: its wait states; None for those that the board's file has.
        stores: cycles that each word waits which is stored, wherever it goes.
    """

    name: str = ""
    waits: int | None = None
    stores: int = 0

    def of(self, target: str) -> tuple[str, int]:
        """The board whose flash it is, and its wait states. The board is empty if nothing ever waits.

        Raises WorldwiseError if there is no such board, or its file does not say what stands before its flash.
        """
        if self.name in (NO_FLASH, RAM):
            if self.waits:
                raise WorldwiseError(f"--flash {self.name} never waits, and --wait-states says {self.waits}")
            return "", 0
        if not self.name and self.waits is None and target not in boards():
            return "", 0
        name = self.name or target
        if not self.name and target not in boards():
            raise WorldwiseError("--wait-states: firmware is on no board", "name a flash: --flash nucleo-f446re")
        if name not in boards():
            known = ", ".join(one for one, board in boards().items() if board.memory)
            raise WorldwiseError(f"--flash {files.quoted(name)}: there is no such board", f"{NO_FLASH}, {known}")
        waits = boards()[name].flash_wait_states if self.waits is None else self.waits
        if waits and not boards()[name].memory:
            raise WorldwiseError(
                f"{name}: its file does not say what stands before its flash, so no wait states are predicted",
                "name a flash: --flash nucleo-f446re",
            )
        return name, waits

    def clock(self, target: str) -> Fraction | None:
        """The clock of the board whose flash it is; None if nothing ever waits."""
        board, _ = self.of(target)
        return Fraction(boards()[board].clock) if board else None

    def words(self, target: str) -> str:
        """In words, for a screen: `3 wait states, flash of nucleo-f446re`."""
        return self._code(target) + (f", each stored word waits for {self.stores}" if self.stores else "")

    def waits_of(self, target: str) -> Waits:
        """Whether code waits for it, or what is stored."""
        return "stores" if self.stores else self.of(target)[1] > 0

    def _code(self, target: str) -> str:
        board, waits = self.of(target)
        if self.name == RAM:
            return "code in RAM"
        if not board:
            return "in a memory that never waits"
        return f"{waits} wait state{'' if waits == 1 else 's'}, flash of {board}"


def _micro_architecture(case: Case) -> str:
    """The architecture that a microcontroller's code was built for; empty if its file does not say one."""
    if is_board(case.target):
        return load_core(boards()[case.target].core).architecture
    found = ask(
        own_code.find(case.implementation).folder / own_code.FIRMWARE_ELF, ("arm_architecture",), what="firmware"
    )
    return _BY_TAG.get(found[0] or 0, "")


def _is_of(board: str, name: str) -> bool:
    """Whether a core is a board's: that of its file, or one that was fitted on it."""
    if name == boards()[board].core:
        return True
    calibration = load_core(name).calibration
    return calibration is not None and calibration.board == board


def _executes(architecture: str, code: str) -> bool:
    """Whether a microcontroller executes the code of an architecture; of one that nobody knows every one does."""
    return not code or architecture == code or architecture in _ALSO.get(code, ())


def _runs(case: Case, name: str) -> bool:
    """Whether a core runs a case's code. Raises WorldwiseError if there is no such core."""
    architecture = load_core(name).architecture
    small = "M" in architecture
    if is_micro(case) or small:
        return small and is_micro(case) and _executes(architecture, _micro_architecture(case))
    return is_armv7(case) == (architecture == _ARMV7)
