# SPDX-License-Identifier: BSD-2-Clause
"""Report parts of boards and plain Linux: their tables, the tables of build options, and the CSV columns."""

from worldwise.families.portable.answer import portable_answers
from worldwise.families.portable.boards import board_columns, board_sections
from worldwise.families.portable.linux import linux_columns, linux_sections
from worldwise.families.portable.options import options_sections
from worldwise.families.portable.plots import board_figures
from worldwise.report.tables import Columns, Group, Tables

TABLES = Tables(
    groups=(Group(480, board_sections), Group(500, linux_sections), Group(520, options_sections)),
    answers=portable_answers,
    operations={"keygen": "key generation", "sign": "signature", "verify": "verification", "ecdh": "shared secret"},
    figures=board_figures,
    columns=(Columns(10, board_columns), Columns(30, linux_columns)),
)
