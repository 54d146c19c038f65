# SPDX-License-Identifier: BSD-2-Clause
"""Tables of build options, from figures that nothing measured."""

import itertools
import math
from typing import Any

import pytest

from readings import cells, reading, row
from worldwise.base.tables import Section
from worldwise.families.portable.options import OptionValues, effects, options_sections
from worldwise.libraries.portable import portables
from worldwise.read.family_fields import Footprint
from worldwise.read.models import Row

LIBRARY = "mbedtls28"
SIGN, VERIFY = 4_000_000, 15_000_000


def test_a_text_names_what_is_not_the_default() -> None:
    options = OptionValues(LIBRARY, [])
    assert options.names == tuple(portables()[LIBRARY].manifest.options)
    text = portables()[LIBRARY].options_text({"nist": "off", "window": "2"})
    assert dict(zip(options.names, options.values(text), strict=True)) == {
        name: {"nist": "off", "window": "2"}.get(name, options.usual(name)) for name in options.names
    }


def test_options_of_a_library_that_is_gone_are_those_of_its_cases() -> None:
    options = OptionValues("gone", ["nist-off", "", "fixed-point-off+nist-off"])
    assert options.names == ("nist", "fixed-point")
    assert options.values("fixed-point-off") == ("default", "off")
    assert options.values("") == ("default", "default")


def figure(operation: str, median: float, options: str = "", **other: Any) -> Row:
    case = f"linux-armv7/swept-O2/{operation},curve=secp256r1,size=32B" + (f",options={options}" if options else "")
    return row(case, operation, "linux", round(median), **{"n": 12} | other)


def grid(**other: Any) -> list[Row]:
    """Without `nist` 4 times for both; with window 2 a signature 1.5 times; `asm` changes next to nothing."""
    rows = []
    for nist, window, assembly in itertools.product(("", "nist-off"), ("", "window-2"), ("", "asm-off")):
        text = "+".join(filter(None, (nist, window, assembly)))
        times = (4 if nist else 1) * (1.001 if assembly else 1)
        rows.append(figure("sign", SIGN * times * (1.5 if window else 1), text, **other))
        rows.append(figure("verify", VERIFY * times, text, **other))
    return rows


def options_tables(found: list[Row], full: bool = False) -> list[Section]:
    parts = options_sections(reading(found), full)
    assert all(cells(part) for part in parts if part.table)
    return parts


def test_a_run_without_options_has_none_of_the_tables() -> None:
    assert options_tables([figure("sign", SIGN), figure("verify", VERIFY)]) == []
    assert options_tables([figure("sign", SIGN, "nist-off", target="mps2-an386")]) == []


def test_the_grid_stands_from_the_fewest_instructions_of_a_signature() -> None:
    table = options_tables(grid())[0].table
    assert table
    assert len(table.rows) == 8
    assert set(table.headers[:3]) == {"nist\n(default)", "window\n(default)", "asm\n(default)"}
    assert table.rows[0] == ["default", "default", "default", "4,000,000", "1.00", "15,000,000", "1.00"]
    assert table.rows[-1][3:] == ["24,024,000", "6.01", "60,060,000", "4.00"]


def test_what_something_disturbed_takes_no_part() -> None:
    busy = figure("sign", 2 * SIGN, parameters="curve=secp256r1,size=32B,load=busy")
    assert options_tables([*grid(), busy]) == options_tables(grid())


def test_memory_has_columns_only_where_it_is_known() -> None:
    table = options_tables(grid(parts=(Footprint(flash=1234, ram=56),)))[0].table
    assert table
    assert [header.partition(",")[0] for header in table.headers[-2:]] == ["code", "static RAM"]
    assert table.rows[0][-2:] == ["1,234", "56"]


def test_effects_are_geometric_means_over_the_rest_of_the_grid_and_the_greatest_comes_first() -> None:
    (table,) = (part.table for part in options_tables(grid()) if part.title.startswith("Which options matter"))
    assert table
    assert [line[:4] for line in table.rows] == [
        ["nist", "off", "default", "4"],
        ["window", "2", "default", "4"],
        ["asm", "off", "default", "4"],
    ]
    assert table.rows[0][4:] == ["4.000"] * 6
    assert table.rows[1][4:] == ["1.500"] * 3 + ["1.000"] * 3


def test_which_options_matter_is_said_in_words() -> None:
    (note,) = (part.notes[0] for part in options_tables(grid()) if part.title.startswith("Which options matter"))
    assert "nist (off instead of default: sign x 4.00, verify x 4.00); window (2 instead of" in note
    assert note.endswith("Less than 1 % on average: asm.")


def test_a_grid_with_gaps_compares_what_there_is() -> None:
    counts = {"sign": {("a", "x"): 10.0, ("b", "x"): 20.0, ("a", "y"): 30.0}}
    options = OptionValues("gone", ["p-b", "q-y"])
    found = effects(
        options,
        {
            "sign": {
                tuple("default" if v in "ax" else v for v in point): value for point, value in counts["sign"].items()
            }
        },
    )
    assert {effect.option: effect.ratios["sign"] for effect in found} == {"p": (2.0,), "q": (3.0,)}
    assert [effect.option for effect in found] == ["q", "p"]
    assert found[0].size == pytest.approx(math.log(3))


def test_without_the_default_there_is_nothing_to_divide_by() -> None:
    parts = options_tables([figure("sign", SIGN, "nist-off"), figure("sign", SIGN, "nist-off+asm-off")])
    assert parts[0].table
    assert [line[-1] for line in parts[0].table.rows] == ["-", "-"]
    assert "default is not among them" in parts[0].notes[0]


def test_all_operations_are_shown_in_full() -> None:
    found = [*grid(), figure("ecdh", 1000), figure("ecdh", 2000, "nist-off")]
    usual, full = options_tables(found)[0].table, options_tables(found, True)[0].table
    assert usual and full
    assert "ecdh\ninstr" not in usual.headers
    assert "ecdh\ninstr" in full.headers
