# SPDX-License-Identifier: BSD-2-Clause
"""What a board's file says of the board itself, which `--via` measures: nothing here changes an emulated machine."""

from typing import Annotated

from pydantic import Field

from worldwise.base.toml_model import Model

Text = Annotated[str, Field(min_length=1)]
Word = Annotated[int, Field(ge=0, lt=2**32)]
Place = Annotated[int, Field(ge=0, lt=2**32, multiple_of=4)]


class Identity(Model):
    """A register by which a board's chip is told from others with the same core.

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


class Named(Model):
    """A name that another program has for something, with where it comes from."""

    value: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$")]
    source: Text


class Servers(Model):
    """What GDB servers call a board that they reach by its own probe.

    Attributes:
        openocd: the file of OpenOCD's scripts.
        pyocd: pyOCD's name of the chip.
    """

    openocd: Named | None = None
    pyocd: Named | None = None
