# SPDX-License-Identifier: BSD-2-Clause
"""A chip's clock and flash, set through its debugger after each reset, and its clock looked at before it is believed.

The program that is measured has no part in it: it is the same one at every clock.
"""

import struct
import time
from collections.abc import Iterable

from worldwise.base.errors import HostError
from worldwise.libraries.boards import Board
from worldwise.libraries.real_board import RegisterStep
from worldwise.machine.board.firmware import Firmware
from worldwise.machine.board.gdbserver import GdbServer

_CSR, _RVR, _CVR = 0xE000E010, 0xE000E014, 0xE000E018
# SysTick from the core's clock, without an interrupt; that it came round since this was read; ticks of a round.
_ENABLED, _CAME_ROUND, _ROUND = 5, 1 << 16, 2**24
# Counts in r0 how often SysTick comes round: r1 has the address of its CSR, whose bit 16 says so once, and r3 is 0.
_LOOP = struct.pack("<4H", 0x680A, 0x0C52, 0x4158, 0xE7FB)  # ldr r2, [r1]; lsrs r2, #17; adcs r0, r3; b to the first
# Bytes below the stack's top, where the loop stands: nothing runs yet.
_BELOW = 256
# Seconds of the host that the loop runs, and that a register may take to become what is waited for.
RUNS, _WAITS = 1.0, 2.0
# An oscillator without a crystal may be some per cent off, which is not a wrong setting.
_OFF = 0.05


def take_steps(what: str, server: GdbServer, steps: Iterable[RegisterStep], otherwise: str) -> None:
    """Set registers of a halted chip. Raises HostError if one does not become right.

    The error says `what` they are for, and what there is `otherwise`.
    """
    for step in steps:
        if not step.wait:
            server.write_word(step.address, server.read_word(step.address) & ~step.mask | step.value)
            continue
        deadline = time.monotonic() + _WAITS
        while (found := server.read_word(step.address)) & step.mask != step.value:
            if time.monotonic() > deadline:
                raise HostError(
                    f"{what}: {step.name} at {step.address:#010x} does not become {step.value:#x}: the register has "
                    f"{found:#010x}.",
                    f"check that the board matches its file ({step.source}); {otherwise}",
                )


class ChipClock:
    """One of a board's clocks.

    Its methods raise HostError: what is wrong with the clock is wrong for every case.

    Args:
        name: of the board.
        board: the board.
        clock: which of its clocks.
    """

    def __init__(self, name: str, board: Board, clock: str) -> None:
        self._what = f"{name}: clock {clock}"
        self._clock = board.clocks[clock]
        self._steps = board.steps(clock)

    def set(self, server: GdbServer) -> None:
        """Set the clock of a chip that was reset, and is halted."""
        take_steps(self._what, server, self._steps, "without --clock the board keeps the clock of its reset")

    def check(self, server: GdbServer, firmware: Firmware) -> None:
        """Compare what SysTick counts with the host's time. The chip must be reset afterwards."""
        at = firmware.stack - _BELOW & ~3
        reply = server.write(at, _LOOP)
        if reply != "OK":
            server.refused("write a loop into memory", reply)
        for address, value in ((_CSR, 0), (_RVR, _ROUND - 1), (_CVR, 0), (_CSR, _ENABLED)):
            server.write_word(address, value)
        for register, value in (("r0", 0), ("r1", _CSR), ("r3", 0), ("pc", at)):
            server.set_register(register, value)
        server.send("c")
        began = time.monotonic()
        said = server.wait(RUNS)
        asked = time.monotonic()
        if said is not None or not server.interrupt():
            raise HostError(
                f"{self._what}: the core does not run a loop of four instructions at this clock.",
                "check the flash's wait states and the board's power supply",
            )
        ended = time.monotonic()
        # The loop may not have seen the last of them.
        rounds = server.register("r0") + bool(server.read_word(_CSR) & _CAME_ROUND)
        ticks = rounds * _ROUND + _ROUND - 1 - server.read_word(_CVR)
        # It was halted at some time between.
        least, most, wanted = ticks / (ended - began), ticks / (asked - began), self._clock.clock
        if not least <= wanted * (1 + _OFF) or not wanted * (1 - _OFF) <= most:
            raise HostError(
                f"{self._what}: the core runs at about {(least + most) / 2e6:.1f} MHz by SysTick and the host's time, "
                f"and not at {wanted / 1e6:g} MHz.",
                "does the board have another oscillator or chip than its file says? Without --clock the board keeps "
                "the clock of its reset",
            )
