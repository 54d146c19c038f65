# SPDX-License-Identifier: BSD-2-Clause
"""A list of a TOML file whose entries say once what they share."""

from pathlib import Path

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.rows import MOST_ENTRIES, parse_rows
from worldwise.base.toml.toml_model import StrictModel


class One(StrictModel):
    what: str
    core: str
    value: int
    note: str = ""


class Many(StrictModel):
    one: list[One]


TEXT = """[[one]]
what = "first"
core = "a"
value = 1

[[one]]
core = "b"
columns = ["what", "value"]
rows = [
  ["second", 2],
  ["third", 3],
]
"""


def test_a_row_is_an_entry_with_what_its_table_shares() -> None:
    found = parse_rows(Many, "one", TEXT, Path("f.toml")).one
    assert [(one.what, one.core, one.value) for one in found] == [
        ("first", "a", 1),
        ("second", "b", 2),
        ("third", "b", 3),
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('["third", 3]', '["third", "3"]', r"f\.toml:11: one\[3\]\.value"),
        ('["third", 3]', '["third"]', r"f\.toml:11: one: the row has 1 values for 2 columns: what, value"),
        ('["third", 3]', "3", r"f\.toml:9: one: 'rows' must be a list of rows"),
        ('core = "b"', "core = 2", r"f\.toml:7: one\[2\]\.core"),
        ('core = "b"', "value = 2", r"f\.toml:8: one: the key 'value' is given twice"),
        ('["what", "value"]', '["what", "what"]', r"f\.toml:8: one: the key 'what' is given twice"),
        ('["what", "value"]', '["what", "valu"]', r"f\.toml:10: one\[2\]\.valu: there is no such key"),
        ('["what", "value"]', '"what"', r"f\.toml:8: one: 'columns' must be a list of keys"),
        ('columns = ["what", "value"]\n', "", r"f\.toml:6: one: 'columns' must be a list of keys, beside 'rows'"),
        ('core = "b"\n', "", r"f\.toml:9: one\[2\]: the key 'core' is missing"),
        ("value = 1", "value = []", r"f\.toml:4: one\[1\]\.value"),
        ("[[one]]", "[[two]]", r"f\.toml:1: two: there is no such key"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(WorldwiseError, match=says):
        parse_rows(Many, "one", TEXT.replace(old, new, 1), Path("f.toml"))


@pytest.mark.parametrize(
    "text",
    ["[[one]]\ncolumns = []\nrows = [" + "[]," * (MOST_ENTRIES + 1) + "]\n", "[[one]]\n" * (MOST_ENTRIES + 1)],
    ids=["rows", "tables"],
)
def test_a_strangers_file_does_not_fill_the_memory(text: str) -> None:
    """If this fails, half a megabyte of a contributed file becomes a gigabyte of entries."""
    with pytest.raises(WorldwiseError, match=r"f\.toml: one: has more than 20,000 entries"):
        parse_rows(Many, "one", text, Path("f.toml"))
