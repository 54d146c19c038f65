# SPDX-License-Identifier: BSD-2-Clause
"""The one builder of tables, and the one index of rows."""

from board_reading import board_reading
from worldwise.read.rows import RowIndex
from worldwise.report.table_builder import answer, importance, name, number, per_side, section, table


def test_a_column_has_its_header_and_its_cells() -> None:
    """If this fails, a figure stands under another one's header."""
    made = table(["ab", "c"], [name("word", str.upper), number("letters", lambda word: str(len(word)))])
    assert made.headers == ["word", "letters"]
    assert made.rows == [["AB", "2"], ["C", "1"]]
    assert made.left == 1 and made.names == ()


def test_a_name_may_stand_behind_a_number() -> None:
    """If this fails, a name is set flush right, or a number flush left."""
    made = table([1], [name("a", str), number("b", str), name("c", str)])
    assert made.left == 1 and made.names == (2,)
    assert table([1], [name("a", str)]).left == 1


def test_without_items_there_is_nothing() -> None:
    """If this fails, a report has tables without lines."""
    nothing: list[str] = []
    assert section("title", "name", nothing, [name("word", str)]) is None
    assert answer("title", nothing, [name("word", str)], ("name",)) == []


def test_a_line_without_a_side_has_a_dash_there() -> None:
    """If this fails, a report breaks where one storage of several was not measured."""
    row = board_reading().rows[0]
    made = table([{"ree": row}], [*per_side({"ree": "REE", "rpmb": "RPMB"}, lambda row: row.variant)])
    assert made.headers == ["REE", "RPMB"]
    assert made.rows == [[row.variant, "-"]]


def test_a_narrow_screen_leaves_out_the_first_spare_column() -> None:
    """If this fails, a screen leaves out what it must not, or in another order."""
    columns = [name("a", str), number("b", str, spare=2), number("c", str, spare=1), number("d", str)]
    (one,) = answer("title", [1, 2], columns, ("name",))
    assert one.optional == (2, 1)


def test_of_equally_important_lines_the_first_one_comes_first() -> None:
    """If this fails, a screen cuts lines that matter more than those it shows."""
    assert importance([2, 0, 1, 0]) == (3, 0, 2, 1)
    (one,) = answer("title", ["x", "y"], [name("a", str)], ("name",), tiers=[(True, False), (False, False)])
    assert one.importance == (1, 0)


def test_rows_are_found_by_what_a_family_asks_for() -> None:
    """If this fails, a table has the figure of another case, or a dash for one that was measured."""
    rows = board_reading().rows
    index = RowIndex(rows, lambda row: (row.case, row.measure, row.place))
    row = rows[-1]
    assert index.row(row.case, row.measure, row.place) is row
    assert index.median(row.case, row.measure, row.place) == row.median
    assert index.row(row.case, row.measure, "elsewhere") is None
    assert index.median(row.case, row.measure, "elsewhere") is None
    assert len(index.rows) == len(index.keys) == len(set(index.keys))
