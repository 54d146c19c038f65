# SPDX-License-Identifier: BSD-2-Clause
"""The command line, called in the test's own process."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from worldwise import cli


class Answer(NamedTuple):
    """How a call ended and what it said."""

    status: int
    out: str
    err: str

    @property
    def told(self) -> str:
        """The error, in one line however it was wrapped."""
        return " ".join(self.err.split())


Call = Callable[..., Answer]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the tool as `worldwise ARGUMENTS`, with output that is no terminal."""

    def call(*arguments: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["worldwise", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capsys.readouterr()
        code = caught.value.code
        assert code is None or isinstance(code, int)
        return Answer(code or 0, out, err)

    return call
