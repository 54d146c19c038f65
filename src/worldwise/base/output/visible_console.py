# SPDX-License-Identifier: BSD-2-Clause
"""The console of worldwise.base.output.safe_text, a module of its own so that rich is loaded only when it is used."""

from collections.abc import Iterable

from rich.console import Console
from rich.segment import Segment

from worldwise.base.output.safe_text import visible


class VisibleConsole(Console):
    """rich's console: it sends its own colours and cursor movements, and writes out those in the text."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(
            segment if segment.control else Segment(visible(segment.text), segment.style) for segment in buffer
        )
