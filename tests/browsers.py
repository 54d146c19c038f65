# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the tests that look at pages: the browser, and the renderer of flame graphs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from worldwise.lab.lab import open_lab
from worldwise.run.traces.flame_renderer import Inferno

if TYPE_CHECKING:
    # It loads selenium, which all other tests need not.
    from browser import Browser


@pytest.fixture(scope="session")
def renderer() -> Inferno:
    """The user's renderer, built if need be."""
    return Inferno()


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """One Chromium for all tests of a file."""
    from browser import chromium

    lab = open_lab(name="browser")
    lab.ensure()
    with chromium(lab) as running:
        yield running
