# SPDX-License-Identifier: BSD-2-Clause
"""What the first call of a command builds, and how long that takes about: said before it begins."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from worldwise.base import paths
from worldwise.base.toml import toml_model
from worldwise.lab.image import ImageStore, Recipe

BUILDS = paths.MEASURED / "builds.toml"
_OTHER = "other"
# Less is not worth a line, in seconds.
_LITTLE = 15
_MOST_NAMED = 3

_Seconds = Annotated[float, Field(gt=0, le=100_000)]


class _Table(toml_model.Model):
    format: Literal[1]
    roots: dict[str, _Seconds]
    images: dict[str, _Seconds]


def unbuilt(store: ImageStore, recipes: Iterable[Recipe]) -> list[str]:
    """The names of the images that are not there yet, those that these need among them, each once."""
    return list(dict.fromkeys(each.name for recipe in recipes for each in store.unbuilt(recipe)))


def expected(roots: Sequence[str], images: Sequence[str]) -> str:
    """A sentence on what is made first, and for how long; empty if that is little.

    `roots` are names of roots that are not there, `images` of images.
    """
    table = toml_model.parse(_Table, toml_model.read_text(BUILDS, "builds"), str(BUILDS))
    costs = {f"root {name}": table.roots.get(name, table.roots["render"]) for name in roots}
    costs |= {name: _of_image(name, table.images) for name in images}
    seconds = sum(costs.values())
    if seconds < _LITTLE:
        return ""
    dearest = sorted(costs, key=lambda name: -costs[name])[:_MOST_NAMED]
    more = f" and {len(costs) - len(dearest)} more" if len(costs) > len(dearest) else ""
    time = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{round(seconds, -1):.0f} s"
    return f"first it builds {', '.join(dearest)}{more}: about {time} on two idle processors, and never again"


def _of_image(name: str, known: dict[str, float]) -> float:
    alike = [each for each in known if name == each or name.startswith(f"{each}-")]
    return known[max(alike, key=len, default=_OTHER)]
