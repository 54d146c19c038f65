# SPDX-License-Identifier: BSD-2-Clause
"""What a board's file says of the board itself, which `--via` measures: nothing here changes an emulated machine."""

import re
from fractions import Fraction
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from worldwise.base.toml.toml_model import Model, Text

_CLOCK = re.compile(r"([0-9]+(?:\.[0-9]+)?) (MHz)")

Word = Annotated[int, Field(ge=0, lt=2**32)]
Place = Annotated[int, Field(ge=0, lt=2**32, multiple_of=4)]


def hertz(value: object) -> int:
    """Hz in a text such as '72 MHz'. Raises ValueError."""
    match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise ValueError("must be a clock such as '72 MHz'")
    found = Fraction(match[1]) * 10**6
    if found.denominator != 1 or not 0 < found <= 10**9:
        raise ValueError("must be a whole number of Hz, up to 1000 MHz")
    return int(found)


class Identity(Model):
    """A register that distinguishes a board's chip from others with the same core.

    Attributes:
        name: as the chip's manual calls it.
        address: where it is.
        mask: the bits that count.
        value: what they are.
    """

    name: Text
    address: Place
    mask: Annotated[int, Field(gt=0, lt=2**32)]
    value: Word


class NamedFact(Model):
    """A name that another program has for something, with where it comes from."""

    value: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$")]
    source: Text


class Servers(Model):
    """What GDB servers call a board that they reach by its own probe.

    Attributes:
        openocd: the file of OpenOCD's scripts.
        pyocd: pyOCD's name of the chip.
    """

    openocd: NamedFact | None = None
    pyocd: NamedFact | None = None


class RegisterStep(Model):
    """Some bits of a register of the chip that are set, or waited for.

    Attributes:
        name: the register and the bits, as the chip's documents call them.
        address: the register's.
        mask: the bits; the others stay as they are.
        value: what the bits get, or what they must become.
        wait: whether they are waited for, and not set.
        source: the document that says so.
    """

    name: Text
    address: Place
    mask: Annotated[int, Field(gt=0, lt=2**32)]
    value: Word
    wait: bool = False
    source: Text

    @model_validator(mode="after")
    def _within(self) -> "RegisterStep":
        if self.value & ~self.mask:
            raise ValueError("the value has bits that the mask lacks")
        return self


class Clock(Model):
    """How a chip's clock and its flash are set after a reset, and what the clock is then.

    Attributes:
        title: in words, for tables.
        clock: Hz of the core.
        flash_wait_states: that reads from flash wait then.
        bus: Hz of the serial line's bus then, if it is not that after a reset.
        after: another one of the board whose steps come before.
        steps: in this order; none for what the reset leaves.
    """

    title: Text
    clock: int
    flash_wait_states: Annotated[int, Field(ge=0, le=15)]
    bus: int | None = None
    after: str = ""
    steps: tuple[RegisterStep, ...] = ()

    _clock = field_validator("clock", "bus", mode="before")(hertz)

    @property
    def words(self) -> str:
        """What it is, on one line."""
        return f"{self.clock / 10**6:g} MHz, {self.flash_wait_states} wait states: {self.title}"


class Serial(Model):
    """The serial line of a board that its user can reach: where the program writes bytes, and how it is switched on.

    Attributes:
        title: which it is, and where it ends.
        bus: Hz of its bus after a reset.
        status, mask, ready: the register, and what its bits are when the next byte may be written.
        data: the register that takes the byte.
        divider, divider_source: the one that takes bus / baud, and the document that says so.
        steps: what the debugger sets before that.
        start: what it sets then.
    """

    title: Text
    bus: int
    status: Place
    mask: Annotated[int, Field(gt=0, lt=2**32)]
    ready: Word
    data: Place
    divider: Place
    divider_source: Text
    steps: tuple[RegisterStep, ...]
    start: tuple[RegisterStep, ...]

    _bus = field_validator("bus", mode="before")(hertz)

    def steps_at(self, baud: int, clock: Clock | None) -> tuple[RegisterStep, ...]:
        """All steps, for a rate and at a clock."""
        bus = clock.bus if clock and clock.bus else self.bus
        rate = RegisterStep(
            name="divider", address=self.divider, mask=0xFFFF, value=round(bus / baud), source=self.divider_source
        )
        return (*self.steps, rate, *self.start)
