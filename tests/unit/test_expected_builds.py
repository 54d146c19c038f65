# SPDX-License-Identifier: BSD-2-Clause
"""What a first call says that it builds, and for how long."""

from pathlib import Path
from typing import cast

import pytest

from worldwise.families.keycache import demo
from worldwise.lab.expected_builds import expected, unbuilt
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import open_lab


class Store:
    """A store of images in which some are there."""

    def __init__(self, *there: str) -> None:
        self.there = there

    def unbuilt(self, recipe: Recipe) -> list[Recipe]:
        needs = [one for need in recipe.needs.values() for one in self.unbuilt(need)]
        return [] if recipe.name in self.there else [recipe, *needs]


def test_what_is_built_first_is_said_with_its_time() -> None:
    """If this fails, somebody waits for ten minutes without a word on it, or each call speaks of seconds."""
    said = expected(["keycache"], ["optee-objects-mbedtls-ce-O2", "optee-mbedtls-ce-O2", "programs-keycache", "linux"])
    assert said == (
        "first it builds root keycache, optee-objects-mbedtls-ce-O2, optee-mbedtls-ce-O2 and 2 more: about 3 min on "
        "two idle processors, and never again"
    )
    assert expected([], ["optee-objects-x", "plugin"]).endswith(
        "plugin: about 40 s on two idle processors, and never again"
    )
    assert expected([], []) == "" and expected([], ["plugin"]) == "" and expected([], ["linux", "flat"]) == ""


def test_what_is_there_is_not_built_and_what_two_need_is_built_once() -> None:
    """If this fails, the time is that of what is there already, or is counted twice."""
    source = Recipe("optee-source", "x.sh", ("x",))
    one, two = (Recipe(name, "x.sh", ("x",), needs={"source": source}) for name in ("optee-a", "optee-b"))
    assert unbuilt(cast("ImageStore", Store()), [one, two]) == ["optee-a", "optee-source", "optee-b"]
    assert unbuilt(cast("ImageStore", Store("optee-a")), [one, two]) == ["optee-b", "optee-source"]


@pytest.mark.parametrize("mqtt", [False, True])
def test_the_first_demo_says_what_it_takes_and_builds_nothing(
    mqtt: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, the key cache's first demo is silent for its nine minutes."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    said = demo.expected_builds(demo.DemoOptions(tmp_path, mqtt=mqtt), open_lab())
    assert said.startswith("first it builds root keycache, optee-objects-mbedtls-nist-O2, ")
    assert " min on two idle processors" in said
    assert mqtt == (int(said.split("about ")[1].split()[0]) > 5)
    assert not [*(tmp_path / "cache").glob("images/*")]
