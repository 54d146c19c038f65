# SPDX-License-Identifier: BSD-2-Clause
"""Quantities as people write them: sizes in bytes, durations in seconds, clocks in Hz; and what a counter counts."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError

_SIZE = re.compile(r"([0-9]{1,15})(B|KiB|MiB)?")
_SIZE_UNITS = {"MiB": 2**20, "KiB": 2**10, "B": 1}
_QUANTITY = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([A-Za-z\u00b5\u03bc]+)\s*")
_LIMIT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?%")
DURATIONS: Mapping[str, Fraction] = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "\u00b5s": Fraction(1, 10**6),
    "\u03bcs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
FREQUENCIES: Mapping[str, Fraction] = {
    "GHz": Fraction(10**9),
    "MHz": Fraction(10**6),
    "kHz": Fraction(10**3),
    "Hz": Fraction(1),
}


def is_size(text: str) -> bool:
    """Whether a text has the form of a size, with or without its unit."""
    return bool(_SIZE.fullmatch(text))


def parse_size(text: str) -> int:
    """Bytes from `64KiB`, `4MiB`, `100B` or `0`. Raises WorldwiseError."""
    match = _SIZE.fullmatch(text.strip())
    if not match or not (match[2] or int(match[1]) == 0):
        raise WorldwiseError(f"'{files.quoted(text)}' is not a size such as '64KiB', '4MiB', '100B' or '0'.")
    return int(match[1]) * _SIZE_UNITS[match[2] or "B"]


def size_text(size: int) -> str:
    """A size as people write it, and as a case's id always has it: `64KiB`, `4MiB`, `0B`."""
    unit, scale = next(
        (unit, scale) for unit, scale in _SIZE_UNITS.items() if (size >= scale and size % scale == 0) or scale == 1
    )
    return f"{size // scale}{unit}"


def parse_limit(text: str) -> Fraction:
    """A limit on a change, such as `0.1%`, as a fraction. Raises WorldwiseError."""
    match = _LIMIT.fullmatch(text.strip())
    if not match:
        raise WorldwiseError(
            f"'{files.quoted(text)}' is not a limit for a gate.", "say how many per cent more may pass: 0% or 0.1%"
        )
    return Fraction(match[1]) / 100


def parse_duration(text: str) -> Fraction:
    """Seconds from `5ms`, `5 ms` or `800us`. Raises WorldwiseError."""
    return _quantity(text, DURATIONS, "a duration such as '5 ms' or '800us'")


def parse_frequency(text: str) -> Fraction:
    """Hz from `2GHz`, `1.5 GHz` or `180MHz`. Raises WorldwiseError."""
    return _quantity(text, FREQUENCIES, "a clock such as '2 GHz' or '180MHz'")


def quantity_text(value: Fraction, units: Mapping[str, Fraction]) -> str:
    """A quantity in the largest of `units` in which it is at least 1: `5 ms`."""
    name, scale = next(((n, s) for n, s in units.items() if value >= s), list(units.items())[-1])
    return f"{float(value / scale):g} {name}"


def _quantity(text: str, units: Mapping[str, Fraction], what: str) -> Fraction:
    shown = files.quoted(text)
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise WorldwiseError(f"'{shown}' is not {what}.")
    number, unit = match.groups()
    # People write GHz in many ways; `ms` and `Ms` differ.
    by_name = {name.lower(): value for name, value in units.items()} if "Hz" in units else dict(units)
    value = by_name.get(unit.lower() if "Hz" in units else unit)
    if value is None:
        plain = [name for name in units if name.isascii()]
        raise WorldwiseError(
            f"'{shown}': the unit '{files.quoted(unit)}' is not known. Allowed: {', '.join(plain)}.",
            hint=did_you_mean(unit, plain),
        )
    if Fraction(number) == 0:
        raise WorldwiseError(f"'{shown}' is zero; it must be more.")
    return Fraction(number) * value


Unit = Literal["instructions", "cycles", "nanoseconds"]
INSTRUCTIONS: Unit = "instructions"
CYCLES: Unit = "cycles"
NANOSECONDS: Unit = "nanoseconds"

# As headers of tables say it.
SHORT: dict[Unit, str] = {"instructions": "instr", "cycles": "cycles", "nanoseconds": "ns"}
