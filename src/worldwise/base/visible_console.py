# SPDX-License-Identifier: BSD-2-Clause
"""The console of worldwise.base.outgoing, in a module of its own: rich is loaded when something is printed with it."""

from collections.abc import Iterable

from rich.console import Console
from rich.segment import Segment

from worldwise.base.outgoing import visible


class VisibleConsole(Console):
    """rich's console, with its own colours and cursor movements, and nobody else's."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(
            segment if segment.control else Segment(visible(segment.text), segment.style) for segment in buffer
        )
