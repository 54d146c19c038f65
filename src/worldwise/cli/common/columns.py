# SPDX-License-Identifier: BSD-2-Clause
"""Lines of a name and what is to be said of it, no wider than a screen. Loads no slow module."""

import textwrap

from worldwise.base.output import safe_text

SCREEN_COLUMNS = 100


def echo_line(begin: str, text: str) -> None:
    """Print `begin` and a text behind it; what does not fit goes on below the text's beginning."""
    lines = textwrap.wrap(
        safe_text.visible(text),
        SCREEN_COLUMNS,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
    safe_text.echo("\n".join(lines) or begin.rstrip())
