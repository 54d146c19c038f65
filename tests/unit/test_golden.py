# SPDX-License-Identifier: BSD-2-Clause
"""Golden files: what worldwise decides and says stays as it was recorded in tests/golden.

A change that is meant is recorded anew by `./test tests/unit/test_golden.py --record-golden`, and seen in the commit.
"""

import difflib
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

import golden_parts
from worldwise.lab.lab import Lab, open_lab

GOLDEN = Path(__file__).parents[1] / "golden"
FETCHED = "recipes-fetched.txt"
# Lines of a difference that are shown.
_SHOWN = 60

Check = Callable[[str, str], None]


@pytest.fixture
def check(pytestconfig: pytest.Config) -> Check:
    """Compares a text with the file of a name, or writes the file if that is asked for."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if pytestconfig.option.record_golden:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        recorded = path.read_text(encoding="utf-8") if path.is_file() else ""
        if text != recorded:
            lines = difflib.unified_diff(recorded.splitlines(), text.splitlines(), "recorded", "now", n=1, lineterm="")
            shown = "\n".join(itertools.islice(lines, _SHOWN))
            pytest.fail(f"tests/golden/{name} is another now. If it is meant: --record-golden.\n{shown}", pytrace=False)

    return check


@pytest.mark.parametrize("name", list(golden_parts.PARTS))
def test_it_is_as_it_was_recorded(name: str, check: Check, tmp_path: Path) -> None:
    """If this fails, a user gets another image, another case, another report or another message than before."""
    check(name, golden_parts.PARTS[name](tmp_path))


def test_every_file_has_its_test() -> None:
    """If this fails, a file stands there that nobody compares with anything."""
    there = {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()}
    assert there == {*golden_parts.PARTS, FETCHED}


@pytest.fixture
def whole_lab(lab_if_there: Lab, request: pytest.FixtureRequest) -> Lab:
    """The lab with the roots that have cargo and build the key cache: not built for unit tests alone."""
    machines = any(item.get_closest_marker("machine") for item in request.session.items)
    if not machines and any(open_lab(name=name).problem() for name in golden_parts.ROOTS):
        pytest.skip("these roots are not built, and no test that was asked for builds them")
    return lab_if_there


@pytest.mark.lab
def test_recipes_with_what_is_fetched_are_as_they_were_recorded(whole_lab: Lab, check: Check) -> None:
    """If this fails, a crate or the key cache's programs have other bytes than before."""
    check(FETCHED, golden_parts.fetched_recipes(whole_lab))
